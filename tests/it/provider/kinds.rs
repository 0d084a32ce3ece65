//! Behaviour that every kind of server shares.

use super::*;
use proptest::prelude::*;

/// Returns a client of `kind` for the mock.
fn client_of(kind: ProviderKind, mock: &MockModel) -> ProviderClient {
    ProviderClient::new(kind, endpoint(&mock.root_url()))
}

/// Returns the kinds other than OpenAI's that stream. The one with a queue has tests of its own.
fn other_kinds() -> impl Iterator<Item = ProviderKind> {
    ProviderKind::all().filter(|kind| !matches!(kind.name(), "openai" | "horde"))
}

/// Returns the base URL of this kind at the mock.
fn base_url(kind: ProviderKind, mock: &MockModel) -> String {
    if kind.name() == "openai" { mock.base_url() } else { mock.root_url() }
}

/// S0-39: one interface; every kind passes the suite that a real server passes.
#[tokio::test]
async fn provider_kinds_pass_common_suite() {
    for kind in other_kinds() {
        let mock = MockModel::start().await;
        check_provider(&client_of(kind, &mock), "mock").await;
        mock.set_default_reply(Reply::default().chunk_size(2));
        check_provider(&client_of(kind, &mock), "mock").await;
    }
}

#[tokio::test]
async fn request_sends_wire_body_and_key_header() {
    for kind in other_kinds() {
        let mock = MockModel::start().await;
        let endpoint = Endpoint { key: Some(Secret::new("sk-0123456789")), ..endpoint(&mock.root_url()) };
        let client = ProviderClient::new(kind, endpoint);
        let request =
            Request { cacheable_messages: 1, context: Some(4096), ..request(json!({"max_tokens": 9, "seed": 7})) };
        assert_eq!(collect_reply(client.stream(&request)).await.failure, None);
        let seen = mock.all_requests().pop().unwrap();
        assert_eq!(seen.body.to_string(), client.wire_body(&request).to_string());
        let headers: &[&str] = match kind.name() {
            "anthropic" => &["x-api-key: sk-0123456789", "anthropic-version: 2023-06-01"],
            "gemini" => &["x-goog-api-key: sk-0123456789"],
            "openrouter" => &["authorization: Bearer sk-0123456789", "x-title: Clotho"],
            "azure" => &["api-key: sk-0123456789"],
            _ => &["authorization: Bearer sk-0123456789"],
        };
        for header in headers {
            assert!(seen.headers.iter().any(|one| one == header), "{kind:?} {header}: {:?}", seen.headers);
        }
        assert!(!seen.request_line.contains("sk-") && !seen.body.to_string().contains("sk-"), "{kind:?}");
    }
}

#[tokio::test]
async fn reply_reasoning_text_and_usage_are_read() {
    for kind in other_kinds() {
        let mock = MockModel::start().await;
        let counts =
            json!({"prompt_tokens": 300, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 200}});
        mock.queue_reply(
            Reply::ok(["So, ", "夜🌙."]).reasoning(ReasoningField::All, ["hm, ", "yes"]).usage_with_finish(counts),
        );
        let heard = request_reply(&client_of(kind, &mock)).await;
        let completes = matches!(kind.name(), "koboldcpp" | "llamacpp");
        let (thought, said) = if completes { ("", "hm, yesSo, 夜🌙.") } else { ("hm, yes", "So, 夜🌙.") };
        assert_eq!((heard.reasoning.as_str(), heard.text.as_str()), (thought, said), "{kind:?}");
        assert_eq!((heard.failure, heard.finish_reasons), (None, vec![FinishReason::Stop]), "{kind:?}");
        let cached = (!matches!(kind.name(), "ollama")).then_some(200);
        let usage = heard.usage.map(|usage| (usage.prompt, usage.completion, usage.cached));
        assert_eq!(usage, (kind.name() != "koboldcpp").then_some((300, 5, cached)), "{kind:?}");
    }
}

