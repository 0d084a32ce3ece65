//! Lore at a snapshot: which lorebooks apply, which entries fire, and where their texts go (`docs/lore.md`).
//!
//! Books are found by their bindings and cached; [`clotho_compat::prompt::lore`] decides what fires. Active entries and
//! timers are stored in the world, by operations of the reply. So both follow the branch, a preview changes nothing,
//! and a failed reply leaves no trace of them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use clotho_compat::prompt::lore::{
    ActiveEntry, LoreHost, LoreOverride, LorePlacement, LoreTimers, LoreVerdict, LorebookScope, ScanBook,
    ScanCharacter, ScanMessage, ScanOutcome, ScanRequest, ScopedBook, WorldInfoSettings, scan,
};
use clotho_compat::prompt::{PromptCast, TokenMeasure, preset};
use clotho_core::coded_message::RenderedMessage;
use clotho_core::ids::{LorebookId, NodeId, UserId};
use clotho_core::tree::{Role, lorebook};
use clotho_core::world::{Pointer, StateChange, StateOperation, WorldSection};
use clotho_plugin::LoreSelection;
use clotho_store::{BindingTarget, LorebookVersion, PathFilter, StoreError, StoreReader};

use super::lorebook_cache::LorebookCache;
use super::macro_context::{self, GenerationTask, PromptPurpose};
use super::plan::PromptPlan;
use super::recall::PromptRecallQuery;
use super::regex_scripts::PromptScripts;
use super::similar::{self, SimilarEntries};
use crate::turn::cast;
use crate::turn::rules::hooks::SERVER;
use crate::turn::snapshot::TurnSnapshot;

/// The maximum number of messages scanned.
const MAX_MESSAGES: usize = 1_000;
/// The maximum number of entries listed as active, and as stopped.
const MAX_LISTED: usize = 200;
/// The maximum length of a reported title, in characters.
const MAX_TITLE_CHARS: usize = 200;
/// The maximum number of lines whose token counts are cached.
const MAX_CACHED_LINES: usize = 4_096;
/// The lower limit of how far back messages are counted.
const MIN_COUNT_DEPTH: i64 = 1_000;
/// The upper limit of how far back messages are counted.
const MAX_COUNT_DEPTH: i64 = 100_000;
/// The key in the world's `lore` under which the message count is stored.
const COUNT_KEY: &str = "counted";
/// The default depth of an entry in the chat.
const DEPTH: i64 = 4;
/// The reason given in operations of lore.
const LORE_REASON: &str = "lore";
/// The folder of imported character files.
const CHARACTER_FILES: &str = "characters/";

/// The lorebooks that apply at one place.
#[derive(Debug, Default)]
pub struct ActiveLorebooks {
    books: Vec<(LorebookScope, Arc<ScanBook>)>,
    who: ScanCharacter,
    settings: WorldInfoSettings,
}

/// The inputs of a lore scan besides the books.
#[derive(Debug)]
pub struct LoreScanContext<'h> {
    /// The messages, oldest first.
    pub messages: &'h [preset::HistoryMessage],
    /// Further texts that lore scans, such as the author's note.
    pub extra_texts: &'h [String],
    /// The token budget of the whole prompt.
    pub prompt_tokens: usize,
    /// The maximum tokens of lore, regardless of its own settings.
    pub lore_limit: usize,
    pub purpose: &'h PromptPurpose,
    /// Measures texts in tokens.
    pub measure: &'h TokenMeasure,
    /// The query for entries found by similarity.
    pub recall_query: &'h PromptRecallQuery,
    /// Entries that plugins include or exclude.
    pub requests: &'h [LoreOverride],
}

/// The result of a lore scan.
#[derive(Debug, Clone)]
pub struct LoreScanReport {
    /// The entries and their placement.
    pub outcome: ScanOutcome,
    /// How similar entries were found, for the trace; `None` if similarity is off.
    pub similar: Option<Value>,
}

/// The effects of lore on a prompt and on the world.
#[derive(Debug, Clone, Default)]
pub struct LorePromptEffects {
    /// The texts by position.
    pub lore: preset::PromptLore,
    /// The texts for `{{outlet}}` macros, by name.
    pub outlets: BTreeMap<String, String>,
    /// The new active entries and timers.
    pub operations: Vec<StateOperation>,
    /// Texts that only the separate values model gets.
    pub values_prompt: Vec<String>,
    /// What fired and what was stopped, for the trace; `None` without books.
    pub trace: Option<Value>,
}

