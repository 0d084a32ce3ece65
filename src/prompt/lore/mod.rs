//! Lorebooks: which entries a story calls up, why, and where their texts stand in a prompt.
//!
//! A [`ScanBook`] is read once from world info (its plain keys go into one automaton) and may be scanned as often as one
//! likes. [`scan`] takes books by [`LorebookScope`], what is said ([`ScanRequest`]), the house rules ([`WorldInfoSettings`]) and the
//! [`LoreTimers`] of the story so far; it gives what is active, in order, with the reason, where each text goes
//! ([`LorePlacement`]), and the timers after it. It changes nothing: a preview drops the new timers. Macros, scripts,
//! variables, tokens and chance come from whoever asks, as [`LoreHost`].
//!
//! The files, in the order in which they build on each other: `value` reads JSON as loosely as those who wrote it,
//! `entry` is one entry, `keys` finds one key, `finder` all plain ones of a book at once, `book` is a book, `text` what
//! is scanned, `timers` what lasts, `words` who has which word, `groups` who excludes whom, `print` where the texts go;
//! `passes` takes the steps in their order, `look` says who may become active in one, `scan` is the way in. Entries
//! that fit what was said without a key are found by whoever asks and handed in ([`SimilarEntry`]).
//!
//! Each step is bounded (`effort`), whatever the book says. To add a condition of an entry: a field in `entry`, a line
//! in `look::ScanPasses::allows`, its word in `why`. What is on purpose unlike SillyTavern is in `docs/lore.md`.

mod book;
mod count;
mod effort;
mod entry;
mod finder;
mod groups;
mod keys;
mod label;
mod look;
mod passes;
mod print;
mod scan;
mod settings;
mod text;
mod timers;
mod value;
mod why;
mod words;

use serde_json::Value;

pub use book::{LorebookScope, ScanBook, ScopedBook};
pub use entry::{LorePosition, LorebookEntry};
pub use label::{LoreAudience, TitleLabels};
pub use print::{LoreDepthTexts, LorePlacement};
pub use scan::{ActiveEntry, LoreOverride, ScanCharacter, ScanOutcome, ScanRequest, SimilarEntry, scan};
pub use settings::{InsertionStrategy, SimilaritySettings, WorldInfoSettings};
pub use text::{CARD_TEXTS, ScanMessage};
pub use timers::{LoreTimer, LoreTimers};
pub use why::{GroupLoss, LoreReason, LoreScore, LoreVerdict};
pub use words::{LoreWordIndex, WordSplitter};

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
    fn draw(&mut self) -> f64;
}
