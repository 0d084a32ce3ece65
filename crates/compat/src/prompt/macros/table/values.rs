//! Macros of MVU cards for story values: `{{get_message_variable::stat_data.rin.mood}}` and, as YAML,
//! `{{format_message_variable::stat_data}}`. They read the state at the answered message, on its own branch.

use serde_json::Value;

use super::super::{MacroEngine, yaml};
use super::{MacroCall, MacroDefinition};

const LOCAL: bool = false;
const GLOBAL: bool = true;
/// Prefix of keys that are not shown.
const HIDDEN_PREFIX: char = '$';

/// The rows of the table.
pub const ROWS: &[MacroDefinition] = &[
    MacroDefinition::with_args(&["get_message_variable", "get_chat_variable"], 1..=1, |m, call| {
        Some(plain(&value_at_path::<LOCAL>(m, &call)))
    }),
    MacroDefinition::with_args(&["get_global_variable"], 1..=1, |m, call| {
        Some(plain(&value_at_path::<GLOBAL>(m, &call)))
    }),
    MacroDefinition::with_args(&["format_message_variable", "format_chat_variable"], 1..=1, |m, call| {
        Some(yaml::write(&value_at_path::<LOCAL>(m, &call)))
    }),
    MacroDefinition::with_args(&["format_global_variable"], 1..=1, |m, call| {
        Some(yaml::write(&value_at_path::<GLOBAL>(m, &call)))
    }),
];

/// Returns a string as it is, null as empty, other values as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the value at the path of a call, without hidden keys.
fn value_at_path<const KIND: bool>(m: &mut MacroEngine<'_>, call: &MacroCall<'_>) -> Value {
    let map = m.variables_mut(KIND).map();
    let mut keys = split_path(call.arg(0)).into_iter();
    let first = keys.next().and_then(|first| map.get(&first));
    let value = keys.try_fold(first, |inside, key| {
        Some(match inside? {
            Value::Object(map) => map.get(&key),
            Value::Array(list) => list.get(key.parse::<usize>().ok()?),
            _ => None,
        })
    });
    let mut value = value.flatten().cloned().unwrap_or_default();
    remove_hidden(&mut value);
    value
}

/// Splits `a.b[0]["c d"]` into keys; an unclosed bracket is part of a key.
fn split_path(path: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let mut rest = path.trim();
    while !rest.is_empty() {
        let bracketed = rest.strip_prefix('[').and_then(|inner| inner.split_once(']'));
        let (key, after) = match bracketed {
            Some((key, after)) => (key.trim().trim_matches(['"', '\'', '`']), after),
            None => {
                let from_second = rest.chars().next().map_or(0, char::len_utf8);
                let end =
                    rest.get(from_second..).and_then(|tail| tail.find(['.', '[', '/'])).map(|at| at + from_second);
                rest.split_at(end.unwrap_or(rest.len()))
            }
        };
        keys.push(key.to_owned());
        rest = after.strip_prefix(['.', '/']).unwrap_or(after);
    }
    keys
}

fn remove_hidden(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, _| !key.starts_with(HIDDEN_PREFIX));
            map.values_mut().for_each(remove_hidden);
        }
        Value::Array(list) => list.iter_mut().for_each(remove_hidden),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::super::super::MacroContext;
    use super::*;

    #[test]
    fn macro_message_variable_path_is_read_as_yaml() {
        let vars = json!({"stat_data": {
            "Rin": {"mood": ["calm", "how she feels"], "hp": 40, "$seen": 1, "note": "a: b"},
            "理": {"好感度": 12}, "a b": {"c.d": true}, "bag": [], "none": null,
        }});
        let (facts, mut draw) = (MacroContext::default(), || 0.0);
        let mut macros = MacroEngine::new(&facts, vars.as_object().unwrap().clone(), Map::new(), &mut draw);
        let mut check = |text: &str, expected: &str| assert_eq!(macros.fill(text), expected, "{text}");
        check("{{get_message_variable::stat_data.Rin.mood[0]}}", "calm");
        check("{{get_message_variable::stat_data.Rin.mood}}", "[\"calm\",\"how she feels\"]");
        check("{{get_message_variable::stat_data.理.好感度}}", "12");
        check("{{get_message_variable::stat_data['a b'][\"c.d\"]}}", "true");
        check("{{get_chat_variable::/stat_data/Rin/hp}}{{get_message_variable::stat_data.nobody.x}}", "");
        check("{{get_message_variable::stat_data/Rin/hp}}", "40");
        check("{{get_message_variable::stat_data[}}|{{get_message_variable::}}", "|");
        check(
            "{{format_message_variable::stat_data.Rin}}",
            "mood:\n  - calm\n  - how she feels\nhp: 40\nnote: \"a: b\"",
        );
        check("{{format_message_variable::stat_data.bag}}{{get_global_variable::x}}", "[]");
        check("{{get_message_variable}}", "{{get_message_variable}}");
    }
}
