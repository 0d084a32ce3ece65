//! Keeping: what protects from loss, and what may go. Nothing here is on the way of a turn; whatever takes long is cut into
//! small writes, so that turns go on meanwhile.
//!
//! - `doctor/`: whether every rule is kept, and putting right what is derived
//! - `backups.rs`: copies of the whole database, made, checked, put back
//! - `gc.rs`: what may go at any time or was kept for long enough; `session_nodes.rs`: a session's nodes in memory
//! - `statistics.rs`: how much there is
//! - `trash.rs`: what was deleted, brought back or given up; what was given up is cleared away piece by piece
//!
//! To add a kind of thing that can lie in the trash: its arm in `trash.rs`, a word in `http/wire/trash.rs`.

pub mod backups;
pub mod doctor;
mod gc;
mod session_nodes;
pub mod statistics;
mod trash;

pub use gc::GcReport;
pub use trash::{TRASH_RETENTION_MS, TrashEntry, TrashEntryKind};
