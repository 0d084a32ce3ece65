//! A merge of two lines (`docs/domain.md` 2.13): what both did to the same places since they parted, and which of it holds.
//! *Theirs* is what is brought over, *ours* the line that it comes to. What they have in common is found in `merge_parts.rs`.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};

use crate::world::{Pointer, StateChange, StateOperation, WorldSection};

use super::conflict_paths::ConflictPaths;

/// What becomes of a conflict.
#[derive(Debug, Clone, PartialEq)]
pub enum ConflictResolution {
    /// What they did is done here too.
    Theirs,
    /// What they did is left out.
    Ours,
    /// Neither: the place gets this value.
    Value(Value),
}

/// A place to which both lines did something, each its own.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeConflict {
    /// The section of the world.
    pub section: WorldSection,
    /// The outermost path that either changed.
    pub path: Pointer,
    /// What they did at or inside it.
    pub theirs: Vec<StateOperation>,
    /// What was done to it here.
    pub ours: Vec<StateOperation>,
}

impl MergeConflict {
    /// How it is named on the wire: the path, behind its section where that is not the variables.
    pub fn name(&self) -> String {
        let section = match self.section {
            WorldSection::Vars => "",
            WorldSection::Lore => "lore:",
            WorldSection::Summary => "summary:",
            WorldSection::Events => "events:",
        };
        format!("{section}{}", self.path)
    }

    /// The wire form.
    pub fn to_json(&self) -> Value {
        let list = |operations: &[StateOperation]| operations.iter().map(StateOperation::to_json).collect::<Vec<_>>();
        json!({"path": self.name(), "theirs": list(&self.theirs), "ours": list(&self.ours)})
    }
}

/// What holds of theirs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MergeOutcome {
    /// For each of their operations whether it is brought over.
    pub kept: Vec<bool>,
    /// What comes in the place of what is not.
    pub replacements: Vec<StateOperation>,
}

/// Why nothing can be brought over yet.
#[derive(Debug, Clone, PartialEq)]
pub enum ResolutionError {
    /// These conflicts have no resolution.
    Unresolved(Vec<MergeConflict>),
    /// This path has a resolution and is no conflict.
    NoSuchConflict(String),
}

/// What two lines did to the same places, in the order of the paths.
pub fn conflicts(theirs: &[StateOperation], ours: &[StateOperation]) -> Vec<MergeConflict> {
    collect_conflicts(&ConflictPaths::find(theirs, ours), theirs, ours)
}

/// What each line did where they clash.
fn collect_conflicts(
    clashes: &ConflictPaths,
    theirs: &[StateOperation],
    ours: &[StateOperation],
) -> Vec<MergeConflict> {
    let inside = |side: &[StateOperation]| {
        let mut inside = vec![Vec::new(); clashes.paths().len()];
        for operation in side {
            for at in clashes.of(operation) {
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

/// What of theirs is brought over, if every conflict has a resolution and nothing else has one.
///
/// # Errors
/// Which conflict is open, or which resolution is needless.
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
    let kept = theirs.iter().map(|operation| clashes.of(operation).iter().all(is_theirs)).collect();
    let mut settled = MergeOutcome { kept, replacements: Vec::new() };
    for (conflict, how) in conflicts.iter().zip(&how) {
        if let Some(ConflictResolution::Value(value)) = how {
            let change = StateChange::Set(value.clone());
            let set = StateOperation::new(conflict.path.clone(), change, "settled in a merge", "user");
            settled.replacements.push(StateOperation { section: conflict.section, ..set });
        }
    }
    Ok(settled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations(list: Value) -> Vec<StateOperation> {
        list.as_array().unwrap().iter().map(|one| StateOperation::from_json(one).unwrap()).collect()
    }

    fn paths(theirs: Value, ours: Value) -> Vec<String> {
        conflicts(&operations(theirs), &operations(ours)).iter().map(MergeConflict::name).collect()
    }

    /// Domain 2.13: the same path or one inside the other, unless both add, both put into a list, or set the same.
    #[test]
    fn merge_same_path_changed_differently_conflicts() {
        let check = |theirs: Value, ours: Value, expected: &[&str]| {
            assert_eq!(paths(json!([theirs]), json!([ours])), expected, "{theirs} {ours}");
            assert_eq!(paths(json!([ours]), json!([theirs])), expected, "the other way round: {theirs} {ours}");
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
        let found = conflicts(&operations(theirs), &operations(ours));
        assert_eq!(found.iter().map(MergeConflict::name).collect::<Vec<_>>(), ["/a", "/x"]);
        assert_eq!((found[0].theirs.len(), found[0].ours.len()), (2, 1));
    }

    /// Domain 2.13: `theirs` applies theirs, `ours` drops theirs, a value becomes one `set`; a path that is no conflict is
    /// refused, one without a resolution too.
    #[test]
    fn merge_resolutions_apply_per_conflict() {
        let theirs = operations(json!([
            {"op": "set", "path": "/hp", "value": 5}, {"op": "add", "path": "/gold", "value": 2},
            {"op": "set", "path": "/place", "value": "wood"},
        ]));
        let ours = operations(json!([
            {"op": "add", "path": "/hp", "value": -1}, {"op": "set", "path": "/place", "value": "town"},
        ]));
        let settled = |resolve: &[(&str, ConflictResolution)]| {
            let resolve = resolve.iter().map(|(path, how)| ((*path).to_owned(), how.clone())).collect();
            resolve_conflicts(&theirs, &ours, &resolve)
        };
        let both = settled(&[("/hp", ConflictResolution::Theirs), ("/place", ConflictResolution::Ours)]).unwrap();
        assert_eq!(both, MergeOutcome { kept: vec![true, true, false], replacements: Vec::new() });
        let value =
            settled(&[("/hp", ConflictResolution::Value(json!(9))), ("/place", ConflictResolution::Theirs)]).unwrap();
        assert_eq!((value.kept, value.replacements.len()), (vec![false, true, true], 1));
        assert_eq!(value.replacements[0].change, StateChange::Set(json!(9)));
        assert!(
            matches!(settled(&[("/hp", ConflictResolution::Ours)]), Err(ResolutionError::Unresolved(open)) if open.len() == 1)
        );
        let needless = settled(&[("/gold", ConflictResolution::Ours)]);
        assert_eq!(needless, Err(ResolutionError::NoSuchConflict("/gold".to_owned())));
    }
}
