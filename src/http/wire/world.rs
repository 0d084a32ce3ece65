//! The world at a node, what a node does to it, and why a reply exists.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::ids::{WireId, WireNodeId};
use clotho_compat::prompt::OutgoingMessage;
use clotho_core::tree::{Delta, NodeNote, NodeProblem};
use clotho_core::world::{PathChange, Pointer, StateOperation, World, diff};
use clotho_engine::turn::RebuiltPrompt;
use clotho_plugin::TOOL_PREFIX;
use clotho_store::{ActiveRules, MissingNode};

/// The world after a node.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorldResponse {
    /// The node.
    pub node_id: WireNodeId,
    /// `{vars, lore, summary, events}`.
    #[schema(value_type = Object)]
    pub world: Value,
    /// The schemas in force at the node.
    pub schemas: Vec<WorldStateSchema>,
}

/// The schema of one root of the world.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WorldStateSchema {
    /// The plugin that it belongs to.
    pub plugin: String,
    /// The root that it governs, as a path from `vars`.
    pub root: String,
    /// The schema.
    #[schema(value_type = Object)]
    pub schema: Value,
    /// Its title, else the plugin's.
    pub title: Option<String>,
    /// The places that are not to be shown now, as paths from `vars`: what the schema hides, always or until a condition holds.
    pub hidden: Vec<String>,
}

/// What a node does to its parent's world, and how that came about.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Delta)]
pub struct DeltaResponse {
    /// What was proposed, in order.
    #[schema(value_type = Vec<Object>)]
    pub operations: Vec<Value>,
    /// Visible lines under the node.
    #[schema(value_type = Vec<Object>)]
    pub notes: Vec<Value>,
    /// What the fold had to bend or leave out, and what failed.
    #[schema(value_type = Vec<Object>)]
    pub problems: Vec<Value>,
    /// Every draw of chance.
    #[schema(value_type = Vec<Object>)]
    pub rolls: Vec<Value>,
    /// Every hook that ran.
    #[schema(value_type = Vec<Object>)]
    pub rules: Vec<Value>,
    /// What it comes to here: the places of `vars` that differ from the parent's world.
    pub changes: Vec<PathChangeResponse>,
}

/// What one node of a line does to its parent's world.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeDeltaResponse {
    /// The node.
    pub node_id: WireNodeId,
    /// What it does.
    #[serde(flatten)]
    pub delta: DeltaResponse,
}

/// What the nodes of a line do to the world.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeltasResponse {
    /// The nodes that do something, oldest first.
    pub items: Vec<NodeDeltaResponse>,
    /// Leads to the page of older ones, as `before`.
    pub next: Option<WireNodeId>,
    /// Where the line ends.
    pub leaf_id: WireNodeId,
    /// The newest operation.
    pub op: i64,
}

/// One place of the world that differs.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PathChangeResponse {
    /// Where, from `vars`.
    pub path: String,
    /// The value before; missing where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Value, required = false)]
    pub before: Option<Value>,
    /// The value after; missing where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Value, required = false)]
    pub after: Option<Value>,
}

/// Why a reply exists.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Trace)]
pub struct TraceResponse {
    /// The blocks that the prompt was made from, those that were left out too: `{slot, role, source, text, tokens, kept, why?}`.
    /// `why` is `budget`, `duplicate` or `noPlace`; the slot of a plugin's text is `plugin:<id>:<slot>`.
    #[schema(value_type = Vec<Object>)]
    pub blueprint: Vec<Value>,
    /// The messages as they were sent.
    pub messages: Vec<TraceMessageResponse>,
    /// The nodes whose texts were sent, oldest first.
    pub history: Vec<TraceNodeResponse>,
    /// Whether the messages are those that were sent, byte for byte.
    pub is_exact: bool,
    /// The hooks that ran on the reply.
    #[schema(value_type = Vec<Object>)]
    pub rules: Vec<Value>,
    /// Every draw of chance.
    #[schema(value_type = Vec<Object>)]
    pub rolls: Vec<Value>,
    /// What did not fit and what failed: a plugin that is switched off or missing runs no hook, and says so here.
    #[schema(value_type = Vec<Object>)]
    pub problems: Vec<Value>,
    /// What plugins planned before the prompt was made, in the order in which they did: `{plugin, version, hook, injected, lore,
    /// unlore, warnings, log, micros, operations, error}`. Missing where none plans.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>, required = false)]
    pub plan: Option<Value>,
    /// The tools that plugins offered, and in `used` those that the model has called, in order: `{plugin, hook, arguments,
    /// answer | refused}`. Missing where none was offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, required = false)]
    pub tools: Option<Value>,
    /// How long it took.
    pub timings: TraceTimingsResponse,
    /// Tokens, where the model server counted them.
    pub usage: Option<TraceUsageResponse>,
    /// Parameters, model, how it ended and the rest. `historyCut` is null, or `{why, through}`: that message and all
    /// before it were not sent.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub rest: Map<String, Value>,
}

