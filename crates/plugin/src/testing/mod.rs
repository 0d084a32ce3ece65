//! `clotho plugin test`: tests of plugin authors (`docs/modders.md`). Each file `tests/*.toml` is a test: the input of
//! a hook and the expected result. It uses the same engine and limits (with a longer deadline), without a server.
//!
//! Each case runs twice, and again on a grafted base, where numbers differ and keys are added: what a rule *meant* must
//! be the same there.
//!
//! - `case.rs` reads a file, `rule_run.rs` runs the manifest's rules after the hook, and `graft.rs` creates the grafted
//!   base.
//! - `expect.rs` compares, `failure.rs` describes differences, `bless.rs` writes results, `lint.rs` warns of likely
//!   mistakes.

mod bless;
mod case;
mod expect;
mod failure;
mod graft;
mod lint;
mod rule_run;

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::call::{HookAnswer, HookCall, HookOutcome};
use super::error::{ScriptError, ScriptErrorKind};
use super::loaded::LoadedPlugin;
use super::run;
use super::thread::on_script_thread;
pub use bless::bless;
use case::PluginTestCase;
use clotho_core::world::{Pointer, ProblemKind, SchemaSet, StateChange, StateOperation, World, fold};
pub use failure::PluginTestFailure;

/// The results of the tests of one plugin.
#[derive(Debug, Clone, Default)]
pub struct PluginTestReport {
    /// The results, in the order of file names.
    pub cases: Vec<CaseReport>,
    /// Number of files that were not run because the run was stopped.
    pub untested: usize,
}

/// The result of one file.
#[derive(Debug, Clone)]
pub struct CaseReport {
    /// Path inside the plugin's folder.
    pub file: String,
    /// The failures; empty means passed.
    pub failures: Vec<PluginTestFailure>,
    /// Likely mistakes without a failure: an operation that the schema refuses, a `set` that looks like an `add`.
    pub warnings: Vec<String>,
    /// The outcome of the hook, if it could run.
    pub outcome: Option<HookOutcome>,
    /// Whether the file has expectations. A case without any proves nothing.
    pub expects: bool,
    /// Whether neither the second run nor the grafted base added a failure, and the host did not fail. Only then may
    /// the outcome be written as the expectation.
    pub is_deterministic: bool,
}

impl CaseReport {
    /// Returns whether the case has expectations and meets them.
    pub fn passed(&self) -> bool {
        self.expects && self.failures.is_empty()
    }

    /// Returns whether the case has no expectations and nothing failed.
    pub fn expects_nothing(&self) -> bool {
        !self.expects && self.failures.is_empty()
    }
}

impl PluginTestReport {
    /// Returns whether no case failed.
    pub fn passed(&self) -> bool {
        self.cases.iter().all(|case| case.failures.is_empty())
    }
}

impl fmt::Display for PluginTestReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for case in &self.cases {
            let mark = match case.failures.is_empty() {
                true if case.expects => "ok  ",
                true => "none",
                false => "FAIL",
            };
            write!(f, "{mark} {}", case.file)?;
            if case.expects_nothing() {
                write!(f, " has no expectation: run with --bless")?;
            }
            if let Some(outcome) = &case.outcome {
                write!(f, "  ({} steps, {} operations)", outcome.usage.operations, outcome.operations.len())?;
            }
            writeln!(f)?;
            for failure in &case.failures {
                writeln!(f, "     {}", failure.to_string().replace('\n', "\n     "))?;
            }
            for warning in &case.warnings {
                writeln!(f, "     warning: {warning}")?;
            }
        }
        let failed = self.cases.iter().filter(|case| !case.failures.is_empty()).count();
        write!(f, "{} tests, {failed} failed", self.cases.len())?;
        match self.cases.iter().filter(|case| case.expects_nothing()).count() {
            0 => Ok(()),
            1 => write!(f, ", 1 without an expectation"),
            several => write!(f, ", {several} without an expectation"),
        }
    }
}

/// Runs every `tests/*.toml` of a plugin. Load it with [`super::ScriptLimits::relaxed`].
pub fn run_tests(plugin: &Arc<LoadedPlugin>) -> PluginTestReport {
    run_tests_while(plugin, || true)
}

