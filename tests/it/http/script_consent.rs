//! The regex scripts of an imported card or preset are kept, and run only after their owner allows them.

use super::api_session::ApiSession;
use super::session_transfer::{export_session, import_session, start_unrelated_server};
use super::*;

fn scripts(replacement: &str) -> Value {
    json!([{"scriptName": "Loud", "findRegex": "/wolf/g", "replaceString": replacement, "placement": [1, 2]}])
}

fn card_file(replacement: &str) -> Vec<u8> {
    let data = json!({
        "name": "Rin", "description": "", "first_mes": "Hello.", "extensions": {"regex_scripts": scripts(replacement)},
    });
    json!({"spec": "chara_card_v2", "spec_version": "2.0", "data": data}).to_string().into_bytes()
}

async fn import_card(app: &TestServer, query: &str, file: &[u8]) -> Value {
    let path = format!("/api/characters/import{query}");
    app.request("POST", &path).bytes(file, "application/json").send().await.expect(201)
}

async fn begin(server: TestServer, character: &Value) -> ApiSession {
    let sid = id_of(&server.post("/api/sessions", &json!({"characterIds": [id_of(character)]})).await);
    ApiSession { server, sid }
}

async fn patch(app: &TestServer, path: &str, change: Value) -> Value {
    app.request("PATCH", path).json(&change).send().await.expect(200)
}

async fn read_character(app: &TestServer, character: &Value) -> Value {
    app.get(&format!("/api/characters/{}", id_of(character))).await
}

/// Returns the imported character as the list of characters shows it.
async fn listed_character(app: &TestServer) -> Value {
    let all = app.get("/api/characters").await;
    all["items"].as_array().unwrap().iter().find(|one| one["name"] == "Rin").unwrap().clone()
}

/// Returns what the model got of a message about a wolf.
async fn sent_text(play: &ApiSession) -> String {
    play.run_turn("A wolf.").await;
    let request = play.server.mock().requests().pop().unwrap();
    let mut messages = request["messages"].as_array().unwrap().iter().filter(|one| one["role"] != "system");
    messages.next_back().unwrap()["content"].as_str().unwrap().to_owned()
}

fn both(character: &Value) -> (&Value, &Value) {
    (&character["regexScripts"], &character["requestedSettings"])
}

#[tokio::test]
async fn scripts_of_imported_card_wait_for_an_answer() {
    let app = TestServer::start().await;
    let card = import_card(&app, "", &card_file("bear")).await;
    let asked = json!({"regexScripts": true});
    assert_eq!(both(&card), (&json!(false), &asked));
    assert_eq!(card["metadata"]["extensions"]["regex_scripts"], scripts("bear"), "they are kept");
    let listed = listed_character(&app).await;
    assert_eq!(both(&listed), (&json!(false), &asked));
    // A session asks, and the scripts do nothing.
    let play = begin(app, &card).await;
    let session = play.session().await;
    assert_eq!(session["regexScripts"], json!({"card": false, "preset": true}));
    assert_eq!(session["requestedSettings"], json!({"regexScripts": {"card": true, "preset": true}}));
    assert_eq!(sent_text(&play).await, "A wolf.");
    let shown = play.server.get(&format!("/api/sessions/{}/scripts/shown", play.sid)).await;
    assert_eq!(shown["items"], json!([]));
    // The answer of the session is the answer for the card: nobody is asked twice.
    let accept = json!({"regexScripts": {"card": true, "preset": true}, "requestedSettings": null});
    let session = patch(&play.server, &format!("/api/sessions/{}", play.sid), accept).await;
    assert_eq!(session["requestedSettings"], Value::Null);
    assert_eq!(sent_text(&play).await, "A bear.");
    assert_eq!(both(&read_character(&play.server, &card).await), (&json!(true), &Value::Null));
    let next = begin(play.server, &card).await;
    let session = next.session().await;
    assert_eq!((&session["regexScripts"]["card"], &session["requestedSettings"]), (&json!(true), &Value::Null));
}

#[tokio::test]
async fn scripts_declined_in_a_session_stay_off_without_a_question() {
    let app = TestServer::start().await;
    let card = import_card(&app, "", &card_file("bear")).await;
    let play = begin(app, &card).await;
    patch(&play.server, &format!("/api/sessions/{}", play.sid), json!({"requestedSettings": null})).await;
    assert_eq!(sent_text(&play).await, "A wolf.");
    assert_eq!(both(&read_character(&play.server, &card).await), (&json!(false), &Value::Null));
    let next = begin(play.server, &card).await;
    let session = next.session().await;
    assert_eq!((&session["regexScripts"]["card"], &session["requestedSettings"]), (&json!(false), &Value::Null));
}

