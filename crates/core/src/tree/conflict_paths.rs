//! Finds the paths at which two branches conflict. Paths are looked up in sorted maps, so the cost grows with the sum
//! of both branches and not with every pair of their operations.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use serde_json::Value;

use crate::world::{Pointer, StateChange, StateOperation, WorldSection};

/// The sections of a world; paths are compared within one section.
const SECTIONS: [WorldSection; 4] =
    [WorldSection::Vars, WorldSection::Lore, WorldSection::Summary, WorldSection::Events];

/// The write of one branch at a path, as far as it decides whether the other's write can be applied in any order.
#[derive(Debug, Clone, Copy, PartialEq)]
enum PathWrite<'a> {
    /// Adds to a number.
    Add,
    /// Appends to a list or takes from one.
    ListChange,
    /// Sets the value.
    Set(&'a Value),
    /// Commutes with nothing.
    Exclusive,
}

impl<'a> PathWrite<'a> {
    const fn new(change: &'a StateChange) -> Self {
        match change {
            StateChange::Add(_) => Self::Add,
            StateChange::Append(_) | StateChange::Take(_) => Self::ListChange,
            StateChange::Set(value) | StateChange::Insert { value, .. } => Self::Set(value),
            StateChange::Remove | StateChange::Move { .. } => Self::Exclusive,
        }
    }

    fn commutes_with(self, other: Self) -> bool {
        self == other && self != Self::Exclusive
    }
}

/// The writes of one branch, by path.
type PathWrites<'a> = BTreeMap<Pointer, PathWrite<'a>>;

/// The outermost paths at which two branches conflict, numbered in path order.
#[derive(Debug, Default)]
pub struct ConflictPaths {
    places: Vec<(WorldSection, Pointer)>,
    numbers: HashMap<WorldSection, BTreeMap<Pointer, usize>>,
}

impl ConflictPaths {
    /// Finds the conflicts. Two writes conflict if one path equals or contains the other; the outer path is reported.
    /// Writes to the same path do not conflict if both add, both change a list, or both set the same value.
    pub fn find(theirs: &[StateOperation], ours: &[StateOperation]) -> Self {
        Self::find_counting(theirs, ours, &mut || ())
    }

    /// As [`Self::find`]; calls `look` for every path lookup.
    fn find_counting(theirs: &[StateOperation], ours: &[StateOperation], look: &mut impl FnMut()) -> Self {
        let mut places: Vec<(WorldSection, Pointer)> = Vec::new();
        for section in SECTIONS {
            let (theirs, ours) = (section_writes(theirs, section), section_writes(ours, section));
            let mut found: Vec<Pointer> =
                theirs.iter().filter_map(|(path, doing)| outermost_conflict(path, *doing, &ours, look)).collect();
            // Sorted, the paths inside a path follow it directly.
            found.sort();
            found.dedup_by(|inner, outer| inner.below(outer).is_some());
            places.extend(found.into_iter().map(|path| (section, path)));
        }
        places.sort_by(|a, b| a.1.cmp(&b.1));
        let mut numbers: HashMap<WorldSection, BTreeMap<Pointer, usize>> = HashMap::new();
        for (at, (section, path)) in places.iter().enumerate() {
            numbers.entry(*section).or_default().insert(path.clone(), at);
        }
        Self { places, numbers }
    }

    /// Returns the conflict paths in order.
    pub fn paths(&self) -> &[(WorldSection, Pointer)] {
        &self.places
    }

    /// Returns the numbers of the conflict paths at or inside which an operation writes.
    pub fn conflicts_of(&self, operation: &StateOperation) -> Vec<usize> {
        let Some(numbers) = self.numbers.get(&operation.section) else { return Vec::new() };
        let above = |place: &Pointer| path_prefixes(place).find_map(|keys| numbers.get(keys).copied());
        let mut met: Vec<usize> = operation_paths(operation).iter().filter_map(above).collect();
        met.dedup();
        met
    }
}

/// Returns the writes of one branch in a section. Different kinds of writes to one path are `Exclusive`.
fn section_writes(operations: &[StateOperation], section: WorldSection) -> PathWrites<'_> {
    let mut side = PathWrites::new();
    for operation in operations.iter().filter(|operation| operation.section == section) {
        let doing = PathWrite::new(&operation.change);
        for place in operation_paths(operation) {
            let all = side.entry(place).or_insert(doing);
            *all = if *all == doing { doing } else { PathWrite::Exclusive };
        }
    }
    side
}

