//! OpenAI's chat completions, as most servers implement them: `POST {base_url}/chat/completions`, streamed, and `GET
//! {base_url}/models`.
//!
//! `chunk` reads responses. To add a field or variant: edit it there and add a case to its table of tests.

mod assistant_state;
mod chunk;

use crate::{
    Endpoint, ModelInfo, ProviderFailure, Request, RequestMessage, ToolCall, ToolRound, alternation,
    dialect::{ChunkReader, ProviderDialect},
    models, params,
};
use reqwest::Url;
use serde_json::{Map, Value, json};

/// The OpenAI dialect.
pub(super) struct OpenAiDialect;

impl ProviderDialect for OpenAiDialect {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn reply_url(&self, endpoint: &Endpoint, _model: &str) -> Result<Url, ProviderFailure> {
        endpoint.url(&["chat", "completions"])
    }

    /// `extra` can set `stream_options`, or remove it with `null` for servers that reject it. It can also set `stream`
    /// to false for a server that cannot stream.
    fn body(&self, request: &Request, endpoint: &Endpoint) -> Value {
        let mut messages: Vec<Value> = request.messages.iter().map(message).collect();
        if let Some(last) =
            messages.last_mut().filter(|_| alternation::has_prefill(request) && needs_prefix_flag(endpoint))
        {
            last.as_object_mut().map(|last| last.insert("prefix".into(), true.into()));
        }
        messages.extend(request.rounds.iter().flat_map(tool_round_messages));
        Value::Object(body_with(request, messages, endpoint))
    }

    fn params(&self, request: &Request, endpoint: &Endpoint) -> Map<String, Value> {
        params_of(body_with(request, Vec::new(), endpoint))
    }

    fn supports_prefill(&self, _params: &Map<String, Value>, endpoint: &Endpoint) -> bool {
        needs_prefix_flag(endpoint)
    }

    fn reader(&self, _request: &Request) -> Box<dyn ChunkReader> {
        reader()
    }

    fn embeddings_url(&self, endpoint: &Endpoint) -> Result<Url, ProviderFailure> {
        endpoint.url(&["embeddings"])
    }

    fn model_list_urls(&self, endpoint: &Endpoint) -> Result<Vec<Url>, ProviderFailure> {
        Ok(vec![endpoint.url(&["models"])?])
    }

    /// Older versions of llama.cpp list only the maximum of the model, and tell the length that they use elsewhere.
    fn more_model_list_urls(&self, endpoint: &Endpoint, first: &Value) -> Vec<Url> {
        let only =
            first.get("data").and_then(Value::as_array).filter(|list| list.len() == 1).and_then(|list| list.first());
        let is_llamacpp = only.is_some_and(|entry| {
            entry.pointer("/meta/n_ctx_train").is_some() && entry.pointer("/meta/n_ctx").is_none()
        });
        if is_llamacpp { endpoint.native_url(&["props"]).into_iter().collect() } else { Vec::new() }
    }

    fn parse_models(&self, listed: &[Value]) -> Option<Vec<ModelInfo>> {
        let mut models = models::parse(listed.first()?)?;
        if let Some(context) = listed.get(1).and_then(models::context_length) {
            models.iter_mut().for_each(|model| model.context_length = Some(context));
        }
        Some(models)
    }
}

/// Returns whether the vendor needs a prefill flagged as such: Mistral, and DeepSeek below `/beta`.
fn needs_prefix_flag(endpoint: &Endpoint) -> bool {
    let Ok(url) = endpoint.url(&[]) else { return false };
    match url.host_str() {
        Some("api.mistral.ai") => true,
        Some("api.deepseek.com") => url.path().starts_with("/beta"),
        _ => false,
    }
}

/// Returns the reader of chat completions, for kinds with the same replies.
pub(super) fn reader() -> Box<dyn ChunkReader> {
    Box::new(chunk::OpenAiReader::default())
}

/// Returns the parameters in a body of chat completions, without its fixed fields.
pub(super) fn params_of(mut body: Map<String, Value>) -> Map<String, Value> {
    body.retain(|name, _| !matches!(name.as_str(), "model" | "messages" | "stream" | "stream_options"));
    body
}

/// Fields that a request's parameters cannot change, because reading the stream depends on them.
const RESERVED_PARAMS: [&str; 5] = ["model", "messages", "stream", "stream_options", "n"];

