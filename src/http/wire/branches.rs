//! Several branches of a tree: which there are, how two of them differ, and how values went along them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::enums::Status;
use super::ids::WireNodeId;
use super::node::ChatMessageNode;
use super::tree_edits::LabelResponse;
use clotho_core::ids::NodeId;
use clotho_core::world::StateOperation;

/// One branch: a node below which there is nothing, or which has a name that follows, and the line to it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BranchResponse {
    /// Where it ends.
    pub leaf_id: WireNodeId,
    /// Edges from the root to there.
    pub depth: i32,
    /// Turns to there.
    pub turns: i32,
    /// How its last message begins.
    pub preview: String,
    /// Where its end stands in its life.
    pub status: Status,
    /// Whether its end is a reply that nobody has seen.
    pub is_unread: bool,
    /// The last node that it shares with the line to HEAD; its own end where it lies on that line.
    pub parting_id: WireNodeId,
    /// Whether it ends at HEAD.
    pub is_trunk: bool,
    /// The names of its end.
    pub labels: Vec<LabelResponse>,
    /// When its end was made.
    pub timestamp: String,
}

/// Which two lines to compare.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct DiffQuery {
    /// Where the one line ends; HEAD unless said.
    #[param(value_type = Option<String>)]
    pub from: Option<WireNodeId>,
    /// Where the other ends; HEAD unless said.
    #[param(value_type = Option<String>)]
    pub to: Option<WireNodeId>,
    /// How many nodes of each side, 1 to 500; 200 unless said.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

/// How two lines differ.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffResponse {
    /// The last node that lies on both.
    pub ancestor_id: WireNodeId,
    /// What the one line has since.
    pub from: DiffSide,
    /// What the other has since.
    pub to: DiffSide,
    /// Where the two worlds differ, as deep as possible.
    pub world: Vec<WorldDifferenceResponse>,
    /// The newest operation.
    pub op: i64,
}

/// What one line has since it parted from another.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffSide {
    /// Where it ends.
    pub leaf_id: WireNodeId,
    /// How many nodes there are since they parted: disabled and `change` nodes too.
    pub count: i32,
    /// The newest of them, oldest first.
    pub items: Vec<ChatMessageNode>,
    /// Null if these are all; else where the older ones are: the `before` of the projection of this leaf, with `all=1`.
    pub next: Option<WireNodeId>,
}

/// A place of `vars` at which two worlds differ.
#[derive(Debug, Serialize, ToSchema)]
pub struct WorldDifferenceResponse {
    /// Where, from `vars`.
    pub path: String,
    /// The value on the one line; missing where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Value, required = false)]
    pub from: Option<Value>,
    /// The value on the other; missing where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Value, required = false)]
    pub to: Option<Value>,
    /// What was done since they parted at this place, above it or inside it.
    pub operations: DiffOperations,
}

/// What each line did to a place, oldest first: operations with the node that did each, `{nodeId, op, path, …, why, by}`.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct DiffOperations {
    /// What the one line did.
    #[schema(value_type = Vec<Object>)]
    pub from: Vec<Value>,
    /// What the other did.
    #[schema(value_type = Vec<Object>)]
    pub to: Vec<Value>,
    /// Whether there are older ones that are left out.
    pub more: bool,
}

/// An operation with the node that did it.
pub fn operation_json(node: NodeId, operation: &StateOperation) -> Value {
    let mut deed = Map::new();
    deed.insert("nodeId".to_owned(), node.to_string().into());
    if let Value::Object(fields) = operation.to_json() {
        deed.extend(fields);
    }
    Value::Object(deed)
}

/// Which values, and along which lines.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct VariablesQuery {
    /// Places of `vars` as JSON Pointers, 1 to 16: `path=/combat/hp&path=/place`.
    #[param(required = true)]
    pub path: Vec<String>,
    /// Where the lines end, at most 16: `leaf=…&leaf=…`; HEAD unless said.
    #[param(value_type = Vec<String>)]
    pub leaf: Vec<WireNodeId>,
    /// How many nodes of each line, 1 to 500; 500 unless said.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
    /// What `next` of the page before said.
    pub cursor: Option<String>,
}

/// How values went along lines.
#[derive(Debug, Serialize, ToSchema)]
pub struct VariablesResponse {
    /// One for each line and place, in the order in which they were asked for.
    pub items: Vec<VariableSeries>,
    /// Leads to the nodes further down; null when all lines have ended.
    pub next: Option<String>,
    /// The newest operation.
    pub op: i64,
}

/// How one value went along one line.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VariableSeries {
    /// Where the line ends.
    pub leaf_id: WireNodeId,
    /// Which place of `vars`.
    pub path: String,
    /// The value after each node, oldest first.
    pub points: Vec<VariablePoint>,
}

/// A value after a node.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VariablePoint {
    /// The node.
    pub node_id: WireNodeId,
    /// The number of the turn.
    pub turn: i32,
    /// Edges from the root.
    pub depth: i32,
    /// The value; null where there is none.
    pub value: Value,
}
