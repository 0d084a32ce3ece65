//! What a preset may say, whoever brings it. Presets are what other programs keep for their prompts: samplers and blocks,
//! templates, regular expressions, and the like. Each is JSON of a kind of its own, which nobody here changes.

use serde_json::{Map, Value};

use super::card::ValidationError;

/// The kinds, by their words on the wire.
pub const KINDS: [&str; 13] = [
    "openai",
    "textgen",
    "kobold",
    "novel",
    "instruct",
    "context",
    "sysprompt",
    "reasoning",
    "regex",
    "quickReplies",
    "theme",
    "group",
    "variables",
];
/// The most bytes of a whole preset.
pub const MAX_BYTES: usize = 4 << 20;
/// The most characters of its name.
pub const MAX_NAME_CHARS: usize = 200;

/// Whether a preset can be kept: `{kind, name, file?, body}`.
///
/// # Errors
/// Its kind is none, it has no name or a too long one, its body is no object, or it is too large.
pub fn validate_preset(preset: &Map<String, Value>) -> Result<(), ValidationError> {
    let unfit =
        |field: &str, message: String| Err(ValidationError { field: Some(field.to_owned()), message, most: None });
    let text = |key: &str| preset.get(key).and_then(Value::as_str).unwrap_or_default();
    if !KINDS.contains(&text("kind")) {
        return unfit("kind", format!("one of these is expected: {}", KINDS.join(", ")));
    }
    if text("name").trim().is_empty() {
        return unfit("name", "a name is needed".to_owned());
    }
    if text("name").chars().count() > MAX_NAME_CHARS {
        return unfit("name", format!("a name has at most {MAX_NAME_CHARS} characters"));
    }
    if !preset.get("body").is_some_and(Value::is_object) {
        return unfit("body", "an object is expected".to_owned());
    }
    let bytes = serde_json::to_vec(preset).map_or(usize::MAX, |bytes| bytes.len());
    let message = format!("a whole preset has at most {MAX_BYTES} bytes");
    if bytes <= MAX_BYTES { Ok(()) } else { Err(ValidationError { field: None, message, most: Some(MAX_BYTES) }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn preset_invalid_fields_return_error() {
        let check = |preset: Value, field: &str| {
            let found = validate_preset(preset.as_object().unwrap());
            let found =
                found.map_or_else(|unfit| unfit.field.unwrap_or_else(|| "all of it".into()), |()| String::new());
            assert_eq!(found, field);
        };
        check(json!({"kind": "openai", "name": "Plain", "body": {"odd": 1}}), "");
        check(json!({"kind": "other", "name": "Plain", "body": {}}), "kind");
        check(json!({"kind": "regex", "name": " ", "body": {}}), "name");
        check(json!({"kind": "regex", "name": "x".repeat(201), "body": {}}), "name");
        check(json!({"kind": "regex", "name": "a", "body": []}), "body");
        check(json!({"kind": "regex", "name": "a", "body": {"x": "x".repeat(MAX_BYTES)}}), "all of it");
    }
}
