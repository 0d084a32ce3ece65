//! Canonical JSON, the form that is hashed: keys sorted by code point, no spaces, numbers as written.

use serde_json::{Map, Value};

/// Returns the canonical text of a value. Equal texts mean equal JSON, including the spelling of numbers.
pub fn text(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// Returns the blake3 hash of the canonical text, as 64 hexadecimal digits.
pub fn hash(value: &Value) -> String {
    digest(&text(value))
}

/// Returns the blake3 hash of a text, as 64 hexadecimal digits.
pub(super) fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Writes the canonical text of a value.
pub(super) fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(number.as_str()),
        Value::String(text) => write_text(text, out),
        Value::Array(list) => write_list(list, out),
        Value::Object(map) => write_map(map, out),
    }
}

/// Writes a list in canonical form.
pub(super) fn write_list(list: &[Value], out: &mut String) {
    out.push('[');
    for (position, value) in list.iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        write(value, out);
    }
    out.push(']');
}

/// Writes a map with its keys sorted.
pub(super) fn write_map(map: &Map<String, Value>, out: &mut String) {
    let mut entries: Vec<(&String, &Value)> = map.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    out.push('{');
    for (position, (key, value)) in entries.into_iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        write_text(key, out);
        out.push(':');
        write(value, out);
    }
    out.push('}');
}

/// Writes a string with only the escapes that JSON requires.
pub(super) fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn canonical_text_sorts_keys_and_keeps_numbers() {
        let value: Value =
            serde_json::from_str(r#"{ "b": [1.0, {"z": null, "a": true}], "a": 9007199254740993 }"#).unwrap();
        assert_eq!(text(&value), r#"{"a":9007199254740993,"b":[1.0,{"a":true,"z":null}]}"#);
    }

    #[test]
    fn canonical_hash_ignores_key_order() {
        assert_eq!(hash(&json!({"a": 1, "b": 2})), hash(&json!({"b": 2, "a": 1})));
        assert_ne!(hash(&json!({"a": 1})), hash(&json!({"a": 2})));
    }

    #[test]
    fn canonical_text_reads_back() {
        for original in ["", "plain", "\"\\/\n\r\t\u{1}\u{1f}\u{7f}", "héllo 包 🗡"] {
            let read: Value = serde_json::from_str(&text(&json!({original: original}))).unwrap();
            assert_eq!(read, json!({original: original}));
        }
    }
}
