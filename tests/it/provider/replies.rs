//! Successful replies, and dropping them early.

use super::*;

#[tokio::test]
async fn request_sends_wire_body_and_key_header() {
    let mock = MockModel::start().await;
    let extra = json!({"top_k": 40, "temperature": 1}).as_object().unwrap().clone();
    for slash in ["", "/"] {
        let base_url = mock.base_url() + slash;
        let endpoint =
            Endpoint { key: Some(Secret::new("sk-0123456789\n")), extra: extra.clone(), ..endpoint(&base_url) };
        let request = request(json!({"temperature": 0.5, "stop": ["\n"], "seed": 18_446_744_073_709_551_615_u64}));
        let client = openai_client(endpoint);
        assert_eq!(collect_reply(client.stream(&request)).await.failure, None);
        let seen = mock.all_requests().pop().unwrap();
        assert_eq!(seen.request_line, "POST /v1/chat/completions");
        assert_eq!(seen.body.to_string(), client.wire_body(&request).to_string());
        assert_eq!(seen.body["temperature"], json!(0.5));
        for header in ["authorization: Bearer sk-0123456789", "content-type: application/json"] {
            assert!(seen.headers.iter().any(|one| one == header), "{header}: {:?}", seen.headers);
        }
    }
}

#[tokio::test]
async fn stream_pieces_arrive_one_by_one() {
    let gate = Gate::new();
    let (mock, client) = start_with_replies([Reply::ok(["a", "夜", "c"]).usage(12, 3).gate(&gate)]).await;
    let mut stream = client.stream(&request(json!({})));
    for piece in ["a", "夜", "c"] {
        gate.release(1);
        assert_eq!(next_frame(&mut stream).await, Some(Ok(text_frame(piece))));
    }
    gate.open();
    assert_eq!(next_frame(&mut stream).await, Some(Ok(Frame::Finish(FinishReason::Stop))));
    assert_eq!(
        next_frame(&mut stream).await,
        Some(Ok(Frame::Usage(Usage { prompt: 12, completion: 3, ..Usage::default() })))
    );
    assert_eq!(next_frame(&mut stream).await, None);
    assert_eq!(mock.aborted_count(), 0);
}

#[tokio::test]
async fn reasoning_in_each_dialect_is_read_once() {
    for dialect in [
        ReasoningField::Reasoning,
        ReasoningField::ReasoningContent,
        ReasoningField::ReasoningDetails,
        ReasoningField::All,
    ] {
        let (_mock, client) = start_with_replies([Reply::ok(["So."]).reasoning(dialect, ["hm, ", "yes"])]).await;
        let heard = request_reply(&client).await;
        assert_eq!((heard.reasoning.as_str(), heard.text.as_str()), ("hm, yes", "So."), "{dialect:?}");
    }
}

#[tokio::test]
async fn usage_is_read_from_any_position() {
    let told = json!({"prompt_tokens": 30, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 20},
        "completion_tokens_details": {"reasoning_tokens": 4}, "cost": 0.000_12});
    let usage =
        Usage { prompt: 30, completion: 9, cached: Some(20), reasoning: Some(4), cost: Some(0.000_12), written: None };
    let (_mock, client) =
        start_with_replies([Reply::ok(["a"]).usage_with_finish(told), Reply::ok(["a"]).usage(1, 2), Reply::ok(["a"])])
            .await;
    assert_eq!(request_reply(&client).await.usage, Some(usage));
    assert_eq!(request_reply(&client).await.usage, Some(Usage { prompt: 1, completion: 2, ..Usage::default() }));
    assert_eq!(request_reply(&client).await.usage, None);
}

/// LiteLLM tells the cost of a whole reply in a header.
#[tokio::test]
async fn cost_in_header_is_read() {
    let header = |cost: &str| Reply::full_completion("hi").header("x-litellm-response-cost", cost);
    let (_mock, client) = start_with_replies([header("0.0042"), header("None"), header("0.0")]).await;
    for cost in [Some(0.0042), None, None] {
        assert_eq!(request_reply(&client).await.usage.map(|usage| usage.cost), Some(cost));
    }
}

