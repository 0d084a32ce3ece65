//! The rules of a story as they run: which are in force where (`force.rs`), their hooks in order (`hooks.rs`), the rules of their
//! manifests (`scheduled.rs`), who gets a command (`commands.rs`), who is switched off (`strikes.rs`), what all of it costs
//! (`meters.rs`); `proposed.rs` makes the summaries ready that plugins propose.
//!
//! To add a hook: see [`crate::plugin`], then call it here, and where the journey wants it.

pub(super) mod commands;
pub(super) mod force;
pub(super) mod hooks;
pub(super) mod meters;
pub(super) mod proposed;
pub(super) mod scheduled;
pub(super) mod strikes;