/// An error before the reply has its status, message and hint. A busy or broken server is asked again.
#[tokio::test]
async fn error_before_reply_keeps_status_and_message() {
    for kind in other_kinds() {
        let mock = MockModel::start().await;
        let own = match kind.name() {
            "anthropic" => {
                json!({"type": "error", "error": {"type": "authentication_error", "message": "wrong key"}, "request_id": "r"})
            }
            "gemini" => json!([{"error": {"code": 401, "message": "wrong key", "status": "UNAUTHENTICATED"}}]),
            "ollama" => json!({"error": "wrong key"}),
            "koboldcpp" => json!({"detail": {"msg": "wrong key", "type": "unauthorized"}}),
            _ => json!({"error": {"code": 401, "message": "wrong key", "type": "authentication_error"}}),
        };
        mock.queue_reply(Reply::json(401, &own));
        let failure = request_reply(&client_of(kind, &mock)).await.failure.unwrap();
        assert_eq!(failure, ProviderFailure::Refused { status: 401, words: "wrong key".into() }, "{kind:?}");
        assert!(failure.hint().contains("key"));
        assert_eq!(mock.requests().len(), 1);

        mock.queue_reply(Reply::error(529, "overloaded"));
        mock.queue_reply(Reply::error(429, "slow down").header("Retry-After", "0"));
        mock.queue_reply(Reply::ok(["a"]));
        let heard = request_reply(&client_of(kind, &mock)).await;
        assert_eq!((heard.text.as_str(), heard.failure, mock.requests().len()), ("a", None, 4), "{kind:?}");
    }
}

/// An error during a reply keeps the text that had arrived, and the request is not repeated.
#[tokio::test]
async fn error_mid_reply_keeps_text_without_retry() {
    for kind in other_kinds() {
        let mock = MockModel::start().await;
        for (reply, code) in [
            (Reply::ok(["Half a "]).then_error(529, "overloaded"), "provider_failed"),
            (Reply::ok(["Half a "]).then_cut(), "cut_off"),
            (Reply::ok(["Half a "]).then_reset(), "cut_off"),
            (Reply::ok(["Half a "]).without_finish(), "cut_off"),
        ] {
            mock.queue_reply(reply);
            let before = mock.requests().len();
            let heard = request_reply(&client_of(kind, &mock)).await;
            assert_eq!(heard.text, "Half a ", "{kind:?}");
            assert_eq!(heard.failure.map(|failure| failure.code()), Some(code), "{kind:?}");
            assert_eq!(mock.requests().len(), before + 1, "{kind:?} was asked again");
        }
    }
}

#[tokio::test]
async fn invalid_response_returns_provider_garbled() {
    for kind in ProviderKind::all().filter(|kind| kind.name() != "horde") {
        let mock = MockModel::start().await;
        for reply in [
            Reply::html(200, "Please log in"),
            Reply::raw(200, "text/plain", "hello"),
            Reply::json(200, &json!({"hello": "world"})),
            Reply::raw(200, "text/event-stream", "data: hello\n\n"),
        ] {
            mock.queue_reply(reply);
            let failure =
                request_reply(&ProviderClient::new(kind, endpoint(&base_url(kind, &mock)))).await.failure.unwrap();
            assert_eq!(failure.code(), "provider_garbled", "{kind:?}: {failure}");
        }
        mock.set_models_reply(Reply::json(200, &json!({"hello": "world"})));
    }
}

/// Dropping a reply aborts the request, and silence ends the reply.
#[tokio::test]
async fn dropped_reply_aborts_request_and_silence_times_out() {
    for kind in other_kinds() {
        let mock = MockModel::start().await;
        mock.queue_reply(Reply::endless("on "));
        let client = client_of(kind, &mock);
        let mut left = client.stream(&request(json!({})));
        assert_eq!(next_text(&mut left).await, "on ", "{kind:?}");
        drop(left);
        mock.wait_for_aborted_replies(1).await;

        mock.queue_reply(Reply::ok(["ab"]).then_stall());
        let timeouts = Timeouts { idle: SHORT, ..endpoint("").timeouts };
        let heard =
            request_reply(&ProviderClient::new(kind, Endpoint { timeouts, ..endpoint(&mock.root_url()) })).await;
        let silent = Some(ProviderFailure::Timeout { wait: TimeoutPhase::Idle, limit: SHORT });
        assert_eq!((heard.text.as_str(), heard.failure), ("ab", silent), "{kind:?}");
    }
}

