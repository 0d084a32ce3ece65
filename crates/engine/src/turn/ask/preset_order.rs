//! The prompt in the order of a preset, built-in or chosen: reads the input for [`clotho_compat::prompt::preset`].

use clotho_compat::prompt::macros::MacroEngine;
use clotho_compat::prompt::preset::{
    self, GenerationType, HistoryMessage, HistoryTruncation, PositionedText as Text, Preset, PromptAssembly,
    PromptInput, PromptLayout, PromptLore, PromptOverflow, PromptPosition, PromptRenderer, SpeakerNaming, TraceLayout,
    TracePiece,
};
use clotho_compat::prompt::{self, OutgoingMessage, PromptCast, PromptLine, TokenMeasure};
use clotho_core::tree::Role;
use clotho_store::{PathFilter, StoreError, StoreReader, StoredNode};

use super::lore::{ActiveLorebooks, LoreScanContext};
use super::macro_context::{GenerationTask, PromptPurpose};
use super::note;
use super::plan::PromptPlan;
use super::preset_selection::{PresetReason, PresetSelection, select_preset};
use super::prompt_bounds::{self, LastPrompt, PAGE, PromptBounds};
use super::recall::{self, RecallBlock};
use super::regex_scripts::PromptScripts;
use super::summary_block::{BranchSummaries, SummaryBlock};
use super::trace::{self, BuiltPrompt, PromptBlueprint, PromptMacroResult};
use crate::turn::snapshot::TurnSnapshot;

/// Builds the prompt at a node, in the order of its preset.
///
/// # Errors
/// Returns an error if the database fails.
pub(in crate::turn) fn build_prompt(
    reader: &mut StoreReader<'_>,
    scene: &mut TurnSnapshot,
    bounds: PromptBounds,
    (purpose, mut planned): (&PromptPurpose, PromptPlan),
    macros: &mut MacroEngine<'_>,
) -> Result<BuiltPrompt, StoreError> {
    // What the prompt may take, and what takes part in it.
    let PresetSelection { mut preset, reason: by } = select_preset(reader, scene.session(), &bounds.names)?;
    let (context, reply, tokens) = all_token_limits(&preset, &bounds);
    let for_recall = recall::recall_budget(scene, &bounds.recall, tokens).min(preset.own.shares.for_recalled(tokens));
    let known = BranchSummaries::for_snapshot(reader, scene, &bounds.measure)?;
    let for_summaries = known.as_ref().map_or(0, |known| known.summary_budget(bounds.summaries.share, tokens));
    let books = ActiveLorebooks::read(reader, scene, &bounds.lorebook_cache)?;
    let wishes = books.plugin_requests(&mut planned);
    let mut scripted = PromptScripts::read(reader, scene, &preset, macros)?;
    let least = (context, books.scan_depth());
    let mut history = read_history(reader, scene, &bounds, least, &mut scripted)?;
    history.name_speakers(&mut preset.settings.naming);
    if let GenerationTask::Continue(text) = &purpose.generation_task {
        history.messages.push(scripted.apply_to_continued(continued_message(scene, text)));
    }
    // Lore looks at the history and at the note.
    let own = note::of(scene.session(), &scene.cast);
    let open = note::open(&own, scene, scripted.macros);
    let scan = LoreScanContext {
        said: &history.messages,
        open: &open,
        prompt_tokens: tokens,
        lore_limit: preset.own.shares.for_lore(tokens, for_recall),
        purpose,
        measure: &bounds.measure,
        recall_query: &bounds.recall,
        requests: &wishes,
    };
    let called = books.activate(reader, scene, &scan, &mut scripted)?;
    scripted.macros.outlets = Some(called.outlets);
    // The preset puts everything in order and says how much of the history is kept.
    let status = prompt::status::block(&scene.world, &scene.rules.rules);
    let given = PromptInput {
        kind: preset_kind(purpose),
        world: &status,
        injected: &planned.inserts,
        cut: history.cut,
        default_budget: (context, reply),
        prompt_tokens: tokens,
        history: &history.messages,
        filler: &bounds.filler_message,
        lore: &called.lore,
        note: note::placed_note(&own, scene, &called.lore),
        has_prefill: bounds.supports_prefill,
        aside: for_summaries + for_recall,
        ..preset_input(&scene.cast)
    };
    let mut words = MacroTextFiller { macros: &mut *scripted.macros, measure: &bounds.measure };
    let assembled = match preset::assemble(&preset, &given, &mut words) {
        Ok(assembled) => assembled,
        Err(overflow) => {
            let (scripts, lore, plan) = (scripted.told(), called.told, planned);
            return Ok(too_large(overflow, by, BuiltPrompt { scripts, lore, plan, ..BuiltPrompt::default() }));
        }
    };
    let room = AsideRoom { summaries: for_summaries, recall: for_recall, all: assembled.aside, prompt: tokens };
    let (summed, recalled) =
        aside_blocks(reader, scene, &bounds, known.as_ref(), room, &history.kept(assembled.kept), &mut scripted)?;
    let scripts = scripted.told();
    let mut made =
        built_prompt(&preset, by, assembled, (&history.lines, &history.placed), &scene.cast, (&summed, &recalled));
    made.macro_result.operations = called.operations.into_iter().chain(summed.operation).collect();
    (made.summary_trace, made.recalled) = (summed.told, recalled.told);
    (made.samplers, made.plan) = (preset.samplers, planned);
    // What a server is told does not change with the preset: one that loads a model for it would load it anew.
    let PromptBounds { context_tokens, hide_tags, measure, .. } = bounds;
    let (lore, values_prompt) = (called.told, called.values_prompt);
    Ok(BuiltPrompt { reply, context_tokens, hide_tags, scripts, lore, values_prompt, measure, ..made })
}

