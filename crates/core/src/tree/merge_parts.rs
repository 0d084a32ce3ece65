//! What comes over in a merge of two lines that may have met before (`docs/domain.md` 2.13).
//!
//! A line is read as [`MergePart`]s: what one node did, wherever that stands now. A message is a part of its own; what a merge made
//! holds the parts of others, as its record says, and what settled its conflicts is its own. A part that is on both lines does
//! not come again, by whatever detour it came. Two things keep the order in which the other line did it all:
//!
//! - what it did and then wiped with something that is here already stays there: here, too, the later one holds;
//! - what comes and wipes something that is here already, and that the other line did after it, is followed by that once more.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::ids::NodeId;
use crate::world::{Pointer, StateChange, StateOperation, WorldSection};

use super::conflict_paths::{operation_paths, path_prefixes};

/// What one node did, as it stands on a line.
#[derive(Debug, Clone, PartialEq)]
pub struct MergePart {
    /// Whose doing it is.
    pub of: NodeId,
    /// What was done, of it what was brought.
    pub operations: Vec<StateOperation>,
}

/// So many of the operations of what a merge made are of one node; the rest at the end is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergedNodeRecord {
    /// The node that did them first.
    pub of: NodeId,
    /// How many there are; none where a conflict was settled against them.
    pub operations: usize,
}

impl MergedNodeRecord {
    /// The wire form, in `metadata.mergedNodes`.
    pub fn to_json(&self) -> Value {
        json!({"nodeId": self.of.to_string(), "operations": self.operations})
    }

    /// What [`MergedNodeRecord::to_json`] wrote; `None` if it is something else.
    pub fn from_json(value: &Value) -> Option<Self> {
        let operations = usize::try_from(value.get("operations")?.as_u64()?).ok()?;
        Some(Self { of: value.get("nodeId")?.as_str()?.parse().ok()?, operations })
    }
}

/// The parts of a node. One that no merge made has no record.
pub fn split_node(node: NodeId, operations: Vec<StateOperation>, record: &[MergedNodeRecord]) -> Vec<MergePart> {
    let mut rest = operations.into_iter();
    let carried =
        record.iter().map(|one| MergePart { of: one.of, operations: rest.by_ref().take(one.operations).collect() });
    let mut parts: Vec<MergePart> = carried.collect();
    let own: Vec<StateOperation> = rest.collect();
    if record.is_empty() || !own.is_empty() {
        parts.push(MergePart { of: node, operations: own });
    }
    parts
}

/// Whose doing stands on a line.
pub fn origins(line: &[MergePart]) -> HashSet<NodeId> {
    line.iter().map(|part| part.of).collect()
}

/// Which operations of another line come over, part by part, in its order. Of the parts only those that `is_chosen` names by
/// their position may come.
pub fn select_operations(
    theirs: &[MergePart],
    ours: &HashSet<NodeId>,
    is_chosen: impl Fn(usize) -> bool,
) -> Vec<Vec<bool>> {
    let mut comes: Vec<Vec<bool>> = theirs.iter().map(|part| vec![false; part.operations.len()]).collect();
    let mut wiped = OverwrittenPaths::default();
    for (part, comes) in theirs.iter().zip(&mut comes).rev() {
        let is_here = ours.contains(&part.of);
        for (operation, comes) in part.operations.iter().zip(comes).rev() {
            *comes = !is_here && !wiped.contains_all(operation);
            if is_here {
                wiped.mark_overwritten(operation);
            }
        }
    }
    let mut wiped = OverwrittenPaths::default();
    for (at, (part, comes)) in theirs.iter().zip(&mut comes).enumerate() {
        let is_here = ours.contains(&part.of);
        for (operation, comes) in part.operations.iter().zip(comes) {
            *comes = is_chosen(at) && (*comes || is_here && wiped.contains_any(operation));
            if *comes {
                wiped.mark_overwritten(operation);
            }
        }
    }
    comes
}

/// Places at which whatever was there before is gone.
#[derive(Default)]
struct OverwrittenPaths(HashMap<WorldSection, HashSet<Vec<String>>>);

impl OverwrittenPaths {
    /// What an operation wipes: what it makes anew, or takes away.
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

    use super::*;
    use crate::world::{SchemaSet, World, fold};

    fn id(n: u128) -> NodeId {
        NodeId::new(uuid::Uuid::from_u128(n))
    }

    fn operation(json: &Value) -> StateOperation {
        StateOperation::from_json(json).unwrap()
    }

    fn set(path: &str, value: i64) -> StateOperation {
        operation(&json!({"op": "set", "path": path, "value": value}))
    }

    fn add(path: &str, value: i64) -> StateOperation {
        operation(&json!({"op": "add", "path": path, "value": value}))
    }

