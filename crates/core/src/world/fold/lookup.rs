//! What stands at a place, and which rule governs it.

use serde_json::{Map, Value};

use super::{Pointer, SchemaSet, ValueProblem, refuse};
use crate::world::pointer::{index, step};
use crate::world::schema::{SchemaNode, SchemaRule};

/// What stands at a place.
pub(super) enum LookupResult<'w> {
    /// This value.
    Value(&'w Value),
    /// Nothing: the map that so many keys lead to has no entry under the next key.
    Missing(usize),
    /// Nothing, and nothing can be put there: so many keys lead to a plain value, or to a list without the position.
    Blocked(usize),
}

/// A place seen from the top of its section.
pub(super) struct PathLookup<'w, 'r> {
    /// What stands there.
    pub found: LookupResult<'w>,
    /// What is said about the place so many keys lead to: the place itself, or the first that is missing.
    pub rule: SchemaRule<'r>,
    /// How many keys `spot` is away from the top.
    pub rule_depth: usize,
    /// The rule for what contains the place, if all of that exists.
    pub container: Option<&'r SchemaNode>,
    /// The list that contains the place, with the position in it.
    pub list: Option<(&'w [Value], usize)>,
    /// Whether something read-only already stands there or on the way.
    pub is_read_only: bool,
}

/// Looks at a place. Costs as many steps as the path has keys.
pub(super) fn look_up<'w, 'r>(
    section: &'w Map<String, Value>,
    rules: &'r SchemaSet,
    path: &Pointer,
) -> PathLookup<'w, 'r> {
    let governing = rules.schema_for(path).map(|(root, schema)| (root.keys().len(), schema));
    let start = |depth: usize, spot: SchemaRule<'r>| match governing {
        Some((root, schema)) if root == depth => SchemaRule::Node(schema.top()),
        _ => spot,
    };
    let keys = path.keys();
    let mut spot = start(0, SchemaRule::Unrestricted);
    let mut here: Option<&'w Value> = None;
    let mut sight = PathLookup {
        found: LookupResult::Missing(0),
        rule: spot,
        rule_depth: 0,
        container: None,
        list: None,
        is_read_only: false,
    };
    for (depth, key) in keys.iter().enumerate() {
        let in_list = here.is_some_and(Value::is_array);
        sight.container = spot.node();
        spot = start(depth.saturating_add(1), spot.step(key, in_list));
        let next = here.map_or_else(|| section.get(key), |value| step(value, key));
        let Some(value) = next else {
            let is_map = here.is_none_or(Value::is_object);
            sight.found = if is_map { LookupResult::Missing(depth) } else { LookupResult::Blocked(depth) };
            (sight.rule, sight.rule_depth) = missing_rule(spot, depth.saturating_add(1), governing);
            return sight;
        };
        sight.list = here.and_then(Value::as_array).map(Vec::as_slice).zip(index(key));
        sight.is_read_only |= spot.node().is_some_and(SchemaNode::is_read_only);
        sight.found = LookupResult::Value(value);
        here = Some(value);
    }
    PathLookup { rule: spot, rule_depth: keys.len(), ..sight }
}

/// What must be checked when everything from a missing place on is made: from the root of the schema on, if that is
/// missing too.
fn missing_rule<'r>(
    spot: SchemaRule<'r>,
    depth: usize,
    governing: Option<(usize, &'r crate::world::Schema)>,
) -> (SchemaRule<'r>, usize) {
    match governing {
        Some((root, schema)) if root > depth => (SchemaRule::Node(schema.top()), root),
        _ => (spot, depth),
    }
}

impl PathLookup<'_, '_> {
    /// Refuses to change what is read-only and exists.
    pub fn check_writable(&self, path: &Pointer) -> Result<(), ValueProblem> {
        if self.is_read_only { refuse(path, "it is read-only and has its value") } else { Ok(()) }
    }
}
