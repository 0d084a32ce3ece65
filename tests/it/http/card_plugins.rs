//! Plugins inside cards: one picture brings a character and the rules of its stories. Nothing of it runs before the
//! server's operator has installed it.

use super::api_session::ApiSession;
use super::*;

const MANIFEST: &str = "id = \"tide\"\ntitle = \"Tide\"\nversion = \"1.0.0\"\napi = \"1\"\n";
const SCRIPT: &str = "fn on_reply(ctx) { ctx.set(\"level\", ctx.get(\"level\", 0) + 1, \"the tide\"); }\n";

/// Returns a card with an embedded plugin, as its author's server exports it.
async fn export_card_with_plugin(manifest: &str, script: &str) -> Vec<u8> {
    let setup = TestApp::setup().with_plugin("tide", &[("plugin.toml", manifest), ("main.rhai", script)]);
    let app = TestServer::start_with(setup).await;
    let cid = id_of(&app.post("/api/characters", &json!({"name": "Rin", "firstMessage": "Hello."})).await);
    let rules = format!("/api/characters/{cid}/rules");
    assert_eq!(app.get(&rules).await["state"], "none");
    let carried = app.put(&rules, &json!({"plugin": "tide"})).await;
    assert_eq!((&carried["id"], &carried["state"]), (&json!("tide"), &json!("same")), "{carried}");
    let heard = app.request("GET", &format!("/api/characters/{cid}/export?format=png")).send().await;
    assert_eq!(heard.status, 200);
    assert_eq!(app.request("DELETE", &rules).send().await.status, 204);
    assert_eq!(app.get(&rules).await["state"], "none");
    heard.body
}

async fn import_card(app: &TestServer, card: &[u8]) -> String {
    let came =
        app.request("POST", "/api/characters/import").bytes(card, "application/octet-stream").send().await.expect(201);
    id_of(&came)
}

/// The import report of a card names its plugin.
#[tokio::test]
async fn card_import_reports_embedded_plugin() {
    let file = export_card_with_plugin(MANIFEST, SCRIPT).await;
    let app = TestServer::start_with(TestApp::setup()).await;
    let ask = app.request("POST", "/api/characters/import").bytes(&file, "application/octet-stream");
    let came = ask.send().await.expect(201);
    let findings = came["report"]["items"][0]["findings"].as_array().unwrap();
    let rules = findings.iter().find(|one| one["code"] == "rules").unwrap_or_else(|| panic!("{came}"));
    assert_eq!(rules["fate"], "kept");
    assert!(rules["message"].as_str().unwrap().contains("the plugin \"tide\""), "{rules}");
}

