//! Anthropic's Messages API: `POST …/v1/messages`, streamed, and `GET …/v1/models`.
//!
//! The system prompt is separate and roles alternate ([`alternation`]). The vendor caches the prompt up to two marks:
//! the end of the system prompt and the last message that the next prompt repeats. Reasoning comes in its own blocks.
//! They are signed or encrypted, and go back unchanged with the results of tools.

use crate::{
    Endpoint, Frame, ModelInfo, ProviderFailure, Request, ToolCall, ToolRound, Usage,
    alternation::{self, AlternatingPrompt, AlternatingTurnPart, alternate},
    dialect::{ChunkReader, ChunkStatus, ProviderDialect},
    error_report,
    error_text::ErrorScrubber,
    finish_reason,
    json::{count_at, parse_object, strip_nul, text},
    models,
    parameter_names::ParameterDialect,
    params,
    stream_state::{MAX_STATE_BYTES, ModelNameTracker},
    tool_call_assembler::{ToolCallAssembler, ToolCallPiece, index_of},
};
use reqwest::Url;
use serde_json::{Map, Value, json};

/// Default limit of the reply in tokens, because the API requires one.
const DEFAULT_MAX_TOKENS: u64 = 4096;

/// The version of the API implemented here.
const API_VERSION: &str = "2023-06-01";

/// Parameters of other servers that this one rejects.
const OMITTED_PARAMS: [&str; 15] = [
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "repetition_penalty",
    "repeat_penalty",
    "rep_pen",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "min_p",
    "top_a",
    "typical_p",
    "user",
    "response_format",
    "reasoning_effort",
];

/// Our names and the server's.
const PARAM_NAMES: [(&str, &str); 2] = [("max_completion_tokens", "max_tokens"), ("stop", "stop_sequences")];

/// The Anthropic dialect.
pub(super) struct AnthropicDialect;

impl ProviderDialect for AnthropicDialect {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn reply_url(&self, endpoint: &Endpoint, _model: &str) -> Result<Url, ProviderFailure> {
        endpoint.url_with_api_prefix(&["v1"], &["messages"])
    }

    fn body(&self, request: &Request, endpoint: &Endpoint) -> Value {
        let mut params = params::merge(request, endpoint, &OMITTED_PARAMS);
        let mark = take_cache_control(&mut params);
        params::rename(&mut params, &[("max_completion_tokens", "max_tokens")]);
        let mut body = Map::new();
        body.insert("model".into(), request.model.as_str().into());
        body.insert("max_tokens".into(), DEFAULT_MAX_TOKENS.into());
        if request.rounds.first().is_some_and(|round| !has_reasoning(round)) {
            // The API needs the reasoning before tool calls sent back. Without any, thinking is turned off.
            params.shift_remove("thinking");
        }
        let thinks = reserve_thinking_tokens(&mut params);
        let story =
            if thinks { alternate(&alternation::with_continue_instruction(request)) } else { alternate(request) };
        if !story.system.is_empty() {
            body.insert("system".into(), system(&story, mark.as_ref()));
        }
        body.insert("messages".into(), messages(&story, &request.rounds, mark.as_ref()));
        body.insert("stream".into(), true.into());
        let stops: Vec<String> =
            params::take_stop_strings(&mut params, "stop").into_iter().filter(|stop| !stop.trim().is_empty()).collect();
        if !stops.is_empty() && !params.contains_key("stop_sequences") {
            params.insert("stop_sequences".into(), stops.into());
        }
        if let Some(tools) = params::tools(&mut params, tool_definition) {
            params.insert("tools".into(), tools.into());
        }
        if let Some(choice) = params.get("tool_choice").and_then(Value::as_str).map(tool_choice) {
            params.insert("tool_choice".into(), choice);
        }
        body.extend(params);
        Value::Object(body)
    }

    fn params(&self, request: &Request, endpoint: &Endpoint) -> Map<String, Value> {
        let mut params = params::merge(request, endpoint, &OMITTED_PARAMS);
        params.shift_remove("cache_control");
        params
    }

