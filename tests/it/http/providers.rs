//! Model servers connected at run time: their sealed keys, immediate use, tests and removal.

use std::path::Path;

use super::api_session::ApiSession;
use super::*;
use crate::support::mock_model::MockModel;

const KEY: &str = "sk-never-to-be-seen-0123";

/// Returns the body that connects a mock under a name.
fn provider_json(mock: &MockModel, name: &str) -> Value {
    json!({"id": name, "kind": "openai", "baseUrl": mock.base_url(), "key": KEY})
}

async fn patch_provider(app: &TestServer, name: &str, body: Value) -> Value {
    app.request("PATCH", &format!("/api/providers/{name}")).json(&body).send().await.expect(200)
}

async fn find_provider(app: &TestServer, name: &str) -> Value {
    let all = app.get("/api/providers").await;
    all["items"].as_array().unwrap().iter().find(|one| one["id"] == name).cloned().unwrap_or_default()
}

/// Returns whether any file of a folder contains these bytes.
fn contains_bytes(folder: &Path, bytes: &[u8]) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => contains_bytes(&path, bytes),
            false => std::fs::read(&path).unwrap().windows(bytes.len()).any(|window| window == bytes),
        }
    })
}

/// A connected server works at once and after a restart, and its key cannot be read anywhere.
#[tokio::test]
async fn provider_connected_survives_restart_and_hides_key() {
    let mock = MockModel::start().await;
    let mut play = ApiSession::start_with(TestApp::setup().mock(mock), json!({})).await;
    let new = provider_json(play.server.mock(), "house");
    let heard = play.server.request("POST", "/api/providers").json(&new).send().await;
    let made = heard.expect(201);
    assert_eq!(
        (&made["hasKey"], &made["origin"], &made["unusable"]),
        (&json!(true), &json!("connected"), &json!(null))
    );
    for restarted in [false, true] {
        if restarted {
            play = play.restart().await;
        }
        let body = json!({"parentId": play.head().await, "content": "Well?", "generate": {"model": "house/mock"}});
        play.server.mock().queue_reply(Reply::ok(["Yes."]));
        let node = play.wait_for_reply(&id_of(&play.post("message", body).await["generations"][0])).await;
        assert_eq!((&node["content"], &node["metadata"]["model"]), (&json!("Yes."), &json!("house/mock")));
        let seen = play.server.mock().all_requests().into_iter().rfind(|seen| !seen.body.is_null()).unwrap();
        assert!(seen.headers.iter().any(|line| line.contains(&format!("Bearer {KEY}"))), "{:?}", seen.headers);
        let told = [
            play.server.get("/api/providers").await,
            play.server.get("/api/models").await,
            play.get(&format!("node/{}/trace", id_of(&node))).await,
        ];
        assert!(told.iter().all(|told| !told.to_string().contains(KEY)));
    }
    let data = play.server.app().home().join("data");
    assert!(
        data.join("provider.key").exists() && !contains_bytes(&data, KEY.as_bytes()),
        "the key lies in the data folder"
    );
}

/// The list has services of every kind, and a server of another address is any server of its kind.
#[tokio::test]
async fn providers_list_known_services_of_every_kind() {
    let app = TestServer::start().await;
    let all = app.get("/api/providers").await;
    let services = all["services"].as_array().unwrap();
    for kind in all["kinds"].as_array().unwrap() {
        assert!(services.iter().any(|service| service["kind"] == *kind), "{kind}");
    }
    let horde = services.iter().find(|service| service["id"] == "horde").unwrap();
    let expected = json!({"id": "horde", "name": "AI Horde", "kind": "horde", "baseUrl": "https://aihorde.net/api",
        "keyUrl": "https://aihorde.net/register", "needsKey": false});
    assert_eq!(*horde, expected);
    let last = services.last().unwrap();
    assert_eq!((&last["name"], &last["baseUrl"], &last["keyUrl"]), (&json!(""), &json!(""), &json!(null)));
}

