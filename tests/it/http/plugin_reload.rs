//! Plugins that change while the server runs: changes are loaded, broken code is reported and replaces nothing, and
//! running replies are unaffected.

use super::api_session::ApiSession;
use super::*;
use crate::support::mock_model::{Gate, Reply};
use crate::support::wait;

fn manifest(version: &str) -> String {
    format!("id = \"tell\"\ntitle = \"Tell\"\nversion = \"{version}\"\napi = \"1\"\n")
}

fn script(word: &str) -> String {
    format!("fn on_reply(ctx) {{ ctx.set(\"{word}\", true); }}\n")
}

/// Writes files into the plugin folder of a server.
fn write_plugin_files(app: &TestServer, id: &str, files: &[(&str, &str)]) {
    let folder = app.app().home().join("plugins").join(id);
    std::fs::create_dir_all(&folder).unwrap();
    for (path, text) in files {
        std::fs::write(folder.join(path), text).unwrap();
    }
}

/// Waits until the list entry of a plugin meets a condition.
async fn wait_for_plugin(app: &TestServer, id: &str, is_so: impl Fn(Option<&Value>) -> bool) {
    wait::wait_until(&format!("another {id}"), async || {
        let list = app.get("/api/plugins").await;
        is_so(list["items"].as_array().unwrap().iter().find(|plugin| plugin["id"] == id))
    })
    .await;
}

async fn wait_for_version(app: &TestServer, version: &str) {
    wait_for_plugin(app, "tell", |plugin| {
        plugin.is_some_and(|plugin| plugin["version"] == version && plugin["error"].is_null())
    })
    .await;
}

/// S3-12: a plugin changes while a story uses it. The next reply uses the new code, and the path records the change.
#[tokio::test]
async fn plugin_change_applies_to_next_reply() {
    let first = [("plugin.toml", manifest("1.0.0")), ("main.rhai", script("first"))];
    let setup = TestApp::setup().with_plugin("tell", &first.each_ref().map(|(path, text)| (*path, text.as_str())));
    let play = ApiSession::start_with(setup, json!({"plugins": [{"id": "tell"}]})).await;
    let said = play.run_turn("One.").await;
    assert_eq!(play.get(&format!("node/{}/world", said.reply)).await["world"]["vars"]["tell"], json!({"first": true}));
    write_plugin_files(&play.server, "tell", &[("plugin.toml", &manifest("1.1.0")), ("main.rhai", &script("second"))]);
    wait_for_version(&play.server, "1.1.0").await;
    let said = play.run_turn("Two.").await;
    let world = play.get(&format!("node/{}/world", said.reply)).await;
    assert_eq!(world["world"]["vars"]["tell"], json!({"first": true, "second": true}));
    let node = play.get(&format!("node/{}", said.reply)).await;
    assert_eq!(node["problems"], json!([]), "the path says that the new code is in force");
}

/// Files that cannot run replace nothing: the old code stays in force, and its author gets the location of the error.
#[tokio::test]
async fn plugin_change_with_errors_keeps_old_code() {
    let files = [("plugin.toml", manifest("1.0.0")), ("main.rhai", script("first"))];
    let setup = TestApp::setup().with_plugin("tell", &files.each_ref().map(|(path, text)| (*path, text.as_str())));
    let play = ApiSession::start_with(setup, json!({"plugins": [{"id": "tell"}]})).await;
    write_plugin_files(&play.server, "tell", &[("main.rhai", "fn on_reply(ctx) {\n    ctx.set(\n}\n")]);
    wait_for_plugin(&play.server, "tell", |plugin| plugin.is_some_and(|plugin| !plugin["error"].is_null())).await;
    let told = play.server.get("/api/plugins/tell").await;
    assert_eq!((&told["isOk"], &told["version"]), (&json!(true), &json!("1.0.0")), "{told}");
    assert_eq!((&told["error"]["file"], &told["error"]["kind"]), (&json!("main.rhai"), &json!("parse")), "{told}");
    let said = play.run_turn("One.").await;
    let world = play.get(&format!("node/{}/world", said.reply)).await;
    assert_eq!(world["world"]["vars"]["tell"], json!({"first": true}));
    write_plugin_files(&play.server, "tell", &[("main.rhai", &script("mended"))]);
    wait_for_plugin(&play.server, "tell", |plugin| plugin.is_some_and(|plugin| plugin["error"].is_null())).await;
    let said = play.run_turn("Two.").await;
    let world = play.get(&format!("node/{}/world", said.reply)).await;
    assert_eq!(world["world"]["vars"]["tell"], json!({"first": true, "mended": true}));
}

