//! Every way in which a model can fail, and what the node records.

use super::*;
use crate::support::mock_model::ReasoningField;

/// A model failure with the expected error code, message and kept text.
struct ModelFailure {
    reply: Reply,
    code: &'static str,
    words: &'static str,
    kept: &'static str,
}

fn fault(reply: Reply, code: &'static str, words: &'static str, kept: &'static str) -> ModelFailure {
    ModelFailure { reply, code, words, kept }
}

fn faults() -> Vec<ModelFailure> {
    let partial = || Reply::ok(["PARTIAL ", "text"]);
    let soon = |reply: Reply| reply.header("Retry-After", "0");
    vec![
        fault(Reply::error(401, "your key is not mine"), "provider_refused", "your key is not mine", ""),
        fault(Reply::error(400, "the prompt is too long"), "provider_refused", "the prompt is too long", ""),
        fault(
            Reply::error(429, "slow down, friend").header("Retry-After", "60"),
            "provider_rate_limited",
            "slow down, friend",
            "",
        ),
        fault(soon(Reply::error(500, "out of order")), "provider_failed", "out of order", ""),
        fault(soon(Reply::html(502, "Bad Gateway")), "provider_failed", "Bad Gateway", ""),
        fault(partial().then_cut(), "cut_off", "cut off", "PARTIAL text"),
        fault(partial().then_reset(), "cut_off", "cut off", "PARTIAL text"),
        fault(partial().unfinished(), "cut_off", "cut off", "PARTIAL text"),
        fault(Reply::events(["{\"choices\": nonsense"]), "provider_garbled", "not a JSON object", ""),
        fault(Reply::html(200, "Please log in"), "provider_garbled", "Please log in", ""),
        fault(
            partial().then_error(503, "the model was unloaded"),
            "provider_failed",
            "the model was unloaded",
            "PARTIAL text",
        ),
        fault(Reply::ok([""; 0]).finish("content_filter"), "provider_refused", "blocked the reply: content_filter", ""),
        fault(Reply::ok([""; 0]), "empty_reply", "without text", ""),
        fault(Reply::ok([" \n"]), "empty_reply", "without text", " \n"),
        fault(
            Reply::ok([""; 0]).reasoning(ReasoningField::Reasoning, ["only thought"]),
            "empty_reply",
            "without text",
            "",
        ),
    ]
}

/// Models that stop sending. The timeout is two seconds, which is long enough for the others.
fn silences() -> Vec<ModelFailure> {
    let partial = || Reply::ok(["PARTIAL ", "text"]);
    vec![
        fault(Reply::silent(), "provider_timeout", "sent no text within 2 s", ""),
        fault(partial().then_stall(), "provider_timeout", "stopped sending", "PARTIAL text"),
    ]
}

/// Checks a failed reply: its error, the kept text, no effects and an unmoved HEAD.
async fn check(story: &TestSession<'_>, user: NodeId, reply: &Node, code: &str, words: &str, kept: &str) {
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
    stands_on_the_node(with_hurt(), faults()).await;
}

/// The same holds for models that time out.
#[tokio::test]
async fn model_timeout_is_recorded_on_reply_node() {
    let hasty = with_hurt().set("generation.first_token_timeout_s", "2").set("generation.idle_timeout_s", "2");
    stands_on_the_node(hasty, silences()).await;
}

async fn stands_on_the_node(setup: Setup, faults: Vec<ModelFailure>) {
    let app = setup.start().await;
    for ModelFailure { reply, code, words, kept } in faults {
        let story = TestSession::begin(&app, &["hurt"]).await;
        app.mock.always(reply);
        let turn = story.say("Hi.").await;
        check(&story, turn.user, &turn.reply, code, words, kept).await;

        app.mock.always(Reply::ok(["Well again. [HP -10]"]));
        let asked = app.mock.requests().len();
        let retried = story.another(turn.reply.id).await;
        assert_eq!((retried.status, story.head().await), (Status::Complete, retried.id), "{code}");
        assert_eq!(story.var(retried.id, "/hurt/hp").await, json!(90));
        story.say_to(turn.reply.id, "Below the error.").await;
        for body in &app.mock.requests()[asked..] {
            assert!(!body.to_string().contains("PARTIAL"), "{body}");
        }
        assert_eq!(facts(&story.node(turn.reply.id).await), facts(&turn.reply));
    }
}

