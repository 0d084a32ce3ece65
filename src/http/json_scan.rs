//! A scan of JSON text before it is parsed: nesting depth, and strings that no database stores (U+0000, lone
//! surrogates). It only follows the structure; the parser checks the syntax.

use std::fmt::Write as _;

/// The first fault and its path as the parser spells it, such as `a.b[0]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonScanError {
    /// Path of the fault; empty = the whole document.
    pub field: String,
    /// The fault in one sentence.
    pub message: String,
}

/// Position of the scan inside an object or list.
enum JsonScanFrame<'a> {
    Object { key: Option<&'a str>, wants_key: bool },
    List { index: usize },
}

/// Scans a JSON text.
///
/// # Errors
/// Returns the first place that nests deeper than `max_depth` or whose string has U+0000 or a lone surrogate.
pub fn scan(text: &str, max_depth: usize) -> Result<(), JsonScanError> {
    let mut stack: Vec<JsonScanFrame<'_>> = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                // A string: check it, and remember it if it is a key.
                let (inside, next) = string_end(text, at + 1);
                if let Some(message) = find_string_fault(inside) {
                    return Err(JsonScanError { field: current_path(&stack), message: message.to_owned() });
                }
                if let Some(JsonScanFrame::Object { key, wants_key }) = stack.last_mut()
                    && *wants_key
                {
                    *key = Some(inside);
                }
                at = next;
                continue;
            }
            // Structure: track nesting, keys and list indexes.
            b'{' => stack.push(JsonScanFrame::Object { key: None, wants_key: true }),
            b'[' => stack.push(JsonScanFrame::List { index: 0 }),
            b'}' | b']' => _ = stack.pop(),
            b':' => {
                if let Some(JsonScanFrame::Object { wants_key, .. }) = stack.last_mut() {
                    *wants_key = false;
                }
            }
            b',' => match stack.last_mut() {
                Some(JsonScanFrame::Object { wants_key, .. }) => *wants_key = true,
                Some(JsonScanFrame::List { index }) => *index += 1,
                None => {}
            },
            _ => {}
        }
        if stack.len() > max_depth {
            let message = format!("the JSON has more than {max_depth} levels");
            return Err(JsonScanError { field: current_path(&stack), message });
        }
        at += 1;
    }
    Ok(())
}

/// Returns the content of a string that begins at `start`, and the position after its closing quote.
fn string_end(text: &str, start: usize) -> (&str, usize) {
    let rest = text.as_bytes().get(start..).unwrap_or_default();
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'"' => return (text.get(start..start + at).unwrap_or_default(), start + at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    (text.get(start..).unwrap_or_default(), text.len())
}

/// Finds forbidden escapes in a string. Raw control characters are left to the parser.
fn find_string_fault(inside: &str) -> Option<&'static str> {
    let mut rest = inside;
    let mut expects_low = false;
    while let Some(slash) = rest.find('\\') {
        if expects_low && slash != 0 {
            return Some(LONE_SURROGATE);
        }
        let escape = rest.get(slash + 1..).unwrap_or_default();
        let unit = escape.strip_prefix('u').and_then(|hex| u16::from_str_radix(hex.get(..4)?, 16).ok());
        match unit {
            Some(0) => return Some("a string cannot contain U+0000"),
            Some(0xdc00..=0xdfff) if !expects_low => return Some(LONE_SURROGATE),
            Some(unit) if expects_low && !(0xdc00..=0xdfff).contains(&unit) => return Some(LONE_SURROGATE),
            None if expects_low => return Some(LONE_SURROGATE),
            _ => {}
        }
        expects_low = !expects_low && unit.is_some_and(|unit| (0xd800..=0xdbff).contains(&unit));
        let length = if unit.is_some() { 5 } else { 1 };
        rest = escape.get(length..).unwrap_or_default();
    }
    expects_low.then_some(LONE_SURROGATE)
}

const LONE_SURROGATE: &str = "a string cannot contain half of a surrogate pair";

fn current_path(stack: &[JsonScanFrame<'_>]) -> String {
    let mut place = String::new();
    for frame in stack.iter().take(8) {
        match frame {
            JsonScanFrame::Object { key: Some(key), .. } => {
                let dot = if place.is_empty() { "" } else { "." };
                let _ = write!(place, "{dot}{}", key.chars().take(100).collect::<String>());
            }
            JsonScanFrame::Object { key: None, .. } => {}
            JsonScanFrame::List { index } => _ = write!(place, "[{index}]"),
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(&str, &str)>) {
        let found = scan(text, 4).err().map(|fault| (fault.field, fault.message));
        let expected = expected.map(|(field, words)| (field.to_owned(), words));
        match (&found, &expected) {
            (None, None) => {}
            (Some((field, message)), Some((place, words))) if field == place && message.contains(words) => {}
            _ => panic!("{text}: {found:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn json_scan_depth_nul_and_lone_surrogate_return_path() {
        check(r#"{"a": {"b": [1, {"c": 2}]}}"#, None);
        check(r#"{"a": {"b": [1, {"c": []}]}}"#, Some(("a.b[1].c[0]", "more than 4 levels")));
        check("[[[[[", Some(("[0][0][0][0][0]", "levels")));
        check(r#"{"a": [0, "x\u0000y"]}"#, Some(("a[1]", "U+0000")));
        check(r#"{"content": "\ud800"}"#, Some(("content", "surrogate")));
        check(r#"{"content": "\ud83d\ude00"}"#, None);
        check(r#"{"content": "\ude00"}"#, Some(("content", "surrogate")));
        check(r#"{"content": "\ud83d\ud83d"}"#, Some(("content", "surrogate")));
        check(r#"{"content": "\ud83d x"}"#, Some(("content", "surrogate")));
        check(r#"{"content": "\ud83dx\ude00"}"#, Some(("content", "surrogate")));
        check(r#"{"content": "\ud83d\n"}"#, Some(("content", "surrogate")));
        check(r#"{"b\u0000": 1}"#, Some(("", "U+0000")));
        // Brackets and quotes inside strings are no structure.
        check(r#"{"a": "[[[[[[[\"[[[["}"#, None);
        check(r#"{"a": "\\u0000"}"#, None);
    }

    #[test]
    fn json_scan_malformed_json_is_left_to_parser() {
        for text in ["", "}", "]]]]", "\"", "\"\\", "\"\\u00", "{\"a", ",:,"] {
            assert_eq!(scan(text, 4), Ok(()), "{text}");
        }
    }
}
