//! Connection profiles: named sets of model settings, and the sessions that take them over.

use clotho_core::ids::ConnectionProfileId;
use clotho_core::tree::ConnectionSettings;
use clotho_store::ConnectionProfile;

use super::api_session::ApiSession;
use super::*;

const NOTHING: &str = "018f3e2a-0000-7000-8000-0000000000aa";

async fn create_preset(app: &TestServer) -> String {
    id_of(&app.post("/api/presets", &json!({"name": "Slow", "from": "own"})).await)
}

async fn create_profile(app: &TestServer, fields: Value) -> Value {
    app.post("/api/profiles", &fields).await
}

/// A profile in which every field differs from a new session.
fn full_profile(name: &str, preset: &str) -> Value {
    json!({
        "name": name, "model": "mock/mock-plain", "params": {"temperature": 0.5}, "presetId": preset,
        "summariesModel": "mock/mock", "valuesModel": "mock/mock",
    })
}

async fn patch_session(play: &ApiSession, change: Value) -> Value {
    play.server.request("PATCH", &format!("/api/sessions/{}", play.sid)).json(&change).send().await.expect(200)
}

/// A profile is created, listed by name, changed in parts and deleted.
#[tokio::test]
async fn profile_roundtrip_keeps_all_fields() {
    let app = TestServer::start().await;
    let preset = create_preset(&app).await;
    let fields = full_profile(" Slow and good ", &preset);
    let made = create_profile(&app, fields.clone()).await;
    let path = format!("/api/profiles/{}", id_of(&made));
    for name in ["model", "params", "presetId", "summariesModel", "valuesModel"] {
        assert_eq!(made[name], fields[name], "{name}");
    }
    // Only the answer to a write names probable mistakes.
    let mut read = made.clone();
    read.as_object_mut().unwrap().shift_remove("problems");
    assert_eq!((&made["name"], &app.get(&path).await), (&json!("Slow and good"), &read));
    create_profile(&app, json!({"name": "Fast"})).await;
    let listed = app.get("/api/profiles?limit=1").await;
    assert_eq!((&listed["items"][0]["name"], listed["next"].is_string()), (&json!("Fast"), true));
    assert_eq!(listed["items"][0]["model"], Value::Null);
    let change = json!({"name": "Slow", "model": null, "params": {}});
    let changed = app.request("PATCH", &path).json(&change).send().await.expect(200);
    assert_eq!((&changed["name"], &changed["model"], &changed["params"]), (&json!("Slow"), &Value::Null, &json!({})));
    assert_eq!((&changed["presetId"], &changed["valuesModel"]), (&json!(preset), &json!("mock/mock")));
    app.request("DELETE", &path).send().await.expect(204);
    app.request("GET", &path).send().await.expect_error("not_found");
    app.request("DELETE", &path).send().await.expect_error("not_found");
}

/// Invalid names, unknown models, presets and keys are refused with the field, and nothing is written.
#[tokio::test]
async fn profile_invalid_fields_return_field() {
    let app = TestServer::start().await;
    let made = create_profile(&app, json!({"name": "Fast"})).await;
    let path = format!("/api/profiles/{}", id_of(&made));
    let lore = json!({"kind": "sysprompt", "name": "Plain", "body": {}});
    let lore = id_of(&app.post("/api/presets", &lore).await);
    for (fields, field) in [
        (json!({"name": " "}), "name"),
        (json!({"name": "x".repeat(101)}), "name"),
        (json!({"name": "two\nlines"}), "name"),
        (json!({"name": "Slow", "model": "nobody/here"}), "model"),
        (json!({"name": "Slow", "model": ""}), "model"),
        (json!({"name": "Slow", "summariesModel": "nobody/here"}), "summariesModel"),
        (json!({"name": "Slow", "valuesModel": "nobody/here"}), "valuesModel"),
        (json!({"name": "Slow", "valuesModel": ""}), "valuesModel"),
        (json!({"name": "Slow", "params": {"api_key": "sk-1"}}), "params"),
        (json!({"name": "Slow", "presetId": lore}), "presetId"),
        (json!({"name": "Slow", "presetId": "x"}), "presetId"),
        (json!({"name": "Slow", "persona": "Ann"}), "persona"),
    ] {
        for (method, path) in [("POST", "/api/profiles"), ("PATCH", path.as_str())] {
            let error = app.request(method, path).json(&fields).send().await.expect_error("invalid");
            assert_eq!(error["details"]["field"], field, "{method} {fields}: {error}");
        }
    }
    let error = app.request("POST", "/api/profiles").json(&json!({"name": "Fast"})).send().await;
    assert_eq!(error.expect_error("invalid")["details"]["field"], "name");
    app.request("PATCH", &path).json(&json!({"name": "Fast"})).send().await.expect(200);
    let gone = json!({"name": "Slow", "presetId": NOTHING});
    app.request("POST", "/api/profiles").json(&gone).send().await.expect_error("not_found");
    assert_eq!(app.get("/api/profiles").await["items"].as_array().unwrap().len(), 1);
    // The list of models is known once it was asked for.
    app.get("/api/models").await;
    let unlisted = create_profile(&app, json!({"name": "Odd", "model": "mock/nobody-has-it"})).await;
    assert_eq!(unlisted["problems"].as_array().unwrap().len(), 1, "{unlisted}");
}

