//! Streams of model servers with faults that are common in the wild, from the server's bytes to the stored reply.

use super::api_session::ApiSession;
use super::*;
use crate::support::mock_model::MockModel;

const MANIFEST: &str = r#"
id = "coin"
title = "Coin"
version = "1.0.0"
api = "1"
[permissions]
request = ["tools"]
[[tool]]
name = "toss"
description = "Tosses a coin."
[tool.parameters]
type = "object"
required = ["label"]
[tool.parameters.properties]
label = { type = "string" }
"#;

const SCRIPT: &str = r#"
fn init(ctx) { ctx.set("labels", ""); }
fn tool_toss(ctx, args) { ctx.set("labels", ctx.get("labels") + args.label + " "); "heads" }
"#;

/// Starts a session with the tool `toss` and a provider of a kind.
async fn start_with_kind(kind: &str, extra: &str) -> ApiSession {
    let mock = MockModel::start().await;
    let base_url = if kind == "openai" { mock.base_url() } else { mock.root_url() };
    let mut setup = TestApp::setup().with_plugin("coin", &[("plugin.toml", MANIFEST), ("main.rhai", SCRIPT)]);
    for (key, value) in
        [("id", "own"), ("kind", kind), ("base_url", base_url.as_str()), ("models", "[\"mock\"]"), ("extra", extra)]
    {
        setup = setup.set(&format!("providers.2.{key}"), value);
    }
    ApiSession::start_with(setup.mock(mock), json!({"plugins": [{"id": "coin"}], "model": "own/mock"})).await
}

/// Returns the body of a stream of events.
fn event_stream(events: &[String]) -> Reply {
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    Reply::raw(200, "text/event-stream", body)
}

/// Returns a chunk of OpenAI's protocol.
fn chunk(delta: &Value, finish: Option<&str>) -> String {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).to_string()
}

fn done() -> String {
    "[DONE]".to_owned()
}

/// Sends a message that may fail, and returns the reply.
async fn reply_to(play: &ApiSession, text: &str) -> Value {
    let body = json!({"parentId": play.head().await, "content": text, "generate": true});
    let started = play.post("message", body).await;
    play.wait_for_reply(&id_of(&started["generations"][0])).await
}

/// A reply that its server ended without a reason keeps its text and says that the end may be missing.
#[tokio::test]
async fn reply_without_finish_reason_is_truncated() {
    let play = ApiSession::start().await;
    let words = chunk(&json!({"content": "The crew worked hard"}), None);
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}).to_string();
    for (events, is_truncated) in [(vec![words.clone(), done()], true), (vec![words, usage, done()], false)] {
        play.server.mock().queue_reply(event_stream(&events));
        let reply = reply_to(&play, "And then?").await;
        assert_eq!((&reply["status"], &reply["content"]), (&json!("complete"), &json!("The crew worked hard")));
        let facts = &reply["metadata"];
        assert_eq!((&facts["isTruncated"], &facts["finishReason"]), (&json!(is_truncated), &Value::Null));
    }
}

/// A reply that was stopped, or ended for an unknown reason, keeps its text and says that the end may be missing.
#[tokio::test]
async fn reply_with_odd_finish_reason_is_truncated() {
    let play = ApiSession::start().await;
    for (reason, told) in [("canceled", "abort"), ("Content-Filter", "content_filter"), ("repetition", "repetition")] {
        let words = chunk(&json!({"content": "The crew"}), None);
        play.server.mock().queue_reply(event_stream(&[words, chunk(&json!({}), Some(reason)), done()]));
        let reply = reply_to(&play, "And then?").await;
        assert_eq!((&reply["status"], &reply["content"]), (&json!("complete"), &json!("The crew")));
        let facts = &reply["metadata"];
        assert_eq!((&facts["isTruncated"], &facts["finishReason"]), (&json!(true), &json!(told)), "{reason}");
    }
}

