//! Reads the ancestors of a node in one statement, whatever their number.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Nullable};

use super::conn::Conn;
use super::error::StoreError;
use super::prepared::prepared;
use super::rows::NodeRow;

/// The first depth range that both branches climb to find their common ancestor; each next one is twice as long.
const FIRST_BATCH: i32 = 32;

/// The columns of a node that a walk to the root reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, QueryableByName)]
pub struct AncestorRow {
    #[diesel(sql_type = BigInt)]
    pub n: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    pub parent_n: Option<i64>,
    /// The child last visited below it.
    #[diesel(sql_type = Nullable<BigInt>)]
    pub remembered_n: Option<i64>,
    /// The number of edges from the root.
    #[diesel(sql_type = Integer)]
    pub depth: i32,
}

impl AncestorRow {
    /// Takes the columns from a full row.
    pub fn from_row(row: &NodeRow) -> Self {
        Self { n: row.n, parent_n: row.parent_n, remembered_n: row.remembered_n, depth: row.depth }
    }
}

/// Returns the nodes from `from` up to the one at `depth`, both included, nearest first. Depth decreases at
/// every step, so the walk ends even in a damaged tree.
pub fn ancestors_up_to_depth(conn: &mut Conn, from: i64, depth: i32) -> Result<Vec<AncestorRow>, StoreError> {
    let query = diesel::sql_query(
        "WITH RECURSIVE up (n, parent_n, remembered_n, depth) AS ( \
           SELECT n, parent_n, remembered_n, depth FROM nodes WHERE n = $1 UNION ALL \
           SELECT p.n, p.parent_n, p.remembered_n, p.depth FROM up JOIN nodes p ON p.n = up.parent_n \
           WHERE up.depth > $2 AND p.depth < up.depth) \
         SELECT n, parent_n, remembered_n, depth FROM up",
    );
    Ok(prepared(query.bind::<BigInt, _>(from).bind::<Integer, _>(depth)).load(conn)?)
}

/// Returns the ancestor of `from` (or itself) at `depth`; `None` if `from` is above that depth.
pub fn ancestor_at(conn: &mut Conn, from: i64, depth: i32) -> Result<Option<i64>, StoreError> {
    Ok(ancestors_up_to_depth(conn, from, depth)?.last().filter(|rung| rung.depth == depth).map(|rung| rung.n))
}

/// Returns the path from `to` up to the lowest common ancestor with `from`, that one included, nearest first.
/// The cost depends on the length of that path, not on the depth.
pub fn path_from_common_ancestor(
    conn: &mut Conn,
    from: AncestorRow,
    to: AncestorRow,
) -> Result<Vec<AncestorRow>, StoreError> {
    let depth = from.depth.min(to.depth);
    let mut left = ancestors_up_to_depth(conn, from.n, depth)?.pop().unwrap_or(from);
    let mut way = ancestors_up_to_depth(conn, to.n, depth)?;
    let mut right = way.last().copied().unwrap_or(to);
    let mut stretch = FIRST_BATCH;
    while left.n != right.n && right.depth > 0 {
        let depth = right.depth.saturating_sub(stretch).max(0);
        let lefts = ancestors_up_to_depth(conn, left.n, depth)?;
        let rights = ancestors_up_to_depth(conn, right.n, depth)?;
        let meeting = lefts.iter().zip(&rights).position(|(left, right)| left.n == right.n);
        let end = meeting.map_or(rights.len(), |at| at + 1);
        way.extend(rights.iter().take(end).skip(1));
        (left, right) = match (meeting, lefts.last(), rights.last()) {
            (None, Some(left), Some(right)) => (*left, *right),
            _ => break,
        };
        stretch = stretch.saturating_mul(2);
    }
    Ok(way)
}

#[derive(QueryableByName)]
struct ContextRow {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

/// Returns the nearest context node at or above a node: neither an assistant node nor a change node
/// (`domain.md` 1).
pub fn nearest_context(conn: &mut Conn, start: i64) -> Result<Option<i64>, StoreError> {
    // role: 2 assistant; kind: 3 change.
    let query = diesel::sql_query(
        "WITH RECURSIVE up (n, parent_n, role, kind) AS (SELECT n, parent_n, role, kind FROM nodes WHERE n = $1 \
           UNION ALL SELECT p.n, p.parent_n, p.role, p.kind FROM nodes p JOIN up ON p.n = up.parent_n) \
         SELECT n FROM up WHERE role <> 2 AND kind <> 3 LIMIT 1",
    );
    let rows: Vec<ContextRow> = prepared(query.bind::<BigInt, _>(start)).load(conn)?;
    Ok(rows.first().map(|row| row.n))
}
