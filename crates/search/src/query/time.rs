//! Dates and times as people write them, as time spans.

use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;
use jiff::{Timestamp, ToSpan};

use clotho_core::clock::Time;

/// The time and time zone of the user: defines "today".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalNow {
    pub now: Time,
    /// The offset from UTC, in minutes.
    pub utc_offset_minutes: i32,
}

/// A time span in milliseconds; `None` means unbounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TimeSpan {
    /// The start, inclusive.
    pub from: Option<i64>,
    /// The end, exclusive.
    pub until: Option<i64>,
}

/// The period that a text names, in milliseconds; `end` is exclusive.
#[derive(Debug, Clone, Copy)]
struct DatePeriod {
    first: i64,
    end: i64,
}

/// Returns the time before the named period.
pub(super) fn before(text: &str, today: LocalNow) -> Option<TimeSpan> {
    Some(TimeSpan { from: None, until: Some(today.period(text)?.first) })
}

/// Returns the time from the start of the named period on.
pub(super) fn after(text: &str, today: LocalNow) -> Option<TimeSpan> {
    Some(TimeSpan { from: Some(today.period(text)?.first), until: None })
}

/// Returns the named period: a day, a month, `A..B`, `<A`, `>=A`. For `3d` and the like, the time since then.
pub(super) fn within(text: &str, today: LocalNow) -> Option<TimeSpan> {
    let span = |from: Option<i64>, until: Option<i64>| Some(TimeSpan { from, until });
    if let Some((from, until)) = text.split_once("..") {
        let open = |text: &str| if text.is_empty() { Some(None) } else { today.period(text).map(Some) };
        let (from, until) = (open(from)?, open(until)?);
        return if text == ".." { None } else { span(from.map(|from| from.first), until.map(|until| until.end)) };
    }
    if let Some(rest) = text.strip_prefix(">=") {
        span(Some(today.period(rest)?.first), None)
    } else if let Some(rest) = text.strip_prefix("<=") {
        span(None, Some(today.period(rest)?.end))
    } else if let Some(rest) = text.strip_prefix('>') {
        span(Some(today.period(rest)?.end), None)
    } else if let Some(rest) = text.strip_prefix('<') {
        span(None, Some(today.period(rest)?.first))
    } else if let Some(from) = today.parse_ago(text) {
        span(Some(from), None)
    } else {
        let period = today.period(text)?;
        span(Some(period.first), Some(period.end))
    }
}

impl LocalNow {
    fn period(self, text: &str) -> Option<DatePeriod> {
        if let Some(moment) = self.parse_ago(text).or_else(|| self.parse_moment(text)) {
            return Some(DatePeriod { first: moment, end: moment.saturating_add(1) });
        }
        let (first, length) = match text.to_lowercase().as_str() {
            "today" => (self.date()?, 1.day()),
            "yesterday" => (self.date()?.yesterday().ok()?, 1.day()),
            day => parse_date(day)?,
        };
        Some(DatePeriod { first: self.start_of_day(first)?, end: self.start_of_day(first.checked_add(length).ok()?)? })
    }

    fn offset(self) -> Option<Offset> {
        Offset::from_seconds(self.utc_offset_minutes.checked_mul(60)?).ok()
    }

    fn date(self) -> Option<Date> {
        Some(self.offset()?.to_datetime(Timestamp::from_millisecond(self.now.0).ok()?).date())
    }

    fn start_of_day(self, day: Date) -> Option<i64> {
        let midnight = day.to_datetime(jiff::civil::Time::midnight());
        Some(self.offset()?.to_timestamp(midnight).ok()?.as_millisecond())
    }

    /// Parses a date with a time. Without a zone it is local.
    fn parse_moment(self, text: &str) -> Option<i64> {
        if !text.contains(['T', 't', ':']) {
            return None;
        }
        if let Ok(stamp) = text.parse::<Timestamp>() {
            return Some(stamp.as_millisecond());
        }
        let civil: DateTime = text.parse().ok()?;
        Some(self.offset()?.to_timestamp(civil).ok()?.as_millisecond())
    }

    /// Parses `90m`, `12h`, `3d` or `2w` as a time before now.
    fn parse_ago(self, text: &str) -> Option<i64> {
        let (count, minutes) = match text.char_indices().next_back()? {
            (at, 'm') => (text.get(..at)?, 1),
            (at, 'h') => (text.get(..at)?, 60),
            (at, 'd') => (text.get(..at)?, 60 * 24),
            (at, 'w') => (text.get(..at)?, 60 * 24 * 7),
            _ => return None,
        };
        if count.is_empty() || !count.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let count: i64 = count.parse().unwrap_or(i64::MAX);
        Some(self.now.0.saturating_sub(count.saturating_mul(minutes * 60_000)))
    }
}

