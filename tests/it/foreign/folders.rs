//! Folders and archives of mixed files are imported like the single files: session files, archives, SillyTavern data,
//! and all of these together.

use clotho_engine::transfer::sillytavern::ImportOptions;

use super::*;
use crate::sillytavern::command::clotho;
use crate::sillytavern::hostile::packed;
use crate::sillytavern::play::sent;
use crate::sillytavern::{only, sessions};
use crate::support::app::TestApp;
use crate::support::data_root::{greeting, lines, said};
use crate::support::server::TestServer;
use crate::transfer::exported;

/// Returns two sessions of one store, and their export files.
fn two_sessions() -> (TestStore, Vec<Vec<u8>>) {
    let store = TestStore::new();
    let mut other = asked_twice();
    (other["title"], other["conversation_id"]) = (json!("The oil"), json!("c-2"));
    taken_json(&store, &json!([asked_twice(), other]));
    let files = sessions(&store).iter().map(|held| exported(&store, held.session.id)).collect();
    (store, files)
}

fn titles(store: &TestStore) -> Vec<String> {
    sessions(store).into_iter().map(|held| held.session.title).collect()
}

/// S4-04: a folder of sessions, one of them in an archive, restores each session once. The store that they came from
/// gets nothing new. Invalid files are reported with their line.
#[test]
fn session_folder_import_restores_sessions_once() {
    let (home, files) = two_sessions();
    let folder = DataRoot::bare();
    folder.bytes("a/one.clotho", &files[0]);
    folder.bytes("b.zip", &packed(&[("deep/two.clotho", &files[1])]));
    folder.bytes("cut.clotho", &files[0][..files[0].len() / 2]);
    let other = TestStore::new();
    let dry = clotho_engine::transfer::sillytavern::ImportOptions { is_dry: true, ..wish(&other) };
    let given = ImportSource::Path(folder.path().to_owned());
    let dry = other.block_on(import(other.store(), &other.ids, given, dry, |_| true)).unwrap();
    assert_eq!((dry.totals.sessions, dry.totals.messages, sessions(&other).len()), (2, 10, 0), "{}", dry.report);
    let arrived = taken(&other, folder.path());
    let told = arrived.report.to_string();
    assert_eq!((arrived.totals.sessions, arrived.totals.messages, arrived.totals.skipped), (2, 10, 1), "{told}");
    assert_eq!(titles(&other), ["The lamp", "The oil"]);
    assert!(told.contains("b.zip/deep/two.clotho") && told.contains("session cut (cut.clotho)"), "{told}");
    for held in sessions(&other) {
        assert!(files.contains(&exported(&other, held.session.id)), "it is equal");
    }
    for store in [&other, &home] {
        let again = taken(store, folder.path());
        let told = again.report.to_string();
        assert_eq!((again.totals.sessions, again.totals.unchanged, sessions(store).len()), (0, 2, 2), "{told}");
        assert!(told.contains("the session already exists"), "{told}");
        store.is_well();
    }
    let (owner, gone, at) = (other.owner, only_titled(&other, "The oil"), other.now());
    other.write(move |tx| tx.trash_session(owner, gone, at)).unwrap();
    assert!(taken(&other, folder.path()).report.to_string().contains("its session is in the trash"));
    assert_eq!(titles(&other), ["The lamp"]);
}

fn only_titled(store: &TestStore, title: &str) -> clotho_core::ids::SessionId {
    sessions(store).into_iter().find(|held| held.session.title == title).unwrap().session.id
}

