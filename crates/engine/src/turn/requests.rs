//! The requests of a turn and their receipt: plain data.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use clotho_core::ids::{CharacterId, LorebookId, NodeId, PersonaId, PresetId, SessionId};
use clotho_core::tree::Role;
use clotho_store::{ConnectionProfile, ExpectedVersion};

/// A session to create.
#[derive(Debug, Clone, Default)]
pub struct SessionSpec {
    /// The characters; the first one speaks by default.
    pub character_ids: Vec<CharacterId>,
    /// The user's persona.
    pub persona_id: Option<PersonaId>,
    /// The title; by default the first character's name.
    pub title: Option<String>,
    /// The plugins; by default those that the first character suggests.
    pub plugins: Option<Vec<PluginChoice>>,
    /// The model; by default the one that the first character suggests, else the server's.
    pub model: Option<String>,
    pub mode: Option<String>,
    /// Parameters passed to the model.
    pub params: Map<String, Value>,
    /// The connection profile that the session remembers. Its preset and its models for summaries and values apply.
    pub profile: Option<ConnectionProfile>,
    /// The user's lorebooks to which the session is linked, besides those that apply anyway.
    pub lorebook_ids: Vec<LorebookId>,
    /// The time zone of the person; `None` = the server's.
    pub time_zone: Option<String>,
}

/// A user's choice for one plugin of a session, before it is checked. The result is a
/// [`clotho_core::tree::PluginSetting`].
#[derive(Debug, Clone, PartialEq)]
pub struct PluginChoice {
    pub id: String,
    pub enabled: bool,
    /// The settings, unchecked.
    pub config: Map<String, Value>,
    /// Permissions granted; `None` = everything that the manifest asks for, which is what users are shown.
    pub grants: Option<Vec<String>>,
    /// Permissions that the user saw and did not grant; `None` = unchanged.
    pub refused: Option<Vec<String>>,
}

impl PluginChoice {
    /// Enables a plugin with everything its manifest asks for.
    pub fn enable(id: &str, config: Map<String, Value>) -> Self {
        Self { id: id.to_owned(), enabled: true, config, grants: None, refused: None }
    }
}

/// A prompt to preview.
#[derive(Debug, Clone)]
pub struct PreviewSpec {
    /// The parent of the message; or, without `content`, the message to answer.
    pub parent: NodeId,
    /// The text of the message.
    pub content: Option<String>,
    /// Overrides the session's model.
    pub model: Option<String>,
    /// Overrides for the session's parameters.
    pub params: Map<String, Value>,
    /// Overrides the session's preset.
    pub preset: Option<PresetId>,
    /// The time zone of the person; `None` = the server's.
    pub time_zone: Option<String>,
}

/// Replies to generate.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GenerationSpec {
    /// The number of replies; 0 counts as 1.
    pub n: u32,
    /// Overrides the session's model.
    pub model: Option<String>,
    /// Overrides for the session's parameters.
    pub params: Map<String, Value>,
    /// The speaker, if not the first character.
    pub character: Option<CharacterId>,
}

/// The behaviour if HEAD is not where the writer saw it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StaleHeadPolicy {
    #[default]
    Refuse,
    /// Put the message below the current HEAD.
    Append,
    /// Write a sibling below the parent that the writer named.
    Branch,
}

/// A message to send.
#[derive(Debug, Clone)]
pub struct MessageSpec {
    pub parent: NodeId,
    pub content: String,
    pub role: Role,
    /// The speaker's name, if not the persona's.
    pub name: Option<String>,
    /// The persona, if not the session's.
    pub persona: Option<PersonaId>,
    /// The replies to generate; `None` = none.
    pub generate: Option<GenerationSpec>,
    /// Whether HEAD moves to the new node.
    pub move_head: bool,
    /// The version of the session that the writer saw.
    pub expected_leaf: Option<ExpectedVersion>,
    /// What to do if the session has changed since.
    pub on_stale: StaleHeadPolicy,
    /// The time zone of the person; `None` = the server's.
    pub time_zone: Option<String>,
}

/// An edited version of a message.
#[derive(Debug, Clone)]
pub struct EditSpec {
    pub content: String,
    /// Whether the children of the old version move below the new one.
    pub move_children: bool,
    /// The replies: `None` = what fits the node, `Some(None)` = none.
    pub generate: Option<Option<GenerationSpec>>,
    /// The time zone of the person; `None` = the server's.
    pub time_zone: Option<String>,
    /// Whether HEAD moves to the new node.
    pub move_head: bool,
    /// The version of the session that the writer saw.
    pub expected_leaf: Option<ExpectedVersion>,
}

/// The nodes that a request wrote and started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnReceipt {
    /// The node that was written, if any.
    pub node: Option<NodeId>,
    /// The placeholders of the replies.
    pub generations: Vec<NodeId>,
    /// The id of the operation-log entry.
    pub op: i64,
}

/// A reply to continue.
#[derive(Debug, Clone)]
pub struct ContinueSpec {
    /// The reply whose text the new one begins with.
    pub node: NodeId,
    /// Overrides the model of that reply.
    pub model: Option<String>,
    /// Overrides for the parameters of that reply.
    pub params: Map<String, Value>,
    /// Whether HEAD moves to the new reply.
    pub move_head: bool,
    /// The version of the session that the caller saw.
    pub expected_leaf: Option<ExpectedVersion>,
}

/// A message to draft on behalf of the user.
#[derive(Debug, Clone, Default)]
pub struct ImpersonateSpec {
    /// The parent of the message; `None` = HEAD.
    pub leaf: Option<NodeId>,
    /// Overrides the session's model.
    pub model: Option<String>,
    /// Overrides for the session's parameters.
    pub params: Map<String, Value>,
}

/// A summary to draft.
#[derive(Debug, Clone, Default)]
pub struct SummarySpec {
    /// A run of messages on one branch, oldest first.
    pub nodes: Vec<NodeId>,
    /// Overrides the session's model.
    pub model: Option<String>,
    /// Overrides for the session's parameters.
    pub params: Map<String, Value>,
}

/// A lore test.
#[derive(Debug, Clone, Default)]
pub struct LoreTestSpec {
    /// The session to test in; `None` = the text alone.
    pub session: Option<SessionId>,
    /// The message that a reply would follow; `None` = HEAD.
    pub node: Option<NodeId>,
    /// The text to scan, alone or as the next message of the session.
    pub text: Option<String>,
    /// Lorebooks in addition to those of the session.
    pub books: Vec<LorebookId>,
}

/// Other replies to the same context node.
#[derive(Debug, Clone)]
pub struct RegenerateSpec {
    /// A reply, or the node that a model answers.
    pub node: NodeId,
    pub generate: GenerationSpec,
    /// Whether HEAD moves to the first new reply.
    pub move_head: bool,
    /// The version of the session that the caller saw.
    pub expected_leaf: Option<ExpectedVersion>,
}
