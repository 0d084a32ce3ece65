//! Finds all plain keys of a book at once: one pass over each text tells which keys are in it, and where.
//!
//! The automaton holds the folded prefix of each key. A key without a hit is not in the text, whatever the
//! settings. A key that the automaton holds whole is in the text, unless matching is case-sensitive. So few texts are
//! searched key by key.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::entry::LorebookEntry;
use super::key_pattern::{KeyPattern, WordCharacters};
use super::keys::fold_key;

/// Bytes of a key that the automaton holds. Most keys fit; huge keys, or many with a common prefix, cost no more.
const MAX_PREFIX_BYTES: usize = 32;

/// A part of what is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanPart {
    /// A message; 0 is the newest.
    Message(usize),
    /// A card text, by index in `CARD_TEXTS`.
    Card(usize),
    /// Texts that other parts inject into the prompt.
    Inject,
    /// Texts of entries that became active.
    Recursion,
}

/// The parts of the text that an entry scans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ScanReach {
    /// Number of messages; 0 = nothing at all.
    pub messages: usize,
    /// Which card texts.
    pub card: [bool; 6],
    /// Texts of activated entries.
    pub recursion: bool,
}

/// Where a key was found: anywhere, and as a whole word.
#[derive(Debug, Clone, Copy)]
pub struct KeyHits([HitPositions; 2]);

#[derive(Debug, Clone, Copy)]
struct HitPositions {
    message: usize,
    card: [bool; 6],
    inject: bool,
    recursion: bool,
}

impl KeyHits {
    const NONE: Self = {
        let nowhere = HitPositions { message: usize::MAX, card: [false; 6], inject: false, recursion: false };
        Self([nowhere, nowhere])
    };

    fn add(&mut self, part: ScanPart, is_word: bool) {
        let [anywhere, as_word] = &mut self.0;
        anywhere.add(part);
        if is_word {
            as_word.add(part);
        }
    }

    /// Returns whether the key was found within reach, as a whole word or anywhere.
    pub fn is_within(&self, reach: &ScanReach, as_word: bool) -> bool {
        let [anywhere, word] = &self.0;
        let places = if as_word { word } else { anywhere };
        let in_card = || places.card.iter().zip(reach.card).any(|(is_there, looks)| *is_there && looks);
        let in_rest = || places.inject || in_card() || (reach.recursion && places.recursion);
        reach.messages > 0 && (places.message < reach.messages || in_rest())
    }
}

impl HitPositions {
    fn add(&mut self, part: ScanPart) {
        match part {
            ScanPart::Message(at) => self.message = self.message.min(at),
            ScanPart::Card(at) => self.card.get_mut(at).into_iter().for_each(|is_there| *is_there = true),
            ScanPart::Inject => self.inject = true,
            ScanPart::Recursion => self.recursion = true,
        }
    }
}

/// The plain keys of one book.
#[derive(Debug)]
pub struct KeyFinder {
    automaton: Option<AhoCorasick>,
    word_characters: WordCharacters,
    /// For each pattern, the entries that have it as a primary key, as indices in the book.
    owners: Vec<Vec<usize>>,
    /// Entries that must always be checked, because no scan can rule them out.
    pub unfiltered: Vec<usize>,
}

impl KeyFinder {
    /// Builds the automaton from the keys of the entries, and stores in each key its pattern.
    pub fn new(entries: &mut [LorebookEntry], word_characters: WordCharacters) -> Self {
        let mut words = KeyPatternBuilder::default();
        let mut always = Vec::new();
        for (at, entry) in entries.iter_mut().enumerate().filter(|(_, entry)| !entry.disabled) {
            for key in entry.keys.iter_mut() {
                key.automaton_pattern = key.plain_text().map(|plain| words.add_key(plain, Some(at)));
            }
            for key in entry.secondary.iter_mut() {
                key.automaton_pattern = key.plain_text().map(|plain| words.add_key(plain, None));
            }
            let is_open = entry.keys.iter().any(|key| key.automaton_pattern.is_none() && !key.is_empty());
            if entry.constant || entry.forced_activation.is_some() || is_open {
                always.push(at);
            }
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&words.words)
            .ok();
        if automaton.is_none() {
            // Too many keys for the automaton: then each key is searched by itself.
            always = (0..entries.len()).collect();
            let keys = entries.iter_mut().flat_map(|entry| entry.keys.iter_mut().chain(&mut entry.secondary));
            keys.for_each(|key| key.automaton_pattern = None);
        }
        Self { automaton, word_characters, owners: words.owners, unfiltered: always }
    }

    /// Returns hits with nothing found yet.
    pub fn empty_hits(&self) -> Vec<KeyHits> {
        vec![KeyHits::NONE; self.owners.len()]
    }

    /// Records which keys are in a part, and calls `found` with each entry that may become active (possibly repeated).
    ///
    /// `folded` is text folded by [`fold_text`](clotho_core::letters::fold_text).
    pub fn scan(&self, part: ScanPart, folded: &str, sights: &mut [KeyHits], mut found: impl FnMut(usize)) {
        let Some(automaton) = self.automaton.as_ref().filter(|automaton| automaton.patterns_len() > 0) else { return };
        for hit in automaton.find_overlapping_iter(folded) {
            let at = hit.pattern().as_usize();
            let Some(sight) = sights.get_mut(at) else { continue };
            let is_new = !sight.0.iter().any(|places| places.is_found());
            sight.add(part, self.word_characters.is_whole_word(folded, hit.start(), hit.end()));
            if is_new {
                self.owners.get(at).into_iter().flatten().for_each(|entry| found(*entry));
            }
        }
    }
}

impl HitPositions {
    fn is_found(&self) -> bool {
        self.message != usize::MAX || self.inject || self.recursion || self.card.contains(&true)
    }
}

/// Collects the patterns of the automaton.
#[derive(Default)]
struct KeyPatternBuilder {
    places: HashMap<String, usize>,
    words: Vec<String>,
    owners: Vec<Vec<usize>>,
}

impl KeyPatternBuilder {
    fn add_key(&mut self, key: &str, owner: Option<usize>) -> KeyPattern {
        let folded = fold_key(key);
        let is_whole = folded.len() <= MAX_PREFIX_BYTES;
        let end = (0..=MAX_PREFIX_BYTES.min(folded.len())).rev().find(|end| folded.is_char_boundary(*end)).unwrap_or(0);
        let word = folded.get(..end).unwrap_or_default();
        let pattern = self.places.get(word).copied().unwrap_or_else(|| {
            self.places.insert(word.to_owned(), self.words.len());
            self.words.push(word.to_owned());
            self.owners.push(Vec::new());
            self.words.len() - 1
        });
        if let Some((owners, owner)) =
            self.owners.get_mut(pattern).zip(owner).filter(|(owners, own)| owners.last() != Some(own))
        {
            owners.push(owner);
        }
        KeyPattern { pattern, is_whole }
    }
}
