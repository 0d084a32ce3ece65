//! The state as the model sees it: one line for each declared value that is not hidden.

use std::collections::HashSet;

use serde_json::Value;

use clotho_core::world::{Pointer, SchemaNode, SchemaSet, World};

/// Formats lines like `combat/hp: 90 (hit points)` for every leaf that a schema declares; empty without schemas.
pub fn state_block(world: &World, rules: &SchemaSet) -> String {
    let mut lines = Vec::new();
    for (root, schema) in rules.roots() {
        let Some(state) = world.get(root) else { continue };
        let concealed: HashSet<Pointer> = schema.hidden_paths(state).into_iter().collect();
        for (path, leaf) in schema.leaves() {
            let is_concealed = (0..=path.keys().len())
                .any(|depth| path.keys().get(..depth).is_some_and(|above| concealed.contains(above)));
            let full = Pointer::from_keys(root.keys().iter().chain(path.keys()).cloned());
            if let (false, Some(value)) = (is_concealed, world.get(&full)) {
                lines.push(line(&full.keys().join("/"), &without_concealed(value, &path, &concealed), leaf));
            }
        }
    }
    if lines.is_empty() { String::new() } else { format!("The state of the world now:\n{}", lines.join("\n")) }
}

/// Returns the value without its hidden parts.
fn without_concealed(value: &Value, path: &Pointer, concealed: &HashSet<Pointer>) -> Value {
    if concealed.is_empty() {
        return value.clone();
    }
    let keeps = |place: &Pointer| !concealed.contains(place);
    match value {
        Value::Object(map) => {
            let one = |(key, inner): (&String, &Value)| {
                let place = path.child(key);
                keeps(&place).then(|| (key.clone(), without_concealed(inner, &place, concealed)))
            };
            Value::Object(map.iter().filter_map(one).collect())
        }
        Value::Array(list) => {
            let one = |(position, inner): (usize, &Value)| {
                let place = path.child(position.to_string());
                keeps(&place).then(|| without_concealed(inner, &place, concealed))
            };
            Value::Array(list.iter().enumerate().filter_map(one).collect())
        }
        plain => plain.clone(),
    }
}

fn line(path: &str, value: &Value, leaf: &SchemaNode) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let about = value_hint(leaf);
    if about.is_empty() { format!("- {path}: {text}") } else { format!("- {path}: {text} ({about})") }
}

/// Returns the description of a value. For a map or list of equal items it includes the descriptions of their fields.
fn value_hint(leaf: &SchemaNode) -> String {
    let own = leaf.description().or(leaf.title()).map(str::to_owned);
    let part = |(key, node): (&str, &SchemaNode)| {
        node.description().filter(|_| node.is_visible()).map(|about| format!("{key}: {about}"))
    };
    let parts = leaf.additional_schema().or(leaf.items()).into_iter().flat_map(SchemaNode::properties).filter_map(part);
    own.into_iter().chain(parts).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use clotho_core::world::Schema;

    /// The status block describes each value and omits hidden ones.
    #[test]
    fn status_block_lists_each_value_with_hint() {
        let schema = Schema::parse(json!({"properties": {
            "hp": {"type": "integer", "description": "hit points"},
            "secret": {"x-visible": "hp < 5"},
            "people": {"title": "People", "additionalProperties": {"properties": {
                "mood": {"description": "how they feel"}, "plan": {"x-visible": false, "description": "no"}}}},
        }}));
        let rules = SchemaSet::new(vec![("/g".parse().unwrap(), Arc::new(schema.unwrap()))]).unwrap();
        let told = |hp: i64| {
            let vars = json!({"g": {"hp": hp, "secret": "s", "people": {"rin": {"mood": "calm", "plan": "run"}}}});
            state_block(&World::from_json(json!({"vars": vars})).unwrap(), &rules)
        };
        let people = "- g/people: {\"rin\":{\"mood\":\"calm\"}} (People; mood: how they feel)";
        assert_eq!(told(9), format!("The state of the world now:\n- g/hp: 9 (hit points)\n{people}"));
        assert!(told(4).contains("- g/secret: s\n"));
    }
}