    fn required_fields(&self) -> &'static [&'static str] {
        &["max_tokens"]
    }

    fn parameter_dialect(&self, _endpoint: &Endpoint) -> ParameterDialect {
        ParameterDialect::Anthropic
    }

    fn param_names(&self) -> &'static [(&'static str, &'static str)] {
        &PARAM_NAMES
    }

    /// Models that think first accept no prefill.
    fn supports_prefill(&self, params: &Map<String, Value>, endpoint: &Endpoint) -> bool {
        let thinking = params.get("thinking").or_else(|| endpoint.extra.get("thinking"));
        thinking.and_then(|thinking| text(thinking, "type")).is_none_or(|kind| kind == "disabled")
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-api-key", "")
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", API_VERSION)]
    }

    fn reader(&self, request: &Request) -> Box<dyn ChunkReader> {
        let ends_blank = |text: &str| text.ends_with(char::is_whitespace);
        let begun = request.messages.last().filter(|_| alternation::has_prefill(request));
        Box::new(AnthropicReader {
            skips_blank: begun.is_some_and(|begun| ends_blank(&begun.content)),
            ..AnthropicReader::default()
        })
    }

    fn model_list_urls(&self, endpoint: &Endpoint) -> Result<Vec<Url>, ProviderFailure> {
        let mut url = endpoint.url_with_api_prefix(&["v1"], &["models"])?;
        url.query_pairs_mut().append_pair("limit", "1000");
        Ok(vec![url])
    }

    fn parse_models(&self, models: &[Value]) -> Option<Vec<ModelInfo>> {
        let list = models.first()?.get("data")?.as_array()?;
        let model = |entry: &Value| {
            let context_length = models::context_length(entry);
            Some(ModelInfo { id: text(entry, "id")?.to_owned(), context_length, ..ModelInfo::default() })
        };
        Some(list.iter().filter_map(model).collect())
    }
}

/// Removes the setting `cache_control` and returns the cache mark. The setting can replace it, or turn caching off with
/// `false`.
pub(super) fn take_cache_control(params: &mut Map<String, Value>) -> Option<Value> {
    match params.shift_remove("cache_control") {
        Some(Value::Bool(false)) => None,
        Some(own @ Value::Object(_)) => Some(own),
        _ => Some(json!({"type": "ephemeral"})),
    }
}

/// Returns whether the model is to think. If so, removes parameters that the vendor then rejects. Raises `max_tokens`
/// to make room for the reasoning, which counts as part of the reply.
fn reserve_thinking_tokens(params: &mut Map<String, Value>) -> bool {
    let Some(thinking) = params.get("thinking") else { return false };
    if text(thinking, "type").is_none_or(|kind| kind == "disabled") {
        return false;
    }
    let budget = thinking.get("budget_tokens").and_then(Value::as_u64).unwrap_or_default();
    let most = params.get("max_tokens").and_then(Value::as_u64).unwrap_or(DEFAULT_MAX_TOKENS);
    if budget >= most {
        params.insert("max_tokens".into(), budget.saturating_add(most).into());
    }
    params.shift_remove("temperature");
    params.shift_remove("top_k");
    true
}

/// Returns the system prompt as blocks, with the marks of the cache.
pub(super) fn system(story: &AlternatingPrompt, mark: Option<&Value>) -> Value {
    let goes_on = story.turns.iter().any(|turn| turn.parts.iter().any(|part| part.is_cache_breakpoint));
    let last = story.system.len().saturating_sub(1);
    let block = |(nth, part): (usize, &AlternatingTurnPart)| {
        text_block(&part.text, mark.filter(|_| part.is_cache_breakpoint || (goes_on && nth == last)))
    };
    story.system.iter().enumerate().map(block).collect()
}

