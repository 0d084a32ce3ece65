//! Recall: which of many texts are worth being told again, and how a prompt tells them. Pure: the texts, their terms
//! and who compares vectors are handed in.
//!
//! - `bm25`: texts ranked by the words that they share with what was said last ([`RecallQuery`])
//! - `nearest`: who finds the nearest vectors ([`NearestVectors`]), and the exact comparison of two
//! - `rank_fusion`: several rankings of the same texts as one, by places and not by scores, which have no common measure
//! - `excerpt`: the part of a long text that is worth it
//!
//! To add a way to rank: its list of places and scores, handed to [`reciprocal_rank_fusion`] with the others.

mod bm25;
mod excerpt;
mod nearest;
mod rank_fusion;

pub use bm25::{RecallQuery, TermCounts};
pub use excerpt::excerpt;
pub use nearest::{NearestVectors, similarity, top_scored};
pub use rank_fusion::reciprocal_rank_fusion;

use super::TokenMeasure;

/// What stands above what is recalled.
const HEADING: &str = "What was said or written earlier, out of sight of the messages above, the oldest first:";

/// A text that is told again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecalledText {
    /// Who said it, or where it is written.
    pub source: String,
    /// The text, or the part of it that is worth it.
    pub text: String,
}

impl RecalledText {
    /// As it stands in a prompt.
    pub fn told(&self) -> String {
        format!("[{}] {}", self.source, self.text)
    }
}

/// The block of a prompt that tells all of them; empty for none.
pub fn block(memories: &[RecalledText]) -> String {
    if memories.is_empty() {
        return String::new();
    }
    let told: Vec<String> = memories.iter().map(RecalledText::told).collect();
    format!("{HEADING}\n{}", told.join("\n"))
}

/// Tokens that a block takes beside its texts.
pub fn block_overhead(measure: &TokenMeasure) -> usize {
    measure.message(HEADING)
}

/// What is embedded of a text: its beginning, up to so many characters.
pub fn embed_prefix(text: &str, chars: usize) -> &str {
    let end = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

/// The name of that for whoever keeps its vector.
pub fn hash(text: &str, chars: usize) -> blake3::Hash {
    blake3::hash(embed_prefix(text, chars).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recall_block_names_each_source() {
        let memory = |whose: &str, text: &str| RecalledText { source: whose.into(), text: text.into() };
        assert_eq!(block(&[]), "");
        let told = block(&[memory("Rin", "The key is blue."), memory("Maps", "North.")]);
        assert!(told.ends_with("first:\n[Rin] The key is blue.\n[Maps] North."), "{told}");
    }

    #[test]
    fn recall_embed_prefix_cuts_between_characters() {
        assert_eq!(embed_prefix("早上好 x", 2), "早上");
        assert_eq!(embed_prefix("ab", 2), "ab");
        assert_eq!(hash("abc", 2), hash("abd", 2));
        assert_ne!(hash("abc", 3), hash("abd", 3));
    }
}
