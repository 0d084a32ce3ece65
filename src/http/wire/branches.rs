//! Several branches of a tree: the list, the comparison of two, and the history of values along them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::enums::Status;
use super::ids::{WireId, WireNodeId};
use super::node::{ChatMessageNode, wire_nodes};
use super::query_number::PageLimit;
use super::records::NodeOperationSchema;
use super::tree_edits::LabelResponse;
use super::{MAX_PAGE_SIZE, PageResponse, decode_cursor, encode_cursor, limit_or};
use crate::http::error::ApiError;
use crate::http::json_schema::AnyJson;
use clotho_core::ids::NodeId;
use clotho_core::world::{Pointer, StateOperation};
use clotho_queries::branches::{BranchComparison, BranchList, BranchView, ComparisonSide, WorldDifference};
use clotho_queries::variables::{ValueHistory, ValueSelection, ValueSeries};
use clotho_store::PathPoint;

/// One branch: the path from the root to a leaf, or to a node with a following label.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BranchResponse {
    /// The last node of the branch.
    pub leaf_id: WireNodeId,
    /// Number of edges from the root to the leaf.
    pub depth: i32,
    /// Number of turns from the root to the leaf.
    pub turns: i32,
    /// Start of the last message, as displayed.
    pub preview: String,
    /// Status of the leaf.
    pub status: Status,
    /// Whether the leaf is a reply that nobody has seen.
    pub is_unread: bool,
    /// The last node shared with the path to HEAD. The leaf itself if it is on that path.
    pub parting_id: WireNodeId,
    /// Whether the leaf is HEAD.
    pub is_trunk: bool,
    /// Labels on the leaf.
    pub labels: Vec<LabelResponse>,
    /// Creation time of the leaf, ISO 8601 UTC.
    pub timestamp: String,
}

/// The two branches to compare.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct DiffQuery {
    /// Leaf of the first branch; default HEAD.
    #[param(value_type = Option<String>)]
    pub from: Option<WireNodeId>,
    /// Leaf of the second branch; default HEAD.
    #[param(value_type = Option<String>)]
    pub to: Option<WireNodeId>,
    /// Maximum number of nodes per side, 1 to 500; default 200.
    #[param(minimum = 1, maximum = 500, value_type = Option<u32>)]
    pub limit: Option<PageLimit>,
}

/// The differences between two branches.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffResponse {
    /// The last node that both branches share.
    pub ancestor_id: WireNodeId,
    /// The nodes that only the first branch has.
    pub from: DiffSide,
    /// The nodes that only the second branch has.
    pub to: DiffSide,
    /// Differences between the two states, as deep in `vars` as possible.
    pub world: Vec<WorldDifferenceResponse>,
    /// Number of the newest operation of the session.
    pub op: i64,
}

/// The nodes of one branch below the common ancestor.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffSide {
    /// The leaf of the branch.
    pub leaf_id: WireNodeId,
    /// Number of nodes below the common ancestor, including disabled and `change` nodes.
    pub count: i32,
    /// The newest of these nodes, oldest first.
    pub items: Vec<ChatMessageNode>,
    /// Null if `items` is complete. Otherwise `before` for the projection of this leaf with `all=1`, which returns the
    /// older nodes.
    #[schema(required)]
    pub next: Option<WireNodeId>,
}

/// A path of `vars` at which two states differ.
#[derive(Debug, Serialize, ToSchema)]
pub struct WorldDifferenceResponse {
    /// JSON Pointer from `vars`.
    pub path: String,
    /// Value on the first branch; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = AnyJson, required = false)]
    pub from: Option<Value>,
    /// Value on the second branch; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = AnyJson, required = false)]
    pub to: Option<Value>,
    /// The operations below the common ancestor that touch this path, a path above it or one inside it.
    pub operations: DiffOperations,
}

/// The operations of each branch on one path, oldest first. Each is an operation with its node: `{nodeId, op, path, …,
/// why, by}`.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct DiffOperations {
    /// Operations of the first branch.
    #[schema(value_type = Vec<NodeOperationSchema>)]
    pub from: Vec<Value>,
    /// Operations of the second branch.
    #[schema(value_type = Vec<NodeOperationSchema>)]
    pub to: Vec<Value>,
    /// Whether older operations were left out.
    pub more: bool,
}

impl BranchResponse {
    /// Describes a branch.
    fn new(view: BranchView) -> Self {
        let leaf = view.branch.leaf.node;
        Self {
            leaf_id: WireId(leaf.id),
            depth: leaf.depth,
            turns: leaf.turn,
            preview: view.preview,
            status: leaf.status.into(),
            is_unread: leaf.is_unread,
            parting_id: WireId(view.branch.fork),
            is_trunk: view.is_trunk,
            labels: view.branch.labels.into_iter().map(Into::into).collect(),
            timestamp: leaf.created.to_string(),
        }
    }
}

impl From<BranchList> for PageResponse<BranchResponse> {
    fn from(list: BranchList) -> Self {
        let items = list.branches.into_iter().map(BranchResponse::new).collect();
        Self { items, next: list.next.map(encode_cursor) }
    }
}

impl From<BranchComparison> for DiffResponse {
    fn from(found: BranchComparison) -> Self {
        Self {
            ancestor_id: WireId(found.ancestor),
            from: found.from.into(),
            to: found.to.into(),
            world: found.differences.into_iter().map(WorldDifferenceResponse::from).collect(),
            op: found.op,
        }
    }
}

