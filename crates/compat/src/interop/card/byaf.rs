//! BYAF: an archive of Backyard AI. Its `manifest.json` names the files of the characters and their scenarios. The
//! first character becomes a card.

use serde_json::{Map, Value, json};

use super::archive::{CardArchive, CardAsset, entry_path, read_entry};
use super::{CardImportError, ImportedCard, fields, parse};
use crate::interop::{FindingDetail, ImportFinding, picture, text};

/// The file that names all others.
const MANIFEST: &str = "manifest.json";
/// Maximum number of files that are read of one archive.
const MAX_PARTS: usize = 200;
/// Maximum size of all pictures in bytes.
const MAX_PICTURE_BYTES: usize = 96 << 20;
/// Fields of a scenario that are read. The others are kept in the extensions.
const SCENARIO_FIELDS: [&str; 8] = [
    "$schema",
    "schemaVersion",
    "title",
    "formattingInstructions",
    "exampleMessages",
    "firstMessages",
    "narrative",
    "messages",
];

/// Reads the first character of an archive.
///
/// # Errors
/// Returns an error if the archive is not one of Backyard AI, or a part of it cannot be read.
pub fn read(archive: &mut CardArchive<'_>, file_stem: Option<&str>) -> Result<ImportedCard, CardImportError> {
    let manifest = json_entry(archive, MANIFEST)?.ok_or(CardImportError::NoCardInArchive)?;
    let paths = |key: &str| -> Vec<String> {
        let list = manifest.get(key).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(entry_path).take(MAX_PARTS).collect()
    };
    let characters = paths("characters");
    let place = characters.first().ok_or(CardImportError::NoCardInArchive)?;
    let character = json_entry(archive, place)?.ok_or(CardImportError::NoCardInArchive)?;
    let mut scenarios = Vec::new();
    for path in paths("scenarios") {
        scenarios.extend(json_entry(archive, &path)?);
    }
    let mut read = fields::read(to_card(&manifest, &character, &scenarios), file_stem)?;
    read.findings.extend(findings(characters.len(), &scenarios));
    let folder = place.rfind('/').and_then(|slash| place.get(..=slash)).unwrap_or_default();
    take_pictures(archive, folder, &character, &mut read);
    Ok(read)
}

/// Reads an entry as a JSON object. `None` if it is missing or no object.
fn json_entry(archive: &mut CardArchive<'_>, path: &str) -> Result<Option<Map<String, Value>>, CardImportError> {
    let Some(index) = find_entry(archive, path) else { return Ok(None) };
    let bytes = read_entry(archive, index, "a part of the card")?;
    let text = text::decode(&bytes)
        .map_err(|error| CardImportError::NotJson { place: path.to_owned(), cause: error.to_string() })?;
    match parse(path, &text)? {
        Value::Object(map) => Ok(Some(map)),
        _ => Ok(None),
    }
}

fn find_entry(archive: &CardArchive<'_>, path: &str) -> Option<usize> {
    let is_it = |index: &usize| {
        archive.name_for_index(*index).and_then(Result::ok).is_some_and(|name| entry_path(&name) == path)
    };
    (0..archive.len()).find(is_it)
}

