//! Conversion between JSON and script values. Rhai's own conversion does not preserve the source text of our numbers.
//!
//! - Whole numbers of 64 bits and fractions become the script's own numbers. A whole number beyond 64 bits, or a
//!   fraction beyond a double's range, becomes an [`Exact`]: the script can print, compare and store it unchanged, but
//!   not compute with it.
//! - Both directions are bounded in depth and size, so that nothing deep or large is built, walked or dropped.

use rhai::{Array, Dynamic, ImmutableString, Map};
use serde_json::{Number, Value};

use super::limits::ScriptLimits;

/// A number that scripts can pass on exactly but not compute with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Exact(pub Number);

/// Error: a value is too large to pass to a script at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ValueTooLarge;

/// Converts a value for a script, within the limits of texts and containers.
pub(super) fn to_script(value: &Value, limits: &ScriptLimits) -> Result<Dynamic, ValueTooLarge> {
    let mut budget = ConvertBudget { entries: limits.array.max(limits.map), bytes: limits.string };
    budget.value(value, limits.depth * 2)
}

struct ConvertBudget {
    entries: usize,
    bytes: usize,
}

impl ConvertBudget {
    fn value(&mut self, value: &Value, depth: usize) -> Result<Dynamic, ValueTooLarge> {
        let depth = depth.checked_sub(1).ok_or(ValueTooLarge)?;
        Ok(match value {
            Value::Null => Dynamic::UNIT,
            Value::Bool(b) => (*b).into(),
            Value::Number(number) => number_to_script(number),
            Value::String(text) => self.text(text)?.into(),
            Value::Array(list) => {
                self.entries = self.entries.checked_sub(list.len()).ok_or(ValueTooLarge)?;
                list.iter().map(|item| self.value(item, depth)).collect::<Result<Array, _>>()?.into()
            }
            Value::Object(map) => {
                self.entries = self.entries.checked_sub(map.len()).ok_or(ValueTooLarge)?;
                let pairs = map.iter().map(|(key, item)| Ok((key.as_str().into(), self.value(item, depth)?)));
                pairs.collect::<Result<Map, _>>()?.into()
            }
        })
    }

    fn text(&mut self, text: &str) -> Result<ImmutableString, ValueTooLarge> {
        self.bytes = self.bytes.checked_sub(text.len()).ok_or(ValueTooLarge)?;
        Ok(text.into())
    }
}

/// Converts a number for a script.
pub(super) fn number_to_script(number: &Number) -> Dynamic {
    if let Some(whole) = number.as_i64() {
        return whole.into();
    }
    let fraction = number.as_str().contains(['.', 'e', 'E']);
    match number.as_f64() {
        Some(float) if fraction && float.is_finite() => float.into(),
        _ => Dynamic::from(Exact(number.clone())),
    }
}

/// Why a script's value cannot be converted to JSON.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum ScriptValueError {
    #[error("a value may have at most {0} levels")]
    TooDeep(usize),
    #[error("one call may return at most {0} bytes")]
    TooLong(usize),
    #[error("{0} cannot be stored as a number")]
    NotFinite(f64),
    #[error("a string cannot contain the character U+0000")]
    Nul,
    #[error("{0} cannot be stored; use numbers, strings, true/false, (), lists and maps")]
    Unsupported(String),
}

/// Converts a script's value to JSON, at most `depth` deep. Its size is taken from `bytes`.
pub(super) fn from_script(value: &Dynamic, depth: usize, bytes: &mut ByteBudget) -> Result<Value, ScriptValueError> {
    convert(value, depth, depth, bytes)
}

/// Remaining bytes of JSON that the script may still hand out.
#[derive(Debug, Clone)]
pub(super) struct ByteBudget {
    remaining: usize,
    total: usize,
}

impl ByteBudget {
    pub(super) fn new(total: usize) -> Self {
        Self { remaining: total, total }
    }

    pub(super) fn take(&mut self, bytes: usize) -> Result<(), ScriptValueError> {
        self.remaining = self.remaining.checked_sub(bytes).ok_or(ScriptValueError::TooLong(self.total))?;
        Ok(())
    }
}

