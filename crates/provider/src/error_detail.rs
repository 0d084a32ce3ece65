//! What an error says in full: its words before they are shortened for people, and the fields of the request that it
//! names.

use super::{error_text, json};
use serde_json::Value;

/// Fields in which servers name the refused part of a request.
const FIELD_NAMES: [&str; 12] = [
    "param",
    "parameter",
    "loc",
    "path",
    "field",
    "fields",
    "additionalProperty",
    "instancePath",
    "dataPath",
    "pointer",
    "argument",
    "property",
];

/// Maximum depth at which fields are searched.
const MAX_DEPTH: usize = 12;

/// Maximum number of fields kept.
const MAX_FIELDS: usize = 64;

/// An error of a server.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ErrorDetail {
    /// The HTTP status, or the number in the error.
    pub(super) status: Option<u16>,
    /// The message in full.
    pub(super) words: String,
    /// The paths of refused fields, such as `["body", "seed"]`.
    pub(super) fields: Vec<Vec<String>>,
}

impl ErrorDetail {
    /// Reads the body of an error response. Any bytes will do.
    pub(super) fn from_body(status: u16, body: &[u8]) -> (Self, Option<Value>) {
        let text = String::from_utf8_lossy(body);
        let Ok(value) = json::parse(&text) else {
            return (Self { status: Some(status), words: text.into_owned(), fields: Vec::new() }, None);
        };
        let mut fields = Vec::new();
        collect_fields(&value, MAX_DEPTH, &mut fields);
        (Self { status: Some(status), words: error_text::json_error_text(&value), fields }, Some(value))
    }

    /// Creates the detail of an error of which only the message is known.
    pub(super) fn from_words(status: Option<u16>, words: &str) -> Self {
        Self { status, words: words.to_owned(), fields: Vec::new() }
    }
}

fn collect_fields(value: &Value, depth: usize, fields: &mut Vec<Vec<String>>) {
    let Some(depth) = depth.checked_sub(1).filter(|_| fields.len() < MAX_FIELDS) else { return };
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_fields(item, depth, fields)),
        Value::Object(all) => {
            for (name, value) in all {
                match name.as_str() {
                    // Validators repeat what was sent.
                    "input" | "ctx" | "body" => {}
                    name if FIELD_NAMES.contains(&name) => fields.extend(paths(value)),
                    _ => collect_fields(value, depth, fields),
                }
            }
        }
        _ => {}
    }
}

/// Returns the paths in a value: a text is one path, and so is a list of texts and numbers.
fn paths(value: &Value) -> Option<Vec<String>> {
    let texts = match value {
        Value::String(text) => vec![text.as_str()],
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let parts = texts.into_iter().flat_map(|text| text.split(['.', '/', '[', ']']));
    // `#/seed` and `$.seed` begin at the whole request.
    let parts = parts.filter(|part| !matches!(*part, "" | "#" | "$"));
    let parts: Vec<String> = parts.map(str::to_owned).collect();
    (!parts.is_empty()).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn error_detail_names_fields_of_any_validator() {
        let fields = |body: Value| ErrorDetail::from_body(422, body.to_string().as_bytes()).0.fields;
        for body in [
            json!({"error": {"message": "no", "param": "seed"}}),
            json!({"object": "error", "message": {"detail": [{"loc": ["seed"], "msg": "no", "input": {"path": "x"}}]}}),
            json!({"error": {"details": [{"fieldViolations": [{"field": "seed", "description": "no"}]}]}}),
            json!([{"instancePath": "/seed", "message": "no"}]),
            json!({"errors": [{"pointer": "#/seed", "detail": "unexpected property"}]}),
            json!({"errors": [{"source": {"pointer": "/seed"}, "title": "no"}]}),
            json!({"errors": [{"path": "$.seed", "message": "no"}]}),
            json!({"issues": [{"path": ["seed", 0], "message": "no"}]}),
            json!({"errors": [{"params": {"additionalProperty": "seed"}}]}),
        ] {
            assert_eq!(fields(body.clone()), [["seed"]], "{body}");
        }
        assert_eq!(fields(json!({"detail": [{"loc": ["body", "stop", 0]}]})), [["body", "stop"]]);
        assert!(fields(json!({"error": {"param": null, "loc": []}})).is_empty());
        assert_eq!(ErrorDetail::from_body(400, b"plain").0, ErrorDetail::from_words(Some(400), "plain"));
    }
}
