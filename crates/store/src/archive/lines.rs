//! The lines of a file. Their fields and the order in which lines come are described in `docs/export.md`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use clotho_core::ids::{CharacterId, FragmentId, NodeId, PersonaId, PresetId, SessionId, UserId};
use clotho_core::tree::AllowedScripts;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArchiveHeader {
    /// Always [`super::FORMAT`].
    pub format: String,
    /// The version of the format.
    pub version: u32,
    /// The version of the program that wrote it.
    pub program: String,
    /// When it was written, in milliseconds since 1970.
    pub exported: i64,
}

/// Every other line: its one key says what it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ArchiveLine {
    /// The session; the second line.
    Session(Box<SessionLine>),
    /// Bytes that later lines name by their hash.
    Blob(Box<BlobLine>),
    /// An entry of the log, in its order.
    Operation(Box<OperationLine>),
    /// A node; its parent comes before it.
    Node(Box<NodeLine>),
    /// Why a node exists.
    Trace(Box<TraceLine>),
    /// A file of another program that has become a part of the session.
    Source(Box<SourceLine>),
    /// The last line.
    End(Box<ArchiveFooter>),
}

/// The session and its settings.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionLine {
    /// Its id.
    pub id: SessionId,
    /// Whose it was.
    pub owner: UserId,
    /// Its title.
    pub title: String,
    /// Its characters, each in the version that it plays, by hash.
    pub cards: Vec<(CharacterId, String)>,
    /// The owner's persona, by hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<(PersonaId, String)>,
    /// The anchor node.
    pub root: NodeId,
    /// Where it stands.
    pub head: NodeId,
    /// The newest operation.
    pub op: i64,
    /// The operation at which HEAD moved last.
    pub head_op: i64,
    /// `tree` or `linear`.
    pub mode: String,
    /// Its model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Parameters for the model, an object.
    pub params: Box<RawValue>,
    /// The preset of its prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<PresetId>,
    /// What that preset says, but for what is nobody else's business: it is kept where nobody has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset_kept: Option<PresetLine>,
    /// Which regex scripts of others change what is sent.
    #[serde(default)]
    pub scripts: AllowedScripts,
    /// What it recalls, `{enabled, collections}`; the collections do not come along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recall: Option<Box<RawValue>>,
    /// The author's note, `{text, place, depth, role, every, lore}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Box<RawValue>>,
    /// Whether it sums itself up, `{enabled, every, model}`; the summaries are made anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summaries: Option<Box<RawValue>>,
    /// The model that keeps its values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values_model: Option<String>,
    /// Its plugins: `[{id, enabled, config, grants}]`.
    pub plugins: Box<RawValue>,
    /// The seed of its dice.
    pub seed: u64,
    /// When it began, in milliseconds since 1970.
    pub created: i64,
    /// When it last changed.
    pub updated: i64,
    /// How many nodes follow.
    pub nodes: u64,
}

/// A preset that goes along with a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PresetLine {
    /// Its name.
    pub name: String,
    /// All that it says, an object.
    pub body: Box<RawValue>,
}

/// What the bytes of a blob are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BlobKind {
    /// A character's or persona's card.
    Card,
    /// Which plugins were in force.
    Rules,
    /// The schema of a plugin.
    Schema,
    /// A block of a prompt.
    Block,
}

/// A text that is kept by its content.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BlobLine {
    /// What it is.
    pub kind: BlobKind,
    /// Its blake3 hash in hex.
    pub hash: String,
    /// The text.
    pub text: String,
}

/// An entry of the log.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OperationLine {
    /// Its number, dense from 1.
    pub op: i64,
    /// The operation whose request it completes.
    pub step: i64,
    /// What kind of act it was.
    pub act: String,
    /// Who did it; nothing for the server itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<UserId>,
    /// When.
    pub at: i64,
    /// What changed, as `/ops` tells it.
    pub effects: Box<RawValue>,
}

/// A node: its facts, and the overlay that arranges it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeLine {
    /// Its id.
    pub id: NodeId,
    /// Its parent; nothing for the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<NodeId>,
    /// Who it speaks as.
    pub role: String,
    /// What it is for.
    pub kind: String,
    /// Where it stands in its life.
    pub status: String,
    /// The user who wrote it or asked for it.
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
    /// The text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    /// The thinking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Everything else known, an object.
    pub metadata: Box<RawValue>,
    /// The seed of its dice.
    pub dice_seed: u64,
    /// The rules that begin here, by hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<String>,
    /// The delta revision in force; 0 = the node changes nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub revision: i32,
    /// What the node does to the world, in every revision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deltas: Vec<DeltaLine>,
    /// Overlay: its text is left out.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_disabled: bool,
    /// Overlay: its delta is left out.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_muted: bool,
    /// Overlay: it is not in the tree.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_hidden: bool,
    /// Overlay: the fragment that it lies in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragment: Option<FragmentId>,
    /// Overlay: nobody has seen it yet.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_unread: bool,
    /// Overlay: stars, 1 to 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<u8>,
    /// Overlay: the child last visited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<NodeId>,
    /// When it was made.
    pub created: i64,
}

/// One revision of what a node does to the world.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeltaLine {
    /// Its number, from 1.
    pub revision: i32,
    /// `{operations, notes, problems, rolls, rules}`.
    pub body: Box<RawValue>,
}

/// Why a node exists.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TraceLine {
    /// The node.
    pub node: NodeId,
    /// Everything that is neither block nor history, an object.
    pub head: Value,
    /// The blocks of the blueprint: what each is, and its text by hash.
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
    /// The node whose trace it goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<NodeId>,
    /// So many of that one's first nodes are left out.
    #[serde(default, skip_serializing_if = "is_naught")]
    pub skip: u64,
    /// The nodes that come after it; nothing stands for one that was purged.
    pub add: Vec<Option<HistoryNode>>,
}

/// A node whose text was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum HistoryNode {
    /// A node of this file.
    Here(NodeId),
    /// A node of another session, which this file is not about.
    Elsewhere,
}

/// Stands for [`HistoryNode::Elsewhere`].
const FOREIGN: &str = "elsewhere";

impl HistoryNode {
    /// The node, if it is one of this file.
    pub fn here(&self) -> Option<NodeId> {
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
            id => id.parse().map(Self::Here).map_err(|_| format!("an id or \"{FOREIGN}\" is expected")),
        }
    }
}

impl From<HistoryNode> for String {
    fn from(sent: HistoryNode) -> Self {
        sent.here().map_or_else(|| FOREIGN.to_owned(), |id| id.to_string())
    }
}

/// A file of another program, or a place in its story, by which it is known again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceLine {
    /// By what it is known again.
    pub name: String,
    /// The blake3 hash of the file, in hex; nothing while not all of it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The node at which it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    /// What it says of itself beside its messages, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
}

/// The last line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArchiveFooter {
    /// How many lines come before it, the header included.
    pub lines: u64,
    /// How many of them are nodes.
    pub nodes: u64,
    /// How many of them are operations.
    pub operations: u64,
    /// The blake3 hash, in hex, of all bytes before it.
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
