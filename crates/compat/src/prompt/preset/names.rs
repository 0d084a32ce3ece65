//! Who speaks: before a text, in a field, or nowhere.

use super::{HistoryMessage, SpeakerNaming};
use clotho_core::tree::Role;

/// Characters of a name that a provider takes in its field.
const MAX_NAME_CHARS: usize = 64;

/// The name in its field, and the text.
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

/// A name as providers take it in a field: letters of ASCII, digits, `_` and `-`.
fn provider_name(name: &str) -> Option<String> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    Some(name.chars().map(plain).take(MAX_NAME_CHARS).collect())
}
