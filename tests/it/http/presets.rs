//! Presets: creating, listing by kind, editing, export, deleting and restoring.

use clotho_core::ids::PresetId;
use clotho_store::StoredPreset;

use super::*;

/// A script that can never run is stored, with the reason.
#[tokio::test]
async fn preset_script_unable_to_run_reports_reason() {
    let app = TestServer::start().await;
    let keep = async |body: Value| {
        app.post("/api/presets", &json!({"kind": "regex", "name": "Mine", "body": body})).await["problem"].clone()
    };
    let script = |find: &str| json!({"findRegex": find, "placement": [1], "replaceString": ""});
    assert_eq!(keep(script("/lamp/gi")).await, Value::Null);
    assert_eq!(keep(json!({"findRegex": "a"})).await, "it does not name the texts that it applies to");
    let problem = keep(script("/(lamp/g")).await;
    assert!(
        problem.as_str().unwrap().starts_with("its search pattern is not a valid regular expression: "),
        "{problem}"
    );
    // The result of macros in a pattern is not known yet.
    let mut later = script("/({{user}}/g");
    later["substituteRegex"] = json!(1);
    assert_eq!(keep(later).await, Value::Null);
    let listed = app.get("/api/presets").await;
    assert!(listed["items"].as_array().unwrap().iter().all(|one| one.get("problem").is_none()), "{listed}");
}

/// A preset is exported byte for byte. Lists have no bodies and can be filtered by kind.
#[tokio::test]
async fn preset_roundtrip_returns_body_byte_for_byte() {
    let app = TestServer::start().await;
    let body = json!({"temperature": 0.70, "odd": {"a": [null, 1.5]}, "prompts": []});
    let made = app.post("/api/presets", &json!({"kind": "openai", "name": " Plain ", "body": body})).await;
    let path = format!("/api/presets/{}", id_of(&made));
    assert_eq!((&made["name"], &made["kind"], &made["file"]), (&json!("Plain"), &json!("openai"), &Value::Null));
    app.post("/api/presets", &json!({"kind": "theme", "name": "Dark", "body": {}})).await;
    assert_eq!(app.get(&path).await["body"].to_string(), body.to_string());
    let out = app.request("GET", &format!("{path}/export")).send_raw().await;
    assert_eq!((out.status, out.json().to_string()), (200, body.to_string()));
    let listed = app.get("/api/presets").await;
    assert!(listed["items"].as_array().unwrap().len() == 2 && listed["items"][0].get("body").is_none(), "{listed}");
    let themes = app.get("/api/presets?kind=theme&limit=1").await;
    assert_eq!((&themes["items"][0]["name"], &themes["next"]), (&json!("Dark"), &Value::Null));
    assert_eq!(
        app.request("GET", "/api/presets?kind=odd").send().await.expect_error("invalid")["details"]["field"],
        "kind"
    );
    let changed = app.request("PATCH", &path).json(&json!({"body": {"top_p": 1}})).send().await.expect(200);
    assert_eq!((&changed["name"], &changed["body"]), (&json!("Plain"), &json!({"top_p": 1})));
    for (fields, field) in [
        (json!({"kind": "odd", "name": "a", "body": {}}), "kind"),
        (json!({"kind": "regex", "name": " ", "body": {}}), "name"),
        (json!({"kind": "regex", "name": "a", "body": []}), "body"),
        (json!({"kind": "regex", "name": "a", "body": {}, "bodi": 1}), "bodi"),
    ] {
        let error = app.request("POST", "/api/presets").json(&fields).send().await.expect_error("invalid");
        assert_eq!(error["details"]["field"], field);
    }
    app.request("DELETE", &path).send().await.expect(204);
    app.request("GET", &path).send().await.expect_error("not_found");
    let trash = app.get("/api/trash").await;
    assert_eq!((&trash["items"][0]["kind"], &trash["items"][0]["name"]), (&json!("preset"), &json!("Plain")));
    app.request("POST", &format!("/api/trash/{}/restore", id_of(&made))).send().await.expect(204);
    assert_eq!(app.get(&path).await["body"], json!({"top_p": 1}));
    app.request("DELETE", &path).send().await.expect(204);
    app.request("DELETE", &format!("/api/trash/{}?confirm=true", id_of(&made))).send().await.expect(204);
    assert_eq!(app.get("/api/trash").await["items"], json!([]));
}

