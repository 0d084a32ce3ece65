//! Recall: selects older texts that are worth repeating, and formats them for a prompt. Pure: texts, terms and the
//! vector index are passed in.
//!
//! - `bm25`: ranks texts by the words they share with the latest messages ([`RecallQuery`])
//! - `nearest`: the interface to a vector index ([`NearestVectors`]), and the exact similarity of two vectors
//! - `rank_fusion`: merges several rankings by rank, because their scores are not comparable
//! - `excerpt`: selects the relevant part of a long text
//!
//! To add a ranking, pass its list of positions and scores to [`reciprocal_rank_fusion`] with the others.

mod bm25;
mod excerpt;
mod nearest;
mod rank_fusion;

pub use bm25::{RecallQuery, TermCounts};
pub use excerpt::excerpt;
pub use nearest::{NearestVectors, similarity, top_scored};
pub use rank_fusion::reciprocal_rank_fusion;

use super::TokenMeasure;

/// First line of the recall block.
const HEADING: &str = "What was said or written earlier, out of sight of the messages above, the oldest first:";

/// A recalled text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecalledText {
    /// Speaker, or where it is written.
    pub source: String,
    /// The text or its relevant part.
    pub text: String,
}

impl RecalledText {
    /// Formats the text for the prompt.
    pub fn render(&self) -> String {
        format!("[{}] {}", self.source, self.text)
    }
}

/// Returns the recall block of a prompt; empty without texts.
pub fn block(memories: &[RecalledText]) -> String {
    if memories.is_empty() {
        return String::new();
    }
    let texts: Vec<String> = memories.iter().map(RecalledText::render).collect();
    format!("{HEADING}\n{}", texts.join("\n"))
}

/// Returns the tokens that the block takes besides its texts.
pub fn block_overhead(measure: &TokenMeasure) -> usize {
    measure.message(HEADING)
}

/// Returns the part of a text that is embedded: its first `chars` characters.
pub fn embed_prefix(text: &str, chars: usize) -> &str {
    let end = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

/// Returns the hash of the embedded part; it identifies the vector.
pub fn embed_hash(text: &str, chars: usize) -> blake3::Hash {
    blake3::hash(embed_prefix(text, chars).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recall_block_names_each_source() {
        let memory = |whose: &str, text: &str| RecalledText { source: whose.into(), text: text.into() };
        assert_eq!(block(&[]), "");
        let texts = block(&[memory("Rin", "The key is blue."), memory("Maps", "North.")]);
        assert!(texts.ends_with("first:\n[Rin] The key is blue.\n[Maps] North."), "{texts}");
    }

    #[test]
    fn recall_embed_prefix_cuts_between_characters() {
        assert_eq!(embed_prefix("早上好 x", 2), "早上");
        assert_eq!(embed_prefix("ab", 2), "ab");
        assert_eq!(embed_hash("abc", 2), embed_hash("abd", 2));
        assert_ne!(embed_hash("abc", 3), embed_hash("abd", 3));
    }
}
