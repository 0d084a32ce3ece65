//! Macro variables: of the session (*local*) and of all sessions (*global*). Each set is a flat map of JSON values. A
//! string value may contain JSON, as SillyTavern stores lists and maps; it is then changed inside that string.
//!
//! A name that is no key but looks like a path (`combat.hp`) is looked up inside the values. So a card can read a
//! plugin's state. The caller decides which changes last ([`MacroVariables::keep_changes`]).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::js_number;

/// Longest value in bytes: a value that keeps doubling would fill the memory.
pub const MAX_VALUE: usize = 1 << 20;
/// Largest list index that is filled up with nulls.
pub const MAX_LIST: usize = 10_000;

/// The local or global variables.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MacroVariables {
    map: Map<String, Value>,
    /// The names that were written or removed since the last text; for a path, its first part.
    changed: BTreeSet<String>,
    /// The values of the changes that last; `None` = removed.
    kept: BTreeMap<String, Option<Value>>,
    /// Whether a write was refused, because the value is too large or the place does not exist.
    pub has_rejected_write: bool,
    /// Bytes parsed to look into values; the caller limits it.
    pub work: usize,
}

impl MacroVariables {
    /// Creates variables from a map.
    pub fn new(map: Map<String, Value>) -> Self {
        Self { map, ..Self::default() }
    }

    /// Returns all variables.
    pub const fn map(&self) -> &Map<String, Value> {
        &self.map
    }

    /// Makes the changes so far last: other texts cannot change them any more, unless they are kept too.
    pub fn keep_changes(&mut self) {
        for name in std::mem::take(&mut self.changed) {
            let value = self.map.get(&name).cloned();
            self.kept.insert(name, value);
        }
    }

    /// Forgets that the values which were written since [`Self::keep_changes`] are changes. They stay visible.
    pub fn forget_changes(&mut self) {
        self.changed.clear();
    }

    /// Returns the changes that last, by name: the value, or `None` for a removed variable.
    pub const fn kept(&self) -> &BTreeMap<String, Option<Value>> {
        &self.kept
    }

