//! Maps card fields to ours, in both directions. Unknown fields of `data` are kept under their own names in `metadata`.
//! Unknown fields outside `data` are kept in `metadata.card`.

use serde_json::{Map, Value, json};

use super::{CardImportError, ExportCard, ImportedCard, agnai, lenient_fields, unsupported};
use crate::interop::{FindingDetail, ImportFinding, lenient};

/// Maximum number of characters of a name.
const MAX_NAME_CHARS: usize = 200;

/// Text fields: the card's name and ours.
const TEXT_FIELDS: [(&str, &str); 8] = [
    ("description", "description"),
    ("personality", "personality"),
    ("scenario", "scenario"),
    ("first_mes", "firstMessage"),
    ("mes_example", "exampleMessages"),
    ("creator_notes", "creatorNotes"),
    ("system_prompt", "systemPrompt"),
    ("post_history_instructions", "postHistoryInstructions"),
];

/// Lists of texts: the card's name and ours.
const LIST_FIELDS: [(&str, &str); 2] = [("alternate_greetings", "alternateGreetings"), ("tags", "tags")];

/// The oldest names of version 1 fields and their later names.
const LEGACY_FIELDS: [(&str, &str); 5] = [
    ("char_name", "name"),
    ("char_persona", "description"),
    ("world_scenario", "scenario"),
    ("char_greeting", "first_mes"),
    ("example_dialogue", "mes_example"),
];

/// Fields of version 1, also in their oldest form, that no other kind of file has.
const TYPICAL_FIELDS: [&str; 4] = ["first_mes", "mes_example", "char_greeting", "char_persona"];

/// Fields that writers repeat outside `data` or use for themselves. They are regenerated on export.
const DUPLICATE_FIELDS: [&str; 14] = [
    "name",
    "description",
    "personality",
    "scenario",
    "first_mes",
    "mes_example",
    "tags",
    "talkativeness",
    "creatorcomment",
    "creator",
    "avatar",
    "chat",
    "fav",
    "json_data",
];

/// Keys of `metadata` that this program uses. A card's own fields with these names are kept in `metadata.card.data`.
const RESERVED_METADATA: [&str; 2] = ["card", "clotho"];

/// Reads the JSON of a card of any version. `file_stem` becomes the name of a card without one. A file with neither a
/// name nor the fields of a card is refused.
pub fn read(card: Value, file_stem: Option<&str>) -> Result<ImportedCard, CardImportError> {
    let Value::Object(card) = card else { return Err(CardImportError::NoName) };
    let card = if agnai::is_agnai_character(&card) { agnai::to_card(card) } else { card };
    let mut read = ImportedCard::default();
    let file_stem = file_stem.filter(|_| is_card(&card));
    let (mut data, mut beside) = split_fields(card, &mut read.findings);
    read.card.insert("name".to_owned(), take_name(&mut data, &beside, file_stem, &mut read.findings)?.into());
    // Convert the known fields.
    for (theirs, ours) in TEXT_FIELDS {
        if let Some(text) = take_field(&mut data, theirs, as_text, &mut read.findings) {
            read.card.insert(ours.to_owned(), text.into());
        }
    }
    for (theirs, ours) in LIST_FIELDS {
        if let Some(list) = take_list(&mut data, theirs, &mut read.findings) {
            read.card.insert(ours.to_owned(), list.into());
        }
    }
    lenient_fields::use_multilingual_notes(&mut read.card, &data, &mut read.findings);
    lenient_fields::normalize_extensions(&mut data, &mut read.findings);
    // Take the book and the private fields out, and drop repeated fields.
    read.book = take_book(&mut data, &mut read.findings);
    read.is_favourite = [beside.get("fav").cloned(), remove_private_fields(&mut data)].iter().flatten().any(is_true);
    read.open_chat = beside.get("chat").and_then(Value::as_str).map(str::to_owned);
    for copy in DUPLICATE_FIELDS {
        beside.shift_remove(copy);
    }
    // Keep everything unknown in `metadata`.
    let mut apart = Map::new();
    for name in RESERVED_METADATA {
        data.shift_remove(name).map(|value| apart.insert(name.to_owned(), value));
    }
    if !apart.is_empty() {
        beside.insert("data".to_owned(), apart.into());
    }
    let mut metadata = data;
    metadata.insert("card".to_owned(), beside.into());
    read.findings.extend(unsupported::find_unsupported(&read.card, &metadata, read.book.as_ref()));
    read.card.insert("metadata".to_owned(), metadata.into());
    Ok(read)
}