/// Runs every `tests/*.toml` of a plugin while `goes_on` returns true. The limits of its scripts bound each case.
pub fn run_tests_while(plugin: &Arc<LoadedPlugin>, goes_on: impl Fn() -> bool) -> PluginTestReport {
    let files = plugin.source().files.keys();
    let mut files = files.filter(|path| path.starts_with("tests/") && path.ends_with(".toml")).peekable();
    let mut cases = Vec::new();
    while let Some(file) = files.next_if(|_| goes_on()) {
        cases.push(run_file(plugin, file));
    }
    PluginTestReport { cases, untested: files.count() }
}

fn run_file(plugin: &Arc<LoadedPlugin>, file: &str) -> CaseReport {
    let failed = |failure: PluginTestFailure| CaseReport {
        file: file.to_owned(),
        failures: vec![failure],
        warnings: Vec::new(),
        outcome: None,
        expects: true,
        is_deterministic: false,
    };
    let case = match PluginTestCase::read(plugin, file) {
        Ok(case) => case,
        Err(error) => return failed((*error).into()),
    };
    let ran = on_script_thread(|| CaseRunner::new(plugin, &case).run());
    match ran {
        Ok(CaseRun { outcome, failures, warnings, is_deterministic: is_steady }) => CaseReport {
            file: file.to_owned(),
            failures,
            warnings,
            outcome: Some(outcome),
            expects: case.expects,
            is_deterministic: is_steady,
        },
        Err(error) => failed(PluginTestFailure::message(format!("the test could not be run: {error}"))),
    }
}

/// The result of one run of a case.
struct CaseRun {
    outcome: HookOutcome,
    failures: Vec<PluginTestFailure>,
    warnings: Vec<String>,
    is_deterministic: bool,
}

/// One case with its plugin and schemas.
struct CaseRunner<'a> {
    plugin: &'a Arc<LoadedPlugin>,
    case: &'a PluginTestCase,
    rules: Arc<SchemaSet>,
}

impl<'a> CaseRunner<'a> {
    fn new(plugin: &'a Arc<LoadedPlugin>, case: &'a PluginTestCase) -> Self {
        let root = plugin.manifest().state.root.clone();
        let roots = plugin.schema().map(|schema| (root, Arc::clone(schema))).into_iter().collect();
        Self { plugin, case, rules: Arc::new(SchemaSet::new(roots).unwrap_or_default()) }
    }

    fn run(&self) -> CaseRun {
        // Prepare the state; a failing `init` fails the case.
        let base = match self.base() {
            Ok(base) => base,
            Err(outcome) => {
                let failures = outcome.error.iter().cloned().map(PluginTestFailure::from).collect();
                return CaseRun {
                    outcome: *outcome,
                    failures,
                    warnings: self.suspicious_parts(),
                    is_deterministic: false,
                };
            }
        };
        // Arguments that do not fit the tool's schema are refused without a call.
        if let Some(why) = &self.case.unfit_reason {
            let outcome = HookOutcome { answer: HookAnswer::Refused(why.clone()), ..HookOutcome::empty(base) };
            let failures = expect::compare_outcome(
                self.plugin,
                &self.case.expect,
                &outcome,
                &super::manifest_rules::RulesOutcome::default(),
            );
            return CaseRun { outcome, failures, warnings: self.suspicious_parts(), is_deterministic: true };
        }
        // Run the hook and the rules, and compare the result.
        let alone = self.call(&base);
        let (fired, outcome) = self.run_rules(alone.clone());
        let mut failures = expect::compare_outcome(self.plugin, &self.case.expect, &outcome, &fired);
        // Failures so far are about the expectations; a case without any fails only if the hook fails or refuses.
        let only_this = failures.len();
        let again = self.call(&base);
        let later =
            |outcome: &HookOutcome| (outcome.plan.clone(), outcome.model_calls.clone(), outcome.summary.clone());
        let is_other = alone.answer != again.answer || later(&alone) != later(&again);
        if !is_same_proposal(&alone, &again) || is_other || self.run_rules(again).0 != fired {
            failures.push(PluginTestFailure::message("the second run gave another result than the first"));
        }
        // Manifest rules depend on amounts by nature, so they do not run on the grafted base.
        if self.case.graft && outcome.error.is_none() {
            failures.extend(graft::graft_difference(self, &base, &alone).map(PluginTestFailure::message));
        }
        let is_steady = failures.len() == only_this
            && !matches!(&outcome.error, Some(error) if error.kind == ScriptErrorKind::Host);
        // Collect the warnings.
        let mut warnings = self.suspicious_parts();
        if failures.is_empty() && outcome.error.is_none() {
            warnings.extend(schema_refusals(&outcome));
            warnings.extend(graft::absolute_sets(self, &base, &alone));
        }
        CaseRun { outcome, failures, warnings, is_deterministic: is_steady }
    }

