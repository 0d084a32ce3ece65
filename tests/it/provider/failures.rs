//! Failures, each with its code, the provider's message and the text that had arrived.

use super::*;

#[tokio::test]
async fn client_error_keeps_message_and_is_not_retried() {
    for (status, code) in
        [(400, "provider_refused"), (401, "provider_refused"), (404, "provider_refused"), (413, "provider_refused")]
    {
        let (mock, client) = start_with_replies([Reply::error(status, "You\u{1b} must\nnot")]).await;
        let failure = request_reply(&client).await.failure.unwrap();
        assert_eq!(failure.code(), code);
        assert_eq!(failure.to_string(), format!("the model server refused the request ({status}): You must not"));
        assert!(!failure.hint().is_empty());
        assert_eq!(mock.requests().len(), 1);
    }
}

/// Errors never contain keys: neither the configured one, nor one that the server repeats.
#[tokio::test]
async fn api_key_in_error_body_is_redacted() {
    let mock = MockModel::start().await;
    let client = openai_client(Endpoint { key: Some(Secret::new("sk-0123456789")), ..endpoint(&mock.base_url()) });
    mock.queue_reply(Reply::error(401, "wrong key: sk-0123456789"));
    mock.queue_reply(Reply::ok(["a"]).then_error(401, "wrong key: sk-0123456789"));
    mock.queue_reply(Reply::raw(200, "text/plain", "sk-0123456789"));
    mock.set_models_reply(Reply::raw(200, "text/plain", "sk-0123456789"));
    for _ in 0..3 {
        let failure = request_reply(&client).await.failure.unwrap();
        assert!(failure.to_string().contains("[key]"), "{failure}");
        assert!(!format!("{failure:?} {failure} {client:?}").contains("0123456789"));
    }
    assert!(!client.models().await.unwrap_err().to_string().contains("0123456789"));
}

#[tokio::test]
async fn busy_server_is_retried_after_retry_after() {
    let busy = |after: &str| Reply::error(429, "slow down").header("Retry-After", after);
    let (mock, client) = start_with_replies([busy("0"), Reply::error(503, "loading"), Reply::ok(["a"])]).await;
    let heard = request_reply(&client).await;
    assert_eq!((heard.text.as_str(), heard.failure, mock.requests().len()), ("a", None, 3));
    assert_eq!(mock.requests()[0], mock.requests()[2]);

    let (mock, client) = start_with_replies([busy("3600")]).await;
    let failure = request_reply(&client).await.failure.unwrap();
    let retry_after = Some(Duration::from_secs(3600));
    assert_eq!(failure, ProviderFailure::RateLimited { words: "slow down".into(), retry_after });
    assert_eq!(
        (failure.code(), failure.retry_after(), mock.requests().len()),
        ("provider_rate_limited", retry_after, 1)
    );
}

#[tokio::test]
async fn server_error_is_tried_three_times() {
    let (mock, client) = start_with_replies([]).await;
    mock.set_default_reply(Reply::html(502, "Bad Gateway"));
    let failure = request_reply(&client).await.failure.unwrap();
    assert_eq!(failure.code(), "provider_failed");
    assert_eq!(failure.to_string(), "the model server failed (502): an HTML page, “Bad Gateway”");
    assert_eq!(mock.requests().len(), 3);
    mock.set_default_reply(Reply::error(500, "out of order"));
    assert!(request_reply(&client).await.failure.unwrap().to_string().contains("out of order"));
}

#[tokio::test]
async fn connection_closed_is_retried_then_unreachable() {
    let (mock, client) = start_with_replies([Reply::hang_up(), Reply::ok(["a"])]).await;
    assert_eq!(request_reply(&client).await.text, "a");
    mock.set_default_reply(Reply::hang_up());
    assert_eq!(request_reply(&client).await.failure.unwrap().code(), "provider_unreachable");
    assert_eq!(mock.requests().len(), 5);
}

#[tokio::test]
async fn missing_server_returns_provider_unreachable() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for base_url in [format!("http://{gone}/v1"), "http://no-such-host.invalid/v1".to_owned()] {
        let client = openai_client(endpoint(&base_url));
        let failure = request_reply(&client).await.failure.unwrap();
        assert_eq!((failure.code(), failure.is_retryable()), ("provider_unreachable", true));
        assert_eq!(client.models().await.unwrap_err().code(), "provider_unreachable");
    }
}

