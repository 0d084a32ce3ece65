//! Macros for variables: of the session, and of all sessions (`…globalvar`).

use serde_json::Value;

use super::super::{MacroEngine, stored_text};
use super::{MacroCall, MacroDefinition};

const LOCAL: bool = false;
const GLOBAL: bool = true;

/// The rows of the table.
pub const ROWS: &[MacroDefinition] = &[
    MacroDefinition::with_args(&["getvar"], 1..=1, get::<LOCAL>),
    MacroDefinition::with_args(&["getglobalvar"], 1..=1, get::<GLOBAL>),
    MacroDefinition::with_args(&["setvar"], 2..=2, set::<LOCAL>),
    MacroDefinition::with_args(&["setglobalvar"], 2..=2, set::<GLOBAL>),
    MacroDefinition::with_args(&["addvar"], 2..=2, add::<LOCAL>),
    MacroDefinition::with_args(&["addglobalvar"], 2..=2, add::<GLOBAL>),
    MacroDefinition::with_args(&["incvar"], 1..=1, |m, call| Some(step::<LOCAL>(m, &call, 1))),
    MacroDefinition::with_args(&["incglobalvar"], 1..=1, |m, call| Some(step::<GLOBAL>(m, &call, 1))),
    MacroDefinition::with_args(&["decvar"], 1..=1, |m, call| Some(step::<LOCAL>(m, &call, -1))),
    MacroDefinition::with_args(&["decglobalvar"], 1..=1, |m, call| Some(step::<GLOBAL>(m, &call, -1))),
    MacroDefinition::with_args(&["hasvar", "varexists"], 1..=1, has::<LOCAL>),
    MacroDefinition::with_args(&["hasglobalvar", "globalvarexists"], 1..=1, has::<GLOBAL>),
    MacroDefinition::with_args(&["deletevar", "flushvar"], 1..=1, delete::<LOCAL>),
    MacroDefinition::with_args(&["deleteglobalvar", "flushglobalvar"], 1..=1, delete::<GLOBAL>),
    MacroDefinition::with_args(&["getvarkey", "getvarindex"], 2..=2, inside::<LOCAL>),
    MacroDefinition::with_args(&["getglobalvarkey", "getglobalvarindex"], 2..=2, inside::<GLOBAL>),
    MacroDefinition::with_args(&["setvarkey", "setvarindex"], 3..=3, set_inside::<LOCAL>),
    MacroDefinition::with_args(&["setglobalvarkey", "setglobalvarindex"], 3..=3, set_inside::<GLOBAL>),
];

fn get<const KIND: bool>(m: &mut MacroEngine<'_>, call: MacroCall<'_>) -> Option<String> {
    Some(m.variables_mut(KIND).text(call.arg(0)))
}

fn set<const KIND: bool>(m: &mut MacroEngine<'_>, call: MacroCall<'_>) -> Option<String> {
    m.variables_mut(KIND).set(call.arg(0), Value::String(stored_text::to_stored_text(call.arg(1))));
    Some(String::new())
}

fn add<const KIND: bool>(m: &mut MacroEngine<'_>, call: MacroCall<'_>) -> Option<String> {
    m.variables_mut(KIND).add(call.arg(0), Value::String(stored_text::to_stored_text(call.arg(1))));
    Some(String::new())
}

fn step<const KIND: bool>(m: &mut MacroEngine<'_>, call: &MacroCall<'_>, by: i64) -> String {
    m.variables_mut(KIND).add(call.arg(0), by.into());
    m.variables_mut(KIND).text(call.arg(0))
}

fn has<const KIND: bool>(m: &mut MacroEngine<'_>, call: MacroCall<'_>) -> Option<String> {
    Some(m.variables_mut(KIND).has(call.arg(0)).to_string())
}

fn delete<const KIND: bool>(m: &mut MacroEngine<'_>, call: MacroCall<'_>) -> Option<String> {
    m.variables_mut(KIND).remove(call.arg(0));
    Some(String::new())
}

fn inside<const KIND: bool>(m: &mut MacroEngine<'_>, call: MacroCall<'_>) -> Option<String> {
    Some(m.variables_mut(KIND).get_inside(call.arg(0), call.arg(1)))
}

fn set_inside<const KIND: bool>(m: &mut MacroEngine<'_>, call: MacroCall<'_>) -> Option<String> {
    m.variables_mut(KIND).set_inside(call.arg(0), call.arg(1), &stored_text::to_stored_text(call.arg(2)));
    Some(String::new())
}
