//! Converts one chunk of a reply, or a whole reply, to frames.

use super::assistant_state::{self, AssistantState};
use crate::{
    FinishReason, Frame, ProviderFailure, Usage,
    dialect::{ChunkReader, ChunkStatus},
    error_report,
    error_text::ErrorScrubber,
    finish_reason,
    json::{count_at, first_present, strip_nul, text},
    stream_state::ModelNameTracker,
    tool_call_assembler::{ToolCallAssembler, ToolCallPiece, index_of},
};
use serde_json::Value;

/// Reads chunks and keeps state between them.
#[derive(Debug, Default)]
pub(super) struct OpenAiReader {
    model: ModelNameTracker,
    calls: ToolCallAssembler,
    state: AssistantState,
    /// Whether usage has come, which is more exact than timings.
    has_usage: bool,
    /// Whether any tokens were counted. Some servers end with usage of zeros.
    has_counts: bool,
}

/// The number of the only call in `function_call`, the field before `tool_calls`.
const LEGACY_CALL: u64 = u64::MAX;

impl ChunkReader for OpenAiReader {
    fn read(
        &mut self,
        chunk: &Value,
        scrub: &ErrorScrubber,
        frames: &mut Vec<Frame>,
    ) -> Result<ChunkStatus, ProviderFailure> {
        let choice = first_choice(chunk);
        let recognised = chunk.get("choices").is_some_and(Value::is_array);
        frames.extend(text(chunk, "model").and_then(|model| self.model.update(model, scrub)));
        if let Some(message) = choice.and_then(|choice| first_present(choice, &["delta", "message"])) {
            read_message(message, frames);
            self.read_calls(message);
            self.state.read(message);
        }
        if let Some(error) = error_report::error_of(chunk).or_else(|| choice.and_then(error_report::error_of)) {
            return Err(error_report::failure_of(error, scrub));
        }
        if let Some(error) = chunk.pointer("/x_groq/error").filter(|error| error.is_string()) {
            return Err(error_report::failure_of(error, scrub));
        }
        let end = choice.map(|choice| finish(choice, scrub)).transpose()?.flatten();
        let finished = end.is_some();
        if finished {
            self.flush(frames);
        }
        frames.extend(end.map(Frame::Finish));
        frames.extend(self.read_usage(chunk, choice).map(Frame::Usage));
        Ok(ChunkStatus { recognised, finished, done: false })
    }

    fn flush(&mut self, frames: &mut Vec<Frame>) {
        let (calls, extras): (Vec<_>, Vec<_>) = self.calls.finish().into_iter().unzip();
        let state = self.state.finish(extras);
        frames.extend(state.filter(|_| !calls.is_empty()).map(Frame::ProviderState));
        frames.extend(calls.into_iter().map(Frame::ToolCall));
    }
}

impl OpenAiReader {
    /// Tool calls come in pieces: first a name, then the arguments bit by bit.
    fn read_calls(&mut self, message: &Value) {
        let calls = match message.get("tool_calls") {
            Some(Value::Array(calls)) => calls.as_slice(),
            Some(call @ Value::Object(_)) => std::slice::from_ref(call),
            _ => &[],
        };
        for (nth, call) in calls.iter().enumerate() {
            let nth = u64::try_from(nth).ok().filter(|_| calls.len() > 1);
            self.read_call(call, call.get("index").and_then(index_of).or(nth));
        }
        if let Some(call) = message.get("function_call").filter(|call| call.is_object()) {
            self.read_call(call, Some(LEGACY_CALL));
        }
    }

    fn read_call(&mut self, call: &Value, index: Option<u64>) {
        let function = call.get("function").filter(|function| function.is_object()).unwrap_or(call);
        self.calls.push_piece(ToolCallPiece {
            index,
            id: text(call, "id"),
            name: text(function, "name"),
            arguments: first_present(function, &["arguments", "parameters"]),
            extra: assistant_state::call_fields(call, function),
        });
    }

