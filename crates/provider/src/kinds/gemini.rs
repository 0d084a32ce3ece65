//! Google's Gemini: `POST …/v1beta/models/MODEL:streamGenerateContent?alt=sse`, and `GET …/v1beta/models`.
//!
//! The system prompt is separate and roles alternate ([`alternate`]). Known parameters are renamed and go into
//! `generationConfig`, as does every other parameter that is not a field of the request itself. The stream has no end
//! mark, so the finish reason counts as the end.

use crate::{
    Endpoint, FinishReason, Frame, ModelInfo, ProviderFailure, Request, ToolCall, ToolRound, Usage,
    alternation::{AlternatingTurnPart, alternate},
    dialect::{ChunkReader, ChunkStatus, ProviderDialect},
    error_report,
    error_text::ErrorScrubber,
    finish_reason,
    json::{count_at, first_present, parse, parse_object, strip_nul, text},
    models,
    parameter_names::ParameterDialect,
    params,
    stream_state::{MAX_STATE_BYTES, ModelNameTracker},
    tool_call_assembler::arguments_text,
};
use reqwest::Url;
use serde_json::{Map, Value, json};

/// The versions of the API; the default comes first.
const API_VERSIONS: [&str; 3] = ["v1beta", "v1", "v1alpha"];

/// Maximum number of stop strings that the API accepts.
const MAX_STOPS: usize = 5;

/// Parameters of other servers that this one rejects.
const OMITTED_PARAMS: [&str; 13] = [
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
    "tool_choice",
];

/// Our names and those in `generationConfig`.
const PARAM_NAMES: [(&str, &str); 9] = [
    ("stop", "stopSequences"),
    ("max_completion_tokens", "maxOutputTokens"),
    ("max_tokens", "maxOutputTokens"),
    ("top_p", "topP"),
    ("top_k", "topK"),
    ("presence_penalty", "presencePenalty"),
    ("frequency_penalty", "frequencyPenalty"),
    ("temperature", "temperature"),
    ("seed", "seed"),
];

/// Fields of the request outside `generationConfig`.
const TOP_LEVEL_PARAMS: [&str; 6] = ["safetySettings", "tools", "toolConfig", "cachedContent", "labels", "serviceTier"];

/// The Gemini dialect.
pub(super) struct GeminiDialect;

impl ProviderDialect for GeminiDialect {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn reply_url(&self, endpoint: &Endpoint, model: &str) -> Result<Url, ProviderFailure> {
        let model = model.strip_prefix("models/").unwrap_or(model);
        let mut url =
            endpoint.url_with_api_prefix(&API_VERSIONS, &["models", &format!("{model}:streamGenerateContent")])?;
        url.query_pairs_mut().append_pair("alt", "sse");
        Ok(url)
    }

    fn whole_reply_request(
        &self,
        request: &Request,
        endpoint: &Endpoint,
    ) -> Result<Option<(Url, Value)>, ProviderFailure> {
        let model = request.model.strip_prefix("models/").unwrap_or(&request.model);
        let url = endpoint.url_with_api_prefix(&API_VERSIONS, &["models", &format!("{model}:generateContent")])?;
        Ok(Some((url, self.body(request, endpoint))))
    }

    fn body(&self, request: &Request, endpoint: &Endpoint) -> Value {
        let mut params = params::merge(request, endpoint, &OMITTED_PARAMS);
        let story = alternate(request);
        let mut body = Map::new();
        if !story.system.is_empty() {
            body.insert("systemInstruction".into(), json!({"parts": parts(&story.system)}));
        }
        let contents = story
            .turns
            .iter()
            .map(|turn| json!({"role": if turn.is_assistant { "model" } else { "user" }, "parts": parts(&turn.parts)}));
        body.insert("contents".into(), contents.chain(request.rounds.iter().flat_map(tool_round_contents)).collect());
        if let Some(tools) = tools(&mut params) {
            body.insert("tools".into(), tools);
        }
        let config = generation_config(&mut params, &mut body);
        if !config.is_empty() {
            body.insert("generationConfig".into(), Value::Object(config));
        }
        Value::Object(body)
    }

    fn params(&self, request: &Request, endpoint: &Endpoint) -> Map<String, Value> {
        params::merge(request, endpoint, &OMITTED_PARAMS)
    }

    fn parameter_dialect(&self, _endpoint: &Endpoint) -> ParameterDialect {
        ParameterDialect::Gemini
    }

