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
fn write(app: &TestServer, id: &str, files: &[(&str, &str)]) {
    let folder = app.inside().home().join("plugins").join(id);
    std::fs::create_dir_all(&folder).unwrap();
    for (path, text) in files {
        std::fs::write(folder.join(path), text).unwrap();
    }
}

/// Waits until the list entry of a plugin meets a condition.
async fn until(app: &TestServer, id: &str, is_so: impl Fn(Option<&Value>) -> bool) {
    wait::until(&format!("another {id}"), async || {
        let list = app.get("/api/plugins").await;
        is_so(list["items"].as_array().unwrap().iter().find(|plugin| plugin["id"] == id))
    })
    .await;
}

async fn until_version(app: &TestServer, version: &str) {
    until(app, "tell", |plugin| plugin.is_some_and(|plugin| plugin["version"] == version && plugin["error"].is_null()))
        .await;
}

/// S3-12: a plugin changes while a story uses it. The next reply uses the new code, and the path records the change.
#[tokio::test]
async fn plugin_change_applies_to_next_reply() {
    let first = [("plugin.toml", manifest("1.0.0")), ("main.rhai", script("first"))];
    let setup = TestApp::with().plugin("tell", &first.each_ref().map(|(path, text)| (*path, text.as_str())));
    let play = ApiSession::with(setup, json!({"plugins": [{"id": "tell"}]})).await;
    let said = play.say("One.").await;
    assert_eq!(play.get(&format!("node/{}/world", said.reply)).await["world"]["vars"]["tell"], json!({"first": true}));
    write(&play.app, "tell", &[("plugin.toml", &manifest("1.1.0")), ("main.rhai", &script("second"))]);
    until_version(&play.app, "1.1.0").await;
    let said = play.say("Two.").await;
    let world = play.get(&format!("node/{}/world", said.reply)).await;
    assert_eq!(world["world"]["vars"]["tell"], json!({"first": true, "second": true}));
    let node = play.get(&format!("node/{}", said.reply)).await;
    assert_eq!(node["problems"], json!([]), "the path says that the new code is in force");
}

/// Files that cannot run replace nothing: the old code stays in force, and its author gets the location of the error.
#[tokio::test]
async fn plugin_change_with_errors_keeps_old_code() {
    let files = [("plugin.toml", manifest("1.0.0")), ("main.rhai", script("first"))];
    let setup = TestApp::with().plugin("tell", &files.each_ref().map(|(path, text)| (*path, text.as_str())));
    let play = ApiSession::with(setup, json!({"plugins": [{"id": "tell"}]})).await;
    write(&play.app, "tell", &[("main.rhai", "fn on_reply(ctx) {\n    ctx.set(\n}\n")]);
    until(&play.app, "tell", |plugin| plugin.is_some_and(|plugin| !plugin["error"].is_null())).await;
    let told = play.app.get("/api/plugins/tell").await;
    assert_eq!((&told["isOk"], &told["version"]), (&json!(true), &json!("1.0.0")), "{told}");
    assert_eq!((&told["error"]["file"], &told["error"]["kind"]), (&json!("main.rhai"), &json!("parse")), "{told}");
    let said = play.say("One.").await;
    let world = play.get(&format!("node/{}/world", said.reply)).await;
    assert_eq!(world["world"]["vars"]["tell"], json!({"first": true}));
    write(&play.app, "tell", &[("main.rhai", &script("mended"))]);
    until(&play.app, "tell", |plugin| plugin.is_some_and(|plugin| plugin["error"].is_null())).await;
    let said = play.say("Two.").await;
    let world = play.get(&format!("node/{}/world", said.reply)).await;
    assert_eq!(world["world"]["vars"]["tell"], json!({"first": true, "mended": true}));
}

/// Broken files at the start do not replace a bundled plugin. They are what its author sees.
#[tokio::test]
async fn plugin_broken_at_start_keeps_bundled_code() {
    let broken = [("plugin.toml", "id = \"combat\"\nbogus"), ("main.rhai", "fn init(ctx) {}")];
    let play =
        ApiSession::with(TestApp::with().plugin("combat", &broken), json!({"plugins": [{"id": "combat"}]})).await;
    let told = play.app.get("/api/plugins/combat").await;
    assert_eq!((&told["isOk"], &told["origin"]), (&json!(true), &json!("bundled")), "{told}");
    assert_eq!((&told["error"]["file"], &told["error"]["line"]), (&json!("plugin.toml"), &json!(2)), "{told}");
    assert_eq!(told["files"], json!(["main.rhai", "plugin.toml"]));
    let ready = play.app.ask("GET", "/readyz").send().await.json();
    assert_eq!(ready["parts"]["plugins"], "broken: combat");
    play.app.mock().script(Reply::ok(["You take 3 damage."]));
    let said = play.say("I stumble.").await;
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
    let play = ApiSession::with(TestApp::with().plugin("tell", &files), json!({"plugins": [{"id": "tell"}]})).await;
    let is_off = |line: &Value| line["items"].to_string().contains("plugin_off");
    for _ in 0..5 {
        play.app.mock().script(Reply::ok(["Hm."]));
        play.say("On.").await;
    }
    play.get("projection").await;
    assert!(is_off(&play.get("projection").await));
    write(&play.app, "tell", &[("main.rhai", &show("`[${ctx.text}]`"))]);
    wait::until("replies are shown by the new code", async || {
        let line = play.get("projection").await;
        !is_off(&line) && line["items"].as_array().unwrap().last().unwrap()["display"] == "[Hm.]"
    })
    .await;
}

