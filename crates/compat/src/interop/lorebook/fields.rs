//! The list of all fields of an entry, with their names in world info and in a card's book.

use serde_json::{Map, Value, json};

use super::conversion::ConversionNotes;
use super::{decorators, values};
use crate::interop::lenient;
use crate::prompt::lore::read_keys;

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
        Inverted(name) => entry.get(name).and_then(lenient::truth).map(|truth| Value::Bool(!truth)),
        Extension(name) => entry.get("extensions")?.get(name).cloned(),
    }
}

/// Fields that have another name or no place in world info.
const CARD_ONLY_FIELDS: [&str; 7] =
    ["keys", "secondary_keys", "insertion_order", "enabled", "id", "position", "extensions"];

/// Returns whether an entry of a card has the form of world info: its keys have the names that they have there.
fn is_world_info(entry: &Map<String, Value>) -> bool {
    let has = |name: &str| entry.get(name).is_some_and(|value| !value.is_null());
    let has_keys = |names: [&str; 2]| names.iter().any(|name| !read_keys(entry.get(*name)).is_empty());
    let (own, of_card) = (["key", "keysecondary"], ["keys", "secondary_keys"]);
    (has_keys(own) && !has_keys(of_card)) || (has("key") && !has("keys") && !has("secondary_keys"))
}

/// Returns the names of the fields of a card's entry from which its keys are read.
pub fn key_fields(entry: &Map<String, Value>) -> [&'static str; 2] {
    if is_world_info(entry) { ["key", "keysecondary"] } else { ["keys", "secondary_keys"] }
}

/// Converts a card's entry to world info, with its decorators in the text. An entry that has the form of world info
/// already is read like that.
pub fn from_card(entry: &Map<String, Value>, index: usize, notes: &mut ConversionNotes) -> Map<String, Value> {
    let mut own = default_entry(index);
    if entry.get("enabled").is_some_and(|enabled| !enabled.is_null() && lenient::truth(enabled).is_none()) {
        notes.unreadable_field("enabled");
    }
    for (name, place, blank) in fields() {
        let value = card_value(entry, place).filter(|value| !value.is_null() || matches!(blank, Nothing));
        own.extend(value.map(|value| (name.to_owned(), value)));
    }
    let is_world_info = is_world_info(entry);
    if is_world_info {
        let said = entry.iter().filter(|(name, value)| !CARD_ONLY_FIELDS.contains(&name.as_str()) && !value.is_null());
        own.extend(said.map(|(name, value)| (name.clone(), value.clone())));
    }
    for name in ["key", "keysecondary"] {
        let keys = read_keys(own.get(name));
        own.insert(name.to_owned(), keys.into());
    }
    // Without a position, a card's entry stands after the character, and one of world info before.
    own.insert("position".to_owned(), position(entry, notes).unwrap_or_else(|| i32::from(!is_world_info).into()));
    let has_words = own.get("comment").and_then(Value::as_str).is_some_and(|words| !words.is_empty());
    own.insert("addMemo".to_owned(), has_words.into());
    own.extend(card_value(entry, Extension("display_index")).map(|value| ("displayIndex".to_owned(), value)));
    let mut ids = ["id", "uid"].iter().filter_map(|name| entry.get(*name));
    let id = ids.find(|id| id.is_number() || id.is_string()).cloned();
    own.insert("uid".to_owned(), id.unwrap_or_else(|| index.into()));
    let extensions = entry.get("extensions").filter(|extensions| extensions.is_object());
    let mut extensions = extensions.and_then(Value::as_object).cloned().unwrap_or_default();
    // Restore fields that this program exported for world info only.
    let rest = extensions.shift_remove(EXTENSION_KEY).and_then(|rest| rest.as_object().cloned()).unwrap_or_default();
    own.extend(rest);
    own.insert("extensions".to_owned(), extensions.into());
    values::normalize(&mut own, &default_entry(index), notes);
    own
}

/// Returns the position, if any: 0 = before the character, 1 = after. `extensions.position` has more values.
fn position(entry: &Map<String, Value>, notes: &mut ConversionNotes) -> Option<Value> {
    let is_blank = |value: &Value| value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty());
    for given in [card_value(entry, Extension("position")), entry.get("position").cloned()] {
        let Some(given) = given.filter(|given| !is_blank(given)) else { continue };
        match values::position(&given) {
            Some(position) => return Some(position),
            None => notes.unreadable_field("position"),
        }
    }
    None
}

