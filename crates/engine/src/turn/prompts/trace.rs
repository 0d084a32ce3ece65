//! The trace of a reply: what is recorded of its prompt, and the prompt rebuilt from it byte for byte.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use clotho_compat::prompt::macros::MacroReport;
use clotho_compat::prompt::preset::{OmittedText, TraceLayout, TracePiece, rebuild};
use clotho_compat::prompt::refill::{HistoryNames, LinePatch};
use clotho_compat::prompt::{
    OmitReason, OutgoingMessage, PromptLine, TokenMeasure, TokenOverflow, TraceBlock, TraceSlot, rebuild_messages, tags,
};
use clotho_core::ids::NodeId;
use clotho_core::tree::reply_facts::{HistoryCutoff, PresetTrace, PromptTokens, SummariesTrace};
use clotho_core::tree::{Node, Role, TraceHead};
use clotho_core::world::StateOperation;
use clotho_store::{MissingNode, StoreReader, StoredNode, StoredSession, Trace};

use super::plan::PromptPlan;
use super::preset_selection::PresetReason;
use crate::turn::TurnError;
use crate::turn::tools::ToolOffers;

/// A trace with its prompt; without messages if no prompt was built.
#[derive(Debug, Clone, PartialEq)]
pub struct RebuiltPrompt {
    /// Model, parameters, timings, usage.
    pub head: Box<TraceHead>,
    /// The blocks: `{slot, role, source, tokens, kept, why?}` with their texts. `why` says why a block was not sent.
    pub blueprint: Vec<Value>,
    /// The messages as sent.
    pub messages: Vec<OutgoingMessage>,
    /// The nodes whose texts were sent, oldest first.
    pub history: Vec<NodeId>,
    /// Nodes that were sent and are gone: the index of each in the sent history, from 0, and where it is now.
    pub missing: Vec<(usize, MissingNode)>,
    /// Whether the rebuilt messages equal the sent ones byte for byte.
    pub is_exact: bool,
}

impl Default for RebuiltPrompt {
    fn default() -> Self {
        rebuild_prompt(Trace::default(), &[])
    }
}

impl RebuiltPrompt {
    /// Describes a prompt that was not sent; `history` are the nodes whose texts are in it.
    pub fn unsent(made: BuiltPrompt, history: Vec<NodeId>) -> Self {
        let Trace { head, blocks, .. } = made.trace();
        let blueprint = display_blocks(&blocks);
        Self { head, blueprint, messages: made.messages, history, missing: Vec::new(), is_exact: true }
    }
}

/// The blocks that a preset made, without the history.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptBlueprint {
    pub pieces: Vec<TracePiece>,
    /// How pieces and history become messages.
    pub shape: TraceLayout,
    /// The texts that were left out.
    pub omitted: Vec<OmittedText>,
    /// Which preset was used, and why.
    pub preset_reason: PresetReason,
}

/// A built prompt with everything that its trace records.
#[derive(Debug, Clone, Default)]
pub struct BuiltPrompt {
    /// The rows of the sent nodes, oldest first.
    pub history: Vec<i64>,
    /// The blocks and their order; `None` for prompts that are no part of the story.
    pub blueprint: Option<PromptBlueprint>,
    /// The sampler parameters of the preset.
    pub samplers: Map<String, Value>,
    pub messages: Vec<OutgoingMessage>,
    /// How many of the first messages the next prompt will probably share.
    pub stable_prefix: usize,
    /// Tokens of the prompt, counted or estimated.
    pub tokens: usize,
    /// Measures texts in tokens.
    pub measure: TokenMeasure,
    /// Tokens of the prompt as the model server counted them, if it did.
    pub counted_tokens: Option<usize>,
    /// The newest message that did not fit; older ones did not either.
    pub first_omitted: Option<NodeId>,
    /// Tokens reserved for the reply.
    pub reply_tokens: usize,
    /// The limit for prompt and reply together, in tokens.
    pub context_tokens: usize,
    /// The tags hidden from models at that time.
    pub hide_tags: Vec<String>,
    pub macro_result: PromptMacroResult,
    /// What regex scripts did: `{name, scope, changed, why?, message?}`.
    pub scripts: Vec<Value>,
    /// What fired in lorebooks and what was stopped; `None` without lorebooks.
    pub lore_trace: Option<Value>,
    /// Lore texts that only the separate values model gets.
    pub values_prompt: Vec<String>,
    pub plan: PromptPlan,
    /// The trace of summaries; `None` if the session has none.
    pub summary_trace: Option<SummariesTrace>,
    /// The trace of recall; null if recall is off.
    pub recall_trace: Value,
    pub tools: ToolOffers,
    /// Whether lines of the history begin with the names of their speakers.
    pub has_names: bool,
    /// Set if the mandatory blocks do not fit, so that nothing can be sent.
    pub too_large: Option<TokenOverflow>,
}