/// A node whose text was sent.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(untagged)]
pub enum TraceNodeResponse {
    /// It is there.
    There(WireNodeId),
    /// It was purged since.
    Purged(TracePurgedNode),
    /// It is of another session, and did not come along with the file of this one.
    Elsewhere(TraceForeignNode),
}

/// A node that stays in another session.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TraceForeignNode {
    /// Always true.
    pub elsewhere: bool,
}

/// A node that was purged.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TracePurgedNode {
    /// Always true.
    pub purged: bool,
    /// The blake3 hash of its text, in hex; null where it is not known.
    pub hash: Option<String>,
}

/// How long a reply took, in milliseconds from when it was asked for; null while it has not come so far.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Timings)]
pub struct TraceTimingsResponse {
    /// Until its turn came; missing where it began at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub queued: Option<u64>,
    /// To the first piece.
    pub first_token: Option<u64>,
    /// To its end.
    pub total: Option<u64>,
}

/// Tokens as the model server counted them.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TraceUsageResponse {
    /// Of the prompt.
    pub prompt: Option<u64>,
    /// Of the reply.
    pub completion: Option<u64>,
}

/// One message as it was sent to a model.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TraceMessageResponse {
    /// Who it speaks as.
    pub role: String,
    /// The speaker, where the provider was told in a field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The text.
    pub content: String,
}

impl From<OutgoingMessage> for TraceMessageResponse {
    fn from(sent: OutgoingMessage) -> Self {
        Self { role: sent.role.word().to_owned(), name: sent.name, content: sent.text }
    }
}

/// A change of the world by hand.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateWorldRequest {
    /// `{op, path, value?, key?, from?, why?}`, in order.
    #[schema(value_type = Vec<Object>)]
    pub operations: Vec<Value>,
    /// Where the writer saw HEAD.
    pub expected_leaf_id: Option<WireNodeId>,
    /// Instead: the newest operation that the writer saw.
    pub expected_op: Option<i64>,
}

impl DeltaResponse {
    /// Whether nothing came of the node: no operation, no dice, no line, no trouble. That a rule ran is nothing yet.
    pub fn is_empty(&self) -> bool {
        let kept = [&self.operations, &self.notes, &self.problems, &self.rolls];
        self.changes.is_empty() && kept.iter().all(|list| list.is_empty())
    }

    /// A delta and what it comes to between two worlds.
    pub fn new(delta: &Delta, before: &World, after: &World) -> Self {
        Self {
            operations: delta.operations.iter().map(StateOperation::to_json).collect(),
            notes: delta.notes.iter().map(NodeNote::to_json).collect(),
            problems: delta.problems.iter().map(NodeProblem::to_json).collect(),
            rolls: delta.rolls.clone(),
            rules: delta.runs.clone(),
            changes: diff(before, after).into_iter().map(PathChangeResponse::from).collect(),
        }
    }
}

impl TraceResponse {
    /// A rebuilt trace beside what ran on the node. Of a message that no model wrote there is only what ran; `None` where
    /// nothing did.
    pub fn new(rebuilt: Option<RebuiltPrompt>, delta: &Delta) -> Option<Self> {
        let has_run = !delta.runs.is_empty() || !delta.problems.is_empty();
        rebuilt.or_else(|| has_run.then(RebuiltPrompt::default)).map(|rebuilt| Self::of(rebuilt, delta))
    }

