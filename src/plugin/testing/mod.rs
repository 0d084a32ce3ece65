//! `clotho plugin test`: a modder's tests (`docs/modders.md`). A file `tests/*.toml` is a test: what a hook gets, and what
//! is expected of it. The same engine, the same limits (with a patient deadline), no server.
//!
//! Each case runs twice, and once more on a grafted base, where every number of the state is another one: what a rule
//! *meant* must be the same there. `case.rs` reads a file, `expect.rs` compares.

mod case;
mod expect;

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::call::{Call, Outcome};
use super::error::{ErrorKind, ScriptError};
use super::loaded::Loaded;
use super::run;
use super::thread::on_script_thread;
use crate::world::{Change, Operation, Pointer, Rules, World, fold};
use case::Case;

/// What the tests of one plugin said.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The files in the order of their names.
    pub cases: Vec<CaseReport>,
}

/// What one file said.
#[derive(Debug, Clone)]
pub struct CaseReport {
    /// The file inside the plugin's folder.
    pub file: String,
    /// What is not as expected; empty = passed.
    pub failures: Vec<String>,
    /// What the hook did, if it could be run.
    pub outcome: Option<Outcome>,
}

impl Report {
    /// Whether every test passed.
    pub fn passed(&self) -> bool {
        self.cases.iter().all(|case| case.failures.is_empty())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for case in &self.cases {
            let mark = if case.failures.is_empty() { "ok  " } else { "FAIL" };
            write!(f, "{mark} {}", case.file)?;
            if let Some(outcome) = &case.outcome {
                write!(f, "  ({} steps, {} operations)", outcome.usage.operations, outcome.operations.len())?;
            }
            writeln!(f)?;
            for failure in &case.failures {
                writeln!(f, "     {}", failure.replace('\n', "\n     "))?;
            }
        }
        let failed = self.cases.iter().filter(|case| !case.failures.is_empty()).count();
        write!(f, "{} tests, {failed} failed", self.cases.len())
    }
}

/// Runs every `tests/*.toml` of a plugin. Load it with [`super::Limits::patient`].
pub fn test(plugin: &Arc<Loaded>) -> Report {
    let files = plugin.source().files.keys().filter(|path| path.starts_with("tests/") && path.ends_with(".toml"));
    Report { cases: files.map(|file| test_file(plugin, file)).collect() }
}

fn test_file(plugin: &Arc<Loaded>, file: &str) -> CaseReport {
    let report = |failures, outcome| CaseReport { file: file.to_owned(), failures, outcome };
    let case = match Case::read(plugin, file) {
        Ok(case) => case,
        Err(error) => return report(vec![error.to_string()], None),
    };
    let ran = on_script_thread(|| Bench::new(plugin, &case).run());
    match ran {
        Ok((outcome, failures)) => report(failures, Some(outcome)),
        Err(error) => report(vec![format!("the test could not be run: {error}")], None),
    }
}

/// One case with what it runs on.
struct Bench<'a> {
    plugin: &'a Arc<Loaded>,
    case: &'a Case,
    rules: Arc<Rules>,
}

impl<'a> Bench<'a> {
    fn new(plugin: &'a Arc<Loaded>, case: &'a Case) -> Self {
        let root = plugin.manifest().state.root.clone();
        let roots = plugin.schema().map(|schema| (root, Arc::clone(schema))).into_iter().collect();
        Self { plugin, case, rules: Arc::new(Rules::new(roots).unwrap_or_default()) }
    }

    fn run(&self) -> (Outcome, Vec<String>) {
        let base = match self.base() {
            Ok(base) => base,
            Err(outcome) => {
                let failures = outcome.error.iter().map(ToString::to_string).collect();
                return (*outcome, failures);
            }
        };
        let outcome = self.call(&base);
        let mut failures = expect::compare(self.plugin, &self.case.expect, &outcome);
        let again = self.call(&base);
        if !same(&outcome, &again) || outcome.answer != again.answer {
            failures.push("the second run did something else than the first".to_owned());
        }
        if self.case.graft && outcome.error.is_none() {
            failures.extend(self.grafted(&base, &outcome));
        }
        (outcome, failures)
    }

    /// The world before the hook: the case's state, or where it gives none, what `init` makes.
    fn base(&self) -> Result<Arc<World>, Box<Outcome>> {
        let mut world = World { vars: self.case.vars.clone(), ..World::default() };
        if let Some(state) = &self.case.state {
            put(&mut world, &self.plugin.manifest().state.root, Value::Object(state.clone()));
            return Ok(Arc::new(world));
        }
        let init = super::Hook::Init;
        if self.case.hook == init || !self.plugin.has(init) {
            return Ok(Arc::new(world));
        }
        let outcome = run::run(self.plugin, Call { hook: init, ..self.case.call(Arc::new(world), &self.rules) });
        if outcome.error.is_some() { Err(Box::new(outcome)) } else { Ok(outcome.world) }
    }