/// S4-53: an archive inside a folder is opened whatever it contains, even a complete SillyTavern folder. Invalid or
/// too deeply nested archives are reported.
#[test]
fn archives_in_folder_are_imported_within_depth_limit() {
    let (store, folder) = (TestStore::new(), DataRoot::bare());
    let (story, night) = (asked_twice().to_string(), lines(&[greeting(), said("Hm.", 1)]));
    let chatgpt = packed(&[("conversations.json", story.as_bytes()), ("chat.html", b"<html>")]);
    let house = packed(&[
        ("characters/Ivo.json", br#"{"spec": "chara_card_v2", "data": {"name": "Ivo"}}"#),
        ("chats/Ivo/Night.jsonl", night.as_bytes()),
    ]);
    let hidden = packed(&[("1.zip", &packed(&[("2.zip", &packed(&[("3.zip", &chatgpt)]))]))]);
    folder.bytes("export.zip", &chatgpt);
    folder.bytes("st/data.zip", &house);
    folder.bytes("deep.zip", &hidden);
    folder.bytes("broken.zip", b"PK\x03\x04 no");
    folder.bytes("odd.zip", &packed(&[("a.txt", b"hello")]));
    let arrived = taken(&store, folder.path());
    let told = arrived.report.to_string();
    assert_eq!((arrived.totals.sessions, arrived.totals.characters), (2, 2), "{told}");
    assert_eq!(titles(&store), ["Night", "The lamp"]);
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
    assert_eq!(taken(&store, folder.path()).totals.messages, 0);
    store.is_well();
}

/// S4-53: other files beside SillyTavern data are imported too. A folder that only has the name of a SillyTavern
/// folder is not SillyTavern data.
#[test]
fn sillytavern_folder_import_includes_other_files() {
    let (store, folder) = (TestStore::new(), DataRoot::bare());
    folder.file("me/chats/Ivo/Night.jsonl", &lines(&[greeting(), said("Hm.", 1)]));
    folder.file("me/mine.json", &asked_twice().to_string());
    folder.file("Lamps.json", r#"{"entries": {"0": {"uid": 0, "key": ["lamp"], "content": "It burns."}}}"#);
    folder.file("notes.txt", "hello");
    let arrived = taken(&store, folder.path());
    let told = arrived.report.to_string();
    assert_eq!((arrived.totals.sessions, arrived.totals.lorebooks, arrived.totals.skipped), (2, 1, 1), "{told}");
    assert!(told.contains("notes.txt"), "{told}");

    let (store, folder) = (TestStore::new(), DataRoot::bare());
    folder.file("chats/conversations.json", &asked_twice().to_string());
    taken(&store, folder.path());
    assert_eq!(only(&store).session.title, "The lamp");
}

/// S4-53: SillyTavern data is found at any depth within limits, in a folder and in an archive of it. Backups are
/// skipped, and files beside the data are imported.
#[test]
fn sillytavern_data_is_found_in_nested_folders() {
    let night = lines(&[greeting(), said("Hm.", 1)]);
    let card = r#"{"spec": "chara_card_v2", "data": {"name": "Ivo"}}"#;
    let told_of = |home: &str, beside: &str| {
        let files = [
            (format!("{home}/characters/Ivo.json"), card.to_owned()),
            (format!("{home}/chats/Ivo/Night.jsonl"), night.clone()),
            (format!("{home}/backups/chat_ivo_1.jsonl"), lines(&[greeting(), said("Old.", 1)])),
            (beside.to_owned(), asked_twice().to_string()),
        ];
        let (folder, packed_in) = (DataRoot::bare(), DataRoot::bare());
        files.iter().for_each(|(name, text)| _ = folder.file(name, text));
        let entries: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
        let archive = packed_in.bytes("all.zip", &packed(&entries));
        let told = [folder.path(), &archive].map(|path| {
            let store = TestStore::new();
            let arrived = taken(&store, path);
            (titles(&store), arrived.totals)
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
    let (files, folder) = (two_sessions().1, DataRoot::bare());
    let (story, night) = (asked_twice().to_string(), [greeting(), said("Hm.", 1)]);
    let grown = [greeting(), said("Hm.", 1), said("And on.", 2)];
    let card = r#"{"spec": "chara_card_v2", "data": {"name": "Ivo", "first_mes": "Oh."}}"#;
    let book = r#"{"entries": {"0": {"uid": 0, "key": ["lamp"], "content": "It burns."}}}"#;
    for place in ["a", "b"] {
        folder.file(&format!("{place}/conversations.json"), &story);
        folder.file(&format!("{place}/Night.jsonl"), &lines(&night));
        folder.file(&format!("{place}/Ivo.json"), card);
        folder.file(&format!("{place}/Lamps.json"), book);
        folder.bytes(&format!("{place}/one.clotho"), &files[0]);
        let house = [("chats/Ivo/Night.jsonl", lines(&night)), ("chats/Ivo/Day.jsonl", lines(&grown))];
        let house: Vec<(&str, &[u8])> = house.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
        folder.bytes(&format!("{place}/st.zip"), &packed(&house));
    }
    let mut older = asked_twice();
    older["mapping"].as_object_mut().unwrap().shift_remove("thanks");
    folder.file("c/conversations.json", &older.to_string());
    folder.file("c/Night.jsonl", &lines(&grown));
    let store = TestStore::new();
    let looked = |store: &TestStore| {
        let wish = ImportOptions { is_dry: true, ..wish(store) };
        let given = ImportSource::Path(folder.path().to_owned());
        store.block_on(import(store.store(), &store.ids, given, wish, |_| true)).unwrap()
    };
    let dry = looked(&store);
    assert_eq!(sessions(&store).len(), 0, "nothing is written");
    let real = taken(&store, folder.path());
    assert_eq!(dry.totals, real.totals, "{}\n{}", dry.report, real.report);
    assert_eq!(real.totals.sessions, u64::try_from(sessions(&store).len()).unwrap());
    let (dry, real) = (looked(&store).totals, taken(&store, folder.path()).totals);
    assert_eq!((dry.sessions, dry.messages, dry), (0, 0, real));
}

/// S4-53: personas and a lorebook inside a picture are imported from a folder as they are from single files.
#[test]
fn folder_import_reads_personas_and_lorebook_images() {
    use clotho_compat::interop::{picture, png};
    let (store, folder) = (TestStore::new(), DataRoot::bare());
    let book = r#"{"lorebookVersion": 1, "entries": [{"text": "It burns.", "keys": ["lamp"], "enabled": true}]}"#;
    let text = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, book);
    let chunk = png::encode_chunk(b"tEXt", &[b"naidata\0", text.as_bytes()].concat());
    folder.bytes("Lamps.png", &picture::insert_chunks(&picture::png_or_placeholder(None), &chunk));
    let personas = json!({"personas": {"w.png": "Wren"}, "persona_descriptions": {"w.png": {"description": "Walks."}}});
    folder.file("personas_1.json", &personas.to_string());
    folder.file("settings.json", &json!({"power_user": {"personas": {"m.png": "Moth"}}}).to_string());
    let arrived = taken(&store, folder.path());
    let told = arrived.report.to_string();
    assert_eq!((arrived.totals.personas, arrived.totals.lorebooks, arrived.totals.skipped), (2, 1, 0), "{told}");
    assert!(told.contains("persona Wren (personas_1.json)") && told.contains("only personas are imported"), "{told}");
    let again = taken(&store, folder.path()).totals;
    assert_eq!((again.personas, again.lorebooks, again.known), (0, 0, 3));
}

/// S4-04, S4-53: `clotho import` restores what `clotho export --all` wrote. It fails with a message if nothing can be
/// imported, and refuses a pipe instead of waiting for it.
#[test]
fn export_all_then_import_command_restores_sessions() {
    let (mut store, _) = two_sessions();
    let from = store.settings.data_dir.clone();
    store.close();
    let folder = DataRoot::bare();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let to = folder.path().join("data");
    assert_eq!(clotho(&from, &["export", "--all", &path("cl")]).0, Some(0));
    let (code, told, said) = clotho(&to, &["import", &path("cl")]);
    assert!(code == Some(0) && told.contains("2 sessions, 10 messages"), "{told}{said}");
    let (code, told, _) = clotho(&to, &["import", &path("cl")]);
    assert!(code == Some(0) && told.contains("0 sessions, 0 messages"), "{told}");

    folder.file("bad/Night.jsonl", "{");
    let (code, told, said) = clotho(&to, &["import", &path("bad")]);
    assert!(code == Some(1) && told.contains("Night.jsonl") && said.contains("nothing of"), "{told}{said}");
    folder.file("no.zip", "PK\u{3}\u{4} no");
    let (code, _, said) = clotho(&to, &["import", &path("no.zip")]);
    assert!(code == Some(1) && !said.contains("continues from there") && !said.contains("EOCD"), "{said}");
    let (code, told, _) = clotho(&to, &["import", "--help"]);
    assert!(code == Some(0) && told.contains("makes a copy"), "{told}");
    #[cfg(unix)]
    {
        assert!(std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
        let (code, _, said) = clotho(&to, &["import", &path("pipe")]);
        assert!(code == Some(1) && said.contains("neither a file nor a folder"), "{said}");
    }
}

/// S4-53: JSON is uploaded as is, under the name in the request.
#[tokio::test]
async fn json_upload_uses_content_disposition_name() {
    let app = TestServer::with(TestApp::with()).await;
    let book =
        br#"{"entries": {"0": {"uid": 0, "key": ["lamp"], "content": "It burns."}, "1": 7, "x": [], "3": {"uid": 3}}}"#;
    let ask = |target: &str| app.ask("POST", target).bytes(book, "application/json; charset=utf-8");
    let named = ask("/api/import").header("content-disposition", "attachment; filename=\"../a/Lamps.json\"");
    let job = app.over(named.send().await.expect(202)["jobId"].as_str().unwrap()).await;
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
    let job = app.over(other.send().await.expect(202)["jobId"].as_str().unwrap()).await;
    assert_eq!(job["result"]["report"]["report"]["items"][0]["name"], "Other", "{job}");
    let broken = app.ask("POST", "/api/import").bytes(b"{\"entries\": {", "application/json").send().await.expect(202);
    let job = app.over(broken["jobId"].as_str().unwrap()).await;
    assert_eq!(job["result"]["report"]["report"]["items"][0]["kind"], "file", "nobody knows what it is: {job}");
}

/// S4-04: an uploaded archive of sessions is restored, and the report links to each session.
#[tokio::test]
async fn session_archive_upload_restores_sessions() {
    let files = tokio::task::spawn_blocking(|| two_sessions().1).await.unwrap();
    let app = TestServer::with(TestApp::with()).await;
    let job = sent(&app, "", &packed(&[("one.clotho", &files[0]), ("two.clotho", &files[1])])).await;
    assert_eq!((&job["state"], &job["result"]["report"]["totals"]["sessions"]), (&json!("done"), &json!(2)), "{job}");
    let items = job["result"]["report"]["report"]["items"].as_array().unwrap();
    let sid = items.iter().find(|item| item["name"] == "The oil").unwrap()["id"].as_str().unwrap();
    assert_eq!(app.get(&format!("/api/sessions/{sid}")).await["counts"]["nodes"], 5);
}