/// Without the file that sealed it, a stored key cannot be opened, and the user is asked to type it again.
#[tokio::test]
async fn provider_without_sealing_file_asks_for_key_again() {
    let app = TestServer::start().await;
    let new = provider_json(app.mock(), "house");
    app.request("POST", "/api/providers").json(&new).send().await.expect(201);
    let file = app.app().home().join("data/provider.key");
    let setup = app.stop().await;
    std::fs::remove_file(&file).unwrap();
    let app = TestServer::start_with(setup).await;
    let lost = find_provider(&app, "house").await;
    assert!(lost["unusable"].as_str().unwrap().contains("enter it again"), "{lost}");
    let models = app.get("/api/models").await;
    assert_eq!(models["problems"][0]["provider"], "house", "{models}");
    patch_provider(&app, "house", json!({"key": KEY})).await;
    assert_eq!(find_provider(&app, "house").await["unusable"], json!(null));
}

/// A change without a key keeps it, null removes it, and it is never sent to another host.
#[tokio::test]
async fn provider_key_kept_or_removed_never_follows_host() {
    let app = TestServer::start().await;
    app.request("POST", "/api/providers").json(&provider_json(app.mock(), "house")).send().await.expect(201);
    let changed = patch_provider(&app, "house", json!({"models": ["mock"]})).await;
    assert_eq!((&changed["hasKey"], &changed["models"]), (&json!(true), &json!(["mock"])));
    let elsewhere = MockModel::start().await;
    for refused in [
        app.request("PATCH", "/api/providers/house").json(&json!({"baseUrl": elsewhere.base_url()})),
        app.request("POST", "/api/providers/test")
            .json(&json!({"id": "house", "kind": "openai", "baseUrl": elsewhere.base_url(), "model": "mock"})),
    ] {
        let error = refused.send().await.expect_error("invalid");
        assert_eq!(error["details"]["field"], "key", "{error}");
    }
    assert_eq!(elsewhere.all_requests().len(), 0, "somebody else was asked");
    let same = json!({"id": "house", "kind": "openai", "baseUrl": app.mock().base_url(), "model": "mock"});
    app.mock().queue_reply(Reply::ok(["Hello"]));
    assert_eq!(app.post("/api/providers/test", &same).await["isOk"], true);
    let seen = app.mock().all_requests().pop().unwrap();
    assert!(seen.headers.iter().any(|line| line.contains(KEY)), "the kept key was not used");
    let moved = patch_provider(&app, "house", json!({"baseUrl": elsewhere.base_url(), "key": "another"})).await;
    assert_eq!((&moved["baseUrl"], &moved["hasKey"]), (&json!(elsewhere.base_url()), &json!(true)));
    assert_eq!(patch_provider(&app, "house", json!({"key": null})).await["hasKey"], false);
}