/// The largest number of written variables in a trace.
const MAX_WRITTEN: usize = 100;

/// The results of macros in a prompt.
#[derive(Debug, Clone, Default)]
pub struct PromptMacroResult {
    /// The names filled into the history; `None` = the filled texts are in the trace.
    pub names: Option<HistoryNames>,
    /// In older traces: lines of the history with more than names filled in, by index.
    pub differences: Vec<(usize, LinePatch)>,
    /// Warnings for the trace.
    pub noted: MacroReport,
    /// The paths of the variables that macros write.
    pub written: Vec<String>,
    /// Writes of macros to variables, and the operations of lore and summaries.
    pub operations: Vec<StateOperation>,
}

impl PromptMacroResult {
    /// Formats the result for the trace: `{names?: [user, character], left?, problems?, written?}`.
    fn to_json(&self) -> Value {
        let mut kept = Map::new();
        kept.extend(self.names.as_ref().map(|names| ("names".to_owned(), json!([names.user, names.character]))));
        let noted = [
            ("left", json!(self.noted.unresolved)),
            ("problems", json!(self.noted.problems)),
            ("written", json!(self.written.iter().take(MAX_WRITTEN).collect::<Vec<_>>())),
        ];
        let told = noted.into_iter().filter(|(_, told)| told != &json!([]));
        kept.extend(told.map(|(key, told)| (key.to_owned(), told)));
        kept.into()
    }

    /// Reads what is needed to fill in the history again.
    fn from_json(kept: &Value) -> Self {
        let name = |at: usize| kept.get("names")?.get(at)?.as_str().map(str::to_owned);
        let names = name(0).zip(name(1)).map(|(user, character)| HistoryNames { user, character });
        let lines = kept.get("lines").and_then(Value::as_array).into_iter().flatten();
        let line =
            |one: &Value| Some((usize::try_from(one.get(0)?.as_u64()?).ok()?, LinePatch::from_json(one.get(1)?)?));
        Self { names, differences: lines.filter_map(line).collect(), ..Self::default() }
    }

    /// Fills in a line of the history again.
    fn refill(&self, at: Option<usize>, line: PromptLine) -> PromptLine {
        let Some(names) = &self.names else { return line };
        let named = names.fill(&line.text);
        let own = self.differences.iter().find(|(place, _)| Some(*place) == at);
        let text = own.and_then(|(_, difference)| difference.apply(&named)).unwrap_or(named);
        PromptLine { text, ..line }
    }
}

impl BuiltPrompt {
    /// Returns whether a stored preset was used.
    pub fn has_preset(&self) -> bool {
        self.blueprint.as_ref().is_some_and(|order| order.preset_reason.is_stored())
    }

    /// Returns the token count with its source: a tokenizer, the model server, or an estimate.
    fn token_counts(&self) -> PromptTokens {
        let (count, by) = match self.counted_tokens {
            Some(counted) => (counted, "server".to_owned()),
            None => (self.tokens, self.measure.counter_name().to_owned()),
        };
        PromptTokens { count: count as u64, by, rest: Map::new() }
    }

