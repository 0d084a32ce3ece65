//! The turn-based view: what a model answers, and its possible replies.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::ids::{WireId, WireNodeId};
use super::node::known;
use clotho_core::ids::NodeId;
use clotho_core::tree::Status;
use clotho_store::StoredNode;

/// One turn: a context node, which is the world just before a model speaks, with its possible replies.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Turn)]
pub struct TurnResponse {
    /// The context node.
    pub context_node_id: WireNodeId,
    /// The context node before it; null for the root.
    pub parent_id: Option<WireNodeId>,
    /// Who it speaks as: `user`, or `system` for narration and the root.
    pub role: &'static str,
    /// The text of the one who wrote it; empty for the root.
    pub user_content: String,
    /// The chosen reply: the one last visited, else the newest complete one.
    pub selected_record_id: Option<WireNodeId>,
    /// The reply on the line that was asked for, which may be another while one only looks.
    pub shown_record_id: Option<WireNodeId>,
    /// All replies in creation order.
    pub records: Vec<TurnRecordResponse>,
    /// Whether the world is kept whole here, not as differences.
    pub is_keyframe: bool,
    /// Where a memory's cursor stands; null: this server finds memories by their place in the tree.
    pub rag_position: Option<i64>,
    /// The events confirmed so far on this line.
    #[schema(value_type = Vec<Object>)]
    pub event_history: Vec<Value>,
    /// The reply that the session remembers as chosen.
    pub default_generation: Option<WireNodeId>,
    /// The number of the turn.
    pub turn: i32,
    /// When it was made.
    pub created_at: String,
}

/// One possible reply.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Record)]
pub struct TurnRecordResponse {
    /// Its id.
    pub id: WireNodeId,
    /// The context node that it answers.
    pub node_id: WireNodeId,
    /// Its text.
    pub content: String,
    /// The model's thinking.
    pub reasoning: Option<String>,
    /// Everything else known.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    /// Where it stands in its life.
    pub status: &'static str,
    /// When it was made.
    pub created_at: String,
    /// Whether nothing follows it yet.
    pub candidate: bool,
}

/// One stop on the way from the root to a leaf.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextPathStop {
    /// The context node.
    pub id: WireNodeId,
    /// The stop before it; null for the root.
    pub parent_id: Option<WireNodeId>,
    /// Who it speaks as.
    pub role: &'static str,
    /// What it is for.
    pub kind: &'static str,
    /// How its text begins.
    pub preview: String,
    /// The number of the turn.
    pub turn: i32,
    /// Whether the leaf belongs to this turn.
    pub is_current: bool,
    /// When it was made.
    pub created_at: String,
}

/// So many characters of a text stand on a stop.
const PREVIEW_CHARS: usize = 80;

impl TurnRecordResponse {
    /// A reply to a context node; `has_children` says whether anything follows it.
    pub fn new(placed: &StoredNode, context: NodeId, has_children: bool) -> Self {
        let node = &placed.node;
        Self {
            id: WireId(node.id),
            node_id: WireId(context),
            content: node.content.clone(),
            reasoning: node.reasoning.clone(),
            metadata: known(node.metadata.clone(), node.rating),
            status: node.status.word(),
            created_at: node.created.to_string(),
            candidate: !has_children,
        }
    }
}

impl ContextPathStop {
    /// A stop.
    pub fn new(placed: &StoredNode, before: Option<WireNodeId>, is_current: bool) -> Self {
        let node = &placed.node;
        Self {
            id: WireId(node.id),
            parent_id: before,
            role: node.role.word(),
            kind: node.kind.word(),
            preview: node.content.chars().take(PREVIEW_CHARS).collect(),
            turn: node.turn,
            is_current,
            created_at: node.created.to_string(),
        }
    }
}

/// The newest complete reply.
pub fn newest_record(records: &[StoredNode]) -> Option<WireNodeId> {
    let complete = |placed: &&StoredNode| placed.node.status == Status::Complete;
    records.iter().rev().find(complete).map(|placed| WireId(placed.node.id))
}
