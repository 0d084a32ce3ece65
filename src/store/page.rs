//! A page of a path: the way up from a node with the rows and texts it passes, in one statement however deep the node is.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::BigInt;

use crate::ids::NodeId;

use super::conn::Conn;
use super::error::StoreError;
use super::prepared::prepared;
use super::read::{Held, Placed, Reader, node_row, padded};
use super::rows::{FullNode, NodeRow, TextRow};
use super::tables::{nodes, texts};

/// One page of a path, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// The nodes.
    pub nodes: Vec<Placed>,
    /// The node before which the older page ends, if there is an older page.
    pub next: Option<NodeId>,
}

/// Which nodes of a path a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// What the chat view shows: enabled messages.
    Enabled,
    /// Disabled ones too.
    Disabled,
    /// Everything on the path but placeholders: root and change nodes as well.
    All,
}

/// A node and its texts.
type Line = (NodeRow, TextRow);

impl Reader<'_> {
    /// One page of the path to `leaf`: the newest `limit` nodes that come before `before`, oldest first.
    ///
    /// # Errors
    /// The database fails or a row is damaged.
    pub fn page(
        &mut self,
        held: &Held,
        leaf: NodeId,
        before: Option<NodeId>,
        limit: i64,
        show: Show,
    ) -> Result<Page, StoreError> {
        let start = match before {
            Some(before) => node_row(self.conn, held.n, before)?.and_then(|row| row.parent_n),
            None => node_row(self.conn, held.n, leaf)?.map(|row| row.n),
        };
        let Some(start) = start else { return Ok(Page::default()) };
        let mut up: Vec<Line> = Up { start, limit: limit + 1, show }.load(self.conn)?;
        let names = names(self.conn, &up)?;
        let has_more = i64::try_from(up.len()).unwrap_or(i64::MAX) > limit;
        if has_more {
            up.pop();
        }
        let name = |n: Option<i64>| n.and_then(|n| names.get(&n).cloned());
        let placed = |(row, text): Line| {
            let (n, parent, remembered) = (row.n, name(row.parent_n), name(row.remembered_n));
            Ok(Placed { node: FullNode { row, text, parent, remembered }.into_node(held.session.id)?, n })
        };
        let nodes = up.into_iter().rev().map(placed).collect::<Result<Vec<_>, StoreError>>()?;
        let next = if has_more { nodes.first().map(|oldest| oldest.node.id) } else { None };
        Ok(Page { nodes, next })
    }
}

/// The ids of all rows that these rows name. Most stand on the same path; the others are asked for.
fn names(conn: &mut Conn, lines: &[Line]) -> Result<HashMap<i64, Vec<u8>>, StoreError> {
    let mut names: HashMap<i64, Vec<u8>> = lines.iter().map(|(row, _)| (row.n, row.id.clone())).collect();
    let named = lines.iter().flat_map(|(row, _)| [row.parent_n, row.remembered_n]).flatten();
    let missing: Vec<i64> = named.filter(|n| !names.contains_key(n)).collect();
    for chunk in missing.chunks(512) {
        let some = nodes::table.filter(nodes::n.eq_any(padded(chunk))).select((nodes::n, nodes::id));
        names.extend(prepared(some).load::<(i64, Vec<u8>)>(conn)?);
    }
    Ok(names)
}

/// The lines on the way up from `start`, nearest first, at most `limit` of those wanted. The recursion is read lazily, so
/// the cost is that of the page, not of the depth.
struct Up {
    start: i64,
    limit: i64,
    show: Show,
}

type Dialect = <Conn as Connection>::Backend;

impl QueryFragment<Dialect> for Up {
    fn walk_ast<'b>(&'b self, mut pass: AstPass<'_, 'b, Dialect>) -> QueryResult<()> {
        let columns: &'static _ = &(nodes::all_columns, texts::all_columns);
        pass.push_sql("WITH RECURSIVE up (n, parent_n) AS (SELECT n, parent_n FROM nodes WHERE n = ");
        pass.push_bind_param::<BigInt, _>(&self.start)?;
        pass.push_sql(" UNION ALL SELECT p.n, p.parent_n FROM nodes p JOIN up ON p.n = up.parent_n) SELECT ");
        columns.walk_ast(pass.reborrow())?;
        pass.push_sql(" FROM up JOIN nodes ON nodes.n = up.n JOIN texts ON texts.n = up.n WHERE status <> 0");
        // status 0: generating; kind 0: root, 3: change.
        pass.push_sql(match self.show {
            Show::Enabled => " AND kind NOT IN (0, 3) AND is_enabled",
            Show::Disabled => " AND kind NOT IN (0, 3)",
            Show::All => "",
        });
        pass.push_sql(" LIMIT 0 + ");
        pass.push_bind_param::<BigInt, _>(&self.limit)
    }
}

impl QueryId for Up {
    type QueryId = ();
    // Kept by its text.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl Query for Up {
    type SqlType = (nodes::SqlType, texts::SqlType);
}

impl RunQueryDsl<Conn> for Up {}