/// S4-29 (the provider's half): the finish reason is reported unchanged, also for a reply without text.
#[tokio::test]
async fn finish_reason_is_reported() {
    for (reason, expected) in [
        ("length", FinishReason::Length),
        ("content_filter", FinishReason::ContentFilter("content_filter".into())),
        ("tool_calls", FinishReason::ToolCalls),
        ("abort", FinishReason::Aborted("abort".into())),
        ("CANCELLED", FinishReason::Aborted("CANCELLED".into())),
        ("bored", FinishReason::Other("bored".into())),
    ] {
        let (_mock, client) = start_with_replies([Reply::ok(["a"]).finish_reason(reason)]).await;
        let heard = request_reply(&client).await;
        assert_eq!((heard.finish_reasons, heard.failure), (vec![expected], None));
    }
    let (_mock, client) = start_with_replies([Reply::ok([""; 0])]).await;
    let heard = request_reply(&client).await;
    assert_eq!((heard.text.as_str(), heard.finish_reasons, heard.failure), ("", vec![FinishReason::Stop], None));
    let failed = Reply::ok(["a"]).finish_reason("error");
    assert_eq!(reply_outcome(failed).await, ("a".into(), Some("provider_failed")));
}

#[tokio::test]
async fn stream_slicing_and_noise_do_not_change_reply() {
    let said: String = WORDS.concat();
    for slice in [1, 2, 3, 5, 64] {
        for reply in [Reply::default(), Reply::default().with_noise(), Reply::default().with_noise().without_done()] {
            let (_mock, client) =
                start_with_replies([reply.reasoning(ReasoningField::All, ["思考🌙"]).chunk_size(slice)]).await;
            let heard = request_reply(&client).await;
            assert_eq!(
                (heard.text.as_str(), heard.failure, heard.finish_reasons),
                (said.as_str(), None, vec![FinishReason::Stop])
            );
            assert_eq!(
                (heard.reasoning.as_str(), heard.models, heard.has_keep_alive),
                ("思考🌙", vec!["mock".to_owned()], true)
            );
            assert_eq!(heard.usage.map(|usage| usage.completion), Some(8));
        }
    }
}

#[tokio::test]
async fn invalid_characters_in_text_are_replaced() {
    let event = |content: &str| format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{content}"}}}}]}}"#);
    let events = [event(r"a\u0000b"), event(r"\ud83c\udf19"), event(r"\ud83c"), event(r"\u001b[31m"), "[DONE]".into()];
    let (_mock, client) = start_with_replies([Reply::events(events)]).await;
    let heard = request_reply(&client).await;
    assert_eq!((heard.text.as_str(), heard.failure), ("a\u{fffd}b🌙\u{fffd}\u{1b}[31m", None));
}

#[tokio::test]
async fn other_choices_and_tool_calls_are_ignored() {
    let events = [
        r#"{"choices":[{"index":1,"delta":{"content":"other"}},{"index":0,"delta":{"content":"a"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t","function":{"name":"f","arguments":"{"}}]}}]}"#,
        r#"{"choices":[{"index":1,"delta":{},"finish_reason":"length"}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":[{"type":"text","text":"b"}]},"finish_reason":"stop"}]}"#,
    ];
    let (_mock, client) = start_with_replies([Reply::events(events)]).await;
    let heard = request_reply(&client).await;
    assert_eq!((heard.text.as_str(), heard.finish_reasons, heard.failure), ("ab", vec![FinishReason::Stop], None));
}

#[tokio::test]
async fn non_streamed_reply_is_read() {
    let (_mock, client) = start_with_replies([Reply::full_completion("All at once.")]).await;
    let heard = request_reply(&client).await;
    assert_eq!(
        (heard.text.as_str(), heard.finish_reasons, heard.failure),
        ("All at once.", vec![FinishReason::Stop], None)
    );
    assert_eq!((heard.models, heard.usage.map(|usage| usage.prompt)), (vec!["mock-whole".to_owned()], Some(7)));
}

#[tokio::test]
async fn stream_end_without_done_mark_is_complete() {
    assert_eq!(reply_outcome(Reply::ok(["a"]).without_done()).await, ("a".into(), None));
    // The connection breaks after the finish reason: the reply is complete.
    let finished = r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}"#;
    assert_eq!(reply_outcome(Reply::events([finished]).then_cut()).await, ("a".into(), None));
    assert_eq!(reply_outcome(Reply::events([finished]).then_reset()).await, ("a".into(), None));
}

