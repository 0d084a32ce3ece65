//! Numbers of rows that are never given again, also when the newest row has gone for good: caches, traces and the search
//! index go by them, and must not find another row in the place of one that is gone.

use diesel::prelude::*;

use super::conn::Conn;
use super::tables::{blobs, nodes, numbers, operations};

/// A table whose numbers are given once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermanentTable {
    /// Nodes, and their texts.
    Nodes,
    /// The log.
    Operations,
    /// Texts by their content.
    Blobs,
}

impl PermanentTable {
    const fn name(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Operations => "operations",
            Self::Blobs => "blobs",
        }
    }

    fn highest_in_table(self, conn: &mut Conn) -> QueryResult<Option<i64>> {
        match self {
            Self::Nodes => nodes::table.select(diesel::dsl::max(nodes::n)).get_result(conn),
            Self::Operations => operations::table.select(diesel::dsl::max(operations::n)).get_result(conn),
            Self::Blobs => blobs::table.select(diesel::dsl::max(blobs::n)).get_result(conn),
        }
    }
}

/// The highest number that a row of a table ever had.
pub fn highest(conn: &mut Conn, table: PermanentTable) -> QueryResult<Option<i64>> {
    let gone: Option<i64> = numbers::table.find(table.name()).select(numbers::highest).get_result(conn).optional()?;
    Ok(table.highest_in_table(conn)?.max(gone))
}

/// Keeps the highest number of a table, before rows of it go.
pub fn keep(conn: &mut Conn, table: PermanentTable) -> QueryResult<()> {
    let Some(highest) = highest(conn, table)? else { return Ok(()) };
    let known = numbers::table.find(table.name());
    if diesel::update(known).set(numbers::highest.eq(highest)).execute(conn)? == 0 {
        let row = (numbers::name.eq(table.name()), numbers::highest.eq(highest));
        diesel::insert_into(numbers::table).values(row).execute(conn)?;
    }
    Ok(())
}
