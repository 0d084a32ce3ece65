//! Tools of plugins: calls during a reply, and their results.

use super::api_session::ApiSession;
use super::*;
use crate::support::mock_model::MockModel;

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

async fn start_with_plugin() -> ApiSession {
    let setup = TestApp::setup().with_plugin("gifts", &[("plugin.toml", MANIFEST), ("main.rhai", SCRIPT)]);
    ApiSession::start_with(setup, json!({"plugins": [{"id": "gifts"}]})).await
}

/// Returns a reply with a text and tool calls.
fn tool_call_reply(said: &str, calls: &[(&str, Value)]) -> Reply {
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

fn last_request(play: &ApiSession) -> Value {
    play.server.mock().requests().pop().unwrap()
}

/// S3-12: a model calls tools, gets each result and goes on. All of it is recorded on the reply in order.
#[tokio::test]
async fn tool_calls_are_answered_and_recorded_in_order() {
    let play = start_with_plugin().await;
    // Four calls: too many gifts, a useless one, a missing argument and an unknown tool.
    let gifts = [
        ("give_gift", json!({"item": "ring", "count": 9})),
        ("give_gift", json!({"item": "stone", "count": 1})),
        ("give_gift", json!({"count": 1})),
        ("take_gift", json!({})),
    ];
    play.server.mock().queue_reply(tool_call_reply("She looks.", &gifts));
    play.server.mock().queue_reply(Reply::ok(["She smiles."]).usage(20, 3));
    let preview = play.post("prompt", json!({"parentId": play.head().await, "content": "A ring for you."})).await;
    let said = play.run_turn("A ring for you.").await;
    let requests = play.server.mock().requests();
    let [.., first, second] = requests.as_slice() else { panic!("{requests:?}") };
    let offered = &first["tools"][0]["function"];
    assert_eq!((&offered["name"], &offered["parameters"]["required"]), (&json!("give_gift"), &json!(["item"])));
    assert_eq!((&preview["messages"], &preview["tools"]["offered"]), (&first["messages"], &first["tools"]));

    // The model gets a result for each call.
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

    // The node, its world and its trace have all of it.
    let node = play.get(&format!("node/{}", said.reply)).await;
    assert_eq!(node["content"], "She looks.\n\nShe smiles.");
    assert_eq!(node["metadata"]["tokenCount"], json!({"prompt": 30, "completion": 5}));
    let world = play.get(&format!("node/{}/world", said.reply)).await["world"]["vars"]["gifts"].clone();
    assert_eq!(world, json!({"affinity": 8, "replies": 1}));
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    let used = trace["tools"]["used"].as_array().unwrap();
    assert_eq!((trace["tools"]["offered"].clone(), used.len()), (json!(["give_gift"]), 4));
    assert_eq!((&used[0]["arguments"], &used[0]["answer"]["fallen"]), (&json!({"item": "ring", "count": 3}), &fallen));
    assert_eq!(used[1]["refused"], "she has no use for stones");
    let refusal = json!({
        "code": "refused_by_tool", "args": {"words": "she has no use for stones"}, "message": "she has no use for stones",
    });
    assert_eq!(used[1]["refusal"], refusal);
    let refused = (&used[2]["plugin"], &used[2]["hook"], &used[2]["arguments"]);
    assert_eq!(refused, (&json!("gifts"), &json!("tool_give_gift"), &json!({"count": 1})));
    assert!(used[2]["refused"].as_str().unwrap().contains("item"), "{used:?}");
    assert_eq!(used[2]["refusal"]["code"], "invalid_arguments");
    let why = answer(unknown)["error"].clone();
    let refusal = json!({
        "code": "unknown_tool", "args": {"tool": "take_gift", "tools": "give_gift"}, "message": why,
    });
    let unknown = json!({
        "plugin": "server", "hook": "tool_take_gift", "arguments": {}, "refused": why, "refusal": refusal,
    });
    assert_eq!(used[3], unknown);
    assert_eq!((&trace["messages"], &trace["isExact"]), (&first["messages"], &json!(true)));

    // An edited reply keeps the effects and dice of its tool calls, and the rules read the new text.
    let edited = play.post(&format!("node/{}/edit", said.reply), json!({"content": "She laughs."})).await;
    let edited = edited["node"]["id"].as_str().unwrap().to_owned();
    let world = play.get(&format!("node/{edited}/world")).await["world"]["vars"]["gifts"].clone();
    assert_eq!(world, json!({"affinity": 8, "replies": 1}));
    let delta = play.get(&format!("node/{edited}/delta")).await;
    assert_eq!((&delta["rolls"][0]["total"], &delta["notes"][0]["text"]), (&fallen, &json!("ring is taken.")));
}

/// A model that calls tools without end is made to answer. Without the permission no tool is offered.
#[tokio::test]
async fn tool_calls_without_end_are_stopped() {
    let play = start_with_plugin().await;
    for _ in 0..5 {
        play.server.mock().queue_reply(tool_call_reply("", &[("give_gift", json!({"item": "ring", "count": 1}))]));
    }
    let parent = play.head().await;
    let started = play.post("message", json!({"parentId": parent, "content": "Hi.", "generate": true})).await;
    let reply = play.wait_for_reply(&id_of(&started["generations"][0])).await;
    assert_eq!(
        (&reply["status"], &reply["metadata"]["error"]["code"]),
        (&json!("error"), &json!("empty_reply")),
        "{reply}"
    );
    assert_eq!((play.server.mock().requests().len(), &last_request(&play)["tool_choice"]), (5, &json!("none")));
    let world = play.get(&format!("node/{}/world", id_of(&reply))).await["world"]["vars"]["gifts"].clone();
    assert_eq!(world, json!({"affinity": 5}), "a reply that failed changes nothing");

    let path = format!("/api/sessions/{}/plugins", play.sid);
    let bare = json!([{"id": "gifts", "enabled": true, "grants": ["notes"]}]);
    play.server.request("PUT", &path).json(&bare).send().await.expect(200);
    play.run_turn("And now?").await;
    assert_eq!(last_request(&play).get("tools"), None);
}

/// Returns the texts of a request's last two messages in the format of its kind.
fn last_two_messages(kind: &str, request: &Value) -> (String, String) {
    let list = if kind == "gemini" { &request["contents"] } else { &request["messages"] };
    let [.., asked, answered] = list.as_array().unwrap().as_slice() else { panic!("{request}") };
    (asked.to_string(), answered.to_string())
}

/// Starts a session with a provider of a kind.
async fn start_with_kind(kind: &str) -> ApiSession {
    start_with_settings(kind, &[]).await
}

/// Starts a session with a provider of a kind and more of its settings.
async fn start_with_settings(kind: &str, more: &[(&str, &str)]) -> ApiSession {
    let mock = MockModel::start().await;
    let base_url = if kind == "openai" { mock.base_url() } else { mock.root_url() };
    let mut setup = TestApp::setup().with_plugin("gifts", &[("plugin.toml", MANIFEST), ("main.rhai", SCRIPT)]);
    let own = [("id", "own"), ("kind", kind), ("base_url", base_url.as_str()), ("models", "[\"mock\"]")];
    for (key, value) in own.iter().chain(more) {
        setup = setup.set(&format!("providers.2.{key}"), value);
    }
    ApiSession::start_with(setup.mock(mock), json!({"plugins": [{"id": "gifts"}], "model": "own/mock"})).await
}

/// Tools work in the format of each kind of server: offered, called, answered and continued.
#[tokio::test]
async fn tool_calls_work_with_every_provider_kind() {
    let ring = json!({"item": "ring", "count": 2});
    for (kind, finish, name, call, answer) in [
        ("anthropic", "tool_use", "/tools/0/name", "tool_use", "tool_result"),
        ("gemini", "stop", "/tools/0/functionDeclarations/0/name", "functionCall", "functionResponse"),
        ("ollama", "stop", "/tools/0/function/name", "tool_calls", "tool"),
    ] {
        let play = start_with_kind(kind).await;
        play.server.mock().queue_reply(
            Reply::ok(["She looks."]).tool_call("give_gift", ring.clone()).finish_reason(finish).usage(10, 2),
        );
        play.server.mock().queue_reply(Reply::ok(["She smiles."]).usage(20, 3));
        let said = play.run_turn("A ring for you.").await;
        let requests = play.server.mock().requests();
        let [first, second] = requests.as_slice() else { panic!("{kind}: {requests:?}") };
        assert_eq!(first.pointer(name), Some(&json!("give_gift")), "{kind}: {first}");
        let (asked, answered) = last_two_messages(kind, second);
        assert!(asked.contains(call) && asked.contains("ring") && asked.contains("She looks."), "{kind}: {asked}");
        assert!(answered.contains(answer) && answered.contains("affinity"), "{kind}: {answered}");
        let node = play.get(&format!("node/{}", said.reply)).await;
        assert_eq!(node["content"], "She looks.\n\nShe smiles.", "{kind}");
        assert_eq!(node["metadata"]["tokenCount"], json!({"prompt": 30, "completion": 5}), "{kind}");
        let world = play.get(&format!("node/{}/world", said.reply)).await["world"]["vars"]["gifts"].clone();
        assert_eq!(world, json!({"affinity": 7, "replies": 1}), "{kind}");
    }
}

/// S3-12: on a text completion server the prompt describes the tools, and the model calls them in its text. Readers do
/// not see the calls, and text after a call is dropped. The same limits hold.
#[tokio::test]
async fn tool_calls_as_text_on_completion_server() {
    for kind in ["koboldcpp", "llamacpp"] {
        let play = start_with_kind(kind).await;
        let ring = json!({"item": "ring", "count": 2});
        play.server.mock().queue_reply(Reply::ok(["She looks."]).tool_call("give_gift", ring.clone()));
        play.server.mock().queue_reply(Reply::ok(["She smiles."]));
        let preview = play.post("prompt", json!({"parentId": play.head().await, "content": "A ring for you."})).await;
        let said = play.run_turn("A ring for you.").await;
        let prompts: Vec<String> = play
            .server
            .mock()
            .requests()
            .iter()
            .map(|request| request["prompt"].as_str().unwrap().to_owned())
            .collect();
        let [first, second] = prompts.as_slice() else { panic!("{prompts:?}") };
        assert!(first.contains("\"name\":\"give_gift\"") && first.contains("A ring for you."), "{first}");
        assert!(preview["messages"].to_string().contains("give_gift"), "{preview}");
        assert!(second.contains("<tool_response>{\"affinity\":7"), "{second}");
        let node = play.get(&format!("node/{}", said.reply)).await;
        assert_eq!(node["content"], "She looks.\n\nShe smiles.", "{kind}");
        let world = play.get(&format!("node/{}/world", said.reply)).await["world"]["vars"]["gifts"].clone();
        assert_eq!(world, json!({"affinity": 7, "replies": 1}), "{kind}");
        let trace = play.get(&format!("node/{}/trace", said.reply)).await;
        assert_eq!((trace["isExact"].clone(), trace["tools"]["used"].as_array().unwrap().len()), (json!(true), 1));
        assert!(trace["blueprint"].as_array().unwrap().iter().any(|block| block["slot"] == "tools"), "{trace}");

        (0..5).for_each(|_| play.server.mock().queue_reply(Reply::ok([""; 0]).tool_call("give_gift", ring.clone())));
        let started = play.post("message", json!({"parentId": said.reply, "content": "Hi.", "generate": true})).await;
        let reply = play.wait_for_reply(&id_of(&started["generations"][0])).await;
        assert_eq!(reply["metadata"]["error"]["code"], "empty_reply", "{reply}");
        assert_eq!(play.server.mock().requests().len(), 7);
        assert!(last_request(&play)["prompt"].as_str().unwrap().contains("without any tool"));
    }
}

/// Scripts a reply that calls a tool in its text, and its continuation.
fn queue_text_tool_call(play: &ApiSession) {
    let call = r#"<tool_call>{"name": "give_gift", "arguments": {"item": "ring", "count": 2}}</tool_call>"#;
    play.server.mock().queue_reply(Reply::ok(["She looks.", call]));
    play.server.mock().queue_reply(Reply::ok(["She smiles."]));
}

async fn affinity(play: &ApiSession, node: &str) -> Value {
    play.get(&format!("node/{node}/world")).await["world"]["vars"]["gifts"]["affinity"].clone()
}

/// S3-12: a server that refuses tools gets the request once more with the tools in the prompt. This is reported, and
/// remembered from then on.
#[tokio::test]
async fn tool_refusing_server_is_retried_with_text_calls() {
    for (kind, status, why) in [
        ("ollama", 400, "registry.ollama.ai/library/mock:latest does not support tools"),
        ("openai", 400, "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"),
        ("openai", 404, "No endpoints found that support tool use"),
    ] {
        let play = start_with_kind(kind).await;
        play.server.mock().refuse_tools(status, why);
        queue_text_tool_call(&play);
        let said = play.run_turn("A ring for you.").await;
        let requests = play.server.mock().requests();
        let [first, second, third] = requests.as_slice() else { panic!("{kind}: {requests:?}") };
        assert_eq!(first.pointer("/tools/0/function/name"), Some(&json!("give_gift")), "{first}");
        assert!(second["tools"].is_null() && second["messages"].to_string().contains("give_gift"), "{second}");
        assert!(third.to_string().contains("<tool_response>{\\\"affinity\\\":7"), "{third}");
        let node = play.get(&format!("node/{}", said.reply)).await;
        assert_eq!((&node["content"], &node["status"]), (&json!("She looks.\n\nShe smiles."), &json!("complete")));
        assert_eq!(affinity(&play, &said.reply).await, 7);
        let trace = play.get(&format!("node/{}/trace", said.reply)).await;
        assert_eq!((&trace["toolsInWords"]["model"], &trace["isExact"]), (&json!("own/mock"), &json!(true)), "{trace}");
        assert!(trace["toolsInWords"]["why"].as_str().unwrap().contains(why), "{trace}");
        assert_eq!(trace["messages"], second["messages"]);
        assert_eq!(node["metadata"]["passedOver"], Value::Null);

        // The server's refusal is remembered, and a preview shows what is sent.
        queue_text_tool_call(&play);
        let preview = play.post("prompt", json!({"parentId": said.reply, "content": "One more."})).await;
        let again = play.run_turn("One more.").await;
        let requests = play.server.mock().requests();
        assert_eq!((requests.len(), &requests[3]["messages"]), (5, &preview["messages"]));
        assert_eq!(affinity(&play, &again.reply).await, 9);
        let trace = play.get(&format!("node/{}/trace", again.reply)).await;
        assert_eq!(trace["toolsInWords"], Value::Null);
        let models = play.server.get("/api/models").await["items"].as_array().unwrap().clone();
        let own = models.iter().find(|model| model["id"] == "own/mock").unwrap();
        assert_eq!(own["tools"], "words");
    }
}

/// Other refusals are not retried. If the retry with tools in the prompt is refused too, the reply ends.
#[tokio::test]
async fn tool_unrelated_server_error_is_not_retried() {
    let play = start_with_kind("openai").await;
    let ask = async |why: &str| {
        play.server.mock().queue_reply(Reply::error(400, why));
        let body = json!({"parentId": play.head().await, "content": "Hi.", "generate": true});
        let started = play.post("message", body).await;
        play.wait_for_reply(&id_of(&started["generations"][0])).await["metadata"]["error"]["code"].clone()
    };
    assert_eq!(
        (ask("the prompt is not allowed").await, play.server.mock().requests().len()),
        (json!("provider_refused"), 1)
    );
    play.server.mock().refuse_tools(400, "tools are not supported");
    assert_eq!(ask("tools are not supported in any way").await, "provider_refused");
    assert_eq!(play.server.mock().requests().len(), 3);
}

/// A provider setting selects how its models are offered tools.
#[tokio::test]
async fn connection_setting_selects_native_or_text_tools() {
    let play = start_with_settings("openai", &[("tools", "words")]).await;
    queue_text_tool_call(&play);
    let said = play.run_turn("A ring for you.").await;
    let requests = play.server.mock().requests();
    assert!(requests.iter().all(|request| request["tools"].is_null()), "{requests:?}");
    assert!(requests[0]["messages"].to_string().contains("give_gift"));
    assert_eq!(affinity(&play, &said.reply).await, 7);
    for kind in ["openai", "koboldcpp"] {
        let play = start_with_settings(kind, &[("tools", "none")]).await;
        let said = play.run_turn("A ring for you.").await;
        assert!(!last_request(&play).to_string().contains("give_gift"), "{}", last_request(&play));
        let trace = play.get(&format!("node/{}/trace", said.reply)).await;
        assert_eq!(trace["tools"], Value::Null);
    }
}

/// S3-12: wrong names and trailing commas in calls are repaired and reported to the author.
#[tokio::test]
async fn tool_call_typos_are_repaired_and_reported() {
    let play = start_with_kind("koboldcpp").await;
    let call = r#"<tool_call>{"name": "Give-Gift", "arguments": {"Item": "ring", "COUNT": "2",},}</tool_call>"#;
    play.server.mock().queue_reply(Reply::ok([call]));
    play.server.mock().queue_reply(Reply::ok(["She smiles."]));
    let said = play.run_turn("A ring for you.").await;
    assert_eq!(affinity(&play, &said.reply).await, 7);
    let trace = play.get(&format!("node/{}/trace", said.reply)).await;
    assert_eq!(trace["tools"]["used"][0]["arguments"], json!({"item": "ring", "count": 2}));
    let lines = ["read \"Give-Gift\" as \"give_gift\"", "read \"Item\" as \"item\"", "read \"COUNT\" as \"count\""];
    assert_eq!(trace["rules"][0]["warnings"], json!(lines), "{trace}");
}

/// S0-38, S3-24: a quest opened by the model is open on its branch only. It can be done on one branch and failed on
/// another.
#[tokio::test]
async fn quest_tool_state_is_separate_per_branch() {
    let play = ApiSession::start_with(TestApp::setup(), json!({"plugins": [{"id": "quest-log"}]})).await;
    let script = |action: &str, step: &str| {
        let quest = ("quest", json!({"action": action, "quest": "The Ring!", "step": step}));
        play.server.mock().queue_reply(tool_call_reply("", &[quest]));
        play.server.mock().queue_reply(Reply::ok(["So it is."]));
    };
    let book = async |node: &str| play.get(&format!("node/{node}/world")).await["world"]["vars"]["quests"].clone();
    script("Start", "ask the smith");
    let opened = play.run_turn("I promise.").await.reply;
    script("completed", "it lay in the mill");
    let done = play.run_turn("I search the mill.").await.reply;
    script("give up", "it was sold");
    let failed = play.regenerate_and_wait(&done).await;
    assert_eq!(book(&opened).await["open"]["The Ring!"], json!({"step": "ask the smith", "stage": 1, "events": []}));
    for (node, outcome, how) in [(done, "done", "it lay in the mill"), (failed, "failed", "it was sold")] {
        let book = book(&node).await;
        let closed = json!({"outcome": outcome, "how": how, "turn": 2});
        assert_eq!((&book["open"], &book["closed"]), (&json!({}), &json!({"The Ring!": closed})));
    }
    assert_eq!(book(&opened).await["closed"], Value::Null, "and before, it is open still");
}

/// A tool trial on a reply uses the dice of its recorded call and shows what a model would get. Nothing is written.
#[tokio::test]
async fn tool_trial_uses_recorded_dice_and_writes_nothing() {
    let play = start_with_plugin().await;
    play.server.mock().queue_reply(tool_call_reply("", &[("give_gift", json!({"item": "ring", "count": 2}))]));
    play.server.mock().queue_reply(Reply::ok(["She smiles."]));
    let said = play.run_turn("A ring for you.").await;
    let delta = play.get(&format!("node/{}/delta", said.reply)).await;
    let used = play.get(&format!("node/{}/trace", said.reply)).await["tools"]["used"][0].clone();
    let before = (play.session().await, play.nodes().await);
    let body = |more: Value| {
        let mut body = json!({"sessionId": play.sid, "nodeId": said.reply});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let tried = async |arguments: Value, source: Option<&str>| {
        let body = body(json!({"tool": "give_gift", "arguments": arguments, "source": source}));
        play.server.post("/api/plugins/gifts/try", &body).await
    };
    // The recorded call, tried again.
    let same = tried(json!({"item": "ring", "count": 2}), None).await;
    assert_eq!((&same["result"], &same["rolls"]), (&used["answer"], &delta["rolls"]), "the same dice");
    assert_eq!(same["world"], json!([{"path": "/gifts/affinity", "before": 5, "after": 7}]));
    assert_eq!((&same["notes"], &same["warnings"]), (&json!(["ring is taken."]), &json!([])));
    // Repaired, refused and invalid arguments, and unsaved code.
    let mended = tried(json!({"Item": "ring", "count": 9}), None).await;
    assert_eq!(mended["warnings"], json!(["read \"Item\" as \"item\""]), "{mended}");
    assert_eq!(mended["operations"][0]["value"], 3, "three at most");
    let stone = tried(json!({"item": "stone", "count": 1}), None).await;
    assert_eq!((&stone["result"], &stone["world"]), (&json!({"refused": "she has no use for stones"}), &json!([])));
    let nothing = tried(json!({"count": 1}), None).await;
    let why = nothing["result"]["refused"].as_str().unwrap();
    assert!(why.starts_with("the arguments do not fit: ") && why.contains("item"), "{nothing}");
    let reads = "fn tool_give_gift(ctx, args) { `${ctx.role}: ${ctx.text}` }";
    assert_eq!(tried(json!({"item": "ring"}), Some(reads)).await["result"], "user: A ring for you.");
    // Nothing was written, and invalid requests name their field.
    assert_eq!((play.session().await, play.nodes().await), before, "nothing is written");
    for (wrong, field) in [
        (json!({"tool": "take_gift"}), "tool"),
        (json!({"tool": "give_gift", "hook": "on_reply"}), "tool"),
        (json!({"hook": "on_reply", "arguments": {}}), "arguments"),
        (json!({"hook": "tool_give_gift"}), "hook"),
        (json!({}), "hook"),
    ] {
        let asked = play.server.request("POST", "/api/plugins/gifts/try").json(&body(wrong));
        assert_eq!(asked.send().await.expect_error("invalid")["details"]["field"], field);
    }
    // Without the grant the trial warns.
    play.server.put(&format!("/api/sessions/{}/plugins", play.sid), &json!([{"id": "gifts", "grants": []}])).await;
    let head = body(json!({"tool": "give_gift", "arguments": {"item": "ring"}, "nodeId": play.head().await}));
    let denied = play.server.post("/api/plugins/gifts/try", &head).await;
    assert!(denied["warnings"][0].as_str().unwrap().contains("does not grant \"tools\""), "{denied}");
}
