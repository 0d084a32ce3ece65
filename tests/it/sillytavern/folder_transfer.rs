//! Export from one store and import into another. The manifest of the export holds what chats cannot.

use std::fs;

use clotho_core::ids::{CharacterId, PresetId};
use clotho_core::tree::{CardRef, Kind, PluginSetting, Role, TreeEdit};
use clotho_store::{CardFile, CharacterCard, StoredPreset};
use serde_json::{Map, json};

use super::folder_export::export_folder;
use super::*;
use crate::support::data_root::{DataRoot, greeting_row, header_row, reply_row, user_row};
use crate::transfer::row_counts;

/// Stores a character.
fn add_character(store: &TestStore, card: &Value) -> CharacterId {
    let (id, at, owner) = (CharacterId::new(store.ids.next_id(store.now())), store.now(), store.owner);
    let character = CharacterCard { id, card: card.as_object().unwrap().clone(), created: at, updated: at };
    store.write(move |tx| tx.put_character(owner, &character)).unwrap();
    id
}

fn characters(store: &TestStore) -> Vec<CharacterCard> {
    let owner = store.owner;
    store.read(move |reader| reader.characters(owner, 0, 100))
}

/// Creates a session of a character: a greeting, then messages of user and character in turns.
fn create_session(store: &TestStore, player: CharacterId, title: &str, texts: &[&str]) -> (SessionId, Vec<NodeId>) {
    let root = store.draft(Role::System, Kind::Root, "");
    let greeting = store.draft(Role::Assistant, Kind::Greeting, "Good evening.");
    let mut session = store.unsaved_session(root.id);
    session.title = title.into();
    session.plugins = vec![PluginSetting {
        id: "lamp".into(),
        enabled: true,
        config: Map::new(),
        grants: vec!["dice".into()],
        refused: vec![],
    }];
    let (id, at, owner) = (session.id, store.now(), store.owner);
    let mut nodes = vec![greeting.id];
    let card = store.read(move |reader| reader.character(owner, player)).unwrap().card;
    store
        .write(move |tx| {
            let mut session = session.clone();
            session.cards = vec![CardRef { id: player, hash: tx.put_blob(json!(card).to_string().as_bytes())? }];
            tx.begin_session(&session, &root, std::slice::from_ref(&greeting), at)
        })
        .unwrap();
    for (n, text) in texts.iter().enumerate() {
        let role = if n.is_multiple_of(2) { Role::User } else { Role::Assistant };
        let draft = store.draft(role, Kind::Message, text);
        nodes.push(store.append(id, *nodes.last().unwrap(), draft));
    }
    (id, nodes)
}

/// Returns what the manifest holds of each session: title, texts up to HEAD, labels, plugins.
fn manifest_facts(store: &TestStore) -> Vec<Value> {
    let face = |held: &StoredSession| {
        let own = held.clone();
        let labels = store.read(move |reader| reader.labels(&own));
        let labels: Vec<Value> = labels
            .iter()
            .map(|label| {
                json!([label.name, store.stored_node(held.session.id, label.node).node.content, label.following])
            })
            .collect();
        let plugins: Vec<Value> =
            held.session.plugins.iter().map(|one| json!([one.id, one.enabled, one.config, one.grants])).collect();
        json!({
            "title": held.session.title, "line": store.visible_texts(held.session.id), "labels": labels, "plugins": plugins,
        })
    };
    sessions(store).iter().map(face).collect()
}