/// Returns the turns and the tool rounds as messages of blocks, with the mark of the cache.
pub(super) fn messages(story: &AlternatingPrompt, rounds: &[ToolRound], mark: Option<&Value>) -> Value {
    let last = story.turns.len().saturating_sub(1);
    let turn = |(nth, turn): (usize, &alternation::AlternatingTurn)| {
        // The vendor rejects whitespace at the end of a prefill.
        let begun = turn.is_assistant && nth == last && rounds.is_empty();
        let end = turn.parts.len().saturating_sub(1);
        let part = |(nth, part): (usize, &AlternatingTurnPart)| {
            let text = if begun && nth == end { part.text.trim_end() } else { &part.text };
            text_block(text, mark.filter(|_| part.is_cache_breakpoint))
        };
        let content: Vec<Value> = turn.parts.iter().enumerate().map(part).collect();
        json!({"role": if turn.is_assistant { "assistant" } else { "user" }, "content": content})
    };
    // Tool calls continue the last turn if it is the assistant's.
    let mut all: Vec<Value> = story.turns.iter().enumerate().map(turn).collect();
    for round in rounds {
        let is_same = all.last().and_then(|last| text(last, "role")) == Some("assistant");
        match all.last_mut().and_then(|last| last.get_mut("content")?.as_array_mut()).filter(|_| is_same) {
            Some(content) => content.extend(tool_use_blocks(round)),
            None => all.push(json!({"role": "assistant", "content": tool_use_blocks(round)})),
        }
        let answer =
            |(call, text): (&ToolCall, &str)| json!({"type": "tool_result", "tool_use_id": call.id, "content": text});
        all.push(json!({"role": "user", "content": round.calls_with_answers().map(answer).collect::<Vec<_>>()}));
    }
    all.into()
}

/// Returns the assistant's reasoning, text and tool calls in a round. The vendor rejects empty texts.
fn tool_use_blocks(round: &ToolRound) -> Vec<Value> {
    let call = |call: &ToolCall| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": parse_object(&call.arguments)});
    let mut calls = round.calls.iter().map(call);
    let Some(blocks) = round.provider_state.as_ref().and_then(Value::as_array) else {
        let text = Some(round.text.trim_end()).filter(|text| !text.is_empty()).map(|text| text_block(text, None));
        return text.into_iter().chain(calls).collect();
    };
    let mut sent = Vec::new();
    for block in blocks {
        match text(block, "type") {
            Some("tool_use") => sent.extend(calls.next()),
            Some("text") if text(block, "text").is_none_or(|words| words.trim().is_empty()) => {}
            _ => sent.push(block.clone()),
        }
    }
    sent.extend(calls);
    sent
}

/// Returns whether the model's reasoning before the tool calls of a round is known.
fn has_reasoning(round: &ToolRound) -> bool {
    round.provider_state.as_ref().and_then(Value::as_array).is_some_and(|blocks| blocks.iter().any(is_reasoning))
}

fn is_reasoning(block: &Value) -> bool {
    matches!(text(block, "type"), Some("thinking" | "redacted_thinking"))
}

fn text_block(text: &str, mark: Option<&Value>) -> Value {
    let mut block = Map::new();
    block.insert("type".into(), "text".into());
    block.insert("text".into(), text.into());
    block.extend(mark.map(|mark| ("cache_control".to_owned(), mark.clone())));
    Value::Object(block)
}

fn tool_definition(function: &Map<String, Value>) -> Value {
    let mut tool = Map::new();
    for (from, to) in [("name", "name"), ("description", "description"), ("parameters", "input_schema")] {
        tool.extend(function.get(from).map(|value| (to.to_owned(), value.clone())));
    }
    tool.entry("input_schema").or_insert_with(|| json!({"type": "object"}));
    Value::Object(tool)
}

fn tool_choice(word: &str) -> Value {
    json!({"type": if word == "required" { "any" } else { word }})
}

/// Reads the events of a stream, or a whole message.
#[derive(Debug, Default)]
struct AnthropicReader {
    model: ModelNameTracker,
    calls: ToolCallAssembler,
    blocks: ReplyBlocks,
    usage: Usage,
    /// The prefill ended with whitespace that was not sent, so leading whitespace of the reply is dropped.
    skips_blank: bool,
}