/// The start of a reply that is to be continued, as the last message of its prompt.
fn continued_message(scene: &TurnSnapshot, text: &str) -> HistoryMessage {
    HistoryMessage { role: Role::Assistant, name: scene.cast.character.clone(), is_other: false, text: text.to_owned() }
}

/// Tokens for what stands for messages that do not fit: at most so many of each kind, and of both together.
struct AsideRoom {
    summaries: usize,
    recall: usize,
    all: usize,
    /// The tokens of the whole prompt.
    prompt: usize,
}

/// The summaries and the recalled texts of a prompt. Both look at which messages were kept.
fn aside_blocks(
    reader: &mut StoreReader<'_>,
    scene: &TurnSnapshot,
    bounds: &PromptBounds,
    known: Option<&BranchSummaries>,
    room: AsideRoom,
    kept: &KeptHistory<'_>,
    scripted: &mut PromptScripts<'_, '_>,
) -> Result<(SummaryBlock, RecallBlock), StoreError> {
    let begin = kept.placed.get(kept.first).map(|placed| placed.n);
    let for_summaries = (room.summaries.min(room.all), room.prompt);
    let summed = match known {
        Some(known) => known.told(reader, scene, &bounds.measure, for_summaries, (begin, kept.last))?,
        None => SummaryBlock::default(),
    };
    let for_recall = room.recall.min(room.all.saturating_sub(summed.tokens));
    let looked = (kept.placed, kept.lines, kept.first);
    let room = (for_recall, &bounds.measure);
    let recalled = recall::recall_block(reader, scene, &bounds.recall, room, looked, &bounds.hide_tags, scripted)?;
    Ok((summed, recalled))
}

/// The messages that a prompt may show, oldest first.
struct PromptHistory {
    /// The nodes, and their lines before scripts changed them.
    placed: Vec<StoredNode>,
    lines: Vec<PromptLine>,
    /// The lines after scripts changed them.
    messages: Vec<HistoryMessage>,
    /// Where the history is cut, so that it begins as the last prompt did as long as that fits.
    cut: HistoryTruncation,
    last: Option<LastPrompt>,
}

