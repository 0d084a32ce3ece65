//! A node as clients see it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::enums::{Effects, Kind, Role, Status};
use super::ids::{WireCharacterId, WireId, WireNodeId, WirePersonaId, WireUserId, wire_ids};
use super::records::WorldSchema;
use super::reply_records::NodeMetadataSchema;
use super::world::{DeltaResponse, TraceResponse, WorldStateSchema, schema_responses, world_json};
use crate::http::error::ApiError;
use crate::http::json_schema::JsonMap;
use clotho_core::coded_message::MessageArgs;
use clotho_core::ids::NodeId;
use clotho_core::tree;
use clotho_core::tree::NodeMetadata;
use clotho_queries::node_view::NodeView;
use clotho_queries::nodes::{NodeAlternatives, NodeExpansion, NodeFacts};

/// One node of a tree: a message, or a hidden node such as a state change.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatMessageNode {
    /// Id of the node.
    pub id: WireNodeId,
    /// Parent node; null only for the root.
    #[schema(required)]
    pub parent_id: Option<WireNodeId>,
    /// Children in creation order.
    pub children_ids: Vec<WireNodeId>,
    /// Role of the message.
    pub role: Role,
    /// Kind of the node.
    pub kind: Kind,
    /// Name of the speaker.
    #[schema(required)]
    pub name: Option<String>,
    /// The user who wrote or requested the node.
    #[schema(required)]
    pub author_id: Option<WireUserId>,
    /// The persona that the author played.
    #[schema(required)]
    pub persona_id: Option<WirePersonaId>,
    /// The character that speaks.
    #[schema(required)]
    pub character_id: Option<WireCharacterId>,
    /// The text exactly as received.
    pub content: String,
    /// The displayed text, if it differs from `content`: without blocks for machines, and as plugins render it. Whole
    /// trees do not include the rendering of plugins.
    #[schema(required)]
    pub display: Option<String>,
    /// Reasoning of the model.
    #[schema(required)]
    pub reasoning: Option<String>,
    /// `generating`, `complete` or `error`.
    pub status: Status,
    /// Whether the text is part of prompts and of the chat view.
    pub is_enabled: bool,
    /// `on`: the delta is applied to the state; `muted`: it is ignored.
    pub effects: Effects,
    /// Whether this is a reply that nobody has seen: HEAD has never been on it or below it.
    pub is_unread: bool,
    /// Visible lines below the message, written by plugins.
    pub notes: Vec<NodeNoteResponse>,
    /// What went wrong while the node was made.
    pub problems: Vec<NodeProblemResponse>,
    /// Creation time, ISO 8601 UTC.
    pub timestamp: String,
    /// Number of edges from the root.
    pub depth: i32,
    /// Number of the turn.
    pub turn: i32,
    /// Everything else: `model, params, seed, phase, queuePosition, finishReason, isTruncated, error, latencyMs,
    /// firstTokenMs, tokenCount, cost, costFrom, rating, editedFrom, …`.
    #[schema(value_type = NodeMetadataSchema)]
    pub metadata: Box<NodeMetadata>,
    /// Position among the siblings; only in views of one branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub siblings: Option<SiblingsResponse>,
}

/// The position of a node among its siblings.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Siblings)]
pub struct SiblingsResponse {
    /// Index from 0.
    pub index: usize,
    /// Number of siblings, including the node.
    pub count: usize,
    /// All siblings in creation order, including the node.
    pub ids: Vec<WireNodeId>,
}

/// A visible line below a message.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Note)]
pub struct NodeNoteResponse {
    /// The plugin that wrote the line.
    pub plugin: String,
    /// The text of the line.
    pub text: String,
    /// Stable code if the server wrote the line; absent otherwise.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub code: String,
    /// Arguments of the code: texts and numbers by name.
    #[serde(skip_serializing_if = "MessageArgs::is_empty")]
    #[schema(required = false, value_type = JsonMap)]
    pub args: MessageArgs,
}

/// Something that went wrong while a node was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct NodeProblemResponse {
    /// Stable code of the problem.
    pub code: String,
    /// Arguments of the code: texts and numbers by name. Absent if there are none.
    #[serde(skip_serializing_if = "MessageArgs::is_empty")]
    #[schema(required = false, value_type = JsonMap)]
    pub args: MessageArgs,
    /// The problem in one sentence.
    pub message: String,
    /// The plugin concerned; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub plugin: Option<String>,
}

