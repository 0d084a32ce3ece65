//! Bounds of JSON from outside, checked before it is parsed: nesting, memory, and strings that no database stores
//! (U+0000, lone surrogates).
//!
//! A small text can become a large tree: `[],` is three bytes, and 80 as a value in memory. So every reader of JSON from
//! a stranger (a body, a card, a lorebook, a preset, a chat, a session file, a response of a model server) scans it
//! first. The scan takes no memory. It only follows the structure; the parser checks the syntax.

use std::fmt::Write as _;

/// What a JSON document may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonBounds {
    /// The maximum number of lists and objects inside each other.
    pub depth: usize,
    /// The maximum memory of the tree of values besides its texts, in bytes, as this scan estimates it.
    pub memory: usize,
    /// Further bytes of memory for each byte of the document, so that a large ordinary file is not refused.
    pub growth: usize,
}

impl JsonBounds {
    /// For files and for responses of model servers. The depth is that of the parser. A document is held up to three
    /// times while it is stored and sent back, so three times this memory is what a request may cost.
    pub const DOCUMENT: Self = Self { depth: 127, memory: 16 << 20, growth: 4 };

    /// For chats of other programs, which are imported one after the other. A message can have as much structure as text.
    pub const CHAT: Self = Self { memory: 64 << 20, ..Self::DOCUMENT };

    /// The same memory with another depth.
    pub const fn of_depth(depth: usize) -> Self {
        Self { depth, ..Self::DOCUMENT }
    }
}

/// Memory of a list that is not empty: room for four values.
const LIST_BYTES: usize = 4 * VALUE_BYTES;
/// Memory of an object that is not empty: room for four fields, and the table of their names.
const OBJECT_BYTES: usize = 4 * FIELD_BYTES + 64;
/// Memory of a further value of a list. A list that grows has up to half as much room again.
const ELEMENT_BYTES: usize = VALUE_BYTES + VALUE_BYTES / 2;
/// Memory of a further field of an object, with the text of its name.
const FIELD_BYTES: usize = VALUE_BYTES + 64;
const VALUE_BYTES: usize = size_of::<serde_json::Value>();

/// Why a JSON document is out of bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JsonScanFault {
    /// Lists and objects are nested too deeply.
    #[error("the JSON has more than {limit} levels")]
    TooDeep { limit: usize },
    /// The tree of its values would be too large. `limit`: in megabytes.
    #[error("the JSON has too many values: they would need more than {limit} MB of memory")]
    TooManyValues { limit: usize },
    /// A string has U+0000.
    #[error("a string cannot contain U+0000")]
    Nul,
    /// A string has half of a surrogate pair.
    #[error("a string cannot contain half of a surrogate pair")]
    LoneSurrogate,
}

/// The first fault and its path as the parser spells it, such as `a.b[0]`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{fault}")]
pub struct JsonScanError {
    /// Path of the fault; empty = the whole document. It ends in `…` if the fault is deeper than eight levels.
    pub field: String,
    /// The fault.
    pub fault: JsonScanFault,
}

/// Position of the scan inside an object or list.
enum JsonScanFrame<'a> {
    Object { key: Option<&'a str>, wants_key: bool },
    List { index: usize },
}

/// Checks the nesting and the memory of a JSON text.
///
/// # Errors
/// Returns the first place that exceeds the bounds.
///
/// # Examples
/// ```
/// use clotho_core::json_scan::{self, JsonBounds};
///
/// assert!(json_scan::check_bounds("[[1], [2]]", JsonBounds::of_depth(2)).is_ok());
/// assert!(json_scan::check_bounds("[[[1]]]", JsonBounds::of_depth(2)).is_err());
/// ```
pub fn check_bounds(text: &str, bounds: JsonBounds) -> Result<(), JsonScanError> {
    scan_with(text, bounds, |_| None)
}

