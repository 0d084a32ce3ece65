//! Parses timestamps in all formats that SillyTavern has written in eight years. Only the oldest formats have no time
//! zone; the caller passes the zone for these.

use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time as Clock};
use jiff::tz::TimeZone;
use regex::{Captures, Regex};
use serde_json::Value;

/// `June 19, 2023 2:20pm`
static MONTH_NAME_FORMAT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)^([a-z]+) (\d{1,2}), (\d{4}) (\d{1,2}):(\d{2}) ?(am|pm)$").ok());

/// `2023-6-19 @14h 20m 12s 123ms`; spaces and milliseconds are optional.
static AT_FORMAT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(\d{4})-(\d{1,2})-(\d{1,2}) ?@(\d{1,2})h ?(\d{1,2})m ?(\d{1,2})s(?: ?(\d{1,3})ms)?$").ok()
});

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Returns a timestamp in milliseconds since 1970, or `None` if it is missing or in an unknown format.
pub fn read(value: &Value, zone: &TimeZone) -> Option<i64> {
    let milliseconds = match value {
        Value::Number(number) => number.as_i64()?,
        Value::String(text) => parse_text(text.trim(), zone)?,
        _ => return None,
    };
    (milliseconds != 0 && Timestamp::from_millisecond(milliseconds).is_ok()).then_some(milliseconds)
}

fn parse_text(text: &str, zone: &TimeZone) -> Option<i64> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok();
    }
    if let Ok(stamp) = text.parse::<Timestamp>() {
        return Some(stamp.as_millisecond());
    }
    let local = parse_month_name(text).or_else(|| parse_at_format(text)).or_else(|| iso(text))?;
    let zoned = zone.to_ambiguous_zoned(local).compatible().ok()?;
    Some(zoned.timestamp().as_millisecond())
}

/// Parses ISO 8601 without a zone.
fn iso(text: &str) -> Option<DateTime> {
    text.contains('T').then(|| text.parse().ok()).flatten()
}

fn parse_month_name(text: &str) -> Option<DateTime> {
    let found = MONTH_NAME_FORMAT.as_ref()?.captures(text)?;
    let name = found.get(1)?.as_str().to_ascii_lowercase();
    let month = MONTHS.iter().position(|month| name.starts_with(month))?;
    let hour: i8 = number(&found, 4)?;
    let is_evening = found.get(6)?.as_str().eq_ignore_ascii_case("pm");
    let hour = hour.checked_rem(12)? + if is_evening { 12 } else { 0 };
    let date = Date::new(number(&found, 3)?, i8::try_from(month + 1).ok()?, number(&found, 2)?).ok()?;
    Some(date.to_datetime(Clock::new(hour, number(&found, 5)?, 0, 0).ok()?))
}

fn parse_at_format(text: &str) -> Option<DateTime> {
    let found = AT_FORMAT.as_ref()?.captures(text)?;
    let date = Date::new(number(&found, 1)?, number(&found, 2)?, number(&found, 3)?).ok()?;
    let thousandths: i32 = number(&found, 7).unwrap_or(0);
    let clock = Clock::new(number(&found, 4)?, number(&found, 5)?, number(&found, 6)?, thousandths * 1_000_000);
    Some(date.to_datetime(clock.ok()?))
}

fn number<T: std::str::FromStr>(found: &Captures<'_>, group: usize) -> Option<T> {
    found.get(group)?.as_str().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn chat_date_without_zone_uses_given_zone() {
        let east = TimeZone::fixed(jiff::tz::offset(2));
        let check = |value: Value, expected: &str| {
            let found = read(&value, &east).map(|ms| Timestamp::from_millisecond(ms).unwrap());
            assert_eq!(found.map_or_else(String::new, |stamp| format!("{stamp:.3}")), expected, "{value}");
        };
        check(json!("June 19, 2023 2:20pm"), "2023-06-19T12:20:00.000Z");
        check(json!("June 19, 2023 12:20am"), "2023-06-18T22:20:00.000Z");
        check(json!("2023-6-19 @14h 20m 12s 123ms"), "2023-06-19T12:20:12.123Z");
        check(json!("2025-01-01T00:00:00.000Z"), "2025-01-01T00:00:00.000Z");
        check(json!("2025-01-01T02:00:00"), "2025-01-01T00:00:00.000Z");
        for bad in [json!("June 31, 2023 2:20pm"), json!("2023-6-19 @25h 0m 0s"), json!(-1e300), json!(null), json!("")]
        {
            check(bad, "");
        }
        check(json!("99999999999999999999999"), "");
        check(json!("999999999999999999"), "");
    }
}
