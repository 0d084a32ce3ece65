//! The settings of a folder: one file that names tags, personas and much else. What is read of it is here; the rest
//! stays there.

use std::collections::HashMap;

use serde_json::{Map, Value};

use clotho_compat::interop::text;
use clotho_compat::prompt::lore;

use super::data_folder::{DataFolder, SETTINGS};

/// The settings. Where there are none they say nothing.
#[derive(Debug, Default)]
pub struct SillyTavernSettings {
    value: Value,
    /// Tags by their ids.
    tags: HashMap<String, String>,
    /// The file, as the report names it.
    file: String,
}

impl SillyTavernSettings {
    /// Reads them.
    ///
    /// # Errors
    /// They cannot be read; the sentence says why.
    pub fn of(root: &DataFolder) -> Result<Self, String> {
        let Some(place) = &root.settings else { return Ok(Self::default()) };
        let bytes = place.read().map_err(|error| error.to_string())?;
        let text = text::decode(&bytes).map_err(|error| error.to_string())?;
        let value = text::json(&text).map_err(|error| error.to_string())?;
        Ok(Self::new(value, SETTINGS))
    }

    /// The settings of a file.
    pub fn new(value: Value, file: &str) -> Self {
        let list = value.get("tags").and_then(Value::as_array).into_iter().flatten();
        let tag =
            |tag: &Value| Some((tag.get("id")?.as_str()?.to_owned(), tag.get("name")?.as_str()?.trim().to_owned()));
        let tags = list.filter_map(tag).filter(|(_, name)| !name.is_empty()).collect();
        Self { value, tags, file: file.to_owned() }
    }

    /// The file, as the report names it.
    pub fn file(&self) -> &str {
        &self.file
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

    /// What a list of the settings says of a card, by its file without ending.
    fn of_card(&self, list: &str, card: &str) -> Option<&Map<String, Value>> {
        let all = self.value.pointer(list).and_then(Value::as_array)?;
        all.iter().filter_map(Value::as_object).find(|one| one.get("name").is_some_and(|name| name == card))
    }

    /// The lorebooks that the owner gave to a card beside its own.
    pub fn extra_books_of(&self, card: &str) -> Vec<&str> {
        let books =
            self.of_card("/world_info_settings/world_info/charLore", card).and_then(|one| one.get("extraBooks"));
        books.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The note that stood in every chat of a card, with its place.
    pub fn note_of(&self, card: &str) -> Option<&Map<String, Value>> {
        let note = self.of_card("/extension_settings/note/chara", card)?;
        note.get("prompt").and_then(Value::as_str).is_some_and(|prompt| !prompt.trim().is_empty()).then_some(note)
    }

    /// The variables that held for all chats.
    pub fn variables(&self) -> Option<&Map<String, Value>> {
        let variables = self.value.pointer("/extension_settings/variables/global").and_then(Value::as_object);
        variables.filter(|variables| !variables.is_empty())
    }

    /// How lorebooks were looked through, where they say anything of it.
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

    /// Whether a lorebook held for all chats.
    pub fn is_for_all(&self, book: &str) -> bool {
        let chosen = self.value.pointer("/world_info_settings/world_info/globalSelect").and_then(Value::as_array);
        chosen.is_some_and(|chosen| chosen.iter().any(|one| one.as_str() == Some(book)))
    }
}
