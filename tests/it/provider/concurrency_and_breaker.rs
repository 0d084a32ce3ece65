//! The concurrency limit and the circuit breaker of an endpoint.

use super::*;

/// Ranked idea 9: a key has a limited number of parallel replies. A request that waits for its turn neither times out
/// nor gets lost.
#[tokio::test]
async fn concurrency_limit_holds_concurrent_replies_per_key() {
    let mock = MockModel::start().await;
    let gate = Gate::new();
    (0..4).for_each(|n| mock.queue_reply(Reply::ok([n.to_string()]).gate(&gate)));
    let limit = ConcurrencyLimit::new(2);
    let timeouts = Timeouts { connect: LONG, first_token: LONG, idle: LONG, after_finish: LONG };
    let client = |kind: &str, base_url: String| {
        let endpoint = Endpoint { concurrency_limit: limit.clone(), timeouts, ..endpoint(&base_url) };
        ProviderClient::new(ProviderKind::from_name(kind).unwrap(), endpoint)
    };
    let (one, two) = (client("openai", mock.base_url()), client("anthropic", mock.root_url()));
    let replies: Vec<_> = (0..4)
        .map(|n| if n % 2 == 0 { one.clone() } else { two.clone() })
        .map(|client| tokio::spawn(async move { request_reply(&client).await }))
        .collect();
    mock.wait_for_requests(2).await;
    assert_eq!(mock.requests().len(), 2, "two endpoints, one key");
    gate.open();
    for reply in replies {
        assert_eq!(reply.await.unwrap().failure, None);
    }
    assert_eq!(mock.requests().len(), 4);
}

/// Dropping a reply in the middle frees its slot.
#[tokio::test]
async fn concurrency_limit_slot_is_freed_when_reply_is_dropped() {
    let gate = Gate::new();
    let (mock, _) = start_with_replies([Reply::ok(["a", "b"]).gate(&gate), Reply::ok(["c"])]).await;
    let client = openai_client(Endpoint { concurrency_limit: ConcurrencyLimit::new(1), ..endpoint(&mock.base_url()) });
    let mut left = client.stream(&request(json!({})));
    gate.release(1);
    assert!(matches!(next_frame(&mut left).await, Some(Ok(Frame::Text(_)))));
    drop(left);
    assert_eq!(request_reply(&client).await.text, "c");
}

/// Ranked idea 9: a server that fails repeatedly is not asked for a while, and requests fail at once.
#[tokio::test]
async fn breaker_opens_after_repeated_server_errors() {
    let (mock, client) = start_with_replies([]).await;
    mock.set_default_reply(Reply::error(500, "out of order"));
    for _ in 0..3 {
        assert_eq!(request_reply(&client).await.failure.unwrap().code(), "provider_failed");
    }
    let asked = mock.requests().len();
    let failure = request_reply(&client).await.failure.unwrap();
    assert_eq!((failure.code(), mock.requests().len()), ("provider_resting", asked));
    assert!(failure.to_string().contains("out of order") && failure.retry_after().is_some(), "{failure}");
    assert!(client.models().await.is_ok(), "its list is another matter");
}

/// A server that refuses a request works: the breaker stays closed.
#[tokio::test]
async fn breaker_stays_closed_on_client_errors() {
    let (mock, client) = start_with_replies([]).await;
    mock.set_default_reply(Reply::error(404, "no such model"));
    for _ in 0..6 {
        assert_eq!(request_reply(&client).await.failure.unwrap().code(), "provider_refused");
    }
    assert_eq!(mock.requests().len(), 6);
}
