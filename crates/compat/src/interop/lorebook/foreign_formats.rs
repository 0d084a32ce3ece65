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
        let mut said = EntryConverter::new(entry, index);
        let keys = said.get("keys").cloned().unwrap_or_else(|| json!([]));
        said.set("key", keys);
        let name = said.text("displayName");
        said.set("addMemo", !name.trim().is_empty());
        said.set("comment", name);
        let text = said.text("text");
        said.set("content", text);
        let order = entry.get("contextConfig").and_then(|config| config.get("budgetPriority")).cloned();
        said.set("order", order.unwrap_or_else(|| 0.into()));
        let is_on = said.flag("enabled");
        said.set("disable", !is_on);
        said.finish("novel")
    })
}

/// Converts an Agnai memory book.
pub fn from_agnai(file: &Map<String, Value>) -> Map<String, Value> {
    convert_book(file, "entries", |entry, index| {
        let mut said = EntryConverter::new(entry, index);
        let keys = said.get("keywords").cloned().unwrap_or_else(|| json!([]));
        said.set("key", keys);
        let name = said.text("name");
        said.set("addMemo", !name.is_empty());
        said.set("comment", name);
        let text = said.text("entry");
        said.set("content", text);
        let order = said.number("weight", 0);
        said.set("order", order);
        let is_on = said.flag("enabled");
        said.set("disable", !is_on);
        said.finish("agnai")
    })
}

/// Converts a RisuAI lorebook.
pub fn from_risuai(file: &Map<String, Value>) -> Map<String, Value> {
    convert_book(file, "data", |entry, index| {
        let mut said = EntryConverter::new(entry, index);
        for (theirs, ours) in [("key", "key"), ("secondkey", "keysecondary")] {
            let keys: Vec<String> =
                said.text(theirs).split(',').map(str::trim).filter(|key| !key.is_empty()).map(str::to_owned).collect();
            said.set(ours, keys);
        }
        for (theirs, ours) in [("comment", "comment"), ("content", "content")] {
            let text = said.text(theirs);
            said.set(ours, text);
        }
        for (theirs, ours) in [("alwaysActive", "constant"), ("selective", "selective")] {
            let truth = said.flag(theirs);
            said.set(ours, truth);
        }
        said.set("addMemo", true);
        let order = said.number("insertorder", 0);
        said.set("order", order);
        let share = said.number("activationPercent", 100);
        said.set("probability", share);
        said.finish("risu")
    })
}
