//! Cards in YAML: those of text-generation-webui, or a card of any version written in YAML instead of JSON.

use serde_json::Value;

use super::CardImportError;

/// How that program names what cards name otherwise.
const NAMES: [(&str, &str); 3] =
    [("context", "description"), ("greeting", "first_mes"), ("example_dialogue", "mes_example")];

/// The card as JSON. Anchors that multiply and documents without end are refused by the reader's own budget.
pub fn read(text: &str) -> Result<Value, CardImportError> {
    let mut card: Value = serde_saphyr::from_str(text).map_err(|error| {
        let words = error.to_string();
        CardImportError::NotYaml(words.lines().next().unwrap_or_default().chars().take(200).collect())
    })?;
    let Some(fields) = card.as_object_mut() else {
        return Err(CardImportError::Unknown("it is a text".to_owned()));
    };
    for (theirs, ours) in NAMES {
        if !fields.contains_key(ours) && !fields.contains_key("data") {
            fields.remove(theirs).map(|value| fields.insert(ours.to_owned(), value));
        }
    }
    Ok(card)
}
