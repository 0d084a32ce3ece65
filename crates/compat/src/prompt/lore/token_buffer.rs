//! Tokens of many texts.

use super::LoreHost;

/// As long as texts are no longer than this, their tokens are counted as those of one text; beyond it each by itself,
/// because counting everything again for each entry would take the square of the time.
const MAX_JOINED_BYTES: usize = 32 << 10;

/// Texts, one a line, and their tokens.
#[derive(Debug, Default)]
pub struct TokenBuffer {
    text: String,
    /// Tokens of what is not in the text any more.
    flushed_tokens: usize,
    known: Option<usize>,
}

impl TokenBuffer {
    /// Adds a text.
    pub fn push(&mut self, text: &str, around: &mut dyn LoreHost) {
        self.known = None;
        if self.text.len() + text.len() > MAX_JOINED_BYTES {
            self.flushed_tokens += around.tokens(&self.text) + around.tokens(text);
            self.text.clear();
            return;
        }
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// How many tokens they are.
    pub fn tokens(&mut self, around: &mut dyn LoreHost) -> usize {
        *self.known.get_or_insert_with(|| self.flushed_tokens + around.tokens(&self.text))
    }
}