    /// Reads the usage from where the server puts it. llama.cpp also sends timings, which count the same.
    fn read_usage(&mut self, chunk: &Value, choice: Option<&Value>) -> Option<Usage> {
        let message = choice.and_then(|choice| first_present(choice, &["delta", "message"]));
        let holders = [Some(chunk), choice, message, chunk.get("x_groq")];
        let told = holders.into_iter().flatten().filter_map(|holder| usage(holder.get("usage")?));
        let told: Vec<Usage> = told.collect();
        let timings = chunk.get("timings");
        let is_counted = |usage: &Usage| usage.prompt > 0 || usage.completion > 0;
        if let Some(mut usage) = told.iter().copied().find(is_counted) {
            (self.has_usage, self.has_counts) = (true, true);
            usage.cached = usage.cached.or_else(|| count_at(timings?, &["/cache_n"]));
            return Some(usage);
        }
        let timed = timings.filter(|_| !self.has_usage).and_then(usage_of_timings);
        let usage = timed.or_else(|| told.first().copied().filter(|_| !self.has_counts))?;
        self.has_counts = self.has_counts || is_counted(&usage);
        Some(usage)
    }
}

/// Returns the first choice: index 0, or the first without an index. More than one is never requested.
fn first_choice(chunk: &Value) -> Option<&Value> {
    let first = |choice: &&Value| choice.get("index").is_none_or(|index| index.is_null() || index.as_u64() == Some(0));
    chunk.get("choices")?.as_array()?.iter().find(first)
}

/// Reads the content of a choice. Reasoning comes first, in the order in which models generate.
fn read_message(message: &Value, frames: &mut Vec<Frame>) {
    let mut thought = reasoning(message);
    let mut spoken = String::new();
    match message.get("content") {
        Some(Value::String(content)) => spoken.push_str(content),
        Some(Value::Array(parts)) => parts.iter().for_each(|part| read_part(part, &mut spoken, &mut thought)),
        _ => {}
    }
    spoken.push_str(text(message, "refusal").unwrap_or_default());
    frames.extend((!thought.is_empty()).then(|| Frame::Reasoning(strip_nul(&thought))));
    frames.extend((!spoken.is_empty()).then(|| Frame::Text(strip_nul(&spoken))));
}

/// Returns the reasoning from the first field that has it, because aggregators repeat it in several.
fn reasoning(message: &Value) -> String {
    let plain = text(message, "reasoning_content").or_else(|| text(message, "reasoning"));
    plain.map_or_else(
        || assistant_state::list_of(message, "reasoning_details").map(reasoning_details).unwrap_or_default(),
        str::to_owned,
    )
}

fn reasoning_details(details: &Value) -> String {
    let words = |detail| text(detail, "text").or_else(|| text(detail, "summary"));
    details.as_array().into_iter().flatten().filter_map(words).collect()
}

/// Reads one part of a content list.
fn read_part(part: &Value, spoken: &mut String, thought: &mut String) {
    match part {
        Value::String(words) => spoken.push_str(words),
        _ => {
            spoken.push_str(text(part, "text").or_else(|| text(part, "refusal")).unwrap_or_default());
            thought.push_str(text(part, "thinking").unwrap_or_default());
            thought.push_str(&part.get("thinking").map(reasoning_details).unwrap_or_default());
        }
    }
}

/// Returns the finish reason. For a content filter, the name that the model's own server used is added; aggregators send
/// it.
fn finish(choice: &Value, scrub: &ErrorScrubber) -> Result<Option<FinishReason>, ProviderFailure> {
    // SGLang's own form is an object.
    let object = choice.get("finish_reason").and_then(|reason| text(reason, "type"));
    let Some(reason) = text(choice, "finish_reason").or(object) else { return Ok(None) };
    Ok(match finish_reason::read(reason, scrub)? {
        Some(FinishReason::ContentFilter(reason)) => {
            let native = text(choice, "native_finish_reason").filter(|native| !native.eq_ignore_ascii_case(&reason));
            let words = native.map_or(reason.clone(), |native| format!("{reason}, {native}"));
            Some(FinishReason::ContentFilter(scrub.clean(&words)))
        }
        known => known,
    })
}

