//! Finds the value at a path and the schema rule that governs it.

use serde_json::{Map, Value};

use super::{Pointer, ProblemDetail, SchemaSet, ValueProblem, refuse};
use crate::world::pointer::{index, step};
use crate::world::schema::{SchemaNode, SchemaRule};

/// The result of looking up a path.
pub(super) enum LookupResult<'w> {
    /// The value at the path.
    Value(&'w Value),
    /// No value: the map at the first `n` keys has no entry for the next key.
    Missing(usize),
    /// No value, and none can be set: the first `n` keys lead to a plain value or to a list without that position.
    Blocked(usize),
}

/// A path as seen from the top of its section.
pub(super) struct PathLookup<'w, 'r> {
    pub found: LookupResult<'w>,
    /// The rule for the path itself, or for the first missing place on it.
    pub rule: SchemaRule<'r>,
    /// The number of keys from the top to the place of `rule`.
    pub rule_depth: usize,
    /// The rule for the containing value, if all of the containers exist.
    pub container: Option<&'r SchemaNode>,
    /// The containing list and the position in it.
    pub list: Option<(&'w [Value], usize)>,
    /// Whether the existing value or one of its containers is read-only.
    pub is_read_only: bool,
}

/// Looks up a path; takes as many steps as the path has keys.
pub(super) fn look_up<'w, 'r>(
    section: &'w Map<String, Value>,
    rules: &'r SchemaSet,
    path: &Pointer,
) -> PathLookup<'w, 'r> {
    let governing = rules.schema_for(path).map(|(root, schema)| (root.keys().len(), schema));
    let start = |depth: usize, spot: SchemaRule<'r>| match governing {
        Some((root, schema)) if root == depth => SchemaRule::Node(schema.root_node()),
        _ => spot,
    };
    let keys = path.keys();
    let mut spot = start(0, SchemaRule::Unrestricted);
    let mut here: Option<&'w Value> = None;
    let mut lookup = PathLookup {
        found: LookupResult::Missing(0),
        rule: spot,
        rule_depth: 0,
        container: None,
        list: None,
        is_read_only: false,
    };
    for (depth, key) in keys.iter().enumerate() {
        let in_list = here.is_some_and(Value::is_array);
        lookup.container = spot.node();
        spot = start(depth.saturating_add(1), spot.step(key, in_list));
        let next = here.map_or_else(|| section.get(key), |value| step(value, key));
        let Some(value) = next else {
            let is_map = here.is_none_or(Value::is_object);
            lookup.found = if is_map { LookupResult::Missing(depth) } else { LookupResult::Blocked(depth) };
            (lookup.rule, lookup.rule_depth) = missing_rule(spot, depth.saturating_add(1), governing);
            return lookup;
        };
        lookup.list = here.and_then(Value::as_array).map(Vec::as_slice).zip(index(key));
        lookup.is_read_only |= spot.node().is_some_and(SchemaNode::is_read_only);
        lookup.found = LookupResult::Value(value);
        here = Some(value);
    }
    PathLookup { rule: spot, rule_depth: keys.len(), ..lookup }
}

/// Returns the rule to check when everything from a missing place on is created, and its depth. If the root of the
/// schema is missing too, it is the rule of that root.
fn missing_rule<'r>(
    spot: SchemaRule<'r>,
    depth: usize,
    governing: Option<(usize, &'r crate::world::Schema)>,
) -> (SchemaRule<'r>, usize) {
    match governing {
        Some((root, schema)) if root > depth => (SchemaRule::Node(schema.root_node()), root),
        _ => (spot, depth),
    }
}

impl PathLookup<'_, '_> {
    /// Refuses to change an existing read-only value.
    pub fn check_writable(&self, path: &Pointer) -> Result<(), ValueProblem> {
        if self.is_read_only { refuse(path, ProblemDetail::ReadOnly {}) } else { Ok(()) }
    }
}
