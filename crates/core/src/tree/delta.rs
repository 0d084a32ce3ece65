//! Deltas: the operations a node applies to its parent's world, and how they were produced.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::world::{Problem, ProblemKind, StateOperation};

/// The operations of one node with everything recorded while they were produced. Immutable.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Delta {
    /// In order of application.
    pub operations: Vec<StateOperation>,
    /// Visible lines under the node.
    pub notes: Vec<NodeNote>,
    pub problems: Vec<NodeProblem>,
    /// Every random draw: `{plugin, hook, n, spec, dice, total}`.
    pub rolls: Vec<Value>,
    /// Every hook call: `{plugin, version, hook, ops, rolls, notes, warnings, log, micros, operations, error}`. Also
    /// every fired manifest rule, with hook `rule:<name>` and a `because` field.
    #[serde(rename = "rules")]
    pub runs: Vec<Value>,
}

/// A visible line under a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeNote {
    /// The id of the plugin that wrote it.
    pub plugin: String,
    pub text: String,
}

/// Something that went wrong while a node was produced. It never costs the text of the node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeProblem {
    /// A stable code: `nothing_there`, `refused`, or the kind of a script error.
    pub code: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
}

impl Delta {
    /// Returns whether a plugin's hook ran and its last call did not fail.
    pub fn hook_succeeded(&self, plugin: &str, hook: &str) -> bool {
        let is = |run: &Value, key: &str, word: &str| run.get(key).and_then(Value::as_str) == Some(word);
        let own = self.runs.iter().filter(|run| is(run, "plugin", plugin) && is(run, "hook", hook));
        own.map(|run| run.get("error").is_none_or(Value::is_null)).next_back().unwrap_or(false)
    }

    /// Returns whether nothing is recorded.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Records the fold's problems, each under the plugin that proposed the operation. A clamped or rounded number
    /// becomes a note, a skipped operation a problem (`docs/domain.md` 3.4).
    pub fn record_problems(&mut self, problems: &[Problem]) {
        for problem in problems {
            let by = self.operations.get(problem.operation).map(|operation| operation.by.clone());
            let text = problem.message.clone();
            let code = match problem.kind {
                ProblemKind::Clamped | ProblemKind::Rounded => {
                    self.notes.push(NodeNote { plugin: by.unwrap_or_default(), text });
                    continue;
                }
                ProblemKind::NothingThere => "nothing_there",
                ProblemKind::Refused => "refused",
            };
            self.problems.push(NodeProblem { code: code.into(), message: text, plugin: by });
        }
    }

    /// Returns the wire form as a JSON value.
    pub fn to_json(&self) -> Value {
        // This cannot fail: all keys are strings and all numbers are JSON numbers.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Returns the stored form: the wire form as text.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses the stored form; `None` if it is malformed.
    pub fn from_json(value: &Value) -> Option<Self> {
        let list = |key: &str| value.get(key).and_then(Value::as_array);
        Some(Self {
            operations: list("operations")?.iter().map(|v| StateOperation::from_json(v).ok()).collect::<Option<_>>()?,
            notes: list("notes")?.iter().map(NodeNote::from_json).collect::<Option<_>>()?,
            problems: list("problems")?.iter().map(NodeProblem::from_json).collect::<Option<_>>()?,
            rolls: list("rolls")?.clone(),
            runs: list("rules")?.clone(),
        })
    }
}

impl NodeNote {
    /// Returns the wire form as a JSON value.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn from_json(value: &Value) -> Option<Self> {
        let map = value.as_object()?;
        Some(Self { plugin: text(map, "plugin")?, text: text(map, "text")? })
    }
}

impl NodeProblem {
    /// Returns the wire form as a JSON value.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn from_json(value: &Value) -> Option<Self> {
        let map = value.as_object()?;
        Some(Self { code: text(map, "code")?, message: text(map, "message")?, plugin: text(map, "plugin") })
    }
}

fn text(map: &Map<String, Value>, key: &str) -> Option<String> {
    map.get(key).and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{Pointer, StateChange};
    use serde_json::json;

    #[test]
    fn delta_json_round_trips() {
        let add = StateChange::Add(serde_json::Number::from(-12));
        let delta = Delta {
            operations: vec![StateOperation::new(
                Pointer::from_keys(["combat", "hp"]),
                add,
                "took 12 damage",
                "combat",
            )],
            notes: vec![NodeNote { plugin: "combat".into(), text: "ouch".into() }],
            problems: vec![NodeProblem { code: "refused".into(), message: "hp is a number".into(), plugin: None }],
            rolls: vec![json!({"spec": "2d6", "total": 7})],
            runs: vec![json!({"plugin": "combat", "hook": "on_reply"})],
        };
        let json = json!({
            "operations": [
                {"op": "add", "path": "/combat/hp", "value": -12, "why": "took 12 damage", "by": "combat"},
            ],
            "notes": [{"plugin": "combat", "text": "ouch"}],
            "problems": [{"code": "refused", "message": "hp is a number"}],
            "rolls": [{"spec": "2d6", "total": 7}],
            "rules": [{"plugin": "combat", "hook": "on_reply"}],
        });
        assert_eq!(delta.to_json(), json);
        assert_eq!(delta.to_text(), json.to_string(), "one form, whoever asks for it");
        assert_eq!(Delta::from_json(&json), Some(delta));
        assert!(Delta::default().is_empty());
    }
}
