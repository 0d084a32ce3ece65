//! Initial values of new map entries, if the schema declares them (`x-prototype`).

use serde_json::Value;

use super::{Pointer, SchemaSet};
use crate::world::schema::{SchemaNode, SchemaRule};

/// Fills the missing keys of a written value from its prototype, and those of every map entry inside it.
pub(super) fn fill_prototypes(
    container: Option<&SchemaNode>,
    key: Option<&String>,
    spot: SchemaRule<'_>,
    value: &mut Value,
) {
    let Value::Object(map) = value else { return };
    if let (Some(container), Some(key)) = (container, key)
        && let Some(prototype) = container.prototype_of(key)
    {
        for (key, begins) in prototype {
            map.entry(key).or_insert_with(|| begins.clone());
        }
    }
    let Some(node) = spot.node().filter(|node| node.has_prototypes()) else { return };
    for (key, inner) in map {
        fill_prototypes(Some(node), Some(key), spot.step(key, false), inner);
    }
}

/// Returns the initial value at a path inside a map entry that does not exist yet. The first `there` keys of the path
/// exist.
pub(super) fn prototype_at<'r>(rules: &'r SchemaSet, path: &Pointer, there: usize) -> Option<&'r Value> {
    let (root, schema) = rules.schema_for(path)?;
    let mut node = Some(schema.root_node());
    let mut begins: Option<&'r Value> = None;
    for (depth, key) in path.keys().iter().enumerate().skip(root.keys().len()) {
        let prototype = node.filter(|_| depth >= there).filter(|node| node.prototype_of(key).is_some());
        node = node.and_then(|node| node.child(key));
        begins = match (prototype, begins) {
            (Some(found), _) => found.prototype_value(),
            (None, Some(value)) => value.get(key),
            (None, None) => None,
        };
    }
    begins
}
