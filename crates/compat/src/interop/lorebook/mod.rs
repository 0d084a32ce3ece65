//! Lorebooks: world info, the book inside a card, and those of NovelAI, Agnai and RisuAI. All are converted to world
//! info. A book from a card also keeps the card's version in `originalData`, so that unchanged entries are exported
//! unchanged.
//!
//! `fields.rs` lists all fields of an entry with their names in both forms. `foreign_formats.rs` reads the other
//! programs' formats. `values.rs` gives the fields their types, `decorators.rs` turns decorators into fields, and
//! `conversion.rs` reports both. `silent.rs` reports entries that can never be sent. To add a field: add a line to that list. To add a program: detect its format in
//! [`read`] and add a function there.

mod conversion;
mod decorators;
mod fields;
mod foreign_formats;
mod silent;
mod values;

use serde_json::{Map, Value, json};

use super::ImportFinding;
use super::png;
use super::text;
use crate::prompt::lore::{WordCharacters, read_keys};
use conversion::ConversionNotes;
pub use silent::silent_entry_findings;

/// Maximum size of a lorebook file in bytes.
pub const MAX_FILE_BYTES: usize = 16 << 20;
/// The `spec` of a lorebook of version 3 by itself.
pub const BOOK_SPEC: &str = "lorebook_v3";
/// The text chunk in which NovelAI stores a lorebook.
const NOVELAI_CHUNK: &str = "naidata";

/// Why a file is not a lorebook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LorebookImportError {
    #[error("the file has more than {MAX_FILE_BYTES} bytes")]
    TooLong,
    /// The file cannot be decoded as text.
    #[error("this is not a lorebook: {0}")]
    NoText(#[from] text::TextDecodeError),
    #[error("the lorebook is not JSON: {0}")]
    NotJson(String),
    /// Valid JSON without entries.
    #[error("this is not a lorebook: it has no entries")]
    NoEntries,
    /// The picture contains no lorebook.
    #[error("the image contains no lorebook")]
    NoBookInPicture,
    #[error(transparent)]
    Png(#[from] png::PngError),
}

impl LorebookImportError {
    /// Returns advice for the user.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::TooLong => "split the lorebook in the program that it comes from",
            Self::Png(_) => "the file was damaged on its way: download it again",
            _ => {
                "send World Info as JSON, a card's book, or a lorebook of NovelAI, Agnai or RisuAI; whole cards have \
                 their own import"
            }
        }
    }
}

/// Reads a lorebook in any format and converts it to world info. Its `name`, if any, is kept.
///
/// # Errors
/// Returns an error if the file is too large, damaged, or not a lorebook.
pub fn read(file: &[u8]) -> Result<Map<String, Value>, LorebookImportError> {
    read_file(file, false).map(|read| read.book)
}

/// An imported lorebook, converted to world info.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ImportedLorebook {
    pub book: Map<String, Value>,
    /// The positions, from 1, or keys of entries that were dropped as invalid.
    pub invalid: Vec<String>,
    pub findings: Vec<ImportFinding>,
}

/// Reads a lorebook like [`read`], obeys the decorators of version 3, and returns what was dropped or changed.
///
/// # Errors
/// Returns an error if the file is too large, damaged, or not a lorebook.
pub fn read_with_findings(file: &[u8]) -> Result<ImportedLorebook, LorebookImportError> {
    read_file(file, true)
}

fn read_file(file: &[u8], obeys_decorators: bool) -> Result<ImportedLorebook, LorebookImportError> {
    if file.len() > MAX_FILE_BYTES {
        return Err(LorebookImportError::TooLong);
    }
    if !file.starts_with(png::SIGNATURE) {
        return from_text(file, obeys_decorators);
    }
    let (chunks, _) = png::read_chunks(file)?;
    let chunk = chunks.iter().find(|chunk| chunk.is_text() && chunk.keyword() == NOVELAI_CHUNK);
    let chunk = chunk.ok_or(LorebookImportError::NoBookInPicture)?;
    from_text(&png::decode_base64(NOVELAI_CHUNK, &chunk.text()?)?, obeys_decorators)
}

