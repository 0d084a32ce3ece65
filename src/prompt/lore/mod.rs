//! Lorebooks: which entries a story calls up, why, and where their texts stand in a prompt.
//!
//! A [`Book`] is read once from world info (its plain keys go into one automaton) and may be scanned as often as one
//! likes. [`scan`] takes books by [`Scope`], what is said ([`Scanned`]), the house rules ([`Settings`]) and the
//! [`Timers`] of the story so far; it gives what is active, in order, with the reason, where each text goes
//! ([`Printed`]), and the timers after it. It changes nothing: a preview drops the new timers. Macros, scripts,
//! variables, tokens and chance come from whoever asks, as [`Around`].
//!
//! The files, in the order in which they build on each other: `value` reads JSON as loosely as those who wrote it,
//! `entry` is one entry, `keys` finds one key, `finder` all plain ones of a book at once, `book` is a book, `text` what
//! is scanned, `timers` what lasts, `words` who has which word, `groups` who excludes whom, `print` where the texts go;
//! `passes` takes the steps in their order, `look` says who may become active in one, `scan` is the way in. Entries
//! that fit what was said without a key are found by whoever asks and handed in ([`Near`]).
//!
//! Each step is bounded (`effort`), whatever the book says. To add a condition of an entry: a field in `entry`, a line
//! in `look::Passes::allows`, its word in `why`. What is on purpose unlike SillyTavern is in `docs/lore.md`.

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

pub use book::{Book, Bound, Scope};
pub use entry::{Entry, Position};
pub use label::{Call, Labels};
pub use print::{AtDepth, Printed};
pub use scan::{Fired, Near, Outcome, Scanned, Who, Wish, scan};
pub use settings::{Settings, Similar, Strategy};
pub use text::{CARD_TEXTS, Said};
pub use timers::{Timer, Timers};
pub use why::{Group, Score, Verdict, Why};
pub use words::{Cut, Words};

/// What activation asks of those who know the rest of a prompt.
pub trait Around {
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
