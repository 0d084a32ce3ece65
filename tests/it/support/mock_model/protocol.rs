//! The protocols of the mock, and how each one encodes a reply.

use serde_json::{Value, json};

/// The protocol of a client, recognised by its request line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Protocol {
    #[default]
    OpenAi,
    Anthropic,
    Gemini,
    Ollama,
    KoboldCpp,
    LlamaCpp,
    Cohere,
    /// A job of the AI Horde, or a question about it. Only scripted replies.
    Horde,
}

/// The limits of a request, independent of its protocol.
pub(super) struct RequestLimits {
    pub max_tokens: Option<u64>,
    pub stop_sequences: Vec<String>,
}

/// How a reply ended, with the finish reason and usage in OpenAI's terms.
pub(super) struct ReplyEnd<'a> {
    pub finish_reason: Option<&'a str>,
    pub usage: Option<&'a Value>,
}

impl ReplyEnd<'_> {
    fn usage_count(&self, name: &str) -> Option<u64> {
        self.usage?.get(name)?.as_u64()
    }

    fn cached_tokens(&self) -> Option<u64> {
        self.usage?.pointer("/prompt_tokens_details/cached_tokens")?.as_u64()
    }
}

impl Protocol {
    /// Returns the protocol of a request for a reply.
    pub fn from_request_line(line: &str) -> Option<Self> {
        Some(match line {
            "POST /v1/chat/completions" => Self::OpenAi,
            "POST /v1/messages" => Self::Anthropic,
            "POST /api/chat" => Self::Ollama,
            "POST /api/extra/generate/stream" => Self::KoboldCpp,
            "POST /completion" => Self::LlamaCpp,
            "POST /v2/chat" => Self::Cohere,
            "POST /api/v2/generate/text/async" => Self::Horde,
            line if line.starts_with("GET /api/v2/generate/text/status/") => Self::Horde,
            line if line.starts_with("POST /openai/deployments/mock/chat/completions?api-version=") => Self::OpenAi,
            line if line.starts_with("POST /v1beta/models/") && line.ends_with(":streamGenerateContent?alt=sse") => {
                Self::Gemini
            }
            _ => return None,
        })
    }

    /// Returns the model lists and settings that only providers other than OpenAI are asked for. The model is always
    /// `mock`.
    pub fn metadata_response(line: &str) -> Option<Value> {
        Some(match line {
            "GET /v1/models?limit=1000" => json!({"data": [
                {"type": "model", "id": "mock", "display_name": "Mock", "max_input_tokens": 8192}], "has_more": false}),
            "GET /v1beta/models?pageSize=1000" => json!({"models": [
                {"name": "models/mock", "inputTokenLimit": 8192, "supportedGenerationMethods": ["generateContent"]},
                {"name": "models/embedder", "supportedGenerationMethods": ["embedContent"]}]}),
            "GET /v1/models?page_size=1000&endpoint=chat" => {
                json!({"models": [{"name": "mock", "context_length": 8192, "endpoints": ["chat"]}]})
            }
            "GET /openai/models?api-version=2024-10-21" => json!({"data": [{"id": "gpt-4o-2024-08-06"}]}),
            "GET /api/v2/status/models?type=text" => json!([{"name": "mock", "count": 1, "type": "text"}]),
            "GET /api/tags" => json!({"models": [{"name": "mock", "model": "mock", "details": {"family": "mock"}}]}),
            "GET /api/v1/model" => json!({"result": "mock"}),
            "GET /api/extra/true_max_context_length" => json!({"value": 8192}),
            "GET /props" => json!({"default_generation_settings": {"n_ctx": 8192}, "total_slots": 1}),
            _ => return None,
        })
    }

    /// Answers a token count request of a text completion server. A word is a token here.
    pub fn token_count_response(line: &str, request: &Value) -> Option<Value> {
        let words = |name: &str| request[name].as_str().unwrap_or_default().split_whitespace().count();
        Some(match line {
            "POST /tokenize" => json!({"tokens": vec![7; words("content")]}),
            "POST /api/extra/tokencount" => json!({"value": words("prompt"), "ids": []}),
            _ => return None,
        })
    }

