//! The world at a node, what a node does to it, and why a reply exists.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::ids::{Id, NodeRef};
use crate::plugin::TOOL;
use crate::prompt::Sent;
use crate::store::{Missing, RulesInForce};
use crate::tree::{Delta, Note, Trouble};
use crate::turn::Rebuilt;
use crate::world::{Operation, PathChange, Pointer, World, diff};

/// The world after a node.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorldAnswer {
    /// The node.
    pub node_id: NodeRef,
    /// `{vars, lore, summary, events}`.
    #[schema(value_type = Object)]
    pub world: Value,
    /// The schemas in force at the node.
    pub schemas: Vec<StateSchema>,
}

/// The schema of one root of the world.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct StateSchema {
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
pub struct DeltaShape {
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
    pub changes: Vec<Change>,
}

/// What one node of a line does to its parent's world.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeDelta {
    /// The node.
    pub node_id: NodeRef,
    /// What it does.
    #[serde(flatten)]
    pub delta: DeltaShape,
}

/// What the nodes of a line do to the world.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deltas {
    /// The nodes that do something, oldest first.
    pub items: Vec<NodeDelta>,
    /// Leads to the page of older ones, as `before`.
    pub next: Option<NodeRef>,
    /// Where the line ends.
    pub leaf_id: NodeRef,
    /// The newest operation.
    pub op: i64,
}

/// One place of the world that differs.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Change {
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
pub struct TraceShape {
    /// The blocks that the prompt was made from, those that were left out too: `{slot, role, source, text, tokens, kept, why?}`.
    /// `why` is `budget`, `duplicate` or `noPlace`; the slot of a plugin's text is `plugin:<id>:<slot>`.
    #[schema(value_type = Vec<Object>)]
    pub blueprint: Vec<Value>,
    /// The messages as they were sent.
    pub messages: Vec<SentMessage>,
    /// The nodes whose texts were sent, oldest first.
    pub history: Vec<SentNode>,
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
    pub timings: Timings,
    /// Tokens, where the model server counted them.
    pub usage: Option<Usage>,
    /// Parameters, model, how it ended and the rest. `historyCut` is null, or `{why, through}`: that message and all
    /// before it were not sent.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub rest: Map<String, Value>,
}

/// A node whose text was sent.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(untagged)]
pub enum SentNode {
    /// It is there.
    There(NodeRef),
    /// It was purged since.
    Purged(PurgedNode),
    /// It is of another session, and did not come along with the file of this one.
    Elsewhere(NodeElsewhere),
}

/// A node that stays in another session.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct NodeElsewhere {
    /// Always true.
    pub elsewhere: bool,
}

/// A node that was purged.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PurgedNode {
    /// Always true.
    pub purged: bool,
    /// The blake3 hash of its text, in hex; null where it is not known.
    pub hash: Option<String>,
}

/// How long a reply took, in milliseconds from when it was asked for; null while it has not come so far.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Timings {
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
pub struct Usage {
    /// Of the prompt.
    pub prompt: Option<u64>,
    /// Of the reply.
    pub completion: Option<u64>,
}

/// One message as it was sent to a model.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SentMessage {
    /// Who it speaks as.
    pub role: String,
    /// The speaker, where the provider was told in a field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The text.
    pub content: String,
}

impl From<Sent> for SentMessage {
    fn from(sent: Sent) -> Self {
        Self { role: sent.role.word().to_owned(), name: sent.name, content: sent.text }
    }
}

/// A change of the world by hand.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorldChange {
    /// `{op, path, value?, key?, from?, why?}`, in order.
    #[schema(value_type = Vec<Object>)]
    pub operations: Vec<Value>,
    /// Where the writer saw HEAD.
    pub expected_leaf_id: Option<NodeRef>,
    /// Instead: the newest operation that the writer saw.
    pub expected_op: Option<i64>,
}

impl DeltaShape {
    /// Whether nothing came of the node: no operation, no dice, no line, no trouble. That a rule ran is nothing yet.
    pub fn is_empty(&self) -> bool {
        let kept = [&self.operations, &self.notes, &self.problems, &self.rolls];
        self.changes.is_empty() && kept.iter().all(|list| list.is_empty())
    }