/// Returns the outermost path at which a write conflicts with the other branch.
fn outermost_conflict(
    path: &Pointer,
    doing: PathWrite<'_>,
    other: &PathWrites<'_>,
    look: &mut impl FnMut(),
) -> Option<Pointer> {
    for keys in path_prefixes(path) {
        look();
        match other.get(keys) {
            Some(there) if keys.len() == path.keys().len() && doing.commutes_with(*there) => {}
            Some(_) => return Some(Pointer::from_keys(keys.iter().cloned())),
            None => {}
        }
    }
    look();
    let inside = other.range::<[String], _>((Bound::Excluded(path.keys()), Bound::Unbounded)).next();
    inside.filter(|(inner, _)| inner.below(path).is_some()).map(|_| path.clone())
}

/// Returns all prefixes of a path including itself, the shortest first.
pub(super) fn path_prefixes(path: &Pointer) -> impl Iterator<Item = &[String]> {
    (0..=path.keys().len()).filter_map(move |length| path.keys().get(..length))
}

/// Returns the paths that an operation changes.
pub(super) fn operation_paths(operation: &StateOperation) -> Vec<Pointer> {
    match &operation.change {
        StateChange::Insert { key, .. } => vec![operation.path.child(key)],
        StateChange::Move { from } => vec![operation.path.clone(), from.clone()],
        _ => vec![operation.path.clone()],
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// The rule applied to each pair of operations, as `docs/domain.md` 2.13 states it.
    fn pairwise_conflicts(theirs: &[StateOperation], ours: &[StateOperation]) -> Vec<Pointer> {
        let agree = |a: &StateOperation, b: &StateOperation| match (&a.change, &b.change) {
            (StateChange::Add(_), StateChange::Add(_))
            | (StateChange::Append(_) | StateChange::Take(_), StateChange::Append(_) | StateChange::Take(_)) => {
                a.path == b.path
            }
            (
                StateChange::Set(x) | StateChange::Insert { value: x, .. },
                StateChange::Set(y) | StateChange::Insert { value: y, .. },
            ) => x == y && operation_paths(a) == operation_paths(b),
            _ => false,
        };
        let mut found = Vec::new();
        for (a, b) in theirs.iter().flat_map(|a| ours.iter().map(move |b| (a, b))).filter(|(a, b)| !agree(a, b)) {
            for (x, y) in
                operation_paths(a).iter().flat_map(|x| operation_paths(b).into_iter().map(move |y| (x.clone(), y)))
            {
                if x.touches(&y) {
                    found.push(if y.below(&x).is_some() { x } else { y });
                }
            }
        }
        found.sort();
        found.dedup_by(|inner, outer| inner.below(outer).is_some());
        found
    }

    fn any_operation() -> impl Strategy<Value = StateOperation> {
        let path = proptest::collection::vec("[ab]", 0..4).prop_map(|keys: Vec<String>| Pointer::from_keys(keys));
        let value = prop_oneof![Just(json!(1)), Just(json!(2))];
        let change = prop_oneof![
            Just(StateChange::Add(1.into())),
            Just(StateChange::Remove),
            value.clone().prop_map(StateChange::Set),
            value.clone().prop_map(StateChange::Append),
            value.clone().prop_map(StateChange::Take),
            ("[ab]", value).prop_map(|(key, value)| StateChange::Insert { key, value }),
            path.clone().prop_map(|from| StateChange::Move { from }),
        ];
        (path, change).prop_map(|(path, change)| StateOperation::new(path, change, "", "test"))
    }

    proptest! {
        /// Domain 2.13: the lookup finds exactly the conflicts of the pairwise comparison.
        #[test]
        fn conflict_paths_match_pairwise_comparison(
            theirs in proptest::collection::vec(any_operation(), 0..6), ours in proptest::collection::vec(any_operation(), 0..6),
        ) {
            let clashes = ConflictPaths::find(&theirs, &ours);
            let found: Vec<Pointer> = clashes.paths().iter().map(|(_, path)| path.clone()).collect();
            prop_assert_eq!(found, pairwise_conflicts(&theirs, &ours));
        }
    }

    /// Two long branches need a handful of lookups per operation, however long the other branch is.
    #[test]
    fn conflict_paths_long_branches_need_few_lookups() {
        let line = |from: usize| -> Vec<StateOperation> {
            let one = |n: usize| {
                let path = Pointer::from_keys(["world".to_owned(), (n % 1_000).to_string(), n.to_string()]);
                StateOperation::new(path, StateChange::Set(n.into()), "", "test")
            };
            let same = StateOperation::new(Pointer::from_keys(["hp"]), StateChange::Add(1.into()), "", "test");
            (from..from + 5_000).map(one).chain(std::iter::repeat_n(same, 5_000)).collect()
        };
        let (theirs, ours, mut looks) = (line(0), line(5_000), 0);
        let clashes = ConflictPaths::find_counting(&theirs, &ours, &mut || looks += 1);
        assert!(clashes.paths().is_empty());
        assert!(looks <= 5 * theirs.len(), "{looks}");
    }
}
