//! What the store hands out of sessions and nodes, and takes back: the domain's words with the rows behind them.

use crate::tree::{Node, Session};

/// A session as the store holds it: the domain's session and the rows behind it.
#[derive(Debug, Clone)]
pub struct Held {
    /// The session.
    pub session: Session,
    pub(super) n: i64,
    pub(super) head_n: i64,
    pub(super) is_trashed: bool,
}

/// A node and its row number, which is opaque outside the store and only handed back to it.
#[derive(Debug, Clone)]
pub struct Placed {
    /// The node.
    pub node: Node,
    /// The row number.
    pub n: i64,
}
