//! The table of all macros: names, number of arguments and action of each.
//!
//! One file for each kind: `names` (participants), `history` (messages), `texts` (texts, conditions, random choices),
//! `time`, `values`, `variables`. To add a macro: its row in the matching file, its line in `docs/prompts.md`, and its
//! name in the list in `interop::card`.

mod history;
mod names;
mod texts;
mod time;
mod values;
mod variables;

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use super::MacroEngine;
use super::source_text::SourceText;

/// A row of the table.
pub struct MacroDefinition {
    /// Names, compared without case.
    pub names: &'static [&'static str],
    /// The numbers of arguments that it accepts, including the block.
    pub args: RangeInclusive<usize>,
    /// Indices of arguments that must be whole numbers.
    pub integer_args: &'static [usize],
    pub action: MacroAction,
}

/// The action of a macro.
pub enum MacroAction {
    /// Writes nothing, and its content is not evaluated: a comment.
    Nothing,
    /// Chooses one of two texts by a condition.
    Condition,
    /// Writes a text; `None` = the macro stays text.
    Text(fn(&mut MacroEngine<'_>, MacroCall<'_>) -> Option<String>),
}

/// A call of a macro.
pub struct MacroCall<'t> {
    /// Evaluated and trimmed arguments.
    pub args: Vec<String>,
    /// The whole text that contains the call.
    pub text: &'t SourceText<'t>,
    /// Byte offset of the call in `text`.
    pub at: usize,
}

impl MacroCall<'_> {
    /// Returns an argument; empty if it is missing.
    pub fn arg(&self, at: usize) -> &str {
        self.args.get(at).map_or("", String::as_str)
    }
}

impl MacroDefinition {
    const fn new(names: &'static [&'static str], args: RangeInclusive<usize>, does: MacroAction) -> Self {
        Self { names, args, integer_args: &[], action: does }
    }

    /// Creates a macro without arguments.
    const fn plain(
        names: &'static [&'static str],
        does: fn(&mut MacroEngine<'_>, MacroCall<'_>) -> Option<String>,
    ) -> Self {
        Self::new(names, 0..=0, MacroAction::Text(does))
    }

    /// Creates a macro with arguments.
    const fn with_args(
        names: &'static [&'static str],
        args: RangeInclusive<usize>,
        does: fn(&mut MacroEngine<'_>, MacroCall<'_>) -> Option<String>,
    ) -> Self {
        Self::new(names, args, MacroAction::Text(does))
    }

    /// Returns whether it accepts so many arguments.
    pub const fn accepts_args(&self, args: usize) -> bool {
        args >= *self.args.start() && args <= *self.args.end()
    }

    /// Returns whether a block can follow so many arguments.
    pub const fn may_have_block(&self, args: usize) -> bool {
        self.accepts_args(args + 1)
    }
}

static TABLE: LazyLock<HashMap<String, &'static MacroDefinition>> = LazyLock::new(|| {
    let all =
        [names::ROWS, history::ROWS, texts::ROWS, time::ROWS, values::ROWS, variables::ROWS].into_iter().flatten();
    all.flat_map(|row| row.names.iter().map(move |name| (name.to_ascii_lowercase(), row))).collect()
});

/// Returns the names of all macros, as spelled in the table.
pub fn names() -> impl Iterator<Item = &'static str> {
    let all =
        [names::ROWS, history::ROWS, texts::ROWS, time::ROWS, values::ROWS, variables::ROWS].into_iter().flatten();
    all.flat_map(|row| row.names.iter().copied())
}

/// Returns the macro of a name, ignoring case.
pub fn find(name: &str) -> Option<&'static MacroDefinition> {
    // No macro has a longer name, but texts may.
    let lower = Some(name).filter(|name| name.len() <= 40)?.to_ascii_lowercase();
    // The offset in `time_UTC+2` is part of the name.
    let word = if lower.starts_with("time_utc") { "time_utc" } else { lower.as_str() };
    TABLE.get(word).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macro_table_names_are_unique() {
        let all = || {
            [names::ROWS, history::ROWS, texts::ROWS, time::ROWS, values::ROWS, variables::ROWS].into_iter().flatten()
        };
        assert_eq!(TABLE.len(), all().map(|row| row.names.len()).sum::<usize>());
        assert!(all().all(|row| row.args.start() <= row.args.end()));
    }
}
