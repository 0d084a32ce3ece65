//! Whole turns with every kind of model server, and aliases for several models.

use super::api_session::ApiSession;
use super::*;
use crate::support::mock_model::{MockModel, ReasoningField};

/// Kinds other than OpenAI's, each also the id of a provider, with the start of its request line.
const KINDS: [(&str, &str); 10] = [
    ("anthropic", "POST /v1/messages"),
    ("gemini", "POST /v1beta/models/mock:streamGenerateContent"),
    ("ollama", "POST /api/chat"),
    ("koboldcpp", "POST /api/extra/generate/stream"),
    ("llamacpp", "POST /completion"),
    ("openrouter", "POST /v1/chat/completions"),
    ("mistral", "POST /v1/chat/completions"),
    ("deepseek", "POST /v1/chat/completions"),
    ("azure", "POST /openai/deployments/mock/chat/completions?api-version="),
    ("cohere", "POST /v2/chat"),
];

/// Starts a session with a provider of every kind, all at one mock.
async fn start_with_every_kind(settings: &[(&str, &str)]) -> ApiSession {
    let mock = MockModel::start().await;
    let mut setup = TestApp::setup();
    for (n, (kind, _)) in KINDS.iter().enumerate() {
        let key = |name: &str| format!("providers.{}.{name}", n + 2);
        setup = setup.set(&key("id"), kind).set(&key("kind"), kind).set(&key("base_url"), &mock.root_url());
        setup = setup.set(&key("models"), "[\"mock\"]");
        setup = setup.set(&key("prices"), "{ mock = { prompt = 3.0, completion = 15.0, cached = 0.3 } }");
    }
    let setup = settings.iter().fold(setup, |setup, (key, value)| setup.set(key, value));
    ApiSession::start_with(setup.mock(mock), json!({})).await
}

/// Asks a model for a reply at HEAD and returns the placeholder.
async fn start_turn_with_model(play: &ApiSession, model: &str) -> String {
    let generate = json!({"model": model, "params": {"temperature": 0.5}});
    let body = json!({"parentId": play.head().await, "content": "Light the lamp.", "generate": generate});
    id_of(&play.post("message", body).await["generations"][0])
}

async fn trace(play: &ApiSession, reply: &str) -> Value {
    play.get(&format!("node/{reply}/trace")).await
}

/// S0-39, S1-13: a whole turn over each protocol streams by pieces, with separate reasoning. Tokens, time and cost are
/// on the message and in its trace.
#[tokio::test]
async fn turn_over_each_protocol_streams_and_records_usage() {
    let play = start_with_every_kind(&[]).await;
    for (kind, line) in KINDS {
        // Script a reply with usage, and with reasoning where the protocol has it.
        let gate = Gate::new();
        let usage =
            json!({"prompt_tokens": 1000, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 800}});
        let reply = Reply::ok(["She lights 🌙", " the lamp."]).usage_with_finish(usage).gate(&gate);
        let completes = matches!(kind, "koboldcpp" | "llamacpp");
        let reply = if completes { reply } else { reply.reasoning(ReasoningField::All, ["hm"]) };
        play.server.mock().queue_reply(reply);
        // The first piece arrives before the reply has ended.
        let mut tab = play.server.open_socket(&play.sid, None).await;
        let node = start_turn_with_model(&play, &format!("{kind}/mock")).await;
        gate.release(if completes { 1 } else { 2 });
        let is_first =
            |frame: &Value| frame["type"] == "node.content.updated" && frame["contentChunk"] == "She lights 🌙";
        tab.read_until(is_first).await;
        gate.open();
        let node = play.wait_for_reply(&node).await;
        assert_eq!(
            (&node["content"], &node["status"]),
            (&json!("She lights 🌙 the lamp."), &json!("complete")),
            "{kind}"
        );
        // The request used the protocol.
        let seen = play.server.mock().all_requests().into_iter().rev().find(|seen| !seen.body.is_null()).unwrap();
        assert!(seen.request_line.starts_with(line), "{kind}: {}", seen.request_line);
        assert!(seen.body.to_string().contains("Light the lamp."), "{kind}: {}", seen.body);

        // The message and its trace have the model, parameters, tokens and cost.
        let metadata = &node["metadata"];
        assert_eq!((&metadata["model"], &metadata["finishReason"]), (&json!(format!("{kind}/mock")), &json!("stop")));
        let trace = trace(&play, &id_of(&node)).await;
        assert_eq!((&trace["isExact"], &trace["params"]), (&json!(true), &metadata["params"]), "{kind}");
        assert_eq!(trace["params"]["temperature"], 0.5, "{kind}");
        let (counts, cached, cost) = match kind {
            "koboldcpp" => (json!(null), json!(null), json!(null)),
            // Ollama does not report cached tokens.
            "ollama" => (json!({"prompt": 1000, "completion": 10}), json!(null), json!(0.003_15)),
            _ => (json!({"prompt": 1000, "completion": 10}), json!(800), json!(0.000_99)),
        };
        assert_eq!(metadata.get("tokenCount").unwrap_or(&Value::Null), &counts, "{kind}");
        assert_eq!(metadata.get("cachedTokens").unwrap_or(&Value::Null), &cached, "{kind}");
        assert_eq!(metadata.get("cost").unwrap_or(&Value::Null), &cost, "{kind}");
        assert_eq!(trace.get("cost").unwrap_or(&Value::Null), &cost, "{kind}");
        if cost != Value::Null {
            assert_eq!((&trace["costFrom"], &trace["usage"]), (&json!("settings"), &counts), "{kind}");
        }
        assert_eq!(trace.get("saved").is_some(), cached != Value::Null, "{kind}");
        assert_eq!(node["reasoning"].as_str(), (!completes).then_some("hm"), "{kind}");
    }
}

