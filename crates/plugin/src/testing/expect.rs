//! The expectations of a test and their comparison. Only what is written is compared.

use serde::Deserialize;
use serde_json::{Value, json};

use super::failure::PluginTestFailure;
use super::from_toml;
use crate::call::{HookAnswer, HookOutcome};
use crate::loaded::LoadedPlugin;
use crate::manifest_rules::RulesOutcome;
use crate::model_call::PluginModelCall;
use crate::plan::TextInjection;
use crate::summary::SummaryProposal;
use clotho_core::world::{Pointer, ProblemKind};

/// `[expect]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Expectation {
    /// All operations in order; of each, only the written fields are compared. Paths have the form of scripts.
    ops: Option<Vec<toml::Table>>,
    /// The plugin's values afterwards; of each map, only the written keys are compared.
    state: Option<toml::Table>,
    notes: Option<Vec<String>>,
    warnings: Option<Vec<String>>,
    /// The rules of the manifest that fire, in order.
    rules: Option<Vec<String>>,
    /// No warnings, and no operations that the schema refuses.
    no_warnings: bool,
    /// The totals of the rolls, in order.
    rolls: Option<Vec<i64>>,
    /// `on_input`: the replacement of the user's text. `narrate`: the whole reply. `on_display`: the text as shown.
    text: Option<String>,
    /// Parts that the text must contain.
    contains: Vec<String>,
    reply: Option<String>,
    stop: Option<bool>,
    /// A part of the message of `ctx.fail`.
    refused: Option<String>,
    /// `plan`: all injected texts in order; of each, only the written fields are compared.
    inject: Option<Vec<toml::Table>>,
    /// `plan`: the lorebook entries that it activates, in order.
    lore: Option<Vec<String>>,
    /// `plan`: the lorebook entries that it excludes.
    unlore: Option<Vec<String>>,
    /// The requested model calls in order; of each, only the written fields are compared.
    asks: Option<Vec<toml::Table>>,
    /// The proposed summary; only the written fields are compared. `false` for none.
    summary: Option<toml::Value>,
    /// `quick_replies`: the labels, in order.
    labels: Option<Vec<String>>,
    /// `quick_replies`: the texts that they send, in order.
    sends: Option<Vec<String>>,
    /// Tool: the result for the model; of each map, only the written keys are compared.
    answer: Option<toml::Value>,
    /// The hook must fail with a message that contains this.
    error: Option<String>,
}

/// Returns the differences between outcome and expectation.
pub(super) fn compare_outcome(
    plugin: &LoadedPlugin,
    expect: &Expectation,
    outcome: &HookOutcome,
    ran: &RulesOutcome,
) -> Vec<PluginTestFailure> {
    let mut compare = ExpectationCheck { failures: Vec::new() };
    match (&outcome.error, &expect.error) {
        (Some(error), None) => return vec![error.clone().into()],
        (Some(error), Some(part)) => compare.contains("error", part, &error.message),
        (None, Some(part)) => compare.fail("error", part, "no error"),
        (None, None) => {}
    }
    compare.answer(expect, &outcome.answer);
    compare.operations(plugin, expect, outcome);
    compare.compare_messages(expect, outcome);
    compare.plan(expect, outcome);
    compare.equal("rules", expect.rules.as_ref(), &ran.fired.iter().map(|fired| fired.rule.clone()).collect());
    if let Some(state) = &expect.state {
        let root = &plugin.manifest().state.root;
        let actual = outcome.world.as_ref().and_then(|world| world.get(root)).cloned().unwrap_or(Value::Null);
        compare.compare_value("state", &from_toml(&toml::Value::Table(state.clone())), &actual, &Pointer::default());
    }
    compare.failures
}

struct ExpectationCheck {
    failures: Vec<PluginTestFailure>,
}

impl ExpectationCheck {
    fn fail(&mut self, what: &str, expected: impl std::fmt::Display, found: impl std::fmt::Display) {
        self.failures.push(PluginTestFailure::difference(what, expected, found));
    }