impl ActiveLorebooks {
    /// Reads the books that apply at a snapshot.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn read(
        reader: &mut StoreReader<'_>,
        snapshot: &TurnSnapshot,
        cache: &LorebookCache,
    ) -> Result<Self, StoreError> {
        let session = snapshot.session();
        let card = answering_card(reader, snapshot)?;
        let mut held: Vec<(LorebookScope, LorebookVersion)> = Vec::new();
        for id in lorebook::card_lorebooks(&card) {
            held.extend(reader.lorebook_version(session.owner, id)?.map(|book| (LorebookScope::Character, book)));
        }
        let persona = snapshot.user_persona.persona.or(session.persona.as_ref().map(|persona| persona.id));
        for (scope, what) in [
            (LorebookScope::Character, snapshot.speaker.map(BindingTarget::Character)),
            (LorebookScope::Global, Some(BindingTarget::Everything)),
            (LorebookScope::Chat, Some(BindingTarget::Session(session.id))),
            (LorebookScope::Persona, persona.map(BindingTarget::Persona)),
        ] {
            let Some(what) = what else { continue };
            held.extend(reader.bound_lorebooks(session.owner, what)?.into_iter().map(|book| (scope, book)));
        }
        let mut own = Self::default();
        own.add_books(reader, session.owner, cache, held)?;
        if !own.books.is_empty() {
            own.who = scan_character(reader, snapshot, &card)?;
        }
        Ok(own)
    }

    /// Adds books. The first book also loads the lorebook settings of `owner`.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn add_books(
        &mut self,
        reader: &mut StoreReader<'_>,
        owner: UserId,
        cache: &LorebookCache,
        held: impl IntoIterator<Item = (LorebookScope, LorebookVersion)>,
    ) -> Result<(), StoreError> {
        for (scope, held) in held {
            reader.check_wanted()?;
            let book = match cache.get(held.id, held.updated) {
                Some(book) => Some(book),
                None => read_lorebook(reader, owner, held.id)?.inspect(|book| cache.put(held.id, held.updated, book)),
            };
            if book.is_some() && self.books.is_empty() {
                self.settings = lore_settings(reader, owner)?;
            }
            self.books.extend(book.map(|book| (scope, book)));
        }
        Ok(())
    }

    /// Returns the books, each with its scope.
    pub fn books(&self) -> impl Iterator<Item = (LorebookScope, &ScanBook)> {
        self.books.iter().map(|(scope, book)| (*scope, book.as_ref()))
    }

    /// Returns the names of the books: `{id, name, scope}`.
    pub fn list(&self) -> Vec<Value> {
        let named =
            self.books().map(|(scope, book)| json!({"id": book.id, "name": book.name, "scope": scope.as_str()}));
        named.collect()
    }

    /// Returns how many messages the books want to scan, at most [`MAX_MESSAGES`].
    pub fn scan_depth(&self) -> usize {
        let own = usize::try_from(self.settings.depth).unwrap_or(0);
        let deepest = self.books().map(|(_, book)| book.max_scan_depth()).max();
        let similar = &self.settings.similar;
        let fits = similar.entries > 0
            && self.books().any(|(_, book)| book.content_matched_entries(similar.all).next().is_some());
        let own = own.max(if fits { similar.messages } else { 0 });
        deepest.map_or(0, |deepest| deepest.max(own).min(MAX_MESSAGES))
    }

    /// Scans the books and returns the effects on the prompt.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn activate(
        &self,
        reader: &mut StoreReader<'_>,
        snapshot: &TurnSnapshot,
        context: &LoreScanContext<'_>,
        scripted: &mut PromptScripts<'_, '_>,
    ) -> Result<LorePromptEffects, StoreError> {
        if self.books.is_empty() && snapshot.world.lore.is_empty() {
            return Ok(LorePromptEffects::default());
        }
        let LoreScanReport { outcome, similar } = self.scan_snapshot(reader, snapshot, context, scripted)?;
        let outlets = outcome.placement.outlets.iter().map(|(name, texts)| (name.clone(), texts.join("\n")));
        Ok(LorePromptEffects {
            outlets: outlets.collect(),
            operations: state_operations(snapshot, context.purpose, &outcome),
            trace: (!self.books.is_empty()).then(|| self.to_trace(&outcome, similar, context.measure)),
            values_prompt: outcome.values,
            lore: prompt_lore(outcome.placement),
        })
    }

    /// Scans the books and returns what fires, and why.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn scan_snapshot(
        &self,
        reader: &mut StoreReader<'_>,
        snapshot: &TurnSnapshot,
        context: &LoreScanContext<'_>,
        scripted: &mut PromptScripts<'_, '_>,
    ) -> Result<LoreScanReport, StoreError> {
        let timers = snapshot.world.lore.get("timers").cloned().and_then(|timers| serde_json::from_value(timers).ok());
        let timers: LoreTimers = timers.unwrap_or_default();
        let counts = timers != LoreTimers::default() || self.books().any(|(_, book)| book.counts_messages());
        let delay = self.books().map(|(_, book)| book.longest_delay()).max().unwrap_or(0);
        let reach = MessageCountRange {
            is_running: timers != LoreTimers::default(),
            delay: i64::try_from(delay).unwrap_or(i64::MAX),
        };
        let newest_first = context.messages.iter().rev().take(MAX_MESSAGES);
        let texts: Vec<&str> = newest_first.clone().map(|message| message.text.as_str()).collect();
        let SimilarEntries { near, trace: similar } = self.similar_entries(reader, &texts, context.recall_query)?;
        let scanned = ScanRequest {
            messages: newest_first
                .map(|message| ScanMessage { name: message.name.clone(), text: message.text.clone() })
                .collect(),
            count: if counts { count_messages(reader, snapshot, context, reach)? } else { 0 },
            card: card_texts(&snapshot.cast),
            injects: context.extra_texts.to_vec(),
            trigger: context.purpose.name().to_owned(),
            audience: context.purpose.values_call(),
            has_values_call: snapshot.values_model().is_some(),
            character: self.who.clone(),
            prompt: context.prompt_tokens,
            similar: near,
            overrides: context.requests.to_vec(),
            max_tokens: Some(context.lore_limit),
            stop: reader.stop_check(),
            ..ScanRequest::default()
        };
        let mut draw = macro_context::seeded_random_for(snapshot, context.purpose, LORE_REASON);
        let outcome = self.scan(&scanned, &timers, &mut PromptScanHost::new(scripted, &mut draw, context.measure));
        Ok(LoreScanReport { outcome, similar })
    }

    /// Returns the entries similar to the messages, which are given newest first.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn similar_entries(
        &self,
        reader: &mut StoreReader<'_>,
        newest_first: &[&str],
        cue: &PromptRecallQuery,
    ) -> Result<SimilarEntries, StoreError> {
        let books: Vec<&Arc<ScanBook>> = self.books.iter().map(|(_, book)| book).collect();
        similar::find_similar(reader, &books, &self.settings.similar, newest_first, cue)
    }

    /// Resolves the plugins' requests to entries of these books. Warns the plugin if an entry is missing or disabled.
    pub fn plugin_requests(&self, planned: &mut PromptPlan) -> Vec<LoreOverride> {
        if planned.lore_requests.is_empty() {
            return Vec::new();
        }
        let mut places: HashMap<&str, Vec<(usize, usize, bool)>> =
            planned.lore_requests.iter().map(|(_, _, request)| (request.entry.as_str(), Vec::new())).collect();
        for (n, (_, book)) in self.books().enumerate() {
            for (at, entry) in book.entries.iter().enumerate() {
                let title = Some(entry.title.trim()).filter(|title| *title != entry.uid);
                for name in title.into_iter().chain([entry.uid.as_str()]) {
                    places.get_mut(name).into_iter().for_each(|places| places.push((n, at, entry.is_off())));
                }
            }
        }
        let (mut overrides, mut told) = (Vec::new(), Vec::new());
        for (run, plugin, LoreSelection { entry, is_included: is_in }) in &planned.lore_requests {
            let places = places.get(entry.as_str()).map(Vec::as_slice).unwrap_or_default();
            let (name, short) = (if *is_in { "lore" } else { "unlore" }, entry.chars().take(80).collect::<String>());
            if places.is_empty() {
                told.push((*run, format!("{name}(\"{short}\"): no lorebook in force here has such an entry")));
            } else if *is_in && places.iter().all(|(.., is_off)| *is_off) {
                told.push((*run, format!("{name}(\"{short}\"): the entry is switched off")));
            }
            let to_override = |(book, entry, _): &(usize, usize, bool)| LoreOverride {
                book: *book,
                entry: *entry,
                is_activated: *is_in,
                plugin: plugin.clone(),
            };
            overrides.extend(places.iter().map(to_override));
        }
        told.iter().for_each(|(run, line)| planned.warn(*run, line));
        overrides
    }

    /// Runs the scan.
    pub fn scan(
        &self,
        scanned: &ScanRequest,
        timers: &LoreTimers,
        asked: &mut PromptScanHost<'_, '_, '_, '_>,
    ) -> ScanOutcome {
        let bound: Vec<ScopedBook<'_>> = self.books().map(|(scope, book)| ScopedBook { scope, book }).collect();
        scan(&bound, &self.settings, scanned, timers, asked)
    }

    /// Formats an outcome for the trace.
    fn to_trace(&self, outcome: &ScanOutcome, similar: Option<Value>, measure: &TokenMeasure) -> Value {
        let fired = outcome.active.iter().take(MAX_LISTED).map(|fired| Value::Object(entry_trace(fired, measure)));
        json!({
            "books": self.list(),
            "fired": fired.collect::<Vec<_>>(),
            "firedInAll": outcome.active.len(),
            "stopped": outcome.stopped.iter().take(MAX_LISTED).map(verdict_trace).collect::<Vec<_>>(),
            "stoppedInAll": outcome.stopped.len(),
            "silent": outcome.silent,
            "budget": outcome.budget,
            "overflowed": outcome.overflowed,
            "passes": outcome.passes,
            "similar": similar,
            "notes": outcome.notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "problems": outcome.notes.iter().map(|note| RenderedMessage::new(note).to_json()).collect::<Vec<_>>(),
        })
    }
}

