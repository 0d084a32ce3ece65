//! Initial values of a story: `[initvar]` entries of lorebooks and `<initvar>` blocks of greetings. They are YAML,
//! relaxed JSON or TOML.

use clotho_core::world::number::is_within_reach;
use clotho_core::yaml;
use serde_json::{Map, Value};

use super::meta::{LISTS, META};
use super::{PATCH_TAGS, first_block_text, strip_blocks, toml_values, value};

/// The mark of the element of a list that has the metadata of the list.
const LIST_META: &str = "$arrayMeta";
const EXTENSIBLE: &str = "$__META_EXTENSIBLE__$";
/// The tag of a greeting's own initial values.
const TAG: &str = "initvar";
/// MVU's root of all values.
const STAT_DATA: &str = "stat_data";
/// The most numbers of a text that are named as left out.
const MAX_NAMED: usize = 100;

/// A text with initial values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitVarText {
    /// Display name.
    pub name: String,
    /// The text, with macros filled in.
    pub text: String,
}

/// Merges the values of all texts and then of the greeting's block: maps are joined, other values are replaced. Also
/// returns a message for each unreadable text, and for each text with values that were left out.
pub(crate) fn initial_values(starts: &[InitVarText], greeting: &str) -> (Map<String, Value>, Vec<String>) {
    let read = read_values(starts, greeting);
    let omitted = read.omitted.into_iter().map(|(name, values)| format!("\"{name}\": left out {values}"));
    (read.values, read.unreadable.into_iter().chain(omitted).collect())
}

/// The values of all texts.
struct InitialValues {
    values: Map<String, Value>,
    /// A message for each unreadable text.
    unreadable: Vec<String>,
    /// The name of each text of which values were left out, with their paths.
    omitted: Vec<(String, String)>,
}

fn read_values(starts: &[InitVarText], greeting: &str) -> InitialValues {
    let (mut all, mut unreadable, mut omitted) = (Value::Object(Map::new()), Vec::new(), Vec::new());
    let mut take = |name: &str, text: &str| match parse_map(text) {
        Some((map, left_out)) => {
            merge(&mut all, Value::Object(map));
            if !left_out.is_empty() {
                omitted.push((name.to_owned(), left_out.join(", ")));
            }
        }
        None => unreadable.push(format!("\"{name}\" is neither YAML nor JSON nor TOML, so it is ignored")),
    };
    for start in starts {
        take(&start.name, &start.text);
    }
    if let Some(own) = first_block_text(greeting, TAG) {
        take("<initvar>", own);
    }
    InitialValues { values: map(all).unwrap_or_default(), unreadable, omitted }
}

/// Returns a message for each text that cannot be parsed, including the greeting's block. It is pure, so that users can
/// be told before a story begins.
pub fn unreadable_initial_values(starts: &[InitVarText], greeting: &str) -> Vec<String> {
    read_values(starts, greeting).unreadable
}

/// Returns the names of the texts of which values are left out, such as infinite numbers, with the paths of these
/// values.
pub fn omitted_initial_values(starts: &[InitVarText], greeting: &str) -> Vec<(String, String)> {
    read_values(starts, greeting).omitted
}

/// Returns a message for each unreadable text, and for each text with values that are left out.
pub fn initial_value_problems(starts: &[InitVarText], greeting: &str) -> Vec<String> {
    initial_values(starts, greeting).1
}

/// Parses a text to a map of values; an empty text is an empty map. Also returns the paths of values that were left
/// out.
fn parse_map(text: &str) -> Option<(Map<String, Value>, Vec<String>)> {
    // A text may also contain commands. They are removed here and applied like those of a reply.
    let text = PATCH_TAGS.iter().fold(text.to_owned(), |text, tag| strip_blocks(&text, tag));
    let text = strip_code_fence(text.trim());
    if text.is_empty() {
        return Some((Map::new(), Vec::new()));
    }
    let relaxed = || if text.starts_with('{') { value::read_initial_object(text) } else { None };
    let whole = |map| (map, Vec::new());
    let yaml = || yaml::read(text).ok().and_then(|read| Some((map(read.value)?, read.left_out)));
    let toml = || toml_values::read(text);
    let (mut map, mut left_out) = relaxed().map(whole).or_else(yaml).or_else(|| toml().map(whole))?;
    omit_numbers_in(&mut map, &mut Vec::new(), &mut left_out);
    if let (1, Some(Value::Object(inner))) = (map.len(), map.get(STAT_DATA)) {
        map = inner.clone();
    }
    let mut values = Value::Object(map);
    remove_metadata(&mut values);
    Some((self::map(values)?, left_out))
}

fn map(value: Value) -> Option<Map<String, Value>> {
    if let Value::Object(map) = value { Some(map) } else { None }
}

