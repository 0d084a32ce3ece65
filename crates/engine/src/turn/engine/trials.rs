//! Trials: what a prompt, lore or a rule would do. Nothing is written, except when a replay is accepted.

use std::sync::Arc;

use clotho_core::ids::{SessionId, UserId};
use clotho_store::ArrangeResult;

use crate::turn::error::TurnError;
use crate::turn::hook_trial::replay::{ReplayOutcome, ReplaySpec};
use crate::turn::hook_trial::{self, HookTrialOutcome, HookTrialSpec};
use crate::turn::lore_test::{self, LoreTestOutcome};
use crate::turn::preview;
use crate::turn::prompts::trace::RebuiltPrompt;
use crate::turn::requests::{LoreTestSpec, PreviewSpec};
use crate::turn::rules::RuleServices;
use crate::turn::rules::metrics::HookMetric;
use crate::turn::services::TurnServices;
use crate::turn::storage::TreeStorage;

/// Shows what a prompt would be, and which lore would fire.
#[derive(Clone)]
pub struct PromptTrials {
    pub(super) services: Arc<TurnServices>,
}

impl PromptTrials {
    /// Builds the prompt that sending would use. Writes nothing and runs no `on_input`.
    ///
    /// # Errors
    /// Returns an error if the node does not exist or cannot be answered, no model is available, or the database fails.
    pub async fn preview(
        &self,
        caller: UserId,
        session: SessionId,
        asked: PreviewSpec,
    ) -> Result<RebuiltPrompt, TurnError> {
        preview::preview(&self.services, caller, session, asked).await
    }

    /// Tests which lorebook entries would fire, and why. Writes nothing.
    ///
    /// # Errors
    /// Returns an error if something that is named does not exist, or the database fails.
    pub async fn test_lore(&self, caller: UserId, asked: LoreTestSpec) -> Result<LoreTestOutcome, TurnError> {
        lore_test::test_lore(&self.services, caller, asked).await
    }
}

/// Tries hooks and replays rules.
#[derive(Clone)]
pub struct RuleTrials {
    pub(super) storage: Arc<TreeStorage>,
    pub(super) rules: Arc<RuleServices>,
}

impl RuleTrials {
    /// Returns what the hooks of each plugin have cost since the server started, by plugin and hook.
    pub fn hook_metrics(&self) -> Vec<((String, &'static str), HookMetric)> {
        self.rules.hooks.metrics.all()
    }

    /// Tries a hook of a plugin on a message, optionally with unsaved code. Writes nothing.
    ///
    /// # Errors
    /// Returns an error if the session or message does not exist, or the database fails.
    pub async fn try_hook(&self, caller: UserId, trial: HookTrialSpec) -> Result<HookTrialOutcome, TurnError> {
        hook_trial::try_hook(&self.storage, &self.rules, caller, trial).await
    }

    /// Replays the rules of a plugin along a branch, on a copy of the state. Writes nothing.
    ///
    /// # Errors
    /// Returns an error if the session or a message does not exist, or the database fails.
    pub async fn replay(&self, caller: UserId, asked: ReplaySpec) -> Result<ReplayOutcome, TurnError> {
        hook_trial::replay::replay(&self.storage, &self.rules, caller, asked).await
    }

    /// Replays the rules of a plugin along a branch and writes the new deltas of its messages, in one step. With the
    /// token `shown` of an earlier replay, only if that one showed the same.
    ///
    /// # Errors
    /// Returns an error if the session or a message does not exist, the token is of another replay, other rules apply
    /// on the branch, a rule fails, the session changed meanwhile, or the database fails.
    pub async fn accept(
        &self,
        caller: UserId,
        asked: ReplaySpec,
        shown: Option<&str>,
    ) -> Result<(ReplayOutcome, ArrangeResult), TurnError> {
        hook_trial::replay::accept_replay(&self.storage, &self.rules, caller, asked, shown).await
    }
}
