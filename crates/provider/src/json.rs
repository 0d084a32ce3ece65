//! Reads JSON fields of foreign servers.
//!
//! Fields are looked up one by one instead of derived. Vendors omit, rename, repeat and mistype fields, and an unused
//! field must not break a reply.

use super::surrogates;
use clotho_core::json_scan::{self, JsonBounds, JsonScanError};
use serde_json::Value;

/// Parses the JSON of a whole document. Lone surrogate escapes, which some servers produce when they cut a text, and
/// control characters become U+FFFD.
pub(super) fn parse(json: &str) -> Result<Value, JsonResponseError> {
    parse_within(json, JsonBounds::DOCUMENT)
}

/// Parses the JSON of a chunk, whose texts other chunks continue. Works like [`parse`], but lone surrogate escapes
/// become the marks of [`surrogates`]. Also returns whether there are any.
pub(super) fn parse_chunk(json: &str) -> Result<(Value, bool), JsonResponseError> {
    json_scan::check_bounds(json, JsonBounds::DOCUMENT)?;
    let error = match serde_json::from_str(json) {
        Ok(value) => return Ok((value, false)),
        Err(error) => error,
    };
    // Marks are only unambiguous if the server does not use these characters itself.
    let can_mark = !surrogates::has_mark(json);
    let repaired = repair_escapes(json, if can_mark { surrogates::mark_of } else { |_| None });
    match serde_json::from_str(&repaired) {
        Ok(value) => Ok((value, can_mark)),
        Err(_) => Err(error.into()),
    }
}

/// Parses several objects that follow each other, as a list. Returns `None` if it is anything else.
pub(super) fn parse_sequence(json: &str) -> Option<Value> {
    let values: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(json).into_iter().collect();
    values.ok().filter(|values| values.len() > 1 && values.iter().all(Value::is_object)).map(Value::from)
}

fn parse_within(json: &str, bounds: JsonBounds) -> Result<Value, JsonResponseError> {
    let json = json.trim_start_matches('\u{feff}');
    json_scan::check_bounds(json, bounds)?;
    let parsed = serde_json::from_str(json);
    Ok(parsed.or_else(|error| serde_json::from_str(&repair_escapes(json, |_| None)).map_err(|_| error))?)
}

/// Parses the JSON of a whole response.
pub(super) fn parse_bytes(body: &[u8], bounds: JsonBounds) -> Result<Value, JsonResponseError> {
    parse_within(&String::from_utf8_lossy(body), bounds)
}

/// Why a response is not JSON that can be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum JsonResponseError {
    /// It is not JSON.
    #[error(transparent)]
    Syntax(#[from] serde_json::Error),
    /// It is nested too deeply or has too many values.
    #[error(transparent)]
    OutOfBounds(#[from] JsonScanError),
}

/// Replaces lone surrogate escapes by their marks, or by U+FFFD if they have none, and control characters by U+FFFD.
fn repair_escapes(json: &str, mark_of: fn(u16) -> Option<char>) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) =
        rest.find(|char: char| char == '\\' || (char.is_ascii_control() && !char.is_ascii_whitespace()))
    {
        let (before, tail) = rest.split_at(at);
        out.push_str(before);
        let escape = escape_length(tail);
        let (escape, after) = tail.split_at_checked(escape).unwrap_or((tail, ""));
        match utf16_unit(escape).and_then(mark_of).filter(|_| is_broken(escape)) {
            Some(mark) => out.push(mark),
            None => out.push_str(if is_broken(escape) { "\\ufffd" } else { escape }),
        }
        rest = after;
    }
    out + rest
}

