//! Regular expressions as SillyTavern files write them: JavaScript's syntax and semantics, with slashes and flags.
//!
//! The engine follows JavaScript and always has a step limit. No available crate does both: those with JavaScript's
//! syntax have no limit, those with a limit have another syntax. So patterns are parsed here (`syntax`, `escape`,
//! `set`), compiled to a program (`program`) and run over UTF-16 units (`machine`). Each step is taken from a
//! [`StepBudget`]. If a pattern is simple enough for a linear-time engine, that engine is tried before many steps are
//! spent (`linear`).
//!
//! The caller decides what to do with an invalid pattern: a lore key becomes a plain word, a script is skipped.
//! [`split_literal`] separates body and flags.
//!
//! To add an escape or group, change `escape.rs` or `syntax.rs`. If it needs its own instruction, change `program.rs`
//! and `machine.rs` too. `linear.rs` must decide whether it can be translated.

mod escape;
mod linear;
mod machine;
mod program;
mod set;
mod syntax;
#[cfg(test)]
mod tests;
mod text;

use std::ops::Range;

use clotho_core::stop_check::StopCheck;

pub use text::Utf16Text;

use linear::LinearRegex;
use machine::RegexMachine;
use program::RegexProgram;
use syntax::RegexModes;

/// Steps for one use of a pattern, independent of the text: a few milliseconds.
const BASE_STEP_BUDGET: usize = 500_000;
/// Additional steps for each UTF-16 unit of the text; linear patterns need only a few.
const STEPS_PER_UNIT: usize = 16;
/// Steps between two looks whether to stop: some tenths of a millisecond.
const STEPS_PER_LOOK: usize = 16_384;
/// Steps (fixed, and per unit) after which a search asks the linear engine whether there is a match at all.
const LINEAR_FALLBACK_AFTER: (usize, usize) = (4_096, 4);

/// A compiled regular expression.
#[derive(Debug)]
pub struct JsRegex {
    program: RegexProgram,
    modes: RegexModes,
    names: Vec<(String, Vec<usize>)>,
    groups: usize,
    linear: LinearRegex,
    is_global: bool,
    is_sticky: bool,
}

/// Error: the text is not a valid pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RegexSyntaxError {
    /// The pattern violates JavaScript's syntax.
    #[error("{what}, at character {at}")]
    Syntax {
        what: &'static str,
        /// Position in characters, counted from 1.
        at: usize,
    },
    /// An unknown or repeated flag.
    #[error("the flag `{0}` is unknown or appears twice")]
    Flag(char),
    /// The pattern is too long or nested too deeply.
    #[error("it is too large")]
    TooLarge,
}

impl RegexSyntaxError {
    fn syntax_at(what: &'static str, at: usize) -> Self {
        Self::Syntax { what, at: at.max(1) }
    }
}

/// Error: a pattern exceeded its step budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it took too long on this text")]
pub struct StepLimitError;

/// Remaining steps. A budget shared by several uses limits their sum.
#[derive(Debug, Clone)]
pub struct StepBudget {
    left: usize,
    /// With fewer steps left, it looks whether to stop; 0 if nobody can stop it.
    look_below: usize,
    stop: StopCheck,
}

impl StepBudget {
    /// Creates a budget of so many steps.
    pub const fn new(steps: usize) -> Self {
        Self { left: steps, look_below: 0, stop: StopCheck::NEVER }
    }

    /// Ends the budget as soon as `stop` is set.
    #[must_use]
    pub fn until(self, stop: StopCheck) -> Self {
        let look_below = if stop.is_never() { 0 } else { self.left.saturating_sub(STEPS_PER_LOOK) };
        Self { look_below, stop, ..self }
    }

    /// Returns a budget of so many steps of this one. They are not taken from it.
    #[must_use]
    pub fn part(&self, steps: usize) -> Self {
        Self::new(steps.min(self.left)).until(self.stop.clone())
    }

    /// Returns the budget for one use on a text of `units` UTF-16 units.
    pub const fn for_text(units: usize) -> Self {
        Self::new(BASE_STEP_BUDGET + units.saturating_mul(STEPS_PER_UNIT))
    }

    /// Returns the remaining steps.
    pub const fn remaining(&self) -> usize {
        self.left
    }

    /// Takes steps from the budget.
    ///
    /// # Errors
    /// Returns an error if too few steps are left; the budget is then 0.
    pub fn spend(&mut self, steps: usize) -> Result<(), StepLimitError> {
        let left = self.left.checked_sub(steps);
        self.left = left.unwrap_or(0);
        if self.left < self.look_below {
            self.look()?;
        }
        left.map(|_| ()).ok_or(StepLimitError)
    }

