//! Tools of plugins: what a model may call while it writes, and what comes of it.

use super::play::Play;
use super::*;

const MANIFEST: &str = r#"
id = "gifts"
title = "Gifts"
version = "1.0.0"
api = "1"
[permissions]
request = ["tools", "notes"]
[[tool]]
name = "give_gift"
description = "Rin is given something."
[tool.parameters]
type = "object"
required = ["item"]
[tool.parameters.properties]
item = { type = "string" }
count = { type = "integer", minimum = 1, maximum = 3 }
"#;

const SCRIPT: &str = r#"
fn init(ctx) { ctx.set("affinity", 5); }
fn tool_give_gift(ctx, args) {
    if args.item == "stone" { ctx.fail("she has no use for stones"); }
    let fallen = ctx.roll("1d1000");
    ctx.add("affinity", args.count, `gift: ${args.item}`);
    ctx.note(`${args.item} is taken.`);
    #{ affinity: ctx.get("affinity"), fallen: fallen.total }
}
fn on_reply(ctx) { ctx.add("replies", 1); }
"#;

async fn story() -> Play {
    let setup = TestApp::with().plugin("gifts", &[("plugin.toml", MANIFEST), ("main.rhai", SCRIPT)]);
    Play::with(setup, json!({"plugins": [{"id": "gifts"}]})).await
}

/// A reply that says something and wants these called.
fn wants(said: &str, calls: &[(&str, Value)]) -> Reply {
    let call = |(at, (name, arguments)): (usize, &(&str, Value))| json!({"index": at, "id": format!("c{at}"), "function": {"name": name, "arguments": arguments.to_string()}});
    let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
    let delta =
        |delta: Value, finish: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let events = [
        delta(json!({"content": said}), Value::Null).to_string(),
        delta(json!({"tool_calls": calls}), Value::Null).to_string(),
        delta(json!({}), json!("tool_calls")).to_string(),
        json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 2}}).to_string(),
        "[DONE]".to_owned(),
    ];
    Reply::events(events)
}

fn last(play: &Play) -> Value {
    play.app.mock().requests().pop().unwrap()
}

/// S3-12: a model calls tools, hears what came of each, and goes on; all of it is of the reply, in order, and can be read.
#[tokio::test]
async fn a_model_calls_tools_and_goes_on() {
    let play = story().await;
    let gifts = [
        ("give_gift", json!({"item": "ring", "count": 9})),
        ("give_gift", json!({"item": "stone", "count": 1})),
        ("give_gift", json!({"count": 1})),
        ("take_gift", json!({})),
    ];
    play.app.mock().script(wants("She looks.", &gifts));
    play.app.mock().script(Reply::ok(["She smiles."]).usage(20, 3));
    let preview = play.post("prompt", json!({"parentId": play.head().await, "content": "A ring for you."})).await;
    let said = play.say("A ring for you.").await;
    let requests = play.app.mock().requests();
    let [.., first, second] = requests.as_slice() else { panic!("{requests:?}") };
    let offered = &first["tools"][0]["function"];
    assert_eq!((&offered["name"], &offered["parameters"]["required"]), (&json!("give_gift"), &json!(["item"])));
    assert_eq!((&preview["messages"], &preview["tools"]["offered"]), (&first["messages"], &first["tools"]));

    let told: Vec<Value> = second["messages"]
        .as_array()
        .unwrap()
        .iter()
        .skip(first["messages"].as_array().unwrap().len())
        .cloned()
        .collect();
    let [asked, ring, stone, nothing, unknown] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((&asked["content"], &asked["tool_calls"][0]["id"]), (&json!("She looks."), &json!("c0")));
    let answer = |message: &Value| serde_json::from_str::<Value>(message["content"].as_str().unwrap()).unwrap();
    let fallen = answer(ring)["fallen"].clone();
    assert_eq!((answer(ring)["affinity"].clone(), &ring["tool_call_id"]), (json!(8), &json!("c0")), "three at most");
    assert_eq!(answer(stone), json!({"error": "she has no use for stones"}));
    assert!(answer(nothing)["error"].as_str().unwrap().contains("item"), "{nothing}");
    assert_eq!(answer(unknown)["error"], "there is no tool \"take_gift\"; there are: give_gift");

    let node = play.get(&format!("node/{}", said.reply)).await;
    assert_eq!(node["content"], "She looks.\n\nShe smiles.");
    assert_eq!(node["metadata"]["tokenCount"], json!({"prompt": 30, "completion": 5}));
    let world = play.get(&format!("node/{}/world", said.reply)).await["world"]["vars"]["gifts"].clone();
    assert_eq!(world, json!({"affinity": 8, "replies": 1}));
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    let used = trace["tools"]["used"].as_array().unwrap();
    assert_eq!((trace["tools"]["offered"].clone(), used.len()), (json!(["give_gift"]), 2));
    assert_eq!((&used[0]["arguments"], &used[0]["answer"]["fallen"]), (&json!({"item": "ring", "count": 3}), &fallen));
    assert_eq!(used[1]["refused"], "she has no use for stones");
    assert_eq!((&trace["messages"], &trace["isExact"]), (&first["messages"], &json!(true)));

    // An edited reply keeps what was done and what fell; rules read it anew.
    let edited = play.post(&format!("node/{}/edit", said.reply), json!({"content": "She laughs."})).await;
    let edited = edited["node"]["id"].as_str().unwrap().to_owned();
    let world = play.get(&format!("node/{edited}/world")).await["world"]["vars"]["gifts"].clone();
    assert_eq!(world, json!({"affinity": 8, "replies": 1}));
    let delta = play.get(&format!("node/{edited}/delta")).await;
    assert_eq!((&delta["rolls"][0]["total"], &delta["notes"][0]["text"]), (&fallen, &json!("ring is taken.")));
}

/// A model that wants tools again and again is made to speak; without the permission none is offered.
#[tokio::test]
async fn tools_end() {
    let play = story().await;
    for _ in 0..5 {
        play.app.mock().script(wants("", &[("give_gift", json!({"item": "ring", "count": 1}))]));
    }
    let parent = play.head().await;
    let started = play.post("message", json!({"parentId": parent, "content": "Hi.", "generate": true})).await;
    let reply = play.done(&id(&started["generations"][0])).await;
    assert_eq!(
        (&reply["status"], &reply["metadata"]["error"]["code"]),
        (&json!("error"), &json!("empty_reply")),
        "{reply}"
    );
    assert_eq!((play.app.mock().requests().len(), &last(&play)["tool_choice"]), (5, &json!("none")));
    let world = play.get(&format!("node/{}/world", id(&reply))).await["world"]["vars"]["gifts"].clone();
    assert_eq!(world, json!({"affinity": 5}), "a reply that failed changes nothing");

    let path = format!("/api/sessions/{}/plugins", play.sid);
    let bare = json!([{"id": "gifts", "enabled": true, "grants": ["notes"]}]);
    play.app.ask("PUT", &path).json(&bare).send().await.expect(200);
    play.say("And now?").await;
    assert_eq!(last(&play).get("tools"), None);
}
