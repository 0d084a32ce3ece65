//! Reads TOML as JSON: dates become texts, and numbers that JSON does not have become unstorable ones.

use serde_json::{Map, Number, Value};
use toml::de::{DeTable, DeValue};

use super::value::unstorable_number;

/// Reads a document. `None` if the text is not TOML.
pub(super) fn read(text: &str) -> Option<Map<String, Value>> {
    DeTable::parse(text).ok().map(|document| table(document.get_ref()))
}

fn table(table: &DeTable<'_>) -> Map<String, Value> {
    table.iter().map(|(key, inside)| (key.get_ref().to_string(), value(inside.get_ref()))).collect()
}

fn value(read: &DeValue<'_>) -> Value {
    match read {
        DeValue::String(text) => text.to_string().into(),
        DeValue::Integer(integer) => number(integer.as_str(), integer.radix()),
        DeValue::Float(float) => number(float.as_str(), 10),
        DeValue::Boolean(truth) => Value::Bool(*truth),
        DeValue::Datetime(date) => date.to_string().into(),
        DeValue::Array(list) => list.iter().map(|item| value(item.get_ref())).collect(),
        DeValue::Table(inside) => table(inside).into(),
    }
}

/// Returns the number that some digits stand for. Infinity and NaN have none.
fn number(digits: &str, radix: u32) -> Value {
    let number = match radix {
        10 => digits.strip_prefix('+').unwrap_or(digits).parse::<Number>().ok(),
        radix => i128::from_str_radix(digits, radix).ok().and_then(|integer| integer.to_string().parse().ok()),
    };
    number.map_or_else(unstorable_number, Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn mvu_toml_values_of_all_types_are_read() {
        let text = "a = 'x'\nb = +1_000\nc = 0x1F\nd = 1.5\ne = true\nf = 2024-05-01T10:00:00Z\n\
            g = [1, {h = -2}]\n[i.j]\nk = nan\n";
        let expected = json!({
            "a": "x", "b": 1000, "c": 31, "d": 1.5, "e": true, "f": "2024-05-01T10:00:00Z", "g": [1, {"h": -2}],
            "i": {"j": {"k": unstorable_number()}},
        });
        assert_eq!(read(text).map(Value::Object), Some(expected));
        assert_eq!(read("a: b"), None);
    }
}
