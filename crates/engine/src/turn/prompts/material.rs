//! The material of a prompt: everything that is read for it, before the budget decides what is sent.

use clotho_compat::prompt::macros::MacroEngine;
use clotho_compat::prompt::preset::{
    self, GenerationType, HistoryMessage, PositionedText, Preset, PromptAssembly, PromptInput, PromptOverflow,
    PromptRenderer, SubstituteBudget,
};
use clotho_compat::prompt::{PromptTokenLimits, TokenMeasure, status};
use clotho_core::tree::Role;
use clotho_store::{StoreError, StoreReader};

use super::card;
use super::history::{HistoryExtent, PromptHistory};
use super::lore::{ActiveLorebooks, LorePromptEffects, LoreScanContext};
use super::macro_context::{GenerationTask, PromptPurpose};
use super::note;
use super::plan::PromptPlan;
use super::preset_selection::{PresetReason, PresetSelection};
use super::prompt_bounds::PromptBounds;
use super::recall::{self, RecallRequest};
use super::regex_scripts::PromptScripts;
use super::substitutes::{HistorySubstitutes, substitute_budget};
use super::summary_block::{BranchSummaries, SummaryBlock, SummaryRequest};
use crate::turn::snapshot::TurnSnapshot;

/// Everything that is read for one prompt.
pub(super) struct PromptMaterial<'m, 'a> {
    pub bounds: PromptBounds,
    pub limits: PromptTokenLimits,
    pub preset: Preset,
    pub preset_reason: PresetReason,
    /// The scripts, with the macros of the prompt.
    pub scripts: PromptScripts<'m, 'a>,
    pub history: PromptHistory,
    pub lore: LorePromptEffects,
    pub note: Option<PositionedText>,
    /// The state as text.
    pub status: String,
    pub plan: PromptPlan,
    /// The summaries of the branch; `None` without summaries.
    pub summaries: Option<BranchSummaries>,
    pub substitutes: SubstituteBudget,
}

