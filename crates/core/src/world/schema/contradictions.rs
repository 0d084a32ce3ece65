//! Finds contradictions in usable schemas. They are only warnings, since existing sessions already use such schemas.

use serde_json::{Map, Value};

use super::SchemaError;
use super::ValueKind;
use super::keywords;
use super::subschemas;
use crate::world::Pointer;

/// Returns warnings with their places: required keys that are not declared, and choices that the type excludes.
pub(super) fn advice(source: &Value) -> Vec<SchemaError> {
    let looked = subschemas::collect_subschemas(source)
        .into_iter()
        .flat_map(|(at, map)| [undeclared_required(map, &at), excluded_choices(map, &at)]);
    looked.flatten().collect()
}

/// Finds required keys that are not declared. With a schema for undeclared keys, any key may be required.
fn undeclared_required(map: &Map<String, Value>, at: &Pointer) -> Vec<SchemaError> {
    let declared = map.get("properties").and_then(Value::as_object);
    let known = || declared.into_iter().flat_map(Map::keys).map(String::as_str);
    let names = map.get("required").and_then(Value::as_array).into_iter().flatten().enumerate();
    let is_of_like = map.get("additionalProperties").is_some_and(Value::is_object) || map.contains_key("$ref");
    let odd = names
        .filter_map(|(i, name)| Some((i, name.as_str()?)))
        .filter(|(_, name)| !is_of_like && !known().any(|key| key == *name));
    let findings = odd.map(|(i, name)| {
        let guess = keywords::suggestion(name, known());
        SchemaError {
            path: at.child("required").child(i.to_string()),
            message: format!("\"{name}\" is required, but missing in \"properties\"{guess}"),
        }
    });
    findings.collect()
}

/// Finds choices of a type that the value cannot have, so that they never match.
fn excluded_choices(map: &Map<String, Value>, at: &Pointer) -> Vec<SchemaError> {
    let kinds = match map.get("type") {
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect::<Vec<_>>(),
        Some(Value::String(one)) => vec![one.as_str()],
        _ => return Vec::new(),
    };
    let is_number = |word: &str| word == ValueKind::Integer.as_str() || word == ValueKind::Number.as_str();
    let fits = |value: &Value| {
        let own = ValueKind::from_json(value).as_str();
        kinds.iter().any(|kind| *kind == own || (is_number(kind) && is_number(own)))
    };
    let listed = map.get("enum").and_then(Value::as_array).into_iter().flatten().enumerate();
    let listed = listed.map(|(i, value)| (at.child("enum").child(i.to_string()), value));
    let one = map.get("const").into_iter().map(|value| (at.child("const"), value));
    let odd = listed.chain(one).filter(|(_, value)| !fits(value));
    let findings = odd.map(|(path, value)| {
        let message = format!("{value} is impossible: \"type\" is {}", kinds.join(" or "));
        SchemaError { path, message }
    });
    findings.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn contradictions_impossible_schema_reports_path() {
        let check = |part: Value, expected: &[&str]| {
            let findings: Vec<String> =
                advice(&json!({"properties": {"one": part}})).iter().map(ToString::to_string).collect();
            let expected: Vec<String> = expected.iter().map(|one| format!("/properties/one/{one}")).collect();
            assert_eq!(findings, expected);
        };
        let named = json!({"type": "object", "properties": {"stage": {}, "name": {}}, "required": ["name", "stge"]});
        let why = "\"stge\" is required, but missing in \"properties\"; did you mean \"stage\"?";
        check(named, &[&format!("required/1: {why}")]);
        check(json!({"additionalProperties": {"type": "integer"}, "required": ["rin"]}), &[]);
        check(json!({"type": "string", "enum": ["a", 1, "b"]}), &["enum/1: 1 is impossible: \"type\" is string"]);
        check(json!({"type": ["integer", "null"], "enum": [1, 2.0, null]}), &[]);
        check(json!({"type": "boolean", "const": "yes"}), &["const: \"yes\" is impossible: \"type\" is boolean"]);
        check(json!({"enum": ["a", 1]}), &[]);
    }
}
