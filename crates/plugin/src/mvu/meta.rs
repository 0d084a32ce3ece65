//! What the metadata of a map (`$meta`) says about its entries: a template for new ones, and which may come and go.
//!
//! MVU writes the metadata of a list into the list, as an element with `$arrayMeta`. There it would be counted as one of
//! its values, so here it is in the map around the list, in `$meta.lists` under the key of the list.

use serde_json::{Map, Value};

use clotho_core::world::{Pointer, World};

/// The key of the metadata in its map.
pub(super) const META: &str = "$meta";

/// Returns whether a new key may be inserted into a value.
pub(super) fn may_insert(into: Option<&Value>, key: &str) -> bool {
    let Some(Value::Object(map)) = into else { return true };
    map.contains_key(key) || !is_closed(map)
}

/// Returns whether a key may be removed from a value.
pub(super) fn may_remove(from: &Value, key: &str) -> bool {
    let Value::Object(map) = from else { return true };
    let required = map.get(META).and_then(|meta| meta.get("required")?.as_array());
    !is_closed(map) && !required.is_some_and(|keys| keys.iter().any(|required| required == key))
}

/// The key of the metadata of lists, in the metadata of the map around them.
pub(super) const LISTS: &str = "lists";

/// Returns the metadata of the list at a path.
fn list_meta<'w>(path: &Pointer, world: &'w World) -> Option<&'w Value> {
    let (above, key) = path.split_last()?;
    world.get(&above)?.get(META)?.get(LISTS)?.get(key)
}

/// Returns whether values may come into the list at a path, and go.
pub(super) fn is_list_open(path: &Pointer, world: &World) -> bool {
    list_meta(path, world).and_then(|meta| meta.get("extensible")) != Some(&Value::Bool(false))
}

/// Returns a new value of the list at a path with what the template of the list has and the value lacks.
pub(super) fn with_list_template(path: &Pointer, value: &Value, world: &World) -> Value {
    filled_in(list_meta(path, world).and_then(|meta| meta.get("template")), value)
}

fn is_closed(map: &Map<String, Value>) -> bool {
    map.get(META).and_then(|meta| meta.get("extensible")) == Some(&Value::Bool(false))
}

/// Returns a new entry of a value with what the template of that value has and the entry lacks.
pub(super) fn with_template(into: Option<&Value>, entry: &Value) -> Value {
    filled_in(into.and_then(|into| into.get(META)?.get("template")), entry)
}

fn filled_in(template: Option<&Value>, entry: &Value) -> Value {
    match (template, entry) {
        (Some(template @ Value::Object(_)), Value::Object(_)) => {
            let mut whole = template.clone();
            merge(&mut whole, entry);
            whole
        }
        _ => entry.clone(),
    }
}

/// Merges a value into another: maps key by key, lists place by place. Other values are replaced.
pub(super) fn merge(into: &mut Value, more: &Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                match into.get_mut(key) {
                    Some(there) => merge(there, value),
                    None => _ = into.insert(key.clone(), value.clone()),
                }
            }
        }
        (Value::Array(into), Value::Array(more)) => {
            for (at, value) in more.iter().enumerate() {
                match into.get_mut(at) {
                    Some(there) => merge(there, value),
                    None => into.push(value.clone()),
                }
            }
        }
        (into, more) => *into = more.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn mvu_meta_template_fills_new_entries() {
        let npc = json!({"$meta": {"template": {"hp": 10, "bag": {"coin": 1}, "mood": ["calm", "how she feels"]}}});
        let entry = with_template(Some(&npc), &json!({"hp": 5, "bag": {"rope": 1}}));
        assert_eq!(entry, json!({"hp": 5, "bag": {"coin": 1, "rope": 1}, "mood": ["calm", "how she feels"]}));
        assert_eq!(with_template(Some(&npc), &json!("gone")), json!("gone"));
        assert_eq!(with_template(Some(&json!({})), &json!({"hp": 5})), json!({"hp": 5}));
        assert_eq!(with_template(None, &json!(1)), json!(1));
    }

    #[test]
    fn mvu_meta_protects_keys() {
        let shut = json!({"hp": 1, "$meta": {"extensible": false}});
        assert_eq!((may_insert(Some(&shut), "hp"), may_insert(Some(&shut), "new")), (true, false));
        assert!(!may_remove(&shut, "hp"));
        let rin = json!({"hp": 1, "hat": 1, "$meta": {"required": ["hp"]}});
        assert_eq!(
            (may_insert(Some(&rin), "new"), may_remove(&rin, "hp"), may_remove(&rin, "hat")),
            (true, false, true)
        );
        assert!(may_insert(None, "x") && may_insert(Some(&json!([])), "0") && may_remove(&json!([1]), "0"));
    }
}