/// A preset file of another program is imported unchanged, with its kind detected from its keys. A duplicate is
/// skipped, and an undetected kind can be given.
#[tokio::test]
async fn preset_import_detects_kind_and_skips_duplicates() {
    let app = TestServer::start().await;
    let sent = |path: &str, name: &str, text: &str| {
        let part = format!("Content-Disposition: form-data; name=\"file\"; filename=\"{name}\"");
        let form = format!("--b\r\n{part}\r\n\r\n{text}\r\n--b--");
        app.request("POST", path).bytes(form.as_bytes(), "multipart/form-data; boundary=b")
    };
    // Import a preset, twice.
    let body = r#"{"temperature":0.70,"prompts":[],"extensions":{"regex_scripts":[{}]},"proxy_password":"hush"}"#;
    let came = sent("/api/presets/import", "Calm.json", body).send().await.expect(201);
    let told = &came["items"][0];
    assert_eq!((&told["kind"], &told["name"], &told["file"]), (&json!("openai"), &json!("Calm"), &json!("Calm.json")));
    assert_eq!(told["body"].to_string(), body);
    let item = &came["report"]["items"][0];
    let codes: Vec<&str> =
        item["findings"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect();
    assert_eq!(
        (&item["fate"], &item["id"], codes),
        (&json!("kept"), &told["id"], vec!["preset", "regex_scripts", "secret"])
    );
    let again = sent("/api/presets/import", "Calm.json", body).send().await.expect(201);
    assert_eq!(again["items"][0]["id"], told["id"], "the same one does not come twice");

    // A list of scripts becomes one preset each.
    let list = r#"[{"scriptName": "Trim", "findRegex": "a"}, {"scriptName": "Cut", "findRegex": "b"}]"#;
    let keyed = sent("/api/presets/import", "all.json", list).header("idempotency-key", "once");
    let all = keyed.clone().send().await.expect(201);
    assert_eq!(keyed.send().await.expect(201)["items"], all["items"]);
    let names: Vec<&str> = all["items"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!((names, &all["report"]["items"][1]["kind"]), (vec!["Trim", "Cut"], &json!("regex")));

    // Files of unknown kind and invalid files are refused.
    for (path, text, field) in [
        ("/api/presets/import", "{\"odd\": 1}", "kind"),
        ("/api/presets/import", "{\"odd\": ", "file"),
        ("/api/presets/import", "[1]", "file"),
        ("/api/presets/import?kind=odd", "{}", "kind"),
        ("/api/presets/import?sort=theme", "{}", "sort"),
    ] {
        let refused = sent(path, "odd.json", text).send().await;
        assert!([400, 422].contains(&refused.status), "{path} {text}");
        assert_eq!(refused.json()["error"]["details"]["field"], field, "{path} {text}");
    }
    // A given kind is accepted.
    let told = sent("/api/presets/import?kind=theme", "odd.json", "{\"odd\": 1}").send().await.expect(201);
    assert_eq!((&told["items"][0]["kind"], &told["items"][0]["name"]), (&json!("theme"), &json!("odd")));
    assert_eq!(app.get("/api/presets").await["items"].as_array().unwrap().len(), 4);
}

/// Domain 9: other users' presets are not found on any route.
#[tokio::test]
async fn preset_of_other_user_returns_not_found() {
    let app = TestServer::start().await;
    let stranger = app.create_other_user().await;
    let now = app.app().clock.now();
    let new = PresetId::new(app.app().ids.next_id(now));
    let card = json!({"kind": "theme", "name": "Theirs", "body": {}}).as_object().unwrap().clone();
    let (owner, preset) = (stranger.user, StoredPreset { id: new, card, created: now, updated: now });
    app.app().store.write(move |tx| tx.put_preset(owner, &preset)).await.unwrap();
    assert_eq!(app.get("/api/presets").await["items"], json!([]));
    let path = format!("/api/presets/{new}");
    for (method, path) in [("GET", path.clone()), ("DELETE", path.clone()), ("GET", format!("{path}/export"))] {
        app.request(method, &path).send().await.expect_error("not_found");
    }
    app.request("PATCH", &path).json(&json!({"name": "Mine"})).send().await.expect_error("not_found");
}