/// Which of these messages a prompt shows: those from the place `first` on.
struct KeptHistory<'h> {
    placed: &'h [StoredNode],
    lines: &'h [PromptLine],
    first: usize,
    last: Option<&'h LastPrompt>,
}

impl PromptHistory {
    /// Decides whether speakers are named where the preset leaves that open.
    fn name_speakers(&self, speakers: &mut SpeakerNaming) {
        if *speakers == SpeakerNaming::AsNeeded {
            *speakers = naming(&self.lines);
        }
    }

    /// The newest `count` messages.
    fn kept(&self, count: usize) -> KeptHistory<'_> {
        let first = self.lines.len().saturating_sub(count);
        KeptHistory { placed: &self.placed, lines: &self.lines, first, last: self.last.as_ref() }
    }
}

/// Reads the newest messages: more tokens than the context, and at least the count that lore looks at.
fn read_history(
    reader: &mut StoreReader<'_>,
    scene: &mut TurnSnapshot,
    bounds: &PromptBounds,
    least: (usize, usize),
    scripted: &mut PromptScripts<'_, '_>,
) -> Result<PromptHistory, StoreError> {
    let newest = newest_messages(reader, scene, bounds, least, scripted)?;
    let (newest_first, mut messages) = (newest.stored, newest.scripted);
    messages.reverse();
    let last = prompt_bounds::last(reader, newest_first.iter().map(|(placed, _)| placed))?;
    let place = |first: i64| newest_first.iter().rev().position(|(placed, _)| placed.n == first);
    let cut = HistoryTruncation::Steps(last.as_ref().and_then(|last| place(last.first)));
    let (placed, lines): (Vec<StoredNode>, Vec<PromptLine>) = newest_first.into_iter().rev().unzip();
    Ok(PromptHistory { placed, lines, messages, cut, last })
}

/// Returns a prompt that does not fit, with the blueprint of what was left out.
fn too_large(overflow: PromptOverflow, by: PresetReason, made: BuiltPrompt) -> BuiltPrompt {
    let order = Some(PromptBlueprint { left: overflow.left, preset_reason: by, ..PromptBlueprint::default() });
    BuiltPrompt { blueprint: order, too_large: Some(overflow.too_large), ..made }
}

const fn preset_kind(purpose: &PromptPurpose) -> GenerationType {
    match purpose.generation_task {
        GenerationTask::Reply if purpose.number > 0 => GenerationType::Swipe,
        GenerationTask::Continue(_) => GenerationType::Continue,
        GenerationTask::Impersonate => GenerationType::Impersonate,
        GenerationTask::Reply => GenerationType::Normal,
    }
}

/// Builds the prompt from the assembly, with what the trace needs.
fn built_prompt(
    preset: &Preset,
    by: PresetReason,
    assembled: PromptAssembly,
    (lines, placed): (&[PromptLine], &[StoredNode]),
    cast: &PromptCast,
    (summed, recalled): (&SummaryBlock, &RecallBlock),
) -> BuiltPrompt {
    let first = lines.len().saturating_sub(assembled.kept);
    let names = cast.names();
    let named = |line: &PromptLine| PromptLine { text: names.fill(&line.text), ..line.clone() };
    let went: Vec<PromptLine> = lines.iter().skip(first).map(named).collect();
    let is_named = preset.settings.naming == SpeakerNaming::Before;
    let shape = TraceLayout { is_named, is_joined: preset.settings.layout == PromptLayout::Turns };
    let mut pieces = preset::to_pieces(&assembled.messages_with_prefill(), &went, first, shape);
    summed.join(&mut pieces);
    recalled.join(&mut pieces, went.len());
    let messages = preset::rebuild(&pieces, &went, shape);
    BuiltPrompt {
        stable_prefix: stable_prefix(&pieces, &went, shape, &messages),
        messages,
        history: placed.iter().skip(first).map(|placed| placed.n).collect(),
        cut: first.checked_sub(1).and_then(|at| placed.get(at)).map(|placed| placed.node.id),
        tokens: assembled.tokens + summed.tokens + recalled.tokens,
        macro_result: PromptMacroResult { names: Some(names), ..PromptMacroResult::default() },
        blueprint: Some(PromptBlueprint { pieces, shape, left: assembled.left, preset_reason: by }),
        ..BuiltPrompt::default()
    }
}

