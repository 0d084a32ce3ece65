//! Macros for texts, conditions and random choices.

use super::super::{MAX_REPEAT, random, stored_text};
use super::{MacroAction, MacroCall, MacroDefinition};

/// For macros with any number of arguments.
const ANY: usize = usize::MAX;

/// The rows of the table.
pub const ROWS: &[MacroDefinition] = &[
    MacroDefinition {
        integer_args: &[0],
        ..MacroDefinition::with_args(&["newline"], 0..=1, |m, call| repeat(m, "\n", &call))
    },
    MacroDefinition {
        integer_args: &[0],
        ..MacroDefinition::with_args(&["space"], 0..=1, |m, call| repeat(m, " ", &call))
    },
    MacroDefinition::plain(&["noop"], |_, _| Some(String::new())),
    MacroDefinition::with_args(&["trim"], 0..=1, |_, call| {
        Some(if call.args.is_empty() { stored_text::TRIM.to_owned() } else { call.arg(0).to_owned() })
    }),
    MacroDefinition::with_args(&["reverse"], 1..=1, |_, call| Some(call.arg(0).chars().rev().collect())),
    MacroDefinition::with_args(&["banned"], 1..=1, |_, _| Some(String::new())),
    MacroDefinition::new(&["//", "comment"], 0..=ANY, MacroAction::Nothing),
    MacroDefinition::new(&["if"], 2..=2, MacroAction::Condition),
    MacroDefinition::plain(&["else"], |_, _| Some(String::new())),
    MacroDefinition::with_args(&["roll"], 1..=1, |m, call| {
        let fallen = random::roll(call.arg(0), m.draw);
        if fallen.is_none() {
            m.note_problem("a macro has more dice than one roll may have");
        }
        fallen
    }),
    MacroDefinition::with_args(&["random"], 0..=ANY, |m, call| {
        let draw = (m.draw)();
        Some(random::choose(&random::split_choices(call.args), draw).to_owned())
    }),
    MacroDefinition::with_args(&["pick"], 0..=ANY, |m, call| {
        let choices = random::split_choices(call.args);
        Some(random::pick(&choices, call.text.hash(m.facts.seed), call.at).to_owned())
    }),
];

fn repeat(m: &mut super::super::MacroEngine<'_>, what: &str, call: &MacroCall<'_>) -> Option<String> {
    let times = if call.args.is_empty() { Some(1) } else { call.arg(0).parse().ok() };
    let times = times.filter(|times| *times <= MAX_REPEAT);
    if times.is_none() {
        m.note_problem("a space or line break was repeated fewer times than the macro asks for");
    }
    Some(what.repeat(times?))
}