/// S2-16: models of different kinds alternate on one branch and read each other's replies.
#[tokio::test]
async fn providers_alternating_in_branch_read_each_others_replies() {
    let play = start_with_every_kind(&[]).await;
    for (n, (kind, _)) in KINDS.iter().enumerate() {
        play.server.mock().queue_reply(Reply::ok([format!("Word {n}.")]));
        let node = start_turn_with_model(&play, &format!("{kind}/mock")).await;
        play.wait_for_reply(&node).await;
        let sent = play.server.mock().requests().pop().unwrap().to_string();
        assert!((0..n).all(|before| sent.contains(&format!("Word {before}."))), "{kind}: {sent}");
    }
    assert_eq!(play.projection_ids(&play.head().await).await.len(), 1 + 2 * KINDS.len());
}

/// S3-23: a reply over each protocol can be cancelled in the middle. The partial text stays, and the connection is
/// closed.
#[tokio::test]
async fn cancel_over_each_protocol_keeps_partial_text() {
    let play = start_with_every_kind(&[]).await;
    for (n, (kind, _)) in KINDS.iter().enumerate() {
        play.server.mock().queue_reply(Reply::ok(["Half a "]).then_stall());
        let mut tab = play.server.open_socket(&play.sid, None).await;
        let node = start_turn_with_model(&play, &format!("{kind}/mock")).await;
        tab.read_until(|frame| frame["type"] == "node.content.updated" && frame["contentChunk"] == "Half a ").await;
        play.post(&format!("node/{node}/cancel"), json!({})).await;
        let node = play.wait_for_reply(&node).await;
        assert_eq!((&node["content"], &node["status"]), (&json!("Half a "), &json!("complete")), "{kind}");
        assert_eq!(node["metadata"]["finishReason"], "cancelled", "{kind}");
        play.server.mock().wait_for_aborted_replies(n + 1).await;
    }
}

/// S4-29: an error before or after the first text is on the message over each protocol, with the server's text.
#[tokio::test]
async fn provider_error_over_each_protocol_is_on_message() {
    let play = start_with_every_kind(&[]).await;
    for (kind, _) in KINDS {
        for (reply, code, words, kept) in [
            (Reply::error(401, "your key is not mine"), "provider_refused", "your key is not mine", ""),
            (Reply::ok(["Half a "]).then_error(529, "overloaded"), "provider_failed", "overloaded", "Half a "),
            (Reply::ok(["Half a "]).then_cut(), "cut_off", "cut off", "Half a "),
        ] {
            play.server.mock().queue_reply(reply);
            let node = start_turn_with_model(&play, &format!("{kind}/mock")).await;
            let node = play.wait_for_reply(&node).await;
            let error = &node["metadata"]["error"];
            assert_eq!((&node["status"], &error["code"]), (&json!("error"), &json!(code)), "{kind}");
            assert_eq!(node["content"], kept, "{kind}");
            assert!(error["message"].as_str().unwrap().contains(words), "{kind}: {error}");
        }
    }
}

/// For Claude the stable prefix of the prompt is marked for its cache. Each prompt starts with what was marked in the
/// previous one.
#[tokio::test]
async fn claude_prompt_cache_markers_cover_stable_prefix() {
    let play = start_with_every_kind(&[("generation.model", "anthropic/mock")]).await;
    play.run_turn("Light the lamp.").await;
    play.run_turn("And now?").await;
    play.run_turn("And then?").await;
    let bodies = play.server.mock().requests();
    let kept = |body: &Value| -> Vec<Value> {
        let turns = body["messages"].as_array().unwrap().iter();
        let parts: Vec<Value> = turns.flat_map(|turn| turn["content"].as_array().unwrap().clone()).collect();
        let edge = parts.iter().position(|part| part.get("cache_control").is_some());
        parts.into_iter().take(edge.map_or(0, |edge| edge + 1)).collect()
    };
    for pair in bodies.windows(2) {
        let texts = |parts: &[Value]| parts.iter().map(|part| part["text"].clone()).collect::<Vec<_>>();
        let (before, after) = (kept(&pair[0]), kept(&pair[1]));
        assert!(!before.is_empty() && before.len() < after.len(), "{pair:#?}");
        assert_eq!(texts(&before), texts(&after[..before.len()]));
        assert_eq!(pair[0]["system"], pair[1]["system"]);
        assert!(pair[0]["system"].to_string().contains("cache_control"));
    }
}

