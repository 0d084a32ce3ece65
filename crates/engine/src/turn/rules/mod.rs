//! The rules of a story as they run: which are in force where (`rules_in_force.rs`), their hooks in order (`hooks.rs`), the rules of their
//! manifests (`manifest_rules.rs`), who gets a command (`commands.rs`), who is switched off (`violations.rs`), what all of it costs
//! (`metrics.rs`); `summary_proposals.rs` makes the summaries ready that plugins propose.
//!
//! To add a hook: see [`clotho_plugin`], then call it here, and where the journey wants it.

pub(super) mod commands;
pub(super) mod hooks;
pub(super) mod manifest_rules;
pub(super) mod metrics;
pub(super) mod rules_in_force;
pub(super) mod summary_proposals;
pub(super) mod violations;
