//! How large texts are to a model. Who counts is handed in: a tokenizer, or the estimate where none is known.

use std::fmt;
use std::sync::Arc;

/// Tokens that a message takes beside its text: its marks, and who says it.
const MESSAGE_OVERHEAD: usize = 4;

/// Somebody who knows how many tokens a text is.
pub trait TokenCounter: Send + Sync + fmt::Debug {
    /// Tokens of a text by itself.
    fn count(&self, text: &str) -> usize;
    /// Who counts, as people are told: [`ESTIMATE`], or the name of a tokenizer.
    fn name(&self) -> String;
}

/// What people are told of counts that are none.
pub const ESTIMATE: &str = "estimate";

/// What a prompt is measured by.
#[derive(Debug, Clone)]
pub struct TokenMeasure(Arc<dyn TokenCounter>);

impl TokenMeasure {
    /// Measures by a counter.
    pub fn new(counter: Arc<dyn TokenCounter>) -> Self {
        Self(counter)
    }

    /// Tokens of a text as a message.
    pub fn message(&self, text: &str) -> usize {
        self.0.count(text).saturating_add(MESSAGE_OVERHEAD)
    }

    /// Tokens of a text by itself, such as an entry of a lorebook.
    pub fn text(&self, text: &str) -> usize {
        self.0.count(text)
    }

    /// Whether somebody counts.
    pub fn is_exact(&self) -> bool {
        self.0.name() != ESTIMATE
    }

    /// Who counts.
    pub fn counter_name(&self) -> String {
        self.0.name()
    }
}

impl Default for TokenMeasure {
    fn default() -> Self {
        Self::new(Arc::new(TokenEstimate))
    }
}

/// Nobody who counts: the estimate.
#[derive(Debug)]
struct TokenEstimate;

impl TokenCounter for TokenEstimate {
    fn count(&self, text: &str) -> usize {
        estimate_text(text)
    }

    fn name(&self) -> String {
        ESTIMATE.to_owned()
    }
}

/// An honest estimate of the tokens of a text: four bytes of Latin script, one character of any other. Marked as an estimate
/// wherever it is shown.
pub fn estimate_text(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let other = text.chars().filter(|c| !c.is_ascii()).count();
    ascii.div_ceil(4) + other
}

/// The same for a text as a message.
pub fn tokens(text: &str) -> usize {
    estimate_text(text).saturating_add(MESSAGE_OVERHEAD)
}