/// A stream in UTF-16, or of another form than its content type says, is read all the same.
#[tokio::test]
async fn reply_in_foreign_encoding_or_form_is_read() {
    let play = ApiSession::start().await;
    let events = [chunk(&json!({"content": "夜色🌙."}), None), chunk(&json!({}), Some("stop"))];
    let stream: String = events.iter().map(|event| format!("data:{event}\r\r")).collect();
    let utf16: Vec<u8> = stream.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let unseparated: String = events.iter().map(|event| format!("data: {event}\n")).collect();
    for body in [
        stream.clone().into_bytes(),
        utf16.clone(),
        [b"\xff\xfe".as_slice(), &utf16].concat(),
        unseparated.into_bytes(),
        (events.join("\n") + "\n").into_bytes(),
    ] {
        for size in [1, 1000] {
            let reply = Reply::raw(200, "text/event-stream; charset=utf-8", body.clone()).chunk_size(size);
            play.server.mock().queue_reply(reply);
            let reply = reply_to(&play, "Hello.").await;
            assert_eq!((&reply["status"], &reply["content"]), (&json!("complete"), &json!("夜色🌙.")));
            assert_eq!(reply["metadata"]["isTruncated"], false);
        }
    }
}

/// An account without credit is told as such.
#[tokio::test]
async fn reply_without_credit_has_its_own_code() {
    let play = ApiSession::start().await;
    let body = json!({"error": {"message": "Top up.", "type": "insufficient_quota", "code": "insufficient_quota"}});
    play.server.mock().queue_reply(Reply::json(429, &body));
    let error = reply_to(&play, "Hello.").await["metadata"]["error"].clone();
    assert_eq!((&error["code"], &error["args"]["status"]), (&json!("provider_no_credit"), &json!(429)));
    assert!(error["message"].as_str().unwrap().contains("Top up."), "{error}");
    assert_eq!(play.server.mock().requests().len(), 1);
}

/// Characters that a server cuts between two events are whole in the stored reply.
#[tokio::test]
async fn reply_characters_cut_between_events_are_whole() {
    let play = ApiSession::start().await;
    let event = |words: &str| format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{words}"}}}}]}}"#);
    let events = [event(r"She grins \ud83d"), event(""), event(r"\ude00 and waves \ud83c"), event(r"\udf19.")];
    play.server.mock().queue_reply(event_stream(&[&events[..], &[chunk(&json!({}), Some("stop")), done()]].concat()));
    assert_eq!(reply_to(&play, "Hello.").await["content"], "She grins 😀 and waves 🌙.");
}

/// Tool calls are made however the server numbers, cuts and ends them.
#[tokio::test]
async fn tool_calls_of_any_shape_are_made() {
    let play = start_with_kind("openai", "{}").await;
    let call = |index: Value, id: Value, arguments: Value| {
        let function = json!({"name": "toss", "arguments": arguments});
        json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]})
    };
    let text = |label: &str| Value::from(json!({"label": label}).to_string());
    let legacy = json!({"function_call": {"name": "toss", "arguments": text("one")}});
    let mut expected = String::new();
    for (deltas, finish, labels) in [
        (
            vec![call(json!(0), json!("c1"), text("one")), call(json!(0), json!("c2"), text("two"))],
            Some("tool_calls"),
            "one two ",
        ),
        (
            vec![call(json!(null), json!("c1"), text("one")), call(json!(null), json!("c2"), text("two"))],
            None,
            "one two ",
        ),
        (vec![call(json!("0"), json!("c1"), text("one"))], None, "one "),
        (vec![call(json!(0), json!("c1"), json!({"label": "one"}))], Some("stop"), "one "),
        (vec![legacy], Some("function_call"), "one "),
    ] {
        let mut events: Vec<String> = deltas.iter().map(|delta| chunk(delta, None)).collect();
        events.extend(finish.map(|reason| chunk(&json!({}), Some(reason))));
        events.push(done());
        play.server.mock().queue_reply(event_stream(&events));
        play.server.mock().queue_reply(Reply::ok(["It fell."]));
        let said = play.run_turn("Toss.").await;
        expected += labels;
        let world = play.get(&format!("node/{}/world", said.reply)).await;
        assert_eq!(world["world"]["vars"]["coin"]["labels"], expected, "{deltas:?}");
    }
}

