//! The list of all fields of an entry, with their names in world info and in a card's book.

use serde_json::{Map, Value, json};

/// The key in a card entry's `extensions` for fields that only world info has.
pub const EXTENSION_KEY: &str = "clotho";

/// The place of a field in a card's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CardFieldPath {
    Entry(&'static str),
    /// In the entry itself, negated.
    Inverted(&'static str),
    /// In the `extensions` of the entry.
    Extension(&'static str),
}

/// The default of a field.
#[derive(Debug, Clone, Copy)]
enum EntryDefault {
    Text,
    List,
    Nothing,
    Truth(bool),
    Number(u32),
}

impl EntryDefault {
    fn value(self) -> Value {
        match self {
            Self::Text => json!(""),
            Self::List => json!([]),
            Self::Nothing => Value::Null,
            Self::Truth(truth) => truth.into(),
            Self::Number(number) => number.into(),
        }
    }
}

use CardFieldPath::{Entry, Extension, Inverted};
use EntryDefault::{List, Nothing, Number, Text, Truth};

/// World info name, place in a card's entry, and default. `uid`, `position` and `displayIndex` depend on the entry's
/// position and are handled separately.
const FIELDS: [(&str, CardFieldPath, EntryDefault); 34] = [
    ("key", Entry("keys"), List),
    ("keysecondary", Entry("secondary_keys"), List),
    ("comment", Entry("comment"), Text),
    ("content", Entry("content"), Text),
    ("constant", Entry("constant"), Truth(false)),
    ("vectorized", Extension("vectorized"), Truth(false)),
    ("selective", Entry("selective"), Truth(false)),
    ("selectiveLogic", Extension("selectiveLogic"), Number(0)),
    ("order", Entry("insertion_order"), Number(100)),
    ("disable", Inverted("enabled"), Truth(false)),
    ("ignoreBudget", Extension("ignore_budget"), Truth(false)),
    ("excludeRecursion", Extension("exclude_recursion"), Truth(false)),
    ("preventRecursion", Extension("prevent_recursion"), Truth(false)),
    ("matchPersonaDescription", Extension("match_persona_description"), Truth(false)),
    ("matchCharacterDescription", Extension("match_character_description"), Truth(false)),
    ("matchCharacterPersonality", Extension("match_character_personality"), Truth(false)),
    ("matchCharacterDepthPrompt", Extension("match_character_depth_prompt"), Truth(false)),
    ("matchScenario", Extension("match_scenario"), Truth(false)),
    ("matchCreatorNotes", Extension("match_creator_notes"), Truth(false)),
    ("delayUntilRecursion", Extension("delay_until_recursion"), Truth(false)),
    ("probability", Extension("probability"), Number(100)),
    ("useProbability", Extension("useProbability"), Truth(true)),
    ("depth", Extension("depth"), Number(4)),
    ("outletName", Extension("outlet_name"), Text),
    ("group", Extension("group"), Text),
    ("groupOverride", Extension("group_override"), Truth(false)),
    ("groupWeight", Extension("group_weight"), Number(100)),
    ("scanDepth", Extension("scan_depth"), Nothing),
    ("caseSensitive", Extension("case_sensitive"), Nothing),
    ("matchWholeWords", Extension("match_whole_words"), Nothing),
    ("useGroupScoring", Extension("use_group_scoring"), Nothing),
    ("automationId", Extension("automation_id"), Text),
    ("role", Extension("role"), Number(0)),
    ("triggers", Extension("triggers"), List),
];

/// Numbers of messages, null unless set.
const TIMED_EFFECTS: [&str; 3] = ["sticky", "cooldown", "delay"];

fn fields() -> impl Iterator<Item = (&'static str, CardFieldPath, EntryDefault)> {
    FIELDS.into_iter().chain(TIMED_EFFECTS.into_iter().map(|name| (name, Extension(name), Nothing)))
}

/// Returns an entry with only defaults. `index` is its position in the book.
pub fn default_entry(index: usize) -> Map<String, Value> {
    let mut entry: Map<String, Value> = fields().map(|(name, _, blank)| (name.to_owned(), blank.value())).collect();
    entry.insert("position".to_owned(), 0.into());
    entry.insert("addMemo".to_owned(), false.into());
    entry.insert("displayIndex".to_owned(), index.into());
    entry
}

/// Returns a field of a card's entry.
fn card_value(entry: &Map<String, Value>, place: CardFieldPath) -> Option<Value> {
    match place {
        Entry(name) => entry.get(name).cloned(),
        Inverted(name) => entry.get(name).and_then(Value::as_bool).map(|truth| Value::Bool(!truth)),
        Extension(name) => entry.get("extensions")?.get(name).cloned(),
    }
}

/// Converts a card's entry to world info.
pub fn from_card(entry: &Map<String, Value>, index: usize) -> Map<String, Value> {
    let mut own = default_entry(index);
    for (name, place, blank) in fields() {
        let value = card_value(entry, place).filter(|value| !value.is_null() || matches!(blank, Nothing));
        own.extend(value.map(|value| (name.to_owned(), value)));
    }
    own.insert("position".to_owned(), position(entry));
    let has_words = own.get("comment").and_then(Value::as_str).is_some_and(|words| !words.is_empty());
    own.insert("addMemo".to_owned(), has_words.into());
    own.extend(card_value(entry, Extension("display_index")).map(|value| ("displayIndex".to_owned(), value)));
    own.insert(
        "uid".to_owned(),
        entry.get("id").filter(|id| id.is_number() || id.is_string()).cloned().unwrap_or_else(|| index.into()),
    );
    let extensions = entry.get("extensions").filter(|extensions| extensions.is_object());
    let mut extensions = extensions.and_then(Value::as_object).cloned().unwrap_or_default();
    // Restore fields that this program exported for world info only.
    let rest = extensions.shift_remove(EXTENSION_KEY).and_then(|rest| rest.as_object().cloned()).unwrap_or_default();
    own.extend(rest);
    own.insert("extensions".to_owned(), extensions.into());
    own
}

/// Returns the position: 0 = before the character, 1 = after. `extensions.position` has more values.
fn position(entry: &Map<String, Value>) -> Value {
    let own = card_value(entry, Extension("position")).filter(Value::is_number);
    own.unwrap_or_else(|| u8::from(entry.get("position").is_none_or(|words| words != "before_char")).into())
}

/// Converts an entry of world info to a card's. Fields that are the same in `original` keep their spelling there.
pub fn to_card(entry: &Map<String, Value>, original: Option<&Map<String, Value>>, index: usize) -> Map<String, Value> {
    let mut out =
        original.cloned().unwrap_or_else(|| json!({"use_regex": true}).as_object().cloned().unwrap_or_default());
    let before = original.map(|original| from_card(original, index));
    let is_said = |name: &str| before.as_ref().is_some_and(|before| before.get(name) == entry.get(name));
    let mut extensions = Map::new();
    for (name, place, blank) in fields().filter(|(name, ..)| !is_said(name)) {
        let value = entry.get(name).cloned().unwrap_or_else(|| blank.value());
        match place {
            Entry(name) => _ = out.insert(name.to_owned(), value),
            Inverted(name) => _ = out.insert(name.to_owned(), (value != Value::Bool(true)).into()),
            Extension(name) => _ = extensions.insert(name.to_owned(), value),
        }
    }
    if !is_said("position") {
        let position = entry.get("position").cloned().unwrap_or_else(|| 0.into());
        let words = if position == 0 { "before_char" } else { "after_char" };
        out.insert("position".to_owned(), words.into());
        extensions.insert("position".to_owned(), position);
    }
    if !is_said("displayIndex") {
        let shown = entry.get("displayIndex").cloned().unwrap_or_else(|| index.into());
        extensions.insert("display_index".to_owned(), shown);
    }
    if original.is_none() {
        out.insert("id".to_owned(), entry.get("uid").cloned().unwrap_or_else(|| index.into()));
    }
    write_extensions(&mut out, extensions, entry, original.is_some());
    out
}

/// Adds to `extensions` the changed fields in `said`, and the fields that only world info has.
fn write_extensions(
    out: &mut Map<String, Value>,
    said: Map<String, Value>,
    entry: &Map<String, Value>,
    has_original: bool,
) {
    let known = |name: &str| {
        ["uid", "position", "displayIndex", "extensions", "addMemo"].contains(&name)
            || fields().any(|(own, ..)| own == name)
    };
    let is_plain = |name: &str, value: &Value| {
        name == "characterFilter" && *value == json!({"isExclude": false, "names": [], "tags": []})
    };
    let rest: Map<String, Value> = entry
        .iter()
        .filter(|(name, value)| !known(name) && !is_plain(name, value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let own = entry.get("extensions").and_then(Value::as_object).cloned().unwrap_or_default();
    let extensions = out.entry("extensions").or_insert_with(|| json!({}));
    let Some(extensions) = extensions.as_object_mut() else { return };
    if !has_original {
        extensions.extend(own);
    }
    extensions.extend(said);
    if rest.is_empty() {
        extensions.shift_remove(EXTENSION_KEY);
    } else {
        extensions.insert(EXTENSION_KEY.to_owned(), rest.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// A typo in a field name would lose a setting silently. So every field is converted there and back with a
    /// non-default value.
    #[test]
    fn lorebook_entry_to_card_and_back_keeps_every_field() {
        let other = |blank: EntryDefault| match blank {
            Text => json!("x"),
            List => json!(["x"]),
            Nothing => json!(7),
            Truth(truth) => json!(!truth),
            Number(number) => json!(number + 1),
        };
        let mut entry: Map<String, Value> = fields().map(|(name, _, blank)| (name.to_owned(), other(blank))).collect();
        entry.insert("uid".into(), json!(5));
        entry.insert("position".into(), json!(4));
        entry.insert("displayIndex".into(), json!(9));
        entry.insert("addMemo".into(), json!(true));
        entry.insert("odd".into(), json!({"a": [null]}));
        entry.insert("extensions".into(), json!({"third": 1}));
        let card = to_card(&entry, None, 0);
        let mut back = from_card(&card, 0);
        let extensions = back["extensions"].as_object_mut().unwrap();
        extensions.retain(|name, _| name == "third");
        assert_eq!(back, entry);
        let names: HashSet<&str> = fields().map(|(name, ..)| name).collect();
        assert_eq!(names.len(), 37, "no field stands there twice");
    }

    /// Unchanged fields are exported as imported, and missing ones stay missing. Changed fields are exported changed.
    #[test]
    fn lorebook_unchanged_card_entry_is_exported_unchanged() {
        let card =
            json!({"id": 3, "keys": ["a"], "content": "x", "name": "n", "enabled": true, "extensions": {"odd": 1}});
        let card = card.as_object().unwrap();
        let mut own = from_card(card, 0);
        assert_eq!(to_card(&own, Some(card), 0), *card);
        own.insert("content".into(), json!("y"));
        own.insert("excludeRecursion".into(), json!(true));
        let mut expected = card.clone();
        expected.insert("content".into(), json!("y"));
        expected.insert("extensions".into(), json!({"odd": 1, "exclude_recursion": true}));
        assert_eq!(to_card(&own, Some(card), 0), expected);
    }
}
