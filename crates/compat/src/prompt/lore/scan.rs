//! One scan: what goes in, what comes out.

use serde::Serialize;

use super::placement::LorePlacement;
use super::scan_text::ScanMessage;
use super::timers::LoreTimers;
use super::title_labels::LoreAudience;
use super::verdict::{LoreReason, LoreVerdict};

/// Who the character is, for entries that are for some only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanCharacter {
    /// The name of its file, without the ending: what filters of entries name.
    pub file: String,
    /// Its tags.
    pub tags: Vec<String>,
}

/// An entry that fits what was said, whatever its keys are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimilarEntry {
    /// The place of its book among those that are scanned.
    pub book: usize,
    /// Its own place in there.
    pub entry: usize,
    /// How it fits: [`LoreReason::Words`] or [`LoreReason::Vectors`].
    pub why: LoreReason,
}

/// An entry about which a plugin has a wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoreOverride {
    /// The place of its book among those that are scanned.
    pub book: usize,
    /// Its own place in there.
    pub entry: usize,
    /// To be active whatever else is said of it but that it is switched off, or not to be.
    pub is_activated: bool,
    /// Who wishes it.
    pub plugin: String,
}

/// What is scanned.
#[derive(Debug, Clone, Default)]
pub struct ScanRequest {
    /// What is said and to be seen, the newest first; more than a thousand are never looked at.
    pub messages: Vec<ScanMessage>,
    /// How many messages are to be seen in the whole story: times count by them.
    pub count: u64,
    /// The texts of the cards, as in [`super::CARD_TEXTS`].
    pub card: [String; 6],
    /// Texts that others put into the prompt and open to lore.
    pub injects: Vec<String>,
    /// Entries that fit what was said: nothing else has to speak for them.
    pub similar: Vec<SimilarEntry>,
    /// What plugins wish; of two wishes for one entry the later holds.
    pub overrides: Vec<LoreOverride>,
    /// What is asked for: `normal`, `continue`, `impersonate`, `swipe`, `regenerate`, `quiet`.
    pub trigger: String,
    /// What the model is to write of the story's values.
    pub audience: LoreAudience,
    /// Whether another call writes the values: what is only for that stands apart.
    pub has_values_call: bool,
    /// The character.
    pub character: ScanCharacter,
    /// Tokens that the whole prompt may take.
    pub prompt: usize,
    /// The most tokens for lore, whatever its settings say.
    pub max_tokens: Option<usize>,
    /// Times are neither looked at nor set, as in a trial run of SillyTavern.
    pub ignores_timers: bool,
}

/// An active entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActiveEntry {
    /// What it is, and why it is active.
    #[serde(flatten)]
    pub verdict: LoreVerdict,
    /// Its text as it is printed, which may be none.
    pub text: String,
}

/// What came of a scan.
#[derive(Debug, Clone)]
pub struct ScanOutcome {
    /// What is active, in the order in which it became so.
    pub active: Vec<ActiveEntry>,
    /// Where the texts go.
    pub placement: LorePlacement,
    /// The texts that are only for the call that writes the values, where that is another one.
    pub values: Vec<String>,
    /// The times that run from now on.
    pub timers: LoreTimers,
    /// The tokens that lore might take.
    pub budget: usize,
    /// How many messages there were to be seen.
    pub count: u64,
    /// There was more than that.
    pub overflowed: bool,
    /// How often the books were looked through.
    pub passes: usize,
    /// What is not active although something spoke for it, in the order of the list; see [`ScanOutcome::silent`].
    pub stopped: Vec<LoreVerdict>,
    /// How many entries are not active because none of their keys was found, or because they are switched off.
    pub silent: usize,
    /// What was given up or could not be read, in words for the user.
    pub notes: Vec<String>,
}

/// Whether a reason is worth telling: most entries of a large book are not active because nobody spoke of them.
pub const fn is_worth_reporting(why: &LoreReason) -> bool {
    !matches!(why, LoreReason::NoKey | LoreReason::Disabled)
}
