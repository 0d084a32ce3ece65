//! Several branches of a tree: the list, and the comparison of two.

use clotho_core::ids::NodeId;
use clotho_core::world::{ChangedPaths, PathChange, StateOperation, diff};
use clotho_store::{SessionBranch, StoreError, StoreReader, StoredNode, StoredSession};

use crate::error::ReadError;
use crate::lookup::load_node;
use crate::node_view::{NodeRenderer, NodeView};

/// Length of a branch's preview in characters.
const PREVIEW_CHARS: usize = 160;
/// Maximum number of operations per side and path.
const MAX_OPERATIONS: usize = 50;
/// Maximum size of the operations of one comparison, in bytes of JSON.
const MAX_OPERATION_BYTES: usize = 8 << 20;
/// Size of the field that names the node of an operation, in bytes of JSON.
const NODE_FIELD_BYTES: usize = 48;

/// A page of the branches of a session.
#[derive(Debug)]
pub struct BranchList {
    /// The branches, newest first.
    pub branches: Vec<BranchView>,
    /// `before` of the next page; `None` at the end.
    pub next: Option<i64>,
}

/// A branch with the start of its last message, as displayed.
#[derive(Debug)]
pub struct BranchView {
    pub branch: SessionBranch,
    pub preview: String,
    /// Whether the leaf is HEAD.
    pub is_trunk: bool,
}

/// The differences between two branches.
#[derive(Debug)]
pub struct BranchComparison {
    /// The last node that both branches share.
    pub ancestor: NodeId,
    pub from: ComparisonSide,
    pub to: ComparisonSide,
    /// Differences between the two states, as deep in `vars` as possible.
    pub differences: Vec<WorldDifference>,
    /// Number of the newest operation of the session.
    pub op: i64,
}

/// The nodes of one branch below the common ancestor.
#[derive(Debug)]
pub struct ComparisonSide {
    pub leaf: NodeId,
    /// Number of nodes below the common ancestor, including disabled and change nodes.
    pub count: i32,
    /// The newest of these nodes, oldest first.
    pub nodes: Vec<NodeView>,
    /// The node before which the older ones are; `None` if `nodes` is complete.
    pub next: Option<NodeId>,
}

/// A path of `vars` at which two states differ, with the operations that touch it.
#[derive(Debug)]
pub struct WorldDifference {
    /// The value of the first branch is `before`, that of the second is `after`.
    pub change: PathChange,
    pub from: PathOperations,
    pub to: PathOperations,
}

/// The operations of one branch on one path, oldest first.
#[derive(Debug, Default, Clone)]
pub struct PathOperations {
    pub operations: Vec<(NodeId, StateOperation)>,
    /// Whether older operations were left out.
    pub is_cut_short: bool,
}

/// Lists the branches of a session, newest first; only those older than `before`.
///
/// # Errors
/// Returns an error if the database fails.
pub fn list_branches(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    look: &NodeRenderer,
    before: i64,
    limit: i64,
) -> Result<BranchList, ReadError> {
    let found = reader.branches(stored, before, limit)?;
    let is_full = i64::try_from(found.len()).is_ok_and(|read| read == limit);
    let next = found.last().filter(|_| is_full).map(|oldest| oldest.leaf.n);
    let view = |branch: SessionBranch| {
        let preview =
            branch.last_message.as_ref().map(|last| look.preview(&last.node, PREVIEW_CHARS)).unwrap_or_default();
        BranchView { preview, is_trunk: branch.leaf.node.id == stored.session.head, branch }
    };
    Ok(BranchList { branches: found.into_iter().map(view).collect(), next })
}

/// Compares two branches: the nodes of each below the common ancestor, at most `limit` per side, and the differences of
/// their states with the operations that caused them. A leaf that is not given is HEAD.
///
/// # Errors
/// Returns an error if a node does not exist.
pub fn compare_branches(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    look: &NodeRenderer,
    from: Option<NodeId>,
    to: Option<NodeId>,
    limit: i64,
) -> Result<BranchComparison, ReadError> {
    let mut end = |named: Option<NodeId>| load_node(reader, stored, named.unwrap_or(stored.session.head));
    let (from, to) = (end(from)?, end(to)?);
    let ancestor = reader.common_ancestor(stored, &from, &to)?;
    Ok(BranchComparison {
        ancestor: ancestor.node.id,
        from: comparison_side(reader, stored, look, &ancestor, &from, limit)?,
        to: comparison_side(reader, stored, look, &ancestor, &to, limit)?,
        differences: world_differences(reader, stored, &ancestor, &from, &to)?,
        op: stored.session.op,
    })
}

fn comparison_side(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    look: &NodeRenderer,
    ancestor: &StoredNode,
    leaf: &StoredNode,
    limit: i64,
) -> Result<ComparisonSide, ReadError> {
    let (count, page) = reader.path_page_below(stored, ancestor, leaf, limit)?;
    let dressed = reader.node_details(page.nodes)?;
    let nodes = look.line(reader, dressed)?;
    Ok(ComparisonSide { leaf: leaf.node.id, count, nodes, next: page.next })
}

fn world_differences(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    ancestor: &StoredNode,
    from: &StoredNode,
    to: &StoredNode,
) -> Result<Vec<WorldDifference>, StoreError> {
    let changes = diff(&*reader.world(stored, from)?, &*reader.world(stored, to)?);
    let mut room = MAX_OPERATION_BYTES;
    let by_from = operations_by_path(reader, ancestor, from, &changes, &mut room)?;
    let by_to = operations_by_path(reader, ancestor, to, &changes, &mut room)?;
    let sides = by_from.into_iter().zip(by_to);
    Ok(changes.into_iter().zip(sides).map(|(change, (from, to))| WorldDifference { change, from, to }).collect())
}

/// Collects the operations of one branch for each path that differs, as far as the size limit allows.
fn operations_by_path(
    reader: &mut StoreReader<'_>,
    ancestor: &StoredNode,
    leaf: &StoredNode,
    changes: &[PathChange],
    room: &mut usize,
) -> Result<Vec<PathOperations>, StoreError> {
    let differences = ChangedPaths::new(changes);
    let mut by_path = vec![PathOperations::default(); changes.len()];
    let mut open = by_path.len();
    reader.path_operations(ancestor, leaf, |node, operations| {
        for operation in operations.iter().rev() {
            let weight = operation.to_json().to_string().len() + NODE_FIELD_BYTES;
            for place in differences.changes_touched_by(operation) {
                let Some(one) = by_path.get_mut(place).filter(|one| !one.is_cut_short) else { continue };
                if one.operations.len() < MAX_OPERATIONS && weight <= *room {
                    *room -= weight;
                    one.operations.push((node, operation.clone()));
                } else {
                    one.is_cut_short = true;
                    open -= 1;
                }
            }
        }
        open > 0
    })?;
    by_path.iter_mut().for_each(|one| one.operations.reverse());
    Ok(by_path)
}
