//! One key: a plain text, or a pattern between slashes.

use std::cell::OnceCell;

use crate::prompt::js_regex::{JsRegex, Utf16Text, has_bare_slash, split};

use super::key_pattern::{KeyPattern, is_word};
use super::scan_budget::ScanBudget;

/// A text in which keys are looked for; lower-cased once, when the first key asks.
#[derive(Debug, Default)]
pub struct Haystack {
    raw: String,
    lower: OnceCell<String>,
}

impl Haystack {
    /// A text to look in.
    pub const fn new(raw: String) -> Self {
        Self { raw, lower: OnceCell::new() }
    }

    fn text(&self, case_sensitive: bool) -> &str {
        if case_sensitive { &self.raw } else { self.lower.get_or_init(|| self.raw.to_lowercase()) }
    }
}

/// How plain keys are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyMatchOptions {
    /// Capitals count.
    pub case_sensitive: bool,
    /// Keys of one word are not found inside of others.
    pub whole_words: bool,
}

/// What a key looks for.
#[derive(Debug)]
pub enum KeyMatcher {
    /// A text.
    Plain {
        /// The text.
        raw: String,
        /// The text, lower-cased.
        lower: String,
        /// It has no blanks inside.
        is_word: bool,
    },
    /// A pattern.
    Pattern(Box<JsRegex>),
}

impl KeyMatcher {
    /// What a text looks for: a pattern, if it is one between slashes that can be read, else the text itself.
    pub fn from_text(text: &str) -> Self {
        match pattern(text) {
            Some(pattern) => Self::Pattern(Box::new(pattern)),
            None => Self::Plain { raw: text.to_owned(), lower: text.to_lowercase(), is_word: !text.contains(is_space) },
        }
    }

    /// Whether it is found. What there is no effort left for is not.
    pub fn is_in(&self, hay: &Haystack, manner: KeyMatchOptions, effort: &mut ScanBudget) -> bool {
        match self {
            Self::Pattern(pattern) => matches(pattern, &hay.raw, effort),
            Self::Plain { raw, lower, is_word } => {
                let text = hay.text(manner.case_sensitive);
                let key = if manner.case_sensitive { raw } else { lower };
                if *is_word && manner.whole_words {
                    contains_word(text, key, effort)
                } else {
                    contains(text, key, effort)
                }
            }
        }
    }
}

/// The pattern of a key: between the first and the last slash, with flags behind it. An inner slash has to be escaped.
fn pattern(text: &str) -> Option<JsRegex> {
    let (body, flags) = split(text).filter(|(body, _)| !has_bare_slash(body))?;
    JsRegex::new(body, flags).ok()
}

fn matches(pattern: &JsRegex, text: &str, effort: &mut ScanBudget) -> bool {
    let Some(mut steps) = effort.step_budget(text.len()) else { return false };
    let before = steps.left();
    let found = pattern.is_match_in(&Utf16Text::new(text), &mut steps);
    effort.spend_steps(before - steps.left());
    found.unwrap_or_else(|_| {
        effort.note("a pattern among the keys ran away; it counts as not found");
        false
    })
}

fn contains(text: &str, key: &str, effort: &mut ScanBudget) -> bool {
    effort.spend_bytes(text.len().saturating_add(key.len())) && text.contains(key)
}

/// Whether a text has a key with nothing around it that JavaScript takes for part of a word: ASCII letters, digits,
/// `_`.
fn contains_word(text: &str, key: &str, effort: &mut ScanBudget) -> bool {
    if key.is_empty() {
        return true;
    }
    let mut from = 0;
    while let Some(rest) = text.get(from..) {
        if !effort.spend_bytes(key.len()) {
            return false;
        }
        let Some(found) = rest.find(key) else {
            effort.spend_bytes(rest.len());
            return false;
        };
        let at = from + found;
        if is_word(text, at, at + key.len()) {
            return true;
        }
        if !effort.spend_bytes(found) {
            return false;
        }
        from = at + key.chars().next().map_or(1, char::len_utf8);
    }
    false
}

/// A key as it is written.
#[derive(Debug)]
pub struct LoreKey {
    /// The text.
    pub written: String,
    /// What it looks for, where no macro has to be filled in first.
    matcher: Option<KeyMatcher>,
    /// What the automaton of its book knows it by.
    pub known: Option<KeyPattern>,
}

impl LoreKey {
    /// Reads a key.
    pub fn new(written: String) -> Self {
        let matcher = (!written.contains(['{', '<'])).then(|| KeyMatcher::from_text(trim(&written)));
        Self { written, matcher, known: None }
    }

    /// Whether it is found, macros filled in. A key without any text is never found.
    pub fn is_in(
        &self,
        hay: &Haystack,
        manner: KeyMatchOptions,
        effort: &mut ScanBudget,
        fill: impl FnOnce(&str) -> String,
    ) -> bool {
        match &self.matcher {
            Some(test) => !self.written.is_empty() && test.is_in(hay, manner, effort),
            None => {
                let filled = fill(&self.written);
                !filled.is_empty() && KeyMatcher::from_text(trim(&filled)).is_in(hay, manner, effort)
            }
        }
    }

    /// Whether it is found as it is written: so keys are counted where entries of a group compete.
    pub fn is_in_literal(&self, hay: &Haystack, manner: KeyMatchOptions, effort: &mut ScanBudget) -> bool {
        match &self.matcher {
            Some(test) if self.is_trimmed() => test.is_in(hay, manner, effort),
            _ => KeyMatcher::from_text(&self.written).is_in(hay, manner, effort),
        }
    }

    /// Whether there are no blanks around it.
    pub fn is_trimmed(&self) -> bool {
        trim(&self.written).len() == self.written.len()
    }

    /// Whether a look at the whole story tells that it is there or not; `None` = only [`LoreKey::is_in`] can. `sight` tells
    /// whether the pattern was seen, as a word or anywhere.
    pub fn is_in_hits(&self, manner: KeyMatchOptions, sight: impl Fn(usize, bool) -> bool) -> Option<bool> {
        let Some((known, KeyMatcher::Plain { is_word, .. })) = self.known.zip(self.matcher.as_ref()) else {
            return None;
        };
        if !sight(known.pattern, false) {
            return Some(false);
        }
        let is_sure = known.is_whole && !manner.case_sensitive;
        is_sure.then(|| sight(known.pattern, *is_word && manner.whole_words))
    }

    /// The plain text to look for, where one look at the whole story tells that it is not there. `None` where only
    /// [`LoreKey::is_in`] can tell: patterns, macros, blanks, and what might reach over the seam of two messages.
    pub fn plain_text(&self) -> Option<&str> {
        match self.matcher.as_ref()? {
            KeyMatcher::Plain { raw, .. } if !raw.is_empty() && !raw.contains('\u{1}') => Some(raw),
            _ => None,
        }
    }

    /// Whether it can be found at all.
    pub fn is_empty(&self) -> bool {
        self.written.is_empty()
    }
}

/// What JavaScript takes for white space.
pub fn is_space(c: char) -> bool {
    (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}'
}

/// A text without the blanks around it.
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}
