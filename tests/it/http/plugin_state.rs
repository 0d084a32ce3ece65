//! How plugins start and return in a story, and what is reported of their values.

use super::api_session::ApiSession;
use super::*;

const MANIFEST: &str = "id = \"camp\"\ntitle = \"Camp\"\nversion = \"1.0.0\"\napi = \"1\"\n\
                        [permissions]\nrequest = [\"notes\"]\n[state]\nschema = \"state.json\"\n";
const SCHEMA: &str = r#"{"type": "object", "additionalProperties": false, "properties": {
    "hp": {"type": "integer", "minimum": 0, "maximum": 40, "default": 40},
    "bag": {"type": "object", "properties": {"rope": {"type": "integer", "default": 1}, "oil": {"type": "integer"}}},
    "doom": {"type": "integer", "minimum": 0, "maximum": 3, "default": 0, "x-visible": false},
    "name": {"type": "string"}}}"#;

async fn start_with_plugin(files: &[(&str, &str)]) -> ApiSession {
    let setup = TestApp::setup().with_plugin("camp", files);
    ApiSession::start_with(setup, json!({"plugins": [{"id": "camp"}]})).await
}

async fn plugin_values(play: &ApiSession) -> Value {
    let head = play.head().await;
    play.get(&format!("node/{head}/world")).await["world"]["vars"]["camp"].clone()
}

async fn put_plugins(play: &ApiSession, plugins: Value) {
    play.server.put(&format!("/api/sessions/{}/plugins", play.sid), &plugins).await;
}

/// A plugin without code starts with the defaults of its schema, so that the first damage does not kill. Undo takes the
/// start back, and a plugin enabled later starts the same way.
#[tokio::test]
async fn plugin_without_init_starts_with_schema_defaults() {
    let rule = "[[rule]]\nname = \"cold\"\nevery = 1\ndo = [{ op = \"add\", path = \"hp\", value = -5 }]\n";
    let manifest = format!("{MANIFEST}{rule}");
    let play = start_with_plugin(&[("plugin.toml", &manifest), ("state.json", SCHEMA)]).await;
    assert_eq!(plugin_values(&play).await, json!({"hp": 40, "bag": {"rope": 1}, "doom": 0}));
    play.run_turn("Cold.").await;
    assert_eq!(plugin_values(&play).await["hp"], 35);
    let root = play.get("projection").await["items"][0]["parentId"].as_str().unwrap().to_owned();
    let begun = play.get(&format!("node/{root}/delta")).await["operations"].clone();
    assert_eq!((&begun[0]["path"], &begun[0]["by"]), (&json!("/camp/hp"), &json!("camp")), "{begun}");

    let late = ApiSession::start_with(
        TestApp::setup().with_plugin("camp", &[("plugin.toml", &manifest), ("state.json", SCHEMA)]),
        json!({}),
    )
    .await;
    late.run_turn("Hi.").await;
    put_plugins(&late, json!([{"id": "camp"}])).await;
    assert_eq!(plugin_values(&late).await["hp"], 40);
    late.post("undo", json!({})).await;
    assert_eq!(plugin_values(&late).await, Value::Null);
}

/// A plugin that is disabled and enabled again keeps its values, also after a checkout.
#[tokio::test]
async fn plugin_reenabled_keeps_its_values() {
    let script = "fn init(ctx) { ctx.set(\"hp\", 30); }\nfn on_reply(ctx) { ctx.add(\"hp\", -1); }\n";
    let files = [("plugin.toml", MANIFEST), ("state.json", SCHEMA), ("main.rhai", script)];
    let play = start_with_plugin(&files).await;
    let said = play.run_turn("One.").await;
    assert_eq!(plugin_values(&play).await, json!({"hp": 29}));
    put_plugins(&play, json!([{"id": "camp", "enabled": false}])).await;
    play.run_turn("Two.").await;
    assert_eq!(plugin_values(&play).await, json!({"hp": 29}));
    put_plugins(&play, json!([{"id": "camp"}])).await;
    assert_eq!(plugin_values(&play).await, json!({"hp": 29}));
    play.run_turn("Three.").await;
    assert_eq!(plugin_values(&play).await, json!({"hp": 28}));
    play.checkout(&said.reply, true).await;
    assert_eq!(plugin_values(&play).await, json!({"hp": 29}));
    put_plugins(&play, json!([])).await;
    put_plugins(&play, json!([{"id": "camp"}])).await;
    assert_eq!(plugin_values(&play).await, json!({"hp": 29}));
}

