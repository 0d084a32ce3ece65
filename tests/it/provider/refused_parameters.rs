//! Servers that refuse a parameter, or a request, and say why.

use super::*;

/// Returns a refusal of a parameter in OpenAI's form.
fn refusal(status: u16, words: &str, param: Value) -> Reply {
    Reply::json(
        status,
        &json!({"error": {"message": words, "type": "invalid_request_error", "param": param, "code": null}}),
    )
}

async fn reply_with(client: &ProviderClient, params: Value) -> CollectedReply {
    collect_reply(client.stream(&request(params))).await
}

fn change_codes(reply: &CollectedReply) -> Vec<&'static str> {
    reply.parameter_changes.iter().map(ParameterChange::code).collect()
}

/// OpenAI's newer models want another name for the length of a reply. It is remembered for the model.
#[tokio::test]
async fn refused_length_is_sent_under_its_other_name_from_then_on() {
    let words =
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    let (mock, client) = start_with_replies([refusal(400, words, json!("max_tokens")), Reply::ok(["a"])]).await;
    let heard = reply_with(&client, json!({"max_tokens": 100})).await;
    assert_eq!((heard.text.as_str(), heard.failure.as_ref()), ("a", None));
    let expected = ParameterChange::Renamed {
        parameter: "max_tokens".into(),
        name: "max_completion_tokens".into(),
        words: words.into(),
    };
    assert_eq!(heard.parameter_changes, std::slice::from_ref(&expected));
    let length = |body: &Value| (body["max_tokens"].as_u64(), body["max_completion_tokens"].as_u64());
    let sent: Vec<_> = mock.requests().iter().map(length).collect();
    assert_eq!(sent, [(Some(100), None), (None, Some(100))]);

    let again = request(json!({"max_tokens": 50}));
    assert_eq!(client.parameter_changes(&again), [expected]);
    assert_eq!(Value::Object(client.wire_params(&again)), json!({"max_completion_tokens": 50}));
    let heard = collect_reply(client.stream(&again)).await;
    assert_eq!((heard.failure, heard.parameter_changes.len()), (None, 0));
    assert_eq!(length(&mock.requests()[2]), (None, Some(50)));
    let other = Request { model: "mock-plain".into(), ..again };
    assert_eq!(client.parameter_changes(&other), [], "another model is another matter");
}

#[tokio::test]
async fn refused_seed_of_validator_is_left_out() {
    let error = json!({"object": "error", "message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"],
        "msg": "Extra inputs are not permitted", "input": 7}]}, "type": "invalid_request_error", "param": null});
    let (mock, client) = start_with_replies([Reply::json(422, &error), Reply::ok(["a"])]).await;
    let heard = reply_with(&client, json!({"seed": 7, "temperature": 0.9})).await;
    assert_eq!((heard.text.as_str(), change_codes(&heard)), ("a", vec!["parameter_left_out"]));
    assert_eq!((&mock.requests()[1]["seed"], &mock.requests()[1]["temperature"]), (&json!(null), &json!(0.9)));
    assert!(heard.parameter_changes[0].to_string().contains("seed"));
}

/// A server that knows little is asked again until it is content, but not for ever.
#[tokio::test]
async fn several_refused_parameters_are_left_out_one_after_another() {
    let names = ["top_k", "min_p", "seed"];
    let refusals =
        names.map(|name| refusal(400, &format!("Unexpected fields in the request: {{'{name}'}}"), json!(null)));
    let (mock, client) = start_with_replies(refusals.into_iter().chain([Reply::ok(["a"])])).await;
    let heard = reply_with(&client, json!({"top_k": 40, "min_p": 0.1, "seed": 7, "top_p": 0.9})).await;
    assert_eq!((heard.text.as_str(), heard.parameter_changes.len(), mock.requests().len()), ("a", 3, 4));
    let last = &mock.requests()[3];
    assert!(names.iter().all(|name| last[name].is_null()) && last["top_p"] == 0.9, "{last}");

    let (mock, client) = start_with_replies([]).await;
    let words = (0..30).map(|n| format!("'p_{n}'")).collect::<Vec<_>>();
    words.iter().for_each(|word| mock.queue_reply(refusal(400, &format!("unknown field {word}"), json!(null))));
    let params: Value = (0..30).map(|n| (format!("p_{n}"), json!(1))).collect::<serde_json::Map<_, _>>().into();
    assert_eq!(reply_with(&client, params).await.failure.unwrap().code(), "provider_refused");
    assert!(mock.requests().len() <= 10, "{}", mock.requests().len());
}

