//! The texts that stand for the messages that were cut: summaries and recalled texts.
//!
//! They are gathered after the history is cut, because they depend on where it begins. The prompt has reserved tokens
//! for them. Summaries take theirs first, recalled texts take what is left.

use clotho_compat::prompt::preset::{Preset, SubstituteBudget};

use super::prompt_bounds::PromptBounds;
use super::recall::{self, RecallBlock};
use super::summary_block::{BranchSummaries, SummaryBlock};
use crate::turn::snapshot::TurnSnapshot;

/// The summaries and recalled texts of one prompt.
#[derive(Debug, Clone, Default)]
pub(super) struct HistorySubstitutes {
    pub summaries: SummaryBlock,
    pub recalled: RecallBlock,
}

impl HistorySubstitutes {
    /// Returns their tokens.
    pub(super) const fn tokens(&self) -> usize {
        self.summaries.tokens + self.recalled.tokens
    }
}

/// Returns the tokens that a prompt of `prompt` tokens may give to its substitutes.
pub(super) fn substitute_budget(
    snapshot: &TurnSnapshot,
    bounds: &PromptBounds,
    preset: &Preset,
    summaries: Option<&BranchSummaries>,
    prompt: usize,
) -> SubstituteBudget {
    let recall =
        recall::recall_budget(snapshot, &bounds.recall, prompt).min(preset.extensions.shares.for_recalled(prompt));
    let summaries = summaries.map_or(0, |summaries| summaries.summary_budget(bounds.summaries.share, prompt));
    SubstituteBudget::new(summaries, recall)
}
