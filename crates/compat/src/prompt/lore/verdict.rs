//! Reasons why an entry is active or not: recorded with each reply and shown when a book is tested.

use clotho_core::coded_message::RenderedMessage;
use clotho_core::world::ConditionError;
use serde::{Serialize, Serializer};

/// How an entry lost in its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum GroupLoss {
    /// Another entry of the group is already active, or a plugin activated one.
    Taken,
    /// Another entry of the group is sticky.
    Sticky,
    /// It is in cooldown, which in a group overrides sticky.
    #[serde(rename = "resting")]
    Cooldown,
    /// Another entry has more matching keys.
    Score,
    /// Another entry has priority.
    Priority,
    /// Another entry was drawn.
    Drawn,
    /// It was removed because another entry lost twice (SillyTavern's behaviour, off by default).
    #[serde(rename = "mistaken")]
    RemovedTwice,
}

/// A similarity score, in hundredths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoreScore(u32);

impl LoreScore {
    /// Converts a score; negative scores become 0.
    pub fn from_score(score: f32) -> Self {
        let hundredths = (score * 100.0).round().clamp(0.0, 1_000_000.0);
        // Convert through the decimal digits, to avoid a lossy float cast.
        Self(format!("{hundredths:.0}").parse().unwrap_or(0))
    }
}

impl Serialize for LoreScore {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(f64::from(self.0) / 100.0)
    }
}

/// Why an entry is active or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "why", rename_all = "camelCase")]
pub enum LoreReason {
    /// Active: it is constant.
    Constant,
    /// Active: a decorator forces it.
    Forced,
    /// Active: a plugin activates it.
    #[serde(rename = "called")]
    ActivatedByPlugin {
        plugin: String,
    },
    /// Active: its sticky timer runs.
    Sticky,
    /// Active: a key matched.
    Key {
        /// Key as written, possibly cut.
        key: String,
    },
    /// Active: it shares words with the messages.
    Words {
        /// Relative score, only for comparing.
        score: LoreScore,
    },
    /// Active: its vector is similar to that of the messages.
    Vectors {
        /// Similarity, up to 1.
        score: LoreScore,
    },
    Disabled,
    /// Not active: it is not for this kind of generation or call.
    Trigger,
    /// Not active: its filter excludes this character.
    Character,
    /// Not active: its condition on variables is false.
    Condition,
    /// Not active: its condition cannot be parsed.
    Unreadable {
        /// The error in one sentence.
        problem: String,
        /// The same with code and arguments.
        failure: Box<RenderedMessage>,
    },
    /// Not active: the story has too few messages.
    Delay,
    /// Not active: its cooldown runs.
    Cooldown,
    /// Not active: it is excluded from recursion, or waits for it.
    Recursion,
    /// Not active: a decorator suppresses it.
    Suppressed,
    /// Not active: a plugin suppresses it.
    #[serde(rename = "keptOut")]
    SuppressedByPlugin {
        plugin: String,
    },
    /// Not active: no key matched.
    NoKey,
    /// Not active: the secondary keys do not match as required.
    Secondary,
    /// Not active: another entry of its group won.
    Group {
        lost: GroupLoss,
    },
    /// Not active: its probability roll failed.
    Probability,
    /// Not active: it exceeds the token limit.
    Budget,
}

impl LoreReason {
    /// Returns the reason for a condition that cannot be parsed.
    pub fn unreadable(error: &ConditionError) -> Self {
        let failure = Box::new(RenderedMessage::new(error));
        Self::Unreadable { problem: format!("`when`: {}", failure.message), failure }
    }

    /// Returns whether the entry is active for this reason.
    pub const fn is_active(&self) -> bool {
        matches!(
            self,
            Self::Constant
                | Self::Forced
                | Self::ActivatedByPlugin { .. }
                | Self::Sticky
                | Self::Key { .. }
                | Self::Words { .. }
                | Self::Vectors { .. }
        )
    }

    /// Returns the rank of a reason; a later pass replaces a reason only with one of the same or a higher rank.
    pub const fn priority(&self) -> u8 {
        match self {
            Self::NoKey => 0,
            Self::Recursion => 1,
            Self::Secondary => 2,
            _ => 3,
        }
    }
}

/// The result for one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoreVerdict {
    /// Identifier of the book.
    pub book: String,
    /// Identifier of the entry in the book.
    pub uid: String,
    pub title: String,
    #[serde(flatten)]
    pub why: LoreReason,
}
