//! Lore at a scene: which lorebooks hold there, what they call up in what was said, and where it goes (`docs/lore.md`).
//!
//! Books come from the store by what they hold for, read once and then from the shelf; [`clotho_compat::prompt::lore`] says
//! what fires. What was in mind and which times run becomes a part of the world, by operations of the reply: so both go
//! back with the branch, a preview changes nothing, and a reply that fails leaves no trace of them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use clotho_compat::prompt::lore::{
    ActiveEntry, LoreHost, LoreOverride, LorePlacement, LoreTimers, LoreVerdict, LorebookScope, ScanBook,
    ScanCharacter, ScanMessage, ScanOutcome, ScanRequest, ScopedBook, WorldInfoSettings, scan,
};
use clotho_compat::prompt::{PromptCast, TokenMeasure, preset};
use clotho_core::ids::{LorebookId, NodeId, UserId};
use clotho_core::tree::{Role, lorebook};
use clotho_core::world::{Pointer, StateChange, StateOperation, WorldSection};
use clotho_plugin::LoreSelection;
use clotho_store::{BindingTarget, HeldBook, PathFilter, StoreError, StoreReader};

use super::lorebook_cache::LorebookCache;
use super::macro_context::{self, GenerationTask, PromptPurpose};
use super::plan::PromptPlan;
use super::recall::PromptRecallQuery;
use super::regex_scripts::PromptScripts;
use super::similar::{self, SimilarEntries};
use crate::turn::cast;
use crate::turn::rules::hooks::SERVER;
use crate::turn::snapshot::TurnSnapshot;

/// Messages beyond this are never looked at.
const MAX_MESSAGES: usize = 1_000;
/// So many entries are said to be in mind, and to have been stopped.
const MAX_LISTED: usize = 200;
/// Of a title so many letters are told.
const MAX_TITLE_CHARS: usize = 200;
/// So many lines of lore are counted once and then known.
const MAX_CACHED_LINES: usize = 4_096;
/// Messages are counted this far back at least, and at most.
const NEAREST: i64 = 1_000;
const FARTHEST: i64 = 100_000;
/// Where the world keeps what was counted.
const COUNT_KEY: &str = "counted";
/// The depth of what does not say one.
const DEPTH: i64 = 4;
/// Why operations of lore are there.
const WHY: &str = "lore";
/// The folder by which a character's file is known that came from elsewhere.
const FILES: &str = "characters/";

/// The lorebooks that hold somewhere.
#[derive(Debug, Default)]
pub struct ActiveLorebooks {
    books: Vec<(LorebookScope, Arc<ScanBook>)>,
    who: ScanCharacter,
    settings: WorldInfoSettings,
}

/// What is looked at beside the books.
#[derive(Debug)]
pub struct LoreScanContext<'h> {
    /// What was said, oldest first.
    pub said: &'h [preset::HistoryMessage],
    /// Texts of others that lore may look at, too.
    pub open: &'h [String],
    /// Tokens that the whole prompt may take.
    pub prompt_tokens: usize,
    /// Tokens that lore takes at most, whatever its own settings say.
    pub lore_limit: usize,
    /// What the prompt is made for.
    pub purpose: &'h PromptPurpose,
    /// What texts are measured by.
    pub measure: &'h TokenMeasure,
    /// What entries may be found by that fit what was said.
    pub recall_query: &'h PromptRecallQuery,
    /// What plugins wish.
    pub requests: &'h [LoreOverride],
}

/// What fires, and why.
#[derive(Debug, Clone)]
pub struct LoreScanReport {
    /// What came of it.
    pub outcome: ScanOutcome,
    /// How entries were found that fit what was said; nothing where none may be.
    pub similar: Option<Value>,
}

/// What lore does to a prompt and to the world.
#[derive(Debug, Clone, Default)]
pub struct LorePromptEffects {
    /// Where its texts go.
    pub lore: preset::PromptLore,
    /// The texts that macros ask for.
    pub outlets: BTreeMap<String, String>,
    /// What is in mind from now on, and which times run.
    pub operations: Vec<StateOperation>,
    /// What is said only to the model that keeps the values, where that is another one.
    pub values_prompt: Vec<String>,
    /// What fired and what was stopped, for the trace; nothing where no book holds.
    pub told: Option<Value>,
}