/// S4-53: two sessions of one character with the same beginning stay two after a transfer. Each keeps its title,
/// plugins, labels and HEAD, also in the middle of a branch. A second import adds nothing, and in the original store
/// there is nothing to report. Without the manifest they become one session, and the report names the files.
#[test]
fn sessions_with_same_beginning_stay_separate() {
    let store = TestStore::new();
    let rin = add_character(&store, &json!({"name": "Rin", "isFavourite": true}));
    let (first, nodes) = create_session(&store, rin, "Night / one", &["Hi.", "Yes?", "Nothing.", "Good."]);
    let label = |node, name: &str, following| {
        store.arrange(first, TreeEdit::Label { node, name: name.into(), following });
    };
    label(nodes[2], "here: again", false);
    label(nodes[4], "the end", true);
    label(nodes[4], "twice", false);
    store.append(first, nodes[1], store.draft(Role::Assistant, Kind::Message, "What?"));
    store.checkout(first, nodes[3], true);
    create_session(&store, rin, "Night / one", &["Hi.", "Who is there?"]);
    let (folder, gone) = export_folder(&store);
    assert_eq!((gone.sessions, gone.report.items.len()), (2, 0), "{}", gone.report);

    let other = TestStore::new();
    let arrived = import_folder(&other, folder.path());
    assert_eq!((arrived.totals.sessions, arrived.totals.skipped), (2, 0), "{}", arrived.report);
    assert_eq!(manifest_facts(&other), manifest_facts(&store));
    assert_eq!(characters(&other)[0].card["isFavourite"], true);
    assert!(!characters(&other)[0].card.contains_key("avatar"), "nobody has drawn it");
    other.assert_healthy();
    for house in [&other, &store] {
        let known = row_counts(house);
        let again = import_folder(house, folder.path());
        assert_eq!((again.report.items.len(), row_counts(house)), (0, known), "{}", again.report);
    }

    // A chat that was continued there belongs to a known session and is not a new one.
    let path = folder.path().join("chats/Rin/Night  one.jsonl");
    let grown = format!("{}\n{}", fs::read_to_string(&path).unwrap(), user_row("And then?", 9_000_000));
    fs::write(&path, grown).unwrap();
    let arrived = import_folder(&other, folder.path());
    assert_eq!((arrived.totals.sessions, arrived.totals.messages), (0, 1), "{}", arrived.report);

    fs::remove_file(folder.path().join("clotho.json")).unwrap();
    let plain = TestStore::new();
    let arrived = import_folder(&plain, folder.path());
    assert_eq!(arrived.totals.sessions, 1, "{}", arrived.report);
    let joined: Vec<_> =
        arrived.report.items.iter().flat_map(|item| &item.findings).filter(|one| one.code == "joined").collect();
    assert_eq!(joined.len(), 1);
    assert!(joined[0].message.contains("Night  one.jsonl") && joined[0].message.contains("Night  one 2.jsonl"));
}

/// S0-05: a card of the folder names the chat that was open last, and so does a group.
#[test]
fn export_names_last_open_chat_in_card() {
    let store = TestStore::new();
    let rin = add_character(&store, &json!({"name": "Rin"}));
    create_session(&store, rin, "Early", &["Hm."]);
    store.clock.advance(1_000);
    create_session(&store, rin, "Late", &["Ho."]);
    let (folder, _) = export_folder(&store);
    let card =
        clotho_compat::interop::card::read(&fs::read(folder.path().join("characters/Rin.png")).unwrap()).unwrap();
    assert_eq!(card.open_chat.as_deref(), Some("Late"));
}

/// S4-53: a character that is the same in both stores is imported as one, and its suggestions for sessions are
/// transferred. A different card is another character.
#[test]
fn identical_character_is_not_imported_twice() {
    let bundled: Value = serde_json::from_slice(
        &fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("plugins/lantern-keep/characters/en.json")).unwrap(),
    )
    .unwrap();
    let (store, other) = (TestStore::new(), TestStore::new());
    let keep = add_character(&store, &bundled);
    add_character(&store, &json!({"name": "Rin", "description": "One.", "metadata": {"clotho": {"model": "small"}}}));
    create_session(&store, keep, "Rock", &["I look."]);
    // Test ids are the same in both stores; real ids never are.
    (0..100).for_each(|_| _ = other.next_node_id());
    let there = add_character(&other, &bundled);
    add_character(&other, &json!({"name": "Rin", "description": "Another."}));
    let (folder, _) = export_folder(&store);
    let arrived = import_folder(&other, folder.path());
    assert_eq!(arrived.totals.characters, 1, "{}", arrived.report);
    assert_eq!(only_session(&other).session.cards[0].id, there);
    let all = characters(&other);
    let rin = all.iter().find(|one| one.card["description"] == "One.").unwrap();
    assert_eq!((all.len(), &rin.card["metadata"]["clotho"]), (3, &json!({"model": "small"})));
    let known = row_counts(&other);
    assert_eq!((import_folder(&other, folder.path()).report.items.len(), row_counts(&other)), (0, known));

    let empty = TestStore::new();
    (0..200).for_each(|_| _ = empty.next_node_id());
    import_folder(&empty, folder.path());
    let suggested = characters(&empty).into_iter().find(|one| one.card["name"] == bundled["name"]).unwrap();
    assert_eq!(suggested.card["metadata"]["clotho"], bundled["metadata"]["clotho"]);
}

