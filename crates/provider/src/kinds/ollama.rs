//! Ollama: `POST …/api/chat`, a JSON value on each line, and `GET …/api/tags`.
//!
//! The request sets the context length: without `num_ctx` the server uses a short one and cuts longer prompts silently.
//! So the length for which the prompt was made is sent.

use crate::{
    Endpoint, FinishReason, Frame, ModelInfo, ProviderFailure, Request, ToolCall, ToolRound, Usage,
    dialect::{ChunkReader, ChunkStatus, Framing, ProviderDialect},
    error_report,
    error_text::ErrorScrubber,
    finish_reason,
    json::{count_at, parse_object, strip_nul, text},
    parameter_names::ParameterDialect,
    params,
    stream_state::ModelNameTracker,
    tool_call_assembler::{ToolCallAssembler, ToolCallPiece},
};
use reqwest::Url;
use serde_json::{Map, Value, json};

/// Parameters of other servers that this one cannot use.
const OMITTED_PARAMS: [&str; 7] =
    ["logit_bias", "logprobs", "top_logprobs", "user", "tool_choice", "response_format", "top_a"];

/// Our names and those in `options`.
const OPTION_NAMES: [(&str, &str); 4] = [
    ("max_completion_tokens", "num_predict"),
    ("max_tokens", "num_predict"),
    ("repetition_penalty", "repeat_penalty"),
    ("rep_pen", "repeat_penalty"),
];

/// Fields of the request outside `options`.
const TOP_LEVEL_PARAMS: [&str; 4] = ["think", "keep_alive", "format", "tools"];

/// The Ollama dialect.
pub(super) struct OllamaDialect;

impl ProviderDialect for OllamaDialect {
    fn name(&self) -> &'static str {
        "ollama"
    }

    fn reply_url(&self, endpoint: &Endpoint, _model: &str) -> Result<Url, ProviderFailure> {
        endpoint.url_with_api_prefix(&["api"], &["chat"])
    }

    fn body(&self, request: &Request, endpoint: &Endpoint) -> Value {
        let mut options = params::merge(request, endpoint, &OMITTED_PARAMS);
        let chat_messages = request.messages.iter().filter(|message| !message.content.trim().is_empty());
        let chat_messages =
            chat_messages.map(|message| json!({"role": message.role.as_str(), "content": message.content}));
        let messages: Vec<Value> = chat_messages.chain(request.rounds.iter().flat_map(tool_round_messages)).collect();
        let mut body = Map::new();
        body.insert("model".into(), request.model.as_str().into());
        body.insert("messages".into(), messages.into());
        body.insert("stream".into(), true.into());
        for name in TOP_LEVEL_PARAMS {
            body.extend(options.shift_remove(name).map(|value| (name.to_owned(), value)));
        }
        if let Some(Value::Object(own)) = options.shift_remove("options") {
            options.extend(own);
        }
        params::rename(&mut options, &OPTION_NAMES);
        let stops = params::take_stop_strings(&mut options, "stop");
        if !stops.is_empty() {
            options.insert("stop".into(), stops.into());
        }
        if let Some(context) = request.context {
            options.entry("num_ctx").or_insert_with(|| context.into());
        }
        body.insert("options".into(), Value::Object(options));
        Value::Object(body)
    }

    fn params(&self, request: &Request, endpoint: &Endpoint) -> Map<String, Value> {
        params::merge(request, endpoint, &OMITTED_PARAMS)
    }

    fn parameter_dialect(&self, _endpoint: &Endpoint) -> ParameterDialect {
        ParameterDialect::Ollama
    }

    fn param_names(&self) -> &'static [(&'static str, &'static str)] {
        &OPTION_NAMES
    }

    fn framing(&self) -> Framing {
        Framing::JsonLines
    }

    fn reader(&self, _request: &Request) -> Box<dyn ChunkReader> {
        Box::new(OllamaReader::default())
    }

    fn embeddings_url(&self, endpoint: &Endpoint) -> Result<Url, ProviderFailure> {
        endpoint.url_with_api_prefix(&["api"], &["embed"])
    }

    fn model_list_urls(&self, endpoint: &Endpoint) -> Result<Vec<Url>, ProviderFailure> {
        Ok(vec![endpoint.url_with_api_prefix(&["api"], &["tags"])?])
    }

    /// Omits context lengths, because the model's maximum is not what the server uses.
    fn parse_models(&self, models: &[Value]) -> Option<Vec<ModelInfo>> {
        let list = models.first()?.get("models")?.as_array()?;
        let name = |entry: &Value| text(entry, "model").or_else(|| text(entry, "name")).map(str::to_owned);
        Some(list.iter().filter_map(name).map(|id| ModelInfo { id, ..ModelInfo::default() }).collect())
    }

    fn context_size(&self, params: &Map<String, Value>) -> Option<u64> {
        let own = params.get("options").and_then(|options| options.get("num_ctx"));
        params.get("num_ctx").or(own)?.as_u64()
    }
}