/// Converts a character and its scenarios to a card.
fn to_card(manifest: &Map<String, Value>, character: &Map<String, Value>, scenarios: &[Map<String, Value>]) -> Value {
    let name =
        ["name", "displayName"].into_iter().map(|key| plain(character, key)).find(|name| !name.trim().is_empty());
    let first = scenarios.first();
    let of_first = |key: &str| first.map(|scenario| with_macros(plain(scenario, key))).unwrap_or_default();
    let mut greetings = scenarios.iter().flat_map(|scenario| texts(scenario, "firstMessages"));
    let first_message = greetings.next().unwrap_or_default();
    let examples = first.map(|scenario| texts(scenario, "exampleMessages").collect::<Vec<_>>()).unwrap_or_default();
    let examples = if examples.is_empty() { String::new() } else { format!("<START>\n{}", examples.join("\n")) };
    let rest = |map: &Map<String, Value>, known: &[&str]| {
        let rest = map.iter().filter(|(key, _)| !known.contains(&key.as_str()));
        Value::Object(rest.map(|(key, value)| (key.clone(), value.clone())).collect())
    };
    let kept: Vec<Value> = scenarios.iter().map(|scenario| rest(scenario, &["messages"])).collect();
    let author = manifest.get("author").and_then(Value::as_object).map(|author| plain(author, "name"));
    json!({
        "spec": "chara_card_v2",
        "data": {
            "name": name,
            "description": with_macros(plain(character, "persona")),
            "scenario": of_first("narrative"),
            "first_mes": first_message,
            "mes_example": examples,
            "system_prompt": of_first("formattingInstructions"),
            "alternate_greetings": greetings.collect::<Vec<_>>(),
            "creator": author.unwrap_or_default(),
            "character_book": book(character),
            "extensions": {
                "backyard": {"character": rest(character, &["persona", "loreItems"]), "scenarios": kept},
            },
        },
    })
}

/// Returns the lore of a character as a book. `null` if there is none.
fn book(character: &Map<String, Value>) -> Value {
    let items = character.get("loreItems").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
    let entries = items.enumerate().map(|(index, item)| {
        let keys: Vec<String> =
            plain(item, "key").split(',').map(str::trim).filter(|key| !key.is_empty()).map(with_macros).collect();
        json!({
            "id": index, "keys": keys, "content": with_macros(plain(item, "value")), "enabled": true,
            "insertion_order": 100, "position": "after_char", "extensions": {},
        })
    });
    let entries: Vec<Value> = entries.collect();
    if entries.is_empty() { Value::Null } else { json!({"entries": entries, "extensions": {}}) }
}

fn plain<'a>(map: &'a Map<String, Value>, key: &str) -> &'a str {
    map.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the texts of a list of messages that are not blank.
fn texts(scenario: &Map<String, Value>, key: &str) -> impl Iterator<Item = String> {
    let list = scenario.get(key).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|message| message.get("text").unwrap_or(message).as_str())
        .filter(|text| !text.trim().is_empty())
        .map(with_macros)
}

/// Replaces Backyard's placeholders by macros.
fn with_macros(text: &str) -> String {
    let names = [
        ("#{character}:", "{{char}}:"),
        ("#{user}:", "{{user}}:"),
        ("{character}", "{{char}}"),
        ("{user}", "{{user}}"),
    ];
    names.iter().fold(text.to_owned(), |text, (theirs, ours)| text.replace(theirs, ours))
}