/// Providers of config.toml cannot be changed over HTTP and their names are taken. Invalid values are refused with
/// their field.
#[tokio::test]
async fn provider_invalid_change_is_refused_naming_field() {
    let app = TestServer::start().await;
    let base = app.mock().base_url();
    for (method, path, body) in
        [("PATCH", "/api/providers/mock", json!({"models": []})), ("DELETE", "/api/providers/mock", json!({}))]
    {
        let error = app.request(method, path).json(&body).send().await.expect_error("conflict");
        assert!(error["hint"].as_str().unwrap().contains("config.toml"), "{error}");
    }
    app.request("PATCH", "/api/providers/nobody").json(&json!({})).send().await.expect_error("not_found");
    app.request("DELETE", "/api/providers/nobody").send().await.expect_error("not_found");
    app.request("POST", "/api/providers/nobody/test").json(&json!({})).send().await.expect_error("not_found");
    app.request("POST", "/api/providers").json(&provider_json(app.mock(), "house")).send().await.expect(201);
    let new = |id: &str, kind: &str, at: &str, key: Value| json!({"id": id, "kind": kind, "baseUrl": at, "key": key});
    for (body, field) in [
        (new("mock", "openai", &base, json!(null)), "id"),
        (new("house", "openai", &base, json!(null)), "id"),
        (new("test", "openai", &base, json!(null)), "id"),
        (new("Two Words", "openai", &base, json!(null)), "id"),
        (new("a", "telnet", &base, json!(null)), "kind"),
        (new("a", "openai", "file:///etc/passwd", json!(null)), "baseUrl"),
        (new("a", "openai", "http://me:secret@host", json!(null)), "baseUrl"),
        (new("a", "openai", &base, json!("two\nlines")), "key"),
        (new("a", "openai", &base, json!("钥匙")), "key"),
        (json!({"id": "a", "kind": "openai", "baseUrl": base, "models": ["a b"]}), "models"),
    ] {
        let error = app.request("POST", "/api/providers").json(&body).send().await.expect_error("invalid");
        assert_eq!(error["details"]["field"], field, "{body}: {error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    let error = app
        .request("PUT", "/api/models/default")
        .json(&json!({"model": "no/one"}))
        .send()
        .await
        .expect_error("invalid");
    assert_eq!(error["details"]["field"], "model");
}

/// A pasted endpoint becomes the base of the API before it is stored, and the key loses what stands around it.
#[tokio::test]
async fn provider_pasted_endpoint_and_key_are_mended() {
    let app = TestServer::start().await;
    let pasted = format!(" \"{}/chat/completions?stream=true\" ", app.mock().base_url());
    let new = json!({"id": "house", "kind": "openai", "baseUrl": pasted, "key": format!("\n {KEY}\u{200b}\n")});
    let made = app.request("POST", "/api/providers").json(&new).send().await.expect(201);
    assert_eq!(made["baseUrl"], json!(app.mock().base_url()));
    app.mock().queue_reply(Reply::ok(["Hello"]));
    assert_eq!(app.post("/api/providers/house/test", &json!({"model": "mock"})).await["isOk"], true);
    let seen = app.mock().all_requests().pop().unwrap();
    assert_eq!(seen.request_line, "POST /v1/chat/completions");
    assert!(seen.headers.iter().any(|line| line.ends_with(&format!("Bearer {KEY}"))), "{:?}", seen.headers);
    let root = app.mock().root_url();
    let change = json!({"kind": "ollama", "baseUrl": format!("{root}/api/generate")});
    assert_eq!(patch_provider(&app, "house", change).await["baseUrl"], json!(root));
}

/// A context length that is set is used for prompts, and goes before what the server lists.
#[tokio::test]
async fn provider_context_length_is_set_kept_and_removed() {
    let play = ApiSession::start().await;
    let app = &play.server;
    let new = json!({"id": "house", "kind": "openai", "baseUrl": app.mock().base_url(), "contextTokens": 2048});
    let made = app.request("POST", "/api/providers").json(&new).send().await.expect(201);
    assert_eq!(made["contextTokens"], 2048);
    let listed = app.get("/api/models").await["items"].as_array().unwrap().clone();
    let length = |id: &str| listed.iter().find(|model| model["id"] == id).unwrap()["contextLength"].clone();
    assert_eq!((length("house/mock"), length("mock/mock")), (json!(2048), json!(8192)));
    let session = format!("/api/sessions/{}", play.sid);
    app.request("PATCH", &session).json(&json!({"model": "house/mock"})).send().await.expect(200);
    let long = "The wall is long and the night is cold. ".repeat(30);
    for _ in 0..8 {
        play.run_turn(&long).await;
    }
    let size = |app: &TestServer| app.mock().requests().pop().unwrap()["messages"].to_string().len();
    let short = size(app);
    assert_eq!(patch_provider(app, "house", json!({"models": ["mock"]})).await["contextTokens"], 2048);
    assert_eq!(patch_provider(app, "house", json!({"contextTokens": null})).await["contextTokens"], json!(null));
    play.run_turn("Well?").await;
    assert!(short < 2048 * 4 && size(app) > short, "{short}");
    for wrong in [json!(0), json!(511), json!(16_000_001)] {
        let body = json!({"contextTokens": wrong});
        let error = app.request("PATCH", "/api/providers/house").json(&body).send().await.expect_error("invalid");
        assert_eq!(error["details"]["field"], "contextTokens", "{error}");
    }
}

/// A test reports the models and the time to the first text, or the reason for the failure with the server's text and a
/// hint.
#[tokio::test]
async fn provider_test_reports_models_latency_or_error() {
    let app = TestServer::start().await;
    let trial = json!({"kind": "openai", "baseUrl": app.mock().base_url(), "key": KEY, "model": "mock"});
    app.mock().queue_reply(Reply::ok(["Hello", " there."]));
    let seen = app.post("/api/providers/test", &trial).await;
    assert_eq!((&seen["isOk"], &seen["reply"]["text"]), (&json!(true), &json!("Hello there.")), "{seen}");
    assert!(seen["reply"]["firstTokenMs"].is_u64() && seen["models"][0]["id"].is_string(), "{seen}");
    app.mock().queue_reply(Reply::error(401, "your key is not mine"));
    let seen = app.post("/api/providers/test", &trial).await;
    let problem = &seen["replyProblem"];
    assert_eq!(
        (&seen["isOk"], &problem["code"], &problem["status"]),
        (&json!(false), &json!("provider_refused"), &json!(401))
    );
    assert!(problem["message"].as_str().unwrap().contains("your key is not mine") && problem["hint"].is_string());
    app.mock().set_models_reply(Reply::error(403, "not you"));
    let seen = app.post("/api/providers/test", &json!({"kind": "openai", "baseUrl": app.mock().base_url()})).await;
    assert_eq!((&seen["isOk"], &seen["listProblem"]["status"]), (&json!(false), &json!(403)), "{seen}");
    let nobody = json!({"kind": "openai", "baseUrl": "http://127.0.0.1:1/v1", "model": "mock"});
    let seen = app.post("/api/providers/test", &nobody).await;
    assert_eq!(
        (&seen["listProblem"]["code"], &seen["reply"]),
        (&json!("provider_unreachable"), &json!(null)),
        "{seen}"
    );
    app.mock().queue_reply(Reply::ok(["Hello"]));
    let known = app.post("/api/providers/mock/test", &json!({"model": "mock"})).await;
    assert_eq!(known["reply"]["text"], "Hello", "{known}");
    assert!(!contains_bytes(&app.app().home().join("data"), KEY.as_bytes()));
}

/// The chosen default model goes before the configured one, after a restart too. Removing its provider removes the
/// choice.
#[tokio::test]
async fn default_model_survives_restart_until_provider_removed() {
    let app = TestServer::start().await;
    app.request("POST", "/api/providers").json(&provider_json(app.mock(), "house")).send().await.expect(201);
    let chosen = app.put("/api/models/default", &json!({"model": "house/mock"})).await;
    assert_eq!(chosen, json!({"defaultModel": "house/mock", "isChosen": true}));
    let app = app.restart().await;
    let told = app.get("/api/models").await;
    let default: Vec<&Value> =
        told["items"].as_array().unwrap().iter().filter(|one| one["isDefault"] == true).collect();
    assert_eq!((default.len(), &default[0]["id"]), (1, &json!("house/mock")));
    let (session, line) = app.create_branch(0).await;
    app.mock().queue_reply(Reply::ok(["Yes."]));
    let body = json!({"parentId": line.last(), "content": "Well?", "generate": {}});
    app.post(&format!("/api/chat/{}/message", id_of(&session)), &body).await;
    app.mock().wait_for_requests(1).await;
    app.request("DELETE", "/api/providers/house").send().await.expect(204);
    let told = app.get("/api/providers").await;
    assert_eq!((&told["defaultModel"], &told["isChosen"]), (&json!("mock/mock"), &json!(false)));
    let app = app.restart().await;
    assert_eq!(app.get("/api/providers").await["defaultModel"], "mock/mock");
}

/// A running reply finishes while its provider is changed and removed. The next reply reports the missing provider.
#[tokio::test]
async fn provider_removed_during_reply_lets_it_finish() {
    let play = ApiSession::start().await;
    play.server
        .request("POST", "/api/providers")
        .json(&provider_json(play.server.mock(), "house"))
        .send()
        .await
        .expect(201);
    let session = format!("/api/sessions/{}", id_of(&play.session().await));
    play.server.request("PATCH", &session).json(&json!({"model": "house/mock"})).send().await.expect(200);
    let gate = Gate::new();
    play.server.mock().queue_reply(Reply::ok(["Half", " and half."]).gate(&gate));
    let body = json!({"parentId": play.head().await, "content": "Well?", "generate": {}});
    let reply = id_of(&play.post("message", body).await["generations"][0]);
    play.server.mock().wait_for_requests(1).await;
    gate.release(1);
    patch_provider(&play.server, "house", json!({"baseUrl": "http://127.0.0.1:1/v1", "key": null})).await;
    play.server.request("DELETE", "/api/providers/house").send().await.expect(204);
    gate.open();
    let node = play.wait_for_reply(&reply).await;
    assert_eq!((&node["content"], &node["status"]), (&json!("Half and half."), &json!("complete")));
    let said = play.run_turn("And now?").await;
    let node = play.get(&format!("node/{}", said.reply)).await;
    let error = &node["metadata"]["error"];
    assert_eq!(error["code"], "provider_misconfigured", "{node}");
    assert!(error["message"].as_str().unwrap().contains("house/mock"), "{error}");
}

/// A removal is one commit: if it is interrupted, provider, key and choice stay.
#[tokio::test]
async fn provider_removal_interrupted_changes_nothing() {
    let app = TestServer::start().await;
    app.request("POST", "/api/providers").json(&provider_json(app.mock(), "house")).send().await.expect(201);
    app.put("/api/models/default", &json!({"model": "house/mock"})).await;
    let store = &app.app().store;
    let cut = store.write(|tx| -> Result<(), clotho_store::WriteError> {
        tx.delete_provider("house")?;
        Err(clotho_core::tree::edit::TreeError::NotFound("the rest").into())
    });
    cut.await.unwrap_err();
    let app = app.restart().await;
    assert_eq!(find_provider(&app, "house").await["hasKey"], true);
    assert_eq!(app.get("/api/providers").await["defaultModel"], "house/mock");
}

/// A repeated request connects once and gets the same answer.
#[tokio::test]
async fn provider_create_repeated_request_connects_once() {
    let app = TestServer::start().await;
    let ask = || {
        app.request("POST", "/api/providers")
            .header("idempotency-key", "once")
            .json(&provider_json(app.mock(), "house"))
    };
    let first = ask().send().await.expect(201);
    assert_eq!(ask().send().await.expect(201), first);
    assert!(!contains_bytes(&app.app().home().join("data"), KEY.as_bytes()));
}

/// After a restart the configuration may name a connected provider.
#[tokio::test]
async fn config_may_name_connected_provider_after_restart() {
    let app = TestServer::start().await;
    app.request("POST", "/api/providers").json(&provider_json(app.mock(), "house")).send().await.expect(201);
    let setup = app.stop().await.set("generation.model", "house/mock").set("models.smart", "[\"house/mock\"]");
    let app = TestServer::start_with(setup).await;
    let told = app.get("/api/models").await;
    let smart = told["items"].as_array().unwrap().iter().find(|one| one["id"] == "smart").unwrap();
    assert_eq!((&smart["unusable"], &told["defaultModel"]), (&json!(null), &json!("house/mock")));
}

/// Secrets of a gateway are sent, and stand in no trace, message or export. Parameters of sessions and requests take
/// none, because they are recorded.
#[tokio::test]
async fn secrets_in_extra_are_sent_but_not_recorded() {
    let setup = TestApp::setup().set("providers.0.extra", r#"{ gateway_token = "SECRET-1", top_k = 7 }"#);
    let play = ApiSession::start_with(setup, json!({})).await;
    let said = play.run_turn("Hello?").await;
    let request = play.server.mock().requests().pop().unwrap();
    assert_eq!((&request["gateway_token"], &request["top_k"]), (&json!("SECRET-1"), &json!(7)));
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    assert_eq!((&trace["params"]["gateway_token"], &trace["params"]["top_k"]), (&json!("***"), &json!(7)));
    let node = play.get(&format!("node/{}?expand=trace,delta", said.reply)).await;
    let file = super::session_transfer::export_session(&play.server, &play.sid).await;
    let lines = crate::support::archive_file::read_lines(&file.body);
    assert!(!node.to_string().contains("SECRET-1") && !format!("{lines:?}").contains("SECRET-1"));

    let secret = json!({"params": {"extra_body": {"api_key": "SECRET-2"}}});
    let (session, head) = (format!("/api/sessions/{}", play.sid), play.head().await);
    let refused = play.server.request("PATCH", &session).json(&secret).send().await.expect_error("invalid");
    assert!(refused["message"].as_str().unwrap().contains("looks like a secret"), "{refused}");
    let generate = json!({"parentId": head, "content": "Hi.", "generate": secret});
    play.expect_error("POST", "message", generate, "invalid").await;
    play.expect_error("POST", &format!("node/{}/reroll", said.reply), secret, "invalid").await;
}