/// S4-53: tags, favourites, groups, presets and settings of all chats are transferred. In the original store, and in a
/// second import, there is nothing to report.
#[test]
fn own_export_import_reports_no_changes() {
    let (store, root) = (TestStore::new(), DataRoot::generate(3, 2, 3, 8).with_library_data(2));
    let settings = root.path().join("settings.json");
    let mut all: Value = serde_json::from_slice(&fs::read(&settings).unwrap()).unwrap();
    all["world_info_settings"] = json!({"world_info": {"globalSelect": ["Atlas 1"]}});
    fs::write(&settings, all.to_string()).unwrap();
    let row = |name: &str, text: &str, file: &str| {
        let mut row = reply_row(text, 3);
        (row["name"], row["original_avatar"]) = (json!(name), json!(file));
        row
    };
    let rows_of = [
        header_row(json!({})),
        row("Keeper 0", "Well?", "Keeper 0.json"),
        user_row("Hm.", 4),
        row("Keeper 1", "So.", "Keeper 1.json"),
    ];
    root.write_file("group chats/2024-1-2.jsonl", &crate::support::data_root::chat_file_text(&rows_of));
    let members = json!(["Keeper 0.json", "Keeper 1.json"]);
    let group =
        json!({"id": "7", "name": "The Ferry", "members": members, "chats": ["2024-1-2"], "chat_id": "2024-1-2"});
    root.write_file("groups/7.json", &group.to_string());
    let arrived = import_folder(&store, root.path());
    assert!(sessions(&store).iter().any(|held| held.session.title == "The Ferry"), "{}", arrived.report);
    // A group that was made here.
    let (ids, both) =
        (characters(&store), create_session(&store, characters(&store)[0].id, "Two at a table", &["Hm."]));
    let (second, hash) = (ids[1].id, store.stored_session(both.0).session.cards[0].hash.clone());
    let cards = json!([[ids[0].id.to_string(), hash], [second.to_string(), hash]]).to_string();
    store.execute_sql(&format!("UPDATE sessions SET cards = '{cards}' WHERE title = 'Two at a table'"));

    let (folder, _) = export_folder(&store);
    let read = |name: &str| -> Value { serde_json::from_slice(&fs::read(folder.path().join(name)).unwrap()).unwrap() };
    let settings = read("settings.json");
    assert_eq!(settings["world_info_settings"]["world_info"]["globalSelect"], json!(["Atlas 1"]));
    let id = settings["tag_map"]["Keeper 1.png"][0].clone();
    let tag = settings["tags"].as_array().unwrap().iter().find(|tag| tag["id"] == id).unwrap();
    assert_eq!(tag["name"], "tag 1");
    assert_eq!(read("groups/7.json")["chat_id"], "2024-1-2");
    let other = TestStore::new();
    let came = import_folder(&other, folder.path());
    assert_eq!(came.totals.skipped, 0, "{}", came.report);
    for house in [&store, &other] {
        let known = row_counts(house);
        let again = import_folder(house, folder.path());
        assert_eq!((again.report.to_string(), row_counts(house)), (String::new(), known));
    }
    other.assert_healthy();
}

/// S4-53: a chat that was imported alone and then in a folder, or the other way round, is one session.
#[test]
fn chat_imported_alone_and_by_folder_joins_session() {
    let rows_of = [header_row(json!({"integrity": "x"})), greeting_row(), user_row("Hm.", 1), reply_row("Aye.", 2)];
    for is_alone_first in [true, false] {
        let (store, root) = (TestStore::new(), DataRoot::new());
        root.write_card("Ivo");
        let chat = root.write_chat("Ivo", "Night", &rows_of);
        let mut ways = [chat.clone(), root.path().to_owned()];
        if !is_alone_first {
            ways.reverse();
        }
        let [first, second] = ways;
        assert_eq!(import_folder(&store, &first).totals.sessions, 1);
        let arrived = import_folder(&store, &second);
        assert_eq!((arrived.totals.sessions, arrived.totals.messages, arrived.totals.unchanged), (0, 0, 1));
        let mut grown = rows_of.to_vec();
        grown.push(user_row("More.", 3));
        root.write_chat("Ivo", "Night", &grown);
        let arrived = import_folder(&store, root.path());
        assert_eq!((arrived.totals.sessions, arrived.totals.messages), (0, 1), "{}", arrived.report);
    }
}

