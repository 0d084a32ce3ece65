//! The frames of a WebSocket.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::drafts::DraftErrorResponse;
use super::enums::Effects;
use super::ids::{WireDraftId, WireNodeId};
use super::node::ChatMessageNode;
use super::string_enums::DraftStatusEnum;
use super::tree::OperationResponse;
use super::world::DeltaResponse;
use crate::http::error::{ApiError, ErrorFields};
use crate::http::json_schema::JsonMap;

/// A frame to a client. Clients ignore frames with an unknown `type`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ServerFrame)]
#[serde(tag = "type")]
pub enum Event {
    /// First frame: the current version of the session.
    #[serde(rename = "hello", rename_all = "camelCase")]
    Hello {
        /// Number of the newest operation.
        op: i64,
        /// HEAD of the session.
        leaf_id: WireNodeId,
    },
    /// A node was created: complete, or as a placeholder.
    #[serde(rename = "node.created", rename_all = "camelCase")]
    Created {
        /// Number of the operation.
        op: i64,
        /// The created node.
        node: Box<ChatMessageNode>,
    },
    /// Another chunk of a running reply.
    #[serde(rename = "node.content.updated")]
    Grown(ReplyChunkEvent),
    /// A running reply reached another phase.
    #[serde(rename = "node.progress", rename_all = "camelCase")]
    Progress {
        /// Node of the reply.
        id: WireNodeId,
        /// `queued`, `waiting`, `thinking` or `streaming`.
        #[schema(value_type = String)]
        phase: &'static str,
        /// Position in the queue, from 1, while `phase` is `queued`.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        queue_position: Option<usize>,
    },
    /// A reply ended, successfully or with an error.
    #[serde(rename = "node.completed", rename_all = "camelCase")]
    Completed {
        /// Number of the operation.
        op: i64,
        /// The finished node.
        node: Box<ChatMessageNode>,
        /// Delta of the node, with its effect on the state.
        world_delta: DeltaResponse,
    },
    /// Nodes were enabled, disabled, muted, rated or marked as read or unread.
    #[serde(rename = "node.state.updated", rename_all = "camelCase")]
    State {
        /// Number of the operation.
        op: i64,
        /// New state of the nodes.
        #[serde(flatten)]
        states: NodeStatesEvent,
    },
    /// HEAD moved.
    #[serde(rename = "head.moved", rename_all = "camelCase")]
    HeadMoved {
        /// Number of the operation.
        op: i64,
        /// The new HEAD.
        leaf_id: WireNodeId,
        /// The nearest context node at or above HEAD.
        #[schema(required)]
        context_node_id: Option<WireNodeId>,
    },
    /// Nodes were moved, removed from the tree or restored. Also sent for an operation on a node that is now outside
    /// the tree.
    #[serde(rename = "tree.changed", rename_all = "camelCase")]
    TreeChanged {
        /// Number of the operation.
        op: i64,
        /// The entry of the operation log.
        operation: OperationResponse,
    },
    /// The title or settings of the session changed.
    #[serde(rename = "session.updated", rename_all = "camelCase")]
    SessionUpdated {
        /// Number of the operation.
        op: i64,
        /// New title; absent if it did not change.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        title: Option<String>,
        /// Changed settings, by the field names of a session.
        #[schema(value_type = JsonMap)]
        session: Map<String, Value>,
    },
    /// Plugin code was reloaded, so display and offers of plugins may differ. Belongs to no operation of the session.
    #[serde(rename = "plugins.changed", rename_all = "camelCase")]
    PluginsChanged {
        /// Ids of the plugins, whether or not the session uses them.
        ids: Vec<String>,
    },
    /// Another chunk or phase of a draft; only sent to the user who requested it.
    #[serde(rename = "draft.updated")]
    Draft(DraftChunkEvent),
    /// Answer to a ping.
    #[serde(rename = "pong")]
    Pong,
    /// A client frame was not understood, or the session no longer exists.
    #[serde(rename = "error", rename_all = "camelCase")]
    Error {
        /// Code, message, hint and details of the error.
        error: ErrorFields,
    },
}

