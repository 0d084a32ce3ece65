//! Reads one page of a path: the ancestors of a node with their texts, in one statement at any depth.

use diesel::connection::DefaultLoadingMode;
use diesel::dsl::{AsSelect, SqlTypeOf};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::BigInt;

use clotho_core::ids::NodeId;

use super::conn::{Conn, IdBytes};
use super::error::StoreError;
use super::prepared::{SqlDialect, prepared};
use super::read::{StoreReader, node_row, pad_to_power_of_two};
use super::rows::NodeViewRow;
use super::stored::{StoredNode, StoredSession};
use super::tables::nodes;

/// The maximum number of nodes for which memory is reserved in advance.
const MAX_PREALLOCATED: i64 = 256;

/// One page of a path, oldest first.
#[derive(Debug, Clone, Default)]
pub struct NodePage {
    pub nodes: Vec<StoredNode>,
    /// The node to pass as `before` for the next older page, if there is one.
    pub next: Option<NodeId>,
}

/// Selects which nodes of a path a page contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathFilter {
    /// What the chat view shows: enabled messages.
    Enabled,
    /// Also disabled messages.
    WithDisabled,
    /// Everything except placeholders, so also the root and change nodes.
    All,
}

impl PathFilter {
    /// Returns the SQL condition, in addition to that for placeholders.
    pub(super) const fn condition(self) -> &'static str {
        // kind 0: root, 3: change.
        match self {
            Self::Enabled => " AND kind NOT IN (0, 3) AND is_enabled",
            Self::WithDisabled => " AND kind NOT IN (0, 3)",
            Self::All => "",
        }
    }
}

#[derive(QueryableByName)]
struct PathCountRow {
    #[diesel(sql_type = BigInt)]
    n: i64,
    #[diesel(sql_type = diesel::sql_types::Bool)]
    counts: bool,
}

#[derive(QueryableByName)]
struct PathNodeRow {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

impl StoreReader<'_> {
    /// Returns one page of the path to `leaf`: the newest `limit` nodes before `before`, oldest first.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn page(
        &mut self,
        stored: &StoredSession,
        leaf: NodeId,
        before: Option<NodeId>,
        limit: i64,
        show: PathFilter,
    ) -> Result<NodePage, StoreError> {
        let start = match before {
            Some(before) => node_row(self.conn, stored.n, before)?.and_then(|row| row.parent_n),
            None => node_row(self.conn, stored.n, leaf)?.map(|row| row.n),
        };
        match start {
            Some(start) => self.page_from(stored, start, limit, show),
            None => Ok(NodePage::default()),
        }
    }

    /// Returns the newest page of the path to a node of this snapshot.
    ///
    /// # Errors
    /// Returns an error as [`StoreReader::page`] does.
    pub fn newest_page(
        &mut self,
        stored: &StoredSession,
        leaf: &StoredNode,
        limit: i64,
        show: PathFilter,
    ) -> Result<NodePage, StoreError> {
        self.page_from(stored, leaf.n, limit, show)
    }

    /// Returns the rows of the whole path to a node, oldest first, for callers that read the texts in batches.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn path_rows(&mut self, leaf: &StoredNode, show: PathFilter) -> Result<Vec<i64>, StoreError> {
        // status 0: generating.
        let query = diesel::sql_query(format!(
            "WITH RECURSIVE up (n, parent_n) AS (SELECT n, parent_n FROM nodes WHERE n = $1 UNION ALL \
               SELECT p.n, p.parent_n FROM nodes p JOIN up ON p.n = up.parent_n) \
             SELECT nodes.n FROM up JOIN nodes ON nodes.n = up.n WHERE status <> 0{}",
            show.condition(),
        ));
        let up: Vec<PathNodeRow> = prepared(query.bind::<BigInt, _>(leaf.n)).load(self.conn)?;
        Ok(up.into_iter().rev().map(|row| row.n).collect())
    }

    /// Counts the nodes on the path from `from` (included) up to the row `until` (excluded), or to the root. At
    /// most `most` nodes are read. The second value tells whether `until` was reached.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn count_ancestors(
        &mut self,
        from: &StoredNode,
        until: Option<i64>,
        show: PathFilter,
        most: i64,
    ) -> Result<(u64, bool), StoreError> {
        // status 0: generating.
        let query = diesel::sql_query(format!(
            "WITH RECURSIVE up (n, parent_n) AS (SELECT n, parent_n FROM nodes WHERE n = $1 UNION ALL \
               SELECT p.n, p.parent_n FROM nodes p JOIN up ON p.n = up.parent_n WHERE up.n <> $2) \
             SELECT nodes.n, (status <> 0{}) AS counts FROM up JOIN nodes ON nodes.n = up.n LIMIT $3",
            show.condition(),
        ));
        let query = query.bind::<BigInt, _>(from.n).bind::<BigInt, _>(until.unwrap_or(0)).bind::<BigInt, _>(most);
        let up: Vec<PathCountRow> = prepared(query).load(self.conn)?;
        let is_met = until.is_some() && up.last().map(|last| last.n) == until;
        let counts = up.iter().filter(|row| row.counts && Some(row.n) != until).count();
        Ok((u64::try_from(counts).unwrap_or(u64::MAX), is_met))
    }

    /// Counts the complete replies from the root to a node, itself included. Failed ones do not count.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn count_replies_to(&mut self, to: &StoredNode) -> Result<u64, StoreError> {
        // role 2: assistant; kind 1: message; status 1: complete.
        let query = diesel::sql_query(
            "WITH RECURSIVE up (n, parent_n) AS (SELECT n, parent_n FROM nodes WHERE n = $1 UNION ALL \
               SELECT p.n, p.parent_n FROM nodes p JOIN up ON p.n = up.parent_n) \
             SELECT nodes.n, (role = 2 AND kind = 1 AND status = 1) AS counts FROM up JOIN nodes ON nodes.n = up.n",
        );
        let up: Vec<PathCountRow> = prepared(query.bind::<BigInt, _>(to.n)).load(self.conn)?;
        Ok(u64::try_from(up.iter().filter(|row| row.counts).count()).unwrap_or(u64::MAX))
    }

    pub(super) fn page_from(
        &mut self,
        stored: &StoredSession,
        start: i64,
        limit: i64,
        show: PathFilter,
    ) -> Result<NodePage, StoreError> {
        let mut up: Vec<NodeViewRow> =
            Vec::with_capacity(usize::try_from(limit.clamp(0, MAX_PREALLOCATED)).unwrap_or(0) + 1);
        let query = AncestorQuery { start, limit: limit + 1, show, columns: NodeViewRow::as_select() };
        for row in query.load_iter::<NodeViewRow, DefaultLoadingMode>(self.conn)? {
            up.push(row?);
        }
        let names = NodeIdMap::read(self.conn, &up)?;
        let has_more = i64::try_from(up.len()).unwrap_or(i64::MAX) > limit;
        if has_more {
            up.pop();
        }
        let mut nodes = Vec::with_capacity(up.len());
        while let Some(row) = up.pop() {
            let n = row.n;
            let (parent, remembered) = (names.find(row.parent_n), names.find(row.remembered_n));
            nodes.push(StoredNode { node: row.into_node(stored.session.id, parent, remembered)?, n });
        }
        let next = if has_more { nodes.first().map(|oldest| oldest.node.id) } else { None };
        Ok(NodePage { nodes, next })
    }
}