/// Messages about a hidden value are only in the record of the run. A value that stays at its bound is noted once.
#[tokio::test]
async fn plugin_notes_omit_hidden_values_and_repeats() {
    let script = "fn init(ctx) { ctx.set(\"hp\", 3); ctx.set(\"doom\", 0); }\n\
                  fn on_reply(ctx) { ctx.add(\"doom\", 9); ctx.set(\"doom\", \"near\"); ctx.add(\"hp\", -2); ctx.set(\"name\", 7); }\n";
    let files = [("plugin.toml", MANIFEST), ("state.json", SCHEMA), ("main.rhai", script)];
    let play = start_with_plugin(&files).await;
    let mut told = Vec::new();
    for _ in 0..3 {
        let said = play.run_turn("On.").await;
        let delta = play.get(&format!("node/{}/delta", said.reply)).await;
        let texts = |list: &str| -> Vec<String> {
            let all = delta[list].as_array().unwrap().iter();
            all.map(|one| one["text"].as_str().or(one["message"].as_str()).unwrap().to_owned()).collect()
        };
        assert_eq!(texts("problems").len(), 1, "{delta}");
        assert!(texts("problems")[0].starts_with("name:"), "{delta}");
        let hidden = delta["rules"][0]["hidden"].as_array().unwrap().clone();
        assert!(hidden.iter().all(|one| one.as_str().unwrap().starts_with("doom:")), "{hidden:?}");
        told.push((texts("notes"), hidden.len()));
    }
    let bound = vec!["hp: -1 is below 0, kept at 0".to_owned()];
    assert_eq!(told, [(vec![], 2), (bound, 1), (vec![], 1)]);
}

/// After a change of its code, a turned-off plugin runs again without any request.
#[tokio::test]
async fn plugin_disabled_by_limits_reruns_after_code_change() {
    let files = [("plugin.toml", MANIFEST), ("state.json", SCHEMA), ("main.rhai", "fn on_reply(ctx) { loop {} }")];
    let play = start_with_plugin(&files).await;
    for _ in 0..5 {
        play.run_turn("On.").await;
    }
    let said = play.run_turn("On.").await;
    let problems = play.get(&format!("node/{}/delta", said.reply)).await["problems"].clone();
    assert_eq!(problems[0]["code"], "plugin_off", "{problems}");
    let good = json!({"content": "fn on_reply(ctx) { ctx.add(\"hp\", 1); }"});
    play.server.put("/api/plugins/camp/files/main.rhai", &good).await;
    let said = play.run_turn("On.").await;
    let delta = play.get(&format!("node/{}/delta", said.reply)).await;
    assert_eq!((&delta["problems"], &delta["operations"][0]["path"]), (&json!([]), &json!("/camp/hp")), "{delta}");
    let words = json!({"content": "# Camp\n"});
    let hash = play.server.get("/api/plugins/camp").await["codeHash"].clone();
    play.server.put("/api/plugins/camp/files/about.MD", &words).await;
    play.server.put("/api/plugins/camp/files/tests/a.toml", &json!({"content": "hook = \"on_reply\"\n"})).await;
    assert_eq!(play.server.get("/api/plugins/camp").await["codeHash"], hash, "what people read is no code");
    play.server
        .request("PUT", "/api/plugins/camp/files/main.rhai/x")
        .json(&words)
        .send()
        .await
        .expect_error("not_found");
}
