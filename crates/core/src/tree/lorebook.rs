//! Validation of lorebooks, whether written by hand or imported. A lorebook is one JSON object in SillyTavern's
//! world-info format; unknown fields are kept unchanged.

use serde_json::{Map, Value};

use super::card::ValidationError;
use crate::ids::LorebookId;
use crate::world::number::values_equal;

/// The maximum size of a whole lorebook, in bytes.
pub const MAX_BYTES: usize = 16 << 20;
/// The maximum number of entries.
pub const MAX_ENTRIES: usize = 10_000;
/// The maximum length of its name, in characters.
const MAX_NAME_CHARS: usize = 200;

/// Validates a lorebook.
///
/// # Errors
/// Returns an error if the name is missing or too long, the entries are missing, too many or not objects, or the
/// lorebook is too large.
pub fn validate_lorebook(book: &Map<String, Value>) -> Result<(), ValidationError> {
    let unfit = |field: &str, message: String, most| ValidationError { field: Some(field.to_owned()), message, most };
    let name = book.get("name").and_then(Value::as_str).unwrap_or_default();
    if name.trim().is_empty() {
        return Err(unfit("name", "a name is required".to_owned(), None));
    }
    if name.chars().count() > MAX_NAME_CHARS {
        return Err(unfit("name", format!("a name has at most {MAX_NAME_CHARS} characters"), None));
    }
    let entries: Vec<&Value> = match book.get("entries") {
        Some(Value::Object(map)) => map.values().collect(),
        Some(Value::Array(list)) => list.iter().collect(),
        _ => return Err(unfit("entries", "expected a list of entries".to_owned(), None)),
    };
    if entries.len() > MAX_ENTRIES {
        return Err(unfit("entries", format!("a lorebook has at most {MAX_ENTRIES} entries"), Some(MAX_ENTRIES)));
    }
    if let Some(bad) = entries.iter().position(|entry| !entry.is_object()) {
        return Err(unfit(&format!("entries[{bad}]"), "an entry must be an object".to_owned(), None));
    }
    let bytes = serde_json::to_vec(book).map_or(usize::MAX, |bytes| bytes.len());
    let message = format!("a lorebook has at most {MAX_BYTES} bytes in all");
    if bytes <= MAX_BYTES { Ok(()) } else { Err(ValidationError { field: None, message, most: Some(MAX_BYTES) }) }
}

/// The card field that names the character's own lorebook.
pub const PRIMARY_FIELD: &str = "lorebookId";
/// The card field that names further lorebooks.
pub const EXTRA_FIELD: &str = "extraLorebookIds";

/// Returns the lorebooks that a character's card names, its own first. Malformed ids are skipped.
pub fn card_lorebooks(card: &Map<String, Value>) -> Vec<LorebookId> {
    let extra = card.get(EXTRA_FIELD).and_then(Value::as_array).into_iter().flatten();
    card.get(PRIMARY_FIELD).into_iter().chain(extra).filter_map(|id| id.as_str()?.parse().ok()).collect()
}

/// Removes a lorebook from a card.
pub fn unlink_lorebook(card: &mut Map<String, Value>, book: LorebookId) {
    let is_it = |id: &Value| id.as_str().and_then(|id| id.parse().ok()) == Some(book);
    if card.get(PRIMARY_FIELD).is_some_and(is_it) {
        card.shift_remove(PRIMARY_FIELD);
    }
    if let Some(extra) = card.get_mut(EXTRA_FIELD).and_then(Value::as_array_mut) {
        extra.retain(|id| !is_it(id));
    }
}

/// Returns the fields of an entry that differ from what a caller saw (`seen`). A missing field equals null.
pub fn changed_fields<'a>(entry: &Map<String, Value>, seen: &'a Map<String, Value>) -> Vec<&'a str> {
    let is_other = |(key, was): &(&String, &Value)| !values_equal(entry.get(*key).unwrap_or(&Value::Null), was);
    seen.iter().filter(is_other).map(|(key, _)| key.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lorebook_changed_fields_returns_names() {
        let entry = json!({"content": "It squeaks.", "order": 1.50, "key": ["gate"], "group": null});
        let check = |seen: Value, expected: &[&str]| {
            assert_eq!(changed_fields(entry.as_object().unwrap(), seen.as_object().unwrap()), expected, "{seen}");
        };
        check(json!({}), &[]);
        check(json!({"content": "It squeaks.", "order": 1.5, "group": null, "comment": null}), &[]);
        check(json!({"content": "It creaks.", "key": ["gate", "moss"], "order": 1.5}), &["content", "key"]);
        check(json!({"group": "a", "comment": ""}), &["group", "comment"]);
    }

    #[test]
    fn lorebook_invalid_fields_return_error() {
        let check = |book: Value, field: &str| {
            let found = validate_lorebook(book.as_object().unwrap());
            let found =
                found.map_or_else(|unfit| unfit.field.unwrap_or_else(|| "all of it".into()), |()| String::new());
            assert_eq!(found, field);
        };
        check(json!({"name": "Atlas", "entries": {"0": {"key": ["a"]}}, "odd": 1}), "");
        check(json!({"name": "Atlas", "entries": []}), "");
        check(json!({"entries": []}), "name");
        check(json!({"name": "x".repeat(201), "entries": []}), "name");
        check(json!({"name": "Atlas"}), "entries");
        check(json!({"name": "Atlas", "entries": [{}, 5]}), "entries[1]");
        check(json!({"name": "Atlas", "entries": vec![json!({}); MAX_ENTRIES + 1]}), "entries");
        check(json!({"name": "Atlas", "entries": [], "odd": "x".repeat(MAX_BYTES)}), "all of it");
    }
}
