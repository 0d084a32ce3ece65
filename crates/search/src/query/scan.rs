//! Splits the text into parts and operators with positions. Only what follows a colon can be an error here.

use super::error::QueryError;
use super::field::SearchField;
use super::lexeme_text::LexemeText;
use super::time::LocalNow;
use super::value_condition::{self, ValueCondition};
use super::{QueryCondition, QueryExpr, SearchTerms, TermMatch};
use crate::{analyzer, stemming, values};

/// The maximum length of a search, in characters; the rest is ignored.
pub(super) const CHARS_MAX: usize = 1_000;
/// The maximum number of parts; further ones are ignored.
pub(super) const PARTS_MAX: usize = 32;
/// The minimum length of a prefix; a shorter one would match too many words.
const PREFIX_MIN: usize = 2;
/// The minimum length of a word for fuzzy search; a shorter one would match almost any word.
const FUZZY_MIN: usize = 3;
/// From this length on, a word may have two typing errors.
const FUZZY_TWO_MIN: usize = 6;

/// One token of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum QueryLexeme {
    Open,
    Close,
    And,
    Or,
    Not,
    Part(QueryExpr),
}

/// The pieces of a text.
pub(super) struct QueryLexemes {
    pub pieces: Vec<QueryLexeme>,
    /// The position of the cut, if the text was too long.
    pub cut: Option<usize>,
}

/// Splits a text into tokens.
pub(super) fn tokenize(text: &str, today: LocalNow) -> Result<QueryLexemes, QueryError> {
    let end = text.char_indices().nth(CHARS_MAX).map(|(end, _)| end);
    let read = end.and_then(|end| text.get(..end)).unwrap_or(text);
    let goes_on = end.and_then(|end| text.get(end..)).is_some_and(|rest| !rest.starts_with(char::is_whitespace));
    let mut scanner = QueryScanner { rest: read, at: 0, is_truncated: goes_on, depth: 0, today };
    let (mut pieces, mut parts) = (Vec::new(), 0);
    loop {
        scanner.take_while(char::is_whitespace);
        if scanner.rest.is_empty() {
            return Ok(QueryLexemes { pieces, cut: end.map(|_| utf16_len(read)) });
        }
        let at = scanner.at;
        if let Some(piece) = scanner.next_token()? {
            parts += usize::from(matches!(piece, QueryLexeme::Part(_)));
            if parts > PARTS_MAX {
                return Ok(QueryLexemes { pieces, cut: Some(at) });
            }
            pieces.push(piece);
        }
    }
}

fn utf16_len(text: &str) -> usize {
    text.encode_utf16().count()
}

struct QueryScanner<'a> {
    rest: &'a str,
    /// The position of `rest`.
    at: usize,
    /// Whether the text was cut in the middle of a word.
    is_truncated: bool,
    /// Open brackets.
    depth: usize,
    today: LocalNow,
}

impl<'a> QueryScanner<'a> {
    /// Returns the next token; `None` for text without meaning (`!?`, `""`).
    fn next_token(&mut self) -> Result<Option<QueryLexeme>, QueryError> {
        if self.take('(') || self.take('（') {
            self.depth += 1;
            return Ok(Some(QueryLexeme::Open));
        }
        if self.rest.starts_with([')', '）']) {
            self.take_one();
            self.depth = self.depth.saturating_sub(1);
            return Ok(Some(QueryLexeme::Close));
        }
        if let Some(operator) = self.operator() {
            return Ok(Some(operator));
        }
        if self.rest.starts_with('-') {
            // A lone dash or several dashes separate words, like any other punctuation.
            let is_one = self.take_while(|c| c == '-').len() == 1;
            let stands_alone = self.rest.is_empty() || self.rest.starts_with(char::is_whitespace);
            return Ok((is_one && !stands_alone).then_some(QueryLexeme::Not));
        }
        Ok(self.condition()?.map(QueryLexeme::Part))
    }