/// What a server wants back with the results of tools goes back unchanged.
#[tokio::test]
async fn tool_round_sends_signatures_back() {
    let arguments = json!({"label": "one"});
    let part = json!({"functionCall": {"name": "toss", "args": arguments}, "thoughtSignature": "c2ln"});
    let gemini = json!({"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]});
    let block =
        |index: u64, block: &Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"});
    let redacted = json!({"type": "redacted_thinking", "data": "eA=="});
    let tool_use = json!({"type": "tool_use", "id": "t1", "name": "toss", "input": arguments});
    let stop = json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}});
    let anthropic =
        [block(0, &thinking), block(1, &redacted), block(2, &tool_use), stop, json!({"type": "message_stop"})];
    let extra = json!({"google": {"thought_signature": "c2ln"}});
    let details = json!([{"type": "reasoning.encrypted", "data": "eA==", "index": 0}]);
    let function = json!({"name": "toss", "arguments": arguments.to_string()});
    let call = json!({"index": 0, "id": "c1", "type": "function", "function": function, "extra_content": extra});
    let delta = json!({"reasoning_content": "hm", "reasoning_details": details, "tool_calls": [call]});
    let openai = [chunk(&delta, None), chunk(&json!({}), Some("tool_calls")), done()];
    let thinks = r#"{ thinking = { type = "enabled", budget_tokens = 1024 } }"#;
    for (kind, settings, events) in [
        ("gemini", "{}", vec![gemini.to_string()]),
        ("anthropic", thinks, anthropic.iter().map(Value::to_string).collect()),
        ("openai", "{}", openai.to_vec()),
    ] {
        let play = start_with_kind(kind, settings).await;
        play.server.mock().queue_reply(event_stream(&events));
        play.server.mock().queue_reply(Reply::ok(["It fell."]));
        let said = play.run_turn("Toss.").await;
        assert_eq!(play.get(&format!("node/{}", said.reply)).await["content"], "It fell.", "{kind}");
        let sent = play.server.mock().requests().pop().unwrap();
        let list = if kind == "gemini" { &sent["contents"] } else { &sent["messages"] };
        let [.., asked, _] = list.as_array().unwrap().as_slice() else { panic!("{sent}") };
        match kind {
            "gemini" => assert_eq!(asked["parts"], json!([part])),
            "anthropic" => {
                assert_eq!(asked["content"], json!([thinking, redacted, tool_use]));
                assert_eq!(sent["thinking"]["type"], "enabled");
            }
            _ => {
                assert_eq!((&asked["reasoning_content"], &asked["reasoning_details"]), (&json!("hm"), &details));
                assert_eq!(asked["tool_calls"][0]["extra_content"], extra);
            }
        }
    }
}

/// A stream without an event is asked for once more without streaming, and the server's words are the failure.
#[tokio::test]
async fn empty_stream_fails_with_words_of_server() {
    let play = ApiSession::start().await;
    let words = "The chat template of this model has no role for tools.";
    play.server.mock().queue_reply(Reply::raw(200, "text/event-stream", ""));
    play.server.mock().queue_reply(Reply::error(400, words));
    let error = reply_to(&play, "Hello.").await["metadata"]["error"].clone();
    assert!(error["message"].as_str().unwrap().contains("no role for tools"), "{error}");
    let requests = play.server.mock().requests();
    assert_eq!((requests.len(), &requests[1]["stream"]), (2, &json!(false)));
}

/// A reply without text says why, if its server does.
#[tokio::test]
async fn empty_reply_names_reason_of_server() {
    for (kind, event) in [
        ("gemini", json!({"candidates": [{"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL"}]})),
        ("gemini", json!({"candidates": [{"content": {}, "finishReason": "RECITATION"}]})),
        ("openai", json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "content_filter"}]})),
    ] {
        let play = start_with_kind(kind, "{}").await;
        play.server.mock().queue_reply(event_stream(&[event.to_string()]));
        let error = reply_to(&play, "Hello.").await["metadata"]["error"].clone();
        let reason = event.pointer("/candidates/0/finishReason").or(event.pointer("/choices/0/finish_reason")).unwrap();
        assert!(error["message"].as_str().unwrap().contains(reason.as_str().unwrap()), "{error}");
    }
}

