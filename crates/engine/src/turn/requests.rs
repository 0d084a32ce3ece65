//! What can be asked of the turn, and what a request began: plain data.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use clotho_core::ids::{CharacterId, LorebookId, NodeId, PersonaId, PresetId, SessionId};
use clotho_core::tree::Role;
use clotho_store::ExpectedVersion;

/// A session to begin.
#[derive(Debug, Clone, Default)]
pub struct SessionSpec {
    /// The characters, the first speaks by default.
    pub character_ids: Vec<CharacterId>,
    /// Who the user plays.
    pub persona_id: Option<PersonaId>,
    /// Its title; the first character's name by default.
    pub title: Option<String>,
    /// The plugins; what the first character suggests by default.
    pub plugins: Option<Vec<PluginChoice>>,
    /// The model; what the first character suggests, else the server's default.
    pub model: Option<String>,
    /// `tree` or `linear`.
    pub mode: Option<String>,
    /// Parameters passed on to the model.
    pub params: Map<String, Value>,
}

/// What somebody chooses for one plugin of a session. [`clotho_core::tree::PluginSetting`] is what comes of it.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginChoice {
    /// The plugin.
    pub id: String,
    /// Whether it plays.
    pub enabled: bool,
    /// Its settings, as given.
    pub config: Map<String, Value>,
    /// Permissions granted; `None` = what its manifest asks for, which is what people are shown.
    pub grants: Option<Vec<String>>,
    /// Permissions that were looked at and not granted; `None` = as it was.
    pub refused: Option<Vec<String>>,
}

impl PluginChoice {
    /// A plugin switched on, with what its manifest asks for.
    pub fn enable(id: &str, config: Map<String, Value>) -> Self {
        Self { id: id.to_owned(), enabled: true, config, grants: None, refused: None }
    }
}

/// A prompt to look at before it is sent.
#[derive(Debug, Clone)]
pub struct PreviewSpec {
    /// Where a message would be written; or the message itself that waits for an answer, where there is no `content`.
    pub parent: NodeId,
    /// What would be written.
    pub content: Option<String>,
    /// Another model than the session's.
    pub model: Option<String>,
    /// Parameters over the session's.
    pub params: Map<String, Value>,
    /// Another preset than the session's.
    pub preset: Option<PresetId>,
}

/// Replies to generate.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GenerationSpec {
    /// How many; 0 counts as 1.
    pub n: u32,
    /// Another model than the session's.
    pub model: Option<String>,
    /// Parameters over the session's.
    pub params: Map<String, Value>,
    /// Another character than the first.
    pub character: Option<CharacterId>,
}

/// What happens when HEAD is not where the writer saw it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StaleHeadPolicy {
    /// Refuse.
    #[default]
    Refuse,
    /// Put the message below the present HEAD.
    Append,
    /// Write a sibling where the writer meant it.
    Branch,
}

/// A message to send.
#[derive(Debug, Clone)]
pub struct MessageSpec {
    /// Below which node.
    pub parent: NodeId,
    /// The text.
    pub content: String,
    /// As whom.
    pub role: Role,
    /// The speaker's name, if not the persona's.
    pub name: Option<String>,
    /// The persona, if not the session's.
    pub persona: Option<PersonaId>,
    /// The replies to generate; `None` = none.
    pub generate: Option<GenerationSpec>,
    /// Whether HEAD follows.
    pub move_head: bool,
    /// What the writer saw of the session.
    pub expected_leaf: Option<ExpectedVersion>,
    /// What if it is not there.
    pub on_stale: StaleHeadPolicy,
}

/// An edited version of a message.
#[derive(Debug, Clone)]
pub struct EditSpec {
    /// The new text.
    pub content: String,
    /// Whether what follows the old version moves below the new one.
    pub move_children: bool,
    /// The replies: `None` = what fits the node, `Some(None)` = none.
    pub generate: Option<Option<GenerationSpec>>,
    /// Whether HEAD follows.
    pub move_head: bool,
    /// What the writer saw of the session.
    pub expected_leaf: Option<ExpectedVersion>,
}

/// What a request began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnReceipt {
    /// The node that was written, if one was.
    pub node: Option<NodeId>,
    /// The placeholders of the replies.
    pub generations: Vec<NodeId>,
    /// The operation.
    pub op: i64,
}

/// A reply to go on from.
#[derive(Debug, Clone)]
pub struct ContinueSpec {
    /// The reply whose text the new one begins with.
    pub node: NodeId,
    /// Another model than it was asked of.
    pub model: Option<String>,
    /// Parameters over those it was asked with.
    pub params: Map<String, Value>,
    /// Whether HEAD follows.
    pub move_head: bool,
    /// What the caller saw of the session.
    pub expected_leaf: Option<ExpectedVersion>,
}

/// A message to draft in the user's own voice.
#[derive(Debug, Clone, Default)]
pub struct ImpersonateSpec {
    /// Where it would be written; `None` = at HEAD.
    pub leaf: Option<NodeId>,
    /// Another model than the session's.
    pub model: Option<String>,
    /// Parameters over the session's.
    pub params: Map<String, Value>,
}

/// A summary to draft.
#[derive(Debug, Clone, Default)]
pub struct SummarySpec {
    /// A run of messages of one line, the oldest first.
    pub nodes: Vec<NodeId>,
    /// Another model than the session's.
    pub model: Option<String>,
    /// Parameters over the session's.
    pub params: Map<String, Value>,
}

/// Lore to try.
#[derive(Debug, Clone, Default)]
pub struct LoreTestSpec {
    /// The session in which it is tried; `None` = a text by itself.
    pub session: Option<SessionId>,
    /// The message after which a reply would come; `None` = HEAD.
    pub node: Option<NodeId>,
    /// What is said, by itself or next in the session.
    pub text: Option<String>,
    /// Lorebooks beside those that hold in the session.
    pub books: Vec<LorebookId>,
}

/// Other replies, as asked for.
#[derive(Debug, Clone)]
pub struct RerollSpec {
    /// A reply, or what a model answers.
    pub node: NodeId,
    /// The replies.
    pub generate: GenerationSpec,
    /// Whether HEAD follows.
    pub move_head: bool,
    /// What the caller saw of the session.
    pub expected_leaf: Option<ExpectedVersion>,
}
