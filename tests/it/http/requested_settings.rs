//! What an imported file wants: settings that may cost money, grant permissions or run scripts wait for an answer.

use super::api_session::ApiSession;
use super::session_transfer::export_session;
use super::*;

/// Starts a session with a plugin, and with every setting that an import does not apply.
async fn start_with_settings(card: Value) -> ApiSession {
    let server = TestServer::start_with(TestApp::setup()).await;
    let character = server.create_character(&card).await;
    let fields = json!({"characterIds": [character], "plugins": [{"id": "combat"}]});
    let sid = id_of(&server.post("/api/sessions", &fields).await);
    let play = ApiSession { server, sid };
    let preset = json!({"kind": "openai", "name": "Long", "body": {"prompts": [], "openai_max_tokens": 90_000}});
    let preset = id_of(&play.server.post("/api/presets", &preset).await);
    patch(&play.server, &play.sid, settings(&preset)).await;
    play
}

fn settings(preset: &str) -> Value {
    json!({
        "model": "mock/mock", "valuesModel": "mock/mock", "params": {"max_tokens": 90_000}, "presetId": preset,
        "recall": {"enabled": true, "collections": []},
        "summaries": {"enabled": true, "every": 100, "model": "mock/mock"},
    })
}

fn plain_card() -> Value {
    json!({"name": "Rin", "firstMessage": "Hello."})
}

fn card_with_script() -> Value {
    let script = json!({"scriptName": "Loud", "findRegex": "a", "replaceString": "A", "placement": [1, 2]});
    json!({"name": "Rin", "firstMessage": "Hello.", "metadata": {"extensions": {"regex_scripts": [script]}}})
}

async fn patch(server: &TestServer, sid: &str, change: Value) -> Value {
    server.request("PATCH", &format!("/api/sessions/{sid}")).json(&change).send().await.expect(200)
}

/// Imports the session on a new server. Returns the server and the session there.
async fn import_elsewhere(play: &ApiSession, query: &str) -> ApiSession {
    let (file, server) = (export_session(&play.server, &play.sid).await, TestServer::start().await);
    let path = format!("/api/sessions/import{query}");
    let heard = server.request("POST", &path).bytes(&file.body, "application/zstd").send().await.expect(202);
    let job = server.wait_for_job(heard["jobId"].as_str().unwrap()).await;
    let sid = job["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{job}")).to_owned();
    ApiSession { server, sid }
}

#[tokio::test]
async fn import_of_file_withholds_costly_settings() {
    let play = start_with_settings(plain_card()).await;
    let before = play.session().await;
    let there = import_elsewhere(&play, "").await;
    let session = there.session().await;
    for name in ["model", "valuesModel", "presetId"] {
        assert_eq!(session[name], Value::Null, "{name}");
    }
    assert_eq!(session["params"], json!({}));
    assert_eq!((&session["recall"]["enabled"], &session["summaries"]["enabled"]), (&json!(false), &json!(false)));
    assert_eq!(session["plugins"][0]["grants"], json!([]), "{session}");
    assert_eq!(session["plugins"][0]["enabled"], true);
    assert_eq!(session["regexScripts"], json!({"card": true, "preset": true}), "there are no scripts");
    let requested = &session["requestedSettings"];
    assert_eq!(requested["grants"], json!({"combat": before["plugins"][0]["grants"]}));
    for (name, value) in settings(before["presetId"].as_str().unwrap()).as_object().unwrap() {
        let wanted = if name == "recall" { &json!(true) } else { value };
        assert_eq!(&requested[name], wanted, "{name}");
    }
    // The story plays on without them.
    there.run_turn("Hello?").await;
    assert_eq!(there.session().await["requestedSettings"], *requested);
}

#[tokio::test]
async fn requested_settings_accepted_apply_and_end_question() {
    let play = start_with_settings(plain_card()).await;
    let there = import_elsewhere(&play, "").await;
    let change = json!({"params": {"max_tokens": 90_000}, "requestedSettings": null});
    let session = patch(&there.server, &there.sid, change).await;
    assert_eq!((&session["params"]["max_tokens"], &session["requestedSettings"]), (&json!(90_000), &Value::Null));
    // An undo asks again.
    there.post("undo", json!({})).await;
    let session = there.session().await;
    assert_eq!(session["params"], json!({}));
    assert_eq!(session["requestedSettings"]["params"], json!({"max_tokens": 90_000}));
}

#[tokio::test]
async fn undo_of_imported_changes_brings_no_withheld_settings() {
    let play = start_with_settings(plain_card()).await;
    patch(&play.server, &play.sid, json!({"params": {}, "model": null})).await;
    let there = import_elsewhere(&play, "").await;
    for _ in 0..3 {
        there.server.request("POST", &there.chat_path("undo")).json(&json!({})).send().await;
    }
    let session = there.session().await;
    assert_eq!((&session["params"], &session["model"]), (&json!({}), &Value::Null));
    assert_eq!(session["plugins"][0]["grants"], json!([]));
}

