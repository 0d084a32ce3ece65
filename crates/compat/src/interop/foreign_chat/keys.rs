//! Reads fields of foreign objects. A field is removed when it is read, so that only unknown fields remain. A field of
//! an unexpected type stays where it is.

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use crate::interop::chat::date;

/// The year 5138 in seconds. Larger numbers are milliseconds.
const MAX_SECONDS: f64 = 1e11;
/// Half a millisecond, in nanoseconds.
const HALF_MS: i128 = 500_000;

/// Takes a text. Returns `None` if it is blank.
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

/// Takes a text or a number as text.
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

/// Takes an object. Returns an empty one if there is none.
pub fn object(map: &mut Map<String, Value>, key: &str) -> Map<String, Value> {
    if !map.get(key).is_some_and(Value::is_object) {
        return Map::new();
    }
    match map.shift_remove(key) {
        Some(Value::Object(inner)) => inner,
        _ => Map::new(),
    }
}

/// Takes a list. Returns an empty one if there is none.
pub fn list(map: &mut Map<String, Value>, key: &str) -> Vec<Value> {
    if !map.get(key).is_some_and(Value::is_array) {
        return Vec::new();
    }
    match map.shift_remove(key) {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}

/// Takes a list and returns the texts in it.
pub fn names(map: &mut Map<String, Value>, key: &str) -> Vec<String> {
    let names = list(map, key).into_iter();
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// Returns whether a flag is set. Does not remove it.
pub fn flag(map: &Map<String, Value>, key: &str) -> bool {
    map.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// Takes a timestamp, in milliseconds since 1970. The field contains seconds with a fraction, milliseconds, or text.
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

/// Removes null and empty values.
pub fn drop_empty(map: &mut Map<String, Value>) {
    map.retain(|_, value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    });
}

/// Joins texts with a blank line between them. Skips blank ones.
pub fn join_paragraphs(parts: impl IntoIterator<Item = String>) -> String {
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.trim().is_empty()).collect();
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Programs write timestamps in three formats. An invalid value stays in the object.
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
