//! Adds the speaker: before the text, in a field, or not at all.

use super::{HistoryMessage, SpeakerNaming};
use clotho_core::tree::Role;

/// Longest name in a provider's name field.
const MAX_NAME_CHARS: usize = 64;

/// Returns the name field and the text.
pub(super) fn apply_naming(naming: SpeakerNaming, said: &HistoryMessage, text: String) -> (Option<String>, String) {
    let is_narration = said.role == Role::System;
    match naming {
        _ if said.name.is_empty() => (None, text),
        SpeakerNaming::Field => (provider_name(&said.name), text),
        SpeakerNaming::Before if !is_narration => (None, format!("{}: {text}", said.name)),
        SpeakerNaming::Others if said.is_other && !is_narration => (None, format!("{}: {text}", said.name)),
        SpeakerNaming::Never | SpeakerNaming::Others | SpeakerNaming::Before | SpeakerNaming::AsNeeded => (None, text),
    }
}

/// Converts a name for a provider's field: other characters than ASCII letters, digits and `_` become `_`.
fn provider_name(name: &str) -> Option<String> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    Some(name.chars().map(plain).take(MAX_NAME_CHARS).collect())
}
