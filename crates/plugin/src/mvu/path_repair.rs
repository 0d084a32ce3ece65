//! Repairs misspelled paths: models write `rin.Affinity` or `Rin. affinity` where the state has `rin.affinity`. If
//! exactly one value fits, the command uses it and the repair is reported.

use serde_json::{Map, Value};

use super::MvuCommand;
use clotho_core::world::{Pointer, World, find_equivalent_name};

/// Corrects the paths of a command; returns a description of the change for the author.
pub(crate) fn repair_paths(command: &mut MvuCommand, root: &Pointer, world: &World) -> Option<String> {
    let said = command.path.clone();
    for path in [Some(&mut command.path), command.from.as_mut()].into_iter().flatten() {
        if let Some(meant) = resolve_path(path, root, world) {
            *path = meant;
        }
    }
    (said != command.path).then(|| format!("read \"{said}\" as \"{}\"", command.path))
}

/// The most parts of a path that are one key with dots.
const MAX_DOTTED_PARTS: usize = 4;

/// Returns the corrected path; `None` if it is right or no match is known.
fn resolve_path(path: &str, root: &Pointer, world: &World) -> Option<String> {
    let mut there = world.get(root)?;
    let mut keys: Vec<String> = Vec::new();
    let parts: Vec<&str> = path.split('/').filter(|key| !key.is_empty()).collect();
    let mut rest = parts.as_slice();
    while let Some((key, after)) = rest.split_first() {
        // A value with its description is the first of two: a key in the path is one of the value.
        if let Value::Array(pair) = there
            && let [value @ Value::Object(_), Value::String(_)] = pair.as_slice()
            && key.parse::<i64>().is_err()
        {
            keys.push("0".to_owned());
            there = value;
        }
        let inside = match there {
            Value::Object(map) => {
                known_key(map, rest).and_then(|(known, parts)| Some((map.get_key_value(&known)?, parts)))
            }
            Value::Array(list) => {
                let Some(value) = place_in_list(key, list.len()).and_then(|at| list.get(at)) else { break };
                keys.push((*key).to_owned());
                (there, rest) = (value, after);
                continue;
            }
            _ => None,
        };
        // New keys stay as written.
        let Some(((key, value), parts)) = inside else { break };
        keys.push(key.replace('~', "~0").replace('/', "~1"));
        there = value;
        rest = rest.get(parts..).unwrap_or_default();
    }
    keys.extend(rest.iter().map(|key| (*key).to_owned()));
    let meant = keys.join("/");
    (meant != path).then_some(meant)
}

/// Returns the place in a list of so many values that a key names. Negative ones count from the end: -1 is the last.
pub(super) fn place_in_list(key: &str, length: usize) -> Option<usize> {
    match key.strip_prefix('-') {
        Some(back) => back.parse().ok().filter(|back| *back > 0).and_then(|back| length.checked_sub(back)),
        None => key.parse().ok().filter(|at| *at < length),
    }
}

/// Returns a path whose places in lists count from the beginning.
pub(super) fn from_beginning(path: &Pointer, world: &World) -> Pointer {
    let mut whole = Pointer::default();
    for key in path.keys() {
        let place = match world.get(&whole) {
            Some(Value::Array(list)) => place_in_list(key, list.len()).map(|at| at.to_string()),
            _ => None,
        };
        whole = whole.child(place.unwrap_or_else(|| key.clone()));
    }
    whole
}

/// Returns the key of a map that a path names, and how many parts of the path it has. Keys may have dots, and a
/// misspelled key counts if only one is like it.
fn known_key(map: &Map<String, Value>, path: &[&str]) -> Option<(String, usize)> {
    let plain: Vec<String> =
        path.iter().take(MAX_DOTTED_PARTS).map(|key| key.replace("~1", "/").replace("~0", "~")).collect();
    let first = plain.first()?;
    if map.contains_key(first) {
        return Some((first.clone(), 1));
    }
    let dotted = (2..=plain.len()).find_map(|parts| {
        let key = plain.get(..parts)?.join(".");
        map.contains_key(&key).then_some((key, parts))
    });
    let alike = || find_equivalent_name(first, map.keys().map(String::as_str)).map(|known| (known.to_owned(), 1));
    dotted.or_else(alike)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::parse;
    use super::*;

    #[test]
    fn mvu_path_repair_misspelled_path_finds_value() {
        let vars = json!({"stat_data": {
            "Rin": {"good will": 1, "a_b": 1, "a-b": 2}, "b/c": {"x": 1}, "list": [{"n": 1}], "k.k": {"v.1": {"z": 1}},
            "pair": [{"n": 1}, "what it is"],
        }});
        let world = World { vars: vars.as_object().unwrap().clone(), ..World::default() };
        let root = Pointer::from_keys(["stat_data"]);
        let plain = |said: &str| said.replace(['.', '['], "/").replace(']', "");
        let check = |said: &str, meant: &str| {
            let mut parsed = parse(&format!("_.set('{said}', 1);"), 1);
            let told = repair_paths(&mut parsed.commands[0], &root, &world);
            assert_eq!((parsed.commands[0].path.as_str(), told.is_some()), (meant, plain(said) != meant));
        };
        check("Rin.good will", "Rin/good will");
        check("rin.GoodWill", "Rin/good will");
        check("rin.ab", "Rin/ab");
        check("rin.new.one", "Rin/new/one");
        check("list.0.N", "list/0/n");
        check("other.Rin", "other/Rin");
        check("k.k.v.1.Z", "k.k/v.1/z");
        check("pair.n", "pair/0/n");
        check("pair.0.n", "pair/0/n");
        check("list[-1].N", "list/-1/n");
        check("pair[-2].n", "pair/-2/n");
        let path = |keys: &[&str]| Pointer::from_keys(["stat_data"].iter().chain(keys).copied());
        for (said, meant) in
            [(["list", "-1"], ["list", "0"]), (["list", "-2"], ["list", "-2"]), (["b/c", "-1"], ["b/c", "-1"])]
        {
            assert_eq!(from_beginning(&path(&said), &world), path(&meant));
        }
    }
}
