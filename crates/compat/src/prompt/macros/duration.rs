//! Durations in words: `5 years ago`, `in 3 hours`, `9 minutes`.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};

use super::date_format::MONTHS;

/// Output for an unreadable date.
pub const INVALID_DATE: &str = "Invalid date";

/// Writes a duration in milliseconds as words.
pub fn humanize(ms: i64) -> String {
    let ms = ms.unsigned_abs();
    let rounded = |unit: u64| (ms + unit / 2) / unit;
    let (second, day) = (1_000, 86_400_000);
    let (seconds, minutes) = (rounded(second), rounded(60 * second));
    let (hours, days) = (rounded(3_600 * second), rounded(day));
    // 400 years have 146 097 days and 4 800 months.
    let months = (u128::from(ms) * 4_800 + u128::from(day) * 146_097 / 2) / (u128::from(day) * 146_097);
    let years = (u128::from(ms) * 400 + u128::from(day) * 146_097 / 2) / (u128::from(day) * 146_097);
    match () {
        () if seconds < 45 => "a few seconds".to_owned(),
        () if minutes <= 1 => "a minute".to_owned(),
        () if minutes < 45 => format!("{minutes} minutes"),
        () if hours <= 1 => "an hour".to_owned(),
        () if hours < 22 => format!("{hours} hours"),
        () if days <= 1 => "a day".to_owned(),
        () if days < 26 => format!("{days} days"),
        () if months <= 1 => "a month".to_owned(),
        () if months < 11 => format!("{months} months"),
        () if years <= 1 => "a year".to_owned(),
        () => format!("{years} years"),
    }
}

/// Writes the first time relative to the second.
pub fn between(left: &str, right: &str, zone: &TimeZone) -> String {
    let (Some(left), Some(right)) = (parse_time(left, zone), parse_time(right, zone)) else {
        return INVALID_DATE.to_owned();
    };
    let ms = left.saturating_sub(right);
    if ms > 0 { format!("in {}", humanize(ms)) } else { format!("{} ago", humanize(ms)) }
}

/// Parses a written time to milliseconds since 1970.
///
/// Accepts common forms of ISO 8601, `March 14, 2025`, `14 March 2025` and `3/14/2025`, each with an optional time.
pub fn parse_time(text: &str, zone: &TimeZone) -> Option<i64> {
    let text = text.trim();
    if text.len() > 100 {
        return None;
    }
    if let Ok(stamp) = text.parse::<Timestamp>() {
        return Some(stamp.as_millisecond());
    }
    let (date, rest) = iso(text).or_else(|| parse_month_name(text)).or_else(|| parse_american(text))?;
    let (time, offset) = clock(rest)?;
    let civil = DateTime::from_parts(date, time);
    let stamp = match offset {
        Some(offset) => offset.to_timestamp(civil).ok()?,
        None => zone.to_timestamp(civil).ok()?,
    };
    Some(stamp.as_millisecond())
}

/// Parses `2025-03-14`, `20250314`, `2025-03`, `2025`.
fn iso(text: &str) -> Option<(Date, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
    let (date, rest) = text.split_at(end);
    let parts: Vec<&str> = date.split('-').collect();
    let (year, month, day) = match parts.as_slice() {
        [year, month, day] if year.len() == 4 && month.len() == 2 && day.len() == 2 => (*year, *month, *day),
        [year, month] if year.len() == 4 && month.len() == 2 => (*year, *month, "1"),
        [whole] if whole.len() == 8 => (whole.get(..4)?, whole.get(4..6)?, whole.get(6..)?),
        [year] if year.len() == 4 => (*year, "1", "1"),
        _ => return None,
    };
    let date = Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?).ok()?;
    Some((date, rest.strip_prefix('T').unwrap_or(rest)))
}

/// Parses `March 14, 2025`, `14 Mar 2025`, `Friday, March 14, 2025`.
fn parse_month_name(text: &str) -> Option<(Date, &str)> {
    let (mut month, mut numbers, mut rest) = (None, Vec::new(), text);
    while numbers.len() < 2 || month.is_none() {
        rest = rest.trim_start_matches([' ', ',']);
        let end = rest.find([' ', ',']).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        if word.is_empty() {
            return None;
        }
        if let Some(found) = month_of(word) {
            month = Some(found);
        } else if word.starts_with(|c: char| c.is_ascii_digit()) {
            numbers.push(word.trim_end_matches(char::is_alphabetic).parse::<i16>().ok()?);
        }
        rest = behind;
    }
    let (day, year) = (*numbers.first()?, *numbers.get(1)?);
    Some((Date::new(year, month?, i8::try_from(day).ok()?).ok()?, rest.trim_start_matches(',')))
}

fn month_of(word: &str) -> Option<i8> {
    let word = word.trim_end_matches('.').to_ascii_lowercase();
    let fits = |name: &str| word.len() >= 3 && name.to_ascii_lowercase().starts_with(&word);
    i8::try_from(MONTHS.into_iter().position(fits)? + 1).ok()
}

/// Parses `3/14/2025`.
fn parse_american(text: &str) -> Option<(Date, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '/').unwrap_or(text.len());
    let (date, rest) = text.split_at(end);
    let mut parts = date.split('/');
    let (month, day, year) = (parts.next()?, parts.next()?, parts.next()?);
    Some((Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?).ok()?, rest))
}