    /// Returns a value by name, else by path.
    pub fn value(&self, name: &str) -> Option<&Value> {
        if let Some(value) = self.map.get(name) {
            return Some(value);
        }
        let mut keys = name.split(['.', '/']);
        let first = self.map.get(keys.next()?)?;
        keys.try_fold(first, |inside, key| match inside {
            Value::Object(map) => map.get(key),
            Value::Array(list) => list.get(key.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// Returns a value as text; empty if there is none.
    pub fn text(&self, name: &str) -> String {
        self.value(name).map(text).unwrap_or_default()
    }

    /// Returns whether a variable or path exists.
    pub fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// Sets a value. A path is followed only if it exists; otherwise it becomes a new name.
    pub fn set(&mut self, name: &str, value: Value) {
        let size = if let Value::String(text) = &value { text.len() } else { 0 };
        if size > MAX_VALUE || name.len() > MAX_VALUE {
            self.has_rejected_write = true;
            return;
        }
        let Some(place) = self.value_mut(name) else {
            self.changed.insert(name.to_owned());
            self.map.insert(name.to_owned(), value);
            return;
        };
        *place = value;
        self.mark_changed(name);
    }

    /// Removes a variable, or the value at a path.
    pub fn remove(&mut self, name: &str) {
        if self.map.shift_remove(name).is_some() {
            self.changed.insert(name.to_owned());
            return;
        }
        let Some((above, key)) = name.rsplit_once(['.', '/']) else { return };
        if let Some(Value::Object(map)) = self.value_mut(above)
            && map.shift_remove(key).is_some()
        {
            self.mark_changed(name);
        }
    }

    fn mark_changed(&mut self, name: &str) {
        let first = if self.map.contains_key(name) { name } else { name.split(['.', '/']).next().unwrap_or(name) };
        self.changed.insert(first.to_owned());
    }

    /// Returns the value of a name, or of an existing path.
    fn value_mut(&mut self, name: &str) -> Option<&mut Value> {
        if self.map.contains_key(name) {
            return self.map.get_mut(name);
        }
        let keys: Vec<&str> = name.split(['.', '/']).collect();
        let (first, rest) = keys.split_first().filter(|(_, rest)| !rest.is_empty())?;
        let mut place = self.map.get_mut(*first)?;
        for key in rest {
            place = match place {
                Value::Object(map) => map.get_mut(*key)?,
                Value::Array(list) => list.get_mut(key.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        Some(place)
    }

    /// Adds a value: appends to a list, adds two numbers, else concatenates text.
    pub fn add(&mut self, name: &str, more: Value) {
        if let Some(Value::Array(list)) = self.value_mut(name) {
            list.push(more);
            return self.mark_changed(name);
        }
        if let Some(Value::Array(mut list)) = self.as_json(name) {
            list.push(more);
            return self.set(name, Value::String(Value::Array(list).to_string()));
        }
        let now = self.text(name);
        let more = match more {
            Value::String(more) => more,
            other => other.to_string(),
        };
        let sum = match (js_number::read(&now), js_number::read(&more)) {
            (Some(now), Some(more)) => js_number::to_json(now + more),
            (Some(0.0), _) => Value::String(more),
            _ => Value::String(now + &more),
        };
        self.set(name, sum);
    }

    /// Parses a variable's text as JSON.
    fn as_json(&mut self, name: &str) -> Option<Value> {
        let Some(Value::String(text)) = self.value(name) else { return None };
        let (length, parsed) = (text.len(), serde_json::from_str(text).ok());
        self.work += length;
        parsed
    }

    /// Subtracts a number; a text that is no number does nothing.
    pub fn subtract(&mut self, name: &str, less: &str) {
        if let Some(less) = js_number::read(less) {
            self.add(name, js_number::to_json(-less));
        }
    }

    /// Returns the value at a key of a map or an index of a list, as text; empty if there is none. A text that is no
    /// JSON is returned whole.
    pub fn get_inside(&mut self, name: &str, key: &str) -> String {
        match (self.as_json(name), self.value(name)) {
            (Some(parsed), _) => at_key(&parsed, key).map(text).unwrap_or_default(),
            (None, Some(Value::String(_))) => self.text(name),
            (None, value) => value.and_then(|value| at_key(value, key)).map(text).unwrap_or_default(),
        }
    }

    /// Sets a text at a key of a map or an index of a list. A missing variable becomes a list for a numeric key, else a
    /// map. Any other value stays unchanged.
    pub fn set_inside(&mut self, name: &str, key: &str, value: &str) {
        let value = Value::String(value.to_owned());
        if let Some(place @ (Value::Array(_) | Value::Object(_))) = self.value_mut(name) {
            match put(place, key, value) {
                true => self.mark_changed(name),
                false => self.has_rejected_write = true,
            }
            return;
        }
        let fresh = if js_number::read(key).is_some() { Value::Array(Vec::new()) } else { Value::Object(Map::new()) };
        let parsed = if self.has(name) { self.as_json(name) } else { Some(Value::Null) };
        let Some(mut parsed) = parsed.map(|parsed| if parsed.is_null() { fresh } else { parsed }) else { return };
        match put(&mut parsed, key, value) {
            true => self.set(name, Value::String(parsed.to_string())),
            false => self.has_rejected_write = true,
        }
    }
}

fn at_key<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(map) => map.get(key),
        Value::Array(list) => list.get(place_in_list(key)?),
        _ => None,
    }
}

/// Puts a value at a key; returns false if that is impossible.
fn put(inside: &mut Value, key: &str, value: Value) -> bool {
    match inside {
        Value::Object(map) => _ = map.insert(key.to_owned(), value),
        Value::Array(list) => {
            let Some(at) = place_in_list(key).filter(|at| *at < list.len().max(MAX_LIST)) else { return false };
            while list.len() <= at {
                list.push(Value::Null);
            }
            if let Some(place) = list.get_mut(at) {
                *place = value;
            }
        }
        _ => return false,
    }
    true
}

fn place_in_list(key: &str) -> Option<usize> {
    let number = js_number::read(key)?;
    js_number::write(number).parse().ok()
}

/// Converts a value to text. A numeric text is normalized as in SillyTavern: `007` is 7. Numbers too large to be exact
/// stay as written.
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.trim().is_empty() => text.clone(),
        Value::String(text) => {
            let number = js_number::read(text).filter(|number| number.abs() <= js_number::MAX_EXACT_INTEGER);
            number.map_or_else(|| text.clone(), js_number::write)
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn variables(map: Value) -> MacroVariables {
        MacroVariables::new(map.as_object().unwrap().clone())
    }

    /// Formats 1: index and key access; lists and maps keep their form, as JSON values or as text.
    #[test]
    fn macro_variables_lists_and_maps_keep_json_form() {
        let mut own = variables(json!({"t": "[1]", "l": [1], "m": {"a": 1}}));
        own.add("t", json!("x"));
        own.add("l", json!("x"));
        own.set_inside("m", "b", "2");
        own.set_inside("l", "3", "y");
        assert_eq!(
            Value::Object(own.map().clone()),
            json!({"t": "[1,\"x\"]", "l": [1, "x", null, "y"], "m": {"a": 1, "b": "2"}})
        );
        assert_eq!(
            (own.get_inside("l", "0"), own.get_inside("m", "b"), own.get_inside("m", "c")),
            ("1".into(), "2".into(), "".into())
        );
    }

    /// `domain.md` 6.4: a path reads a value deeper in the state of a plugin.
    #[test]
    fn macro_variables_path_reads_nested_value() {
        let mut own = variables(json!({"combat": {"hp": 20, "foes": [{"hp": 3}]}, "a.b": 1}));
        assert_eq!(
            (own.text("combat.hp"), own.text("combat/foes/0/hp"), own.text("a.b")),
            ("20".into(), "3".into(), "1".into())
        );
        own.add("combat.hp", json!(5));
        own.set("combat.gone.x", json!(1));
        own.remove("combat.foes");
        assert_eq!(Value::Object(own.map().clone()), json!({"combat": {"hp": 25}, "a.b": 1, "combat.gone.x": 1}));
        assert_eq!([text(&json!("007")), text(&json!("12345678901234567890"))], ["7", "12345678901234567890"]);
        own.keep_changes();
        assert_eq!(own.kept().keys().map(String::as_str).collect::<Vec<_>>(), ["combat", "combat.gone.x"]);
    }

    /// Bad input: nothing grows without limit.
    #[test]
    fn macro_variables_oversized_value_is_rejected() {
        let mut own = variables(json!({"x": "a"}));
        for _ in 0..40 {
            let twice = own.text("x").repeat(2);
            own.set("x", Value::String(twice));
        }
        assert!(own.has_rejected_write && own.text("x").len() <= MAX_VALUE);
        own.has_rejected_write = false;
        own.set_inside("far", "999999999", "x");
        own.set_inside("far", "1e300", "x");
        own.set_inside("far", "-1", "x");
        assert!(own.has_rejected_write && !own.has("far"));
    }
}