/// A session takes over all settings in one operation, which one undo takes back. Whether and how often it is summarised
/// stays.
#[tokio::test]
async fn session_takes_over_profile_in_one_operation() {
    let play = ApiSession::start().await;
    let preset = create_preset(&play.server).await;
    let profile = create_profile(&play.server, full_profile("Slow", &preset)).await;
    let summaries = json!({"enabled": true, "every": 400, "model": null});
    let before = patch_session(&play, json!({"summaries": summaries})).await;
    assert_eq!((&before["profileId"], &before["profileIsChanged"]), (&Value::Null, &json!(false)));
    let mut tab = play.server.open_socket(&play.sid, None).await;
    let chosen = patch_session(&play, json!({"profileId": profile["id"]})).await;
    for name in ["model", "params", "presetId", "valuesModel"] {
        assert_eq!(chosen[name], profile[name], "{name}");
    }
    assert_eq!(chosen["summaries"], json!({"enabled": true, "every": 400, "model": "mock/mock"}));
    assert_eq!((&chosen["profileId"], &chosen["profileIsChanged"]), (&profile["id"], &json!(false)));
    assert_eq!(chosen["op"].as_i64(), before["op"].as_i64().map(|op| op + 1));
    let frames = tab.read_until_type("session.updated").await;
    let told = &frames.last().unwrap()["session"];
    assert_eq!((&told["profileId"], &told["presetId"]), (&profile["id"], &json!(preset)));
    assert_eq!((&told["model"], &told["valuesModel"]), (&profile["model"], &profile["valuesModel"]));

    play.run_turn("Hi.").await;
    let asked = play.server.mock().requests();
    assert_eq!((&asked[0]["model"], &asked[0]["temperature"]), (&json!("mock-plain"), &json!(0.5)));
    let again = patch_session(&play, json!({"profileId": profile["id"]})).await;
    assert_eq!(again["profileIsChanged"], false);
}

/// A change by hand, of the story or of the profile, is told and keeps the id; choosing the profile again takes it over.
#[tokio::test]
async fn session_that_differs_from_its_profile_says_so() {
    let play = ApiSession::start().await;
    let preset = create_preset(&play.server).await;
    let profile = create_profile(&play.server, full_profile("Slow", &preset)).await;
    patch_session(&play, json!({"profileId": profile["id"]})).await;
    for change in [
        json!({"model": "mock/mock"}),
        json!({"params": {"temperature": 0.6}}),
        json!({"presetId": null}),
        json!({"valuesModel": null}),
        json!({"summaries": {"enabled": false, "every": null, "model": null}}),
    ] {
        let changed = patch_session(&play, change.clone()).await;
        assert_eq!((&changed["profileId"], &changed["profileIsChanged"]), (&profile["id"], &json!(true)), "{change}");
        let listed = play.server.get("/api/sessions").await["items"][0].clone();
        assert_eq!((&listed["profileId"], &listed["profileIsChanged"]), (&profile["id"], &json!(true)));
        let back = patch_session(&play, json!({"profileId": profile["id"]})).await;
        assert_eq!(back["profileIsChanged"], false, "{change}");
    }
    let other = patch_session(&play, json!({"title": "Another", "recall": {"enabled": true}})).await;
    assert_eq!(other["profileIsChanged"], false);
    // Settings of the same request come first.
    let mixed = patch_session(&play, json!({"profileId": profile["id"], "model": "mock/mock"})).await;
    assert_eq!((&mixed["model"], &mixed["profileIsChanged"]), (&json!("mock/mock"), &json!(true)));
    let path = format!("/api/profiles/{}", id_of(&profile));
    play.server.request("PATCH", &path).json(&json!({"model": "mock/mock"})).send().await.expect(200);
    assert_eq!(play.session().await["profileIsChanged"], false);
    // Without a profile, the settings stay.
    let free = patch_session(&play, json!({"profileId": null})).await;
    assert_eq!((&free["profileId"], &free["presetId"]), (&Value::Null, &json!(preset)));
}