/// What cannot be left out is not: the words of the server are reported, and nothing is remembered.
#[tokio::test]
async fn refusal_of_required_field_or_of_something_else_is_reported() {
    for (words, param) in [
        ("model 'm' is not supported", json!("model")),
        ("messages must not be empty", json!("messages[0].content")),
        ("stream is not supported", json!("stream")),
        ("your account may not do this", json!(null)),
    ] {
        let (mock, client) = start_with_replies([refusal(400, words, param)]).await;
        let params = json!({"seed": 7, "temperature": 0.9});
        let failure = reply_with(&client, params.clone()).await.failure.unwrap();
        assert!(failure.to_string().contains(words), "{failure}");
        assert_eq!((mock.requests().len(), client.parameter_changes(&request(params))), (1, vec![]), "{words}");
    }
    // If the second request fails too, the first refusal has taught nothing.
    let (mock, client) =
        start_with_replies([refusal(400, "unknown field 'seed'", json!(null)), Reply::error(401, "your key")]).await;
    assert_eq!(reply_with(&client, json!({"seed": 7})).await.failure.unwrap().code(), "provider_refused");
    assert_eq!((mock.requests().len(), client.parameter_changes(&request(json!({"seed": 7})))), (2, vec![]));
}

/// A bad value is left out, and a good value of the same parameter is sent.
#[tokio::test]
async fn refused_value_is_remembered_as_value() {
    let words = "1 validation error:\n  {'type': 'less_than_equal', 'loc': ('body', 'frequency_penalty'), 'msg': \
                 'Input should be less than or equal to 2', 'input': 3}";
    let (mock, client) = start_with_replies([Reply::error(500, words), Reply::ok(["a"])]).await;
    let heard = reply_with(&client, json!({"frequency_penalty": 3})).await;
    assert_eq!((heard.text.as_str(), change_codes(&heard)), ("a", vec!["parameter_left_out"]));
    assert_eq!(mock.requests().len(), 2, "a wrong request is not repeated as it is");
    assert_eq!(client.parameter_changes(&request(json!({"frequency_penalty": 3}))).len(), 1);
    assert_eq!(client.parameter_changes(&request(json!({"frequency_penalty": 1}))), []);
}

/// A limit that the server tells is kept to.
#[tokio::test]
async fn too_long_reply_limit_is_lowered() {
    let words = "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022";
    let mock = MockModel::start().await;
    let kind = ProviderKind::from_name("anthropic").unwrap();
    let client = ProviderClient::new(kind, endpoint(&mock.root_url()));
    let error = json!({"type": "error", "error": {"type": "invalid_request_error", "message": words}});
    mock.queue_reply(Reply::json(400, &error));
    let heard = reply_with(&client, json!({"max_tokens": 100_000})).await;
    assert_eq!((heard.failure.as_ref(), change_codes(&heard)), (None, vec!["parameter_lowered"]));
    assert_eq!(mock.requests()[1]["max_tokens"], 8192);
    assert_eq!(client.wire_params(&request(json!({"max_tokens": 9000})))["max_tokens"], 8192);
    assert_eq!(client.wire_params(&request(json!({"max_tokens": 900})))["max_tokens"], 900);
}

/// Newer Claude models refuse a temperature beside `top_p`, which each preset has. They are not asked first.
#[tokio::test]
async fn newer_claude_gets_temperature_without_top_p() {
    let mock = MockModel::start().await;
    let kind = ProviderKind::from_name("anthropic").unwrap();
    let client = ProviderClient::new(kind, endpoint(&mock.root_url()));
    let request = |model: &str| Request { model: model.into(), ..request(json!({"temperature": 0.9, "top_p": 0.95})) };
    for (model, top_p) in [("claude-sonnet-4-5", json!(null)), ("claude-3-5-haiku-latest", json!(0.95))] {
        let asked = request(model);
        assert_eq!(collect_reply(client.stream(&asked)).await.failure, None);
        let sent = mock.requests().pop().unwrap();
        assert_eq!((&sent["temperature"], &sent["top_p"]), (&json!(0.9), &top_p), "{model}");
        assert_eq!(client.parameter_changes(&asked).len(), usize::from(top_p.is_null()));
        assert_eq!(client.wire_params(&asked).contains_key("top_p"), !top_p.is_null());
    }
    // A server that refuses both for a model of another name.
    let words = "`temperature` and `top_p` cannot both be specified for this model. Please use only one.";
    mock.queue_reply(refusal(400, words, json!(null)));
    assert_eq!(collect_reply(client.stream(&request("mine"))).await.failure, None);
    let sent = mock.requests().pop().unwrap();
    assert_eq!((&sent["temperature"], &sent["top_p"]), (&json!(0.9), &json!(null)));
    let alone = Request { model: "mine".into(), ..super::request(json!({"top_p": 0.5})) };
    assert_eq!(client.parameter_changes(&alone), [], "alone it is sent");
}