/// Decides whether texts start with names: if two users or two characters speak on the branch (`domain.md` 2.4).
fn naming(lines: &[PromptLine]) -> SpeakerNaming {
    let has_several = [Role::User, Role::Assistant].into_iter().any(|role| {
        let said = lines.iter().filter(|line| line.role == role && !line.text.trim().is_empty());
        let mut names = said.filter_map(|line| line.name.as_deref());
        names.next().is_some_and(|first| names.any(|name| name != first))
    });
    if has_several { SpeakerNaming::Before } else { SpeakerNaming::Never }
}

/// Returns the token budget of a prompt, and the messages before it, oldest first, as far as lore scans.
///
/// # Errors
/// Returns an error if the database fails.
pub(in crate::turn) fn messages_before(
    reader: &mut StoreReader<'_>,
    scene: &mut TurnSnapshot,
    bounds: &PromptBounds,
    least: usize,
    scripted: &mut PromptScripts<'_, '_>,
) -> Result<(usize, Vec<HistoryMessage>), StoreError> {
    let PresetSelection { preset, .. } = select_preset(reader, scene.session(), &bounds.names)?;
    let (context, reply) = token_limits(&preset, bounds);
    let NewestMessages { scripted: said, .. } = newest_messages(reader, scene, bounds, (0, least), scripted)?;
    Ok((context.saturating_sub(reply), said.into_iter().rev().collect()))
}

/// Returns how many of the first messages the next prompt will probably share. They end before the first block inside
/// the history, because such blocks move with it, or else before the last line.
fn stable_prefix(pieces: &[TracePiece], lines: &[PromptLine], shape: TraceLayout, sent: &[OutgoingMessage]) -> usize {
    let moving = pieces.iter().filter(|piece| piece.at > 0 && !piece.replaces_line).map(|piece| piece.at).min();
    let last = lines.len().saturating_sub(1);
    let edge = moving.unwrap_or(last).min(last);
    let stays = |piece: &&TracePiece| piece.at < edge || (piece.at == 0 && !piece.replaces_line);
    let before: Vec<TracePiece> = pieces.iter().filter(stays).cloned().collect();
    let stays = preset::rebuild(&before, lines.get(..edge).unwrap_or_default(), shape);
    stays.iter().zip(sent).take_while(|(stays, sent)| stays == sent).count()
}

/// Like [`token_limits`], with the tokens of the prompt as third value.
fn all_token_limits(preset: &Preset, bounds: &PromptBounds) -> (usize, usize, usize) {
    let (context, reply) = token_limits(preset, bounds);
    (context, reply, context.saturating_sub(reply))
}

/// Returns the tokens of the context and of the reply: what the preset wants, within what the model has.
fn token_limits(preset: &Preset, bounds: &PromptBounds) -> (usize, usize) {
    let context = bounds.budget.saturating_add(bounds.reply);
    let context = preset.settings.context.map_or(context, |wanted| wanted.min(context));
    let reply = preset.settings.reply.filter(|_| !bounds.is_reply_length_set).unwrap_or(bounds.reply);
    (context, reply.min(context / 2))
}

/// Messages, newest first.
#[derive(Default)]
struct NewestMessages {
    /// The nodes with their lines.
    stored: Vec<(StoredNode, PromptLine)>,
    /// The same messages after regex scripts.
    scripted: Vec<HistoryMessage>,
}

