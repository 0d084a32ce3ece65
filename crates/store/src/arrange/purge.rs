//! Purges: deletes pieces permanently (`docs/domain.md` 2.16). Undo is not possible, so the request must confirm
//! it. Fragments that were pruned from the piece earlier stay in the stash. Their origin becomes the parent of
//! the piece.

use std::collections::HashSet;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Nullable};

use clotho_core::ids::NodeId;
use clotho_core::oplog::{Effect, LabelTarget};
use clotho_core::tree::edit::{self, TreeError};
use clotho_core::tree::{EditTarget, Status};

use super::super::conn::Conn;
use super::super::destroy;
use super::super::error::{StoreError, WriteError};
use super::super::prepared::prepared;
use super::super::read::pad_to_power_of_two;
use super::super::rows::NodeRow;
use super::super::stored::StoredSession;
use super::super::tables::nodes;
use super::super::traces;
use super::super::tx::{Tx, row_id};
use super::stash::count_as_i64;

/// A node that is purged.
#[derive(Debug, QueryableByName)]
struct PurgeRow {
    #[diesel(sql_type = BigInt)]
    n: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    parent_n: Option<i64>,
    #[diesel(sql_type = Binary)]
    id: Vec<u8>,
    /// Whether it was undone, so that it is in neither the tree nor the stash.
    #[diesel(sql_type = Bool)]
    is_taken_back: bool,
}

/// The nodes that are purged with one node, that one first.
struct Subtree {
    all: Vec<PurgeRow>,
    rows: HashSet<i64>,
}

impl Subtree {
    /// Reads all nodes at and below a node, except separate fragments.
    fn read(conn: &mut Conn, top: &NodeRow) -> Result<Self, StoreError> {
        let query = diesel::sql_query(
            "WITH RECURSIVE below (n) AS (SELECT n FROM nodes WHERE n = $1 UNION ALL \
               SELECT c.n FROM below JOIN nodes c ON c.parent_n = below.n \
                 AND (c.fragment_n IS NULL OR c.fragment_n = $2)) \
             SELECT k.n, k.parent_n, k.id, k.is_hidden AND k.fragment_n IS NULL AS is_taken_back \
             FROM below JOIN nodes k ON k.n = below.n ORDER BY k.n <> $1, k.n",
        );
        let query = query.bind::<BigInt, _>(top.n).bind::<Nullable<BigInt>, _>(top.fragment_n);
        let all: Vec<PurgeRow> = prepared(query).load(conn)?;
        let rows = all.iter().map(|one| one.n).collect();
        Ok(Self { all, rows })
    }

    /// Returns the tops of fragments that were pruned from it.
    fn inner_fragments(&self, conn: &mut Conn) -> Result<Vec<NodeRow>, StoreError> {
        let (all, mut tops) = (self.numbers(), Vec::new());
        for some in all.chunks(512) {
            let stashed = nodes::table
                .filter(nodes::parent_n.eq_any(pad_to_power_of_two(some)))
                .filter(nodes::fragment_n.is_not_null());
            let found: Vec<NodeRow> = prepared(stashed.order(nodes::n).select(NodeRow::as_select())).load(conn)?;
            tops.extend(found.into_iter().filter(|row| !self.rows.contains(&row.n)));
        }
        Ok(tops)
    }

    fn numbers(&self) -> Vec<i64> {
        self.all.iter().map(|one| one.n).collect()
    }

    fn ids(&self) -> Result<Vec<NodeId>, StoreError> {
        let bad = |row| move || StoreError::Inconsistent { table: "nodes", column: "id", row };
        self.all.iter().map(|one| NodeId::from_slice(&one.id).ok_or_else(bad(one.n))).collect()
    }

    /// Counts its nodes and leaves without those that were undone.
    fn node_and_leaf_counts(&self) -> (usize, usize) {
        let standing = || self.all.iter().filter(|one| !one.is_taken_back);
        let above: HashSet<i64> = standing().filter_map(|one| one.parent_n).collect();
        (standing().count(), standing().filter(|one| !above.contains(&one.n)).count())
    }
}

