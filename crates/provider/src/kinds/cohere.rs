//! Cohere's chat, version 2: `POST …/v2/chat`, streamed as named events, and `GET …/v1/models`.
//!
//! The server takes no prefill and no empty messages. What the model plans before it calls tools comes as its reasoning.

use super::openai;
use crate::{
    Endpoint, Frame, ModelInfo, ProviderFailure, Request, ToolRound, Usage, alternation,
    dialect::{ChunkReader, ChunkStatus, ProviderDialect},
    error_report,
    error_text::ErrorScrubber,
    finish_reason,
    json::{count_at, strip_nul, text},
    models,
    parameter_names::ParameterDialect,
    params,
    tool_call_assembler::{ToolCallAssembler, ToolCallPiece, index_of},
};
use reqwest::Url;
use serde_json::{Map, Value, json};

/// Parameters of other servers that this one refuses.
const OMITTED_PARAMS: [&str; 14] = [
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
    "usage",
    "parallel_tool_calls",
    "stream_options",
];

/// Our names and the server's.
const PARAM_NAMES: [(&str, &str); 4] =
    [("stop", "stop_sequences"), ("max_completion_tokens", "max_tokens"), ("top_p", "p"), ("top_k", "k")];

/// The largest `p` that the server takes.
const MAX_P: f64 = 0.99;

/// The Cohere dialect.
pub(super) struct CohereDialect;

impl ProviderDialect for CohereDialect {
    fn name(&self) -> &'static str {
        "cohere"
    }

    fn parameter_dialect(&self, _endpoint: &Endpoint) -> ParameterDialect {
        ParameterDialect::Cohere
    }

    fn reply_url(&self, endpoint: &Endpoint, _model: &str) -> Result<Url, ProviderFailure> {
        root_of(endpoint).url(&["v2", "chat"])
    }

    fn body(&self, request: &Request, endpoint: &Endpoint) -> Value {
        let mut params = params::merge(request, endpoint, &OMITTED_PARAMS);
        let stops = params::take_stop_strings(&mut params, "stop");
        if !stops.is_empty() && !params.contains_key("stop_sequences") {
            params.insert("stop_sequences".into(), stops.into());
        }
        params::rename(&mut params, &PARAM_NAMES);
        // A larger `p` takes every token, which is also what no `p` means.
        if params.get("p").and_then(Value::as_f64).is_some_and(|p| p > MAX_P) {
            params.shift_remove("p");
        }
        translate_reasoning(&mut params);
        if let Some(choice) = params.shift_remove("tool_choice")
            && let Some(choice @ ("required" | "none")) = choice.as_str()
        {
            params.insert("tool_choice".into(), choice.to_ascii_uppercase().into());
        }
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

    fn reader(&self, _request: &Request) -> Box<dyn ChunkReader> {
        Box::new(CohereReader::default())
    }

    fn model_list_urls(&self, endpoint: &Endpoint) -> Result<Vec<Url>, ProviderFailure> {
        let mut url = root_of(endpoint).url(&["v1", "models"])?;
        url.query_pairs_mut().append_pair("page_size", "1000").append_pair("endpoint", "chat");
        Ok(vec![url])
    }

    fn parse_models(&self, listed: &[Value]) -> Option<Vec<ModelInfo>> {
        models::parse(listed.first()?)
    }
}

/// Returns the endpoint without the version and the method in its address.
fn root_of(endpoint: &Endpoint) -> Endpoint {
    let mut base_url = endpoint.base_url.trim_end_matches('/');
    for ending in ["/chat", "/v1", "/v2"] {
        base_url = base_url.strip_suffix(ending).unwrap_or(base_url);
    }
    Endpoint { base_url: base_url.to_owned(), ..endpoint.clone() }
}

/// Turns the reasoning of the model on or off, as the effort says.
fn translate_reasoning(params: &mut Map<String, Value>) {
    if let Some(effort) = params.shift_remove("reasoning_effort")
        && !params.contains_key("thinking")
    {
        let is_off = matches!(effort.as_str(), Some("none" | "minimal"));
        params.insert("thinking".into(), json!({"type": if is_off { "disabled" } else { "enabled" }}));
    }
}

/// Returns the messages that are not empty, and the tool rounds. There is always one of the user.
fn messages(request: &Request) -> Vec<Value> {
    let asked = alternation::with_continue_instruction(request);
    let said = asked.messages.iter().filter(|message| !message.content.trim().is_empty());
    let mut all: Vec<Value> =
        said.map(|message| json!({"role": message.role.as_str(), "content": message.content})).collect();
    if !all.iter().any(|message| text(message, "role") == Some("user")) {
        all.push(json!({"role": "user", "content": alternation::OPENING_MESSAGE}));
    }
    all.extend(request.rounds.iter().flat_map(tool_round_messages));
    all
}