    fn param_names(&self) -> &'static [(&'static str, &'static str)] {
        &PARAM_NAMES
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-goog-api-key", "")
    }

    fn reader(&self, _request: &Request) -> Box<dyn ChunkReader> {
        Box::new(GeminiReader::default())
    }

    fn model_list_urls(&self, endpoint: &Endpoint) -> Result<Vec<Url>, ProviderFailure> {
        let mut url = endpoint.url_with_api_prefix(&API_VERSIONS, &["models"])?;
        url.query_pairs_mut().append_pair("pageSize", "1000");
        Ok(vec![url])
    }

    /// Only models that generate text; others compute embeddings or images.
    fn parse_models(&self, models: &[Value]) -> Option<Vec<ModelInfo>> {
        let list = models.first()?.get("models")?.as_array()?;
        let writes = |entry: &&Value| {
            let methods = entry.get("supportedGenerationMethods").and_then(Value::as_array);
            methods.is_none_or(|methods| methods.iter().any(|method| method == "generateContent"))
        };
        let model = |entry: &Value| {
            let name = text(entry, "name")?;
            let id = name.strip_prefix("models/").unwrap_or(name).to_owned();
            let context_length = models::context_length(entry);
            Some(ModelInfo { id, context_length, ..ModelInfo::default() })
        };
        Some(list.iter().filter(writes).filter_map(model).collect())
    }
}

/// Returns the tool calls of a round and their results. If the model signed its parts, they go back as they came.
fn tool_round_contents(round: &ToolRound) -> [Value; 2] {
    let signed = round.provider_state.as_ref().and_then(Value::as_array);
    if let Some(asked) = signed.filter(|parts| parts.iter().filter_map(function_call).count() == round.calls.len()) {
        let ids = asked.iter().filter_map(function_call).map(|call| text(call, "id"));
        let answer = |((call, answer), id): ((&ToolCall, &str), Option<&str>)| function_response(call, answer, id);
        let answers: Vec<Value> = round.calls_with_answers().zip(ids).map(answer).collect();
        return [json!({"role": "model", "parts": asked}), json!({"role": "user", "parts": answers})];
    }
    let content =
        Some(round.text.as_str()).filter(|content| !content.trim().is_empty()).map(|content| json!({"text": content}));
    let call = |call: &ToolCall| json!({"functionCall": {"name": call.name, "args": parse_object(&call.arguments)}});
    let asked: Vec<Value> = content.into_iter().chain(round.calls.iter().map(call)).collect();
    let answers: Vec<Value> =
        round.calls_with_answers().map(|(call, answer)| function_response(call, answer, None)).collect();
    [json!({"role": "model", "parts": asked}), json!({"role": "user", "parts": answers})]
}

/// Returns the result of a tool call. It has the call's id if the call is sent with one.
fn function_response(call: &ToolCall, answer: &str, id: Option<&str>) -> Value {
    let response = json!({"result": parse(answer).unwrap_or_else(|_| answer.into())});
    let mut fields = json!({"name": call.name, "response": response});
    if let (Some(fields), Some(id)) = (fields.as_object_mut(), id) {
        fields.insert("id".into(), id.into());
    }
    json!({"functionResponse": fields})
}

/// Returns the tool call of a part. Gateways write field names in snake case.
fn function_call(part: &Value) -> Option<&Value> {
    first_present(part, &["functionCall", "function_call"])
}

fn parts(parts: &[AlternatingTurnPart]) -> Value {
    parts.iter().map(|part| json!({"text": part.text})).collect()
}

/// Returns the other parameters under the vendor's names. Those outside `generationConfig` go into `body`.
fn generation_config(params: &mut Map<String, Value>, body: &mut Map<String, Value>) -> Map<String, Value> {
    let mut config = match params.shift_remove("generationConfig") {
        Some(Value::Object(own)) => own,
        _ => Map::new(),
    };
    let stops = params::take_stop_strings(params, "stop");
    if !stops.is_empty() {
        params.insert("stopSequences".into(), stops.into_iter().take(MAX_STOPS).collect());
    }
    for name in TOP_LEVEL_PARAMS {
        body.extend(params.shift_remove(name).map(|value| (name.to_owned(), value)));
    }
    params::rename(params, &PARAM_NAMES);
    for (name, value) in std::mem::take(params) {
        config.entry(name).or_insert(value);
    }
    config
}

