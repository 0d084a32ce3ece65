//! Macros for the time at which the prompt was built.

use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};

use super::super::{MacroContext, date_format, duration};
use super::{MacroCall, MacroDefinition};

/// The rows of the table.
pub const ROWS: &[MacroDefinition] = &[
    MacroDefinition::with_args(&["time"], 0..=1, |m, call| Some(time(m.facts, call.arg(0)))),
    MacroDefinition::plain(&["time_utc"], |m, call| Some(time(m.facts, offset_in_name(&call)))),
    MacroDefinition::plain(&["date"], |m, _| Some(format_time(m.facts, "LL"))),
    MacroDefinition::plain(&["weekday"], |m, _| Some(format_time(m.facts, "dddd"))),
    MacroDefinition::plain(&["isotime"], |m, _| Some(format_time(m.facts, "HH:mm"))),
    MacroDefinition::plain(&["isodate"], |m, _| Some(format_time(m.facts, "YYYY-MM-DD"))),
    MacroDefinition::with_args(&["datetimeformat"], 1..=1, |m, call| Some(format_time(m.facts, call.arg(0)))),
    MacroDefinition::with_args(&["timeDiff"], 2..=2, |m, call| {
        Some(duration::between(call.arg(0), call.arg(1), &m.facts.time.zone))
    }),
    MacroDefinition::plain(&["idleDuration", "idle_duration"], |m, _| {
        let spoke = m.facts.history.user_spoke;
        Some(spoke.map_or("just now".to_owned(), |spoke| duration::humanize(m.facts.time.ms.saturating_sub(spoke))))
    }),
];

fn format_time(facts: &MacroContext, pattern: &str) -> String {
    time_in_zone(facts, facts.time.zone.clone()).map(|at| date_format::format(&at, pattern)).unwrap_or_default()
}

fn time_in_zone(facts: &MacroContext, zone: TimeZone) -> Option<Zoned> {
    Some(Timestamp::from_millisecond(facts.time.ms).ok()?.to_zoned(zone))
}

/// Formats the time of day, in another zone if a UTC offset is given.
fn time(facts: &MacroContext, elsewhere: &str) -> String {
    let zone = offset(elsewhere).map_or_else(|| facts.time.zone.clone(), TimeZone::fixed);
    time_in_zone(facts, zone).map(|at| date_format::format(&at, "LT")).unwrap_or_default()
}

/// Parses `UTC+2`: numbers below sixteen are hours, larger ones minutes.
fn offset(text: &str) -> Option<Offset> {
    let upper = text.to_ascii_uppercase();
    let number = upper.strip_prefix("UTC")?;
    let digits = number.strip_prefix(['+', '-'])?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
    let number: i32 = number.parse().ok()?;
    let minutes = if number.unsigned_abs() < 16 { number * 60 } else { number };
    Offset::from_seconds(minutes.checked_mul(60)?).ok()
}

/// Returns the offset in the name of the legacy macro: `{{time_UTC+2}}`.
fn offset_in_name<'t>(call: &MacroCall<'t>) -> &'t str {
    let name =
        call.text.as_str().get(call.at..).unwrap_or_default().trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    let rest = name.get("time_".len()..).unwrap_or_default();
    rest.get(..rest.find(|c: char| c == '}' || c.is_whitespace()).unwrap_or(rest.len())).unwrap_or_default()
}
