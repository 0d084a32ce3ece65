//! Recall: which of many texts are worth being told again, and how a prompt tells them. Pure: the texts, their terms
//! and who compares vectors are handed in.
//!
//! - `words`: texts ranked by the words that they share with what was said last ([`RecallQuery`])
//! - `nearest`: who finds the nearest vectors ([`NearestVectors`]), and the exact comparison of two
//! - `fuse`: several rankings of the same texts as one, by places and not by scores, which have no common measure
//! - `excerpt`: the part of a long text that is worth it
//!
//! To add a way to rank: its list of places and scores, handed to [`fused`] with the others.

mod excerpt;
mod fuse;
mod nearest;
mod words;

pub use excerpt::excerpt;
pub use fuse::fused;
pub use nearest::{NearestVectors, similarity, strongest};
pub use words::{RecallQuery, TermCounts};

use super::TokenMeasure;

/// What stands above what is recalled.
const HEAD: &str = "What was said or written earlier, out of sight of the messages above, the oldest first:";

/// A text that is told again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecalledText {
    /// Who said it, or where it is written.
    pub whose: String,
    /// The text, or the part of it that is worth it.
    pub text: String,
}

impl RecalledText {
    /// As it stands in a prompt.
    pub fn told(&self) -> String {
        format!("[{}] {}", self.whose, self.text)
    }
}

/// The block of a prompt that tells all of them; empty for none.
pub fn block(memories: &[RecalledText]) -> String {
    if memories.is_empty() {
        return String::new();
    }
    let told: Vec<String> = memories.iter().map(RecalledText::told).collect();
    format!("{HEAD}\n{}", told.join("\n"))
}

/// Tokens that a block takes beside its texts.
pub fn frame(measure: &TokenMeasure) -> usize {
    measure.message(HEAD)
}

/// What is embedded of a text: its beginning, up to so many characters.
pub fn beginning(text: &str, chars: usize) -> &str {
    let end = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

/// The name of that for whoever keeps its vector.
pub fn hash(text: &str, chars: usize) -> blake3::Hash {
    blake3::hash(beginning(text, chars).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_tells_who_said_what() {
        let memory = |whose: &str, text: &str| RecalledText { whose: whose.into(), text: text.into() };
        assert_eq!(block(&[]), "");
        let told = block(&[memory("Rin", "The key is blue."), memory("Maps", "North.")]);
        assert!(told.ends_with("first:\n[Rin] The key is blue.\n[Maps] North."), "{told}");
    }

    #[test]
    fn beginnings_are_cut_between_characters() {
        assert_eq!(beginning("早上好 x", 2), "早上");
        assert_eq!(beginning("ab", 2), "ab");
        assert_eq!(hash("abc", 2), hash("abd", 2));
        assert_ne!(hash("abc", 3), hash("abd", 3));
    }
}
