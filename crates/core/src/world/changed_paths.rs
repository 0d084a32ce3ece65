//! Finds the operations behind the differences of two worlds.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::{PathChange, Pointer, StateChange, StateOperation, WorldSection};

/// The paths at which two worlds differ, indexed for lookup by operation.
pub struct ChangedPaths(BTreeMap<Pointer, usize>);

impl ChangedPaths {
    /// Indexes the paths of changes.
    pub fn new(changes: &[PathChange]) -> Self {
        Self(changes.iter().enumerate().map(|(position, change)| (change.path.clone(), position)).collect())
    }

    /// Returns the indexes of the changes whose path equals, contains or lies inside a path of the operation.
    pub fn changes_touched_by(&self, operation: &StateOperation) -> BTreeSet<usize> {
        let mut touched = BTreeSet::new();
        if operation.section == WorldSection::Vars {
            match &operation.change {
                StateChange::Insert { key, .. } => self.touching(operation.path.child(key).keys(), &mut touched),
                StateChange::Move { from } => {
                    self.touching(from.keys(), &mut touched);
                    self.touching(operation.path.keys(), &mut touched);
                }
                _ => self.touching(operation.path.keys(), &mut touched),
            }
        }
        touched
    }

    fn touching(&self, place: &[String], touched: &mut BTreeSet<usize>) {
        let above = (0..place.len()).filter_map(|depth| place.get(..depth)).filter_map(|above| self.0.get(above));
        touched.extend(above);
        let from_here = self.0.range::<[String], _>((Bound::Included(place), Bound::Unbounded));
        touched.extend(from_here.take_while(|(path, _)| path.keys().starts_with(place)).map(|(_, position)| position));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn changed_paths_related_operation_touches_change() {
        let change = |path: &str| PathChange { path: path.parse().unwrap(), before: None, after: None };
        let differences = ChangedPaths::new(&["/combat/hp", "/combat/pack", "/combatant", "/list/1/a"].map(change));
        let check = |operation: Value, expected: &[usize]| {
            let touched = differences.changes_touched_by(&StateOperation::from_json(&operation).unwrap());
            assert_eq!(touched.into_iter().collect::<Vec<_>>(), expected, "{operation}");
        };
        check(json!({"op": "add", "path": "/combat/hp", "value": 1}), &[0]);
        check(json!({"op": "add", "path": "/combat/mp", "value": 1}), &[]);
        check(json!({"op": "set", "path": "/combat", "value": {}}), &[0, 1]);
        check(json!({"op": "remove", "path": "/combat/pack/rope/knots"}), &[1]);
        check(json!({"op": "insert", "path": "/combat", "key": "hp", "value": 1}), &[0]);
        check(json!({"op": "insert", "path": "/combat/pack", "key": "rope", "value": 1}), &[1]);
        check(json!({"op": "move", "from": "/combatant", "path": "/combat/hp"}), &[0, 2]);
        check(json!({"op": "append", "path": "/list", "value": 1}), &[3]);
        check(json!({"op": "set", "path": "", "value": {}}), &[0, 1, 2, 3]);
        check(json!({"in": "lore", "op": "set", "path": "/combat", "value": 1}), &[]);
    }
}
