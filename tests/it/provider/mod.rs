//! The client of model servers against the mock, and one suite for every kind and for a real server.
//!
//! - `replies`, `failures`: success and every kind of failure, with OpenAI's chat completions
//! - `machine`: the environment of the client
//! - `kinds`, `transcripts`: what every kind of server shares, and recorded transcripts of each
//! - `job_queue`: servers with a queue, whose jobs are asked for again and again
//! - `refused_parameters`: servers that refuse a parameter, and what is asked instead
//! - `concurrency_and_breaker`: the concurrency limit and the breaker
//!
//! To test a new server behaviour, add a method to the mock's `Reply`, then a test here.

mod concurrency_and_breaker;
mod failures;
mod job_queue;
mod kinds;
mod machine;
mod refused_parameters;
mod replies;
mod transcripts;

use crate::support::mock_model::{Gate, MockModel, ReasoningField, Reply, WORDS};
use clotho_config::Secret;
use clotho_provider::{
    ConcurrencyLimit, Endpoint, FinishReason, Frame, FrameStream, ModelInfo, ParameterChange, ProviderClient,
    ProviderFailure, ProviderKind, Request, RequestMessage, RequestRole, RetryPolicy, TimeoutPhase, Timeouts, ToolCall,
    Usage,
};
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::time::Duration;

/// Longer than any test.
const LONG: Duration = Duration::from_secs(60);
/// Timeout for something that never comes.
const SHORT: Duration = Duration::from_millis(60);

/// Returns an endpoint whose limits no test reaches by accident.
fn endpoint(base_url: &str) -> Endpoint {
    Endpoint {
        timeouts: Timeouts { connect: LONG, first_token: LONG, idle: LONG, after_finish: LONG },
        max_reply_bytes: 1 << 24,
        retries: RetryPolicy {
            max: 2,
            first_wait: Duration::from_millis(1),
            longest_wait: Duration::from_secs(1),
            slow_answer: LONG,
            longest_total: LONG,
        },
        ..Endpoint::new("mock", base_url)
    }
}

fn openai_client(endpoint: Endpoint) -> ProviderClient {
    ProviderClient::new(ProviderKind::default(), endpoint)
}

async fn start_with_replies(replies: impl IntoIterator<Item = Reply>) -> (MockModel, ProviderClient) {
    let mock = MockModel::start().await;
    replies.into_iter().for_each(|reply| mock.queue_reply(reply));
    let client = openai_client(endpoint(&mock.base_url()));
    (mock, client)
}

fn request(params: Value) -> Request {
    let message = |role, content: &str| RequestMessage { role, name: None, content: content.into() };
    let messages =
        vec![message(RequestRole::System, "You keep a lighthouse."), message(RequestRole::User, "What do you see?")];
    Request { model: "mock".into(), messages, params: params.as_object().unwrap().clone(), ..Request::default() }
}

/// A complete reply, collected from its frames.
#[derive(Debug, Default, PartialEq)]
struct CollectedReply {
    text: String,
    reasoning: String,
    models: Vec<String>,
    tool_calls: Vec<ToolCall>,
    usage: Option<Usage>,
    finish_reasons: Vec<FinishReason>,
    failure: Option<ProviderFailure>,
    has_keep_alive: bool,
    parameter_changes: Vec<ParameterChange>,
}

async fn collect_reply(mut stream: FrameStream) -> CollectedReply {
    let mut heard = CollectedReply::default();
    while let Some(item) = stream.next().await {
        assert_eq!(heard.failure, None, "something after a failure: {item:?}");
        match item {
            Ok(Frame::KeepAlive | Frame::Queued { .. }) => heard.has_keep_alive = true,
            Ok(Frame::ParametersChanged(changes)) => heard.parameter_changes = changes,
            Ok(Frame::Text(words)) => heard.text += &words,
            Ok(Frame::Reasoning(words)) => heard.reasoning += &words,
            Ok(Frame::Usage(usage)) => heard.usage = Some(usage),
            Ok(Frame::Model(model)) => heard.models.push(model),
            Ok(Frame::ToolCall(call)) => heard.tool_calls.push(call),
            Ok(Frame::ProviderState(_)) => {}
            Ok(Frame::Finish(finish)) => heard.finish_reasons.push(finish),
            Err(failure) => heard.failure = Some(failure),
        }
    }
    assert!(stream.next().await.is_none());
    heard
}

async fn request_reply(client: &ProviderClient) -> CollectedReply {
    collect_reply(client.stream(&request(json!({})))).await
}