    /// Reads `AND`, `OR`, `NOT`, `&&` or `||` as a whole word in capitals.
    fn operator(&mut self) -> Option<QueryLexeme> {
        let is_end = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '（' | '）');
        let end = self.rest.find(is_end).unwrap_or(self.rest.len());
        let word = self.rest.get(..end)?;
        let piece = match word {
            "AND" | "&&" => QueryLexeme::And,
            "OR" | "||" | "|" => QueryLexeme::Or,
            "NOT" => QueryLexeme::Not,
            _ => return None,
        };
        self.at += utf16_len(word);
        self.rest = self.rest.get(end..)?;
        Some(piece)
    }

    fn condition(&mut self) -> Result<Option<QueryExpr>, QueryError> {
        let (at, before) = (self.at, self.rest);
        let Some(name) = self.name() else {
            let value = self.value();
            if value.text == "*" && !value.is_quoted {
                return Ok(Some(QueryExpr::Everything));
            }
            return Ok(value.words().map(QueryCondition::Text).map(QueryExpr::Condition));
        };
        let value = self.value();
        match SearchField::parse(&name.to_lowercase()) {
            Some(field) => field.read(&value, at, self.today),
            None if value.is_quoted && value.text.trim().is_empty() => Ok(None),
            None => {
                let length = before.len() - self.rest.len();
                let whole = before.get(..length).unwrap_or_default();
                // A non-ASCII word before a colon is more likely text than the name of a value.
                let otherwise = if name.is_ascii() {
                    None
                } else {
                    SearchTerms::from_typed_text(whole, false, false, value.is_truncated)
                };
                match (ValueCondition::read(name, at, &value, otherwise.clone()), otherwise) {
                    (Ok(condition), _) => Ok(Some(QueryExpr::Condition(QueryCondition::World(condition)))),
                    (Err(_), Some(words)) => Ok(Some(QueryExpr::Condition(QueryCondition::Text(words)))),
                    (Err(error), None) => Err(error),
                }
            }
        }
    }

    /// Reads a name and its colon if a value may follow. Otherwise it is plain text: `12:30`, `so: yes`, `http://`.
    fn name(&mut self) -> Option<&'a str> {
        let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
        let end = self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len());
        let (name, tail) = self.rest.split_at_checked(end)?;
        let value = tail.strip_prefix(':').or_else(|| tail.strip_prefix('：'))?;
        let is_name = name.chars().next().is_some_and(char::is_alphabetic) && name.chars().count() <= values::KEY_MAX;
        let begins = |c: char| c.is_alphanumeric() || matches!(c, '"' | '“' | '*' | '-');
        let is_value = value_condition::is_comparison(word_of(value)) || (name.is_ascii() && value.starts_with(begins));
        if !is_name || !is_value {
            return None;
        }
        self.at += utf16_len(self.rest) - utf16_len(value);
        self.rest = value;
        Some(name)
    }

    /// Reads a quoted phrase, closed or not, or everything up to whitespace or the end of an open bracket.
    fn value(&mut self) -> LexemeText<'a> {
        let at = self.at;
        let quote = if self.take('"') {
            '"'
        } else if self.take('“') {
            '”'
        } else {
            let mut inner = 0_usize;
            let depth = self.depth;
            let text = self.take_while(|c| {
                match c {
                    '(' | '（' => inner += 1,
                    ')' | '）' if inner == 0 && depth > 0 => return false,
                    ')' | '）' => inner = inner.saturating_sub(1),
                    _ => {}
                }
                !c.is_whitespace()
            });
            let is_cut = self.rest.is_empty() && self.is_truncated;
            return LexemeText { text, at, is_quoted: false, is_prefix: false, is_truncated: is_cut };
        };
        let text = self.take_while(|c| c != quote);
        let is_closed = self.take(quote);
        let is_begun = is_closed && self.take('*');
        if is_closed && self.rest.starts_with('~') {
            self.take_while(|c| c == '~' || c.is_ascii_digit());
        }
        LexemeText {
            text,
            at,
            is_quoted: true,
            is_prefix: is_begun,
            is_truncated: self.rest.is_empty() && self.is_truncated && !is_closed,
        }
    }

    fn take(&mut self, c: char) -> bool {
        let is_there = self.rest.starts_with(c);
        if is_there {
            self.take_one();
        }
        is_there
    }

    fn take_one(&mut self) {
        let mut chars = self.rest.chars();
        self.at += chars.next().map_or(0, char::len_utf16);
        self.rest = chars.as_str();
    }

    fn take_while(&mut self, mut fits: impl FnMut(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        self.at += utf16_len(taken);
        taken
    }
}

fn word_of(text: &str) -> &str {
    text.split(|c: char| c.is_whitespace() || matches!(c, ')' | '）')).next().unwrap_or_default()
}

impl SearchTerms {
    /// Returns the terms of a typed word or phrase; `None` if there are none.
    pub(super) fn from_typed_text(text: &str, is_quoted: bool, is_begun: bool, is_cut: bool) -> Option<Self> {
        let (bare, tilde) = if is_quoted { (text, None) } else { split_tilde(text) };
        let mut words = Self::exact_terms(bare)?;
        let last = words.terms.last().map(|term| term.text.clone())?;
        let is_word = analyzer::is_word(&last);
        let length = last.chars().count();
        if is_cut && is_word && words.terms.len() > 1 {
            // The last word is incomplete.
            words.terms.pop();
            return Some(words);
        }
        // Role-players write actions as *text*: stars on both sides are no prefix search.
        let has_star = !is_quoted && text.ends_with('*') && !text.starts_with('*');
        words.matching = match tilde {
            _ if is_word && (is_begun || has_star) && length >= PREFIX_MIN => TermMatch::Prefix,
            _ if is_quoted || words.terms.len() > 1 => TermMatch::Exact,
            Some(slips) if is_word && length >= FUZZY_MIN => {
                TermMatch::Near(slips.unwrap_or(if length < FUZZY_TWO_MIN { 1 } else { 2 }))
            }
            _ => stemming::stem(&last).map_or(TermMatch::Exact, TermMatch::Forms),
        };
        Some(words)
    }
}

/// Splits `word~` or `word~2` into the word and the number of typing errors, if given.
fn split_tilde(text: &str) -> (&str, Option<Option<u8>>) {
    let Some((word, said)) = text.rsplit_once('~') else { return (text, None) };
    match said {
        "" => (word, Some(None)),
        "0" | "1" => (word, Some(Some(1))),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => (word, Some(Some(2))),
        _ => (text, None),
    }
}
