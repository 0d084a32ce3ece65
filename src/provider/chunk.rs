//! One chunk of a reply (or a whole reply that was not streamed) read into frames.
//!
//! Fields are looked up one by one in a JSON value rather than derived: vendors leave out, rename, double and mistype
//! them, and a reply must not be lost for the sake of a field nobody needs.

use super::{Failure, Finish, Frame, Usage, words::Scrub};
use serde_json::Value;

/// Reads chunk after chunk and remembers what they have said so far.
#[derive(Debug, Default)]
pub(super) struct Reader {
    model: String,
    /// A reason for the end of the reply was given.
    pub(super) finished: bool,
    /// At least one chunk looked like a piece of a chat completion.
    pub(super) recognised: bool,
}

impl Reader {
    /// Appends what `chunk` says to `frames`.
    ///
    /// # Errors
    /// What the provider reports instead of, or after, a piece of the reply.
    pub(super) fn read(&mut self, chunk: &Value, scrub: &Scrub, frames: &mut Vec<Frame>) -> Result<(), Failure> {
        let choice = first_choice(chunk);
        self.recognised |= chunk.get("choices").is_some_and(Value::is_array);
        self.read_model(chunk, scrub, frames);
        if let Some(said) = choice.and_then(|choice| present(choice, &["delta", "message"])) {
            read_said(said, frames);
        }
        if let Some(error) = error_of(chunk).or_else(|| choice.and_then(error_of)) {
            return Err(failure(error, scrub));
        }
        if let Some((choice, reason)) = choice.and_then(|choice| Some((choice, text(choice, "finish_reason")?))) {
            if reason.eq_ignore_ascii_case("error") {
                return Err(Failure::Failed { status: None, words: scrub.clean(""), retry_after: None });
            }
            self.finished = true;
            frames.push(Frame::Finish(finish(choice, reason, scrub)));
        }
        frames.extend(chunk.get("usage").and_then(usage).map(Frame::Usage));
        Ok(())
    }

    fn read_model(&mut self, chunk: &Value, scrub: &Scrub, frames: &mut Vec<Frame>) {
        if let Some(model) = text(chunk, "model").filter(|model| *model != self.model) {
            model.clone_into(&mut self.model);
            frames.push(Frame::Model(scrub.clean(model)));
        }
    }
}

/// Parses the JSON of a chunk. Escapes of half a code point, which some servers produce when they cut a text, and
/// control characters become U+FFFD.
pub(super) fn parse(json: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(json).or_else(|error| serde_json::from_str(&mend(json)).map_err(|_| error))
}

fn mend(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) =
        rest.find(|char: char| char == '\\' || (char.is_ascii_control() && !char.is_ascii_whitespace()))
    {
        let (before, tail) = rest.split_at(at);
        out.push_str(before);
        let escape = escape_length(tail);
        let (escape, after) = tail.split_at_checked(escape).unwrap_or((tail, ""));
        out.push_str(if is_broken(escape) { "\\ufffd" } else { escape });
        rest = after;
    }
    out + rest
}

