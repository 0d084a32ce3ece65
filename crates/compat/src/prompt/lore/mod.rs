//! Lorebooks: which entries are active, why, and where their texts go in a prompt.
//!
//! A [`ScanBook`] is read once from world info (its plain keys go into one automaton) and can be scanned any number of
//! times. [`scan`] takes books by [`LorebookScope`], the messages ([`ScanRequest`]), the settings
//! ([`WorldInfoSettings`]) and the [`LoreTimers`] so far. It returns the active entries in order with reason and
//! position ([`LorePlacement`]), and the new timers. It changes nothing: a preview drops the new timers. The caller
//! provides macros, scripts, variables, tokens and random numbers as [`LoreHost`].
//!
//! The files, in the order in which they build on each other:
//!
//! - `lenient_values` reads loosely typed JSON, `entry` reads one entry, `keys` matches one key.
//! - `key_finder` finds all plain keys of a book at once, `book` is a book, `scan_text` is what is scanned.
//! - `timers` handles sticky and cooldown, `word_index` maps words to entries, `groups` resolves inclusion groups.
//! - `placement` puts texts in their places, `passes` runs the steps, `candidates` decides who may become active.
//! - `scan` is the entry point. The caller finds entries that match without a key and passes them in
//!   ([`SimilarEntry`]).
//!
//! Each step is bounded (`scan_budget`), for any book. To add a condition of an entry: a field in `entry`, a line in
//! `candidates::ScanPasses::check_conditions`, its reason in `verdict`. `docs/lore.md` lists deliberate differences
//! from SillyTavern.

mod book;
mod candidates;
mod entry;
mod groups;
mod key_finder;
mod key_list;
mod key_pattern;
mod keys;
mod lenient_values;
mod note;
mod passes;
mod placement;
mod scan;
mod scan_budget;
mod scan_text;
mod settings;
mod silence;
mod timers;
mod title_labels;
mod token_buffer;
mod verdict;
mod word_index;

use serde_json::Value;

pub use book::{LorebookScope, ScanBook, ScopedBook};
pub use entry::{LorePosition, LorebookEntry};
pub use key_list::{read_keys, split_keys};
pub use key_pattern::WordCharacters;
pub use note::LoreNote;
pub use passes::scan;
pub use placement::{LoreDepthTexts, LorePlacement};
pub use scan::{ActiveEntry, LoreOverride, ScanCharacter, ScanOutcome, ScanRequest, SimilarEntry};
pub use scan_text::{CARD_TEXTS, ScanMessage};
pub use settings::{InsertionStrategy, SimilaritySettings, WorldInfoSettings};
pub use silence::LoreSilence;
pub use timers::{LoreTimer, LoreTimers};
pub use title_labels::{LoreAudience, TitleLabels};
pub use verdict::{GroupLoss, LoreReason, LoreScore, LoreVerdict};
pub use word_index::{LoreWordIndex, WordSplitter};

/// Services that a scan needs from the prompt builder.
pub trait LoreHost {
    /// Expands the macros of a text, including those that write variables.
    fn fill(&mut self, text: &str) -> String;
    /// Applies the lore scripts to an entry's text; only entries in the history have a depth.
    fn apply_scripts(&mut self, text: String, depth: Option<i64>) -> String;
    /// Returns the value of a variable by the keys of its path.
    fn variable(&mut self, path: &[String]) -> Option<Value>;
    /// Returns the tokens of a text; 0 for an empty one.
    fn count_tokens(&mut self, text: &str) -> usize;
    /// Returns the next random number in `0.0..1.0`.
    fn random(&mut self) -> f64;
}
