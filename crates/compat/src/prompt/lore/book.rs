//! A parsed lorebook, and the books of a story in their order.

use std::sync::OnceLock;

use serde_json::{Map, Value};

use super::entry::{LorebookEntry, MAX_KEYS, has_more_keys};
use super::key_finder::KeyFinder;
use super::key_pattern::WordCharacters;
use super::note::LoreNote;
use super::settings::InsertionStrategy;
use super::word_index::{LoreWordIndex, WordSplitter};

/// Largest number of entries that are read from one book.
const MAX_ENTRIES: usize = 100_000;

/// A parsed lorebook.
#[derive(Debug)]
pub struct ScanBook {
    /// Identifier; a book with the same one in two scopes is one book.
    pub id: String,
    pub name: String,
    /// Entries; numbered keys first, in order.
    pub entries: Vec<LorebookEntry>,
    pub(super) finder: KeyFinder,
    pub(super) word_characters: WordCharacters,
    /// Orders of the entries with their indices, highest order first.
    sorted: Vec<(f64, usize)>,
    /// Largest scan depth that an entry sets itself.
    pub(super) max_scan_depth: i64,
    /// Recursion levels that entries wait for.
    pub(super) recursion_levels: Vec<i64>,
    /// Indices of the entries with sticky or cooldown.
    pub(super) timed_entries: Vec<usize>,
    /// Word indices: of the vectorized entries, and of all entries.
    words: [OnceLock<LoreWordIndex>; 2],
    /// Messages to the user about parts that could not be read.
    pub notes: Vec<LoreNote>,
}

impl ScanBook {
    /// Reads a book from world info. `entries` is an object or a list. Whole-number keys are sorted; other keys follow
    /// in file order.
    pub fn read(id: impl Into<String>, name: impl Into<String>, book: &Map<String, Value>) -> Self {
        let listed: Vec<(String, &Value)> = match book.get("entries") {
            Some(Value::Object(map)) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
            Some(Value::Array(list)) => list.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
            _ => Vec::new(),
        };
        let mut numbered: Vec<(u64, String, &Map<String, Value>)> =
            listed.into_iter().filter_map(|(key, value)| Some((numeric_key(&key), key, value.as_object()?))).collect();
        numbered.sort_by_key(|(number, ..)| *number);
        // Read the entries, up to the limits.
        let mut notes = Vec::new();
        if numbered.len() > MAX_ENTRIES {
            notes.push(LoreNote::TooManyEntries { limit: MAX_ENTRIES });
        }
        let mut entries: Vec<LorebookEntry> = numbered
            .into_iter()
            .take(MAX_ENTRIES)
            .map(|(_, key, entry)| {
                let uid = uid(entry, key);
                if has_more_keys(entry) {
                    notes.push(LoreNote::TooManyEntryKeys { limit: MAX_KEYS, uid: uid.clone() });
                }
                LorebookEntry::read(uid, entry)
            })
            .collect();
        // Prepare what every scan needs: the automaton, the sort order, the recursion levels and timed entries.
        let word_characters = WordCharacters::read(book.get(WordCharacters::FIELD));
        let finder = KeyFinder::new(&mut entries, word_characters);
        let mut sorted: Vec<(f64, usize)> = entries.iter().enumerate().map(|(at, entry)| (entry.order, at)).collect();
        sorted.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let mut recursion_levels: Vec<i64> =
            entries.iter().map(|entry| entry.recursion_delay).filter(|level| *level != 0).collect();
        recursion_levels.sort_unstable();
        recursion_levels.dedup();
        let max_scan_depth = entries.iter().filter_map(|entry| entry.scan_depth).max().unwrap_or(0);
        let lasts = |entry: &LorebookEntry| entry.sticky > 0 || entry.cooldown > 0;
        let timed_entries = entries.iter().enumerate().filter(|(_, entry)| lasts(entry)).map(|(at, _)| at).collect();
        Self {
            id: id.into(),
            name: name.into(),
            entries,
            finder,
            word_characters,
            sorted,
            max_scan_depth,
            recursion_levels,
            timed_entries,
            words: Default::default(),
            notes,
        }
    }
}

impl ScanBook {
    /// Returns the longest delay of an entry, in messages.
    pub fn longest_delay(&self) -> u64 {
        self.entries.iter().map(|entry| entry.delay).max().unwrap_or(0)
    }

    /// Returns the largest scan depth that an entry sets itself, in messages.
    pub fn max_scan_depth(&self) -> usize {
        usize::try_from(self.max_scan_depth).unwrap_or(0)
    }