/// Parses a time of day with an optional UTC offset; an empty text is midnight.
fn clock(text: &str) -> Option<(Time, Option<Offset>)> {
    let text = text.trim_start_matches([' ', ',']).trim();
    if text.is_empty() {
        return Some((Time::midnight(), None));
    }
    let (text, offset) = zone_of(text)?;
    // `am` or `pm`, then fractions of a second.
    let lower = text.trim().to_ascii_lowercase();
    let (digits, half) = match lower.strip_suffix("am").or_else(|| lower.strip_suffix("pm")) {
        Some(digits) => (digits.trim_end(), Some(lower.ends_with("pm"))),
        None => (lower.as_str(), None),
    };
    let (digits, nanos) = match digits.split_once(['.', ',']) {
        Some((digits, fraction)) => (digits, nanos(fraction)?),
        None => (digits, 0),
    };
    let parts: Vec<i8> = digits.split(':').map(|part| part.trim().parse().ok()).collect::<Option<_>>()?;
    let hour = *parts.first()?;
    let hour = match half {
        Some(is_afternoon) if (1..=12).contains(&hour) => hour % 12 + if is_afternoon { 12 } else { 0 },
        Some(_) => return None,
        None => hour,
    };
    if parts.len() > 3 || (parts.len() == 1 && half.is_none()) {
        return None;
    }
    let at = |place: usize| parts.get(place).copied().unwrap_or(0);
    Some((Time::new(hour, at(1), at(2), nanos).ok()?, offset))
}

fn nanos(fraction: &str) -> Option<i32> {
    let digits: String = fraction.chars().take(9).collect();
    digits.chars().all(|c| c.is_ascii_digit()).then(|| format!("{digits:0<9}").parse().ok()).flatten()
}

/// Splits off `Z`, `UTC` or an offset such as `+02:00`.
fn zone_of(text: &str) -> Option<(&str, Option<Offset>)> {
    if let Some(before) = ["Z", "z", "UTC", "GMT"].into_iter().find_map(|mark| text.strip_suffix(mark)) {
        return Some((before, Some(Offset::UTC)));
    }
    let Some(at) = text.rfind(['+', '-']).filter(|at| *at > 0) else { return Some((text, None)) };
    let (before, offset) = text.split_at(at);
    let digits: String = offset.chars().filter(char::is_ascii_digit).collect();
    let number: i32 = digits.parse().ok()?;
    let minutes = if digits.len() <= 2 { number * 60 } else { number / 100 * 60 + number % 100 };
    let seconds = minutes * if offset.starts_with('-') { -60 } else { 60 };
    Some((before, Some(Offset::from_seconds(seconds).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_humanize_matches_moment_js() {
        for (seconds, expected) in [
            (0, "a few seconds"),
            (44, "a few seconds"),
            (45, "a minute"),
            (89, "a minute"),
            (90, "2 minutes"),
            (44 * 60 + 29, "44 minutes"),
            (45 * 60, "an hour"),
            (89 * 60, "an hour"),
            (90 * 60, "2 hours"),
            (21 * 3_600, "21 hours"),
            (22 * 3_600, "a day"),
            (36 * 3_600, "2 days"),
            (25 * 86_400, "25 days"),
            (26 * 86_400, "a month"),
            (45 * 86_400, "a month"),
            (46 * 86_400, "2 months"),
            (319 * 86_400, "10 months"),
            (320 * 86_400, "a year"),
            (547 * 86_400, "a year"),
            (548 * 86_400, "2 years"),
        ] {
            assert_eq!(humanize(seconds * 1_000), expected, "{seconds} s");
        }
        assert!(humanize(i64::MIN).ends_with("years") && humanize(i64::MAX).ends_with("years"));
    }

    #[test]
    fn duration_written_dates_are_parsed() {
        let noon = 1_741_953_600_000;
        for text in [
            "2025-03-14 12:00",
            "2025-03-14T12:00:00Z",
            "2025-03-14T14:00:00+02:00",
            "2025-03-14T06:30:00.000-0530",
            "March 14, 2025 12:00 PM",
            "Friday, March 14, 2025 12:00 PM",
            "14 Mar 2025 12:00:00 GMT",
            "3/14/2025 12:00",
            "20250314T12:00",
        ] {
            assert_eq!(parse_time(text, &TimeZone::UTC), Some(noon), "{text}");
        }
        assert_eq!(parse_time("2025-03-14", &TimeZone::UTC), Some(noon - 43_200_000));
        let east = TimeZone::fixed(Offset::from_hours(2).unwrap());
        assert_eq!(parse_time("2025-03-14 14:00", &east), Some(noon));
        for text in ["", "tomorrow", "2025-13-01", "2025-03-14 25:00", "3:09 PM", "March", "99999-01-01", "1 2 3", "-"]
        {
            assert_eq!(parse_time(text, &TimeZone::UTC), None, "{text}");
        }
    }

    #[test]
    fn duration_between_is_relative_to_second() {
        let check = |left, right, expected| assert_eq!(between(left, right, &TimeZone::UTC), expected);
        check("2025-01-01 15:00:00", "2025-01-01 12:00:00", "in 3 hours");
        check("2020-01-01", "2025-06-01", "5 years ago");
        check("2020-01-01", "2020-01-01", "a few seconds ago");
        check("?", "2020-01-01", INVALID_DATE);
    }
}