/// Broken files at the start do not replace a bundled plugin. They are what its author sees.
#[tokio::test]
async fn plugin_broken_at_start_keeps_bundled_code() {
    let broken = [("plugin.toml", "id = \"combat\"\nbogus"), ("main.rhai", "fn init(ctx) {}")];
    let play =
        ApiSession::start_with(TestApp::setup().with_plugin("combat", &broken), json!({"plugins": [{"id": "combat"}]}))
            .await;
    let told = play.server.get("/api/plugins/combat").await;
    assert_eq!((&told["isOk"], &told["origin"]), (&json!(true), &json!("bundled")), "{told}");
    assert_eq!((&told["error"]["file"], &told["error"]["line"]), (&json!("plugin.toml"), &json!(2)), "{told}");
    assert_eq!(told["files"], json!(["main.rhai", "plugin.toml"]));
    let ready = play.server.request("GET", "/readyz").send().await.json();
    assert_eq!(ready["parts"]["plugins"], "broken: combat");
    play.server.mock().queue_reply(Reply::ok(["You take 3 damage."]));
    let said = play.run_turn("I stumble.").await;
    assert_eq!(play.get(&format!("node/{}", said.reply)).await["problems"], json!([]));
    let delta = play.get(&format!("node/{}/delta", said.reply)).await;
    assert_ne!(delta["operations"], json!([]), "{delta}");
}

/// S3-18: a plugin turned off for failing displays displays replies again as soon as its code is fixed.
#[tokio::test]
async fn plugin_fixed_displays_replies_again() {
    let request = "[permissions]\nrequest = [\"display.rewrite\"]\n";
    let show = |body: &str| format!("fn on_display(ctx) {{ {body} }}\n");
    let manifest = manifest("1.0.0") + request;
    let endless = show("loop {}");
    let files = [("plugin.toml", manifest.as_str()), ("main.rhai", endless.as_str())];
    let play =
        ApiSession::start_with(TestApp::setup().with_plugin("tell", &files), json!({"plugins": [{"id": "tell"}]}))
            .await;
    let is_off = |line: &Value| line["items"].to_string().contains("plugin_off");
    for _ in 0..5 {
        play.server.mock().queue_reply(Reply::ok(["Hm."]));
        play.run_turn("On.").await;
    }
    play.get("projection").await;
    assert!(is_off(&play.get("projection").await));
    write_plugin_files(&play.server, "tell", &[("main.rhai", &show("`[${ctx.text}]`"))]);
    wait::wait_until("replies are shown by the new code", async || {
        let line = play.get("projection").await;
        !is_off(&line) && line["items"].as_array().unwrap().last().unwrap()["display"] == "[Hm.]"
    })
    .await;
}

