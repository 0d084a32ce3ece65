//! Programs whose chats are lists or a text: RisuAI, Agnai, KoboldAI, text-generation-webui, CAI Tools.

use std::fs;

use clotho_compat::interop::foreign_chat::{self, ForeignChat, ForeignRole};
use clotho_core::tree::Role;

use super::*;
use crate::sillytavern::{chat_fixture_path, child_texts, node_by_text, only_session, sessions};

fn read_chats(value: &Value) -> Vec<ForeignChat> {
    foreign_chat::read(value.to_string().as_bytes()).unwrap()
}

/// Returns role and text of each message of a chat, in order.
fn role_text_pairs(tale: &ForeignChat) -> Vec<(ForeignRole, &str)> {
    tale.messages.iter().map(|said| (said.role, said.text.as_str())).collect()
}

/// S4-53: each recorded chat of another program is read as recorded. Messages without text are reported.
#[test]
fn recorded_chats_match_expected_messages() {
    for name in ["foreign-ooba", "foreign-risu"] {
        let tales = foreign_chat::read(&fs::read(chat_fixture_path(&format!("{name}.json"))).unwrap()).unwrap();
        let expected: Value =
            serde_json::from_slice(&fs::read(chat_fixture_path(&format!("{name}.expect.json"))).unwrap()).unwrap();
        let rows = expected["files"][0].as_array().unwrap();
        let rows: Vec<&Value> =
            rows.iter().filter(|row| row["mes"].as_str().is_some_and(|mes| !mes.is_empty())).collect();
        assert_eq!(tales[0].messages.len(), rows.len(), "{name}");
        for (said, row) in tales[0].messages.iter().zip(rows) {
            assert_eq!(
                (said.text.as_str(), said.role == ForeignRole::User),
                (row["mes"].as_str().unwrap(), row["is_user"] == true)
            );
            if row["name"] == "Wrenna" {
                assert_eq!((said.name.as_deref(), said.date), (Some("Wrenna"), Some(1_700_000_001_000)));
            }
        }
    }
    let risu = foreign_chat::read(&fs::read(chat_fixture_path("foreign-risu.json")).unwrap()).unwrap();
    assert_eq!((risu[0].findings[0].code, risu[0].title.as_deref()), ("no_text", Some("New Chat")));
    // The other program refuses this file, although its messages are readable.
    let cai = foreign_chat::read(&fs::read(chat_fixture_path("foreign-cai.json")).unwrap()).unwrap();
    assert_eq!(role_text_pairs(&cai[0]), [(ForeignRole::Assistant, "Welcome in."), (ForeignRole::User, "Hello.")]);
    assert!(foreign_chat::read(&fs::read(chat_fixture_path("foreign-unknown.json")).unwrap()).is_err());
}

/// S4-53: all chats of a RisuAI character are imported, each with its own lorebook. The same file adds nothing.
#[test]
fn risuai_chats_import_with_lorebooks_once() {
    let lore = json!([{"key": "lamp, oil", "content": "It burns.", "comment": "Lamp", "insertorder": 5}]);
    let chat = |id: &str, name: &str, lore: &Value| {
        json!({"id": id, "name": name, "localLore": lore, "note": "quiet", "scriptstate": {"$hp": 3}, "message": [
            {"role": "char", "data": "<Thoughts>Who?</Thoughts>\nWelcome in."},
            {"role": "user", "data": "Hello.", "time": 1_700_000_000_000_i64, "saying": "x"},
        ]})
    };
    let all = json!({"type": "risuAllChats", "ver": 2, "data": [chat("1", "One", &lore), chat("2", "Two", &json!([]))], "folders": []});
    let (store, folder) = (TestStore::new(), DataRoot::without_subfolders());
    let path = folder.write_file("Ivo/chats.json", &all.to_string());
    let arrived = import_path(&store, path.parent().unwrap().parent().unwrap());
    assert_eq!(
        (arrived.totals.sessions, arrived.totals.characters, arrived.totals.messages),
        (2, 1, 4),
        "{}",
        arrived.report
    );
    let held = sessions(&store).remove(0);
    let first = node_by_text(&store, &held, "Welcome in.");
    assert_eq!((first.kind.as_str(), first.reasoning.as_deref()), ("greeting", Some("Who?")));
    assert_eq!(node_by_text(&store, &held, "Hello.").metadata.to_json()["risu"]["saying"], "x");
    let (owner, books) =
        (store.owner, |store: &TestStore, owner| store.read(move |reader| reader.lorebooks(owner, 0, 10)));
    assert_eq!(books(&store, owner).len(), 1);
    let told = arrived.report.to_string();
    assert!(told.contains("character Ivo") && told.contains("note, scriptstate"), "{told}");
    let again = import_path(&store, path.parent().unwrap().parent().unwrap());
    assert_eq!((again.totals.messages, again.totals.unchanged, books(&store, owner).len()), (0, 2, 1));
    store.assert_healthy();
}

