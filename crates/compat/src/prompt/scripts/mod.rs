//! Regex scripts: what cards, presets and people have changed in texts before a model or a reader sees them, in the way of
//! SillyTavern.
//!
//! - [`RegexScript`] is one, read from its JSON; [`RegexScriptSet`] are those of a prompt, in the order in which they run.
//! - [`RegexScriptSet::apply`] makes one text of another for one [`ScriptUse`]; [`RegexScriptSet::sent`] does what a request needs.
//! - Macros come from whoever asks, as [`MacroFiller`].
//! - [`RegexScriptSet::notes`] says which of them did something and which were left out, and why.
//!
//! Nothing here changes what is kept. What SillyTavern would write into a message when it comes ([`ScriptUse::Stored`]) is done
//! each time a prompt is made, and in the same order: so a script can be changed or forbidden later, and the facts stay.
//! All of it is bounded: steps for each use of a script and for all of them, the size of what they make, and how many
//! there are. A script that goes beyond is left out from there on, and named.
//!
//! The files: `read` is a script, `find` what it looks for, `change` what it puts there. What is on purpose unlike
//! SillyTavern is in the tests. To add a kind of text: a number in [`placement`], and whoever makes it calls here.

mod change;
mod find;
mod read;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::js_regex::{JsRegex, RegexSyntaxError, StepBudget, StepLimitError, Utf16Text};
use super::macros::MacroEngine;

pub use read::{FindMacros, RegexScript};

/// Scripts beyond this many are left out: a card has a few dozen.
pub const MAX_SCRIPTS: usize = 1_000;
/// Steps of all scripts in one prompt together: some tenths of a second.
const MAX_TOTAL_STEPS: usize = 60_000_000;
/// A text that scripts make has at most so many bytes more than the one it was made from. Replies are a hundredth of that.
const MAX_GROWTH_BYTES: usize = 1 << 20;
/// So many patterns are kept, for scripts whose pattern is another one with each macro.
const MAX_PATTERNS: usize = 4_096;

/// Kinds of text, by their numbers in files.
pub mod placement {
    /// What the user writes.
    pub const USER: i64 = 1;
    /// What a model writes.
    pub const REPLY: i64 = 2;
    /// What a command of a user's makes; on display, what a narrator says.
    pub const COMMAND: i64 = 3;
    /// An entry of a lorebook.
    pub const LORE: i64 = 5;
    /// What a model thinks.
    pub const REASONING: i64 = 6;
}

/// Where a script comes from, in the order in which they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScriptScope {
    /// The user's own, for everything.
    Global,
    /// Of the preset that a prompt is made with.
    Preset,
    /// Of the character's card.
    Card,
}

impl ScriptScope {
    /// The word for it in traces.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Preset => "preset",
            Self::Card => "card",
        }
    }
}

/// What a text is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptUse {
    /// What SillyTavern keeps when a text comes.
    Stored,
    /// What it keeps when somebody has edited a text.
    Edited,
    /// What is shown.
    Display,
    /// What is sent.
    Prompt,
}

/// How a text came to be as it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextOrigin {
    /// Somebody wrote it.
    Written,
    /// Somebody changed what was written.
    Edited,
    /// What was to be done when it came has been done.
    Processed,
}

/// Which text it is.
#[derive(Debug, Clone, Copy)]
pub struct ScriptPlacement<'a> {
    /// Its kind, see [`placement`].
    pub placement: i64,
    /// How many messages that count stand behind it; -1 = it is the one that is continued, `None` = it has no depth.
    pub depth: Option<i64>,
    /// Who speaks, where that is not the card's character.
    pub speaker: Option<&'a str>,
}

/// Who fills macros in.
pub trait MacroFiller {
    /// Fills macros in. With a speaker, that is the character's name.
    fn fill(&mut self, text: &str, speaker: Option<&str>) -> String;
}

impl MacroFiller for MacroEngine<'_> {
    fn fill(&mut self, text: &str, speaker: Option<&str>) -> String {
        self.fill_as(text, speaker)
    }
}

/// Why a script did not run, or not to the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptSkipReason {
    /// It is no object.
    NoScript,
    /// It does not say for which texts it is.
    NoPlacement,
    /// What it looks for is no pattern.
    Invalid(RegexSyntaxError),
    /// It took too long on a text.
    RanAway,
    /// All scripts together took too long.
    NoTime,
    /// It made a text too large.
    TooLarge,
    /// There are too many.
    TooMany,
    /// So many wait for somebody to allow them.
    NotAllowed(usize),
}

impl ScriptSkipReason {
    /// The word for it in traces.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::NoScript => "noScript",
            Self::NoPlacement => "noPlacement",
            Self::Invalid(_) => "invalid",
            Self::RanAway => "ranAway",
            Self::NoTime => "noTime",
            Self::TooLarge => "tooLarge",
            Self::TooMany => "tooMany",
            Self::NotAllowed(_) => "notAllowed",
        }
    }
}

