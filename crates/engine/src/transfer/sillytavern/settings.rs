//! The settings of a data folder: one file with tags, personas and much else. Only what this file reads is imported.

use std::collections::HashMap;

use serde_json::{Map, Value};

use clotho_compat::interop::text;
use clotho_compat::prompt::lore;

use super::data_folder::{DataFolder, SETTINGS};

/// The parsed settings; empty if there is no file.
#[derive(Debug, Default)]
pub struct SillyTavernSettings {
    value: Value,
    /// The names of tags by id.
    tags: HashMap<String, String>,
    /// The file name for the report.
    file: String,
}

impl SillyTavernSettings {
    /// Reads the settings of a folder.
    ///
    /// # Errors
    /// Returns a sentence for the report if the file cannot be read.
    pub fn read(root: &DataFolder) -> Result<Self, String> {
        let Some(place) = &root.settings else { return Ok(Self::default()) };
        let bytes = place.read().map_err(|error| error.to_string())?;
        let text = text::decode(&bytes).map_err(|error| error.to_string())?;
        let value = text::parse_json_lenient(&text).map_err(|error| error.to_string())?;
        Ok(Self::new(value, SETTINGS))
    }

    /// Returns the settings with this JSON value, from a file that the report calls `file`.
    pub fn new(value: Value, file: &str) -> Self {
        let list = value.get("tags").and_then(Value::as_array).into_iter().flatten();
        let tag =
            |tag: &Value| Some((tag.get("id")?.as_str()?.to_owned(), tag.get("name")?.as_str()?.trim().to_owned()));
        let tags = list.filter_map(tag).filter(|(_, name)| !name.is_empty()).collect();
        Self { value, tags, file: file.to_owned() }
    }

    /// Returns the file name for the report.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the whole JSON value.
    pub const fn all(&self) -> &Value {
        &self.value
    }

    /// Returns the tags that the user gave to a card, by its file name.
    pub fn tags_of(&self, card: &str) -> Vec<&str> {
        let ids = self.value.get("tag_map").and_then(|map| map.get(card)).and_then(Value::as_array);
        let ids = ids.into_iter().flatten().filter_map(Value::as_str);
        ids.filter_map(|id| self.tags.get(id)).map(String::as_str).collect()
    }

    /// Returns the entry for a card in a list of the settings, by its file stem.
    fn of_card(&self, list: &str, card: &str) -> Option<&Map<String, Value>> {
        let all = self.value.pointer(list).and_then(Value::as_array)?;
        all.iter().filter_map(Value::as_object).find(|one| one.get("name").is_some_and(|name| name == card))
    }

    /// Returns the additional lorebooks that the user gave to a card.
    pub fn extra_books_of(&self, card: &str) -> Vec<&str> {
        let books =
            self.of_card("/world_info_settings/world_info/charLore", card).and_then(|one| one.get("extraBooks"));
        books.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Returns the character's note of a card, which SillyTavern adds to its chats.
    pub fn note_of(&self, card: &str) -> Option<&Map<String, Value>> {
        let note = self.of_card("/extension_settings/note/chara", card)?;
        note.get("prompt").and_then(Value::as_str).is_some_and(|prompt| !prompt.trim().is_empty()).then_some(note)
    }

    /// Returns the global variables, if there are any.
    pub fn variables(&self) -> Option<&Map<String, Value>> {
        let variables = self.value.pointer("/extension_settings/variables/global").and_then(Value::as_object);
        variables.filter(|variables| !variables.is_empty())
    }

    /// Returns the global lorebook settings, if the file has any.
    pub fn lore(&self) -> Option<lore::WorldInfoSettings> {
        let rules = self.value.get("world_info_settings").and_then(Value::as_object);
        let vectors = self.value.pointer("/extension_settings/vectors").and_then(Value::as_object);
        let rules = rules.filter(|rules| rules.keys().any(|name| name.starts_with("world_info_")));
        let vectors = vectors.filter(|vectors| vectors.contains_key("enabled_world_info"));
        if rules.is_none() && vectors.is_none() {
            return None;
        }
        let read = rules.map(lore::WorldInfoSettings::from_sillytavern).unwrap_or_default();
        Some(vectors.map_or_else(|| read.clone(), |vectors| read.clone().with_sillytavern_vectors(vectors)).clamped())
    }

    /// Whether a lorebook is enabled for all chats.
    pub fn is_for_all(&self, book: &str) -> bool {
        let chosen = self.value.pointer("/world_info_settings/world_info/globalSelect").and_then(Value::as_array);
        chosen.is_some_and(|chosen| chosen.iter().any(|one| one.as_str() == Some(book)))
    }
}