/// Returns the findings for what does not become part of the card.
fn findings(characters: usize, scenarios: &[Map<String, Value>]) -> Vec<ImportFinding> {
    let mut found = Vec::new();
    if characters > 1 {
        found.push(ImportFinding::skipped(&FindingDetail::MoreCharacters { count: characters - 1 }));
    }
    let messages: usize =
        scenarios.iter().map(|scenario| scenario.get("messages").and_then(Value::as_array).map_or(0, Vec::len)).sum();
    if messages > 0 {
        found.push(ImportFinding::skipped(&FindingDetail::CardChat { count: messages }));
    }
    if scenarios.len() > 1 {
        found.push(ImportFinding::kept(&FindingDetail::MoreScenarios { count: scenarios.len() - 1 }));
    }
    let mut keys: Vec<&str> = Vec::new();
    for (key, value) in scenarios.iter().flatten() {
        if !SCENARIO_FIELDS.contains(&key.as_str()) && !value.is_null() && !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    if !keys.is_empty() {
        let detail = FindingDetail::ChatSettings { count: keys.len(), keys: keys.join(", ") };
        found.push(ImportFinding::kept(&detail));
    }
    found
}

/// Takes the pictures of the character. The first one becomes that of the card.
fn take_pictures(archive: &mut CardArchive<'_>, folder: &str, character: &Map<String, Value>, read: &mut ImportedCard) {
    let images = character.get("images").and_then(Value::as_array).into_iter().flatten();
    let paths = images.filter_map(|image| image.get("path").unwrap_or(image).as_str()).map(entry_path);
    let mut room = MAX_PICTURE_BYTES;
    for path in paths.take(MAX_PARTS) {
        let place = find_entry(archive, &format!("{folder}{path}")).or_else(|| find_entry(archive, &path));
        let bytes = place.and_then(|index| read_entry(archive, index, "a picture").ok()).unwrap_or_default();
        let is_shown = picture::detect_format(&bytes).is_some();
        if !is_shown || path.contains("..") || bytes.len() > room || read.assets.iter().any(|asset| asset.path == path)
        {
            let file = path.chars().filter(|c| !c.is_control()).take(100).collect();
            let detail = FindingDetail::SkippedAsset { file, reason: crate::interop::FindingReason::NotAPicture };
            read.findings.push(ImportFinding::skipped(&detail));
            continue;
        }
        room -= bytes.len();
        if read.picture.is_none() {
            read.picture = Some(bytes);
        } else {
            read.assets.push(CardAsset { path, bytes });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::interop::card;

    const JPEG: &[u8] = b"\xff\xd8\xff\xe0\x00\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xd9";

    fn archive(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in files {
            archive.start_file(*name, SimpleFileOptions::default()).unwrap();
            archive.write_all(bytes).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    #[test]
    fn card_backyard_archive_is_read() {
        let bytes = |value: Value| value.to_string().into_bytes();
        let file = archive(&[
            (
                "manifest.json",
                bytes(json!({
                    "schemaVersion": 1, "characters": ["characters/a/character.json", "characters/b/character.json"],
                    "scenarios": ["scenarios/s1.json", "scenarios/s2.json"], "author": {"name": "me"},
                })),
            ),
            (
                "characters/a/character.json",
                bytes(json!({
                    "name": "Anna", "displayName": "Anna Ferrywoman", "persona": "{character} rows {user}.",
                    "loreItems": [{"key": "ferry, boat", "value": "Old."}], "images": [{"path": "images/a.jpg"}, {"path": "images/gone.png"}],
                })),
            ),
            ("characters/a/images/a.jpg", JPEG.to_vec()),
            (
                "scenarios/s1.json",
                bytes(json!({
                    "narrative": "A river.", "formattingInstructions": "Be calm.", "temperature": 1,
                    "firstMessages": [{"text": "{character} waves."}, {"text": "Evening."}],
                    "exampleMessages": [{"text": "#{character}: Come."}], "messages": [{"type": "human", "text": "Hi."}],
                })),
            ),
            ("scenarios/s2.json", bytes(json!({"narrative": "A sea.", "firstMessages": [{"text": "Waves."}]}))),
        ]);
        let read = card::read(&file).unwrap();
        let expected = json!({
            "name": "Anna", "description": "{{char}} rows {{user}}.", "scenario": "A river.", "firstMessage": "{{char}} waves.",
            "exampleMessages": "<START>\n{{char}}: Come.", "systemPrompt": "Be calm.", "alternateGreetings": ["Evening.", "Waves."],
        });
        for (field, value) in expected.as_object().unwrap() {
            assert_eq!(read.card.get(field), Some(value), "{field}");
        }
        assert_eq!(read.book.unwrap()["entries"][0]["keys"], json!(["ferry", "boat"]));
        assert_eq!(read.picture.as_deref(), Some(JPEG));
        let codes: Vec<&str> = read.findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, ["more_characters", "card_chat", "more_scenarios", "chat_settings", "asset"]);
        let other = archive(&[("manifest.json", bytes(json!({"name": "an extension"})))]);
        assert_eq!(card::read(&other).unwrap_err(), CardImportError::NoCardInArchive);
    }
}
