//! Lorebooks: the recorded ones are read and exported again.

use clotho_compat::interop::lorebook::{self, LorebookImportError};
use clotho_compat::interop::png;
use serde_json::{Map, Value, json};

use super::*;

/// Fields where SillyTavern writes a number instead of a boolean, or `false` instead of "use the global setting".
const OTHERWISE: [&str; 3] =
    ["/entries/0/useProbability", "/entries/0/extensions/use_group_scoring", "/entries/1/extensions/use_group_scoring"];

fn lost_paths(expected: &Value, got: &Map<String, Value>) -> Vec<String> {
    let mut lost = Vec::new();
    collect_missing_paths(expected, &Value::Object(got.clone()), "", &mut lost);
    lost.retain(|at| !OTHERWISE.contains(&at.as_str()));
    lost
}

/// Every recorded lorebook is read into the same entries, and is embedded in a card as recorded.
#[test]
fn lorebooks_recorded_files_match_expected_entries() {
    for case in case_files("books") {
        let expected = read_fixture_json(&format!("books/{}.expect.json", case.trim_end_matches(".json")));
        let mut book = lorebook::read(&read_fixture(&format!("books/{case}"))).unwrap();
        assert_eq!(lost_paths(&expected["stored"], &book), Vec::<String>::new(), "{case}");
        let in_card = &expected["as_character_book"];
        if in_card.is_object() {
            book.insert("name".into(), in_card["name"].clone());
            let out = lorebook::to_card(&book);
            assert_eq!(lost_paths(in_card, out.as_object().unwrap()), Vec::<String>::new(), "{case}: {out:#}");
            let back = lorebook::from_card(&out);
            for (uid, entry) in book["entries"].as_object().unwrap() {
                let mut there = back["entries"][uid].clone();
                there.as_object_mut().unwrap().retain(|name, _| name != "extensions");
                let mut entry = entry.clone();
                entry
                    .as_object_mut()
                    .unwrap()
                    .retain(|name, _| !matches!(name.as_str(), "extensions" | "characterFilter"));
                assert_eq!(there, entry, "{case}: all of an entry comes back");
            }
        }
    }
}

/// The lorebooks in the recorded cards give the same entries, and are exported unchanged.
#[test]
fn card_lorebooks_match_recording_and_round_trip() {
    let mut seen = 0;
    for case in case_files("cards") {
        let expected = read_fixture_json(&format!("cards/{}.expect.json", case.rsplit_once('.').unwrap().0));
        if !expected["book_as_lorebook"].is_object() {
            continue;
        }
        seen += 1;
        let card_book =
            clotho_compat::interop::card::read(&read_fixture(&format!("cards/{case}"))).unwrap().book.unwrap();
        let book = lorebook::from_card(&card_book);
        assert_eq!(lost_paths(&expected["book_as_lorebook"], &book), Vec::<String>::new(), "{case}");
        let out = lorebook::to_card(&book);
        let mut missing = Vec::new();
        collect_missing_paths(&card_book, &out, "", &mut missing);
        assert_eq!(missing, Vec::<String>::new(), "{case}");
        assert_eq!(lorebook::read(card_book.to_string().as_bytes()).unwrap(), book, "by itself as in the card");
    }
    assert!(seen > 2, "{seen}");
}

/// Lorebooks of other programs keep unknown fields. Entries with duplicate numbers get new ones.
#[test]
fn lorebooks_of_other_programs_keep_unknown_fields() {
    let novel = lorebook::read(&read_fixture("books/novel.json")).unwrap();
    assert_eq!(novel["entries"]["0"]["extensions"]["novel"]["forceActivation"], true);
    let agnai = json!({"kind": "memory", "name": "Keep", "entries": [
        {"name": "Lamp", "entry": "It burns.", "keywords": ["lamp", "light"], "weight": 3, "enabled": true, "priority": 9},
    ]});
    let agnai = lorebook::read(agnai.to_string().as_bytes()).unwrap();
    let entry = &agnai["entries"]["0"];
    assert_eq!(
        (&agnai["name"], &entry["key"], &entry["content"]),
        (&json!("Keep"), &json!(["lamp", "light"]), &json!("It burns."))
    );
    assert_eq!(
        (&entry["order"], &entry["disable"], &entry["extensions"]),
        (&json!(3), &json!(false), &json!({"agnai": {"priority": 9}}))
    );
    let twice = json!({"entries": [{"id": 1, "keys": ["a"]}, {"id": 1, "keys": ["b"]}, {"id": -4, "keys": ["c"]}, {"id": "x", "keys": []}]});
    let twice = lorebook::from_card(&twice);
    assert_eq!(twice["entries"].as_object().unwrap().len(), 4, "{twice:?}");
    assert_eq!(lorebook::to_card(&twice)["entries"].as_array().unwrap().len(), 4);
    let picture = clotho_compat::interop::picture::png_or_placeholder(None);
    let text = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, read_fixture("books/novel.json"));
    let chunk = png::encode_chunk(b"tEXt", &[b"naidata\0", text.as_bytes()].concat());
    let file = clotho_compat::interop::picture::insert_chunks(&picture, &chunk);
    assert_eq!(lorebook::read(&file).unwrap(), novel);
}

/// A file that is not a lorebook is refused with a reason.
#[test]
fn lorebook_invalid_file_error_names_reason() {
    let check = |file: &[u8], expected: &str| {
        let error = lorebook::read(file).unwrap_err();
        assert!(error.to_string().contains(expected) && !error.hint().is_empty(), "{error}");
    };
    check(b"", "not JSON");
    check(b"[]", "no entries");
    check(b"{\"entries\": 5}", "no entries");
    check(b"\xff", "not UTF-8");
    check(&clotho_compat::interop::picture::png_or_placeholder(None), "contains no lorebook");
    check(("{\"entries\":".to_owned() + &"[".repeat(5_000)).as_bytes(), "127 levels");
    assert_eq!(lorebook::read(&vec![b' '; lorebook::MAX_FILE_BYTES + 1]), Err(LorebookImportError::TooLong));
}
