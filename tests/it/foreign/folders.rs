//! Folders and archives of mixed files are imported like the single files: session files, archives, SillyTavern data,
//! and all of these together.

use clotho_engine::transfer::sillytavern::ImportOptions;

use super::*;
use crate::sillytavern::command::run_clotho;
use crate::sillytavern::hostile::zip_archive;
use crate::sillytavern::play::run_import_job;
use crate::sillytavern::{only_session, sessions};
use crate::support::app::TestApp;
use crate::support::data_root::{chat_file_text, greeting_row, user_row};
use crate::support::server::TestServer;
use crate::transfer::export_session;

/// Returns two sessions of one store, and their export files.
fn two_exported_sessions() -> (TestStore, Vec<Vec<u8>>) {
    let store = TestStore::new();
    let mut other = chatgpt_conversation();
    (other["title"], other["conversation_id"]) = (json!("The oil"), json!("c-2"));
    import_json(&store, &json!([chatgpt_conversation(), other]));
    let files = sessions(&store).iter().map(|held| export_session(&store, held.session.id)).collect();
    (store, files)
}

fn session_titles(store: &TestStore) -> Vec<String> {
    sessions(store).into_iter().map(|held| held.session.title).collect()
}

/// S4-04: a folder of sessions, one of them in an archive, restores each session once. The store that they came from
/// gets nothing new. Invalid files are reported with their line.
#[test]
fn session_folder_import_restores_sessions_once() {
    let (home, files) = two_exported_sessions();
    let folder = DataRoot::without_subfolders();
    folder.write_bytes("a/one.clotho", &files[0]);
    folder.write_bytes("b.zip", &zip_archive(&[("deep/two.clotho", &files[1])]));
    folder.write_bytes("cut.clotho", &files[0][..files[0].len() / 2]);
    let other = TestStore::new();
    let dry = clotho_engine::transfer::sillytavern::ImportOptions { is_dry: true, ..import_options(&other) };
    let given = ImportSource::Path(folder.path().to_owned());
    let dry = other.block_on(import(other.store(), &other.ids, given, dry, |_| true)).unwrap();
    assert_eq!((dry.totals.sessions, dry.totals.messages, sessions(&other).len()), (2, 10, 0), "{}", dry.report);
    let arrived = import_path(&other, folder.path());
    let told = arrived.report.to_string();
    assert_eq!((arrived.totals.sessions, arrived.totals.messages, arrived.totals.skipped), (2, 10, 1), "{told}");
    assert_eq!(session_titles(&other), ["The lamp", "The oil"]);
    assert!(told.contains("b.zip/deep/two.clotho") && told.contains("session cut (cut.clotho)"), "{told}");
    for held in sessions(&other) {
        assert!(files.contains(&export_session(&other, held.session.id)), "it is equal");
    }
    for store in [&other, &home] {
        let again = import_path(store, folder.path());
        let told = again.report.to_string();
        assert_eq!((again.totals.sessions, again.totals.unchanged, sessions(store).len()), (0, 2, 2), "{told}");
        assert!(told.contains("the session already exists"), "{told}");
        store.assert_healthy();
    }
    let (owner, gone, at) = (other.owner, session_id_by_title(&other, "The oil"), other.now());
    other.write(move |tx| tx.trash_session(owner, gone, at)).unwrap();
    assert!(import_path(&other, folder.path()).report.to_string().contains("its session is in the trash"));
    assert_eq!(session_titles(&other), ["The lamp"]);
}

fn session_id_by_title(store: &TestStore, title: &str) -> clotho_core::ids::SessionId {
    sessions(store).into_iter().find(|held| held.session.title == title).unwrap().session.id
}

