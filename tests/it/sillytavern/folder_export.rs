//! Export of everything as a folder, which can be imported again.

use std::fs::{self, File};

use clotho_engine::transfer::{ExportOutcome, ExportTarget, export_all};
use clotho_store::DatabaseSnapshot;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::support::data_root::{DataRoot, chat_file_text, greeting_row, header_row, reply_row, swipes_row, user_row};

/// Exports everything of a store as a folder.
pub fn export_folder(store: &TestStore) -> (TempDir, ExportOutcome) {
    let folder = TempDir::new().unwrap();
    let mut snapshot = DatabaseSnapshot::open(&store.database_path()).unwrap();
    let shelf = ExportTarget::<File>::folder(folder.path()).unwrap();
    let (_, gone) = export_all(&mut snapshot, store.owner, shelf, |_| {}).unwrap();
    (folder, gone)
}

/// Returns the sessions without the place of each message in its files.
fn sessions_without_provenance(store: &TestStore) -> Value {
    let mut told = dump_sessions(store);
    for session in told.as_array_mut().unwrap() {
        for node in session["nodes"].as_array_mut().unwrap() {
            node["metadata"].as_object_mut().unwrap().shift_remove("provenance");
            // Replies where two files part are now swipes of one message.
            node["metadata"]["sillytavern"].as_object_mut().unwrap().shift_remove("swipe");
        }
    }
    told
}

