//! Display hooks of plugins: readers see the rewritten text, and everything else uses the original.

use super::api_session::ApiSession;
use super::*;

fn with_plugin(setup: Setup, id: &str, script: &str) -> Setup {
    let manifest = format!(
        "id = \"{id}\"\ntitle = \"{id}\"\nversion = \"1.0.0\"\napi = \"1\"\n[permissions]\nrequest = [\"display.rewrite\"]\n"
    );
    setup.with_plugin(id, &[("plugin.toml", &manifest), ("main.rhai", script)])
}

const HEART: &str = r#"
fn on_reply(ctx) { ctx.add("love", 1); }
fn on_display(ctx) { `${ctx.strip_block("UpdateVariable").to_upper()} (${ctx.get("love", 0)}, before ${ctx.before("love", 0)})` }
"#;

/// S3-18: a display is shown wherever a reply is read, with the world of its node. The node, the next prompt, the
/// exported branch and an edit have the original.
#[tokio::test]
async fn plugin_display_changes_views_but_not_stored_text() {
    let play =
        ApiSession::start_with(with_plugin(TestApp::setup(), "heart", HEART), json!({"plugins": [{"id": "heart"}]}))
            .await;
    play.server.mock().queue_reply(Reply::ok(["He smiles.<UpdateVariable>x</UpdateVariable>"]));
    let said = play.run_turn("Hi.").await;
    let node = play.get(&format!("node/{}", said.reply)).await;
    let (original, shown) = ("He smiles.<UpdateVariable>x</UpdateVariable>", "HE SMILES. (1, before 0)");
    assert_eq!((&node["content"], &node["display"]), (&json!(original), &json!(shown)));
    let line = play.get("projection").await;
    let displays: Vec<&Value> = line["items"].as_array().unwrap().iter().map(|one| &one["display"]).collect();
    assert_eq!(displays, [&json!("HELLO. (0, before 0)"), &json!(null), &json!(shown)]);
    let versions = play.get(&format!("node/{}/alternatives", said.reply)).await;
    assert_eq!(versions["items"][0]["display"], shown);

    play.run_turn("More.").await;
    let sent = play.server.mock().requests().pop().unwrap()["messages"].to_string();
    assert!(sent.contains("He smiles.") && !sent.contains("HE SMILES"), "{sent}");
    let file = play.server.request("GET", &play.chat_path("line?format=markdown")).send().await.text();
    assert!(file.contains("He smiles.") && !file.contains("HE SMILES"), "{file}");
    assert_eq!(play.get(&format!("node/{}", said.reply)).await["display"], shown, "its own moment");
}

/// S3-18: several plugins apply one after the other. One that fails, writes or lacks the grant leaves the text
/// unchanged and reports it.
#[tokio::test]
async fn plugin_display_failure_or_missing_grant_keeps_text() {
    let setup = with_plugin(TestApp::setup(), "a", "fn on_display(ctx) { ctx.text + \" A\" }");
    let setup = with_plugin(setup, "b", "fn on_display(ctx) { ctx.set(\"x\", 1); \"never\" }");
    let setup = with_plugin(setup, "c", "fn on_display(ctx) { \"not granted\" }");
    let setup = with_plugin(setup, "d", "fn on_display(ctx) { ctx.text + \" D\" }");
    let plugins = json!([{"id": "a"}, {"id": "b"}, {"id": "c", "grants": []}, {"id": "d"}]);
    let play = ApiSession::start_with(setup, json!({"plugins": plugins})).await;
    play.server.mock().queue_reply(Reply::ok(["Hello"]));
    let said = play.run_turn("Hi.").await;
    let node = play.get(&format!("node/{}", said.reply)).await;
    assert_eq!(node["display"], "Hello A D");
    let told = |at: usize| (node["problems"][at]["plugin"].clone(), node["problems"][at]["message"].clone());
    assert_eq!(told(0), (json!("b"), json!("set(\"x\"): this hook is read-only")));
    let needs = "on_display: changing how a message is shown needs the permission \"display.rewrite\"";
    assert_eq!(told(1), (json!("c"), json!(needs)));
    assert_eq!(
        play.get(&format!("node/{}/delta", said.reply)).await["problems"],
        json!([]),
        "nothing is written of a look"
    );
}

