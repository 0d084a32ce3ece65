//! Reads loosely typed JSON: numbers as strings, booleans as numbers, missing values.

use serde_json::{Map, Value};

pub use clotho_core::world::condition::{is_truthy, to_number};

/// Reads a boolean; `None` (null or missing) = the settings decide.
pub fn optional_bool(value: Option<&Value>) -> Option<bool> {
    value.filter(|value| !value.is_null()).map(|value| is_truthy(Some(value)))
}

/// Reads a whole number, clamped to `-most..=most`.
pub fn integer(value: Option<&Value>, most: u32) -> Option<i64> {
    let number = to_number(value)?.trunc();
    let most = i64::from(most);
    // Convert through the decimal digits, to avoid a lossy float cast.
    let beyond = if number < 0.0 { -most } else { most };
    Some(format!("{number:.0}").parse::<i64>().unwrap_or(beyond).clamp(-most, most))
}

/// Reads a count; negative numbers become 0.
pub fn count(value: Option<&Value>, most: u32) -> Option<u64> {
    integer(value, most).map(|number| u64::try_from(number).unwrap_or(0))
}

/// Reads a string; other types give an empty one.
pub fn text<'a>(entry: &'a Map<String, Value>, key: &str) -> &'a str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Reads a list of strings; a single string is a list of one. Numbers become their digits.
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
