//! The grafted base: runs the same case on a state with other numbers and additional keys. What a rule *meant* must be
//! the same there. This finds amounts that were set instead of added.

use std::sync::Arc;

use serde_json::Value;

use super::{CaseRunner, is_same_proposal};
use crate::call::HookOutcome;
use clotho_core::world::{Pointer, StateChange, StateOperation, World, fold};

/// Returns what differs on another base, with the likely reason; `None` if nothing does.
pub(super) fn graft_difference(bench: &CaseRunner<'_>, base: &World, outcome: &HookOutcome) -> Option<String> {
    let bases = [other_numbers(bench, base), other_keys(bench, base, outcome)];
    bases.into_iter().find_map(|(other, changed)| {
        let first = changed.first()?;
        let grafted = bench.call(&Arc::new(other));
        (!is_same_proposal(outcome, &grafted)).then(|| {
            format!(
                "with another start value ({first}) the rule proposes something else:\n{}\n\
                 If this is intended, because the rule depends on the amount, write `graft = false`.",
                difference(outcome, &grafted)
            )
        })
    })
}

/// Finds each `set` of a number that changes along with the number it replaces; on another branch it would write a
/// wrong amount. Only that one number is changed per run, so that values derived from others are not reported.
pub(super) fn absolute_sets(bench: &CaseRunner<'_>, base: &World, outcome: &HookOutcome) -> Vec<String> {
    let root = &bench.plugin.manifest().state.root;
    let mut found = Vec::new();
    for (at, operation) in outcome.operations.iter().enumerate() {
        let before = base.get(&operation.path).and_then(Value::as_i64);
        let Some((set, before)) = set_number(operation).zip(before) else { continue };
        let mut world = base.clone();
        let Some(other) = put_neighbor(bench, &mut world, &operation.path, before) else { continue };
        let grafted = bench.call(&Arc::new(world));
        let there = grafted.operations.get(at).filter(|there| there.path == operation.path).and_then(set_number);
        if there.is_some_and(|there| there != set && there.checked_sub(set) == other.checked_sub(before)) {
            let path = operation.path.below(root).map_or_else(|| operation.path.to_string(), |keys| keys.join("/"));
            let by = set.saturating_sub(before);
            found.push(format!(
                "the set of {path} to {set} looks like an add: ctx.add(\"{path}\", {by}) stays correct if {path} is \
                 not {before}"
            ));
        }
    }
    found
}

fn set_number(operation: &StateOperation) -> Option<i64> {
    match &operation.change {
        StateChange::Set(value) => value.as_i64(),
        _ => None,
    }
}

/// Returns the state with each number one further from zero, if the schema allows it. Zeros stay, because rules may
/// well differ between none and some.
fn other_numbers(bench: &CaseRunner<'_>, base: &World) -> (World, Vec<String>) {
    let root = &bench.plugin.manifest().state.root;
    let mut places = Vec::new();
    if let Some(state) = base.get(root) {
        numbers(state, root, &mut places);
    }
    let mut world = base.clone();
    let mut changed = Vec::new();
    for (place, number) in places {
        if let Some(other) = put_neighbor(bench, &mut world, &place, number) {
            let below = place.below(root).unwrap_or_default().join("/");
            changed.push(format!("{below} {other} instead of {number}"));
        }
    }
    (world, changed)
}

/// Replaces a number with a neighbour that the schema allows; returns the neighbour.
fn put_neighbor(bench: &CaseRunner<'_>, world: &mut World, place: &Pointer, number: i64) -> Option<i64> {
    let other = [1, -1].map(|by| number.saturating_add(number.signum() * by));
    other.into_iter().find(|other| try_put(bench, world, place, (*other).into()))
}

/// Returns the state with one more key beside those that the operations write, if the schema allows it. Additional
/// entries must not change what is proposed.
fn other_keys(bench: &CaseRunner<'_>, base: &World, outcome: &HookOutcome) -> (World, Vec<String>) {
    let root = &bench.plugin.manifest().state.root;
    let mut maps: Vec<Pointer> = outcome.operations.iter().filter_map(target_map).collect();
    maps.retain(|place| place.below(root).is_some());
    maps.sort();
    maps.dedup();
    let mut world = base.clone();
    let mut changed = Vec::new();
    for map in maps {
        let Some(Value::Object(entries)) = base.get(&map) else { continue };
        let key = format!("graft-{}", entries.len());
        let like = entries.values().next().cloned().unwrap_or(Value::from(1));
        if !entries.contains_key(&key) && try_put(bench, &mut world, &map.child(key.as_str()), like) {
            let inside =
                map.below(root).filter(|keys| !keys.is_empty()).map_or("the state".into(), |keys| keys.join("/"));
            changed.push(format!("{inside} has the additional key \"{key}\""));
        }
    }
    (world, changed)
}

/// Returns the map in which an operation writes.
fn target_map(operation: &StateOperation) -> Option<Pointer> {
    match operation.change {
        StateChange::Insert { .. } => Some(operation.path.clone()),
        _ => operation.path.split_last().map(|(map, _)| map),
    }
}

/// Sets a value if the schema accepts it unchanged.
fn try_put(bench: &CaseRunner<'_>, world: &mut World, place: &Pointer, value: Value) -> bool {
    let mut tried = world.clone();
    let set = StateOperation::new(place.clone(), StateChange::Set(value), "", "");
    let fits = fold(&mut tried, &[set], &bench.rules).is_empty();
    if fits {
        *world = tried;
    }
    fits
}

/// Collects the whole numbers below a place, without zeros.
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

/// Describes the first operation in which two runs differ, and the likely reason.
fn difference(a: &HookOutcome, b: &HookOutcome) -> String {
    if let Some(error) = &b.error {
        return error.to_string();
    }
    let show =
        |operation: Option<&StateOperation>| operation.map_or("nothing".to_owned(), |op| op.to_json().to_string());
    let longest = a.operations.len().max(b.operations.len());
    let mut pairs = (0..longest).map(|at| (a.operations.get(at), b.operations.get(at)));
    let meant = |op: Option<&StateOperation>| op.map(|op| (op.path.clone(), op.change.clone()));
    let Some((x, y)) = pairs.find(|(x, y)| meant(*x) != meant(*y)) else { return "  other dice".to_owned() };
    let looks_like_add = match (x.map(|op| &op.change), y.map(|op| &op.change)) {
        (Some(StateChange::Set(Value::Number(_))), Some(StateChange::Set(Value::Number(_)))) => {
            "\nThis set looks like an add."
        }
        _ => "",
    };
    format!("  {}\n  {}{looks_like_add}", show(x), show(y))
}
