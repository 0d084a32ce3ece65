//! Where two lines did what does not go together. Every place is looked up by its path, so that two long lines cost what both
//! have and not what every pair of their operations would.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use serde_json::Value;

use crate::world::{Pointer, StateChange, StateOperation, WorldSection};

/// The sections of a world, each with places of its own.
const SECTIONS: [WorldSection; 4] =
    [WorldSection::Vars, WorldSection::Lore, WorldSection::Summary, WorldSection::Events];

/// What one line does to a place, as far as it decides whether the other may do its part too, in any order.
#[derive(Debug, Clone, Copy, PartialEq)]
enum PathWrite<'a> {
    /// It adds to a number.
    Add,
    /// It puts into a list, or takes out of one.
    ListChange,
    /// It makes it this value.
    Set(&'a Value),
    /// What goes with nothing else.
    Exclusive,
}

impl<'a> PathWrite<'a> {
    const fn of(change: &'a StateChange) -> Self {
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

/// What one line does, place by place.
type PathWrites<'a> = BTreeMap<Pointer, PathWrite<'a>>;

/// The outermost places where two lines clash, numbered in the order of their paths.
#[derive(Debug, Default)]
pub struct ConflictPaths {
    places: Vec<(WorldSection, Pointer)>,
    numbers: HashMap<WorldSection, BTreeMap<Pointer, usize>>,
}

impl ConflictPaths {
    /// Finds them. Two lines clash at a place where one path is the other or lies inside it (the outer one then), unless both
    /// add, both put into a list, or both make it the same value.
    pub fn find(theirs: &[StateOperation], ours: &[StateOperation]) -> Self {
        Self::find_counting(theirs, ours, &mut || ())
    }

    /// The same; `look` hears of every place that is looked up.
    fn find_counting(theirs: &[StateOperation], ours: &[StateOperation], look: &mut impl FnMut()) -> Self {
        let mut places: Vec<(WorldSection, Pointer)> = Vec::new();
        for section in SECTIONS {
            let (theirs, ours) = (section_writes(theirs, section), section_writes(ours, section));
            let mut found: Vec<Pointer> =
                theirs.iter().filter_map(|(path, doing)| outermost_conflict(path, *doing, &ours, look)).collect();
            // What lies inside a place follows it.
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

    /// The places, in their order.
    pub fn paths(&self) -> &[(WorldSection, Pointer)] {
        &self.places
    }

    /// The numbers of those at or inside which an operation does something.
    pub fn of(&self, operation: &StateOperation) -> Vec<usize> {
        let Some(numbers) = self.numbers.get(&operation.section) else { return Vec::new() };
        let above = |place: &Pointer| path_prefixes(place).find_map(|keys| numbers.get(keys).copied());
        let mut met: Vec<usize> = operation_paths(operation).iter().filter_map(above).collect();
        met.dedup();
        met
    }
}

/// What one line does in a section. What it does to one place in several ways goes with nothing.
fn section_writes(operations: &[StateOperation], section: WorldSection) -> PathWrites<'_> {
    let mut side = PathWrites::new();
    for operation in operations.iter().filter(|operation| operation.section == section) {
        let doing = PathWrite::of(&operation.change);
        for place in operation_paths(operation) {
            let all = side.entry(place).or_insert(doing);
            *all = if *all == doing { doing } else { PathWrite::Exclusive };
        }
    }
    side
}

/// The outermost place at which something clashes with what the other line does.
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

/// A path and all above it, the shortest first.
pub(super) fn path_prefixes(path: &Pointer) -> impl Iterator<Item = &[String]> {
    (0..=path.keys().len()).filter_map(move |length| path.keys().get(..length))
}

/// The places that an operation changes.
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

    /// The law said pair by pair, as `docs/domain.md` 2.13 says it.
    fn pair_by_pair(theirs: &[StateOperation], ours: &[StateOperation]) -> Vec<Pointer> {
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

    fn operation() -> impl Strategy<Value = StateOperation> {
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
        /// Domain 2.13: found by path are just those that every pair tells.
        #[test]
        fn conflict_paths_match_pairwise_comparison(
            theirs in proptest::collection::vec(operation(), 0..6), ours in proptest::collection::vec(operation(), 0..6),
        ) {
            let clashes = ConflictPaths::find(&theirs, &ours);
            let found: Vec<Pointer> = clashes.paths().iter().map(|(_, path)| path.clone()).collect();
            prop_assert_eq!(found, pair_by_pair(&theirs, &ours));
        }
    }

    /// Two long lines cost what both have: a handful of looks for each operation, however many the other line has.
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
