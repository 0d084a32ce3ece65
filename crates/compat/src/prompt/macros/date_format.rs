//! Formats times with Moment.js patterns in English, as SillyTavern's cards use them: `D.M.YYYY HH:mm`, `[day] DDD`,
//! `LL`.

use jiff::Zoned;
use jiff::civil::Weekday;

/// Longest pattern in bytes; the rest is cut.
const MAX_PATTERN: usize = 10_000;

/// Expansions of the localized patterns.
const LOCALE_PATTERNS: [(&str, &str); 10] = [
    ("LTS", "h:mm:ss A"),
    ("LT", "h:mm A"),
    ("LLLL", "dddd, MMMM D, YYYY h:mm A"),
    ("LLL", "MMMM D, YYYY h:mm A"),
    ("LL", "MMMM D, YYYY"),
    ("L", "MM/DD/YYYY"),
    ("llll", "ddd, MMM D, YYYY h:mm A"),
    ("lll", "MMM D, YYYY h:mm A"),
    ("ll", "MMM D, YYYY"),
    ("l", "M/D/YYYY"),
];

/// The tokens of a pattern; of those with a common prefix the longer one comes first.
const TOKENS: [&str; 59] = [
    "Hmmss", "hmmss", "Hmm", "hmm", "MMMM", "MMM", "MM", "Mo", "M", "Do", "DDDD", "DDDo", "DDD", "DD", "D", "dddd",
    "ddd", "dd", "do", "d", "ww", "wo", "w", "WW", "Wo", "W", "Qo", "Q", "YYYYYY", "YYYYY", "YYYY", "YY", "yyyy",
    "yyy", "yy", "y", "gggg", "gg", "GGGG", "GG", "e", "E", "a", "A", "hh", "h", "HH", "H", "kk", "k", "mm", "m", "ss",
    "s", "x", "X", "ZZ", "Z", "N",
];

/// Formats a time; an empty pattern means ISO 8601.
pub fn format(at: &Zoned, pattern: &str) -> String {
    let pattern = if pattern.trim().is_empty() { "YYYY-MM-DDTHH:mm:ssZ" } else { pattern };
    let mut out = String::new();
    expand_pattern(
        at,
        pattern.get(..pattern.floor_char_boundary(MAX_PATTERN)).unwrap_or_default(),
        write_token,
        &mut out,
    );
    out
}

/// Writes the token at the start of a pattern and returns its length.
type DateTokenWriter = fn(&Zoned, &str, &mut String) -> Option<usize>;

/// Expands a pattern. Text in `[…]` or after a backslash is literal.
fn expand_pattern(at: &Zoned, pattern: &str, write: DateTokenWriter, out: &mut String) {
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let taken = write_quoted(rest, out).or_else(|| write(at, rest, out)).unwrap_or_else(|| {
            out.push(first);
            first.len_utf8()
        });
        rest = rest.get(taken..).unwrap_or_default();
    }
}

fn write_token(at: &Zoned, rest: &str, out: &mut String) -> Option<usize> {
    let Some((name, long)) = LOCALE_PATTERNS.into_iter().find(|(name, _)| rest.starts_with(name)) else {
        return write_word(at, rest, out);
    };
    expand_pattern(at, long, write_word, out);
    Some(name.len())
}

fn write_quoted(rest: &str, out: &mut String) -> Option<usize> {
    if let Some(inner) = rest.strip_prefix('[') {
        let end = inner.find(']')?;
        let text = inner.get(..end).filter(|text| !text.contains('['))?;
        out.push_str(text);
        return Some(end + 2);
    }
    let escaped = rest.strip_prefix('\\')?;
    let length = TOKENS.into_iter().find(|word| escaped.starts_with(word)).map_or(0, str::len);
    out.push_str(escaped.get(..length)?);
    Some(length + 1)
}

fn write_word(at: &Zoned, rest: &str, out: &mut String) -> Option<usize> {
    if rest.starts_with('S') {
        return Some(fraction(at, rest, out));
    }
    let word = TOKENS.into_iter().find(|word| rest.starts_with(word))?;
    let text = day(at, word).or_else(|| year_or_week(at, word)).or_else(|| time(at, word))?;
    out.push_str(&text);
    Some(word.len())
}