impl ActiveLorebooks {
    /// Those that hold at a scene.
    ///
    /// # Errors
    /// The database fails.
    pub fn read(reader: &mut StoreReader<'_>, scene: &TurnSnapshot, shelf: &LorebookCache) -> Result<Self, StoreError> {
        let session = scene.session();
        let card = answering_card(reader, scene)?;
        let mut held: Vec<(LorebookScope, HeldBook)> = Vec::new();
        for id in lorebook::card_lorebooks(&card) {
            held.extend(reader.lorebook_version(session.owner, id)?.map(|book| (LorebookScope::Character, book)));
        }
        let persona = scene.user_persona.persona.or(session.persona.as_ref().map(|persona| persona.id));
        for (scope, what) in [
            (LorebookScope::Character, scene.speaker.map(BindingTarget::Character)),
            (LorebookScope::Global, Some(BindingTarget::Everything)),
            (LorebookScope::Chat, Some(BindingTarget::Session(session.id))),
            (LorebookScope::Persona, persona.map(BindingTarget::Persona)),
        ] {
            let Some(what) = what else { continue };
            held.extend(reader.bound_lorebooks(session.owner, what)?.into_iter().map(|book| (scope, book)));
        }
        let mut own = Self::default();
        own.take(reader, session.owner, shelf, held)?;
        if !own.books.is_empty() {
            own.who = scan_character(reader, scene, &card)?;
        }
        Ok(own)
    }

    /// Takes further books; with the first one come the house rules of whose they are.
    ///
    /// # Errors
    /// The database fails.
    pub fn take(
        &mut self,
        reader: &mut StoreReader<'_>,
        owner: UserId,
        shelf: &LorebookCache,
        held: impl IntoIterator<Item = (LorebookScope, HeldBook)>,
    ) -> Result<(), StoreError> {
        for (scope, held) in held {
            let book = match shelf.take(held.id, held.updated) {
                Some(book) => Some(book),
                None => read_lorebook(reader, owner, held.id)?.inspect(|book| shelf.put(held.id, held.updated, book)),
            };
            if book.is_some() && self.books.is_empty() {
                self.settings = world_info_settings(reader, owner)?;
            }
            self.books.extend(book.map(|book| (scope, book)));
        }
        Ok(())
    }

    /// The books, each with what it is bound to.
    pub fn books(&self) -> impl Iterator<Item = (LorebookScope, &ScanBook)> {
        self.books.iter().map(|(scope, book)| (*scope, book.as_ref()))
    }

    /// What they are called: `{id, name, scope}`.
    pub fn named(&self) -> Vec<Value> {
        let named = self.books().map(|(scope, book)| json!({"id": book.id, "name": book.name, "scope": scope.word()}));
        named.collect()
    }

    /// How many messages they want to look at.
    pub fn scan_depth(&self) -> usize {
        let own = usize::try_from(self.settings.depth).unwrap_or(0);
        let deepest = self.books().map(|(_, book)| book.max_scan_depth()).max();
        let similar = &self.settings.similar;
        let fits = similar.entries > 0
            && self.books().any(|(_, book)| book.content_matched_entries(similar.all).next().is_some());
        let own = own.max(if fits { similar.messages } else { 0 });
        deepest.map_or(0, |deepest| deepest.max(own).min(MAX_MESSAGES))
    }

    /// What they call up at a scene.
    ///
    /// # Errors
    /// The database fails.
    pub fn activate(
        &self,
        reader: &mut StoreReader<'_>,
        scene: &TurnSnapshot,
        heard: &LoreScanContext<'_>,
        scripted: &mut PromptScripts<'_, '_>,
    ) -> Result<LorePromptEffects, StoreError> {
        if self.books.is_empty() && scene.world.lore.is_empty() {
            return Ok(LorePromptEffects::default());
        }
        let LoreScanReport { outcome, similar } = self.outcome(reader, scene, heard, scripted)?;
        let outlets = outcome.placement.outlets.iter().map(|(name, texts)| (name.clone(), texts.join("\n")));
        Ok(LorePromptEffects {
            outlets: outlets.collect(),
            operations: state_operations(scene, heard.purpose, &outcome),
            told: (!self.books.is_empty()).then(|| self.to_trace(&outcome, similar, heard.measure)),
            values_prompt: outcome.values,
            lore: prompt_lore(outcome.placement),
        })
    }