/// Folder, tags and pin arrange the list of their owner. An undo does not bring those of another owner either.
#[tokio::test]
async fn import_of_file_keeps_place_in_list_only_if_trusted() {
    let play = start_with_settings(plain_card()).await;
    let place = json!({"folder": "Summer", "tags": ["boat"], "isPinned": true});
    patch(&play.server, &play.sid, place.clone()).await;
    patch(&play.server, &play.sid, json!({"folder": "Winter"})).await;
    patch(&play.server, &play.sid, place.clone()).await;
    let none = json!({"folder": null, "tags": [], "isPinned": false});
    for (query, expected) in [("", &none), ("?trust=true", &place)] {
        let there = import_elsewhere(&play, query).await;
        let session = there.session().await;
        for name in ["folder", "tags", "isPinned"] {
            assert_eq!(session[name], expected[name], "{query} {name}");
        }
    }
    let there = import_elsewhere(&play, "").await;
    there.server.request("POST", &there.chat_path("undo")).json(&json!({})).send().await;
    assert_eq!(there.session().await["folder"], Value::Null);
}

/// The list of sessions sorts by the last play. To undo and redo a move to a folder is none.
#[tokio::test]
async fn undo_of_place_in_list_keeps_time_of_last_change() {
    let play = start_with_settings(plain_card()).await;
    let before = play.session().await["updatedAt"].clone();
    patch(&play.server, &play.sid, json!({"folder": "Summer"})).await;
    for (path, folder) in [("undo", json!(null)), ("redo", json!("Summer"))] {
        play.post(path, json!({})).await;
        let session = play.session().await;
        assert_eq!((&session["folder"], &session["updatedAt"]), (&folder, &before), "{path}");
    }
}

#[tokio::test]
async fn import_of_trusted_file_applies_all_settings() {
    let play = start_with_settings(card_with_script()).await;
    let there = import_elsewhere(&play, "?trust=true").await;
    let (before, after) = (play.session().await, there.session().await);
    for name in ["model", "valuesModel", "params", "presetId", "recall", "summaries", "plugins", "regexScripts"] {
        assert_eq!(before[name], after[name], "{name}");
    }
    assert_eq!(after["requestedSettings"], Value::Null);
}

#[tokio::test]
async fn import_of_file_with_scripts_withholds_them() {
    let play = start_with_settings(card_with_script()).await;
    let session = import_elsewhere(&play, "").await.session().await;
    assert_eq!(session["regexScripts"], json!({"card": false, "preset": false}));
    assert_eq!(session["requestedSettings"]["regexScripts"], json!({"card": true, "preset": true}));
}

#[tokio::test]
async fn import_of_exported_folder_withholds_costly_settings() {
    let play = start_with_settings(plain_card()).await;
    let archive = play.server.request("GET", "/api/export").send().await;
    for (query, is_trusted) in [("", false), ("?trust=true", true)] {
        let server = TestServer::start().await;
        let path = format!("/api/import{query}");
        let heard = server.request("POST", &path).bytes(&archive.body, "application/zip").send().await.expect(202);
        server.wait_for_job(heard["jobId"].as_str().unwrap()).await;
        let session = server.get("/api/sessions").await["items"][0].clone();
        assert_eq!(session["params"]["max_tokens"] == 90_000, is_trusted, "{session}");
        assert_eq!(session["requestedSettings"]["params"]["max_tokens"] == 90_000, !is_trusted, "{session}");
        assert_eq!(session["plugins"][0]["grants"] != json!([]), is_trusted, "{session}");
    }
}

#[tokio::test]
async fn copy_of_session_keeps_all_settings() {
    let play = start_with_settings(plain_card()).await;
    let heard = play.server.post(&format!("/api/sessions/{}/copies", play.sid), &json!({})).await;
    let job = play.server.wait_for_job(heard["jobId"].as_str().unwrap()).await;
    let copy = play.server.get(&format!("/api/sessions/{}", job["result"]["sessionId"].as_str().unwrap())).await;
    assert_eq!((&copy["params"]["max_tokens"], &copy["requestedSettings"]), (&json!(90_000), &Value::Null));
}

#[tokio::test]
async fn requested_settings_of_other_value_than_null_are_refused() {
    let play = ApiSession::start().await;
    let change = json!({"requestedSettings": {"params": {}}});
    let path = format!("/api/sessions/{}", play.sid);
    play.server.request("PATCH", &path).json(&change).send().await.expect_error("invalid");
    assert_eq!(play.session().await["requestedSettings"], Value::Null);
}