/// Returns the length in bytes of the escape at the start of `tail`. A surrogate pair counts as one escape.
fn escape_length(tail: &str) -> usize {
    match (utf16_unit(tail), tail.get(6..).and_then(utf16_unit)) {
        (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
        (Some(_), _) => 6,
        (None, _) if tail.starts_with('\\') => 1 + tail.chars().nth(1).map_or(0, char::len_utf8),
        (None, _) => 1,
    }
}

fn is_broken(escape: &str) -> bool {
    escape.starts_with(|char: char| char.is_ascii_control())
        || (escape.len() == 6 && matches!(utf16_unit(escape), Some(0xd800..=0xdfff)))
}

fn utf16_unit(escape: &str) -> Option<u16> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

/// Parses a tool call's arguments for servers that need an object. Anything else becomes an empty object.
pub(super) fn parse_object(json: &str) -> Value {
    parse(json).ok().filter(Value::is_object).unwrap_or_else(|| Value::Object(serde_json::Map::new()))
}

/// Returns the first of the fields `names` that is not null.
pub(super) fn first_present<'a>(value: &'a Value, names: &[&str]) -> Option<&'a Value> {
    names.iter().filter_map(|name| value.get(*name)).find(|field| !field.is_null())
}

/// Returns the text of a field, if it has one.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str().filter(|text| !text.is_empty())
}

/// Returns a number of tokens. Some servers write a float, and some a text.
pub(super) fn count(value: &Value) -> Option<u64> {
    if let Some(text) = value.as_str() {
        return text.trim().parse().ok();
    }
    let number = value.as_number()?;
    number.as_u64().or_else(|| number.to_string().strip_suffix(".0")?.parse().ok())
}

/// Returns the first number of tokens at one of `paths`.
pub(super) fn count_at(value: &Value, paths: &[&str]) -> Option<u64> {
    paths.iter().find_map(|path| count(value.pointer(path)?))
}

/// Returns the letters and digits of a name in lower case. Vendors spell one name in many ways.
pub(super) fn squash(text: &str) -> String {
    text.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns a text with U+0000 replaced by U+FFFD.
pub(super) fn strip_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_lone_surrogates_and_controls_become_replacement_characters() {
        for (json, expected) in [
            (r#""\ud83c\udf19""#, "🌙"),
            (r#""a\ud83cb""#, "a\u{fffd}b"),
            (r#""\udf19\ud83c""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83c\ud83c\udf19""#, "\u{fffd}🌙"),
            (r#""\\ud83c \ud83c\n夜""#, "\\ud83c \u{fffd}\n夜"),
            ("\"a\u{0}\u{1b}b\"", "a\u{fffd}\u{fffd}b"),
        ] {
            assert_eq!(parse(json).unwrap(), json!(expected), "{json}");
        }
        for broken in [r#""\ud8"#, r#""\"#, r#"{"a":"#, r#""\u夜夜""#, ""] {
            assert!(parse(broken).is_err(), "{broken}");
        }
    }

    /// A half that another chunk may complete is marked, unless the server uses the characters of marks itself.
    #[test]
    fn json_chunk_lone_surrogates_become_marks() {
        let (value, has_marks) = parse_chunk(r#"{"a":"\ud83dx\u0000","b":"\ud83c\udf19"}"#).unwrap();
        assert_eq!((value, has_marks), (json!({"a": "\u{10d83d}x\u{0}", "b": "🌙"}), true));
        let own = "{\"a\":\"\u{10d83d}\\ud83d\"}";
        assert_eq!(parse_chunk(own).unwrap(), (json!({"a": "\u{10d83d}\u{fffd}"}), false));
        assert_eq!(parse_chunk("{\"a\":\"b\u{1}\"}").unwrap().0, json!({"a": "b\u{fffd}"}));
        assert_eq!(parse_chunk("{}").unwrap(), (json!({}), false));
        assert!(parse_chunk(r#"{"a":"\ud8"#).is_err());
    }

    #[test]
    fn json_count_any_form_is_read_as_integer() {
        for (value, expected) in [
            (json!(7), Some(7)),
            (json!(5.0), Some(5)),
            (json!(-1), None),
            (json!("7"), Some(7)),
            (json!("x"), None),
            (json!(1.5), None),
        ] {
            assert_eq!(count(&value), expected, "{value}");
        }
        assert_eq!(count_at(&json!({"a": {"b": 3}, "c": 4}), &["/a/x", "/a/b", "/c"]), Some(3));
    }
}