/// S3-12: watchers hear of new code in force, and nothing of broken code.
#[tokio::test]
async fn plugin_reload_is_sent_to_watchers() {
    let files = [("plugin.toml", manifest("1.0.0")), ("main.rhai", script("first"))];
    let setup = TestApp::with().plugin("tell", &files.each_ref().map(|(path, text)| (*path, text.as_str())));
    let play = ApiSession::with(setup, json!({"plugins": [{"id": "tell"}]})).await;
    let mut socket = play.app.socket(&play.sid, None).await;
    socket.until(|frame| frame["type"] == "hello").await;
    write(&play.app, "tell", &[("main.rhai", "fn on_reply(ctx) {")]);
    until(&play.app, "tell", |plugin| plugin.is_some_and(|plugin| !plugin["error"].is_null())).await;
    write(&play.app, "tell", &[("main.rhai", &script("second"))]);
    let frames = socket.until(|frame| frame["type"] == "plugins.changed").await;
    assert_eq!(frames, [json!({"type": "plugins.changed", "ids": ["tell"]})]);
    let list = play.app.get("/api/plugins").await;
    let told = list["items"].as_array().unwrap().iter().find(|plugin| plugin["id"] == "tell").unwrap();
    assert_eq!(told["error"], json!(null), "the mended code is in force when it is told");
    std::fs::remove_dir_all(play.app.inside().home().join("plugins/tell")).unwrap();
    let frames = socket.until(|frame| frame["type"] == "plugins.changed").await;
    assert_eq!(frames.last().unwrap()["ids"], json!(["tell"]));
}

/// A reply that is running while its plugin changes ends under the code with which it started.
#[tokio::test]
async fn plugin_change_during_reply_keeps_old_code() {
    let files = [("plugin.toml", manifest("1.0.0")), ("main.rhai", script("first"))];
    let setup = TestApp::with().plugin("tell", &files.each_ref().map(|(path, text)| (*path, text.as_str())));
    let play = ApiSession::with(setup, json!({"plugins": [{"id": "tell"}]})).await;
    let gate = Gate::new();
    play.app.mock().script(Reply::ok(["Slowly", " said."]).gated(&gate));
    let message = json!({"parentId": play.head().await, "content": "One.", "generate": true});
    let begun = id(&play.post("message", message).await["generations"][0]);
    play.app.mock().until_requests(1).await;
    write(&play.app, "tell", &[("plugin.toml", &manifest("2.0.0")), ("main.rhai", &script("second"))]);
    until_version(&play.app, "2.0.0").await;
    gate.open();
    let reply = play.done(&begun).await;
    assert_eq!(reply["problems"], json!([]), "{reply}");
    let world = play.get(&format!("node/{}/world", begun)).await;
    assert_eq!(world["world"]["vars"]["tell"], json!({"first": true}));
}

/// A new plugin folder can be enabled at once. A removed one is reported on the message, and a bundled plugin of the
/// same id comes back.
#[tokio::test]
async fn plugin_folder_added_or_removed_is_noticed() {
    let play = ApiSession::start().await;
    write(&play.app, "tell", &[("plugin.toml", &manifest("1.0.0")), ("main.rhai", &script("first"))]);
    let combat = manifest("9.0.0").replace("tell", "combat");
    write(&play.app, "combat", &[("plugin.toml", &combat), ("main.rhai", "fn init(ctx) {}")]);
    write(&play.app, ".hidden", &[("plugin.toml", &manifest("1.0.0"))]);
    until_version(&play.app, "1.0.0").await;
    until(&play.app, "combat", |plugin| plugin.is_some_and(|plugin| plugin["version"] == "9.0.0")).await;
    let on = json!([{"id": "tell", "enabled": true}]);
    play.app.put(&format!("/api/sessions/{}/plugins", play.sid), &on).await;
    let said = play.say("One.").await;
    let world = play.get(&format!("node/{}/world", said.reply)).await;
    assert_eq!(world["world"]["vars"]["tell"], json!({"first": true}));
    for id in ["tell", "combat"] {
        std::fs::remove_dir_all(play.app.inside().home().join("plugins").join(id)).unwrap();
    }
    until(&play.app, "tell", |plugin| plugin.is_none()).await;
    until(&play.app, "combat", |plugin| plugin.is_some_and(|plugin| plugin["origin"] == "bundled")).await;
    let said = play.say("Two.").await;
    let node = play.get(&format!("node/{}", said.reply)).await;
    assert_eq!(node["problems"][0]["code"], "plugin_missing", "{node}");
}
