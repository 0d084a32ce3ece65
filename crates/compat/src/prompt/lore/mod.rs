//! Lorebooks: which entries a story calls up, why, and where their texts stand in a prompt.
//!
//! A [`ScanBook`] is read once from world info (its plain keys go into one automaton) and may be scanned as often as one
//! likes. [`scan`] takes books by [`LorebookScope`], what is said ([`ScanRequest`]), the house rules ([`WorldInfoSettings`]) and the
//! [`LoreTimers`] of the story so far; it gives what is active, in order, with the reason, where each text goes
//! ([`LorePlacement`]), and the timers after it. It changes nothing: a preview drops the new timers. Macros, scripts,
//! variables, tokens and chance come from whoever asks, as [`LoreHost`].
//!
//! The files, in the order in which they build on each other: `lenient_values` reads JSON as loosely as those who wrote it,
//! `entry` is one entry, `keys` finds one key, `key_finder` all plain ones of a book at once, `book` is a book, `text` what
//! is scanned, `timers` what lasts, `word_index` who has which word, `groups` who excludes whom, `placement` where the texts go;
//! `passes` takes the steps in their order, `candidates` says who may become active in one, `scan` is the way in. Entries
//! that fit what was said without a key are found by whoever asks and handed in ([`SimilarEntry`]).
//!
//! Each step is bounded (`scan_budget`), whatever the book says. To add a condition of an entry: a field in `entry`, a line
//! in `candidates::ScanPasses::allows`, its word in `verdict`. What is on purpose unlike SillyTavern is in `docs/lore.md`.

mod book;
mod candidates;
mod entry;
mod groups;
mod key_finder;
mod key_pattern;
mod keys;
mod lenient_values;
mod passes;
mod placement;
mod scan;
mod scan_budget;
mod scan_text;
mod settings;
mod timers;
mod title_labels;
mod token_buffer;
mod verdict;
mod word_index;

use serde_json::Value;

pub use book::{LorebookScope, ScanBook, ScopedBook};
pub use entry::{LorePosition, LorebookEntry};
pub use passes::scan;
pub use placement::{LoreDepthTexts, LorePlacement};
pub use scan::{ActiveEntry, LoreOverride, ScanCharacter, ScanOutcome, ScanRequest, SimilarEntry};
pub use scan_text::{CARD_TEXTS, ScanMessage};
pub use settings::{InsertionStrategy, SimilaritySettings, WorldInfoSettings};
pub use timers::{LoreTimer, LoreTimers};
pub use title_labels::{LoreAudience, TitleLabels};
pub use verdict::{GroupLoss, LoreReason, LoreScore, LoreVerdict};
pub use word_index::{LoreWordIndex, WordSplitter};

/// What activation asks of those who know the rest of a prompt.
pub trait LoreHost {
    /// Fills the macros of a text in, with whatever they write.
    fn fill(&mut self, text: &str) -> String;
    /// What the scripts for lore make of an entry's text; only what stands in the history has a depth.
    fn script(&mut self, text: String, depth: Option<i64>) -> String;
    /// The value of a variable, by the keys of its path.
    fn variable(&mut self, path: &[String]) -> Option<Value>;
    /// How many tokens a text takes; none for an empty one.
    fn tokens(&mut self, text: &str) -> usize;
    /// Chance: the next number from 0 to below 1.
    fn random(&mut self) -> f64;
}