    /// What fires at a scene, and why.
    ///
    /// # Errors
    /// The database fails.
    pub fn outcome(
        &self,
        reader: &mut StoreReader<'_>,
        scene: &TurnSnapshot,
        heard: &LoreScanContext<'_>,
        scripted: &mut PromptScripts<'_, '_>,
    ) -> Result<LoreScanReport, StoreError> {
        let timers = scene.world.lore.get("timers").cloned().and_then(|timers| serde_json::from_value(timers).ok());
        let timers: LoreTimers = timers.unwrap_or_default();
        let counts = timers != LoreTimers::default() || self.books().any(|(_, book)| book.counts_messages());
        let delay = self.books().map(|(_, book)| book.longest_delay()).max().unwrap_or(0);
        let reach = MessageCountRange {
            is_running: timers != LoreTimers::default(),
            delay: i64::try_from(delay).unwrap_or(i64::MAX),
        };
        let newest_first = heard.said.iter().rev().take(MAX_MESSAGES);
        let texts: Vec<&str> = newest_first.clone().map(|said| said.text.as_str()).collect();
        let SimilarEntries { near, told: similar } = self.similar_entries(reader, &texts, heard.recall_query)?;
        let scanned = ScanRequest {
            messages: newest_first
                .map(|said| ScanMessage { name: said.name.clone(), text: said.text.clone() })
                .collect(),
            count: if counts { count_messages(reader, scene, heard, reach)? } else { 0 },
            card: card_texts(&scene.cast),
            injects: heard.open.to_vec(),
            trigger: heard.purpose.word().to_owned(),
            audience: heard.purpose.values_call(),
            has_values_call: scene.values_model().is_some(),
            character: self.who.clone(),
            prompt: heard.prompt_tokens,
            similar: near,
            overrides: heard.requests.to_vec(),
            max_tokens: Some(heard.lore_limit),
            ..ScanRequest::default()
        };
        let mut draw = macro_context::seeded_random_for(scene, heard.purpose, WHY);
        let outcome = self.scan(&scanned, &timers, &mut PromptScanHost::new(scripted, &mut draw, heard.measure));
        Ok(LoreScanReport { outcome, similar })
    }

    /// The entries that fit what was said, the newest of it first.
    ///
    /// # Errors
    /// The database fails.
    pub fn similar_entries(
        &self,
        reader: &mut StoreReader<'_>,
        newest_first: &[&str],
        cue: &PromptRecallQuery,
    ) -> Result<SimilarEntries, StoreError> {
        let books: Vec<&Arc<ScanBook>> = self.books.iter().map(|(_, book)| book).collect();
        similar::find_similar(reader, &books, &self.settings.similar, newest_first, cue)
    }

    /// What plugins wish of these books. An entry that is not there, or switched off, is told to who asked for it.
    pub fn plugin_requests(&self, planned: &mut PromptPlan) -> Vec<LoreOverride> {
        if planned.lore_requests.is_empty() {
            return Vec::new();
        }
        let mut places: HashMap<&str, Vec<(usize, usize, bool)>> =
            planned.lore_requests.iter().map(|(_, _, wish)| (wish.entry.as_str(), Vec::new())).collect();
        for (n, (_, book)) in self.books().enumerate() {
            for (at, entry) in book.entries.iter().enumerate() {
                let title = Some(entry.title.trim()).filter(|title| *title != entry.uid);
                for name in title.into_iter().chain([entry.uid.as_str()]) {
                    places.get_mut(name).into_iter().for_each(|places| places.push((n, at, entry.is_off())));
                }
            }
        }
        let (mut wishes, mut told) = (Vec::new(), Vec::new());
        for (run, plugin, LoreSelection { entry, is_included: is_in }) in &planned.lore_requests {
            let places = places.get(entry.as_str()).map(Vec::as_slice).unwrap_or_default();
            let (name, short) = (if *is_in { "lore" } else { "unlore" }, entry.chars().take(80).collect::<String>());
            if places.is_empty() {
                told.push((*run, format!("{name}(\"{short}\"): no lorebook in force here has such an entry")));
            } else if *is_in && places.iter().all(|(.., is_off)| *is_off) {
                told.push((*run, format!("{name}(\"{short}\"): the entry is switched off")));
            }
            let wish = |(book, entry, _): &(usize, usize, bool)| LoreOverride {
                book: *book,
                entry: *entry,
                is_activated: *is_in,
                plugin: plugin.clone(),
            };
            wishes.extend(places.iter().map(wish));
        }
        told.iter().for_each(|(run, line)| planned.warn(*run, line));
        wishes
    }

