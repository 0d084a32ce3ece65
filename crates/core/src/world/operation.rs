//! Operations: recorded changes of a world, as they were *meant*. `add /combat/hp -12` stays valid on another base.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Number, Value};

use super::pointer::{MalformedPointer, Pointer};

/// The section of the world that an operation changes. Only the server writes sections other than `Vars`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum WorldSection {
    /// Values of plugins and people.
    #[default]
    Vars,
    /// Active lore entries and their timers.
    Lore,
    /// The rolling summary (a text: only `set` with an empty path).
    Summary,
    /// Confirmed events (a list: only `append` and `take` with an empty path).
    Events,
}

/// The change at the path.
#[derive(Debug, Clone, PartialEq)]
pub enum StateChange {
    /// Adds to a number; a missing number counts as 0.
    Add(Number),
    /// Sets a value and creates missing maps on the path.
    Set(Value),
    /// Removes a value; a missing one is noted, but is no error.
    Remove,
    /// Sets a key of the map at the path; a missing map is created.
    Insert { key: String, value: Value },
    /// Appends to the list at the path; a missing list is created.
    Append(Value),
    /// Removes the first equal value from the list at the path.
    Take(Value),
    /// Moves the value at `from` to the path.
    Move { from: Pointer },
}

impl StateChange {
    /// Returns the word used on the wire.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Add(_) => "add",
            Self::Set(_) => "set",
            Self::Remove => "remove",
            Self::Insert { .. } => "insert",
            Self::Append(_) => "append",
            Self::Take(_) => "take",
            Self::Move { .. } => "move",
        }
    }
}

/// One operation of a delta (`domain.md` 3.3). Immutable: it records what was proposed, before any clamping.
#[derive(Debug, Clone, PartialEq)]
pub struct StateOperation {
    pub section: WorldSection,
    /// The path from the top of the section.
    pub path: Pointer,
    pub change: StateChange,
    /// The reason shown to people, such as "took 12 damage".
    pub why: String,
    /// Who proposed it: a plugin's id, `user`, or `server`.
    pub by: String,
}

impl StateOperation {
    /// Creates an operation on `vars`.
    pub fn new(path: Pointer, change: StateChange, why: impl Into<String>, by: impl Into<String>) -> Self {
        Self { section: WorldSection::Vars, path, change, why: why.into(), by: by.into() }
    }

    /// Returns whether a merge may apply it to another branch. Active lore and its timers belong to one branch. That
    /// a rule has fired once and for all applies to both.
    pub fn applies_on_other_branch(&self) -> bool {
        let is_for_good = || matches!(self.path.keys(), [rules, _, _, once] if rules == "rules" && once == "once");
        self.section != WorldSection::Lore || is_for_good()
    }

    /// Returns the wire form as a JSON value.
    pub fn to_json(&self) -> Value {
        // This cannot fail: all keys are strings and all numbers are JSON numbers.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Parses the wire form.
    ///
    /// # Errors
    /// Returns an error that names the missing, unknown or mistyped field.
    pub fn from_json(value: &Value) -> Result<Self, MalformedOperation> {
        let map = value.as_object().ok_or(MalformedOperation::NotAnObject)?;
        OperationParser { map }.operation()
    }
}

/// The wire form: `{in?, op, path, value?, key?, from?, why?, by?}`; empty and default fields are omitted.
impl Serialize for StateOperation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.section {
            WorldSection::Vars => {}
            WorldSection::Lore => map.serialize_entry("in", "lore")?,
            WorldSection::Summary => map.serialize_entry("in", "summary")?,
            WorldSection::Events => map.serialize_entry("in", "events")?,
        }
        map.serialize_entry("op", self.change.as_str())?;
        map.serialize_entry("path", &self.path)?;
        match &self.change {
            StateChange::Remove => {}
            StateChange::Add(number) => map.serialize_entry("value", number)?,
            StateChange::Set(value) | StateChange::Append(value) | StateChange::Take(value) => {
                map.serialize_entry("value", value)?
            }
            StateChange::Insert { key, value } => {
                map.serialize_entry("key", key)?;
                map.serialize_entry("value", value)?;
            }
            StateChange::Move { from } => map.serialize_entry("from", from)?,
        }
        if !self.why.is_empty() {
            map.serialize_entry("why", &self.why)?;
        }
        if !self.by.is_empty() {
            map.serialize_entry("by", &self.by)?;
        }
        map.end()
    }
}

/// The error for a malformed operation on the wire.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MalformedOperation {
    /// It is not a JSON object.
    #[error("an operation must be an object")]
    NotAnObject,
    /// A field that this kind of operation needs is missing.
    #[error("\"{0}\" is missing")]
    Missing(&'static str),
    /// A field that this kind of operation does not have.
    #[error("\"{0}\" is not a field of this operation")]
    Unknown(String),
    /// A field of the wrong type or with an unknown word.
    #[error("\"{field}\": expected {expected}")]
    Wrong { field: &'static str, expected: &'static str },
    /// A path that is not a JSON Pointer.
    #[error("\"{field}\": {source}")]
    Path {
        /// `path` or `from`.
        field: &'static str,
        source: MalformedPointer,
    },
}

