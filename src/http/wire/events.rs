//! The frames of a WebSocket.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::drafts::DraftErrorResponse;
use super::enums::Effects;
use super::ids::{WireDraftId, WireNodeId};
use super::node::ChatMessageNode;
use super::tree::OperationResponse;
use super::world::DeltaResponse;
use crate::http::error::{ApiError, ErrorFields};

/// A frame to a client. One whose `type` a client does not know it passes over.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ServerFrame)]
#[serde(tag = "type")]
pub enum Event {
    /// The first frame: where the session stands.
    #[serde(rename = "hello", rename_all = "camelCase")]
    Hello {
        /// The newest operation.
        op: i64,
        /// HEAD.
        leaf_id: WireNodeId,
    },
    /// A node came: complete, or a placeholder.
    #[serde(rename = "node.created", rename_all = "camelCase")]
    Created {
        /// The operation.
        op: i64,
        /// The node.
        node: Box<ChatMessageNode>,
    },
    /// More of a reply arrived.
    #[serde(rename = "node.content.updated")]
    Grown(ReplyChunkEvent),
    /// A reply reached another phase.
    #[serde(rename = "node.progress", rename_all = "camelCase")]
    Progress {
        /// The node.
        id: WireNodeId,
        /// `queued`, `waiting`, `thinking` or `streaming`.
        #[schema(value_type = String)]
        phase: &'static str,
        /// Its place in the queue, counted from 1, while it is `queued`.
        #[serde(skip_serializing_if = "Option::is_none")]
        queue_position: Option<usize>,
    },
    /// A reply is over, well or not.
    #[serde(rename = "node.completed", rename_all = "camelCase")]
    Completed {
        /// The operation.
        op: i64,
        /// The node.
        node: Box<ChatMessageNode>,
        /// What it does to the world.
        world_delta: DeltaResponse,
    },
    /// Nodes were enabled, disabled, muted or rated.
    #[serde(rename = "node.state.updated", rename_all = "camelCase")]
    State {
        /// The operation.
        op: i64,
        /// The nodes.
        #[serde(flatten)]
        states: NodeStatesEvent,
    },
    /// HEAD moved.
    #[serde(rename = "head.moved", rename_all = "camelCase")]
    HeadMoved {
        /// The operation.
        op: i64,
        /// HEAD.
        leaf_id: WireNodeId,
        /// The nearest context node at or above it.
        context_node_id: Option<WireNodeId>,
    },
    /// Nodes hang elsewhere, or left or rejoined the tree; also an operation on what is out of the tree by now.
    #[serde(rename = "tree.changed", rename_all = "camelCase")]
    TreeChanged {
        /// The operation.
        op: i64,
        /// The same as the log has it.
        operation: OperationResponse,
    },
    /// Title or settings changed.
    #[serde(rename = "session.updated", rename_all = "camelCase")]
    SessionUpdated {
        /// The operation.
        op: i64,
        /// The title, if it changed.
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// What changed, by the names of a session's fields.
        #[schema(value_type = Object)]
        session: Map<String, Value>,
    },
    /// Other code of plugins is in force: what they show and offer may be otherwise. No operation of the session.
    #[serde(rename = "plugins.changed", rename_all = "camelCase")]
    PluginsChanged {
        /// The plugins, whether the session uses them or not.
        ids: Vec<String>,
    },
    /// More of a draft arrived, or it reached another phase; only for whoever asked for it.
    #[serde(rename = "draft.updated")]
    Draft(DraftChunkEvent),
    /// Answers a ping.
    #[serde(rename = "pong")]
    Pong,
    /// A frame of the client was not understood, or the session is gone.
    #[serde(rename = "error", rename_all = "camelCase")]
    Error {
        /// What is wrong.
        error: ErrorFields,
    },
}

/// A piece of a running reply.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplyChunkEvent {
    /// The node.
    pub id: Option<WireNodeId>,
    /// The piece.
    pub content_chunk: String,
    /// The length of the text before it, in UTF-16 code units.
    pub offset: usize,
    /// A piece of the thinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_chunk: Option<String>,
    /// The length of the thinking before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_offset: Option<usize>,
}

/// A piece of a draft.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DraftChunkEvent {
    /// The draft.
    pub id: WireDraftId,
    /// The piece, which may be empty.
    pub content_chunk: String,
    /// The length of the text before it, in UTF-16 code units.
    pub offset: usize,
    /// `queued`, `waiting`, `thinking` or `streaming`; the last one says `done` or `error`.
    #[schema(value_type = String)]
    pub status: &'static str,
    /// Its place in the queue, counted from 1, while it is `queued`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_position: Option<usize>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<DraftErrorResponse>,
}

/// One or many nodes whose state changed. Many have `ids`, and the values where they are the same for all.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum NodeStatesEvent {
    /// One.
    One(NodeStateEvent),
    /// Many.
    #[serde(rename_all = "camelCase")]
    Many {
        /// The nodes.
        ids: Vec<WireNodeId>,
        /// Whether their texts count.
        #[serde(skip_serializing_if = "Option::is_none")]
        is_enabled: Option<bool>,
        /// Whether what they do to the world counts.
        #[serde(skip_serializing_if = "Option::is_none")]
        effects: Option<Effects>,
        /// Each by itself.
        nodes: Vec<NodeStateEvent>,
    },
}

/// How a node stands.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeStateEvent {
    /// The node.
    pub id: WireNodeId,
    /// Whether its text counts.
    pub is_enabled: bool,
    /// Whether what it does to the world counts.
    pub effects: Effects,
    /// Stars.
    pub rating: Option<u8>,
    /// Whether it is a reply that nobody has seen.
    pub is_unread: bool,
}

/// A frame from a client. A plain struct and not a tagged enum, because a number inside one would not be read.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClientFrame {
    /// `resume`, `typing` or `ping`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The node to resume.
    #[serde(default)]
    pub id: Option<WireNodeId>,
    /// How much of its text the client has, in UTF-16 code units.
    #[serde(default)]
    pub offset: Option<usize>,
    /// How much of its thinking the client has.
    #[serde(default)]
    pub reasoning_offset: Option<usize>,
}

impl Event {
    /// The node that came or ended.
    pub fn node(&mut self) -> Option<&mut ChatMessageNode> {
        match self {
            Self::Created { node, .. } | Self::Completed { node, .. } => Some(node),
            _ => None,
        }
    }

    /// The text of the frame.
    ///
    /// # Errors
    /// It cannot be written, which is our own fault.
    pub fn text(&self) -> Result<String, ApiError> {
        serde_json::to_string(self).map_err(ApiError::internal)
    }

    /// A refusal as a frame.
    pub fn refusal(error: &ApiError) -> Self {
        Self::Error { error: error.body(None).error }
    }
}

impl NodeStatesEvent {
    /// One node, or many with what is the same for all.
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