fn read_lorebook(
    reader: &mut StoreReader<'_>,
    owner: UserId,
    id: LorebookId,
) -> Result<Option<Arc<ScanBook>>, StoreError> {
    let book = reader.lorebook(owner, id)?;
    Ok(book.map(|book| {
        let name = book.card.get("name").and_then(Value::as_str).unwrap_or_default();
        Arc::new(ScanBook::read(id.to_string(), name, &book.card))
    }))
}

/// Returns the current card of the speaker, because it says which books belong to it. If the character was deleted,
/// returns the version that the session keeps.
fn answering_card(reader: &mut StoreReader<'_>, snapshot: &TurnSnapshot) -> Result<Map<String, Value>, StoreError> {
    let session = snapshot.session();
    let Some(own) = cast::speaker(session, snapshot.speaker) else { return Ok(Map::new()) };
    match reader.character(session.owner, own.id)? {
        Some(character) => Ok(character.card),
        None => Ok(cast::card_object(&reader.blob(&own.hash)?)),
    }
}

/// Returns how character filters of entries name the speaker: by the imported file, else by name; and by tags.
fn scan_character(
    reader: &mut StoreReader<'_>,
    snapshot: &TurnSnapshot,
    card: &Map<String, Value>,
) -> Result<ScanCharacter, StoreError> {
    let sources = match snapshot.speaker {
        Some(id) => reader.sources_of(snapshot.session().owner, id.as_bytes())?,
        None => Vec::new(),
    };
    let file = sources.iter().find_map(|source| source.name.strip_prefix(CHARACTER_FILES));
    let file = file.unwrap_or(&snapshot.cast.character).to_owned();
    let tags = card.get("tags").and_then(Value::as_array).into_iter().flatten();
    Ok(ScanCharacter { file, tags: tags.filter_map(Value::as_str).map(str::to_owned).collect() })
}

