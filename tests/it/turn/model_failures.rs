//! Every way in which a model can fail, and what the node records.

use super::*;
use crate::support::mock_model::ReasoningField;

/// A model failure with the expected error code, message and kept text.
struct ModelFailure {
    reply: Reply,
    code: &'static str,
    error_text: &'static str,
    partial_text: &'static str,
}

fn model_failure(reply: Reply, code: &'static str, words: &'static str, kept: &'static str) -> ModelFailure {
    ModelFailure { reply, code, error_text: words, partial_text: kept }
}

fn model_failures() -> Vec<ModelFailure> {
    let partial = || Reply::ok(["PARTIAL ", "text"]);
    let soon = |reply: Reply| reply.header("Retry-After", "0");
    vec![
        model_failure(Reply::error(401, "your key is not mine"), "provider_refused", "your key is not mine", ""),
        model_failure(Reply::error(400, "the prompt is too long"), "context_too_short", "the prompt is too long", ""),
        model_failure(
            Reply::error(429, "slow down, friend").header("Retry-After", "60"),
            "provider_rate_limited",
            "slow down, friend",
            "",
        ),
        model_failure(soon(Reply::error(500, "out of order")), "provider_failed", "out of order", ""),
        model_failure(soon(Reply::html(502, "Bad Gateway")), "provider_failed", "Bad Gateway", ""),
        model_failure(partial().then_cut(), "cut_off", "cut off", "PARTIAL text"),
        model_failure(partial().then_reset(), "cut_off", "cut off", "PARTIAL text"),
        model_failure(partial().without_finish(), "cut_off", "cut off", "PARTIAL text"),
        model_failure(Reply::events(["{\"choices\": nonsense"]), "provider_garbled", "not a JSON object", ""),
        model_failure(Reply::html(200, "Please log in"), "provider_garbled", "Please log in", ""),
        model_failure(
            partial().then_error(503, "the model was unloaded"),
            "provider_failed",
            "the model was unloaded",
            "PARTIAL text",
        ),
        model_failure(
            Reply::ok([""; 0]).finish_reason("content_filter"),
            "provider_refused",
            "blocked the reply: content_filter",
            "",
        ),
        model_failure(Reply::ok([""; 0]), "empty_reply", "without text", ""),
        model_failure(Reply::ok([" \n"]), "empty_reply", "without text", " \n"),
        model_failure(
            Reply::ok([""; 0]).reasoning(ReasoningField::Reasoning, ["only thought"]),
            "empty_reply",
            "without text",
            "",
        ),
    ]
}

/// Models that stop sending. The timeout is two seconds, which is long enough for the others.
fn timeout_failures() -> Vec<ModelFailure> {
    let partial = || Reply::ok(["PARTIAL ", "text"]);
    vec![
        model_failure(Reply::silent(), "provider_timeout", "sent no text within 2 s", ""),
        model_failure(partial().then_stall(), "provider_timeout", "stopped sending", "PARTIAL text"),
    ]
}

/// Checks a failed reply: its error, the kept text, no effects and an unmoved HEAD.
async fn check_failed_reply(story: &TestSession<'_>, user: NodeId, reply: &Node, code: &str, words: &str, kept: &str) {
    let error = &reply.metadata.to_json()["error"].clone();
    let message = error["message"].as_str().unwrap_or_default();
    assert_eq!((reply.status, &error["code"]), (Status::Error, &json!(code)), "{reply:?}");
    assert!(message.contains(words), "{message}");
    assert!(!error["hint"].as_str().unwrap().is_empty());
    assert_eq!(reply.content, kept);
    let delta = story.delta(reply.id).await;
    assert!(delta.operations.is_empty() && delta.runs.is_empty(), "no rule runs on a failed reply");
    assert_eq!(story.head().await, user);
    assert_eq!(story.var(reply.id, "/hurt/hp").await, json!(100));
    assert_eq!(story.trace(reply.id).await.head.to_json()["error"]["code"], code);
}

/// S0-22, S4-29, S1-16: the message stays. The reply has the provider's error text, a hint and the partial text, stays
/// out of prompts, and can be rerolled.
#[tokio::test]
async fn model_fault_is_recorded_on_reply_node() {
    check_failures(hurt_setup(), model_failures()).await;
}

/// The same holds for models that time out.
#[tokio::test]
async fn model_timeout_is_recorded_on_reply_node() {
    let hasty = hurt_setup().set("generation.first_token_timeout_s", "2").set("generation.idle_timeout_s", "2");
    check_failures(hasty, timeout_failures()).await;
}

