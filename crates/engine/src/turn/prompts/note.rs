//! The author's note at a snapshot: the session's note with the card's, when it is due, and the lore around it.

use clotho_compat::prompt::PromptCast;
use clotho_compat::prompt::macros::MacroEngine;
use clotho_compat::prompt::preset::{PositionedText, PromptLore, PromptPosition};
use clotho_core::tree::{AuthorsNote, NotePlacement, Session};

use crate::turn::snapshot::TurnSnapshot;

/// Returns the session's note merged with the card's; its text may be empty.
pub fn merged_note(session: &Session, cast: &PromptCast) -> AuthorsNote {
    let own = session.note.clone().unwrap_or_default();
    match &cast.author_note {
        Some(card) => AuthorsNote { text: card.merge_with(&own.text), ..own },
        None => own,
    }
}

/// Returns whether the note is due in the next prompt: its interval counts the turns of users.
fn is_due(note: &AuthorsNote, snapshot: &TurnSnapshot) -> bool {
    note.is_due(u32::try_from(snapshot.at.node.turn).unwrap_or(0))
}

/// Returns the note with its position, if it is due and it or the lore around it has text.
pub fn placed_note(note: &AuthorsNote, snapshot: &TurnSnapshot, lore: &PromptLore) -> Option<PositionedText> {
    let is_any = !note.text.trim().is_empty() || !lore.note_top.is_empty() || !lore.note_bottom.is_empty();
    let place = match note.place {
        NotePlacement::AfterMain => PromptPosition::Prompt,
        NotePlacement::BeforeMain => PromptPosition::BeforeMain,
        NotePlacement::InChat => PromptPosition::Depth(usize::try_from(note.depth).unwrap_or(usize::MAX)),
    };
    (is_any && is_due(note, snapshot)).then(|| PositionedText {
        text: note.text.clone(),
        position: place,
        role: note.role,
    })
}

/// Returns the note's text for the lore scan, if the note allows that and is due.
pub fn scannable_texts(note: &AuthorsNote, snapshot: &TurnSnapshot, macros: &mut MacroEngine<'_>) -> Vec<String> {
    let is_open = note.is_for_lore && !note.text.trim().is_empty() && is_due(note, snapshot);
    if !is_open {
        return Vec::new();
    }
    // The prompt fills the note in once more. Only then do its writes count.
    let (local, global) = (macros.local.clone(), macros.global.clone());
    let filled = macros.fill(&note.text);
    (macros.local, macros.global) = (local, global);
    vec![filled]
}
