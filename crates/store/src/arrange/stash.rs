//! The stash: rows and views of the fragments of a session.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Nullable, Text};

use clotho_core::clock::Time;
use clotho_core::ids::{FragmentId, NodeId};
use clotho_core::oplog::{Effect, FragmentInfo};
use clotho_core::tree::edit::TreeError;

use super::super::conn::Conn;
use super::super::error::{StoreError, WriteError};
use super::super::prepared::prepared;
use super::super::read::{StoreReader, load_nodes};
use super::super::stored::{StoredNode, StoredSession};
use super::super::tables::{fragments, nodes};
use super::super::tx::{Tx, has_other_child};
use super::super::writer_cache::{NumberedTable, WriterCache};

/// A fragment of the stash, for lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StashFragment {
    pub id: FragmentId,
    pub name: Option<String>,
    /// Its top node.
    pub top: NodeId,
    /// The old parent of its top.
    pub origin: Option<NodeId>,
    /// Whether the old parent is in the tree.
    pub has_origin: bool,
    /// The number of its nodes.
    pub count: i64,
    /// The first 200 characters of the first text in it: that of the top, or of the first node that has any.
    pub excerpt: String,
    pub pruned_at: Time,
}

/// The columns of a fragment.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = fragments)]
pub struct FragmentRow {
    pub n: i64,
    pub name: Option<String>,
    pub top_n: i64,
    pub created: i64,
}

impl FragmentRow {
    /// Returns the fragment as the log stores it.
    pub fn to_info(&self, fragment: FragmentId) -> FragmentInfo {
        FragmentInfo { fragment, name: self.name.clone(), since: Time(self.created) }
    }
}

#[derive(QueryableByName)]
struct FragmentListRow {
    #[diesel(sql_type = BigInt)]
    n: i64,
    #[diesel(sql_type = Binary)]
    id: Vec<u8>,
    #[diesel(sql_type = Nullable<Text>)]
    name: Option<String>,
    #[diesel(sql_type = BigInt)]
    created: i64,
    #[diesel(sql_type = Binary)]
    top: Vec<u8>,
    #[diesel(sql_type = Nullable<Binary>)]
    origin: Option<Vec<u8>>,
    #[diesel(sql_type = diesel::sql_types::Bool)]
    is_origin_there: bool,
    #[diesel(sql_type = BigInt)]
    count: i64,
    #[diesel(sql_type = Nullable<Text>)]
    beginning: Option<String>,
}

impl StoreReader<'_> {
    /// Returns the fragments of a session, the most recently pruned first.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn stash(&mut self, stored: &StoredSession) -> Result<Vec<StashFragment>, StoreError> {
        let query = diesel::sql_query(
            "SELECT f.n, f.id, f.name, f.created, t.id AS top, p.id AS origin, p.n IS NOT NULL AND NOT p.is_hidden AS \
               is_origin_there, (SELECT count(*) FROM nodes WHERE fragment_n = f.n) AS count, \
               (SELECT substr(content, 1, 200) FROM nodes JOIN texts ON texts.n = nodes.n WHERE fragment_n = f.n \
                AND content <> '' ORDER BY nodes.n <> f.top_n, nodes.n LIMIT 1) AS beginning \
             FROM fragments f JOIN nodes t ON t.n = f.top_n LEFT JOIN nodes p ON p.n = t.parent_n \
             WHERE f.session_n = $1 ORDER BY f.created DESC, f.n DESC",
        );
        let rows: Vec<FragmentListRow> = prepared(query.bind::<BigInt, _>(stored.n)).load(self.conn)?;
        rows.into_iter().map(FragmentListRow::read).collect()
    }

    /// Returns a page of the nodes of a fragment in creation order, after row `after`; 0 starts at the
    /// beginning. Returns `None` if there is no such fragment.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn fragment_page(
        &mut self,
        stored: &StoredSession,
        id: FragmentId,
        after: i64,
        limit: i64,
    ) -> Result<Option<Vec<StoredNode>>, StoreError> {
        let Some(fragment) = row(self.conn, stored.n, id)? else { return Ok(None) };
        let rows: Vec<i64> = nodes::table
            .filter(nodes::fragment_n.eq(fragment.n))
            .filter(nodes::n.gt(after))
            .order(nodes::n)
            .limit(limit)
            .select(nodes::n)
            .load(self.conn)?;
        load_nodes(self.conn, stored.session.id, &rows).map(Some)
    }
}

impl FragmentListRow {
    fn read(self) -> Result<StashFragment, StoreError> {
        let bad = |table, column, row| move || StoreError::Inconsistent { table, column, row };
        let origin = self.origin.as_deref().map(|id| NodeId::from_slice(id).ok_or_else(bad("nodes", "id", self.n)));
        Ok(StashFragment {
            id: FragmentId::from_slice(&self.id).ok_or_else(bad("fragments", "id", self.n))?,
            name: self.name,
            top: NodeId::from_slice(&self.top).ok_or_else(bad("fragments", "top_n", self.n))?,
            origin: origin.transpose()?,
            has_origin: self.is_origin_there,
            count: self.count,
            excerpt: self.beginning.unwrap_or_default(),
            pruned_at: Time(self.created),
        })
    }
}

fn row(conn: &mut Conn, session_n: i64, id: FragmentId) -> Result<Option<FragmentRow>, StoreError> {
    let own = fragments::table.filter(fragments::session_n.eq(session_n));
    let named = own.filter(fragments::id.eq(id.as_bytes().to_vec()));
    Ok(named.select(FragmentRow::as_select()).get_result(conn).optional()?)
}

