//! Macros: `{{user}}`, `{{getvar::hp}}`, `{{if .hp}}…{{else}}…{{/if}}` in the texts that a prompt is made of, as cards, presets
//! and lorebooks of SillyTavern use them (`docs/prompts.md`). Pure: what macros may know is handed in as [`MacroContext`], chance as
//! draws, variables as maps; what they wrote is taken out again.
//!
//! - `head` and `read` make pieces of a text, `blocks` pairs what opens and closes.
//! - `expand` walks the pieces; the rows of `table/` say what each macro does.
//! - `variables`, `js_number`, `random`, `date_format`, `duration` and `yaml` are what the rows need.
//!
//! To add a macro: a row in the fitting file of `table/` (names, how many arguments, what it does), a line in the table of
//! `docs/prompts.md`, a case in the tests. What a macro knows is a field of [`MacroContext`], set where they are gathered.
//!
//! Texts come from strangers. Whatever they say, filling ends: how deep macros stand in each other, how many run, and how
//! much they write has a bound, and what was left as text is noted.

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
mod stored_text;
mod table;
mod variables;
mod yaml;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub use context::{CardTexts, MacroContext, MacroHistory, MacroTime, MacroTokenLimits};
pub use pieces::MAX_NESTING;
pub use table::names;
pub use variables::{MAX_LIST, MAX_VALUE, MacroVariables};

/// So many macros run in one text; later ones stay as text. A long preset has some hundred.
pub const MAX_MACROS: usize = 100_000;
/// So many bytes are written or read again by the macros of one text; later ones stay as text.
pub const MAX_WORK: usize = 4 << 20;
/// So many dice are rolled at once.
pub const MAX_DICE: u64 = 10_000;
/// So often one blank or line break is repeated.
pub const MAX_REPEAT: usize = 10_000;
/// So many names of macros are noted.
const MAX_NOTED_NAMES: usize = 50;
/// A name is noted up to here, in letters.
const MAX_NAME_CHARS: usize = 60;

/// What filled texts leave to be told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MacroReport {
    /// Macros that nobody knows or that were used in a way nobody knows: they stay as text. Each name once.
    pub left: Vec<String>,
    /// What else went wrong, as sentences. Each once.
    pub problems: Vec<&'static str>,
}

/// Fills macros into texts. What one text writes the next one sees.
pub struct MacroEngine<'a> {
    facts: &'a MacroContext,
    draw: &'a mut dyn FnMut() -> f64,
    /// The variables of the session.
    pub local: MacroVariables,
    /// The variables of all sessions.
    pub global: MacroVariables,
    /// What is to be told.
    pub report: MacroReport,
    /// Texts of lore by the name of their outlet; `None` = not known yet.
    pub outlets: Option<BTreeMap<String, String>>,
    /// What `{{original}}` stands for: the first takes it, later ones are empty.
    original: Option<String>,
    /// Who speaks in the text that is filled, where that is not the character.
    speaker: Option<String>,
    /// The texts of the card that are being filled: one inside itself stays as text.
    active_card_texts: Vec<&'static str>,
    macros: usize,
    work: usize,
}

impl<'a> MacroEngine<'a> {
    /// Macros that know these facts and variables; `draw` gives chance as numbers from 0 up to but not including 1.
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
        }
    }

    /// A text with its macros filled in. One without braces is returned as it is.
    pub fn fill(&mut self, text: &str) -> String {
        (self.macros, self.work, self.local.work, self.global.work) = (0, 0, 0, 0);
        self.expand(text)
    }

    /// As [`Self::fill`], for a text that replaces another: `{{original}}` is the replaced one, filled already.
    pub fn fill_over(&mut self, text: &str, original: &str) -> String {
        self.original = Some(original.to_owned());
        let filled = self.fill(text);
        self.original = None;
        filled
    }

    /// As [`Self::fill`], for a text in which somebody else than the character speaks: `{{char}}` is that one.
    pub fn fill_as(&mut self, text: &str, speaker: Option<&str>) -> String {
        self.speaker = speaker.map(str::to_owned);
        let filled = self.fill(text);
        self.speaker = None;
        filled
    }

    /// Notes what went wrong.
    fn note_problem(&mut self, problem: &'static str) {
        if !self.report.problems.contains(&problem) {
            self.report.problems.push(problem);
        }
    }

    /// Notes a macro that stays as text.
    fn note_unresolved(&mut self, name: &str) {
        let name: String = name.chars().take(MAX_NAME_CHARS).collect();
        if self.report.left.len() < MAX_NOTED_NAMES && !self.report.left.contains(&name) {
            self.report.left.push(name);
        }
    }
}

#[cfg(test)]
mod tests;
