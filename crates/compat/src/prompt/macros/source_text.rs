//! A text whose macros are expanded.

use std::cell::OnceCell;
use std::ops::Deref;

use super::random;

/// A text whose macros are expanded. It keeps its hash, which every `{{pick}}` in it needs: a long text with many picks
/// would otherwise be read once for each.
pub struct SourceText<'t> {
    text: &'t str,
    hash: OnceCell<u64>,
}

impl<'t> SourceText<'t> {
    /// Wraps a text.
    pub const fn new(text: &'t str) -> Self {
        Self { text, hash: OnceCell::new() }
    }

    /// Returns the whole text, for as long as it lives.
    pub const fn as_str(&self) -> &'t str {
        self.text
    }

    /// Returns the hash of the text with a seed. The seed of the first call counts.
    pub fn hash(&self, seed: u64) -> u64 {
        *self.hash.get_or_init(|| random::hash_text(seed, self.text))
    }
}

impl Deref for SourceText<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.text
    }
}
