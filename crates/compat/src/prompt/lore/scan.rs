//! Input and output of a scan.

use clotho_core::stop_check::StopCheck;
use serde::Serialize;

use super::note::LoreNote;
use super::placement::LorePlacement;
use super::scan_text::ScanMessage;
use super::timers::LoreTimers;
use super::title_labels::LoreAudience;
use super::verdict::{LoreReason, LoreVerdict};

/// The character, for entries with a character filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanCharacter {
    /// File name without extension, as entry filters use it.
    pub file: String,
    pub tags: Vec<String>,
}

/// An entry that matches by content, whatever its keys are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimilarEntry {
    /// Index of the book among the scanned books.
    pub book: usize,
    /// Index of the entry in the book.
    pub entry: usize,
    /// [`LoreReason::Words`] or [`LoreReason::Vectors`].
    pub reason: LoreReason,
}

/// An entry that a plugin activates or suppresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoreOverride {
    /// Index of the book among the scanned books.
    pub book: usize,
    /// Index of the entry in the book.
    pub entry: usize,
    /// `true` = active unless it is disabled, whatever else applies; `false` = not active.
    pub is_activated: bool,
    /// Plugin that requests it.
    pub plugin: String,
}

/// The input of a scan.
#[derive(Debug, Clone, Default)]
pub struct ScanRequest {
    /// Visible messages, newest first; at most a thousand are scanned.
    pub messages: Vec<ScanMessage>,
    /// Number of visible messages in the whole story; timers count by it.
    pub count: u64,
    /// Card texts, in the order of [`super::CARD_TEXTS`].
    pub card: [String; 6],
    /// Injected prompt texts that are open to lore.
    pub injects: Vec<String>,
    /// Entries that match by content; they need no key.
    pub similar: Vec<SimilarEntry>,
    /// Requests of plugins; the last one for an entry wins.
    pub overrides: Vec<LoreOverride>,
    /// Kind of generation: `normal`, `continue`, `impersonate`, `swipe`, `regenerate`, `quiet`.
    pub trigger: String,
    /// What this call writes: story, values or both.
    pub audience: LoreAudience,
    /// Whether another call writes the values; entries for it are returned separately.
    pub has_values_call: bool,
    pub character: ScanCharacter,
    /// Token limit of the whole prompt.
    pub prompt: usize,
    /// Token limit for lore, on top of the settings.
    pub max_tokens: Option<usize>,
    /// Neither reads nor sets timers, like a dry run of SillyTavern.
    pub ignores_timers: bool,
    /// Set when nobody wants the outcome any more; the scan then ends soon, with whatever it has.
    pub stop: StopCheck,
}

/// An active entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActiveEntry {
    /// The entry and why it is active.
    #[serde(flatten)]
    pub verdict: LoreVerdict,
    /// Text after macros and scripts; may be empty.
    pub text: String,
}

/// The result of a scan.
#[derive(Debug, Clone)]
pub struct ScanOutcome {
    /// Active entries, in the order of activation.
    pub active: Vec<ActiveEntry>,
    pub placement: LorePlacement,
    /// Texts only for a separate call that writes the values.
    pub values: Vec<String>,
    /// Timers after the scan.
    pub timers: LoreTimers,
    /// Token limit for lore.
    pub budget: usize,
    /// Number of visible messages in the story.
    pub count: u64,
    /// Whether entries exceeded the budget.
    pub overflowed: bool,
    /// Number of passes over the books.
    pub passes: usize,
    /// Entries that are not active for a notable reason, in list order; see [`ScanOutcome::silent`].
    pub stopped: Vec<LoreVerdict>,
    /// Number of entries that are not active because no key matched or because they are disabled.
    pub silent: usize,
    /// Messages to the user about aborted searches or unreadable parts.
    pub notes: Vec<LoreNote>,
}

/// Whether a reason is worth telling: most entries of a large book are not active because nobody spoke of them.
pub const fn is_worth_reporting(why: &LoreReason) -> bool {
    !matches!(why, LoreReason::NoKey | LoreReason::Disabled)
}