/// Bytes of the escape that `tail` begins with; both halves of a surrogate pair together.
fn escape_length(tail: &str) -> usize {
    match (unit(tail), tail.get(6..).and_then(unit)) {
        (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
        (Some(_), _) => 6,
        (None, _) if tail.starts_with('\\') => 1 + tail.chars().nth(1).map_or(0, char::len_utf8),
        (None, _) => 1,
    }
}

fn is_broken(escape: &str) -> bool {
    escape.starts_with(|char: char| char.is_ascii_control())
        || (escape.len() == 6 && matches!(unit(escape), Some(0xd800..=0xdfff)))
}

fn unit(escape: &str) -> Option<u16> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

/// The first of several replies: index 0, or the first without an index. We never ask for more.
fn first_choice(chunk: &Value) -> Option<&Value> {
    let first = |choice: &&Value| choice.get("index").is_none_or(|index| index.is_null() || index.as_u64() == Some(0));
    chunk.get("choices")?.as_array()?.iter().find(first)
}

/// What a choice says. Reasoning goes first: that is the order in which a model makes them.
fn read_said(said: &Value, frames: &mut Vec<Frame>) {
    let mut thought = reasoning(said);
    let mut spoken = String::new();
    match said.get("content") {
        Some(Value::String(content)) => spoken.push_str(content),
        Some(Value::Array(parts)) => parts.iter().for_each(|part| read_part(part, &mut spoken, &mut thought)),
        _ => {}
    }
    spoken.push_str(text(said, "refusal").unwrap_or_default());
    frames.extend((!thought.is_empty()).then(|| Frame::Reasoning(clean(&thought))));
    frames.extend((!spoken.is_empty()).then(|| Frame::Text(clean(&spoken))));
}

/// Reasoning in the first of its dialects that is there: aggregators send the same words in several at once.
fn reasoning(said: &Value) -> String {
    let plain = text(said, "reasoning_content").or_else(|| text(said, "reasoning"));
    plain.map_or_else(|| said.get("reasoning_details").map(details).unwrap_or_default(), str::to_owned)
}

fn details(details: &Value) -> String {
    let words = |detail| text(detail, "text").or_else(|| text(detail, "summary"));
    details.as_array().into_iter().flatten().filter_map(words).collect()
}

/// One part of a content that is a list.
fn read_part(part: &Value, spoken: &mut String, thought: &mut String) {
    match part {
        Value::String(words) => spoken.push_str(words),
        _ => {
            spoken.push_str(text(part, "text").or_else(|| text(part, "refusal")).unwrap_or_default());
            thought.push_str(text(part, "thinking").unwrap_or_default());
            thought.push_str(&part.get("thinking").map(details).unwrap_or_default());
        }
    }
}

fn error_of(value: &Value) -> Option<&Value> {
    let is_error = |name| text(value, name) == Some("error");
    let empty =
        |error: &Value| matches!(error, Value::Bool(false)) || error.as_object().is_some_and(serde_json::Map::is_empty);
    present(value, &["error"])
        .filter(|error| !empty(error))
        .or_else(|| (is_error("object") || is_error("type")).then_some(value))
}

fn failure(error: &Value, scrub: &Scrub) -> Failure {
    let words = scrub.of_value(error);
    match error_number(error) {
        Some(status) => Failure::from_status(status, words, None),
        None => Failure::Failed { status: None, words, retry_after: None },
    }
}

/// The HTTP status that an error stands for, by its number or by its name.
fn error_number(error: &Value) -> Option<u16> {
    let number = |name| {
        let value = error.get(name)?;
        let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
        u16::try_from(number).ok().filter(|number| (400..600).contains(number))
    };
    let named = |name| match text(error, name)? {
        "invalid_request_error" | "context_length_exceeded" => Some(400),
        "authentication_error" | "invalid_api_key" => Some(401),
        "rate_limit_error" | "rate_limit_exceeded" | "insufficient_quota" => Some(429),
        "overloaded_error" => Some(529),
        _ => None,
    };
    number("code").or_else(|| number("status")).or_else(|| named("code")).or_else(|| named("type"))
}

/// The provider's reason; one of its own is bounded like all its words. Aggregators say beside it what the model's own server
/// called it.
fn finish(choice: &Value, reason: &str, scrub: &Scrub) -> Finish {
    match Finish::parse(reason) {
        Finish::ContentFilter(reason) => {
            let native = text(choice, "native_finish_reason").filter(|native| !native.eq_ignore_ascii_case(&reason));
            let words = native.map_or(reason.clone(), |native| format!("{reason}, {native}"));
            Finish::ContentFilter(scrub.clean(&words))
        }
        Finish::Other(reason) => Finish::Other(scrub.clean(&reason)),
        known => known,
    }
}

fn usage(usage: &Value) -> Option<Usage> {
    let count = |paths: &[&str]| paths.iter().find_map(|path| count(usage.pointer(path)?));
    let prompt = count(&["/prompt_tokens", "/input_tokens"]);
    let completion = count(&["/completion_tokens", "/output_tokens"]);
    prompt.or(completion)?;
    Some(Usage {
        prompt: prompt.unwrap_or_default(),
        completion: completion.unwrap_or_default(),
        cached: count(&["/prompt_tokens_details/cached_tokens", "/prompt_cache_hit_tokens"]),
        reasoning: count(&["/completion_tokens_details/reasoning_tokens", "/reasoning_tokens"]),
        cost: usage.get("cost").and_then(Value::as_f64).filter(|cost| cost.is_finite() && *cost >= 0.0),
    })
}

fn count(value: &Value) -> Option<u64> {
    let number = value.as_number()?;
    number.as_u64().or_else(|| number.to_string().strip_suffix(".0")?.parse().ok())
}

/// The first of `names` that is there and not null.
fn present<'a>(value: &'a Value, names: &[&str]) -> Option<&'a Value> {
    names.iter().filter_map(|name| value.get(*name)).find(|field| !field.is_null())
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str().filter(|text| !text.is_empty())
}

fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use Frame::{Model, Reasoning, Text};
    use serde_json::json;

    fn read(chunk: &str) -> (Vec<Frame>, Result<(), Failure>) {
        let mut frames = Vec::new();
        let end = Reader::default().read(&parse(chunk).unwrap(), &Scrub::default(), &mut frames);
        (frames, end)
    }

    fn check_delta(delta: &Value, expected: &[Frame]) {
        let chunk = json!({"choices": [{"index": 0, "delta": delta}]}).to_string();
        assert_eq!(read(&chunk), (expected.to_vec(), Ok(())), "{chunk}");
    }

    fn t(words: &str) -> Frame {
        Text(words.into())
    }

    fn r(words: &str) -> Frame {
        Reasoning(words.into())
    }

    #[test]
    fn content_in_every_shape() {
        check_delta(&json!({"role": "assistant", "content": null}), &[]);
        check_delta(&json!({"content": ""}), &[]);
        check_delta(&json!({"content": "夜"}), &[t("夜")]);
        check_delta(&json!({"content": [{"type": "text", "text": "a"}, {"type": "image_url"}, "b"]}), &[t("ab")]);
        check_delta(
            &json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}),
            &[r("hm")],
        );
        check_delta(&json!({"content": 7, "refusal": null}), &[]);
        check_delta(&json!({"content": null, "refusal": "no"}), &[t("no")]);
        check_delta(&json!({"content": "a\u{0}b"}), &[t("a\u{fffd}b")]);
        check_delta(&json!({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{}"}}]}), &[]);
    }

    #[test]
    fn reasoning_in_every_dialect_and_never_doubled() {
        let details = json!([{"type": "reasoning.text", "text": "h"}, {"type": "reasoning.summary", "summary": "m"}, {"type": "reasoning.encrypted", "data": "x"}]);
        check_delta(&json!({"reasoning": "hm"}), &[r("hm")]);
        check_delta(&json!({"reasoning_content": "hm"}), &[r("hm")]);
        check_delta(&json!({"reasoning_details": details}), &[r("hm")]);
        check_delta(&json!({"reasoning": "hm", "reasoning_content": "hm", "reasoning_details": details}), &[r("hm")]);
        check_delta(
            &json!({"reasoning": null, "reasoning_content": "", "reasoning_details": details, "content": "a"}),
            &[r("hm"), t("a")],
        );
        check_delta(&json!({"reasoning": "", "reasoning_details": []}), &[]);
    }

    #[test]
    fn only_the_first_choice_counts() {
        let chunk =
            json!({"choices": [{"index": 1, "delta": {"content": "b"}}, {"index": 0, "delta": {"content": "a"}}]});
        assert_eq!(read(&chunk.to_string()).0, [t("a")]);
        assert_eq!(read(r#"{"choices":[{"index":2,"delta":{"content":"c"},"finish_reason":"stop"}]}"#).0, []);
        assert_eq!(read(r#"{"choices":[{"message":{"content":"a"}}]}"#).0, [t("a")]);
    }

    #[test]
    fn model_finish_and_usage() {
        let chunk = r#"{"model":"m-1","choices":[{"index":0,"delta":{},"finish_reason":"length"}],
            "usage":{"prompt_tokens":12,"completion_tokens":5.0,"cost":0.0015,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":null}}"#;
        let usage = Usage { prompt: 12, completion: 5, cached: Some(4), reasoning: None, cost: Some(0.0015) };
        assert_eq!(read(chunk).0, [Model("m-1".into()), Frame::Finish(Finish::Length), Frame::Usage(usage)]);
        let last = r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"completion_tokens_details":{"reasoning_tokens":1},"cost":-1}}"#;
        let usage = Usage { prompt: 1, completion: 2, reasoning: Some(1), ..Usage::default() };
        assert_eq!(read(last).0, [Frame::Usage(usage)]);
        for none in ["null", "{}", "7", r#"{"prompt_tokens":"x"}"#, r#"{"prompt_tokens":-1}"#] {
            assert_eq!(read(&format!(r#"{{"choices":[],"usage":{none}}}"#)).0, [], "{none}");
        }
    }

    #[test]
    fn reasons_for_the_end() {
        for (reason, expected) in [
            ("stop", Finish::Stop),
            ("STOP", Finish::Stop),
            ("max_tokens", Finish::Length),
            ("content_filter", Finish::ContentFilter("content_filter".into())),
            ("SAFETY", Finish::ContentFilter("SAFETY".into())),
            ("tool_calls", Finish::ToolCalls),
            ("insufficient_system_resource", Finish::Other("insufficient_system_resource".into())),
        ] {
            let chunk = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
            assert_eq!(read(&chunk.to_string()).0, [Frame::Finish(expected)]);
        }
        assert_eq!(read(r#"{"choices":[{"index":0,"delta":{},"finish_reason":""}]}"#).0, []);
    }

    #[test]
    fn errors_in_every_shape() {
        let failed = |status| Failure::Failed { status, words: "w".into(), retry_after: None };
        for (chunk, expected) in [
            (r#"{"error":{"message":"w"}}"#, failed(None)),
            (r#"{"error":"w"}"#, failed(None)),
            (r#"{"error":{"message":"w","code":502}}"#, failed(Some(502))),
            (r#"{"error":{"message":"w","code":"server_error"}}"#, failed(None)),
            (r#"{"error":{"message":"w","code":1301}}"#, failed(None)),
            (r#"{"object":"error","message":"w","code":400}"#, Failure::Refused { status: 400, words: "w".into() }),
            (r#"{"type":"error","error":{"type":"overloaded_error","message":"w"}}"#, failed(Some(529))),
            (
                r#"{"error":{"message":"w","code":"429"}}"#,
                Failure::RateLimited { words: "w".into(), retry_after: None },
            ),
            (
                r#"{"error":{"message":"w","code":"rate_limit_exceeded"}}"#,
                Failure::RateLimited { words: "w".into(), retry_after: None },
            ),
            (
                r#"{"choices":[{"index":0,"error":{"message":"w","code":503},"finish_reason":"error"}]}"#,
                failed(Some(503)),
            ),
        ] {
            assert_eq!(read(chunk), (vec![], Err(expected)), "{chunk}");
        }
        let (frames, end) = read(r#"{"choices":[{"index":0,"delta":{"content":"half"},"finish_reason":"error"}]}"#);
        assert_eq!((frames, end.unwrap_err().code()), (vec![t("half")], "provider_failed"));
        for fine in
            [r#"{"error":null,"choices":[]}"#, r#"{"error":{},"choices":[]}"#, r#"{"error":false}"#, r#"{"error":""}"#]
        {
            if fine.contains(r#""error":"""#) {
                assert!(read(fine).1.is_err());
            } else {
                assert_eq!(read(fine), (vec![], Ok(())), "{fine}");
            }
        }
    }

    #[test]
    fn half_code_points_and_control_characters_are_mended() {
        for (json, expected) in [
            (r#""\ud83c\udf19""#, "🌙"),
            (r#""a\ud83cb""#, "a\u{fffd}b"),
            (r#""\udf19\ud83c""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83c\ud83c\udf19""#, "\u{fffd}🌙"),
            (r#""\\ud83c \ud83c\n夜""#, "\\ud83c \u{fffd}\n夜"),
            ("\"a\u{0}\u{1b}b\"", "a\u{fffd}\u{fffd}b"),
        ] {
            assert_eq!(parse(json).unwrap(), json!(expected), "{json}");
        }
        for broken in [r#""\ud8"#, r#""\"#, r#"{"a":"#, r#""\u夜夜""#, ""] {
            assert!(parse(broken).is_err(), "{broken}");
        }
    }
}
