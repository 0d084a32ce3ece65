//! What several tests need: the program itself, clients of it, stand-ins for the world outside, and builders. One file for
//! each.

pub mod app;
pub mod client;
pub mod data_root;
pub mod file;
pub mod logs;
pub mod mock_model;
pub mod model;
pub mod schema;
pub mod server;
pub mod socket;
pub mod spy;
pub mod steps;
pub mod story;
pub mod test_store;
pub mod wait;

use std::path::Path;

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};

/// A second hand on a database whose server may be writing at this moment: it waits for its turn.
pub fn sql_beside(database: impl AsRef<Path>) -> SqliteConnection {
    let mut conn = SqliteConnection::establish(database.as_ref().to_str().unwrap()).unwrap();
    conn.batch_execute("PRAGMA busy_timeout = 60000").unwrap();
    conn
}

/// The memory of its own that a process has, in kilobytes, as the system counts it: pages of mapped files, which it takes back
/// when it likes, do not count. 0 when the process is gone.
pub fn own_kilobytes(process: u32) -> u64 {
    let now = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let own = now.lines().find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB")?.parse().ok());
    own.unwrap_or(0)
}
