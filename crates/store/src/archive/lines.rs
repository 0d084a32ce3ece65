//! The lines of a file. `docs/export.md` describes their fields and their order.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use clotho_core::ids::{CharacterId, ConnectionProfileId, FragmentId, NodeId, PersonaId, PresetId, SessionId, UserId};
use clotho_core::tree::AllowedScripts;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArchiveHeader {
    /// Always [`super::FORMAT`].
    pub format: String,
    /// The version of the format.
    pub version: u32,
    /// The version of the program that wrote the file.
    pub program: String,
    /// When the file was written, in milliseconds since 1970.
    pub exported: i64,
}

/// Every other line: an object whose only key names the kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ArchiveLine {
    /// The session; the second line.
    Session(Box<SessionLine>),
    /// Bytes that later lines refer to by hash.
    Blob(Box<BlobLine>),
    /// A log entry; in log order.
    Operation(Box<OperationLine>),
    /// A node; after its parent.
    Node(Box<NodeLine>),
    /// How a node was made.
    Trace(Box<TraceLine>),
    /// A file of another program from which the session was imported.
    Source(Box<SourceLine>),
    /// The last line.
    End(Box<ArchiveFooter>),
}

/// The session and its settings.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionLine {
    pub id: SessionId,
    /// Its owner.
    pub owner: UserId,
    pub title: String,
    /// Its characters, each with the hash of the version that it uses.
    pub cards: Vec<(CharacterId, String)>,
    /// The owner's persona, with the hash of its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<(PersonaId, String)>,
    pub root: NodeId,
    /// The node of HEAD.
    pub head: NodeId,
    /// The newest operation.
    pub op: i64,
    /// The operation that last moved HEAD.
    pub head_op: i64,
    /// `tree` or `linear`.
    pub mode: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Parameters for the model, an object.
    pub params: Box<RawValue>,
    /// The preset of its prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<PresetId>,
    /// The content of that preset without secrets, for servers that do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset_kept: Option<PresetLine>,
    /// Which regex scripts of cards and presets may change prompts.
    #[serde(default)]
    pub scripts: AllowedScripts,
    /// Recall settings, `{enabled, collections}`; the collections are not exported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recall: Option<Box<RawValue>>,
    /// The author's note, `{text, place, depth, role, every, lore}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Box<RawValue>>,
    /// Settings of automatic summaries, `{enabled, every, model}`; the summaries are not exported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summaries: Option<Box<RawValue>>,
    /// The values model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values_model: Option<String>,
    /// The connection profile that was chosen for it, on the server of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ConnectionProfileId>,
    /// The folder in the list of sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The tags in the list of sessions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Whether it stands above the others in lists.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_pinned: bool,
    /// Its plugins: `[{id, enabled, config, grants}]`.
    pub plugins: Box<RawValue>,
    /// The seed of its random draws.
    pub seed: u64,
    /// When it was created, in milliseconds since 1970.
    pub created: i64,
    /// When it was last changed, in milliseconds since 1970.
    pub updated: i64,
    /// The number of node lines that follow.
    pub nodes: u64,
}

/// A preset that is exported with a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PresetLine {
    pub name: String,
    /// Its content, an object.
    pub body: Box<RawValue>,
}

/// What the bytes of a blob are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BlobKind {
    /// The card of a character or persona.
    Card,
    /// A list of active plugins.
    Rules,
    /// The schema of a plugin.
    Schema,
    /// A block of a prompt.
    Block,
}

/// A content-addressed text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BlobLine {
    pub kind: BlobKind,
    /// Its blake3 hash in hex.
    pub hash: String,
    pub text: String,
}

/// A log entry.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OperationLine {
    /// Its number, dense from 1.
    pub op: i64,
    /// The operation that began its step.
    pub step: i64,
    /// The kind of the operation.
    pub act: String,
    /// The user who did it; `None` for the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<UserId>,
    /// When it was logged, in milliseconds since 1970.
    pub at: i64,
    /// Its effects, in the format of `/ops`.
    pub effects: Box<RawValue>,
}