/// S4-53: Agnai chats are imported as a list and as a tree. Regenerated replies are siblings of the visible one.
#[test]
fn agnai_chats_import_regenerated_replies() {
    let said = |id: &str, parent: &str, user: Option<&str>, text: &str| {
        json!({"_id": id, "parent": parent, "userId": user, "characterId": user.is_none().then_some("c"), "msg": text,
               "handle": if user.is_some() { "Wren" } else { "Ivo" }, "createdAt": "2024-01-02T03:04:05.000Z", "kind": "chat-message"})
    };
    let mut reply = said("b", "a", None, "It burns.");
    reply["retries"] = json!(["It is dark.", "It burns."]);
    let tree = json!({"name": "Lamps", "greeting": "Evening.", "scenario": "A tower.", "treeLeafId": "b",
        "messages": [said("a", "", Some("u"), "Light it."), reply, said("c", "a", None, "Why?")]});
    let store = TestStore::new();
    import_json(&store, &tree);
    let held = only_session(&store);
    let ask = node_by_text(&store, &held, "Light it.");
    assert_eq!((ask.role, ask.name.as_deref()), (Role::User, Some("Wren")));
    assert_eq!(child_texts(&store, &held, ask.id), ["It is dark.", "It burns.", "Why?"]);
    assert_eq!(store.visible_texts(held.session.id), ["Light it.", "It burns."]);
    let (owner, card) = (store.owner, held.session.cards[0].id);
    let card = store.read(move |reader| reader.character(owner, card)).unwrap().card;
    assert_eq!(
        (&card["name"], &card["scenario"], &card["firstMessage"]),
        (&json!("Ivo"), &json!("A tower."), &json!("Evening."))
    );
    let line = json!({"name": "Line", "messages": [{"msg": "Hi."}, {"msg": "Ho.", "userId": "u"}]});
    assert_eq!(role_text_pairs(&read_chats(&line)[0]), [(ForeignRole::Assistant, "Hi."), (ForeignRole::User, "Ho.")]);
}

/// S4-53: a KoboldAI story is split as it was played: by names, by markers, by arrows or by chunks.
#[test]
fn koboldai_story_modes_split_into_messages() {
    let story = |mode: u8, prompt: &str, actions: &[&str]| {
        let settings = json!({"opmode": mode, "chatname": "Wren", "chatopponent": "Ivo||$||Sela", "instruct_starttag": "\\n### Q:\\n",
                              "instruct_endtag": "\\n### A:\\n"});
        let world = json!([{"key": "lamp, oil", "content": "It burns.", "comment": "", "constant": true}]);
        read_chats(&json!({"gamestarted": true, "prompt": prompt, "actions": actions, "memory": "A tower.", "savedsettings": settings,
                      "authorsnote": "dark", "worldinfo": world})).remove(0)
    };
    let chat = story(3, "\nWren: Hello.", &["\nIvo: Hm.\nYes: no.", "\nSela: And me."]);
    let expected =
        [(ForeignRole::User, "Hello."), (ForeignRole::Assistant, "Hm.\nYes: no."), (ForeignRole::Assistant, "And me.")];
    assert_eq!(role_text_pairs(&chat), expected);
    assert_eq!((chat.assistant_name.as_deref(), chat.messages[2].name.as_deref()), (Some("Ivo"), Some("Sela")));
    assert_eq!((&chat.card_fields["description"], &chat.rest["authorsnote"]), (&json!("A tower."), &json!("dark")));
    let entry = &chat.lorebook.as_ref().unwrap()["entries"]["0"];
    assert_eq!((&entry["key"], &entry["constant"]), (&json!(["lamp", "oil"]), &json!(true)));
    let own = story(4, "\n### Q:\nWhere?\n### A:\n", &["There.", "\n### Q:\nThanks\n### A:\n"]);
    assert_eq!(
        role_text_pairs(&own),
        [(ForeignRole::User, "Where?"), (ForeignRole::Assistant, "There."), (ForeignRole::User, "Thanks")]
    );
    let marked = story(4, "{{[SYSTEM]}}Be brief.{{[INPUT]}}Where?{{[OUTPUT]}}", &["There.{{[OUTPUT_END]}}"]);
    assert_eq!(
        role_text_pairs(&marked),
        [(ForeignRole::System, "Be brief."), (ForeignRole::User, "Where?"), (ForeignRole::Assistant, "There.")]
    );
    let adventure = story(2, "You stand in a tower.", &["\n\n> You look up.\n\n", "It is dark."]);
    let expected = [
        (ForeignRole::Assistant, "You stand in a tower."),
        (ForeignRole::User, "You look up."),
        (ForeignRole::Assistant, "It is dark."),
    ];
    assert_eq!(role_text_pairs(&adventure), expected);
    let plain = story(1, "Once", &[" there was", " a lamp."]);
    assert_eq!(
        role_text_pairs(&plain),
        [(ForeignRole::User, "Once"), (ForeignRole::Assistant, "there was"), (ForeignRole::Assistant, "a lamp.")]
    );
    assert_eq!(plain.findings[0].code, "who_wrote");
}