impl Tx<'_> {
    /// Returns a fragment of a session that the request names.
    pub(in super::super) fn fragment(
        &mut self,
        stored: &StoredSession,
        id: FragmentId,
        field: &'static str,
    ) -> Result<FragmentRow, WriteError> {
        let session_n = stored.n;
        let found = self.run(|conn| row(conn, session_n, id))?;
        Ok(found.ok_or(TreeError::ReferenceNotFound { what: "the fragment", field })?)
    }

    /// Applies an effect on the stash.
    pub(in super::super) fn apply_stash_effect(
        &mut self,
        stored: &StoredSession,
        effect: &Effect,
    ) -> Result<(), StoreError> {
        match effect {
            Effect::Detached { node, fragment } => self.detach(stored, *node, fragment),
            Effect::Attached { node, fragment } => self.attach(stored, *node, fragment),
            Effect::Renamed { fragment, to, .. } => {
                let named = fragments::table.filter(fragments::id.eq(fragment.as_bytes().to_vec()));
                self.update_row(|conn| diesel::update(named).set(fragments::name.eq(to.as_deref())).execute(conn))
            }
            _ => Ok(()),
        }
    }

    /// Moves everything in the tree at and below a node into a fragment. Nodes that were undone stay as they
    /// are.
    fn detach(&mut self, stored: &StoredSession, node: NodeId, cut: &FragmentInfo) -> Result<(), StoreError> {
        let top = self.logged_row(stored, node)?;
        let (session_n, top_n) = (stored.n, top.n);
        let (moved, leaves) = self.run_with_cache(|conn, memory| {
            let n = put_fragment(conn, memory, session_n, top_n, cut)?;
            let query = diesel::sql_query(
                "UPDATE nodes SET is_hidden = 1, fragment_n = $1 WHERE n IN ( \
                   WITH RECURSIVE below (n) AS (SELECT n FROM nodes WHERE n = $2 UNION ALL \
                     SELECT c.n FROM below JOIN nodes c ON c.parent_n = below.n AND NOT c.is_hidden) \
                   SELECT n FROM below)",
            );
            let moved = query.bind::<BigInt, _>(n).bind::<BigInt, _>(top_n).execute(conn)?;
            let leaves = leaves(conn, n)?;
            memory.forget_nodes();
            Ok((moved, leaves))
        })?;
        self.adjust_counts(&top, -count_as_i64(moved), -leaves)
    }

    /// Moves a fragment back into the tree, below the parent of its top.
    fn attach(&mut self, stored: &StoredSession, node: NodeId, cut: &FragmentInfo) -> Result<(), StoreError> {
        let top = self.logged_row(stored, node)?;
        let session_n = stored.n;
        let gone = || StoreError::Database(format!("{} is in the log, not in the stash", cut.fragment));
        let (moved, leaves) = self.run_with_cache(|conn, memory| {
            let fragment = row(conn, session_n, cut.fragment)?.ok_or_else(gone)?;
            let leaves = leaves(conn, fragment.n)?;
            let lying = nodes::table.filter(nodes::fragment_n.eq(fragment.n));
            let back = (nodes::is_hidden.eq(false), nodes::fragment_n.eq(None::<i64>));
            let moved = diesel::update(lying).set(back).execute(conn)?;
            diesel::delete(fragments::table.find(fragment.n)).execute(conn)?;
            memory.forget_nodes();
            Ok((moved, leaves))
        })?;
        self.adjust_counts(&top, count_as_i64(moved), leaves)
    }

    /// Changes the counts after nodes and leaves were added to the tree or removed. The parent of `top` is a
    /// leaf if it has no other child.
    pub(super) fn adjust_counts(
        &mut self,
        top: &super::super::rows::NodeRow,
        moved: i64,
        leaves: i64,
    ) -> Result<(), StoreError> {
        self.count_changes.nodes += moved;
        self.count_changes.leaves += leaves;
        let Some(parent_n) = top.parent_n else { return Ok(()) };
        let top_n = top.n;
        let is_leaf = !self.run(|conn| Ok(has_other_child(conn, parent_n, top_n)?))?;
        self.count_changes.leaves -= moved.signum() * i64::from(is_leaf);
        Ok(())
    }
}

pub(super) fn count_as_i64(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

#[derive(QueryableByName)]
struct FragmentCount {
    #[diesel(sql_type = BigInt)]
    count: i64,
}

/// Inserts a fragment; returns its row.
pub fn put_fragment(
    conn: &mut Conn,
    memory: &mut WriterCache,
    session_n: i64,
    top_n: i64,
    cut: &FragmentInfo,
) -> Result<i64, StoreError> {
    let newest = || fragments::table.select(diesel::dsl::max(fragments::n)).get_result(conn);
    let n = memory.next_number(NumberedTable::Fragments, newest)?;
    let row = (
        fragments::n.eq(n),
        fragments::id.eq(cut.fragment.as_bytes().to_vec()),
        fragments::session_n.eq(session_n),
        fragments::name.eq(cut.name.as_deref()),
        fragments::top_n.eq(top_n),
        fragments::created.eq(cut.since.0),
    );
    diesel::insert_into(fragments::table).values(row).execute(conn)?;
    Ok(n)
}

/// Counts the nodes of a fragment without children in it. The `+` keeps SQLite from using the index on
/// `fragment_n`, so that it finds children by their parent.
fn leaves(conn: &mut Conn, fragment_n: i64) -> Result<i64, StoreError> {
    let query = diesel::sql_query(
        "SELECT count(*) AS count FROM nodes f WHERE f.fragment_n = $1 AND NOT EXISTS ( \
           SELECT 1 FROM nodes c WHERE c.parent_n = f.n AND +c.fragment_n = $1)",
    );
    let counted: FragmentCount = query.bind::<BigInt, _>(fragment_n).get_result(conn)?;
    Ok(counted.count)
}
