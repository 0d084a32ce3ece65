//! Applies the commands of a values model to plugins that read no commands themselves. Each command becomes an
//! operation by the plugin that owns the value, under that plugin's schema.

use std::sync::Arc;

use serde_json::Value;

use clotho_core::world::{Pointer, Problem, ProblemKind, Schema, SchemaSet, StateChange, StateOperation, World, fold};

use super::path_repair::from_beginning;
use super::replay::{find_inside, insert_changes, pointer_below, remove_change};
use super::{MvuCommand, MvuOp, parse, repair_paths};

/// The most commands of one text that are applied.
const MAX_COMMANDS: usize = 500;

/// A plugin whose values are updated.
#[derive(Debug, Clone)]
pub struct MvuTarget {
    /// Id of the plugin.
    pub id: String,
    /// The root of its values.
    pub root: Pointer,
    /// The schema of its values.
    pub schema: Option<Arc<Schema>>,
}

/// The changes of a text to the values of one plugin.
#[derive(Debug)]
pub struct MvuChanges {
    /// Id of the plugin.
    pub id: String,
    /// The operations; they are folded into the state already.
    pub operations: Vec<StateOperation>,
    /// What the fold reported, by position in `operations`.
    pub problems: Vec<Problem>,
    /// Skipped commands with reasons.
    pub skipped: Vec<String>,
    /// Corrected paths.
    pub path_repairs: Vec<String>,
}

/// Returns the number of commands in a text, including those not understood.
pub fn count_commands(text: &str) -> usize {
    parse(text, MAX_COMMANDS).len()
}

/// Applies the commands of a text to the values of these plugins. Also returns the commands that are not understood or
/// belong to none of them.
pub fn apply_commands(
    text: &str,
    holders: &[MvuTarget],
    world: &mut World,
    rules: &SchemaSet,
) -> (Vec<MvuChanges>, Vec<String>) {
    let mut parsed = parse(text, MAX_COMMANDS);
    let is_of = |holder: &MvuTarget, command: &MvuCommand| {
        pointer_below(&Pointer::default(), &command.path).below(&holder.root).is_some()
    };
    for command in &mut parsed.commands {
        // The path may be written as values are listed, `combat/hp`, instead of in dotted form.
        if !holders.iter().any(|holder| is_of(holder, command)) {
            command.path = command.path.replace("~1", "/");
        }
    }
    let mut nobodys: Vec<String> = parsed.skipped.iter().map(ToString::to_string).collect();
    let is_nobodys = |command: &&MvuCommand| !holders.iter().any(|holder| is_of(holder, command));
    nobodys.extend(
        parsed.commands.iter().filter(is_nobodys).map(|one| describe_skip(one, "no plugin here has this value")),
    );
    let changes = holders.iter().map(|holder| {
        let mut changes = MvuChanges {
            id: holder.id.clone(),
            operations: Vec::new(),
            problems: Vec::new(),
            skipped: Vec::new(),
            path_repairs: Vec::new(),
        };
        for command in parsed.commands.iter().filter(|command| is_of(holder, command)) {
            apply_command(command, holder, world, rules, &mut changes);
        }
        changes
    });
    (changes.collect(), nobodys)
}

fn describe_skip(command: &MvuCommand, why: &str) -> String {
    let key = command.key.as_ref().map(|key| format!("/{key}")).unwrap_or_default();
    format!("{} {}{key}: {why}", command.op.as_str(), command.path)
}

/// Applies one command and records its operations, problems or reason for skipping.
fn apply_command(
    command: &MvuCommand,
    holder: &MvuTarget,
    world: &mut World,
    rules: &SchemaSet,
    changes: &mut MvuChanges,
) {
    let mut own = command.clone();
    own.path = relative_path(&command.path, &holder.root);
    own.from = command.from.as_ref().map(|from| relative_path(from, &holder.root));
    changes.path_repairs.extend(repair_paths(&mut own, &holder.root, world));
    let new_operations = match operations(&own, holder, world) {
        Ok(new_operations) => new_operations,
        Err(why) => return changes.skipped.push(describe_skip(command, why)),
    };
    for operation in new_operations {
        let (mut found, at) = (fold(world, std::slice::from_ref(&operation), rules), changes.operations.len());
        let is_out = |problem: &&Problem| matches!(problem.kind(), ProblemKind::Refused | ProblemKind::NothingThere);
        if let Some(problem) = found.iter().find(is_out) {
            changes.skipped.push(describe_skip(command, &problem.to_string()));
            continue;
        }
        found.iter_mut().for_each(|problem| problem.operation = at);
        changes.problems.extend(found);
        changes.operations.push(operation);
    }
}

/// Converts a path from the top to one below a root.
fn relative_path(path: &str, root: &Pointer) -> String {
    path.split('/').skip(root.keys().len()).collect::<Vec<_>>().join("/")
}