impl fmt::Display for ScriptSkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoScript => f.write_str("it is no script"),
            Self::NoPlacement => f.write_str("it does not say for which texts it is"),
            Self::Invalid(why) => write!(f, "what it looks for is no regular expression: {why}"),
            Self::RanAway => f.write_str("it ran away: what it looks for took too long on a text"),
            Self::NoTime => f.write_str("all scripts together took too long: it was left out from there on"),
            Self::TooLarge => f.write_str("it made a text too large"),
            Self::TooMany => write!(f, "there are more than {MAX_SCRIPTS} scripts"),
            Self::NotAllowed(1) => f.write_str("1 script runs only where the story allows it"),
            Self::NotAllowed(n) => write!(f, "{n} scripts run only where the story allows them"),
        }
    }
}

/// Why a script would never run, as far as it can be told before any text is there: a pattern with macros in it is another
/// one each time.
pub fn problem(script: &serde_json::Value) -> Option<ScriptSkipReason> {
    let Some(script) = RegexScript::read(script) else { return Some(ScriptSkipReason::NoScript) };
    if script.placements.is_none() {
        return Some(ScriptSkipReason::NoPlacement);
    }
    let is_plain = script.macros == FindMacros::Plain && !script.find.is_empty();
    find::parse_pattern(&script.find).err().filter(|_| is_plain).map(ScriptSkipReason::Invalid)
}

/// What is to be told of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptNote {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub scope: ScriptScope,
    /// How many texts it changed.
    pub changed: usize,
    /// Why it did not run, or stopped; `None` = nothing was wrong.
    pub why: Option<ScriptSkipReason>,
}

/// The scripts of one prompt, in the order in which they run.
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
    /// Whether it runs on a text for a use.
    fn applies_to(&self, what_for: ScriptUse, place: ScriptPlacement<'_>) -> bool {
        self.note.why.is_none() && !self.script.find.is_empty() && self.script.applies_to(what_for, place)
    }
}

impl Default for RegexScriptSet {
    fn default() -> Self {
        Self { list: Vec::new(), patterns: HashMap::new(), steps: StepBudget::new(MAX_TOTAL_STEPS) }
    }
}

impl RegexScriptSet {
    /// Puts scripts in, in their own order behind those of their scope. Of those that nobody has allowed it is only noted how
    /// many there are.
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
            let why = Some(ScriptSkipReason::NotAllowed(waiting)).filter(|_| waiting > 0);
            let note = ScriptNote { name: String::new(), scope, changed: 0, why };
            if note.why.is_some() {
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
                (self.list.len() >= MAX_SCRIPTS, ScriptSkipReason::TooMany),
                (is_no_script, ScriptSkipReason::NoScript),
                (script.placements.is_none(), ScriptSkipReason::NoPlacement),
            ];
            let why = why.into_iter().find_map(|(is, why)| is.then_some(why));
            let is_too_many = why == Some(ScriptSkipReason::TooMany);
            let note = ScriptNote { name: script.name.clone(), scope, changed: 0, why };
            self.list.insert(place, ScriptEntry { script, note });
            place += 1;
            if is_too_many {
                break;
            }
        }
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.list.iter().all(|entry| entry.note.why.is_some())
    }

    /// Each script that did something or was left out, in order.
    pub fn notes(&self) -> impl Iterator<Item = &ScriptNote> {
        self.list.iter().map(|entry| &entry.note).filter(|note| note.changed > 0 || note.why.is_some())
    }

    /// A text as it is sent: what would have been stored, then what is for requests only. `None` = as it is.
    pub fn sent(
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

    /// What the scripts for one use make of a text; `None` = nothing.
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
                self.disable(at, ScriptSkipReason::TooLarge);
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
            Err(why) => return self.disable(at, ScriptSkipReason::Invalid(why)),
        };
        let entry = self.list.get_mut(at)?;
        match change::apply(&entry.script, &pattern, text, speaker, &mut self.steps, filler) {
            Ok(changed) => {
                entry.note.changed += usize::from(changed.is_some());
                changed
            }
            Err(change::ScriptFailure::RanAway(StepLimitError)) if self.steps.left() == 0 => {
                self.disable(at, ScriptSkipReason::NoTime)
            }
            Err(change::ScriptFailure::RanAway(StepLimitError)) => self.disable(at, ScriptSkipReason::RanAway),
            Err(change::ScriptFailure::TooLarge) => self.disable(at, ScriptSkipReason::TooLarge),
        }
    }

    /// Leaves a script out from here on.
    fn disable(&mut self, at: usize, why: ScriptSkipReason) -> Option<String> {
        if let Some(entry) = self.list.get_mut(at) {
            entry.note.why = Some(why);
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