/// `domain.md` 5.8: a model without prefill is asked to continue its text, in this request and in later ones.
#[tokio::test]
async fn prefill_unsupported_falls_back_to_continue_request() {
    let words = "This model does not support assistant message prefill. The conversation must end with a user message.";
    for kind in ProviderKind::all().filter(|kind| matches!(kind.name(), "openai" | "anthropic")) {
        let mock = MockModel::start().await;
        let client = ProviderClient::new(kind, endpoint(&base_url(kind, &mock)));
        let mut begun = request(json!({}));
        begun.messages.push(RequestMessage { role: RequestRole::Assistant, name: None, content: "She lights".into() });
        mock.queue_reply(Reply::error(400, words));
        mock.queue_reply(Reply::ok(["the lamp"]));
        mock.queue_reply(Reply::ok(["the lamp"]));
        for n in [2, 3] {
            assert_eq!(collect_reply(client.stream(&begun)).await.text, "the lamp", "{kind:?}");
            let sent = mock.requests();
            let last = sent.last().unwrap()["messages"].as_array().unwrap().last().unwrap();
            assert_eq!((sent.len(), &last["role"]), (n, &json!("user")), "{kind:?}");
        }
        mock.queue_reply(Reply::error(400, words));
        assert_eq!(request_reply(&client).await.failure.unwrap().code(), "provider_refused", "nothing to mend");
    }
}

fn any_message() -> impl Strategy<Value = RequestMessage> {
    let role = prop_oneof![Just(RequestRole::System), Just(RequestRole::User), Just(RequestRole::Assistant)];
    let content = prop_oneof![Just(String::new()), Just(" \n".to_owned()), "[a-z夜<|>\u{1}]{1,6} ?"];
    (role, content).prop_map(|(role, content)| RequestMessage { role, name: None, content })
}

/// Returns whether the player begins, roles alternate and no text is blank.
fn has_alternating_roles(turns: &[Value], models: &str, texts: impl Fn(&Value) -> Vec<String>) -> bool {
    let role = |nth: usize| if nth.is_multiple_of(2) { "user" } else { models };
    !turns.is_empty()
        && turns.iter().enumerate().all(|(nth, turn)| {
            let texts = texts(turn);
            turn["role"] == role(nth) && !texts.is_empty() && texts.iter().all(|text| !text.trim().is_empty())
        })
}

proptest! {
    /// S4-35: each kind builds a valid body from any messages.
    #[test]
    fn request_body_is_valid_for_any_messages(messages in proptest::collection::vec(any_message(), 0..12), stable in 0_usize..14) {
        let request = Request { model: "m".into(), messages, cacheable_messages: stable, ..Request::default() };
        let texts = |parts: &Value| -> Vec<String> {
            parts.as_array().into_iter().flatten().map(|part| part["text"].as_str().unwrap().to_owned()).collect()
        };
        let said: Vec<&str> = request.messages.iter().map(|said| said.content.trim()).filter(|said| !said.is_empty()).collect();
        for kind in ProviderKind::all() {
            let body = ProviderClient::new(kind, Endpoint::new("a", "http://a")).wire_body(&request);
            match kind.name() {
                "anthropic" => {
                    prop_assert!(has_alternating_roles(body["messages"].as_array().unwrap(), "assistant", |turn| texts(&turn["content"])), "{body}");
                    prop_assert!(texts(&body["system"]).iter().all(|text| !text.trim().is_empty()));
                    prop_assert!(body.to_string().matches("cache_control").count() <= 4, "{body}");
                    let last = body["messages"].as_array().unwrap().last().unwrap();
                    let text = texts(&last["content"]).pop().unwrap();
                    prop_assert!(last["role"] == "user" || text.trim_end() == text, "{body}");
                }
                "gemini" => {
                    prop_assert!(has_alternating_roles(body["contents"].as_array().unwrap(), "model", |turn| texts(&turn["parts"])), "{body}");
                }
                "ollama" => {
                    let messages = body["messages"].as_array().unwrap();
                    prop_assert!(messages.iter().all(|message| !message["content"].as_str().unwrap().trim().is_empty()));
                    prop_assert_eq!(messages.len(), said.len());
                }
                "openai" | "openrouter" | "deepseek" | "azure" => {
                    prop_assert_eq!(body["messages"].as_array().unwrap().len(), request.messages.len());
                }
                "mistral" | "cohere" => {
                    let messages = body["messages"].as_array().unwrap();
                    prop_assert!(messages.iter().all(|message| !message["content"].as_str().unwrap().trim().is_empty()));
                }
                _ => prop_assert!(body["prompt"].as_str().unwrap().contains("<|im_start|>assistant\n")),
            }
            if kind.name() == "openai" {
                continue;
            }
            for words in &said {
                let words = words.replace("<|im_", "<| im_");
                let words = json!(words).to_string();
                prop_assert!(body.to_string().contains(words.trim_matches('"')), "{kind:?} lost {words}: {body}");
            }
        }
    }
}