/// Checks the nesting, the memory and the strings of a JSON text.
///
/// # Errors
/// Returns the first place that exceeds the bounds, or whose string has U+0000 or a lone surrogate.
pub fn scan(text: &str, bounds: JsonBounds) -> Result<(), JsonScanError> {
    scan_with(text, bounds, find_string_fault)
}

fn scan_with(
    text: &str,
    bounds: JsonBounds,
    string_fault: impl Fn(&str) -> Option<JsonScanFault>,
) -> Result<(), JsonScanError> {
    let mut stack: Vec<JsonScanFrame<'_>> = Vec::new();
    let bytes = text.as_bytes();
    let max_memory = bounds.memory.saturating_add(bytes.len().saturating_mul(bounds.growth));
    let (mut at, mut memory) = (0, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                // A string: check it, and remember it if it is a key.
                let (inside, next) = string_end(text, at + 1);
                if let Some(fault) = string_fault(inside) {
                    return Err(JsonScanError { field: current_path(&stack), fault });
                }
                if let Some(JsonScanFrame::Object { key, wants_key }) = stack.last_mut()
                    && *wants_key
                {
                    *key = Some(inside);
                }
                at = next;
                continue;
            }
            // Structure: track nesting, keys and list indexes, and add up the memory.
            b'{' => {
                stack.push(JsonScanFrame::Object { key: None, wants_key: true });
                memory += if is_empty(bytes, at, b'}') { 0 } else { OBJECT_BYTES };
            }
            b'[' => {
                stack.push(JsonScanFrame::List { index: 0 });
                memory += if is_empty(bytes, at, b']') { 0 } else { LIST_BYTES };
            }
            b'}' | b']' => _ = stack.pop(),
            b':' => {
                if let Some(JsonScanFrame::Object { wants_key, .. }) = stack.last_mut() {
                    *wants_key = false;
                }
            }
            b',' => match stack.last_mut() {
                Some(JsonScanFrame::Object { wants_key, .. }) => {
                    *wants_key = true;
                    memory += FIELD_BYTES;
                }
                Some(JsonScanFrame::List { index }) => {
                    *index += 1;
                    memory += ELEMENT_BYTES;
                }
                None => {}
            },
            _ => {}
        }
        if stack.len() > bounds.depth {
            let fault = JsonScanFault::TooDeep { limit: bounds.depth };
            return Err(JsonScanError { field: current_path(&stack), fault });
        }
        if memory > max_memory {
            let fault = JsonScanFault::TooManyValues { limit: max_memory >> 20 };
            return Err(JsonScanError { field: current_path(&stack), fault });
        }
        at += 1;
    }
    Ok(())
}

/// Returns whether a list or object that opens at `at` closes at once.
fn is_empty(bytes: &[u8], at: usize, close: u8) -> bool {
    let rest = bytes.get(at + 1..).unwrap_or_default();
    rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&close)
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
fn find_string_fault(inside: &str) -> Option<JsonScanFault> {
    let mut rest = inside;
    let mut expects_low = false;
    while let Some(slash) = rest.find('\\') {
        if expects_low && slash != 0 {
            return Some(JsonScanFault::LoneSurrogate);
        }
        let escape = rest.get(slash + 1..).unwrap_or_default();
        let unit = escape.strip_prefix('u').and_then(|hex| u16::from_str_radix(hex.get(..4)?, 16).ok());
        match unit {
            Some(0) => return Some(JsonScanFault::Nul),
            Some(0xdc00..=0xdfff) if !expects_low => return Some(JsonScanFault::LoneSurrogate),
            Some(unit) if expects_low && !(0xdc00..=0xdfff).contains(&unit) => {
                return Some(JsonScanFault::LoneSurrogate);
            }
            None if expects_low => return Some(JsonScanFault::LoneSurrogate),
            _ => {}
        }
        expects_low = !expects_low && unit.is_some_and(|unit| (0xd800..=0xdbff).contains(&unit));
        let length = if unit.is_some() { 5 } else { 1 };
        rest = escape.get(length..).unwrap_or_default();
    }
    expects_low.then_some(JsonScanFault::LoneSurrogate)
}

