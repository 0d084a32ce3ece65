//! How the keys of other programs are read: taken out of their object, so that what is left is what nobody here knows. What
//! has another shape than it should is left where it is.

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use crate::interop::chat::date;

/// So many seconds are a moment in the year 5138; what is more are milliseconds.
const MAX_SECONDS: f64 = 1e11;
/// Half a millisecond, in nanoseconds.
const HALF_MS: i128 = 500_000;

/// A text that says something.
pub fn text(map: &mut Map<String, Value>, key: &str) -> Option<String> {
    match map.get(key)? {
        Value::String(_) => match map.shift_remove(key)? {
            Value::String(text) => Some(text).filter(|text| !text.trim().is_empty()),
            _ => None,
        },
        Value::Null => {
            map.shift_remove(key);
            None
        }
        _ => None,
    }
}

/// A name or a number as a name.
pub fn name(map: &mut Map<String, Value>, key: &str) -> Option<String> {
    match map.get(key)? {
        Value::Number(number) => {
            let number = number.to_string();
            map.shift_remove(key);
            Some(number)
        }
        _ => text(map, key),
    }
}

/// An object.
pub fn object(map: &mut Map<String, Value>, key: &str) -> Map<String, Value> {
    if !map.get(key).is_some_and(Value::is_object) {
        return Map::new();
    }
    match map.shift_remove(key) {
        Some(Value::Object(inner)) => inner,
        _ => Map::new(),
    }
}

/// A list.
pub fn list(map: &mut Map<String, Value>, key: &str) -> Vec<Value> {
    if !map.get(key).is_some_and(Value::is_array) {
        return Vec::new();
    }
    match map.shift_remove(key) {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}

/// The names in a list.
pub fn names(map: &mut Map<String, Value>, key: &str) -> Vec<String> {
    let names = list(map, key).into_iter();
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// Whether something is said to be so.
pub fn flag(map: &Map<String, Value>, key: &str) -> bool {
    map.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// A moment, in milliseconds since 1970: seconds with a fraction, milliseconds, or a text.
pub fn timestamp(map: &mut Map<String, Value>, key: &str) -> Option<i64> {
    let value = map.get(key)?;
    let found = match value {
        Value::Number(number) => number.as_f64().and_then(|number| {
            let seconds = if number.abs() < MAX_SECONDS { number } else { number / 1_000.0 };
            let nanos = SignedDuration::try_from_secs_f64(seconds).ok()?.as_nanos();
            i64::try_from((nanos + HALF_MS).div_euclid(2 * HALF_MS)).ok()
        }),
        other => date::read(other, &TimeZone::UTC),
    };
    let found = found.filter(|ms| *ms != 0 && jiff::Timestamp::from_millisecond(*ms).is_ok());
    if found.is_some() || value.is_null() {
        map.shift_remove(key);
    }
    found
}

/// What says nothing does not have to be kept.
pub fn drop_empty(map: &mut Map<String, Value>) {
    map.retain(|_, value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    });
}

/// Parts of a text, with an empty line between them.
pub fn join_paragraphs(parts: impl IntoIterator<Item = String>) -> String {
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.trim().is_empty()).collect();
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Programs write moments in three ways; what is none stays where it was.
    #[test]
    fn foreign_chat_timestamp_formats_are_read() {
        let check = |value: Value, expected: Option<i64>| {
            let mut map = Map::from_iter([("at".to_owned(), value.clone())]);
            assert_eq!(timestamp(&mut map, "at"), expected, "{value}");
            assert_eq!(map.is_empty(), expected.is_some() || value.is_null(), "{value}");
        };
        check(json!(1_700_000_000), Some(1_700_000_000_000));
        check(json!(1_700_000_000.123_456), Some(1_700_000_000_123));
        check(json!(1_700_000_000_123_i64), Some(1_700_000_000_123));
        check(json!("2023-11-14T22:13:20Z"), Some(1_700_000_000_000));
        check(json!(null), None);
        for bad in [json!("soon"), json!([1]), json!(1e300), json!(-1e300), json!(0)] {
            check(bad, None);
        }
    }
}