/// A network that drops packets gives no answer at all. A listener with a full accept queue behaves the same: the
/// system drops new connections.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn connect_timeout_returns_unreachable() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(one) = std::net::TcpStream::connect_timeout(&address, SHORT) {
        waiting.push(one);
        assert!(waiting.len() < 100, "the queue is never full");
    }
    let timeouts = Timeouts { connect: SHORT, ..endpoint("").timeouts };
    let client = openai_client(Endpoint { timeouts, ..endpoint(&format!("http://{address}/v1")) });
    let given_up = ProviderFailure::Timeout { wait: TimeoutPhase::Connect, limit: SHORT };
    assert_eq!(request_reply(&client).await.failure.unwrap(), given_up);
    assert_eq!(client.models().await.unwrap_err(), given_up);
}

#[tokio::test]
async fn invalid_endpoint_returns_provider_misconfigured() {
    let mock = MockModel::start().await;
    let wrong_key = Endpoint { key: Some(Secret::new("a\nb")), ..endpoint(&mock.base_url()) };
    for endpoint in [endpoint("is not a valid URL"), endpoint("http://me@127.0.0.1"), wrong_key] {
        assert_eq!(request_reply(&openai_client(endpoint)).await.failure.unwrap().code(), "provider_misconfigured");
    }
    assert_eq!(mock.all_requests().len(), 0);
}

