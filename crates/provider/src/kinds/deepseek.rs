//! DeepSeek's chat completions: OpenAI's form, `POST …/chat/completions` and `GET …/v1/models`.
//!
//! Reasoning comes in `reasoning_content`, and goes back with the results of tools. A prefill is flagged with `prefix`,
//! which only the address with `/beta` at its end accepts.

use super::openai;
use crate::{
    Endpoint, ModelInfo, ProviderFailure, Request, alternation,
    dialect::{ChunkReader, ProviderDialect},
    models,
    parameter_names::ParameterDialect,
    params,
};
use reqwest::Url;
use serde_json::{Map, Value, json};

/// Parameters of other servers that this one does not have.
const OMITTED_PARAMS: [&str; 11] = [
    "seed",
    "top_k",
    "min_p",
    "top_a",
    "typical_p",
    "repetition_penalty",
    "repeat_penalty",
    "rep_pen",
    "logit_bias",
    "cache_control",
    "usage",
];

/// Our names and the server's.
const PARAM_NAMES: [(&str, &str); 1] = [("max_completion_tokens", "max_tokens")];

/// The versions in its addresses.
const VERSIONS: [&str; 2] = ["v1", "beta"];

/// The DeepSeek dialect.
pub(super) struct DeepSeekDialect;

impl ProviderDialect for DeepSeekDialect {
    fn name(&self) -> &'static str {
        "deepseek"
    }

    fn parameter_dialect(&self, _endpoint: &Endpoint) -> ParameterDialect {
        ParameterDialect::DeepSeek
    }

    fn reply_url(&self, endpoint: &Endpoint, _model: &str) -> Result<Url, ProviderFailure> {
        endpoint.url_with_api_prefix(&VERSIONS, &["chat", "completions"])
    }

    fn body(&self, request: &Request, endpoint: &Endpoint) -> Value {
        let mut messages: Vec<Value> = request.messages.iter().map(openai::message).collect();
        let begun = messages.last_mut().filter(|_| alternation::has_prefill(request) && is_beta(endpoint));
        if let Some(begun) = begun.and_then(Value::as_object_mut) {
            begun.insert("prefix".into(), true.into());
        }
        messages.extend(request.rounds.iter().flat_map(openai::tool_round_messages));
        let mut body = openai::body_with(request, messages, endpoint);
        body.retain(|name, _| !OMITTED_PARAMS.contains(&name.as_str()));
        params::rename(&mut body, &PARAM_NAMES);
        if let Some(effort) = body.shift_remove("reasoning_effort")
            && !body.contains_key("thinking")
        {
            let is_off = matches!(effort.as_str(), Some("none" | "minimal"));
            body.insert("thinking".into(), json!({"type": if is_off { "disabled" } else { "enabled" }}));
        }
        Value::Object(body)
    }

    fn params(&self, request: &Request, endpoint: &Endpoint) -> Map<String, Value> {
        let mut params = openai::params_of(openai::body_with(request, Vec::new(), endpoint));
        params.retain(|name, _| !OMITTED_PARAMS.contains(&name.as_str()));
        params
    }

    fn param_names(&self) -> &'static [(&'static str, &'static str)] {
        &PARAM_NAMES
    }

    fn supports_prefill(&self, _params: &Map<String, Value>, endpoint: &Endpoint) -> bool {
        is_beta(endpoint)
    }

    fn reader(&self, _request: &Request) -> Box<dyn ChunkReader> {
        openai::reader()
    }

    /// The list is not below `/beta`.
    fn model_list_urls(&self, endpoint: &Endpoint) -> Result<Vec<Url>, ProviderFailure> {
        let base_url = endpoint.base_url.trim_end_matches('/');
        let base_url = base_url.strip_suffix("/beta").unwrap_or(base_url).to_owned();
        Ok(vec![Endpoint { base_url, ..endpoint.clone() }.url_with_api_prefix(&["v1"], &["models"])?])
    }

    fn parse_models(&self, listed: &[Value]) -> Option<Vec<ModelInfo>> {
        models::parse(listed.first()?)
    }
}

/// Returns whether the address accepts a prefill.
fn is_beta(endpoint: &Endpoint) -> bool {
    endpoint.base_url.trim_end_matches('/').ends_with("/beta")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RequestMessage, RequestRole, ToolCall, ToolRound};

    fn body(base: &str, params: Value) -> Value {
        let message = |role| RequestMessage { role, name: None, content: "hi".into() };
        let request = Request {
            model: "m".into(),
            messages: vec![message(RequestRole::User), message(RequestRole::Assistant)],
            params: params.as_object().unwrap().clone(),
            ..Request::default()
        };
        DeepSeekDialect.body(&request, &Endpoint::new("a", base))
    }

    #[test]
    fn deepseek_body_matches_wire_format() {
        let params = json!({"seed": 7, "top_k": 40, "temperature": 0.7, "max_completion_tokens": 90, "stop": ["\n"]});
        let messages = |prefix: Value| {
            let mut all = json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hi"}]);
            all[1].as_object_mut().unwrap().extend(prefix.as_object().unwrap().clone());
            all
        };
        let expected = json!({"model": "m", "messages": messages(json!({"prefix": true})), "stream": true,
            "stream_options": {"include_usage": true}, "temperature": 0.7, "stop": ["\n"], "max_tokens": 90});
        assert_eq!(body("https://api.deepseek.com/beta", params), expected);
        assert_eq!(body("https://api.deepseek.com", json!({}))["messages"], messages(json!({})));
        for (effort, expected) in [("none", "disabled"), ("high", "enabled")] {
            let sent = body("http://a", json!({"reasoning_effort": effort}));
            assert_eq!((&sent["thinking"]["type"], sent.get("reasoning_effort")), (&json!(expected), None));
        }
    }

    #[test]
    fn deepseek_addresses_have_one_version() {
        for (base, reply, list) in [
            ("http://a", "http://a/v1/chat/completions", "http://a/v1/models"),
            ("http://a/v1", "http://a/v1/chat/completions", "http://a/v1/models"),
            ("http://a/beta", "http://a/beta/chat/completions", "http://a/v1/models"),
        ] {
            let endpoint = Endpoint::new("a", base);
            assert_eq!(DeepSeekDialect.reply_url(&endpoint, "m").unwrap().as_str(), reply);
            assert_eq!(DeepSeekDialect.model_list_urls(&endpoint).unwrap()[0].as_str(), list);
        }
    }

    #[test]
    fn deepseek_reasoning_goes_back_with_tool_results() {
        let call = ToolCall { id: "c".into(), name: "roll".into(), arguments: "{}".into() };
        let state = json!({"message": {"reasoning_content": "hm"}, "calls": []});
        let round = ToolRound {
            calls: vec![call],
            answers: vec!["4".into()],
            provider_state: Some(state),
            ..ToolRound::default()
        };
        let request = Request { rounds: vec![round], ..Request::default() };
        let sent = DeepSeekDialect.body(&request, &Endpoint::new("a", "http://a"));
        assert_eq!(sent["messages"][0]["reasoning_content"], "hm");
    }
}
