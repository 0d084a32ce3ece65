//! The keys of an entry as a list, whatever form a file gives them.

use serde_json::Value;

use super::keys::{KeyMatcher, trim};

/// Characters between keys that are written as one text.
const SEPARATORS: [char; 6] = [',', ';', '\n', '，', '、', '；'];

/// The greatest number of lists inside each other that are read as one.
const MAX_NESTING: usize = 4;
/// Fields under which programs keep the text of a key that is an object.
const TEXT_FIELDS: [&str; 4] = ["text", "key", "value", "keyword"];

/// Reads keys: a list, a list as JSON inside of a text, one text that is split, or an object whose texts are keys.
/// Numbers become their digits; anything else is no key.
pub fn read_keys(value: Option<&Value>) -> Vec<String> {
    let mut keys = Vec::new();
    match value {
        Some(Value::Array(list)) => push_keys(list, 0, &mut keys),
        Some(Value::String(text)) => match list_in_text(text) {
            Some(list) => push_keys(&list, 0, &mut keys),
            None => keys = split_keys(text),
        },
        Some(Value::Object(map)) => {
            keys.extend(
                map.values().filter_map(Value::as_str).filter(|text| !trim(text).is_empty()).map(str::to_owned),
            );
        }
        Some(Value::Number(number)) => keys.push(number.to_string()),
        _ => {}
    }
    keys
}

fn push_keys(list: &[Value], depth: usize, keys: &mut Vec<String>) {
    for value in list {
        match value {
            Value::String(text) => keys.push(text.clone()),
            Value::Number(number) => keys.push(number.to_string()),
            Value::Array(inner) if depth < MAX_NESTING => push_keys(inner, depth + 1, keys),
            Value::Object(map) => {
                let text = TEXT_FIELDS.iter().filter_map(|name| map.get(*name)?.as_str());
                keys.extend(text.map(str::to_owned).find(|text| !trim(text).is_empty()));
            }
            _ => {}
        }
    }
}

/// Returns the list of texts that a text contains as JSON. `None` for a key in brackets.
fn list_in_text(text: &str) -> Option<Vec<Value>> {
    let text = trim(text);
    let list = if text.starts_with('[') { serde_json::from_str::<Vec<Value>>(text).ok()? } else { return None };
    (list.is_empty() || !list.iter().all(Value::is_number)).then_some(list)
}

/// Splits keys that are written as one text, at commas, semicolons and line breaks. Regular expressions stay whole.
pub fn split_keys(text: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let mut rest = trim(text);
    while !rest.is_empty() {
        let end = pattern_end(rest).or_else(|| rest.find(SEPARATORS)).unwrap_or(rest.len());
        let (key, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let key = trim(key);
        if !key.is_empty() {
            keys.push(key.to_owned());
        }
        rest = trim(after.strip_prefix(SEPARATORS).unwrap_or(after));
    }
    keys
}

/// Returns where a regular expression at the start of a text ends; `None` if none stands there.
fn pattern_end(text: &str) -> Option<usize> {
    if !text.starts_with('/') {
        return None;
    }
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        let was_escaped = is_escaped;
        is_escaped = c == '\\' && !was_escaped;
        if c != '/' || was_escaped {
            continue;
        }
        // The flags, and then a separator or the end.
        let after = text.get(at + 1..)?;
        let flags = after.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let end = text.len() - flags.len();
        let is_end = trim(flags).is_empty() || flags.trim_start_matches([' ', '\t']).starts_with(SEPARATORS);
        if is_end && matches!(KeyMatcher::from_text(text.get(..end)?), KeyMatcher::Pattern(_)) {
            return Some(end + flags.find(SEPARATORS).unwrap_or(flags.len()));
        }
        return None;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lore_keys_as_one_text_are_split() {
        for (text, expected) in [
            ("lamp, lantern", &["lamp", "lantern"][..]),
            ("lamp", &["lamp"]),
            ("old lamp , , lantern,", &["old lamp", "lantern"]),
            ("灯塔，灯笼、火；雾", &["灯塔", "灯笼", "火", "雾"]),
            ("lamp; lantern\nfog", &["lamp", "lantern", "fog"]),
            ("/a,b{1,2}/i, lamp", &["/a,b{1,2}/i", "lamp"]),
            ("lamp, /a\\/b,c/ , /d;e/gi", &["lamp", "/a\\/b,c/", "/d;e/gi"]),
            ("/no pattern, lamp", &["/no pattern", "lamp"]),
            ("and/or, x/y", &["and/or", "x/y"]),
            ("/(/, lamp", &["/(/", "lamp"]),
            (" , ", &[]),
            ("", &[]),
        ] {
            assert_eq!(split_keys(text), expected, "{text}");
        }
    }

    #[test]
    fn lore_keys_of_any_type_become_texts() {
        assert_eq!(read_keys(Some(&json!(["a, b", 7, null, true, {"k": 1}, 2.5]))), ["a, b", "7", "2.5"]);
        assert_eq!(read_keys(Some(&json!(42))), ["42"]);
        assert_eq!(read_keys(Some(&json!("a, 7"))), ["a", "7"]);
        for (given, expected) in [
            (json!("[\"lamp\", \"a, b\"]"), &["lamp", "a, b"][..]),
            (json!("[lamp], b"), &["[lamp]", "b"]),
            (json!("[5]"), &["[5]"]),
            (json!([["lamp", ["lantern"]], "fog"]), &["lamp", "lantern", "fog"]),
            (json!({"0": "lamp", "1": "lantern", "2": "", "on": true}), &["lamp", "lantern"]),
            (json!([{"text": "lamp"}, {"key": "", "value": "fog"}, {"keyword": "sea"}]), &["lamp", "fog", "sea"]),
        ] {
            assert_eq!(read_keys(Some(&given)), expected, "{given}");
        }
        for none in [json!(null), json!({}), json!(true), json!("")] {
            assert_eq!(read_keys(Some(&none)), [""; 0], "{none}");
        }
    }
}
