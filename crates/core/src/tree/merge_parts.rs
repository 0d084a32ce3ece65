//! Selects the operations that a merge brings over, also for branches that were merged before (`docs/domain.md`
//! 2.13).
//!
//! A branch is read as [`MergePart`]s: the operations of one original node, wherever they are now. A message is a
//! part of its own. A merge node contains the parts of other nodes, as its record says; the operations that resolved
//! its conflicts are its own part. A part that is on both branches is not applied again, whichever way it came. Two
//! rules keep the order of the other branch:
//!
//! - An operation that their branch later overwrote by a part we already have is not brought over: the later write
//!   wins here, too.
//! - If a new operation overwrites a part we already have, and their branch did that part after it, that part is
//!   applied again.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::ids::NodeId;
use crate::world::{Pointer, StateChange, StateOperation, WorldSection};

use super::conflict_paths::{operation_paths, path_prefixes};

/// The operations of one original node, as found on a branch.
#[derive(Debug, Clone, PartialEq)]
pub struct MergePart {
    /// The original node.
    pub origin: NodeId,
    /// Its operations, as far as they were brought over.
    pub operations: Vec<StateOperation>,
}

/// How many operations of a merge node come from one original node. The remaining operations at the end are its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergedNodeRecord {
    /// The original node.
    #[serde(rename = "nodeId")]
    pub origin: NodeId,
    /// The number of operations; 0 if conflicts were resolved against all of them.
    pub operations: usize,
}

/// Splits the operations of a node into parts. A node that is no merge has an empty record.
pub fn split_node(node: NodeId, operations: Vec<StateOperation>, record: &[MergedNodeRecord]) -> Vec<MergePart> {
    let mut rest = operations.into_iter();
    let carried = record
        .iter()
        .map(|one| MergePart { origin: one.origin, operations: rest.by_ref().take(one.operations).collect() });
    let mut parts: Vec<MergePart> = carried.collect();
    let own: Vec<StateOperation> = rest.collect();
    if record.is_empty() || !own.is_empty() {
        parts.push(MergePart { origin: node, operations: own });
    }
    parts
}

/// Returns the original nodes of a branch's parts.
pub fn origins(line: &[MergePart]) -> HashSet<NodeId> {
    line.iter().map(|part| part.origin).collect()
}

/// Selects the operations of the other branch to bring over, part by part and in its order. Only parts whose position
/// passes `is_chosen` are considered.
pub fn select_operations(
    theirs: &[MergePart],
    ours: &HashSet<NodeId>,
    is_chosen: impl Fn(usize) -> bool,
) -> Vec<Vec<bool>> {
    let mut comes: Vec<Vec<bool>> = theirs.iter().map(|part| vec![false; part.operations.len()]).collect();
    // Backwards: new operations that no later part of ours has overwritten on their branch.
    let mut wiped = OverwrittenPaths::default();
    for (part, comes) in theirs.iter().zip(&mut comes).rev() {
        let is_here = ours.contains(&part.origin);
        for (operation, comes) in part.operations.iter().zip(comes).rev() {
            *comes = !is_here && !wiped.contains_all(operation);
            if is_here {
                wiped.mark_overwritten(operation);
            }
        }
    }
    // Forwards: add operations we already have that a selected one overwrites.
    let mut wiped = OverwrittenPaths::default();
    for (at, (part, comes)) in theirs.iter().zip(&mut comes).enumerate() {
        let is_here = ours.contains(&part.origin);
        for (operation, comes) in part.operations.iter().zip(comes) {
            *comes = is_chosen(at) && (*comes || is_here && wiped.contains_any(operation));
            if *comes {
                wiped.mark_overwritten(operation);
            }
        }
    }
    comes
}

/// Paths at which the previous value was overwritten or removed.
#[derive(Default)]
struct OverwrittenPaths(HashMap<WorldSection, HashSet<Vec<String>>>);

impl OverwrittenPaths {
    /// Records the paths that an operation sets or removes.
    fn mark_overwritten(&mut self, operation: &StateOperation) {
        match operation.change {
            StateChange::Set(_) | StateChange::Remove | StateChange::Insert { .. } | StateChange::Move { .. } => {
                let wiped = operation_paths(operation).into_iter().map(|place| place.keys().to_vec());
                self.0.entry(operation.section).or_default().extend(wiped);
            }
            StateChange::Add(_) | StateChange::Append(_) | StateChange::Take(_) => {}
        }
    }

    fn contains(&self, section: WorldSection, place: &Pointer) -> bool {
        let wiped = self.0.get(&section);
        wiped.is_some_and(|wiped| path_prefixes(place).any(|above| wiped.contains(above)))
    }

    fn contains_all(&self, operation: &StateOperation) -> bool {
        operation_paths(operation).iter().all(|place| self.contains(operation.section, place))
    }

