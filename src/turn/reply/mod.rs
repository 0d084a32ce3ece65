//! One reply, from its placeholder to commit 2. `runner.rs` orders it and does what the machine says; `voices.rs` asks one model after
//! another until one answers, `keeper.rs` saves partial texts and ends what nobody holds, `requests.rs` knows what running replies were
//! asked with, `ends.rs` has commit 2.
//!
//! To add a step: its action in [`crate::turn::machine`], what it does in `runner.rs`, its facts in the trace.

pub(super) mod ends;
pub(super) mod keeper;
pub(super) mod requests;
pub(super) mod runner;
pub(super) mod voices;