/// Returns whether a file is a picture that contains a lorebook.
pub fn is_in_picture(file: &[u8]) -> bool {
    let is_book = |chunk: &png::PngChunk<'_>| chunk.is_text() && chunk.keyword() == NOVELAI_CHUNK;
    png::read_chunks(file).is_ok_and(|(chunks, _)| chunks.iter().any(is_book))
}

fn from_text(bytes: &[u8], obeys_decorators: bool) -> Result<ImportedLorebook, LorebookImportError> {
    let text = text::decode(bytes)?;
    let value: Value =
        text::parse_json_lenient(&text).map_err(|error| LorebookImportError::NotJson(error.to_string()))?;
    let Value::Object(mut book) = value else { return Err(LorebookImportError::NoEntries) };
    // A lorebook of version 3 by itself.
    if let (true, Some(Value::Object(data))) =
        (book.get("spec").is_some_and(|spec| spec == BOOK_SPEC), book.get("data"))
    {
        book = data.clone();
    }
    let invalid = take_invalid_entries(&mut book);
    let mut notes = ConversionNotes::default();
    let (mut book, has_decorators) = to_world_info(book, &mut notes)?;
    if obeys_decorators && has_decorators {
        apply_decorators(&mut book, &mut notes);
    }
    Ok(ImportedLorebook { book, invalid, findings: notes.findings() })
}

/// Removes invalid entries from a book in any format. Returns their positions, from 1, or their keys.
pub fn take_invalid_entries(book: &mut Map<String, Value>) -> Vec<String> {
    let is_risu = book.get("type").is_some_and(|kind| kind == "risu");
    match book.get_mut(if is_risu { "data" } else { "entries" }) {
        Some(Value::Array(all)) => {
            let odd = all.iter().enumerate().filter(|(_, entry)| !entry.is_object());
            let odd = odd.map(|(at, _)| (at + 1).to_string()).collect();
            all.retain(Value::is_object);
            odd
        }
        Some(Value::Object(all)) => {
            let odd = all.iter().filter(|(_, entry)| !entry.is_object()).map(|(key, _)| key.clone()).collect();
            all.retain(|_, entry| entry.is_object());
            odd
        }
        _ => Vec::new(),
    }
}

/// Converts a book of any format. Also returns whether decorators mean something in that format.
fn to_world_info(
    mut book: Map<String, Value>,
    notes: &mut ConversionNotes,
) -> Result<(Map<String, Value>, bool), LorebookImportError> {
    if book.contains_key("lorebookVersion") {
        return Ok((foreign_formats::from_novelai(&book, notes), false));
    }
    if book.get("kind").is_some_and(|kind| kind == "memory") {
        return Ok((foreign_formats::from_agnai(&book), false));
    }
    if book.get("type").is_some_and(|kind| kind == "risu") {
        return Ok((foreign_formats::from_risuai(&book, notes), true));
    }
    match book.get("entries") {
        Some(Value::Array(entries)) if entries.iter().any(|entry| entry.get("keys").is_some()) => {
            Ok((convert_card_book(&book.into(), notes), true))
        }
        Some(Value::Object(entries))
            if entries.values().any(|entry| entry.get("keys").is_some() && entry.get("key").is_none()) =>
        {
            Ok((convert_card_book(&book.into(), notes), true))
        }
        Some(Value::Array(_) | Value::Object(_)) => {
            normalize_world_info(&mut book, notes);
            Ok((book, false))
        }
        _ => Err(LorebookImportError::NoEntries),
    }
}

/// Turns the decorators of all entries into fields.
fn apply_decorators(book: &mut Map<String, Value>, notes: &mut ConversionNotes) {
    let entries = book.get_mut("entries").and_then(Value::as_object_mut).into_iter().flat_map(|map| map.values_mut());
    entries.filter_map(Value::as_object_mut).for_each(|entry| decorators::apply(entry, notes));
}

/// Gives the fields of world info their types. Decorators mean nothing there, as in SillyTavern.
fn normalize_world_info(book: &mut Map<String, Value>, notes: &mut ConversionNotes) {
    for (index, entry) in entries_mut(book).into_iter().enumerate() {
        values::normalize(entry, &fields::default_entry(index), notes);
        decorators::note_ignored(entry, notes);
    }
}

