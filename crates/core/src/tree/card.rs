//! Validation of cards, whether written by hand or imported. A card is one JSON object; unknown fields are kept
//! unchanged.

use serde_json::{Map, Value};

use super::limits::MAX_SPEAKER_CHARS;

/// The maximum size of a whole card, in bytes.
pub const MAX_BYTES: usize = 2 << 20;
/// The maximum size of one text of a card, in bytes.
pub const MAX_TEXT_BYTES: usize = 512 << 10;
/// The maximum number of tags.
const MAX_TAGS: usize = 100;
/// The maximum size of a tag, in bytes.
const MAX_TAG_BYTES: usize = 100;
/// The maximum number of greetings besides the first.
const MAX_ALTERNATE_GREETINGS: usize = 100;
/// The maximum length of an avatar URL, in bytes.
const MAX_AVATAR_URL_BYTES: usize = 500;
/// The fields that must be texts.
const TEXT_FIELDS: [&str; 8] = [
    "description",
    "personality",
    "scenario",
    "firstMessage",
    "exampleMessages",
    "systemPrompt",
    "postHistoryInstructions",
    "creatorNotes",
];

/// The reason a card, lorebook or preset is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ValidationError {
    /// The field, as on the wire; `None` if the whole object is too large.
    pub field: Option<String>,
    /// One sentence without a final period.
    pub message: String,
    /// The maximum that was exceeded: bytes, or entries of a lorebook.
    pub most: Option<usize>,
}

/// A list of a card that was shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrimmedList {
    /// The field, as on the wire.
    pub field: &'static str,
    /// How many entries were removed.
    pub removed: usize,
    /// How many entries the list had.
    pub total: usize,
    /// The most entries that the list may have.
    pub most: usize,
    /// The most bytes that an entry may have.
    pub bytes: usize,
}

/// Removes tags and greetings that exceed the limits. Returns each shortened list.
pub fn trim_to_limits(card: &mut Map<String, Value>) -> Vec<TrimmedList> {
    let mut out = Vec::new();
    for (field, most, bytes) in
        [("alternateGreetings", MAX_ALTERNATE_GREETINGS, MAX_TEXT_BYTES), ("tags", MAX_TAGS, MAX_TAG_BYTES)]
    {
        let Some(list) = card.get_mut(field).and_then(Value::as_array_mut) else { continue };
        let total = list.len();
        list.retain(|one| one.as_str().is_none_or(|text| text.len() <= bytes));
        list.truncate(most);
        let removed = total - list.len();
        if removed > 0 {
            out.push(TrimmedList { field, removed, total, most, bytes });
        }
    }
    out
}

/// Validates a card.
///
/// # Errors
/// Returns an error if the name is missing, a field has the wrong type or size, or the avatar is not on this server.
pub fn validate_card(card: &Map<String, Value>) -> Result<(), ValidationError> {
    name(card)?;
    for key in TEXT_FIELDS {
        card.get(key).map_or(Ok(()), |value| text(key, value, MAX_TEXT_BYTES))?;
    }
    texts(card, "alternateGreetings", MAX_ALTERNATE_GREETINGS, MAX_TEXT_BYTES)?;
    texts(card, "tags", MAX_TAGS, MAX_TAG_BYTES)?;
    avatar(card)?;
    if card.get("metadata").is_some_and(|metadata| !metadata.is_object()) {
        return Err(invalid("metadata", "expected an object"));
    }
    let bytes = serde_json::to_vec(card).map_or(usize::MAX, |bytes| bytes.len());
    let message = format!("a whole card has at most {MAX_BYTES} bytes");
    if bytes <= MAX_BYTES { Ok(()) } else { Err(ValidationError { field: None, message, most: Some(MAX_BYTES) }) }
}

fn name(card: &Map<String, Value>) -> Result<(), ValidationError> {
    let name = card.get("name").and_then(Value::as_str).unwrap_or_default();
    if name.trim().is_empty() {
        return Err(invalid("name", "a name is required"));
    }
    if name.chars().count() > MAX_SPEAKER_CHARS {
        return Err(invalid("name", format!("a name has at most {MAX_SPEAKER_CHARS} characters")));
    }
    Ok(())
}

fn text(field: &str, value: &Value, most: usize) -> Result<(), ValidationError> {
    let text = value.as_str().ok_or_else(|| invalid(field, "expected a string"))?;
    let message = format!("the text is longer than {most} bytes");
    if text.len() <= most {
        Ok(())
    } else {
        Err(ValidationError { field: Some(field.to_owned()), message, most: Some(most) })
    }
}

fn texts(card: &Map<String, Value>, key: &str, most: usize, bytes: usize) -> Result<(), ValidationError> {
    let Some(list) = card.get(key) else { return Ok(()) };
    let list = list.as_array().ok_or_else(|| invalid(key, "expected a list of strings"))?;
    if list.len() > most {
        return Err(invalid(key, format!("the list has at most {most} items")));
    }
    list.iter().enumerate().try_for_each(|(i, value)| text(&format!("{key}[{i}]"), value, bytes))
}

/// Checks that the avatar is a path on this server: another site must not learn who views a card, and when.
fn avatar(card: &Map<String, Value>) -> Result<(), ValidationError> {
    let Some(avatar) = card.get("avatar").filter(|avatar| !avatar.is_null()) else { return Ok(()) };
    let is_here = |address: &str| {
        let is_own = address.starts_with('/') && !address.starts_with("//");
        is_own && !address.contains(['\\', '\n', '\t', '\r']) && address.len() <= MAX_AVATAR_URL_BYTES
    };
    if avatar.as_str().is_some_and(is_here) {
        return Ok(());
    }
    Err(invalid("avatar", "expected a path on this server, which begins with \"/\""))
}

fn invalid(field: &str, message: impl Into<String>) -> ValidationError {
    ValidationError { field: Some(field.to_owned()), message: message.into(), most: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn card_invalid_fields_return_error() {
        let check = |card: Value| {
            let found = validate_card(card.as_object().unwrap());
            found.map_or_else(|unfit| unfit.field.unwrap_or_else(|| "all of it".into()), |()| String::new())
        };
        assert_eq!(check(json!({"name": "Rin", "avatar": null, "tags": ["a"], "other": 5})), "");
        assert_eq!(check(json!({"name": "Rin", "avatar": "/img/rin.png", "metadata": {"x": 1}})), "");
        for (card, field) in [
            (json!({}), "name"),
            (json!({"name": " "}), "name"),
            (json!({"name": "x".repeat(201)}), "name"),
            (json!({"name": "a", "description": 5}), "description"),
            (json!({"name": "a", "creatorNotes": "x".repeat(MAX_TEXT_BYTES + 1)}), "creatorNotes"),
            (json!({"name": "a", "tags": vec!["t"; 101]}), "tags"),
            (json!({"name": "a", "tags": ["b", "x".repeat(101)]}), "tags[1]"),
            (json!({"name": "a", "alternateGreetings": "hi"}), "alternateGreetings"),
            (json!({"name": "a", "metadata": []}), "metadata"),
            (json!({"name": "a", "avatar": "https://elsewhere.example/x.png"}), "avatar"),
            (json!({"name": "a", "avatar": "//elsewhere.example/x"}), "avatar"),
            (json!({"name": "a", "metadata": {"x": "x".repeat(MAX_BYTES)}}), "all of it"),
        ] {
            assert_eq!(check(card), field);
        }
    }
}
