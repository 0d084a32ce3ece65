//! Reads settings of presets in any type: numbers and flags as texts, floats for integers.

use serde_json::{Number, Value};

/// Above this, a float does not contain every integer.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns a flag: a boolean, a number, or a word for one. `None` if the value is none of these.
pub(super) fn truth(value: &Value) -> Option<bool> {
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

/// Returns a number as it is written, also one in a text. `None` if the value is none, or infinite.
pub(super) fn number(value: &Value) -> Option<Number> {
    let number = match value {
        Value::Number(number) => number.clone(),
        Value::String(text) => {
            let text = text.trim();
            let written = text.parse::<Number>().ok();
            written.or_else(|| Number::from_f64(text.parse().ok()?))?
        }
        _ => return None,
    };
    number.as_f64().is_some_and(f64::is_finite).then_some(number)
}

/// Returns an integer, also as a text or as a float without a fraction.
pub(super) fn integer(value: &Value) -> Option<i64> {
    let number = number(value)?;
    let whole = || number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < MAX_EXACT);
    // Convert through the decimal digits, to avoid a lossy float cast.
    number.as_i64().or_else(|| format!("{:.0}", whole()?).parse().ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn preset_setting_of_any_type_is_read() {
        for (given, expected) in [
            (json!(0.7), Some(json!(0.7))),
            (json!(" 0.7 "), Some(json!(0.7))),
            (json!("300"), Some(json!(300))),
            (json!(".5"), Some(json!(0.5))),
            (json!("1e999"), None),
            (json!("inf"), None),
            (json!("hot"), None),
            (json!(""), None),
            (json!(true), None),
        ] {
            assert_eq!(number(&given).map(Value::Number), expected, "{given}");
        }
        for (given, expected) in [
            (json!(333.0), Some(333)),
            (json!("333.0"), Some(333)),
            (json!("-1"), Some(-1)),
            (json!(1.5), None),
            (json!(null), None),
        ] {
            assert_eq!(integer(&given), expected, "{given}");
        }
        for (given, expected) in [
            (json!("true"), Some(true)),
            (json!("False"), Some(false)),
            (json!(1), Some(true)),
            (json!(0), Some(false)),
            (json!("maybe"), None),
            (json!(null), None),
        ] {
            assert_eq!(truth(&given), expected, "{given}");
        }
    }
}