/// Returns a body with these messages and the parameters of a request.
pub(super) fn body_with(request: &Request, messages: Vec<Value>, endpoint: &Endpoint) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    body.insert("messages".into(), messages.into());
    body.insert("stream".into(), true.into());
    body.insert("stream_options".into(), json!({"include_usage": true}));
    let fixed = |name: &str| matches!(name, "model" | "messages" | "n");
    let extra = endpoint.extra.iter().filter(|(name, _)| !fixed(name));
    let params = request.params.iter().filter(|(name, _)| !RESERVED_PARAMS.contains(&name.as_str()));
    for (name, value) in extra.chain(params) {
        body.insert(name.clone(), value.clone());
    }
    if body.get("stream") == Some(&Value::Bool(false)) {
        body.shift_remove("stream_options");
    }
    params::remove_unset(&mut body);
    body
}

/// Returns the tool calls of a round and their results, with what the server wants back.
pub(super) fn tool_round_messages(round: &ToolRound) -> Vec<Value> {
    let (kept, mut kept_of_calls) = assistant_state::fields_of(round.provider_state.as_ref());
    kept_of_calls.resize(round.calls.len(), Map::new());
    let call = |(call, kept): (&ToolCall, Map<String, Value>)| {
        // Servers parse the arguments, and no text at all is no JSON.
        let arguments = Some(call.arguments.as_str()).filter(|text| !text.trim().is_empty()).unwrap_or("{}");
        let function = json!({"name": call.name, "arguments": arguments});
        with_fields(json!({"id": call.id, "type": "function", "function": function}), kept)
    };
    let calls: Vec<Value> = round.calls.iter().zip(kept_of_calls).map(call).collect();
    let asked = with_fields(json!({"role": "assistant", "content": round.text, "tool_calls": calls}), kept);
    let answer = |(call, text): (&ToolCall, &str)| json!({"role": "tool", "tool_call_id": call.id, "content": text});
    std::iter::once(asked).chain(round.calls_with_answers().map(answer)).collect()
}

fn with_fields(mut value: Value, more: Map<String, Value>) -> Value {
    if let Some(fields) = value.as_object_mut() {
        fields.extend(more);
    }
    value
}

/// Returns a message in OpenAI's form.
pub(super) fn message(message: &RequestMessage) -> Value {
    let mut fields = Map::new();
    fields.insert("role".into(), message.role.as_str().into());
    if let Some(name) = message.name.as_deref().filter(|name| is_valid_name(name)) {
        fields.insert("name".into(), name.into());
    }
    fields.insert("content".into(), message.content.as_str().into());
    Value::Object(fields)
}