/// A node: its facts and its overlay.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeLine {
    pub id: NodeId,
    /// Its parent; `None` for the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<NodeId>,
    pub role: String,
    pub kind: String,
    pub status: String,
    /// The user who wrote or requested it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<UserId>,
    /// The author's persona.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<PersonaId>,
    /// The character that speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub character: Option<CharacterId>,
    /// The speaker's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Other known data, an object.
    pub metadata: Box<RawValue>,
    /// The seed of its random draws.
    pub dice_seed: u64,
    /// The hash of the rules that begin here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<String>,
    /// The current revision of its delta; 0 means that it has none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub revision: i32,
    /// All revisions of its delta.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deltas: Vec<DeltaLine>,
    /// Overlay: it is disabled.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_disabled: bool,
    /// Overlay: its delta is muted.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_muted: bool,
    /// Overlay: it is not in the tree.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_hidden: bool,
    /// Overlay: the fragment that contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragment: Option<FragmentId>,
    /// Overlay: nobody has seen it yet.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_unread: bool,
    /// Overlay: the rating, 1 to 5 stars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<u8>,
    /// Overlay: its remembered child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<NodeId>,
    /// When it was created, in milliseconds since 1970.
    pub created: i64,
}

/// One revision of a node's delta.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeltaLine {
    /// Its number, from 1.
    pub revision: i32,
    /// `{operations, notes, problems, rolls, rules}`.
    pub body: Box<RawValue>,
}

/// How a node was made.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TraceLine {
    pub node: NodeId,
    /// Everything except blocks and history, an object.
    pub head: Value,
    /// The blocks of the prompt: a description and the text hash of each.
    pub blocks: Vec<(Value, String)>,
    /// The nodes whose texts were sent.
    pub history: ArchiveHistory,
}

/// A history as the difference to that of an earlier trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArchiveHistory {
    /// Its number along the path, from 1.
    pub number: i64,
    /// The node with the base trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<NodeId>,
    /// How many of the first nodes of the base are left out.
    #[serde(default, skip_serializing_if = "is_naught")]
    pub skip: u64,
    /// The nodes that follow; `None` stands for a purged one.
    pub add: Vec<Option<HistoryNode>>,
}

/// A node whose text was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum HistoryNode {
    /// A node of this file.
    Here(NodeId),
    /// A node of another session, which is not in this file.
    Elsewhere,
}

/// The text form of [`HistoryNode::Elsewhere`].
const FOREIGN: &str = "elsewhere";

impl HistoryNode {
    /// Returns the node if it is in this file.
    pub fn local(&self) -> Option<NodeId> {
        match self {
            Self::Here(id) => Some(*id),
            Self::Elsewhere => None,
        }
    }
}

impl TryFrom<String> for HistoryNode {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            FOREIGN => Ok(Self::Elsewhere),
            id => id.parse().map(Self::Here).map_err(|_| format!("expected an id or \"{FOREIGN}\"")),
        }
    }
}

impl From<HistoryNode> for String {
    fn from(sent: HistoryNode) -> Self {
        sent.local().map_or_else(|| FOREIGN.to_owned(), |id| id.to_string())
    }
}

/// A file of another program, or a position in its chat, by which it is recognized.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceLine {
    /// The name by which it is recognized.
    pub name: String,
    /// The blake3 hash of the file in hex; `None` until it is completely imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Its last node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    /// Its data besides messages, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
}

/// The last line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArchiveFooter {
    /// The number of lines before it, including the header.
    pub lines: u64,
    /// The number of node lines.
    pub nodes: u64,
    /// The number of operation lines.
    pub operations: u64,
    /// The blake3 hash of all bytes before it, in hex.
    pub blake3: String,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(number: &i32) -> bool {
    *number == 0
}

fn is_naught(number: &u64) -> bool {
    *number == 0
}
