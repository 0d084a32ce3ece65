//! Fixes type errors in tool arguments. Models quote numbers, leave texts unquoted, and write null for missing
//! values. Only unambiguous cases are fixed, and missing keys get their `default`; `conform.rs` refuses the rest.

use serde_json::{Number, Value};

use super::ValueKind;
use super::node::SchemaNode;
use crate::world::find_equivalent_name;

/// Fixes unambiguous type errors in a value and everything inside it.
pub(super) fn coerce(node: &SchemaNode, value: &mut Value) {
    if let Some(meant) = coerce_value(node, value) {
        *value = meant;
    }
    match value {
        Value::Object(map) => {
            map.retain(|key, inner| !inner.is_null() || node.child(key).is_none_or(|below| admits(below, inner)));
            for (key, below) in &node.properties {
                if let Some(inner) = map.get_mut(key) {
                    coerce(below, inner);
                } else if let Some(default) = &below.default {
                    map.insert(key.clone(), default.clone());
                }
            }
        }
        Value::Array(list) => {
            for inner in list {
                if let Some(below) = &node.items {
                    coerce(below, inner);
                }
            }
        }
        _ => {}
    }
}

/// Renames keys to their declared names in a value and everything inside it.
pub(super) fn normalize_names(node: &SchemaNode, value: &mut Value, mended: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) => {
            let strange: Vec<String> = map.keys().filter(|key| !node.properties.contains_key(*key)).cloned().collect();
            let free = || node.properties.keys().map(String::as_str).filter(|name| !map.contains_key(*name));
            let meant = |key: &String| find_equivalent_name(key, free()).map(|name| (key.clone(), name.to_owned()));
            let found: Vec<(String, String)> = strange.iter().filter_map(meant).collect();
            // Two keys that match the same name are ambiguous.
            let is_alone = |name: &String| found.iter().filter(|(_, other)| other == name).count() == 1;
            let mut all: Vec<(String, String)> = found.iter().filter(|(_, name)| is_alone(name)).cloned().collect();
            if !all.is_empty() {
                let named = |key: String| {
                    all.iter().find(|(said, _)| *said == key).map_or(key.clone(), |(_, name)| name.clone())
                };
                *map = std::mem::take(map).into_iter().map(|(key, inner)| (named(key), inner)).collect();
            }
            mended.append(&mut all);
            for (key, inner) in map {
                if let Some(below) = node.child(key) {
                    normalize_names(below, inner, mended);
                }
            }
        }
        Value::Array(list) => {
            if let Some(below) = &node.items {
                list.iter_mut().for_each(|inner| normalize_names(below, inner, mended));
            }
        }
        _ => {}
    }
}

/// Converts a value to the expected type, if it has another type and exactly one conversion fits.
fn coerce_value(node: &SchemaNode, value: &Value) -> Option<Value> {
    if admits(node, value) {
        return None;
    }
    let other = match value {
        Value::String(text) => {
            let text = text.trim();
            let number = || text.parse::<i64>().map(Number::from).ok().or_else(|| Number::from_f64(text.parse().ok()?));
            text.parse::<bool>().map(Value::Bool).ok().or_else(|| number().map(Value::Number))?
        }
        Value::Number(number) => Value::String(number.to_string()),
        Value::Bool(flag) => Value::String(flag.to_string()),
        _ => return None,
    };
    admits(node, &other).then_some(other)
}

/// Returns whether the type of a value is allowed. A fraction is allowed for an integer, since it is rounded later.
fn admits(node: &SchemaNode, value: &Value) -> bool {
    let fits = |kind: &ValueKind| kind.admits(value) || (value.is_number() && *kind == ValueKind::Integer);
    node.kinds.is_empty() || node.kinds.iter().any(fits)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::world::Schema;

    /// Type errors of models are fixed, missing keys get their default, and ambiguous values are refused with a clear
    /// message.
    #[test]
    fn coercion_model_arguments_are_converted() {
        let schema = Schema::parse(json!({"type": "object", "required": ["item"], "properties": {
            "item": {"type": "string"}, "count": {"type": "integer", "minimum": 1, "maximum": 3, "default": 1},
            "now": {"type": "boolean"}, "any": {}, "list": {"type": "array", "items": {"type": "number"}}}}));
        let schema = schema.unwrap();
        let fit = |mut value: Value| schema.coerce(&mut value).map(|()| value);
        let fits = |given: Value, meant: Value| assert_eq!(fit(given.clone()), Ok(meant), "{given}");
        fits(json!({"item": "ring"}), json!({"item": "ring", "count": 1}));
        fits(json!({"item": 7, "count": " 9 ", "now": "true"}), json!({"item": "7", "count": 3, "now": true}));
        fits(json!({"item": "r", "count": null, "any": null}), json!({"item": "r", "any": null, "count": 1}));
        fits(
            json!({"item": "r", "count": 1.6, "any": "2", "list": ["2.5", 1]}),
            json!({"item": "r", "count": 2, "any": "2", "list": [2.5, 1]}),
        );
        let mend = |mut value: Value| (schema.normalize_names(&mut value), value);
        let pair = |said: &str, meant: &str| (said.to_owned(), meant.to_owned());
        let slips = mend(json!({"Item": "ring", "COUNT": 2, "other": 1}));
        assert_eq!(
            slips,
            (vec![pair("Item", "item"), pair("COUNT", "count")], json!({"item": "ring", "count": 2, "other": 1}))
        );
        let doubtful = json!({"Item": "a", "ITEM": "b"});
        assert_eq!(mend(doubtful.clone()), (vec![], doubtful), "either could be meant");
        let both = json!({"Item": "a", "item": "b"});
        assert_eq!(mend(both.clone()), (vec![], both), "what is named rightly is there");
        let refused = |given: Value, why: &str| assert_eq!(fit(given.clone()), Err(why.to_owned()), "{given}");
        refused(json!({"count": 1}), "\"item\" is missing");
        refused(json!({"item": "r", "count": "some"}), "count: \"some\" is not a whole number");
        refused(json!({"item": ["r"]}), "item: a list is not a text");
    }
}
