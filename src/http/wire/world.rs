//! The state at a node, the delta of a node, and the trace of a reply.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::ids::{WireId, WireNodeId};
use super::records::{
    DiceRollSchema, HookRunSchema, PromptBlockSchema, RecordedNoteSchema, RecordedProblemSchema, WorldOperationSchema,
    WorldSchema,
};
use super::reply_records::{TraceHeadSchema, TraceToolsSchema};
use crate::http::json_schema::{AnyJson, JsonMap};
use crate::http::recorded_json::RecordSchema;
use clotho_compat::prompt::OutgoingMessage;
use clotho_core::ids::NodeId;
use clotho_core::tree::{Delta, NodeNote, NodeProblem, TraceHead};
use clotho_core::world::{PathChange, StateOperation, World};
use clotho_engine::turn::RebuiltPrompt;
use clotho_plugin::TOOL_PREFIX;
use clotho_queries::nodes::NodeTrace;
use clotho_queries::worlds::{DeltaPage, NodeDelta, SchemaView, WorldView};
use clotho_store::MissingNode;

static ROLL: LazyLock<RecordSchema> = LazyLock::new(RecordSchema::of::<DiceRollSchema>);
static HOOK_RUN: LazyLock<RecordSchema> = LazyLock::new(RecordSchema::of::<HookRunSchema>);
static BLOCK: LazyLock<RecordSchema> = LazyLock::new(RecordSchema::of::<PromptBlockSchema>);
static HEAD: LazyLock<RecordSchema> = LazyLock::new(RecordSchema::of::<TraceHeadSchema>);

/// The fields of a trace that its recorded head does not set.
const TRACE_FIELDS: [&str; 11] =
    ["blueprint", "messages", "history", "isExact", "rules", "rolls", "problems", "plan", "tools", "timings", "usage"];

/// The state after a node.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorldResponse {
    /// Id of the node.
    pub node_id: WireNodeId,
    /// The state: `{vars, lore, summary, events}`.
    #[schema(value_type = WorldSchema)]
    pub world: Value,
    /// Schemas that are active at the node.
    pub schemas: Vec<WorldStateSchema>,
}

/// The schema of one root of the state.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WorldStateSchema {
    /// The plugin that owns the schema.
    pub plugin: String,
    /// Root that the schema governs, as a JSON Pointer from `vars`.
    pub root: String,
    /// The schema, a subset of JSON Schema.
    #[schema(value_type = JsonMap)]
    pub schema: Value,
    /// Title of the schema; otherwise the title of the plugin.
    #[schema(required)]
    pub title: Option<String>,
    /// Hidden paths as JSON Pointers from `vars`: those that the schema hides always, or until a condition holds.
    pub hidden: Vec<String>,
}

/// The delta of a node: what it does to its parent's state, and how that came about.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Delta)]
pub struct DeltaResponse {
    /// Proposed operations, in order.
    #[schema(value_type = Vec<WorldOperationSchema>)]
    pub operations: Vec<Value>,
    /// Visible lines below the message.
    #[schema(value_type = Vec<RecordedNoteSchema>)]
    pub notes: Vec<Value>,
    /// Operations that were clamped or skipped, and errors.
    #[schema(value_type = Vec<RecordedProblemSchema>)]
    pub problems: Vec<Value>,
    /// Recorded random draws.
    #[schema(value_type = Vec<DiceRollSchema>)]
    pub rolls: Vec<Value>,
    /// Hooks that ran.
    #[schema(value_type = Vec<HookRunSchema>)]
    pub rules: Vec<Value>,
    /// Effect of the delta: paths of `vars` that differ from the parent's state.
    pub changes: Vec<PathChangeResponse>,
}

/// The delta of one node of a branch.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeDeltaResponse {
    /// Id of the node.
    pub node_id: WireNodeId,
    /// Delta of the node.
    #[serde(flatten)]
    pub delta: DeltaResponse,
}

/// The deltas of a branch.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeltasResponse {
    /// Nodes with a non-empty delta, oldest first.
    pub items: Vec<NodeDeltaResponse>,
    /// `before` for the page of older nodes; null at the start of the branch.
    #[schema(required)]
    pub next: Option<WireNodeId>,
    /// Leaf of the branch.
    pub leaf_id: WireNodeId,
    /// Number of the newest operation of the session.
    pub op: i64,
}