/// S4-53: damaged data is exported as far as possible, and the report names it.
#[test]
fn export_of_damaged_data_is_reported() {
    let store = TestStore::new();
    let rin = add_character(&store, &json!({"name": "Rin"}));
    create_session(&store, rin, "Night", &["Hm."]);
    let hash = only_session(&store).session.cards[0].hash.clone();
    let broken =
        CardFile { name: CardFile::PICTURE.into(), kind: "image/jpeg".into(), bytes: b"\xff\xd8\xff no".to_vec() };
    store.write(move |tx| tx.put_card_file(rin.uuid(), &broken)).unwrap();
    corrupt_blob(&store, &hash);
    let (folder, gone) = export_folder(&store);
    let codes: Vec<_> = gone.report.items.iter().flat_map(|item| &item.findings).map(|one| one.code).collect();
    assert_eq!(codes, ["card_damaged", "picture_damaged"], "{}", gone.report);
    assert!(folder.path().join("chats/Rin/Night.jsonl").is_file());
    let list: Value = serde_json::from_slice(&fs::read(folder.path().join("clotho.json")).unwrap()).unwrap();
    assert_eq!(list["report"].as_array().unwrap().len(), 2);
    assert_eq!(import_folder(&TestStore::new(), folder.path()).totals.sessions, 1);
}

/// Overwrites the blob of a card.
fn corrupt_blob(store: &TestStore, hash: &str) {
    store.execute_sql(&format!("UPDATE blobs SET bytes = x'7b' WHERE hash = x'{hash}'"));
}

/// The preset of a session is exported with it. Another store uses that preset as imported there, and the same
/// store keeps it. If the preset's file is missing, the session has no preset.
#[test]
fn session_preset_is_exported_and_relinked() {
    let store = TestStore::new();
    let rin = add_character(&store, &json!({"name": "Rin"}));
    let (owner, now) = (store.owner, store.now());
    for name in ["Other", "Mine"] {
        let body = json!({"prompts": [{"identifier": "main", "content": name}], "temperature": 0.5});
        let card = json!({"kind": "openai", "name": name, "body": body}).as_object().unwrap().clone();
        let preset = StoredPreset { id: PresetId::new(store.ids.next_id(now)), card, created: now, updated: now };
        store.write(move |tx| tx.put_preset(owner, &preset)).unwrap();
    }
    let presets = |store: &TestStore| {
        let owner = store.owner;
        store.read(move |reader| reader.presets(owner, Some("openai"), 0, 10))
    };
    let mine = presets(&store)[1].id;
    let (sid, _) = create_session(&store, rin, "Night", &["Hi."]);
    let actor = store.actor();
    store.write(move |tx| tx.set_settings(&actor, sid, &[("preset".to_owned(), mine.to_string().into())])).unwrap();
    let (folder, _) = export_folder(&store);

    let other = TestStore::new();
    import_folder(&other, folder.path());
    let chosen = only_session(&other).session.preset.unwrap();
    assert_ne!(chosen, mine);
    assert_eq!(presets(&other).iter().find(|head| head.id == chosen).unwrap().name, "Mine");
    for house in [&other, &store] {
        let known = row_counts(house);
        import_folder(house, folder.path());
        assert_eq!(row_counts(house), known);
    }
    assert_eq!(only_session(&store).session.preset, Some(mine));

    fs::remove_file(folder.path().join("OpenAI Settings/Mine.json")).unwrap();
    let plain = TestStore::new();
    import_folder(&plain, folder.path());
    assert_eq!((only_session(&plain).session.preset, presets(&plain).len()), (None, 1));
}
