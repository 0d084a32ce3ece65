//! Applies one operation to one section of a world.

use serde_json::{Map, Number, Value};

use super::lookup::{LookupResult, PathLookup, look_up};
use super::{Pointer, ProblemDetail, SchemaSet, StateChange, ValueProblem, bounds, prototypes, refuse};
use crate::world::number::{self, values_equal};
use crate::world::pointer::{index, step_mut};
use crate::world::schema::{ValueConformer, preserves_read_only};
use crate::world::value_kind::{LengthPhrase, ValueKind};

/// An operation in progress on a section.
pub(super) struct SectionEdit<'w, 'r> {
    section: &'w mut Map<String, Value>,
    rules: &'r SchemaSet,
    notes: Vec<ValueProblem>,
}

impl<'w, 'r> SectionEdit<'w, 'r> {
    /// An edit of one section under these rules.
    pub fn new(section: &'w mut Map<String, Value>, rules: &'r SchemaSet) -> Self {
        Self { section, rules, notes: Vec::new() }
    }

    /// Applies the whole change and returns notes, or changes nothing.
    pub fn apply(mut self, path: &Pointer, change: &StateChange) -> Result<Vec<ValueProblem>, ValueProblem> {
        if path.is_root() {
            return refuse(path, ProblemDetail::EmptyPath {});
        }
        self.check_not_computed(path, change)?;
        match change {
            StateChange::Add(amount) => self.add(path, amount)?,
            StateChange::Set(value) => {
                bounds::check(value, path)?;
                self.put(path, value.clone())?;
            }
            StateChange::Remove => self.remove(path)?,
            StateChange::Insert { key, value } => self.insert(path, key, value)?,
            StateChange::Append(value) => self.append(path, value)?,
            StateChange::Take(value) => self.take(path, value)?,
            StateChange::Move { from } => self.move_value(from, path)?,
        }
        Ok(self.notes)
    }

    fn add(&mut self, path: &Pointer, amount: &Number) -> Result<(), ValueProblem> {
        bounds::check(&Value::Number(amount.clone()), path)?;
        let zero = Number::from(0);
        let lookup = look_up(self.section, self.rules, path);
        let base = match &lookup.found {
            LookupResult::Value(Value::Number(base)) => base,
            LookupResult::Value(other) => {
                return refuse(path, ProblemDetail::CannotAdd { kind: ValueKind::from_json(other) });
            }
            LookupResult::Missing(depth) => match prototypes::prototype_at(self.rules, path, *depth) {
                Some(Value::Number(begins)) => begins,
                _ => &zero,
            },
            LookupResult::Blocked(_) => &zero,
        };
        let sum = number::add(base, amount)
            .map_err(|number::NumberTooLarge| ValueProblem::new(path, ProblemDetail::SumTooLarge {}))?;
        let before = matches!(lookup.found, LookupResult::Value(_)).then(|| Value::Number(base.clone()));
        let told = self.notes.len();
        self.put(path, Value::Number(sum))?;
        // Drop the note if the number was already at its bound: repeating it with every message tells nothing new.
        if before.is_some_and(|before| path.find(self.section).is_some_and(|now| values_equal(now, &before))) {
            self.notes.truncate(told);
        }
        Ok(())
    }

    fn remove(&mut self, path: &Pointer) -> Result<(), ValueProblem> {
        let lookup = look_up(self.section, self.rules, path);
        if !matches!(lookup.found, LookupResult::Value(_)) {
            self.notes.push(ValueProblem::new(path, ProblemDetail::NothingToRemove {}));
            return Ok(());
        }
        self.check_removable(path, &lookup)?;
        self.detach(path);
        Ok(())
    }

    fn insert(&mut self, path: &Pointer, key: &str, value: &Value) -> Result<(), ValueProblem> {
        if let LookupResult::Value(there) = look_up(self.section, self.rules, path).found
            && !there.is_object()
        {
            return refuse(path, ProblemDetail::CannotInsert { kind: ValueKind::from_json(there) });
        }
        let place = path.child(key);
        bounds::check(value, &place)?;
        self.put(&place, value.clone())
    }

