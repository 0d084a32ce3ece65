//! Macros: `{{user}}`, `{{getvar::hp}}`, `{{if .hp}}…{{else}}…{{/if}}` in prompt texts, as SillyTavern cards, presets
//! and lorebooks use them (`docs/prompts.md`). Pure: facts are passed in as [`MacroContext`], random numbers as a
//! callback, variables as maps. The caller takes the changes that last out again.
//!
//! - `head` and `read` parse a text into pieces, `blocks` pairs opening and closing macros.
//! - `expand` walks the pieces; the rows of `table/` define what each macro does.
//! - `variables`, `js_number`, `random`, `date_format`, `duration` and `yaml` support the rows.
//!
//! To add a macro, add a row to the matching file of `table/`, a line to the table of `docs/prompts.md`, and a test
//! case. New facts are fields of [`MacroContext`], set where they are gathered.
//!
//! Texts are untrusted. Expansion always ends: nesting, number of macros and output size are limited. Macros that stay
//! text are reported.

mod blocks;
mod context;
mod date_format;
mod duration;
mod expand;
mod head;
mod js_number;
mod pieces;
mod random;
mod read;
mod source_text;
mod stored_text;
mod table;
mod variables;
mod yaml;

use std::collections::BTreeMap;

use clotho_core::stop_check::StopCheck;
use serde_json::{Map, Value};

use super::PromptTokenLimits;

pub use context::{CardTexts, MacroContext, MacroHistory, MacroTime};
pub use pieces::MAX_NESTING;
pub use table::names;
pub use variables::{MAX_LIST, MAX_VALUE, MacroVariables};

/// Largest number of macros in one text; later ones stay text. A long preset has a few hundred.
pub const MAX_MACROS: usize = 100_000;
/// Bytes that the macros of one text may write or read again; later macros stay text.
pub const MAX_WORK: usize = 4 << 20;
/// Macros between two looks whether to stop.
const MACROS_PER_LOOK: usize = 64;
/// Largest number of dice in one roll.
pub const MAX_DICE: u64 = 10_000;
/// Largest count of repeated spaces or line breaks.
pub const MAX_REPEAT: usize = 10_000;
/// Largest number of unresolved names in a report.
const MAX_NOTED_NAMES: usize = 50;
/// Longest reported name, in characters.
const MAX_NAME_CHARS: usize = 60;

/// What went wrong while texts were expanded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MacroReport {
    /// Names of macros that stay text, because they are unknown or used wrongly. Each name once.
    pub unresolved: Vec<String>,
    /// Other problems, as sentences. Each once.
    pub problems: Vec<&'static str>,
}

/// Expands macros in texts. Variables written by one text are visible to the next.
pub struct MacroEngine<'a> {
    facts: &'a MacroContext,
    draw: &'a mut dyn FnMut() -> f64,
    /// Variables of the session.
    pub local: MacroVariables,
    /// Variables of all sessions.
    pub global: MacroVariables,
    pub report: MacroReport,
    /// Lore texts by outlet name; `None` = not known yet.
    pub outlets: Option<BTreeMap<String, String>>,
    /// Value of `{{original}}`: used once, then empty.
    original: Option<String>,
    /// Speaker of the current text, if it is not the character.
    speaker: Option<String>,
    /// Card texts being expanded: one that contains itself stays text.
    active_card_texts: Vec<&'static str>,
    macros: usize,
    work: usize,
    /// Set when nobody wants the texts any more.
    stop: StopCheck,
    /// Whether it was seen to be set.
    is_stopped: bool,
}

impl<'a> MacroEngine<'a> {
    /// Creates an engine with facts and variables; `draw` returns random numbers in `0.0..1.0`.
    pub fn new(
        facts: &'a MacroContext,
        local: Map<String, Value>,
        global: Map<String, Value>,
        draw: &'a mut dyn FnMut() -> f64,
    ) -> Self {
        Self {
            facts,
            draw,
            local: MacroVariables::new(local),
            global: MacroVariables::new(global),
            report: MacroReport::default(),
            outlets: facts.outlets.clone(),
            original: None,
            speaker: None,
            active_card_texts: Vec::new(),
            macros: 0,
            work: 0,
            stop: StopCheck::NEVER,
            is_stopped: false,
        }
    }

    /// Expands nothing more as soon as `stop` is set. The texts are then worth nothing.
    pub fn stop_with(&mut self, stop: StopCheck) {
        self.stop = stop;
    }

    /// Returns the limits of the prompt, as the size macros say them.
    pub fn token_limits(&self) -> PromptTokenLimits {
        self.facts.token_limits
    }

    /// Returns the time of the prompt, with its zone.
    pub const fn time(&self) -> &MacroTime {
        &self.facts.time
    }

    /// Expands the macros of a text. A text without braces and `<` is returned unchanged.
    pub fn fill(&mut self, text: &str) -> String {
        (self.macros, self.work, self.local.work, self.global.work) = (0, 0, 0, 0);
        self.is_stopped = self.is_stopped || self.stop.is_stopped();
        if self.is_stopped { text.to_owned() } else { self.expand(text) }
    }

    /// Like [`Self::fill`], for a text whose macros run again in each prompt that has it, such as an older message. Its
    /// writes are visible to the texts after it, and do not last.
    pub fn fill_without_keeping(&mut self, text: &str) -> String {
        self.keep_changes();
        let filled = self.fill(text);
        self.forget_changes();
        filled
    }

    /// Makes the writes so far last; see [`MacroVariables::kept`].
    pub fn keep_changes(&mut self) {
        self.local.keep_changes();
        self.global.keep_changes();
    }

    /// Leaves the writes since [`Self::keep_changes`] out of what lasts.
    pub fn forget_changes(&mut self) {
        self.local.forget_changes();
        self.global.forget_changes();
    }

    /// Like [`Self::fill`], for a text that replaces another: `{{original}}` is the replaced text, already expanded.
    pub fn fill_over(&mut self, text: &str, original: &str) -> String {
        self.original = Some(original.to_owned());
        let filled = self.fill(text);
        self.original = None;
        filled
    }

    /// Like [`Self::fill`], for a text by another speaker: `{{char}}` is that speaker.
    pub fn fill_as(&mut self, text: &str, speaker: Option<&str>) -> String {
        self.speaker = speaker.map(str::to_owned);
        let filled = self.fill(text);
        self.speaker = None;
        filled
    }

    /// Records a problem once.
    fn note_problem(&mut self, problem: &'static str) {
        if !self.report.problems.contains(&problem) {
            self.report.problems.push(problem);
        }
    }

    /// Records the name of a macro that stays text.
    fn note_unresolved(&mut self, name: &str) {
        let name: String = name.chars().take(MAX_NAME_CHARS).collect();
        if self.report.unresolved.len() < MAX_NOTED_NAMES && !self.report.unresolved.contains(&name) {
            self.report.unresolved.push(name);
        }
    }
}

#[cfg(test)]
mod tests;
