//! Applies the commands of a text to the variables of an imported chat, as operations on the state. A story can so
//! continue from the last stored state, through later messages without one.

use serde_json::Value;

use clotho_core::world::{Pointer, SchemaSet, StateChange, StateOperation, World, fold};

use super::meta::{is_list_open, may_insert, may_remove, merge, with_list_template, with_template};
use super::path_repair::{from_beginning, place_in_list, repair_paths};
use super::{MvuCommand, MvuOp, parse};

/// The most commands of one text that are applied.
const MAX_COMMANDS: usize = 1_000;

/// The result of replaying a text.
#[derive(Debug, Default)]
pub struct MvuReplay {
    /// The operations, in text order.
    pub operations: Vec<StateOperation>,
    /// Number of commands that were not understood or could not be applied cleanly.
    pub skipped: usize,
}

/// Applies the commands of a text to a state, below `root`.
pub fn replay(text: &str, root: &Pointer, world: &mut World) -> MvuReplay {
    let parsed = parse(text, MAX_COMMANDS);
    let mut replayed = MvuReplay { operations: Vec::new(), skipped: parsed.skipped.len() };
    for command in &parsed.commands {
        let mut command = command.clone();
        _ = repair_paths(&mut command, root, world);
        let new_operations = operations(&command, root, world);
        let problems = fold(world, &new_operations, &SchemaSet::default());
        if new_operations.is_empty() || !problems.is_empty() {
            replayed.skipped += 1;
        }
        replayed.operations.extend(new_operations);
    }
    replayed
}

fn operations(command: &MvuCommand, root: &Pointer, world: &World) -> Vec<StateOperation> {
    let path = from_beginning(&pointer_below(root, &command.path), world);
    let change =
        |path: Pointer, change: StateChange| vec![StateOperation::new(path, change, command.reason.clone(), "server")];
    match (command.op, &command.value) {
        (MvuOp::Set, Some(value)) => {
            let path = if value.is_array() { path } else { value_of(path, world) };
            change(path, StateChange::Set(value.clone()))
        }
        (MvuOp::Add, Some(Value::Number(number))) => change(value_of(path, world), StateChange::Add(number.clone())),
        (MvuOp::Insert, Some(value)) => insert_changes(command, &path, value, world)
            .into_iter()
            .map(|(path, change)| StateOperation::new(path, change, command.reason.clone(), "server"))
            .collect(),
        (MvuOp::Remove, what) => {
            let path = what.as_ref().map_or(Some(path.clone()), |what| find_inside(&path, what, world));
            let removal = path.and_then(|path| remove_change(&path, world));
            removal.map(|(path, removal)| change(path, removal)).unwrap_or_default()
        }
        (MvuOp::Move, _) => match &command.from {
            Some(from) => {
                let from = from_beginning(&pointer_below(root, from), world);
                change(path, StateChange::Move { from })
            }
            None => Vec::new(),
        },
        _ => Vec::new(),
    }
}

pub(super) fn pointer_below(root: &Pointer, path: &str) -> Pointer {
    let unescaped = |key: &str| key.replace("~1", "/").replace("~0", "~");
    let below = path.split('/').filter(|key| !key.is_empty()).map(unescaped);
    Pointer::from_keys(root.keys().iter().cloned().chain(below))
}

/// For a value with a description, `[value, "what it is"]`, returns the path of its first element.
fn value_of(path: Pointer, world: &World) -> Pointer {
    match world.get(&path) {
        Some(Value::Array(pair)) if matches!(pair.as_slice(), [first, Value::String(_)] if !first.is_array()) => {
            path.child("0")
        }
        _ => path,
    }
}

/// Returns the place in a list of so many values at which a value is inserted; negative ones count from the end. `None`
/// if the key is no number.
fn list_place(key: &str, length: usize) -> Option<usize> {
    match key.strip_prefix('-') {
        Some(back) => back.parse().ok().map(|back: usize| length.saturating_sub(back)),
        None => key.parse().ok().map(|at: usize| at.min(length)),
    }
}

/// Returns the value of a pair with its description, `[value, "what it is"]`, if a list is surely one: two texts may as
/// well be a list.
fn described_value(list: &[Value]) -> Option<&Value> {
    match list {
        [value, Value::String(_)] if !value.is_array() && !value.is_string() => Some(value),
        _ => None,
    }
}

