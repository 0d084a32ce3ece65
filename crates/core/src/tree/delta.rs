//! Deltas: the operations a node applies to its parent's world, and how they were produced.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::coded_message::{CodedMessage, MessageArgs, args_from_json};
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NodeNote {
    /// The id of the plugin that wrote it.
    pub plugin: String,
    /// The line in English, or as the plugin wrote it.
    pub text: String,
    /// A stable code if the server wrote the line; empty otherwise.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// The arguments of the code.
    #[serde(skip_serializing_if = "MessageArgs::is_empty")]
    pub args: MessageArgs,
}

/// Something that went wrong while a node was produced. It never costs the text of the node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NodeProblem {
    /// A stable code. Nodes of version 0.1.0 have `refused` or `nothing_there` for every problem of an operation.
    pub code: String,
    /// The arguments of the code. Nodes of version 0.1.0 have none.
    #[serde(skip_serializing_if = "MessageArgs::is_empty")]
    pub args: MessageArgs,
    /// One English sentence made from code and arguments.
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
            match problem.kind() {
                ProblemKind::Clamped | ProblemKind::Rounded => self.notes.push(NodeNote {
                    plugin: by.unwrap_or_default(),
                    text: problem.to_string(),
                    code: problem.code().to_owned(),
                    args: problem.args(),
                }),
                ProblemKind::NothingThere | ProblemKind::Refused => self.problems.push(NodeProblem::new(problem, by)),
            }
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
    /// Returns a line that a plugin wrote.
    pub fn of_plugin(plugin: impl Into<String>, text: impl Into<String>) -> Self {
        Self { plugin: plugin.into(), text: text.into(), ..Self::default() }
    }

    /// Returns the wire form as a JSON value.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn from_json(value: &Value) -> Option<Self> {
        let map = value.as_object()?;
        let code = text(map, "code").unwrap_or_default();
        Some(Self {
            plugin: text(map, "plugin")?,
            text: text(map, "text")?,
            code,
            args: args_from_json(map.get("args")),
        })
    }
}

impl NodeProblem {
    /// Returns a problem of a node, with the plugin concerned.
    pub fn new(message: &impl CodedMessage, plugin: Option<String>) -> Self {
        Self { code: message.code().to_owned(), args: message.args(), message: message.to_string(), plugin }
    }

    /// Returns the wire form as a JSON value.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn from_json(value: &Value) -> Option<Self> {
        let map = value.as_object()?;
        let args = args_from_json(map.get("args"));
        Some(Self { code: text(map, "code")?, args, message: text(map, "message")?, plugin: text(map, "plugin") })
    }
}

fn text(map: &Map<String, Value>, key: &str) -> Option<String> {
    map.get(key).and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{Pointer, ProblemDetail, StateChange};
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
            notes: vec![NodeNote::of_plugin("combat", "ouch")],
            problems: vec![NodeProblem {
                code: "refused".into(),
                message: "hp is a number".into(),
                ..NodeProblem::default()
            }],
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

    #[test]
    fn delta_records_code_and_args_of_problems() {
        let number = |n: i64| serde_json::Number::from(n);
        let problem = |detail| Problem { operation: 0, path: Pointer::from_keys(["hp"]), name: "hp".into(), detail };
        let mut delta = Delta::default();
        delta.record_problems(&[
            problem(ProblemDetail::BelowRange { value: number(-1), bound: number(0) }),
            problem(ProblemDetail::NotAbove { value: number(1), bound: number(2) }),
        ]);
        let json = delta.to_json();
        let (code, args) = ("below_range", json!({"name": "hp", "value": -1, "bound": 0}));
        let note = json!({"plugin": "", "text": "hp: -1 is below 0, kept at 0", "code": code, "args": args});
        let args = json!({"name": "hp", "value": 1, "bound": 2});
        let refused = json!({"code": "not_above", "args": args, "message": "hp: 1 must be above 2"});
        assert_eq!((&json["notes"], &json["problems"]), (&json!([note]), &json!([refused])));
        assert_eq!(Delta::from_json(&json), Some(delta));
    }
}