/// Returns all files below a folder, by name.
fn list_files(folder: &Path) -> Vec<String> {
    let (mut found, mut next) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(at) = next.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                next.push(path);
            } else {
                found.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// S4-53, S0-05: a whole folder is exported under its own names. In an empty store it gives the same trees, and in the
/// same store it adds nothing.
#[test]
fn import_then_export_keeps_data_folder() {
    let (store, root) = (TestStore::new(), DataRoot::generate(5, 2, 6, 14));
    import_folder(&store, root.path());
    let (folder, gone) = export_folder(&store);
    assert_eq!((gone.characters, gone.chats), (2, 12));
    let names =
        |folder: &Path| list_files(folder).into_iter().filter(|name| name.ends_with("jsonl")).collect::<Vec<_>>();
    assert_eq!(names(folder.path()), names(root.path()));
    let other = TestStore::new();
    let arrived = import_folder(&other, folder.path());
    assert_eq!(arrived.totals.skipped, 0, "{}", arrived.report);
    assert_eq!(sessions_without_provenance(&other), sessions_without_provenance(&store));
    other.assert_healthy();

    let before = dump_sessions(&store);
    let again = import_folder(&store, folder.path());
    assert_eq!((again.totals.sessions, again.totals.messages, again.totals.characters), (0, 0, 0), "{}", again.report);
    assert_eq!(dump_sessions(&store), before);
}

/// S4-53: branches made here become files too, linked and named by their labels. Replies that nobody continued are
/// swipes, not files. Elsewhere everything is one tree again.
#[test]
fn export_writes_new_branches_as_linked_files() {
    // An imported chat with two new branches and two labels.
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    root.write_chat(
        "Ivo",
        "Night",
        &[
            header_row(json!({"note_prompt": "dark"})),
            greeting_row(),
            user_row("Hm.", 1),
            swipes_row(&["x", "y"], 1, 2),
        ],
    );
    import_folder(&store, root.path());
    let held = only_session(&store);
    let sid = held.session.id;
    let hm = node_by_text(&store, &held, "Hm.").id;
    let first = store.append(sid, node_by_text(&store, &held, "y").id, store.user_draft("And on."));
    let second = store.append(sid, node_by_text(&store, &held, "x").id, store.user_draft("Or so."));
    let label = |node, name: &str, following| {
        let name = name.to_owned();
        store.arrange(sid, clotho_core::tree::TreeEdit::Label { node, name, following });
    };
    label(second, "Other / way", true);
    label(hm, "Before", false);
    // One file for each branch or label, linked to the main one.
    let (folder, gone) = export_folder(&store);
    assert_eq!((gone.sessions, gone.chats), (1, 3), "{:?}", list_files(folder.path()));
    let chats: Vec<String> = list_files(folder.path()).into_iter().filter(|name| name.starts_with("chats")).collect();
    assert_eq!(chats, ["chats/Ivo/Before.jsonl", "chats/Ivo/Night.jsonl", "chats/Ivo/Other  way.jsonl"]);
    let lines = |name: &str| -> Vec<Value> {
        let text = fs::read_to_string(folder.path().join(name)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let main = lines(&chats[1]);
    assert_eq!(main[2]["extra"]["bookmark_link"], "Before");
    assert_eq!((&main[3]["swipes"], main[4]["mes"].as_str()), (&json!(["x", "y"]), Some("And on.")));
    assert_eq!(lines(&chats[2])[0]["chat_metadata"]["main_chat"], "Night");
    assert_eq!(lines(&chats[2])[3]["swipe_id"], 0);

    // Imported elsewhere, they are one tree again.
    let other = TestStore::new();
    assert_eq!(import_folder(&other, folder.path()).totals.sessions, 1);
    let there = only_session(&other);
    assert_eq!(child_texts(&other, &there, node_by_text(&other, &there, "Hm.").id), ["x", "y"]);
    let labels = dump_sessions(&other)[0]["labels"].clone();
    assert_eq!(labels, json!([["Before", "Hm.", false], ["Other / way", "Or so.", true]]));
    assert_eq!(store.stored_node(sid, first).node.content, "And on.");
    // In the same store nothing is added.
    let again = import_folder(&store, folder.path());
    assert_eq!((again.totals.sessions, again.totals.messages), (0, 0), "{}", again.report);
}

/// A chat that ends with one swipe, and its branch that goes on from another swipe, both come back as files.
#[test]
fn export_of_chat_that_ends_with_unanswered_swipe_keeps_file() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    let before = [greeting_row(), user_row("Up?", 1)];
    let main = [&[header_row(json!({}))][..], &before, &[swipes_row(&["No.", "Yes."], 1, 2)]].concat();
    let branch = [
        &[header_row(json!({"main_chat": "Dawn"}))][..],
        &before,
        &[swipes_row(&["No."], 0, 2), user_row("Then sleep.", 3)],
    ]
    .concat();
    root.write_chat("Ivo", "Dawn", &main);
    root.write_chat("Ivo", "Dawn - Branch #1", &branch);
    assert_eq!(import_folder(&store, root.path()).totals.sessions, 1);
    let (folder, _) = export_folder(&store);
    let lines = |folder: &TempDir, name: &str| -> Vec<Value> {
        let text = fs::read_to_string(folder.path().join("chats/Ivo").join(name)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let (main, branch) = (lines(&folder, "Dawn.jsonl"), lines(&folder, "Dawn - Branch #1.jsonl"));
    assert_eq!((main.len(), &main[3]["swipes"], &main[3]["mes"]), (4, &json!(["No.", "Yes."]), &json!("Yes.")));
    assert_eq!((branch.len(), &branch[3]["mes"], &branch[4]["mes"]), (5, &json!("No."), &json!("Then sleep.")));
    assert_eq!(branch[0]["chat_metadata"]["main_chat"], "Dawn");
}

/// S4-53: settings of cards and of all chats are exported with them and imported elsewhere.
#[test]
fn export_includes_card_settings() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo").write_lorebook("Atlas", &[("north", "Ice.")]);
    let note = json!({"chara": [{"name": "Ivo", "prompt": "Keep it dark.", "position": 1}]});
    let extension = json!({"regex": [], "note": note, "variables": {"global": {"gold": "7"}}});
    let lore = json!({"globalSelect": [], "charLore": [{"name": "Ivo", "extraBooks": ["Atlas"]}]});
    let settings = json!({"world_info_settings": {"world_info": lore}, "extension_settings": extension});
    root.write_file("settings.json", &settings.to_string());
    import_folder(&store, root.path());
    let (folder, _) = export_folder(&store);
    let gone: Value = serde_json::from_slice(&fs::read(folder.path().join("settings.json")).unwrap()).unwrap();
    for part in ["world_info_settings", "extension_settings"] {
        assert_eq!(gone[part], settings[part], "{gone}");
    }
    let other = TestStore::new();
    let arrived = import_folder(&other, folder.path());
    let owner = other.owner;
    let ivo = other.read(move |reader| reader.characters(owner, 0, 10)).remove(0).card;
    let kept = &ivo["metadata"]["sillytavern"]["note"]["prompt"];
    assert_eq!(
        (ivo["extraLorebookIds"].as_array().unwrap().len(), kept),
        (1, &json!("Keep it dark.")),
        "{}",
        arrived.report
    );
    let again = import_folder(&store, folder.path()).totals;
    assert_eq!((again.characters, again.lorebooks, again.presets), (0, 0, 0));
}

/// S4-53: if the manifest of the export cannot be read, nothing is imported: without it, sessions with the same
/// beginning would become one for good. In an archive among others, only that archive is skipped.
#[test]
fn import_with_invalid_manifest_is_refused() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    root.write_chat("Ivo", "mine", &[greeting_row(), user_row("Mine.", 1)]);
    let held = |store: &TestStore| {
        let owner = store.owner;
        sessions(store).len() + store.read(move |reader| reader.characters(owner, 0, 10)).len()
    };
    // Each invalid manifest is refused by both imports.
    for list in ["{", "[]", "{\"files\": {}}", r#"{"files": {"chats/Ivo/mine.jsonl": {"hash": 1}}, "sessions": {}}"#] {
        root.write_file("clotho.json", list);
        let refused = import_folder_until(&store, root.path(), |_| true).unwrap_err();
        assert!(matches!(&refused, ImportError::BadList(_)), "{list}: {refused}");
        assert!(refused.to_string().contains("clotho.json"), "{refused}");
        let by_door = clotho_engine::transfer::foreign::import(
            store.store(),
            &store.ids,
            ImportSource::Path(root.path().to_owned()),
            import_options(&store),
            |_| true,
        );
        assert!(matches!(store.block_on(by_door), Err(ImportError::BadList(_))), "{list}");
        assert_eq!(held(&store), 0, "{list}");
    }
    // The commands say what to do.
    let (data, path) = (root.path().join("data"), root.path().to_str().unwrap());
    for command in [&["import", path][..], &["import", "sillytavern", path], &["import", path, "--dry-run"]] {
        let (code, _, said) = super::command::run_clotho(&data, command);
        assert!(
            code == Some(1) && said.contains("clotho.json") && said.contains("remove it from the folder"),
            "{said}"
        );
        assert!(!said.contains("continues from there"), "{said}");
    }

    // Only the archive with the invalid manifest is skipped.
    let folder = DataRoot::without_subfolders();
    let chat = fs::read(root.path().join("chats/Ivo/mine.jsonl")).unwrap();
    let packed = super::hostile::zip_archive(&[("clotho.json", b"{"), ("chats/Ivo/mine.jsonl", &chat)]);
    folder.write_bytes("out.zip", &packed);
    folder.write_file("Night.jsonl", &crate::support::data_root::chat_file_text(&[greeting_row(), user_row("Hm.", 1)]));
    let given = ImportSource::Path(folder.path().to_owned());
    let by_door =
        clotho_engine::transfer::foreign::import(store.store(), &store.ids, given, import_options(&store), |_| true);
    let told = store.block_on(by_door).unwrap().report.to_string();
    assert!(told.contains("out.zip") && told.contains("remove it from the folder"), "{told}");
    assert_eq!(only_session(&store).session.title, "Night");

    // Without a manifest the folder is imported.
    fs::remove_file(root.path().join("clotho.json")).unwrap();
    assert_eq!(import_folder(&store, root.path()).totals.sessions, 1);
}

/// In a group, each message keeps its speaker.
#[test]
fn group_chat_export_keeps_speakers() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("odo-brack").write_card("tilda-fenn");
    root.write_file("group chats/ferry.jsonl", &fs::read_to_string(chat_fixture_path("group-ferry.jsonl")).unwrap());
    let group = json!({"id": "1", "name": "Ferry", "members": ["odo-brack.png", "tilda-fenn.png"], "chats": ["ferry"]});
    root.write_file("groups/1.json", &group.to_string());
    import_folder(&store, root.path());
    let (folder, _) = export_folder(&store);
    let told: Value = serde_json::from_slice(&fs::read(folder.path().join("groups/1.json")).unwrap()).unwrap();
    assert_eq!((&told["members"], &told["chats"]), (&group["members"], &group["chats"]));
    let other = TestStore::new();
    import_folder(&other, folder.path());
    assert_eq!(sessions_without_provenance(&other), sessions_without_provenance(&store));
    let held = only_session(&other);
    let cards: Vec<_> = held.session.cards.iter().map(|card| card.id).collect();
    assert_eq!(node_by_text(&other, &held, "Hurry up.").character, Some(cards[1]));
}

/// Chats of one card that were imported one by one may have the same name, also in another case. Each gets a file of its
/// own, and the index leads to it.
#[test]
fn export_of_chats_with_same_name_writes_each_once() {
    let (store, root) = (TestStore::new(), DataRoot::without_subfolders());
    for (folder, name, text) in [("a", "Night", "One."), ("b", "Night", "Two."), ("c", "night", "Three.")] {
        let rows = [reply_row(text, 0), user_row("Hm.", 1)];
        let chat = root.write_file(&format!("{folder}/{name}.jsonl"), &chat_file_text(&rows));
        assert_eq!(import_folder(&store, &chat).totals.sessions, 1, "{text}");
    }
    let (folder, gone) = export_folder(&store);
    assert_eq!((gone.sessions, gone.chats), (3, 3));
    let mut chats = list_files(folder.path());
    chats.retain(|name| name.ends_with(".jsonl"));
    let mut lower: Vec<String> = chats.iter().map(|name| name.to_lowercase()).collect();
    lower.sort();
    let expected = ["night 2", "night 3", "night"].map(|name| format!("chats/ivo/{name}.jsonl"));
    assert_eq!(lower, expected, "{chats:?}");
    let index: Value = serde_json::from_slice(&fs::read(folder.path().join("clotho.json")).unwrap()).unwrap();
    assert!(chats.iter().all(|name| index["files"][name]["hash"].is_string()), "{index}");
    // It adds nothing here, and gives the same three stories elsewhere.
    let again = import_folder(&store, folder.path()).totals;
    assert_eq!((again.unchanged, again.sessions, again.messages), (3, 0, 0));
    let other = TestStore::new();
    assert_eq!(import_folder(&other, folder.path()).totals.sessions, 3);
    let mut texts: Vec<Vec<String>> =
        sessions(&other).iter().map(|held| other.visible_texts(held.session.id)).collect();
    texts.sort();
    assert_eq!(texts, [["One.", "Hm."], ["Three.", "Hm."], ["Two.", "Hm."]]);
    other.assert_healthy();
}

/// File names never lead outside the folder, and each file is written once.
#[test]
fn export_file_names_are_safe_and_unique() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    for (n, name) in ["../../up", "CON", "a/b", "Same", "same"].iter().enumerate() {
        let card = json!({"spec": "chara_card_v2", "data": {"name": name, "first_mes": "Good evening."}});
        root.write_file(&format!("characters/{n}.json"), &card.to_string());
    }
    root.write_chat("0", "Night", &[greeting_row(), user_row("Hm.", 1), reply_row("Aye.", 2)]);
    import_folder(&store, root.path());
    store.execute_sql("UPDATE sources SET name = replace(name, 'characters/', 'characters/../')");
    let (folder, gone) = export_folder(&store);
    assert_eq!(gone.characters, 5);
    let cards: Vec<String> =
        list_files(folder.path()).into_iter().filter(|name| name.starts_with("characters")).collect();
    let mut expected = ["_CON", "ab", "Same", "same 2", "up"].map(|name| format!("characters/{name}.png"));
    expected.sort();
    assert_eq!(cards, expected);
}