impl From<ComparisonSide> for DiffSide {
    fn from(side: ComparisonSide) -> Self {
        let ComparisonSide { leaf, count, nodes, next } = side;
        Self { leaf_id: WireId(leaf), count, items: wire_nodes(nodes), next: next.map(WireId) }
    }
}

impl From<WorldDifference> for WorldDifferenceResponse {
    fn from(difference: WorldDifference) -> Self {
        let WorldDifference { change, from, to } = difference;
        let json = |(node, operation): &(NodeId, StateOperation)| operation_json(*node, operation);
        let operations = DiffOperations {
            more: from.is_cut_short || to.is_cut_short,
            from: from.operations.iter().map(json).collect(),
            to: to.operations.iter().map(json).collect(),
        };
        Self { path: change.path.to_string(), from: change.before, to: change.after, operations }
    }
}

/// Returns an operation as JSON with the node that holds it.
fn operation_json(node: NodeId, operation: &StateOperation) -> Value {
    let mut deed = Map::new();
    deed.insert("nodeId".to_owned(), node.to_string().into());
    if let Value::Object(fields) = operation.to_json() {
        deed.extend(fields);
    }
    Value::Object(deed)
}

/// The values to follow, and the branches.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct VariablesQuery {
    /// JSON Pointers from `vars`, 1 to 16: `path=/combat/hp&path=/place`.
    #[param(required = true)]
    pub path: Vec<String>,
    /// Leaves of the branches, at most 16: `leaf=…&leaf=…`; default HEAD.
    #[param(value_type = Vec<String>)]
    pub leaf: Vec<WireNodeId>,
    /// Maximum number of nodes per branch, 1 to 500; default 500.
    #[param(minimum = 1, maximum = 500, value_type = Option<u32>)]
    pub limit: Option<PageLimit>,
    /// `next` of the previous page.
    pub cursor: Option<String>,
}

/// Maximum number of paths, and of branches, per request.
const MAX_BRANCHES: usize = 16;

impl VariablesQuery {
    /// Returns the values and branches to read.
    ///
    /// # Errors
    /// Returns an error if a path, the cursor or the limit is invalid, or there are too many.
    pub fn read(&self) -> Result<ValueSelection, ApiError> {
        let paths = parse_paths(&self.path)?;
        if self.leaf.len() > MAX_BRANCHES {
            return Err(ApiError::invalid("leaf", format!("expected at most {MAX_BRANCHES} branches")));
        }
        let limit = i32::try_from(limit_or(self.limit, MAX_PAGE_SIZE)).unwrap_or(i32::MAX);
        let first = self.cursor.as_deref().map_or(Ok(0), decode_cursor)?;
        let first = i32::try_from(first).unwrap_or(i32::MAX);
        let leaves = self.leaf.iter().map(|id| id.0).collect();
        Ok(ValueSelection { paths, leaves, depths: first..first.saturating_add(limit) })
    }
}

fn parse_paths(texts: &[String]) -> Result<Vec<Pointer>, ApiError> {
    if texts.is_empty() || texts.len() > MAX_BRANCHES {
        return Err(ApiError::invalid("path", format!("expected 1 to {MAX_BRANCHES} paths, such as path=/combat/hp")));
    }
    let read = |text: &String| {
        let path: Pointer = text.parse().map_err(|error| ApiError::invalid("path", format!("\"path\": {error}")))?;
        if path.is_root() { Err(ApiError::invalid("path", "expected a path inside \"vars\"")) } else { Ok(path) }
    };
    texts.iter().map(read).collect()
}

/// The history of values along branches.
#[derive(Debug, Serialize, ToSchema)]
pub struct VariablesResponse {
    /// One series for each pair of branch and path, in the requested order.
    pub items: Vec<VariableSeries>,
    /// Cursor for the nodes further down; null at the end of all branches.
    #[schema(required)]
    pub next: Option<String>,
    /// Number of the newest operation of the session.
    pub op: i64,
}

/// The history of one value along one branch.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VariableSeries {
    /// Leaf of the branch.
    pub leaf_id: WireNodeId,
    /// JSON Pointer from `vars`.
    pub path: String,
    /// The value after each node, oldest first.
    pub points: Vec<VariablePoint>,
}

/// The value after one node.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VariablePoint {
    /// The node after which the value was read.
    pub node_id: WireNodeId,
    /// Turn number of the node.
    pub turn: i32,
    /// Number of edges from the root.
    pub depth: i32,
    /// The value; null if there is none.
    #[schema(value_type = AnyJson)]
    pub value: Value,
}

impl VariablesResponse {
    /// Describes a history whose nodes end above depth `end`.
    pub fn new(history: ValueHistory, end: i32) -> Self {
        let items = history.series.into_iter().map(VariableSeries::from).collect();
        Self { items, next: history.has_more.then(|| encode_cursor(end.into())), op: history.op }
    }
}

impl From<ValueSeries> for VariableSeries {
    fn from(series: ValueSeries) -> Self {
        let point = |(at, value): (PathPoint, Value)| VariablePoint {
            node_id: WireId(at.id),
            turn: at.turn,
            depth: at.depth,
            value,
        };
        Self {
            leaf_id: WireId(series.leaf),
            path: series.path.to_string(),
            points: series.points.into_iter().map(point).collect(),
        }
    }
}
