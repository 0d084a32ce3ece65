//! The branches of a session, named or not, and where they fork from the current branch.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::BigInt;

use clotho_core::ids::NodeId;
use clotho_core::tree::arrange::normalize_name;

use super::ancestors::{AncestorRow, ancestors_up_to_depth};
use super::arrange::Label;
use super::error::StoreError;
use super::page::PathFilter;
use super::prepared::prepared;
use super::read::{StoreReader, load_nodes};
use super::stored::{StoredNode, StoredSession};

/// The first depth range that a branch climbs to find the current branch; each next one is twice as long.
const FIRST_BATCH: i32 = 32;

/// One branch of a session.
#[derive(Debug, Clone)]
pub struct SessionBranch {
    pub leaf: StoredNode,
    /// Its last message, disabled or not; `None` if there is only the root.
    pub last_message: Option<StoredNode>,
    /// The lowest node that it shares with the path to HEAD.
    pub fork: NodeId,
    /// The labels of its leaf.
    pub labels: Vec<Label>,
}

#[derive(QueryableByName)]
struct BranchLeafRow {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

impl StoreReader<'_> {
    /// Returns the branches whose ends have a row before `before`, newest first. A branch ends at a leaf or at a
    /// following label.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn branches(
        &mut self,
        stored: &StoredSession,
        before: i64,
        limit: i64,
    ) -> Result<Vec<SessionBranch>, StoreError> {
        let query = diesel::sql_query(
            "SELECT n FROM nodes WHERE session_n = $1 AND n < $2 AND NOT is_hidden AND (NOT EXISTS ( \
               SELECT 1 FROM nodes AS below WHERE below.parent_n = nodes.n AND NOT below.is_hidden) OR EXISTS ( \
               SELECT 1 FROM labels WHERE labels.node_n = nodes.n AND following)) \
             ORDER BY n DESC LIMIT 0 + $3",
        );
        let query = query.bind::<BigInt, _>(stored.n).bind::<BigInt, _>(before).bind::<BigInt, _>(limit);
        let rows: Vec<BranchLeafRow> = prepared(query).load(self.conn)?;
        let rows: Vec<i64> = rows.into_iter().map(|leaf| leaf.n).collect();
        let leaves = load_nodes(self.conn, stored.session.id, &rows)?;
        let partings = self.fork_nodes(stored, &leaves)?;
        let named = self.labels(stored)?;
        let mut branches = Vec::with_capacity(leaves.len());
        for (leaf, parting) in leaves.into_iter().zip(partings) {
            let last = self.newest_page(stored, &leaf, 1, PathFilter::WithDisabled)?.nodes.pop();
            let labels = named.iter().filter(|label| label.node == leaf.node.id).cloned().collect();
            branches.push(SessionBranch { leaf, last_message: last, fork: parting, labels });
        }
        Ok(branches)
    }

    /// Returns the node with a label of this name.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn node_with_label(&mut self, stored: &StoredSession, name: &str) -> Result<Option<NodeId>, StoreError> {
        let name = normalize_name(name);
        Ok(self.labels(stored)?.into_iter().find(|label| normalize_name(&label.name) == name).map(|label| label.node))
    }

    /// Returns where each of these branches forks from the current branch. Nodes that one branch visited are not
    /// read again for the next.
    fn fork_nodes(&mut self, stored: &StoredSession, leaves: &[StoredNode]) -> Result<Vec<NodeId>, StoreError> {
        let trunk = ancestors_up_to_depth(self.conn, stored.head_n, 0)?;
        let mut forks: HashMap<i64, i64> = trunk.iter().map(|rung| (rung.n, rung.n)).collect();
        let mut rows = Vec::with_capacity(leaves.len());
        for leaf in leaves {
            rows.push(self.fork_row(leaf, &mut forks)?);
        }
        let parted = load_nodes(self.conn, stored.session.id, &rows)?;
        Ok(parted.into_iter().map(|placed| placed.node.id).collect())
    }

    /// Returns the fork row of a leaf: climbs to the lowest node whose fork is known.
    fn fork_row(&mut self, leaf: &StoredNode, forks: &mut HashMap<i64, i64>) -> Result<i64, StoreError> {
        let (mut n, mut depth, mut stretch) = (leaf.n, leaf.node.depth, FIRST_BATCH);
        let mut passed: Vec<AncestorRow> = Vec::new();
        loop {
            let rungs = ancestors_up_to_depth(self.conn, n, depth.saturating_sub(stretch).max(0))?;
            let met = rungs.iter().find_map(|rung| forks.get(&rung.n).copied());
            passed.extend(rungs.iter().take_while(|rung| !forks.contains_key(&rung.n)));
            let top = rungs.last().filter(|top| top.n != n);
            match (met, top) {
                (Some(parting), _) => {
                    forks.extend(passed.iter().map(|rung| (rung.n, parting)));
                    return Ok(parting);
                }
                (None, Some(top)) => (n, depth) = (top.n, top.depth),
                // Every branch begins at the root, which is on the current branch.
                (None, None) => return Err(StoreError::Inconsistent { table: "nodes", column: "parent_n", row: n }),
            }
            stretch = stretch.saturating_mul(2);
        }
    }
}