struct OperationParser<'a> {
    map: &'a Map<String, Value>,
}

impl OperationParser<'_> {
    fn operation(&self) -> Result<StateOperation, MalformedOperation> {
        let change = self.change()?;
        self.reject_unknown_fields(&change)?;
        Ok(StateOperation {
            section: self.section()?,
            path: self.pointer("path")?,
            change,
            why: self.text("why")?.unwrap_or_default().to_owned(),
            by: self.text("by")?.unwrap_or_default().to_owned(),
        })
    }

    fn change(&self) -> Result<StateChange, MalformedOperation> {
        const WORDS: &str = "add, set, remove, insert, append, take or move";
        match self.text("op")?.ok_or(MalformedOperation::Missing("op"))? {
            "add" => match self.value()? {
                Value::Number(number) => Ok(StateChange::Add(number.clone())),
                _ => Err(MalformedOperation::Wrong { field: "value", expected: "a number" }),
            },
            "set" => Ok(StateChange::Set(self.value()?.clone())),
            "remove" => Ok(StateChange::Remove),
            "insert" => {
                let key = self.text("key")?.ok_or(MalformedOperation::Missing("key"))?.to_owned();
                Ok(StateChange::Insert { key, value: self.value()?.clone() })
            }
            "append" => Ok(StateChange::Append(self.value()?.clone())),
            "take" => Ok(StateChange::Take(self.value()?.clone())),
            "move" => Ok(StateChange::Move { from: self.pointer("from")? }),
            _ => Err(MalformedOperation::Wrong { field: "op", expected: WORDS }),
        }
    }

    fn section(&self) -> Result<WorldSection, MalformedOperation> {
        match self.text("in")? {
            None | Some("vars") => Ok(WorldSection::Vars),
            Some("lore") => Ok(WorldSection::Lore),
            Some("summary") => Ok(WorldSection::Summary),
            Some("events") => Ok(WorldSection::Events),
            Some(_) => Err(MalformedOperation::Wrong { field: "in", expected: "vars, lore, summary or events" }),
        }
    }

    fn reject_unknown_fields(&self, change: &StateChange) -> Result<(), MalformedOperation> {
        let own: &[&str] = match change {
            StateChange::Remove => &[],
            StateChange::Insert { .. } => &["key", "value"],
            StateChange::Move { .. } => &["from"],
            _ => &["value"],
        };
        let known = |key: &str| ["in", "op", "path", "why", "by"].contains(&key) || own.contains(&key);
        match self.map.keys().find(|key| !known(key)) {
            Some(key) => Err(MalformedOperation::Unknown(key.clone())),
            None => Ok(()),
        }
    }

    fn value(&self) -> Result<&Value, MalformedOperation> {
        self.map.get("value").ok_or(MalformedOperation::Missing("value"))
    }

    fn text(&self, field: &'static str) -> Result<Option<&str>, MalformedOperation> {
        match self.map.get(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(MalformedOperation::Wrong { field, expected: "a string" }),
        }
    }

    fn pointer(&self, field: &'static str) -> Result<Pointer, MalformedOperation> {
        let text = self.text(field)?.ok_or(MalformedOperation::Missing(field))?;
        text.parse().map_err(|source| MalformedOperation::Path { field, source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn operation_json_round_trips() {
        for wire in [
            json!({"op": "add", "path": "/combat/hp", "value": -12, "why": "took 12 damage", "by": "combat"}),
            json!({"op": "set", "path": "/a", "value": null}),
            json!({"op": "remove", "path": "/a/b"}),
            json!({"op": "insert", "path": "/pack", "key": "rope", "value": {"n": 1}}),
            json!({"op": "append", "path": "/list", "value": "x"}),
            json!({"op": "take", "path": "/list", "value": "x"}),
            json!({"op": "move", "path": "/b", "from": "/a"}),
            json!({"in": "summary", "op": "set", "path": "", "value": "so far"}),
        ] {
            let operation = StateOperation::from_json(&wire).unwrap();
            assert_eq!(operation.to_json(), wire);
            // The stored and the served text are the same, including the order of the keys.
            assert_eq!(serde_json::to_string(&operation).unwrap(), wire.to_string());
        }
    }

    #[test]
    fn operation_malformed_json_names_field() {
        let check = |wire: Value, message: &str| {
            assert_eq!(StateOperation::from_json(&wire).unwrap_err().to_string(), message, "{wire}");
        };
        check(json!([]), "an operation must be an object");
        check(json!({"path": "/a"}), "\"op\" is missing");
        check(json!({"op": "add", "path": "/a", "value": "1"}), "\"value\": expected a number");
        check(json!({"op": "set", "path": "/a"}), "\"value\" is missing");
        check(json!({"op": "set", "path": "a", "value": 1}), "\"path\": a path begins with \"/\"");
        check(json!({"op": "remove", "path": "/a", "value": 1}), "\"value\" is not a field of this operation");
        check(json!({"op": "set", "path": "/a", "valeu": 1, "value": 1}), "\"valeu\" is not a field of this operation");
    }
}
