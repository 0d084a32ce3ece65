//! Token counts of texts, and the limits of a prompt. The counter is passed in: a tokenizer, or the estimate if none is known.

use std::fmt;
use std::sync::Arc;

use clotho_core::stop_check::StopCheck;

/// Extra tokens of a message: its markers and its role.
const MESSAGE_OVERHEAD: usize = 4;

/// Counts the tokens of texts.
pub trait TokenCounter: Send + Sync + fmt::Debug {
    /// Returns the tokens of a text without message overhead. If `stop` is set meanwhile, any number.
    fn count(&self, text: &str, stop: &StopCheck) -> usize;
    /// Returns the name shown to users: [`ESTIMATE`], or the name of a tokenizer.
    fn name(&self) -> String;
}

/// Counter name shown for estimates.
pub const ESTIMATE: &str = "estimate";

/// The limits of one prompt, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PromptTokenLimits {
    /// Tokens of prompt and reply together.
    pub context: usize,
    /// Tokens reserved for the reply.
    pub reply: usize,
}

impl PromptTokenLimits {
    /// Returns the tokens of the prompt.
    pub const fn prompt(self) -> usize {
        self.context.saturating_sub(self.reply)
    }
}

/// Measures the texts of a prompt with a counter.
#[derive(Debug, Clone)]
pub struct TokenMeasure {
    counter: Arc<dyn TokenCounter>,
    stop: StopCheck,
}

impl TokenMeasure {
    /// Creates a measure from a counter.
    pub fn new(counter: Arc<dyn TokenCounter>) -> Self {
        Self { counter, stop: StopCheck::NEVER }
    }

    /// Counts nothing more as soon as `stop` is set. The numbers are then worth nothing.
    #[must_use]
    pub fn until(self, stop: StopCheck) -> Self {
        Self { stop, ..self }
    }

    /// Returns the tokens of a text as a message, with overhead.
    pub fn message(&self, text: &str) -> usize {
        self.text(text).saturating_add(MESSAGE_OVERHEAD)
    }

    /// Returns the tokens of a text without overhead, such as a lorebook entry.
    pub fn text(&self, text: &str) -> usize {
        self.counter.count(text, &self.stop)
    }

    /// Returns whether a tokenizer counts, not the estimate.
    pub fn is_exact(&self) -> bool {
        self.counter.name() != ESTIMATE
    }

    /// Returns the name of the counter.
    pub fn counter_name(&self) -> String {
        self.counter.name()
    }
}

impl Default for TokenMeasure {
    fn default() -> Self {
        Self::new(Arc::new(TokenEstimate))
    }
}

/// The counter used without a tokenizer.
#[derive(Debug)]
struct TokenEstimate;

impl TokenCounter for TokenEstimate {
    fn count(&self, text: &str, _: &StopCheck) -> usize {
        estimate_text(text)
    }

    fn name(&self) -> String {
        ESTIMATE.to_owned()
    }
}

/// Estimates the tokens of a text: one per four ASCII bytes, one per other character. The UI marks it as an estimate.
pub fn estimate_text(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let other = text.chars().filter(|c| !c.is_ascii()).count();
    ascii.div_ceil(4) + other
}

/// Estimates the tokens of a text as a message, with overhead.
pub fn estimate_message(text: &str) -> usize {
    estimate_text(text).saturating_add(MESSAGE_OVERHEAD)
}