/// Reads the newest messages until they exceed `context` tokens and there are at least `least` of them.
fn newest_messages(
    reader: &mut StoreReader<'_>,
    scene: &mut TurnSnapshot,
    bounds: &PromptBounds,
    (context, least): (usize, usize),
    scripted: &mut PromptScripts<'_, '_>,
) -> Result<NewestMessages, StoreError> {
    let mut newest = NewestMessages::default();
    let mut tokens = 0_usize;
    let mut page = std::mem::take(&mut scene.page);
    loop {
        let before = page.next;
        for placed in page.nodes.into_iter().rev().filter(|placed| placed.node.is_in_prompt()) {
            let line = trace::line(&placed.node, &bounds.hide_tags);
            let said = preset_message(&line, &scene.cast);
            let said = scripted.said(reader, &scene.stored, &placed.node, said, newest.scripted.len())?;
            tokens = tokens.saturating_add(bounds.measure.message(&said.text));
            newest.scripted.push(said);
            newest.stored.push((placed, line));
        }
        if before.is_none() || (tokens > context && newest.stored.len() >= least) {
            return Ok(newest);
        }
        page = reader.page(&scene.stored, scene.at.node.id, before, PAGE, PathFilter::Enabled)?;
    }
}

fn preset_message(line: &PromptLine, cast: &PromptCast) -> HistoryMessage {
    let own = if line.role == Role::Assistant { &cast.character } else { &cast.user };
    let name = line.name.clone().unwrap_or_else(|| own.clone());
    HistoryMessage {
        role: line.role,
        is_other: line.role != Role::System && name != *own,
        name,
        text: line.text.clone(),
    }
}

/// Returns the depth prompt of the card, if it has one.
fn card_depth_text(cast: &PromptCast) -> Option<Text> {
    let (depth, role) = cast.depth_prompt_position.unwrap_or(prompt::DEFAULT_DEPTH);
    let text = cast.depth_prompt.clone();
    (!text.trim().is_empty()).then_some(Text { text, place: PromptPosition::Depth(depth), role })
}

fn preset_input(cast: &PromptCast) -> PromptInput<'_> {
    const NONE: &PromptLore = &PromptLore::NONE;
    PromptInput {
        kind: GenerationType::Normal,
        user: &cast.user,
        character: &cast.character,
        description: &cast.description,
        personality: &cast.personality,
        scenario: &cast.scenario,
        examples: &cast.examples,
        card_main: &cast.system,
        card_post_history: &cast.post_history,
        card_depth: card_depth_text(cast),
        persona: Text { text: cast.persona.clone(), place: PromptPosition::Prompt, role: Role::System },
        note: None,
        lore: NONE,
        history: &[],
        world: "",
        injected: &[],
        filler: "",
        cut: HistoryTruncation::Exact,
        strips_examples: false,
        pins_examples: false,
        has_prefill: false,
        aside: 0,
        default_budget: (0, 0),
        prompt_tokens: 0,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(at: usize, is_over: bool, text: &str) -> TracePiece {
        let sent = OutgoingMessage { role: Role::System, name: None, text: text.to_owned() };
        TracePiece { slot: String::new(), at, replaces_line: is_over, sent }
    }

    /// `domain.md` 6.3: the prefix for the provider's cache ends before the first block that moves with the history.
    #[test]
    fn prompt_stable_prefix_ends_before_moving_blocks() {
        let line = |text: &str| PromptLine { role: Role::User, name: None, text: text.to_owned() };
        let lines = ["one", "two", "three", "four"].map(line);
        let check = |pieces: &[TracePiece], expected: usize| {
            let shape = TraceLayout::default();
            let sent = preset::rebuild(pieces, &lines, shape);
            assert_eq!(stable_prefix(pieces, &lines, shape, &sent), expected, "{sent:?}");
        };
        check(&[piece(0, false, "card")], 4);
        check(&[piece(0, false, "card"), piece(4, false, "last word")], 4);
        check(&[piece(0, false, "card"), piece(2, false, "note"), piece(4, false, "last word")], 3);
        check(&[piece(0, false, "card"), piece(1, true, "TWO"), piece(4, false, "last word")], 4);
        check(&[], 3);
        assert_eq!(stable_prefix(&[piece(0, false, "card")], &[], TraceLayout::default(), &[]), 0);
    }
}
