//! The trash.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::ids::{WireId, WireTrashId};
use clotho_core::clock::Time;
use clotho_store::{TrashEntry, TrashEntryKind};

/// A deleted item that can be restored.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrashItemResponse {
    /// Id of the item, which it keeps after a restore.
    pub id: WireTrashId,
    /// Kind of the item.
    pub kind: TrashItemKind,
    /// Title of a session; name of a character, persona, lorebook or preset.
    pub name: String,
    /// Number of messages on all branches of a session; null for other kinds.
    #[schema(required)]
    pub nodes: Option<i64>,
    /// Deletion time, ISO 8601 UTC.
    pub trashed_at: String,
    /// Time until which it can be restored, ISO 8601 UTC.
    pub until: String,
}

/// The kind of an item in the trash.
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
    /// Describes an item that is kept for `kept_ms` milliseconds.
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
    /// Returns the name used on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Character => "character",
            Self::Persona => "persona",
            Self::Lorebook => "lorebook",
            Self::Preset => "preset",
        }
    }
}

/// The confirmation of a permanent deletion.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct ConfirmQuery {
    /// Must be true; the item cannot be restored afterwards.
    pub confirm: bool,
}