/// Counts the visible messages on the branch, as far as timers need them. Counts from the last stored count on, so that
/// a long story is cheap while timers run. Without one, counts as far back as the longest delay asks.
fn count_messages(
    reader: &mut StoreReader<'_>,
    snapshot: &TurnSnapshot,
    context: &LoreScanContext<'_>,
    reach: MessageCountRange,
) -> Result<u64, StoreError> {
    // A message that a preview only pretends to write has no row.
    let (at, unwritten) = match snapshot.at.n {
        0 => (snapshot.at.node.parent.map(|parent| reader.node(&snapshot.stored, parent)).transpose()?.flatten(), 1),
        _ => (Some(snapshot.at.clone()), 0),
    };
    let continued = u64::from(matches!(context.purpose.generation_task, GenerationTask::Continue { .. }));
    let Some(at) = at else { return Ok(unwritten + continued) };
    let last: Option<MessageCountMark> =
        snapshot.world.lore.get(COUNT_KEY).cloned().and_then(|tally| serde_json::from_value(tally).ok());
    let last = last.filter(|_| reach.is_running);
    let until = match &last {
        Some(tally) => reader.node(&snapshot.stored, tally.node)?.map(|placed| placed.n),
        None => None,
    };
    let most = if reach.is_running { MAX_COUNT_DEPTH } else { reach.delay.clamp(MIN_COUNT_DEPTH, MAX_COUNT_DEPTH) };
    let (seen, is_met) = reader.count_ancestors(&at, until, PathFilter::Enabled, most)?;
    let before = last.filter(|_| is_met).map_or(0, |tally| tally.messages);
    Ok(seen + before + unwritten + continued)
}