    /// Looks through the books.
    pub fn scan(
        &self,
        scanned: &ScanRequest,
        timers: &LoreTimers,
        asked: &mut PromptScanHost<'_, '_, '_, '_>,
    ) -> ScanOutcome {
        let bound: Vec<ScopedBook<'_>> = self.books().map(|(scope, book)| ScopedBook { scope, book }).collect();
        scan(&bound, &self.settings, scanned, timers, asked)
    }

    /// What a trace keeps of it.
    fn to_trace(&self, outcome: &ScanOutcome, similar: Option<Value>, measure: &TokenMeasure) -> Value {
        let fired = outcome.active.iter().take(MAX_LISTED).map(|fired| Value::Object(told(fired, measure)));
        json!({
            "books": self.named(),
            "fired": fired.collect::<Vec<_>>(),
            "firedInAll": outcome.active.len(),
            "stopped": outcome.stopped.iter().take(MAX_LISTED).map(verdict_trace).collect::<Vec<_>>(),
            "stoppedInAll": outcome.stopped.len(),
            "silent": outcome.silent,
            "budget": outcome.budget,
            "overflowed": outcome.overflowed,
            "passes": outcome.passes,
            "similar": similar,
            "notes": outcome.notes,
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

/// The card of who answers as it is now, for it says which books belong to it; of one that is gone the version that the
/// session keeps.
fn answering_card(reader: &mut StoreReader<'_>, scene: &TurnSnapshot) -> Result<Map<String, Value>, StoreError> {
    let session = scene.session();
    let Some(own) = cast::speaker(session, scene.speaker) else { return Ok(Map::new()) };
    match reader.character(session.owner, own.id)? {
        Some(character) => Ok(character.card),
        None => Ok(cast::card_object(&reader.blob(&own.hash)?)),
    }
}

/// Who answers, as entries that are for some only name it: by the file that it came in, else by its name; and its tags.
fn scan_character(
    reader: &mut StoreReader<'_>,
    scene: &TurnSnapshot,
    card: &Map<String, Value>,
) -> Result<ScanCharacter, StoreError> {
    let sources = match scene.speaker {
        Some(id) => reader.sources_of(scene.session().owner, id.as_bytes())?,
        None => Vec::new(),
    };
    let file = sources.iter().find_map(|source| source.name.strip_prefix(FILES));
    let file = file.unwrap_or(&scene.cast.character).to_owned();
    let tags = card.get("tags").and_then(Value::as_array).into_iter().flatten();
    Ok(ScanCharacter { file, tags: tags.filter_map(Value::as_str).map(str::to_owned).collect() })
}

/// How many messages there are to be seen in the story, as far as times need it: from where they were counted last, so
/// that a deep story costs no more than times last. The first time, and for entries that wait for a long story, as far
/// as those look.
fn count_messages(
    reader: &mut StoreReader<'_>,
    scene: &TurnSnapshot,
    heard: &LoreScanContext<'_>,
    reach: MessageCountRange,
) -> Result<u64, StoreError> {
    // A message that a preview pretends to be written stands in no row.
    let (at, unwritten) = match scene.at.n {
        0 => (scene.at.node.parent.map(|parent| reader.node(&scene.stored, parent)).transpose()?.flatten(), 1),
        _ => (Some(scene.at.clone()), 0),
    };
    let continued = u64::from(matches!(heard.purpose.generation_task, GenerationTask::Continue(_)));
    let Some(at) = at else { return Ok(unwritten + continued) };
    let last: Option<MessageCountMark> =
        scene.world.lore.get(COUNT_KEY).cloned().and_then(|tally| serde_json::from_value(tally).ok());
    let last = last.filter(|_| reach.is_running);
    let until = match &last {
        Some(tally) => reader.node(&scene.stored, tally.node)?.map(|placed| placed.n),
        None => None,
    };
    let most = if reach.is_running { FARTHEST } else { reach.delay.clamp(NEAREST, FARTHEST) };
    let (seen, is_met) = reader.count_ancestors(&at, until, PathFilter::Enabled, most)?;
    let before = last.filter(|_| is_met).map_or(0, |tally| tally.messages);
    Ok(seen + before + unwritten + continued)
}

/// How far back messages are counted.
#[derive(Debug, Clone, Copy)]
struct MessageCountRange {
    /// Times run already: they go by what was counted when they began.
    is_running: bool,
    /// The longest wait of an entry for a story to be long enough.
    delay: i64,
}

/// What was counted when a time last began or ended: so many messages up to and with this one.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct MessageCountMark {
    node: NodeId,
    messages: u64,
}

/// The texts of the cards that an entry may look at, in the order of [`clotho_compat::prompt::lore::CARD_TEXTS`], with names
/// filled in.
fn card_texts(cast: &PromptCast) -> [String; 6] {
    let names = cast.names();
    [&cast.persona, &cast.description, &cast.personality, &cast.depth_prompt, &cast.scenario, &cast.creator_notes]
        .map(|text| names.fill(text))
}

/// The house rules of lore that a user has.
///
/// # Errors
/// The database fails.
pub fn world_info_settings(reader: &mut StoreReader<'_>, owner: UserId) -> Result<WorldInfoSettings, StoreError> {
    Ok(WorldInfoSettings::from_stored(reader.lore_settings(owner)?))
}

/// What activation asks of the rest of a prompt.
pub struct PromptScanHost<'s, 'm, 'a, 'd> {
    scripted: &'s mut PromptScripts<'m, 'a>,
    draw: &'d mut dyn FnMut() -> f64,
    measure: &'d TokenMeasure,
    /// Tokens of lines that were counted already: what is called up is counted again with each entry.
    counted: HashMap<String, usize>,
}

impl<'s, 'm, 'a, 'd> PromptScanHost<'s, 'm, 'a, 'd> {
    /// Asks these.
    pub fn new(
        scripted: &'s mut PromptScripts<'m, 'a>,
        draw: &'d mut dyn FnMut() -> f64,
        measure: &'d TokenMeasure,
    ) -> Self {
        Self { scripted, draw, measure, counted: HashMap::new() }
    }

    /// Tokens of a line. A tokenizer takes longer to count than to look up what it said.
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

    fn script(&mut self, text: String, depth: Option<i64>) -> String {
        self.scripted.lore(text, depth)
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

    fn tokens(&mut self, text: &str) -> usize {
        if !self.measure.is_exact() {
            return entry_tokens(self.measure, text);
        }
        text.split_inclusive('\n').map(|line| self.line(line)).sum()
    }

    fn random(&mut self) -> f64 {
        (self.draw)()
    }
}

/// Tokens of an entry's text; none of an empty one.
fn entry_tokens(measure: &TokenMeasure, text: &str) -> usize {
    if text.is_empty() { 0 } else { measure.text(text) }
}

/// What somebody is told of an active entry: what it is, why, and how many tokens it takes.
pub fn told(fired: &ActiveEntry, measure: &TokenMeasure) -> Map<String, Value> {
    let mut told = match verdict_trace(&fired.verdict) {
        Value::Object(told) => told,
        _ => Map::new(),
    };
    told.insert("tokens".to_owned(), entry_tokens(measure, &fired.text).into());
    told
}

/// Where the texts go, as a preset takes them.
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

/// What somebody is told of one entry.
pub fn verdict_trace(verdict: &LoreVerdict) -> Value {
    let title = verdict.title.chars().take(MAX_TITLE_CHARS).collect();
    serde_json::to_value(LoreVerdict { title, ..verdict.clone() }).unwrap_or_default()
}

/// What is in mind from now on, and which times run, where that is not so already; and with times what they go by.
fn state_operations(scene: &TurnSnapshot, purpose: &PromptPurpose, outcome: &ScanOutcome) -> Vec<StateOperation> {
    let now = &scene.world.lore;
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
            ..StateOperation::new(Pointer::from_keys([key]), change, WHY, SERVER)
        })
    };
    let mut operations: Vec<StateOperation> =
        [("active", Value::from(active)), ("timers", timers)].into_iter().filter_map(set).collect();
    let times_changed = operations.iter().any(|operation| operation.path == Pointer::from_keys(["timers"]));
    if times_changed && outcome.timers != LoreTimers::default() {
        // What is continued stands in no row of its own yet.
        let continued = u64::from(matches!(purpose.generation_task, GenerationTask::Continue(_)));
        let tally = MessageCountMark { node: scene.at.node.id, messages: outcome.count.saturating_sub(continued) };
        operations.extend(set((COUNT_KEY, serde_json::to_value(tally).unwrap_or_default())));
    }
    operations
}
