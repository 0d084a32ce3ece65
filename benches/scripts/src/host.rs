//! The host functions for a rule in another language. Each does the same work as its `ctx` function and uses
//! the program's own fold, dice and patterns. Only the language and its limits differ.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use clotho_core::world::{Pointer, SchemaSet, StateChange, StateOperation, World, fold_incremental};
use clotho_plugin::{DiceSeeds, DiceSpec};
use regex::Regex;
use serde_json::{Number, Value};

/// The named groups of a match.
pub type NamedGroups = Vec<(String, String)>;

thread_local! {
    /// Patterns are compiled once, as in the program.
    static PATTERNS: RefCell<HashMap<String, Rc<Regex>>> = RefCell::default();
}

/// The work of one call.
pub struct Host {
    pub world: Arc<World>,
    rules: Arc<SchemaSet>,
    text: Arc<str>,
    roll_count: u32,
    operations: Vec<StateOperation>,
    notes: Vec<String>,
}

/// The host, shared by the functions that a script sees.
pub type SharedHost = Rc<RefCell<Host>>;

impl Host {
    pub fn new(world: Arc<World>, rules: &Arc<SchemaSet>, text: &Arc<str>) -> Self {
        Self {
            world,
            rules: Arc::clone(rules),
            text: Arc::clone(text),
            roll_count: 0,
            operations: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub fn find_all(&self, pattern: &str) -> Vec<NamedGroups> {
        let regex = PATTERNS.with_borrow_mut(|known| match known.get(pattern) {
            Some(regex) => Rc::clone(regex),
            None => known.entry(pattern.to_owned()).or_insert_with(|| Rc::new(Regex::new(pattern).unwrap())).clone(),
        });
        let names: Vec<&str> = regex.capture_names().flatten().collect();
        let groups = |found: regex::Captures<'_>| {
            names.iter().filter_map(|name| Some(((*name).to_owned(), found.name(name)?.as_str().to_owned()))).collect()
        };
        regex.captures_iter(&self.text).map(groups).collect()
    }

    pub fn get(&self, path: &str, default: i64) -> i64 {
        self.world.get(&rule_pointer(path)).and_then(Value::as_i64).unwrap_or(default)
    }

    pub fn add(&mut self, path: &str, n: i64, why: &str) {
        self.apply_change(path, StateChange::Add(Number::from(n)), why);
    }

    pub fn set(&mut self, path: &str, value: bool, why: &str) {
        self.apply_change(path, StateChange::Set(Value::Bool(value)), why);
    }

    fn apply_change(&mut self, path: &str, change: StateChange, why: &str) {
        let operation = StateOperation::new(rule_pointer(path), change, why, "rule");
        fold_incremental(Arc::make_mut(&mut self.world), std::slice::from_ref(&operation), &self.rules);
        self.operations.push(operation);
    }

    pub fn roll(&mut self, spec: &str) -> i64 {
        let mut random = DiceSeeds { session: 1, node: 2 }.generator("rule", "on_reply", self.roll_count);
        self.roll_count += 1;
        DiceSpec::parse(spec).unwrap().roll(&mut random).total
    }

    pub fn note(&mut self, text: &str) {
        self.notes.push(text.to_owned());
    }

    pub fn take_operations(&mut self) -> Vec<StateOperation> {
        std::mem::take(&mut self.operations)
    }
}

fn rule_pointer(path: &str) -> Pointer {
    format!("/rule/{path}").parse().unwrap()
}
