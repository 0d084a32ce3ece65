//! JSON as its authors meant it: numbers in quotes, truths as numbers, nothing at all.

use serde_json::{Map, Value};

pub use clotho_core::world::condition::{is_truthy, to_number};

/// A truth that may be left to the house rules.
pub fn choice(value: Option<&Value>) -> Option<bool> {
    value.filter(|value| !value.is_null()).map(|value| is_truthy(Some(value)))
}

/// A whole number; what is beyond `most` either way is `most`.
pub fn integer(value: Option<&Value>, most: u32) -> Option<i64> {
    let number = to_number(value)?.trunc();
    let most = i64::from(most);
    // By way of its digits: no number of a file may become another one in silence.
    let beyond = if number < 0.0 { -most } else { most };
    Some(format!("{number:.0}").parse::<i64>().unwrap_or(beyond).clamp(-most, most))
}

/// A count; what is below zero is zero.
pub fn count(value: Option<&Value>, most: u32) -> Option<u64> {
    integer(value, most).map(|number| u64::try_from(number).unwrap_or(0))
}

/// A text; nothing else is one.
pub fn text<'a>(entry: &'a Map<String, Value>, key: &str) -> &'a str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The texts of a list, a single text as a list of one. Numbers count as their digits.
pub fn texts(value: Option<&Value>) -> Vec<String> {
    let one = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    match value {
        Some(Value::Array(list)) => list.iter().filter_map(one).collect(),
        Some(value) => one(value).into_iter().collect(),
        None => Vec::new(),
    }
}
