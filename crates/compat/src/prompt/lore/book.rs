//! A book, read once and scanned often; and the books of a story in their order.

use std::sync::OnceLock;

use serde_json::{Map, Value};

use super::entry::{LorebookEntry, MAX_KEYS, has_more_keys};
use super::key_finder::KeyFinder;
use super::settings::InsertionStrategy;
use super::word_index::{LoreWordIndex, WordSplitter};

/// Entries of one book beyond this are not read.
const MAX_ENTRIES: usize = 100_000;

/// A lorebook.
#[derive(Debug)]
pub struct ScanBook {
    /// What it is known by: the same in two scopes is one book.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// Its entries, by number.
    pub entries: Vec<LorebookEntry>,
    pub(super) finder: KeyFinder,
    /// The orders of its entries with their places, the highest first.
    sorted: Vec<(f64, usize)>,
    /// How deep its entries look that say so themselves.
    pub(super) max_scan_depth: i64,
    /// The levels of recursion for which its entries wait.
    pub(super) recursion_levels: Vec<i64>,
    /// Its entries for which times run.
    pub(super) timed_entries: Vec<usize>,
    /// The words of those that may be called up without a key: of those that say so, and of all.
    words: [OnceLock<LoreWordIndex>; 2],
    /// What of it could not be read, in words for the user.
    pub notes: Vec<String>,
}

impl ScanBook {
    /// Reads a book from world info. Entries come as an object or a list; whole numbers as keys come in their order,
    /// others behind them as they stand.
    pub fn read(id: impl Into<String>, name: impl Into<String>, book: &Map<String, Value>) -> Self {
        let listed: Vec<(String, &Value)> = match book.get("entries") {
            Some(Value::Object(map)) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
            Some(Value::Array(list)) => list.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
            _ => Vec::new(),
        };
        let mut numbered: Vec<(u64, String, &Map<String, Value>)> =
            listed.into_iter().filter_map(|(key, value)| Some((numeric_key(&key), key, value.as_object()?))).collect();
        numbered.sort_by_key(|(number, ..)| *number);
        let mut notes = Vec::new();
        if numbered.len() > MAX_ENTRIES {
            notes.push(format!("only the first {MAX_ENTRIES} entries of a book are read"));
        }
        let mut entries: Vec<LorebookEntry> = numbered
            .into_iter()
            .take(MAX_ENTRIES)
            .map(|(_, key, entry)| {
                let uid = uid(entry, key);
                if has_more_keys(entry) {
                    notes.push(format!("only the first {MAX_KEYS} keys of entry {uid} are looked for"));
                }
                LorebookEntry::read(uid, entry)
            })
            .collect();
        let finder = KeyFinder::new(&mut entries);
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
    /// The longest that one of its entries waits for a story to be long enough, in messages.
    pub fn longest_delay(&self) -> u64 {
        self.entries.iter().map(|entry| entry.delay).max().unwrap_or(0)
    }

    /// How many messages back its entries look, at most.
    pub fn max_scan_depth(&self) -> usize {
        usize::try_from(self.max_scan_depth).unwrap_or(0)
    }

    /// The places of the entries that may be called up by what they say; of all, or of those that say so.
    pub fn content_matched_entries(&self, all: bool) -> impl Iterator<Item = usize> {
        self.entries.iter().enumerate().filter(move |(_, entry)| entry.may_match_content(all)).map(|(at, _)| at)
    }

    /// The words of those, in their order; cut once and then known.
    pub fn words(&self, all: bool, cut: WordSplitter<'_>) -> &LoreWordIndex {
        let [some, every] = &self.words;
        let own = if all { every } else { some };
        own.get_or_init(|| {
            LoreWordIndex::build(self.content_matched_entries(all).filter_map(|at| self.entries.get(at)), cut)
        })
    }

    /// Whether anything of it goes by how many messages there are in the whole story.
    pub fn counts_messages(&self) -> bool {
        !self.timed_entries.is_empty() || self.entries.iter().any(|entry| entry.delay > 0)
    }

    /// A rough count of the bytes that it takes in memory.
    pub fn bytes(&self) -> usize {
        let keys = |entry: &LorebookEntry| {
            entry.keys.iter().chain(&entry.secondary).map(|key| 300 + key.written.len() * 4).sum::<usize>()
        };
        // Who may be called up by what it says has its words beside it.
        let words = |entry: &LorebookEntry| if entry.may_match_content(false) { entry.content.len() * 2 } else { 0 };
        let entry = |entry: &LorebookEntry| 600 + entry.content.len() + entry.title.len() + keys(entry) + words(entry);
        self.entries.iter().map(entry).sum()
    }
}

/// A whole number as a key stands before all others.
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

/// To what a book is bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LorebookScope {
    /// Everything.
    Global,
    /// The session.
    Chat,
    /// The persona.
    Persona,
    /// The character.
    Character,
}

impl LorebookScope {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Chat => "session",
            Self::Persona => "persona",
            Self::Character => "character",
        }
    }
}

/// A book, and to what it is bound.
#[derive(Debug, Clone, Copy)]
pub struct ScopedBook<'a> {
    /// To what.
    pub scope: LorebookScope,
    /// The book.
    pub book: &'a ScanBook,
}

/// Entries in the order in which they are looked at and take their room: each with the place of its book and its own.
pub fn listed(books: &[ScopedBook<'_>], strategy: InsertionStrategy) -> Vec<(usize, usize)> {
    let of = |scopes: &[LorebookScope]| {
        let mut list: Vec<(f64, usize, usize)> = Vec::new();
        for scope in scopes {
            for (at, bound) in books.iter().enumerate().filter(|(_, bound)| bound.scope == *scope) {
                if !is_read_before(books, at) {
                    list.extend(bound.book.sorted.iter().map(|(order, entry)| (*order, at, *entry)));
                }
            }
        }
        // Books that are in order already: this only merges them.
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

/// A book bound twice is read once: for everything, else for the session, else for the persona, else for the character.
fn is_read_before(books: &[ScopedBook<'_>], at: usize) -> bool {
    let Some(own) = books.get(at) else { return true };
    books.iter().enumerate().any(|(other, bound)| {
        bound.book.id == own.book.id && (bound.scope < own.scope || (bound.scope == own.scope && other < at))
    })
}
