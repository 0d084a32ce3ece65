//! Regular expressions as the files of SillyTavern write them: JavaScript's syntax and meaning, between slashes with flags.
//!
//! JavaScript first, and bounded always. No engine at hand is both: those that know its syntax have no limit, those that
//! have one know another syntax. So patterns are read here (`syntax`, `escape`, `set`), written as a program
//! (`program`) and run over UTF-16 units as JavaScript does (`machine`), each step paid for out of [`StepBudget`]. Where a
//! pattern is plain enough for an engine whose time is linear, that one is asked before much is spent (`linear`).
//!
//! What is no pattern at all is decided by who asks: a key of lore is then a plain word, a script is skipped. [`split`] gives
//! the pieces.
//!
//! A new escape or group goes into `escape.rs` or `syntax.rs`; if it needs a step of its own, into `program.rs` and
//! `machine.rs`; and `linear.rs` has to say whether it can be translated.

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

pub use text::Utf16Text;

use linear::LinearRegex;
use machine::RegexMachine;
use program::RegexProgram;
use syntax::RegexModes;

/// Steps for one use of a pattern, whatever the text: some milliseconds.
const BASE_STEP_BUDGET: usize = 500_000;
/// Steps for each UTF-16 unit of the text beside that: what ends in linear time needs a few.
const STEPS_PER_UNIT: usize = 16;
/// A search that has taken so many steps, and so many for each unit, asks whether there is anything to be found.
const LINEAR_FALLBACK_AFTER: (usize, usize) = (4_096, 4);

/// A regular expression.
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

/// Why a text is no pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RegexSyntaxError {
    /// It is none in JavaScript's syntax.
    #[error("{what}, at character {at}")]
    Syntax {
        /// What is wrong.
        what: &'static str,
        /// Where, in characters from 1.
        at: usize,
    },
    /// A flag that there is not, or one twice.
    #[error("flag `{0}` is not known or comes twice")]
    Flag(char),
    /// It is too long, or too deep.
    #[error("it is too large")]
    TooLarge,
}

impl RegexSyntaxError {
    fn syntax_at(what: &'static str, at: usize) -> Self {
        Self::Syntax { what, at: at.max(1) }
    }
}

/// A pattern took more steps over a text than there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it ran away: it took too long on this text")]
pub struct StepLimitError;

/// Steps that may still be taken. One for several uses bounds all of them together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepBudget(usize);

impl StepBudget {
    /// So many.
    pub const fn new(steps: usize) -> Self {
        Self(steps)
    }

    /// What one use on a text of this size (in UTF-16 units) may take.
    pub const fn for_text(units: usize) -> Self {
        Self(BASE_STEP_BUDGET + units.saturating_mul(STEPS_PER_UNIT))
    }

    /// How many are left.
    pub const fn left(&self) -> usize {
        self.0
    }

    /// Takes some.
    ///
    /// # Errors
    /// There are not so many left; then there are none.
    pub fn spend(&mut self, steps: usize) -> Result<(), StepLimitError> {
        let left = self.0.checked_sub(steps);
        self.0 = left.unwrap_or(0);
        left.map(|_| ()).ok_or(StepLimitError)
    }
}

/// One match: where it and its groups are, in UTF-16 units of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegexMatch {
    /// The match itself, then group for group; `None` = took no part.
    spans: Vec<Option<Range<usize>>>,
}

impl RegexMatch {
    /// Where it is.
    pub fn range(&self) -> Range<usize> {
        self.group(0).unwrap_or_default()
    }

    /// Where a group is, 0 = the whole match; `None` where it took no part or there is none of that number.
    pub fn group(&self, group: usize) -> Option<Range<usize>> {
        self.spans.get(group).cloned().flatten()
    }
}

/// The pieces of `/body/flags`: the last slash ends the body, what follows it are the flags, letters or not. `None` where
/// the text does not begin with a slash or no other follows, or there is nothing between the two.
pub fn split(text: &str) -> Option<(&str, &str)> {
    let (body, flags) = text.strip_prefix('/')?.rsplit_once('/')?;
    (!body.is_empty()).then_some((body, flags))
}

