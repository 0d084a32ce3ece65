//! OpenRouter: OpenAI's chat completions with more fields, `POST …/v1/chat/completions` and `GET …/v1/models`.
//!
//! Its own fields (`provider`, `models`, `transforms`, `plugins`) are passed unchanged. Claude is cached only up to marks
//! in the prompt. So a prompt for Claude has the same form and the same marks as for Anthropic itself: OpenRouter would
//! move later system messages to the front, and nothing after them could be read from the cache.

use super::{anthropic, openai};
use crate::{
    Endpoint, ModelInfo, ProviderFailure, Request, alternation,
    dialect::{ChunkReader, ProviderDialect},
    json::text,
    models,
    parameter_names::ParameterDialect,
    params,
};
use reqwest::Url;
use serde_json::{Map, Value, json};

/// Says which program asks. OpenRouter shows it to the owner of the key.
const HEADERS: [(&str, &str); 1] = [("x-title", "Clotho")];

/// Our names and the server's.
const PARAM_NAMES: [(&str, &str); 2] = [("repeat_penalty", "repetition_penalty"), ("rep_pen", "repetition_penalty")];

/// The OpenRouter dialect.
pub(super) struct OpenRouterDialect;

impl ProviderDialect for OpenRouterDialect {
    fn name(&self) -> &'static str {
        "openrouter"
    }

    fn parameter_dialect(&self, _endpoint: &Endpoint) -> ParameterDialect {
        ParameterDialect::OpenRouter
    }

    fn reply_url(&self, endpoint: &Endpoint, _model: &str) -> Result<Url, ProviderFailure> {
        endpoint.url_with_api_prefix(&["v1"], &["chat", "completions"])
    }

    fn body(&self, request: &Request, endpoint: &Endpoint) -> Value {
        let mut body = openai::body_with(request, Vec::new(), endpoint);
        let mark = anthropic::take_cache_control(&mut body);
        translate(&mut body);
        let mut messages = match is_claude(&request.model) {
            true => claude_messages(request, thinks(&body), mark.as_ref()),
            false => request.messages.iter().map(openai::message).collect(),
        };
        messages.extend(request.rounds.iter().flat_map(openai::tool_round_messages));
        body.insert("messages".into(), messages.into());
        Value::Object(body)
    }

    fn params(&self, request: &Request, endpoint: &Endpoint) -> Map<String, Value> {
        let mut params = openai::params_of(openai::body_with(request, Vec::new(), endpoint));
        params.shift_remove("cache_control");
        params
    }

    fn param_names(&self) -> &'static [(&'static str, &'static str)] {
        &PARAM_NAMES
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &HEADERS
    }

    fn reader(&self, _request: &Request) -> Box<dyn ChunkReader> {
        openai::reader()
    }

    fn embeddings_url(&self, endpoint: &Endpoint) -> Result<Url, ProviderFailure> {
        endpoint.url_with_api_prefix(&["v1"], &["embeddings"])
    }

    fn model_list_urls(&self, endpoint: &Endpoint) -> Result<Vec<Url>, ProviderFailure> {
        Ok(vec![endpoint.url_with_api_prefix(&["v1"], &["models"])?])
    }

    fn parse_models(&self, listed: &[Value]) -> Option<Vec<ModelInfo>> {
        models::parse(listed.first()?)
    }
}

/// Returns whether a model is a Claude, whoever serves it: `anthropic/claude-…`, with suffixes such as `:beta`.
fn is_claude(model: &str) -> bool {
    model.to_ascii_lowercase().contains("claude")
}

/// Gives parameters their names here. Usage is asked for with its price and the tokens of the cache.
fn translate(body: &mut Map<String, Value>) {
    params::rename(body, &PARAM_NAMES);
    if let Some(effort) = body.shift_remove("reasoning_effort")
        && !body.contains_key("reasoning")
    {
        body.insert("reasoning".into(), json!({"effort": effort}));
    }
    body.entry("usage").or_insert_with(|| json!({"include": true}));
}

/// Returns whether the model is to think first. It then accepts no prefill.
fn thinks(body: &Map<String, Value>) -> bool {
    let Some(reasoning) = body.get("reasoning").filter(|reasoning| reasoning.is_object()) else { return false };
    reasoning.get("enabled") != Some(&Value::Bool(false)) && text(reasoning, "effort") != Some("none")
}