/// S3-12: watchers hear of new code in force, and nothing of broken code.
#[tokio::test]
async fn plugin_reload_is_sent_to_watchers() {
    let files = [("plugin.toml", manifest("1.0.0")), ("main.rhai", script("first"))];
    let setup = TestApp::setup().with_plugin("tell", &files.each_ref().map(|(path, text)| (*path, text.as_str())));
    let play = ApiSession::start_with(setup, json!({"plugins": [{"id": "tell"}]})).await;
    let mut socket = play.server.open_socket(&play.sid, None).await;
    socket.read_until(|frame| frame["type"] == "hello").await;
    write_plugin_files(&play.server, "tell", &[("main.rhai", "fn on_reply(ctx) {")]);
    wait_for_plugin(&play.server, "tell", |plugin| plugin.is_some_and(|plugin| !plugin["error"].is_null())).await;
    write_plugin_files(&play.server, "tell", &[("main.rhai", &script("second"))]);
    let frames = socket.read_until(|frame| frame["type"] == "plugins.changed").await;
    assert_eq!(frames, [json!({"type": "plugins.changed", "ids": ["tell"]})]);
    let list = play.server.get("/api/plugins").await;
    let told = list["items"].as_array().unwrap().iter().find(|plugin| plugin["id"] == "tell").unwrap();
    assert_eq!(told["error"], json!(null), "the mended code is in force when it is told");
    std::fs::remove_dir_all(play.server.app().home().join("plugins/tell")).unwrap();
    let frames = socket.read_until(|frame| frame["type"] == "plugins.changed").await;
    assert_eq!(frames.last().unwrap()["ids"], json!(["tell"]));
}

/// A reply that is running while its plugin changes ends under the code with which it started.
#[tokio::test]
async fn plugin_change_during_reply_keeps_old_code() {
    let files = [("plugin.toml", manifest("1.0.0")), ("main.rhai", script("first"))];
    let setup = TestApp::setup().with_plugin("tell", &files.each_ref().map(|(path, text)| (*path, text.as_str())));
    let play = ApiSession::start_with(setup, json!({"plugins": [{"id": "tell"}]})).await;
    let gate = Gate::new();
    play.server.mock().queue_reply(Reply::ok(["Slowly", " said."]).gate(&gate));
    let message = json!({"parentId": play.head().await, "content": "One.", "generate": true});
    let begun = id_of(&play.post("message", message).await["generations"][0]);
    play.server.mock().wait_for_requests(1).await;
    write_plugin_files(&play.server, "tell", &[("plugin.toml", &manifest("2.0.0")), ("main.rhai", &script("second"))]);
    wait_for_version(&play.server, "2.0.0").await;
    gate.open();
    let reply = play.wait_for_reply(&begun).await;
    assert_eq!(reply["problems"], json!([]), "{reply}");
    let world = play.get(&format!("node/{}/world", begun)).await;
    assert_eq!(world["world"]["vars"]["tell"], json!({"first": true}));
}

/// A new plugin folder can be enabled at once. A removed one is reported on the message, and a bundled plugin of the
/// same id comes back.
#[tokio::test]
async fn plugin_folder_added_or_removed_is_noticed() {
    let play = ApiSession::start().await;
    write_plugin_files(&play.server, "tell", &[("plugin.toml", &manifest("1.0.0")), ("main.rhai", &script("first"))]);
    let combat = manifest("9.0.0").replace("tell", "combat");
    write_plugin_files(&play.server, "combat", &[("plugin.toml", &combat), ("main.rhai", "fn init(ctx) {}")]);
    write_plugin_files(&play.server, ".hidden", &[("plugin.toml", &manifest("1.0.0"))]);
    wait_for_version(&play.server, "1.0.0").await;
    wait_for_plugin(&play.server, "combat", |plugin| plugin.is_some_and(|plugin| plugin["version"] == "9.0.0")).await;
    let on = json!([{"id": "tell", "enabled": true}]);
    play.server.put(&format!("/api/sessions/{}/plugins", play.sid), &on).await;
    let said = play.run_turn("One.").await;
    let world = play.get(&format!("node/{}/world", said.reply)).await;
    assert_eq!(world["world"]["vars"]["tell"], json!({"first": true}));
    for id in ["tell", "combat"] {
        std::fs::remove_dir_all(play.server.app().home().join("plugins").join(id)).unwrap();
    }
    wait_for_plugin(&play.server, "tell", |plugin| plugin.is_none()).await;
    wait_for_plugin(&play.server, "combat", |plugin| plugin.is_some_and(|plugin| plugin["origin"] == "bundled")).await;
    let said = play.run_turn("Two.").await;
    let node = play.get(&format!("node/{}", said.reply)).await;
    assert_eq!(node["problems"][0]["code"], "plugin_missing", "{node}");
}
