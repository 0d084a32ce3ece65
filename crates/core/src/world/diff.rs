//! Compares two worlds, for display only: the store keeps operations.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::number::values_equal;
use super::{Pointer, World};

/// One path of `vars` at which two worlds differ.
#[derive(Debug, Clone, PartialEq)]
pub struct PathChange {
    pub path: Pointer,
    pub before: Option<Value>,
    pub after: Option<Value>,
}

/// Returns the paths of `vars` at which two worlds differ, as deep as possible. They are in document order: the keys
/// of `before`, then new keys.
///
/// Lists of equal length are compared by position. If the lengths differ, the whole list is one change, because an
/// insertion in the middle would make every later position look changed. An added or removed value is one change with
/// everything inside it. Numbers compare by value: `1` and `1.0` do not differ.
pub fn diff(before: &World, after: &World) -> Vec<PathChange> {
    let mut walk = DiffWalker { keys: Vec::new(), changes: Vec::new() };
    walk.maps(&before.vars, &after.vars);
    walk.changes
}

struct DiffWalker<'w> {
    keys: Vec<Cow<'w, str>>,
    changes: Vec<PathChange>,
}

impl<'w> DiffWalker<'w> {
    fn maps(&mut self, before: &'w Map<String, Value>, after: &'w Map<String, Value>) {
        for (key, old) in before {
            self.at(key, |walk| walk.values(Some(old), after.get(key)));
        }
        for (key, new) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
            self.at(key, |walk| walk.values(None, Some(new)));
        }
    }

    fn values(&mut self, before: Option<&'w Value>, after: Option<&'w Value>) {
        match (before, after) {
            (Some(Value::Object(before)), Some(Value::Object(after))) => self.maps(before, after),
            (Some(Value::Array(before)), Some(Value::Array(after))) if before.len() == after.len() => {
                self.lists(before, after);
            }
            (Some(before), Some(after)) if values_equal(before, after) => {}
            (before, after) => self.changes.push(PathChange {
                path: Pointer::from_keys(self.keys.iter().map(|key| key.as_ref())),
                before: before.cloned(),
                after: after.cloned(),
            }),
        }
    }

    fn lists(&mut self, before: &'w [Value], after: &'w [Value]) {
        for (position, (old, new)) in before.iter().zip(after).enumerate() {
            self.at(position.to_string(), |walk| walk.values(Some(old), Some(new)));
        }
    }

    fn at(&mut self, key: impl Into<Cow<'w, str>>, then: impl FnOnce(&mut Self)) {
        self.keys.push(key.into());
        then(self);
        self.keys.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(before: Value, after: Value, expected: Value) {
        let world = |vars: &Value| World::from_json(json!({"vars": vars})).unwrap();
        let changes = diff(&world(&before), &world(&after));
        let rows: Vec<Value> = changes.iter().map(|c| json!([c.path.to_string(), c.before, c.after])).collect();
        assert_eq!(json!(rows), expected, "{before} -> {after}");
    }

    #[test]
    fn diff_equal_worlds_returns_nothing() {
        check(json!({}), json!({}), json!([]));
        check(json!({"a": {"b": [1, null]}, "c": 2}), json!({"c": 2.0, "a": {"b": [1, null]}}), json!([]));
    }

    #[test]
    fn diff_nested_change_returns_deepest_paths() {
        check(
            json!({"combat": {"hp": 100, "mp": 5}, "old": {"x": 1}, "place": "hall"}),
            json!({"new": [1], "place": "keep", "combat": {"hp": 90, "mp": 5, "xp": 1}}),
            json!([
                ["/combat/hp", 100, 90],
                ["/combat/xp", null, 1],
                ["/old", {"x": 1}, null],
                ["/place", "hall", "keep"],
                ["/new", null, [1]]
            ]),
        );
    }

    #[test]
    fn diff_lists_of_other_length_return_one_change() {
        check(json!({"l": [1, {"a": 1}, 3]}), json!({"l": [1, {"a": 2}, 3]}), json!([["/l/1/a", 1, 2]]));
        check(json!({"l": ["a", "b"]}), json!({"l": ["b"]}), json!([["/l", ["a", "b"], ["b"]]]));
    }

    #[test]
    fn diff_type_change_returns_one_change() {
        check(json!({"a": {"b": 1}}), json!({"a": [1]}), json!([["/a", {"b": 1}, [1]]]));
        check(json!({"a": null}), json!({"a": 1}), json!([["/a", null, 1]]));
        check(json!({"a/b": {"~": 1}}), json!({"a/b": {"~": 2}}), json!([["/a~1b/~0", 1, 2]]));
    }
}
