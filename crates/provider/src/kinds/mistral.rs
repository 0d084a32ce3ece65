//! Mistral's chat completions: OpenAI's form with other rules, `POST …/v1/chat/completions` and `GET …/v1/models`.
//!
//! The server refuses fields and samplers that it does not know, messages of one role in a row, and ids of tool calls
//! that are not nine letters and digits. A prefill is flagged with `prefix`, and the reply begins by repeating it.

use super::openai;
use crate::{
    Endpoint, ModelInfo, ProviderFailure, Request, ToolCall, ToolRound,
    alternation::{self, AlternatingTurnPart, alternate},
    dialect::{ChunkReader, ProviderDialect},
    json::text,
    models,
    parameter_names::ParameterDialect,
    params,
    prefill_echo::PrefillEchoReader,
};
use reqwest::Url;
use serde_json::{Map, Value, json};

/// Parameters of other servers that this one refuses.
const OMITTED_PARAMS: [&str; 15] = [
    "top_k",
    "min_p",
    "top_a",
    "typical_p",
    "repetition_penalty",
    "repeat_penalty",
    "rep_pen",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "user",
    "cache_control",
    "thinking",
    "usage",
    "stream_options",
];

/// Our names and the server's.
const PARAM_NAMES: [(&str, &str); 2] = [("seed", "random_seed"), ("max_completion_tokens", "max_tokens")];

/// Length of the id of a tool call.
const CALL_ID_LENGTH: usize = 9;

/// The Mistral dialect.
pub(super) struct MistralDialect;

impl ProviderDialect for MistralDialect {
    fn name(&self) -> &'static str {
        "mistral"
    }

    fn parameter_dialect(&self, _endpoint: &Endpoint) -> ParameterDialect {
        ParameterDialect::Mistral
    }

    fn reply_url(&self, endpoint: &Endpoint, _model: &str) -> Result<Url, ProviderFailure> {
        endpoint.url_with_api_prefix(&["v1"], &["chat", "completions"])
    }

    fn body(&self, request: &Request, endpoint: &Endpoint) -> Value {
        let mut params = params::merge(request, endpoint, &OMITTED_PARAMS);
        params::rename(&mut params, &PARAM_NAMES);
        let mut body = Map::new();
        body.insert("model".into(), request.model.as_str().into());
        body.insert("messages".into(), messages(request).into());
        body.insert("stream".into(), true.into());
        body.extend(params);
        Value::Object(body)
    }

    fn params(&self, request: &Request, endpoint: &Endpoint) -> Map<String, Value> {
        params::merge(request, endpoint, &OMITTED_PARAMS)
    }

    fn param_names(&self) -> &'static [(&'static str, &'static str)] {
        &PARAM_NAMES
    }

    fn supports_prefill(&self, _params: &Map<String, Value>, _endpoint: &Endpoint) -> bool {
        true
    }

    fn reader(&self, request: &Request) -> Box<dyn ChunkReader> {
        // Replies in a row are one turn, which the server repeats whole.
        let story = alternate(request);
        match story.turns.last().filter(|turn| turn.is_assistant && alternation::has_prefill(request)) {
            Some(begun) => Box::new(PrefillEchoReader::new(openai::reader(), &text_of(&begun.parts))),
            None => openai::reader(),
        }
    }

    fn embeddings_url(&self, endpoint: &Endpoint) -> Result<Url, ProviderFailure> {
        endpoint.url_with_api_prefix(&["v1"], &["embeddings"])
    }

    fn model_list_urls(&self, endpoint: &Endpoint) -> Result<Vec<Url>, ProviderFailure> {
        Ok(vec![endpoint.url_with_api_prefix(&["v1"], &["models"])?])
    }

    /// The list also has models for other purposes, which it marks.
    fn parse_models(&self, listed: &[Value]) -> Option<Vec<ModelInfo>> {
        let mut answer = listed.first()?.clone();
        if let Some(entries) = answer.get_mut("data").and_then(Value::as_array_mut) {
            entries.retain(|entry| entry.pointer("/capabilities/completion_chat") != Some(&Value::Bool(false)));
        }
        models::parse(&answer)
    }
}

fn text_of(parts: &[AlternatingTurnPart]) -> String {
    parts.iter().map(|part| part.text.as_str()).collect()
}

/// Returns the messages with alternating roles, and the tool rounds.
fn messages(request: &Request) -> Vec<Value> {
    let story = alternate(request);
    let system = (!story.system.is_empty()).then(|| json!({"role": "system", "content": text_of(&story.system)}));
    let turns = story.turns.iter().map(|turn| {
        let role = if turn.is_assistant { "assistant" } else { "user" };
        json!({"role": role, "content": text_of(&turn.parts)})
    });
    let mut all: Vec<Value> = system.into_iter().chain(turns).collect();
    let begun = all.last_mut().filter(|last| request.rounds.is_empty() && text(last, "role") == Some("assistant"));
    if let Some(begun) = begun.and_then(Value::as_object_mut) {
        begun.insert("prefix".into(), true.into());
    }
    all.extend(request.rounds.iter().flat_map(|round| openai::tool_round_messages(&with_valid_ids(round))));
    all
}

