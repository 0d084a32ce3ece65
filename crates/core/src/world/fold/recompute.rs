//! Updates computed values, so that operations applied to another base never leave them stale.

use serde_json::{Map, Value};

use super::{Pointer, SchemaSet};
use crate::world::number::values_equal;
use crate::world::pointer::step_mut;
use crate::world::schema::{ComputedField, Schema, SchemaStep, ValueConformer, resolve_variable};

/// Updates all computed values.
pub(super) fn recompute_all(section: &mut Map<String, Value>, rules: &SchemaSet) {
    for (root, schema) in rules.roots() {
        recompute_root(section, root, schema, None);
    }
}

/// Updates the computed values that a change at `place` can affect.
pub(super) fn recompute_after(section: &mut Map<String, Value>, rules: &SchemaSet, place: &Pointer) {
    for (root, schema) in rules.roots() {
        if let Some(touched) = place.below(root) {
            recompute_root(section, root, schema, Some(touched));
        } else if root.below(place).is_some() {
            recompute_root(section, root, schema, None);
        }
    }
}

fn recompute_root(section: &mut Map<String, Value>, root: &Pointer, schema: &Schema, touched: Option<&[String]>) {
    for follower in schema.computed_fields() {
        let touched = touched.filter(|_| follower.is_local);
        let Some(state) = root.find(section) else { return };
        let mut containers = Vec::new();
        find_containers(state, &follower.container, touched, &mut Vec::new(), &mut containers);
        for container in containers {
            let Some(state) = root.find(section) else { return };
            let value = computed_value(state, &container, follower);
            put(section, root, &container, &follower.key, value);
        }
    }
}

/// Finds the maps that contain a computed field. If `touched` is set, only the touched entry of each map is followed.
fn find_containers(
    state: &Value,
    way: &[SchemaStep],
    touched: Option<&[String]>,
    so_far: &mut Vec<String>,
    found: &mut Vec<Vec<String>>,
) {
    let Value::Object(map) = state else { return };
    let Some((step, rest)) = way.split_first() else {
        found.push(so_far.clone());
        return;
    };
    let only = touched.and_then(|touched| touched.get(so_far.len()));
    let mut enter = |key: &str| {
        if let Some(inner) = map.get(key).filter(|_| only.is_none_or(|only| only == key)) {
            so_far.push(key.to_owned());
            find_containers(inner, rest, touched, so_far, found);
            so_far.pop();
        }
    };
    match (step, only) {
        (SchemaStep::Key(key), _) => enter(key),
        (SchemaStep::Any(declared), Some(only)) if !declared.contains(only) => enter(only),
        (SchemaStep::Any(_), Some(_)) => {}
        (SchemaStep::Any(declared), None) => {
            map.keys().filter(|key| !declared.contains(key)).for_each(|key| enter(key))
        }
    }
}

/// Computes a value and silently clamps it to its range, because nobody proposed it. `None` if it does not fit its
/// schema.
fn computed_value(state: &Value, container: &[String], follower: &ComputedField) -> Option<Value> {
    let mut value = follower.computed.value(&mut |variable| resolve_variable(state, container, variable))?;
    let mut notes = Vec::new();
    ValueConformer::new(&[], &mut notes).conform_node(&follower.node, &mut value).ok()?;
    Some(value)
}

fn put(section: &mut Map<String, Value>, root: &Pointer, container: &[String], key: &str, value: Option<Value>) {
    let mut keys = root.keys().iter().chain(container);
    let Some(first) = keys.next().and_then(|first| section.get_mut(first)) else { return };
    let Some(Value::Object(map)) = keys.try_fold(first, |value, key| step_mut(value, key)) else { return };
    match value {
        Some(value) if map.get(key).is_some_and(|there| values_equal(there, &value)) => {}
        Some(value) => _ = map.insert(key.to_owned(), value),
        None => _ = map.shift_remove(key),
    }
}
