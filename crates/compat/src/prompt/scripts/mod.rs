//! Regex scripts: SillyTavern-compatible text changes of cards, presets and users, for the model or for display.
//!
//! - [`RegexScript`] is one script, read from JSON. [`RegexScriptSet`] holds the scripts of a prompt in execution
//!   order.
//! - [`RegexScriptSet::apply`] changes a text for one [`ScriptUse`]; [`RegexScriptSet::apply_for_prompt`] does all that a request
//!   needs.
//! - The caller expands macros, as [`MacroFiller`].
//! - [`RegexScriptSet::notes`] reports which scripts changed texts and which were skipped, and why.
//!
//! Stored texts are never changed. Scripts that SillyTavern applies when it stores a message ([`ScriptUse::Stored`])
//! run each time a prompt is built, in the same order. So a script can be changed or forbidden later without loss.
//! Everything is limited: steps per use and in total, output size, and the number of scripts. A script that exceeds a
//! limit is skipped from then on, and reported.
//!
//! The files: `read` parses a script, `find` its pattern, `change` applies it. The tests show deliberate differences
//! from SillyTavern. To add a kind of text, add a number to [`placement`] and a call where the text is built.

mod change;
mod find;
mod read;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use clotho_core::coded_messages;
use clotho_core::stop_check::StopCheck;

use super::js_regex::{JsRegex, RegexSyntaxError, StepBudget, StepLimitError, Utf16Text};
use super::macros::MacroEngine;

pub use read::{FindMacros, RegexScript};

/// Largest number of scripts; a card has a few dozen.
pub const MAX_SCRIPTS: usize = 1_000;
/// Steps of all scripts of one prompt together: some tenths of a second.
const MAX_TOTAL_STEPS: usize = 60_000_000;
/// Largest growth of a text by scripts, in bytes. Replies are a hundredth of that.
const MAX_GROWTH_BYTES: usize = 1 << 20;
/// Largest number of cached patterns; macros in a pattern can produce many.
const MAX_PATTERNS: usize = 4_096;

/// Kinds of text, with their numbers in script files.
pub mod placement {
    /// User messages.
    pub const USER: i64 = 1;
    /// Model replies.
    pub const REPLY: i64 = 2;
    /// Output of user commands; for display, narration.
    pub const COMMAND: i64 = 3;
    /// Lorebook entries.
    pub const LORE: i64 = 5;
    /// Reasoning of a model.
    pub const REASONING: i64 = 6;
}

/// The source of a script, in execution order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScriptScope {
    /// The user's own scripts, for all sessions.
    Global,
    /// Scripts of the active preset.
    Preset,
    /// Scripts of the character card.
    Card,
}

impl ScriptScope {
    /// Returns the word used in traces.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Preset => "preset",
            Self::Card => "card",
        }
    }
}

/// The purpose for which a text is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptUse {
    /// Changes that SillyTavern makes when it stores a new text.
    Stored,
    /// Changes that SillyTavern makes when it stores an edited text.
    Edited,
    /// Changes for display.
    Display,
    /// Changes for the request.
    Prompt,
}

/// How a stored text came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextOrigin {
    /// New text.
    Written,
    /// Edited text.
    Edited,
    /// The changes for storage were already applied.
    Processed,
}

/// The kind and position of a text.
#[derive(Debug, Clone, Copy)]
pub struct ScriptPlacement<'a> {
    /// Kind of text, see [`placement`].
    pub placement: i64,
    /// Number of counted messages after it; -1 = the continued message, `None` = no depth.
    pub depth: Option<i64>,
    /// Speaker, if it is not the card's character.
    pub speaker: Option<&'a str>,
}

/// Expands macros for scripts.
pub trait MacroFiller {
    /// Expands macros; a given speaker replaces the character's name.
    fn fill(&mut self, text: &str, speaker: Option<&str>) -> String;
}

impl MacroFiller for MacroEngine<'_> {
    fn fill(&mut self, text: &str, speaker: Option<&str>) -> String {
        self.fill_as(text, speaker)
    }
}