    fn contains_any(&self, operation: &StateOperation) -> bool {
        operation_paths(operation).iter().any(|place| self.contains(operation.section, place))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::world::{SchemaSet, World, fold};

    fn node_id(n: u128) -> NodeId {
        NodeId::new(uuid::Uuid::from_u128(n))
    }

    fn parse_operation(json: &Value) -> StateOperation {
        StateOperation::from_json(json).unwrap()
    }

    fn set(path: &str, value: i64) -> StateOperation {
        parse_operation(&json!({"op": "set", "path": path, "value": value}))
    }

    fn add(path: &str, value: i64) -> StateOperation {
        parse_operation(&json!({"op": "add", "path": path, "value": value}))
    }

    fn parts_of(parts: &[(u128, &[StateOperation])]) -> Vec<MergePart> {
        parts
            .iter()
            .map(|(of, operations)| MergePart { origin: node_id(*of), operations: operations.to_vec() })
            .collect()
    }

    fn selected_operations(theirs: &[MergePart], ours: &[MergePart]) -> Vec<StateOperation> {
        let comes = select_operations(theirs, &origins(ours), |_| true);
        let each = theirs.iter().zip(comes).flat_map(|(part, comes)| part.operations.iter().cloned().zip(comes));
        each.filter(|(_, comes)| *comes).map(|(operation, _)| operation).collect()
    }

    fn world_after<'a>(operations: impl IntoIterator<Item = &'a StateOperation>) -> World {
        let mut world = World::default();
        fold(&mut world, &operations.into_iter().cloned().collect::<Vec<_>>(), &SchemaSet::default());
        world
    }

    /// Domain 2.13: a merge node is split into the parts of its original nodes.
    #[test]
    fn merge_parts_merge_node_splits_by_origin() {
        let record = [
            MergedNodeRecord { origin: node_id(1), operations: 1 },
            MergedNodeRecord { origin: node_id(2), operations: 0 },
        ];
        let held = split_node(node_id(9), vec![add("/a", 1), set("/b", 2)], &record);
        assert_eq!(held, parts_of(&[(1, &[add("/a", 1)]), (2, &[]), (9, &[set("/b", 2)])]));
        assert_eq!(split_node(node_id(9), vec![add("/a", 1)], &record).len(), 2, "nothing is its own");
        assert_eq!(split_node(node_id(5), Vec::new(), &[]), parts_of(&[(5, &[])]));
        let wire = |n, operations: usize| json!({"nodeId": node_id(n).to_string(), "operations": operations});
        let wire = json!([wire(1, 1), wire(2, 0)]);
        assert_eq!(serde_json::to_value(record).unwrap(), wire);
        assert_eq!(serde_json::from_value::<[MergedNodeRecord; 2]>(wire).unwrap(), record);
    }

    /// Domain 2.13: a repeated merge brings only new operations, skips overruled ones, and repeats those it
    /// overwrites.
    #[test]
    fn merge_parts_repeated_merge_brings_only_new() {
        let ours = parts_of(&[(1, &[add("/a", 1), set("/s", 1)])]);
        let theirs =
            parts_of(&[(2, &[add("/c", 1), set("/s", 2)]), (1, &[add("/a", 1), set("/s", 1)]), (3, &[add("/b", 1)])]);
        assert_eq!(selected_operations(&theirs, &ours), [add("/c", 1), add("/b", 1)]);
        let theirs = parts_of(&[(2, &[set("/a", 10)]), (1, &[add("/a", 1), set("/s", 1)])]);
        assert_eq!(selected_operations(&theirs, &ours), [set("/a", 10), add("/a", 1)]);
        assert!(selected_operations(&ours, &theirs).is_empty());
    }

    /// Removes empty maps, which overruled operations leave behind.
    fn without_empty_maps(value: Value) -> Option<Value> {
        match value {
            Value::Object(map) => {
                let kept: serde_json::Map<_, _> =
                    map.into_iter().filter_map(|(key, value)| Some((key, without_empty_maps(value)?))).collect();
                (!kept.is_empty()).then_some(Value::Object(kept))
            }
            other => Some(other),
        }
    }

    fn any_operation() -> impl Strategy<Value = StateOperation> {
        let path = prop::sample::select(vec!["/a", "/a/b", "/a/b/c", "/a/d", "/e"]);
        (path, 0..4_i64, 0..3).prop_map(|(path, value, kind)| match kind {
            // A map where a number is expected would be refused by the fold, which is tested elsewhere.
            0 if path == "/e" || path == "/a/d" || path == "/a/b/c" => add(path, value),
            1 => parse_operation(&json!({"op": "remove", "path": path})),
            _ if path == "/a" => {
                parse_operation(&json!({"op": "set", "path": path, "value": {"b": {"c": value}, "d": value}}))
            }
            _ if path == "/a/b" => parse_operation(&json!({"op": "set", "path": path, "value": {"c": value}})),
            _ => set(path, value),
        })
    }

    proptest! {
        /// Domain 2.13: a branch has nothing of its own and merges one that contains all its parts in the same order.
        /// It then equals that branch, and a second merge brings nothing.
        #[test]
        fn merge_parts_empty_branch_becomes_other_branch(all in prop::collection::vec((any_operation(), any::<bool>()), 0..12)) {
            let theirs: Vec<MergePart> =
                all.iter().zip(1..).map(|((done, _), n)| MergePart { origin: node_id(n), operations: vec![done.clone()] }).collect();
            let ours: Vec<MergePart> =
                theirs.iter().zip(&all).filter(|(_, (_, is_here))| *is_here).map(|(part, _)| part.clone()).collect();
            let come = selected_operations(&theirs, &ours);
            let here = ours.iter().flat_map(|part| &part.operations);
            let there = theirs.iter().flat_map(|part| &part.operations);
            prop_assert_eq!(without_empty_maps(world_after(here.chain(&come)).vars.into()), without_empty_maps(world_after(there).vars.into()));
            prop_assert!(selected_operations(&theirs, &theirs).is_empty());
        }
    }
}