    /// Returns the state before the hook: that of the case, or the result of `init` if it gives none.
    fn base(&self) -> Result<Arc<World>, Box<HookOutcome>> {
        let mut world = World { vars: self.case.vars.clone(), ..World::default() };
        self.record_fired_rules(&mut world);
        if let Some(state) = &self.case.state {
            put(&mut world, &self.plugin.manifest().state.root, Value::Object(state.clone()));
            // Compute the schema's computed values, as in a story.
            fold(&mut world, &[], &self.rules);
            return Ok(Arc::new(world));
        }
        let init = super::Hook::Init;
        if self.case.hook == init || !self.plugin.has_hook(init) {
            return Ok(Arc::new(world));
        }
        // The case of a tool also starts with the result of `init`, so clear the tool for this call.
        let call = HookCall { hook: init, tool: None, ..self.case.call(Arc::new(world), &self.rules) };
        let outcome = run::run(self.plugin, call);
        outcome.world.clone().ok_or_else(|| Box::new(outcome))
    }

    fn call(&self, base: &Arc<World>) -> HookOutcome {
        run::run(self.plugin, self.call_on(base))
    }

    fn call_on(&self, base: &Arc<World>) -> HookCall {
        let call = self.case.call(Arc::clone(base), &self.rules);
        let Some(before) = self.case.before() else { return call };
        let mut world = (**base).clone();
        put(&mut world, &self.plugin.manifest().state.root, Value::Object(before));
        fold(&mut world, &[], &self.rules);
        HookCall { world_before: Arc::new(world), ..call }
    }
}

fn put(world: &mut World, place: &Pointer, value: Value) {
    fold(world, &[StateOperation::new(place.clone(), StateChange::Set(value), "", "")], &SchemaSet::default());
}

/// Returns warnings of operations that the schema refused: the rule does not do what its operations say.
fn schema_refusals(outcome: &HookOutcome) -> Vec<String> {
    let refused = outcome.problems.iter().filter(|problem| problem.kind() == ProblemKind::Refused);
    refused.map(|problem| format!("the schema rejects {}: {problem}", problem.path)).collect()
}

/// Returns whether two runs propose the same. Reasons may differ, because they contain amounts.
fn is_same_proposal(a: &HookOutcome, b: &HookOutcome) -> bool {
    let meant = |outcome: &HookOutcome| -> Vec<StateOperation> {
        let without_why = |operation: &StateOperation| StateOperation { why: String::new(), ..operation.clone() };
        outcome.operations.iter().map(without_why).collect()
    };
    let error = |outcome: &HookOutcome| outcome.error.as_ref().map(|error| error.message.clone());
    meant(a) == meant(b) && a.rolls == b.rolls && error(a) == error(b)
}

/// Creates an error in a test's file.
fn test_error(plugin: &LoadedPlugin, message: String) -> ScriptError {
    ScriptError::new(plugin.id(), &plugin.manifest().version.to_string(), ScriptErrorKind::Parse, message)
}

/// Converts a TOML value to JSON; a date becomes its text.
fn from_toml(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.clone().into(),
        toml::Value::Integer(n) => (*n).into(),
        toml::Value::Float(n) => serde_json::Number::from_f64(*n).map_or(Value::Null, Value::Number),
        toml::Value::Boolean(b) => (*b).into(),
        toml::Value::Datetime(date) => date.to_string().into(),
        toml::Value::Array(list) => list.iter().map(from_toml).collect(),
        toml::Value::Table(table) => Value::Object(object(table)),
    }
}

fn object(table: &toml::Table) -> Map<String, Value> {
    table.iter().map(|(key, value)| (key.clone(), from_toml(value))).collect()
}