#[tokio::test]
async fn scripts_answered_at_the_character_apply_to_new_sessions() {
    let app = TestServer::start().await;
    let card = import_card(&app, "", &card_file("bear")).await;
    let path = format!("/api/characters/{}", id_of(&card));
    let allowed = patch(&app, &path, json!({"regexScripts": true, "requestedSettings": null})).await;
    assert_eq!(both(&allowed), (&json!(true), &Value::Null));
    let play = begin(app, &card).await;
    assert_eq!(sent_text(&play).await, "A bear.");
    let declined = patch(&play.server, &path, json!({"regexScripts": false})).await;
    assert_eq!(both(&declined), (&json!(false), &Value::Null));
    // The session that began before keeps its own setting.
    assert_eq!(sent_text(&play).await, "A bear.");
    // The null only ends a question.
    patch(&play.server, &path, json!({"regexScripts": true})).await;
    let same = patch(&play.server, &path, json!({"requestedSettings": null})).await;
    assert_eq!(both(&same), (&json!(true), &Value::Null));
    let refused = play.server.request("PATCH", &path).json(&json!({"requestedSettings": {}}));
    refused.send().await.expect_error("invalid");
}

#[tokio::test]
async fn scripts_answered_in_one_session_are_answered_in_the_others_with_the_card() {
    for is_allowed in [true, false] {
        let app = TestServer::start().await;
        let card = import_card(&app, "", &card_file("bear")).await;
        let first = begin(app, &card).await;
        let ApiSession { server: app, sid } = begin(first.server, &card).await;
        let older = format!("/api/sessions/{}", first.sid);
        assert!(app.get(&older).await["requestedSettings"].is_object(), "both ask");
        let answer = json!({"regexScripts": {"card": is_allowed, "preset": true}, "requestedSettings": null});
        patch(&app, &format!("/api/sessions/{sid}"), answer).await;
        let answered = app.get(&older).await;
        assert_eq!(answered["requestedSettings"], Value::Null);
        assert_eq!(answered["regexScripts"], json!({"card": is_allowed, "preset": true}));
        let listed = app.get("/api/sessions").await;
        assert_eq!(listed["items"][0]["id"], json!(sid), "the other story keeps its place in the list");
    }
}

#[tokio::test]
async fn scripts_answered_at_the_character_are_answered_in_its_sessions() {
    let app = TestServer::start().await;
    let card = import_card(&app, "", &card_file("bear")).await;
    let play = begin(app, &card).await;
    patch(&play.server, &format!("/api/characters/{}", id_of(&card)), json!({"regexScripts": true})).await;
    let answered = play.server.get(&format!("/api/sessions/{}", play.sid)).await;
    assert_eq!(both(&answered), (&json!({"card": true, "preset": true}), &Value::Null));
    assert_eq!(sent_text(&play).await, "A bear.");
}

#[tokio::test]
async fn scripts_of_trusted_card_run_at_once() {
    let app = TestServer::start().await;
    let card = import_card(&app, "?trust=true", &card_file("bear")).await;
    assert_eq!(both(&card), (&json!(true), &Value::Null));
    assert_eq!(sent_text(&begin(app, &card).await).await, "A bear.");
}

#[tokio::test]
async fn card_without_scripts_asks_nothing() {
    let app = TestServer::start().await;
    let file = json!({"spec": "chara_card_v2", "data": {"name": "Rin", "first_mes": "Hello."}}).to_string();
    let card = import_card(&app, "", file.as_bytes()).await;
    assert_eq!(both(&card), (&json!(true), &Value::Null));
    let play = begin(app, &card).await;
    let session = play.session().await;
    assert_eq!((&session["regexScripts"]["card"], &session["requestedSettings"]), (&json!(true), &Value::Null));
}

#[tokio::test]
async fn card_imported_again_asks_only_about_changed_scripts() {
    let app = TestServer::start().await;
    let card = import_card(&app, "", &card_file("bear")).await;
    patch(&app, &format!("/api/characters/{}", id_of(&card)), json!({"regexScripts": true})).await;
    assert_eq!(both(&import_card(&app, "", &card_file("bear")).await), (&json!(true), &Value::Null));
    let changed = import_card(&app, "", &card_file("dragon")).await;
    assert_eq!(both(&changed), (&json!(false), &json!({"regexScripts": true})));
    assert_eq!(both(&read_character(&app, &card).await), (&json!(true), &Value::Null));
}

