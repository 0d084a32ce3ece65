//! A session: one story. Plain data.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::clock::Time;
use crate::ids::{CharacterId, NodeId, PersonaId, PresetId, SessionId, UserId};

use super::authors_note::AuthorsNote;
use super::recall_settings::RecallSettings;
use super::summary_settings::SummarySettings;

/// One story: a tree, a HEAD and its settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Whose it is.
    pub owner: UserId,
    /// Its title.
    pub title: String,
    /// The characters it plays, in speaking order, each in the version it began with.
    pub cards: Vec<CardRef>,
    /// The persona that the owner plays.
    pub persona: Option<PersonaRef>,
    /// The anchor node.
    pub root: NodeId,
    /// The node at which the session stands.
    pub head: NodeId,
    /// The newest operation.
    pub op: i64,
    /// The operation at which HEAD last moved.
    pub head_op: i64,
    /// `tree` or `linear`.
    pub mode: String,
    /// The model, or `None` for the server's default.
    pub model: Option<String>,
    /// Parameters passed on to the model.
    pub params: Map<String, Value>,
    /// The preset by which its prompts are made, as it is then; `None`, or one that is gone = as the server makes them.
    pub preset: Option<PresetId>,
    /// Which regex scripts of others change what is sent and shown.
    pub scripts: AllowedScripts,
    /// What it recalls of what its prompts do not hold any more.
    pub recall: RecallSettings,
    /// What its author notes to the model; `None` = nothing.
    pub note: Option<AuthorsNote>,
    /// Whether it sums up what they do not hold any more.
    pub summaries: SummarySettings,
    /// The model that keeps its values after each reply; `None` = whoever writes the reply does.
    pub values_model: Option<String>,
    /// The plugins as people want them; what was in force at a node stands on the path (`domain.md` 3.2).
    pub plugins: Vec<PluginSetting>,
    /// The seed of all its dice.
    pub seed: u64,
    /// How many edits of the arrangement may have outdated keyframes.
    pub edits: i64,
    /// When it began.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
}

/// Which regex scripts of others change what is sent and shown; one's own always do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllowedScripts {
    /// Those of the character that speaks.
    pub card: bool,
    /// Those of the preset.
    pub preset: bool,
}

impl Default for AllowedScripts {
    /// They change texts, in bounded time, and nothing else: whoever plays with a card has let its texts into the prompt.
    fn default() -> Self {
        Self { card: true, preset: true }
    }
}

/// A character as it was when the session began: editing the card later never changes the session (`domain.md` 2.17).
#[derive(Debug, Clone, PartialEq)]
pub struct CardRef {
    /// The character.
    pub id: CharacterId,
    /// The content hash of the card, hex.
    pub hash: String,
}

/// A persona as it was when the session began.
#[derive(Debug, Clone, PartialEq)]
pub struct PersonaRef {
    /// The persona.
    pub id: PersonaId,
    /// The content hash of the card, hex.
    pub hash: String,
}

/// What a session wants of one plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginSetting {
    /// The plugin.
    pub id: String,
    /// Whether it plays.
    pub enabled: bool,
    /// Its settings, as given.
    pub config: Map<String, Value>,
    /// Permissions granted, as words of the manifest; empty = none.
    pub grants: Vec<String>,
    /// Permissions that somebody looked at and did not grant: nobody is asked for them again.
    pub refused: Vec<String>,
}