async fn check_failures(setup: Setup, faults: Vec<ModelFailure>) {
    let app = setup.start().await;
    for ModelFailure { reply, code, error_text: words, partial_text: kept } in faults {
        let story = TestSession::create(&app, &["hurt"]).await;
        app.mock.set_default_reply(reply);
        let turn = story.run_turn("Hi.").await;
        check_failed_reply(&story, turn.user_node, &turn.reply, code, words, kept).await;

        app.mock.set_default_reply(Reply::ok(["Well again. [HP -10]"]));
        let asked = app.mock.requests().len();
        let retried = story.regenerate_and_wait(turn.reply.id).await;
        assert_eq!((retried.status, story.head().await), (Status::Complete, retried.id), "{code}");
        assert_eq!(story.var(retried.id, "/hurt/hp").await, json!(90));
        story.run_turn_at(turn.reply.id, "Below the error.").await;
        for body in &app.mock.requests()[asked..] {
            assert!(!body.to_string().contains("PARTIAL"), "{body}");
        }
        assert_eq!(immutable_facts(&story.node(turn.reply.id).await), immutable_facts(&turn.reply));
    }
}

/// An unreachable model server gives an error node.
#[tokio::test]
async fn model_server_down_gives_error_node() {
    let app =
        hurt_setup().set("providers.2.id", "down").set("providers.2.base_url", "http://127.0.0.1:9/v1").start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    story.set_setting("model", json!("down/any")).await;
    let turn = story.run_turn("Hi.").await;
    check_failed_reply(&story, turn.user_node, &turn.reply, "provider_unreachable", "cannot be reached", "").await;
    story.set_setting("model", json!("mock/mock")).await;
    assert_eq!(story.regenerate_and_wait(turn.reply.id).await.status, Status::Complete);
}

/// An endless reply is cut at the size limit, and what fits is kept.
#[tokio::test]
async fn reply_over_size_limit_is_truncated() {
    let app = hurt_setup().set("limits.reply_kb", "1").start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    app.mock.queue_reply(Reply::endless("spam "));
    let turn = story.run_turn("Hi.").await;
    assert!((1020..=1024).contains(&turn.reply.content.len()), "{}", turn.reply.content.len());
    check_failed_reply(
        &story,
        turn.user_node,
        &turn.reply,
        "too_large",
        "larger than 1024 bytes",
        &turn.reply.content.clone(),
    )
    .await;
    app.mock.wait_for_aborted_replies(1).await;
}

/// A reply over the total time limit is ended even if it still sends text.
#[tokio::test]
async fn reply_over_time_limit_is_ended() {
    let app = hurt_setup().set("limits.generation_s", "2").start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    app.mock.queue_reply(Reply::ok(["PARTIAL"]).then_stall());
    let turn = story.run_turn("Hi.").await;
    check_failed_reply(&story, turn.user_node, &turn.reply, "provider_timeout", "longer than 2 s", "PARTIAL").await;
    app.mock.wait_for_aborted_replies(1).await;
}

/// S4-29: a reply that reaches its token limit is complete and truncated, and the rules read it.
#[tokio::test]
async fn reply_at_token_limit_is_complete_and_truncated() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    app.mock.queue_reply(Reply::ok(["It hurts. [HP -10] And th"]).finish_reason("length"));
    let reply = story.run_turn("Hi.").await.reply;
    assert_eq!(reply.status, Status::Complete);
    assert_eq!(
        (&reply.metadata.to_json()["isTruncated"], &reply.metadata.to_json()["finishReason"]),
        (&json!(true), &json!("length"))
    );
    assert_eq!(story.var(reply.id, "/hurt/hp").await, json!(90));
    assert_eq!(story.run_turn("Hi.").await.reply.metadata.to_json()["isTruncated"], json!(false));
}

/// A server that tells how long its context is gets a shorter prompt at once, and only such prompts from then on.
#[tokio::test]
async fn prompt_over_told_context_is_built_again() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    story.set_setting("model", json!("mock/mock-plain")).await;
    let long = "The wall is long and the night is cold. ".repeat(30);
    for _ in 0..6 {
        story.run_turn(&long).await;
    }
    let words = "This model's maximum context length is 1024 tokens. However, you requested 2048 tokens.";
    let asked = app.mock.requests().len();
    app.mock.queue_reply(Reply::error(400, words));
    let turn = story.run_turn("Hi.").await;
    assert_eq!(turn.reply.status, Status::Complete, "{:?}", turn.reply.metadata.to_json());
    let sizes: Vec<usize> =
        app.mock.requests()[asked..].iter().map(|body| body["messages"].to_string().len()).collect();
    let [first, second] = sizes.as_slice() else { panic!("{sizes:?}") };
    assert!(second < first && *second < 8 * 1024, "{sizes:?}");
    story.run_turn("Hi again.").await;
    assert!(app.mock.requests().pop().unwrap()["messages"].to_string().len() < 8 * 1024);
}