/// S3-18: on a page with more replies than are read at once, each is displayed with the world of its node. The same
/// holds for compared branches.
#[tokio::test]
async fn plugin_display_on_long_branch_uses_each_state() {
    let play =
        ApiSession::start_with(with_plugin(TestApp::setup(), "heart", HEART), json!({"plugins": [{"id": "heart"}]}))
            .await;
    for turn in 1..=19 {
        play.server.mock().queue_reply(Reply::ok([format!("reply {turn}")]));
        play.run_turn("On.").await;
    }
    let displays = |items: &Value| -> Vec<String> {
        let shown = items.as_array().unwrap().iter().filter_map(|one| one["display"].as_str());
        shown.map(str::to_owned).collect()
    };
    let expected = |turns: std::ops::RangeInclusive<i32>| -> Vec<String> {
        turns.map(|turn| format!("REPLY {turn} ({turn}, before {})", turn - 1)).collect()
    };
    let line = play.get("projection?limit=100").await;
    let shown = displays(&line["items"]);
    assert_eq!(shown[0], "HELLO. (0, before 0)");
    assert_eq!(shown[1..], expected(1..=19));
    let from = id_of(&line["items"][8]);
    let compared = play.get(&format!("diff?from={from}")).await;
    assert_eq!(displays(&compared["to"]["items"]), expected(5..=19));
}

/// S3-18, `api.md` "Asking again": a turned-off plugin displays nothing, and the tag of what it displayed no longer
/// holds.
#[tokio::test]
async fn plugin_display_switched_off_changes_etag() {
    let script = "fn on_display(ctx) { if ctx.text.contains(\"LOOP\") { loop {} } \"S:\" + ctx.text }";
    let play =
        ApiSession::start_with(with_plugin(TestApp::setup(), "some", script), json!({"plugins": [{"id": "some"}]}))
            .await;
    play.server.mock().queue_reply(Reply::ok(["Fine."]));
    let fine = play.run_turn("Hi.").await.reply;
    let mut bad = Vec::new();
    for _ in 0..4 {
        play.server.mock().queue_reply(Reply::ok(["LOOP"]));
        bad.push(play.regenerate_and_wait(&fine).await);
    }
    let ask = |tag: &str| {
        play.server.request("GET", &play.chat_path(&format!("node/{fine}"))).header("if-none-match", tag).send()
    };
    let seen = ask("\"none\"").await;
    let tag = seen.header("etag").unwrap().to_owned();
    assert_eq!(seen.json()["display"], "S:Fine.");
    assert_eq!(ask(&tag).await.status, 304);
    let is_off = |node: &Value| node["problems"].as_array().unwrap().iter().any(|one| one["code"] == "plugin_off");
    let fails = |node: &Value| node["problems"].as_array().unwrap().iter().any(|one| one["code"] == "plugin_limit");
    for bad in &bad {
        // A failing display of one reply is one violation, however often it is read.
        for _ in 0..6 {
            let node = play.get(&format!("node/{bad}")).await;
            assert!(fails(&node) && !is_off(&node), "{node}");
        }
    }
    assert_eq!(ask(&tag).await.status, 304);
    play.server.mock().queue_reply(Reply::ok(["LOOP"]));
    let fifth = play.regenerate_and_wait(&fine).await;
    assert!(is_off(&play.get(&format!("node/{fifth}")).await));
    let now = ask(&tag).await;
    assert_eq!(now.status, 200);
    let now = now.json();
    assert!(is_off(&now) && now["display"] == Value::Null, "{now}");
}

/// S3-18: a reply is displayed by its script once, however often and through whatever route it is read. A change of its
/// world runs the script again.
#[tokio::test]
async fn plugin_display_is_cached_until_state_changes() {
    let play =
        ApiSession::start_with(with_plugin(TestApp::setup(), "heart", HEART), json!({"plugins": [{"id": "heart"}]}))
            .await;
    let mut said = Vec::new();
    for text in ["One", "Two"] {
        play.server.mock().queue_reply(Reply::ok([text]));
        said.push(play.run_turn("Hi.").await.reply);
    }
    let calls = async || {
        let told = play.server.request("GET", "/metrics").send_raw().await.text();
        let head = "clotho_plugin_calls_total{plugin=\"heart\",hook=\"on_display\"} ";
        told.lines().find_map(|line| line.strip_prefix(head)).map_or(0, |calls| calls.parse::<u64>().unwrap())
    };
    let shown = async || {
        let line = play.get("projection").await;
        let items = line["items"].as_array().unwrap().clone();
        items.iter().filter_map(|one| one["display"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let before = ["HELLO. (0, before 0)", "ONE (1, before 0)", "TWO (2, before 1)"];
    assert_eq!(shown().await, before);
    let once = calls().await;
    for _ in 0..3 {
        assert_eq!(shown().await, before);
        assert_eq!(play.get(&format!("node/{}", said[1])).await["display"], before[2]);
        assert_eq!(play.get("projection?limit=1").await["items"][0]["display"], before[2]);
    }
    assert_eq!(calls().await, once);
    play.server.put(&play.chat_path(&format!("node/{}/state", said[0])), &json!({"effects": "muted"})).await;
    assert_eq!(shown().await, ["HELLO. (0, before 0)", "ONE (0, before 0)", "TWO (1, before 0)"]);
    play.post("undo", json!({})).await;
    assert_eq!(shown().await, before);
}