/// Lists the writes that merge a value into the one at a path, map by map.
fn merge_changes(there: Option<&Value>, path: Pointer, value: &Value, out: &mut Vec<(Pointer, StateChange)>) {
    match (there, value) {
        (Some(Value::Object(map)), Value::Object(more)) => {
            for (key, value) in more.iter().filter(|(key, _)| may_insert(there, key)) {
                match map.get(key) {
                    Some(inside) => merge_changes(Some(inside), path.child(key.clone()), value, out),
                    None => out.push((path.child(key.clone()), StateChange::Set(with_template(there, value)))),
                }
            }
        }
        (Some(list @ Value::Array(_)), Value::Array(_)) => {
            let mut list = list.clone();
            merge(&mut list, value);
            out.push((path, StateChange::Set(list)));
        }
        _ => out.push((path, StateChange::Set(value.clone()))),
    }
}

/// Inserts a value into the one at a path: at the end of a list, under a key, or merged into a map.
pub(super) fn insert_changes(
    command: &MvuCommand,
    path: &Pointer,
    value: &Value,
    world: &World,
) -> Vec<(Pointer, StateChange)> {
    let there = world.get(path);
    match (there, &command.key, value) {
        (Some(Value::Array(list)), _, _) => insert_into_list(list, command, path, value, world),
        (_, Some(key), _) if !may_insert(there, key) => Vec::new(),
        (Some(Value::Object(map)), Some(key), _) if !map.contains_key(key) => {
            let value = with_template(there, value);
            vec![(path.clone(), StateChange::Insert { key: key.clone(), value })]
        }
        (_, Some(key), _) => vec![(path.clone(), StateChange::Insert { key: key.clone(), value: value.clone() })],
        (Some(Value::Object(_)), None, Value::Object(_)) => {
            let mut each = Vec::new();
            merge_changes(there, path.clone(), value, &mut each);
            each
        }
        (None, None, _) => vec![(path.clone(), StateChange::Set(value.clone()))],
        _ => Vec::new(),
    }
}

/// Inserts a value into a list, or into the value of a pair with its description.
fn insert_into_list(
    list: &[Value],
    command: &MvuCommand,
    path: &Pointer,
    value: &Value,
    world: &World,
) -> Vec<(Pointer, StateChange)> {
    let place = command.key.as_ref().map(|key| list_place(key, list.len()));
    let described = described_value(list);
    match (described, place, value) {
        (Some(Value::Object(_)), Some(None), _) | (Some(Value::Object(_)), None, Value::Object(_)) => {
            return insert_changes(command, &path.child("0"), value, world);
        }
        // A list replaces a pair as a whole.
        (Some(_), None, Value::Array(_)) => return vec![(path.clone(), StateChange::Set(value.clone()))],
        (Some(Value::Object(_)), ..) => {}
        (Some(_), None | Some(Some(0)), _) => return vec![(path.child("0"), StateChange::Set(value.clone()))],
        _ => {}
    }
    if !is_list_open(path, world) {
        return Vec::new();
    }
    let value = with_list_template(path, value, world);
    match place {
        None => vec![(path.clone(), StateChange::Append(value))],
        Some(Some(at)) => {
            let mut list = list.to_vec();
            list.insert(at, value);
            vec![(path.clone(), StateChange::Set(Value::Array(list)))]
        }
        Some(None) => Vec::new(),
    }
}

/// Finds an element of the value at a path: in a list by value or position, in a map by key or position. Positions in a
/// list may count from the end.
pub(super) fn find_inside(path: &Pointer, what: &Value, world: &World) -> Option<Pointer> {
    let position = what.as_u64().and_then(|position| usize::try_from(position).ok());
    match world.get(path)? {
        Value::Array(list) => {
            let is_key_of_value = what.is_string() && matches!(described_value(list), Some(Value::Object(_)));
            if is_key_of_value && !list.contains(what) {
                return find_inside(&path.child("0"), what, world);
            }
            let by_place = || place_in_list(&what.as_i64()?.to_string(), list.len());
            let at = list.iter().position(|value| value == what).or_else(by_place)?;
            Some(path.child(at.to_string()))
        }
        Value::Object(map) => {
            // Keys that models do not see do not count.
            let key = match (what.as_str(), position) {
                (Some(key), _) => key,
                (None, position) => map.keys().filter(|key| !key.starts_with('$')).nth(position?)?,
            };
            Some(path.child(key))
        }
        _ => None,
    }
}