    /// Returns the trace of the prompt.
    pub fn trace(&self) -> Trace {
        let order = self.blueprint.iter();
        let went = order.clone().flat_map(|order| &order.pieces).map(|piece| piece_trace(piece, &self.measure));
        let blocks = went
            .chain(order.flat_map(|order| &order.omitted).map(|left| omission_trace(left, &self.measure)))
            .collect();
        let mut head = Box::new(TraceHead { lore: self.lore_trace.clone(), ..TraceHead::default() });
        head.plan = Some(self.plan.runs.clone()).filter(|runs| !runs.is_empty());
        head.scripts = Some(self.scripts.clone()).filter(|scripts| !scripts.is_empty());
        head.tools = Some(self.tools.names().into_iter().map(Value::from).collect()).filter(|_| !self.tools.is_empty());
        if self.too_large.is_none() {
            let why = OmitReason::Budget.as_str().to_owned();
            head.hash = Some(digest(&self.messages));
            head.tokens_estimated = Some(self.tokens as u64);
            head.tokens = Some(self.token_counts());
            head.history_cut =
                self.first_omitted.map(|through| HistoryCutoff { why, through, rest: Map::new() }).into();
            head.hide_tags = Some(self.hide_tags.clone());
            head.macros = Some(self.macro_result.to_json());
            head.summaries = self.summary_trace.clone();
            head.recall = Some(self.recall_trace.clone()).filter(|recalled| !recalled.is_null());
            head.preset = self.blueprint.as_ref().map(preset_trace);
        }
        Trace { head, blocks, history: self.history.clone() }
    }
}

/// Returns a node's text as models see it, with hidden tags removed.
pub fn prompt_line(node: &Node, hide_tags: &[String]) -> PromptLine {
    let text = tags::text_for_model(node.role, &node.content, node.reasoning.is_some(), hide_tags).into_owned();
    PromptLine { role: node.role, name: node.name.clone(), text }
}

fn digest(messages: &[OutgoingMessage]) -> String {
    let mut hasher = blake3::Hasher::new();
    for message in messages {
        hasher.update(message.role.as_str().as_bytes());
        if let Some(name) = &message.name {
            hasher.update(&[1]);
            hasher.update(name.as_bytes());
        }
        hasher.update(&[0]);
        hasher.update(message.text.as_bytes());
        hasher.update(&[0]);
    }
    hasher.finalize().to_hex().to_string()
}

/// Reads the trace of a node and rebuilds its prompt; `None` if no model wrote the node.
///
/// # Errors
/// Returns an error if the database fails.
pub fn read_trace(
    reader: &mut StoreReader<'_>,
    held: &StoredSession,
    placed: &StoredNode,
) -> Result<Option<RebuiltPrompt>, TurnError> {
    let Some(trace) = reader.trace(placed)? else { return Ok(None) };
    let history = reader.nodes_by_row(held, &trace.history)?;
    let there: HashSet<i64> = history.iter().map(|placed| placed.n).collect();
    let mut missing = Vec::new();
    for (at, n) in trace.history.iter().enumerate().filter(|(_, n)| !there.contains(n)) {
        missing.push((at, reader.missing_node(*n)?));
    }
    Ok(Some(RebuiltPrompt { missing, ..rebuild_prompt(trace, &history) }))
}

fn rebuild_prompt(trace: Trace, history: &[StoredNode]) -> RebuiltPrompt {
    let hide = trace.head.hide_tags.as_deref().unwrap_or_default();
    let filled = trace.head.macros.as_ref().map(PromptMacroResult::from_json).unwrap_or_default();
    let place = |n: i64| trace.history.iter().position(|row| *row == n);
    let again = |placed: &StoredNode| filled.refill(place(placed.n), prompt_line(&placed.node, hide));
    let lines: Vec<PromptLine> = history.iter().map(again).collect();
    let messages = match (&trace.head.preset, trace.head.hash.is_some()) {
        (_, false) => Vec::new(),
        (None, true) => {
            let blocks: Vec<TraceBlock> = trace.blocks.iter().filter_map(|(about, text)| block(about, text)).collect();
            rebuild_messages(&blocks, &lines)
        }
        (Some(preset), true) => {
            let pieces: Vec<TracePiece> = trace.blocks.iter().filter_map(|(about, text)| piece(about, text)).collect();
            rebuild(&pieces, &lines, TraceLayout { is_named: preset.named, is_joined: preset.joined })
        }
    };
    let is_exact = trace.head.hash.as_ref().is_none_or(|hash| *hash == digest(&messages));
    let blueprint = display_blocks(&trace.blocks);
    RebuiltPrompt {
        head: trace.head,
        blueprint,
        messages,
        history: history.iter().map(|one| one.node.id).collect(),
        missing: Vec::new(),
        is_exact,
    }
}

