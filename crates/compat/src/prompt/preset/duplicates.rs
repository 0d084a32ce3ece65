//! Removes repeated texts: cards often have the same text in two places.

use super::order::RenderedPart;
use super::{OmitReason, OmittedText};

/// Parts in which a card or persona may repeat a text.
const CARD_PARTS: [&str; 5] = ["main", "charDescription", "charPersonality", "scenario", "personaDescription"];

/// Empties each part that repeats an earlier one, and returns the removed texts.
pub(super) fn remove_duplicates(parts: &mut [RenderedPart]) -> Vec<OmittedText> {
    let mut said: Vec<String> = Vec::new();
    let mut left = Vec::new();
    let told = |part: &&mut RenderedPart| part.in_chat.is_none() && CARD_PARTS.contains(&part.id.as_str());
    for part in parts.iter_mut().filter(told) {
        let text = part.text.trim().to_owned();
        if text.is_empty() {
            continue;
        }
        if said.contains(&text) {
            let slot = part.id.clone();
            left.push(OmittedText {
                slot,
                role: part.role,
                text: std::mem::take(&mut part.text),
                why: OmitReason::Duplicate,
            });
        } else {
            said.push(text);
        }
    }
    left
}