    /// A delta and what it comes to between two worlds.
    pub fn new(delta: &Delta, before: &World, after: &World) -> Self {
        Self {
            operations: delta.operations.iter().map(Operation::to_json).collect(),
            notes: delta.notes.iter().map(Note::to_json).collect(),
            problems: delta.problems.iter().map(Trouble::to_json).collect(),
            rolls: delta.rolls.clone(),
            rules: delta.runs.clone(),
            changes: diff(before, after).into_iter().map(Change::from).collect(),
        }
    }
}

impl TraceShape {
    /// A rebuilt trace beside what ran on the node. Of a message that no model wrote there is only what ran; `None` where
    /// nothing did.
    pub fn new(rebuilt: Option<Rebuilt>, delta: &Delta) -> Option<Self> {
        let has_run = !delta.runs.is_empty() || !delta.problems.is_empty();
        rebuilt.or_else(|| has_run.then(Rebuilt::default)).map(|rebuilt| Self::of(rebuilt, delta))
    }

    fn of(mut rebuilt: Rebuilt, delta: &Delta) -> Self {
        let plan = rebuilt.head.shift_remove("plan");
        let tools = tools(rebuilt.head.shift_remove("tools"), delta);
        let sent = rebuilt.messages.into_iter();
        let mut history: Vec<SentNode> = rebuilt.history.iter().copied().map(Id).map(SentNode::There).collect();
        for (at, missing) in rebuilt.missing {
            let sent = match missing {
                Missing::Purged(hash) => SentNode::Purged(PurgedNode { purged: true, hash }),
                Missing::Elsewhere => SentNode::Elsewhere(NodeElsewhere { elsewhere: true }),
            };
            history.insert(at.min(history.len()), sent);
        }
        let number = |key: &str| head_number(&rebuilt.head, key);
        let timings =
            Timings { queued: number("queuedMs"), first_token: number("firstTokenMs"), total: number("latencyMs") };
        let counted = rebuilt.head.get("tokenCount").and_then(Value::as_object);
        let tokens = |key: &str| counted.and_then(|counted| head_number(counted, key));
        let usage = counted.map(|_| Usage { prompt: tokens("prompt"), completion: tokens("completion") });
        Self {
            blueprint: rebuilt.blueprint,
            messages: sent.map(SentMessage::from).collect(),
            history,
            is_exact: rebuilt.is_exact,
            rules: delta.runs.clone(),
            rolls: delta.rolls.clone(),
            problems: delta.problems.iter().map(Trouble::to_json).collect(),
            plan,
            tools,
            timings,
            usage,
            rest: rebuilt.head,
        }
    }
}

/// What a model was offered to use, and what it has used, in order.
fn tools(offered: Option<Value>, delta: &Delta) -> Option<Value> {
    let is_use = |run: &&Value| run.get("hook").and_then(Value::as_str).is_some_and(|hook| hook.starts_with(TOOL));
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

impl From<PathChange> for Change {
    fn from(change: PathChange) -> Self {
        Self { path: change.path.to_string(), before: change.before, after: change.after }
    }
}

/// The schemas of rules, each with a title: its own, else what `title_of` says of the plugin; and with what they hide in a world.
pub fn schemas(rules: &RulesInForce, world: &World, title_of: impl Fn(&str) -> Option<String>) -> Vec<StateSchema> {
    let governed =
        rules.plugins.iter().filter_map(|plugin| Some((plugin, plugin.root.as_ref()?, plugin.schema.as_ref()?)));
    governed
        .map(|(plugin, root, schema)| StateSchema {
            plugin: plugin.id.clone(),
            root: root.to_string(),
            schema: schema.clone(),
            title: schema.get("title").and_then(Value::as_str).map(str::to_owned).or_else(|| title_of(&plugin.id)),
            hidden: hidden(rules, world, root),
        })
        .collect()
}

/// The places below a root that are not to be shown.
fn hidden(rules: &RulesInForce, world: &World, root: &Pointer) -> Vec<String> {
    let schema = rules.rules.roots().iter().find(|(own, _)| own == root).map(|(_, schema)| schema);
    let places = schema.map(|schema| schema.concealed(world.get(root).unwrap_or(&Value::Null))).unwrap_or_default();
    places.iter().map(|place| format!("{root}{place}")).collect()
}