coded_messages! {
    /// Why a script did not run, or stopped.
    #[derive(Eq)]
    pub enum ScriptSkipReason {
        /// It is not a JSON object.
        #[error("it is not a regex script")]
        NoScript {} = "noScript",
        /// It has no list of placements.
        #[error("it does not name the texts that it applies to")]
        NoPlacement {} = "noPlacement",
        /// Its pattern is invalid.
        #[error("its search pattern is not a valid regular expression: {error}")]
        Invalid { error: String } = "invalid",
        /// It took too long on a text.
        #[error("its search pattern took too long on a text")]
        RanAway {} = "ranAway",
        /// All scripts together took too long.
        #[error("all scripts together took too long: it was skipped from there on")]
        NoTime {} = "noTime",
        /// Its output is too large.
        #[error("its result was too large")]
        TooLarge {} = "tooLarge",
        /// There are too many scripts.
        #[error("there are more than {most} scripts")]
        TooMany { most: usize } = "tooMany",
        /// The scripts have too many bytes.
        #[error("there are more megabytes of scripts than are read: the newest are left out")]
        TooManyBytes {} = "tooMany",
        /// So many scripts are not allowed yet.
        #[error("{}", not_allowed(*count))]
        NotAllowed { count: usize } = "notAllowed",
    }
}

impl From<RegexSyntaxError> for ScriptSkipReason {
    fn from(error: RegexSyntaxError) -> Self {
        Self::Invalid { error: error.to_string() }
    }
}

fn not_allowed(count: usize) -> String {
    match count {
        1 => "1 script runs only if you allow it".to_owned(),
        _ => format!("{count} scripts run only if you allow them"),
    }
}

/// Returns why a script would never run, as far as it can be known without a text. Patterns with macros are not
/// checked.
pub fn find_problem(script: &serde_json::Value) -> Option<ScriptSkipReason> {
    let Some(script) = RegexScript::read(script) else { return Some(ScriptSkipReason::NoScript {}) };
    if script.placements.is_none() {
        return Some(ScriptSkipReason::NoPlacement {});
    }
    let is_plain = script.macros == FindMacros::Plain && !script.find.is_empty();
    find::parse_pattern(&script.find).err().filter(|_| is_plain).map(ScriptSkipReason::from)
}

/// The report on a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptNote {
    pub name: String,
    pub scope: ScriptScope,
    /// Number of texts it changed.
    pub changed: usize,
    /// Why it did not run or stopped; `None` = no problem.
    pub reason: Option<ScriptSkipReason>,
}

/// The scripts of one prompt, in execution order.
#[derive(Debug)]
pub struct RegexScriptSet {
    list: Vec<ScriptEntry>,
    patterns: HashMap<String, Result<Arc<JsRegex>, RegexSyntaxError>>,
    steps: StepBudget,
}

#[derive(Debug)]
struct ScriptEntry {
    script: RegexScript,
    note: ScriptNote,
}

impl ScriptEntry {
    /// Returns whether it runs on a text for a use.
    fn applies_to(&self, what_for: ScriptUse, place: ScriptPlacement<'_>) -> bool {
        self.note.reason.is_none() && !self.script.find.is_empty() && self.script.applies_to(what_for, place)
    }
}

impl Default for RegexScriptSet {
    fn default() -> Self {
        Self { list: Vec::new(), patterns: HashMap::new(), steps: StepBudget::new(MAX_TOTAL_STEPS) }
    }
}

