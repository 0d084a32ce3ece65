//! Decodes files of unknown origin to text, and text to JSON. Most are UTF-8; some editors write a byte order mark or
//! UTF-16.

use std::borrow::Cow;

use clotho_core::json_scan::{self, JsonBounds, JsonScanError};
use serde_json::Value;

/// Why bytes could not be decoded as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TextDecodeError {
    /// Neither UTF-8 nor marked as UTF-16. Contains the offset of the first invalid byte.
    #[error("not UTF-8 at byte {0}")]
    NotUtf8(usize),
    /// Has a UTF-16 byte order mark, but is not UTF-16.
    #[error("it claims to be UTF-16, but is not")]
    NotUtf16,
}

/// Decodes a file and removes its byte order mark.
///
/// # Errors
/// Returns an error if the bytes are neither UTF-8 nor marked UTF-16.
pub fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, TextDecodeError> {
    if let Some(rest) = bytes.strip_prefix(b"\xff\xfe") {
        return utf16(rest, u16::from_le_bytes).map(Cow::Owned);
    }
    if let Some(rest) = bytes.strip_prefix(b"\xfe\xff") {
        return utf16(rest, u16::from_be_bytes).map(Cow::Owned);
    }
    let mark = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let rest = bytes.get(mark..).unwrap_or_default();
    std::str::from_utf8(rest).map(Cow::Borrowed).map_err(|error| TextDecodeError::NotUtf8(mark + error.valid_up_to()))
}

/// Why a text could not be read as JSON.
#[derive(Debug, thiserror::Error)]
pub enum JsonTextError {
    /// It is not JSON.
    #[error("{0}")]
    Syntax(serde_json::Error),
    /// It is nested too deeply or has too many values.
    #[error("{0}")]
    OutOfBounds(JsonScanError),
}

/// Parses JSON. Replaces lone surrogates such as `\ud800` with U+FFFD, because a Rust string cannot contain them.
///
/// # Errors
/// Returns an error if the text is not JSON, or exceeds [`JsonBounds::DOCUMENT`].
pub fn parse_json_lenient(text: &str) -> Result<Value, JsonTextError> {
    json_scan::check_bounds(text, JsonBounds::DOCUMENT).map_err(JsonTextError::OutOfBounds)?;
    let parsed = serde_json::from_str(text).or_else(|error| match replace_lone_surrogates(text) {
        Some(mended) => serde_json::from_str(&mended),
        None => Err(error),
    });
    parsed.map_err(JsonTextError::Syntax)
}

/// Counts the lone surrogate escapes in a JSON text.
pub fn count_lone_surrogates(json: &str) -> usize {
    lone_surrogates(json).count()
}

/// Removes blank lines before a text and all whitespace after it. Keeps the indentation of the first line.
pub fn trim_blank_lines(text: &str) -> &str {
    let text = text.trim_end();
    let before = text.get(..text.len() - text.trim_start().len()).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    text.get(start..).unwrap_or(text)
}

fn replace_lone_surrogates(json: &str) -> Option<String> {
    let (mut mended, mut after) = (String::with_capacity(json.len()), 0);
    for at in lone_surrogates(json) {
        mended.push_str(json.get(after..at)?);
        mended.push_str("\\ufffd");
        after = at + SURROGATE_ESCAPE_LEN;
    }
    mended.push_str(json.get(after..)?);
    (after > 0).then_some(mended)
}

/// Length in bytes of an escape such as `\ud800`.
const SURROGATE_ESCAPE_LEN: usize = 6;

/// Returns the byte offsets of all lone surrogate escapes.
fn lone_surrogates(json: &str) -> impl Iterator<Item = usize> {
    let bytes = json.as_bytes();
    let unit = move |at: usize| {
        let digits = bytes.get(at..at + SURROGATE_ESCAPE_LEN)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            at += bytes.get(at..)?.iter().position(|byte| *byte == b'\\')?;
            let here = at;
            match unit(here) {
                Some(0xd800..=0xdbff) if matches!(unit(here + SURROGATE_ESCAPE_LEN), Some(0xdc00..=0xdfff)) => {
                    at += 2 * SURROGATE_ESCAPE_LEN
                }
                Some(0xd800..=0xdfff) => {
                    at += SURROGATE_ESCAPE_LEN;
                    return Some(here);
                }
                // Skip the backslash and the escaped character.
                _ => at += 2,
            }
        }
    })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, TextDecodeError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let text: Result<String, _> = char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).collect();
    text.ok().filter(|_| rest.is_empty()).ok_or(TextDecodeError::NotUtf16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trim_blank_lines_indented_text_keeps_indentation() {
        for (given, expected) in
            [(" \n\n    code\n\ttab \n\n", "    code\n\ttab"), ("\n plain", " plain"), ("a", "a"), (" \n ", "")]
        {
            assert_eq!(trim_blank_lines(given), expected, "{given:?}");
        }
    }

    #[test]
    fn json_lone_surrogate_is_replaced() {
        let check = |text: &str, expected: &str, count: usize| {
            assert_eq!(
                (parse_json_lenient(text).unwrap(), count_lone_surrogates(text)),
                (Value::from(expected), count),
                "{text}"
            );
        };
        check(r#""a\ud800b""#, "a\u{fffd}b", 1);
        check(r#""\udfff\uD83D\uDE00\ud800\ud801""#, "\u{fffd}\u{1f600}\u{fffd}\u{fffd}", 3);
        check(r#""\\ud800 \\\ud800""#, "\\ud800 \\\u{fffd}", 1);
        check(r#""\u72d0 狐""#, "狐 狐", 0);
        assert!(parse_json_lenient(r#"{"a": "\ud8"}"#).is_err() && parse_json_lenient(r#"{"a": "\ud800""#).is_err());
        assert_eq!(parse_json_lenient(r#"{"\ud800": 1.50}"#).unwrap().to_string(), "{\"\u{fffd}\":1.50}");
    }

    #[test]
    fn text_decode_byte_order_mark_is_removed() {
        let check = |bytes: &[u8], expected: Result<&str, TextDecodeError>| {
            assert_eq!(decode(bytes).as_deref(), expected.as_ref().copied(), "{bytes:?}");
        };
        check("狐".as_bytes(), Ok("狐"));
        check(b"\xef\xbb\xbf{}", Ok("{}"));
        check(b"\xff\xfe{\0}\0", Ok("{}"));
        check(b"\xfe\xff\x72\xd0", Ok("狐"));
        check(b"ab\xff", Err(TextDecodeError::NotUtf8(2)));
        check(b"\xef\xbb\xbfa\xff", Err(TextDecodeError::NotUtf8(4)));
        check(b"\xff\xfe{", Err(TextDecodeError::NotUtf16));
        check(b"\xff\xfe\x00\xd8", Err(TextDecodeError::NotUtf16));
    }
}