/// Returns the messages for Claude, with the marks of its cache.
fn claude_messages(request: &Request, thinks: bool, mark: Option<&Value>) -> Vec<Value> {
    let story = match thinks {
        true => alternation::alternate(&alternation::with_continue_instruction(request)),
        false => alternation::alternate(request),
    };
    let system =
        (!story.system.is_empty()).then(|| json!({"role": "system", "content": anthropic::system(&story, mark)}));
    let turns = match anthropic::messages(&story, &[], mark) {
        Value::Array(turns) => turns,
        _ => Vec::new(),
    };
    system.into_iter().chain(turns).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RequestMessage, RequestRole, ToolCall, ToolRound};

    fn request(model: &str, params: Value, messages: &[(RequestRole, &str)]) -> Request {
        let message = |(role, content): &(RequestRole, &str)| RequestMessage {
            role: *role,
            name: None,
            content: (*content).into(),
        };
        Request {
            model: model.into(),
            messages: messages.iter().map(message).collect(),
            params: params.as_object().unwrap().clone(),
            cacheable_messages: 3,
            ..Request::default()
        }
    }

    fn body(extra: Value, request: &Request) -> Value {
        let extra = extra.as_object().unwrap().clone();
        OpenRouterDialect.body(request, &Endpoint { extra, ..Endpoint::new("a", "https://openrouter.ai/api/v1") })
    }

    use RequestRole::{Assistant as A, System as S, User as U};

    const STORY: [(RequestRole, &str); 5] = [(S, "card"), (U, "Hi."), (A, "Yes?"), (S, "hp: 3"), (U, "On.")];

    #[test]
    fn openrouter_body_has_routing_reasoning_and_usage() {
        let extra = json!({"provider": {"order": ["b"], "allow_fallbacks": false}, "transforms": []});
        let params = json!({"reasoning_effort": "low", "rep_pen": 1.1, "min_p": 0.1, "cache_control": false});
        let sent = body(extra, &request("vendor/m", params, &[(S, "card"), (U, "Hi.")]));
        let expected = json!({"model": "vendor/m",
            "messages": [{"role": "system", "content": "card"}, {"role": "user", "content": "Hi."}],
            "stream": true, "stream_options": {"include_usage": true},
            "provider": {"order": ["b"], "allow_fallbacks": false}, "transforms": [], "min_p": 0.1,
            "repetition_penalty": 1.1, "reasoning": {"effort": "low"}, "usage": {"include": true}});
        assert_eq!(sent, expected);
        let own = json!({"reasoning": {"max_tokens": 9}, "usage": {"include": false}, "reasoning_effort": "high"});
        let sent = body(json!({}), &request("vendor/m", own, &STORY));
        assert_eq!((&sent["reasoning"], &sent["usage"]), (&json!({"max_tokens": 9}), &json!({"include": false})));
        assert!(!sent.to_string().contains("cache_control"), "only Claude is cached by marks");
    }

    #[test]
    fn openrouter_claude_gets_marks_of_the_cache() {
        let mark = json!({"type": "ephemeral"});
        let part = |words: &str| json!({"type": "text", "text": words});
        let marked = |words: &str, mark: &Value| json!({"type": "text", "text": words, "cache_control": mark});
        let messages = |mark: &Value| {
            json!([{"role": "system", "content": [marked("card", mark)]}, {"role": "user", "content": [part("Hi.")]},
                {"role": "assistant", "content": [marked("Yes?", mark)]},
                {"role": "user", "content": [part("[hp: 3]"), part("\n\nOn.")]}])
        };
        let sent = body(json!({}), &request("anthropic/claude-sonnet-4.5", json!({}), &STORY));
        assert_eq!(sent["messages"], messages(&mark));
        let longer = json!({"type": "ephemeral", "ttl": "1h"});
        let sent = body(json!({"cache_control": longer}), &request("anthropic/claude-opus-4:beta", json!({}), &STORY));
        assert_eq!((&sent["messages"], sent.get("cache_control")), (&messages(&longer), None));
        let sent = body(json!({"cache_control": false}), &request("anthropic/claude-3.5-haiku", json!({}), &STORY));
        assert!(!sent.to_string().contains("cache_control"), "{sent}");
    }

    #[test]
    fn openrouter_claude_that_thinks_gets_no_prefill() {
        let begun = [(U, "Hi."), (A, "She lights ")];
        let last = |params: Value| {
            let sent = body(json!({}), &request("anthropic/claude-sonnet-4", params, &begun));
            sent["messages"].as_array().unwrap().last().unwrap()["role"].clone()
        };
        assert_eq!(last(json!({})), "assistant");
        assert_eq!(last(json!({"reasoning": {"max_tokens": 2000}})), "user");
        assert_eq!(last(json!({"reasoning_effort": "none"})), "assistant");
    }

    #[test]
    fn openrouter_claude_tool_rounds_follow_the_story() {
        let call = ToolCall { id: "c".into(), name: "roll".into(), arguments: "{}".into() };
        let round = ToolRound { calls: vec![call], answers: vec!["4".into()], ..ToolRound::default() };
        let asked = Request { rounds: vec![round], ..request("anthropic/claude-sonnet-4", json!({}), &STORY) };
        let sent = body(json!({}), &asked);
        let messages = sent["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 6);
        assert_eq!(messages[5], json!({"role": "tool", "tool_call_id": "c", "content": "4"}));
    }
}
