//! Checks JSON against the contract with the part of JSON Schema that the OpenAPI document uses. It is stricter than
//! JSON Schema in one way: a field that no schema names is a fault. So no answer can have undocumented fields.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::{Value, json};

/// The OpenAPI document as the server publishes it.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| clotho::http::openapi::json(&clotho::http::all_routes()));

/// Returns the schema of a route's JSON answer: `response_schema("GET", "/api/sessions", 200)`.
pub fn response_schema(method: &str, path: &str, status: u16) -> Option<&'static Value> {
    let operation = find_operation(method, path)?;
    operation.pointer(&format!("/responses/{status}/content/application~1json/schema"))
}

/// Returns the schema of the JSON body that a route takes.
pub fn request_schema(method: &str, path: &str) -> Option<&'static Value> {
    find_operation(method, path)?.pointer("/requestBody/content/application~1json/schema")
}

fn find_operation(method: &str, path: &str) -> Option<&'static Value> {
    DOCUMENT["paths"].get(path)?.get(method.to_lowercase())
}

/// Returns a reference to a named schema of the document.
pub fn schema_reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// Returns all faults of a value, each with its location.
pub fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    check_value(schema, value, "", true, &mut faults);
    faults
}

fn check_value(schema: &Value, value: &Value, at: &str, is_strict: bool, faults: &mut Vec<String>) {
    let schema = resolve_reference(schema);
    if let Some(parts) = schema["allOf"].as_array() {
        parts.iter().for_each(|part| check_value(part, value, at, false, faults));
        if is_strict {
            check_unknown_fields(schema, value, at, faults);
        }
    }
    for key in ["oneOf", "anyOf"] {
        let Some(choices) = schema[key].as_array() else { continue };
        let fits = |choice: &Value| {
            let mut own = Vec::new();
            check_value(choice, value, at, is_strict, &mut own);
            own.is_empty()
        };
        if !choices.iter().any(fits) {
            faults.push(format!("{at}: {value} is not one of {key}"));
        }
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        faults.push(format!("{at}: {value} is not one of {words:?}"));
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().map(|one| one.as_str().unwrap()).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|one| has_type(one, value)) {
        faults.push(format!("{at}: {value} is no {types:?}"));
        return;
    }
    if let Some(least) = schema["minimum"].as_f64()
        && value.as_f64().is_some_and(|number| number < least)
    {
        faults.push(format!("{at}: {value} is below {least}"));
    }
    check_entries(schema, value, at, is_strict, faults);
}

/// Checks the entries of objects and arrays.
fn check_entries(schema: &Value, value: &Value, at: &str, is_strict: bool, faults: &mut Vec<String>) {
    if let Some(object) = value.as_object() {
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(name) {
                faults.push(format!("{at}: {name} is missing"));
            }
        }
        for (name, entry) in object {
            let place = format!("{at}/{name}");
            if let Some(property) = schema["properties"].get(name) {
                check_value(property, entry, &place, true, faults);
            } else if schema["additionalProperties"].is_object() {
                check_value(&schema["additionalProperties"], entry, &place, true, faults);
            }
        }
        if is_strict && schema["properties"].is_object() {
            check_unknown_fields(schema, value, at, faults);
        }
    }
    let first = schema["prefixItems"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (n, item) in value.as_array().into_iter().flatten().enumerate() {
        match first.get(n).or(schema.get("items")) {
            Some(Value::Bool(false)) => faults.push(format!("{at}/{n}: one too many")),
            Some(items) => check_value(items, item, &format!("{at}/{n}"), true, faults),
            None => {}
        }
    }
}

/// Reports fields that no part of a schema names.
fn check_unknown_fields(schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    let Some(known) = known_fields(schema) else { return };
    for name in value.as_object().into_iter().flatten().map(|(name, _)| name) {
        if !known.contains(name) {
            faults.push(format!("{at}: {name} is not documented"));
        }
    }
}

/// Returns the fields that a schema names; `None` if it takes any.
fn known_fields(schema: &Value) -> Option<BTreeSet<String>> {
    let schema = resolve_reference(schema);
    let mut known = BTreeSet::new();
    for part in schema["allOf"].as_array().into_iter().flatten() {
        known.extend(known_fields(part)?);
    }
    let takes_any = schema["allOf"].is_null() && schema["properties"].is_null();
    if takes_any || schema["additionalProperties"].is_object() {
        return None;
    }
    known.extend(schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()));
    Some(known)
}

/// Resolves a reference; returns other schemas as they are.
pub fn resolve_reference(schema: &Value) -> &Value {
    match schema["$ref"].as_str() {
        Some(reference) => DOCUMENT.pointer(reference.trim_start_matches('#')).expect("a shape that is described"),
        None => schema,
    }
}

fn has_type(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the document has a type \"{other}\""),
    }
}

/// The check finds each kind of fault.
#[test]
fn faults_are_found() {
    let schema = json!({
        "type": "object", "required": ["a"],
        "properties": {"a": {"type": "integer", "minimum": 0}, "b": {"type": ["string", "null"]},
            "c": {"type": "array", "items": {"enum": ["x", "y"]}}, "d": {"oneOf": [{"type": "null"}, schema_reference("Note")]}},
    });
    let check = |value: Value, expected: &[&str]| {
        let found = faults(&schema, &value);
        assert!(found.len() == expected.len() && expected.iter().zip(&found).all(|(e, f)| f.contains(e)), "{found:?}");
    };
    check(json!({"a": 1, "b": null, "c": ["x"], "d": {"plugin": "p", "text": "t"}}), &[]);
    check(json!({"b": 5}), &["a is missing", "/b: 5 is no"]);
    check(json!({"a": -1, "c": ["z"]}), &["below 0", "/c/0: \"z\" is not one"]);
    check(json!({"a": 1.5}), &["is no"]);
    check(json!({"a": 1, "d": {"plugin": "p"}}), &["not one of oneOf"]);
    check(json!({"a": 1, "d": {"plugin": "p", "text": "t", "more": 1}}), &["not one of oneOf"]);
    check(json!({"a": 1, "typo": 1}), &["typo is not documented"]);
    let pair = json!({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "integer"}], "items": false});
    assert_eq!(faults(&pair, &json!([1, 2])), [""; 0]);
    assert_eq!(faults(&pair, &json!(["a", 2, 3])), ["/0: \"a\" is no [\"integer\"]", "/2: one too many"]);
    let both = json!({"allOf": [schema, {"type": "object", "properties": {"e": {}}}]});
    assert_eq!(faults(&both, &json!({"a": 1, "e": 1})), [""; 0]);
    assert_eq!(faults(&both, &json!({"a": 1, "f": 1})), [": f is not documented"]);
}
