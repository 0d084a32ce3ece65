//! What lies in the trash.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::ids::{WireId, WireTrashId};
use clotho_core::clock::Time;
use clotho_store::{TrashEntry, TrashEntryKind};

/// Something that was deleted and can be brought back.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrashItemResponse {
    /// The id that it had and will have again.
    pub id: WireTrashId,
    /// What it is.
    pub kind: TrashItemKind,
    /// The title of a session, the name of a character, persona, lorebook or preset.
    pub name: String,
    /// How many messages a session has on all its branches; null for the others.
    pub nodes: Option<i64>,
    /// When it was deleted.
    pub trashed_at: String,
    /// Until when it can be brought back.
    pub until: String,
}

/// What kind of thing lies in the trash.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum TrashItemKind {
    /// A session with its whole tree.
    Session,
    /// A character.
    Character,
    /// A persona.
    Persona,
    /// A lorebook.
    Lorebook,
    /// A preset.
    Preset,
}

impl TrashItemResponse {
    /// Something that is kept for so many milliseconds.
    pub fn new(trashed: TrashEntry, kept_ms: i64) -> Self {
        let kind = trashed.kind.into();
        Self {
            id: WireId(trashed.id),
            kind,
            name: trashed.name,
            nodes: matches!(kind, TrashItemKind::Session).then_some(trashed.nodes),
            trashed_at: trashed.at.to_string(),
            until: Time(trashed.at.0.saturating_add(kept_ms)).to_string(),
        }
    }
}

impl From<TrashEntryKind> for TrashItemKind {
    fn from(kind: TrashEntryKind) -> Self {
        match kind {
            TrashEntryKind::Session => Self::Session,
            TrashEntryKind::Character => Self::Character,
            TrashEntryKind::Persona => Self::Persona,
            TrashEntryKind::Lorebook => Self::Lorebook,
            TrashEntryKind::Preset => Self::Preset,
        }
    }
}

impl TrashItemKind {
    /// The word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Character => "character",
            Self::Persona => "persona",
            Self::Lorebook => "lorebook",
            Self::Preset => "preset",
        }
    }
}

/// Whether something is really meant.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct ConfirmQuery {
    /// Says that nothing shall ever bring it back.
    pub confirm: bool,
}