    /// Returns the indices of entries that may match by content: all enabled ones, or only the vectorized ones.
    pub fn content_matched_entries(&self, all: bool) -> impl Iterator<Item = usize> {
        self.entries.iter().enumerate().filter(move |(_, entry)| entry.may_match_content(all)).map(|(at, _)| at)
    }

    /// Returns the word index of those entries; built on first use.
    pub fn word_index(&self, all: bool, cut: WordSplitter<'_>) -> &LoreWordIndex {
        let [some, every] = &self.words;
        let own = if all { every } else { some };
        own.get_or_init(|| {
            LoreWordIndex::build(self.content_matched_entries(all).filter_map(|at| self.entries.get(at)), cut)
        })
    }

    /// Returns whether an entry depends on the number of messages in the story.
    pub fn counts_messages(&self) -> bool {
        !self.timed_entries.is_empty() || self.entries.iter().any(|entry| entry.delay > 0)
    }

    /// Estimates the memory use in bytes.
    pub fn bytes(&self) -> usize {
        let keys = |entry: &LorebookEntry| {
            entry.keys.iter().chain(&entry.secondary).map(|key| 300 + key.text.len() * 4).sum::<usize>()
        };
        // Vectorized entries also have a word index.
        let words = |entry: &LorebookEntry| if entry.may_match_content(false) { entry.content.len() * 2 } else { 0 };
        let entry = |entry: &LorebookEntry| 600 + entry.content.len() + entry.title.len() + keys(entry) + words(entry);
        self.entries.iter().map(entry).sum()
    }
}

/// Returns the sort number of a key: whole numbers come before all other keys.
fn numeric_key(key: &str) -> u64 {
    let is_plain = key == "0" || (!key.starts_with('0') && key.bytes().all(|byte| byte.is_ascii_digit()));
    key.parse::<u32>().ok().filter(|_| is_plain).map_or(u64::MAX, u64::from)
}

fn uid(entry: &Map<String, Value>, key: String) -> String {
    match entry.get("uid") {
        Some(Value::Number(uid)) => uid.to_string(),
        Some(Value::String(uid)) => uid.clone(),
        _ => key,
    }
}

/// What a book is linked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LorebookScope {
    /// All sessions.
    Global,
    Chat,
    Persona,
    Character,
}

impl LorebookScope {
    /// Returns the word used in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Chat => "session",
            Self::Persona => "persona",
            Self::Character => "character",
        }
    }
}

/// A book with its scope.
#[derive(Debug, Clone, Copy)]
pub struct ScopedBook<'a> {
    pub scope: LorebookScope,
    pub book: &'a ScanBook,
}

/// Returns the entries in the order in which they are checked and use up the budget, as pairs of book and entry index.
pub fn ordered_entries(books: &[ScopedBook<'_>], strategy: InsertionStrategy) -> Vec<(usize, usize)> {
    let of = |scopes: &[LorebookScope]| {
        let mut list: Vec<(f64, usize, usize)> = Vec::new();
        for scope in scopes {
            for (at, bound) in books.iter().enumerate().filter(|(_, bound)| bound.scope == *scope) {
                if !is_read_before(books, at) {
                    list.extend(bound.book.sorted.iter().map(|(order, entry)| (*order, at, *entry)));
                }
            }
        }
        // The books are already sorted, so this only merges them.
        list.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
        list.into_iter().map(|(_, book, entry)| (book, entry))
    };
    let (chat, persona) = (of(&[LorebookScope::Chat]), of(&[LorebookScope::Persona]));
    let rest: Vec<(usize, usize)> = match strategy {
        InsertionStrategy::Evenly => of(&[LorebookScope::Global, LorebookScope::Character]).collect(),
        InsertionStrategy::CharacterFirst => {
            of(&[LorebookScope::Character]).chain(of(&[LorebookScope::Global])).collect()
        }
        InsertionStrategy::GlobalFirst => of(&[LorebookScope::Global]).chain(of(&[LorebookScope::Character])).collect(),
    };
    chat.chain(persona).chain(rest).collect()
}

/// Returns whether a book is already read in an earlier scope: global, then session, persona, character.
fn is_read_before(books: &[ScopedBook<'_>], at: usize) -> bool {
    let Some(own) = books.get(at) else { return true };
    books.iter().enumerate().any(|(other, bound)| {
        bound.book.id == own.book.id && (bound.scope < own.scope || (bound.scope == own.scope && other < at))
    })
}
