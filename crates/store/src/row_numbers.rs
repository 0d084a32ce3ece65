//! Row numbers that are never reused, even after the newest row was deleted. Caches, traces and the search index
//! refer to rows by number and must never find another row there.

use diesel::prelude::*;

use super::conn::Conn;
use super::tables::{blobs, nodes, numbers, operations};

/// A table whose row numbers are never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermanentTable {
    /// Nodes and their texts.
    Nodes,
    /// The operation log.
    Operations,
    /// Content-addressed bytes.
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

/// Returns the highest row number that a table ever had.
pub fn highest(conn: &mut Conn, table: PermanentTable) -> QueryResult<Option<i64>> {
    let gone: Option<i64> = numbers::table.find(table.name()).select(numbers::highest).get_result(conn).optional()?;
    Ok(table.highest_in_table(conn)?.max(gone))
}

/// Stores the highest row number of a table, before rows are deleted.
pub fn save_highest(conn: &mut Conn, table: PermanentTable) -> QueryResult<()> {
    let Some(highest) = highest(conn, table)? else { return Ok(()) };
    let known = numbers::table.find(table.name());
    if diesel::update(known).set(numbers::highest.eq(highest)).execute(conn)? == 0 {
        let row = (numbers::name.eq(table.name()), numbers::highest.eq(highest));
        diesel::insert_into(numbers::table).values(row).execute(conn)?;
    }
    Ok(())
}
