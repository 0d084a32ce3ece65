//! The texts that stand for the messages that were cut: summaries and recalled texts.
//!
//! They are gathered after the history is cut, because they depend on where it begins. The prompt has reserved tokens
//! for them. Summaries take theirs first, recalled texts take what is left.

use clotho_compat::prompt::preset::{Preset, SubstituteBudget};
use clotho_store::{StoreError, StoreReader};

use super::history::KeptHistory;
use super::prompt_bounds::PromptBounds;
use super::recall::{self, RecallBlock};
use super::regex_scripts::PromptScripts;
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
    scene: &TurnSnapshot,
    bounds: &PromptBounds,
    preset: &Preset,
    summaries: Option<&BranchSummaries>,
    prompt: usize,
) -> SubstituteBudget {
    let recall = recall::recall_budget(scene, &bounds.recall, prompt).min(preset.own.shares.for_recalled(prompt));
    let summaries = summaries.map_or(0, |known| known.summary_budget(bounds.summaries.share, prompt));
    SubstituteBudget::new(summaries, recall)
}

/// Gathers the substitutes for the messages that were cut.
///
/// # Errors
/// Returns an error if the database fails.
pub(super) fn gather_substitutes(
    reader: &mut StoreReader<'_>,
    scene: &TurnSnapshot,
    bounds: &PromptBounds,
    (known, prompt): (Option<&BranchSummaries>, usize),
    (budget, kept): (SubstituteBudget, KeptHistory<'_>),
    scripted: &mut PromptScripts<'_, '_>,
) -> Result<HistorySubstitutes, StoreError> {
    let begin = kept.begin().map(|placed| placed.n);
    let for_summaries = (budget.for_summaries(), prompt);
    let summaries = match known {
        Some(known) => known.told(reader, scene, &bounds.measure, for_summaries, (begin, kept.last))?,
        None => SummaryBlock::default(),
    };
    let for_recall = (budget.for_recall(summaries.tokens), &bounds.measure);
    let looked = (kept.placed, kept.lines, kept.first);
    let recalled =
        recall::recall_block(reader, scene, &bounds.recall, for_recall, looked, &bounds.hide_tags, scripted)?;
    Ok(HistorySubstitutes { summaries, recalled })
}