impl ChunkReader for AnthropicReader {
    fn read(
        &mut self,
        chunk: &Value,
        scrub: &ErrorScrubber,
        frames: &mut Vec<Frame>,
    ) -> Result<ChunkStatus, ProviderFailure> {
        let kind = text(chunk, "type").unwrap_or_default();
        let mut status = ChunkStatus { recognised: true, ..ChunkStatus::default() };
        match kind {
            "message_start" => {
                let message = chunk.get("message").unwrap_or(&Value::Null);
                frames.extend(text(message, "model").and_then(|model| self.model.update(model, scrub)));
                self.read_usage(message, frames);
            }
            "content_block_start" => self.read_block(chunk, chunk.get("content_block"), frames),
            "content_block_delta" => self.read_delta(chunk, frames),
            "message_delta" => {
                self.read_usage(chunk, frames);
                status.finished = self.read_stop_reason(chunk.get("delta"), scrub, frames)?;
            }
            "message_stop" => status.done = true,
            "content_block_stop" | "ping" => {}
            "message" => {
                frames.extend(text(chunk, "model").and_then(|model| self.model.update(model, scrub)));
                for (nth, block) in chunk.get("content").and_then(Value::as_array).into_iter().flatten().enumerate() {
                    self.read_block(&json!({"index": nth}), Some(block), frames);
                }
                self.read_usage(chunk, frames);
                status.finished = self.read_stop_reason(Some(chunk), scrub, frames)?;
                status.done = true;
            }
            _ => match error_report::error_of(chunk) {
                Some(error) => return Err(error_report::failure_of(error, scrub)),
                // The vendor announces that new event types can appear at any time.
                None => status.recognised = !kind.is_empty() && chunk.get("choices").is_none(),
            },
        }
        Ok(status)
    }

    fn flush(&mut self, frames: &mut Vec<Frame>) {
        let (calls, state) = (self.calls.finish(), self.blocks.finish());
        frames.extend(state.filter(|_| !calls.is_empty()));
        frames.extend(calls.into_iter().map(|(call, _)| Frame::ToolCall(call)));
    }

    fn names_events(&self) -> bool {
        true
    }
}

/// The blocks of a reply in their order, for the results of tools. Of a tool call only the place is kept.
#[derive(Debug, Default)]
struct ReplyBlocks {
    blocks: Vec<(u64, Map<String, Value>)>,
    bytes: usize,
}

impl ReplyBlocks {
    fn begin(&mut self, index: u64, block: &Value) {
        let mut fields = block.as_object().cloned().unwrap_or_default();
        if text(block, "type") == Some("tool_use") {
            fields.retain(|name, _| name == "type");
        }
        self.bytes = self.bytes.saturating_add(block.to_string().len());
        if self.bytes <= MAX_STATE_BYTES {
            self.blocks.push((index, fields));
        }
    }

    /// Appends a text to a field of the open block. Begins a block of this kind if the server did not.
    fn append(&mut self, index: u64, kind: &str, field: &str, piece: &str) {
        self.bytes = self.bytes.saturating_add(piece.len());
        if self.bytes > MAX_STATE_BYTES {
            return;
        }
        if self.blocks.last().is_none_or(|(at, block)| *at != index || block.get("type") != Some(&kind.into())) {
            self.blocks.push((index, Map::from_iter([("type".to_owned(), kind.into())])));
        }
        let Some((_, block)) = self.blocks.last_mut() else { return };
        match block.get_mut(field) {
            Some(Value::String(text)) => text.push_str(piece),
            _ => _ = block.insert(field.to_owned(), piece.into()),
        }
    }

    /// Returns the frame for the blocks, if there is reasoning among them.
    fn finish(&mut self) -> Option<Frame> {
        let Self { blocks, bytes } = std::mem::take(self);
        let blocks: Vec<Value> = blocks.into_iter().map(|(_, block)| Value::Object(block)).collect();
        let is_kept = bytes <= MAX_STATE_BYTES && blocks.iter().any(is_reasoning);
        is_kept.then(|| Frame::ProviderState(blocks.into()))
    }
}

impl AnthropicReader {
    fn read_block(&mut self, chunk: &Value, block: Option<&Value>, frames: &mut Vec<Frame>) {
        let Some(block) = block else { return };
        let kind = text(block, "type");
        if matches!(kind, Some("text" | "thinking" | "redacted_thinking" | "tool_use")) {
            self.blocks.begin(index(chunk), block);
        }
        match kind {
            Some("text") => self.push_text(text(block, "text"), frames),
            Some("thinking") => push_reasoning(text(block, "thinking"), frames),
            Some("tool_use") => {
                // In a stream the arguments are an empty object here and come in pieces afterwards.
                let input = block.get("input").filter(|input| input.as_object().is_some_and(|input| !input.is_empty()));
                self.calls.push_piece(ToolCallPiece {
                    index: Some(index(chunk)),
                    id: text(block, "id"),
                    name: text(block, "name"),
                    arguments: input,
                    ..ToolCallPiece::default()
                });
            }
            _ => {}
        }
    }

