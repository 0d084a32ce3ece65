//! The author's note of a session.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::enums::{NotePlace, Role};
use clotho_core::tree;

/// The author's note of a session: a text of the author that is put into every prompt and is no message. Defaults for
/// absent fields: `inChat`, depth 4, role `system`, sent with every message, not scanned by lore.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AuthorsNoteFields {
    /// The text; macros are expanded.
    pub text: String,
    /// Position in the prompt: `afterMain`, `beforeMain` or `inChat`.
    pub place: NotePlace,
    /// For `inChat`: how many messages follow the note.
    pub depth: u32,
    /// Role of the message that carries the note.
    pub role: Role,
    /// Sent with every nth user message; 1 = always, 0 = never.
    pub every: u32,
    /// Whether lorebook keys are also searched in the note.
    pub lore: bool,
}

impl Default for AuthorsNoteFields {
    fn default() -> Self {
        Self::from(&tree::AuthorsNote::default())
    }
}

impl From<&tree::AuthorsNote> for AuthorsNoteFields {
    fn from(note: &tree::AuthorsNote) -> Self {
        Self {
            text: note.text.clone(),
            place: note.place.into(),
            depth: note.depth,
            role: note.role.into(),
            every: note.every,
            lore: note.is_for_lore,
        }
    }
}

impl From<AuthorsNoteFields> for tree::AuthorsNote {
    fn from(note: AuthorsNoteFields) -> Self {
        let AuthorsNoteFields { text, place, depth, role, every, lore } = note;
        Self { text, place: place.into(), depth, role: role.into(), every, is_for_lore: lore }
    }
}
