//! What the store hands out of sessions and nodes, and takes back: the domain's words with the rows behind them.

use clotho_core::tree::{Node, Session};

/// A session as the store holds it: the domain's session and the rows behind it.
#[derive(Debug, Clone)]
pub struct StoredSession {
    /// The session.
    pub session: Session,
    /// How much there is in it.
    pub counts: NodeCounts,
    pub(super) n: i64,
    pub(super) head_n: i64,
    pub(super) is_trashed: bool,
}

/// How much there is in a session; kept with each operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeCounts {
    /// Nodes, without the root.
    pub nodes: i64,
    /// Nodes below which there is nothing.
    pub leaves: i64,
}

/// A node and its row number, which is opaque outside the store and only handed back to it.
#[derive(Debug, Clone)]
pub struct StoredNode {
    /// The node.
    pub node: Node,
    /// The row number.
    pub n: i64,
}