/// S4-53: an archive inside a folder is opened whatever it contains, even a complete SillyTavern folder. Invalid or
/// too deeply nested archives are reported.
#[test]
fn archives_in_folder_are_imported_within_depth_limit() {
    let (store, folder) = (TestStore::new(), DataRoot::without_subfolders());
    let (story, night) = (chatgpt_conversation().to_string(), chat_file_text(&[greeting_row(), user_row("Hm.", 1)]));
    let chatgpt = zip_archive(&[("conversations.json", story.as_bytes()), ("chat.html", b"<html>")]);
    let house = zip_archive(&[
        ("characters/Ivo.json", br#"{"spec": "chara_card_v2", "data": {"name": "Ivo"}}"#),
        ("chats/Ivo/Night.jsonl", night.as_bytes()),
    ]);
    let hidden = zip_archive(&[("1.zip", &zip_archive(&[("2.zip", &zip_archive(&[("3.zip", &chatgpt)]))]))]);
    folder.write_bytes("export.zip", &chatgpt);
    folder.write_bytes("st/data.zip", &house);
    folder.write_bytes("deep.zip", &hidden);
    folder.write_bytes("broken.zip", b"PK\x03\x04 no");
    folder.write_bytes("odd.zip", &zip_archive(&[("a.txt", b"hello")]));
    let arrived = import_path(&store, folder.path());
    let told = arrived.report.to_string();
    assert_eq!((arrived.totals.sessions, arrived.totals.characters), (2, 2), "{told}");
    assert_eq!(session_titles(&store), ["Night", "The lamp"]);
    for wanted in [
        "export.zip/chat.html",
        "st/data.zip/chats/Ivo/Night.jsonl",
        "deep.zip/1.zip/2.zip",
        "too deep inside other archives",
        "broken.zip",
        "odd.zip",
    ] {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    assert!(!told.contains("EOCD"), "{told}");
    assert_eq!(import_path(&store, folder.path()).totals.messages, 0);
    store.assert_healthy();
}

/// S4-53: other files beside SillyTavern data are imported too. A folder that only has the name of a SillyTavern
/// folder is not SillyTavern data.
#[test]
fn sillytavern_folder_import_includes_other_files() {
    let (store, folder) = (TestStore::new(), DataRoot::without_subfolders());
    folder.write_file("me/chats/Ivo/Night.jsonl", &chat_file_text(&[greeting_row(), user_row("Hm.", 1)]));
    folder.write_file("me/mine.json", &chatgpt_conversation().to_string());
    folder.write_file("Lamps.json", r#"{"entries": {"0": {"uid": 0, "key": ["lamp"], "content": "It burns."}}}"#);
    folder.write_file("notes.txt", "hello");
    let arrived = import_path(&store, folder.path());
    let told = arrived.report.to_string();
    assert_eq!((arrived.totals.sessions, arrived.totals.lorebooks, arrived.totals.skipped), (2, 1, 1), "{told}");
    assert!(told.contains("notes.txt"), "{told}");

    let (store, folder) = (TestStore::new(), DataRoot::without_subfolders());
    folder.write_file("chats/conversations.json", &chatgpt_conversation().to_string());
    import_path(&store, folder.path());
    assert_eq!(only_session(&store).session.title, "The lamp");
}

/// S4-53: SillyTavern data is found at any depth within limits, in a folder and in an archive of it. Backups are
/// skipped, and files beside the data are imported.
#[test]
fn sillytavern_data_is_found_in_nested_folders() {
    let night = chat_file_text(&[greeting_row(), user_row("Hm.", 1)]);
    let card = r#"{"spec": "chara_card_v2", "data": {"name": "Ivo"}}"#;
    let told_of = |home: &str, beside: &str| {
        let files = [
            (format!("{home}/characters/Ivo.json"), card.to_owned()),
            (format!("{home}/chats/Ivo/Night.jsonl"), night.clone()),
            (format!("{home}/backups/chat_ivo_1.jsonl"), chat_file_text(&[greeting_row(), user_row("Old.", 1)])),
            (beside.to_owned(), chatgpt_conversation().to_string()),
        ];
        let (folder, packed_in) = (DataRoot::without_subfolders(), DataRoot::without_subfolders());
        files.iter().for_each(|(name, text)| _ = folder.write_file(name, text));
        let entries: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
        let archive = packed_in.write_bytes("all.zip", &zip_archive(&entries));
        let told = [folder.path(), &archive].map(|path| {
            let store = TestStore::new();
            let arrived = import_path(&store, path);
            (session_titles(&store), arrived.totals)
        });
        assert_eq!(told[0], told[1], "{home}");
        told[0].0.clone()
    };
    for home in ["x/out", "x/y/default-user", "1/2/3/4/5/6"] {
        assert_eq!(told_of(home, "x/mine.json"), ["Night", "The lamp"], "{home}");
    }
    // The folder of the SillyTavern program itself has nothing else to import.
    assert_eq!(told_of("ST/data/me", "ST/public/chats/a/mine.json"), ["Night"]);
    // Below the depth limit each file is imported by itself.
    assert!(told_of("1/2/3/4/5/6/7", "mine.json").contains(&"chat_ivo_1".to_owned()));
}

/// S4-53: a dry run counts duplicates once, as the real run does: in single files, in archives and in longer versions.
#[test]
fn dry_run_counts_duplicates_once() {
    let (files, folder) = (two_exported_sessions().1, DataRoot::without_subfolders());
    let (story, night) = (chatgpt_conversation().to_string(), [greeting_row(), user_row("Hm.", 1)]);
    let grown = [greeting_row(), user_row("Hm.", 1), user_row("And on.", 2)];
    let card = r#"{"spec": "chara_card_v2", "data": {"name": "Ivo", "first_mes": "Oh."}}"#;
    let book = r#"{"entries": {"0": {"uid": 0, "key": ["lamp"], "content": "It burns."}}}"#;
    for place in ["a", "b"] {
        folder.write_file(&format!("{place}/conversations.json"), &story);
        folder.write_file(&format!("{place}/Night.jsonl"), &chat_file_text(&night));
        folder.write_file(&format!("{place}/Ivo.json"), card);
        folder.write_file(&format!("{place}/Lamps.json"), book);
        folder.write_bytes(&format!("{place}/one.clotho"), &files[0]);
        let house =
            [("chats/Ivo/Night.jsonl", chat_file_text(&night)), ("chats/Ivo/Day.jsonl", chat_file_text(&grown))];
        let house: Vec<(&str, &[u8])> = house.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
        folder.write_bytes(&format!("{place}/st.zip"), &zip_archive(&house));
    }
    let mut older = chatgpt_conversation();
    older["mapping"].as_object_mut().unwrap().shift_remove("thanks");
    folder.write_file("c/conversations.json", &older.to_string());
    folder.write_file("c/Night.jsonl", &chat_file_text(&grown));
    let store = TestStore::new();
    let looked = |store: &TestStore| {
        let wish = ImportOptions { is_dry: true, ..import_options(store) };
        let given = ImportSource::Path(folder.path().to_owned());
        store.block_on(import(store.store(), &store.ids, given, wish, |_| true)).unwrap()
    };
    let dry = looked(&store);
    assert_eq!(sessions(&store).len(), 0, "nothing is written");
    let real = import_path(&store, folder.path());
    assert_eq!(dry.totals, real.totals, "{}\n{}", dry.report, real.report);
    assert_eq!(real.totals.sessions, u64::try_from(sessions(&store).len()).unwrap());
    let (dry, real) = (looked(&store).totals, import_path(&store, folder.path()).totals);
    assert_eq!((dry.sessions, dry.messages, dry), (0, 0, real));
}

/// S4-53: personas and a lorebook inside a picture are imported from a folder as they are from single files.
#[test]
fn folder_import_reads_personas_and_lorebook_images() {
    use clotho_compat::interop::{picture, png};
    let (store, folder) = (TestStore::new(), DataRoot::without_subfolders());
    let book = r#"{"lorebookVersion": 1, "entries": [{"text": "It burns.", "keys": ["lamp"], "enabled": true}]}"#;
    let text = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, book);
    let chunk = png::encode_chunk(b"tEXt", &[b"naidata\0", text.as_bytes()].concat());
    folder.write_bytes("Lamps.png", &picture::insert_chunks(&picture::png_or_placeholder(None), &chunk));
    let personas = json!({"personas": {"w.png": "Wren"}, "persona_descriptions": {"w.png": {"description": "Walks."}}});
    folder.write_file("personas_1.json", &personas.to_string());
    folder.write_file("settings.json", &json!({"power_user": {"personas": {"m.png": "Moth"}}}).to_string());
    let arrived = import_path(&store, folder.path());
    let told = arrived.report.to_string();
    assert_eq!((arrived.totals.personas, arrived.totals.lorebooks, arrived.totals.skipped), (2, 1, 0), "{told}");
    assert!(told.contains("persona Wren (personas_1.json)") && told.contains("only personas are imported"), "{told}");
    let again = import_path(&store, folder.path()).totals;
    assert_eq!((again.personas, again.lorebooks, again.known), (0, 0, 3));
}

/// S4-04, S4-53: `clotho import` restores what `clotho export --all` wrote. It fails with a message if nothing can be
/// imported, and refuses a pipe instead of waiting for it.
#[test]
fn export_all_then_import_command_restores_sessions() {
    let (mut store, _) = two_exported_sessions();
    let from = store.settings.data_dir.clone();
    store.close();
    let folder = DataRoot::without_subfolders();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let to = folder.path().join("data");
    assert_eq!(run_clotho(&from, &["export", "--all", &path("cl")]).0, Some(0));
    let (code, told, said) = run_clotho(&to, &["import", &path("cl")]);
    assert!(code == Some(0) && told.contains("2 sessions, 10 messages"), "{told}{said}");
    let (code, told, _) = run_clotho(&to, &["import", &path("cl")]);
    assert!(code == Some(0) && told.contains("0 sessions, 0 messages"), "{told}");

    folder.write_file("bad/Night.jsonl", "{");
    let (code, told, said) = run_clotho(&to, &["import", &path("bad")]);
    assert!(code == Some(1) && told.contains("Night.jsonl") && said.contains("nothing of"), "{told}{said}");
    folder.write_file("no.zip", "PK\u{3}\u{4} no");
    let (code, _, said) = run_clotho(&to, &["import", &path("no.zip")]);
    assert!(code == Some(1) && !said.contains("continues from there") && !said.contains("EOCD"), "{said}");
    let (code, told, _) = run_clotho(&to, &["import", "--help"]);
    assert!(code == Some(0) && told.contains("makes a copy"), "{told}");
    #[cfg(unix)]
    {
        assert!(std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
        let (code, _, said) = run_clotho(&to, &["import", &path("pipe")]);
        assert!(code == Some(1) && said.contains("neither a file nor a folder"), "{said}");
    }
}

/// S4-53: JSON is uploaded as is, under the name in the request.
#[tokio::test]
async fn json_upload_uses_content_disposition_name() {
    let app = TestServer::start_with(TestApp::setup()).await;
    let book =
        br#"{"entries": {"0": {"uid": 0, "key": ["lamp"], "content": "It burns."}, "1": 7, "x": [], "3": {"uid": 3}}}"#;
    let ask = |target: &str| app.request("POST", target).bytes(book, "application/json; charset=utf-8");
    let named = ask("/api/import").header("content-disposition", "attachment; filename=\"../a/Lamps.json\"");
    let job = app.wait_for_job(named.send().await.expect(202)["jobId"].as_str().unwrap()).await;
    let item = job["result"]["report"]["report"]["items"][0].clone();
    assert_eq!((&item["name"], &item["file"]), (&json!("Lamps"), &json!("Lamps.json")), "{job}");
    let told = item["findings"].to_string();
    assert!(told.contains("2 of its entries are not valid and were skipped: 1, x"), "{told}");
    let kept = app.get(&format!("/api/lorebooks/{}", item["id"].as_str().unwrap())).await;
    assert_eq!(
        kept["entries"].as_array().map(Vec::len).or(kept["entries"].as_object().map(serde_json::Map::len)),
        Some(2),
        "{kept}"
    );
    let other = ask("/api/import?name=Other.json").header("content-disposition", "attachment; filename=\"Lamps.json\"");
    let job = app.wait_for_job(other.send().await.expect(202)["jobId"].as_str().unwrap()).await;
    assert_eq!(job["result"]["report"]["report"]["items"][0]["name"], "Other", "{job}");
    let broken =
        app.request("POST", "/api/import").bytes(b"{\"entries\": {", "application/json").send().await.expect(202);
    let job = app.wait_for_job(broken["jobId"].as_str().unwrap()).await;
    assert_eq!(job["result"]["report"]["report"]["items"][0]["kind"], "file", "nobody knows what it is: {job}");
}

/// S4-04: an uploaded archive of sessions is restored, and the report links to each session.
#[tokio::test]
async fn session_archive_upload_restores_sessions() {
    let files = tokio::task::spawn_blocking(|| two_exported_sessions().1).await.unwrap();
    let app = TestServer::start_with(TestApp::setup()).await;
    let job = run_import_job(&app, "", &zip_archive(&[("one.clotho", &files[0]), ("two.clotho", &files[1])])).await;
    assert_eq!((&job["state"], &job["result"]["report"]["totals"]["sessions"]), (&json!("done"), &json!(2)), "{job}");
    let items = job["result"]["report"]["report"]["items"].as_array().unwrap();
    let sid = items.iter().find(|item| item["name"] == "The oil").unwrap()["id"].as_str().unwrap();
    assert_eq!(app.get(&format!("/api/sessions/{sid}")).await["counts"]["nodes"], 5);
}

/// A JPEG of two by two pixels.
const JPEG: &[u8] = include_bytes!("../../fixtures/pictures/two-pixels.jpg");

/// Returns a CHARX archive with this path of its card.
fn charx(path: &str, name: &str) -> Vec<u8> {
    let card = json!({"spec": "chara_card_v3", "data": {"name": name, "first_mes": "Evening."}}).to_string();
    zip_archive(&[(path, card.as_bytes())])
}

/// A card archive behind other bytes, in a folder or with another spelling of its name, is a character by every door:
/// alone, in a folder, in an archive, and by the command.
#[test]
fn card_archive_behind_other_bytes_is_imported_by_every_door() {
    let (mut store, folder) = (TestStore::new(), DataRoot::without_subfolders());
    let behind = |before: &[u8], file: Vec<u8>| [before, &file].concat();
    folder.write_bytes("Nell.jpg", &behind(JPEG, charx("card.json", "Nell")));
    folder.write_bytes("deep/Ivo.bin", &behind(b"#!/bin/sh\nexit 0\n", charx("./card.json", "Ivo")));
    let inner = behind(JPEG, charx("Anna/Card.json", "Anna"));
    folder.write_bytes(
        "more.zip",
        &zip_archive(&[("a/Anna.jpeg", &inner), ("b/Berta.charx", &charx("card.json", "Berta"))]),
    );
    folder.write_bytes("photo.jpg", JPEG);
    let arrived = import_path(&store, folder.path());
    let told = arrived.report.to_string();
    assert_eq!((arrived.totals.characters, arrived.totals.skipped), (4, 1), "{told}");
    for name in
        ["Nell (Nell.jpg)", "Ivo (deep/Ivo.bin)", "Anna (more.zip/a/Anna.jpeg)", "Berta (more.zip/b/Berta.charx)"]
    {
        assert!(told.contains(&format!("character {name}")), "{name}: {told}");
    }
    assert!(told.contains("file photo (photo.jpg)"), "{told}");
    let alone = import_path(&store, &folder.path().join("Nell.jpg"));
    assert_eq!((alone.totals.known, alone.totals.characters), (1, 0), "{}", alone.report);
    let data = store.settings.data_dir.clone();
    store.close();
    folder.write_bytes("Otto.jpeg", &behind(JPEG, charx("Otto/card.json", "Otto")));
    let (code, told, said) = run_clotho(&data, &["import", folder.path().join("Otto.jpeg").to_str().unwrap()]);
    assert!(code == Some(0) && told.contains("character Otto"), "{told}{said}");
}

/// An upload of a card archive behind a JPEG becomes a character, with the JPEG as its picture.
#[tokio::test]
async fn card_archive_behind_jpeg_upload_keeps_picture() {
    let app = TestServer::start_with(TestApp::setup()).await;
    let drawn = clotho_compat::interop::picture::png_or_placeholder(None);
    let file = [drawn.as_slice(), &charx("card.json", "Nell")].concat();
    let sent = app.request("POST", "/api/characters/import").bytes(&file, "application/octet-stream").send().await;
    let came = sent.expect(201);
    assert_eq!(came["name"], "Nell");
    assert!(came["avatar"].as_str().is_some_and(|avatar| avatar.contains("/avatar?v=")), "{came}");
    let job = run_import_job(&app, "?name=Anna.jpg", &[JPEG, &charx("card.json", "Anna")].concat()).await;
    assert_eq!((&job["state"], &job["result"]["report"]["totals"]["characters"]), (&json!("done"), &json!(1)), "{job}");
}
