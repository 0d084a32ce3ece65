//! One key of an entry: plain text, or a pattern between slashes.

use std::cell::OnceCell;

use crate::prompt::js_regex::{JsRegex, Utf16Text, has_bare_slash, split_literal};

use super::key_pattern::{KeyPattern, WordCharacters};
use super::note::LoreNote;
use super::scan_budget::ScanBudget;
use clotho_core::letters::{fold_quotes, fold_text};

/// A text to search for keys; folded once for each way to compare, on first use.
#[derive(Debug, Default)]
pub struct Haystack {
    raw: String,
    /// For case-sensitive keys.
    cased: OnceCell<String>,
    folded: OnceCell<String>,
}

impl Haystack {
    /// Wraps a text.
    pub const fn new(raw: String) -> Self {
        Self { raw, cased: OnceCell::new(), folded: OnceCell::new() }
    }

    fn text(&self, case_sensitive: bool) -> &str {
        if case_sensitive {
            self.cased.get_or_init(|| fold_quotes(&self.raw))
        } else {
            self.folded.get_or_init(|| fold_text(&self.raw))
        }
    }
}

/// Options for comparing plain keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyMatchOptions {
    pub case_sensitive: bool,
    /// Single-word keys must match whole words.
    pub whole_words: bool,
    pub word_characters: WordCharacters,
}

/// What a key searches for.
#[derive(Debug)]
pub enum KeyMatcher {
    /// Plain text.
    Plain {
        raw: String,
        /// For case-sensitive comparison.
        cased: String,
        folded: String,
        /// Whether the text has no white space.
        is_word: bool,
    },
    /// A regular expression.
    Pattern(Box<JsRegex>),
}

impl KeyMatcher {
    /// Parses a key: a valid pattern between slashes, else plain text.
    pub fn from_text(text: &str) -> Self {
        match pattern(text) {
            Some(pattern) => Self::Pattern(Box::new(pattern)),
            None => Self::Plain {
                raw: text.to_owned(),
                cased: fold_quotes(text),
                folded: fold_key(text),
                is_word: !text.contains(is_space),
            },
        }
    }

    /// Returns whether the key is found. It counts as not found if the budget is used up.
    pub fn is_in(&self, hay: &Haystack, manner: KeyMatchOptions, effort: &mut ScanBudget) -> bool {
        match self {
            Self::Pattern(pattern) => matches(pattern, &hay.raw, effort),
            Self::Plain { cased, folded, is_word, .. } => {
                let text = hay.text(manner.case_sensitive);
                let key = if manner.case_sensitive { cased } else { folded };
                if *is_word && manner.whole_words {
                    contains_word(text, key, manner.word_characters, effort)
                } else {
                    contains(text, key, effort)
                }
            }
        }
    }
}

/// Folds a key like the texts it is searched in. A key of nothing but invisible characters stays as it is: folded to
/// nothing, it would be in every text.
pub fn fold_key(key: &str) -> String {
    let folded = fold_text(key);
    if folded.is_empty() { key.to_owned() } else { folded }
}

/// Parses the pattern between the first and the last slash, with flags after it. An inner slash must be escaped.
fn pattern(text: &str) -> Option<JsRegex> {
    let (body, flags) = split_literal(text).filter(|(body, _)| !has_bare_slash(body))?;
    JsRegex::new(body, flags).ok()
}

fn matches(pattern: &JsRegex, text: &str, effort: &mut ScanBudget) -> bool {
    let Some(mut steps) = effort.step_budget(text.len()) else { return false };
    let before = steps.remaining();
    let found = pattern.is_match_in(&Utf16Text::new(text), &mut steps);
    effort.spend_steps(before - steps.remaining());
    found.unwrap_or_else(|_| {
        effort.note(LoreNote::SlowPattern {});
        false
    })
}

fn contains(text: &str, key: &str, effort: &mut ScanBudget) -> bool {
    effort.spend_bytes(text.len().saturating_add(key.len())) && text.contains(key)
}

/// Returns whether a text contains a key as a whole word.
fn contains_word(text: &str, key: &str, words: WordCharacters, effort: &mut ScanBudget) -> bool {
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
        if words.is_whole_word(text, at, at + key.len()) {
            return true;
        }
        if !effort.spend_bytes(found) {
            return false;
        }
        from = at + key.chars().next().map_or(1, char::len_utf8);
    }
    false
}

/// A key as it is written in the entry.
#[derive(Debug)]
pub struct LoreKey {
    pub text: String,
    /// `None` if macros must be expanded first.
    matcher: Option<KeyMatcher>,
    /// Pattern in the automaton of its book.
    pub automaton_pattern: Option<KeyPattern>,
}

impl LoreKey {
    /// Parses a key.
    pub fn new(written: String) -> Self {
        let matcher = (!written.contains(['{', '<'])).then(|| KeyMatcher::from_text(trim(&written)));
        Self { text: written, matcher, automaton_pattern: None }
    }

    /// Returns whether the key is found, after macro expansion. An empty key is never found.
    pub fn is_in(
        &self,
        hay: &Haystack,
        manner: KeyMatchOptions,
        effort: &mut ScanBudget,
        fill: impl FnOnce(&str) -> String,
    ) -> bool {
        match &self.matcher {
            Some(test) => !self.text.is_empty() && test.is_in(hay, manner, effort),
            None => {
                let filled = fill(&self.text);
                !filled.is_empty() && KeyMatcher::from_text(trim(&filled)).is_in(hay, manner, effort)
            }
        }
    }

    /// Returns whether the key is found without macro expansion. Group scores count keys this way.
    pub fn is_in_literal(&self, hay: &Haystack, manner: KeyMatchOptions, effort: &mut ScanBudget) -> bool {
        match &self.matcher {
            Some(test) if self.is_trimmed() => test.is_in(hay, manner, effort),
            _ => KeyMatcher::from_text(&self.text).is_in(hay, manner, effort),
        }
    }

    /// Returns whether the key has no surrounding white space.
    pub fn is_trimmed(&self) -> bool {
        trim(&self.text).len() == self.text.len()
    }

    /// Returns whether the key is found, if the automaton hits alone can tell; else `None`, and [`LoreKey::is_in`]
    /// decides.
    ///
    /// `sight` returns whether a pattern was hit, as a whole word or anywhere.
    pub fn is_in_hits(&self, manner: KeyMatchOptions, sight: impl Fn(usize, bool) -> bool) -> Option<bool> {
        let Some((known, KeyMatcher::Plain { is_word, .. })) = self.automaton_pattern.zip(self.matcher.as_ref()) else {
            return None;
        };
        if !sight(known.pattern, false) {
            return Some(false);
        }
        let is_sure = known.is_whole && !manner.case_sensitive;
        is_sure.then(|| sight(known.pattern, *is_word && manner.whole_words))
    }

    /// Returns the plain text for the automaton.
    ///
    /// `None` if only [`LoreKey::is_in`] can tell: patterns, macros, empty keys, and keys with the part mark U+0001.
    pub fn plain_text(&self) -> Option<&str> {
        match self.matcher.as_ref()? {
            KeyMatcher::Plain { raw, .. } if !raw.is_empty() && !raw.contains('\u{1}') => Some(raw),
            _ => None,
        }
    }

    /// Returns whether the key is empty; an empty key is never found.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// Returns whether JavaScript treats a character as white space.
pub fn is_space(c: char) -> bool {
    (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}'
}

/// Trims JavaScript white space from both ends.
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}
