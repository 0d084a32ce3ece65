//! Export of chats: the export equals the imported chat, and importing it again gives the same tree.

use std::fs;

use clotho_engine::transfer::{BranchExportFormat, BranchExportOptions, export_branch};
use clotho_store::DatabaseSnapshot;
use proptest::prelude::*;
use serde_json::json;

use super::canonical::canonical_rows;
use super::*;
use crate::support::data_root::{
    DataRoot, chat_file_text, greeting_row, header_row, reply_row, swipes_row, user_row, with_variables,
};

/// Exports the branch up to a node as a chat.
fn export_chat(store: &TestStore, held: &StoredSession, leaf: NodeId) -> String {
    let mut snapshot = DatabaseSnapshot::open(&store.database_path()).unwrap();
    let wish = BranchExportOptions { leaf, format: BranchExportFormat::SillyTavern, hide_tags: &[] };
    let written = export_branch(&mut snapshot, held, &wish, Vec::new()).unwrap().unwrap();
    String::from_utf8(written).unwrap()
}

/// Returns the node at which an imported file ended.
fn imported_leaf(store: &TestStore, file: &str) -> NodeId {
    let (owner, file) = (store.owner, file.to_owned());
    store.read(move |reader| reader.source(owner, &file)).unwrap().node.unwrap()
}

/// Imports a single chat. Returns the store and the export of the chat.
fn import_and_export(text: &str) -> (TestStore, String) {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo Hale");
    root.write_file("chats/Ivo Hale/a.jsonl", text);
    import_folder(&store, root.path());
    let written = export_chat(&store, &only_session(&store), imported_leaf(&store, "chats/Ivo Hale/a.jsonl"));
    (store, written)
}

/// S4-53: the recorded chats are exported as they were imported. They are byte-equal if already canonical, otherwise
/// equal but for the differences named in `canonical.rs`.
#[test]
fn chat_export_equals_recorded_chat() {
    for name in
        ["basic-swipes", "mvu", "legacy-dates", "inconsistent-swipes", "broken-lines", "no-header", "group-ferry"]
    {
        let text = fs::read_to_string(chat_fixture_path(&format!("{name}.jsonl"))).unwrap();
        let (_, written) = import_and_export(&text);
        assert_eq!(canonical_rows(&written), canonical_rows(&text), "{name}");
        assert_eq!(written.lines().count(), canonical_rows(&text).len() + 1, "{name}");
        assert!(!written.ends_with('\n'), "{name}");
        if name == "no-header" {
            assert!(written.starts_with("{\"chat_metadata\":{\"integrity\":"), "{written}");
        } else {
            assert_eq!(written.lines().next(), text.lines().next(), "{name}");
        }
        if ["basic-swipes", "mvu", "legacy-dates"].contains(&name) {
            assert_eq!(written, text.trim_end(), "{name}");
        }
    }
}

/// S4-53: each branch of a tree of several files is exported as its file. A message that several files share has the
/// facts of the longest file and all swipes.
#[test]
fn chat_export_of_tree_matches_branch_files() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo Hale");
    let names = ["Lamp main", "Lamp main - Branch #1", "Lamp main - Branch #2", "Lamp main - Checkpoint #1"];
    let text = |name: &str| fs::read_to_string(chat_fixture_path(&format!("{name}.jsonl"))).unwrap();
    for name in names {
        root.write_file(&format!("chats/Ivo Hale/{name}.jsonl"), &text(name));
    }
    import_folder(&store, root.path());
    let held = only_session(&store);
    for name in names {
        let written = export_chat(&store, &held, imported_leaf(&store, &format!("chats/Ivo Hale/{name}.jsonl")));
        assert_eq!(written.lines().next(), text(name).lines().next(), "{name}");
        let bare = |text: &str| {
            let mut all = canonical_rows(text);
            for row in &mut all {
                row["extra"] = json!({});
                for info in row.get_mut("swipe_info").and_then(Value::as_array_mut).into_iter().flatten() {
                    info["extra"] = json!({});
                }
            }
            all
        };
        assert_eq!(bare(&written), bare(&text(name)), "{name}");
    }
    let written = export_chat(&store, &held, imported_leaf(&store, "chats/Ivo Hale/Lamp main.jsonl"));
    assert_eq!(canonical_rows(&written), canonical_rows(&text("Lamp main")), "the longest says all of it");
}

