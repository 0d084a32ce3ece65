//! A delta: what a node does to its parent's world, and the record of how that came about.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::world::{Problem, ProblemKind, StateOperation};

/// The operations of one node with everything that was recorded while they were made. A fact.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Delta {
    /// What changes, in order.
    pub operations: Vec<StateOperation>,
    /// Visible lines under the node, each with the plugin that wrote it.
    pub notes: Vec<NodeNote>,
    /// What went wrong, for people.
    pub problems: Vec<NodeProblem>,
    /// Every draw of chance: `{plugin, hook, n, spec, dice, total}`.
    pub rolls: Vec<Value>,
    /// Every hook that ran: `{plugin, version, hook, ops, rolls, notes, warnings, log, micros, operations, error}`; and every rule of
    /// a manifest that fired, with `rule:<name>` as its hook and `because` it fired.
    #[serde(rename = "rules")]
    pub runs: Vec<Value>,
}

/// A visible line under a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeNote {
    /// The plugin that wrote it.
    pub plugin: String,
    /// The line.
    pub text: String,
}

/// Something that went wrong while a node was made; the prose is never lost by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeProblem {
    /// A stable word: `nothing_there`, `refused`, or the kind of a script's error.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// The plugin it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
}

impl Delta {
    /// Whether a hook of a plugin ran and did not fail.
    pub fn hook_succeeded(&self, plugin: &str, hook: &str) -> bool {
        let is = |run: &Value, key: &str, word: &str| run.get(key).and_then(Value::as_str) == Some(word);
        let own = self.runs.iter().filter(|run| is(run, "plugin", plugin) && is(run, "hook", hook));
        own.map(|run| run.get("error").is_none_or(Value::is_null)).next_back().unwrap_or(false)
    }

    /// Whether nothing at all is recorded.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what the fold did with the operations, each under the plugin that proposed it: a number that it brought into
    /// range or rounded is a note, what it had to leave out is a problem (`docs/domain.md` 3.4).
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

    /// The served form as a value.
    pub fn to_json(&self) -> Value {
        // Nothing in it can be refused: its keys are texts and its numbers are JSON's own.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The stored form: the same as a text.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the stored form; `None` if it is not one.
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
    /// The served form as a value.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn from_json(value: &Value) -> Option<Self> {
        let map = value.as_object()?;
        Some(Self { plugin: text(map, "plugin")?, text: text(map, "text")? })
    }
}

impl NodeProblem {
    /// The served form as a value.
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