/// A server that finds every prompt too long is asked twice, and its words are reported.
#[tokio::test]
async fn prompt_over_context_of_any_length_fails_with_own_code() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    let words = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.";
    app.mock.set_default_reply(Reply::error(400, words));
    let turn = story.run_turn("Hi.").await;
    check_failed_reply(&story, turn.user_node, &turn.reply, "context_too_short", "4096", "").await;
    let error = turn.reply.metadata.to_json()["error"].clone();
    assert_eq!((&error["args"]["limit"], &error["args"]["needed"]), (&json!(4096), &json!(5000)));
    assert!(error["hint"].as_str().unwrap().contains("context length"), "{error}");
    assert_eq!(app.mock.requests().len(), 2);
}

/// A refused parameter is left out, and the trace says so. The seed that was not sent is not recorded.
#[tokio::test]
async fn refused_parameter_stands_in_trace() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    let refused = || json!({"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]});
    app.mock.queue_reply(Reply::json(422, &refused()));
    for attempt in ["refused", "known"] {
        let reply = story.run_turn("Hi.").await.reply;
        assert_eq!(reply.status, Status::Complete, "{attempt}");
        let facts = reply.metadata.to_json();
        assert!(facts["seed"].is_null() && facts["params"]["seed"].is_null(), "{attempt}: {facts}");
        let head = story.trace(reply.id).await.head.to_json();
        let change = &head["parameters"][0];
        assert_eq!((&change["code"], &change["args"]["parameter"]), (&json!("parameter_left_out"), &json!("seed")));
        assert!(change["message"].as_str().unwrap().contains("Extra inputs are not permitted"), "{head}");
        assert!(head["params"]["seed"].is_null() && head["params"]["max_tokens"].is_u64(), "{head}");
    }
    assert_eq!(app.mock.requests().len(), 3);
    assert!(app.mock.requests()[1..].iter().all(|body| body["seed"].is_null()));
}

/// A model that no provider has is refused before anything is written.
#[tokio::test]
async fn unknown_model_is_refused_before_write() {
    let app = TestApp::setup().set("providers.1.models", "[\"mock\"]").start().await;
    let story = TestSession::create(&app, &[]).await;
    let op = story.session().await.op;
    for (model, words) in
        [("nobody", "there is no model"), ("mock", "several providers"), ("plugin:x", "that writes replies")]
    {
        let generate = Some(GenerationSpec { model: Some(model.into()), ..GenerationSpec::default() });
        match story.send(MessageSpec { generate, ..message_spec(story.head().await, "Hi.") }).await {
            Err(TurnError::Invalid { field: "model", message }) => assert!(message.contains(words), "{message}"),
            other => panic!("{model}: {other:?}"),
        }
    }
    assert_eq!((story.session().await.op, app.live.count(story.user)), (op, (0, 0)));
}

/// The log reports that a reply failed or was stopped, without any text of people or models.
#[tokio::test]
async fn failed_reply_is_logged_without_chat_text() {
    log_capture::start_capture();
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    app.mock.queue_reply(Reply::ok(["A SECRET too."]).then_error(503, "THEIR-WORDS"));
    let failed = story.run_turn("My SECRET.").await.reply;
    app.mock.queue_reply(Reply::silent());
    let stopped = story.start_turn("My SECRET.").await.generations[0];
    story.cancel(stopped).await.unwrap();
    story.wait_for_reply(stopped).await;
    let session = story.id.to_string();
    for (node, words) in [
        (failed.id, ["WARN", "a reply failed", "provider_failed", "mock/mock"]),
        (stopped, ["INFO", "a reply was stopped", "cancelled", "mock/mock"]),
    ] {
        let told = log_capture::lines_with(&[words.as_slice(), &[session.as_str(), &node.to_string()]].concat());
        assert_eq!(told.len(), 1, "{words:?}: {told:?}");
    }
    assert_eq!(log_capture::lines_with(&["SECRET"]), [""; 0]);
    assert_eq!(log_capture::lines_with(&["THEIR-WORDS"]), [""; 0]);
}
