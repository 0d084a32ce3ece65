//! Converts lorebooks of NovelAI, Agnai and RisuAI to world info. Unknown fields are kept in an entry's `extensions`
//! under the program's name.

use serde_json::{Map, Value, json};

use super::conversion::ConversionNotes;
use super::{fields, keyed_by_uid};
use crate::interop::lenient;
use crate::prompt::lore::split_keys;

/// Converts one foreign entry and records which of its fields were used.
struct EntryConverter<'a> {
    entry: &'a Map<String, Value>,
    own: Map<String, Value>,
    used: Vec<&'static str>,
}

impl<'a> EntryConverter<'a> {
    fn new(entry: &'a Map<String, Value>, index: usize) -> Self {
        let mut own = fields::default_entry(index);
        own.insert("uid".to_owned(), index.into());
        Self { entry, own, used: Vec::new() }
    }

    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.own.insert(name.to_owned(), value.into());
    }

    /// Returns a field of the foreign entry and marks it as used.
    fn get(&mut self, theirs: &'static str) -> Option<&'a Value> {
        self.used.push(theirs);
        self.entry.get(theirs).filter(|value| !value.is_null())
    }

    fn text(&mut self, theirs: &'static str) -> String {
        self.get(theirs).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    fn flag(&mut self, theirs: &'static str) -> bool {
        self.get(theirs).and_then(lenient::truth).unwrap_or_default()
    }

    fn number(&mut self, theirs: &'static str, blank: u32) -> Value {
        self.get(theirs).and_then(lenient::number).map_or_else(|| blank.into(), Value::Number)
    }

    /// Returns the converted entry with unused fields under the program's name.
    fn finish(mut self, program: &str) -> Map<String, Value> {
        let rest = self.entry.iter().filter(|(name, _)| !self.used.contains(&name.as_str()));
        let rest: Map<String, Value> = rest.map(|(name, value)| (name.clone(), value.clone())).collect();
        if !rest.is_empty() {
            self.own.insert("extensions".to_owned(), json!({program: rest}));
        }
        self.own
    }
}

fn convert_book(
    file: &Map<String, Value>,
    list: &str,
    read: impl Fn(&Map<String, Value>, usize) -> Map<String, Value>,
) -> Map<String, Value> {
    let entries = file.get(list).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
    let entries = keyed_by_uid(entries.enumerate().map(|(index, entry)| read(entry, index)).collect());
    let mut book = Map::new();
    file.get("name").filter(|name| name.is_string()).map(|name| book.insert("name".to_owned(), name.clone()));
    book.insert("entries".to_owned(), entries.into());
    book
}

/// Converts a NovelAI lorebook.
pub fn from_novelai(file: &Map<String, Value>, notes: &mut ConversionNotes) -> Map<String, Value> {
    let entries = file.get("entries").and_then(Value::as_array).into_iter().flatten();
    let is_forced = |entry: &&Value| entry.get("forceActivation").and_then(lenient::truth).unwrap_or_default();
    let has_keys = |entry: &&Value| entry.get("keys").and_then(Value::as_array).is_none_or(|keys| !keys.is_empty());
    entries.filter(is_forced).filter(has_keys).for_each(|_| notes.field_ignored("forceActivation"));
    convert_book(file, "entries", |entry, index| {
        let mut converter = EntryConverter::new(entry, index);
        let keys = converter.get("keys").cloned().unwrap_or_else(|| json!([]));
        let has_keys = keys.as_array().is_none_or(|keys| !keys.is_empty());
        converter.set("key", keys);
        let name = converter.text("displayName");
        converter.set("addMemo", !name.trim().is_empty());
        converter.set("comment", name);
        let text = converter.text("text");
        converter.set("content", text);
        let order = entry.get("contextConfig").and_then(|config| config.get("budgetPriority")).cloned();
        converter.set("order", order.unwrap_or_else(|| 0.into()));
        let is_on = converter.flag("enabled");
        converter.set("disable", !is_on);
        // With keys, SillyTavern imports such an entry as one that waits for them.
        let is_forced = entry.get("forceActivation").and_then(lenient::truth).unwrap_or_default();
        converter.set("constant", is_forced && !has_keys);
        converter.finish("novel")
    })
}

/// Converts an Agnai memory book.
pub fn from_agnai(file: &Map<String, Value>) -> Map<String, Value> {
    convert_book(file, "entries", |entry, index| {
        let mut converter = EntryConverter::new(entry, index);
        let keys = converter.get("keywords").cloned().unwrap_or_else(|| json!([]));
        converter.set("key", keys);
        let name = converter.text("name");
        converter.set("addMemo", !name.is_empty());
        converter.set("comment", name);
        let text = converter.text("entry");
        converter.set("content", text);
        let order = converter.number("weight", 0);
        converter.set("order", order);
        let is_on = converter.flag("enabled");
        converter.set("disable", !is_on);
        converter.finish("agnai")
    })
}

/// Converts a RisuAI lorebook. Folders, which have no text of their own, are skipped.
pub fn from_risuai(file: &Map<String, Value>, notes: &mut ConversionNotes) -> Map<String, Value> {
    let mut file = file.clone();
    let is_folder = |entry: &Value| entry.get("mode").is_some_and(|mode| mode == "folder");
    if let Some(list) = file.get_mut("data").and_then(Value::as_array_mut) {
        list.iter().filter(|entry| is_folder(entry)).for_each(|_| notes.folder_skipped());
        list.retain(|entry| !is_folder(entry));
    }
    convert_book(&file, "data", risuai_entry)
}

fn risuai_entry(entry: &Map<String, Value>, index: usize) -> Map<String, Value> {
    let mut converter = EntryConverter::new(entry, index);
    let is_regex = entry.get("useRegex").and_then(lenient::truth).unwrap_or_default();
    for (theirs, ours) in [("key", "key"), ("secondkey", "keysecondary")] {
        let text = converter.text(theirs);
        // A pattern may contain commas.
        let whole = || Some(text.trim().to_owned()).filter(|key| !key.is_empty()).into_iter().collect();
        let keys: Vec<String> = if is_regex { whole() } else { split_keys(&text) };
        converter.set(ours, keys);
    }
    for (theirs, ours) in [("comment", "comment"), ("content", "content")] {
        let text = converter.text(theirs);
        converter.set(ours, text);
    }
    let is_constant = converter.flag("alwaysActive") || entry.get("mode").is_some_and(|mode| mode == "constant");
    converter.set("constant", is_constant);
    let is_selective = converter.flag("selective");
    converter.set("selective", is_selective);
    converter.set("addMemo", true);
    let order = converter.number("insertorder", 0);
    converter.set("order", order);
    let share = converter.number("activationPercent", 100);
    converter.set("probability", share);
    converter.finish("risu")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry_of(book: &Map<String, Value>, uid: &str) -> Value {
        book["entries"][uid].clone()
    }

    #[test]
    fn lorebook_novelai_always_active_entry_is_constant_or_reported() {
        let file = json!({"entries": [
            {"text": "a", "keys": [], "enabled": true, "forceActivation": true},
            {"text": "b", "keys": ["b"], "enabled": "true", "forceActivation": true},
        ]});
        let mut notes = ConversionNotes::default();
        let book = from_novelai(file.as_object().unwrap(), &mut notes);
        assert_eq!(
            (&entry_of(&book, "0")["constant"], &entry_of(&book, "1")["constant"]),
            (&json!(true), &json!(false))
        );
        assert_eq!(entry_of(&book, "1")["disable"], false);
        let told = notes.findings();
        assert_eq!((told.len(), told[0].code, told[0].count), (1, "lore_fields", 1));
    }

    #[test]
    fn lorebook_risuai_modes_and_patterns_are_read() {
        let file = json!({"type": "risu", "data": [
            {"key": "/a{1,2}/", "useRegex": true, "content": "a", "mode": "normal", "insertorder": "5"},
            {"key": "b, c", "content": "b", "mode": "constant"},
            {"key": "", "content": "", "mode": "folder", "comment": "F"},
        ]});
        let mut notes = ConversionNotes::default();
        let book = from_risuai(file.as_object().unwrap(), &mut notes);
        assert_eq!(book["entries"].as_object().unwrap().len(), 2);
        let (first, second) = (entry_of(&book, "0"), entry_of(&book, "1"));
        assert_eq!((&first["key"], &first["order"]), (&json!(["/a{1,2}/"]), &json!(5)));
        assert_eq!((&second["key"], &second["constant"]), (&json!(["b", "c"]), &json!(true)));
        let codes: Vec<&str> = notes.findings().iter().map(|finding| finding.code).collect();
        assert_eq!(codes, ["lore_folders"]);
    }
}
