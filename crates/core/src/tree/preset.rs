//! Validation of presets, whether written by hand or imported. Presets are prompt settings of other programs:
//! samplers and blocks, templates, regular expressions and the like. Each kind has its own JSON, which is kept
//! unchanged.

use serde_json::{Map, Value};

use super::card::ValidationError;

/// The kinds, by their names on the wire.
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
/// The maximum size of a whole preset, in bytes.
pub const MAX_BYTES: usize = 4 << 20;
/// The maximum length of its name, in characters.
pub const MAX_NAME_CHARS: usize = 200;

/// Validates a preset: `{kind, name, file?, body}`.
///
/// # Errors
/// Returns an error if the kind is unknown, the name is missing or too long, the body is not an object, or the preset
/// is too large.
pub fn validate_preset(preset: &Map<String, Value>) -> Result<(), ValidationError> {
    let unfit =
        |field: &str, message: String| Err(ValidationError { field: Some(field.to_owned()), message, most: None });
    let text = |key: &str| preset.get(key).and_then(Value::as_str).unwrap_or_default();
    if !KINDS.contains(&text("kind")) {
        return unfit("kind", format!("expected one of {}", KINDS.join(", ")));
    }
    if text("name").trim().is_empty() {
        return unfit("name", "a name is required".to_owned());
    }
    if text("name").chars().count() > MAX_NAME_CHARS {
        return unfit("name", format!("a name has at most {MAX_NAME_CHARS} characters"));
    }
    if !preset.get("body").is_some_and(Value::is_object) {
        return unfit("body", "expected an object".to_owned());
    }
    let bytes = serde_json::to_vec(preset).map_or(usize::MAX, |bytes| bytes.len());
    let message = format!("a preset has at most {MAX_BYTES} bytes in all");
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