/// A deleted profile leaves the settings of its stories as they are.
#[tokio::test]
async fn deleted_profile_leaves_session_settings() {
    let play = ApiSession::start().await;
    let profile = create_profile(&play.server, json!({"name": "Plain", "model": "mock/mock-plain"})).await;
    patch_session(&play, json!({"profileId": profile["id"]})).await;
    play.server.request("DELETE", &format!("/api/profiles/{}", id_of(&profile))).send().await.expect(204);
    let session = play.session().await;
    assert_eq!((&session["profileId"], &session["profileIsChanged"]), (&Value::Null, &json!(false)));
    assert_eq!(session["model"], "mock/mock-plain");
    let path = format!("/api/sessions/{}", play.sid);
    let again = play.server.request("PATCH", &path).json(&json!({"profileId": profile["id"]})).send().await;
    assert_eq!(again.expect_error("not_found")["details"]["field"], "profileId");
}

/// A new session begins with a profile. Its own fields come first.
#[tokio::test]
async fn new_session_begins_with_profile() {
    let app = TestServer::start().await;
    let preset = create_preset(&app).await;
    let profile = create_profile(&app, full_profile("Slow", &preset)).await;
    let character = app.create_character(&json!({"name": "Rin", "firstMessage": "Hello."})).await;
    let begun = json!({"characterIds": [character], "profileId": profile["id"]});
    let session = app.post("/api/sessions", &begun).await;
    for name in ["model", "params", "presetId", "valuesModel"] {
        assert_eq!(session[name], profile[name], "{name}");
    }
    assert_eq!(session["summaries"]["model"], "mock/mock");
    assert_eq!((&session["profileId"], &session["profileIsChanged"]), (&profile["id"], &json!(false)));
    let mut own = begun.clone();
    own["model"] = json!("mock/mock");
    let session = app.post("/api/sessions", &own).await;
    assert_eq!((&session["model"], &session["profileIsChanged"]), (&json!("mock/mock"), &json!(true)));
    let mut unknown = begun;
    unknown["profileId"] = json!(NOTHING);
    app.request("POST", "/api/sessions").json(&unknown).send().await.expect_error("not_found");
}

/// A profile whose model the server has lost is refused with the reason, and the story stays as it is.
#[tokio::test]
async fn profile_with_lost_model_is_refused() {
    let play = ApiSession::start().await;
    let (app, now) = (play.server.app(), play.server.app().clock.now());
    let settings = ConnectionSettings { model: Some("gone/model".into()), ..ConnectionSettings::default() };
    let id = ConnectionProfileId::new(app.ids.next_id(now));
    let lost = ConnectionProfile { id, name: "Lost".into(), settings, created: now, updated: now };
    let owner = app.owner;
    app.store.write(move |tx| tx.put_connection_profile(owner, &lost)).await.unwrap();
    let path = format!("/api/sessions/{}", play.sid);
    let refused = play.server.request("PATCH", &path).json(&json!({"profileId": id.to_string()})).send().await;
    let refused = refused.expect_error("invalid");
    assert_eq!(refused["details"]["field"], "profileId");
    assert!(refused["message"].as_str().unwrap().contains("Lost"), "{refused}");
    assert_eq!(play.session().await["profileId"], Value::Null);
}

/// Profiles of other users do not exist.
#[tokio::test]
async fn foreign_profile_returns_not_found() {
    let play = ApiSession::start().await;
    let stranger = play.server.create_other_user().await;
    let (app, now) = (play.server.app(), play.server.app().clock.now());
    let id = ConnectionProfileId::new(app.ids.next_id(now));
    let settings = ConnectionSettings::default();
    let theirs = ConnectionProfile { id, name: "Theirs".into(), settings, created: now, updated: now };
    let user = stranger.user;
    app.store.write(move |tx| tx.put_connection_profile(user, &theirs)).await.unwrap();
    assert_eq!(play.server.get("/api/profiles").await["items"], json!([]));
    let path = format!("/api/profiles/{id}");
    for (method, body) in [("GET", None), ("PATCH", Some(json!({"name": "Mine now"}))), ("DELETE", None)] {
        let ask = play.server.request(method, &path);
        let asked = if let Some(body) = body { ask.json(&body) } else { ask };
        asked.send().await.expect_error("not_found");
    }
    let session = format!("/api/sessions/{}", play.sid);
    let taken = play.server.request("PATCH", &session).json(&json!({"profileId": id.to_string()})).send().await;
    taken.expect_error("not_found");
    let character = play.session().await["characterIds"][0].clone();
    let begun = json!({"characterIds": [character], "profileId": id.to_string()});
    play.server.request("POST", "/api/sessions").json(&begun).send().await.expect_error("not_found");
    // The same name is free for another user.
    create_profile(&play.server, json!({"name": "Theirs"})).await;
}
