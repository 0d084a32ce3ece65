//! The author's note at a scene: the session's with what the card adds, where it is due, and the lore that stands around it.

use clotho_compat::prompt::PromptCast;
use clotho_compat::prompt::macros::MacroEngine;
use clotho_compat::prompt::preset::{PositionedText, PromptLore, PromptPosition};
use clotho_core::tree::{AuthorsNote, NotePlacement, Session};

use crate::turn::snapshot::TurnSnapshot;

/// The note of a session with what a card adds; empty where nobody says anything.
pub fn of(session: &Session, cast: &PromptCast) -> AuthorsNote {
    let own = session.note.clone().unwrap_or_default();
    match &cast.author_note {
        Some(card) => AuthorsNote { text: card.over(&own.text), ..own },
        None => own,
    }
}

/// Whether the note of a scene goes with the next prompt there: as often as it says, by the turns that people have taken.
fn is_due(note: &AuthorsNote, scene: &TurnSnapshot) -> bool {
    note.is_due(u32::try_from(scene.at.node.turn).unwrap_or(0))
}

/// The note where it stands, if there is one or lore stands around it, and it is due.
pub fn placed_note(note: &AuthorsNote, scene: &TurnSnapshot, lore: &PromptLore) -> Option<PositionedText> {
    let is_any = !note.text.trim().is_empty() || !lore.note_top.is_empty() || !lore.note_bottom.is_empty();
    let place = match note.place {
        NotePlacement::AfterMain => PromptPosition::Prompt,
        NotePlacement::BeforeMain => PromptPosition::BeforeMain,
        NotePlacement::InChat => PromptPosition::Depth(usize::try_from(note.depth).unwrap_or(usize::MAX)),
    };
    (is_any && is_due(note, scene)).then(|| PositionedText { text: note.text.clone(), place, role: note.role })
}

/// What lore may look at of a note that goes with the next prompt.
pub fn open(note: &AuthorsNote, scene: &TurnSnapshot, macros: &mut MacroEngine<'_>) -> Vec<String> {
    let is_open = note.is_for_lore && !note.text.trim().is_empty() && is_due(note, scene);
    if is_open { vec![macros.fill(&note.text)] } else { Vec::new() }
}