/// Removes a value. A list is set again without the element, because no operation removes by position.
pub(super) fn remove_change(path: &Pointer, world: &World) -> Option<(Pointer, StateChange)> {
    let (above, key) = path.split_last()?;
    match world.get(&above) {
        Some(Value::Array(list)) if !is_list_open(&above, world) || described_value(list).is_some() => None,
        Some(Value::Array(list)) => {
            let at = place_in_list(key, list.len())?;
            let mut list = list.clone();
            list.remove(at);
            Some((above, StateChange::Set(Value::Array(list))))
        }
        Some(map) if !may_remove(map, key) => None,
        _ => Some((path.clone(), StateChange::Remove)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Domain 3: commands have the same effect whether played or replayed.
    #[test]
    fn mvu_replay_commands_change_values() {
        let check = |text: &str, before: Value, after: Value, skipped: usize| {
            let mut world =
                World { vars: json!({ "stat_data": before }).as_object().unwrap().clone(), ..World::default() };
            let first = world.clone();
            let replayed = replay(text, &Pointer::from_keys(["stat_data"]), &mut world);
            assert_eq!((&world.vars["stat_data"], replayed.skipped), (&after, skipped), "{text}");
            let mut folded = first;
            fold(&mut folded, &replayed.operations, &SchemaSet::default());
            assert_eq!(folded, world, "{text}");
        };
        check("_.set('hp', 10, 7);//hit", json!({"hp": 10}), json!({"hp": 7}), 0);
        check("_.set('hp', 7);", json!({"hp": [10, "health"]}), json!({"hp": [7, "health"]}), 0);
        check("_.add('hp', -3);_.add('mood', 1);", json!({"hp": 10, "mood": "x"}), json!({"hp": 7, "mood": "x"}), 1);
        check("_.insert('bag', 'rope');", json!({"bag": ["coin"]}), json!({"bag": ["coin", "rope"]}), 0);
        check("_.insert('bag', 0, 'rope');", json!({"bag": ["coin"]}), json!({"bag": ["rope", "coin"]}), 0);
        check("_.insert('npc', 'Rin', {\"hp\": 1});", json!({"npc": {}}), json!({"npc": {"Rin": {"hp": 1}}}), 0);
        check("_.insert('npc', {\"b\": 2});", json!({"npc": {"a": 1}}), json!({"npc": {"a": 1, "b": 2}}), 0);
        check("_.remove('bag[0]');", json!({"bag": ["coin", "rope"]}), json!({"bag": ["rope"]}), 0);
        check("_.remove('bag', 'coin');", json!({"bag": ["coin", "rope"]}), json!({"bag": ["rope"]}), 0);
        let patch = "<JSONPatch>[{\"op\":\"replace\",\"path\":\"/hero/hp/0\",\"value\":9}]</JSONPatch>";
        check(patch, json!({"hero": {"hp": [8, "health"]}}), json!({"hero": {"hp": [9, "health"]}}), 0);
        check("She smiles.", json!({"hp": 1}), json!({"hp": 1}), 0);
        check("_.set('gold', 15, 15-3);_.add('gold', -2*3);", json!({"gold": 15}), json!({"gold": 6}), 0);
        check("_.set('obj', {k: 2});", json!({"obj": [{"k": 1}, "it"]}), json!({"obj": [{"k": 2}, "it"]}), 0);
        check("_.set('tags', ['z']);", json!({"tags": [["x"], "it"]}), json!({"tags": ["z"]}), 0);
        check("_.insert('', 'fresh', 1);", json!({"hp": 1}), json!({"hp": 1, "fresh": 1}), 0);
        check("_.assign('', {fresh: 1});", json!({"hp": 1}), json!({"hp": 1, "fresh": 1}), 0);
        check("_.insert('bag', '-', 'rope');", json!({"bag": ["coin"]}), json!({"bag": ["coin", "rope"]}), 0);
        check(
            "_.insert('bag', -1, 'rope');",
            json!({"bag": ["coin", "map"]}),
            json!({"bag": ["coin", "rope", "map"]}),
            0,
        );
        check("_.set('hp', null);", json!({"hp": 1}), json!({"hp": null}), 0);
        let numbers = || json!({"list": [1, 2, 3]});
        check("_.set('list[-1]', 9);_.add('list.-2', 1);", numbers(), json!({"list": [1, 3, 9]}), 0);
        check("_.remove('list[-1]');_.remove('list', -2);", numbers(), json!({"list": [2]}), 0);
        check("_.remove('list', 3);_.remove('list', 0);", numbers(), json!({"list": [2]}), 0);
        check("_.set('list[-4]', 9);_.remove('list', -4);_.insert('list', 'k', 4);", numbers(), numbers(), 3);
        let patch = "<JSONPatch>[{\"op\":\"replace\",\"path\":\"/list/-1\",\"value\":9},{\"op\":\"remove\",\"path\":\"/list/-3\"}]</JSONPatch>";
        check(patch, numbers(), json!({"list": [2, 9]}), 0);
        let pairs = || json!({"hp": [5, "health"], "obj": [{"k": 1}, "it"]});
        let text =
            "_.assign('hp', 7);_.assign('obj', {m: 2});_.insert('obj', 'n', 3);_.remove('obj', 'k');_.remove('hp', 0);";
        check(text, pairs(), json!({"hp": [7, "health"], "obj": [{"m": 2, "n": 3}, "it"]}), 1);
        check("_.assign('hp', [8, 'life']);", json!({"hp": [5, "health"]}), json!({"hp": [8, "life"]}), 0);
    }

    /// `assign` of a map merges deeply, as in MVU.
    #[test]
    fn mvu_replay_assign_merges_deeply() {
        let before = json!({"bag": {"rope": {"n": 1, "worn": true}, "list": ["a", "b"]}});
        let after = json!({"bag": {"rope": {"n": 1, "worn": true, "m": 5}, "list": ["z", "b"], "lamp": 1}});
        let text = "_.assign('bag', {rope: {m: 5}, list: ['z'], lamp: 1});";
        let mut world = World { vars: json!({ "stat_data": before }).as_object().unwrap().clone(), ..World::default() };
        assert_eq!(replay(text, &Pointer::from_keys(["stat_data"]), &mut world).skipped, 0);
        assert_eq!(world.vars["stat_data"], after);
    }

    /// Templates fill new entries in; what a card protects stays.
    #[test]
    fn mvu_replay_obeys_metadata_of_maps() {
        let template = json!({"extensible": true, "template": {"hp": 10, "mood": "calm"}});
        let before = json!({
            "npc": {"$meta": template, "Ana": {"hp": 1}}, "Rin": {"hp": 5, "$meta": {"required": ["hp"]}},
            "shut": {"a": 1, "$meta": {"extensible": false}},
        });
        let mut world = World { vars: json!({ "stat_data": before }).as_object().unwrap().clone(), ..World::default() };
        let text = "_.insert('npc', 'Rin', {hp: 5});_.assign('npc', {Ana: {hp: 2}, Bo: {}});_.remove('npc', 0);\
            _.remove('Rin.hp');_.insert('shut', 'b', 1);_.insert('shut', 'a', 2);_.remove('shut.a');";
        let skipped = replay(text, &Pointer::from_keys(["stat_data"]), &mut world).skipped;
        let npc = json!({"$meta": template, "Rin": {"hp": 5, "mood": "calm"}, "Bo": {"hp": 10, "mood": "calm"}});
        let after = json!({
            "npc": npc, "Rin": {"hp": 5, "$meta": {"required": ["hp"]}},
            "shut": {"a": 2, "$meta": {"extensible": false}},
        });
        assert_eq!((&world.vars["stat_data"], skipped), (&after, 3));
    }

    /// The metadata of a list is in the map around it.
    #[test]
    fn mvu_replay_obeys_metadata_of_lists() {
        let meta = json!({"lists": {"beasts": {"template": {"hp": 3}}, "shut": {"extensible": false}}});
        let before = json!({"den": {"$meta": meta, "beasts": [], "shut": [1]}});
        let mut world = World { vars: json!({ "stat_data": before }).as_object().unwrap().clone(), ..World::default() };
        let text = "_.insert('den.beasts', {name: 'Wolf'});_.insert('den.beasts', 0, {hp: 9});_.insert('den.shut', 2);\
            _.remove('den.shut[0]');_.set('den.shut[0]', 5);";
        let skipped = replay(text, &Pointer::from_keys(["stat_data"]), &mut world).skipped;
        let beasts = json!([{"hp": 9}, {"hp": 3, "name": "Wolf"}]);
        let after = json!({"den": {"$meta": meta, "beasts": beasts, "shut": [5]}});
        assert_eq!((&world.vars["stat_data"], skipped), (&after, 2));
    }
}