    fn append(&mut self, path: &Pointer, value: &Value) -> Result<(), ValueProblem> {
        self.check_holds_no_root(path)?;
        let lookup = look_up(self.section, self.rules, path);
        let list = match &lookup.found {
            LookupResult::Value(Value::Array(list)) => list,
            LookupResult::Value(other) => {
                return refuse(path, ProblemDetail::CannotAppend { kind: ValueKind::from_json(other) });
            }
            LookupResult::Missing(_) | LookupResult::Blocked(_) => {
                let begins = match &lookup.found {
                    LookupResult::Missing(depth) => {
                        prototypes::prototype_at(self.rules, path, *depth).and_then(Value::as_array)
                    }
                    _ => None,
                };
                let list: Vec<Value> = begins.into_iter().flatten().chain([value]).cloned().collect();
                let list = Value::Array(list);
                bounds::check(&list, path)?;
                return self.put(path, list);
            }
        };
        let place = path.child(list.len().to_string());
        bounds::check(value, &place)?;
        lookup.check_writable(path)?;
        if let Some(most) = lookup.rule.node().and_then(|node| node.max_items()).filter(|most| list.len() >= *most) {
            return refuse(path, ProblemDetail::ListFull { most: LengthPhrase { count: most, of: "value" } });
        }
        let mut value = value.clone();
        let notes = &mut self.notes;
        ValueConformer::new(place.keys(), notes).conform_rule(lookup.rule.step("", true), &mut value)?;
        if lookup.rule.node().is_some_and(|node| node.is_unique())
            && list.iter().any(|there| values_equal(there, &value))
        {
            return refuse(path, ProblemDetail::ValueInList {});
        }
        if let Some(Value::Array(list)) = self.value_mut(path.keys()) {
            list.push(value);
        }
        Ok(())
    }

    fn take(&mut self, path: &Pointer, value: &Value) -> Result<(), ValueProblem> {
        let lookup = look_up(self.section, self.rules, path);
        let position = match &lookup.found {
            LookupResult::Value(Value::Array(list)) => list.iter().position(|there| values_equal(there, value)),
            LookupResult::Value(other) => {
                return refuse(path, ProblemDetail::CannotTake { kind: ValueKind::from_json(other) });
            }
            LookupResult::Missing(_) | LookupResult::Blocked(_) => None,
        };
        let Some(position) = position else {
            self.notes.push(ValueProblem::new(path, ProblemDetail::NoValueToTake {}));
            return Ok(());
        };
        let place = path.child(position.to_string());
        self.check_holds_no_root(path)?;
        self.check_removable(&place, &look_up(self.section, self.rules, &place))
            .map_err(|finding| with_path(path, finding))?;
        self.detach(&place);
        Ok(())
    }

    fn move_value(&mut self, from: &Pointer, path: &Pointer) -> Result<(), ValueProblem> {
        let lookup = look_up(self.section, self.rules, from);
        let LookupResult::Value(value) = lookup.found else { return refuse(from, ProblemDetail::NothingToMove {}) };
        if path == from {
            return Ok(());
        }
        if path.below(from).is_some() {
            return refuse(path, ProblemDetail::MoveIntoItself {});
        }
        bounds::check_depth(value, path)?;
        self.check_removable(from, &lookup)?;
        let Some((position, value)) = self.detach(from) else { return Ok(()) };
        self.put(path, value.clone()).inspect_err(|_| self.reattach(from, position, value))
    }

    /// Sets a value and creates missing maps on the path, once everything touched fits its rule.
    fn put(&mut self, path: &Pointer, mut value: Value) -> Result<(), ValueProblem> {
        self.check_holds_no_root(path)?;
        let keys = path.keys();
        let lookup = look_up(self.section, self.rules, path);
        lookup.check_writable(path)?;
        match lookup.found {
            LookupResult::Blocked(depth) => Err(blocked_problem(path, depth)),
            LookupResult::Value(old) => {
                prototypes::fill_prototypes(lookup.container, keys.last(), lookup.rule, &mut value);
                ValueConformer::new(keys, &mut self.notes).conform_rule(lookup.rule, &mut value)?;
                if lookup.rule.node().is_some_and(|node| !preserves_read_only(node, old, &value)) {
                    return refuse(path, ProblemDetail::ReadOnlyPart {});
                }
                check_unique(path, &lookup, &value)?;
                if let Some(place) = self.value_mut(keys) {
                    *place = value;
                }
                Ok(())
            }
            LookupResult::Missing(depth) => {
                let (above, below) = keys.split_at_checked(lookup.rule_depth).unwrap_or((keys, &[]));
                let mut wrapped = wrap_in_maps(value, below);
                prototypes::fill_prototypes(lookup.container, above.last(), lookup.rule, &mut wrapped);
                ValueConformer::new(above, &mut self.notes).conform_rule(lookup.rule, &mut wrapped)?;
                let (base, missing) = above.split_at_checked(depth).unwrap_or((above, &[]));
                if let (Some((key, rest)), Some(map)) = (missing.split_first(), self.map_mut(base)) {
                    map.insert(key.clone(), wrap_in_maps(wrapped, rest));
                }
                Ok(())
            }
        }
    }