/// Formats the blocks for display.
fn display_blocks(blocks: &[(Value, String)]) -> Vec<Value> {
    let one = |(about, text): &(Value, String)| {
        let mut about = about.clone();
        if let Some(map) = about.as_object_mut() {
            map.insert("text".into(), text.as_str().into());
            map.entry("tokens").or_insert_with(|| clotho_compat::prompt::estimate_message(text).into());
            map.insert("kept".into(), (!map.contains_key("why")).into());
        }
        about
    };
    blocks.iter().map(one).collect()
}

/// Formats a piece of the prompt for the trace.
fn piece_trace(piece: &TracePiece, measure: &TokenMeasure) -> (Value, String) {
    let TracePiece { slot, at, replaces_line: is_over, sent } = piece;
    let mut about = json!({"slot": slot, "role": sent.role.as_str(), "source": source(slot), "at": at,
        "tokens": measure.message(&sent.text)});
    if let Some(map) = about.as_object_mut() {
        map.extend(sent.name.as_ref().map(|name| ("name".to_owned(), name.as_str().into())));
        map.extend(is_over.then(|| ("over".to_owned(), true.into())));
    }
    (about, sent.text.clone())
}

/// Formats a text that was left out.
fn omission_trace(left: &OmittedText, measure: &TokenMeasure) -> (Value, String) {
    let OmittedText { slot, role, text, reason: why } = left;
    (
        json!({"slot": slot, "role": role.as_str(), "source": source(slot), "why": why.as_str(),
        "tokens": measure.message(text)}),
        text.clone(),
    )
}

fn preset_trace(PromptBlueprint { shape, preset_reason, .. }: &PromptBlueprint) -> PresetTrace {
    PresetTrace {
        named: shape.is_named,
        joined: shape.is_joined,
        chosen: preset_reason.is_stored(),
        rest: preset_reason.to_trace(),
    }
}

/// Returns the source of a text, from the first part of its slot name.
fn source(slot: &str) -> &'static str {
    match slot.split_once('+').map_or(slot, |(first, _)| first) {
        "charDescription" | "charPersonality" | "scenario" | "dialogueExamples" | "cardDepth" => "card",
        "personaDescription" => "persona",
        "world" => "world",
        "worldInfoBefore" | "worldInfoAfter" | "lore" => "lore",
        "authorsNote" => "session",
        "history" => "history",
        "tools" => "plugin",
        plugin if plugin.starts_with("plugin:") => "plugin",
        "filler" => "settings",
        _ => "preset",
    }
}

/// Parses a piece that was sent.
fn piece(about: &Value, text: &str) -> Option<TracePiece> {
    let word = |key: &str| about.get(key).and_then(Value::as_str);
    let role = Role::parse(word("role")?)?;
    Some(TracePiece {
        slot: word("slot")?.to_owned(),
        at: usize::try_from(about.get("at")?.as_u64()?).ok()?,
        replaces_line: about.get("over").is_some(),
        sent: OutgoingMessage { role, name: word("name").map(str::to_owned), text: text.to_owned() },
    })
}

fn block(about: &Value, text: &str) -> Option<TraceBlock> {
    let word = |key: &str| about.get(key).and_then(Value::as_str);
    Some(TraceBlock {
        slot: TraceSlot::parse(word("slot")?)?,
        role: Role::parse(word("role")?)?,
        text: text.to_owned(),
        is_left_out: word("why").is_some(),
    })
}