/// The range over which messages are counted.
#[derive(Debug, Clone, Copy)]
struct MessageCountRange {
    /// Timers are running, which compare with the count at their start.
    is_running: bool,
    /// The longest delay of an entry, in messages.
    delay: i64,
}

/// The count when a timer last started or ended: messages up to and including this node.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct MessageCountMark {
    node: NodeId,
    messages: u64,
}

/// Returns the card texts that an entry may scan, in the order of [`clotho_compat::prompt::lore::CARD_TEXTS`], with
/// names filled in.
fn card_texts(cast: &PromptCast) -> [String; 6] {
    let names = cast.names();
    [&cast.persona, &cast.description, &cast.personality, &cast.depth_prompt, &cast.scenario, &cast.creator_notes]
        .map(|text| names.fill(text))
}

/// Reads the global lorebook settings of a user.
///
/// # Errors
/// Returns an error if the database fails.
pub fn lore_settings(reader: &mut StoreReader<'_>, owner: UserId) -> Result<WorldInfoSettings, StoreError> {
    Ok(WorldInfoSettings::from_stored(reader.lore_settings(owner)?))
}

/// The prompt's services for a scan: macros, scripts, random numbers and token counts.
pub struct PromptScanHost<'s, 'm, 'a, 'd> {
    scripted: &'s mut PromptScripts<'m, 'a>,
    draw: &'d mut dyn FnMut() -> f64,
    measure: &'d TokenMeasure,
    /// Token counts of lines. The scan counts the active texts again for each new entry.
    counted: HashMap<String, usize>,
}

impl<'s, 'm, 'a, 'd> PromptScanHost<'s, 'm, 'a, 'd> {
    /// Creates a host from its parts.
    pub fn new(
        scripted: &'s mut PromptScripts<'m, 'a>,
        draw: &'d mut dyn FnMut() -> f64,
        measure: &'d TokenMeasure,
    ) -> Self {
        Self { scripted, draw, measure, counted: HashMap::new() }
    }

    /// Returns the tokens of a line, cached because the tokenizer is slower than the lookup.
    fn line(&mut self, line: &str) -> usize {
        if let Some(known) = self.counted.get(line) {
            return *known;
        }
        let count = self.measure.text(line);
        if self.counted.len() < MAX_CACHED_LINES {
            self.counted.insert(line.to_owned(), count);
        }
        count
    }
}

impl LoreHost for PromptScanHost<'_, '_, '_, '_> {
    fn fill(&mut self, text: &str) -> String {
        self.scripted.macros.fill(text)
    }

    fn apply_scripts(&mut self, text: String, depth: Option<i64>) -> String {
        self.scripted.apply_to_lore(text, depth)
    }