fn is_valid_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequestRole;
    use clotho_config::Secret;

    fn endpoint(extra: &Value) -> Endpoint {
        Endpoint {
            key: Some(Secret::new("sk-secret")),
            extra: extra.as_object().unwrap().clone(),
            ..Endpoint::new("test", "http://127.0.0.1")
        }
    }

    fn request_body(extra: Value, params: Value) -> Value {
        let endpoint = endpoint(&extra);
        let message =
            |role, name: &str, content: &str| RequestMessage { role, name: Some(name.into()), content: content.into() };
        let request = Request {
            model: "m".into(),
            messages: vec![message(RequestRole::User, "Rin_7", "hi"), message(RequestRole::Assistant, "凛", "喂")],
            params: params.as_object().unwrap().clone(),
            ..Request::default()
        };
        OpenAiDialect.body(&request, &endpoint)
    }

    /// A prefill is flagged for the vendors that need it, and for no other.
    #[test]
    fn openai_prefill_is_flagged_where_required() {
        for (base, expected) in [
            ("https://api.mistral.ai/v1", true),
            ("https://api.deepseek.com/beta", true),
            ("https://api.deepseek.com", false),
            ("http://127.0.0.1:8080/v1", false),
        ] {
            let endpoint = Endpoint::new("a", base);
            let message = |role| RequestMessage { role, name: None, content: "hi".into() };
            let begun = Request {
                messages: vec![message(RequestRole::User), message(RequestRole::Assistant)],
                ..Request::default()
            };
            let body = OpenAiDialect.body(&begun, &endpoint);
            assert_eq!(body["messages"][1].get("prefix").is_some(), expected, "{base}");
            assert_eq!(body["messages"][0].get("prefix"), None);
            assert_eq!(OpenAiDialect.supports_prefill(&Map::new(), &endpoint), expected);
        }
    }

    #[test]
    fn openai_body_matches_wire_format() {
        let sent = request_body(
            json!({"temperature": 1.0, "top_k": 40}),
            json!({"temperature": 0.70, "stop": ["\n"], "seed": 7}),
        );
        assert_eq!(
            sent.to_string(),
            r#"{"model":"m","messages":[{"role":"user","name":"Rin_7","content":"hi"},{"role":"assistant","content":"喂"}],"#
                .to_owned()
                + r#""stream":true,"stream_options":{"include_usage":true},"temperature":0.7,"top_k":40,"stop":["\n"],"seed":7}"#
        );
    }

    /// Reasoning and signatures go back with the results of tools, and nothing else does.
    #[test]
    fn openai_tool_round_sends_provider_state_back() {
        let call = |id: &str, text: &str| ToolCall { id: id.into(), name: "roll".into(), arguments: text.into() };
        let signature = json!({"google": {"thought_signature": "s"}});
        let state = json!({"message": {"reasoning_content": "hm"}, "calls": [{"extra_content": signature}]});
        let mut round = ToolRound {
            text: "I roll.".into(),
            calls: vec![call("a", "{}"), call("b", "")],
            answers: vec!["1".into(), "2".into()],
            provider_state: Some(state),
        };
        let function = json!({"name": "roll", "arguments": "{}"});
        let plain = |id: &str| json!({"id": id, "type": "function", "function": function});
        let mut signed = plain("a");
        signed["extra_content"] = signature;
        let expected = json!({"role": "assistant", "content": "I roll.", "tool_calls": [signed, plain("b")],
            "reasoning_content": "hm"});
        assert_eq!(tool_round_messages(&round)[0], expected);
        round.provider_state = None;
        let expected = json!({"role": "assistant", "content": "I roll.", "tool_calls": [plain("a"), plain("b")]});
        assert_eq!(tool_round_messages(&round)[0], expected);
    }

    #[test]
    fn openai_params_match_body() {
        let endpoint = endpoint(&json!({"top_k": 40, "stream_options": null, "min_p": null}));
        let params = json!({"seed": 7, "model": "dear", "stop": ["\n"]});
        let request = Request { model: "m".into(), params: params.as_object().unwrap().clone(), ..Request::default() };
        let sent = Value::Object(OpenAiDialect.params(&request, &endpoint)).to_string();
        assert_eq!(sent, r#"{"top_k":40,"seed":7,"stop":["\n"]}"#);
    }

    #[test]
    fn openai_params_cannot_override_reserved_fields() {
        let plain = request_body(json!({}), json!({}));
        let params = json!({"model": "dear", "messages": [], "stream": false, "stream_options": null, "n": 5});
        assert_eq!(request_body(json!({}), params), plain);
        assert_eq!(request_body(json!({"model": "x", "messages": 1, "n": 2}), json!({})), plain);
    }

    #[test]
    fn openai_null_param_removes_field() {
        assert_eq!(request_body(json!({"top_k": 40}), json!({"top_k": null})), request_body(json!({}), json!({})));
        assert_eq!(request_body(json!({"stream_options": null}), json!({})).get("stream_options"), None);
    }

    /// A llama.cpp that lists only the maximum of its model is asked for the length that it uses.
    #[test]
    fn openai_context_length_of_older_llamacpp_comes_from_props() {
        let urls = |list: Value| -> Vec<String> {
            let urls = OpenAiDialect.more_model_list_urls(&Endpoint::new("a", "http://a/v1"), &list);
            urls.into_iter().map(String::from).collect()
        };
        let old = json!({"data": [{"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx_train": 32768}}]});
        assert_eq!(urls(old.clone()), ["http://a/props"]);
        assert!(urls(json!({"data": [{"id": "m", "meta": {"n_ctx_train": 32768, "n_ctx": 4096}}]})).is_empty());
        assert!(urls(json!({"data": [{"id": "m"}, {"id": "n"}]})).is_empty());
        let props = json!({"default_generation_settings": {"n_ctx": 4096}});
        let length = |listed: &[Value]| OpenAiDialect.parse_models(listed).unwrap()[0].context_length;
        assert_eq!(length(&[old.clone(), props]), Some(4096));
        assert_eq!(length(&[old, Value::Null]), Some(32768));
    }

    #[test]
    fn openai_empty_stops_and_length_of_zero_are_not_sent() {
        let sent = request_body(json!({"max_tokens": 100}), json!({"stop": ["", "zzz"], "max_tokens": 0}));
        assert_eq!((sent.get("stop"), sent.get("max_tokens")), (Some(&json!(["zzz"])), None));
        assert_eq!(
            request_body(json!({}), json!({"stop": [""], "max_tokens": null})),
            request_body(json!({}), json!({}))
        );
    }

    #[test]
    fn openai_no_streaming_requests_whole_reply() {
        let sent = request_body(json!({"stream": false}), json!({}));
        assert_eq!((sent.get("stream"), sent.get("stream_options")), (Some(&json!(false)), None));
    }
}