/// Usage is found beside the finish reason, and its cost has no noise.
#[tokio::test]
async fn usage_in_choice_is_counted() {
    let play = ApiSession::start().await;
    let usage = json!({"prompt_tokens": 11, "completion_tokens": 3, "cost": 0.020_999_999_999_999_998_f64});
    let last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": usage}], "usage": null});
    let words = chunk(&json!({"content": "She nods."}), None);
    play.server.mock().queue_reply(event_stream(&[words, last.to_string(), done()]));
    let facts = reply_to(&play, "Hello.").await["metadata"].clone();
    assert_eq!(facts["tokenCount"], json!({"prompt": 11, "completion": 3}));
    assert_eq!(facts["cost"].to_string(), "0.021");
}

/// Where the prompt puts names before the texts, the own name at the start of a reply is dropped. A reply that has it
/// from before is not sent with two names.
#[tokio::test]
async fn own_name_at_start_of_reply_is_not_doubled() {
    let play = ApiSession::start().await;
    let mut contents = Vec::new();
    for (persona, pieces) in [
        ("Ann", vec!["Rin: No, ", "you may not."]),
        ("Bo", vec!["Ri", "n: No, ", "you may not."]),
        ("Ann", vec!["**Rin:** Rin: Well."]),
        ("Ann", vec!["Rin:"]),
        ("Ann", vec!["Bo: Hey!"]),
    ] {
        let id = id_of(&play.server.post("/api/personas", &json!({"name": persona})).await);
        play.server.mock().queue_reply(Reply::ok(pieces));
        let parent = play.head().await;
        let body = json!({"parentId": parent, "content": "May I?", "personaId": id, "generate": true});
        let started = play.post("message", body).await;
        contents.push(play.wait_for_reply(&id_of(&started["generations"][0])).await["content"].clone());
    }
    // The first prompt has only one person, and no names.
    let expected = ["Rin: No, you may not.", "No, you may not.", "Well.", "Rin:", "Bo: Hey!"];
    assert_eq!(contents, expected);
    play.run_turn("And now?").await;
    let sent = play.server.mock().requests().pop().unwrap();
    let lines: Vec<&str> =
        sent["messages"].as_array().unwrap().iter().filter_map(|one| one["content"].as_str()).collect();
    assert_eq!(lines.iter().filter(|line| **line == "Rin: No, you may not.").count(), 2, "{lines:?}");
    assert!(!sent.to_string().contains("Rin: Rin: No") && !sent.to_string().contains("Rin: Rin: Well"), "{lines:?}");
    let trace = play.get(&format!("node/{}/trace", play.head().await)).await;
    assert_eq!((&trace["messages"], &trace["isExact"]), (&sent["messages"], &json!(true)));
}

/// A draft of the user's message drops the name of the persona.
#[tokio::test]
async fn own_name_at_start_of_draft_is_dropped() {
    let play = ApiSession::start().await;
    for persona in ["Ann", "Bo"] {
        let id = id_of(&play.server.post("/api/personas", &json!({"name": persona})).await);
        let body = json!({"parentId": play.head().await, "content": "Hi.", "personaId": id, "generate": true});
        let started = play.post("message", body).await;
        play.wait_for_reply(&id_of(&started["generations"][0])).await;
    }
    // The draft is of whoever spoke last.
    let name = "Bo";
    for (pieces, expected) in
        [(vec![format!("{name}: I wa"), "it.".to_owned()], "I wait."), (vec![name.to_owned()], name)]
    {
        play.server.mock().queue_reply(Reply::ok(pieces));
        let id = play.post("impersonate", json!({})).await["draftId"].as_str().unwrap().to_owned();
        let draft = wait_for_some("the draft", async || {
            let draft = play.get(&format!("draft/{id}")).await;
            (draft["status"] == "done").then_some(draft)
        })
        .await;
        assert_eq!(draft["content"], *expected);
    }
}