/// A node with the requested expansions.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeResponse {
    /// The node itself; its fields stand at the top level.
    #[serde(flatten)]
    pub node: ChatMessageNode,
    /// State after the node (`expand=world`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = WorldSchema)]
    pub world: Option<Value>,
    /// Active schemas at the node (`expand=world`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub schemas: Option<Vec<WorldStateSchema>>,
    /// Delta of the node (`expand=delta`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub delta: Option<DeltaResponse>,
    /// Trace of the node (`expand=trace`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub trace: Option<TraceResponse>,
}

/// The expansions of a node.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct NodeQuery {
    /// Comma-separated list of `world`, `trace` and `delta`.
    pub expand: Option<String>,
}

impl NodeQuery {
    /// Returns the requested expansions.
    ///
    /// # Errors
    /// Returns an error if one is unknown.
    pub fn read(&self) -> Result<NodeExpansion, ApiError> {
        let mut expand = NodeExpansion::default();
        for word in self.expand.as_deref().unwrap_or_default().split(',').map(str::trim).filter(|w| !w.is_empty()) {
            match word {
                // The first design called the world "state".
                "world" | "state" => expand.world = true,
                "trace" => expand.trace = true,
                "delta" => expand.delta = true,
                _ => return Err(ApiError::invalid("expand", "expected world, trace and delta, separated by commas")),
            }
        }
        Ok(expand)
    }
}

/// The alternatives of a node.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AlternativesResponse {
    /// The requested node.
    pub node_id: WireNodeId,
    /// The common parent of the alternatives.
    #[schema(required)]
    pub parent_id: Option<WireNodeId>,
    /// The alternative that the session remembers; otherwise the newest complete one.
    #[schema(required)]
    pub selected_id: Option<WireNodeId>,
    /// All alternatives in creation order, including the node.
    pub items: Vec<ChatMessageNode>,
    /// If the node is a context node: its replies in creation order.
    pub generations: Vec<ChatMessageNode>,
    /// The selected reply among `generations`.
    #[schema(required)]
    pub selected_generation_id: Option<WireNodeId>,
}

/// Returns the metadata of a node, including its rating.
pub fn merge_rating(metadata: Box<NodeMetadata>, rating: Option<u8>) -> Box<NodeMetadata> {
    let mut metadata = metadata.for_readers();
    // A file of a stranger may hold a rating as metadata too.
    match rating {
        Some(stars) => _ = metadata.rest.insert("rating".into(), stars.into()),
        None => _ = metadata.rest.shift_remove("rating"),
    }
    metadata
}

impl From<NodeView> for ChatMessageNode {
    fn from(view: NodeView) -> Self {
        let NodeView { node, children, siblings, notes, problems, display, needs_plugin_display: _ } = view;
        Self {
            id: WireId(node.id),
            parent_id: node.parent.map(WireId),
            children_ids: wire_ids(&children),
            role: node.role.into(),
            kind: node.kind.into(),
            name: node.name,
            author_id: node.author.map(WireId),
            persona_id: node.persona.map(WireId),
            character_id: node.character.map(WireId),
            content: node.content,
            display,
            reasoning: node.reasoning,
            status: node.status.into(),
            is_enabled: node.is_enabled,
            effects: node.effects.into(),
            is_unread: node.is_unread,
            notes: notes.into_iter().map(NodeNoteResponse::from).collect(),
            problems: problems.into_iter().map(NodeProblemResponse::from).collect(),
            timestamp: node.created.to_string(),
            depth: node.depth,
            turn: node.turn,
            metadata: merge_rating(node.metadata, node.rating),
            siblings: siblings.as_ref().map(SiblingsResponse::from),
        }
    }
}

/// Converts nodes for the wire.
pub fn wire_nodes(views: Vec<NodeView>) -> Vec<ChatMessageNode> {
    views.into_iter().map(ChatMessageNode::from).collect()
}

impl NodeResponse {
    /// Describes a node with its expansions.
    pub fn new(facts: NodeFacts) -> Self {
        let NodeFacts { node, world, delta, trace } = facts;
        let (world, schemas) = world.map(|view| (world_json(&view.world), schema_responses(view.schemas))).unzip();
        Self {
            node: node.into(),
            world,
            schemas,
            delta: delta.map(DeltaResponse::from),
            trace: trace.map(TraceResponse::from),
        }
    }
}

impl AlternativesResponse {
    /// Describes the alternatives of a node.
    pub fn new(node: NodeId, found: NodeAlternatives) -> Self {
        Self {
            node_id: WireId(node),
            parent_id: found.parent.map(WireId),
            selected_id: found.selected.map(WireId),
            items: wire_nodes(found.siblings),
            generations: wire_nodes(found.replies),
            selected_generation_id: found.selected_reply.map(WireId),
        }
    }
}

