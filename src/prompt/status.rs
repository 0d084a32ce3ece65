//! The world as the model sees it: one line for each declared value that is not hidden.

use serde_json::Value;

use crate::world::{Node, Rules, World};

/// Lines like `combat/hp: 90 (0 to 100, hit points)` for every leaf that a schema declares; empty without schemas.
pub fn block(world: &World, rules: &Rules) -> String {
    let mut lines = Vec::new();
    for (root, schema) in rules.roots() {
        for (path, leaf) in schema.visible_leaves() {
            let full = crate::world::Pointer::from_keys(root.keys().iter().chain(path.keys()).cloned());
            if let Some(value) = world.get(&full) {
                lines.push(line(&full.keys().join("/"), value, leaf));
            }
        }
    }
    if lines.is_empty() { String::new() } else { format!("The state of the world now:\n{}", lines.join("\n")) }
}

fn line(path: &str, value: &Value, leaf: &Node) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match leaf.description().or(leaf.title()) {
        Some(about) => format!("- {path}: {text} ({about})"),
        None => format!("- {path}: {text}"),
    }
}
