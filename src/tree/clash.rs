//! Where two lines did what does not go together. Every place is looked up by its path, so that two long lines cost what both
//! have and not what every pair of their operations would.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use serde_json::Value;

use crate::world::{Change, Operation, Pointer, Section};

/// The sections of a world, each with places of its own.
const SECTIONS: [Section; 4] = [Section::Vars, Section::Lore, Section::Summary, Section::Events];

/// What one line does to a place, as far as it decides whether the other may do its part too, in any order.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Doing<'a> {
    /// It adds to a number.
    Adds,
    /// It puts into a list, or takes out of one.
    Gathers,
    /// It makes it this value.
    Makes(&'a Value),
    /// What goes with nothing else.
    Alone,
}

impl<'a> Doing<'a> {
    const fn of(change: &'a Change) -> Self {
        match change {
            Change::Add(_) => Self::Adds,
            Change::Append(_) | Change::Take(_) => Self::Gathers,
            Change::Set(value) | Change::Insert { value, .. } => Self::Makes(value),
            Change::Remove | Change::Move { .. } => Self::Alone,
        }
    }

    fn goes_with(self, other: Self) -> bool {
        self == other && self != Self::Alone
    }
}

/// What one line does, place by place.
type Side<'a> = BTreeMap<Pointer, Doing<'a>>;

/// The outermost places where two lines clash, numbered in the order of their paths.
#[derive(Debug, Default)]
pub struct Clashes {
    places: Vec<(Section, Pointer)>,
    numbers: HashMap<Section, BTreeMap<Pointer, usize>>,
}

impl Clashes {
    /// Finds them. Two lines clash at a place where one path is the other or lies inside it (the outer one then), unless both
    /// add, both put into a list, or both make it the same value.
    pub fn between(theirs: &[Operation], ours: &[Operation]) -> Self {
        Self::looking(theirs, ours, &mut || ())
    }

    /// The same; `look` hears of every place that is looked up.
    fn looking(theirs: &[Operation], ours: &[Operation], look: &mut impl FnMut()) -> Self {
        let mut places: Vec<(Section, Pointer)> = Vec::new();
        for section in SECTIONS {
            let (theirs, ours) = (side(theirs, section), side(ours, section));
            let mut found: Vec<Pointer> =
                theirs.iter().filter_map(|(path, doing)| outermost(path, *doing, &ours, look)).collect();
            // What lies inside a place follows it.
            found.sort();
            found.dedup_by(|inner, outer| inner.below(outer).is_some());
            places.extend(found.into_iter().map(|path| (section, path)));
        }
        places.sort_by(|a, b| a.1.cmp(&b.1));
        let mut numbers: HashMap<Section, BTreeMap<Pointer, usize>> = HashMap::new();
        for (at, (section, path)) in places.iter().enumerate() {
            numbers.entry(*section).or_default().insert(path.clone(), at);
        }
        Self { places, numbers }
    }

    /// The places, in their order.
    pub fn places(&self) -> &[(Section, Pointer)] {
        &self.places
    }

    /// The numbers of those at or inside which an operation does something.
    pub fn of(&self, operation: &Operation) -> Vec<usize> {
        let Some(numbers) = self.numbers.get(&operation.section) else { return Vec::new() };
        let above = |place: &Pointer| prefixes(place).find_map(|keys| numbers.get(keys).copied());
        let mut met: Vec<usize> = places(operation).iter().filter_map(above).collect();
        met.dedup();
        met
    }
}

/// What one line does in a section. What it does to one place in several ways goes with nothing.
fn side(operations: &[Operation], section: Section) -> Side<'_> {
    let mut side = Side::new();
    for operation in operations.iter().filter(|operation| operation.section == section) {
        let doing = Doing::of(&operation.change);
        for place in places(operation) {
            let all = side.entry(place).or_insert(doing);
            *all = if *all == doing { doing } else { Doing::Alone };
        }
    }
    side
}

/// The outermost place at which something clashes with what the other line does.
fn outermost(path: &Pointer, doing: Doing<'_>, other: &Side<'_>, look: &mut impl FnMut()) -> Option<Pointer> {
    for keys in prefixes(path) {
        look();
        match other.get(keys) {
            Some(there) if keys.len() == path.keys().len() && doing.goes_with(*there) => {}
            Some(_) => return Some(Pointer::from_keys(keys.iter().cloned())),
            None => {}
        }
    }
    look();
    let inside = other.range::<[String], _>((Bound::Excluded(path.keys()), Bound::Unbounded)).next();
    inside.filter(|(inner, _)| inner.below(path).is_some()).map(|_| path.clone())
}

