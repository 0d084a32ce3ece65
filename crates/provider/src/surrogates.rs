//! Joins characters that a server has cut into two texts. Some cut their texts by UTF-16 units, so that one event ends
//! with the first half of a surrogate pair and the next one begins with the second.
//!
//! A string cannot hold half a pair. So the parser of chunks writes a mark for each: the half plus [`MARK_BASE`], a
//! private character. Marks never leave the decoder.

use serde_json::Value;

/// Difference between a half of a surrogate pair and its mark.
const MARK_BASE: u32 = 0x10_0000;

/// Returns the mark of a UTF-16 unit, if it is half a surrogate pair.
pub(super) fn mark_of(unit: u16) -> Option<char> {
    matches!(unit, 0xd800..=0xdfff).then(|| char::from_u32(MARK_BASE | u32::from(unit)))?
}

/// Returns the UTF-16 unit that a mark stands for.
fn unit_of(mark: char) -> Option<u16> {
    u16::try_from(u32::from(mark).checked_sub(MARK_BASE)?).ok().filter(|unit| matches!(unit, 0xd800..=0xdfff))
}

/// Returns whether a text contains a character that looks like a mark.
pub(super) fn has_mark(text: &str) -> bool {
    text.chars().any(|char| unit_of(char).is_some())
}

/// Joins the halves in the texts of one stream, in which one character can be cut by two chunks.
#[derive(Debug, Default)]
pub(super) struct SurrogateJoiner {
    /// The first half that ended the text so far.
    pending: Option<u16>,
}

impl SurrogateJoiner {
    /// Returns the next text with whole characters. A half without its other half becomes U+FFFD.
    pub(super) fn push(&mut self, text: &str) -> String {
        let mut joined = String::with_capacity(text.len());
        for char in text.chars() {
            match (self.pending.take(), unit_of(char)) {
                (None, None) => joined.push(char),
                (None, Some(unit @ 0xd800..=0xdbff)) => self.pending = Some(unit),
                (None, Some(_)) => joined.push(char::REPLACEMENT_CHARACTER),
                (Some(first), Some(second @ 0xdc00..=0xdfff)) => joined.push(join_pair(first, second)),
                (Some(_), Some(unit)) => {
                    joined.push(char::REPLACEMENT_CHARACTER);
                    self.pending = Some(unit);
                }
                (Some(_), None) => joined.extend([char::REPLACEMENT_CHARACTER, char]),
            }
        }
        joined
    }

    /// Ends the text. Returns U+FFFD if its last character is incomplete.
    pub(super) fn finish(&mut self) -> Option<String> {
        self.pending.take().map(|_| char::REPLACEMENT_CHARACTER.to_string())
    }
}

fn join_pair(first: u16, second: u16) -> char {
    char::decode_utf16([first, second]).next().and_then(Result::ok).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Returns a complete text without marks.
pub(super) fn join_text(text: &str) -> String {
    let mut joiner = SurrogateJoiner::default();
    let joined = joiner.push(text);
    joined + &joiner.finish().unwrap_or_default()
}

/// Replaces the marks in all texts of a value.
pub(super) fn join_value(value: &mut Value) {
    match value {
        Value::String(text) => *text = join_text(text),
        Value::Array(items) => items.iter_mut().for_each(join_value),
        Value::Object(fields) => fields.values_mut().for_each(join_value),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(units: &[u16]) -> String {
        units.iter().map(|unit| mark_of(*unit).unwrap()).collect()
    }

    #[test]
    fn surrogate_joiner_halves_in_two_texts_become_one_character() {
        let mut joiner = SurrogateJoiner::default();
        assert_eq!(joiner.push(&format!("a{}", marks(&[0xd83d]))), "a");
        assert_eq!(joiner.push(""), "");
        assert_eq!(joiner.push(&format!("{}b", marks(&[0xde00]))), "😀b");
        assert_eq!(joiner.finish(), None);
    }

    #[test]
    fn surrogate_joiner_lone_half_becomes_replacement_character() {
        assert_eq!(join_text(&format!("{}a", marks(&[0xd83d]))), "\u{fffd}a");
        assert_eq!(join_text(&format!("{}a", marks(&[0xde00]))), "\u{fffd}a");
        assert_eq!(join_text(&marks(&[0xd83d, 0xd83d, 0xde00, 0xd83d])), "\u{fffd}😀\u{fffd}");
        assert_eq!((mark_of(0x41), has_mark("a\u{10ffff}😀"), has_mark(&marks(&[0xdfff]))), (None, false, true));
    }
}