fn tools(params: &mut Map<String, Value>) -> Option<Value> {
    let (mut declared, mut own) = (Vec::new(), Vec::new());
    let tools = params::tools(params, |function| json!({"functionDeclarations": [function]}))?;
    for mut tool in tools {
        match tool.get_mut("functionDeclarations").map(Value::take) {
            Some(Value::Array(functions)) => declared.extend(functions),
            _ => own.push(tool),
        }
    }
    if !declared.is_empty() {
        own.insert(0, json!({"functionDeclarations": declared}));
    }
    Some(own.into())
}

/// Reads the chunks of a stream, or a whole response, which has the same form.
#[derive(Debug, Default)]
struct GeminiReader {
    model: ModelNameTracker,
    /// Whether there are tool calls; the finish reason does not tell.
    has_calls: bool,
    parts: SignedParts,
}

/// The parts of a reply with their signatures. After tool calls the server wants all of them back unchanged.
#[derive(Debug, Default)]
struct SignedParts {
    parts: Vec<Value>,
    is_signed: bool,
    bytes: usize,
}

impl SignedParts {
    /// Adds a part. Texts without a signature are joined, and summaries of reasoning without one are left out.
    fn push(&mut self, part: &Value) {
        let is_signed = first_present(part, &["thoughtSignature", "thought_signature"]).is_some();
        self.is_signed |= is_signed;
        self.bytes = self.bytes.saturating_add(part.to_string().len());
        if self.bytes > MAX_STATE_BYTES || (!is_signed && is_thought(part)) {
            return;
        }
        let is_plain = |part: &Value| part.as_object().is_some_and(|fields| fields.len() == 1);
        let words = text(part, "text").filter(|_| is_plain(part));
        match (self.parts.last_mut().filter(|last| is_plain(last)).and_then(|last| last.get_mut("text")), words) {
            (Some(Value::String(last)), Some(words)) => last.push_str(words),
            _ => self.parts.push(part.clone()),
        }
    }

    /// Returns the frame for the parts, if they have to go back.
    fn finish(&mut self) -> Option<Frame> {
        let Self { parts, is_signed, bytes } = std::mem::take(self);
        (is_signed && bytes <= MAX_STATE_BYTES).then(|| Frame::ProviderState(parts.into()))
    }
}

impl ChunkReader for GeminiReader {
    fn read(
        &mut self,
        chunk: &Value,
        scrub: &ErrorScrubber,
        frames: &mut Vec<Frame>,
    ) -> Result<ChunkStatus, ProviderFailure> {
        if let Some(error) = error_report::error_of(chunk) {
            return Err(error_report::failure_of(error, scrub));
        }
        let fields = ["candidates", "promptFeedback", "usageMetadata"];
        let mut status =
            ChunkStatus { recognised: fields.iter().any(|name| chunk.get(*name).is_some()), ..ChunkStatus::default() };
        frames.extend(text(chunk, "modelVersion").and_then(|model| self.model.update(model, scrub)));
        let candidate = chunk.get("candidates").and_then(Value::as_array).and_then(|candidates| candidates.first());
        if let Some(candidate) = candidate {
            self.read_parts(candidate, frames);
        }
        let blocked = chunk.get("promptFeedback").and_then(|feedback| text(feedback, "blockReason"));
        let reason = candidate.and_then(|candidate| text(candidate, "finishReason"));
        let finish = match (blocked, reason) {
            (Some(reason), _) => Some(FinishReason::ContentFilter(scrub.clean(&format!("the prompt ({reason})")))),
            (None, Some(reason)) => self.finish(reason, scrub)?,
            (None, None) => None,
        };
        status.finished = finish.is_some();
        if status.finished {
            self.flush(frames);
        }
        frames.extend(finish.map(Frame::Finish));
        frames.extend(chunk.get("usageMetadata").and_then(usage).map(Frame::Usage));
        Ok(status)
    }

    fn flush(&mut self, frames: &mut Vec<Frame>) {
        let state = self.parts.finish();
        frames.extend(state.filter(|_| self.has_calls));
    }
}

impl GeminiReader {
    fn read_parts(&mut self, candidate: &Value, frames: &mut Vec<Frame>) {
        for part in candidate.pointer("/content/parts").and_then(Value::as_array).into_iter().flatten() {
            self.parts.push(part);
            let words = text(part, "text").map(strip_nul);
            frames
                .extend(words.map(|words| if is_thought(part) { Frame::Reasoning(words) } else { Frame::Text(words) }));
            if let Some(call) = function_call(part) {
                self.has_calls = true;
                frames.extend(text(call, "name").map(|name| {
                    let arguments = call.get("args").map(arguments_text).unwrap_or_default();
                    let id = text(call, "id").unwrap_or_default().to_owned();
                    Frame::ToolCall(ToolCall { id, name: name.to_owned(), arguments })
                }));
            }
        }
    }