/// One path of the state that differs.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PathChangeResponse {
    /// JSON Pointer from `vars`.
    pub path: String,
    /// Value before; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = AnyJson, required = false)]
    pub before: Option<Value>,
    /// Value after; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = AnyJson, required = false)]
    pub after: Option<Value>,
}

/// The trace of a reply: how it was made.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Trace)]
pub struct TraceResponse {
    /// Blocks of the prompt, including those left out: `{slot, role, source, text, tokens, kept, why?}`. `why` is
    /// `budget`, `duplicate` or `noPlace`. The slot of a plugin's text is `plugin:<id>:<slot>`.
    #[schema(value_type = Vec<PromptBlockSchema>)]
    pub blueprint: Vec<Value>,
    /// Messages as they were sent.
    pub messages: Vec<TraceMessageResponse>,
    /// Nodes whose texts were sent, oldest first.
    pub history: Vec<TraceNodeResponse>,
    /// Whether `messages` equals the sent messages byte for byte.
    pub is_exact: bool,
    /// Hooks that ran on the reply.
    #[schema(value_type = Vec<HookRunSchema>)]
    pub rules: Vec<Value>,
    /// Recorded random draws.
    #[schema(value_type = Vec<DiceRollSchema>)]
    pub rolls: Vec<Value>,
    /// What did not fit and what failed, including plugins that ran no hook because they are disabled or missing.
    #[schema(value_type = Vec<RecordedProblemSchema>)]
    pub problems: Vec<Value>,
    /// What plugins planned before the prompt was built, in execution order: `{plugin, version, hook, injected, lore,
    /// unlore, warnings, log, micros, operations, error}`. Absent if no plugin plans.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<HookRunSchema>, required = false)]
    pub plan: Option<Value>,
    /// Tools that plugins offered, and in `used` the calls of the model, in order: `{plugin, hook, arguments, answer |
    /// refused}`. Absent if none was offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = TraceToolsSchema, required = false)]
    pub tools: Option<Value>,
    /// Timings of the reply.
    pub timings: TraceTimingsResponse,
    /// Token counts of the model server; null if it sent none.
    #[schema(required)]
    pub usage: Option<TraceUsageResponse>,
    /// Parameters, model, finish reason and the rest. `historyCut` is null, or `{why, through}`: that message and all
    /// earlier ones were not sent.
    #[serde(flatten)]
    #[schema(value_type = TraceHeadSchema)]
    pub rest: Map<String, Value>,
}

/// A node whose text was sent.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(untagged)]
pub enum TraceNodeResponse {
    /// The node exists; its id.
    There(WireNodeId),
    /// The node was purged since.
    Purged(TracePurgedNode),
    /// The node belongs to another session and was not exported with this one.
    Elsewhere(TraceForeignNode),
}

/// A node of another session.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TraceForeignNode {
    /// Always true.
    pub elsewhere: bool,
}

/// A purged node.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TracePurgedNode {
    /// Always true.
    pub purged: bool,
    /// BLAKE3 hash of the text in hex; null if unknown.
    #[schema(required)]
    pub hash: Option<String>,
}

/// Timings of a reply in milliseconds since the request; null while not reached.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Timings)]
pub struct TraceTimingsResponse {
    /// Time in the queue; absent if the reply started at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub queued: Option<u64>,
    /// Time to the first token.
    #[schema(required)]
    pub first_token: Option<u64>,
    /// Time to the end.
    #[schema(required)]
    pub total: Option<u64>,
}

/// Token counts of the model server.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TraceUsageResponse {
    /// Prompt tokens.
    #[schema(required)]
    pub prompt: Option<u64>,
    /// Reply tokens.
    #[schema(required)]
    pub completion: Option<u64>,
}

/// One message as sent to a model.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TraceMessageResponse {
    /// Role of the message.
    pub role: String,
    /// Speaker, if the provider received it as a field.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub name: Option<String>,
    /// Text of the message.
    pub content: String,
}

impl From<OutgoingMessage> for TraceMessageResponse {
    fn from(sent: OutgoingMessage) -> Self {
        Self { role: sent.role.as_str().to_owned(), name: sent.name, content: sent.text }
    }
}