/// S4-53: messages that were added here are exported too: the world becomes variables of its message, siblings become
/// swipes, and the variables are the current ones.
#[test]
fn chat_export_includes_continued_play() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    let rows = [
        header_row(json!({"note_prompt": "Keep it dark.", "variables": {"mood": "calm"}, "own": [1]})),
        with_variables(greeting_row(), &[json!({"oil": 10})]),
        with_variables(user_row("Hm.", 1), &[json!({"oil": 9})]),
    ];
    root.write_chat("Ivo", "a", &rows);
    import_folder(&store, root.path());
    let held = only_session(&store);
    let sid = held.session.id;
    let mut draft = store.draft(clotho_core::tree::Role::Assistant, clotho_core::tree::Kind::Message, "It burns.");
    draft.delta = crate::support::test_store::delta([
        crate::support::test_store::add_operation("/stat_data/oil", -2),
        crate::support::test_store::set_operation("/mood", json!("grim")),
    ]);
    let reply = store.append(sid, held.session.head, draft);
    let written = export_chat(&store, &only_session(&store), reply);
    let lines: Vec<Value> = written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let metadata = &lines[0]["chat_metadata"];
    assert_eq!((&metadata["note_prompt"], &metadata["own"]), (&json!("Keep it dark."), &json!([1])));
    assert_eq!(metadata["variables"], json!({"mood": "grim"}));
    assert_eq!(lines[3]["name"], "Ivo");
    assert_eq!(lines[3]["variables"], json!([{"stat_data": {"oil": 7}, "schema": {"type": "object"}}]));
    assert_eq!((&lines[3]["swipes"], &lines[3]["swipe_id"]), (&json!(["It burns."]), &json!(0)));
}

/// A chat of any length is written in chunks.
#[test]
fn chat_export_of_long_chat_is_complete() {
    let mut all = vec![header_row(json!({"integrity": "x"})), greeting_row()];
    all.extend(
        (0..200)
            .map(|n| if n % 2 == 0 { user_row(&format!("Hour {n}."), n) } else { reply_row(&format!("Aye {n}."), n) }),
    );
    let text = chat_file_text(&all);
    assert_eq!(import_and_export(&text).1, text);
}

/// Returns a strategy for small chats: speakers, texts, shown alternatives and other facts.
fn any_chat() -> impl Strategy<Value = Vec<Value>> {
    let own =
        prop_oneof![Just(json!({})), Just(json!({"own": {"a": [null, 1.5]}})), Just(json!({"model": "m", "api": "x"}))];
    let date = prop_oneof![
        Just(Value::Null),
        Just(json!(1_687_184_412_123_i64)),
        Just(json!("June 19, 2023 2:20pm")),
        Just(json!("2025-02-03T10:00:00.000Z")),
    ];
    let state = prop_oneof![Just(Value::Null), (0..5_i64).prop_map(|oil| json!({"oil": oil, "bag": [oil]}))];
    let alternative = ("[ab]{0,2}", own.clone(), state);
    let row = (any::<[bool; 3]>(), prop::collection::vec(alternative, 1..4), 0..4_usize, date, own);
    prop::collection::vec(row, 1..7).prop_map(|rows| rows.into_iter().map(message_row).collect())
}

type ArbitraryRow = ([bool; 3], Vec<(String, Value, Value)>, usize, Value, Value);

fn message_row(([is_user, is_hidden, is_listed], all, chosen, date, own): ArbitraryRow) -> Value {
    let chosen = chosen % all.len();
    let texts: Vec<&str> = all.iter().map(|(text, ..)| text.as_str()).collect();
    let mut row = if is_listed && !is_user { swipes_row(&texts, chosen, 1) } else { reply_row(texts[chosen], 1) };
    (row["is_user"], row["is_system"]) = (json!(is_user), json!(is_hidden));
    row["name"] = json!(if is_user { "Wren" } else { "Ivo" });
    match date {
        Value::Null => row.as_object_mut().unwrap().shift_remove("send_date"),
        date => row.as_object_mut().unwrap().insert("send_date".into(), date),
    };
    row["extra"] = all[chosen].1.clone();
    row.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
    let states = all.iter().map(|(.., state)| match state {
        Value::Null => Value::Null,
        state => json!({"stat_data": state, "schema": {}}),
    });
    let states: Vec<Value> =
        if is_listed && !is_user { states.collect() } else { states.skip(chosen).take(1).collect() };
    if states.iter().any(|state| !state.is_null()) {
        row["variables"] = json!(states);
    }
    row
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// S4-53: any chat is exported as it was imported, and its export is imported as the same tree.
    #[test]
    fn chat_export_then_import_round_trips_any_chat(chat in any_chat(), mood in prop::option::of(0..3_i64)) {
        let metadata = mood.map_or(json!({"note_depth": 4}), |mood| json!({"variables": {"mood": mood}}));
        let mut all = vec![header_row(metadata)];
        all.extend(chat);
        let text = chat_file_text(&all);
        let (store, written) = import_and_export(&text);
        prop_assert_eq!(canonical_rows(&written), canonical_rows(&text));
        prop_assert_eq!(written.lines().next(), text.lines().next());
        let (other, again) = import_and_export(&written);
        prop_assert_eq!(&again, &written);
        let tree = |store: &TestStore| {
            let mut told = dump_sessions(store);
            for node in told[0]["nodes"].as_array_mut().unwrap() {
                node["metadata"].as_object_mut().unwrap().shift_remove("provenance");
            }
            told
        };
        prop_assert_eq!(tree(&store), tree(&other));
    }
}
