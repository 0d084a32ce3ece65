//! How long a server asks to wait, in all the ways in which servers say it.

use jiff::{Timestamp, fmt::rfc2822};
use reqwest::header::{DATE, HeaderMap, HeaderName};
use serde_json::{Map, Value};
use std::time::Duration;

/// What a gateway puts before the headers of the server behind it.
const GATEWAY_PREFIX: &str = "llm_provider-";

/// Headers with a delay in milliseconds.
const MILLISECOND_HEADERS: [&str; 2] = ["retry-after-ms", "x-ms-retry-after-ms"];

/// Headers with a delay or a date.
const DELAY_HEADERS: [&str; 3] = ["retry-after", "x-retry-after", "x-ratelimit-reset-after"];

/// Limits: the header that tells when it is over, and the one that tells what is left of it.
const RESET_HEADERS: [(&str, &str); 7] = [
    ("x-ratelimit-reset-requests", "x-ratelimit-remaining-requests"),
    ("x-ratelimit-reset-tokens", "x-ratelimit-remaining-tokens"),
    ("x-ratelimit-reset", "x-ratelimit-remaining"),
    ("ratelimit-reset", "ratelimit-remaining"),
    ("anthropic-ratelimit-requests-reset", "anthropic-ratelimit-requests-remaining"),
    ("anthropic-ratelimit-input-tokens-reset", "anthropic-ratelimit-input-tokens-remaining"),
    ("anthropic-ratelimit-output-tokens-reset", "anthropic-ratelimit-output-tokens-remaining"),
];

/// Numbers above this are points in time, in seconds since 1970.
const FIRST_EPOCH_SECOND: f64 = 1e9;
/// Numbers above this are points in time, in milliseconds since 1970.
const FIRST_EPOCH_MILLISECOND: f64 = 1e12;

/// Maximum depth at which a delay is searched in an error.
const MAX_DEPTH: usize = 8;

/// Returns the delay that an error response asks for. `is_limit` = its status says that a rate limit was reached.
pub(super) fn of_response(headers: &HeaderMap, error: Option<&Value>, is_limit: bool) -> Option<Duration> {
    let header = |name: &str| header_text(headers, name);
    let now = headers.get(DATE).and_then(|date| date_time(date.to_str().ok()?));
    let milliseconds =
        || MILLISECOND_HEADERS.iter().find_map(|name| seconds(header(name)?.parse::<f64>().ok()? / 1000.0));
    let delay = || DELAY_HEADERS.iter().find_map(|name| delay(&header(name)?, now));
    let told = milliseconds().or_else(delay).or_else(|| of_error(error?, now));
    told.or_else(|| reset(&header, now).filter(|_| is_limit))
}

/// Returns the delay in an error that came inside of a stream.
pub(super) fn of_stream_error(error: &Value) -> Option<Duration> {
    of_error(error, None)
}

fn header_text(headers: &HeaderMap, name: &str) -> Option<String> {
    let text = |name: &str| Some(headers.get(HeaderName::try_from(name).ok()?)?.to_str().ok()?.trim().to_owned());
    text(name).or_else(|| text(&format!("{GATEWAY_PREFIX}{name}")))
}

/// Returns when the last of the used up limits is over. A limit that does not tell what is left of it counts as used
/// up, unless another one is.
fn reset(header: &dyn Fn(&str) -> Option<String>, now: Option<Timestamp>) -> Option<Duration> {
    let limits = RESET_HEADERS.iter().filter_map(|(reset, remaining)| {
        let left = header(remaining).and_then(|left| left.parse::<f64>().ok());
        Some((left, delay(&header(reset)?, now)?))
    });
    let limits: Vec<(Option<f64>, Duration)> = limits.collect();
    let is_used_up = |left: Option<f64>| left.is_some_and(|left| left <= 0.0);
    let used_up = limits.iter().filter(|(left, _)| is_used_up(*left)).map(|(_, delay)| *delay).max();
    used_up.or_else(|| limits.iter().filter(|(left, _)| left.is_none()).map(|(_, delay)| *delay).max())
}

/// Returns the delay in a JSON error: Google's `RetryInfo`, fields of gateways, or the words of its message.
fn of_error(error: &Value, now: Option<Timestamp>) -> Option<Duration> {
    field(error, MAX_DEPTH, now).or_else(|| of_words(&super::error_text::json_error_text(error)))
}