impl RegexScriptSet {
    /// Adds scripts after those of the same scope. Scripts that are not allowed are only counted in a note.
    pub fn add<'a>(
        &mut self,
        scope: ScriptScope,
        is_allowed: bool,
        scripts: impl IntoIterator<Item = &'a serde_json::Value>,
    ) {
        let mut place = self.list.partition_point(|entry| entry.note.scope <= scope);
        let scripts = scripts.into_iter();
        if !is_allowed {
            let waiting = scripts.filter_map(RegexScript::read).filter(|script| !script.is_disabled).count();
            let why = Some(ScriptSkipReason::NotAllowed { count: waiting }).filter(|_| waiting > 0);
            let note = ScriptNote { name: String::new(), scope, changed: 0, reason: why };
            if note.reason.is_some() {
                self.list.insert(place, ScriptEntry { script: RegexScript::default(), note });
            }
            return;
        }
        for value in scripts {
            let read = RegexScript::read(value);
            let is_no_script = read.is_none();
            let script = read.unwrap_or_default();
            if script.is_disabled {
                continue;
            }
            let why = [
                (self.list.len() >= MAX_SCRIPTS, ScriptSkipReason::TooMany { most: MAX_SCRIPTS }),
                (is_no_script, ScriptSkipReason::NoScript {}),
                (script.placements.is_none(), ScriptSkipReason::NoPlacement {}),
            ];
            let why = why.into_iter().find_map(|(is, why)| is.then_some(why));
            let is_too_many = why == Some(ScriptSkipReason::TooMany { most: MAX_SCRIPTS });
            let note = ScriptNote { name: script.name.clone(), scope, changed: 0, reason: why };
            self.list.insert(place, ScriptEntry { script, note });
            place += 1;
            if is_too_many {
                break;
            }
        }
    }

    /// Ends the work as soon as `stop` is set. The texts are then worth nothing.
    pub fn stop_with(&mut self, stop: StopCheck) {
        self.steps = self.steps.clone().until(stop);
    }

    /// Returns whether no script can run.
    pub fn is_empty(&self) -> bool {
        self.list.iter().all(|entry| entry.note.reason.is_some())
    }

    /// Returns the notes of scripts that changed a text or were skipped, in order.
    pub fn notes(&self) -> impl Iterator<Item = &ScriptNote> {
        self.list.iter().map(|entry| &entry.note).filter(|note| note.changed > 0 || note.reason.is_some())
    }

    /// Applies the scripts for storage, then those for requests; `None` = unchanged.
    pub fn apply_for_prompt(
        &mut self,
        text: &str,
        came: TextOrigin,
        place: ScriptPlacement<'_>,
        filler: &mut dyn MacroFiller,
    ) -> Option<String> {
        let stored = match came {
            TextOrigin::Written => self.apply(text, ScriptUse::Stored, place, filler),
            TextOrigin::Edited => self.apply(text, ScriptUse::Edited, place, filler),
            TextOrigin::Processed => None,
        };
        let sent = self.apply(stored.as_deref().unwrap_or(text), ScriptUse::Prompt, place, filler);
        sent.or(stored)
    }

    /// Applies the scripts for one use; `None` = unchanged.
    pub fn apply(
        &mut self,
        text: &str,
        what_for: ScriptUse,
        place: ScriptPlacement<'_>,
        filler: &mut dyn MacroFiller,
    ) -> Option<String> {
        let mut now: Option<Utf16Text<'_>> = None;
        let mut is_changed = false;
        for at in 0..self.list.len() {
            if !self.list.get(at).is_some_and(|entry| entry.applies_to(what_for, place)) {
                continue;
            }
            let whole = now.get_or_insert_with(|| Utf16Text::new(text));
            let Some(changed) = self.apply_one(at, whole, place.speaker, filler) else { continue };
            if changed.len() > text.len().saturating_add(MAX_GROWTH_BYTES) {
                self.disable(at, ScriptSkipReason::TooLarge {});
                continue;
            }
            (now, is_changed) = (Some(Utf16Text::new(changed)), true);
        }
        now.filter(|_| is_changed).map(Utf16Text::into_string)
    }

    fn apply_one(
        &mut self,
        at: usize,
        text: &Utf16Text<'_>,
        speaker: Option<&str>,
        filler: &mut dyn MacroFiller,
    ) -> Option<String> {
        let entry = self.list.get(at).filter(|_| !text.is_empty())?;
        let find = find::find_text(&entry.script, filler);
        let pattern = match self.cached_pattern(find) {
            Ok(pattern) => pattern,
            Err(why) => return self.disable(at, why.into()),
        };
        let entry = self.list.get_mut(at)?;
        match change::apply(&entry.script, &pattern, text, speaker, &mut self.steps, filler) {
            Ok(changed) => {
                entry.note.changed += usize::from(changed.is_some());
                changed
            }
            Err(change::ScriptFailure::RanAway(StepLimitError)) if self.steps.remaining() == 0 => {
                self.disable(at, ScriptSkipReason::NoTime {})
            }
            Err(change::ScriptFailure::RanAway(StepLimitError)) => self.disable(at, ScriptSkipReason::RanAway {}),
            Err(change::ScriptFailure::TooLarge) => self.disable(at, ScriptSkipReason::TooLarge {}),
        }
    }

    /// Skips a script from now on.
    fn disable(&mut self, at: usize, why: ScriptSkipReason) -> Option<String> {
        if let Some(entry) = self.list.get_mut(at) {
            entry.note.reason = Some(why);
        }
        None
    }

    fn cached_pattern(&mut self, find: String) -> Result<Arc<JsRegex>, RegexSyntaxError> {
        if let Some(known) = self.patterns.get(&find) {
            return known.clone();
        }
        let read = find::parse_pattern(&find).map(Arc::new);
        if self.patterns.len() < MAX_PATTERNS {
            self.patterns.insert(find, read.clone());
        }
        read
    }
}
