//! Repairs misspelled paths: models write `rin.Affinity` or `Rin. affinity` where the state has `rin.affinity`. If
//! exactly one value fits, the command uses it and the repair is reported.

use serde_json::Value;

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

/// Returns the corrected path; `None` if it is right or no match is known.
fn resolve_path(path: &str, root: &Pointer, world: &World) -> Option<String> {
    let mut there = world.get(root)?;
    let mut keys: Vec<String> = Vec::new();
    let mut rest = path.split('/').filter(|key| !key.is_empty());
    for key in rest.by_ref() {
        let inside = match there {
            Value::Object(map) => {
                let plain = key.replace("~1", "/").replace("~0", "~");
                let known = if map.contains_key(&plain) {
                    Some(plain)
                } else {
                    find_equivalent_name(&plain, map.keys().map(String::as_str)).map(str::to_owned)
                };
                known.and_then(|known| map.get(&known).map(|value| (known, value)))
            }
            Value::Array(list) => key.parse().ok().and_then(|at: usize| Some((key.to_owned(), list.get(at)?))),
            _ => None,
        };
        let Some((key, value)) = inside else {
            // New keys stay as written.
            keys.push(key.to_owned());
            break;
        };
        keys.push(key.replace('~', "~0").replace('/', "~1"));
        there = value;
    }
    keys.extend(rest.map(str::to_owned));
    let meant = keys.join("/");
    (meant != path).then_some(meant)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::parse;
    use super::*;

    #[test]
    fn mvu_path_repair_misspelled_path_finds_value() {
        let vars =
            json!({"stat_data": {"Rin": {"good will": 1, "a_b": 1, "a-b": 2}, "b/c": {"x": 1}, "list": [{"n": 1}]}});
        let world = World { vars: vars.as_object().unwrap().clone(), ..World::default() };
        let root = Pointer::from_keys(["stat_data"]);
        let check = |said: &str, meant: &str| {
            let mut parsed = parse(&format!("_.set('{said}', 1);"), 1);
            let told = repair_paths(&mut parsed.commands[0], &root, &world);
            assert_eq!((parsed.commands[0].path.as_str(), told.is_some()), (meant, !said.replace('.', "/").eq(meant)));
        };
        check("Rin.good will", "Rin/good will");
        check("rin.GoodWill", "Rin/good will");
        check("rin.ab", "Rin/ab");
        check("rin.new.one", "Rin/new/one");
        check("list.0.N", "list/0/n");
        check("other.Rin", "other/Rin");
    }
}
