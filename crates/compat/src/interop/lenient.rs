//! Reads loosely typed values of files: numbers and flags as texts, floats for integers, lists inside of texts.
//! Programs that write cards and lorebooks do not agree on the types of their fields.

use serde_json::{Number, Value};

/// Returns a flag: a boolean, a number, or a word for one. `None` if the value is none of these.
pub fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(*truth),
        Value::Number(number) => number.as_f64().map(|number| number != 0.0),
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" | "" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// Returns a number, also one in a text. A float without a fraction becomes an integer. `None` if the value is none.
pub fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(as_integer(number)),
        Value::String(text) => {
            let text = text.trim();
            let text =
                text.strip_prefix('+').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(text);
            let is_decimal = text.contains(|c: char| c.is_ascii_digit())
                && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | '.' | 'e' | 'E' | '+'));
            if !is_decimal {
                return None;
            }
            let integer = text.parse::<i64>().ok().map(Number::from);
            integer.or_else(|| Some(as_integer(&Number::from_f64(text.parse().ok()?)?)))
        }
        _ => None,
    }
}

/// Returns a number of messages or a depth: a whole number from 0, also as a text or a float.
pub fn count(value: &Value) -> Option<u64> {
    number(value)?.as_u64()
}

/// Returns the list that a text contains as JSON.
pub fn list_in_text(text: &str) -> Option<Vec<Value>> {
    let text = text.trim();
    if !(text.starts_with('[') && text.ends_with(']')) {
        return None;
    }
    super::text::parse_json_lenient(text).ok()?.as_array().cloned()
}

fn as_integer(number: &Number) -> Number {
    /// Above this, a float does not contain every integer.
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0 && float.abs() < MAX_EXACT);
    // Convert through the decimal digits, to avoid a lossy float cast.
    let integer = whole.and_then(|float| format!("{float:.0}").parse::<i64>().ok());
    integer.map_or_else(|| number.clone(), Number::from)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lenient_number_in_any_form_is_read() {
        for (given, expected) in [
            (json!(3), Some(json!(3))),
            (json!("0"), Some(json!(0))),
            (json!(" 2 "), Some(json!(2))),
            (json!(2.0), Some(json!(2))),
            (json!("2.0"), Some(json!(2))),
            (json!("+4"), Some(json!(4))),
            (json!("-1"), Some(json!(-1))),
            (json!("0.5"), Some(json!(0.5))),
            (json!(1e300), Some(json!(1e300))),
            (json!(""), None),
            (json!("inf"), None),
            (json!("1e999"), None),
            (json!("four"), None),
            (json!("."), None),
            (json!(true), None),
            (json!(null), None),
        ] {
            assert_eq!(number(&given).map(Value::Number), expected, "{given}");
        }
        assert_eq!((count(&json!("2.0")), count(&json!(-1)), count(&json!(1.5))), (Some(2), None, None));
    }

    #[test]
    fn lenient_truth_in_any_form_is_read() {
        for (given, expected) in [
            (json!(true), Some(true)),
            (json!("TRUE"), Some(true)),
            (json!("false"), Some(false)),
            (json!(0), Some(false)),
            (json!("1"), Some(true)),
            (json!(""), Some(false)),
            (json!("maybe"), None),
            (json!([]), None),
            (json!(null), None),
        ] {
            assert_eq!(truth(&given), expected, "{given}");
        }
    }
}