/// Returns whether a file without a name is a card nevertheless.
fn is_card(card: &Map<String, Value>) -> bool {
    // Lorebooks have a `spec` too.
    if let Some(spec) = card.get("spec").and_then(Value::as_str) {
        return spec.trim().to_ascii_lowercase().starts_with("chara_card");
    }
    let has = |name: &str| card.get(name).is_some_and(Value::is_string);
    let data = card.get("data").and_then(Value::as_object);
    data.is_some_and(|data| TEXT_FIELDS.iter().any(|(theirs, _)| data.get(*theirs).is_some_and(Value::is_string)))
        || TYPICAL_FIELDS.into_iter().any(has)
        || (has("personality") && has("description"))
}

/// Splits a card into its own fields and the fields outside `data`.
fn split_fields(
    mut card: Map<String, Value>,
    findings: &mut Vec<ImportFinding>,
) -> (Map<String, Value>, Map<String, Value>) {
    // Versions 2 and 3: the fields are in `data`.
    if let Some(Value::Object(data)) = card.get("data") {
        let mut data = data.clone();
        card.shift_remove("data");
        // Some writers leave a field out of `data` and have it outside only. An empty text in `data` counts, because
        // editors do not always clear the copy; a name cannot be empty.
        if name_in(&data, "name").is_none() {
            data.shift_remove("name");
        }
        let known = TEXT_FIELDS.iter().chain(&LIST_FIELDS).map(|(theirs, _)| *theirs);
        for theirs in known.filter(|theirs| card.get(*theirs).is_some_and(|outside| !outside.is_null())) {
            if data.get(theirs).is_none_or(Value::is_null) {
                data.insert(theirs.to_owned(), card.get(theirs).cloned().unwrap_or_default());
            }
        }
        let differ = TEXT_FIELDS.iter().map(|(theirs, _)| *theirs).chain(["name"]).filter(|theirs| {
            let (inside, outside) = (data.get(*theirs), card.get(*theirs));
            let is_only_outside = *theirs == "name" && inside.is_none();
            outside.is_some_and(|text| !text.is_null() && text.as_str() != Some("") && inside != Some(text))
                && !is_only_outside
        });
        let differ: Vec<&str> = differ.collect();
        if !differ.is_empty() {
            let detail = FindingDetail::FieldsTwice { count: differ.len(), fields: differ.join(", ") };
            findings.push(ImportFinding::skipped(&detail));
        }
        return (data, card);
    }
    // Version 1: rename old fields, and move everything else out of the card.
    for (older, theirs) in LEGACY_FIELDS {
        let is_filled = |name: &str| card.get(name).is_some_and(|value| !is_blank(value));
        if !card.contains_key(theirs) || (!is_filled(theirs) && is_filled(older)) {
            card.shift_remove(older).map(|value| card.insert(theirs.to_owned(), value));
        }
    }
    let mut beside = Map::new();
    for name in ["spec", "spec_version", "create_date"] {
        card.shift_remove(name).map(|value| beside.insert(name.to_owned(), value));
    }
    if let Some(words) =
        card.shift_remove("creatorcomment").filter(|words| words.as_str().is_some_and(|w| !w.is_empty()))
    {
        let other = card.insert("creator_notes".to_owned(), words);
        other.map(|other| beside.insert("creator_notes".to_owned(), other));
    }
    let talks = card.shift_remove("talkativeness");
    for name in ["avatar", "chat", "fav", "json_data"] {
        card.shift_remove(name).map(|value| beside.insert(name.to_owned(), value));
    }
    if let (Some(talks), Some(extensions)) =
        (talks, card.entry("extensions").or_insert_with(|| json!({})).as_object_mut())
    {
        extensions.entry("talkativeness").or_insert(talks);
    }
    (card, beside)
}