    /// Returns the content type of a stream.
    pub(super) fn content_type(self) -> &'static str {
        if self == Self::Ollama { "application/x-ndjson" } else { "text/event-stream" }
    }

    pub(super) fn request_limits(self, request: &Value) -> RequestLimits {
        let (most, stops) = match self {
            Self::OpenAi => ("/max_tokens", "/stop"),
            Self::Horde => ("/params/max_length", "/params/stop_sequence"),
            Self::Anthropic | Self::Cohere => ("/max_tokens", "/stop_sequences"),
            Self::Gemini => ("/generationConfig/maxOutputTokens", "/generationConfig/stopSequences"),
            Self::Ollama => ("/options/num_predict", "/options/stop"),
            Self::KoboldCpp => ("/max_length", "/stop_sequence"),
            Self::LlamaCpp => ("/n_predict", "/stop"),
        };
        let stops = match request.pointer(stops) {
            Some(Value::String(stop)) => vec![stop.clone()],
            stops => {
                let stops = stops.and_then(Value::as_array).into_iter().flatten();
                stops.filter_map(Value::as_str).map(str::to_owned).collect()
            }
        };
        RequestLimits { max_tokens: request.pointer(most).and_then(Value::as_u64), stop_sequences: stops }
    }

    /// Returns the chunks that come before everything else.
    pub(super) fn start_chunks(self, request: &Value, last: &ReplyEnd<'_>) -> Vec<Value> {
        if self != Self::Anthropic {
            return Vec::new();
        }
        let cached = last.cached_tokens().unwrap_or_default();
        let fresh = last.usage_count("prompt_tokens").unwrap_or_default().saturating_sub(cached);
        let usage = json!({"input_tokens": fresh, "cache_creation_input_tokens": 0, "cache_read_input_tokens": cached, "output_tokens": 1});
        let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": request["model"],
            "content": [], "stop_reason": null, "usage": usage});
        vec![json!({"type": "message_start", "message": message}), json!({"type": "ping"})]
    }

    /// Encodes a piece of reasoning (`is_thought`) or of text.
    pub(super) fn encode_piece(self, request: &Value, words: &str, is_thought: bool) -> Value {
        match self {
            Self::OpenAi | Self::Horde => json!({"choices": [{"index": 0, "delta": {"content": words}}]}),
            Self::Cohere => {
                let name = if is_thought { "thinking" } else { "text" };
                json!({"type": "content-delta", "index": 0, "delta": {"message": {"content": {name: words}}}})
            }
            Self::Anthropic if is_thought => json!({"type": "content_block_delta", "index": 0,
                "delta": {"type": "thinking_delta", "thinking": words}}),
            Self::Anthropic => {
                json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": words}})
            }
            Self::Gemini => {
                let part = if is_thought { json!({"text": words, "thought": true}) } else { json!({"text": words}) };
                json!({"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}], "modelVersion": "mock"})
            }
            Self::Ollama => {
                let name = if is_thought { "thinking" } else { "content" };
                json!({"model": request["model"], "message": {"role": "assistant", name: words}, "done": false})
            }
            Self::KoboldCpp => json!({"token": words, "finish_reason": null}),
            Self::LlamaCpp => json!({"index": 0, "content": words, "stop": false, "id_slot": 0}),
        }
    }

    /// Encodes a tool call.
    pub(super) fn encode_tool_call(self, request: &Value, nth: usize, name: &str, arguments: &Value) -> Vec<Value> {
        match self {
            Self::Anthropic => {
                let block = json!({"type": "tool_use", "id": format!("t{nth}"), "name": name, "input": {}});
                let input = json!({"type": "input_json_delta", "partial_json": arguments.to_string()});
                vec![
                    json!({"type": "content_block_start", "index": nth + 2, "content_block": block}),
                    json!({"type": "content_block_delta", "index": nth + 2, "delta": input}),
                    json!({"type": "content_block_stop", "index": nth + 2}),
                ]
            }
            Self::Gemini => {
                let parts = json!([{"functionCall": {"name": name, "args": arguments}}]);
                vec![
                    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}], "modelVersion": "mock"}),
                ]
            }
            Self::Ollama => {
                let calls = json!([{"function": {"name": name, "arguments": arguments}}]);
                vec![
                    json!({"model": request["model"], "message": {"role": "assistant", "content": "", "tool_calls": calls}, "done": false}),
                ]
            }
            Self::OpenAi | Self::KoboldCpp | Self::LlamaCpp | Self::Cohere | Self::Horde => {
                let call = json!({"name": name, "arguments": arguments});
                vec![self.encode_piece(request, &format!("<tool_call>{call}</tool_call> And then"), false)]
            }
        }
    }

    /// Returns the chunks of a proper end.
    pub(super) fn end_chunks(self, request: &Value, last: &ReplyEnd<'_>) -> Vec<Value> {
        let (prompt, completion) = (last.usage_count("prompt_tokens"), last.usage_count("completion_tokens"));
        let of = |names: [&str; 3]| match last.finish_reason {
            Some("stop") => names[0].to_owned(),
            Some("length") => names[1].to_owned(),
            Some("content_filter") => names[2].to_owned(),
            other => other.unwrap_or_default().to_owned(),
        };
        match self {
            Self::OpenAi | Self::Horde => Vec::new(),
            Self::Cohere => {
                let reason = of(["COMPLETE", "MAX_TOKENS", "content_filter"]);
                let mut delta = json!({"finish_reason": reason});
                if let (Some(prompt), Some(completion)) = (prompt, completion) {
                    delta["usage"] = json!({"tokens": {"input_tokens": prompt, "output_tokens": completion},
                        "cached_tokens": last.cached_tokens()});
                }
                vec![json!({"type": "message-end", "delta": delta})]
            }
            Self::Anthropic => {
                let reason = of(["end_turn", "max_tokens", "refusal"]);
                let usage = json!({"output_tokens": completion.unwrap_or_default()});
                let delta = json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": usage});
                vec![delta, json!({"type": "message_stop"})]
            }
            Self::Gemini => {
                let reason = of(["STOP", "MAX_TOKENS", "SAFETY"]);
                let mut end = json!({"candidates": [{"content": {"role": "model", "parts": []}, "finishReason": reason}], "modelVersion": "mock"});
                if let (Some(prompt), Some(completion)) = (prompt, completion) {
                    end["usageMetadata"] = json!({"promptTokenCount": prompt, "candidatesTokenCount": completion});
                    if let Some(cached) = last.cached_tokens() {
                        end["usageMetadata"]["cachedContentTokenCount"] = cached.into();
                    }
                }
                vec![end]
            }
            Self::Ollama => {
                let reason = of(["stop", "length", "safety"]);
                vec![json!({"model": request["model"], "message": {"role": "assistant", "content": ""}, "done": true,
                    "done_reason": reason, "prompt_eval_count": prompt, "eval_count": completion})]
            }
            Self::KoboldCpp => vec![json!({"token": "", "finish_reason": of(["stop", "length", "safety"])})],
            Self::LlamaCpp => {
                let reason = of(["eos", "limit", "safety"]);
                vec![json!({"index": 0, "content": "", "stop": true, "model": "mock", "stop_type": reason,
                    "tokens_evaluated": prompt, "tokens_predicted": completion, "timings": {"cache_n": last.cached_tokens()}})]
            }
        }
    }

    /// Encodes an error in the middle of a stream.
    pub(super) fn encode_error(self, code: u16, words: &str) -> Value {
        match self {
            Self::Anthropic => {
                let name = match code {
                    429 => "rate_limit_error",
                    529 => "overloaded_error",
                    400..500 => "invalid_request_error",
                    _ => "api_error",
                };
                json!({"type": "error", "error": {"type": name, "message": words}})
            }
            Self::Ollama => json!({"error": words}),
            _ => json!({"error": {"code": code, "message": words}}),
        }
    }

    /// Returns the bytes of one chunk as they are sent.
    pub(super) fn frame_chunk(self, chunk: &Value) -> Vec<u8> {
        match self {
            Self::Ollama => format!("{chunk}\n"),
            Self::Anthropic | Self::Cohere => {
                format!("event: {}\ndata: {chunk}\n\n", chunk["type"].as_str().unwrap_or_default())
            }
            Self::KoboldCpp => format!("event: message\ndata: {chunk}\n\n"),
            _ => format!("data: {chunk}\r\n\r\n"),
        }
        .into_bytes()
    }
}