#[tokio::test]
async fn connection_left_open_after_finish_is_not_awaited() {
    let finished = r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}"#;
    let (mock, _) =
        start_with_replies([Reply::events([finished]).then_stall(), Reply::events([finished, "[DONE]"]).then_stall()])
            .await;
    let mut endpoint = endpoint(&mock.base_url());
    endpoint.timeouts.after_finish = SHORT;
    let client = openai_client(endpoint);
    for _ in 0..2 {
        let heard = request_reply(&client).await;
        assert_eq!((heard.text.as_str(), heard.failure), ("a", None));
    }
    mock.wait_for_aborted_replies(2).await;
}

#[tokio::test]
async fn connections_are_reused() {
    let (mock, client) = start_with_replies([]).await;
    for _ in 0..5 {
        assert_eq!(request_reply(&client).await.failure, None);
        client.models().await.unwrap();
    }
    assert!(
        mock.connection_count() < 10,
        "{} connections for ten requests one after the other",
        mock.connection_count()
    );
}

/// The body ends after the end mark. The client waits for that to reuse the connection, but does not keep the player
/// waiting.
#[tokio::test]
async fn response_remainder_is_read_after_finish() {
    let gate = Gate::new();
    let finished = r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}"#;
    let (mock, client) = start_with_replies([Reply::events([finished, "[DONE]"]).gate(&gate)]).await;
    gate.release(2);
    assert_eq!(request_reply(&client).await.failure, None);
    client.models().await.unwrap();
    gate.release(1);
    mock.wait_for_ended_replies(2).await;
    assert_eq!(mock.aborted_count(), 0);
}

#[tokio::test]
async fn concurrent_replies_do_not_mix() {
    let (mock, client) = start_with_replies([]).await;
    let gate = Gate::new();
    (0..16).for_each(|n| mock.queue_reply(Reply::ok([format!("{n}"), format!(" and {n}")]).gate(&gate)));
    let replies: Vec<_> = (0..16).map(|_| tokio::spawn(collect_reply(client.stream(&request(json!({})))))).collect();
    mock.wait_for_requests(16).await;
    gate.open();
    let mut heard = Vec::new();
    for reply in replies {
        heard.push(reply.await.unwrap().text);
    }
    heard.sort_by_key(|text| text.split(' ').next().unwrap().parse::<u32>().unwrap());
    assert_eq!(heard, (0..16).map(|n| format!("{n} and {n}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn stream_drop_aborts_request() {
    let gate = Gate::new();
    let (mock, client) =
        start_with_replies([Reply::ok(["a", "b"]).gate(&gate), Reply::silent(), Reply::endless("x")]).await;
    gate.release(1);
    let mut begun = client.stream(&request(json!({})));
    assert_eq!(next_frame(&mut begun).await, Some(Ok(text_frame("a"))));
    drop(begun);
    mock.wait_for_aborted_replies(1).await;

    let waiting = tokio::spawn(collect_reply(client.stream(&request(json!({})))));
    mock.wait_for_requests(2).await;
    waiting.abort();
    mock.wait_for_aborted_replies(2).await;

    let mut endless = client.stream(&request(json!({})));
    assert_eq!(next_frame(&mut endless).await, Some(Ok(text_frame("x"))));
    drop(endless);
    mock.wait_for_aborted_replies(3).await;
}

#[tokio::test]
async fn stream_not_polled_sends_nothing() {
    let (mock, client) = start_with_replies([]).await;
    drop(client.stream(&request(json!({}))));
    assert_eq!((request_reply(&client).await.failure, mock.requests().len()), (None, 1));
}

#[tokio::test]
async fn models_list_includes_context_and_prices() {
    let (mock, client) = start_with_replies([]).await;
    let plain = ModelInfo { id: "mock-plain".into(), ..ModelInfo::default() };
    let priced = ModelInfo {
        id: "mock".into(),
        context_length: Some(8192),
        prompt_price: Some(0.000_001),
        completion_price: Some(0.000_002),
        ..ModelInfo::default()
    };
    assert_eq!(client.models().await.unwrap(), [priced, plain]);
    assert_eq!(mock.all_requests()[0].request_line, "GET /v1/models");
    for (reply, code) in [
        (Reply::error(401, "no"), "provider_refused"),
        (Reply::html(200, "Log in"), "provider_garbled"),
        (Reply::json(200, &json!({"data": 7})), "provider_garbled"),
    ] {
        mock.set_models_reply(reply);
        assert_eq!(client.models().await.unwrap_err().code(), code);
    }
}
