//! Cards in YAML: those of text-generation-webui, or cards of any version in YAML instead of JSON.

use clotho_core::yaml::{self, YamlDocument};
use serde_json::Value;

use super::CardImportError;

/// Field names of text-generation-webui and of cards.
const NAMES: [(&str, &str); 3] =
    [("context", "description"), ("greeting", "first_mes"), ("example_dialogue", "mes_example")];

/// Converts a YAML card to JSON. Also returns the values that were left out.
pub fn read(text: &str) -> Result<(Value, Vec<String>), CardImportError> {
    let YamlDocument { value: mut card, left_out } = yaml::read(text).map_err(CardImportError::NotYaml)?;
    let Some(fields) = card.as_object_mut() else {
        return Err(CardImportError::Unknown("it is a string".to_owned()));
    };
    for (theirs, ours) in NAMES {
        if !fields.contains_key(ours) && !fields.contains_key("data") {
            fields.remove(theirs).map(|value| fields.insert(ours.to_owned(), value));
        }
    }
    Ok((card, left_out))
}
