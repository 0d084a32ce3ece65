//! Model calls of plugins and what becomes of their answers.

use super::api_session::{ApiSession, TurnIds};
use super::*;
use crate::support::mock_model::Gate;
use crate::support::wait::until_some;

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

async fn story(script: &str) -> ApiSession {
    let setup = TestApp::with().plugin("keeper", &[("plugin.toml", MANIFEST), ("main.rhai", script)]);
    ApiSession::with(setup, json!({"plugins": [{"id": "keeper"}]})).await
}

/// Waits for the answer node below a message and returns it.
async fn answer_below(play: &ApiSession, node: &str) -> Value {
    until_some("the answer", async || {
        let nodes = play.nodes().await;
        nodes.values().find(|one| one["parentId"] == *node && one["kind"] == "change").cloned()
    })
    .await
}

async fn kept(play: &ApiSession, node: &str) -> Value {
    play.get(&format!("node/{node}/world")).await["world"]["vars"]["keeper"].clone()
}

/// Adds a reply that makes a model call, and returns it with its answer.
async fn asked(play: &ApiSession, answer: Reply) -> (TurnIds, Value) {
    play.app.mock().script(Reply::ok(["[ask] She laughs."]));
    play.app.mock().script(answer);
    let said = play.say("Well?").await;
    let answer = answer_below(play, &said.reply).await;
    (said, answer)
}

/// A plugin asks a model after a reply. The answer is a node below it, with its effects, cost and text, and HEAD moves
/// to it. The story goes on after it, also for clients that have not seen it.
#[tokio::test]
async fn plugin_model_call_answer_becomes_node_and_head() {
    let play = story(SCRIPT).await;
    let (said, node) = asked(&play, Reply::ok(["glad"]).usage(30, 1)).await;
    let request = play.app.mock().requests().pop().unwrap();
    assert_eq!(request["max_tokens"], 7);
    assert_eq!(request["messages"][0], json!({"role": "system", "content": "One word."}));
    assert_eq!(request["messages"][1]["content"], "[ask] She laughs.");
    let from = json!({"plugin": "keeper", "name": "mood", "nodeId": said.reply});
    assert_eq!((&node["metadata"]["answers"], &node["metadata"]["tokenCount"]["prompt"]), (&from, &json!(30)));
    let answer = id(&node);
    assert_eq!((play.head().await, kept(&play, &said.reply).await), (answer.clone(), json!({"turns": 1})));
    assert_eq!(kept(&play, &answer).await["mood"], "glad");
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
    let reply = play.done(&id(&started["generations"][0])).await;
    assert_eq!(kept(&play, &id(&reply)).await["mood"], "glad");

    // A sibling of the reply does not have the answer. Coming back to the answer asks no model again.
    let other = play.another(&said.reply).await;
    assert_eq!(kept(&play, &other).await, json!({"turns": 1}));
    let calls = play.app.mock().requests().len();
    assert_eq!(play.checkout(&answer, true).await, answer);
    let play = play.restart().await;
    assert_eq!((kept(&play, &answer).await["mood"].clone(), play.app.mock().requests().len()), (json!("glad"), calls));
}

/// During another reply the answer waits, and lands where HEAD is then.
#[tokio::test]
async fn plugin_answer_during_reply_lands_after_it() {
    let play = story(SCRIPT).await;
    let (of_answer, of_reply) = (Gate::new(), Gate::new());
    play.app.mock().script(Reply::ok(["[ask] She laughs."]));
    play.app.mock().script(Reply::ok(["glad"]).gated(&of_answer));
    let said = play.say("Well?").await;
    play.app.mock().until_requests(2).await;
    play.app.mock().script(Reply::ok(["She goes on."]).gated(&of_reply));
    let next = json!({"parentId": said.reply, "content": "And then?", "generate": true});
    let next = play.post("message", next).await;
    play.app.mock().until_requests(3).await;
    of_answer.open();
    play.app.mock().until_over(2).await;
    of_reply.open();
    let reply = id(&next["generations"][0]);
    play.done(&reply).await;
    let answer = id(&answer_below(&play, &reply).await);
    assert_eq!((kept(&play, &answer).await["mood"].clone(), play.head().await), (json!("glad"), answer));
}

/// Failures are reported where the plugin's author looks, and none changes a reply. Here: a failing model, an undone
/// message, too many calls, a missing `on_answer` and a missing permission.
#[tokio::test]
async fn plugin_model_call_failures_are_reported() {
    let play = story(SCRIPT).await;
    let (_, node) = asked(&play, Reply::error(400, "no such thing")).await;
    let why = kept(&play, &id(&node)).await["failed"].clone();
    assert!(why.as_str().unwrap().contains("no such thing"), "{why}");
    assert_eq!(node["metadata"]["answers"]["error"], why);

    let gate = Gate::new();
    play.app.mock().script(Reply::ok(["[ask] She laughs."]));
    play.app.mock().script(Reply::ok(["glad"]).gated(&gate));
    let said = play.say("Well?").await;
    play.app.mock().until_requests(4).await;
    play.post("undo", json!({})).await;
    gate.open();
    play.app.mock().until_over(4).await;
    play.app.mock().script(Reply::ok(["Calm."]));
    play.say("Again?").await;
    assert!(play.nodes().await.values().all(|node| node["parentId"] != *said.reply), "it is gone with who asked");

    let many = "fn on_reply(ctx) { for i in 0..9 { ctx.ask(`n${i}`, #{messages: \"Hm?\"}); } }\nfn on_answer(ctx) {}";
    let play = story(many).await;
    let said = play.say("Well?").await;
    let problems = play.get(&format!("node/{}/delta", said.reply)).await["problems"].clone();
    assert_eq!(problems[0]["code"], "plugin_limit", "{problems}");
    assert_eq!(play.app.mock().requests().len(), 1);

    let play = story("fn on_reply(ctx) { ctx.ask(\"n\", #{messages: \"Hm?\"}); }").await;
    let said = play.say("Well?").await;
    let problems = play.get(&format!("node/{}/delta", said.reply)).await["problems"].clone();
    assert_eq!(problems[0]["code"], "plugin_ask", "{problems}");

    let path = format!("/api/sessions/{}/plugins", play.sid);
    let bare = json!([{"id": "keeper", "enabled": true, "grants": ["notes"]}]);
    play.app.ask("PUT", &path).json(&bare).send().await.expect(200);
    let said = play.say("And now?").await;
    let problems = play.get(&format!("node/{}/delta", said.reply)).await["problems"].clone();
    assert_eq!(problems[0]["code"], "plugin_permission", "{problems}");
}
