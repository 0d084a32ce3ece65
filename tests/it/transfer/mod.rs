//! Transfer of sessions from one store into another.
//!
//! - `round_trip`: what is imported equals what was exported
//! - `invalid_archives`: a table of files that are refused
//! - `command`, `export_command`: the commands for sessions, and for single branches
//! - `memory`, `concurrency`, `kill`: memory use of a large session, concurrent requests, and crashes

mod command;
mod concurrency;
mod export_command;
mod invalid_archives;
pub mod kill;
pub mod memory;
mod round_trip;

use std::fs::File;
use std::io::Write as _;

use clotho_core::clock::Time;
use clotho_core::ids::SessionId;
use clotho_engine::transfer::{self, ImportError};
use clotho_store::DatabaseSnapshot;
use clotho_store::archive::ArchiveLimits;

use crate::support::test_store::TestStore;

/// Returns the session archive of a session.
pub fn export_session(store: &TestStore, session: SessionId) -> Vec<u8> {
    let mut snapshot = DatabaseSnapshot::open(&store.database_path()).unwrap();
    let held = snapshot.session(None, session).unwrap().unwrap();
    transfer::export(&mut snapshot, &held, Vec::new(), Time(0), |_| {}).unwrap()
}

/// Imports a file.
pub fn import(store: &TestStore, file: &[u8]) -> Result<SessionId, ImportError> {
    import_with_limits(store, file, ArchiveLimits::for_archive(64 << 20))
}

fn import_with_limits(store: &TestStore, bytes: &[u8], limits: ArchiveLimits) -> Result<SessionId, ImportError> {
    import_until(store, bytes, limits, |_| true)
}

fn import_until(
    store: &TestStore,
    bytes: &[u8],
    limits: ArchiveLimits,
    told: impl FnMut(transfer::ImportProgress) -> bool + Send,
) -> Result<SessionId, ImportError> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    import_file(store, &mut file, limits, told)
}

fn import_file(
    store: &TestStore,
    file: &mut File,
    limits: ArchiveLimits,
    told: impl FnMut(transfer::ImportProgress) -> bool + Send,
) -> Result<SessionId, ImportError> {
    let arrival = transfer::SessionImportOptions { owner: store.owner, job: None, title: None, is_trusted: true };
    store.block_on(transfer::import(store.store(), file, arrival, &store.ids, store.now(), limits, told))
}

/// Returns the number of rows in each table that a session uses.
pub fn row_counts(store: &TestStore) -> Vec<i64> {
    let tables = [
        "sessions",
        "nodes",
        "texts",
        "deltas",
        "traces",
        "keyframes",
        "segments",
        "operations",
        "characters",
        "personas",
        "lorebooks",
        "presets",
    ];
    tables.iter().map(|table| store.query_count(&format!("SELECT count(*) AS n FROM {table}"))).collect()
}