    fn of(mut rebuilt: RebuiltPrompt, delta: &Delta) -> Self {
        let plan = rebuilt.head.shift_remove("plan");
        let tools = tools_json(rebuilt.head.shift_remove("tools"), delta);
        let sent = rebuilt.messages.into_iter();
        let mut history: Vec<TraceNodeResponse> =
            rebuilt.history.iter().copied().map(WireId).map(TraceNodeResponse::There).collect();
        for (at, missing) in rebuilt.missing {
            let sent = match missing {
                MissingNode::Purged(hash) => TraceNodeResponse::Purged(TracePurgedNode { purged: true, hash }),
                MissingNode::Elsewhere => TraceNodeResponse::Elsewhere(TraceForeignNode { elsewhere: true }),
            };
            history.insert(at.min(history.len()), sent);
        }
        let number = |key: &str| head_number(&rebuilt.head, key);
        let timings = TraceTimingsResponse {
            queued: number("queuedMs"),
            first_token: number("firstTokenMs"),
            total: number("latencyMs"),
        };
        let counted = rebuilt.head.get("tokenCount").and_then(Value::as_object);
        let tokens = |key: &str| counted.and_then(|counted| head_number(counted, key));
        let usage = counted.map(|_| TraceUsageResponse { prompt: tokens("prompt"), completion: tokens("completion") });
        Self {
            blueprint: rebuilt.blueprint,
            messages: sent.map(TraceMessageResponse::from).collect(),
            history,
            is_exact: rebuilt.is_exact,
            rules: delta.runs.clone(),
            rolls: delta.rolls.clone(),
            problems: delta.problems.iter().map(NodeProblem::to_json).collect(),
            plan,
            tools,
            timings,
            usage,
            rest: rebuilt.head,
        }
    }
}

/// What a model was offered to use, and what it has used, in order.
fn tools_json(offered: Option<Value>, delta: &Delta) -> Option<Value> {
    let is_use =
        |run: &&Value| run.get("hook").and_then(Value::as_str).is_some_and(|hook| hook.starts_with(TOOL_PREFIX));
    let used: Vec<&Value> = delta.runs.iter().filter(is_use).collect();
    let told = |run: &&Value| {
        let keys = ["plugin", "hook", "arguments", "answer", "refused"].into_iter();
        keys.filter_map(|key| Some((key.to_owned(), run.get(key)?.clone()))).collect::<Map<String, Value>>()
    };
    let used: Vec<Map<String, Value>> = used.iter().map(told).collect();
    (offered.is_some() || !used.is_empty())
        .then(|| json!({"offered": offered.unwrap_or_else(|| json!([])), "used": used}))
}

fn head_number(head: &Map<String, Value>, key: &str) -> Option<u64> {
    head.get(key).and_then(Value::as_u64)
}

impl From<PathChange> for PathChangeResponse {
    fn from(change: PathChange) -> Self {
        Self { path: change.path.to_string(), before: change.before, after: change.after }
    }
}

/// The schemas of rules, each with a title: its own, else what `title_of` says of the plugin; and with what they hide in a world.
pub fn schemas(rules: &ActiveRules, world: &World, title_of: impl Fn(&str) -> Option<String>) -> Vec<WorldStateSchema> {
    let governed =
        rules.plugins.iter().filter_map(|plugin| Some((plugin, plugin.root.as_ref()?, plugin.schema.as_ref()?)));
    governed
        .map(|(plugin, root, schema)| WorldStateSchema {
            plugin: plugin.id.clone(),
            root: root.to_string(),
            schema: schema.clone(),
            title: schema.get("title").and_then(Value::as_str).map(str::to_owned).or_else(|| title_of(&plugin.id)),
            hidden: hidden_paths(rules, world, root),
        })
        .collect()
}

/// The places below a root that are not to be shown.
fn hidden_paths(rules: &ActiveRules, world: &World, root: &Pointer) -> Vec<String> {
    let schema = rules.rules.roots().iter().find(|(own, _)| own == root).map(|(_, schema)| schema);
    let places = schema.map(|schema| schema.hidden_paths(world.get(root).unwrap_or(&Value::Null))).unwrap_or_default();
    places.iter().map(|place| format!("{root}{place}")).collect()
}