    fn read_delta(&mut self, chunk: &Value, frames: &mut Vec<Frame>) {
        let Some(delta) = chunk.get("delta") else { return };
        let (index, piece) = (index(chunk), |name: &str| text(delta, name));
        match text(delta, "type") {
            Some("text_delta") => {
                self.blocks.append(index, "text", "text", piece("text").unwrap_or_default());
                self.push_text(piece("text"), frames);
            }
            Some("thinking_delta") => {
                self.blocks.append(index, "thinking", "thinking", piece("thinking").unwrap_or_default());
                push_reasoning(piece("thinking"), frames);
            }
            Some("signature_delta") => {
                self.blocks.append(index, "thinking", "signature", piece("signature").unwrap_or_default());
            }
            Some("input_json_delta") => {
                let arguments = delta.get("partial_json");
                self.calls.push_piece(ToolCallPiece { index: Some(index), arguments, ..ToolCallPiece::default() });
            }
            _ => {}
        }
    }

    fn push_text(&mut self, words: Option<&str>, frames: &mut Vec<Frame>) {
        let words = words.unwrap_or_default();
        let words = if self.skips_blank { words.trim_start() } else { words };
        if !words.is_empty() {
            self.skips_blank = false;
            frames.push(Frame::Text(strip_nul(words)));
        }
    }

    /// Usage comes in two parts. A later number is the new total, not an increment.
    fn read_usage(&mut self, holder: &Value, frames: &mut Vec<Frame>) {
        let Some(usage) = holder.get("usage").filter(|usage| usage.is_object()) else { return };
        let number = |name: &str| count_at(usage, &[name]);
        if let Some(fresh) = number("/input_tokens") {
            let (cached, written) = (number("/cache_read_input_tokens"), number("/cache_creation_input_tokens"));
            let all = [Some(fresh), cached, written].into_iter().flatten().fold(0, u64::saturating_add);
            if all > 0 {
                (self.usage.prompt, self.usage.cached, self.usage.written) = (all, cached, written);
            }
        }
        self.usage.completion = number("/output_tokens").unwrap_or(self.usage.completion);
        frames.push(Frame::Usage(self.usage));
    }

    fn read_stop_reason(
        &mut self,
        holder: Option<&Value>,
        scrub: &ErrorScrubber,
        frames: &mut Vec<Frame>,
    ) -> Result<bool, ProviderFailure> {
        let reason = holder.and_then(|holder| text(holder, "stop_reason")).unwrap_or_default();
        let Some(reason) = finish_reason::read(reason, scrub)? else { return Ok(false) };
        self.flush(frames);
        frames.push(Frame::Finish(reason));
        Ok(true)
    }
}

fn push_reasoning(words: Option<&str>, frames: &mut Vec<Frame>) {
    frames.extend(words.map(|words| Frame::Reasoning(strip_nul(words))));
}