/// Returns the tool calls of a round and their results. What the model said before is its plan.
fn tool_round_messages(round: &ToolRound) -> Vec<Value> {
    let mut messages = openai::tool_round_messages(&ToolRound { provider_state: None, ..round.clone() });
    if let Some(asked) = messages.first_mut().and_then(Value::as_object_mut) {
        let said = asked.shift_remove("content").filter(|said| said.as_str().is_some_and(|said| !said.is_empty()));
        asked.extend(said.map(|said| ("tool_plan".to_owned(), said)));
    }
    messages
}

/// Reads the events of a stream, or a whole message.
#[derive(Debug, Default)]
struct CohereReader {
    calls: ToolCallAssembler,
}

impl ChunkReader for CohereReader {
    fn read(
        &mut self,
        chunk: &Value,
        scrub: &ErrorScrubber,
        frames: &mut Vec<Frame>,
    ) -> Result<ChunkStatus, ProviderFailure> {
        let mut status = ChunkStatus { recognised: true, ..ChunkStatus::default() };
        let delta = chunk.get("delta").unwrap_or(&Value::Null);
        match text(chunk, "type").unwrap_or_default() {
            "message-start" | "content-end" | "tool-call-end" | "citation-start" | "citation-end" | "debug" => {}
            "content-start" | "content-delta" => read_part(delta.pointer("/message/content"), frames),
            "tool-plan-delta" => push_reasoning(delta.pointer("/message/tool_plan").and_then(Value::as_str), frames),
            "tool-call-start" | "tool-call-delta" => {
                if let Some(call) = delta.pointer("/message/tool_calls") {
                    self.read_call(call, chunk.get("index").and_then(index_of));
                }
            }
            "message-end" => {
                status.finished = self.read_end(delta, scrub, frames)?;
                status.done = true;
            }
            _ if chunk.get("message").is_some_and(Value::is_object) => {
                self.read_whole(chunk, frames);
                status.finished = self.read_end(chunk, scrub, frames)?;
            }
            _ => {
                let error =
                    error_report::error_of(chunk).or_else(|| chunk.get("message").filter(|told| told.is_string()));
                match error {
                    Some(error) => return Err(error_report::failure_of(error, scrub)),
                    None => status.recognised = false,
                }
            }
        }
        Ok(status)
    }

    fn flush(&mut self, frames: &mut Vec<Frame>) {
        frames.extend(self.calls.finish().into_iter().map(|(call, _)| Frame::ToolCall(call)));
    }

    fn names_events(&self) -> bool {
        true
    }
}

impl CohereReader {
    fn read_call(&mut self, call: &Value, index: Option<u64>) {
        let function = call.get("function").unwrap_or(&Value::Null);
        self.calls.push_piece(ToolCallPiece {
            index,
            id: text(call, "id"),
            name: text(function, "name"),
            arguments: function.get("arguments"),
            ..ToolCallPiece::default()
        });
    }

    fn read_whole(&mut self, chunk: &Value, frames: &mut Vec<Frame>) {
        let list = |path: &str| chunk.pointer(path).and_then(Value::as_array).into_iter().flatten();
        push_reasoning(chunk.pointer("/message/tool_plan").and_then(Value::as_str), frames);
        list("/message/content").for_each(|part| read_part(Some(part), frames));
        for (nth, call) in list("/message/tool_calls").enumerate() {
            self.read_call(call, u64::try_from(nth).ok());
        }
    }

    /// Reads the finish reason and the usage. Returns whether there was a reason.
    fn read_end(
        &mut self,
        end: &Value,
        scrub: &ErrorScrubber,
        frames: &mut Vec<Frame>,
    ) -> Result<bool, ProviderFailure> {
        frames.extend(end.get("usage").and_then(usage).map(Frame::Usage));
        let Some(reason) = text(end, "finish_reason") else { return Ok(false) };
        let finish = match reason {
            "ERROR" | "TIMEOUT" => {
                let words = text(end, "error").unwrap_or_default();
                return Err(ProviderFailure::Failed { status: None, words: scrub.clean(words), retry_after: None });
            }
            reason => match finish_reason::read(reason, scrub)? {
                Some(finish) => finish,
                None => return Ok(false),
            },
        };
        self.flush(frames);
        frames.push(Frame::Finish(finish));
        Ok(true)
    }
}

fn read_part(part: Option<&Value>, frames: &mut Vec<Frame>) {
    let Some(part) = part else { return };
    push_reasoning(text(part, "thinking"), frames);
    let words = text(part, "text").filter(|words| !words.is_empty());
    frames.extend(words.map(|words| Frame::Text(strip_nul(words))));
}

fn push_reasoning(words: Option<&str>, frames: &mut Vec<Frame>) {
    frames.extend(words.filter(|words| !words.is_empty()).map(|words| Frame::Reasoning(strip_nul(words))));
}

