//! What several tests share, one file each: the program itself, its clients, stand-ins for external systems, and
//! builders.

pub mod app;
pub mod archive_file;
pub mod client;
pub mod data_root;
pub mod log_capture;
pub mod mock_model;
pub mod schema;
pub mod server;
pub mod session_model;
pub mod socket;
pub mod sqlite_steps;
pub mod statement_spy;
pub mod test_session;
pub mod test_store;
pub mod wait;

use std::path::Path;

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};

/// Opens a second connection to a database that a server may be writing. It waits while the database is locked.
pub fn open_second_connection(database: impl AsRef<Path>) -> SqliteConnection {
    let mut conn = SqliteConnection::establish(database.as_ref().to_str().unwrap()).unwrap();
    conn.batch_execute("PRAGMA busy_timeout = 60000").unwrap();
    conn
}

/// Returns the anonymous memory (`RssAnon`) of a process in kilobytes. Pages of mapped files do not count, as the
/// system can reclaim them at any time. Returns 0 if the process is gone.
pub fn anonymous_memory_kb(process: u32) -> u64 {
    let now = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let own = now.lines().find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB")?.parse().ok());
    own.unwrap_or(0)
}