fn usage(usage: &Value) -> Option<Usage> {
    let prompt = count_at(usage, &["/prompt_tokens", "/input_tokens"]);
    let completion = count_at(usage, &["/completion_tokens", "/output_tokens"]);
    prompt.or(completion)?;
    Some(Usage {
        prompt: prompt.unwrap_or_default(),
        completion: completion.unwrap_or_default(),
        cached: count_at(
            usage,
            &[
                "/prompt_tokens_details/cached_tokens",
                "/prompt_cache_hit_tokens",
                "/input_tokens_details/cached_tokens",
                "/cache_read_input_tokens",
                "/cached_tokens",
            ],
        ),
        written: count_at(usage, &["/prompt_tokens_details/cache_write_tokens", "/cache_creation_input_tokens"]),
        reasoning: count_at(usage, &["/completion_tokens_details/reasoning_tokens", "/reasoning_tokens"]),
        cost: usage.get("cost").and_then(Value::as_f64).filter(|cost| cost.is_finite() && *cost >= 0.0),
    })
}

/// Reads the timings of llama.cpp, whose count of the prompt is without cached tokens.
fn usage_of_timings(timings: &Value) -> Option<Usage> {
    let (read, written) = (count_at(timings, &["/prompt_n"]), count_at(timings, &["/predicted_n"]));
    read.or(written)?;
    let cached = count_at(timings, &["/cache_n"]);
    let prompt = read.unwrap_or_default().saturating_add(cached.unwrap_or_default());
    Some(Usage { prompt, completion: written.unwrap_or_default(), cached, ..Usage::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ToolCall, json::parse};
    use Frame::{Model, Reasoning, Text};
    use serde_json::json;

    fn read_chunk(chunk: &str) -> (Vec<Frame>, Result<(), ProviderFailure>) {
        let mut frames = Vec::new();
        let end = OpenAiReader::default().read(&parse(chunk).unwrap(), &ErrorScrubber::default(), &mut frames);
        (frames, end.map(drop))
    }

    fn check_delta(delta: &Value, expected: &[Frame]) {
        let chunk = json!({"choices": [{"index": 0, "delta": delta}]}).to_string();
        assert_eq!(read_chunk(&chunk), (expected.to_vec(), Ok(())), "{chunk}");
    }

    fn text_frame(words: &str) -> Frame {
        Text(words.into())
    }

    fn reasoning_frame(words: &str) -> Frame {
        Reasoning(words.into())
    }

    #[test]
    fn openai_chunk_content_any_shape_is_read() {
        check_delta(&json!({"role": "assistant", "content": null}), &[]);
        check_delta(&json!({"content": ""}), &[]);
        check_delta(&json!({"content": "夜"}), &[text_frame("夜")]);
        check_delta(
            &json!({"content": [{"type": "text", "text": "a"}, {"type": "image_url"}, "b"]}),
            &[text_frame("ab")],
        );
        check_delta(
            &json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}),
            &[reasoning_frame("hm")],
        );
        check_delta(&json!({"content": 7, "refusal": null}), &[]);
        check_delta(&json!({"content": null, "refusal": "no"}), &[text_frame("no")]);
        check_delta(&json!({"content": "a\u{0}b"}), &[text_frame("a\u{fffd}b")]);
        check_delta(&json!({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{}"}}]}), &[]);
    }

    #[test]
    fn openai_chunk_reasoning_any_dialect_is_read_once() {
        let details = json!([{"type": "reasoning.text", "text": "h"}, {"type": "reasoning.summary", "summary": "m"}, {"type": "reasoning.encrypted", "data": "x"}]);
        check_delta(&json!({"reasoning": "hm"}), &[reasoning_frame("hm")]);
        check_delta(&json!({"reasoning_content": "hm"}), &[reasoning_frame("hm")]);
        check_delta(&json!({"reasoning_details": details}), &[reasoning_frame("hm")]);
        check_delta(
            &json!({"reasoning": "hm", "reasoning_content": "hm", "reasoning_details": details}),
            &[reasoning_frame("hm")],
        );
        check_delta(
            &json!({"reasoning": null, "reasoning_content": "", "reasoning_details": details, "content": "a"}),
            &[reasoning_frame("hm"), text_frame("a")],
        );
        check_delta(&json!({"provider_specific_fields": {"reasoning_details": details}}), &[reasoning_frame("hm")]);
        check_delta(&json!({"reasoning": "", "reasoning_details": []}), &[]);
    }

    #[test]
    fn openai_chunk_only_first_choice_is_read() {
        let chunk =
            json!({"choices": [{"index": 1, "delta": {"content": "b"}}, {"index": 0, "delta": {"content": "a"}}]});
        assert_eq!(read_chunk(&chunk.to_string()).0, [text_frame("a")]);
        assert_eq!(read_chunk(r#"{"choices":[{"index":2,"delta":{"content":"c"},"finish_reason":"stop"}]}"#).0, []);
        assert_eq!(read_chunk(r#"{"choices":[{"message":{"content":"a"}}]}"#).0, [text_frame("a")]);
    }

    #[test]
    fn openai_chunk_returns_model_finish_and_usage() {
        let chunk = r#"{"model":"m-1","choices":[{"index":0,"delta":{},"finish_reason":"length"}],
            "usage":{"prompt_tokens":12,"completion_tokens":5.0,"cost":0.0015,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":null}}"#;
        let usage = Usage { prompt: 12, completion: 5, cached: Some(4), cost: Some(0.0015), ..Usage::default() };
        assert_eq!(
            read_chunk(chunk).0,
            [Model("m-1".into()), Frame::Finish(FinishReason::Length), Frame::Usage(usage)]
        );
        let last = r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"completion_tokens_details":{"reasoning_tokens":1},"cost":-1}}"#;
        let usage = Usage { prompt: 1, completion: 2, reasoning: Some(1), ..Usage::default() };
        assert_eq!(read_chunk(last).0, [Frame::Usage(usage)]);
        for none in ["null", "{}", "7", r#"{"prompt_tokens":"x"}"#, r#"{"prompt_tokens":-1}"#] {
            assert_eq!(read_chunk(&format!(r#"{{"choices":[],"usage":{none}}}"#)).0, [], "{none}");
        }
    }

    #[test]
    fn openai_chunk_usage_any_place_is_read() {
        let counted = |chunk: Value| {
            let frames = read_chunk(&chunk.to_string()).0;
            frames.into_iter().find_map(|frame| if let Frame::Usage(usage) = frame { Some(usage) } else { None })
        };
        let usage = json!({"prompt_tokens": 11, "completion_tokens": 3});
        let plain = Usage { prompt: 11, completion: 3, ..Usage::default() };
        let expected = Some(plain);
        let choice = json!({"index": 0, "delta": {}, "finish_reason": "stop", "usage": usage});
        assert_eq!(counted(json!({"choices": [choice], "usage": null})), expected);
        assert_eq!(counted(json!({"choices": [], "usage": usage})), expected);
        assert_eq!(counted(json!({"choices": [], "x_groq": {"id": "r", "usage": usage}})), expected);
        assert_eq!(counted(json!({"choices": [], "x_groq": {"id": "r"}})), None);
        assert_eq!(counted(json!({"choices": [{"index": 0, "delta": {"usage": usage}}]})), expected);
        let texts = json!({"prompt_tokens": "11", "completion_tokens": "3"});
        assert_eq!(counted(json!({"choices": [], "usage": texts})), expected);
        let zeros = json!({"prompt_tokens": 0, "completion_tokens": 0});
        assert_eq!(counted(json!({"choices": [], "usage": zeros})), Some(Usage::default()));
        let cached = Some(Usage { cached: Some(4), ..plain });
        for more in [
            json!({"prompt_tokens_details": {"cached_tokens": 4}}),
            json!({"prompt_tokens_details": null, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 7}),
            json!({"prompt_tokens_details": {"cached_tokens": null}, "cached_tokens": 4}),
        ] {
            let mut usage = usage.clone();
            usage.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            assert_eq!(counted(json!({"choices": [], "usage": usage})), cached, "{usage}");
        }
        let timings = json!({"prompt_n": 7, "predicted_n": 3, "cache_n": 4, "predicted_ms": 1.5});
        assert_eq!(counted(json!({"choices": [], "timings": timings})), cached);
        assert_eq!(counted(json!({"choices": [], "usage": usage, "timings": timings})), cached);
        let (mut reader, mut frames) = (OpenAiReader::default(), Vec::new());
        for chunk in [
            json!({"choices": [], "usage": usage}),
            json!({"choices": [], "timings": {"prompt_n": 1}}),
            json!({"choices": [], "usage": zeros}),
        ] {
            reader.read(&chunk, &ErrorScrubber::default(), &mut frames).unwrap();
        }
        assert_eq!(frames, [Frame::Usage(plain)], "neither timings nor zeros replace usage");
    }

    #[test]
    fn openai_chunk_finish_reasons_are_parsed() {
        for (reason, expected) in [
            ("stop", FinishReason::Stop),
            ("STOP", FinishReason::Stop),
            ("max_tokens", FinishReason::Length),
            ("content_filter", FinishReason::ContentFilter("content_filter".into())),
            ("SAFETY", FinishReason::ContentFilter("SAFETY".into())),
            ("tool_calls", FinishReason::ToolCalls),
            ("abort", FinishReason::Aborted("abort".into())),
            ("repetition", FinishReason::Other("repetition".into())),
        ] {
            let chunk = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
            assert_eq!(read_chunk(&chunk.to_string()).0, [Frame::Finish(expected)]);
        }
        assert_eq!(read_chunk(r#"{"choices":[{"index":0,"delta":{},"finish_reason":""}]}"#).0, []);
        let aborted = r#"{"choices":[{"index":0,"delta":{},"finish_reason":{"type":"abort","message":"w"}}]}"#;
        assert_eq!(read_chunk(aborted).0, [Frame::Finish(FinishReason::Aborted("abort".into()))]);
    }

    #[test]
    fn openai_chunk_errors_any_shape_return_failure() {
        let failed = |status| ProviderFailure::Failed { status, words: "w".into(), retry_after: None };
        for (chunk, expected) in [
            (r#"{"error":{"message":"w"}}"#, failed(None)),
            (r#"{"error":"w"}"#, failed(None)),
            (r#"{"error":{"message":"w","code":502}}"#, failed(Some(502))),
            (r#"{"error":{"message":"w","code":"server_error"}}"#, failed(Some(500))),
            (r#"{"x_groq":{"error":"w"},"choices":[]}"#, failed(None)),
            (r#"{"error":{"message":"w","code":1301}}"#, failed(None)),
            (
                r#"{"object":"error","message":"w","code":400}"#,
                ProviderFailure::Refused { status: 400, words: "w".into() },
            ),
            (r#"{"type":"error","error":{"type":"overloaded_error","message":"w"}}"#, failed(Some(529))),
            (
                r#"{"error":{"message":"w","code":"429"}}"#,
                ProviderFailure::RateLimited { words: "w".into(), retry_after: None },
            ),
            (
                r#"{"error":{"message":"w","code":"rate_limit_exceeded"}}"#,
                ProviderFailure::RateLimited { words: "w".into(), retry_after: None },
            ),
            (
                r#"{"choices":[{"index":0,"error":{"message":"w","code":503},"finish_reason":"error"}]}"#,
                failed(Some(503)),
            ),
        ] {
            assert_eq!(read_chunk(chunk), (vec![], Err(expected)), "{chunk}");
        }
        let (frames, end) =
            read_chunk(r#"{"choices":[{"index":0,"delta":{"content":"half"},"finish_reason":"error"}]}"#);
        assert_eq!((frames, end.unwrap_err().code()), (vec![text_frame("half")], "provider_failed"));
        for fine in
            [r#"{"error":null,"choices":[]}"#, r#"{"error":{},"choices":[]}"#, r#"{"error":false}"#, r#"{"error":""}"#]
        {
            if fine.contains(r#""error":"""#) {
                assert!(read_chunk(fine).1.is_err());
            } else {
                assert_eq!(read_chunk(fine), (vec![], Ok(())), "{fine}");
            }
        }
    }

    /// Reads chunks to their end. Returns the calls as `id name arguments`.
    fn read_calls(deltas: &[Value], finish: Option<&str>) -> Vec<String> {
        let (mut chunks, mut frames) = (OpenAiReader::default(), Vec::new());
        for delta in deltas {
            let chunk = json!({"choices": [{"index": 0, "delta": delta}]});
            chunks.read(&chunk, &ErrorScrubber::default(), &mut frames).unwrap();
        }
        if let Some(reason) = finish {
            let last = json!({"choices": [{"delta": {}, "finish_reason": reason}]});
            chunks.read(&last, &ErrorScrubber::default(), &mut frames).unwrap();
        }
        chunks.flush(&mut frames);
        let shown = |frame: &Frame| match frame {
            Frame::ToolCall(call) => Some(format!("{} {} {}", call.id, call.name, call.arguments)),
            _ => None,
        };
        frames.iter().filter_map(shown).collect()
    }

    #[test]
    fn openai_chunk_tool_calls_any_shape_are_read() {
        let call = |arguments: Value| json!({"id": "c1", "function": {"name": "roll", "arguments": arguments}});
        let expected = [r#"c1 roll {"sides":6}"#];
        let text = Value::from(r#"{"sides":6}"#);
        for (delta, finish) in [
            (json!({"tool_calls": [call(text.clone())]}), Some("tool_calls")),
            (json!({"tool_calls": [call(text.clone())]}), Some("stop")),
            (json!({"tool_calls": [call(text.clone())]}), None),
            (json!({"tool_calls": call(text)}), None),
            (json!({"tool_calls": [call(json!({"sides": 6}))]}), Some("stop")),
            (
                json!({"tool_calls": [{"id": "c1", "function": {"name": "roll", "parameters": {"sides": 6}}}]}),
                Some("stop"),
            ),
        ] {
            assert_eq!(read_calls(std::slice::from_ref(&delta), finish), expected, "{delta}");
        }
        for empty in [json!(null), json!("")] {
            assert_eq!(read_calls(&[json!({"tool_calls": [call(empty)]})], None), ["c1 roll "]);
        }
        let legacy =
            [json!({"name": "roll", "arguments": ""}), json!({"arguments": "{\"si"}), json!({"arguments": "des\":6}"})];
        let deltas = legacy.map(|call| json!({"role": "assistant", "content": null, "function_call": call}));
        assert_eq!(read_calls(&deltas, Some("function_call")), [r#" roll {"sides":6}"#]);
        let two = json!({"tool_calls": [{"function": {"name": "roll"}}, {"function": {"name": "roll"}}]});
        assert_eq!(read_calls(&[two], None), [" roll ", " roll "]);
    }

    /// A tool call is returned complete, after all its pieces have come.
    #[test]
    fn openai_chunk_tool_call_deltas_are_assembled() {
        let (mut chunks, mut frames) = (OpenAiReader::default(), Vec::new());
        for chunk in [
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"roll","arguments":""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"si"}},{"index":1,"id":"c2","function":{"name":"look"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"des\":6}"}}]}}]}"#,
        ] {
            chunks.read(&parse(chunk).unwrap(), &ErrorScrubber::default(), &mut frames).unwrap();
            assert_eq!(frames, []);
        }
        let last = json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]});
        assert!(chunks.read(&last, &ErrorScrubber::default(), &mut frames).unwrap().finished);
        let call = |id: &str, name: &str, arguments: &str| {
            Frame::ToolCall(ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() })
        };
        assert_eq!(
            frames,
            [call("c1", "roll", r#"{"sides":6}"#), call("c2", "look", ""), Frame::Finish(FinishReason::ToolCalls)]
        );
    }
}