/// Removes the numbers that cannot be stored from a map, and adds their paths to `left_out`.
fn omit_numbers_in(map: &mut Map<String, Value>, path: &mut Vec<String>, left_out: &mut Vec<String>) {
    map.retain(|key, value| {
        path.push(key.clone());
        let is_kept = omit_numbers(value, path, left_out);
        path.pop();
        is_kept
    });
}

/// Removes the numbers that cannot be stored from a value. Returns whether the value itself can be stored. In a list,
/// null takes the place of such a number, so that the items behind it keep their places.
fn omit_numbers(value: &mut Value, path: &mut Vec<String>, left_out: &mut Vec<String>) -> bool {
    match value {
        Value::Number(number) if !is_within_reach(number) => {
            if left_out.len() < MAX_NAMED {
                left_out.push(path.join("."));
            }
            return false;
        }
        Value::Object(map) => omit_numbers_in(map, path, left_out),
        Value::Array(list) => {
            for (at, item) in list.iter_mut().enumerate() {
                path.push(at.to_string());
                if !omit_numbers(item, path, left_out) {
                    *item = Value::Null;
                }
                path.pop();
            }
        }
        _ => {}
    }
    true
}

/// Returns the content of a code fence, or the text without a leading `---`.
fn strip_code_fence(text: &str) -> &str {
    let Some(fenced) = text.strip_prefix("```") else { return text.strip_prefix("---").unwrap_or(text).trim() };
    let inside = fenced.split_once('\n').map_or("", |(_, inside)| inside).trim_end();
    inside.strip_suffix("```").unwrap_or(inside).trim()
}

/// Removes NUL characters, and MVU metadata that has no effect here. MVU builds a schema of it. Here, a template,
/// required keys and the ban of new keys stay in the map that they are about; those of a list in the map around it.
fn remove_metadata(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if !map.get(META).is_some_and(is_effective) {
                map.shift_remove(META);
            }
            let of_lists: Map<String, Value> =
                map.iter().filter_map(|(key, value)| Some((key.clone(), list_metadata(value)?))).collect();
            if !of_lists.is_empty()
                && let Value::Object(meta) = map.entry(META).or_insert_with(|| Map::new().into())
            {
                meta.insert(LISTS.to_owned(), of_lists.into());
            }
            map.values_mut().for_each(remove_metadata);
        }
        Value::Array(list) => {
            list.retain(|value| value != EXTENSIBLE && value.get(LIST_META).is_none());
            list.iter_mut().for_each(remove_metadata);
        }
        Value::String(text) if text.contains('\0') => *text = text.replace('\0', ""),
        _ => {}
    }
}

/// Returns the metadata in a list if it has an effect.
fn list_metadata(list: &Value) -> Option<Value> {
    let meta = list.as_array()?.iter().find(|value| value.get(LIST_META).is_some())?.get(META)?;
    is_effective(meta).then(|| meta.clone())
}

/// Returns whether metadata changes what commands may do.
fn is_effective(meta: &Value) -> bool {
    let says = |key: &str, is_it: fn(&Value) -> bool| meta.get(key).is_some_and(is_it);
    says("template", |value| !value.is_null())
        || says("required", Value::is_array)
        || says("extensible", |value| value == &Value::Bool(false))
}

/// Lists the writes that put `value` over the values in `there`, map by map: a path below the root and a value each.
pub(crate) fn leaf_values(there: Option<&Value>, path: &str, value: Value, out: &mut Vec<(String, Value)>) {
    match (there, value) {
        (Some(Value::Object(there)), Value::Object(map)) => {
            for (key, value) in map {
                let escaped = key.replace('~', "~0").replace('/', "~1");
                let inside = if path.is_empty() { escaped } else { format!("{path}/{escaped}") };
                leaf_values(there.get(&key), &inside, value, out);
            }
        }
        (_, value) => out.push((path.to_owned(), value)),
    }
}

