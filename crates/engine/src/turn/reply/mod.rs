//! One reply, from its placeholder to commit 2. `runner.rs` orders it and does what the machine says; `fallback.rs` asks one model after
//! another until one answers, `autosave.rs` saves partial texts and ends what nobody holds, `requests.rs` knows what running replies were
//! asked with, `endings.rs` has commit 2.
//!
//! To add a step: its action in [`crate::turn::machine`], what it does in `runner.rs`, its facts in the trace.

pub(super) mod autosave;
pub(super) mod endings;
pub(super) mod fallback;
pub(super) mod requests;
pub(super) mod runner;