/// Whether a slash in the body of a pattern is not escaped. Some take that for the end, and the whole for no pattern.
pub fn has_bare_slash(body: &str) -> bool {
    let mut escaped = false;
    body.chars().any(|c| {
        let is_bare = c == '/' && !escaped;
        escaped = c == '\\' && !escaped;
        is_bare
    })
}

impl JsRegex {
    /// Reads `/body/flags`, or a body without slashes and flags.
    ///
    /// # Errors
    /// It is no pattern.
    pub fn read(text: &str) -> Result<Self, RegexSyntaxError> {
        let (body, flags) = split(text).unwrap_or((text, ""));
        Self::new(body, flags)
    }

    /// Reads a body with flags out of `dgimsuy`.
    ///
    /// # Errors
    /// It is no pattern.
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

    /// Whether it is meant for every place, not only the first.
    pub const fn is_global(&self) -> bool {
        self.is_global
    }

    /// How many groups remember.
    pub const fn group_count(&self) -> usize {
        self.groups
    }

    /// The names of its groups, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|(name, _)| name.as_str())
    }

    /// Where the group of a name is in a match; `None` where it took no part or there is none of that name.
    pub fn named(&self, name: &str, found: &RegexMatch) -> Option<Range<usize>> {
        let (_, groups) = self.names.iter().find(|(known, _)| known == name)?;
        groups.iter().find_map(|group| found.group(*group))
    }

    /// Whether it matches anywhere in a text, within the steps of one use.
    ///
    /// # Errors
    /// It ran away.
    pub fn is_match(&self, text: &str) -> Result<bool, StepLimitError> {
        let text = Utf16Text::new(text);
        self.is_match_in(&text, &mut StepBudget::for_text(text.len()))
    }

    /// Whether it matches anywhere in a text.
    ///
    /// # Errors
    /// There are no steps left.
    pub fn is_match_in(&self, text: &Utf16Text<'_>, steps: &mut StepBudget) -> Result<bool, StepLimitError> {
        Ok(self.find(text, 0, steps)?.is_some())
    }

    /// All matches, or the first where it is not meant for every place. As JavaScript's `replace` goes through a text.
    ///
    /// # Errors
    /// There are no steps left.
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

    /// The first match from a place on.
    ///
    /// # Errors
    /// There are no steps left.
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
        // Each match is paid for, and with it the room it takes.
        steps.spend(1 + self.groups)?;
        let mut start = from;
        let mut patience =
            Some(StepBudget::new(LINEAR_FALLBACK_AFTER.0 + text.len().saturating_mul(LINEAR_FALLBACK_AFTER.1)));
        while start <= text.len() {
            if let Some(first) = self.program.first.as_ref().filter(|_| !self.is_sticky) {
                match text.next_of(first, start, self.modes.is_unicode, steps)? {
                    Some(place) => start = place,
                    None => return Ok(None),
                }
            }
            match self.attempt(machine, start, &mut patience, steps) {
                Ok(true) => return Ok(Some(self.to_match(machine))),
                Ok(false) => {}
                Err(StepLimitError) if patience.is_some_and(|left| left.left() == 0) && steps.left() > 0 => {
                    patience = None;
                    match self.linear.next(text, start, steps)? {
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

    /// One attempt: out of patience first, as long as there is some.
    fn attempt(
        &self,
        machine: &mut RegexMachine<'_>,
        start: usize,
        patience: &mut Option<StepBudget>,
        steps: &mut StepBudget,
    ) -> Result<bool, StepLimitError> {
        match patience {
            Some(patience) => {
                let before = patience.left().min(steps.left());
                let mut now = StepBudget::new(before);
                let result = machine.match_at(start, &mut now);
                let spent = before - now.left();
                steps.0 = steps.0.saturating_sub(spent);
                patience.0 = patience.0.saturating_sub(spent);
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