fn operations(command: &MvuCommand, holder: &MvuTarget, world: &World) -> Result<Vec<StateOperation>, &'static str> {
    let path = from_beginning(&pointer_below(&holder.root, &command.path), world);
    if command.path.is_empty() && command.op != MvuOp::Insert {
        return Err("the root of a plugin cannot be changed as one value");
    }
    let target = match &command.key {
        Some(key) => path.child(key.clone()),
        None => path.clone(),
    };
    let from = command.from.as_ref().map(|from| from_beginning(&pointer_below(&holder.root, from), world));
    if [Some(&target), from.as_ref()].into_iter().flatten().any(|place| is_concealed(place, holder, world)) {
        return Err("there is no such value");
    }
    let is_there = world.get(&path).is_some() || is_declared(&path, holder);
    let changes = match (command.op, &command.value) {
        (MvuOp::Set | MvuOp::Add, _) if !is_there => return Err("there is no such value"),
        (MvuOp::Set, Some(value)) => vec![(path, StateChange::Set(value.clone()))],
        (MvuOp::Add, Some(Value::Number(number))) => vec![(path, StateChange::Add(number.clone()))],
        (MvuOp::Insert, Some(value)) => insert_changes(command, &path, value, world),
        (MvuOp::Remove, what) => {
            let path = what.as_ref().map_or(Some(path.clone()), |what| find_inside(&path, what, world));
            path.filter(|path| world.get(path).is_some())
                .and_then(|path| remove_change(&path, world))
                .into_iter()
                .collect()
        }
        (MvuOp::Move, _) => from.map(|from| (path, StateChange::Move { from })).into_iter().collect(),
        _ => Vec::new(),
    };
    if changes.is_empty() {
        return Err("there is no such value");
    }
    let by = |(path, change)| StateOperation::new(path, change, command.reason.clone(), holder.id.clone());
    Ok(changes.into_iter().map(by).collect())
}

/// Returns whether the schema declares the place, so that a missing value may be created there.
fn is_declared(path: &Pointer, holder: &MvuTarget) -> bool {
    let keys = path.below(&holder.root).unwrap_or_default();
    holder.schema.as_ref().is_some_and(|schema| schema.node_at(keys).is_some())
}

/// Returns whether a place, one above it, or one inside it is visible to scripts only.
fn is_concealed(place: &Pointer, holder: &MvuTarget, world: &World) -> bool {
    let (Some(schema), Some(state)) = (&holder.schema, world.get(&holder.root)) else { return false };
    let Some(keys) = place.below(&holder.root) else { return true };
    let own = Pointer::from_keys(keys.iter().cloned());
    schema.hidden_paths(state).iter().any(|concealed| concealed.touches(&own))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Plugins 3.1: commands of a values model follow the schema; what it refuses is skipped and reported.
    #[test]
    fn mvu_apply_schema_bounds_values() {
        let schema = Schema::parse(json!({"properties": {
            "hp": {"type": "integer", "minimum": 0}, "max": {"type": "integer", "readOnly": true},
            "secret": {"x-visible": false}, "bag": {"type": "array"},
        }, "additionalProperties": false}));
        let schema = Arc::new(schema.unwrap());
        let root = Pointer::from_keys(["combat"]);
        let rules = SchemaSet::new(vec![(root.clone(), Arc::clone(&schema))]).unwrap();
        let vars = json!({"combat": {"hp": 20, "max": 20, "secret": "s", "bag": ["rope", "lamp"]}});
        let mut world = World { vars: vars.as_object().unwrap().clone(), ..World::default() };
        let holders = [MvuTarget { id: "combat".into(), root, schema: Some(schema) }];
        let text = "_.add('combat.HP', -5);//cut\n_.add('combat/hp', -99);\n_.set('combat.max', 9);\n_.set('combat.secret', 1);\n\
            _.remove('combat.bag', 'rope');\n_.set('combat.mana', 3);\n_.set('combat', {});\n_.add('gone.x', 1);\n_.fly('x');";
        let (changes, nobodys) = apply_commands(text, &holders, &mut world, &rules);
        assert_eq!(world.vars["combat"], json!({"hp": 0, "max": 20, "secret": "s", "bag": ["lamp"]}));
        let [changes] = changes.as_slice() else { panic!("{changes:?}") };
        let done: Vec<_> = changes.operations.iter().map(|one| (one.path.to_string(), one.by.as_str())).collect();
        assert_eq!(
            done,
            [("/combat/hp", "combat"), ("/combat/hp", "combat"), ("/combat/bag", "combat")]
                .map(|(path, by)| (path.to_owned(), by))
        );
        assert_eq!((changes.problems.len(), changes.problems[0].operation, changes.path_repairs.len()), (1, 1, 1));
        let left: Vec<_> = changes.skipped.iter().map(|line| line.split(':').next().unwrap_or_default()).collect();
        assert_eq!(left, ["set combat/max", "set combat/secret", "set combat/mana", "set combat"]);
        assert_eq!(nobodys.len(), 2, "{nobodys:?}");
    }
}