#[tokio::test]
async fn invalid_response_body_returns_provider_garbled() {
    let nonsense = r#"{"choices":[{"index":0,"delta":{"content":"a"}}]}"#;
    assert_eq!(
        reply_outcome(Reply::events([nonsense, "{nonsense", nonsense])).await,
        ("a".into(), Some("provider_garbled"))
    );
    for reply in [
        Reply::html(200, "Please log in"),
        Reply::raw(200, "application/json", r#"{"choices": nonsense"#),
        Reply::json(200, &json!({"hello": "world"})),
        Reply::raw(200, "text/event-stream", "hello"),
    ] {
        assert_eq!(reply_outcome(reply).await, (String::new(), Some("provider_garbled")));
    }
}

/// An error with status 200 is an error, never a complete and empty reply.
#[tokio::test]
async fn stream_error_keeps_partial_text_and_message() {
    let (mock, client) = start_with_replies([Reply::ok(["Half a "]).then_error(502, "upstream died")]).await;
    let heard = request_reply(&client).await;
    let expected = ProviderFailure::Failed { status: Some(502), words: "upstream died".into(), retry_after: None };
    assert_eq!((heard.text.as_str(), heard.finish_reasons, heard.failure), ("Half a ", vec![], Some(expected)));
    assert_eq!(mock.requests().len(), 1);
    assert_eq!(reply_outcome(Reply::error(200, "no credit")).await.1, Some("provider_no_credit"));
    assert_eq!(
        reply_outcome(Reply::json(200, &json!({"error": {"code": 402, "message": "pay"}}))).await.1,
        Some("provider_no_credit")
    );
    assert_eq!(
        reply_outcome(Reply::json(200, &json!({"error": {"message": "wrong"}}))).await.1,
        Some("provider_failed")
    );
}

/// Errors inside of a response that pass by themselves are retried like a status of the same meaning, together with
/// those, and not once a piece of the reply has come.
#[tokio::test]
async fn temporary_error_in_response_is_retried() {
    let body = |error: Value| Reply::json(200, &json!({"error": error}));
    for reply in [
        Reply::ok([""; 0]).then_error(429, "slow"),
        Reply::ok([""; 0]).then_error(502, "upstream died"),
        Reply::ok([""; 0]).finish_reason("error"),
        Reply::error(408, "too late"),
        body(json!({"message": "w", "code": 502})),
        body(json!({"message": "w", "code": "429"})),
        body(json!({"message": "w", "code": "overloaded"})),
        body(json!({"message": "the server is busy"})),
    ] {
        let (mock, client) = start_with_replies([reply.clone(), reply.clone(), Reply::ok(["a"])]).await;
        let heard = request_reply(&client).await;
        assert_eq!((heard.text.as_str(), heard.failure, mock.requests().len()), ("a", None, 3));
        let (mock, client) = start_with_replies([Reply::error(503, "loading"), reply.clone(), reply]).await;
        let failure = request_reply(&client).await.failure.unwrap();
        assert_eq!((failure.is_retryable(), mock.requests().len()), (true, 3), "{failure}");
    }
    for reply in [
        Reply::ok(["Half"]).then_error(502, "upstream died"),
        Reply::ok([""; 0]).reasoning(ReasoningField::Reasoning, ["hm"]).then_error(502, "upstream died"),
        Reply::ok(["Half"]).finish_reason("error"),
        body(json!({"message": "w", "code": 400})),
        body(json!({"message": "w", "code": 503, "retry_after": 3600})),
    ] {
        assert!(reply_outcome(reply).await.1.is_some());
    }
}

/// An account without credit is told as such, in any spelling. It is neither asked again nor a failure of the server.
#[tokio::test]
async fn missing_credit_is_not_retried_and_stops_no_other_model() {
    let coded = |code: &str| json!({"error": {"message": "no", "type": code, "code": code}});
    let (mock, client) = start_with_replies([
        Reply::json(402, &json!({"error": {"message": "Insufficient Balance"}})),
        Reply::json(429, &coded("insufficient_quota")),
        Reply::json(
            429,
            &json!({"error": "You exceeded your current quota, please check your plan and billing details"}),
        ),
        Reply::json(403, &coded("InsufficientCredits")),
        Reply::json(200, &coded("insufficient_quota")),
        Reply::events([coded("billing_hard_limit_reached").to_string()]),
    ])
    .await;
    for sent in 1..=6 {
        let failure = request_reply(&client).await.failure.unwrap();
        assert_eq!((failure.code(), mock.requests().len()), ("provider_no_credit", sent), "{failure}");
        assert!(failure.hint().contains("credit"));
    }
    let other = Request { model: "mock-plain".into(), ..request(json!({})) };
    assert_eq!(collect_reply(client.stream(&other)).await.failure, None);
}

#[tokio::test]
async fn stream_cut_off_returns_partial_text_without_retry() {
    for reply in [Reply::ok(["a"]).then_cut(), Reply::ok(["a"]).then_reset(), Reply::ok(["a"]).without_finish()] {
        assert_eq!(reply_outcome(reply).await, ("a".into(), Some("cut_off")));
    }
    assert_eq!(reply_outcome(Reply::ok([""; 0]).then_cut()).await, (String::new(), Some("cut_off")));
    assert_eq!(reply_outcome(Reply::raw(200, "application/json", "{\"choices\":[{")).await.1, Some("cut_off"));
}

/// A stream with nothing in it is asked for once without streaming: the server's words are the failure, and a reply is
/// taken. A server that never answers is not asked for ever.
#[tokio::test]
async fn empty_stream_is_asked_once_without_stream() {
    for body in ["", "\n\n", ": ping\n\n", "data: [DONE]\n\n", "retry: 100\n\n: x\n\ndata: [DONE]\n\n"] {
        let empty = || Reply::raw(200, "text/event-stream", body);
        let words = "This model's maximum context length is 512 tokens. However, you requested 931 tokens";
        let (mock, client) = start_with_replies([empty(), Reply::error(400, words)]).await;
        let failure = request_reply(&client).await.failure.unwrap();
        let expected = ProviderFailure::ContextTooShort { words: words.into(), limit: Some(512), needed: Some(931) };
        assert_eq!(failure, expected, "{body:?}");
        let asked = mock.requests();
        assert_eq!((asked.len(), &asked[0]["stream"], &asked[1]["stream"]), (2, &json!(true), &json!(false)));
        assert_eq!((asked[1].get("stream_options"), &asked[1]["messages"]), (None, &asked[0]["messages"]));

        let (mock, client) = start_with_replies([empty(), Reply::full_completion("hi")]).await;
        let heard = request_reply(&client).await;
        assert_eq!((heard.text.as_str(), heard.failure, mock.requests().len()), ("hi", None, 2), "{body:?}");

        let (mock, client) = start_with_replies([empty(), empty()]).await;
        let failure = request_reply(&client).await.failure.unwrap();
        assert_eq!((failure.code(), mock.requests().len()), ("provider_garbled", 2), "{body:?}");
    }
    // A stream that was not requested is not asked for again.
    let mock = MockModel::start().await;
    mock.queue_reply(Reply::raw(200, "text/event-stream", ""));
    let extra = json!({"stream": false}).as_object().unwrap().clone();
    let failure =
        request_reply(&openai_client(Endpoint { extra, ..endpoint(&mock.base_url()) })).await.failure.unwrap();
    assert_eq!((failure.code(), mock.requests().len()), ("provider_garbled", 1));
}

#[tokio::test]
async fn stream_silence_times_out_per_phase() {
    let cases = [
        (Reply::silent(), Timeouts { first_token: SHORT, ..endpoint("").timeouts }, "", TimeoutPhase::FirstToken),
        (
            Reply::ok([""; 0]).then_stall(),
            Timeouts { first_token: SHORT, ..endpoint("").timeouts },
            "",
            TimeoutPhase::FirstToken,
        ),
        (Reply::ok(["ab"]).then_stall(), Timeouts { idle: SHORT, ..endpoint("").timeouts }, "ab", TimeoutPhase::Idle),
        (
            Reply::ok([""; 0]).reasoning(ReasoningField::Reasoning, ["hm"]).then_stall(),
            Timeouts { idle: SHORT, ..endpoint("").timeouts },
            "",
            TimeoutPhase::Idle,
        ),
    ];
    for (reply, timeouts, said, wait) in cases {
        let mock = MockModel::start().await;
        mock.queue_reply(reply);
        let heard = request_reply(&openai_client(Endpoint { timeouts, ..endpoint(&mock.base_url()) })).await;
        assert_eq!((heard.text.as_str(), heard.failure), (said, Some(ProviderFailure::Timeout { wait, limit: SHORT })));
        mock.wait_for_aborted_replies(1).await;
        assert_eq!(mock.requests().len(), 1);
    }
}

#[tokio::test]
async fn slow_response_head_is_awaited() {
    let gate = Gate::new();
    let (mock, client) = start_with_replies([Reply::ok(["a"]).head_gate(&gate)]).await;
    let reply = tokio::spawn(collect_reply(client.stream(&request(json!({})))));
    mock.wait_for_requests(1).await;
    gate.release(1);
    assert_eq!(reply.await.unwrap().text, "a");
}

#[tokio::test]
async fn endless_reply_stops_at_size_limit() {
    let (mock, _) =
        start_with_replies([Reply::endless("夜色"), Reply::ok(["x".repeat(8 << 20)]), Reply::ok(["y".repeat(3000)])])
            .await;
    let client = openai_client(Endpoint { max_reply_bytes: 1000, ..endpoint(&mock.base_url()) });
    let too_large = Some(ProviderFailure::TooLarge { limit: 1000 });
    let heard = request_reply(&client).await;
    assert_eq!((heard.text.len(), heard.failure), (999, too_large.clone()));
    mock.wait_for_aborted_replies(1).await;
    assert_eq!(request_reply(&client).await.failure, too_large);
    let heard = request_reply(&client).await;
    assert_eq!((heard.text.len(), heard.failure), (1000, too_large));
}

#[tokio::test]
async fn large_chunk_within_limit_arrives() {
    let (_mock, client) = start_with_replies([Reply::ok(["夜".repeat(1 << 20)])]).await;
    let heard = request_reply(&client).await;
    assert_eq!((heard.text.len(), heard.failure), (3 << 20, None));
}

/// SSRF: redirects are not followed.
#[tokio::test]
async fn redirects_are_not_followed() {
    let inside = MockModel::start().await;
    let (mock, client) = start_with_replies([Reply::redirect(&inside.base_url())]).await;
    mock.set_models_reply(Reply::redirect(&(inside.base_url() + "/models")));
    let failure = request_reply(&client).await.failure.unwrap();
    assert_eq!(failure.code(), "provider_refused");
    assert!(failure.to_string().contains("redirects to http://127.0.0.1") && failure.hint().contains("base_url"));
    assert_eq!(client.models().await.unwrap_err().code(), "provider_refused");
    assert_eq!(inside.all_requests().len(), 0);
}