    fn variable(&mut self, path: &[String]) -> Option<Value> {
        let (first, rest) = path.split_first()?;
        let first = self.scripted.macros.local.map().get(first)?;
        let value = rest.iter().try_fold(first, |inside, key| match inside {
            Value::Object(map) => map.get(key),
            Value::Array(list) => list.get(key.parse::<usize>().ok()?),
            _ => None,
        });
        value.cloned()
    }

    fn count_tokens(&mut self, text: &str) -> usize {
        if !self.measure.is_exact() {
            return entry_tokens(self.measure, text);
        }
        text.split_inclusive('\n').map(|line| self.line(line)).sum()
    }

    fn random(&mut self) -> f64 {
        (self.draw)()
    }
}

/// Returns the tokens of an entry's text; 0 if it is empty.
fn entry_tokens(measure: &TokenMeasure, text: &str) -> usize {
    if text.is_empty() { 0 } else { measure.text(text) }
}

/// Formats an active entry: what it is, why it fired, and its tokens.
pub fn entry_trace(fired: &ActiveEntry, measure: &TokenMeasure) -> Map<String, Value> {
    let mut told = match verdict_trace(&fired.verdict) {
        Value::Object(told) => told,
        _ => Map::new(),
    };
    told.insert("tokens".to_owned(), entry_tokens(measure, &fired.text).into());
    told
}

/// Converts a placement to the form that a preset takes.
fn prompt_lore(printed: LorePlacement) -> preset::PromptLore {
    let role = |role: u8| match role {
        1 => Role::User,
        2 => Role::Assistant,
        _ => Role::System,
    };
    let (before, after): (Vec<_>, Vec<_>) = printed.examples.into_iter().partition(|(is_before, _)| *is_before);
    let texts = |examples: Vec<(bool, String)>| examples.into_iter().map(|(_, text)| text).collect();
    let in_chat = printed.at_depth.into_iter().map(|group| {
        let depth = usize::try_from(group.depth.unwrap_or(DEPTH)).unwrap_or(0);
        (depth, role(group.role), group.entries.join("\n"))
    });
    preset::PromptLore {
        before: printed.before,
        after: printed.after,
        note_top: printed.note_top,
        note_bottom: printed.note_bottom,
        examples_before: texts(before),
        examples_after: texts(after),
        in_chat: in_chat.collect(),
    }
}

/// Formats the verdict of one entry.
pub fn verdict_trace(verdict: &LoreVerdict) -> Value {
    let title = verdict.title.chars().take(MAX_TITLE_CHARS).collect();
    serde_json::to_value(LoreVerdict { title, ..verdict.clone() }).unwrap_or_default()
}

/// Returns operations for active entries and timers that changed, and for the message count if timers run.
fn state_operations(snapshot: &TurnSnapshot, purpose: &PromptPurpose, outcome: &ScanOutcome) -> Vec<StateOperation> {
    let now = &snapshot.world.lore;
    let active = outcome.active.iter().take(MAX_LISTED).map(|fired| verdict_trace(&fired.verdict)).collect::<Vec<_>>();
    let timers = serde_json::to_value(&outcome.timers).unwrap_or_default();
    let none = |key: &str| match key {
        "active" => json!([]),
        "timers" => serde_json::to_value(LoreTimers::default()).unwrap_or_default(),
        _ => Value::Null,
    };
    let set = |(key, value): (&str, Value)| {
        let before = now.get(key).cloned().unwrap_or_else(|| none(key));
        let change = StateChange::Set(value.clone());
        (before != value).then(|| StateOperation {
            section: WorldSection::Lore,
            ..StateOperation::new(Pointer::from_keys([key]), change, LORE_REASON, SERVER)
        })
    };
    let mut operations: Vec<StateOperation> =
        [("active", Value::from(active)), ("timers", timers)].into_iter().filter_map(set).collect();
    let times_changed = operations.iter().any(|operation| operation.path == Pointer::from_keys(["timers"]));
    if times_changed && outcome.timers != LoreTimers::default() {
        // The text being continued has no row of its own yet.
        let continued = u64::from(matches!(purpose.generation_task, GenerationTask::Continue { .. }));
        let tally = MessageCountMark { node: snapshot.at.node.id, messages: outcome.count.saturating_sub(continued) };
        operations.extend(set((COUNT_KEY, serde_json::to_value(tally).unwrap_or_default())));
    }
    operations
}
