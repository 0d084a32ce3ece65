//! Model calls of plugins and what becomes of their answers.

use super::api_session::{ApiSession, TurnIds};
use super::*;
use crate::support::mock_model::Gate;
use crate::support::wait::wait_for_some;

const MANIFEST: &str = r#"
id = "keeper"
title = "Keeper"
version = "1.0.0"
api = "1"
[permissions]
request = ["model.call", "notes"]
"#;

const SCRIPT: &str = r#"
fn init(ctx) { ctx.set("turns", 0); }
fn on_reply(ctx) {
    ctx.add("turns", 1);
    if !ctx.text.contains("[ask]") { return; }
    ctx.ask("mood", #{ messages: [#{ role: "system", text: "One word." }, #{ text: ctx.text }], max_tokens: 7 });
}
fn on_answer(ctx) {
    if ctx.answer.error != () { ctx.set("failed", ctx.answer.error); return; }
    ctx.set("mood", ctx.text, `asked for ${ctx.answer.name}`);
    ctx.set("luck", ctx.roll("1d1000").total);
    ctx.note(`Rin is ${ctx.answer.text}.`);
}
"#;

async fn start_with_plugin(script: &str) -> ApiSession {
    let setup = TestApp::setup().with_plugin("keeper", &[("plugin.toml", MANIFEST), ("main.rhai", script)]);
    ApiSession::start_with(setup, json!({"plugins": [{"id": "keeper"}]})).await
}

/// Waits for the answer node below a message and returns it.
async fn wait_for_answer_below(play: &ApiSession, node: &str) -> Value {
    wait_for_some("the answer", async || {
        let nodes = play.nodes().await;
        nodes.values().find(|one| one["parentId"] == *node && one["kind"] == "change").cloned()
    })
    .await
}

async fn plugin_values(play: &ApiSession, node: &str) -> Value {
    play.get(&format!("node/{node}/world")).await["world"]["vars"]["keeper"].clone()
}

/// Adds a reply that makes a model call, and returns it with its answer.
async fn run_turn_with_call(play: &ApiSession, answer: Reply) -> (TurnIds, Value) {
    play.server.mock().queue_reply(Reply::ok(["[ask] She laughs."]));
    play.server.mock().queue_reply(answer);
    let said = play.run_turn("Well?").await;
    let answer = wait_for_answer_below(play, &said.reply).await;
    (said, answer)
}

/// A plugin asks a model after a reply. The answer is a node below it, with its effects, cost and text, and HEAD moves
/// to it. The story goes on after it, also for clients that have not seen it.
#[tokio::test]
async fn plugin_model_call_answer_becomes_node_and_head() {
    let play = start_with_plugin(SCRIPT).await;
    let (said, node) = run_turn_with_call(&play, Reply::ok(["glad"]).usage(30, 1)).await;
    let request = play.server.mock().requests().pop().unwrap();
    assert_eq!(request["max_tokens"], 7);
    assert_eq!(request["messages"][0], json!({"role": "system", "content": "One word."}));
    assert_eq!(request["messages"][1]["content"], "[ask] She laughs.");
    let from = json!({"plugin": "keeper", "name": "mood", "nodeId": said.reply});
    assert_eq!((&node["metadata"]["answers"], &node["metadata"]["tokenCount"]["prompt"]), (&from, &json!(30)));
    let answer = id_of(&node);
    assert_eq!((play.head().await, plugin_values(&play, &said.reply).await), (answer.clone(), json!({"turns": 1})));
    assert_eq!(plugin_values(&play, &answer).await["mood"], "glad");
    let delta = play.get(&format!("node/{answer}/delta")).await;
    assert_eq!(delta["notes"][0]["text"], "Rin is glad.");
    assert_eq!(delta["rules"][0]["answer"], json!({"name": "mood", "text": "glad", "error": null, "turn": 1}));
    let asks = play.get(&format!("node/{}/delta", said.reply)).await["rules"][0]["asks"].clone();
    assert_eq!((&asks[0]["name"], &asks[0]["maxTokens"]), (&json!("mood"), &json!(7)));
    let spent = play.get("spent").await;
    assert_eq!(
        (&spent["replies"], &spent["asides"], &spent["tokenCount"]["prompt"]),
        (&json!(1), &json!(1), &json!(30))
    );

    let late = json!({"parentId": said.reply, "expectedLeafId": said.reply, "content": "And now?", "generate": true});
    let started = play.post("message", late).await;
    assert_eq!(started["node"]["parentId"], *answer, "what nobody has seen yet is not written past");
    let reply = play.wait_for_reply(&id_of(&started["generations"][0])).await;
    assert_eq!(plugin_values(&play, &id_of(&reply)).await["mood"], "glad");

    // A sibling of the reply does not have the answer. Coming back to the answer asks no model again.
    let other = play.regenerate_and_wait(&said.reply).await;
    assert_eq!(plugin_values(&play, &other).await, json!({"turns": 1}));
    let calls = play.server.mock().requests().len();
    assert_eq!(play.checkout(&answer, true).await, answer);
    let play = play.restart().await;
    assert_eq!(
        (plugin_values(&play, &answer).await["mood"].clone(), play.server.mock().requests().len()),
        (json!("glad"), calls)
    );
}

/// During another reply the answer waits, and lands where HEAD is then.
#[tokio::test]
async fn plugin_answer_during_reply_lands_after_it() {
    let play = start_with_plugin(SCRIPT).await;
    let (of_answer, of_reply) = (Gate::new(), Gate::new());
    play.server.mock().queue_reply(Reply::ok(["[ask] She laughs."]));
    play.server.mock().queue_reply(Reply::ok(["glad"]).gate(&of_answer));
    let said = play.run_turn("Well?").await;
    play.server.mock().wait_for_requests(2).await;
    play.server.mock().queue_reply(Reply::ok(["She goes on."]).gate(&of_reply));
    let next = json!({"parentId": said.reply, "content": "And then?", "generate": true});
    let next = play.post("message", next).await;
    play.server.mock().wait_for_requests(3).await;
    of_answer.open();
    play.server.mock().wait_for_ended_replies(2).await;
    of_reply.open();
    let reply = id_of(&next["generations"][0]);
    play.wait_for_reply(&reply).await;
    let answer = id_of(&wait_for_answer_below(&play, &reply).await);
    assert_eq!((plugin_values(&play, &answer).await["mood"].clone(), play.head().await), (json!("glad"), answer));
}

/// Failures are reported where the plugin's author looks, and none changes a reply. Here: a failing model, an undone
/// message, too many calls, a missing `on_answer` and a missing permission.
#[tokio::test]
async fn plugin_model_call_failures_are_reported() {
    let play = start_with_plugin(SCRIPT).await;
    let (_, node) = run_turn_with_call(&play, Reply::error(400, "no such thing")).await;
    let why = plugin_values(&play, &id_of(&node)).await["failed"].clone();
    assert!(why.as_str().unwrap().contains("no such thing"), "{why}");
    assert_eq!(node["metadata"]["answers"]["error"], why);

    let gate = Gate::new();
    play.server.mock().queue_reply(Reply::ok(["[ask] She laughs."]));
    play.server.mock().queue_reply(Reply::ok(["glad"]).gate(&gate));
    let said = play.run_turn("Well?").await;
    play.server.mock().wait_for_requests(4).await;
    play.post("undo", json!({})).await;
    gate.open();
    play.server.mock().wait_for_ended_replies(4).await;
    play.server.mock().queue_reply(Reply::ok(["Calm."]));
    play.run_turn("Again?").await;
    assert!(play.nodes().await.values().all(|node| node["parentId"] != *said.reply), "it is gone with who asked");

    let many = "fn on_reply(ctx) { for i in 0..9 { ctx.ask(`n${i}`, #{messages: \"Hm?\"}); } }\nfn on_answer(ctx) {}";
    let play = start_with_plugin(many).await;
    let said = play.run_turn("Well?").await;
    let problems = play.get(&format!("node/{}/delta", said.reply)).await["problems"].clone();
    assert_eq!(problems[0]["code"], "plugin_limit", "{problems}");
    assert_eq!(play.server.mock().requests().len(), 1);

    let play = start_with_plugin("fn on_reply(ctx) { ctx.ask(\"n\", #{messages: \"Hm?\"}); }").await;
    let said = play.run_turn("Well?").await;
    let problems = play.get(&format!("node/{}/delta", said.reply)).await["problems"].clone();
    assert_eq!(problems[0]["code"], "plugin_ask", "{problems}");

    let path = format!("/api/sessions/{}/plugins", play.sid);
    let bare = json!([{"id": "keeper", "enabled": true, "grants": ["notes"]}]);
    play.server.request("PUT", &path).json(&bare).send().await.expect(200);
    let said = play.run_turn("And now?").await;
    let problems = play.get(&format!("node/{}/delta", said.reply)).await["problems"].clone();
    assert_eq!(problems[0]["code"], "plugin_permission", "{problems}");
}