    fn finish(&self, reason: &str, scrub: &ErrorScrubber) -> Result<Option<FinishReason>, ProviderFailure> {
        Ok(match finish_reason::read(reason, scrub)? {
            Some(FinishReason::Stop) if self.has_calls => Some(FinishReason::ToolCalls),
            known => known,
        })
    }
}

fn is_thought(part: &Value) -> bool {
    part.get("thought") == Some(&Value::Bool(true))
}

/// Reads the usage. Reasoning is counted separately from the text.
fn usage(usage: &Value) -> Option<Usage> {
    let prompt = count_at(usage, &["/promptTokenCount"]);
    let (spoken, thought) = (count_at(usage, &["/candidatesTokenCount"]), count_at(usage, &["/thoughtsTokenCount"]));
    prompt.or(spoken)?;
    Some(Usage {
        prompt: prompt.unwrap_or_default(),
        completion: spoken.unwrap_or_default().saturating_add(thought.unwrap_or_default()),
        cached: count_at(usage, &["/cachedContentTokenCount"]),
        reasoning: thought,
        ..Usage::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RequestMessage, RequestRole};

    fn request_body(extra: Value, params: Value) -> Value {
        let message = |role, content: &str| RequestMessage { role, name: None, content: content.into() };
        let messages = vec![
            message(RequestRole::System, "card"),
            message(RequestRole::User, "Hi."),
            message(RequestRole::Assistant, "Yes?"),
            message(RequestRole::System, "hp: 3"),
        ];
        let params = params.as_object().unwrap().clone();
        let extra = extra.as_object().unwrap().clone();
        let request = Request { model: "m".into(), messages, params, ..Request::default() };
        GeminiDialect.body(&request, &Endpoint { extra, ..Endpoint::new("a", "http://a") })
    }

    #[test]
    fn gemini_body_matches_wire_format() {
        let extra =
            json!({"safetySettings": [], "generationConfig": {"thinkingConfig": {"includeThoughts": true}, "seed": 1}});
        let params =
            json!({"max_tokens": 100, "top_p": 0.9, "stop": ["a", "b", "c", "d", "e", "f"], "seed": 7, "min_p": 0.1});
        let expected = json!({"systemInstruction": {"parts": [{"text": "card"}]}, "contents": [
            {"role": "user", "parts": [{"text": "Hi."}]}, {"role": "model", "parts": [{"text": "Yes?"}]},
            {"role": "user", "parts": [{"text": "[hp: 3]"}]}], "safetySettings": [],
            "generationConfig": {"thinkingConfig": {"includeThoughts": true}, "seed": 1, "maxOutputTokens": 100,
                "topP": 0.9, "stopSequences": ["a", "b", "c", "d", "e"]}});
        assert_eq!(request_body(extra, params), expected);
        assert_eq!(request_body(json!({}), json!({})).get("generationConfig"), None);
    }

    #[test]
    fn gemini_tools_are_converted() {
        let tool = |name: &str| json!({"type": "function", "function": {"name": name}});
        let sent = request_body(json!({}), json!({"tools": [tool("roll"), {"googleSearch": {}}, tool("look")]}));
        assert_eq!(
            sent["tools"],
            json!([{"functionDeclarations": [{"name": "roll"}, {"name": "look"}]}, {"googleSearch": {}}])
        );
    }

    #[test]
    fn gemini_reply_url_contains_model() {
        for (base, model) in [("http://a", "m-1"), ("http://a/v1beta", "models/m-1"), ("http://a/v1beta/", "m-1")] {
            let url = GeminiDialect.reply_url(&Endpoint::new("a", base), model).unwrap();
            assert_eq!(url.as_str(), "http://a/v1beta/models/m-1:streamGenerateContent?alt=sse");
        }
        // A model name cannot change the path.
        let url = GeminiDialect.reply_url(&Endpoint::new("a", "http://a"), "../../x?y=1#").unwrap();
        assert_eq!(url.as_str(), "http://a/v1beta/models/..%2F..%2Fx%3Fy=1%23:streamGenerateContent?alt=sse");
    }

    fn read_chunk(chunk: Value) -> (Vec<Frame>, ChunkStatus) {
        let mut frames = Vec::new();
        let status = GeminiReader::default().read(&chunk, &ErrorScrubber::default(), &mut frames).unwrap();
        (frames, status)
    }

    #[test]
    fn gemini_chunk_returns_reasoning_text_tools_and_usage() {
        let (frames, said) = read_chunk(
            json!({"modelVersion": "m-1", "candidates": [{"content": {"role": "model", "parts": [
            {"text": "hm", "thought": true}, {"text": "Yes."}, {"functionCall": {"name": "roll", "args": {"sides": 6}}}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 30, "candidatesTokenCount": 4, "thoughtsTokenCount": 3, "cachedContentTokenCount": 20}}),
        );
        assert!(said.recognised && said.finished);
        let call = ToolCall { id: String::new(), name: "roll".into(), arguments: r#"{"sides":6}"#.into() };
        let usage = Usage { prompt: 30, completion: 7, cached: Some(20), reasoning: Some(3), ..Usage::default() };
        assert_eq!(
            frames,
            [
                Frame::Model("m-1".into()),
                Frame::Reasoning("hm".into()),
                Frame::Text("Yes.".into()),
                Frame::ToolCall(call),
                Frame::Finish(FinishReason::ToolCalls),
                Frame::Usage(usage),
            ]
        );
    }

    #[test]
    fn gemini_signed_parts_go_back_unchanged() {
        let parts = json!([{"text": "hm", "thought": true}, {"text": "I "}, {"text": "look.", "thoughtSignature": "t"},
            {"function_call": {"id": "f1", "name": "look", "args": null}, "thought_signature": "s"}]);
        let (mut reader, mut frames) = (GeminiReader::default(), Vec::new());
        for part in parts.as_array().unwrap() {
            let chunk = json!({"candidates": [{"content": {"parts": [part]}}]});
            reader.read(&chunk, &ErrorScrubber::default(), &mut frames).unwrap();
        }
        reader.flush(&mut frames);
        let call = ToolCall { id: "f1".into(), name: "look".into(), arguments: String::new() };
        let [.., Frame::ToolCall(made), Frame::ProviderState(state)] = frames.as_slice() else { panic!("{frames:?}") };
        assert_eq!(made, &call);
        let mut round = ToolRound {
            text: "I look.".into(),
            calls: vec![call],
            answers: vec!["7".into()],
            provider_state: Some(state.clone()),
        };
        let sent = tool_round_contents(&round);
        assert_eq!(sent[0]["parts"].as_array().unwrap()[..], parts.as_array().unwrap()[1..]);
        let response = json!({"name": "look", "response": {"result": 7}, "id": "f1"});
        assert_eq!(sent[1]["parts"], json!([{"functionResponse": response}]));
        round.provider_state = None;
        let unsigned = json!([{"text": "I look."}, {"functionCall": {"name": "look", "args": {}}}]);
        assert_eq!(tool_round_contents(&round)[0]["parts"], unsigned);
    }

    /// Without signatures there is nothing to send back.
    #[test]
    fn gemini_unsigned_parts_have_no_state() {
        let part = json!({"functionCall": {"name": "look", "args": {}}});
        let (frames, _) = read_chunk(json!({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}));
        assert!(!frames.iter().any(|frame| matches!(frame, Frame::ProviderState(_))), "{frames:?}");
    }

    #[test]
    fn gemini_blocked_reply_reports_content_filter() {
        let (frames, said) = read_chunk(json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}));
        assert!(said.finished);
        assert_eq!(frames, [Frame::Finish(FinishReason::ContentFilter("the prompt (PROHIBITED_CONTENT)".into()))]);
        for (reason, expected) in [
            ("MAX_TOKENS", FinishReason::Length),
            ("SAFETY", FinishReason::ContentFilter("SAFETY".into())),
            ("LANGUAGE", FinishReason::Other("LANGUAGE".into())),
        ] {
            assert_eq!(read_chunk(json!({"candidates": [{"finishReason": reason}]})).0, [Frame::Finish(expected)]);
        }
        assert!(!read_chunk(json!({"hello": 1})).1.recognised);
    }

    #[test]
    fn gemini_model_list_keeps_only_text_models() {
        let listed = json!({"models": [
            {"name": "models/gemini-x", "inputTokenLimit": 1000, "supportedGenerationMethods": ["generateContent"]},
            {"name": "models/embed", "supportedGenerationMethods": ["embedContent"]}, {"name": "tuned"}, 7]});
        let models = GeminiDialect.parse_models(&[listed]).unwrap();
        let shown: Vec<_> = models.iter().map(|info| (info.id.as_str(), info.context_length)).collect();
        assert_eq!(shown, [("gemini-x", Some(1000)), ("tuned", None)]);
        assert!(GeminiDialect.parse_models(&[json!({})]).is_none());
    }
}