/// Converts an entry of world info to a card's. Fields that are the same in `original` keep their spelling there. An
/// original in the form of world info is not kept.
pub fn to_card(entry: &Map<String, Value>, original: Option<&Map<String, Value>>, index: usize) -> Map<String, Value> {
    let original = original.filter(|original| !is_world_info(original));
    let mut out =
        original.cloned().unwrap_or_else(|| json!({"use_regex": true}).as_object().cloned().unwrap_or_default());
    let before = original.map(|original| unchanged_entry(entry, original, index));
    let is_said = |name: &str| before.as_ref().is_some_and(|before| before.get(name) == entry.get(name));
    let mut extensions = Map::new();
    for (name, place, blank) in fields().filter(|(name, ..)| !is_said(name)) {
        let value = entry.get(name).cloned().unwrap_or_else(|| blank.value());
        let value = if name == "content" { decorators::with_ignored(entry) } else { value };
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

/// Returns the original of an entry as world info, for a comparison. If the entry is as an import made it, that includes
/// its decorators. Otherwise they count as a part of the text there, so that the fields are written instead.
fn unchanged_entry(entry: &Map<String, Value>, original: &Map<String, Value>, index: usize) -> Map<String, Value> {
    let mut notes = ConversionNotes::default();
    let read = from_card(original, index, &mut notes);
    let mut obeyed = read.clone();
    decorators::apply(&mut obeyed, &mut notes);
    let is_same = decorators::CHANGED_FIELDS.iter().all(|name| obeyed.get(*name) == entry.get(*name));
    if is_same { obeyed } else { read }
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
    let mut own = entry.get("extensions").and_then(Value::as_object).cloned().unwrap_or_default();
    // They are in the text again.
    own.shift_remove(decorators::EXTENSION_KEY);
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
        let mut back = from_card(&card, 0, &mut ConversionNotes::default());
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
        let mut own = from_card(card, 0, &mut ConversionNotes::default());
        assert_eq!(to_card(&own, Some(card), 0), *card);
        own.insert("content".into(), json!("y"));
        own.insert("excludeRecursion".into(), json!(true));
        let mut expected = card.clone();
        expected.insert("content".into(), json!("y"));
        expected.insert("extensions".into(), json!({"odd": 1, "exclude_recursion": true}));
        assert_eq!(to_card(&own, Some(card), 0), expected);
    }

    /// Decorators stay in the export of an unchanged entry. Once a field of theirs changes, the fields are exported.
    #[test]
    fn lorebook_entry_with_decorators_is_exported_as_it_means() {
        let card = json!({"id": 0, "keys": ["a"], "content": "@@depth 3\n@@is_greeting 1\nOld.", "extensions": {}});
        let card = card.as_object().unwrap();
        let mut notes = ConversionNotes::default();
        let mut own = from_card(card, 0, &mut notes);
        assert_eq!(to_card(&own, Some(card), 0), *card, "decorators are not obeyed yet");
        decorators::apply(&mut own, &mut notes);
        assert_eq!((&own["depth"], &own["position"], &own["content"]), (&json!(3), &json!(4), &json!("Old.")));
        assert_eq!(to_card(&own, Some(card), 0), *card);
        own.insert("depth".into(), json!(5));
        let changed = to_card(&own, Some(card), 0);
        assert_eq!(changed["content"], "@@is_greeting 1\nOld.");
        assert_eq!((&changed["extensions"]["depth"], &changed["extensions"]["position"]), (&json!(5), &json!(4)));
        let new = to_card(&own, None, 0);
        assert_eq!((&new["content"], &new["extensions"]["decorators"]), (&changed["content"], &Value::Null));
    }

    /// Some tools put entries of world info into a card as they are.
    #[test]
    fn lorebook_world_info_entry_in_card_is_read_like_world_info() {
        let given = json!({
            "uid": 7, "key": "lamp, lantern", "keysecondary": [], "content": "x", "order": "50", "disable": true,
            "depth": 2, "excludeRecursion": true, "selectiveLogic": 3, "position": 4, "caseSensitive": null,
            "characterFilter": {"isExclude": true, "names": ["Rin"], "tags": []},
        });
        let own = from_card(given.as_object().unwrap(), 0, &mut ConversionNotes::default());
        for (name, expected) in [
            ("uid", json!(7)),
            ("key", json!(["lamp", "lantern"])),
            ("order", json!(50)),
            ("disable", json!(true)),
            ("depth", json!(2)),
            ("excludeRecursion", json!(true)),
            ("selectiveLogic", json!(3)),
            ("position", json!(4)),
            ("caseSensitive", json!(null)),
            ("characterFilter", given["characterFilter"].clone()),
        ] {
            assert_eq!(own[name], expected, "{name}");
        }
        let out = to_card(&own, given.as_object(), 0);
        assert_eq!((&out["keys"], out.get("key")), (&json!(["lamp", "lantern"]), None), "it is exported as a card's");
        assert_eq!(from_card(&out, 0, &mut ConversionNotes::default())["order"], 50);
        let position = |entry: Value| from_card(entry.as_object().unwrap(), 0, &mut ConversionNotes::default());
        assert_eq!(position(json!({"key": ["a"]}))["position"], 0);
        assert_eq!(position(json!({"keys": ["a"], "key": ["b"], "order": 5}))["key"], json!(["a"]));
    }

    #[test]
    fn lorebook_card_values_as_texts_are_read() {
        let card = json!({
            "keys": ["a"], "content": "x", "enabled": "false", "constant": "false", "insertion_order": "10",
            "extensions": {"position": "4", "depth": "2", "probability": "bad", "role": "1"},
        });
        let mut notes = ConversionNotes::default();
        let own = from_card(card.as_object().unwrap(), 0, &mut notes);
        for (name, expected) in [
            ("disable", json!(true)),
            ("constant", json!(false)),
            ("order", json!(10)),
            ("position", json!(4)),
            ("depth", json!(2)),
            ("role", json!(1)),
            ("probability", json!(100)),
        ] {
            assert_eq!(own[name], expected, "{name}");
        }
        assert_eq!(notes.findings()[0].count, 1);
        for (position, expected) in [(json!("before_char"), 0), (json!(4), 4), (json!(""), 1), (json!("odd"), 1)] {
            let entry = Map::from_iter([("position".to_owned(), position.clone())]);
            assert_eq!(from_card(&entry, 0, &mut ConversionNotes::default())["position"], expected, "{position}");
        }
    }
}
