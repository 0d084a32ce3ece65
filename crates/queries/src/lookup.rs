//! Sessions, nodes and branches by what a caller names: ids and labels.

use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_store::{NodePage, PathFilter, StoreReader, StoredNode, StoredSession};

use crate::error::ReadError;

/// What a session is called in [`ReadError::NotFound`].
pub const SESSION: &str = "the session";
/// What a node is called in [`ReadError::NotFound`].
pub const NODE: &str = "the message";

/// The leaf of a branch: by its id or by its label; HEAD if neither is given.
#[derive(Debug, Clone, Default)]
pub struct BranchEnd {
    pub leaf: Option<NodeId>,
    pub label: Option<String>,
}

/// A page of a branch.
#[derive(Debug, Clone)]
pub struct BranchSelection {
    pub end: BranchEnd,
    /// Only nodes above this one.
    pub before: Option<NodeId>,
    /// Maximum number of nodes.
    pub limit: i64,
    /// Whether disabled nodes, change nodes and the root belong to it.
    pub all: bool,
}

/// Loads a session of the user.
///
/// # Errors
/// Returns an error if it does not exist or belongs to another user.
pub fn load_session(reader: &mut StoreReader<'_>, user: UserId, id: SessionId) -> Result<StoredSession, ReadError> {
    reader.session(user, id)?.ok_or(ReadError::NotFound(SESSION))
}

/// Loads a node of a session.
///
/// # Errors
/// Returns an error if it does not exist.
pub fn load_node(reader: &mut StoreReader<'_>, stored: &StoredSession, node: NodeId) -> Result<StoredNode, ReadError> {
    reader.node(stored, node)?.ok_or(ReadError::NotFound(NODE))
}

/// Checks that a session of the user has these nodes.
///
/// # Errors
/// Returns an error if the session or a node does not exist.
pub fn check_nodes(
    reader: &mut StoreReader<'_>,
    user: UserId,
    session: SessionId,
    nodes: impl IntoIterator<Item = NodeId>,
) -> Result<(), ReadError> {
    let stored = load_session(reader, user, session)?;
    nodes.into_iter().try_for_each(|node| load_node(reader, &stored, node).map(drop))
}

/// Returns the leaf of a branch.
///
/// # Errors
/// Returns an error if it is not in the session, or both its id and its label are given.
pub fn branch_leaf(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    end: &BranchEnd,
) -> Result<StoredNode, ReadError> {
    let node = match (end.leaf, end.label.as_deref()) {
        (Some(_), Some(_)) => return Err(ReadError::LeafAndLabel),
        (None, Some(label)) => reader.node_with_label(stored, label)?.ok_or(ReadError::NotFound("the label"))?,
        (leaf, None) => leaf.unwrap_or(stored.session.head),
    };
    load_node(reader, stored, node)
}

/// Returns the leaf of the selected branch, and checks the node before which the page ends.
///
/// # Errors
/// Returns an error if one of them is not in the session.
pub fn selected_leaf(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    selection: &BranchSelection,
) -> Result<NodeId, ReadError> {
    let leaf = branch_leaf(reader, stored, &selection.end)?.node.id;
    if let Some(before) = selection.before {
        load_node(reader, stored, before)?;
    }
    Ok(leaf)
}

/// Reads a page of a branch, and its leaf. A linear session ignores the flags in this view only (`domain.md` 2.14).
///
/// # Errors
/// Returns an error if the leaf or the node before which the page ends is not in the session.
pub fn branch_page(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    selection: &BranchSelection,
) -> Result<(NodeId, NodePage), ReadError> {
    let leaf = selected_leaf(reader, stored, selection)?;
    let show = match (selection.all, stored.session.mode == "linear") {
        (true, _) => PathFilter::All,
        (false, true) => PathFilter::WithDisabled,
        (false, false) => PathFilter::Enabled,
    };
    Ok((leaf, reader.page(stored, leaf, selection.before, selection.limit, show)?))
}