/// Parses `2026`, `2026-11` or `2026-11-21` into the first day and the length.
fn parse_date(text: &str) -> Option<(Date, jiff::Span)> {
    let mut parts = text.split('-');
    let year = parts.next().filter(|part| part.len() == 4)?;
    let (month, day) = (parts.next(), parts.next());
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let is_short = |part: Option<&str>| part.is_none_or(|part| (1..=2).contains(&part.len()) && is_digits(part));
    if parts.next().is_some() || !is_digits(year) || !is_short(month) || !is_short(day) {
        return None;
    }
    let number = |part: Option<&str>| part.map_or(Some(1), |part| part.parse().ok());
    let first = Date::new(year.parse().ok()?, number(month)?, number(day)?).ok()?;
    let length = match (month, day) {
        (None, _) => 1.year(),
        (_, None) => 1.month(),
        _ => 1.day(),
    };
    Some((first, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local_now() -> LocalNow {
        // 2026-11-22, a quarter past one in the morning, two hours ahead of UTC.
        LocalNow {
            now: Time("2026-11-21T23:15:00Z".parse::<Timestamp>().unwrap().as_millisecond()),
            utc_offset_minutes: 120,
        }
    }

    fn format_moment(moment: Option<i64>) -> String {
        moment.map_or_else(String::new, |moment| Timestamp::from_millisecond(moment).unwrap().to_string())
    }

    #[test]
    fn query_time_day_uses_local_offset() {
        let check = |text: &str, from: &str, until: &str| {
            let span = within(text, local_now()).unwrap();
            assert_eq!(
                (format_moment(span.from).as_str(), format_moment(span.until).as_str()),
                (from, until),
                "{text}"
            );
        };
        check("today", "2026-11-21T22:00:00Z", "2026-11-22T22:00:00Z");
        check("Yesterday", "2026-11-20T22:00:00Z", "2026-11-21T22:00:00Z");
        check("2026-11-01", "2026-10-31T22:00:00Z", "2026-11-01T22:00:00Z");
        check("2026-12", "2026-11-30T22:00:00Z", "2026-12-31T22:00:00Z");
        check("2024", "2023-12-31T22:00:00Z", "2024-12-31T22:00:00Z");
        check("2026-11-01..2026-11-03", "2026-10-31T22:00:00Z", "2026-11-03T22:00:00Z");
        check("..2026-11-01", "", "2026-11-01T22:00:00Z");
        check(">=2026-11-01", "2026-10-31T22:00:00Z", "");
        check(">2026-11-01", "2026-11-01T22:00:00Z", "");
        check("<2026-11-01", "", "2026-10-31T22:00:00Z");
        check("<=2026-11-01", "", "2026-11-01T22:00:00Z");
        check("3d", "2026-11-18T23:15:00Z", "");
        check("2026-11-01T10:00", "2026-11-01T08:00:00Z", "2026-11-01T08:00:00.001Z");
        check("2026-11-01T10:00:00Z", "2026-11-01T10:00:00Z", "2026-11-01T10:00:00.001Z");
    }

    #[test]
    fn query_time_before_and_after_use_period_start() {
        assert_eq!(format_moment(before("2026-11-01", local_now()).unwrap().until), "2026-10-31T22:00:00Z");
        assert_eq!(format_moment(after("2026-11-01", local_now()).unwrap().from), "2026-10-31T22:00:00Z");
        assert_eq!(format_moment(after("90m", local_now()).unwrap().from), "2026-11-21T21:45:00Z");
    }

    #[test]
    fn query_time_malformed_text_returns_none() {
        for text in [
            "",
            "..",
            "soon",
            "2026-13",
            "2026-02-30",
            "26-01-01",
            "2026-1-1-1",
            "12",
            "d",
            "-3d",
            "灯",
            "2026-11-01Tx",
        ] {
            assert_eq!(within(text, local_now()), None, "{text}");
        }
        let far = within("99999999999999999999w", local_now()).unwrap();
        assert!(far.from.is_some_and(|from| from < -1_000_000_000_000_000));
        assert!(within("9999", local_now()).is_none_or(|span| span.from.is_some()));
    }
}