/// Returns the tool calls of a round and their results.
fn tool_round_messages(round: &ToolRound) -> Vec<Value> {
    let call = |call: &ToolCall| json!({"function": {"name": call.name, "arguments": parse_object(&call.arguments)}});
    let calls: Vec<Value> = round.calls.iter().map(call).collect();
    let asked = json!({"role": "assistant", "content": round.text, "tool_calls": calls});
    let answer = |(call, text): (&ToolCall, &str)| json!({"role": "tool", "tool_name": call.name, "content": text});
    std::iter::once(asked).chain(round.calls_with_answers().map(answer)).collect()
}

/// Reads the lines of a stream, or the single line of a whole response.
#[derive(Debug, Default)]
struct OllamaReader {
    model: ModelNameTracker,
    calls: ToolCallAssembler,
    tool_calls: u64,
}

impl ChunkReader for OllamaReader {
    fn read(
        &mut self,
        chunk: &Value,
        scrub: &ErrorScrubber,
        frames: &mut Vec<Frame>,
    ) -> Result<ChunkStatus, ProviderFailure> {
        if let Some(error) = error_report::error_of(chunk) {
            return Err(error_report::failure_of(error, scrub));
        }
        let message = chunk.get("message");
        frames.extend(text(chunk, "model").and_then(|model| self.model.update(model, scrub)));
        if let Some(message) = message {
            frames.extend(text(message, "thinking").map(|words| Frame::Reasoning(strip_nul(words))));
            frames.extend(text(message, "content").map(|words| Frame::Text(strip_nul(words))));
            self.read_calls(message);
        }
        let is_over = chunk.get("done") == Some(&Value::Bool(true));
        if is_over {
            let has_calls = self.tool_calls > 0;
            self.flush(frames);
            frames.extend(finish(chunk, has_calls, scrub)?.map(Frame::Finish));
            frames.extend(usage(chunk).map(Frame::Usage));
        }
        Ok(ChunkStatus { recognised: message.is_some() || is_over, finished: is_over, done: is_over })
    }

    fn flush(&mut self, frames: &mut Vec<Frame>) {
        frames.extend(self.calls.finish().into_iter().map(|(call, _)| Frame::ToolCall(call)));
    }
}

impl OllamaReader {
    /// A tool call comes complete, with its arguments as JSON.
    fn read_calls(&mut self, message: &Value) {
        for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let function = call.get("function").unwrap_or(call);
            self.calls.push_piece(ToolCallPiece {
                // Its own number, because ids can be missing or the same.
                index: Some(self.tool_calls),
                id: text(call, "id"),
                name: text(function, "name"),
                arguments: function.get("arguments"),
                ..ToolCallPiece::default()
            });
            self.tool_calls = self.tool_calls.saturating_add(1);
        }
    }
}

fn finish(chunk: &Value, has_calls: bool, scrub: &ErrorScrubber) -> Result<Option<FinishReason>, ProviderFailure> {
    Ok(match finish_reason::read(text(chunk, "done_reason").unwrap_or_default(), scrub)? {
        Some(FinishReason::Stop) if has_calls => Some(FinishReason::ToolCalls),
        known => known,
    })
}

