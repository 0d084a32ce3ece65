//! Writes values as readable YAML for models; it takes fewer tokens than JSON.

use std::fmt::Write;

use serde_json::Value;

/// Writes a value as YAML, without a final line break.
pub fn write(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Null => {}
        Value::String(words) => return words.clone(),
        Value::Object(_) | Value::Array(_) => write_children(value, 0, &mut out),
        other => scalar(other, 0, &mut out),
    }
    out.truncate(out.trim_end().len());
    out
}

fn write_children(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                indent(depth, out);
                write_text(key, out);
                out.push(':');
                write_nested(value, depth, out);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            for value in list {
                indent(depth, out);
                out.push('-');
                write_nested(value, depth, out);
            }
        }
        Value::Object(_) => out.push_str("{}\n"),
        Value::Array(_) => out.push_str("[]\n"),
        other => scalar(other, depth, out),
    }
}

/// Writes the value after a key or dash.
fn write_nested(value: &Value, depth: usize, out: &mut String) {
    let is_nested = match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => false,
    };
    match is_nested {
        true => {
            out.push('\n');
            write_children(value, depth + 1, out);
        }
        false => {
            out.push(' ');
            write_children(value, depth + 1, out);
        }
    }
}

fn indent(depth: usize, out: &mut String) {
    (0..depth).for_each(|_| out.push_str("  "));
}

fn scalar(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::String(words) if words.contains('\n') && is_block_scalar(words) => {
            out.push_str("|-\n");
            for line in words.lines() {
                indent(depth, out);
                out.push_str(line);
                out.push('\n');
            }
        }
        Value::String(words) => {
            write_text(words, out);
            out.push('\n');
        }
        // Writing into a `String` does not fail.
        other => _ = writeln!(out, "{other}"),
    }
}

/// Returns whether a text can be written as a literal block.
fn is_block_scalar(words: &str) -> bool {
    let is_odd = |c: char| c.is_control() && c != '\n';
    !words.contains(is_odd) && words.lines().all(|line| line.trim_end() == line && !line.is_empty()) && {
        !words.starts_with(char::is_whitespace) && !words.ends_with('\n')
    }
}

/// Writes a single-line text: plain if that is unambiguous, else quoted.
fn write_text(words: &str, out: &mut String) {
    const SIGNS: &[char] =
        &['-', '?', ':', ',', '[', ']', '{', '}', '#', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`', '~', '='];
    let lower = words.to_ascii_lowercase();
    let is_word =
        matches!(lower.as_str(), "" | "true" | "false" | "null" | "yes" | "no" | "y" | "n" | "on" | "off" | "---");
    let is_number = lower.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '+'));
    let is_bare = !is_word
        && !is_number
        && !words.starts_with(SIGNS)
        && !words.contains(|c: char| c.is_control())
        && !words.contains(": ")
        && !words.contains(" #")
        && !words.ends_with(':')
        && words.trim() == words;
    match is_bare {
        true => out.push_str(words),
        // A JSON string is valid YAML.
        false => _ = write!(out, "{}", Value::from(words)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn yaml_common_values_are_written_plainly() {
        let check = |value: Value, expected: &str| assert_eq!(write(&value), expected);
        check(
            json!({"Rin": {"mood": "calm", "bag": [{"rope": 1}, [], "x"], "none": null}, "hp": 40}),
            "Rin:\n  mood: calm\n  bag:\n    -\n      rope: 1\n    - []\n    - x\n  none: null\nhp: 40",
        );
        check(json!("two words"), "two words");
        check(json!(null), "");
        check(json!({}), "{}");
        check(
            json!({"a": "1", "b": "no", "c: d": "- x", "e": "one\ntwo", "f": "Y"}),
            "a: \"1\"\nb: \"no\"\n\"c: d\": \"- x\"\ne: |-\n  one\n  two\nf: \"Y\"",
        );
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(true)),
            any::<i64>().prop_map(Value::from),
            "[a-zA-Z0-9:#'\" \\n\\-猫.,{}\\[\\]&*!|>%@`~=?+\\\\]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 30, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[a-z:# \\-0-9猫]{1,6}", inner), 0..4)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// Written YAML parses back to the same value.
        #[test]
        fn yaml_random_value_reads_back_equal(inner in any_value()) {
            let whole = json!({"all": inner});
            let text = write(&whole);
            prop_assert_eq!(clotho_core::yaml::read(&text).unwrap().value, whole, "{}", text);
        }
    }
}
