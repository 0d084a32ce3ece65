//! What each macro does, one row each: its names, how many arguments it takes, and what becomes of it.
//!
//! One file for each kind: `names` (who plays), `history` (what was said), `texts` (texts, conditions, chance), `time`, `values`, `variables`.
//! To add a macro: its row in the file of its kind, its line in `docs/prompts.md`, its name in `interop::card`'s list.

mod history;
mod names;
mod texts;
mod time;
mod values;
mod variables;

use std::collections::HashMap;
use std::sync::LazyLock;

use super::MacroEngine;

/// A macro.
pub struct MacroDefinition {
    /// Its names, whatever their case.
    pub names: &'static [&'static str],
    /// The fewest and the most arguments that it takes, its block counted.
    pub args: (usize, usize),
    /// Which of them must be whole numbers.
    pub integer_args: &'static [usize],
    /// What becomes of it.
    pub does: MacroAction,
}

/// What becomes of a macro.
pub enum MacroAction {
    /// Nothing: it is for whoever reads the text, and what stands in it does not run.
    Nothing,
    /// One of two texts, by a condition.
    Condition,
    /// A text; `None` = it stays as it is.
    Text(fn(&mut MacroEngine<'_>, MacroCall<'_>) -> Option<String>),
}

/// How a macro is used.
pub struct MacroCall<'t> {
    /// Its arguments, filled in, without the blanks around them.
    pub args: Vec<String>,
    /// The whole text that it stands in.
    pub text: &'t str,
    /// Where in it.
    pub at: usize,
}

impl MacroCall<'_> {
    /// An argument; empty where there is none.
    pub fn arg(&self, at: usize) -> &str {
        self.args.get(at).map_or("", String::as_str)
    }
}

impl MacroDefinition {
    const fn new(names: &'static [&'static str], args: (usize, usize), does: MacroAction) -> Self {
        Self { names, args, integer_args: &[], does }
    }

    /// A macro without arguments.
    const fn plain(
        names: &'static [&'static str],
        does: fn(&mut MacroEngine<'_>, MacroCall<'_>) -> Option<String>,
    ) -> Self {
        Self::new(names, (0, 0), MacroAction::Text(does))
    }

    /// A macro with arguments.
    const fn with_args(
        names: &'static [&'static str],
        args: (usize, usize),
        does: fn(&mut MacroEngine<'_>, MacroCall<'_>) -> Option<String>,
    ) -> Self {
        Self::new(names, args, MacroAction::Text(does))
    }

    /// Whether it can be used with so many arguments.
    pub const fn accepts_args(&self, args: usize) -> bool {
        args >= self.args.0 && args <= self.args.1
    }

    /// Whether a block can follow so many arguments.
    pub const fn may_have_block(&self, args: usize) -> bool {
        self.accepts_args(args + 1)
    }
}

static TABLE: LazyLock<HashMap<String, &'static MacroDefinition>> = LazyLock::new(|| {
    let all =
        [names::ROWS, history::ROWS, texts::ROWS, time::ROWS, values::ROWS, variables::ROWS].into_iter().flatten();
    all.flat_map(|row| row.names.iter().map(move |name| (name.to_ascii_lowercase(), row))).collect()
});

/// The names of all macros, each as it is written in the table.
pub fn names() -> impl Iterator<Item = &'static str> {
    let all =
        [names::ROWS, history::ROWS, texts::ROWS, time::ROWS, values::ROWS, variables::ROWS].into_iter().flatten();
    all.flat_map(|row| row.names.iter().copied())
}

/// The macro of a name.
pub fn find(name: &str) -> Option<&'static MacroDefinition> {
    // No name is longer, and some texts are.
    let lower = Some(name).filter(|name| name.len() <= 40)?.to_ascii_lowercase();
    // The offset of an older way to ask for the time belongs to its name.
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
        assert!(all().all(|row| row.args.0 <= row.args.1));
    }
}
