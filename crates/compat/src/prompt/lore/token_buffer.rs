//! Counts the tokens of accumulated texts.

use super::LoreHost;

/// Up to this size, texts are counted as one text. Larger ones are counted separately: recounting all of it for each
/// entry would take quadratic time.
const MAX_JOINED_BYTES: usize = 32 << 10;

/// Texts, one per line, with their token count.
#[derive(Debug, Default)]
pub struct TokenBuffer {
    text: String,
    /// Tokens of texts that were already removed from `text`.
    flushed_tokens: usize,
    known: Option<usize>,
}

impl TokenBuffer {
    /// Adds a text.
    pub fn push(&mut self, text: &str, around: &mut dyn LoreHost) {
        self.known = None;
        if self.text.len() + text.len() > MAX_JOINED_BYTES {
            self.flushed_tokens += around.count_tokens(&self.text) + around.count_tokens(text);
            self.text.clear();
            return;
        }
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// Returns the tokens of all texts.
    pub fn tokens(&mut self, around: &mut dyn LoreHost) -> usize {
        *self.known.get_or_insert_with(|| self.flushed_tokens + around.count_tokens(&self.text))
    }
}
