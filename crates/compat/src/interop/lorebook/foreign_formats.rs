//! Converts lorebooks of NovelAI, Agnai and RisuAI to world info. Unknown fields are kept in an entry's `extensions`
//! under the program's name.

use serde_json::{Map, Value, json};

use super::{fields, keyed_by_uid};

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
        self.get(theirs).and_then(Value::as_bool).unwrap_or_default()
    }

    fn number(&mut self, theirs: &'static str, blank: u32) -> Value {
        self.get(theirs).filter(|value| value.is_number()).cloned().unwrap_or_else(|| blank.into())
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
pub fn from_novelai(file: &Map<String, Value>) -> Map<String, Value> {
    convert_book(file, "entries", |entry, index| {
        let mut converter = EntryConverter::new(entry, index);
        let keys = converter.get("keys").cloned().unwrap_or_else(|| json!([]));
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

/// Converts a RisuAI lorebook.
pub fn from_risuai(file: &Map<String, Value>) -> Map<String, Value> {
    convert_book(file, "data", |entry, index| {
        let mut converter = EntryConverter::new(entry, index);
        for (theirs, ours) in [("key", "key"), ("secondkey", "keysecondary")] {
            let keys: Vec<String> = converter
                .text(theirs)
                .split(',')
                .map(str::trim)
                .filter(|key| !key.is_empty())
                .map(str::to_owned)
                .collect();
            converter.set(ours, keys);
        }
        for (theirs, ours) in [("comment", "comment"), ("content", "content")] {
            let text = converter.text(theirs);
            converter.set(ours, text);
        }
        for (theirs, ours) in [("alwaysActive", "constant"), ("selective", "selective")] {
            let truth = converter.flag(theirs);
            converter.set(ours, truth);
        }
        converter.set("addMemo", true);
        let order = converter.number("insertorder", 0);
        converter.set("order", order);
        let share = converter.number("activationPercent", 100);
        converter.set("probability", share);
        converter.finish("risu")
    })
}
