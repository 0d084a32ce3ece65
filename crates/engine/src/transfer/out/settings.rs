//! The settings of an exported data folder: personas, tags, regular expressions, global variables, lorebook bindings
//! and settings, and notes of cards. SillyTavern's other settings are not written.

use serde_json::{Map, Value, json};

use clotho_compat::prompt::lore;

/// The settings while they are collected.
#[derive(Debug, Default)]
pub struct SettingsWriter {
    personas: Map<String, Value>,
    descriptions: Map<String, Value>,
    default: Option<String>,
    tags: Vec<Value>,
    tag_map: Map<String, Value>,
    regex: Vec<Value>,
    global_lorebooks: Vec<String>,
    extra_books: Vec<Value>,
    notes: Vec<Value>,
    variables: Map<String, Value>,
    lore: Option<lore::WorldInfoSettings>,
}

impl SettingsWriter {
    /// Adds a persona, by its picture file.
    pub fn persona(&mut self, file: &str, name: Value, about: Map<String, Value>, is_default: bool) {
        self.personas.insert(file.to_owned(), name);
        self.descriptions.insert(file.to_owned(), about.into());
        if is_default {
            self.default.get_or_insert_with(|| file.to_owned());
        }
    }

    /// Sets the tags of a character, by its card file. Tags that differ only in case are one.
    pub fn tags(&mut self, file: &str, tags: &[&str]) {
        let mut ids: Vec<Value> = Vec::with_capacity(tags.len());
        for tag in tags {
            let id = Value::from(id_of(tag));
            if !self.tags.iter().any(|known| known.get("id") == Some(&id)) {
                self.tags.push(json!({
                    "id": id, "name": tag, "folder_type": "NONE", "filter_state": "UNDEFINED",
                    "sort_order": self.tags.len(), "color": "", "color2": "",
                }));
            }
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        self.tag_map.insert(file.to_owned(), ids.into());
    }

    /// Adds a global regular expression.
    pub fn regex(&mut self, body: Map<String, Value>) {
        self.regex.push(body.into());
    }

    /// Returns the number of regular expressions so far.
    pub const fn regex_count(&self) -> usize {
        self.regex.len()
    }

    /// Adds a global lorebook.
    pub fn global_lorebook(&mut self, book: &str) {
        self.global_lorebooks.push(book.to_owned());
    }

    /// Adds the imported settings of a card, by its file name without extension.
    pub fn card(&mut self, card: &str, extra: &Map<String, Value>) {
        if let Some(books) = extra.get("extraBooks").filter(|books| books.is_array()) {
            self.extra_books.push(json!({"name": card, "extraBooks": books}));
        }
        if let Some(mut note) = extra.get("note").and_then(Value::as_object).cloned() {
            note.insert("name".to_owned(), card.into());
            self.notes.push(note.into());
        }
    }

    /// Adds global variables.
    pub fn variables(&mut self, variables: Map<String, Value>) {
        self.variables.extend(variables);
    }

    /// Sets the global lorebook settings.
    pub fn lore(&mut self, settings: lore::WorldInfoSettings) {
        self.lore = Some(settings);
    }

    /// Returns the JSON text of the settings.
    pub fn into_text(self) -> String {
        let Self { personas, descriptions, default, tags, tag_map, .. } = self;
        let mut lore = Map::new();
        lore.insert("world_info".into(), json!({"globalSelect": self.global_lorebooks, "charLore": self.extra_books}));
        let (mut extensions, rules) = (Map::new(), self.lore.map(|rules| rules.to_sillytavern()));
        extensions.insert("regex".into(), self.regex.into());
        extensions.insert("note".into(), json!({"chara": self.notes}));
        extensions.insert("variables".into(), json!({"global": self.variables}));
        if let Some((rules, vectors)) = rules {
            lore.extend(rules);
            extensions.insert("vectors".into(), vectors.into());
        }
        json!({
            "power_user": {"personas": personas, "persona_descriptions": descriptions, "default_persona": default},
            "tags": tags,
            "tag_map": tag_map,
            "world_info_settings": lore,
            "extension_settings": extensions,
        })
        .to_string()
    }
}

/// Returns the id of a tag. It is derived from the text, so it is the same each time.
fn id_of(tag: &str) -> String {
    let mut bytes = [0; 16];
    blake3::Hasher::new().update(tag.to_lowercase().as_bytes()).finalize_xof().fill(&mut bytes);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}
