//! Which files become which trees.

use std::fs;

use clotho_core::tree::{Kind, Role};
use serde_json::json;

use super::*;
use crate::support::data_root::{DataRoot, chat_file_text, greeting_row, header_row, reply_row, swipes_row, user_row};

/// S4-53: thirty chats that share only a greeting are thirty sessions.
#[test]
fn chats_sharing_only_greeting_stay_separate_sessions() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    for n in 0..30 {
        let rows = [
            header_row(json!({"note_prompt": format!("note {n}")})),
            greeting_row(),
            user_row(&format!("I am {n}."), 1),
        ];
        // Some have no answer to the greeting.
        root.write_chat("Ivo", &format!("Night {n:02}"), if n % 10 == 9 { &rows[..2] } else { &rows });
    }
    let arrived = import_folder(&store, root.path());
    assert_eq!((arrived.totals.sessions, arrived.totals.characters, arrived.totals.messages), (30, 1, 57));
    let all = sessions(&store);
    assert_eq!(all.len(), 30);
    assert!(all.iter().all(|held| held.session.cards.len() == 1));
    store.assert_healthy();
}

/// S4-53: a chat, its branches and its bookmark become one tree. Shared messages exist once, each branch has its name,
/// and each alternative its place.
#[test]
fn chat_and_its_branches_become_one_tree() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo Hale");
    for name in ["Lamp main", "Lamp main - Branch #1", "Lamp main - Branch #2", "Lamp main - Checkpoint #1"] {
        root.write_file(
            &format!("chats/Ivo Hale/{name}.jsonl"),
            &fs::read_to_string(chat_fixture_path(&format!("{name}.jsonl"))).unwrap(),
        );
    }
    let arrived = import_folder(&store, root.path());
    assert_eq!((arrived.totals.sessions, arrived.totals.chats), (1, 4));
    let held = only_session(&store);
    assert_eq!(held.session.title, "Lamp main");
    assert_eq!(child_texts(&store, &held, held.session.root), ["Tick.", "Tock."]);
    let watch = node_by_text(&store, &held, "My watch stopped.");
    assert_eq!(
        child_texts(&store, &held, watch.id),
        ["Let me see the spring.", "Shake it gently.", "It is only tired."]
    );
    let way = node_by_text(&store, &held, "Which way?");
    assert_eq!(child_texts(&store, &held, way.id), ["Left.", "Right."]);
    assert_eq!(child_texts(&store, &held, node_by_text(&store, &held, "Right.").id)[0], "Right then.");
    assert_eq!(child_texts(&store, &held, node_by_text(&store, &held, "Left.").id)[0], "Left then.");
    let labels = dump_sessions(&store)[0]["labels"].clone();
    assert_eq!(labels[0], json!(["Lamp main - Branch #1", "A dark stair.", true]));
    assert_eq!(labels[2], json!(["Lamp main - Checkpoint #1", "Which way?", false]));
    let tick = node_by_text(&store, &held, "Tick.");
    assert_eq!(
        (tick.kind, tick.role, &tick.metadata.to_json()["model"]),
        (Kind::Greeting, Role::Assistant, &json!("test-model"))
    );
    assert_eq!(tick.created.to_string(), "2025-02-03T10:00:00.000Z");
    assert_eq!(tick.metadata.to_json()["provenance"]["line"], 2);
    store.assert_healthy();
}

/// Files that only name each other become one tree too. A file that names a missing one stays alone.
#[test]
fn linked_chats_join_one_tree() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    root.write_chat("Ivo", "one", &[header_row(json!({})), greeting_row(), user_row("I go.", 1)]);
    root.write_chat("Ivo", "two", &[header_row(json!({"main_chat": "one"})), greeting_row()]);
    root.write_chat("Ivo", "three", &[header_row(json!({"main_chat": "nowhere"})), greeting_row()]);
    assert_eq!(import_folder(&store, root.path()).totals.sessions, 2);
    let titles: Vec<String> = sessions(&store).into_iter().map(|held| held.session.title).collect();
    assert_eq!(titles, ["one", "three"]);
}