    /// Looks whether to stop; then the budget is 0.
    #[cold]
    fn look(&mut self) -> Result<(), StepLimitError> {
        if self.stop.is_stopped() {
            // Whoever spends more hears of it again.
            (self.left, self.look_below) = (0, usize::MAX);
            return Err(StepLimitError);
        }
        self.look_below = self.left.saturating_sub(STEPS_PER_LOOK);
        Ok(())
    }

    /// Leaves at most so many steps for now. Returns how many are hidden, for [`StepBudget::show`].
    fn hide_all_but(&mut self, steps: usize) -> usize {
        let hidden = self.left.saturating_sub(steps);
        self.left -= hidden;
        self.look_below = self.look_below.saturating_sub(hidden);
        hidden
    }

    fn show(&mut self, hidden: usize) {
        self.left += hidden;
        if !self.stop.is_never() {
            self.look_below = self.look_below.saturating_add(hidden);
        }
    }
}

/// One match: the positions of the match and its groups, in UTF-16 units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegexMatch {
    /// The whole match, then each group; `None` = the group did not take part.
    spans: Vec<Option<Range<usize>>>,
}

impl RegexMatch {
    /// Returns the range of the whole match.
    pub fn range(&self) -> Range<usize> {
        self.group(0).unwrap_or_default()
    }

    /// Returns the range of a group, 0 = the whole match; `None` if it did not take part or does not exist.
    pub fn group(&self, group: usize) -> Option<Range<usize>> {
        self.spans.get(group).cloned().flatten()
    }
}

/// Splits `/body/flags` at the last slash; the flags are not checked. Returns `None` without an opening or closing
/// slash or with an empty body.
pub fn split_literal(text: &str) -> Option<(&str, &str)> {
    let (body, flags) = text.strip_prefix('/')?.rsplit_once('/')?;
    (!body.is_empty()).then_some((body, flags))
}

/// Returns whether the body contains an unescaped slash. Some callers treat such a text as no pattern.
pub fn has_bare_slash(body: &str) -> bool {
    let mut escaped = false;
    body.chars().any(|c| {
        let is_bare = c == '/' && !escaped;
        escaped = c == '\\' && !escaped;
        is_bare
    })
}

impl JsRegex {
    /// Compiles `/body/flags`, or a body without slashes and flags.
    ///
    /// # Errors
    /// Returns an error if the pattern is invalid.
    pub fn read(text: &str) -> Result<Self, RegexSyntaxError> {
        let (body, flags) = split_literal(text).unwrap_or((text, ""));
        Self::new(body, flags)
    }

    /// Compiles a body with flags out of `dgimsuy`.
    ///
    /// # Errors
    /// Returns an error if the pattern or a flag is invalid.
    pub fn new(body: &str, flags: &str) -> Result<Self, RegexSyntaxError> {
        let twice = flags.char_indices().find(|(at, c)| flags.get(..*at).is_some_and(|before| before.contains(*c)));
        if let Some(wrong) = flags.chars().find(|c| !"dgimsuy".contains(*c)).or(twice.map(|(_, c)| c)) {
            return Err(RegexSyntaxError::Flag(wrong));
        }
        let has = |flag: char| flags.contains(flag);
        let modes = RegexModes { any_case: has('i'), by_line: has('m'), dot_all: has('s'), is_unicode: has('u') };
        let tree = syntax::parse(body, modes)?;
        Ok(Self {
            program: program::compile(&tree),
            linear: LinearRegex::new(&tree, modes),
            groups: tree.groups,
            names: tree.names,
            modes,
            is_global: has('g'),
            is_sticky: has('y'),
        })
    }

    /// Returns whether the pattern has the flag `g`: it applies to all matches, not only the first.
    pub const fn is_global(&self) -> bool {
        self.is_global
    }

    /// Returns the number of capturing groups.
    pub const fn group_count(&self) -> usize {
        self.groups
    }

    /// Returns the names of its groups, in order.
    pub fn group_names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the range of a named group in a match; `None` if it did not take part or does not exist.
    pub fn named_group(&self, name: &str, found: &RegexMatch) -> Option<Range<usize>> {
        let (_, groups) = self.names.iter().find(|(known, _)| known == name)?;
        groups.iter().find_map(|group| found.group(*group))
    }

