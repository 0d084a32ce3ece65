//! Sessions and nodes as the store returns and accepts them: domain types with their row numbers.

use clotho_core::tree::{Node, Session};

/// A session with its row numbers.
#[derive(Debug, Clone)]
pub struct StoredSession {
    pub session: Session,
    pub counts: NodeCounts,
    pub(super) n: i64,
    pub(super) head_n: i64,
    pub(super) is_trashed: bool,
}

/// The size of a session; updated with each operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeCounts {
    /// The number of nodes, without the root.
    pub nodes: i64,
    /// The number of leaves.
    pub leaves: i64,
}

/// A node with its row number, which is opaque outside the store.
#[derive(Debug, Clone)]
pub struct StoredNode {
    pub node: Node,
    pub n: i64,
}