/// The fields of an entry of world info that have keys.
const KEY_FIELDS: [&str; 2] = ["key", "keysecondary"];

/// Makes the keys of all entries of world info lists of texts, in place. Returns how many entries had several keys in
/// one text, also in the form of a card that the book came from.
pub fn split_joined_keys(book: &mut Map<String, Value>) -> usize {
    let original = book.get("originalData").and_then(Value::as_object);
    let of_card = original.map(entries).unwrap_or_default();
    let in_card = of_card.into_iter().filter(|entry| has_joined_keys(entry, fields::key_fields(entry))).count();
    let in_book = entries(book).into_iter().filter(|entry| has_joined_keys(entry, KEY_FIELDS)).count();
    for entry in entries_mut(book) {
        for name in KEY_FIELDS {
            let Some(keys) = entry.get_mut(name) else { continue };
            if !keys.as_array().is_some_and(|list| list.iter().all(Value::is_string)) {
                *keys = read_keys(Some(&*keys)).into();
            }
        }
    }
    in_card.max(in_book)
}

/// Returns whether one of the fields `names` has several keys in one text.
fn has_joined_keys(entry: &Map<String, Value>, names: [&str; 2]) -> bool {
    let mut texts = names.iter().filter_map(|name| entry.get(*name)).filter(|keys| keys.is_string());
    texts.any(|keys| read_keys(Some(keys)).len() > 1)
}

fn entries_mut(book: &mut Map<String, Value>) -> Vec<&mut Map<String, Value>> {
    match book.get_mut("entries") {
        Some(Value::Array(list)) => list.iter_mut().filter_map(Value::as_object_mut).collect(),
        Some(Value::Object(map)) => map.values_mut().filter_map(Value::as_object_mut).collect(),
        _ => Vec::new(),
    }
}

/// Returns the entries of a book in order.
pub fn entries(book: &Map<String, Value>) -> Vec<&Map<String, Value>> {
    match book.get("entries") {
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_object).collect(),
        Some(Value::Object(map)) => map.values().filter_map(Value::as_object).collect(),
        _ => Vec::new(),
    }
}

/// Returns the entries of a book, each with a `uid`: its own, or else its key in the book.
pub fn entries_with_uid(book: &Map<String, Value>) -> Vec<Map<String, Value>> {
    let with = |(key, entry): (String, &Value)| {
        let mut entry = entry.as_object()?.clone();
        if entry.get("uid").and_then(uid_text).is_none() {
            entry.insert("uid".to_owned(), key.parse::<u64>().map_or_else(|_| key.into(), Value::from));
        }
        Some(entry)
    };
    match book.get("entries") {
        Some(Value::Array(list)) => {
            list.iter().enumerate().map(|(at, entry)| (at.to_string(), entry)).filter_map(with).collect()
        }
        Some(Value::Object(map)) => map.iter().map(|(key, entry)| (key.clone(), entry)).filter_map(with).collect(),
        _ => Vec::new(),
    }
}

/// Returns whether an entry has this `uid`.
pub fn has_uid(entry: &Map<String, Value>, uid: &str) -> bool {
    entry.get("uid").and_then(uid_text).is_some_and(|own| own == uid)
}

/// Returns an entry with all missing fields filled in.
pub fn with_defaults(entry: &Map<String, Value>, index: usize) -> Map<String, Value> {
    let mut whole = fields::default_entry(index);
    whole.extend(entry.clone());
    whole
}

/// Returns a `uid` as text. Most are numbers; newer cards also use strings.
fn uid_text(uid: &Value) -> Option<String> {
    match uid {
        Value::Number(number) => Some(number.to_string()),
        Value::String(word) if !word.is_empty() => Some(word.clone()),
        _ => None,
    }
}

/// Returns the number after the largest numeric `uid`.
fn next_free_uid(entries: &[Map<String, Value>]) -> u64 {
    let number = |entry: &Map<String, Value>| entry.get("uid").and_then(Value::as_u64);
    entries.iter().filter_map(number).max().map_or(0, |most| most.saturating_add(1))
}

