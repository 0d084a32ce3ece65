//! The settings of a folder: one file that names tags, personas and much else. What is read of it is here; the rest stays
//! there.

use std::collections::HashMap;

use serde_json::Value;

use crate::interop::text;

use super::root::Root;

/// How the report calls them.
pub const SETTINGS: &str = "settings.json";

/// The settings. Where there are none they say nothing.
#[derive(Debug, Default)]
pub struct Settings {
    value: Value,
    /// Tags by their ids.
    tags: HashMap<String, String>,
}

impl Settings {
    /// Reads them.
    ///
    /// # Errors
    /// They cannot be read; the sentence says why.
    pub fn of(root: &Root) -> Result<Self, String> {
        let Some(place) = &root.settings else { return Ok(Self::default()) };
        let bytes = place.read().map_err(|error| error.to_string())?;
        let text = text::decode(&bytes).map_err(|error| error.to_string())?;
        let value = text::json(&text).map_err(|error| error.to_string())?;
        let list = value.get("tags").and_then(Value::as_array).into_iter().flatten();
        let tag =
            |tag: &Value| Some((tag.get("id")?.as_str()?.to_owned(), tag.get("name")?.as_str()?.trim().to_owned()));
        let tags = list.filter_map(tag).filter(|(_, name)| !name.is_empty()).collect();
        Ok(Self { value, tags })
    }

    /// All of it.
    pub const fn all(&self) -> &Value {
        &self.value
    }

    /// The tags that the owner gave to a card, by its file.
    pub fn tags_of(&self, card: &str) -> Vec<&str> {
        let ids = self.value.get("tag_map").and_then(|map| map.get(card)).and_then(Value::as_array);
        let ids = ids.into_iter().flatten().filter_map(Value::as_str);
        ids.filter_map(|id| self.tags.get(id)).map(String::as_str).collect()
    }

    /// Whether a lorebook held for all chats.
    pub fn is_for_all(&self, book: &str) -> bool {
        let chosen = self.value.pointer("/world_info_settings/world_info/globalSelect").and_then(Value::as_array);
        chosen.is_some_and(|chosen| chosen.iter().any(|one| one.as_str() == Some(book)))
    }
}
