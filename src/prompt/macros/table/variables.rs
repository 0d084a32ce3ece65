//! Variables: those of the session, and those of all sessions (`…globalvar`).

use serde_json::Value;

use super::super::{MacroEngine, run};
use super::{MacroCall, MacroDefinition};

const LOCAL: bool = false;
const GLOBAL: bool = true;

/// The rows.
pub const ROWS: &[MacroDefinition] = &[
    MacroDefinition::with(&["getvar"], (1, 1), get::<LOCAL>),
    MacroDefinition::with(&["getglobalvar"], (1, 1), get::<GLOBAL>),
    MacroDefinition::with(&["setvar"], (2, 2), set::<LOCAL>),
    MacroDefinition::with(&["setglobalvar"], (2, 2), set::<GLOBAL>),
    MacroDefinition::with(&["addvar"], (2, 2), add::<LOCAL>),
    MacroDefinition::with(&["addglobalvar"], (2, 2), add::<GLOBAL>),
    MacroDefinition::with(&["incvar"], (1, 1), |m, call| Some(step::<LOCAL>(m, &call, 1))),
    MacroDefinition::with(&["incglobalvar"], (1, 1), |m, call| Some(step::<GLOBAL>(m, &call, 1))),
    MacroDefinition::with(&["decvar"], (1, 1), |m, call| Some(step::<LOCAL>(m, &call, -1))),
    MacroDefinition::with(&["decglobalvar"], (1, 1), |m, call| Some(step::<GLOBAL>(m, &call, -1))),
    MacroDefinition::with(&["hasvar", "varexists"], (1, 1), has::<LOCAL>),
    MacroDefinition::with(&["hasglobalvar", "globalvarexists"], (1, 1), has::<GLOBAL>),
    MacroDefinition::with(&["deletevar", "flushvar"], (1, 1), delete::<LOCAL>),
    MacroDefinition::with(&["deleteglobalvar", "flushglobalvar"], (1, 1), delete::<GLOBAL>),
    MacroDefinition::with(&["getvarkey"], (2, 2), inside::<LOCAL>),
    MacroDefinition::with(&["getglobalvarkey"], (2, 2), inside::<GLOBAL>),
    MacroDefinition::with(&["setvarkey"], (3, 3), set_inside::<LOCAL>),
    MacroDefinition::with(&["setglobalvarkey"], (3, 3), set_inside::<GLOBAL>),
];

fn get<const KIND: bool>(m: &mut MacroEngine<'_>, call: MacroCall<'_>) -> Option<String> {
    Some(m.kind(KIND).text(call.arg(0)))
}

fn set<const KIND: bool>(m: &mut MacroEngine<'_>, call: MacroCall<'_>) -> Option<String> {
    m.kind(KIND).set(call.arg(0), Value::String(run::stored(call.arg(1))));
    Some(String::new())
}

fn add<const KIND: bool>(m: &mut MacroEngine<'_>, call: MacroCall<'_>) -> Option<String> {
    m.kind(KIND).add(call.arg(0), Value::String(run::stored(call.arg(1))));
    Some(String::new())
}

fn step<const KIND: bool>(m: &mut MacroEngine<'_>, call: &MacroCall<'_>, by: i64) -> String {
    m.kind(KIND).add(call.arg(0), by.into());
    m.kind(KIND).text(call.arg(0))
}

fn has<const KIND: bool>(m: &mut MacroEngine<'_>, call: MacroCall<'_>) -> Option<String> {
    Some(m.kind(KIND).has(call.arg(0)).to_string())
}

fn delete<const KIND: bool>(m: &mut MacroEngine<'_>, call: MacroCall<'_>) -> Option<String> {
    m.kind(KIND).remove(call.arg(0));
    Some(String::new())
}

fn inside<const KIND: bool>(m: &mut MacroEngine<'_>, call: MacroCall<'_>) -> Option<String> {
    Some(m.kind(KIND).inside(call.arg(0), call.arg(1)))
}

fn set_inside<const KIND: bool>(m: &mut MacroEngine<'_>, call: MacroCall<'_>) -> Option<String> {
    m.kind(KIND).set_inside(call.arg(0), call.arg(1), &run::stored(call.arg(2)));
    Some(String::new())
}
