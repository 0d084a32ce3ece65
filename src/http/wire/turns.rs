//! The turn-based view: context nodes and their possible replies.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::ids::{WireId, WireNodeId};
use super::node::known;
use clotho_core::ids::NodeId;
use clotho_core::tree::Status;
use clotho_store::StoredNode;

/// One turn: a context node, with the state just before the model speaks, and its possible replies.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Turn)]
pub struct TurnResponse {
    /// Id of the context node.
    pub context_node_id: WireNodeId,
    /// Previous context node; null for the root.
    pub parent_id: Option<WireNodeId>,
    /// `user`, or `system` for narration and the root.
    pub role: &'static str,
    /// Text of the context node; empty for the root.
    pub user_content: String,
    /// Selected reply: the last visited one, otherwise the newest complete one.
    pub selected_record_id: Option<WireNodeId>,
    /// Reply on the requested branch; may differ from the selected one if HEAD is elsewhere.
    pub shown_record_id: Option<WireNodeId>,
    /// All replies in creation order.
    pub records: Vec<TurnRecordResponse>,
    /// Whether the full state is stored at this node.
    pub is_keyframe: bool,
    /// Always null: this server finds memories by their place in the tree.
    pub rag_position: Option<i64>,
    /// Events confirmed so far on this branch.
    #[schema(value_type = Vec<Object>)]
    pub event_history: Vec<Value>,
    /// Reply that the session remembers as selected.
    pub default_generation: Option<WireNodeId>,
    /// Number of the turn.
    pub turn: i32,
    /// Creation time, ISO 8601 UTC.
    pub created_at: String,
}

/// One possible reply.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Record)]
pub struct TurnRecordResponse {
    /// Id of the reply.
    pub id: WireNodeId,
    /// Context node that it answers.
    pub node_id: WireNodeId,
    /// Text of the reply.
    pub content: String,
    /// Reasoning of the model.
    pub reasoning: Option<String>,
    /// Everything else, such as model, tokens and cost.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    /// `generating`, `complete` or `error`.
    pub status: &'static str,
    /// Creation time, ISO 8601 UTC.
    pub created_at: String,
    /// Whether nothing follows the reply yet.
    pub candidate: bool,
}

/// One context node on the path from the root to a leaf.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextPathStop {
    /// Id of the context node.
    pub id: WireNodeId,
    /// Previous context node; null for the root.
    pub parent_id: Option<WireNodeId>,
    /// Role of the node.
    pub role: &'static str,
    /// Kind of the node.
    pub kind: &'static str,
    /// Start of the text, at most 80 characters.
    pub preview: String,
    /// Number of the turn.
    pub turn: i32,
    /// Whether the leaf belongs to this turn.
    pub is_current: bool,
    /// Creation time, ISO 8601 UTC.
    pub created_at: String,
}

/// Length of a preview in characters.
const PREVIEW_CHARS: usize = 80;

impl TurnRecordResponse {
    /// Describes a reply to a context node; `has_children` tells whether anything follows it.
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
    /// Describes one context node; `before` is the previous one.
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

/// Returns the newest complete reply.
pub fn newest_record(records: &[StoredNode]) -> Option<WireNodeId> {
    let complete = |placed: &&StoredNode| placed.node.status == Status::Complete;
    records.iter().rev().find(complete).map(|placed| WireId(placed.node.id))
}
