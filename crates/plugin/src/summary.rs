//! A summary that a plugin proposes (`ctx.propose_summary`): of which turns, and what it says. The host keeps it beside those
//! that it made itself, when the message is written.

use serde_json::{Value, json};

/// The most characters of a summary.
pub const MAX_CHARS: usize = 8_000;

/// One summary that a plugin proposes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryProposal {
    /// What it says.
    pub text: String,
    /// How many turns it is of.
    pub turns: u64,
    /// The last of them, counted from the beginning of the story.
    pub upto: u64,
}

impl SummaryProposal {
    /// The first of its turns.
    pub const fn from(&self) -> u64 {
        self.upto.saturating_sub(self.turns) + 1
    }

    /// As traces and tests show it.
    pub fn to_json(&self) -> Value {
        json!({"text": self.text, "turns": self.turns, "upto": self.upto})
    }
}
