//! The world: the JSON document that a node's state is, and the only function that changes one.
//!
//! - [`Pointer`] names a place in it, [`Operation`] is one recorded intent, [`Schema`] governs one root of `vars`.
//! - [`fold`] applies operations under [`Rules`] and answers with what it had to bend or leave out.
//! - [`diff()`] compares two worlds for display.
//!
//! All of it is pure: no I/O, no clock, no framework. To add a kind of operation: a variant in [`op::Change`], its JSON
//! in `op.rs`, its arm in `fold.rs`, and a line in the fold's table of tests. To add a schema keyword: `schema.rs`,
//! where every keyword that is not known is refused when the schema is read, so that none passes silently.

pub mod diff;
pub mod fold;
pub mod number;
pub mod op;
pub mod pointer;
pub mod schema;

use serde_json::{Map, Value, json};

pub use diff::{PathChange, diff};
pub use fold::{Problem, ProblemKind, fold};
pub use op::{Change, MalformedOperation, Operation, Section};
pub use pointer::Pointer;
pub use schema::{Rules, Schema, SchemaError};

/// The state at one node (`domain.md` 3): what plugins wrote (`vars`), which lore was active, the rolling summary and
/// the confirmed events. Derived: always equal to the fold of the operations from the root.
#[derive(Debug, Clone, Default, PartialEq)]
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
    /// The JSON form: `{vars, lore, summary, events}`.
    pub fn to_json(&self) -> Value {
        json!({"vars": self.vars, "lore": self.lore, "summary": self.summary, "events": self.events})
    }

    /// Reads the JSON form; `None` if it is not an object with sections of the right types. Missing sections are empty.
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

    /// The value at a pointer below `vars`, if there is one.
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
