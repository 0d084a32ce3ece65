//! The fold: the only function that changes a world.
//!
//! [`fold`] applies operations one by one, each completely or not at all. `edit.rs` applies an operation to a section.
//! `lookup.rs` finds a value and the rule that governs it, and `bounds.rs` limits the size of values.
//! `recompute.rs` updates computed values, and `prototypes.rs` fills new map entries.
//!
//! Only the written value is copied. The cost of an operation grows with its path and its value, not with the world.
//!
//! To add a kind of operation: its arm in `edit.rs`, and its rows in the tables of `tests/`.

mod bounds;
mod edit;
mod lookup;
#[cfg(test)]
mod property_tests;
mod prototypes;
mod recompute;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::number::values_equal;
use super::schema::ValueProblem;
use super::{Pointer, Problem, ProblemDetail, SchemaSet, StateChange, StateOperation, World, WorldSection};
use edit::SectionEdit;

/// Applies operations in order under the active schemas (`domain.md` 3.3, 3.4).
///
/// A number out of range is clamped and a fraction for an integer rounded, each with a note. An operation that
/// otherwise breaks the schema or does not fit the current value is skipped; the others are applied. Folding a delta
/// in parts gives the same world as folding it at once. Computed values are updated before the first operation and
/// after each, so no operation sees a stale one.
pub fn fold(world: &mut World, operations: &[StateOperation], rules: &SchemaSet) -> Vec<Problem> {
    if rules.has_computed() {
        recompute::recompute_all(&mut world.vars, rules);
    }
    fold_incremental(world, operations, rules)
}

/// As [`fold`], for a world that a fold under the same schemas has produced: its computed values are already up to
/// date.
pub fn fold_incremental(world: &mut World, operations: &[StateOperation], rules: &SchemaSet) -> Vec<Problem> {
    let mut problems = Vec::new();
    let computes = rules.has_computed();
    for (position, operation) in operations.iter().enumerate() {
        let done = apply(world, operation, rules);
        if computes && done.is_ok() && operation.section == WorldSection::Vars {
            changed_paths(operation).for_each(|place| recompute::recompute_after(&mut world.vars, rules, place));
        }
        let findings = done.unwrap_or_else(|refusal| vec![refusal]);
        problems.extend(findings.into_iter().map(|ValueProblem { path, name, detail }| Problem {
            operation: position,
            path,
            name,
            detail,
        }));
    }
    problems
}

/// Returns the paths at which an operation changes something.
fn changed_paths(operation: &StateOperation) -> impl Iterator<Item = &Pointer> {
    let from = if let StateChange::Move { from } = &operation.change { Some(from) } else { None };
    std::iter::once(&operation.path).chain(from)
}

fn apply(world: &mut World, operation: &StateOperation, rules: &SchemaSet) -> Result<Vec<ValueProblem>, ValueProblem> {
    let StateOperation { path, change, .. } = operation;
    match operation.section {
        WorldSection::Vars => SectionEdit::new(&mut world.vars, rules).apply(path, change),
        WorldSection::Lore => match change {
            StateChange::Add(_) | StateChange::Move { .. } => refuse(path, ProblemDetail::LoreOperation {}),
            _ => SectionEdit::new(&mut world.lore, &SchemaSet::default()).apply(path, change),
        },
        WorldSection::Summary => summary(&mut world.summary, path, change),
        WorldSection::Events => events(&mut world.events, path, change),
    }
}

fn summary(summary: &mut String, path: &Pointer, change: &StateChange) -> Result<Vec<ValueProblem>, ValueProblem> {
    match change {
        StateChange::Set(value @ Value::String(text)) if path.is_root() => {
            bounds::check(value, path)?;
            summary.clone_from(text);
            Ok(Vec::new())
        }
        _ => refuse(path, ProblemDetail::SummaryOperation {}),
    }
}

fn events(events: &mut Vec<Value>, path: &Pointer, change: &StateChange) -> Result<Vec<ValueProblem>, ValueProblem> {
    match change {
        StateChange::Append(event) if path.is_root() => {
            bounds::check(event, path)?;
            events.push(event.clone());
            Ok(Vec::new())
        }
        StateChange::Take(event) if path.is_root() => {
            match events.iter().position(|there| values_equal(there, event)) {
                Some(position) => {
                    events.remove(position);
                    Ok(Vec::new())
                }
                None => Ok(vec![ValueProblem::new(path, ProblemDetail::NoEventToTake {})]),
            }
        }
        _ => refuse(path, ProblemDetail::EventsOperation {}),
    }
}

fn refuse<T>(path: &Pointer, detail: ProblemDetail) -> Result<T, ValueProblem> {
    Err(ValueProblem::new(path, detail))
}