/// Takes the book out of `data`. A list is one of entries, and a text may contain the book as JSON.
fn take_book(data: &mut Map<String, Value>, findings: &mut Vec<ImportFinding>) -> Option<Value> {
    let parsed = |text: String| crate::interop::text::parse_json_lenient(&text).unwrap_or(Value::String(text));
    let book = match data.shift_remove("character_book")? {
        Value::String(text) => parsed(text),
        book => book,
    };
    match book {
        Value::Object(_) => Some(book),
        Value::Array(entries) if entries.is_empty() => None,
        Value::Array(entries) => Some(json!({"entries": entries, "extensions": {}})),
        Value::Null => None,
        Value::String(text) if text.trim().is_empty() => None,
        _ => {
            let detail = FindingDetail::UnusualField { field: "character_book".to_owned() };
            findings.push(ImportFinding::skipped(&detail));
            None
        }
    }
}

/// Returns whether a value is null, or a text without a visible character.
fn is_blank(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(is_blank_text)
}

/// Returns whether a text has only white space, control characters and characters without width.
fn is_blank_text(text: &str) -> bool {
    let is_invisible = |c: char| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
    };
    text.chars().all(is_invisible)
}

/// Returns a name that is not blank. A number is its digits.
fn name_in(fields: &Map<String, Value>, field: &str) -> Option<String> {
    as_text(fields.get(field)?).filter(|name| !is_blank_text(name))
}

/// Takes the name out of `data`; one that stands only outside counts too. A card without a name gets that of its file.
fn take_name(
    data: &mut Map<String, Value>,
    beside: &Map<String, Value>,
    file_stem: Option<&str>,
    findings: &mut Vec<ImportFinding>,
) -> Result<String, CardImportError> {
    let own = ["name", "char_name"].iter().find_map(|field| name_in(data, field).or_else(|| name_in(beside, field)));
    data.shift_remove("name");
    let name = match own {
        Some(name) => name,
        None => {
            let stem = file_stem.filter(|stem| !is_blank_text(stem)).ok_or(CardImportError::NoName)?;
            findings.push(ImportFinding::translated(&FindingDetail::NameOfFile {}));
            stem.to_owned()
        }
    };
    let short: String = name.trim().chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect();
    if is_blank_text(&short) {
        return Err(CardImportError::NoName);
    }
    if name.trim().chars().count() > MAX_NAME_CHARS {
        findings.push(ImportFinding::translated(&FindingDetail::NameCut { most: MAX_NAME_CHARS }));
    }
    Ok(short)
}

/// Removes and returns the favourite flag, which is private to the owner.
fn remove_private_fields(data: &mut Map<String, Value>) -> Option<Value> {
    data.get_mut("extensions").and_then(Value::as_object_mut)?.shift_remove("fav")
}

/// Returns whether a flag is set. Older writers store flags as text.
fn is_true(value: &Value) -> bool {
    lenient::truth(value).unwrap_or_default()
}

/// Takes a field out of `data` and converts it. A field of an unexpected shape stays there and is reported.
fn take_field<T>(
    data: &mut Map<String, Value>,
    name: &str,
    read: impl FnOnce(&Value) -> Option<T>,
    findings: &mut Vec<ImportFinding>,
) -> Option<T> {
    let value = data.get(name)?;
    if value.is_null() {
        data.shift_remove(name);
        return None;
    }
    let found = read(value);
    if found.is_some() {
        data.shift_remove(name);
    } else {
        findings.push(ImportFinding::kept(&FindingDetail::UnusualField { field: name.to_owned() }));
    }
    found
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.replace('\0', "")),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Takes a list of texts out of `data`, and reports the entries that are no texts. A field of another shape stays
/// there and is reported.
fn take_list(data: &mut Map<String, Value>, name: &str, findings: &mut Vec<ImportFinding>) -> Option<Vec<String>> {
    let mut unreadable = 0;
    let found = take_field(data, name, |value| lenient_fields::texts(name, value, &mut unreadable), findings);
    if unreadable > 0 {
        let detail = FindingDetail::UnreadableListItems { count: unreadable, field: name.to_owned() };
        findings.push(ImportFinding::skipped(&detail));
    }
    found
}

