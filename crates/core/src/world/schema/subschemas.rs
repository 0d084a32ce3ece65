//! The schemas inside of a schema as it is written, for advice about each of them. What the fold uses are [`super::Node`]s.

use serde_json::{Map, Value};

use crate::world::Pointer;

/// Words below which each key has a schema.
const NAMED: [&str; 2] = ["properties", "$defs"];
/// Words that are a schema themselves.
const ALONE: [&str; 2] = ["additionalProperties", "items"];

/// The schema itself and all those in it, each with its place, in the order of reading.
pub(super) fn collect_subschemas(source: &Value) -> Vec<(Pointer, &Map<String, Value>)> {
    let mut found = Vec::new();
    collect(source, Pointer::default(), &mut found);
    found
}

fn collect<'a>(source: &'a Value, at: Pointer, found: &mut Vec<(Pointer, &'a Map<String, Value>)>) {
    let Value::Object(map) = source else { return };
    found.push((at.clone(), map));
    for word in NAMED {
        for (key, inner) in map.get(word).and_then(Value::as_object).into_iter().flatten() {
            collect(inner, at.child(word).child(key), found);
        }
    }
    for word in ALONE {
        if let Some(inner) = map.get(word) {
            collect(inner, at.child(word), found);
        }
    }
}