/// S4-53: a text-generation-webui chat is read as plain text, with its versions.
#[test]
fn text_generation_webui_chats_import_versions() {
    let chat = json!({
        "internal": [["<|BEGIN-VISIBLE-CHAT|>", "Evening."], ["Is it <b>?", "No."]],
        "visible": [["", "Evening."], ["Is it &lt;b&gt;?".replace("&gt;", ""), "No."]],
        "metadata": {"assistant_1": {"timestamp": "Jan 02, 2025 03:04", "current_version_index": 1, "versions": [
            {"content": "Yes.", "visible_content": "Yes."}, {"content": "No.", "visible_content": "No."},
        ]}},
    });
    let tale = read_chats(&chat).remove(0);
    let expected = [
        (ForeignRole::Assistant, "Evening."),
        (ForeignRole::User, "Is it <b?"),
        (ForeignRole::Assistant, "Yes."),
        (ForeignRole::Assistant, "No."),
    ];
    assert_eq!(role_text_pairs(&tale), expected);
    let parents: Vec<Option<usize>> = tale.messages.iter().map(|said| said.parent).collect();
    assert_eq!((parents, tale.head), (vec![None, Some(0), Some(1), Some(1)], Some(3)));
    assert_eq!(
        (tale.messages[3].date, &tale.messages[1].rest["internal"]),
        (Some(1_735_787_040_000), &json!("Is it <b>?"))
    );
}

/// S4-53: each Character.AI history becomes a session, and candidates of a turn are kept.
#[test]
fn character_ai_histories_and_candidates_import() {
    let file = json!({"info": {"character": {"name": "Ivo"}}, "histories": {"histories": [
        {"external_id": "h1", "msgs": [{"src": {"is_human": true, "name": "Wren"}, "text": "Hello.", "id": 7}]},
        {"chat_id": "h2", "turns": [{"author": {"name": "Ivo"}, "primary_candidate_id": "y", "create_time": "2023-11-14T22:13:20Z",
            "candidates": [{"candidate_id": "x", "raw_content": "No.", "create_time": "2023-11-14T22:13:21Z"},
                           {"candidate_id": "y", "raw_content": "Yes."}]}]},
    ]}});
    let tales = read_chats(&file);
    assert_eq!(
        (tales.len(), tales[0].assistant_name.as_deref(), tales[0].messages[0].name.as_deref()),
        (2, Some("Ivo"), Some("Wren"))
    );
    assert_eq!(
        (role_text_pairs(&tales[1]), tales[1].head),
        (vec![(ForeignRole::Assistant, "No."), (ForeignRole::Assistant, "Yes.")], Some(1))
    );
    let dates: Vec<_> = tales[1].messages.iter().map(|said| said.date).collect();
    assert_eq!(
        dates,
        [Some(1_700_000_001_000), Some(1_700_000_000_000)],
        "where a candidate has no date, its turn has one"
    );
}