fn convert(value: &Dynamic, depth: usize, max: usize, bytes: &mut ByteBudget) -> Result<Value, ScriptValueError> {
    bytes.take(4)?;
    if value.is_unit() {
        return Ok(Value::Null);
    }
    if let Some(number) = number_from_script(value)? {
        bytes.take(number.as_str().len())?;
        return Ok(Value::Number(number));
    }
    if let Ok(b) = value.as_bool() {
        return Ok(Value::Bool(b));
    }
    if let Ok(c) = value.as_char() {
        return take_text(&c.to_string(), bytes).map(Value::String);
    }
    if let Ok(text) = value.as_immutable_string_ref() {
        return take_text(&text, bytes).map(Value::String);
    }
    let deeper = depth.checked_sub(1).ok_or(ScriptValueError::TooDeep(max))?;
    if let Ok(list) = value.as_array_ref() {
        return list.iter().map(|item| convert(item, deeper, max, bytes)).collect::<Result<_, _>>().map(Value::Array);
    }
    if let Ok(map) = value.as_map_ref() {
        let pairs = map.iter().map(|(key, item)| Ok((take_text(key, bytes)?, convert(item, deeper, max, bytes)?)));
        return pairs.collect::<Result<_, _>>().map(Value::Object);
    }
    Err(ScriptValueError::Unsupported(kind_of(value).to_owned()))
}

/// Copies a text that a script hands out, within the byte budget.
pub(super) fn take_text(text: &str, bytes: &mut ByteBudget) -> Result<String, ScriptValueError> {
    bytes.take(text.len())?;
    if text.contains('\0') { Err(ScriptValueError::Nul) } else { Ok(text.to_owned()) }
}

/// Returns a script's value as a number, if it is one.
pub(super) fn number_from_script(value: &Dynamic) -> Result<Option<Number>, ScriptValueError> {
    if let Ok(whole) = value.as_int() {
        return Ok(Some(whole.into()));
    }
    if let Ok(float) = value.as_float() {
        return Number::from_f64(float).map(Some).ok_or(ScriptValueError::NotFinite(float));
    }
    Ok(value.read_lock::<Exact>().map(|exact| exact.0.clone()))
}

/// Names the type of a value in words for plugin authors.
pub(super) fn kind_of(value: &Dynamic) -> &'static str {
    match value.type_name() {
        "()" => "nothing",
        "bool" => "true/false",
        "i64" | "f64" => "a number",
        "char" | "string" => "a string",
        "array" => "a list",
        "map" => "a map",
        "Fn" => "a function",
        name if name.ends_with("Exact") => "a number",
        name if name.ends_with("Ctx") => "ctx",
        _ => "a value of this kind",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn round_trip(text: &str) -> String {
        let value: Value = serde_json::from_str(text).unwrap();
        let script = to_script(&value, &ScriptLimits::default()).unwrap();
        from_script(&script, 32, &mut ByteBudget::new(1 << 20)).unwrap().to_string()
    }

    /// S3-07: numbers beyond 2^53 and 64 bits, fractions, Unicode and null round-trip unchanged.
    #[test]
    fn convert_value_roundtrip_is_lossless() {
        for text in [
            "null",
            "true",
            "\"猫\"",
            "9007199254740993",
            "-9223372036854775808",
            "123456789012345678901234567890",
            "0.1",
            "-2.5e-7",
            "1e+999",
            "[1,[2,{\"a\":null}],\"x\"]",
            "{\"a\":{\"b\":[]},\"猫\":0.1}",
        ] {
            assert_eq!(round_trip(text), text);
        }
    }

    #[test]
    fn convert_oversized_value_returns_error() {
        let limits = ScriptLimits::default();
        assert_eq!(to_script(&json!(vec![0; 2_001]), &limits).unwrap_err(), ValueTooLarge);
        assert_eq!(to_script(&json!("x".repeat((64 << 10) + 1)), &limits).unwrap_err(), ValueTooLarge);
        let deep = (0..70).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(to_script(&deep, &limits).unwrap_err(), ValueTooLarge);
    }

    #[test]
    fn convert_unsupported_value_returns_error() {
        let check = |value: Dynamic, why: &str| {
            assert_eq!(from_script(&value, 3, &mut ByteBudget::new(64)).unwrap_err().to_string(), why);
        };
        check(f64::NAN.into(), "NaN cannot be stored as a number");
        check("a\0".into(), "a string cannot contain the character U+0000");
        check(
            Dynamic::from_blob(rhai::Blob::new()),
            "a value of this kind cannot be stored; use numbers, strings, true/false, (), lists and maps",
        );
        check("x".repeat(65).into(), "one call may return at most 64 bytes");
        let deep = (0..4).fold(Dynamic::from(1_i64), |inner, _| vec![inner].into());
        check(deep, "a value may have at most 3 levels");
    }
}
