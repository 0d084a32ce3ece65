//! What is scanned: the newest messages, texts of the cards that an entry looks at, what was called up before.

use std::collections::HashMap;
use std::rc::Rc;

use super::key_finder::{ScanPart, ScanReach};
use super::keys::{Haystack, trim};
use super::scan_budget::ScanBudget;

/// The texts of the cards that an entry may look at, in this order.
pub const CARD_TEXTS: [&str; 6] = ["persona", "description", "personality", "depthPrompt", "scenario", "creatorNotes"];

/// Messages beyond this are never looked at.
const MAX_MESSAGES: usize = 1_000;
/// Of one message, or of one text of an entry, so many bytes are looked at.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// So many bytes of messages are looked at in all.
const MAX_TOTAL_BYTES: usize = 4 << 20;
/// What stands before each part, so that a pattern can tell where one begins.
const PART_MARK: char = '\u{1}';
/// What stands between two parts.
const PART_SEPARATOR: &str = "\n\u{1}";
/// Texts of so many bytes are kept for the next entry that looks the same way.
const MAX_CACHE_BYTES: usize = 32 << 20;

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanMessage {
    /// By whom.
    pub name: String,
    /// The text.
    pub text: String,
}

/// What can be scanned.
#[derive(Debug)]
pub struct ScanTexts {
    /// Newest first, each as it is looked at.
    messages: Vec<String>,
    card: [String; 6],
    injects: Vec<String>,
    recursion: Vec<String>,
    recursion_bytes: usize,
    cache: HashMap<ScanReach, Rc<Haystack>>,
    cached_bytes: usize,
}

impl ScanTexts {
    /// What is said and what the cards say.
    pub fn new(
        messages: &[ScanMessage],
        includes_names: bool,
        card: &[String; 6],
        injects: &[String],
        effort: &mut ScanBudget,
    ) -> Self {
        let mut seen = Vec::new();
        let mut left = MAX_TOTAL_BYTES;
        for said in messages.iter().take(MAX_MESSAGES) {
            let text = truncate_bytes(&said.text, MAX_TEXT_BYTES.min(left));
            if text.len() < said.text.len() {
                effort.note("the messages are too long to look for lore in all of them");
            }
            left -= text.len();
            let line = if includes_names { format!("{}: {text}", said.name) } else { text.to_owned() };
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

    /// Every part that is there from the beginning but for messages.
    pub fn fixed_parts(&self) -> impl Iterator<Item = (ScanPart, &str)> {
        let card = self.card.iter().enumerate().map(|(at, text)| (ScanPart::Card(at), text.as_str()));
        card.chain(self.injects.iter().map(|text| (ScanPart::Inject, text.as_str())))
    }

    /// One of the messages, the newest is 0.
    pub fn message(&self, at: usize) -> Option<&str> {
        self.messages.get(at).map(String::as_str)
    }

    /// How many messages there are to look at.
    pub const fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether anything was called up that is looked at as well.
    pub const fn has_recursion(&self) -> bool {
        !self.recursion.is_empty()
    }

    /// Adds what was called up; tells what will be looked at of it.
    pub fn add_recursion(&mut self, text: &str, effort: &mut ScanBudget) -> Option<&str> {
        let seen = truncate_bytes(text, MAX_TEXT_BYTES.min(MAX_TOTAL_BYTES.saturating_sub(self.recursion_bytes)));
        if seen.len() < text.len() {
            effort.note("the entries call up more text than is looked at");
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

    /// What an entry looks at; no depth is no text at all.
    pub fn reach(&self, depth: i64, card: [bool; 6], recursion: bool) -> ScanReach {
        let messages = usize::try_from(depth).unwrap_or(0).min(MAX_MESSAGES).min(self.messages.len().max(1));
        if messages == 0 {
            ScanReach { messages, card: [false; 6], recursion: false }
        } else {
            ScanReach { messages, card, recursion }
        }
    }

    /// The text within reach.
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

/// The beginning of a text, at most so many bytes of whole characters.
fn truncate_bytes(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}
