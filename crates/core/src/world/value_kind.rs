//! JSON types, values and counts as messages name them.

use std::fmt;

use serde_json::Value;

use super::number;

/// A JSON type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    Null,
    Boolean,
    /// A number without a fraction, including `1.0`.
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl ValueKind {
    /// Returns the word used in a schema.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    /// Returns the phrase used in messages.
    pub(in crate::world) fn description(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "true or false",
            Self::Integer => "a whole number",
            Self::Number => "a number",
            Self::String => "a text",
            Self::Array => "a list",
            Self::Object => "a map",
        }
    }

    /// Returns whether values of this type contain no other values.
    pub(in crate::world) fn is_plain(self) -> bool {
        !matches!(self, Self::Array | Self::Object)
    }

    /// Returns whether a value is of this type.
    pub(in crate::world) fn admits(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Integer, Value::Number(number)) => number::is_integer(number),
            (Self::Integer, _) => false,
            (kind, value) => kind == Self::from_json(value),
        }
    }

    /// Returns the type of a value; any number is `Number`.
    pub(in crate::world) fn from_json(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.description())
    }
}

impl From<ValueKind> for Value {
    fn from(kind: ValueKind) -> Self {
        kind.as_str().into()
    }
}

/// The types that a schema allows. A sentence says "a text or null", an argument "string, null".
#[derive(Debug, Clone, PartialEq)]
pub struct ValueKinds(pub Vec<ValueKind>);

impl fmt::Display for ValueKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&join_words(&self.0, ValueKind::description, " or "))
    }
}

impl From<ValueKinds> for Value {
    fn from(kinds: ValueKinds) -> Self {
        join_words(&kinds.0, ValueKind::as_str, ", ").into()
    }
}

fn join_words(kinds: &[ValueKind], word: fn(ValueKind) -> &'static str, between: &str) -> String {
    kinds.iter().map(|kind| word(*kind)).collect::<Vec<_>>().join(between)
}

/// A value as messages quote it: a plain value as JSON, cut if it is long. Of a list or a map, a sentence says the type,
/// and an argument has `[…]` or `{…}`.
#[derive(Debug, Clone, PartialEq)]
pub enum QuotedValue {
    /// A text, a number, true, false or null.
    Plain(String),
    /// Any list.
    List,
    /// Any map.
    Map,
}

impl QuotedValue {
    /// Quotes a value.
    pub fn new(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::text(text),
            Value::Array(_) => Self::List,
            Value::Object(_) => Self::Map,
            plain => Self::Plain(plain.to_string()),
        }
    }

    /// Quotes a text.
    pub fn text(text: &str) -> Self {
        let cut: String = text.chars().take(40).collect();
        Self::Plain(if cut.len() < text.len() { format!("\"{cut}…\"") } else { format!("\"{cut}\"") })
    }
}

impl fmt::Display for QuotedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(text) => f.write_str(text),
            Self::List => ValueKind::Array.fmt(f),
            Self::Map => ValueKind::Object.fmt(f),
        }
    }
}

impl From<QuotedValue> for Value {
    fn from(value: QuotedValue) -> Self {
        match value {
            QuotedValue::Plain(text) => text.into(),
            QuotedValue::List => "[…]".into(),
            QuotedValue::Map => "{…}".into(),
        }
    }
}

/// A number of characters or values. A sentence says "2 values", an argument has the number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LengthPhrase {
    /// How many there are.
    pub count: usize,
    /// What is counted, in the singular: "character" or "value".
    pub of: &'static str,
}

impl fmt::Display for LengthPhrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, of } = self;
        write!(f, "{count} {of}{}", if *count == 1 { "" } else { "s" })
    }
}

impl From<LengthPhrase> for Value {
    fn from(phrase: LengthPhrase) -> Self {
        phrase.count.into()
    }
}