/// Writes `S` to `SSSSSSSSS`: as many digits of the fraction of a second.
fn fraction(at: &Zoned, rest: &str, out: &mut String) -> usize {
    let length = rest.bytes().take(9).take_while(|byte| *byte == b'S').count();
    let nanos = format!("{:09}", at.subsec_nanosecond());
    out.push_str(nanos.get(..length).unwrap_or_default());
    length
}

fn day(at: &Zoned, word: &str) -> Option<String> {
    let (month, day, of_year) = (i64::from(at.month()), i64::from(at.day()), i64::from(at.day_of_year()));
    let weekday = at.weekday();
    let from_sunday = i64::from(weekday.to_sunday_zero_offset());
    let quarter = (month + 2) / 3;
    Some(match word {
        "M" => month.to_string(),
        "MM" => two_digits(month),
        "Mo" => ordinal(month),
        "MMM" => abbreviate(month_name(at), 3),
        "MMMM" => month_name(at).to_owned(),
        "Q" => quarter.to_string(),
        "Qo" => ordinal(quarter),
        "D" => day.to_string(),
        "DD" => two_digits(day),
        "Do" => ordinal(day),
        "DDD" => of_year.to_string(),
        "DDDD" => format!("{of_year:03}"),
        "DDDo" => ordinal(of_year),
        "d" | "e" => from_sunday.to_string(),
        "do" => ordinal(from_sunday),
        "dd" => abbreviate(weekday_name(weekday), 2),
        "ddd" => abbreviate(weekday_name(weekday), 3),
        "dddd" => weekday_name(weekday).to_owned(),
        "E" => weekday.to_monday_one_offset().to_string(),
        _ => return None,
    })
}

fn year_or_week(at: &Zoned, word: &str) -> Option<String> {
    let year = i64::from(at.year());
    let iso = at.date().iso_week_date();
    let (week_year, week) = week(at);
    Some(match word {
        "YY" => two_digits(year.rem_euclid(100)),
        "YYYY" => format!("{year:04}"),
        "YYYYY" => format!("{year:05}"),
        "YYYYYY" => format!("{}{:06}", if year < 0 { '-' } else { '+' }, year.abs()),
        "y" | "yy" | "yyy" | "yyyy" => {
            let width = word.len();
            format!("{:0width$}", if year > 0 { year } else { 1 - year })
        }
        "N" => if year > 0 { "AD" } else { "BC" }.to_owned(),
        "w" => week.to_string(),
        "ww" => two_digits(week),
        "wo" => ordinal(week),
        "W" => iso.week().to_string(),
        "WW" => two_digits(i64::from(iso.week())),
        "Wo" => ordinal(i64::from(iso.week())),
        "gg" => two_digits(week_year.rem_euclid(100)),
        "gggg" => format!("{week_year:04}"),
        "GG" => two_digits(i64::from(iso.year()).rem_euclid(100)),
        "GGGG" => format!("{:04}", iso.year()),
        _ => return None,
    })
}

fn time(at: &Zoned, word: &str) -> Option<String> {
    let (hour, minute, second) = (i64::from(at.hour()), i64::from(at.minute()), i64::from(at.second()));
    let of_twelve = if hour % 12 == 0 { 12 } else { hour % 12 };
    let of_day = if hour == 0 { 24 } else { hour };
    Some(match word {
        "H" => hour.to_string(),
        "HH" => two_digits(hour),
        "h" => of_twelve.to_string(),
        "hh" => two_digits(of_twelve),
        "k" => of_day.to_string(),
        "kk" => two_digits(of_day),
        "m" => minute.to_string(),
        "mm" => two_digits(minute),
        "s" => second.to_string(),
        "ss" => two_digits(second),
        "hmm" => format!("{of_twelve}{minute:02}"),
        "hmmss" => format!("{of_twelve}{minute:02}{second:02}"),
        "Hmm" => format!("{hour}{minute:02}"),
        "Hmmss" => format!("{hour}{minute:02}{second:02}"),
        "a" => if hour < 12 { "am" } else { "pm" }.to_owned(),
        "A" => if hour < 12 { "AM" } else { "PM" }.to_owned(),
        "X" => at.timestamp().as_second().to_string(),
        "x" => at.timestamp().as_millisecond().to_string(),
        "Z" => offset(at, ":"),
        "ZZ" => offset(at, ""),
        _ => return None,
    })
}