fn merge(all: &mut Value, more: Value) {
    match (all, more) {
        (Value::Object(all), Value::Object(more)) => {
            for (key, value) in more {
                match all.get_mut(&key) {
                    Some(there) => merge(there, value),
                    None => _ = all.insert(key, value),
                }
            }
        }
        (all, more) => *all = more,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn init_var_text(text: &str) -> InitVarText {
        InitVarText { name: "[initvar]".into(), text: text.into() }
    }

    #[test]
    fn mvu_init_vars_all_formats_are_merged() {
        let starts = [
            init_var_text(
                "---\nRin:\n  mood: [calm, how she feels]\n  affinity: 5\n  bag: [rope, lamp, \"$__META_EXTENSIBLE__$\"]\n  $meta:\n    extensible: true\n",
            ),
            init_var_text("```json\n{\"Rin\": {affinity: 7, 'bag': ['map'],}, /* no */ \"hour\": 8}\n```"),
            init_var_text("[Rin]\nfar = true\n"),
            init_var_text("- only\n- a list"),
            init_var_text(""),
        ];
        let (values, problems) = initial_values(&starts, "Hello.<initvar>\nstat_data:\n  hour: 9\n</initvar>");
        let expected =
            json!({"Rin": {"mood": ["calm", "how she feels"], "affinity": 7, "bag": ["map"], "far": true}, "hour": 9});
        assert_eq!(Value::Object(values), expected);
        assert_eq!(problems, ["\"[initvar]\" is neither YAML nor JSON nor TOML, so it is ignored"]);
    }

    /// MVU reads YAML 1.2: words such as `on` are texts, and one bad value does not cost the others.
    #[test]
    fn mvu_init_vars_yaml_1_2_is_read_and_bad_value_is_reported() {
        let text = "lamp: on\ncountry: no\nstage: 007\nid: 1_000\nday: 2024-05-01\nfar: .inf\n~: x\n";
        let (values, problems) = initial_values(&[init_var_text(text)], "");
        let expected = json!({"lamp": "on", "country": "no", "stage": 7, "id": "1_000", "day": "2024-05-01", "": "x"});
        assert_eq!(Value::Object(values), expected);
        assert_eq!(problems, ["\"[initvar]\": left out far"]);
        assert!(unreadable_initial_values(&[init_var_text(text)], "").is_empty(), "the text as a whole is readable");
    }

    /// One number that cannot be stored costs itself, and is named, whatever the language of the text.
    #[test]
    fn mvu_init_vars_unstorable_number_is_left_out_and_reported() {
        for (text, expected, left_out) in [
            (
                "{hp: 1e400, Rin: {mp: 1e308, 'xp': [1, 5e-320]}, ok: 5}",
                json!({"Rin": {"xp": [1, null]}, "ok": 5}),
                "hp, Rin.mp, Rin.xp.1",
            ),
            (
                "{a: Infinity, b: -Infinity, c: NaN, d: \"NaN\", e: [NaN, 'x'],}",
                json!({"d": "NaN", "e": [null, "x"]}),
                "a, b, c, e.0",
            ),
            (
                "hp: 1e308\nRin:\n  mp: 5e-320\n  xp: [1, 1e400]\nok: 5\n",
                json!({"Rin": {"xp": [1, null]}, "ok": 5}),
                "Rin.xp.1, hp, Rin.mp",
            ),
            (
                "Hp = 1e400\nok = 5\nday = 2024-05-01\n[Rin]\nmp = inf\nxp = [1, nan, -inf]\nhour = 10:30:00\n",
                json!({"ok": 5, "day": "2024-05-01", "Rin": {"xp": [1, null, null], "hour": "10:30:00"}}),
                "Hp, Rin.mp, Rin.xp.1, Rin.xp.2",
            ),
        ] {
            let (values, problems) = initial_values(&[init_var_text(text)], "");
            assert_eq!(Value::Object(values), expected, "{text}");
            assert_eq!(problems, [format!("\"[initvar]\": left out {left_out}")], "{text}");
        }
    }

    /// Invalid input, deep nesting and alias bombs must end quickly and stay small.
    #[test]
    fn mvu_init_vars_invalid_text_is_ignored() {
        let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n\
            d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
        for text in [bomb, &"[".repeat(9_000), &"a:\n ".repeat(300), "\0", "{", "a: b: c"] {
            let (values, _) = initial_values(&[init_var_text(text)], "");
            assert!(Value::Object(values).to_string().len() < 2_000_000);
        }
    }

    /// What MVU needs to fill in new entries and to protect others stays in the values, where readers do not see it.
    #[test]
    fn mvu_init_vars_metadata_with_effect_is_kept() {
        let text = "npc:\n  $meta: {extensible: true, template: {hp: 10}}\nRin:\n  hp: 5\n  $meta: {required: [hp]}\n\
            bag:\n  rope: 1\n  $meta: {extensible: true}\nshut:\n  $meta: {extensible: false}\n\
            list: [a, {$arrayMeta: true, $meta: {extensible: true}}]\nden:\n  beasts:\n    - {$arrayMeta: true, $meta: {template: {hp: 3}}}\n    - {hp: 9}\n";
        let (values, _) = initial_values(&[init_var_text(text)], "");
        let expected = json!({
            "npc": {"$meta": {"extensible": true, "template": {"hp": 10}}},
            "Rin": {"hp": 5, "$meta": {"required": ["hp"]}}, "bag": {"rope": 1},
            "shut": {"$meta": {"extensible": false}}, "list": ["a"],
            "den": {"beasts": [{"hp": 9}], "$meta": {"lists": {"beasts": {"template": {"hp": 3}}}}},
        });
        assert_eq!(Value::Object(values), expected);
    }
}