    /// Returns whether the pattern matches anywhere in a text, within the budget of one use.
    ///
    /// # Errors
    /// Returns an error if the step budget is exceeded.
    pub fn is_match(&self, text: &str) -> Result<bool, StepLimitError> {
        let text = Utf16Text::new(text);
        self.is_match_in(&text, &mut StepBudget::for_text(text.len()))
    }

    /// Returns whether the pattern matches anywhere in a text.
    ///
    /// # Errors
    /// Returns an error if the step budget is exceeded.
    pub fn is_match_in(&self, text: &Utf16Text<'_>, steps: &mut StepBudget) -> Result<bool, StepLimitError> {
        Ok(self.find(text, 0, steps)?.is_some())
    }

    /// Returns all matches, or only the first one without the flag `g`. Proceeds like JavaScript's `replace`.
    ///
    /// # Errors
    /// Returns an error if the step budget is exceeded.
    pub fn matches(&self, text: &Utf16Text<'_>, steps: &mut StepBudget) -> Result<Vec<RegexMatch>, StepLimitError> {
        let mut all = Vec::new();
        let mut from = 0;
        let mut machine = RegexMachine::new(&self.program, self.modes, text.units());
        while let Some(found) = self.find_with(&mut machine, text, from, steps)? {
            let Range { start, end } = found.range();
            all.push(found);
            if !self.is_global {
                break;
            }
            from = if end > start { end } else { text.next_position(end, self.modes.is_unicode) };
        }
        Ok(all)
    }

    /// Returns the first match that begins at `from` or later.
    ///
    /// # Errors
    /// Returns an error if the step budget is exceeded.
    pub fn find(
        &self,
        text: &Utf16Text<'_>,
        from: usize,
        steps: &mut StepBudget,
    ) -> Result<Option<RegexMatch>, StepLimitError> {
        self.find_with(&mut RegexMachine::new(&self.program, self.modes, text.units()), text, from, steps)
    }

    fn find_with(
        &self,
        machine: &mut RegexMachine<'_>,
        text: &Utf16Text<'_>,
        from: usize,
        steps: &mut StepBudget,
    ) -> Result<Option<RegexMatch>, StepLimitError> {
        // Each match costs steps for the memory of its groups.
        steps.spend(1 + self.groups)?;
        let mut start = from;
        let mut patience =
            Some(StepBudget::new(LINEAR_FALLBACK_AFTER.0 + text.len().saturating_mul(LINEAR_FALLBACK_AFTER.1)));
        while start <= text.len() {
            // Skip to the next character that can begin a match.
            if let Some(first) = self.program.first.as_ref().filter(|_| !self.is_sticky) {
                match text.next_of(first, start, self.modes.is_unicode, steps)? {
                    Some(place) => start = place,
                    None => return Ok(None),
                }
            }
            // Try a match here; when the patience is used up, ask the linear engine.
            match self.attempt(machine, start, &mut patience, steps) {
                Ok(true) => return Ok(Some(self.to_match(machine))),
                Ok(false) => {}
                Err(StepLimitError)
                    if patience.as_ref().is_some_and(|left| left.remaining() == 0) && steps.remaining() > 0 =>
                {
                    patience = None;
                    match self.linear.find_from(text, start, steps)? {
                        linear::LinearSearch::None => return Ok(None),
                        linear::LinearSearch::Unknown => {}
                        linear::LinearSearch::At(place) => start = place,
                    }
                    continue;
                }
                Err(gone) => return Err(gone),
            }
            if self.is_sticky || self.program.at_start {
                return Ok(None);
            }
            start = text.next_position(start, self.modes.is_unicode);
        }
        Ok(None)
    }

    /// Tries a match at `start`. Charges the patience budget too, while there is one.
    fn attempt(
        &self,
        machine: &mut RegexMachine<'_>,
        start: usize,
        patience: &mut Option<StepBudget>,
        steps: &mut StepBudget,
    ) -> Result<bool, StepLimitError> {
        match patience {
            Some(patience) => {
                let before = patience.left.min(steps.left);
                let hidden = steps.hide_all_but(before);
                let result = machine.match_at(start, steps);
                patience.left -= before - steps.left;
                steps.show(hidden);
                result
            }
            None => machine.match_at(start, steps),
        }
    }

    fn to_match(&self, machine: &RegexMachine<'_>) -> RegexMatch {
        let span = |group: usize| machine.group(group).map(|(start, end)| start..end);
        RegexMatch { spans: (0..=self.groups).map(span).collect() }
    }
}
