//! Numbers as JavaScript reads and writes them. SillyTavern wrote the variables of imported stories that way.

use serde_json::{Number, Value};

/// Largest exact integer.
pub const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;

/// Parses a number, ignoring surrounding white space; an empty text is 0. `None` if it is no number.
pub fn read(text: &str) -> Option<f64> {
    let text = text.trim();
    if text.is_empty() {
        return Some(0.0);
    }
    let radix = |mark: [&str; 2], radix| {
        let digits = mark.into_iter().find_map(|mark| text.strip_prefix(mark))?;
        digits.chars().all(|c| c.is_digit(radix)).then(|| i64::from_str_radix(digits, radix).ok()).flatten()
    };
    if let Some(whole) = radix(["0x", "0X"], 16).or_else(|| radix(["0o", "0O"], 8)).or_else(|| radix(["0b", "0B"], 2)) {
        return i32::try_from(whole).ok().map(f64::from).or_else(|| whole.to_string().parse().ok());
    }
    match text {
        "Infinity" | "+Infinity" => return Some(f64::INFINITY),
        "-Infinity" => return Some(f64::NEG_INFINITY),
        _ => {}
    }
    // Rust also parses `nan` and `inf`.
    let is_number = text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | 'e' | 'E'));
    is_number.then(|| text.parse().ok()).flatten()
}

/// Formats a number.
pub fn write(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if number == 0.0 {
        return "0".to_owned();
    }
    if (1e-6..1e21).contains(&number.abs()) {
        return number.to_string();
    }
    let text = format!("{number:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        _ => text,
    }
}

/// Converts a number to JSON, as an integer if it is whole. NaN and infinity become 0.
pub fn to_json(number: f64) -> Value {
    let text = write(number);
    let whole = (number.abs() <= MAX_EXACT_INTEGER).then(|| text.parse::<i64>().ok()).flatten();
    match whole {
        Some(whole) => Value::Number(whole.into()),
        None => Number::from_f64(number).map_or_else(|| Value::Number(0.into()), Value::Number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn js_number_read_and_write_match_javascript() {
        for (text, expected) in [
            ("12", Some("12")),
            (" 3.50 ", Some("3.5")),
            ("", Some("0")),
            ("007", Some("7")),
            ("-0", Some("0")),
            ("1e3", Some("1000")),
            ("1e21", Some("1e+21")),
            ("0.0000001", Some("1e-7")),
            ("0x1F", Some("31")),
            ("Infinity", Some("Infinity")),
            (".5", Some("0.5")),
            ("5.", Some("5")),
            ("12a", None),
            ("nan", None),
            ("inf", None),
            ("--1", None),
            ("0xFG", None),
            ("true", None),
        ] {
            assert_eq!(read(text).map(write).as_deref(), expected, "{text:?}");
        }
        assert_eq!(write(0.1 + 0.2), "0.30000000000000004");
        assert_eq!(to_json(17.0), json!(17));
        assert_eq!(to_json(3.75), json!(3.75));
        assert_eq!(to_json(f64::INFINITY), json!(0));
    }
}