/// The ids of all rows that a page refers to, by row number. Most are on the same path; the others are read.
struct NodeIdMap(Vec<(i64, IdBytes)>);

impl NodeIdMap {
    fn read(conn: &mut Conn, rows: &[NodeViewRow]) -> Result<Self, StoreError> {
        let mut names = Self(rows.iter().map(|row| (row.n, row.id)).collect());
        names.0.sort_unstable_by_key(|(n, _)| *n);
        let named = rows.iter().flat_map(|row| [row.parent_n, row.remembered_n]);
        let missing: Vec<i64> = named.filter(|n| names.find(*n).is_none()).flatten().collect();
        for chunk in missing.chunks(512) {
            let some = nodes::table.filter(nodes::n.eq_any(pad_to_power_of_two(chunk))).select((nodes::n, nodes::id));
            names.0.extend(prepared(some).load::<(i64, IdBytes)>(conn)?);
        }
        names.0.sort_unstable_by_key(|(n, _)| *n);
        Ok(names)
    }

    fn find(&self, n: Option<i64>) -> Option<IdBytes> {
        let at = self.0.binary_search_by_key(&n?, |(n, _)| *n).ok()?;
        self.0.get(at).map(|(_, key)| *key)
    }
}

/// Query for the ancestors of `start`, nearest first, at most `limit` of those that match. The recursion is read
/// lazily, so the cost depends on the page and not on the depth.
struct AncestorQuery {
    start: i64,
    limit: i64,
    show: PathFilter,
    columns: AsSelect<NodeViewRow, SqlDialect>,
}

impl QueryFragment<SqlDialect> for AncestorQuery {
    fn walk_ast<'b>(&'b self, mut pass: AstPass<'_, 'b, SqlDialect>) -> QueryResult<()> {
        pass.push_sql("WITH RECURSIVE up (n, parent_n) AS (SELECT n, parent_n FROM nodes WHERE n = ");
        pass.push_bind_param::<BigInt, _>(&self.start)?;
        pass.push_sql(" UNION ALL SELECT p.n, p.parent_n FROM nodes p JOIN up ON p.n = up.parent_n) SELECT ");
        self.columns.walk_ast(pass.reborrow())?;
        pass.push_sql(" FROM up JOIN nodes ON nodes.n = up.n JOIN texts ON texts.n = up.n WHERE status <> 0");
        // status 0: generating.
        pass.push_sql(self.show.condition());
        pass.push_sql(" LIMIT 0 + ");
        pass.push_bind_param::<BigInt, _>(&self.limit)
    }
}

impl QueryId for AncestorQuery {
    type QueryId = ();
    // Cached by its SQL text.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl Query for AncestorQuery {
    type SqlType = SqlTypeOf<AsSelect<NodeViewRow, SqlDialect>>;
}

impl RunQueryDsl<Conn> for AncestorQuery {}