/// An unreachable model server gives an error node.
#[tokio::test]
async fn model_server_down_gives_error_node() {
    let app =
        with_hurt().set("providers.2.id", "down").set("providers.2.base_url", "http://127.0.0.1:9/v1").start().await;
    let story = TestSession::begin(&app, &["hurt"]).await;
    story.set("model", json!("down/any")).await;
    let turn = story.say("Hi.").await;
    check(&story, turn.user, &turn.reply, "provider_unreachable", "cannot be reached", "").await;
    story.set("model", json!("mock/mock")).await;
    assert_eq!(story.another(turn.reply.id).await.status, Status::Complete);
}

/// An endless reply is cut at the size limit, and what fits is kept.
#[tokio::test]
async fn reply_over_size_limit_is_truncated() {
    let app = with_hurt().set("limits.reply_kb", "1").start().await;
    let story = TestSession::begin(&app, &["hurt"]).await;
    app.mock.script(Reply::endless("spam "));
    let turn = story.say("Hi.").await;
    assert!((1020..=1024).contains(&turn.reply.content.len()), "{}", turn.reply.content.len());
    check(&story, turn.user, &turn.reply, "too_large", "larger than 1024 bytes", &turn.reply.content.clone()).await;
    app.mock.until_aborted(1).await;
}

/// A reply over the total time limit is ended even if it still sends text.
#[tokio::test]
async fn reply_over_time_limit_is_ended() {
    let app = with_hurt().set("limits.generation_s", "2").start().await;
    let story = TestSession::begin(&app, &["hurt"]).await;
    app.mock.script(Reply::ok(["PARTIAL"]).then_stall());
    let turn = story.say("Hi.").await;
    check(&story, turn.user, &turn.reply, "provider_timeout", "longer than 2 s", "PARTIAL").await;
    app.mock.until_aborted(1).await;
}

/// S4-29: a reply that reaches its token limit is complete and truncated, and the rules read it.
#[tokio::test]
async fn reply_at_token_limit_is_complete_and_truncated() {
    let app = with_hurt().start().await;
    let story = TestSession::begin(&app, &["hurt"]).await;
    app.mock.script(Reply::ok(["It hurts. [HP -10] And th"]).finish("length"));
    let reply = story.say("Hi.").await.reply;
    assert_eq!(reply.status, Status::Complete);
    assert_eq!(
        (&reply.metadata.to_json()["isTruncated"], &reply.metadata.to_json()["finishReason"]),
        (&json!(true), &json!("length"))
    );
    assert_eq!(story.var(reply.id, "/hurt/hp").await, json!(90));
    assert_eq!(story.say("Hi.").await.reply.metadata.to_json()["isTruncated"], json!(false));
}

/// A model that no provider has is refused before anything is written.
#[tokio::test]
async fn unknown_model_is_refused_before_write() {
    let app = TestApp::with().set("providers.1.models", "[\"mock\"]").start().await;
    let story = TestSession::begin(&app, &[]).await;
    let op = story.session().await.op;
    for (model, words) in
        [("nobody", "there is no model"), ("mock", "several providers"), ("plugin:x", "that writes replies")]
    {
        let generate = Some(GenerationSpec { model: Some(model.into()), ..GenerationSpec::default() });
        match story.send(MessageSpec { generate, ..message(story.head().await, "Hi.") }).await {
            Err(TurnError::Invalid { field: "model", message }) => assert!(message.contains(words), "{message}"),
            other => panic!("{model}: {other:?}"),
        }
    }
    assert_eq!((story.session().await.op, app.live.count(story.user)), (op, (0, 0)));
}

/// The log reports that a reply failed or was stopped, without any text of people or models.
#[tokio::test]
async fn failed_reply_is_logged_without_chat_text() {
    log_capture::keep();
    let app = TestApp::start().await;
    let story = TestSession::begin(&app, &[]).await;
    app.mock.script(Reply::ok(["A SECRET too."]).then_error(503, "THEIR-WORDS"));
    let failed = story.say("My SECRET.").await.reply;
    app.mock.script(Reply::silent());
    let stopped = story.start("My SECRET.").await.generations[0];
    story.cancel(stopped).await.unwrap();
    story.done(stopped).await;
    let session = story.id.to_string();
    for (node, words) in [
        (failed.id, ["WARN", "a reply failed", "provider_failed", "mock/mock"]),
        (stopped, ["INFO", "a reply was stopped", "cancelled", "mock/mock"]),
    ] {
        let told = log_capture::with(&[words.as_slice(), &[session.as_str(), &node.to_string()]].concat());
        assert_eq!(told.len(), 1, "{words:?}: {told:?}");
    }
    assert_eq!(log_capture::with(&["SECRET"]), [""; 0]);
    assert_eq!(log_capture::with(&["THEIR-WORDS"]), [""; 0]);
}