fn field(value: &Value, depth: usize, now: Option<Timestamp>) -> Option<Duration> {
    let depth = depth.checked_sub(1)?;
    match value {
        Value::Array(items) => items.iter().find_map(|item| field(item, depth, now)),
        Value::Object(fields) => {
            own_field(fields, now).or_else(|| fields.values().find_map(|one| field(one, depth, now)))
        }
        _ => None,
    }
}

fn own_field(fields: &Map<String, Value>, now: Option<Timestamp>) -> Option<Duration> {
    fields.iter().find_map(|(name, value)| match name.to_ascii_lowercase().replace(['_', '-'], "").as_str() {
        "retryafterms" => seconds(value.as_f64()? / 1000.0),
        "retrydelay" | "retryafter" | "retryafterseconds" => match value {
            Value::Object(parts) => {
                let part = |name: &str| parts.get(name).map_or(Some(0.0), json_number);
                seconds(part("seconds")? + part("nanos")? / 1e9)
            }
            Value::String(text) => delay(text, now),
            other => seconds(other.as_f64()?),
        },
        "xratelimitreset" => delay(&value.as_str().map_or_else(|| value.to_string(), str::to_owned), now),
        _ => None,
    })
}

fn json_number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Returns the delay in words such as "Please try again in 1m30s".
fn of_words(words: &str) -> Option<Duration> {
    let words = words.to_ascii_lowercase();
    let after = ["try again in ", "retry in ", "retry after ", "wait "];
    let rest = after.iter().find_map(|begin| words.split_once(begin).map(|(_, rest)| rest))?;
    let mut parts = rest.split_whitespace();
    let first = parts.next()?.trim_end_matches(['.', ',', ')', '!']);
    let unit = parts.next().unwrap_or_default().trim_end_matches(['.', ',', ')', '!']);
    match (first.parse::<f64>(), unit) {
        (Ok(number), "ms" | "millisecond" | "milliseconds") => seconds(number / 1000.0),
        (Ok(number), "m" | "min" | "minute" | "minutes") => seconds(number * 60.0),
        (Ok(number), "s" | "sec" | "secs" | "second" | "seconds") => seconds(number),
        (Ok(_), _) => None,
        (Err(_), _) => go_duration(first),
    }
}

/// Parses a delay: seconds, a duration such as `1m30s`, a date, or a point in time since 1970. Points in time are
/// compared with `now`, the time of the response.
fn delay(text: &str, now: Option<Timestamp>) -> Option<Duration> {
    let text = text.trim().trim_matches('"');
    if let Ok(number) = text.parse::<f64>() {
        let epoch = |second: f64| Some(second - timestamp_seconds(now?));
        return match number {
            number if number >= FIRST_EPOCH_MILLISECOND => seconds(epoch(number / 1000.0)?.max(0.0)),
            number if number >= FIRST_EPOCH_SECOND => seconds(epoch(number)?.max(0.0)),
            number => seconds(number),
        };
    }
    go_duration(text).or_else(|| Some(date_time(text)?.duration_since(now?).try_into().unwrap_or_default()))
}

fn timestamp_seconds(time: Timestamp) -> f64 {
    time.as_duration().as_secs_f64()
}

fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number).ok()
}

/// Parses a duration as Go writes it: numbers, each with a unit.
fn go_duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let number_end = rest.find(|char: char| !char.is_ascii_digit() && char != '.')?;
        let (number, tail) = rest.split_at_checked(number_end)?;
        let unit_end = tail.find(|char: char| char.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(unit_end)?;
        let scale = match unit.trim() {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * scale;
        rest = tail.trim_start();
    }
    seconds(total)
}

