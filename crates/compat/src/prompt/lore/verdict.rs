//! Why an entry is active, or is not: recorded with each reply and shown to whoever tests a book.

use serde::{Serialize, Serializer};

/// How an entry lost in its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum GroupLoss {
    /// Another one is active from before.
    Taken,
    /// Another one was active already when the story was here last: it stays.
    Sticky,
    /// It rests itself: in a group that holds although it was to stay.
    Resting,
    /// Another one has more keys in the text.
    Score,
    /// Another one goes first.
    Priority,
    /// Another one was drawn.
    Drawn,
    /// It was taken out with another one that lost twice (SillyTavern's way, off unless wanted).
    Mistaken,
}

/// How well an entry fits, in hundredths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoreScore(u32);

impl LoreScore {
    /// A score; what is below zero is none.
    pub fn from_score(score: f32) -> Self {
        let hundredths = (score * 100.0).round().clamp(0.0, 1_000_000.0);
        // By way of its digits: a whole number within bounds.
        Self(format!("{hundredths:.0}").parse().unwrap_or(0))
    }
}

impl Serialize for LoreScore {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(f64::from(self.0) / 100.0)
    }
}

/// Why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "why", rename_all = "camelCase")]
pub enum LoreReason {
    /// Active: it is always.
    Constant,
    /// Active: a line of its own text says so.
    Forced,
    /// Active: a plugin calls it up.
    Called {
        /// Which.
        plugin: String,
    },
    /// Active: it was, and stays for a while.
    Sticky,
    /// Active: a key was found.
    Key {
        /// The key, as it is written; a long one only as far as it helps.
        key: String,
    },
    /// Active: it shares words with what was said.
    Words {
        /// How well it fits; only good for comparing.
        score: LoreScore,
    },
    /// Active: its vector is near to that of what was said.
    Vectors {
        /// How near, up to 1.
        score: LoreScore,
    },
    /// Not active: it is switched off.
    Disabled,
    /// Not active: not for what is asked for now.
    Trigger,
    /// Not active: not with this character.
    Character,
    /// Not active: its condition on variables does not hold.
    Condition,
    /// Not active: its condition cannot be read.
    Unreadable {
        /// What is wrong with it.
        problem: String,
    },
    /// Not active: the story is too short yet.
    Delay,
    /// Not active: it was a while ago, and rests.
    Cooldown,
    /// Not active: it is not called up by other entries, or only by them.
    Recursion,
    /// Not active: a line of its own text says so.
    Suppressed,
    /// Not active: a plugin keeps it out.
    KeptOut {
        /// Which.
        plugin: String,
    },
    /// Not active: none of its keys was found.
    NoKey,
    /// Not active: a key was found, but the other keys forbid it.
    Secondary,
    /// Not active: another one of its group is.
    Group {
        /// How it lost.
        lost: GroupLoss,
    },
    /// Not active: its roll failed.
    Probability,
    /// Not active: there was no room.
    Budget,
}

impl LoreReason {
    /// Whether it is a reason to be active.
    pub const fn is_active(&self) -> bool {
        matches!(
            self,
            Self::Constant
                | Self::Forced
                | Self::Called { .. }
                | Self::Sticky
                | Self::Key { .. }
                | Self::Words { .. }
                | Self::Vectors { .. }
        )
    }

    /// How much it tells: a later pass that found nothing does not hide what stopped an entry before.
    pub const fn priority(&self) -> u8 {
        match self {
            Self::NoKey => 0,
            Self::Recursion => 1,
            Self::Secondary => 2,
            _ => 3,
        }
    }
}

/// What became of one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoreVerdict {
    /// The book, by what it is known by.
    pub book: String,
    /// The entry, by what it is known by in the book.
    pub uid: String,
    /// What its author calls it.
    pub title: String,
    /// Why.
    #[serde(flatten)]
    pub why: LoreReason,
}