    fn line(parts: &[(u128, &[StateOperation])]) -> Vec<MergePart> {
        parts.iter().map(|(of, operations)| MergePart { of: id(*of), operations: operations.to_vec() }).collect()
    }

    fn comes(theirs: &[MergePart], ours: &[MergePart]) -> Vec<StateOperation> {
        let comes = select_operations(theirs, &origins(ours), |_| true);
        let each = theirs.iter().zip(comes).flat_map(|(part, comes)| part.operations.iter().cloned().zip(comes));
        each.filter(|(_, comes)| *comes).map(|(operation, _)| operation).collect()
    }

    fn after<'a>(operations: impl IntoIterator<Item = &'a StateOperation>) -> World {
        let mut world = World::default();
        fold(&mut world, &operations.into_iter().cloned().collect::<Vec<_>>(), &SchemaSet::default());
        world
    }

    /// Domain 2.13: a merge is taken apart again into whose doing it holds.
    #[test]
    fn merge_parts_merge_node_splits_by_origin() {
        let record = [MergedNodeRecord { of: id(1), operations: 1 }, MergedNodeRecord { of: id(2), operations: 0 }];
        let held = split_node(id(9), vec![add("/a", 1), set("/b", 2)], &record);
        assert_eq!(held, line(&[(1, &[add("/a", 1)]), (2, &[]), (9, &[set("/b", 2)])]));
        assert_eq!(split_node(id(9), vec![add("/a", 1)], &record).len(), 2, "nothing is its own");
        assert_eq!(split_node(id(5), Vec::new(), &[]), line(&[(5, &[])]));
        assert_eq!(MergedNodeRecord::from_json(&record[0].to_json()), Some(record[0]));
    }

    /// Domain 2.13: of a merge comes what is not here yet; what they overruled stays there, and what is wiped comes once more.
    #[test]
    fn merge_parts_repeated_merge_brings_only_new() {
        let ours = line(&[(1, &[add("/a", 1), set("/s", 1)])]);
        let theirs =
            line(&[(2, &[add("/c", 1), set("/s", 2)]), (1, &[add("/a", 1), set("/s", 1)]), (3, &[add("/b", 1)])]);
        assert_eq!(comes(&theirs, &ours), [add("/c", 1), add("/b", 1)]);
        let theirs = line(&[(2, &[set("/a", 10)]), (1, &[add("/a", 1), set("/s", 1)])]);
        assert_eq!(comes(&theirs, &ours), [set("/a", 10), add("/a", 1)]);
        assert!(comes(&ours, &theirs).is_empty());
    }

    /// Without empty maps: what was overruled leaves none of those that led to it.
    fn bare(value: Value) -> Option<Value> {
        match value {
            Value::Object(map) => {
                let kept: serde_json::Map<_, _> =
                    map.into_iter().filter_map(|(key, value)| Some((key, bare(value)?))).collect();
                (!kept.is_empty()).then_some(Value::Object(kept))
            }
            other => Some(other),
        }
    }

    fn doing() -> impl Strategy<Value = StateOperation> {
        let path = prop::sample::select(vec!["/a", "/a/b", "/a/b/c", "/a/d", "/e"]);
        (path, 0..4_i64, 0..3).prop_map(|(path, value, kind)| match kind {
            // A map in the way of a number would be refused by the fold, which is another law.
            0 if path == "/e" || path == "/a/d" || path == "/a/b/c" => add(path, value),
            1 => operation(&json!({"op": "remove", "path": path})),
            _ if path == "/a" => {
                operation(&json!({"op": "set", "path": path, "value": {"b": {"c": value}, "d": value}}))
            }
            _ if path == "/a/b" => operation(&json!({"op": "set", "path": path, "value": {"c": value}})),
            _ => set(path, value),
        })
    }

    proptest! {
        /// Domain 2.13: a line that has nothing of its own is, after a merge of one that has all of it in the same order, what
        /// that one is; and then there is nothing more to bring.
        #[test]
        fn merge_parts_empty_branch_becomes_other_branch(all in prop::collection::vec((doing(), any::<bool>()), 0..12)) {
            let theirs: Vec<MergePart> =
                all.iter().zip(1..).map(|((done, _), n)| MergePart { of: id(n), operations: vec![done.clone()] }).collect();
            let ours: Vec<MergePart> =
                theirs.iter().zip(&all).filter(|(_, (_, is_here))| *is_here).map(|(part, _)| part.clone()).collect();
            let come = comes(&theirs, &ours);
            let here = ours.iter().flat_map(|part| &part.operations);
            let there = theirs.iter().flat_map(|part| &part.operations);
            prop_assert_eq!(bare(after(here.chain(&come)).vars.into()), bare(after(there).vars.into()));
            prop_assert!(comes(&theirs, &theirs).is_empty());
        }
    }
}