/// A path and all above it, the shortest first.
pub(super) fn prefixes(path: &Pointer) -> impl Iterator<Item = &[String]> {
    (0..=path.keys().len()).filter_map(move |length| path.keys().get(..length))
}

/// The places that an operation changes.
pub(super) fn places(operation: &Operation) -> Vec<Pointer> {
    match &operation.change {
        Change::Insert { key, .. } => vec![operation.path.child(key)],
        Change::Move { from } => vec![operation.path.clone(), from.clone()],
        _ => vec![operation.path.clone()],
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// The law said pair by pair, as `docs/domain.md` 2.13 says it.
    fn pair_by_pair(theirs: &[Operation], ours: &[Operation]) -> Vec<Pointer> {
        let agree = |a: &Operation, b: &Operation| match (&a.change, &b.change) {
            (Change::Add(_), Change::Add(_))
            | (Change::Append(_) | Change::Take(_), Change::Append(_) | Change::Take(_)) => a.path == b.path,
            (Change::Set(x) | Change::Insert { value: x, .. }, Change::Set(y) | Change::Insert { value: y, .. }) => {
                x == y && places(a) == places(b)
            }
            _ => false,
        };
        let mut found = Vec::new();
        for (a, b) in theirs.iter().flat_map(|a| ours.iter().map(move |b| (a, b))).filter(|(a, b)| !agree(a, b)) {
            for (x, y) in places(a).iter().flat_map(|x| places(b).into_iter().map(move |y| (x.clone(), y))) {
                if x.touches(&y) {
                    found.push(if y.below(&x).is_some() { x } else { y });
                }
            }
        }
        found.sort();
        found.dedup_by(|inner, outer| inner.below(outer).is_some());
        found
    }

    fn operation() -> impl Strategy<Value = Operation> {
        let path = proptest::collection::vec("[ab]", 0..4).prop_map(|keys: Vec<String>| Pointer::from_keys(keys));
        let value = prop_oneof![Just(json!(1)), Just(json!(2))];
        let change = prop_oneof![
            Just(Change::Add(1.into())),
            Just(Change::Remove),
            value.clone().prop_map(Change::Set),
            value.clone().prop_map(Change::Append),
            value.clone().prop_map(Change::Take),
            ("[ab]", value).prop_map(|(key, value)| Change::Insert { key, value }),
            path.clone().prop_map(|from| Change::Move { from }),
        ];
        (path, change).prop_map(|(path, change)| Operation::new(path, change, "", "test"))
    }

    proptest! {
        /// Domain 2.13: found by path are just those that every pair tells.
        #[test]
        fn paths_find_what_pairs_find(
            theirs in proptest::collection::vec(operation(), 0..6), ours in proptest::collection::vec(operation(), 0..6),
        ) {
            let clashes = Clashes::between(&theirs, &ours);
            let found: Vec<Pointer> = clashes.places().iter().map(|(_, path)| path.clone()).collect();
            prop_assert_eq!(found, pair_by_pair(&theirs, &ours));
        }
    }

    /// Two long lines cost what both have: a handful of looks for each operation, however many the other line has.
    #[test]
    fn long_lines_are_not_compared_pair_by_pair() {
        let line = |from: usize| -> Vec<Operation> {
            let one = |n: usize| {
                let path = Pointer::from_keys(["world".to_owned(), (n % 1_000).to_string(), n.to_string()]);
                Operation::new(path, Change::Set(n.into()), "", "test")
            };
            let same = Operation::new(Pointer::from_keys(["hp"]), Change::Add(1.into()), "", "test");
            (from..from + 5_000).map(one).chain(std::iter::repeat_n(same, 5_000)).collect()
        };
        let (theirs, ours, mut looks) = (line(0), line(5_000), 0);
        let clashes = Clashes::looking(&theirs, &ours, &mut || looks += 1);
        assert!(clashes.places().is_empty());
        assert!(looks <= 5 * theirs.len(), "{looks}");
    }
}