/// Returns the text that arrived, and the code of the failure.
async fn reply_outcome(reply: Reply) -> (String, Option<&'static str>) {
    let (mock, client) = start_with_replies([reply]).await;
    let heard = request_reply(&client).await;
    assert_eq!(mock.requests().len(), 1, "asked again");
    (heard.text, heard.failure.map(|failure| failure.code()))
}

fn text_frame(words: &str) -> Frame {
    Frame::Text(words.into())
}

/// Returns the next frame with content.
async fn next_frame(stream: &mut FrameStream) -> Option<Result<Frame, ProviderFailure>> {
    loop {
        match stream.next().await {
            Some(Ok(Frame::KeepAlive | Frame::Queued { .. } | Frame::Model(_) | Frame::ParametersChanged(_))) => {}
            item => return item,
        }
    }
}

/// Returns the next text. Some kinds send usage before text.
async fn next_text(stream: &mut FrameStream) -> String {
    loop {
        match next_frame(stream).await {
            Some(Ok(Frame::Text(words))) => return words,
            Some(Ok(Frame::Usage(_))) => {}
            other => panic!("no words: {other:?}"),
        }
    }
}

// One suite for every server behind the interface.

/// Checks what every server must do: a stream, its end, usage if it reports any, the requested limits, an early
/// disconnect, the list of models.
async fn check_provider(client: &ProviderClient, model: &str) {
    let counts = client.kind().name() != "koboldcpp";
    let names_model = !matches!(client.kind().name(), "koboldcpp" | "cohere");
    let request = |params: Value| Request { model: model.into(), ..request(params) };
    let limited = collect_reply(client.stream(&request(json!({"max_tokens": 4, "seed": 7, "temperature": 0})))).await;
    assert_eq!((limited.failure, limited.finish_reasons), (None, vec![FinishReason::Length]));
    assert!(!limited.text.is_empty() && limited.models.is_empty() != names_model);
    let usage = limited.usage.map(|usage| (usage.prompt > 0, usage.completion));
    assert_eq!(usage, counts.then_some((true, 4)));

    let again = collect_reply(client.stream(&request(json!({"max_tokens": 4, "seed": 7, "temperature": 0})))).await;
    assert_eq!(again.text, limited.text, "the same seed");

    let stop = limited.text.trim().chars().last().unwrap().to_string();
    let stopped =
        collect_reply(client.stream(&request(json!({"max_tokens": 40, "seed": 7, "temperature": 0, "stop": [stop]}))))
            .await;
    assert_eq!((stopped.failure, stopped.finish_reasons), (None, vec![FinishReason::Stop]));
    assert!(!stopped.text.contains(&stop) && limited.text.starts_with(stopped.text.as_str()), "{:?}", stopped.text);

    let mut left = client.stream(&request(json!({"max_tokens": 200})));
    assert!(!next_text(&mut left).await.is_empty());
    drop(left);
    let after = collect_reply(client.stream(&request(json!({"max_tokens": 2})))).await;
    assert_eq!((after.failure, after.finish_reasons), (None, vec![FinishReason::Length]));

    // Azure lists no deployments.
    if client.kind().name() == "azure" {
        assert_eq!(client.models().await.unwrap(), []);
        return;
    }
    let tells_length = client.kind().name() != "ollama";
    let is_it = |info: &ModelInfo| info.id == model && info.context_length.is_some() == tells_length;
    assert!(client.models().await.unwrap().iter().any(is_it));
}

/// S0-39: the mock passes the suite that a real OpenAI-style server passes, with and without streaming.
#[tokio::test]
async fn mock_server_passes_provider_suite() {
    let mock = MockModel::start().await;
    check_provider(&openai_client(endpoint(&mock.base_url())), "mock").await;
    let mock = MockModel::start().await;
    mock.set_default_reply(Reply::default().with_noise().chunk_size(3));
    check_provider(&openai_client(endpoint(&mock.base_url())), "mock").await;
}

/// S0-39: the same suite against a real server. `scripts/local-model.sh` starts one. `CLOTHO_TEST_MODEL` holds its
/// address and model, and its kind unless it is `openai`: `http://127.0.0.1:8080/v1 NAME llamacpp`.
#[tokio::test]
#[ignore = "needs a model server, see its comment"]
async fn real_server_passes_provider_suite() {
    #[expect(clippy::disallowed_methods, reason = "only this test knows about the server, and only by hand")]
    let told = std::env::var("CLOTHO_TEST_MODEL").expect("CLOTHO_TEST_MODEL is not set");
    let told: Vec<&str> = told.split(' ').collect();
    let kind = told.get(2).map_or(ProviderKind::default(), |word| ProviderKind::from_name(word).unwrap());
    check_provider(&ProviderClient::new(kind, endpoint(told[0])), told[1]).await;
}
