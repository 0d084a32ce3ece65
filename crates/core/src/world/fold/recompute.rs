//! Computed values: brought to what they follow from, so that no operation on another base leaves them stale.

use serde_json::{Map, Value};

use super::{Pointer, SchemaSet};
use crate::world::number::same;
use crate::world::pointer::step_mut;
use crate::world::schema::{ComputedField, Schema, SchemaStep, ValueConformer, resolve_variable};

/// Computes everything that a schema computes.
pub(super) fn recompute_all(section: &mut Map<String, Value>, rules: &SchemaSet) {
    for (root, schema) in rules.roots() {
        recompute_root(section, root, schema, None);
    }
}

/// Computes what may have become another value by a change at a place.
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

/// The maps that a way leads to; of like things only the one that was touched, where nothing else matters.
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

/// What it comes to: brought into its range without a word, since nobody proposed it. Nothing, where it does not fit.
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
        Some(value) if map.get(key).is_some_and(|there| same(there, &value)) => {}
        Some(value) => _ = map.insert(key.to_owned(), value),
        None => _ = map.shift_remove(key),
    }
}