/// Some servers begin a stream, and then say what they refuse.
#[tokio::test]
async fn refusal_inside_of_stream_is_understood_before_text_only() {
    let words = "unsupported parameter: 'seed'";
    let (mock, client) = start_with_replies([Reply::ok([""; 0]).then_error(422, words), Reply::ok(["a"])]).await;
    let heard = reply_with(&client, json!({"seed": 7})).await;
    assert_eq!((heard.text.as_str(), heard.failure.as_ref(), mock.requests().len()), ("a", None, 2));

    let (mock, client) = start_with_replies([Reply::ok(["Half"]).then_error(422, words)]).await;
    let heard = reply_with(&client, json!({"seed": 7})).await;
    assert_eq!((heard.text.as_str(), heard.failure.unwrap().code()), ("Half", "provider_refused"));
    assert_eq!(mock.requests().len(), 1);
}

/// llama-cpp-python ends the stream without one byte if the prompt is too long. Without a stream it says so.
#[tokio::test]
async fn stream_without_one_byte_is_asked_as_whole() {
    let words = "This model's maximum context length is 512 tokens. However, you requested 931 tokens (931 in the messages, None in the completion).";
    let mute = || Reply::raw(200, "text/event-stream", "");
    let (mock, client) = start_with_replies([mute(), refusal(400, words, json!("messages"))]).await;
    let failure = request_reply(&client).await.failure.unwrap();
    let expected = ProviderFailure::ContextTooShort { words: words.into(), limit: Some(512), needed: Some(931) };
    assert_eq!(failure, expected);
    let streams: Vec<Value> = mock.requests().iter().map(|body| body["stream"].clone()).collect();
    assert_eq!(streams, [json!(true), json!(false)]);
    assert_eq!(mock.requests()[1]["stream_options"], json!(null));

    let (mock, client) = start_with_replies([mute(), Reply::full_completion("Whole.")]).await;
    assert_eq!(request_reply(&client).await.text, "Whole.");
    let (mock_too, client) = start_with_replies([mute(), mute()]).await;
    assert_eq!(request_reply(&client).await.failure.unwrap().code(), "provider_garbled");
    assert_eq!((mock.requests().len(), mock_too.requests().len()), (2, 2));
}

/// The parameters of one session do not stop the others, even if the server's errors look like its own.
#[tokio::test]
async fn errors_of_one_session_pause_no_other() {
    let (mock, client) = start_with_replies([]).await;
    mock.set_default_reply(Reply::error(500, "something went wrong"));
    for _ in 0..3 {
        assert_eq!(reply_with(&client, json!({"grammar": "x"})).await.failure.unwrap().code(), "provider_failed");
    }
    assert_eq!(reply_with(&client, json!({"grammar": "x"})).await.failure.unwrap().code(), "provider_resting");
    mock.set_default_reply(Reply::ok(["a"]));
    assert_eq!(reply_with(&client, json!({})).await.text, "a");
}

/// A gateway that took long to refuse has waited itself. It is not made to do so again.
#[tokio::test]
async fn slow_refusal_is_not_retried() {
    for reply in [Reply::error(429, "busy"), Reply::error(503, "busy")] {
        let mock = MockModel::start().await;
        mock.queue_reply(reply);
        let whole = endpoint(&mock.base_url());
        let retries = RetryPolicy { slow_answer: Duration::ZERO, ..whole.retries };
        let client = openai_client(Endpoint { retries, ..whole });
        assert!(request_reply(&client).await.failure.unwrap().is_retryable());
        assert_eq!(mock.requests().len(), 1);
    }
}

/// Gateways rename the header, and Google puts the delay into the body.
#[tokio::test]
async fn requested_delay_is_read_in_all_its_spellings() {
    let in_body = json!({"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED", "details":
        [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17s"}]}});
    for (reply, seconds) in [
        (Reply::error(429, "slow").header("llm_provider-retry-after", "7"), 7.0),
        (Reply::error(429, "slow").header("x-ratelimit-reset-requests", "1m30s"), 90.0),
        (Reply::error(429, "slow").header("retry-after-ms", "5500"), 5.5),
        (Reply::error(429, "Rate limit reached. Please try again in 20s."), 20.0),
        (Reply::json(429, &in_body), 17.0),
    ] {
        let (mock, client) = start_with_replies([reply]).await;
        let failure = request_reply(&client).await.failure.unwrap();
        assert_eq!(failure.retry_after(), Some(Duration::from_secs_f64(seconds)), "{failure}");
        assert_eq!(mock.requests().len(), 1, "longer than the longest wait");
    }
}