/// A manual change of the state.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateWorldRequest {
    /// State operations, in order: `{op, path, value?, key?, from?, why?}`.
    #[schema(value_type = Vec<JsonMap>)]
    pub operations: Vec<Value>,
    /// Precondition: HEAD as the client last saw it; otherwise `409 head_moved`.
    pub expected_leaf_id: Option<WireNodeId>,
    /// Alternative precondition: the newest operation that the client saw.
    pub expected_op: Option<i64>,
}

impl From<NodeDelta> for DeltaResponse {
    fn from(found: NodeDelta) -> Self {
        let NodeDelta { delta, changes } = found;
        Self {
            operations: delta.operations.iter().map(StateOperation::to_json).collect(),
            notes: delta.notes.iter().map(NodeNote::to_json).collect(),
            problems: delta.problems.iter().map(NodeProblem::to_json).collect(),
            rolls: ROLL.fitting_items(delta.rolls),
            rules: HOOK_RUN.fitting_items(delta.runs),
            changes: changes.into_iter().map(PathChangeResponse::from).collect(),
        }
    }
}

impl From<DeltaPage> for DeltasResponse {
    fn from(page: DeltaPage) -> Self {
        let item = |(node, delta)| NodeDeltaResponse { node_id: WireId(node), delta: DeltaResponse::from(delta) };
        Self {
            items: page.deltas.into_iter().map(item).collect(),
            next: page.next.map(WireId),
            leaf_id: WireId(page.leaf),
            op: page.op,
        }
    }
}

/// Returns a world as clients see it: `lore` always has `active` and `timers`. A world in which no entry has fired yet
/// stores neither (`domain.md` 3).
pub fn world_json(world: &World) -> Value {
    let mut lore = Map::from_iter([("active".to_owned(), json!([])), ("timers".to_owned(), json!({}))]);
    // Operations of an imported file may have put anything there.
    let fits = |key: &str, value: &Value| match key {
        "active" => value.is_array(),
        "timers" => value.is_object(),
        _ => true,
    };
    lore.extend(
        world.lore.iter().filter(|(key, value)| fits(key, value)).map(|(key, value)| (key.clone(), value.clone())),
    );
    let mut shown = world.to_json();
    if let Some(sections) = shown.as_object_mut() {
        sections.insert("lore".to_owned(), lore.into());
    }
    shown
}

impl WorldResponse {
    /// Describes the state after a node.
    pub fn new(node: NodeId, view: WorldView) -> Self {
        Self { node_id: WireId(node), world: world_json(&view.world), schemas: schema_responses(view.schemas) }
    }
}

impl From<NodeTrace> for TraceResponse {
    fn from(trace: NodeTrace) -> Self {
        Self::new(trace.prompt, &trace.delta)
    }
}

impl TraceResponse {
    /// Describes how a node was made, or a prompt that was not sent.
    pub fn new(mut rebuilt: RebuiltPrompt, delta: &Delta) -> Self {
        drop_mistyped_records(&mut rebuilt.head);
        let runs = HOOK_RUN.fitting_items(delta.runs.iter().cloned());
        let plan =
            rebuilt.head.plan.take().map(|runs| HOOK_RUN.fitting_items(runs.into_iter().map(Value::Object)).into());
        let tools = tools_json(rebuilt.head.tools.take().map(Value::from), &runs);
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
        let reply = &rebuilt.head.reply;
        let timings = TraceTimingsResponse {
            queued: reply.queued_ms,
            first_token: reply.first_token_ms.get().copied(),
            total: reply.latency_ms,
        };
        let usage = reply
            .token_count
            .as_ref()
            .map(|counted| TraceUsageResponse { prompt: counted.prompt, completion: counted.completion });
        Self {
            blueprint: BLOCK.fitting_items(rebuilt.blueprint),
            messages: sent.map(TraceMessageResponse::from).collect(),
            history,
            is_exact: rebuilt.is_exact,
            rules: runs,
            rolls: ROLL.fitting_items(delta.rolls.iter().cloned()),
            problems: delta.problems.iter().map(NodeProblem::to_json).collect(),
            plan,
            tools,
            timings,
            usage,
            rest: head_fields(rebuilt.head),
        }
    }
}

