//! Merges of two branches (`docs/domain.md` 2.13): their conflicting operations since they diverged, and the
//! resolutions. *Theirs* is the branch that is merged, *ours* the branch it is merged into. `merge_parts.rs` finds
//! what they have in common.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};

use crate::world::{Pointer, StateChange, StateOperation, WorldSection};

use super::conflict_paths::ConflictPaths;

/// The resolution of a conflict.
#[derive(Debug, Clone, PartialEq)]
pub enum ConflictResolution {
    /// Apply their operations.
    Theirs,
    /// Skip their operations.
    Ours,
    /// Set the path to this value.
    Value(Value),
}

/// A path that both branches changed in different ways.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeConflict {
    pub section: WorldSection,
    /// The outermost path that either branch changed.
    pub path: Pointer,
    /// Their operations at or inside the path.
    pub theirs: Vec<StateOperation>,
    /// Our operations at or inside the path.
    pub ours: Vec<StateOperation>,
}

impl MergeConflict {
    /// Returns the name on the wire: the path, prefixed with the section unless that is `vars`.
    pub fn name(&self) -> String {
        let section = match self.section {
            WorldSection::Vars => "",
            WorldSection::Lore => "lore:",
            WorldSection::Summary => "summary:",
            WorldSection::Events => "events:",
        };
        format!("{section}{}", self.path)
    }

    /// Returns the wire form.
    pub fn to_json(&self) -> Value {
        let list = |operations: &[StateOperation]| operations.iter().map(StateOperation::to_json).collect::<Vec<_>>();
        json!({"path": self.name(), "theirs": list(&self.theirs), "ours": list(&self.ours)})
    }
}

/// The result of resolving all conflicts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MergeOutcome {
    /// For each of their operations, whether it is applied.
    pub applies: Vec<bool>,
    /// Operations that set the values chosen for conflicts.
    pub replacements: Vec<StateOperation>,
}

/// The reason a merge cannot be done yet.
#[derive(Debug, Clone, PartialEq)]
pub enum ResolutionError {
    /// These conflicts have no resolution.
    Unresolved(Vec<MergeConflict>),
    /// This path has a resolution but no conflict.
    NoSuchConflict(String),
}

/// Returns the conflicts of two branches, in path order.
pub fn conflicts(theirs: &[StateOperation], ours: &[StateOperation]) -> Vec<MergeConflict> {
    collect_conflicts(&ConflictPaths::find(theirs, ours), theirs, ours)
}

/// Collects the operations of both branches at each conflict path.
fn collect_conflicts(
    clashes: &ConflictPaths,
    theirs: &[StateOperation],
    ours: &[StateOperation],
) -> Vec<MergeConflict> {
    let inside = |side: &[StateOperation]| {
        let mut inside = vec![Vec::new(); clashes.paths().len()];
        for operation in side {
            for at in clashes.conflicts_of(operation) {
                inside.get_mut(at).into_iter().for_each(|all: &mut Vec<StateOperation>| all.push(operation.clone()));
            }
        }
        inside
    };
    let sides = inside(theirs).into_iter().zip(inside(ours));
    let told = clashes.paths().iter().zip(sides);
    told.map(|((section, path), (theirs, ours))| MergeConflict { section: *section, path: path.clone(), theirs, ours })
        .collect()
}

