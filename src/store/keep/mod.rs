//! Keeping: what protects from loss, and what may go. Nothing here is on the way of a turn; whatever takes long is cut into
//! small writes, so that turns go on meanwhile.
//!
//! - `trash.rs`: what was deleted, brought back or given up; what was given up is cleared away piece by piece
//!
//! To add a kind of thing that can lie in the trash: its arm in `trash.rs`, a word in `http/wire/trash.rs`.

mod trash;

pub use trash::{Discarded, TRASH_KEPT_MS, Trashed};