/// Writes a card as version 3. Repeats the fields of version 1 at the top for older readers.
pub fn write(sheet: &ExportCard<'_>) -> Value {
    let own = |name: &str| sheet.card.get(name).filter(|value| !value.is_null()).cloned();
    let mut metadata = own("metadata").and_then(|value| value.as_object().cloned()).unwrap_or_default();
    let own_settings = metadata.shift_remove("clotho");
    let mut beside = metadata.shift_remove("card").and_then(|value| value.as_object().cloned()).unwrap_or_default();
    // Write the known fields, then the unknown ones from `metadata`.
    let mut data = Map::new();
    data.insert("name".to_owned(), own("name").unwrap_or_default());
    for (theirs, ours) in TEXT_FIELDS {
        data.insert(theirs.to_owned(), own(ours).unwrap_or_else(|| "".into()));
    }
    for (theirs, ours) in LIST_FIELDS {
        data.insert(theirs.to_owned(), own(ours).unwrap_or_else(|| json!([])));
    }
    data.insert("creator".to_owned(), "".into());
    data.insert("character_version".to_owned(), "".into());
    data.insert("extensions".to_owned(), json!({}));
    data.extend(sheet.book.clone().map(|book| ("character_book".to_owned(), book)));
    let is_known =
        |name: &str| name == "name" || TEXT_FIELDS.iter().chain(&LIST_FIELDS).any(|(theirs, _)| *theirs == name);
    data.extend(metadata.into_iter().filter(|(name, _)| !is_known(name)));
    data.extend(beside.shift_remove("data").and_then(|apart| apart.as_object().cloned()).unwrap_or_default());
    // Set the favourite flag and merge the `clotho` extension.
    if let Some(extensions) = data.get_mut("extensions").and_then(Value::as_object_mut) {
        extensions.insert("fav".to_owned(), sheet.is_favourite.into());
        let came = extensions.shift_remove("clotho");
        extensions.extend(merge_extensions(came, own_settings).map(|own_settings| ("clotho".to_owned(), own_settings)));
    }
    // Repeat the fields of version 1 outside `data`.
    beside.insert("spec".to_owned(), "chara_card_v3".into());
    beside.insert("spec_version".to_owned(), "3.0".into());
    let copies = ["name", "description", "personality", "scenario", "first_mes", "mes_example", "tags", "creator"];
    beside.extend(copies.iter().filter_map(|name| Some(((*name).to_owned(), data.get(*name)?.clone()))));
    let notes = data.get("creator_notes").cloned().unwrap_or_default();
    beside.insert("creatorcomment".to_owned(), notes);
    beside.insert("avatar".to_owned(), "none".into());
    beside.insert("fav".to_owned(), sheet.is_favourite.into());
    beside.extend(sheet.open_chat.clone().map(|chat| ("chat".to_owned(), chat.into())));
    beside.entry("create_date").or_insert_with(|| sheet.created.clone().into());
    let talks = data.get("extensions").and_then(|extensions| extensions.get("talkativeness")).cloned();
    beside.extend(talks.map(|talks| ("talkativeness".to_owned(), talks)));
    beside.insert("data".to_owned(), data.into());
    beside.into()
}

