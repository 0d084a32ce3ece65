//! The author's note of a session.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::enums::{NotePlace, Role};
use clotho_core::tree;

/// What the author of a story notes to the model: it stands in the prompts and is no message. What is left out is as here:
/// between the last messages, behind the fourth from the end, said by the system, always.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AuthorsNoteFields {
    /// What it says; macros are filled in.
    pub text: String,
    /// Where it stands.
    pub place: NotePlace,
    /// So many messages stand behind it, where it stands between them.
    pub depth: u32,
    /// Who says it.
    pub role: Role,
    /// With every nth message of the user it is sent; 0 = never.
    pub every: u32,
    /// Whether lore looks for its keys in it.
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