/// A chunk of a running reply.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplyChunkEvent {
    /// Node of the reply.
    #[schema(required)]
    pub id: Option<WireNodeId>,
    /// The new text.
    pub content_chunk: String,
    /// Length of the text before the chunk, in UTF-16 code units.
    pub offset: usize,
    /// New reasoning text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reasoning_chunk: Option<String>,
    /// Length of the reasoning before the chunk, in UTF-16 code units.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reasoning_offset: Option<usize>,
    /// True if the chunk is all of the text, because earlier text turned out to be a thought; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub is_whole: Option<bool>,
}

/// A chunk of a draft.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DraftChunkEvent {
    /// Id of the draft.
    pub id: WireDraftId,
    /// The new text; may be empty.
    pub content_chunk: String,
    /// Length of the text before the chunk, in UTF-16 code units.
    pub offset: usize,
    /// True if the chunk is all of the text, because earlier text turned out to be a thought; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub is_whole: Option<bool>,
    /// `queued`, `waiting`, `thinking` or `streaming`; `done` or `error` in the last chunk.
    #[schema(value_type = DraftStatusEnum)]
    pub status: &'static str,
    /// Position in the queue, from 1, while `status` is `queued`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub queue_position: Option<usize>,
    /// Why the draft failed; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<DraftErrorResponse>,
}

/// The new state of one or many nodes. For many nodes, values that are the same for all stand next to `ids`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum NodeStatesEvent {
    /// One node.
    One(NodeStateEvent),
    /// Many nodes.
    #[serde(rename_all = "camelCase")]
    Many {
        /// Ids of the nodes.
        ids: Vec<WireNodeId>,
        /// Whether the texts are part of prompts; absent if it differs between nodes.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        is_enabled: Option<bool>,
        /// Whether the deltas are applied; absent if it differs between nodes.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        effects: Option<Effects>,
        /// Each node with its own state.
        nodes: Vec<NodeStateEvent>,
    },
}

/// The state of one node.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeStateEvent {
    /// Id of the node.
    pub id: WireNodeId,
    /// Whether the text is part of prompts.
    pub is_enabled: bool,
    /// Whether the delta is applied to the state.
    pub effects: Effects,
    /// Rating, 1 to 5 stars; null if unrated.
    #[schema(required)]
    pub rating: Option<u8>,
    /// Whether this is a reply that nobody has seen.
    pub is_unread: bool,
}

/// A frame from a client. A plain struct, because a tagged enum cannot deserialize the numbers inside.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClientFrame {
    /// `resume`, `typing` or `ping`.
    #[serde(rename = "type")]
    pub kind: String,
    /// For `resume`: node of the running reply.
    #[serde(default)]
    pub id: Option<WireNodeId>,
    /// For `resume`: length of the text the client has, in UTF-16 code units.
    #[serde(default)]
    pub offset: Option<usize>,
    /// For `resume`: length of the reasoning the client has, in UTF-16 code units.
    #[serde(default)]
    pub reasoning_offset: Option<usize>,
}

impl Event {
    /// Serializes the frame.
    ///
    /// # Errors
    /// Returns an internal error if serialization fails.
    pub fn text(&self) -> Result<String, ApiError> {
        serde_json::to_string(self).map_err(ApiError::internal)
    }

    /// Returns an error frame.
    pub fn refusal(error: &ApiError) -> Self {
        Self::Error { error: error.body(None).error }
    }
}

impl NodeStatesEvent {
    /// Returns the state of one node, or of many with their common values; `None` for no nodes.
    pub fn new(mut states: Vec<NodeStateEvent>) -> Option<Self> {
        if states.len() == 1 {
            return states.pop().map(Self::One);
        }
        let first = states.first()?.clone();
        let same = |alike: &dyn Fn(&NodeStateEvent) -> bool| states.iter().all(alike);
        Some(Self::Many {
            ids: states.iter().map(|state| state.id).collect(),
            is_enabled: same(&|state| state.is_enabled == first.is_enabled).then_some(first.is_enabled),
            effects: same(&|state| state.effects == first.effects).then_some(first.effects),
            nodes: states,
        })
    }
}
