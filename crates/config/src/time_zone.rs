//! Names of time zones, in settings and requests.

use jiff::tz::{Offset, TimeZone};

/// Longest name of a time zone.
const MAX_NAME_BYTES: usize = 64;
/// Largest distance from UTC, in minutes.
const MAX_OFFSET_MINUTES: i32 = 18 * 60;

/// Returns a time zone by its IANA name (`Europe/Berlin`) or its distance from UTC (`+02:00`, `-0330`, `UTC+2`).
///
/// Case does not count, nor do blanks around the parts. `None` if it is neither, or if this machine does not know the
/// name.
pub fn parse_time_zone(name: &str) -> Option<TimeZone> {
    let name = name.trim();
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return None;
    }
    // People and programs also write the minus sign of typography.
    let offset: String = name.chars().filter(|c| *c != ' ').map(|c| if c == '\u{2212}' { '-' } else { c }).collect();
    if ["utc", "gmt", "z"].iter().any(|utc| offset.eq_ignore_ascii_case(utc)) {
        return Some(TimeZone::UTC);
    }
    let is_prefix = |start: &str| start.eq_ignore_ascii_case("utc") || start.eq_ignore_ascii_case("gmt");
    let offset = offset.split_at_checked(3).filter(|(start, _)| is_prefix(start)).map_or(&*offset, |(_, rest)| rest);
    if let Some(minutes) = parse_offset_minutes(offset) {
        return Offset::from_seconds(minutes * 60).ok().map(TimeZone::fixed);
    }
    // The name becomes a path below the folder of the time zones.
    let name = name.replace(' ', "_");
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "/_+-".contains(c));
    if is_name { TimeZone::get(&name).ok() } else { None }
}

/// Returns the minutes of an offset: a sign, hours of one or two digits, and two digits of minutes, if any, with or
/// without a colon.
fn parse_offset_minutes(text: &str) -> Option<i32> {
    let (sign, rest) = match (text.strip_prefix('+'), text.strip_prefix('-')) {
        (Some(rest), _) => (1, rest),
        (_, Some(rest)) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = match rest.split_once(':') {
        Some((hours, minutes)) if minutes.len() == 2 => (hours, minutes),
        Some(_) => return None,
        None if rest.len() > 2 => rest.split_at_checked(rest.len() - 2)?,
        None => (rest, "0"),
    };
    let number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<i32>().ok()).flatten();
    let (hours, minutes) = (number(hours).filter(|_| hours.len() <= 2)?, number(minutes)?);
    let all = hours * 60 + minutes;
    (minutes < 60 && all <= MAX_OFFSET_MINUTES).then_some(sign * all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many minutes a zone is ahead of UTC in January 2026.
    fn ahead(name: &str) -> Option<i32> {
        let zone = parse_time_zone(name)?;
        Some(zone.to_offset(jiff::Timestamp::from_second(1_767_614_400).unwrap()).seconds() / 60)
    }

    #[test]
    fn time_zone_offset_in_any_form_is_read() {
        for (name, expected) in [
            ("UTC", 0),
            ("Z", 0),
            ("+02:00", 120),
            ("-03:30", -210),
            ("+0545", 345),
            ("UTC+2", 120),
            ("GMT-11", -660),
            ("+14:00", 840),
            ("utc", 0),
            ("Gmt", 0),
            ("utc+3", 180),
            ("UTC+03:00", 180),
            ("GMT-5", -300),
            ("+0530", 330),
            ("+530", 330),
            ("gmt +5:30", 330),
            (" UTC - 9 ", -540),
            ("UTC\u{2212}3", -180),
        ] {
            assert_eq!(ahead(name), Some(expected), "{name}");
        }
        for name in [
            "",
            " ",
            "+",
            "+2:3",
            "+19:00",
            "+02:60",
            "+02:00:00",
            "two",
            "../etc/passwd",
            "/etc/passwd",
            "+-2",
            "Mars/X",
            "UTC+",
            "utc3",
            "+00530",
            "U",
            "é+2",
        ] {
            assert_eq!(ahead(name), None, "{name}");
        }
        assert_eq!(ahead(&"A".repeat(1_000)), None);
    }

    /// Machines without a database of time zones know no names.
    #[test]
    fn time_zone_name_known_here_is_read() {
        if std::path::Path::new("/usr/share/zoneinfo/Asia/Tokyo").exists() {
            assert_eq!((ahead("Asia/Tokyo"), ahead("America/New_York")), (Some(540), Some(-300)));
            for (name, expected) in [("asia/tokyo", 540), ("AMERICA/NEW_YORK", -300), ("america/new york", -300)] {
                assert_eq!(ahead(name), Some(expected), "{name}");
            }
        }
    }
}