/// Rank 7 and 13: code in a card is only proposed and never runs by itself. The operator installs exactly the code that
/// was shown. A newer version is an update that lists its changes and permissions.
#[tokio::test]
async fn card_plugin_needs_accept_to_install_or_update() {
    // After the import the plugin is shown but not installed.
    let first = export_card_with_plugin(MANIFEST, SCRIPT).await;
    let app = TestServer::start_with(TestApp::setup()).await;
    let cid = import_card(&app, &first).await;
    let rules = format!("/api/characters/{cid}/rules");
    let seen = app.get(&rules).await;
    assert_eq!(
        (&seen["state"], &seen["version"], &seen["error"]),
        (&json!("new"), &json!("1.0.0"), &Value::Null),
        "{seen}"
    );
    assert_eq!((&seen["files"][0]["path"], &seen["files"][0]["after"]), (&json!("main.rhai"), &json!(SCRIPT)));
    app.request("GET", "/api/plugins/tide").send().await.expect_error("not_found");
    // Only the code that was shown can be installed.
    let accept = format!("{rules}/accept");
    let refused =
        async |at: &str, body: Value| app.request("POST", at).json(&body).send().await.expect_error("conflict");
    refused(&accept, json!({"codeHash": "other"})).await;
    refused(&accept, json!({"codeHash": seen["codeHash"], "installedHash": "other"})).await;
    let taken = app.post(&accept, &json!({"codeHash": seen["codeHash"]})).await;
    assert_eq!((&taken["id"], &taken["isOk"], &taken["codeHash"]), (&json!("tide"), &json!(true), &seen["codeHash"]));
    assert_eq!(app.get(&rules).await["state"], "same");

    // The installed plugin plays.
    let session = app.post("/api/sessions", &json!({"characterIds": [cid], "plugins": [{"id": "tide"}]})).await;
    let play = ApiSession { sid: id_of(&session), server: app };
    let one = play.run_turn("One.").await;
    let level =
        async |node: &str| play.get(&format!("node/{node}/world")).await["world"]["vars"]["tide"]["level"].clone();
    assert_eq!(level(&one.reply).await, 1);

    // A newer card is an update with more permissions.
    let manifest = MANIFEST.replace("1.0.0", "1.1.0") + "[permissions]\nrequest = [\"notes\"]\n";
    let second = export_card_with_plugin(&manifest, &SCRIPT.replace("+ 1", "+ 10")).await;
    let newer = import_card(&play.server, &second).await;
    let rules = format!("/api/characters/{newer}/rules");
    let seen = play.server.get(&rules).await;
    assert_eq!((&seen["state"], &seen["installedVersion"]), (&json!("newer"), &json!("1.0.0")), "{seen}");
    assert_eq!(seen["asksMore"], json!(["notes"]));
    let changed = &seen["files"][0];
    assert_eq!((&changed["change"], &changed["before"]), (&json!("changed"), &json!(SCRIPT)));
    // The update needs the hashes of both versions; earlier nodes keep their values.
    let accept = format!("{rules}/accept");
    let told = play
        .server
        .request("POST", &accept)
        .json(&json!({"codeHash": seen["codeHash"]}))
        .send()
        .await
        .expect_error("conflict");
    assert_eq!(told["details"]["installedHash"], seen["installedHash"]);
    let both = json!({"codeHash": seen["codeHash"], "installedHash": seen["installedHash"]});
    play.server.post(&accept, &both).await;
    let two = play.run_turn("Two.").await;
    assert_eq!([level(&one.reply).await, level(&two.reply).await], [1, 11], "the past keeps what it was played by");
}

/// Cards are untrusted: a broken plugin is reported and refused, and no card replaces a bundled plugin.
#[tokio::test]
async fn card_plugin_broken_or_bundled_id_is_refused() {
    let app = TestServer::start_with(TestApp::setup()).await;
    let of = async |files: Value| {
        let metadata = json!({"clotho": {"rules": {"files": files}}});
        let cid = id_of(&app.post("/api/characters", &json!({"name": "Rin", "metadata": metadata})).await);
        format!("/api/characters/{cid}/rules")
    };
    let broken = [
        json!({"main.rhai": SCRIPT}),
        json!({"plugin.toml": MANIFEST, "main.rhai": "fn on_reply(ctx) {"}),
        json!({"plugin.toml": MANIFEST, "main.rhai": SCRIPT, "../out.rhai": ""}),
        json!({"plugin.toml": MANIFEST.replace("tide", "../tide"), "main.rhai": SCRIPT}),
        json!({"plugin.toml": 5}),
    ];
    for files in broken {
        let rules = of(files).await;
        let seen = app.get(&rules).await;
        assert!(seen["state"] == "broken" && seen["error"]["message"].is_string(), "{seen}");
        let heard = app.request("POST", &format!("{rules}/accept")).json(&json!({"codeHash": "x"})).send().await;
        assert!([409, 422].contains(&heard.status), "{}", heard.status);
    }
    let bundled = of(json!({"plugin.toml": MANIFEST.replace("tide", "combat"), "main.rhai": SCRIPT})).await;
    let seen = app.get(&bundled).await;
    assert_eq!(seen["state"], "bundled", "{seen}");
    let both = json!({"codeHash": seen["codeHash"], "installedHash": seen["installedHash"]});
    app.request("POST", &format!("{bundled}/accept")).json(&both).send().await.expect_error("conflict");
    assert!(!app.app().home().join("plugins/combat").exists());
}