impl From<&tree::SiblingPosition> for SiblingsResponse {
    fn from(siblings: &tree::SiblingPosition) -> Self {
        Self { index: siblings.index, count: siblings.ids.len(), ids: wire_ids(&siblings.ids) }
    }
}

impl From<tree::NodeNote> for NodeNoteResponse {
    fn from(note: tree::NodeNote) -> Self {
        Self { plugin: note.plugin, text: note.text, code: note.code, args: note.args }
    }
}

impl From<tree::NodeProblem> for NodeProblemResponse {
    fn from(trouble: tree::NodeProblem) -> Self {
        Self { code: trouble.code, args: trouble.args, message: trouble.message, plugin: trouble.plugin }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::http::recorded_json::RecordSchema;

    /// Metadata with every key, each with a value of its type.
    fn full_metadata() -> Value {
        let id = "01890a5d-ac96-774b-bcce-b302099a8057";
        let message = json!({"code": "c", "args": {"n": 1}, "message": "m"});
        json!({
            "model": "m", "alias": "a", "passedOver": [{"model": "m", "code": "c", "args": {"n": 1}, "message": "m"}],
            "params": {"top_p": 1}, "queuedMs": 1, "latencyMs": 1, "firstTokenMs": 1,
            "tokenCount": {"prompt": 1, "completion": 1}, "cachedTokens": 1, "cost": 0.5, "costFrom": "prices",
            "saved": -0.5, "toolCalls": [{"id": "i", "name": "n", "arguments": "{}"}], "finishReason": "stop",
            "error": {"code": "c", "args": {"n": 1}, "message": "m", "hint": "h"}, "reportedModel": "m",
            "isTruncated": true, "seed": 7, "timeZone": "+02:00", "override": {"model": "m", "params": {"top_k": 1}},
            "values": {"model": "m", "text": "t", "error": "e", "failure": message, "cost": 1, "toolCalls": []},
            "continuedFrom": id, "editedFrom": id, "originalContent": "t", "summarizedFrom": [id], "mergedFrom": id,
            "mergedNodes": [{"nodeId": id, "operations": 1}],
            "answers": {"plugin": "p", "name": "n", "nodeId": id, "error": "e", "failure": message},
            "provenance": {"file": "f", "line": 1, "sessionId": id, "nodeId": id}, "sillytavern": {"extra": {}},
        })
    }

    /// Returns copies of a value, each with `odd` in another place.
    fn variants(value: &Value, odd: &Value) -> Vec<Value> {
        let mut all = vec![odd.clone()];
        let keys: Vec<String> = match value {
            Value::Object(map) => map.keys().map(|key| format!("/{key}")).collect(),
            Value::Array(items) => (0..items.len()).map(|n| format!("/{n}")).collect(),
            _ => Vec::new(),
        };
        for key in keys {
            for part in variants(value.pointer(&key).unwrap(), odd) {
                let mut changed = value.clone();
                *changed.pointer_mut(&key).unwrap() = part;
                all.push(changed);
            }
        }
        all
    }

    fn sent(stored: &Value) -> Value {
        let stored: Map<String, Value> = stored.as_object().unwrap().clone();
        serde_json::to_value(merge_rating(stored.into(), None)).unwrap()
    }

    #[test]
    fn node_metadata_sample_has_every_key_and_is_sent_whole() {
        let full = full_metadata();
        let keys = NodeMetadata::KEYS.iter().chain(tree::ReplyFacts::KEYS);
        assert_eq!(keys.filter(|key| full.get(**key).is_none()).count(), 0);
        assert_eq!(sent(&full), full);
    }

    /// Whatever a file holds under a key, or within its value, what is sent is as the document says.
    #[test]
    fn node_metadata_of_any_type_is_sent_as_documented() {
        let schema = RecordSchema::of::<NodeMetadataSchema>();
        let beyond: Value = serde_json::from_str("1e999").unwrap();
        for odd in
            [json!(5), json!(-1.5), json!("x"), json!(true), json!(null), json!([[5]]), json!({"a": [null]}), beyond]
        {
            for stored in variants(&full_metadata(), &odd).iter().filter(|stored| stored.is_object()) {
                let shown = sent(stored);
                assert_eq!(schema.fitting(shown.clone()), Some(shown), "{stored}");
            }
        }
    }
}