fn date_time(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    rfc2822::DateTimeParser::new().parse_timestamp(text).ok().or_else(|| text.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use reqwest::header::HeaderValue;

    const DATE_TEXT: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

    fn told(headers: &[(&str, &str)]) -> Option<Duration> {
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            all.insert(HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap());
        }
        of_response(&all, None, true)
    }

    const fn millis(millis: u64) -> Option<Duration> {
        Some(Duration::from_millis(millis))
    }

    #[test]
    fn retry_after_header_seconds_and_dates_are_parsed() {
        for (value, expected) in [
            ("7", millis(7_000)),
            (" 0.5 ", millis(500)),
            ("1m30s", millis(90_000)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", millis(60_000)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", millis(0)),
            ("1994-11-06T08:50:37Z", millis(60_000)),
            ("-3", None),
            ("NaN", None),
            ("1e300", None),
            ("soon", None),
        ] {
            assert_eq!(told(&[("date", DATE_TEXT), ("retry-after", value)]), expected, "{value}");
        }
        assert_eq!(told(&[("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")]), None);
    }

    #[test]
    fn retry_after_other_headers_are_read() {
        let now = ("date", "Sat, 20 Sep 2025 10:00:00 GMT");
        for (headers, expected) in [
            (vec![("retry-after-ms", "350"), ("retry-after", "1")], millis(350)),
            (vec![("llm_provider-retry-after", "7")], millis(7_000)),
            (vec![("x-ratelimit-reset-requests", "1m30s")], millis(90_000)),
            (vec![("x-ratelimit-reset-tokens", "350ms")], millis(350)),
            (vec![("llm_provider-x-ratelimit-reset-tokens", "6m0s")], millis(360_000)),
            (
                vec![
                    ("x-ratelimit-reset-requests", "8h0m0s"),
                    ("x-ratelimit-remaining-requests", "99"),
                    ("x-ratelimit-reset-tokens", "2.5s"),
                    ("x-ratelimit-remaining-tokens", "0"),
                ],
                millis(2_500),
            ),
            (vec![("x-ratelimit-reset-requests", "8h"), ("x-ratelimit-remaining-requests", "99")], None),
            (vec![now, ("x-ratelimit-reset", "1758362405")], millis(5_000)),
            (vec![now, ("x-ratelimit-reset", "1758362405500")], millis(5_500)),
            (vec![now, ("x-ratelimit-reset", "1758362000")], millis(0)),
            (vec![("x-ratelimit-reset", "1758362405")], None),
            (vec![("x-ratelimit-reset", "12")], millis(12_000)),
            (vec![("ratelimit-reset", "30"), ("ratelimit-remaining", "0")], millis(30_000)),
            (vec![now, ("anthropic-ratelimit-requests-reset", "2025-09-20T10:00:09Z")], millis(9_000)),
            (vec![("x-ratelimit-reset-tokens", "later")], None),
        ] {
            assert_eq!(told(&headers), expected, "{headers:?}");
        }
    }

    #[test]
    fn retry_after_reset_of_limit_counts_only_if_it_was_reached() {
        let mut headers = HeaderMap::new();
        headers.insert("x-ratelimit-reset-requests", HeaderValue::from_static("8h"));
        assert_eq!(of_response(&headers, None, false), None);
        headers.insert("retry-after", HeaderValue::from_static("2"));
        assert_eq!(of_response(&headers, None, false), millis(2_000));
    }

    #[test]
    fn retry_after_body_fields_and_words_are_read() {
        for (body, expected) in [
            (
                r#"{"error":{"code":429,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17s"}]}}"#,
                millis(17_000),
            ),
            (r#"[{"error":{"details":[{"retryDelay":"0.25s"}]}}]"#, millis(250)),
            (r#"{"error":{"details":[{"retryDelay":{"seconds":"3","nanos":500000000}}]}}"#, millis(3_500)),
            (r#"{"error":{"message":"slow","retry_after":2.5}}"#, millis(2_500)),
            (r#"{"message":"slow","retry_after_ms":350}"#, millis(350)),
            (r#"{"error":{"message":"Rate limit reached. Please try again in 1m30s. Visit"}}"#, millis(90_000)),
            (r#"{"error":{"message":"Please try again in 350ms."}}"#, millis(350)),
            (r#"{"error":{"message":"No deployments available, Try again in 5 seconds. Passed"}}"#, millis(5_000)),
            (r#"{"error":{"message":"Please retry in 17.5s."}}"#, millis(17_500)),
            (r#"{"error":{"message":"try again in a while"}}"#, None),
            (r#"{"error":{"message":"slow down"}}"#, None),
        ] {
            assert_eq!(of_stream_error(&json::parse(body).unwrap()), expected, "{body}");
        }
        assert_eq!(of_stream_error(&json::parse(r#"{"retryDelay":"1s"}"#).unwrap()), millis(1_000));
    }
}