/// Returns a round whose calls have ids that the server accepts. Rounds of another server have others.
fn with_valid_ids(round: &ToolRound) -> ToolRound {
    let call = |call: &ToolCall| ToolCall { id: valid_id(&call.id), ..call.clone() };
    ToolRound { calls: round.calls.iter().map(call).collect(), ..round.clone() }
}

/// Returns the id itself if it is valid, otherwise nine letters and digits made of it.
fn valid_id(id: &str) -> String {
    if id.len() == CALL_ID_LENGTH && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return id.to_owned();
    }
    // FNV-1a: the same id gives the same text in each request.
    let hash = id
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let digits = format!("{hash:016x}");
    digits.chars().take(CALL_ID_LENGTH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, RequestMessage, RequestRole, error_text::ErrorScrubber};

    use RequestRole::{Assistant as A, System as S, User as U};

    fn request(params: Value, messages: &[(RequestRole, &str)]) -> Request {
        let message = |(role, content): &(RequestRole, &str)| RequestMessage {
            role: *role,
            name: Some("Rin".into()),
            content: (*content).into(),
        };
        Request {
            model: "m".into(),
            messages: messages.iter().map(message).collect(),
            params: params.as_object().unwrap().clone(),
            ..Request::default()
        }
    }

    fn body(request: &Request) -> Value {
        MistralDialect.body(request, &Endpoint::new("a", "https://api.mistral.ai"))
    }

    #[test]
    fn mistral_body_matches_wire_format() {
        let params = json!({"seed": 7, "max_completion_tokens": 90, "temperature": 0.7, "top_k": 40, "min_p": 0.1,
            "repetition_penalty": 1.1, "presence_penalty": 0.2, "stop": ["\n"], "safe_prompt": false});
        let story = [(S, "card"), (S, "more"), (A, "Hello."), (U, "Hi."), (S, "hp: 3"), (A, "She ")];
        let expected = json!({"model": "m", "messages": [{"role": "system", "content": "card\n\nmore"},
            {"role": "user", "content": "[Begin]"}, {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "Hi.\n\n[hp: 3]"}, {"role": "assistant", "content": "She ", "prefix": true}],
            "stream": true, "temperature": 0.7, "presence_penalty": 0.2, "stop": ["\n"], "safe_prompt": false,
            "random_seed": 7, "max_tokens": 90});
        assert_eq!(body(&request(params, &story)), expected);
        let url = |base: &str| MistralDialect.reply_url(&Endpoint::new("a", base), "m").unwrap().to_string();
        assert_eq!(url("https://api.mistral.ai"), "https://api.mistral.ai/v1/chat/completions");
        assert_eq!(url("https://api.mistral.ai/v1"), "https://api.mistral.ai/v1/chat/completions");
    }

    #[test]
    fn mistral_ids_of_tool_calls_are_nine_letters_and_digits() {
        let call = |id: &str| ToolCall { id: id.into(), name: "roll".into(), arguments: "{}".into() };
        let round = ToolRound {
            calls: vec![call("call_0123456789"), call("abcDEF123")],
            answers: vec!["4".into(), "5".into()],
            ..ToolRound::default()
        };
        let sent = body(&Request { rounds: vec![round], ..request(json!({}), &[(U, "Hi."), (A, "I roll")]) });
        let messages = sent["messages"].as_array().unwrap();
        let ids: Vec<&str> = [&messages[2]["tool_calls"][0]["id"], &messages[2]["tool_calls"][1]["id"]]
            .map(|id| id.as_str().unwrap())
            .to_vec();
        assert!(ids[0].len() == 9 && ids[0].bytes().all(|byte| byte.is_ascii_alphanumeric()), "{ids:?}");
        assert_eq!((ids[1], messages[1].get("prefix")), ("abcDEF123", None));
        assert_eq!((&messages[3]["tool_call_id"], &messages[4]["tool_call_id"]), (&json!(ids[0]), &json!(ids[1])));
    }

    #[test]
    fn mistral_repeated_prefill_is_not_part_of_the_reply() {
        let begun = request(json!({}), &[(U, "Hi."), (A, "She")]);
        let mut reader = MistralDialect.reader(&begun);
        let mut frames = Vec::new();
        for words in ["She", " lights"] {
            let chunk = json!({"choices": [{"index": 0, "delta": {"content": words}}]});
            reader.read(&chunk, &ErrorScrubber::default(), &mut frames).unwrap();
        }
        assert_eq!(frames, [Frame::Text(" lights".into())]);
    }

    #[test]
    fn mistral_model_list_has_chat_models_only() {
        let listed = json!({"data": [{"id": "a", "max_context_length": 131_072, "capabilities": {"completion_chat": true}},
            {"id": "embed", "capabilities": {"completion_chat": false}}]});
        let models = MistralDialect.parse_models(&[listed]).unwrap();
        let models: Vec<_> = models.iter().map(|model| (model.id.as_str(), model.context_length)).collect();
        assert_eq!(models, [("a", Some(131_072))]);
    }
}