/// Reads the counts of tokens, which include the server's own instructions, or else those that are paid for.
fn usage(usage: &Value) -> Option<Usage> {
    let prompt = count_at(usage, &["/tokens/input_tokens", "/billed_units/input_tokens"]);
    let completion = count_at(usage, &["/tokens/output_tokens", "/billed_units/output_tokens"]);
    prompt.or(completion)?;
    Some(Usage {
        prompt: prompt.unwrap_or_default(),
        completion: completion.unwrap_or_default(),
        cached: count_at(usage, &["/cached_tokens"]),
        ..Usage::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FinishReason, RequestMessage, RequestRole, ToolCall};

    use RequestRole::{Assistant as A, System as S, User as U};

    fn request(params: Value, messages: &[(RequestRole, &str)]) -> Request {
        let message = |(role, content): &(RequestRole, &str)| RequestMessage {
            role: *role,
            name: None,
            content: (*content).into(),
        };
        Request {
            model: "command".into(),
            messages: messages.iter().map(message).collect(),
            params: params.as_object().unwrap().clone(),
            ..Request::default()
        }
    }

    fn body(request: &Request) -> Value {
        CohereDialect.body(request, &Endpoint::new("a", "https://api.cohere.com/v2"))
    }

    #[test]
    fn cohere_body_matches_wire_format() {
        let params = json!({"max_tokens": 90, "temperature": 0.7, "top_p": 0.9, "top_k": 40, "stop": ["\n"], "seed": 7,
            "min_p": 0.1, "repetition_penalty": 1.1, "tool_choice": "required", "reasoning_effort": "none"});
        let sent = body(&request(params, &[(S, "card"), (U, "Hi."), (A, " "), (S, "hp: 3")]));
        let expected = json!({"model": "command", "messages": [{"role": "system", "content": "card"},
            {"role": "user", "content": "Hi."}, {"role": "system", "content": "hp: 3"}], "stream": true,
            "max_tokens": 90, "temperature": 0.7, "seed": 7, "stop_sequences": ["\n"], "p": 0.9, "k": 40,
            "thinking": {"type": "disabled"}, "tool_choice": "REQUIRED"});
        assert_eq!(sent, expected);
        assert_eq!(body(&request(json!({"top_p": 1, "tool_choice": "auto"}), &[(U, "Hi.")])).get("p"), None);
        let begun = body(&request(json!({}), &[(A, "She")]));
        assert_eq!(begun["messages"].as_array().unwrap().last().unwrap()["role"], "user");
    }

    #[test]
    fn cohere_addresses_any_version_lead_to_chat() {
        for base in ["https://h", "https://h/", "https://h/v1", "https://h/v2", "https://h/v2/chat"] {
            let endpoint = Endpoint::new("a", base);
            assert_eq!(CohereDialect.reply_url(&endpoint, "m").unwrap().as_str(), "https://h/v2/chat");
            let list = CohereDialect.model_list_urls(&endpoint).unwrap();
            assert_eq!(list[0].as_str(), "https://h/v1/models?page_size=1000&endpoint=chat");
        }
    }

    #[test]
    fn cohere_tool_round_has_plan_and_results() {
        let call = ToolCall { id: "c".into(), name: "roll".into(), arguments: "{}".into() };
        let round =
            ToolRound { text: "I roll.".into(), calls: vec![call], answers: vec!["4".into()], ..ToolRound::default() };
        let sent = body(&Request { rounds: vec![round], ..request(json!({}), &[(U, "Hi.")]) });
        let function = json!({"name": "roll", "arguments": "{}"});
        let expected = json!([{"role": "user", "content": "Hi."},
            {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": function}], "tool_plan": "I roll."},
            {"role": "tool", "tool_call_id": "c", "content": "4"}]);
        assert_eq!(sent["messages"], expected);
    }

    #[test]
    fn cohere_whole_message_is_read() {
        let whole = json!({"id": "1", "finish_reason": "MAX_TOKENS",
            "message": {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}]},
            "usage": {"billed_units": {"input_tokens": 2, "output_tokens": 1}, "tokens": {"input_tokens": 9, "output_tokens": 1}}});
        let mut frames = Vec::new();
        CohereReader::default().read(&whole, &ErrorScrubber::default(), &mut frames).unwrap();
        let usage = Usage { prompt: 9, completion: 1, ..Usage::default() };
        let expected = [
            Frame::Reasoning("hm".into()),
            Frame::Text("a".into()),
            Frame::Usage(usage),
            Frame::Finish(FinishReason::Length),
        ];
        assert_eq!(frames, expected);
        let failed = json!({"type": "message-end", "delta": {"finish_reason": "ERROR", "error": "no room"}});
        let failure = CohereReader::default().read(&failed, &ErrorScrubber::default(), &mut frames).unwrap_err();
        assert!(failure.to_string().contains("no room"), "{failure}");
    }

    #[test]
    fn cohere_model_list_has_names_and_lengths() {
        let models =
            CohereDialect.parse_models(&[json!({"models": [{"name": "command-a", "context_length": 256_000}]})]);
        let models = models.unwrap();
        assert_eq!((models[0].id.as_str(), models[0].context_length), ("command-a", Some(256_000)));
    }
}