/// A small edit of scripts that nobody allowed does not make them run; scripts that a user writes run.
#[tokio::test]
async fn edited_scripts_keep_the_consent_of_those_before() {
    let app = TestServer::start().await;
    let card = import_card(&app, "", &card_file("bear")).await;
    let path = format!("/api/characters/{}", id_of(&card));
    let edit = json!({"metadata": {"extensions": {"regex_scripts": scripts("dragon")}}});
    assert_eq!(both(&patch(&app, &path, edit.clone()).await), (&json!(false), &json!({"regexScripts": true})));
    let other = json!({"extensions": {"regex_scripts": scripts("cat")}});
    let own = app.post("/api/characters", &json!({"name": "Own", "metadata": other})).await;
    assert_eq!(both(&own), (&json!(true), &Value::Null));
}

/// The card of an imported session asks in the sessions that begin with it later, too.
#[tokio::test]
async fn card_of_imported_session_asks_in_later_sessions() {
    let app = TestServer::start().await;
    let card = import_card(&app, "?trust=true", &card_file("bear")).await;
    let play = begin(app, &card).await;
    let (file, server) = (export_session(&play.server, &play.sid).await, TestServer::start().await);
    let heard = server.request("POST", "/api/sessions/import").bytes(&file.body, "application/zstd").send().await;
    server.wait_for_job(heard.expect(202)["jobId"].as_str().unwrap()).await;
    let there = listed_character(&server).await;
    assert_eq!(both(&there), (&json!(false), &json!({"regexScripts": true})));
    let next = begin(server, &there).await;
    assert_eq!(sent_text(&next).await, "A wolf.");
}

#[tokio::test]
async fn scripts_of_imported_preset_wait_for_an_answer() {
    let play = ApiSession::start().await;
    let body = json!({"prompts": [], "new_chat_prompt": "", "extensions": {"regex_scripts": scripts("bear")}});
    let import = async |query: &str| {
        let part = "Content-Disposition: form-data; name=\"file\"; filename=\"Wild.json\"";
        let form = format!("--b\r\n{part}\r\n\r\n{body}\r\n--b--");
        let path = format!("/api/presets/import{query}");
        let ask = play.server.request("POST", &path).bytes(form.as_bytes(), "multipart/form-data; boundary=b");
        ask.send().await.expect(201)["items"][0].clone()
    };
    let preset = import("").await;
    assert_eq!(both(&preset), (&json!(false), &json!({"regexScripts": true})));
    let (session, path) = (format!("/api/sessions/{}", play.sid), format!("/api/presets/{}", id_of(&preset)));
    patch(&play.server, &session, json!({"presetId": preset["id"]})).await;
    assert_eq!(sent_text(&play).await, "A wolf.");
    let all = play.server.get(&format!("{session}/scripts")).await;
    assert_eq!((&all["items"][0]["scope"], &all["items"][0]["isAllowed"]), (&json!("preset"), &json!(false)));
    let allowed = patch(&play.server, &path, json!({"regexScripts": true})).await;
    assert_eq!((&allowed["regexScripts"], &allowed["requestedSettings"]), (&json!(true), &Value::Null));
    assert_eq!(sent_text(&play).await, "A bear.");
    // The same file asks nothing more, and a trusted one allows.
    assert_eq!(import("").await["regexScripts"], true);
    patch(&play.server, &path, json!({"regexScripts": false})).await;
    assert_eq!(import("?trust=true").await["regexScripts"], true);
}

/// An untrusted session with another version of a known character stays off when other scripts are allowed.
#[tokio::test]
async fn scripts_of_imported_version_of_known_character_wait_on() {
    let theirs = TestServer::start().await;
    let extensions = json!({"extensions": {"regex_scripts": scripts("bear")}});
    let fields = json!({"name": "Rin", "firstMessage": "Hello.", "metadata": extensions});
    let character = json!({"id": theirs.create_character(&fields).await});
    let scripted = begin(theirs, &character).await;
    let file = export_session(&scripted.server, &scripted.sid).await.body;
    let path = format!("/api/characters/{}", id_of(&character));
    patch(&scripted.server, &path, json!({"metadata": {"extensions": null}})).await;
    let plain = begin(scripted.server, &character).await;
    let plain = export_session(&plain.server, &plain.sid).await.body;
    let app = start_unrelated_server().await;
    import_session(&app, &plain).await;
    let import = app.request("POST", "/api/sessions/import").bytes(&file, "application/zstd").send().await.expect(202);
    let job = app.wait_for_job(import["jobId"].as_str().unwrap()).await;
    let sid = job["result"]["sessionId"].as_str().unwrap().to_owned();
    let asks = app.get(&format!("/api/sessions/{sid}")).await;
    assert_eq!(both(&asks).0, &json!({"card": false, "preset": false}));
    assert!(asks["requestedSettings"]["regexScripts"].is_object(), "{asks}");
    let other = import_card(&app, "", &card_file("lynx")).await;
    patch(&app, &format!("/api/characters/{}", id_of(&other)), json!({"regexScripts": true})).await;
    assert_eq!(app.get(&format!("/api/sessions/{sid}")).await["requestedSettings"], asks["requestedSettings"]);
}

