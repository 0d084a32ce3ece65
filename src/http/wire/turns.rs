//! The turn-based view: context nodes and their possible replies.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::ids::{WireId, WireNodeId};
use super::node::merge_rating;
use crate::http::json_schema::JsonMap;
use clotho_core::ids::NodeId;
use clotho_core::tree::NodeMetadata;
use clotho_queries::turns::{ContextPathNode, TurnReply, TurnView};

/// One turn: a context node, with the state just before the model speaks, and its possible replies.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Turn)]
pub struct TurnResponse {
    /// Id of the context node.
    pub context_node_id: WireNodeId,
    /// Previous context node; null for the root.
    #[schema(required)]
    pub parent_id: Option<WireNodeId>,
    /// `user`, or `system` for narration and the root.
    pub role: &'static str,
    /// Text of the context node; empty for the root.
    pub user_content: String,
    /// Selected reply: the last visited one, otherwise the newest complete one.
    #[schema(required)]
    pub selected_record_id: Option<WireNodeId>,
    /// Reply on the requested branch; may differ from the selected one if HEAD is elsewhere.
    #[schema(required)]
    pub shown_record_id: Option<WireNodeId>,
    /// All replies in creation order.
    pub records: Vec<TurnRecordResponse>,
    /// Whether the full state is stored at this node.
    pub is_keyframe: bool,
    /// How many messages of the branch recall and summaries can use at this turn: those up to the context
    /// node. Null while both are off.
    #[schema(required)]
    pub rag_position: Option<i64>,
    /// Events confirmed so far on this branch.
    #[schema(value_type = Vec<JsonMap>)]
    pub event_history: Vec<Value>,
    /// Reply that the session remembers as selected.
    #[schema(required)]
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
    #[schema(required)]
    pub reasoning: Option<String>,
    /// Everything else, such as model, tokens and cost.
    #[schema(value_type = JsonMap)]
    pub metadata: Box<NodeMetadata>,
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
    #[schema(required)]
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

impl From<TurnView> for TurnResponse {
    fn from(view: TurnView) -> Self {
        let selected = view.selected().map(WireId);
        let TurnView { context, parent, replies, remembered, shown, events, memory_position } = view;
        let node = context.node;
        Self {
            context_node_id: WireId(node.id),
            parent_id: parent.map(WireId),
            role: node.role.as_str(),
            user_content: node.content,
            selected_record_id: selected,
            shown_record_id: shown.map(WireId),
            records: replies.into_iter().map(|reply| TurnRecordResponse::new(reply, node.id)).collect(),
            is_keyframe: node.is_keyframe,
            rag_position: memory_position,
            // An imported file may have other values among them.
            event_history: events.into_iter().filter(Value::is_object).collect(),
            default_generation: remembered.map(WireId),
            turn: node.turn,
            created_at: node.created.to_string(),
        }
    }
}

impl TurnRecordResponse {
    /// Describes a reply to a context node.
    fn new(found: TurnReply, context: NodeId) -> Self {
        let node = found.reply.node;
        Self {
            id: WireId(node.id),
            node_id: WireId(context),
            content: node.content,
            reasoning: node.reasoning,
            metadata: merge_rating(node.metadata, node.rating),
            status: node.status.as_str(),
            created_at: node.created.to_string(),
            candidate: !found.has_children,
        }
    }
}

impl From<&ContextPathNode> for ContextPathStop {
    fn from(stop: &ContextPathNode) -> Self {
        let node = &stop.context.node;
        Self {
            id: WireId(node.id),
            parent_id: stop.parent.map(WireId),
            role: node.role.as_str(),
            kind: node.kind.as_str(),
            preview: node.content.chars().take(PREVIEW_CHARS).collect(),
            turn: node.turn,
            is_current: stop.is_current,
            created_at: node.created.to_string(),
        }
    }
}