/// How many levels the path of a fault names. Deeper ones are left out.
const PATH_LEVELS: usize = 8;
/// How many characters of a key the path of a fault has.
const PATH_KEY_CHARS: usize = 100;

fn current_path(stack: &[JsonScanFrame<'_>]) -> String {
    let mut place = String::new();
    for frame in stack.iter().take(PATH_LEVELS) {
        match frame {
            JsonScanFrame::Object { key: Some(key), .. } => {
                let dot = if place.is_empty() { "" } else { "." };
                let cut = if key.chars().nth(PATH_KEY_CHARS).is_some() { "…" } else { "" };
                let _ = write!(place, "{dot}{}{cut}", key.chars().take(PATH_KEY_CHARS).collect::<String>());
            }
            JsonScanFrame::Object { key: None, .. } => {}
            JsonScanFrame::List { index } => _ = write!(place, "[{index}]"),
        }
    }
    if stack.len() > PATH_LEVELS {
        place.push('…');
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(&str, &str)>) {
        let found = scan(text, JsonBounds::of_depth(4)).err().map(|error| (error.field, error.fault.to_string()));
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

    /// A path that is cut ends in an ellipsis, and so does a key.
    #[test]
    fn json_scan_long_path_ends_in_ellipsis() {
        let path_of = |text: &str, depth: usize| scan(text, JsonBounds::of_depth(depth)).unwrap_err().field;
        assert_eq!(path_of("[[[[[[[[", 7), "[0][0][0][0][0][0][0][0]");
        assert_eq!(path_of("[[[[[[[[[", 8), "[0][0][0][0][0][0][0][0]…");
        assert_eq!(path_of(&"{\"a\":".repeat(20), 12), "a.a.a.a.a.a.a.a…");
        let key = "é".repeat(101);
        assert_eq!(path_of(&format!("{{\"{key}\": [[["), 2), format!("{}…[0][0]", "é".repeat(100)));
    }

    #[test]
    fn json_scan_malformed_json_is_left_to_parser() {
        for text in ["", "}", "]]]]", "\"", "\"\\", "\"\\u00", "{\"a", ",:,"] {
            assert_eq!(scan(text, JsonBounds::of_depth(4)), Ok(()), "{text}");
        }
    }

    /// The estimate is at least what the parser allocates, for values that are small as text.
    #[test]
    fn json_scan_memory_bounds_small_values() {
        let bounds = JsonBounds { depth: 4, memory: 100_000, growth: 0 };
        let list = |element: &str, count: usize| format!("[{}]", vec![element; count].join(","));
        for (element, least) in [("[]", 60), ("0", 60), ("{}", 60), ("[0]", 200), ("{\"a\":0}", 400)] {
            let count = bounds.memory / least;
            assert!(check_bounds(&list(element, count / 10), bounds).is_ok(), "{element}");
            let error = check_bounds(&list(element, count), bounds).unwrap_err();
            assert_eq!(error.fault, JsonScanFault::TooManyValues { limit: 0 }, "{element}");
        }
        let fields: Vec<String> = (0..1_000).map(|n| format!("\"{n}\":0")).collect();
        assert!(check_bounds(&format!("{{{}}}", fields.join(",")), bounds).is_err());
        let wide = JsonBounds { growth: 40, ..bounds };
        assert!(check_bounds(&list("{\"name\": \"ordinary\"}", 10_000), bounds).is_err());
        assert!(
            check_bounds(&list("{\"name\": \"ordinary\"}", 10_000), wide).is_ok(),
            "a longer document may be larger"
        );
        let long = format!("[\"{}\"]", "x".repeat(1_000_000));
        assert!(check_bounds(&long, bounds).is_ok(), "texts are bounded by the size of the document");
    }
}
