//! Conditions on values of the state: `hp:<20`, `hp:5..10`, `place:tower`, `alive:true`, `torch:*`.

use super::SearchTerms;
use super::error::QueryError;
use super::lexeme_text::LexemeText;
use crate::{analyzer, decimal_code, values};
use clotho_core::letters::usual_form;

/// A condition on one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ValueCondition {
    /// The key of the value, in lower case.
    pub key: String,
    pub wanted: ValueMatch,
    /// The plain text that this is if no value has the key; `None` if that is an error.
    pub otherwise: Option<SearchTerms>,
    at: usize,
    field: String,
    is_compared: bool,
}

/// How a value must match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ValueMatch {
    /// The value exists.
    Any,
    /// A number between two codes; the flags say whether the ends are inclusive.
    Between(Option<(String, bool)>, Option<(String, bool)>),
    /// This number, this flag, or a text with these words (the whole text if it was quoted).
    Equals(String, IsWholeText),
    /// The value exists and differs.
    NotEquals(String, IsWholeText),
    /// A text with a word that starts with this.
    Prefix(String),
}

/// Whether a text must match as a whole.
pub(crate) type IsWholeText = bool;

impl ValueCondition {
    /// Parses what follows the colon.
    pub(in crate::query) fn read(
        field: &str,
        at: usize,
        value: &LexemeText<'_>,
        otherwise: Option<SearchTerms>,
    ) -> Result<Self, QueryError> {
        let wanted = parse_match(field, value)?;
        let is_compared = matches!(wanted, ValueMatch::Between(..) | ValueMatch::NotEquals(..));
        Ok(Self { key: values::normalize_key(field), wanted, otherwise, at, field: field.to_owned(), is_compared })
    }

    /// Returns the error that no value has this key.
    pub(in crate::query) fn unknown(&self) -> QueryError {
        let (at, field) = (self.at, self.field.clone());
        if self.is_compared { QueryError::UnknownValue { at, field } } else { QueryError::UnknownField { at, field } }
    }
}

fn parse_match(field: &str, value: &LexemeText<'_>) -> Result<ValueMatch, QueryError> {
    if value.is_quoted {
        return Ok(ValueMatch::Equals(value.text.trim().to_owned(), true));
    }
    let text = &normalize_operators(value.text.trim());
    let number = |text: &str| {
        let number = || QueryError::NoNumber { at: value.at, field: field.to_owned(), number: text.to_owned() };
        decimal_code::encode(text).ok_or_else(number)
    };
    for (sign, is_more, is_in) in [("<=", false, true), (">=", true, true), ("<", false, false), (">", true, false)] {
        if let Some(rest) = text.strip_prefix(sign) {
            let bound = Some((number(rest)?, is_in));
            return Ok(if is_more { ValueMatch::Between(bound, None) } else { ValueMatch::Between(None, bound) });
        }
    }
    if let Some(rest) = text.strip_prefix("!=") {
        return Ok(ValueMatch::NotEquals(rest.to_owned(), false));
    }
    if let Some((from, until)) = text.split_once("..") {
        let end = |text: &str| if text.is_empty() { Ok(None) } else { number(text).map(|code| Some((code, true))) };
        return Ok(ValueMatch::Between(end(from)?, end(until)?));
    }
    let text = text.strip_prefix('=').unwrap_or(text);
    let begun = text.strip_suffix('*').map(analyzer::phrase_terms);
    Ok(match (text, begun.as_deref()) {
        ("*" | "", _) => ValueMatch::Any,
        (_, Some([term])) => ValueMatch::Prefix(term.text.clone()),
        _ => ValueMatch::Equals(text.to_owned(), false),
    })
}

/// Normalizes typographic and full-width operators.
fn normalize_operators(text: &str) -> String {
    text.replace('≤', "<=").replace('≥', ">=").replace('≠', "!=").chars().map(usual_form).collect()
}

/// Returns whether a text can only be a condition: `<20`, `!=5`, `5..10`.
pub(super) fn is_comparison(text: &str) -> bool {
    let text = &normalize_operators(text);
    let ends = text.split_once("..").map(|(from, until)| [from, until]);
    let is_end = |end: &str| end.is_empty() || decimal_code::encode(end).is_some();
    let is_range = text.as_str() != ".." && ends.is_some_and(|ends| ends.into_iter().all(is_end));
    text.starts_with(['<', '>', '=']) || text.starts_with("!=") || is_range
}
