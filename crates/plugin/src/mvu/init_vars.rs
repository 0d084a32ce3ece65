//! What the values of a story begin with: `[initvar]` entries of lorebooks and `<initvar>` blocks of greetings, written in
//! YAML, JSON with its relaxed forms, or TOML.

use serde_json::{Map, Value};

use super::{PATCH_TAGS, first_block_text, strip_blocks, value};

/// What authors write for a schema that is made of the values: it is no value.
const META: &str = "$meta";
const EXTENSIBLE: &str = "$__META_EXTENSIBLE__$";
/// The tag of a greeting's own values.
const TAG: &str = "initvar";
/// The name of the place in which all of it lies.
const STAT_DATA: &str = "stat_data";

/// A text that says what values begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitVarText {
    /// What it is called, for people.
    pub name: String,
    /// The text, macros filled in.
    pub text: String,
}

/// The values of texts, and of the block in a greeting, one upon the other: maps are joined, all else is replaced. With it
/// what could not be read.
pub(crate) fn initial_values(starts: &[InitVarText], greeting: &str) -> (Map<String, Value>, Vec<String>) {
    let (mut all, mut unread) = (Value::Object(Map::new()), Vec::new());
    let mut take = |name: &str, text: &str| match parse_map(text) {
        Some(map) => merge(&mut all, Value::Object(map)),
        None => unread.push(format!("\"{name}\" is neither YAML nor JSON nor TOML: it begins nothing")),
    };
    for start in starts {
        take(&start.name, &start.text);
    }
    if let Some(own) = first_block_text(greeting, TAG) {
        take("<initvar>", own);
    }
    match all {
        Value::Object(map) => (map, unread),
        _ => (Map::new(), unread),
    }
}

/// What of texts, and of the block in a greeting, cannot be read: a sentence for each. Pure, so that it can be told before a story
/// begins.
pub fn unreadable_texts(starts: &[InitVarText], greeting: &str) -> Vec<String> {
    initial_values(starts, greeting).1
}

/// A text as a map of values; an empty one is an empty map.
fn parse_map(text: &str) -> Option<Map<String, Value>> {
    // Beside values there may be commands, which are carried out as those of a reply are.
    let text = PATCH_TAGS.iter().fold(text.to_owned(), |text, tag| strip_blocks(&text, tag));
    let text = strip_code_fence(text.trim());
    if text.is_empty() {
        return Some(Map::new());
    }
    let relaxed = || if text.starts_with('{') { value::read_object(text).map(|(map, _)| map) } else { None };
    let yaml = || serde_saphyr::from_str::<Value>(text).ok().and_then(map);
    let toml = || toml::from_str::<Value>(text).ok().and_then(map);
    let mut map = relaxed().or_else(yaml).or_else(toml)?;
    if let (1, Some(Value::Object(inner))) = (map.len(), map.get(STAT_DATA)) {
        map = inner.clone();
    }
    let mut whole = Value::Object(map);
    remove_metadata(&mut whole);
    self::map(whole)
}

fn map(value: Value) -> Option<Map<String, Value>> {
    if let Value::Object(map) = value { Some(map) } else { None }
}

/// What stands inside of a code fence, if the text is one.
fn strip_code_fence(text: &str) -> &str {
    let Some(fenced) = text.strip_prefix("```") else { return text.strip_prefix("---").unwrap_or(text).trim() };
    let inside = fenced.split_once('\n').map_or("", |(_, inside)| inside).trim_end();
    inside.strip_suffix("```").unwrap_or(inside).trim()
}

/// Takes out what is no value.
fn remove_metadata(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.shift_remove(META);
            map.values_mut().for_each(remove_metadata);
        }
        Value::Array(list) => {
            list.retain(|value| value != EXTENSIBLE);
            list.iter_mut().for_each(remove_metadata);
        }
        Value::String(text) if text.contains('\0') => *text = text.replace('\0', ""),
        _ => {}
    }
}

/// Where values go that are put over those that are there, map by map: each place below a root, and what is put there.
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

    fn start(text: &str) -> InitVarText {
        InitVarText { name: "[initvar]".into(), text: text.into() }
    }

    #[test]
    fn mvu_init_vars_all_formats_are_merged() {
        let starts = [
            start(
                "---\nRin:\n  mood: [calm, how she feels]\n  affinity: 5\n  bag: [rope, lamp, \"$__META_EXTENSIBLE__$\"]\n  $meta:\n    extensible: true\n",
            ),
            start("```json\n{\"Rin\": {affinity: 7, 'bag': ['map'],}, /* no */ \"hour\": 8}\n```"),
            start("[Rin]\nfar = true\n"),
            start("- only\n- a list"),
            start(""),
        ];
        let (values, unread) = initial_values(&starts, "Hello.<initvar>\nstat_data:\n  hour: 9\n</initvar>");
        let expected =
            json!({"Rin": {"mood": ["calm", "how she feels"], "affinity": 7, "bag": ["map"], "far": true}, "hour": 9});
        assert_eq!(Value::Object(values), expected);
        assert_eq!(unread, ["\"[initvar]\" is neither YAML nor JSON nor TOML: it begins nothing"]);
    }

    /// Bad input: what nests, repeats itself or is no text of that kind ends.
    #[test]
    fn mvu_init_vars_invalid_text_is_ignored() {
        let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n\
            d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
        for text in [bomb, &"[".repeat(9_000), &"a:\n ".repeat(300), "\0", "{", "a: b: c"] {
            let (values, _) = initial_values(&[start(text)], "");
            assert!(Value::Object(values).to_string().len() < 2_000_000);
        }
    }
}
