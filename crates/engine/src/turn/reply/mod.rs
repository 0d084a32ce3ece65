//! One reply, from its placeholder to commit 2. `runner.rs` has the order of the steps and executes the machine's
//! actions. `fallback.rs` asks one model after another until one answers. `autosave.rs` saves partial texts and ends
//! orphaned replies. `requests.rs` keeps the requests of running replies, and `endings.rs` has commit 2.
//!
//! To add a step, add its action in [`crate::turn::machine`], execute it in `runner.rs`, and put its facts in the
//! trace.

pub(super) mod autosave;
pub(super) mod endings;
pub(super) mod fallback;
pub(super) mod runner;
