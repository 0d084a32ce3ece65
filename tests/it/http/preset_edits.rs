//! Edits of presets: they change only what they name, concurrent edits are safe, and a preview can use a preset that is
//! not chosen.

use super::*;

/// A preset with many fields that the server does not read.
const KEPT: &str = concat!(
    r#"{"temperature":0.70,"big":12345678901234567890,"odd":{"a":[null,1.50]},"#,
    r#""prompts":[{"identifier":"main","name":"Main","content":"Slowly.","odd":1.0},"#,
    r#"{"identifier":"tide","name":"Tide","content":"Mind it.","role":"user"}],"#,
    r#""prompt_order":[{"character_id":100000,"order":[]},{"character_id":100001,"order":["#,
    r#"{"identifier":"main","enabled":true},{"identifier":"gone","enabled":true},"#,
    r#"{"identifier":"chatHistory","enabled":true},{"identifier":"tide","enabled":true,"kept":7.0}]}]}"#
);

async fn create_preset(app: &TestServer) -> String {
    let body: Value = serde_json::from_str(KEPT).unwrap();
    let made = app.post("/api/presets", &json!({"kind": "openai", "name": "Slow", "body": body})).await;
    format!("/api/presets/{}", id_of(&made))
}

/// An edit changes only what it names. Everything else stays byte for byte and in its place.
#[tokio::test]
async fn preset_edit_changes_only_named_fields() {
    let app = TestServer::start().await;
    let path = create_preset(&app).await;
    // Change fields and a prompt, and add a prompt.
    let change = json!({
        "fields": {"temperature": 0.9, "top_p": 0.5},
        "own": {"stop": ["STOP"]},
        "prompts": [
            {"identifier": "tide", "content": "Mind the ebb."},
            {"identifier": "fog", "name": "Fog", "content": "Fog."},
        ],
    });
    let changed = app.request("PATCH", &path).json(&json!({"change": change})).send().await.expect(200);
    let fog = concat!(
        r#","role":"user"},{"identifier":"fog","name":"Fog","system_prompt":false,"marker":false,"role":"system","#,
        r#""content":"Fog.","injection_position":0,"injection_depth":4,"injection_order":100,"#,
        r#""forbid_overrides":false}]"#
    );
    let end = concat!(
        r#""kept":7.0},{"identifier":"fog","enabled":true}]}],"top_p":0.5,"#,
        r#""extensions":{"clotho":{"stop":["STOP"]}}}"#
    );
    let expected = KEPT
        .replace("\"temperature\":0.70", "\"temperature\":0.9")
        .replace("Mind it.", "Mind the ebb.")
        .replace(r#","role":"user"}]"#, fog)
        .replace(r#""kept":7.0}]}]}"#, end);
    assert_eq!(changed["body"].to_string(), expected);
    assert_eq!(changed["effective"]["temperature"], json!(0.9));
    assert_eq!(changed["effective"]["new_chat_prompt"], json!("[The story begins here]"), "what it does not say");
    // Change them back, remove the prompt and reorder.
    let back = json!({
        "fields": {"temperature": 0.7, "top_p": null}, "removed": ["fog"],
        "order": [
            {"identifier": "gone", "enabled": false}, {"identifier": "tide", "enabled": true},
            {"identifier": "scenario", "enabled": true},
        ],
    });
    let changed = app.request("PATCH", &path).json(&json!({"change": back})).send().await.expect(200);
    let order = &changed["body"]["prompt_order"][1]["order"];
    assert_eq!(order[1], json!({"identifier": "tide", "enabled": true, "kept": 7.0}));
    assert_eq!(order.as_array().unwrap().len(), 3);
    assert!(changed["body"].get("top_p").is_none() && changed["body"]["prompts"].as_array().unwrap().len() == 2);
    let out = app.request("GET", &format!("{path}/export")).send_raw().await;
    assert!(out.text().contains("12345678901234567890"), "{}", out.text());
}

/// An invalid edit reports its field and a hint, and nothing changes.
#[tokio::test]
async fn preset_edit_invalid_reports_place_and_changes_nothing() {
    let app = TestServer::start().await;
    let path = create_preset(&app).await;
    let before = app.get(&path).await;
    let part = |fields: Value| {
        let mut part = json!({"identifier": "tide"});
        part.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!({"prompts": [part]})
    };
    let row = |name: &str| json!({"identifier": name, "enabled": true});
    // Invalid changes with the fields that they report.
    for (change, field) in [
        (part(json!({"role": "narrator"})), "change.prompts[0].role"),
        (part(json!({"injection_depth": -1})), "change.prompts[0].injection_depth"),
        (part(json!({"injection_position": 2})), "change.prompts[0].injection_position"),
        (part(json!({"injection_trigger": ["never"]})), "change.prompts[0].injection_trigger"),
        (part(json!({"content": 5})), "change.prompts[0].content"),
        (json!({"prompts": [{"content": "x"}]}), "change.prompts[0].identifier"),
        (json!({"prompts": [row("tide"), row("tide")]}), "change.prompts[1].identifier"),
        (json!({"prompts": [{"identifier": "chatHistory", "content": "x"}]}), "change.prompts[0].content"),
        (json!({"order": [row("main"), row("nobody")]}), "change.order[1].identifier"),
        (json!({"order": [row("main"), row("main")]}), "change.order[1].identifier"),
        (json!({"removed": ["nobody"]}), "change.removed[0]"),
        (json!({"removed": ["main"]}), "change.removed[0]"),
        (json!({"fields": {"temperatur": 1}}), "change.fields.temperatur"),
        (json!({"fields": {"temperature": 3}}), "change.fields.temperature"),
        (json!({"fields": {"openai_max_tokens": 0.5}}), "change.fields.openai_max_tokens"),
        (json!({"fields": {"new_chat_prompt": true}}), "change.fields.new_chat_prompt"),
        (json!({"own": {"stop": "###"}}), "change.own.stop"),
        (json!({"own": {"shade": 1}}), "change.own.shade"),
    ] {
        let error = app.request("PATCH", &path).json(&json!({"change": change})).send().await.expect_error("invalid");
        assert_eq!(error["details"]["field"], field, "{change}");
        assert!(error["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{error}");
    }
    // Fields that exclude each other, and unknown ones.
    let both = json!({"body": {}, "change": {}});
    assert_eq!(
        app.request("PATCH", &path).json(&both).send().await.expect_error("invalid")["details"]["field"],
        "change"
    );
    let odd = json!({"change": {"fields": {}, "colour": 1}});
    app.request("PATCH", &path).json(&odd).send().await.expect_error("invalid");
    // An array of an object's values is no object.
    for (list, field) in [
        (json!({"expected": ["x"]}), "expected"),
        (json!({"change": []}), "change"),
        (json!({"change": {"order": [["main", true]]}}), "change.order[0]"),
        (json!({"change": {}, "expected": {"order": [["main", true]]}}), "expected.order[0]"),
        (json!({"change": {"prompts": [[]]}}), "change.prompts[0]"),
    ] {
        let error = app.request("PATCH", &path).json(&list).send().await.expect_error("invalid");
        assert_eq!(error["details"]["field"], field, "{list}");
    }
    // Texts over the limit.
    let long = json!({"change": part(json!({"content": "x".repeat(10 << 20)}))});
    app.request("PATCH", &path).json(&long).send().await.expect_error("too_large");
    let large = json!({"change": part(json!({"content": "x".repeat(5 << 20)}))});
    app.request("PATCH", &path).json(&large).send().await.expect_error("too_large");
    assert_eq!(app.get(&path).await, before);
    // Presets of other kinds.
    let theme = app.post("/api/presets", &json!({"kind": "theme", "name": "Dusk", "body": {}})).await;
    let theme = format!("/api/presets/{}", id_of(&theme));
    let error = app.request("PATCH", &theme).json(&json!({"change": {}})).send().await.expect_error("invalid");
    assert_eq!(error["details"]["field"], "change");
}

/// A write names the values it saw. If one of them changed meanwhile, it gets a conflict. Changes of other
/// fields stay, and repeating a write is no conflict.
#[tokio::test]
async fn preset_edit_on_stale_value_returns_conflict() {
    let app = TestServer::start().await;
    let path = create_preset(&app).await;
    let patch = |body: Value| app.request("PATCH", &path).json(&body).send();
    let part = |text: &str| json!([{"identifier": "tide", "content": text}]);
    patch(json!({"change": {"prompts": part("Theirs."), "fields": {"top_p": 0.4}}})).await.expect(200);
    let mine = json!({"change": {"prompts": part("Mine.")}, "expected": {"prompts": part("Mind it.")}});
    let error = patch(mine.clone()).await.expect_error("conflict");
    assert_eq!(error["details"]["fields"], json!(["prompts.tide.content"]));
    assert_eq!(error["details"]["now"]["prompts"], part("Theirs."));
    let seen = json!({"prompts": part("Theirs."), "fields": {"temperature": 0.7}});
    let mine = json!({"change": {"prompts": part("Mine.")}, "expected": seen});
    let changed = patch(mine.clone()).await.expect(200);
    assert_eq!(
        (&changed["body"]["top_p"], &changed["body"]["temperature"].to_string()),
        (&json!(0.4), &"0.70".to_owned())
    );
    patch(mine).await.expect(200);
    let order = |rows: &[&str]| rows.iter().map(|name| json!({"identifier": name, "enabled": true})).collect::<Value>();
    let seen = order(&["main", "gone", "chatHistory", "tide"]);
    patch(json!({"change": {"order": order(&["tide", "main"])}, "expected": {"order": seen}})).await.expect(200);
    let error = patch(json!({"change": {"order": order(&["main", "tide"])}, "expected": {"order": seen}})).await;
    assert_eq!(error.expect_error("conflict")["details"]["now"]["order"], order(&["tide", "main"]));
    let gone = json!({"change": {"removed": ["tide"]}, "expected": {"prompts": part("Theirs.")}});
    patch(gone).await.expect_error("conflict");
    patch(json!({"change": {"removed": ["tide"]}, "expected": {"prompts": part("Mine.")}})).await.expect(200);
    let error = patch(json!({"change": {"prompts": part("Back.")}, "expected": {"prompts": part("Mine.")}})).await;
    assert_eq!(error.expect_error("conflict")["details"]["now"]["prompts"], json!([null]));
    patch(json!({"name": "Faster", "expected": {"name": "Quick"}})).await.expect_error("conflict");
    patch(json!({"name": "Faster", "expected": {"name": "Slow"}})).await.expect(200);
}

/// Parallel edits lose nothing.
#[tokio::test]
async fn preset_edits_in_parallel_lose_nothing() {
    let app = TestServer::start().await;
    let path = create_preset(&app).await;
    let adds = (0..12).map(|n| {
        let part = json!([{"identifier": format!("own{n}"), "content": format!("Text {n}.")}]);
        let ask = app.request("PATCH", &path).json(&json!({"change": {"prompts": part}}));
        async move { ask.send().await.expect(200) }
    });
    futures_util::future::join_all(adds).await;
    let body = app.get(&path).await["body"].clone();
    assert_eq!(body["prompts"].as_array().unwrap().len(), 14);
    assert_eq!(body["prompt_order"][1]["order"].as_array().unwrap().len(), 16);
}

/// A new preset can start from the server's own, which makes the same prompts, or from another one. A preview
/// can use a preset that the session has not chosen.
#[tokio::test]
async fn preset_created_from_base_yields_same_prompt() {
    let play = super::api_session::ApiSession::start().await;
    let app = &play.server;
    let own = app.post("/api/presets", &json!({"from": "own", "name": "Mine"})).await;
    assert_eq!((&own["kind"], &own["body"]["extensions"]["clotho"]["form"]), (&json!("openai"), &json!("turns")));
    let path = create_preset(app).await;
    let original = path.rsplit('/').next().unwrap();
    let copy = app.post("/api/presets", &json!({"from": original, "name": "Copy"})).await;
    assert_eq!(copy["body"].to_string(), KEPT);
    for (new, field) in [
        (json!({"name": "a"}), "kind"),
        (json!({"name": "a", "kind": "openai"}), "body"),
        (json!({"name": "a", "from": "nobody"}), "from"),
        (json!({"name": "a", "from": "own", "kind": "openai"}), "from"),
    ] {
        assert_eq!(
            app.request("POST", "/api/presets").json(&new).send().await.expect_error("invalid")["details"]["field"],
            field
        );
    }
    let strange = json!({"name": "a", "from": id_of(&app.post("/api/characters", &json!({"name": "A"})).await)});
    app.request("POST", "/api/presets").json(&strange).send().await.expect_error("not_found");

    let head = play.head().await;
    let preview = |preset: Value| json!({"parentId": head, "content": "Hello.", "presetId": preset});
    let asked = play.chat_path("prompt");
    let plain = app.post(&asked, &preview(Value::Null)).await;
    let same = app.post(&asked, &preview(own["id"].clone())).await;
    assert_eq!(plain["messages"], same["messages"]);
    let other = app.post(&asked, &preview(copy["id"].clone())).await;
    assert!(other["messages"].to_string().contains("Slowly."), "{other}");
    let theme = app.post("/api/presets", &json!({"kind": "theme", "name": "Dusk", "body": {}})).await;
    let refused = app.request("POST", &asked).json(&preview(theme["id"].clone())).send().await.expect_error("invalid");
    assert_eq!(refused["details"]["field"], "presetId");
}
