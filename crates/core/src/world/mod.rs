//! The world: the JSON document that is a node's state, and the only function that changes one.
//!
//! - [`Pointer`] names a place in it, [`StateOperation`] is one recorded intent, [`Schema`] governs one root of
//!   `vars`.
//! - [`fold()`] applies operations under a [`SchemaSet`] and returns what it clamped or skipped.
//! - [`diff()`] compares two worlds for display; [`ChangedPaths`] finds the operations behind the differences.
//!
//! All of it is pure: no I/O, no clock, no framework. To add a kind of operation: a variant in
//! [`operation::StateChange`], its JSON in `operation.rs`, its arm in `fold/edit.rs`, and a line in the fold's table
//! of tests. To add a schema keyword: see `schema/mod.rs`; unknown keywords are refused when the schema is parsed.

pub mod canonical;
mod changed_paths;
pub mod condition;
pub mod diff;
pub mod fold;
mod name_match;
pub mod number;
pub mod operation;
pub mod pointer;
mod problem;
pub mod schema;
mod value_kind;

use serde::Serialize;
use serde_json::{Map, Value};

pub use changed_paths::ChangedPaths;
pub use condition::{Condition, ConditionError};
pub use diff::{PathChange, diff};
pub use fold::{fold, fold_incremental};
pub use name_match::find_equivalent_name;
pub use operation::{MalformedOperation, StateChange, StateOperation, WorldSection};
pub use pointer::Pointer;
pub use problem::{Problem, ProblemDetail, ProblemKind};
pub use schema::{Schema, SchemaError, SchemaNode, SchemaSet};
pub use value_kind::{LengthPhrase, QuotedValue, ValueKind, ValueKinds};

/// The state at one node (`domain.md` 3): values of plugins (`vars`), active lore, the rolling summary and confirmed
/// events. Derived: always equal to the fold of the operations from the root.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct World {
    /// Free JSON, except below the roots that schemas govern.
    pub vars: Map<String, Value>,
    /// `{"active": […], "timers": {…}}`; only the server writes it.
    pub lore: Map<String, Value>,
    /// The rolling summary; only the server writes it.
    pub summary: String,
    /// `[{text, tags, node}]`; only the server writes it.
    pub events: Vec<Value>,
}

impl World {
    /// Returns the JSON form: `{vars, lore, summary, events}`.
    pub fn to_json(&self) -> Value {
        // This cannot fail: all keys are strings and all numbers are JSON numbers.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Returns the JSON form as text.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses the JSON form; `None` unless it is an object with known sections of the right types. Missing sections
    /// are empty.
    pub fn from_json(value: Value) -> Option<Self> {
        let Value::Object(mut sections) = value else { return None };
        let world = Self {
            vars: object(sections.shift_remove("vars"))?,
            lore: object(sections.shift_remove("lore"))?,
            summary: match sections.shift_remove("summary") {
                None => String::new(),
                Some(Value::String(text)) => text,
                Some(_) => return None,
            },
            events: match sections.shift_remove("events") {
                None => Vec::new(),
                Some(Value::Array(events)) => events,
                Some(_) => return None,
            },
        };
        sections.is_empty().then_some(world)
    }

    /// Returns the blake3 hash of the canonical JSON, in hexadecimal. Equal worlds have equal hashes, whatever the
    /// order of their keys.
    pub fn hash(&self) -> String {
        let mut text = String::from("{\"events\":");
        canonical::write_list(&self.events, &mut text);
        text.push_str(",\"lore\":");
        canonical::write_map(&self.lore, &mut text);
        text.push_str(",\"summary\":");
        canonical::write_text(&self.summary, &mut text);
        text.push_str(",\"vars\":");
        canonical::write_map(&self.vars, &mut text);
        text.push('}');
        canonical::digest(&text)
    }

    /// Returns the value at a pointer below `vars`.
    pub fn get(&self, path: &Pointer) -> Option<&Value> {
        path.find(&self.vars)
    }
}

fn object(value: Option<Value>) -> Option<Map<String, Value>> {
    match value {
        None => Some(Map::new()),
        Some(Value::Object(map)) => Some(map),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// S3-07: any JSON value round-trips byte-equal.
    #[test]
    fn world_json_round_trip_is_byte_equal() {
        let text = concat!(
            r#"{"vars":{"big":9007199254740993,"tenth":0.1,"one":1.0,"huge":123456789012345678901234567890,"#,
            r#""nothing":null,"yes":true,"包/~":{"é":["🗡",[],{}]},"":""},"lore":{"active":[1]},"summary":"so\nfar","events":[{"text":"x"}]}"#
        );
        let world = World::from_json(serde_json::from_str(text).unwrap()).unwrap();
        assert_eq!(world.to_json().to_string(), text);
    }

    #[test]
    fn world_from_json_wrong_section_returns_none() {
        assert_eq!(World::from_json(json!({})), Some(World::default()));
        for wrong in [json!([]), json!({"vars": []}), json!({"summary": null}), json!({"events": {}}), json!({"x": 1})]
        {
            assert_eq!(World::from_json(wrong.clone()), None, "{wrong}");
        }
    }

    /// S3-06: the hash tells whether a state changed, and equals the hash of the canonical JSON.
    #[test]
    fn world_hash_equals_canonical_json_hash() {
        let read = |value: Value| World::from_json(value).unwrap();
        let world = read(
            json!({"vars": {"b": {"y": 1, "x": "\n"}, "a": 0.1}, "summary": "s", "events": [1], "lore": {"k": 1}}),
        );
        assert_eq!(world.hash(), canonical::hash(&world.to_json()));
        assert_eq!(
            world.hash(),
            read(
                json!({"lore": {"k": 1}, "events": [1], "summary": "s", "vars": {"a": 0.1, "b": {"x": "\n", "y": 1}}})
            )
            .hash()
        );
        assert_ne!(world.hash(), read(json!({"vars": {"a": 0.2}})).hash());
    }
}