impl Tx<'_> {
    /// Plans a purge. If HEAD is in the piece, it moves to the parent; labels in the piece are removed.
    pub(super) fn purge(
        &mut self,
        stored: &StoredSession,
        piece: EditTarget,
        is_confirmed: bool,
    ) -> Result<Vec<Effect>, WriteError> {
        let (top, fragments) = match piece {
            EditTarget::Node(id) => (self.purge_target(stored, id)?, 0),
            EditTarget::Fragment(id) => {
                let fragment = self.fragment(stored, id, "fragmentId")?;
                (self.row_by_number(fragment.top_n)?, 1)
            }
        };
        let parent_n = top.parent_n.ok_or_else(|| TreeError::Conflict("the root cannot be deleted".into()))?;
        if top.status == Status::Generating.code() || self.is_generating_below(stored, &top)? {
            return Err(TreeError::Generating.into());
        }
        let subtree = self.run(|conn| Subtree::read(conn, &top))?;
        let cut_out = self.run(|conn| subtree.inner_fragments(conn))?;
        if !is_confirmed {
            let (nodes, (_, branches)) = (subtree.all.len(), subtree.node_and_leaf_counts());
            return Err(TreeError::ConfirmationRequired { nodes, branches, fragments, kept: cut_out.len() }.into());
        }
        let (node, above) = (row_id(&top)?, self.row_by_number(parent_n)?);
        let parent = row_id(&above)?;
        let mut effects = self.release_references(stored, &subtree, parent, &cut_out)?;
        if above.remembered_n == Some(top.n) {
            effects.push(Effect::Remembered { node: parent, from: Some(node), to: None });
        }
        let below = self.run(|_| subtree.ids())?.split_off(1);
        effects.push(Effect::Purged { node, parent, below });
        Ok(effects)
    }

    /// Returns a node that may be purged: one that may be moved, or one that was undone. Nobody sees the latter,
    /// but its text may need to be deleted.
    fn purge_target(&mut self, stored: &StoredSession, id: NodeId) -> Result<NodeRow, WriteError> {
        match self.any_row(stored, id)? {
            Some(row) if row.is_hidden && row.fragment_n.is_none() => Ok(row),
            _ => self.movable_node(stored, id),
        }
    }

    /// Returns the effects for everything that refers to purged nodes: HEAD, labels and fragments pruned from
    /// the piece.
    fn release_references(
        &mut self,
        stored: &StoredSession,
        subtree: &Subtree,
        parent: NodeId,
        cut_out: &[NodeRow],
    ) -> Result<Vec<Effect>, StoreError> {
        let mut effects = Vec::new();
        if subtree.rows.contains(&stored.head_n) {
            effects.extend(edit::move_head(Some(stored.session.head), parent, &[]));
        }
        for label in self.label_rows(stored)?.into_iter().filter(|label| subtree.rows.contains(&label.node_n)) {
            let from = LabelTarget { node: row_id(&self.row_by_number(label.node_n)?)?, following: label.following };
            effects.push(Effect::Labelled { name: label.name, from: Some(from), to: None });
        }
        for top in cut_out {
            let Some(parent_n) = top.parent_n else { continue };
            let from = row_id(&self.row_by_number(parent_n)?)?;
            effects.push(Effect::Moved { node: row_id(top)?, from, to: parent });
        }
        Ok(effects)
    }

    /// Deletes a node with everything below it.
    pub(in super::super) fn apply_purge(&mut self, stored: &StoredSession, node: NodeId) -> Result<(), StoreError> {
        let top = self.logged_row(stored, node)?;
        let subtree = self.run(|conn| Subtree::read(conn, &top))?;
        let (standing, leaves) = subtree.node_and_leaf_counts();
        let (session_n, gone) = (stored.n, self.run(|_| subtree.ids())?);
        self.purge_responses(stored.session.owner, &gone.into_iter().collect())?;
        self.run_with_cache(|conn, memory| {
            // The cache may refer to deleted rows.
            memory.clear();
            traces::detach_histories(conn, session_n, &subtree.rows)?;
            let going = subtree.numbers();
            traces::keep_hashes(conn, &going)?;
            Ok(destroy::delete_nodes(conn, &going)?)
        })?;
        if top.is_hidden {
            return Ok(());
        }
        self.adjust_counts(&top, -count_as_i64(standing), -count_as_i64(leaves))
    }
}
