//! Texts, conditions and chance.

use super::super::{MAX_REPEAT, chance, run};
use super::{Call, Does, Row};

/// Macros that take as many arguments as there are.
const ANY: usize = usize::MAX;

/// The rows.
pub const ROWS: &[Row] = &[
    Row { whole: &[0], ..Row::with(&["newline"], (0, 1), |m, call| repeat(m, "\n", &call)) },
    Row { whole: &[0], ..Row::with(&["space"], (0, 1), |m, call| repeat(m, " ", &call)) },
    Row::plain(&["noop"], |_, _| Some(String::new())),
    Row::with(&["trim"], (0, 1), |_, call| {
        Some(if call.args.is_empty() { run::TRIM.to_owned() } else { call.arg(0).to_owned() })
    }),
    Row::with(&["reverse"], (1, 1), |_, call| Some(call.arg(0).chars().rev().collect())),
    Row::with(&["banned"], (1, 1), |_, _| Some(String::new())),
    Row::new(&["//", "comment"], (0, ANY), Does::Nothing),
    Row::new(&["if"], (2, 2), Does::Choose),
    Row::plain(&["else"], |_, _| Some(String::new())),
    Row::with(&["roll"], (1, 1), |m, call| {
        let fallen = chance::roll(call.arg(0), m.draw);
        if fallen.is_none() {
            m.problem("more dice than are rolled at once");
        }
        fallen
    }),
    Row::with(&["random"], (0, ANY), |m, call| {
        let draw = (m.draw)();
        Some(chance::choose(&chance::choices(call.args), draw).to_owned())
    }),
    Row::with(&["pick"], (0, ANY), |m, call| {
        let choices = chance::choices(call.args);
        Some(chance::pick(&choices, m.facts.seed, call.text, call.at).to_owned())
    }),
];

fn repeat(m: &mut super::super::Macros<'_>, what: &str, call: &Call<'_>) -> Option<String> {
    let times = if call.args.is_empty() { Some(1) } else { call.arg(0).parse().ok() };
    let times = times.filter(|times| *times <= MAX_REPEAT);
    if times.is_none() {
        m.problem("a blank or line break was not repeated so often");
    }
    Some(what.repeat(times?))
}
