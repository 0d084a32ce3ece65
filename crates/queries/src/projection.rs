//! The linear view: one branch of a tree as people read it.

use clotho_core::ids::NodeId;
use clotho_engine::turn::{LeafSnapshot, TurnViews};
use clotho_store::{StoreReader, StoredSession};

use crate::error::ReadError;
use crate::lookup::{BranchSelection, branch_page};
use crate::node_view::{NodeRenderer, NodeView};

/// One page of a branch as people read it.
pub struct Projection {
    /// The messages, oldest first.
    pub nodes: Vec<NodeView>,
    /// `before` of the page of older messages; `None` at the start of the branch.
    pub next: Option<NodeId>,
    pub leaf: NodeId,
    /// Number of the newest operation of the session.
    pub op: i64,
    /// The leaf at which plugins are asked for quick replies; only on the newest page.
    pub tip: Option<LeafSnapshot>,
}

/// Reads one page of the path to a leaf, before plugins render it. `turns` reads the leaf for quick replies.
///
/// # Errors
/// Returns an error if a node does not exist.
pub fn read_projection(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    look: &NodeRenderer,
    turns: &TurnViews,
    selection: &BranchSelection,
) -> Result<Projection, ReadError> {
    let (leaf, page) = branch_page(reader, stored, selection)?;
    let dressed = reader.node_details(page.nodes)?;
    let nodes = look.line(reader, dressed)?;
    let tip = if selection.before.is_some() { None } else { leaf_for_suggestions(turns, reader, stored, leaf) };
    Ok(Projection { nodes, next: page.next, leaf, op: stored.session.op, tip })
}

/// Returns the leaf at which plugins are asked for quick replies, from the same snapshot as the page. A failure costs
/// the quick replies, not the page.
fn leaf_for_suggestions(
    turns: &TurnViews,
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    leaf: NodeId,
) -> Option<LeafSnapshot> {
    let session = &stored.session;
    let read = turns.read_leaf(reader, session.owner, session.id, leaf);
    read.inspect_err(|error| tracing::warn!(session = %session.id, "quick replies failed: {error}")).ok()
}