fn index(chunk: &Value) -> u64 {
    chunk.get("index").and_then(index_of).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FinishReason, RequestMessage, RequestRole, ToolCall};

    fn request(params: Value, stable: usize, messages: &[(RequestRole, &str)]) -> Request {
        let message = |(role, content): &(RequestRole, &str)| RequestMessage {
            role: *role,
            name: None,
            content: (*content).into(),
        };
        let params = params.as_object().unwrap().clone();
        Request {
            model: "m".into(),
            messages: messages.iter().map(message).collect(),
            params,
            cacheable_messages: stable,
            ..Request::default()
        }
    }

    fn request_body(extra: Value, request: &Request) -> Value {
        let extra = extra.as_object().unwrap().clone();
        AnthropicDialect.body(request, &Endpoint { extra, ..Endpoint::new("a", "http://a") })
    }

    const STORY: [(RequestRole, &str); 5] = [
        (RequestRole::System, "card"),
        (RequestRole::Assistant, "Hello."),
        (RequestRole::User, "Hi."),
        (RequestRole::System, "hp: 3"),
        (RequestRole::User, "On."),
    ];

    #[test]
    fn anthropic_body_matches_wire_format() {
        let params = json!({"max_tokens": 100, "temperature": 0.7, "stop": ["\n", "Ann:"], "seed": 7, "min_p": 0.1});
        let sent = request_body(json!({"top_k": 40, "top_p": null}), &request(params, 3, &STORY));
        let text = |text: &str| json!({"type": "text", "text": text});
        let kept = |text: &str| json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}});
        let expected = json!({"model": "m", "max_tokens": 100, "system": [kept("card")], "messages": [
            {"role": "user", "content": [text("[Begin]")]},
            {"role": "assistant", "content": [text("Hello.")]},
            {"role": "user", "content": [kept("Hi."), text("\n\n[hp: 3]"), text("\n\nOn.")]},
        ], "stream": true, "top_k": 40, "temperature": 0.7, "stop_sequences": ["Ann:"]});
        assert_eq!(sent, expected);
        let plain = request_body(json!({"cache_control": false}), &request(json!({}), 3, &STORY));
        assert!(!plain.to_string().contains("cache_control") && plain["max_tokens"] == 4096);
        let long =
            request_body(json!({"cache_control": {"type": "ephemeral", "ttl": "1h"}}), &request(json!({}), 1, &STORY));
        assert_eq!(long.to_string().matches("1h").count(), 1, "one mark where only the card stays");
    }

    #[test]
    fn anthropic_prefill_trailing_space_is_trimmed() {
        let mut story = STORY.to_vec();
        story.push((RequestRole::Assistant, "She lights \n"));
        let request = request(json!({}), 0, &story);
        assert_eq!(request_body(json!({}), &request)["messages"][3]["content"][0]["text"], "She lights");
        let mut reader = AnthropicDialect.reader(&request);
        let mut frames = Vec::new();
        for words in [" ", " the lamp", " now"] {
            let delta =
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": words}});
            reader.read(&delta, &ErrorScrubber::default(), &mut frames).unwrap();
        }
        assert_eq!(frames, [Frame::Text("the lamp".into()), Frame::Text(" now".into())]);
    }

    /// With thinking there is no prefill and no temperature, and the limit has room for both reasoning and text.
    #[test]
    fn anthropic_thinking_adjusts_params() {
        let mut story = STORY.to_vec();
        story.push((RequestRole::Assistant, "She lights"));
        let params =
            json!({"thinking": {"type": "enabled", "budget_tokens": 2000}, "max_tokens": 500, "temperature": 1});
        let sent = request_body(json!({}), &request(params, 0, &story));
        assert_eq!((&sent["max_tokens"], sent.get("temperature")), (&json!(2500), None));
        assert_eq!(sent["messages"][4]["content"][0]["text"], alternation::CONTINUE_INSTRUCTION);
        let sent =
            request_body(json!({}), &request(json!({"thinking": {"type": "disabled"}, "temperature": 1}), 0, &story));
        assert_eq!((&sent["temperature"], sent["messages"].as_array().unwrap().len()), (&json!(1), 4));
    }

    #[test]
    fn anthropic_tools_are_converted() {
        let function = json!({"type": "function", "function": {"name": "roll", "description": "dice", "parameters": {"type": "object"}}});
        let own = json!({"type": "web_search", "name": "web_search"});
        let sent =
            request_body(json!({}), &request(json!({"tools": [function, own], "tool_choice": "required"}), 0, &STORY));
        let roll = json!({"name": "roll", "description": "dice", "input_schema": {"type": "object"}});
        assert_eq!((&sent["tools"], &sent["tool_choice"]), (&json!([roll, own]), &json!({"type": "any"})));
    }

    #[test]
    fn anthropic_usage_sums_new_and_cached_tokens() {
        let (mut reader, mut frames) = (AnthropicReader::default(), Vec::new());
        let start = json!({"type": "message_start", "message": {"model": "m-1", "usage":
            {"input_tokens": 10, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 30, "output_tokens": 1}}});
        let end =
            json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 7}});
        reader.read(&start, &ErrorScrubber::default(), &mut frames).unwrap();
        assert!(reader.read(&end, &ErrorScrubber::default(), &mut frames).unwrap().finished);
        let usage = Usage { prompt: 240, completion: 7, cached: Some(200), written: Some(30), ..Usage::default() };
        assert_eq!(frames[frames.len() - 2..], [Frame::Usage(usage), Frame::Finish(FinishReason::Length)]);
    }

    #[test]
    fn anthropic_whole_message_returns_text_and_tool_calls() {
        let whole = json!({"type": "message", "model": "m-1", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "text", "text": "Yes."},
            {"type": "tool_use", "id": "t1", "name": "roll", "input": {"sides": 6}}], "stop_reason": "tool_use"});
        let mut frames = Vec::new();
        let said = AnthropicReader::default().read(&whole, &ErrorScrubber::default(), &mut frames).unwrap();
        assert!(said.finished && said.done);
        let call = ToolCall { id: "t1".into(), name: "roll".into(), arguments: r#"{"sides":6}"#.into() };
        assert_eq!(
            frames,
            [
                Frame::Model("m-1".into()),
                Frame::Reasoning("hm".into()),
                Frame::Text("Yes.".into()),
                Frame::ProviderState(json!([{"type": "thinking", "thinking": "hm", "signature": "x"},
                    {"type": "text", "text": "Yes."}, {"type": "tool_use"}])),
                Frame::ToolCall(call),
                Frame::Finish(FinishReason::ToolCalls),
            ]
        );
    }

    /// Reasoning goes back unchanged with the results of tools, and thinking stays on. Without reasoning it is turned
    /// off, because the vendor would refuse the request.
    #[test]
    fn anthropic_reasoning_goes_back_with_tool_results() {
        let (mut reader, mut frames) = (AnthropicReader::default(), Vec::new());
        let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
        let start =
            |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
        for chunk in [
            start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
            delta(0, json!({"type": "thinking_delta", "thinking": "h"})),
            delta(0, json!({"type": "thinking_delta", "thinking": "m"})),
            delta(0, json!({"type": "signature_delta", "signature": "c2ln"})),
            start(1, json!({"type": "redacted_thinking", "data": "eA=="})),
            start(2, json!({"type": "text", "text": ""})),
            start(3, json!({"type": "tool_use", "id": "t1", "name": "roll", "input": {}})),
            delta(3, json!({"type": "input_json_delta", "partial_json": "{\"sides\":6}"})),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        ] {
            reader.read(&chunk, &ErrorScrubber::default(), &mut frames).unwrap();
        }
        let state =
            frames.iter().find_map(|frame| if let Frame::ProviderState(state) = frame { Some(state) } else { None });
        let call = ToolCall { id: "t1".into(), name: "roll".into(), arguments: r#"{"sides":6}"#.into() };
        let round = ToolRound {
            calls: vec![call],
            answers: vec!["4".into()],
            provider_state: state.cloned(),
            ..ToolRound::default()
        };
        let params = json!({"thinking": {"type": "enabled", "budget_tokens": 100}});
        let mut asked = Request { rounds: vec![round], ..request(params, 0, &STORY) };
        let sent = request_body(json!({}), &asked);
        let turns = sent["messages"].as_array().unwrap();
        let blocks = json!([{"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "eA=="},
            {"type": "tool_use", "id": "t1", "name": "roll", "input": {"sides": 6}}]);
        assert_eq!((&turns[turns.len() - 2]["content"], sent["thinking"].is_null()), (&blocks, false));
        asked.rounds[0].provider_state = None;
        let sent = request_body(json!({}), &asked);
        assert!(sent["thinking"].is_null() && !sent.to_string().contains("redacted"), "{sent}");
    }

    #[test]
    fn anthropic_error_types_map_to_failures() {
        for (name, code) in [
            ("overloaded_error", "provider_failed"),
            ("rate_limit_error", "provider_rate_limited"),
            ("permission_error", "provider_refused"),
            ("api_error", "provider_failed"),
        ] {
            let chunk = json!({"type": "error", "error": {"type": name, "message": "w"}});
            let failure =
                AnthropicReader::default().read(&chunk, &ErrorScrubber::default(), &mut Vec::new()).unwrap_err();
            assert_eq!((failure.code(), failure.to_string().ends_with(": w")), (code, true), "{failure}");
        }
    }
}