    fn call(&self, base: &Arc<World>) -> Outcome {
        run::run(self.plugin, self.case.call(Arc::clone(base), &self.rules))
    }

    /// What differs on a base with other numbers.
    fn grafted(&self, base: &Arc<World>, outcome: &Outcome) -> Option<String> {
        let (other, changed) = self.other_numbers(base);
        let first = changed.first()?;
        let grafted = self.call(&Arc::new(other));
        if same(outcome, &grafted) {
            return None;
        }
        Some(format!(
            "on another base ({first}) the rule proposes something else:\n{}\n\
             If that is right, because the rule depends on the amount, write `graft = false`.",
            difference(outcome, &grafted)
        ))
    }

    /// The same world with each number one further from zero, where the schema lets it. Zeros stay: between none and
    /// some, rules may well differ.
    fn other_numbers(&self, base: &World) -> (World, Vec<String>) {
        let root = &self.plugin.manifest().state.root;
        let mut places = Vec::new();
        if let Some(state) = base.get(root) {
            numbers(state, root, &mut places);
        }
        let mut world = base.clone();
        let mut changed = Vec::new();
        for (place, number) in places {
            for candidate in [further(number, 1), further(number, -1)] {
                let set = Operation::new(place.clone(), Change::Set(candidate.into()), "", "");
                let mut tried = world.clone();
                if fold(&mut tried, &[set], &self.rules).is_empty() {
                    world = tried;
                    let below = place.below(root).unwrap_or_default().join("/");
                    changed.push(format!("{below} {candidate} instead of {number}"));
                    break;
                }
            }
        }
        (world, changed)
    }
}

fn further(number: i64, by: i64) -> i64 {
    number.saturating_add(number.signum() * by)
}

/// The whole numbers below a place, zeros left out.
fn numbers(value: &Value, place: &Pointer, found: &mut Vec<(Pointer, i64)>) {
    match value {
        Value::Number(number) => found.extend(number.as_i64().filter(|n| *n != 0).map(|n| (place.clone(), n))),
        Value::Array(list) => {
            for (at, item) in list.iter().enumerate() {
                numbers(item, &place.child(at.to_string()), found);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                numbers(item, &place.child(key.as_str()), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn put(world: &mut World, place: &Pointer, value: Value) {
    fold(world, &[Operation::new(place.clone(), Change::Set(value), "", "")], &Rules::default());
}

/// Whether two runs propose the same. Reasons may differ: they tell people amounts.
fn same(a: &Outcome, b: &Outcome) -> bool {
    let meant = |outcome: &Outcome| -> Vec<Operation> {
        let without_why = |operation: &Operation| Operation { why: String::new(), ..operation.clone() };
        outcome.operations.iter().map(without_why).collect()
    };
    let error = |outcome: &Outcome| outcome.error.as_ref().map(|error| error.message.clone());
    meant(a) == meant(b) && a.rolls == b.rolls && error(a) == error(b)
}

/// The first operation in which two runs differ, and what that usually means.
fn difference(a: &Outcome, b: &Outcome) -> String {
    if let Some(error) = &b.error {
        return error.to_string();
    }
    let show = |operation: Option<&Operation>| operation.map_or("nothing".to_owned(), |op| op.to_json().to_string());
    let longest = a.operations.len().max(b.operations.len());
    let mut pairs = (0..longest).map(|at| (a.operations.get(at), b.operations.get(at)));
    let meant = |op: Option<&Operation>| op.map(|op| (op.path.clone(), op.change.clone()));
    let Some((x, y)) = pairs.find(|(x, y)| meant(*x) != meant(*y)) else { return "  other dice".to_owned() };
    let looks_like_add = match (x.map(|op| &op.change), y.map(|op| &op.change)) {
        (Some(Change::Set(Value::Number(_))), Some(Change::Set(Value::Number(_)))) => "\nThis set looks like an add.",
        _ => "",
    };
    format!("  {}\n  {}{looks_like_add}", show(x), show(y))
}

/// An error in a test's file.
fn test_error(plugin: &Loaded, message: String) -> ScriptError {
    ScriptError::new(plugin.id(), &plugin.manifest().version.to_string(), ErrorKind::Parse, message)
}

/// A TOML value as JSON; a date is its text.
fn json(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.clone().into(),
        toml::Value::Integer(n) => (*n).into(),
        toml::Value::Float(n) => serde_json::Number::from_f64(*n).map_or(Value::Null, Value::Number),
        toml::Value::Boolean(b) => (*b).into(),
        toml::Value::Datetime(date) => date.to_string().into(),
        toml::Value::Array(list) => list.iter().map(json).collect(),
        toml::Value::Table(table) => Value::Object(object(table)),
    }
}

fn object(table: &toml::Table) -> Map<String, Value> {
    table.iter().map(|(key, value)| (key.clone(), json(value))).collect()
}
