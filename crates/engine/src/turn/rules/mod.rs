//! The rules of a session.
//!
//! - `rules_in_force.rs`: which rules apply where.
//! - `hooks.rs`: runs the hooks in order. `manifest_rules.rs`: runs the rules of manifests.
//! - `commands.rs`: which plugin gets a slash command.
//! - `violations.rs`: which plugins are turned off. `metrics.rs`: what hooks cost.
//! - `summary_proposals.rs`: prepares summaries that plugins propose.
//!
//! To add a hook, see [`clotho_plugin`], then call it here and at its step of the turn.

pub(super) mod commands;
pub(super) mod hooks;
pub(super) mod manifest_rules;
pub(super) mod metrics;
pub(super) mod rules_in_force;
mod services;
pub(super) mod summary_proposals;
pub(super) mod violations;

pub(crate) use services::RuleServices;