/// Appends an entry and returns it. Keeps its `uid` if that is free, otherwise assigns a new one.
pub fn append(entries: &mut Vec<Map<String, Value>>, new: &Map<String, Value>) -> Map<String, Value> {
    let mut entry = with_defaults(new, entries.len());
    let own = entry.get("uid").and_then(uid_text);
    if own.is_none_or(|uid| entries.iter().any(|other| has_uid(other, &uid))) {
        entry.insert("uid".to_owned(), next_free_uid(entries).into());
    }
    entries.push(entry.clone());
    entry
}

/// Returns entries as an object keyed by `uid`. An entry without a `uid`, or with one that is taken, gets a free one.
pub fn keyed_by_uid(entries: Vec<Map<String, Value>>) -> Map<String, Value> {
    let mut free = next_free_uid(&entries);
    let mut book = Map::new();
    for mut entry in entries {
        let own = entry.get("uid").and_then(uid_text).filter(|uid| !book.contains_key(uid));
        let uid = own.unwrap_or_else(|| {
            entry.insert("uid".to_owned(), free.into());
            free = free.saturating_add(1);
            (free - 1).to_string()
        });
        book.insert(uid, entry.into());
    }
    book
}

/// Converts a card's book to world info.
pub fn from_card(card_book: &Value) -> Map<String, Value> {
    convert_card_book(card_book, &mut ConversionNotes::default())
}

/// Converts a card's book like [`from_card`], obeys the decorators of version 3, and returns what was changed.
pub fn from_card_with_findings(card_book: &Value) -> (Map<String, Value>, Vec<ImportFinding>) {
    let mut notes = ConversionNotes::default();
    let mut book = convert_card_book(card_book, &mut notes);
    apply_decorators(&mut book, &mut notes);
    (book, notes.findings())
}

fn convert_card_book(card_book: &Value, notes: &mut ConversionNotes) -> Map<String, Value> {
    let mut original = card_book.as_object().cloned().unwrap_or_default();
    let list = match original.get("entries") {
        Some(Value::Array(list)) => list.clone(),
        Some(Value::Object(map)) => map.values().cloned().collect(),
        _ => Vec::new(),
    };
    let list: Vec<Map<String, Value>> = list.into_iter().filter_map(|entry| entry.as_object().cloned()).collect();
    let read =
        keyed_by_uid(list.iter().enumerate().map(|(index, entry)| fields::from_card(entry, index, notes)).collect());
    // Give the card's entries the same ids, so that they can be matched on export.
    let numbered = list.into_iter().zip(read.values()).map(|(mut entry, own)| {
        entry.insert("id".to_owned(), own.get("uid").cloned().unwrap_or_default());
        Value::Object(entry)
    });
    original.insert("entries".to_owned(), numbered.collect());
    let mut book = Map::new();
    original.get("name").filter(|name| name.is_string()).map(|name| book.insert("name".to_owned(), name.clone()));
    book.insert("entries".to_owned(), read.into());
    // Restore fields that this program exported for world info only.
    let own = original.get("extensions").and_then(|extensions| extensions.get(fields::EXTENSION_KEY)?.as_object());
    if let Some(words) = own.and_then(|own| own.get(WordCharacters::FIELD)) {
        book.insert(WordCharacters::FIELD.to_owned(), words.clone());
    }
    book.insert("originalData".to_owned(), original.into());
    book
}