/// Removes fields of known keys whose values have another type.
fn drop_mistyped_records(head: &mut TraceHead) {
    head.drop_mistyped();
    if let Some(values) = &mut head.values {
        values.drop_mistyped();
    }
}

/// Returns the fields of a trace that stand beside its own, as far as they are what the document promises.
fn head_fields(head: Box<TraceHead>) -> Map<String, Value> {
    let mut head: Map<String, Value> = head.into();
    head.retain(|key, _| !TRACE_FIELDS.contains(&key.as_str()));
    match HEAD.fitting(head.into()) {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// Returns the offered tools and the calls of the model, in order.
fn tools_json(offered: Option<Value>, runs: &[Value]) -> Option<Value> {
    let is_use =
        |run: &&Value| run.get("hook").and_then(Value::as_str).is_some_and(|hook| hook.starts_with(TOOL_PREFIX));
    let used: Vec<&Value> = runs.iter().filter(is_use).collect();
    let told = |run: &&Value| {
        let keys = ["plugin", "hook", "arguments", "answer", "refused", "refusal"].into_iter();
        keys.filter_map(|key| Some((key.to_owned(), run.get(key)?.clone()))).collect::<Map<String, Value>>()
    };
    let used: Vec<Map<String, Value>> = used.iter().map(told).collect();
    (offered.is_some() || !used.is_empty())
        .then(|| json!({"offered": offered.unwrap_or_else(|| json!([])), "used": used}))
}

impl From<PathChange> for PathChangeResponse {
    fn from(change: PathChange) -> Self {
        Self { path: change.path.to_string(), before: change.before, after: change.after }
    }
}

/// Converts the active schemas for the wire.
pub fn schema_responses(schemas: Vec<SchemaView>) -> Vec<WorldStateSchema> {
    let response = |view: SchemaView| WorldStateSchema {
        plugin: view.plugin,
        root: view.root.to_string(),
        schema: view.schema,
        title: view.title,
        hidden: view.hidden,
    };
    schemas.into_iter().map(response).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Domain 3: clients find both lists from the beginning, and what is stored stays as it is.
    #[test]
    fn world_json_without_lore_has_active_and_timers() {
        let check = |stored: Value, shown: &str| {
            let world = World::from_json(json!({"lore": stored})).unwrap();
            assert_eq!(
                world_json(&world).to_string(),
                format!(r#"{{"vars":{{}},"lore":{shown},"summary":"","events":[]}}"#)
            );
        };
        check(json!({}), r#"{"active":[],"timers":{}}"#);
        check(json!({"active": 5, "timers": [], "more": 1}), r#"{"active":[],"timers":{},"more":1}"#);
        check(json!({"active": [{"uid": "1"}]}), r#"{"active":[{"uid":"1"}],"timers":{}}"#);
        check(
            json!({"timers": {"sticky": {"b.1": {}}}, "counted": {"messages": 2}}),
            r#"{"active":[],"timers":{"sticky":{"b.1":{}}},"counted":{"messages":2}}"#,
        );
    }

    /// The head of an imported trace cannot set the fields of the trace itself.
    #[test]
    fn trace_fields_are_never_those_of_its_head() {
        let head: Map<String, Value> = TRACE_FIELDS
            .iter()
            .map(|key| ((*key).to_owned(), json!(5)))
            .chain([("newer".to_owned(), json!(6))])
            .collect();
        let rebuilt = RebuiltPrompt { head: head.into(), blueprint: vec![json!(5)], ..RebuiltPrompt::default() };
        let delta = Delta { rolls: vec![json!(5)], runs: vec![json!([5])], ..Delta::default() };
        let sent = serde_json::to_value(TraceResponse::new(rebuilt, &delta)).unwrap();
        let own: Vec<&str> =
            sent.as_object().unwrap().keys().map(String::as_str).filter(|key| *key != "newer").collect();
        assert!(own.iter().all(|key| TRACE_FIELDS.contains(key)), "{own:?}");
        assert!(!sent.to_string().contains('5') && sent["newer"] == 6, "{sent}");
        assert_eq!((&sent["rolls"], &sent["rules"], &sent["blueprint"]), (&json!([]), &json!([]), &json!([])));
    }
}
