//! What lies in the trash.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::ids::{Id, TrashRef};
use crate::clock::Time;
use crate::store::{Discarded, Trashed};

/// Something that was deleted and can be brought back.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrashItem {
    /// The id that it had and will have again.
    pub id: TrashRef,
    /// What it is.
    pub kind: TrashKind,
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
pub enum TrashKind {
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

impl TrashItem {
    /// Something that is kept for so many milliseconds.
    pub fn new(trashed: Trashed, kept_ms: i64) -> Self {
        let kind = trashed.kind.into();
        Self {
            id: Id(trashed.id),
            kind,
            name: trashed.name,
            nodes: matches!(kind, TrashKind::Session).then_some(trashed.nodes),
            trashed_at: trashed.at.to_string(),
            until: Time(trashed.at.0.saturating_add(kept_ms)).to_string(),
        }
    }
}

impl From<Discarded> for TrashKind {
    fn from(kind: Discarded) -> Self {
        match kind {
            Discarded::Session => Self::Session,
            Discarded::Character => Self::Character,
            Discarded::Persona => Self::Persona,
            Discarded::Lorebook => Self::Lorebook,
            Discarded::Preset => Self::Preset,
        }
    }
}

impl TrashKind {
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
pub struct Confirmation {
    /// Says that nothing shall ever bring it back.
    pub confirm: bool,
}