/// Returns year and week in the US count: weeks begin on Sunday, and week 1 contains 1 January.
fn week(at: &Zoned) -> (i64, i64) {
    let year = i64::from(at.year());
    let from_sunday = i64::from(at.weekday().to_sunday_zero_offset());
    let of_year = i64::from(at.day_of_year());
    let first = (from_sunday - (of_year - 1)).rem_euclid(7);
    let days = if at.in_leap_year() { 366 } else { 365 };
    let last_week_begins = of_year - from_sunday;
    if last_week_begins + 6 > days {
        return (year + 1, 1);
    }
    (year, (of_year - 1 + first) / 7 + 1)
}

fn offset(at: &Zoned, between: &str) -> String {
    let minutes = at.offset().seconds() / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    format!("{sign}{:02}{between}{:02}", minutes.abs() / 60, minutes.abs() % 60)
}

fn two_digits(number: i64) -> String {
    format!("{number:02}")
}

fn ordinal(number: i64) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

fn abbreviate(name: &str, letters: usize) -> String {
    name.chars().take(letters).collect()
}

/// Month names from January on.
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

fn month_name(at: &Zoned) -> &'static str {
    usize::try_from(at.month() - 1).ok().and_then(|month| MONTHS.get(month)).copied().unwrap_or_default()
}

const fn weekday_name(day: Weekday) -> &'static str {
    match day {
        Weekday::Sunday => "Sunday",
        Weekday::Monday => "Monday",
        Weekday::Tuesday => "Tuesday",
        Weekday::Wednesday => "Wednesday",
        Weekday::Thursday => "Thursday",
        Weekday::Friday => "Friday",
        Weekday::Saturday => "Saturday",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use jiff::tz::{Offset, TimeZone};

    fn check(moment: &str, minutes: i32, pattern: &str, expected: &str) {
        let zone = TimeZone::fixed(Offset::from_seconds(minutes * 60).unwrap());
        let at = moment.parse::<Timestamp>().unwrap().to_zoned(zone);
        assert_eq!(format(&at, pattern), expected, "{moment} {pattern}");
    }

    #[test]
    fn date_format_moment_js_patterns_are_written() {
        let pi = "2025-03-14T15:09:26.5354Z";
        for (pattern, expected) in [
            ("DD.MM.YYYY HH:mm", "14.03.2025 15:09"),
            ("[day] DDD", "day 73"),
            ("dddd, MMMM Do YYYY, h:mm:ss a", "Friday, March 14th 2025, 3:09:26 pm"),
            ("LT|LTS|L|LL|LLL", "3:09 PM|3:09:26 PM|03/14/2025|March 14, 2025|March 14, 2025 3:09 PM"),
            ("LLLL|l|ll", "Friday, March 14, 2025 3:09 PM|3/14/2025|Mar 14, 2025"),
            ("", "2025-03-14T15:09:26+00:00"),
            ("YY Q Qo w ww W e E d dd ddd", "25 1 1st 11 11 11 5 5 5 Fr Fri"),
            ("SSS SS S X x ZZ N", "535 53 5 1741964966 1741964966535 +0000 AD"),
            ("Hmm hmmss k kk DDDD gggg GGGG", "1509 30926 15 15 073 2025 2025"),
            ("YYYYYY \\M [M]M 灯", "+002025 M M3 灯"),
        ] {
            check(pi, 0, pattern, expected);
        }
        check("2024-12-30T18:35:00Z", 330, "h A k gg-ww GG-WW Z", "12 AM 24 25-01 25-01 +05:30");
        check("2024-12-28T12:00:00Z", 0, "w gggg", "52 2024");
        check("2023-01-01T12:00:00Z", 0, "w W GGGG", "1 52 2022");
        check("0044-03-15T12:00:00Z", 0, "YYYY y", "0044 44");
    }
}
