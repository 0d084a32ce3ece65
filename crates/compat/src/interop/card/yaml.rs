//! Cards in YAML: those of text-generation-webui, or cards of any version in YAML instead of JSON.

use serde_json::Value;

use super::CardImportError;

/// Field names of text-generation-webui and of cards.
const NAMES: [(&str, &str); 3] =
    [("context", "description"), ("greeting", "first_mes"), ("example_dialogue", "mes_example")];

/// Converts a YAML card to JSON. The parser's own budget rejects anchor bombs and endless documents.
pub fn read(text: &str) -> Result<Value, CardImportError> {
    let mut card: Value = serde_saphyr::from_str(text).map_err(|error| {
        let words = error.to_string();
        CardImportError::NotYaml(words.lines().next().unwrap_or_default().chars().take(200).collect())
    })?;
    let Some(fields) = card.as_object_mut() else {
        return Err(CardImportError::Unknown("it is a string".to_owned()));
    };
    for (theirs, ours) in NAMES {
        if !fields.contains_key(ours) && !fields.contains_key("data") {
            fields.remove(theirs).map(|value| fields.insert(ours.to_owned(), value));
        }
    }
    Ok(card)
}
