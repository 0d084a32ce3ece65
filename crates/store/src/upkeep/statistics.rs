//! Statistics: rows and bytes of tables, nodes and depth of sessions.

use std::path::Path;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Text};
use serde::Serialize;

use crate::conn;
use crate::error::StoreError;
use crate::tables::{nodes, sessions};
use clotho_core::ids::SessionId;

/// The statistics of a database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DatabaseStatistics {
    /// The size of the database file in bytes, without its write-ahead log.
    pub file_bytes: u64,
    /// All tables, by name.
    pub tables: Vec<TableStatistics>,
    /// The number of sessions that are not in the trash.
    pub sessions: i64,
    /// The number of sessions in the trash, including those being imported or deleted.
    pub trashed_sessions: i64,
    /// The number of nodes of all sessions, including roots.
    pub nodes: i64,
    /// The session with the most nodes.
    pub largest_session: Option<SessionStatistic>,
    /// The session with the deepest node.
    pub deepest_line: Option<SessionStatistic>,
}

/// The statistics of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableStatistics {
    pub name: String,
    /// The number of rows.
    pub rows: i64,
    /// The size in the file in bytes, including indexes.
    pub bytes: i64,
}

/// The session with the highest value of something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionStatistic {
    pub id: String,
    pub title: String,
    /// The number of nodes, or of edges from the root.
    pub number: i64,
}

#[derive(QueryableByName)]
struct LargestSessionRow {
    #[diesel(sql_type = Binary)]
    id: Vec<u8>,
    #[diesel(sql_type = Text)]
    title: String,
    #[diesel(sql_type = BigInt)]
    number: i64,
}

impl From<LargestSessionRow> for SessionStatistic {
    fn from(most: LargestSessionRow) -> Self {
        let id = SessionId::from_slice(&most.id).map_or_else(String::new, |id| id.to_string());
        Self { id, title: most.title, number: most.number }
    }
}

/// Collects the statistics on one snapshot, also while a server runs.
///
/// # Errors
/// Returns an error if the database cannot be read.
pub fn collect(database: &Path) -> Result<DatabaseStatistics, StoreError> {
    let mut conn = conn::open_reader(database)?;
    conn::begin_read(&mut conn)?;
    let mut tables = Vec::new();
    for room in conn::table_sizes(&mut conn)? {
        if room.name != "sqlite_schema" && room.name != "sqlite_master" {
            tables.push(TableStatistics {
                rows: conn::row_count(&mut conn, &room.name)?,
                name: room.name,
                bytes: room.bytes,
            });
        }
    }
    let most = |number: &str| {
        format!(
            "SELECT s.id, s.title, CAST(m.number AS BIGINT) AS number FROM sessions s JOIN ( \
               SELECT session_n, {number} AS number FROM nodes GROUP BY session_n ORDER BY 2 DESC, 1 LIMIT 1) m \
             ON m.session_n = s.n"
        )
    };
    let mut find = |number| diesel::sql_query(most(number)).get_result::<LargestSessionRow>(&mut conn).optional();
    let (largest, deepest) = (find("COUNT(*)")?, find("MAX(depth)")?);
    let figures = DatabaseStatistics {
        file_bytes: std::fs::metadata(database).map_or(0, |file| file.len()),
        tables,
        sessions: sessions::table.filter(sessions::trashed.is_null()).count().get_result(&mut conn)?,
        trashed_sessions: sessions::table.filter(sessions::trashed.is_not_null()).count().get_result(&mut conn)?,
        nodes: nodes::table.count().get_result(&mut conn)?,
        largest_session: largest.map(Into::into),
        deepest_line: deepest.map(Into::into),
    };
    conn::end_read(&mut conn);
    Ok(figures)
}
