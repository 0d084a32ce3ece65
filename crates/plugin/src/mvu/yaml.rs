//! Reads YAML as MVU and SillyTavern do: version 1.2, where `on` and `no` are texts, `007` is 7 and `1_000` is a text.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{DuplicateKeyPolicy, NonFiniteFloatPolicy};

/// Whole floats up to here become integers, as in JavaScript.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Parses a text, and counts the values that are left out because they are no finite numbers. `None` if it is no YAML.
pub(super) fn read(text: &str) -> Option<(Value, usize)> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        underscored_numbers_as_strings: true,
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        with_snippet: false,
    };
    let lost = Cell::new(0);
    let read = |from: serde_saphyr::Deserializer<'_, '_>| CoreSchemaReader(&lost).deserialize(from);
    let value = serde_saphyr::with_deserializer_from_str_with_options(text, options, read).ok()?;
    Some((value.unwrap_or(Value::Null), lost.get()))
}

/// Builds a value; `None` stands for one that is left out. The count is of those.
#[derive(Clone, Copy)]
struct CoreSchemaReader<'c>(&'c Cell<usize>);

impl<'de> DeserializeSeed<'de> for CoreSchemaReader<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for CoreSchemaReader<'_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Some(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Some(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Some(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        let whole = (value.fract() == 0.0 && value.abs() <= MAX_EXACT)
            .then(|| format!("{value:.0}").parse::<i64>().ok().map(Number::from))
            .flatten();
        let number = whole.or_else(|| Number::from_f64(value));
        if number.is_none() {
            self.0.set(self.0.get() + 1);
        }
        Ok(number.map(Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Some(value.into()))
    }

    fn visit_string<E>(self, value: String) -> Result<Self::Value, E> {
        Ok(Some(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(value) = list.next_element_seed(self)? {
            all.extend(value);
        }
        Ok(Some(all.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut all = Map::new();
        while let Some(key) = map.next_key_seed(self)? {
            let value = map.next_value_seed(self)?;
            let key = match key {
                Some(Value::String(text)) => text,
                Some(key @ (Value::Null | Value::Bool(_) | Value::Number(_))) => key.to_string(),
                Some(Value::Array(_) | Value::Object(_)) | None => continue,
            };
            all.extend(value.map(|value| (key, value)));
        }
        Ok(Some(all.into()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn mvu_yaml_is_read_as_version_1_2() {
        let text = "a: 1\nlamp: on\ncountry: no\nsides: n\npos: y\nis: true\nTrue: False\nstage: 007\nroom: 010\nid: 1_000\n\
            half: 0.5\nwhole: 3.0\nbig: 12345678901234567890\nnone: ~\nempty:\ntext: \"12\"\n7: x\n";
        let expected = json!({
            "a": 1, "lamp": "on", "country": "no", "sides": "n", "pos": "y", "is": true, "true": false, "stage": 7,
            "room": 10, "id": "1_000", "half": 0.5, "whole": 3, "big": 12_345_678_901_234_567_890_u64, "none": null,
            "empty": null, "text": "12", "7": "x",
        });
        assert_eq!(read(text), Some((expected, 0)));
    }

    #[test]
    fn mvu_yaml_value_without_a_meaning_costs_only_itself() {
        let text = "a: 1\nb: .inf\nc: [1, -.inf, .nan, 2]\nd: 1e400\n~: nobody\n? [x, y]\n: z\na: 2\n";
        assert_eq!(read(text), Some((json!({"a": 2, "c": [1, 2], "null": "nobody"}), 4)));
        assert_eq!(read("a: b: c"), None);
    }
}
