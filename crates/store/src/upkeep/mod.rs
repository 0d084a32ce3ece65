//! Maintenance: protection from data loss, and deletion of what is no longer needed. None of it runs during a
//! turn. Long tasks are split into small writes, so that turns can go on meanwhile.
//!
//! - `doctor/`: checks every rule and repairs derived data
//! - `backups.rs`: makes, checks and restores copies of the whole database
//! - `gc.rs`: garbage collection of data that is unused or has expired; `session_nodes.rs`: the nodes of a
//!   session in memory
//! - `statistics.rs`: counts and sizes
//! - `trash.rs`: deletes, restores and gives up items; what was given up is cleared in pieces
//!
//! To add a kind of item to the trash: its arm in `trash.rs`, a word in `http/wire/trash.rs`.

pub mod backups;
pub mod doctor;
mod gc;
mod session_nodes;
pub mod statistics;
mod trash;

pub use gc::GcReport;
pub use trash::{TRASH_RETENTION_MS, TrashEntry, TrashEntryKind};