impl<'m, 'a> PromptMaterial<'m, 'a> {
    /// Reads the material at a snapshot.
    ///
    /// The order counts: scripts run on the messages, lore scans the result, and macros see what earlier ones wrote.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub(super) fn gather(
        reader: &mut StoreReader<'_>,
        snapshot: &mut TurnSnapshot,
        bounds: PromptBounds,
        selection: PresetSelection,
        purpose: &PromptPurpose,
        mut plan: PromptPlan,
        macros: &'m mut MacroEngine<'a>,
    ) -> Result<Self, StoreError> {
        // The shares of the preset's prompt.
        let PresetSelection { mut preset, reason: preset_reason } = selection;
        let limits = bounds.token_limits(&preset);
        let summaries = BranchSummaries::for_snapshot(reader, snapshot, &bounds.measure)?;
        let substitutes = substitute_budget(snapshot, &bounds, &preset, summaries.as_ref(), limits.prompt());
        // The messages, after scripts.
        let books = ActiveLorebooks::read(reader, snapshot, &bounds.lorebook_cache)?;
        let requests = books.plugin_requests(&mut plan);
        let mut scripts = PromptScripts::read(reader, snapshot, &preset, macros)?;
        reader.check_wanted()?;
        let extent = HistoryExtent { tokens: limits.context, messages: books.scan_depth() };
        let mut history = PromptHistory::read(reader, snapshot, &bounds, extent, &mut scripts)?;
        history.name_speakers(&mut preset.settings.naming);
        if let GenerationTask::Continue { text, from } = &purpose.generation_task {
            let message = continued_message(snapshot, text);
            history.messages.push(scripts.apply_to_continued(reader, &snapshot.stored, *from, message)?);
        }
        // Lore looks at the messages and at the note. The note contains lore.
        let note = note::merged_note(snapshot.session(), &snapshot.cast);
        let scan = LoreScanContext {
            messages: &history.messages,
            extra_texts: &note::scannable_texts(&note, snapshot, scripts.macros),
            prompt_tokens: limits.prompt(),
            lore_limit: preset.extensions.shares.for_lore(limits.prompt(), substitutes.max_recall()),
            purpose,
            measure: &bounds.measure,
            recall_query: &bounds.recall,
            requests: &requests,
        };
        reader.check_wanted()?;
        let mut lore = books.activate(reader, snapshot, &scan, &mut scripts)?;
        scripts.macros.outlets = Some(std::mem::take(&mut lore.outlets));
        let note = note::placed_note(&note, snapshot, &lore.lore);
        let status = status::state_block(&snapshot.world, &snapshot.rules.rules);
        Ok(Self {
            bounds,
            limits,
            preset,
            preset_reason,
            scripts,
            history,
            lore,
            note,
            status,
            plan,
            summaries,
            substitutes,
        })
    }

    /// Makes candidates of the texts, in the order of the preset, and allocates the budget to them. The result says how
    /// much of the history is kept.
    ///
    /// # Errors
    /// Returns an error if the mandatory texts do not fit.
    pub(super) fn allocate(
        &mut self,
        snapshot: &TurnSnapshot,
        purpose: &PromptPurpose,
    ) -> Result<PromptAssembly, PromptOverflow> {
        let input = PromptInput {
            kind: preset_kind(purpose),
            state: &self.status,
            injected: &self.plan.inserts,
            truncation: self.history.truncation,
            default_budget: self.limits,
            prompt_tokens: self.limits.prompt(),
            history: &self.history.messages,
            filler: &self.bounds.filler_message,
            lore: &self.lore.lore,
            note: self.note.clone(),
            has_prefill: self.bounds.supports_prefill,
            // Documents are recalled beside a whole history, too. Summaries stand only for what was cut.
            reserve: self.substitutes.max_recall(),
            cut_reserve: self.substitutes.for_summaries(),
            ..card::card_input(&snapshot.cast)
        };
        let mut renderer = MacroTextFiller { macros: &mut *self.scripts.macros, measure: &self.bounds.measure };
        preset::assemble(&self.preset, &input, &mut renderer)
    }

    /// Gathers the texts that stand for the messages that were cut, within what the prompt has reserved for them.
    /// Summaries take their tokens first, recalled texts take what is left.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub(super) fn fill_reserve(
        &mut self,
        reader: &mut StoreReader<'_>,
        snapshot: &TurnSnapshot,
        assembled: &PromptAssembly,
    ) -> Result<HistorySubstitutes, StoreError> {
        let budget = self.substitutes.within(assembled.reserve);
        let kept = self.history.kept(assembled.history);
        let bounds = &self.bounds;
        let request = SummaryRequest {
            budget: budget.for_summaries(),
            prompt_tokens: self.limits.prompt(),
            first: kept.begin().map(|placed| placed.n),
            last_prompt: kept.last,
        };
        let summaries = match &self.summaries {
            Some(summaries) => summaries.block(reader, snapshot, &bounds.measure, &request)?,
            None => SummaryBlock::default(),
        };
        let request = RecallRequest {
            query: &bounds.recall,
            budget: budget.for_recall(summaries.tokens),
            measure: &bounds.measure,
            hide_tags: &bounds.hide_tags,
            nodes: kept.placed,
            lines: kept.lines,
            first: kept.first,
        };
        let recalled = recall::recall_block(reader, snapshot, &request, &mut self.scripts)?;
        Ok(HistorySubstitutes { summaries, recalled })
    }
}

/// The start of a reply that is to be continued, as the last message of its prompt.
fn continued_message(snapshot: &TurnSnapshot, text: &str) -> HistoryMessage {
    HistoryMessage {
        role: Role::Assistant,
        name: snapshot.cast.character.clone(),
        is_other: false,
        text: text.to_owned(),
    }
}

const fn preset_kind(purpose: &PromptPurpose) -> GenerationType {
    match purpose.generation_task {
        GenerationTask::Reply if purpose.number > 0 => GenerationType::Swipe,
        GenerationTask::Continue { .. } => GenerationType::Continue,
        GenerationTask::Impersonate => GenerationType::Impersonate,
        GenerationTask::Reply => GenerationType::Normal,
    }
}

/// Fills in macros and counts tokens for the assembly.
struct MacroTextFiller<'m, 'a> {
    macros: &'m mut MacroEngine<'a>,
    measure: &'m TokenMeasure,
}

impl PromptRenderer for MacroTextFiller<'_, '_> {
    fn fill(&mut self, text: &str) -> String {
        self.macros.fill(text)
    }

    fn fill_message(&mut self, text: &str, is_new: bool) -> String {
        if is_new { self.macros.fill(text) } else { self.macros.fill_without_keeping(text) }
    }

    fn fill_over(&mut self, text: &str, original: &str) -> String {
        // A macro runs only if the text names it.
        let is_named = text.to_ascii_lowercase().contains("original");
        let original = if is_named { self.macros.fill(original) } else { String::new() };
        self.macros.fill_over(text, &original)
    }

    fn count(&self, text: &str) -> usize {
        self.measure.message(text)
    }
}
