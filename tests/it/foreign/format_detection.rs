//! The format of an imported file is detected from its content.

use clotho_core::ids::CharacterId;
use clotho_store::CharacterCard;

use super::*;
use crate::sillytavern::command::run_clotho;
use crate::sillytavern::hostile::zip_archive;
use crate::sillytavern::{only_session, sessions};
use crate::support::data_root::{chat_file_text, greeting_row, header_row, user_row};

/// S4-53: in a folder of mixed formats, or an archive of it, each file is imported by its format. Unknown files are
/// reported.
#[test]
fn import_folder_with_mixed_formats_imports_each() {
    let (store, folder) = (TestStore::new(), DataRoot::without_subfolders());
    let night = chat_file_text(&[greeting_row(), user_row("Hm.", 1)]);
    let story = chatgpt_conversation().to_string();
    let files: [(&str, &[u8]); 7] = [
        ("a/Lamps.json", br#"{"entries": {"0": {"uid": 0, "key": ["lamp"], "content": "It burns."}}}"#),
        ("a/conversations.json", story.as_bytes()),
        ("a/Rin.json", br#"{"spec": "chara_card_v2", "data": {"name": "Rin", "first_mes": "Oh."}}"#),
        ("Night.txt", night.as_bytes()),
        ("picture.jpg", b"\xff\xd8\xff"),
        ("notes.txt", b"hello"),
        ("hello.json", br#"{"hello": 1}"#),
    ];
    for (name, bytes) in files {
        let path = folder.write_file(name, "");
        std::fs::write(path, bytes).unwrap();
    }
    let arrived = import_path(&store, folder.path());
    let told = arrived.report.to_string();
    assert_eq!((arrived.totals.sessions, arrived.totals.lorebooks, arrived.totals.skipped), (2, 1, 3), "{told}");
    for name in ["character Rin", "picture.jpg", "notes.txt", "hello.json", "The lamp", "Night.txt"] {
        assert!(told.contains(name), "{name}: {told}");
    }
    let archive = DataRoot::without_subfolders();
    let path = archive.write_file("all.zip", "");
    std::fs::write(&path, zip_archive(&files)).unwrap();
    let again = import_path(&store, &path);
    assert_eq!((again.totals.sessions, again.totals.messages, again.totals.unchanged), (0, 0, 2), "{}", again.report);
    store.assert_healthy();
}

/// An unknown format is refused, and the error lists the supported programs.
#[test]
fn import_unknown_format_lists_supported_programs() {
    let (store, folder) = (TestStore::new(), DataRoot::without_subfolders());
    let refused = |name: &str, bytes: &[u8]| {
        let path = folder.write_file(name, "");
        std::fs::write(&path, bytes).unwrap();
        try_import_path(&store, &path).unwrap_err().to_string()
    };
    for (name, bytes) in
        [("a.json", br#"{"hello": 1}"#.as_slice()), ("b", b"hello"), ("c.txt", b"\n"), ("d.json", b"[1, 2]")]
    {
        let told = refused(name, bytes);
        assert!(
            told.contains("ChatGPT") && told.contains("SillyTavern") && told.contains("KoboldAI"),
            "{name}: {told}"
        );
    }
    assert!(refused("e.zip", b"PK\x03\x04 no").contains("the archive cannot be read"));
    assert_eq!(sessions(&store).len(), 0);
}

/// S4-53: `clotho import` takes a file of any program, and a dry run reports what would be imported.
#[test]
fn import_command_detects_format_and_supports_dry_run() {
    let (store, folder) = (TestStore::new(), DataRoot::without_subfolders());
    let data = store.settings.data_dir.clone();
    let mut store = store;
    store.close();
    let path = folder.write_file("conversations.json", &json!([chatgpt_conversation()]).to_string());
    let path = path.to_str().unwrap();
    let (code, told, said) = run_clotho(&data, &["import", path, "--dry-run"]);
    assert!(
        code == Some(0) && told.contains("would be imported: 1 characters, 0 personas, 1 sessions, 5 messages"),
        "{told}{said}"
    );
    let (code, told, _) = run_clotho(&data, &["import", path, "--json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((code, &told["totals"]["messages"]), (Some(0), &json!(5)));
    let (code, _, said) = run_clotho(&data, &["import", path, "--user", "Nobody"]);
    assert!(code == Some(1) && said.contains("the users are Ada"), "{said}");
    let chat = folder.write_file("Night.jsonl", &chat_file_text(&[greeting_row()]));
    let (code, told, _) = run_clotho(&data, &["import", chat.to_str().unwrap()]);
    assert!(code == Some(0) && told.contains("1 sessions, 1 messages"), "{told}");
    let nothing = folder.write_file("hello.txt", "hello");
    let (code, _, said) = run_clotho(&data, &["import", nothing.to_str().unwrap()]);
    assert!(code == Some(1) && said.contains("text-generation-webui"), "{said}");
    let (code, told, _) = run_clotho(&data, &["import", "--help"]);
    for name in [
        "ChatGPT",
        "Open WebUI",
        "LibreChat",
        "RisuAI",
        "Agnai",
        "KoboldAI",
        "text-generation-webui",
        "CAI Tools",
        "Chub",
    ] {
        assert!(code == Some(0) && told.contains(name), "{name}: {told}");
    }
    store.reopen();
    assert_eq!(sessions(&store).len(), 2);
}

/// S4-53: a Chub chat, whose texts are objects, is imported like any other chat.
#[test]
fn chub_chat_imports_like_other_chats() {
    let (store, folder) = (TestStore::new(), DataRoot::without_subfolders());
    let rows = [
        json!({"user_name": "Wren", "character_name": "Ivo"}),
        json!({"name": "Ivo", "is_user": false, "mes": {"message": "Evening.", "id": 7}, "swipe_id": 0,
               "swipes": [{"message": "Evening.", "id": 7}, {"message": "Night."}]}),
        user_row("Hm.", 1),
    ];
    import_path(&store, &folder.write_file("chub.jsonl", &chat_file_text(&rows)));
    let held = only_session(&store);
    assert_eq!(store.visible_texts(held.session.id), ["Evening.", "Hm."]);
    assert_eq!(crate::sillytavern::child_texts(&store, &held, held.session.root), ["Evening.", "Night."]);
}

/// S4-53: a single chat belongs to the existing character of that name if there is exactly one. Otherwise a character
/// with only a name is created.
#[test]
fn single_chat_import_matches_character_by_unique_name() {
    let (store, folder) = (TestStore::new(), DataRoot::without_subfolders());
    let keep = |name: &str| {
        let (id, at, owner) = (CharacterId::new(store.ids.next_id(store.now())), store.now(), store.owner);
        let card = json!({"name": name, "description": "Keeps the lamps."}).as_object().unwrap().clone();
        let character = CharacterCard { id, card, created: at, updated: at };
        store.write(move |tx| tx.put_character(owner, &character)).unwrap();
        id
    };
    let night = |text: &str| chat_file_text(&[greeting_row(), user_row(text, 1)]);
    let ivo = keep("Ivo");
    keep("Tomas");
    let arrived = import_path(&store, &folder.write_file("Night.jsonl", &night("Hm.")));
    let told = arrived.report.to_string();
    assert_eq!((arrived.totals.characters, arrived.totals.sessions), (0, 1), "{told}");
    assert!(told.contains("the existing character") && !told.contains("card is missing"), "{told}");
    assert_eq!(only_session(&store).session.cards.iter().map(|card| card.id).collect::<Vec<_>>(), [ivo]);

    keep("Ivo");
    let arrived = import_path(&store, &folder.write_file("Day.jsonl", &night("Hm?")));
    let told = arrived.report.to_string();
    assert_eq!((arrived.totals.characters, arrived.totals.sessions), (1, 1), "{told}");
    assert!(told.contains("card is missing"), "{told}");
    store.assert_healthy();
}

/// An empty file is named as empty, alone and beside others, whatever its name says.
#[test]
fn import_empty_files_are_named_as_empty() {
    let (store, folder) = (TestStore::new(), DataRoot::without_subfolders());
    for name in ["a.json", "b.jsonl", "c.zip", "d.png", "e.yaml"] {
        let told = try_import_path(&store, &folder.write_file(name, "")).unwrap_err().to_string();
        assert!(told.contains("the file is empty: export it again") && !told.contains("ChatGPT"), "{told}");
    }
    folder.write_file("Night.jsonl", &chat_file_text(&[greeting_row(), user_row("Hm.", 1)]));
    let arrived = import_path(&store, folder.path());
    let told = arrived.report.to_string();
    assert_eq!((arrived.totals.sessions, told.matches("the file is empty").count()), (1, 5), "{told}");
    store.assert_healthy();
}

/// A broken line at the beginning costs itself and is named; the lines after it say what the file is.
#[test]
fn import_lines_with_broken_beginning_keep_the_rest() {
    let chat = |id: &str| {
        let messages = json!({"a": {"role": "user", "content": format!("Where, {id}?"), "childrenIds": []}});
        json!({"id": id, "title": id, "chat": {"history": {"currentId": "a", "messages": messages}}}).to_string()
    };
    let (one, two) = (chat("one"), chat("two"));
    for broken in [one.get(..40).unwrap(), "garbage", "\"cut", "{\"id\"", "5", "]"] {
        let (store, folder) = (TestStore::new(), DataRoot::without_subfolders());
        let text = [broken, &one, &two].join("\n");
        let arrived = import_path(&store, &folder.write_file("all.jsonl", &text));
        let told = arrived.report.to_string();
        assert_eq!(arrived.totals.sessions, 2, "{broken}: {told}");
        assert!(told.contains("chat 1 of the file"), "{broken}: {told}");
    }
    let rows = chat_file_text(&[header_row(json!({})), greeting_row(), user_row("Hm.", 1)]);
    for (name, broken) in
        [("a.jsonl", "{\"user_name\": \"W"), ("b.json", "{\"user_name\": \"W"), ("c.jsonl", "garbage")]
    {
        let (store, folder) = (TestStore::new(), DataRoot::without_subfolders());
        let text = [broken, rows.split_once('\n').unwrap().1].join("\n");
        let arrived = import_path(&store, &folder.write_file(name, &text));
        let told = arrived.report.to_string();
        assert_eq!((arrived.totals.sessions, arrived.totals.messages), (1, 2), "{name}: {told}");
        assert!(told.contains("line 1: it is not JSON"), "{name}: {told}");
    }
    // Laid out JSON has lines of its own, and none of them is a message of a chat.
    let (store, folder) = (TestStore::new(), DataRoot::without_subfolders());
    let book = "{\n\"entries\": {\"0\":\n {\"mes\": \"x\", \"key\": [\"lamp\"], \"content\": \"It burns.\"}\n}\n}";
    let arrived = import_path(&store, &folder.write_file("Lamps.json", book));
    assert_eq!((arrived.totals.sessions, arrived.totals.lorebooks), (0, 1), "{}", arrived.report);
}

/// An empty upload is refused at once: no job can find anything in it.
#[tokio::test]
async fn import_empty_upload_is_refused() {
    let app = crate::support::server::TestServer::start().await;
    for (path, kind) in [
        ("/api/import", "application/json"),
        ("/api/import?name=Night.jsonl", "application/octet-stream"),
        ("/api/sessions/import", "application/zstd"),
    ] {
        let error = app.request("POST", path).bytes(b"", kind).send().await.expect_error("invalid");
        assert_eq!((&error["message"], &error["details"]["field"]), (&json!("the file is empty"), &json!("file")));
        assert!(error["hint"].as_str().unwrap().contains("export it again"), "{error}");
    }
    assert_eq!(app.get("/api/sessions").await["items"], json!([]));
}
