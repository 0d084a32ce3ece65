//! Lists the nested schemas of a source schema, for warnings about each. The fold uses [`super::SchemaNode`]s
//! instead.

use serde_json::{Map, Value};

use crate::world::Pointer;

/// Keywords whose value maps names to schemas.
const NAMED: [&str; 2] = ["properties", "$defs"];
/// Keywords whose value is a schema.
const ALONE: [&str; 2] = ["additionalProperties", "items"];

/// Returns the schema and all nested ones, each with its place, in document order.
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