    /// Refuses to write computed values.
    fn check_not_computed(&self, path: &Pointer, change: &StateChange) -> Result<(), ValueProblem> {
        if !self.rules.has_computed() {
            return Ok(());
        }
        let place = if let StateChange::Insert { key, .. } = change { path.child(key) } else { path.clone() };
        let from = if let StateChange::Move { from } = change { Some(from) } else { None };
        match [Some(&place), from].into_iter().flatten().find(|place| self.rules.is_computed(place)) {
            Some(place) => refuse(place, ProblemDetail::Computed {}),
            None => Ok(()),
        }
    }

    /// Refuses to remove required or read-only values.
    fn check_removable(&self, path: &Pointer, lookup: &PathLookup<'_, '_>) -> Result<(), ValueProblem> {
        self.check_holds_no_root(path)?;
        lookup.check_writable(path)?;
        let Some(container) = lookup.container else { return Ok(()) };
        match (lookup.list, path.keys().last()) {
            (Some((list, _)), _) if list.len() <= container.min_items() => refuse(
                path,
                ProblemDetail::ListAtMinimum { least: LengthPhrase { count: container.min_items(), of: "value" } },
            ),
            (None, Some(key)) if container.requires(key) => refuse(path, ProblemDetail::Required {}),
            _ => Ok(()),
        }
    }

    /// Refuses to replace or remove a value that contains a schema root, which only its own schema governs.
    fn check_holds_no_root(&self, path: &Pointer) -> Result<(), ValueProblem> {
        match self.rules.root_inside(path) {
            Some(root) => refuse(path, ProblemDetail::HoldsRoot { root: root.to_string() }),
            None => Ok(()),
        }
    }

    /// Removes a value and returns it with its position.
    fn detach(&mut self, path: &Pointer) -> Option<(usize, Value)> {
        let (last, base) = path.keys().split_last()?;
        if let Some(map) = self.map_mut(base) {
            let position = map.keys().position(|key| key == last)?;
            return Some((position, map.shift_remove(last)?));
        }
        let Some(Value::Array(list)) = self.value_mut(base) else { return None };
        let position = index(last).filter(|position| *position < list.len())?;
        Some((position, list.remove(position)))
    }

    /// Restores a detached value.
    fn reattach(&mut self, path: &Pointer, position: usize, value: Value) {
        let Some((last, base)) = path.keys().split_last() else { return };
        if let Some(map) = self.map_mut(base) {
            map.shift_insert(position, last.clone(), value);
        } else if let Some(Value::Array(list)) = self.value_mut(base) {
            list.insert(position, value);
        }
    }

    fn value_mut(&mut self, keys: &[String]) -> Option<&mut Value> {
        let (first, rest) = keys.split_first()?;
        rest.iter().try_fold(self.section.get_mut(first)?, |value, key| step_mut(value, key))
    }

    fn map_mut(&mut self, keys: &[String]) -> Option<&mut Map<String, Value>> {
        if keys.is_empty() { Some(self.section) } else { self.value_mut(keys)?.as_object_mut() }
    }
}

/// Refuses a duplicate in a list of unique values.
fn check_unique(path: &Pointer, lookup: &PathLookup<'_, '_>, value: &Value) -> Result<(), ValueProblem> {
    let Some((list, own)) = lookup.list.filter(|_| lookup.container.is_some_and(|node| node.is_unique())) else {
        return Ok(());
    };
    let twice = list.iter().enumerate().any(|(position, there)| position != own && values_equal(there, value));
    if twice { refuse(path, ProblemDetail::ValueElsewhereInList {}) } else { Ok(()) }
}

fn blocked_problem(path: &Pointer, depth: usize) -> ValueProblem {
    let (way, _) = path.keys().split_at_checked(depth).unwrap_or((path.keys(), &[]));
    let finding = ValueProblem::new(&Pointer::from_keys(way.iter().cloned()), ProblemDetail::Blocked {});
    with_path(path, finding)
}

fn with_path(path: &Pointer, finding: ValueProblem) -> ValueProblem {
    ValueProblem { path: path.clone(), ..finding }
}

/// Wraps a value in new maps, one for each key.
fn wrap_in_maps(value: Value, keys: &[String]) -> Value {
    keys.iter().rev().fold(value, |inner, key| Value::Object(Map::from_iter([(key.clone(), inner)])))
}