/// Reads the usage. The server does not count a prompt that is entirely in its cache.
fn usage(chunk: &Value) -> Option<Usage> {
    let (prompt, completion) = (count_at(chunk, &["/prompt_eval_count"]), count_at(chunk, &["/eval_count"]));
    prompt.or(completion)?;
    Some(Usage { prompt: prompt.unwrap_or_default(), completion: completion.unwrap_or_default(), ..Usage::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RequestMessage, RequestRole, ToolCall};

    #[test]
    fn ollama_body_matches_wire_format() {
        let message = |role, content: &str| RequestMessage { role, name: None, content: content.into() };
        let params = json!({"max_tokens": 100, "temperature": 0.7, "stop": "\n", "seed": 7, "repetition_penalty": 1.1, "user": "x"});
        let request = Request {
            model: "m:7b".into(),
            messages: vec![
                message(RequestRole::System, "card"),
                message(RequestRole::User, "Hi."),
                message(RequestRole::Assistant, "She "),
            ],
            params: params.as_object().unwrap().clone(),
            context: Some(8192),
            ..Request::default()
        };
        let extra = json!({"think": false, "options": {"num_gpu": 1}}).as_object().unwrap().clone();
        let endpoint = Endpoint { extra, ..Endpoint::new("a", "http://a") };
        let expected = json!({"model": "m:7b", "messages": [{"role": "system", "content": "card"},
            {"role": "user", "content": "Hi."}, {"role": "assistant", "content": "She "}], "stream": true, "think": false,
            "options": {"temperature": 0.7, "seed": 7, "num_gpu": 1, "num_predict": 100, "repeat_penalty": 1.1,
                "stop": ["\n"], "num_ctx": 8192}});
        assert_eq!(OllamaDialect.body(&request, &endpoint), expected);
        let own = json!({"num_ctx": 4096});
        let own = Endpoint { extra: own.as_object().unwrap().clone(), ..Endpoint::new("a", "http://a/api") };
        assert_eq!(OllamaDialect.body(&request, &own)["options"]["num_ctx"], 4096);
        assert_eq!(
            (OllamaDialect.context_size(&own.extra), OllamaDialect.context_size(&endpoint.extra)),
            (Some(4096), None)
        );
        assert_eq!(OllamaDialect.reply_url(&own, "m").unwrap().as_str(), "http://a/api/chat");
    }

    #[test]
    fn ollama_stream_returns_reasoning_tools_usage_and_finish() {
        let (mut lines, mut frames, scrub) = (OllamaReader::default(), Vec::new(), ErrorScrubber::default());
        for line in [
            json!({"model": "m", "message": {"role": "assistant", "content": "", "thinking": "hm"}, "done": false}),
            json!({"model": "m", "message": {"role": "assistant", "content": "Yes."}, "done": false}),
            json!({"model": "m", "message": {"tool_calls": [{"function": {"name": "roll", "arguments": {"sides": 6}}}]}, "done": false}),
        ] {
            assert_eq!(
                lines.read(&line, &scrub, &mut frames).unwrap(),
                ChunkStatus { recognised: true, ..ChunkStatus::default() }
            );
        }
        let last = json!({"model": "m", "message": {"content": ""}, "done": true, "done_reason": "stop", "prompt_eval_count": 12, "eval_count": 5});
        assert!(lines.read(&last, &scrub, &mut frames).unwrap().done);
        let call = ToolCall { id: String::new(), name: "roll".into(), arguments: r#"{"sides":6}"#.into() };
        assert_eq!(
            frames,
            [
                Frame::Model("m".into()),
                Frame::Reasoning("hm".into()),
                Frame::Text("Yes.".into()),
                Frame::ToolCall(call),
                Frame::Finish(FinishReason::ToolCalls),
                Frame::Usage(Usage { prompt: 12, completion: 5, ..Usage::default() }),
            ]
        );
        let failed = lines.read(&json!({"error": "model not found"}), &scrub, &mut frames).unwrap_err();
        assert_eq!((failed.code(), failed.to_string().contains("model not found")), ("provider_failed", true));
    }

    #[test]
    fn ollama_model_list_returns_local_models() {
        let models = json!({"models": [{"name": "a:latest", "model": "a:latest"}, {"name": "b"}, {}]});
        let ids: Vec<String> = OllamaDialect.parse_models(&[models]).unwrap().into_iter().map(|info| info.id).collect();
        assert_eq!(ids, ["a:latest", "b"]);
        assert!(OllamaDialect.parse_models(&[json!([])]).is_none());
    }
}
