//! A summary that a plugin proposes (`ctx.propose_summary`): its turns and its text. The host stores it beside its own
//! summaries when the message is written.

use serde_json::{Value, json};

/// The most characters of a summary.
pub const MAX_CHARS: usize = 8_000;

/// One proposed summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryProposal {
    pub text: String,
    /// Number of summarised turns.
    pub turns: u64,
    /// The last of these turns, counted from the beginning of the story.
    pub upto: u64,
}

impl SummaryProposal {
    /// Returns the first of these turns.
    pub const fn first_turn(&self) -> u64 {
        self.upto.saturating_sub(self.turns) + 1
    }

    /// Returns the JSON form for traces and tests.
    pub fn to_json(&self) -> Value {
        json!({"text": self.text, "turns": self.turns, "upto": self.upto})
    }
}
