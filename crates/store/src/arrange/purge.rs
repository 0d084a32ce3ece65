//! Pieces that go for good (`docs/domain.md` 2.16): nothing takes that back, so it is made only where somebody says that it is
//! meant. What was cut out of a piece before lies in the stash by itself, and stays there: where it was is from then on the
//! message above the piece.

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

/// A node that goes.
#[derive(Debug, QueryableByName)]
struct PurgeRow {
    #[diesel(sql_type = BigInt)]
    n: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    parent_n: Option<i64>,
    #[diesel(sql_type = Binary)]
    id: Vec<u8>,
    /// It was taken back before, and stands nowhere.
    #[diesel(sql_type = Bool)]
    is_taken_back: bool,
}

/// All that goes with one node, that one first.
struct Subtree {
    all: Vec<PurgeRow>,
    rows: HashSet<i64>,
}

impl Subtree {
    /// All at and below a node, but for what lies in the stash by itself.
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

    /// The tops of fragments that were cut out of it.
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

    /// How many of it were not taken back, and how many lines end in those.
    fn node_and_leaf_counts(&self) -> (usize, usize) {
        let standing = || self.all.iter().filter(|one| !one.is_taken_back);
        let above: HashSet<i64> = standing().filter_map(|one| one.parent_n).collect();
        (standing().count(), standing().filter(|one| !above.contains(&one.n)).count())
    }
}

impl Tx<'_> {
    /// A piece goes for good; a HEAD in there goes to the message above it, and names in there are given up.
    pub(super) fn purge(
        &mut self,
        held: &StoredSession,
        piece: EditTarget,
        is_confirmed: bool,
    ) -> Result<Vec<Effect>, WriteError> {
        let (top, fragments) = match piece {
            EditTarget::Node(id) => (self.purge_target(held, id)?, 0),
            EditTarget::Fragment(id) => {
                let fragment = self.fragment(held, id, "fragmentId")?;
                (self.row_by_number(fragment.top_n)?, 1)
            }
        };
        let parent_n = top.parent_n.ok_or_else(|| TreeError::Conflict("the root holds the tree".into()))?;
        if top.status == Status::Generating.code() || self.is_generating_below(held, &top)? {
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
        let mut effects = self.release_references(held, &subtree, parent, &cut_out)?;
        if above.remembered_n == Some(top.n) {
            effects.push(Effect::Remembered { node: parent, from: Some(node), to: None });
        }
        let below = self.run(|_| subtree.ids())?.split_off(1);
        effects.push(Effect::Purged { node, parent, below });
        Ok(effects)
    }

    /// A node that may go: one that may leave its place, or one that an undo took back. Nobody sees that, and somebody may need
    /// it gone.
    fn purge_target(&mut self, held: &StoredSession, id: NodeId) -> Result<NodeRow, WriteError> {
        match self.any_row(held, id)? {
            Some(row) if row.is_hidden && row.fragment_n.is_none() => Ok(row),
            _ => self.movable_node(held, id),
        }
    }

    /// Nothing that stays goes on naming what goes: HEAD, labels, and what was cut out of it.
    fn release_references(
        &mut self,
        held: &StoredSession,
        subtree: &Subtree,
        parent: NodeId,
        cut_out: &[NodeRow],
    ) -> Result<Vec<Effect>, StoreError> {
        let mut effects = Vec::new();
        if subtree.rows.contains(&held.head_n) {
            effects.extend(edit::move_head(Some(held.session.head), parent, &[]));
        }
        for label in self.label_rows(held)?.into_iter().filter(|label| subtree.rows.contains(&label.node_n)) {
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

    /// Destroys a node with all below it.
    pub(in super::super) fn apply_purge(&mut self, held: &StoredSession, node: NodeId) -> Result<(), StoreError> {
        let top = self.logged_row(held, node)?;
        let subtree = self.run(|conn| Subtree::read(conn, &top))?;
        let (standing, leaves) = subtree.node_and_leaf_counts();
        let (session_n, gone) = (held.n, self.run(|_| subtree.ids())?);
        self.purge_responses(held.session.owner, &gone.into_iter().collect())?;
        self.run_with_cache(|conn, memory| {
            // Whatever the writer remembers may name rows that go.
            memory.clear();
            traces::detach_histories(conn, session_n, &subtree.rows)?;
            let going = subtree.numbers();
            traces::keep_hashes(conn, &going)?;
            Ok(destroy::nodes(conn, &going)?)
        })?;
        if top.is_hidden {
            return Ok(());
        }
        self.adjust_counts(&top, -count_as_i64(standing), -count_as_i64(leaves))
    }
}