/// A server that needs the context length gets the one for which the prompt was made.
#[tokio::test]
async fn ollama_request_sets_num_ctx_to_context_size() {
    let play = start_with_every_kind(&[
        ("generation.context_tokens", "4096"),
        ("providers.4.extra", "{ keep_alive = \"5m\" }"),
    ])
    .await;
    play.wait_for_reply(&start_turn_with_model(&play, "ollama/mock").await).await;
    let body = play.server.mock().requests().pop().unwrap();
    assert_eq!((&body["options"]["num_ctx"], &body["keep_alive"]), (&json!(4096), &json!("5m")));
}

/// Ranked idea 9: if the first of several models cannot answer, the next one does. The message says which model wrote
/// it and why others were skipped.
#[tokio::test]
async fn model_fallback_uses_next_model_and_records_skipped() {
    let settings = [
        ("models.smart", "[\"keyless/mock\", \"anthropic/mock\", \"mock/mock\"]"),
        ("models.fast", "ollama/mock"),
        ("providers.7.id", "keyless"),
        ("providers.7.base_url", "http://127.0.0.1:1"),
        ("providers.7.api_key_env", "NOT_THERE"),
        ("generation.model", "smart"),
    ];
    let play = start_with_every_kind(&settings).await;
    play.server.mock().queue_reply(Reply::error(404, "no such model"));
    play.server.mock().queue_reply(Reply::ok(["Yes."]));
    let said = play.run_turn("Well?").await;
    let node = play.get(&format!("node/{}", said.reply)).await;
    let metadata = &node["metadata"];
    assert_eq!(
        (&node["content"], &metadata["model"], &metadata["alias"]),
        (&json!("Yes."), &json!("mock/mock"), &json!("smart"))
    );
    let trace = trace(&play, &said.reply).await;
    assert_eq!((&trace["model"], &trace["passedOver"]), (&json!("mock/mock"), &metadata["passedOver"]));
    let passed = metadata["passedOver"].as_array().unwrap();
    let shown: Vec<_> =
        passed.iter().map(|one| (one["model"].as_str().unwrap(), one["code"].as_str().unwrap())).collect();
    assert_eq!(shown, [("keyless/mock", "provider_misconfigured"), ("anthropic/mock", "provider_refused")]);
    assert!(passed[1]["message"].as_str().unwrap().contains("no such model"));

    let models = play.server.get("/api/models").await;
    let model = |id: &str| models["items"].as_array().unwrap().iter().find(|one| one["id"] == id).unwrap().clone();
    let smart = model("smart");
    assert_eq!(
        (&smart["provider"], &smart["isDefault"], &smart["unusable"]),
        (&json!("models"), &json!(true), &json!(null))
    );
    assert_eq!(smart["standsFor"], json!(["keyless/mock", "anthropic/mock", "mock/mock"]));
    assert_eq!(
        (&model("fast")["standsFor"], &model("mock/mock")["isDefault"]),
        (&json!(["ollama/mock"]), &json!(false))
    );
}

/// A reply that has started stays with its model. If all models fail, the message has the last one's error.
#[tokio::test]
async fn model_fallback_is_not_used_after_first_text() {
    let play = start_with_every_kind(&[("models.smart", "[\"gemini/mock\", \"mock/mock\"]")]).await;
    play.server.mock().queue_reply(Reply::ok(["Half a "]).then_cut());
    let half = play.wait_for_reply(&start_turn_with_model(&play, "smart").await).await;
    assert_eq!((&half["content"], &half["metadata"]["model"]), (&json!("Half a "), &json!("gemini/mock")));
    assert_eq!((&half["metadata"]["error"]["code"], half["metadata"].get("passedOver")), (&json!("cut_off"), None));

    play.server.mock().queue_reply(Reply::error(403, "not you"));
    play.server.mock().queue_reply(Reply::error(400, "not like this"));
    let failed = play.wait_for_reply(&start_turn_with_model(&play, "smart").await).await;
    let message = failed["metadata"]["error"]["message"].as_str().unwrap();
    assert!(message.contains("not like this"), "{message}");
    assert_eq!(failed["metadata"]["passedOver"][0]["model"], "gemini/mock");
}
