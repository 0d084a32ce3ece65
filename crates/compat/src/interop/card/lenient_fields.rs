//! Reads card fields that programs write in more than one shape: greetings and tags, the depth of the character's note,
//! and notes in several languages.

use serde_json::{Map, Value, json};

use crate::interop::lenient;
use crate::interop::{FindingDetail, ImportFinding};

/// The depth of a note whose own depth cannot be read. SillyTavern's default.
const DEFAULT_DEPTH: u64 = 4;
/// The greatest number of lists inside each other that are read as one.
const MAX_NESTING: usize = 4;
/// Keys under which programs keep the text of a greeting or a tag that is an object.
const TEXT_KEYS: [&str; 9] = ["text", "message", "content", "greeting", "mes", "first_mes", "value", "name", "title"];

/// Returns the texts of a list field. `unreadable` counts its entries that are no texts. `None` if the value is no
/// list.
///
/// A list may be a JSON list inside of a text, an object with numbers as keys, or one text. For tags, that text is a
/// comma-separated list; for greetings it is one greeting, whose commas belong to it.
pub fn texts(field: &str, value: &Value, unreadable: &mut usize) -> Option<Vec<String>> {
    let mut found = Vec::new();
    match value {
        Value::String(text) => match lenient::list_in_text(text) {
            Some(list) => list.iter().for_each(|one| push_texts(one, 0, &mut found, unreadable)),
            None if field == "tags" => {
                found.extend(text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned));
            }
            None => found.extend(Some(text.replace('\0', "")).filter(|text| !text.trim().is_empty())),
        },
        Value::Array(list) => list.iter().for_each(|one| push_texts(one, 0, &mut found, unreadable)),
        Value::Object(map) if is_numbered(map) => {
            map.values().for_each(|one| push_texts(one, 0, &mut found, unreadable));
        }
        _ => return None,
    }
    Some(found)
}

fn is_numbered(map: &Map<String, Value>) -> bool {
    map.keys().all(|key| key.parse::<u32>().is_ok())
}

fn push_texts(value: &Value, depth: usize, found: &mut Vec<String>, unreadable: &mut usize) {
    match value {
        Value::Null => {}
        Value::String(text) => found.push(text.replace('\0', "")),
        Value::Number(number) => found.push(number.to_string()),
        Value::Array(list) if depth < MAX_NESTING => {
            list.iter().for_each(|one| push_texts(one, depth + 1, found, unreadable));
        }
        Value::Object(map) => {
            let texts = || TEXT_KEYS.iter().filter_map(|key| map.get(*key)?.as_str());
            // Some programs write all of these keys and fill one.
            match texts().find(|text| !text.trim().is_empty()).or_else(|| texts().next()) {
                Some(text) => found.push(text.replace('\0', "")),
                None => *unreadable += 1,
            }
        }
        _ => *unreadable += 1,
    }
}

/// Gives the extensions that are used here the types that the rest of the program expects. Reports what cannot be read.
pub fn normalize_extensions(data: &mut Map<String, Value>, findings: &mut Vec<ImportFinding>) {
    let Some(extensions) = data.get_mut("extensions").and_then(Value::as_object_mut) else { return };
    if let Some(Value::String(prompt)) = extensions.get("depth_prompt") {
        let note = json!({"prompt": prompt, "depth": DEFAULT_DEPTH, "role": "system"});
        extensions.insert("depth_prompt".to_owned(), note);
    }
    let Some(note) = extensions.get_mut("depth_prompt").and_then(Value::as_object_mut) else { return };
    let is_used = note.get("prompt").and_then(Value::as_str).is_some_and(|prompt| !prompt.trim().is_empty());
    let mut odd = |value: &Value| {
        if is_used {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let value = value.chars().take(40).collect();
            findings.push(ImportFinding::translated(&FindingDetail::NoteDepth { value, depth: DEFAULT_DEPTH }));
        }
    };
    if let Some(depth) = note.get_mut("depth").filter(|depth| !depth.is_null()) {
        match lenient::count(depth) {
            Some(count) => *depth = count.into(),
            None => {
                odd(depth);
                *depth = DEFAULT_DEPTH.into();
            }
        }
    }
    if let Some(role) = note.get_mut("role") {
        normalize_role(role);
    }
}

/// Replaces the number of a role, as world info has it, by its name.
fn normalize_role(role: &mut Value) {
    let word = role.as_str().map(|word| word.trim().to_ascii_lowercase());
    let number = lenient::count(role);
    let name = match (word.as_deref(), number) {
        (Some("system"), _) | (_, Some(0)) => "system",
        (Some("user"), _) | (_, Some(1)) => "user",
        (Some("assistant"), _) | (_, Some(2)) => "assistant",
        _ => return,
    };
    *role = name.into();
}