async fn import_script(play: &ApiSession, query: &str, replacement: &str) -> Value {
    let script = scripts(replacement)[0].to_string();
    let path = format!("/api/presets/import{query}");
    let ask = play.server.request("POST", &path).bytes(script.as_bytes(), "application/json");
    ask.send().await.expect(201)["items"][0].clone()
}

/// Imported scripts for all stories wait like those of cards, each alone. Own ones run.
#[tokio::test]
async fn imported_scripts_for_all_stories_wait_for_an_answer() {
    let play = ApiSession::start().await;
    let script = import_script(&play, "", "bear").await;
    let asked = json!({"regexScripts": true});
    assert_eq!(both(&script), (&json!(false), &asked));
    assert!(sent_text(&play).await.ends_with("A wolf."));
    let listed = play.server.get("/api/presets?kind=regex").await["items"][0].clone();
    assert_eq!(both(&listed), (&json!(false), &asked));
    let session = format!("/api/sessions/{}", play.sid);
    let of_session = play.server.get(&format!("{session}/scripts")).await["items"][0].clone();
    assert_eq!((&of_session["scope"], &of_session["isAllowed"]), (&json!("global"), &json!(false)));
    // A change of a script that waits does not make it run.
    let path = format!("/api/presets/{}", id_of(&script));
    let changed = patch(&play.server, &path, json!({"body": scripts("lynx")[0]})).await;
    assert_eq!(changed["regexScripts"], false);
    assert!(sent_text(&play).await.ends_with("A wolf."));
    let allowed = patch(&play.server, &path, json!({"regexScripts": true})).await;
    assert_eq!((&allowed["regexScripts"], &allowed["requestedSettings"]), (&json!(true), &Value::Null));
    assert!(sent_text(&play).await.ends_with("A lynx."));
    patch(&play.server, &path, json!({"regexScripts": false})).await;
    assert!(sent_text(&play).await.ends_with("A wolf."));
    // A trusted file and an own script run at once.
    assert_eq!(import_script(&play, "?trust=true", "elk").await["regexScripts"], true);
    assert!(sent_text(&play).await.ends_with("A elk."));
    let own = json!({"kind": "regex", "name": "Mine", "body": {"findRegex": "/elk/g", "replaceString": "owl", "placement": [1]}});
    assert_eq!(play.server.post("/api/presets", &own).await["regexScripts"], true);
    assert!(sent_text(&play).await.ends_with("A owl."));
}

/// In a group, the scripts of each card wait alone.
#[tokio::test]
async fn scripts_of_group_members_wait_card_by_card() {
    let app = TestServer::start().await;
    let waiting = import_card(&app, "", &card_file("bear")).await;
    let allowed = import_card(&app, "?trust=true", &card_file("lynx")).await;
    let members = json!({"characterIds": [id_of(&waiting), id_of(&allowed)]});
    let sid = id_of(&app.post("/api/sessions", &members).await);
    let (session, scripts) = (format!("/api/sessions/{sid}"), format!("/api/sessions/{sid}/scripts"));
    let asks = app.get(&session).await;
    assert_eq!(
        both(&asks),
        (&json!({"card": true, "preset": true}), &json!({"regexScripts": {"card": true, "preset": true}}))
    );
    let are_allowed = async || {
        let all = app.get(&scripts).await;
        all["items"].as_array().unwrap().iter().map(|one| one["isAllowed"] == true).collect::<Vec<_>>()
    };
    assert_eq!(are_allowed().await, [false, true]);
    let shown = app.get(&format!("{scripts}/shown")).await;
    assert_eq!(shown["items"].as_array().unwrap().len(), 1, "{shown}");
    patch(&app, &format!("/api/characters/{}", id_of(&waiting)), json!({"regexScripts": true})).await;
    assert_eq!(are_allowed().await, [true, true]);
    assert_eq!(app.get(&session).await["requestedSettings"], Value::Null);
    patch(&app, &format!("/api/characters/{}", id_of(&allowed)), json!({"regexScripts": false})).await;
    assert_eq!(are_allowed().await, [true, false]);
}