/// Merges the imported `clotho` extension with the one set here. For equal keys the latter wins; the plugins of both
/// are suggested.
fn merge_extensions(came: Option<Value>, own: Option<Value>) -> Option<Value> {
    let (Some(Value::Object(mut came)), Some(Value::Object(mut own))) = (came.clone(), own.clone()) else {
        return own.or(came);
    };
    if let (Some(Value::Array(theirs)), Some(Value::Array(ours))) = (came.get("plugins"), own.get_mut("plugins")) {
        let known: Vec<Value> = ours.iter().filter_map(|plugin| plugin.get("id").cloned()).collect();
        let is_new = |plugin: &&Value| plugin.get("id").is_none_or(|id| !known.contains(id));
        ours.extend(theirs.iter().filter(is_new).cloned());
    }
    came.extend(own);
    Some(came.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_card(value: Value) -> Map<String, Value> {
        read(value, None).unwrap().card
    }

    #[test]
    fn card_v1_to_v3_is_read() {
        let expected = json!({"name": "Rin", "description": "a keeper", "firstMessage": "Hello."});
        for card_of in [
            json!({"name": "Rin", "description": "a keeper", "first_mes": "Hello."}),
            json!({"char_name": "Rin", "char_persona": "a keeper", "char_greeting": "Hello."}),
            json!({"spec": "chara_card_v2", "data": {"name": "Rin", "description": "a keeper", "first_mes": "Hello."}}),
            json!({"spec": "chara_card_v3", "name": "Rin", "description": "a keeper", "first_mes": "Hello."}),
            json!({"name": "Other", "data": {"name": " Rin\u{0} ", "description": "a keeper", "first_mes": "Hello."}}),
        ] {
            let mut read = read_card(card_of.clone());
            read.remove("metadata");
            assert_eq!(Value::Object(read), expected, "{card_of}");
        }
        for bad in [json!({}), json!([]), json!({"name": true}), json!({"name": "  "}), json!({"data": {"name": null}})]
        {
            assert_eq!(read(bad, None).unwrap_err(), CardImportError::NoName);
        }
    }

    #[test]
    fn card_unknown_fields_survive_export() {
        let data = json!({
            "name": "Rin", "odd": [1, {"two": null}], "clotho": {"model": "x"}, "card": 5,
            "extensions": {"fav": true, "third": {"a": 1.50}}, "description": {"not": "a text"},
        });
        let card = json!({"spec": "chara_card_v2", "spec_version": "2.0", "beside": 42, "fav": true, "data": data});
        let read = read(card, None).unwrap();
        let metadata = &read.card["metadata"];
        assert_eq!(metadata["odd"], json!([1, {"two": null}]));
        assert_eq!(metadata["clotho"], Value::Null);
        assert_eq!(metadata["card"]["beside"], 42);
        let out = write(&ExportCard { card: read.card.clone(), ..ExportCard::default() });
        assert_eq!(out["beside"], 42);
        assert_eq!(out["data"]["odd"], json!([1, {"two": null}]));
        assert_eq!((&out["data"]["clotho"], &out["data"]["card"]), (&json!({"model": "x"}), &json!(5)));
        assert_eq!(out["data"]["extensions"], json!({"third": {"a": 1.50}, "fav": false}));
        assert_eq!(read.findings.iter().filter(|finding| finding.code == "odd_field").count(), 1);
    }

    /// S4-2: the imported `clotho` extension is exported again, merged with what was set here.
    #[test]
    fn card_clotho_extension_survives_export() {
        let theirs = json!({"rules": {"files": {}}, "plugins": [{"id": "tide"}], "model": "x"});
        let card = json!({"data": {"name": "Rin", "extensions": {"clotho": theirs}}});
        let read = read(card, None).unwrap();
        let mut card = read.card;
        card["metadata"]["clotho"] = json!({"plugins": [{"id": "mvu"}], "model": "y"});
        let out = write(&ExportCard { card, ..ExportCard::default() });
        let both = json!({"rules": {"files": {}}, "plugins": [{"id": "mvu"}, {"id": "tide"}], "model": "y"});
        assert_eq!(out["data"]["extensions"]["clotho"], both);
    }

    #[test]
    fn card_legacy_field_shapes_are_read() {
        let read = read_card(json!({
            "name": "Rin", "tags": "a, b,, c", "creatorcomment": "notes", "talkativeness": 0.9, "personality": 5,
            "alternate_greetings": ["x", null, 3],
        }));
        assert_eq!(read["tags"], json!(["a", "b", "c"]));
        assert_eq!(read["creatorNotes"], "notes");
        assert_eq!(read["personality"], "5");
        assert_eq!(read["alternateGreetings"], json!(["x", "3"]));
        assert_eq!(read["metadata"]["extensions"]["talkativeness"], json!(0.9));
    }

    #[test]
    fn card_name_beside_data_is_used_if_data_has_none() {
        for inside in
            [json!({"name": ""}), json!({"name": null}), json!({}), json!({"name": " \n"}), json!({"name": "\u{200b}"})]
        {
            let found = read(json!({"spec": "chara_card_v2", "name": "Nell", "data": inside}), None).unwrap();
            assert_eq!((&found.card["name"], found.findings.len()), (&json!("Nell"), 0), "{inside}");
        }
        let outside = json!({"name": "x", "first_mes": "Evening.", "tags": ["a"], "data": {"name": "Nell", "tags": null, "scenario": ""}});
        let card = read_card(outside);
        assert_eq!((&card["firstMessage"], &card["tags"]), (&json!("Evening."), &json!(["a"])), "data has none");
    }

    #[test]
    fn card_without_name_gets_name_of_file() {
        let card = json!({"spec": "chara_card_v2", "data": {"name": "", "first_mes": "Evening."}});
        assert_eq!(read(card.clone(), None).unwrap_err(), CardImportError::NoName);
        let found = read(card, Some("Nell")).unwrap();
        assert_eq!((&found.card["name"], found.findings[0].code), (&json!("Nell"), "name_of_file"));
        assert!(read(json!({"hello": 1}), Some("Nell")).is_err(), "it is no card");
    }

    /// Files of other kinds have fields such as a description too.
    #[test]
    fn card_without_name_and_card_fields_is_refused() {
        for other in [
            json!({"description": "a package"}),
            json!({"personality": "kind"}),
            json!({"scenario": "x", "system_prompt": "y"}),
            json!({"spec": "lorebook_v3", "data": {"description": "x", "entries": []}}),
            json!({"data": {"id": 1}}),
        ] {
            assert_eq!(read(other.clone(), Some("Nell")).unwrap_err(), CardImportError::NoName, "{other}");
        }
        for card in [
            json!({"spec": "chara_card_v3", "data": {}}),
            json!({"data": {"description": "a keeper"}}),
            json!({"first_mes": "Evening."}),
            json!({"char_persona": "a keeper"}),
            json!({"personality": "kind", "description": "a keeper"}),
        ] {
            assert_eq!(read(card.clone(), Some("Nell")).unwrap().card["name"], "Nell", "{card}");
        }
    }

    #[test]
    fn card_name_in_any_form_is_read() {
        for card in [
            json!({"name": 47}),
            json!({"name": "47"}),
            json!({"name": "", "char_name": "47"}),
            json!({"name": "\u{200b}\u{feff}", "char_name": "47"}),
            json!({"data": {"name": 47}}),
            json!({"data": {"name": "\u{2060}", "char_name": "47"}}),
        ] {
            assert_eq!(read_card(card.clone())["name"], "47", "{card}");
        }
        assert_eq!(read(json!({"name": "\u{200b}\u{feff}\u{2060}"}), None).unwrap_err(), CardImportError::NoName);
    }

    #[test]
    fn card_v1_empty_fields_give_way_to_older_ones() {
        let card = read_card(json!({
            "name": "Rin", "description": "", "char_persona": "a keeper", "first_mes": null, "char_greeting": "Hello.",
            "scenario": " ", "world_scenario": "a tower", "mes_example": "own", "example_dialogue": "other",
        }));
        assert_eq!((&card["description"], &card["firstMessage"]), (&json!("a keeper"), &json!("Hello.")));
        assert_eq!((&card["scenario"], &card["exampleMessages"]), (&json!("a tower"), &json!("own")));
    }

    #[test]
    fn card_book_of_any_shape_is_read_or_reported() {
        let book_of = |book: Value| read(json!({"data": {"name": "Rin", "character_book": book}}), None).unwrap();
        let entry = json!({"keys": ["a"], "content": "x"});
        for book in [json!({"entries": [entry]}), json!([entry]), json!({"entries": [entry]}).to_string().into()] {
            assert_eq!(book_of(book.clone()).book.unwrap()["entries"], json!([entry]), "{book}");
        }
        for book in [json!(null), json!(""), json!([])] {
            let read = book_of(book);
            assert_eq!((read.book, read.findings.len()), (None, 0));
        }
        assert_eq!(book_of(json!("no book")).findings[0].code, "odd_field");
    }
}
