//! Reads YAML 1.2 with its core schema, as most programs of today do: `on` and `no` are texts, `007` is 7, `1_000` and
//! dates are texts. A value that JSON cannot hold costs itself and not the document.

use std::fmt;

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::Options;
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};

/// The most values that are named as left out.
const MAX_NAMED: usize = 100;
/// The longest error message, in characters.
const MAX_MESSAGE_CHARS: usize = 200;
/// Above this, a float does not contain every integer.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// A document that was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct YamlDocument {
    pub value: Value,
    /// The values that were left out, by their paths such as `rin.hp`: infinite numbers, and all but the last of
    /// entries with one key.
    pub left_out: Vec<String>,
}

/// Reads a document. The parser's own budget rejects anchor bombs and endless documents.
///
/// # Errors
/// Returns a message of one line if the text is not YAML.
pub fn read(text: &str) -> Result<YamlDocument, String> {
    let mut left_out = OmittedValues::default();
    let read = serde_saphyr::with_deserializer_from_str_with_options(text, options(), |document| {
        NodeSeed(&mut left_out).deserialize(document)
    });
    let value = read.map_err(|error| {
        let message = error.to_string();
        message.lines().next().unwrap_or_default().chars().take(MAX_MESSAGE_CHARS).collect::<String>()
    })?;
    Ok(YamlDocument { value: value.unwrap_or_default(), left_out: left_out.paths })
}

fn options() -> Options {
    serde_saphyr::options! {
        strict_booleans: true,
        underscored_numbers_as_strings: true,
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        ignore_binary_tag_for_string: true,
    }
}

/// Collects the values that are left out.
#[derive(Default)]
struct OmittedValues {
    path: Vec<String>,
    paths: Vec<String>,
}

impl OmittedValues {
    fn add(&mut self) {
        if self.paths.len() < MAX_NAMED {
            self.paths.push(self.path.join("."));
        }
    }
}

/// Reads one value. `None` is a value that is left out.
struct NodeSeed<'a>(&'a mut OmittedValues);

impl<'de> DeserializeSeed<'de> for NodeSeed<'_> {
    type Value = Option<Value>;

    fn deserialize<D: de::Deserializer<'de>>(self, node: D) -> Result<Self::Value, D::Error> {
        node.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NodeSeed<'_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Some(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
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
        let number = as_number(value);
        if number.is_none() {
            self.0.add();
        }
        Ok(number.map(Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Some(value.into()))
    }

    fn visit_string<E>(self, value: String) -> Result<Self::Value, E> {
        Ok(Some(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        loop {
            self.0.path.push(list.len().to_string());
            let item = items.next_element_seed(NodeSeed(self.0))?;
            self.0.path.pop();
            // The items behind one that is left out keep their places.
            let Some(item) = item else { return Ok(Some(list.into())) };
            list.push(item.unwrap_or_default());
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key_seed(KeySeed)? {
            self.0.path.push(key);
            let value = entries.next_value_seed(NodeSeed(self.0))?;
            if let (Some(key), Some(value)) = (self.0.path.last().cloned(), value)
                && map.insert(key, value).is_some()
            {
                self.0.add();
            }
            self.0.path.pop();
        }
        Ok(Some(map.into()))
    }
}

/// Reads a key as text: numbers and booleans as they are written in JSON, null as an empty text.
struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = String;

    fn deserialize<D: de::Deserializer<'de>>(self, key: D) -> Result<String, D::Error> {
        let value = NodeSeed(&mut OmittedValues::default()).deserialize(key)?;
        Ok(match value {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(key)) => key,
            Some(other) => other.to_string(),
        })
    }
}

/// Returns a float as JSON, without a fraction if it has none. `None` if it is infinite or no number.
fn as_number(value: f64) -> Option<Number> {
    // Convert through the decimal digits, to avoid a lossy float cast.
    let is_whole = value.fract() == 0.0 && value.abs() < MAX_EXACT;
    let whole = is_whole.then(|| format!("{value:.0}").parse::<i64>().ok()).flatten();
    whole.map(Number::from).or_else(|| Number::from_f64(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn yaml_scalars_follow_core_schema_of_1_2() {
        for (written, expected) in [
            ("on", json!("on")),
            ("Off", json!("Off")),
            ("yes", json!("yes")),
            ("no", json!("no")),
            ("No", json!("No")),
            ("y", json!("y")),
            ("n", json!("n")),
            ("true", json!(true)),
            ("FALSE", json!(false)),
            ("007", json!(7)),
            ("-010", json!(-10)),
            ("1_000", json!("1_000")),
            ("0o7", json!(7)),
            ("0x1F", json!(31)),
            ("1e3", json!(1000)),
            ("5.0", json!(5)),
            ("1.50", json!(1.5)),
            (".5", json!(0.5)),
            ("12345678901234567890123", json!(12345678901234567890123.0)),
            ("1:30", json!("1:30")),
            ("2024-05-01", json!("2024-05-01")),
            ("2024-05-01T10:00:00Z", json!("2024-05-01T10:00:00Z")),
            ("50%", json!("50%")),
            ("~", json!(null)),
            ("null", json!(null)),
            ("", json!(null)),
            ("\"no\"", json!("no")),
            ("'007'", json!("007")),
            ("!!str 5", json!("5")),
            ("!odd x", json!("x")),
        ] {
            let read = read(&format!("a: {written}\n")).unwrap();
            assert_eq!(read, YamlDocument { value: json!({"a": expected}), left_out: Vec::new() }, "{written}");
        }
    }

    #[test]
    fn yaml_bad_value_costs_itself() {
        let text = "a: 1\nb: .inf\nc: {d: -.INF, e: [1, .nan, 1e400]}\nf: 2\n";
        let read = read(text).unwrap();
        assert_eq!(read.value, json!({"a": 1, "c": {"e": [1, null, null]}, "f": 2}));
        assert_eq!(read.left_out, ["b", "c.d", "c.e.1", "c.e.2"]);
    }

    #[test]
    fn yaml_keys_of_all_types_are_texts() {
        let read = read("~: a\n7: b\ntrue: c\n1.5: d\non: e\n? [x, y]\n: f\n").unwrap();
        assert_eq!(read.value, json!({"": "a", "7": "b", "true": "c", "1.5": "d", "on": "e", "[\"x\",\"y\"]": "f"}));
    }

    #[test]
    fn yaml_repeated_key_keeps_last_value_and_is_reported() {
        let read = read("a: 1\nb: 2\na: 3\n").unwrap();
        assert_eq!((read.value, read.left_out), (json!({"a": 3, "b": 2}), vec!["a".to_owned()]));
    }

    #[test]
    fn yaml_aliases_and_merges_are_read() {
        let read = read("base: &b {hp: 5, on: 1}\nrin: {<<: *b, hp: 7}\n").unwrap();
        assert_eq!(read.value["rin"], json!({"hp": 7, "on": 1}));
        let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n\
            d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
        for text in [bomb, &"[".repeat(9_000), "a: b: c", "{", "a: *nobody"] {
            assert!(super::read(text).is_err(), "{}", text.chars().take(20).collect::<String>());
        }
    }
}