/// S4-12: hidden messages are kept but disabled, narration has no speaker, and reasoning is separate from the text.
#[test]
fn messages_keep_hidden_narrator_and_reasoning() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    let mut hidden = reply_row("A secret.", 3);
    hidden["is_system"] = json!(true);
    let mut narrated = reply_row("It rains.", 4);
    narrated["extra"] = json!({"type": "narrator"});
    let mut thought = reply_row("Yes.", 5);
    thought["extra"] = json!({"reasoning": "He asks.", "own": {"key": [1]}});
    thought["unknown"] = json!("kept");
    root.write_chat(
        "Ivo",
        "a",
        &[greeting_row(), user_row("Hm.", 1), swipes_row(&["x", "y"], 1, 2), hidden, narrated, thought],
    );
    import_folder(&store, root.path());
    let held = only_session(&store);
    assert!(!node_by_text(&store, &held, "A secret.").is_enabled);
    assert_eq!(node_by_text(&store, &held, "It rains.").role, Role::System);
    let yes = node_by_text(&store, &held, "Yes.");
    assert_eq!(yes.reasoning.as_deref(), Some("He asks."));
    assert_eq!(yes.metadata.to_json()["sillytavern"]["extra"]["own"], json!({"key": [1]}));
    assert_eq!(yes.metadata.to_json()["sillytavern"]["line"], json!({"unknown": "kept"}));
    assert_eq!(node_by_text(&store, &held, "x").metadata.to_json()["model"], "model 0");
    assert_eq!(store.visible_texts(held.session.id), ["Good evening.", "Hm.", "y", "It rains.", "Yes."]);
    assert_eq!(held.session.updated, yes.created);
    store.assert_healthy();
}

/// In a group each message belongs to its speaker.
#[test]
fn group_chat_messages_keep_their_speakers() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("odo-brack").write_card("tilda-fenn");
    root.write_file("group chats/ferry.jsonl", &fs::read_to_string(chat_fixture_path("group-ferry.jsonl")).unwrap());
    let group = json!({"id": "1", "name": "Ferry", "members": ["odo-brack.png", "tilda-fenn.png"], "chats": ["ferry"]});
    root.write_file("groups/1.json", &group.to_string());
    import_folder(&store, root.path());
    let held = only_session(&store);
    let cards: Vec<_> = held.session.cards.iter().map(|card| card.id).collect();
    assert_eq!(cards.len(), 2);
    assert_eq!(node_by_text(&store, &held, "All aboard.").character, Some(cards[0]));
    assert_eq!(node_by_text(&store, &held, "Hurry up.").character, Some(cards[1]));
    assert!(!node_by_text(&store, &held, "muted line").is_enabled);
}

/// A single chat is imported with a character that has only a name.
#[test]
fn single_chat_import_creates_name_only_character() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    let path = root.write_file("alone.jsonl", &chat_file_text(&[greeting_row(), user_row("Hm.", 1)]));
    let arrived = import_folder(&store, &path);
    assert_eq!((arrived.totals.sessions, arrived.totals.characters), (1, 1));
    assert_eq!(store.visible_texts(only_session(&store).session.id), ["Good evening.", "Hm."]);
    let refused = import_folder_until(&store, &root.path().join("groups"), |_| true).unwrap_err();
    assert!(refused.to_string().contains("no folder characters or chats"), "{refused}");
}

/// The chat's persona plays it.
#[test]
fn persona_is_assigned_to_its_chats() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    let settings = json!({"power_user": {
        "personas": {"wren.png": "Wren", "other.png": "Other", "nobody.png": " "},
        "persona_descriptions": {"wren.png": {"description": "A clockmaker.", "position": 0}},
    }});
    root.write_file("settings.json", &settings.to_string());
    root.write_chat("Ivo", "by name", &[greeting_row(), user_row("Hm.", 1)]);
    root.write_chat(
        "Ivo",
        "by file",
        &[header_row(json!({"persona": "other.png"})), greeting_row(), user_row("Oh.", 1)],
    );
    let arrived = import_folder(&store, root.path());
    assert_eq!(arrived.totals.personas, 2);
    let told = arrived.report.to_string();
    assert!(told.contains("persona nobody.png"), "nothing is left out in silence: {told}");
    let owner = store.owner;
    for (held, name) in sessions(&store).into_iter().zip(["Other", "Wren"]) {
        let id = held.session.persona.unwrap().id;
        let persona = store.read(move |reader| reader.persona(owner, id)).unwrap();
        assert_eq!(persona.card["name"], name);
    }
    assert_eq!(import_folder(&store, root.path()).totals.personas, 0);
}