/// Uses notes in several languages if the card has no other notes, and reports them.
pub fn use_multilingual_notes(
    card: &mut Map<String, Value>,
    data: &Map<String, Value>,
    findings: &mut Vec<ImportFinding>,
) {
    let Some(Value::Object(notes)) = data.get("creator_notes_multilingual") else { return };
    let told: Vec<(&str, &str)> = notes
        .iter()
        .filter_map(|(language, text)| Some((language.as_str(), text.as_str()?)))
        .filter(|(_, text)| !text.trim().is_empty())
        .collect();
    if told.is_empty() {
        return;
    }
    let has_notes = card.get("creatorNotes").and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty());
    if !has_notes && let Some((_, text)) = told.iter().find(|(language, _)| *language == "en").or(told.first()) {
        card.insert("creatorNotes".to_owned(), text.replace('\0', "").into());
    }
    let languages = told.iter().map(|(language, _)| *language).take(20).collect::<Vec<_>>().join(", ");
    let detail = FindingDetail::MultilingualNotes { count: told.len(), languages };
    findings.push(ImportFinding::kept(&detail));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::card::{self, ImportedCard};

    fn read(card: &Value) -> ImportedCard {
        card::read(card.to_string().as_bytes()).unwrap()
    }

    fn greetings(value: Value) -> (Value, Vec<&'static str>) {
        let read = read(&json!({"data": {"name": "Nell", "alternate_greetings": value}}));
        let codes = read.findings.iter().map(|finding| finding.code).collect();
        (read.card.get("alternateGreetings").cloned().unwrap_or_default(), codes)
    }

    #[test]
    fn card_greetings_of_any_shape_are_read() {
        for (given, expected) in [
            (json!("Rain falls, the lamps go out."), json!(["Rain falls, the lamps go out."])),
            (json!("[\"One, two.\", \"Three.\"]"), json!(["One, two.", "Three."])),
            (json!("[OOC: be kind]"), json!(["[OOC: be kind]"])),
            (json!(" "), json!([])),
            (json!(null), json!(null)),
            (json!(["One.", null, 5, "Three."]), json!(["One.", "5", "Three."])),
            (json!([{"title": "Dusk", "message": "One."}, ["Two."]]), json!(["One.", "Two."])),
            (json!([{"text": "", "message": " ", "content": "One."}]), json!(["One."])),
            (json!({"0": "One.", "1": "Two."}), json!(["One.", "Two."])),
            (json!([]), json!([])),
        ] {
            assert_eq!(greetings(given.clone()), (expected, Vec::new()), "{given}");
        }
        assert_eq!(greetings(json!(["One.", true, {"x": 1}])), (json!(["One."]), vec!["bad_list_items"]));
        assert_eq!(greetings(json!(7)), (json!(null), vec!["odd_field"]));
    }

    #[test]
    fn card_tags_in_one_text_are_split() {
        let read = |tags: Value| read(&json!({"name": "Nell", "tags": tags})).card["tags"].clone();
        assert_eq!(read(json!("sea, old")), json!(["sea", "old"]));
        assert_eq!(read(json!("[\"sea\", \"a, b\"]")), json!(["sea", "a, b"]));
        assert_eq!(read(json!([{"name": "sea"}])), json!(["sea"]));
    }

    #[test]
    fn card_note_depth_of_any_type_is_read_or_reported() {
        for (given, expected, is_told) in [
            (json!("0"), json!(0), false),
            (json!("2"), json!(2), false),
            (json!(2.0), json!(2), false),
            (json!("2.0"), json!(2), false),
            (json!(0), json!(0), false),
            (json!(null), json!(null), false),
            (json!(""), json!(4), true),
            (json!(-1), json!(4), true),
            (json!(1.5), json!(4), true),
            (json!("deep"), json!(4), true),
            (json!([2]), json!(4), true),
        ] {
            let note = json!({"prompt": "NOTE", "role": 1, "depth": given});
            let read = read(&json!({"data": {"name": "Nell", "extensions": {"depth_prompt": note}}}));
            let note = &read.card["metadata"]["extensions"]["depth_prompt"];
            assert_eq!((&note["depth"], &note["role"]), (&expected, &json!("user")), "{given}");
            assert_eq!(read.findings.iter().any(|finding| finding.code == "note_depth"), is_told, "{given}");
        }
    }

    #[test]
    fn card_multilingual_notes_are_used_if_alone() {
        let notes = json!({"de": "Hallo.", "en": "Hello."});
        let read = |data: Value| read(&json!({"data": data}));
        let alone = read(json!({"name": "Nell", "creator_notes": "", "creator_notes_multilingual": notes}));
        assert_eq!((&alone.card["creatorNotes"], alone.findings[0].code), (&json!("Hello."), "notes_languages"));
        let own = read(json!({"name": "Nell", "creator_notes": "Own.", "creator_notes_multilingual": notes}));
        assert_eq!((&own.card["creatorNotes"], own.findings.len()), (&json!("Own."), 1));
    }
}
