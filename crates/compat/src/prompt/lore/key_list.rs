//! The keys of an entry as a list, whatever form a file gives them.

use serde_json::Value;

use super::keys::{KeyMatcher, trim};

/// Characters between keys that are written as one text.
const SEPARATORS: [char; 6] = [',', ';', '\n', '，', '、', '；'];

/// Reads keys: a list of texts, or one text that is split. Numbers become their digits; anything else is no key.
pub fn read_keys(value: Option<&Value>) -> Vec<String> {
    let one = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    match value {
        Some(Value::Array(list)) => list.iter().filter_map(one).collect(),
        Some(Value::String(text)) => split_keys(text),
        Some(value) => one(value).into_iter().collect(),
        None => Vec::new(),
    }
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
        for none in [json!(null), json!({}), json!(true), json!("")] {
            assert_eq!(read_keys(Some(&none)), [""; 0], "{none}");
        }
    }
}
