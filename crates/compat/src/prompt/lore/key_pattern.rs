//! One key inside the automaton of a book, and where words begin and end.

use serde_json::Value;

use clotho_core::letters::is_unspaced;

/// The automaton pattern of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPattern {
    /// Index of the pattern.
    pub pattern: usize,
    /// Whether the pattern is the whole key.
    pub is_whole: bool,
}

/// Which characters are parts of words, for keys that must match whole words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WordCharacters {
    /// Letters, digits and `_` of any script. Scripts without blanks have no borders of words.
    #[default]
    Unicode,
    /// ASCII letters, digits and `_`, as in JavaScript's `\w`: what SillyTavern does.
    Ascii,
}

impl WordCharacters {
    /// The field of a book that chooses them.
    pub const FIELD: &str = "wordCharacters";

    /// Reads the field of a book; anything but `ascii` is the default.
    pub fn read(value: Option<&Value>) -> Self {
        if value.is_some_and(|value| value == Self::Ascii.as_str()) { Self::Ascii } else { Self::Unicode }
    }

    /// Returns the value of the field.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unicode => "unicode",
            Self::Ascii => "ascii",
        }
    }

    /// Returns whether no word goes on over the start or the end of a range of a text.
    pub fn is_whole_word(self, text: &str, start: usize, end: usize) -> bool {
        let (before, rest) = text.split_at_checked(start).unwrap_or_default();
        let (found, after) = rest.split_at_checked(end.saturating_sub(start)).unwrap_or_default();
        let begins = (before.chars().next_back(), found.chars().next());
        let ends = (after.chars().next(), found.chars().next_back());
        [begins, ends].into_iter().all(|(next, edge)| !next.is_some_and(|next| self.goes_on(next, edge)))
    }

    /// Returns whether the character beside a found key belongs to the same word. `edge` is the key's own character.
    fn goes_on(self, next: char, edge: Option<char>) -> bool {
        match self {
            Self::Ascii => next.is_ascii_alphanumeric() || next == '_',
            Self::Unicode => {
                regex_syntax::try_is_word_character(next).unwrap_or(false)
                    && !is_unspaced(next)
                    && !edge.is_some_and(is_unspaced)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_characters_decide_about_whole_words() {
        for (text, key, unicode, ascii) in [
            ("котёл", "кот", false, true),
            ("вот кот, смотри", "кот", true, true),
            ("naïf", "na", false, true),
            ("το σκύλος", "σκύλ", false, true),
            ("smith's", "smith", true, true),
            ("lamp_1", "lamp", false, false),
            ("lamp٣", "lamp", false, true),
            ("去了龙城看", "龙城", true, true),
            ("他的hp很", "hp", true, true),
            ("龙城hp", "龙城", true, false),
            ("마법사는", "마법사", true, true),
            ("c++11", "c++", false, false),
            ("lamps", "lamp", false, false),
            ("lamp", "lamp", true, true),
        ] {
            let start = text.find(key).unwrap();
            let seen = [WordCharacters::Unicode, WordCharacters::Ascii]
                .map(|words| words.is_whole_word(text, start, start + key.len()));
            assert_eq!(seen, [unicode, ascii], "{key} in {text}");
        }
    }
}
