//! The scanned text: the newest messages, the card texts an entry asks for, injected texts, and activated entries.

use std::collections::HashMap;
use std::rc::Rc;

use super::key_finder::{ScanPart, ScanReach};
use super::keys::{Haystack, trim};
use super::note::LoreNote;
use super::scan_budget::ScanBudget;

/// Card texts that an entry may scan, in this order.
pub const CARD_TEXTS: [&str; 6] = ["persona", "description", "personality", "depthPrompt", "scenario", "creatorNotes"];

/// Largest number of scanned messages.
const MAX_MESSAGES: usize = 1_000;
/// Bytes scanned of one message, card text, injected text or entry text.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// Bytes scanned of all messages together.
const MAX_TOTAL_BYTES: usize = 4 << 20;
/// Stands before each part, so that a pattern can match its start.
const PART_MARK: char = '\u{1}';
/// Stands between two parts.
const PART_SEPARATOR: &str = "\n\u{1}";
/// Bytes of joined texts cached for entries with the same reach.
const MAX_CACHE_BYTES: usize = 32 << 20;

/// A message to scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanMessage {
    pub name: String,
    pub text: String,
}

/// All texts of a scan.
#[derive(Debug)]
pub struct ScanTexts {
    /// Newest first, trimmed, with name prefix if wanted.
    messages: Vec<String>,
    card: [String; 6],
    injects: Vec<String>,
    recursion: Vec<String>,
    recursion_bytes: usize,
    cache: HashMap<ScanReach, Rc<Haystack>>,
    cached_bytes: usize,
}

impl ScanTexts {
    /// Collects the texts, cut to the limits.
    pub fn new(
        messages: &[ScanMessage],
        includes_names: bool,
        card: &[String; 6],
        injects: &[String],
        effort: &mut ScanBudget,
    ) -> Self {
        let mut seen = Vec::new();
        let mut left = MAX_TOTAL_BYTES;
        for message in messages.iter().take(MAX_MESSAGES) {
            let text = truncate_bytes(&message.text, MAX_TEXT_BYTES.min(left));
            if text.len() < message.text.len() {
                effort.note(LoreNote::MessagesTooLong {});
            }
            left -= text.len();
            let line = if includes_names { format!("{}: {text}", message.name) } else { text.to_owned() };
            seen.push(trim(&line).to_owned());
        }
        let card = card.each_ref().map(|text| truncate_bytes(text, MAX_TEXT_BYTES).to_owned());
        let injects = injects.iter().map(|text| truncate_bytes(text, MAX_TEXT_BYTES).to_owned()).collect();
        Self {
            messages: seen,
            card,
            injects,
            recursion: Vec::new(),
            recursion_bytes: 0,
            cache: HashMap::new(),
            cached_bytes: 0,
        }
    }

    /// Returns the parts that exist from the start, without messages.
    pub fn fixed_parts(&self) -> impl Iterator<Item = (ScanPart, &str)> {
        let card = self.card.iter().enumerate().map(|(at, text)| (ScanPart::Card(at), text.as_str()));
        card.chain(self.injects.iter().map(|text| (ScanPart::Inject, text.as_str())))
    }

    /// Returns a message; 0 is the newest.
    pub fn message(&self, at: usize) -> Option<&str> {
        self.messages.get(at).map(String::as_str)
    }

    /// Returns the number of messages.
    pub const fn len(&self) -> usize {
        self.messages.len()
    }

    /// Returns whether texts of activated entries are scanned too.
    pub const fn has_recursion(&self) -> bool {
        !self.recursion.is_empty()
    }

    /// Adds the texts of activated entries; returns the part within the limits.
    pub fn add_recursion(&mut self, text: &str, effort: &mut ScanBudget) -> Option<&str> {
        let seen = truncate_bytes(text, MAX_TEXT_BYTES.min(MAX_TOTAL_BYTES.saturating_sub(self.recursion_bytes)));
        if seen.len() < text.len() {
            effort.note(LoreNote::RecursionTooLong {});
        }
        if seen.is_empty() {
            return None;
        }
        self.recursion_bytes += seen.len();
        self.recursion.push(seen.to_owned());
        self.cache.clear();
        self.cached_bytes = 0;
        self.recursion.last().map(String::as_str)
    }

    /// Returns the parts that an entry scans; with depth 0 nothing at all.
    pub fn reach(&self, depth: i64, card: [bool; 6], recursion: bool) -> ScanReach {
        let messages = usize::try_from(depth).unwrap_or(0).min(MAX_MESSAGES).min(self.messages.len().max(1));
        if messages == 0 {
            ScanReach { messages, card: [false; 6], recursion: false }
        } else {
            ScanReach { messages, card, recursion }
        }
    }

    /// Returns the joined text within reach; cached.
    pub fn haystack(&mut self, reach: ScanReach, effort: &mut ScanBudget) -> Rc<Haystack> {
        if let Some(hay) = self.cache.get(&reach) {
            return Rc::clone(hay);
        }
        let text = if reach.messages == 0 { String::new() } else { self.joined(&reach) };
        if !effort.spend_bytes(text.len()) {
            return Rc::default();
        }
        self.cached_bytes += text.len();
        if self.cached_bytes > MAX_CACHE_BYTES {
            self.cache.clear();
            self.cached_bytes = text.len();
        }
        let hay = Rc::new(Haystack::new(text));
        self.cache.insert(reach, Rc::clone(&hay));
        hay
    }

    fn joined(&self, reach: &ScanReach) -> String {
        let card = self.card.iter().zip(reach.card).filter(|(text, looks)| *looks && !text.is_empty());
        let recursion = self.recursion.iter().filter(|_| reach.recursion);
        let more = card.map(|(text, _)| text).chain(&self.injects).chain(recursion);
        let mut text = String::from(PART_MARK);
        for (at, message) in self.messages.iter().take(reach.messages).enumerate() {
            text.push_str(if at > 0 { PART_SEPARATOR } else { "" });
            text.push_str(message);
        }
        for part in more {
            text.push_str(PART_SEPARATOR);
            text.push_str(part);
        }
        text
    }
}

/// Returns the longest prefix of at most `bytes` bytes.
fn truncate_bytes(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}
