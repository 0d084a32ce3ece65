//! Adds the speaker: before the text, in a field, or not at all.

use super::{HistoryMessage, SpeakerNaming};
use crate::prompt::own_name::named_text;
use clotho_core::tree::Role;

/// Longest name in a provider's name field.
const MAX_NAME_CHARS: usize = 64;

/// Returns the name field and the text.
pub(super) fn apply_naming(naming: SpeakerNaming, said: &HistoryMessage, text: String) -> (Option<String>, String) {
    let is_narration = said.role == Role::System;
    match naming {
        _ if said.name.is_empty() => (None, text),
        SpeakerNaming::Field => (provider_name(&said.name), text),
        SpeakerNaming::Before if !is_narration => (None, named_text(said.role, &said.name, &text)),
        SpeakerNaming::Others if said.is_other && !is_narration => (None, named_text(said.role, &said.name, &text)),
        SpeakerNaming::Never | SpeakerNaming::Others | SpeakerNaming::Before | SpeakerNaming::AsNeeded => (None, text),
    }
}

/// Converts a name for a provider's field: other characters than ASCII letters, digits and `_` become `_`.
fn provider_name(name: &str) -> Option<String> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    Some(name.chars().map(plain).take(MAX_NAME_CHARS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name is never doubled in a reply, and the texts of people are sent as they wrote them.
    #[test]
    fn naming_reply_with_own_name_has_it_once() {
        let said = |role, name: &str| HistoryMessage { role, name: name.into(), is_other: true, text: String::new() };
        let text = |role, name, text: &str| apply_naming(SpeakerNaming::Before, &said(role, name), text.into()).1;
        assert_eq!(text(Role::Assistant, "Mira", "Mira: No."), "Mira: No.");
        assert_eq!(text(Role::Assistant, "Mira", "**Mira:** No."), "Mira: No.");
        assert_eq!(text(Role::Assistant, "Mira", "Ann: No."), "Mira: Ann: No.");
        assert_eq!(text(Role::User, "Kas", "Kas: No."), "Kas: Kas: No.");
        let others = apply_naming(SpeakerNaming::Others, &said(Role::Assistant, "Mira"), "Mira: No.".into());
        assert_eq!(others.1, "Mira: No.");
        let never = apply_naming(SpeakerNaming::Never, &said(Role::Assistant, "Mira"), "Mira: No.".into());
        assert_eq!(never.1, "Mira: No.");
    }
}