/// Converts world info to a card's book. Entries from a card that were not changed are written as they were.
pub fn to_card(book: &Map<String, Value>) -> Value {
    let original = book.get("originalData").and_then(Value::as_object);
    let mut card_book = original.cloned().unwrap_or_default();
    let known = |uid: Option<&Value>| {
        let all = original.and_then(|original| original.get("entries")).and_then(Value::as_array);
        all?.iter().filter_map(Value::as_object).find(|entry| entry.get("id") == uid)
    };
    let own = entries(book);
    let written = own.iter().enumerate().map(|(index, entry)| fields::to_card(entry, known(entry.get("uid")), index));
    let written: Vec<Value> = written.map(Value::Object).collect();
    card_book.insert("entries".to_owned(), written.into());
    if let Some(name) = book.get("name") {
        card_book.insert("name".to_owned(), name.clone());
    }
    let kept = ["entries", "name", "originalData", "extensions"];
    let rest: Map<String, Value> = book
        .iter()
        .filter(|(key, _)| !kept.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let extensions = card_book.entry("extensions").or_insert_with(|| json!({}));
    if let Some(extensions) = extensions.as_object_mut() {
        extensions.extend(book.get("extensions").and_then(Value::as_object).cloned().unwrap_or_default());
        if !rest.is_empty() {
            extensions.insert(fields::EXTENSION_KEY.to_owned(), rest.into());
        }
    }
    card_book.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_book(value: &Value) -> (Map<String, Value>, Vec<&'static str>) {
        let read = read_with_findings(value.to_string().as_bytes()).unwrap();
        let entry = read.book["entries"].as_object().unwrap().values().next().unwrap().as_object().unwrap().clone();
        (entry, read.findings.iter().map(|finding| finding.code).collect())
    }

    #[test]
    fn lorebook_decorators_are_obeyed_where_they_mean_something() {
        let text = "@@depth 3\n@@is_greeting 1\nOld.";
        let card = json!({"entries": [{"keys": ["a"], "content": text}]});
        for book in [
            card.clone(),
            json!({"spec": "lorebook_v3", "data": card}),
            json!({"entries": {"0": {"keys": ["a"], "content": text}}}),
            json!({"type": "risu", "data": [{"key": "a", "content": text}]}),
        ] {
            let (entry, told) = read_book(&book);
            assert_eq!((&entry["content"], &entry["depth"]), (&json!("Old."), &json!(3)), "{book}");
            assert_eq!((&entry["position"], told), (&json!(4), vec!["decorators", "decorators_kept"]), "{book}");
        }
        let (entry, told) = read_book(&json!({"entries": {"0": {"key": ["a"], "content": text, "order": "5"}}}));
        assert_eq!((&entry["content"], &entry["order"]), (&json!(text), &json!(5)), "world info of SillyTavern");
        assert_eq!(told, ["decorators_kept"]);
        let (book, findings) = from_card_with_findings(&card);
        assert_eq!((&book["entries"]["0"]["depth"], findings.len()), (&json!(3), 2));
    }

    /// Keys in one text become a list, and the unchanged entry is still exported as it came.
    #[test]
    fn lorebook_keys_in_one_text_become_lists() {
        let card = json!({"name": "Town", "entries": [
            {"keys": "lamp, lantern", "secondary_keys": null, "content": "x", "enabled": true, "extensions": {}},
            {"keys": ["lamp, lantern", 7], "secondary_keys": "a，b", "content": "y", "extensions": {}},
            {"keys": "lamp", "content": "z", "extensions": {}},
        ]});
        let mut book = from_card(&card);
        assert_eq!(split_joined_keys(&mut book), 2);
        let keys = |name: &str| entries(&book).into_iter().map(|entry| entry[name].clone()).collect::<Vec<_>>();
        assert_eq!(keys("key"), [json!(["lamp", "lantern"]), json!(["lamp, lantern", "7"]), json!(["lamp"])]);
        assert_eq!(keys("keysecondary"), [json!([]), json!(["a", "b"]), json!([])]);
        let back = to_card(&book);
        assert_eq!(back["entries"][0]["keys"], "lamp, lantern");
        assert_eq!(back["entries"][1]["secondary_keys"], "a，b");
        let world = json!({"entries": {"0": {"key": "/a,b/, c", "keysecondary": 5}, "1": {"key": ["x"]}}});
        let mut world = world.as_object().unwrap().clone();
        assert_eq!(split_joined_keys(&mut world), 1);
        assert_eq!(world["entries"]["0"], json!({"key": ["/a,b/", "c"], "keysecondary": ["5"]}));
        // Only fields that are read count.
        let other = json!({"entries": {"0": {"key": ["x"], "keys": "a, b"}}});
        assert_eq!(split_joined_keys(&mut other.as_object().unwrap().clone()), 0);
    }

    /// The way to tell words apart survives an export as a card's book.
    #[test]
    fn lorebook_word_characters_survive_a_card() {
        let book = json!({"name": "Town", "entries": {}, "wordCharacters": "ascii"});
        let card = to_card(book.as_object().unwrap());
        assert_eq!(card["extensions"]["clotho"], json!({"wordCharacters": "ascii"}));
        assert_eq!(from_card(&card)["wordCharacters"], "ascii");
    }
}