/// Decides which of their operations are applied. Every conflict needs a resolution, and nothing else may have one.
///
/// # Errors
/// Returns the unresolved conflicts, or a resolution without a conflict.
pub fn resolve_conflicts(
    theirs: &[StateOperation],
    ours: &[StateOperation],
    resolve: &BTreeMap<String, ConflictResolution>,
) -> Result<MergeOutcome, ResolutionError> {
    let clashes = ConflictPaths::find(theirs, ours);
    let conflicts = collect_conflicts(&clashes, theirs, ours);
    let names: Vec<String> = conflicts.iter().map(MergeConflict::name).collect();
    let known: HashSet<&String> = names.iter().collect();
    if let Some(needless) = resolve.keys().find(|path| !known.contains(path)) {
        return Err(ResolutionError::NoSuchConflict(needless.clone()));
    }
    let how: Vec<Option<&ConflictResolution>> = names.iter().map(|name| resolve.get(name)).collect();
    if how.iter().any(Option::is_none) {
        let open = conflicts.into_iter().zip(how).filter(|(_, how)| how.is_none());
        return Err(ResolutionError::Unresolved(open.map(|(conflict, _)| conflict).collect()));
    }
    let is_theirs = |at: &usize| how.get(*at).copied().flatten() == Some(&ConflictResolution::Theirs);
    let applies = theirs.iter().map(|operation| clashes.conflicts_of(operation).iter().all(is_theirs)).collect();
    let mut settled = MergeOutcome { applies, replacements: Vec::new() };
    for (conflict, how) in conflicts.iter().zip(&how) {
        if let Some(ConflictResolution::Value(value)) = how {
            let change = StateChange::Set(value.clone());
            let set = StateOperation::new(conflict.path.clone(), change, "resolved in a merge", "user");
            settled.replacements.push(StateOperation { section: conflict.section, ..set });
        }
    }
    Ok(settled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_operations(list: Value) -> Vec<StateOperation> {
        list.as_array().unwrap().iter().map(|one| StateOperation::from_json(one).unwrap()).collect()
    }

    fn conflict_names(theirs: Value, ours: Value) -> Vec<String> {
        conflicts(&parse_operations(theirs), &parse_operations(ours)).iter().map(MergeConflict::name).collect()
    }

    /// Domain 2.13: equal or nested paths conflict, unless both add, both change a list, or both set the same value.
    #[test]
    fn merge_same_path_changed_differently_conflicts() {
        let check = |theirs: Value, ours: Value, expected: &[&str]| {
            assert_eq!(conflict_names(json!([theirs]), json!([ours])), expected, "{theirs} {ours}");
            assert_eq!(
                conflict_names(json!([ours]), json!([theirs])),
                expected,
                "the other way round: {theirs} {ours}"
            );
        };
        let add = json!({"op": "add", "path": "/hp", "value": -3});
        let set = json!({"op": "set", "path": "/hp", "value": 5});
        let append = json!({"op": "append", "path": "/bag", "value": "key"});
        let take = json!({"op": "take", "path": "/bag", "value": "rope"});
        check(add.clone(), add.clone(), &[]);
        check(set.clone(), set.clone(), &[]);
        check(append.clone(), take, &[]);
        check(add.clone(), set.clone(), &["/hp"]);
        check(set.clone(), json!({"op": "set", "path": "/hp", "value": 6}), &["/hp"]);
        check(append.clone(), json!({"op": "set", "path": "/bag/0", "value": 1}), &["/bag"]);
        check(json!({"op": "remove", "path": "/hp"}), add.clone(), &["/hp"]);
        check(json!({"op": "move", "path": "/old", "from": "/hp"}), add.clone(), &["/hp"]);
        check(
            json!({"op": "insert", "path": "/npc", "key": "rin", "value": 1}),
            json!({"op": "set", "path": "/npc/rin", "value": 1}),
            &[],
        );
        check(
            json!({"op": "insert", "path": "/npc", "key": "rin", "value": 1}),
            json!({"op": "insert", "path": "/npc", "key": "aki", "value": 2}),
            &[],
        );
        check(json!({"in": "lore", "op": "set", "path": "/hp", "value": 1}), set, &[]);
        check(add, append, &[]);
    }

    #[test]
    fn merge_nested_paths_conflict_at_outermost() {
        let theirs = json!([
            {"op": "set", "path": "/a/b", "value": 1}, {"op": "add", "path": "/a/c", "value": 1},
            {"op": "set", "path": "/x", "value": 1},
        ]);
        let ours = json!([{"op": "set", "path": "/a", "value": {}}, {"op": "set", "path": "/x", "value": 2}]);
        let found = conflicts(&parse_operations(theirs), &parse_operations(ours));
        assert_eq!(found.iter().map(MergeConflict::name).collect::<Vec<_>>(), ["/a", "/x"]);
        assert_eq!((found[0].theirs.len(), found[0].ours.len()), (2, 1));
    }

    /// Domain 2.13: `theirs` applies their operations, `ours` drops them, a value becomes one `set`. A missing or
    /// superfluous resolution is refused.
    #[test]
    fn merge_resolutions_apply_per_conflict() {
        let theirs = parse_operations(json!([
            {"op": "set", "path": "/hp", "value": 5}, {"op": "add", "path": "/gold", "value": 2},
            {"op": "set", "path": "/place", "value": "wood"},
        ]));
        let ours = parse_operations(json!([
            {"op": "add", "path": "/hp", "value": -1}, {"op": "set", "path": "/place", "value": "town"},
        ]));
        let settled = |resolve: &[(&str, ConflictResolution)]| {
            let resolve = resolve.iter().map(|(path, how)| ((*path).to_owned(), how.clone())).collect();
            resolve_conflicts(&theirs, &ours, &resolve)
        };
        let both = settled(&[("/hp", ConflictResolution::Theirs), ("/place", ConflictResolution::Ours)]).unwrap();
        assert_eq!(both, MergeOutcome { applies: vec![true, true, false], replacements: Vec::new() });
        let value =
            settled(&[("/hp", ConflictResolution::Value(json!(9))), ("/place", ConflictResolution::Theirs)]).unwrap();
        assert_eq!((value.applies, value.replacements.len()), (vec![false, true, true], 1));
        assert_eq!(value.replacements[0].change, StateChange::Set(json!(9)));
        assert!(
            matches!(settled(&[("/hp", ConflictResolution::Ours)]), Err(ResolutionError::Unresolved(open)) if open.len() == 1)
        );
        let needless = settled(&[("/gold", ConflictResolution::Ours)]);
        assert_eq!(needless, Err(ResolutionError::NoSuchConflict("/gold".to_owned())));
    }
}
