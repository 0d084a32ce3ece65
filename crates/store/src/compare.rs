//! Compares two branches of one tree: where they fork, which nodes each has since, and what each changed in the
//! state. The cost depends on the length of both paths below the fork, not on the depth or the size of the tree.

use diesel::connection::DefaultLoadingMode;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Integer, Text};

use clotho_core::ids::NodeId;
use clotho_core::tree::Status;
use clotho_core::world::StateOperation;

use super::ancestors::{AncestorRow, path_from_common_ancestor};
use super::error::StoreError;
use super::page::{NodePage, PathFilter};
use super::prepared::prepared;
use super::read::{StoreReader, load_nodes, node_row};
use super::stored::{StoredNode, StoredSession};
use super::worlds::read_delta;

/// The delta of one node on the way up.
#[derive(QueryableByName)]
struct NodeOperationsRow {
    #[diesel(sql_type = BigInt)]
    n: i64,
    #[diesel(sql_type = Binary)]
    id: Vec<u8>,
    #[diesel(sql_type = Integer)]
    depth: i32,
    #[diesel(sql_type = Text)]
    body: String,
}

impl StoreReader<'_> {
    /// Returns the lowest common ancestor of two nodes.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn common_ancestor(
        &mut self,
        stored: &StoredSession,
        from: &StoredNode,
        to: &StoredNode,
    ) -> Result<StoredNode, StoreError> {
        let mut ancestor_row = |placed: &StoredNode| {
            let row = node_row(self.conn, stored.n, placed.node.id)?;
            row.as_ref().map(AncestorRow::from_row).ok_or(StoreError::Inconsistent {
                table: "nodes",
                column: "n",
                row: placed.n,
            })
        };
        let (from, to) = (ancestor_row(from)?, ancestor_row(to)?);
        let common_ancestor =
            path_from_common_ancestor(self.conn, from, to)?.last().map_or(to.n, |ancestor_row| ancestor_row.n);
        let found = load_nodes(self.conn, stored.session.id, &[common_ancestor])?.pop();
        found.ok_or(StoreError::Inconsistent { table: "nodes", column: "parent_n", row: to.n })
    }

    /// Returns the number of nodes from below `above` to `leaf`, without placeholders, and a page of the newest
    /// `limit` of them. Disabled and change nodes are included. The page says where older ones continue.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn path_page_below(
        &mut self,
        stored: &StoredSession,
        above: &StoredNode,
        leaf: &StoredNode,
        limit: i64,
    ) -> Result<(i32, NodePage), StoreError> {
        let placeholder = i32::from(leaf.node.status == Status::Generating);
        let nodes = (leaf.node.depth - above.node.depth - placeholder).max(0);
        let wanted = limit.min(nodes.into());
        if wanted == 0 {
            return Ok((nodes, NodePage::default()));
        }
        let mut page = self.page_from(stored, leaf.n, wanted, PathFilter::All)?;
        page.next = page.next.filter(|_| limit < nodes.into());
        Ok((nodes, page))
    }

    /// Passes the operations of the nodes below `above` on the path to `leaf` to `each`, newest node first,
    /// operations in order. Muted nodes are skipped. `each` returns whether to continue.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn path_operations(
        &mut self,
        above: &StoredNode,
        leaf: &StoredNode,
        mut each: impl FnMut(NodeId, Vec<StateOperation>) -> bool,
    ) -> Result<(), StoreError> {
        if leaf.node.depth <= above.node.depth {
            return Ok(());
        }
        let query = diesel::sql_query(
            "WITH RECURSIVE up (n, parent_n, depth) AS (SELECT n, parent_n, depth FROM nodes WHERE n = $1 UNION ALL \
               SELECT p.n, p.parent_n, p.depth FROM up JOIN nodes p ON p.n = up.parent_n \
               WHERE p.depth > $2 AND p.depth < up.depth) \
             SELECT s.n, s.id, s.depth, d.body FROM up CROSS JOIN nodes s CROSS JOIN deltas d \
             WHERE s.n = up.n AND NOT s.is_muted AND d.node_n = s.n AND d.revision = s.revision",
        );
        let query = query.bind::<BigInt, _>(leaf.n).bind::<Integer, _>(above.node.depth);
        let mut depth = i32::MAX;
        for row in prepared(query).load_iter::<NodeOperationsRow, DefaultLoadingMode>(self.conn)? {
            let row = row?;
            // An ORDER BY would read the whole path first, so the join relies on the order of the recursion and
            // this checks it.
            if row.depth >= depth {
                return Err(StoreError::Database(format!("the path to {} has a wrong order", leaf.n)));
            }
            depth = row.depth;
            let bad = StoreError::Inconsistent { table: "nodes", column: "id", row: row.n };
            let id = NodeId::from_slice(&row.id).ok_or(bad)?;
            if !each(id, read_delta(row.n, Some(&row.body))?.operations) {
                break;
            }
        }
        Ok(())
    }
}