    fn equal<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, expected: Option<&T>, found: &T) {
        if let Some(expected) = expected.filter(|expected| *expected != found) {
            self.fail(what, format!("{expected:?}"), format!("{found:?}"));
        }
    }

    fn contains(&mut self, what: &str, part: &str, whole: &str) {
        if !whole.contains(part) {
            self.fail(what, format!("something with {part:?}"), format!("{whole:?}"));
        }
    }

    fn answer(&mut self, expect: &Expectation, answer: &HookAnswer) {
        let mut text = None;
        let (mut reply, mut stop, mut refused) = (None, false, None);
        let (mut labels, mut sends, mut told) = (Vec::new(), Vec::new(), Value::Null);
        match answer {
            HookAnswer::Nothing => {}
            HookAnswer::Input { text: new, reply: own, stop: ends } => {
                (text, reply, stop) = (new.clone(), own.clone(), *ends)
            }
            HookAnswer::Refused(why) => refused = Some(why.clone()),
            HookAnswer::Narration(parts) => text = Some(parts.concat()),
            HookAnswer::Display(shown) => text = Some(shown.clone()),
            HookAnswer::QuickReplies(replies) => {
                (labels, sends) = replies.iter().map(|reply| (reply.label.clone(), reply.send.clone())).unzip();
            }
            HookAnswer::Value(value) => told = value.clone(),
        }
        if let Some(expected) = &expect.answer {
            self.compare_value("answer", &from_toml(expected), &told, &Pointer::default());
        }
        match (&expect.refused, &refused) {
            (Some(part), Some(why)) => self.contains("refused", part, why),
            (Some(part), None) => self.fail("refused", format!("{part:?}"), "no refusal"),
            (None, Some(why)) => self.fail("refused", "no refusal", format!("{why:?}")),
            (None, None) => {}
        }
        if let Some(expected) = &expect.text {
            self.equal("text", Some(&Some(expected.clone())), &text);
        }
        for part in &expect.contains {
            self.contains("contains", part, text.as_deref().unwrap_or_default());
        }
        if let Some(expected) = &expect.reply {
            self.equal("reply", Some(&Some(expected.clone())), &reply);
        }
        self.equal("stop", expect.stop.as_ref(), &stop);
        self.equal("labels", expect.labels.as_ref(), &labels);
        self.equal("sends", expect.sends.as_ref(), &sends);
    }

    fn compare_messages(&mut self, expect: &Expectation, outcome: &HookOutcome) {
        self.equal("notes", expect.notes.as_ref(), &outcome.notes);
        self.equal("warnings", expect.warnings.as_ref(), &outcome.warnings);
        self.equal("rolls", expect.rolls.as_ref(), &outcome.rolls.iter().map(|roll| roll.total).collect());
        if expect.no_warnings {
            for warning in &outcome.warnings {
                self.fail("no_warnings", "none", format!("{warning:?}"));
            }
            let refused = outcome.problems.iter().filter(|problem| problem.kind() == ProblemKind::Refused);
            for problem in refused {
                self.fail("no_warnings", "none", format!("{}: {problem}", problem.path));
            }
        }
    }

    fn operations(&mut self, plugin: &LoadedPlugin, expect: &Expectation, outcome: &HookOutcome) {
        let Some(expected) = &expect.ops else { return };
        let root = &plugin.manifest().state.root;
        let found: Vec<Value> =
            outcome.operations.iter().map(|operation| as_in_scripts(operation.to_json(), root)).collect();
        self.compare_list("ops", expected, &found);
    }

    /// Compares a whole list; of each item, only the written fields.
    fn compare_list(&mut self, what: &str, expected: &[toml::Table], found: &[Value]) {
        let fits = |(expected, found): (&toml::Table, &Value)| {
            expected.iter().all(|(key, value)| found.get(key).is_some_and(|found| equal(&from_toml(value), found)))
        };
        if expected.len() != found.len() || !expected.iter().zip(found).all(fits) {
            let expected = expected.iter().map(|table| from_toml(&toml::Value::Table(table.clone())).to_string());
            let found: Vec<String> = found.iter().map(Value::to_string).collect();
            self.failures.push(PluginTestFailure::list_difference(what, &expected.collect::<Vec<_>>(), &found));
        }
    }

    fn plan(&mut self, expect: &Expectation, outcome: &HookOutcome) {
        if let Some(expected) = &expect.inject {
            let one = |one: &TextInjection| {
                let TextInjection { slot, text, depth, priority } = one;
                json!({"slot": slot, "text": text, "depth": depth, "priority": priority})
            };
            self.compare_list("inject", expected, &outcome.plan.injections.iter().map(one).collect::<Vec<_>>());
        }
        if let Some(expected) = &expect.asks {
            self.compare_list(
                "asks",
                expected,
                &outcome.model_calls.iter().map(PluginModelCall::to_json).collect::<Vec<_>>(),
            );
        }
        if let Some(expected) = &expect.summary {
            let found = outcome.summary.as_ref().map_or(Value::Bool(false), SummaryProposal::to_json);
            self.compare_value("summary", &from_toml(expected), &found, &Pointer::default());
        }
        let named = |is_in: bool| {
            let wishes = outcome.plan.lore.iter().filter(|choice| choice.is_included == is_in);
            wishes.map(|choice| choice.entry.clone()).collect::<Vec<_>>()
        };
        self.equal("lore", expect.lore.as_ref(), &named(true));
        self.equal("unlore", expect.unlore.as_ref(), &named(false));
    }

    /// Compares every written key, recursively.
    fn compare_value(&mut self, of: &str, expected: &Value, found: &Value, place: &Pointer) {
        match (expected, found) {
            (Value::Object(expected), Value::Object(found)) => {
                for (key, value) in expected {
                    self.compare_value(of, value, found.get(key).unwrap_or(&Value::Null), &place.child(key.as_str()));
                }
            }
            _ if equal(expected, found) => {}
            _ => {
                let what = format!("{of} {}", place.to_string().trim_start_matches('/'));
                self.fail(&what, expected, found);
            }
        }
    }
}

/// Compares values; numbers are equal by value, so 2 equals 2.0.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64().zip(y.as_f64()).is_some_and(|(x, y)| x == y),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| equal(x, y)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(key, x)| y.get(key).is_some_and(|y| equal(x, y)))
        }
        _ => a == b,
    }
}

/// Converts an operation's paths to the form of scripts.
pub(super) fn as_in_scripts(mut operation: Value, root: &Pointer) -> Value {
    if let Some(map) = operation.as_object_mut() {
        map.shift_remove("by");
        for key in ["path", "from"] {
            if let Some(Value::String(path)) = map.get_mut(key)
                && let Ok(pointer) = path.parse::<Pointer>()
                && let Some(below) = pointer.below(root)
            {
                let keys: Vec<String> = below.iter().map(|key| key.replace('~', "~0").replace('/', "~1")).collect();
                *path = keys.join("/");
            }
        }
    }
    operation
}
