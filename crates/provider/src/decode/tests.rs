//! Decodes bodies of model servers, each whole and in pieces.

use super::*;
use crate::{FinishReason, ProviderKind, Request};

fn new_decoder(kind: &str, limit: usize) -> ReplyDecoder {
    let dialect = ProviderKind::from_name(kind).unwrap().dialect();
    ReplyDecoder::new(limit, ErrorScrubber::default(), dialect.reader(&Request::default()), dialect.framing())
}

const HI: &str = r#"{"choices":[{"index":0,"delta":{"content":"hi"}}]}"#;
const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

/// Decodes `body` in pieces of `size` bytes. Omits keep-alive frames.
fn decode_in_pieces(size: usize, limit: usize, body: &[u8]) -> (Vec<Frame>, Result<(), ProviderFailure>) {
    let mut decoder = new_decoder("openai", limit);
    let mut frames = Vec::new();
    let mut end = body.chunks(size).try_for_each(|piece| decoder.feed(piece, &mut frames));
    if end.is_ok() {
        end = decoder.finish(&mut frames);
    }
    frames.retain(|frame| *frame != Frame::KeepAlive);
    (frames, end)
}

/// Decodes the body of a server of a kind.
fn decode_kind(kind: &str, body: &[u8]) -> (Vec<Frame>, Result<(), ProviderFailure>) {
    let (mut decoder, mut frames) = (new_decoder(kind, 1000), Vec::new());
    let end = decoder.feed(body, &mut frames).and_then(|()| decoder.finish(&mut frames));
    (frames, end)
}

/// Checks that the result does not depend on how the body is split. Returns the joined texts.
fn decode(limit: usize, body: &[u8]) -> (String, Vec<FinishReason>, Result<(), ProviderFailure>) {
    let (frames, end) = decode_in_pieces(usize::MAX, limit, body);
    for size in [1, 2, 3, 7] {
        assert_eq!(decode_in_pieces(size, limit, body), (frames.clone(), end.clone()), "cut into {size}");
    }
    let text = frames
        .iter()
        .filter_map(|frame| if let Frame::Text(text) = frame { Some(text.as_str()) } else { None })
        .collect();
    let finish =
        frames.iter().filter_map(|frame| if let Frame::Finish(finish) = frame { Some(finish.clone()) } else { None });
    (text, finish.collect(), end)
}

fn check(body: &str, text: &str, finish: &[FinishReason], code: Option<&str>) {
    let (said, finished, end) = decode(1000, body.as_bytes());
    assert_eq!(
        (said.as_str(), finished.as_slice(), end.map_err(|failure| failure.code()).err()),
        (text, finish, code),
        "{body}"
    );
}

#[test]
fn decode_stream_end_reports_complete_or_cut_off() {
    let stop = &[FinishReason::Stop];
    check(&format!("data: {HI}\n\ndata: {STOP}\n\ndata: [DONE]\n\n"), "hi", stop, None);
    check(&format!("data: {HI}\n\ndata: {STOP}\n\n"), "hi", stop, None);
    check(&format!("data: {HI}\n\ndata: {STOP}"), "hi", stop, None);
    let unstated = &[FinishReason::Unstated];
    check(&format!("data: {HI}\n\ndata: [DONE]"), "hi", unstated, None);
    check(&format!("data: {HI}\n\ndata: [DONE]\n\ndata: {HI}\n\ndata: nonsense\n\n"), "hi", unstated, None);
    check(&format!("data: {HI}\n\n"), "hi", &[], Some("cut_off"));
    check(&format!("data: {HI}\n\ndata: {{\"choi"), "hi", &[], Some("cut_off"));
    check("data: {\"choi", "", &[], Some("cut_off"));
    check(": ping\n\n: ping\n\n", "", &[], Some("cut_off"));
    check("", "", &[], Some("cut_off"));
    check(" \r\n\n", "", &[], Some("cut_off"));
}

/// A server that never gives a reason is known to have ended the reply if it then counts its tokens.
#[test]
fn decode_end_without_reason_is_told_unless_usage_follows() {
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#;
    let counted = HI.replace("}}]}", r#"}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#);
    let unstated = &[FinishReason::Unstated];
    check(&format!("data: {HI}\n\ndata: {usage}\n\ndata: [DONE]\n\n"), "hi", &[], None);
    check(&format!("data: {HI}\n\ndata: {usage}\n\n"), "hi", &[], None);
    check(&format!("data: {counted}\n\ndata: [DONE]\n\n"), "hi", unstated, None);
    check(&format!("data: {counted}\n\n"), "hi", &[], Some("cut_off"));
    check(&format!("data: {usage}\n\ndata: {HI}\n\ndata: [DONE]\n\n"), "hi", unstated, None);
    check("data: [DONE]\n\n", "", &[], None);
    let whole = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"}}]}"#;
    check(whole, "hi", &[], None);
    let bodies = [
        (
            "anthropic",
            r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}

data: {"type":"message_stop"}

"#,
            true,
        ),
        ("gemini", "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hi\"}]}}]}\n\ndata: [DONE]\n\n", true),
        ("ollama", "{\"message\":{\"content\":\"hi\"}}\n{\"done\":true}\n", false),
        ("llamacpp", "data: {\"content\":\"hi\",\"stop\":false}\n\ndata: {\"content\":\"\",\"stop\":true}\n\n", false),
        ("koboldcpp", "data: {\"token\":\"hi\"}\n\n", false),
    ];
    for (kind, body, is_unstated) in bodies {
        let (frames, end) = decode_kind(kind, body.as_bytes());
        let reason =
            frames.iter().find_map(|frame| if let Frame::Finish(reason) = frame { Some(reason) } else { None });
        assert_eq!((reason.is_some(), end), (is_unstated, Ok(())), "{kind}");
        assert!(reason.is_none_or(|reason| *reason == FinishReason::Unstated), "{kind}");
    }
}

/// A tool call of which the end is missing is made when the reply is over.
#[test]
fn decode_tool_call_without_finish_reason_is_returned() {
    let call = r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}}]}"#;
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#;
    let is_call = |frame: &Frame| matches!(frame, Frame::ToolCall(call) if call.name == "f");
    for body in [
        format!("data: {call}\n\ndata: [DONE]\n\n"),
        format!("data: {call}\n\ndata: {STOP}\n\n"),
        format!("data: {HI}\n\ndata: {call}\n\ndata: {usage}\n\ndata: [DONE]\n\n"),
        r#"{"choices":[{"message":{"content":null,"tool_calls":[{"function":{"name":"f","arguments":{}}}]}}]}"#.into(),
    ] {
        let (frames, end) = decode_in_pieces(3, 1000, body.as_bytes());
        assert_eq!((frames.iter().filter(|frame| is_call(frame)).count(), end), (1, Ok(())), "{body}");
    }
    let (frames, end) = decode_in_pieces(3, 1000, format!("data: {call}\n\n").as_bytes());
    assert_eq!((frames, end), (vec![], Err(ProviderFailure::CutOff)), "the body broke off");
}

/// Characters that a server cuts into halves are whole again, in texts, reasoning and tool calls of every kind.
#[test]
fn decode_halves_of_characters_are_joined_in_every_kind() {
    let text = |kind: &str, words: &str| match kind {
        "openai" | "openrouter" | "mistral" | "deepseek" | "azure" => format!(
            r#"data: {{"choices":[{{"index":0,"delta":{{"content":"{words}","reasoning_content":"{words}"}}}}]}}"#
        ),
        "anthropic" => format!(
            r#"data: {{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{words}"}}}}

data: {{"type":"content_block_delta","index":1,"delta":{{"type":"thinking_delta","thinking":"{words}"}}}}"#
        ),
        "gemini" => format!(
            r#"data: {{"candidates":[{{"content":{{"parts":[{{"text":"{words}"}},{{"text":"{words}","thought":true}}]}}}}]}}"#
        ),
        "ollama" => format!(r#"{{"message":{{"content":"{words}","thinking":"{words}"}},"done":false}}"#),
        "koboldcpp" => format!(r#"data: {{"token":"{words}"}}"#),
        "cohere" => format!(
            r#"data: {{"type":"content-delta","delta":{{"message":{{"content":{{"text":"{words}","thinking":"{words}"}}}}}}}}"#
        ),
        _ => format!(r#"data: {{"content":"{words}","stop":false}}"#),
    };
    // The one with a queue sends no pieces.
    for kind in ProviderKind::all().map(ProviderKind::name).filter(|kind| *kind != "horde") {
        let gap = if kind == "ollama" { "\n" } else { "\n\n" };
        let pieces = [r"a\ud83d", "", r"\ude00b\udf19", r"\ud83c"].map(|words| text(kind, words));
        let (frames, _) = decode_kind(kind, (pieces.join(gap) + gap).as_bytes());
        let joined = |is_text: bool| -> String {
            let words = |frame: &Frame| match frame {
                Frame::Text(words) if is_text => Some(words.clone()),
                Frame::Reasoning(words) if !is_text => Some(words.clone()),
                _ => None,
            };
            frames.iter().filter_map(words).collect()
        };
        let expected = "a😀b\u{fffd}\u{fffd}";
        let thinks = !matches!(kind, "koboldcpp" | "llamacpp");
        assert_eq!(
            (joined(true).as_str(), joined(false).as_str()),
            (expected, if thinks { expected } else { "" }),
            "{kind}"
        );
    }
    let call = |arguments: &str| {
        format!(
            r#"data: {{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"id":"c","function":{{"name":"f","arguments":"{arguments}"}}}}]}}}}]}}"#
        )
    };
    let body =
        [&call(r#"{\"a\":\"\ud83d"#), &call(r#"\ude00\"}"#), "data: [DONE]\n\n"].map(|part| part.to_owned() + "\n\n");
    let (frames, _) = decode_in_pieces(5, 1000, body.concat().as_bytes());
    let Frame::ToolCall(made) = &frames[0] else { panic!("{frames:?}") };
    assert_eq!(made.arguments, r#"{"a":"😀"}"#);
}

/// A half before the end of a reply is closed before the finish reason, and before a failure.
#[test]
fn decode_half_of_character_at_end_is_replaced() {
    let half = HI.replace("hi", r"hi\ud83d");
    check(&format!("data: {half}\n\ndata: {STOP}\n\ndata: [DONE]\n\n"), "hi\u{fffd}", &[FinishReason::Stop], None);
    check(&format!("data: {half}\n\ndata: [DONE]\n\n"), "hi\u{fffd}", &[FinishReason::Unstated], None);
    check(&format!("data: {half}\n\n"), "hi\u{fffd}", &[], Some("cut_off"));
    check(&format!("data: {half}\n\ndata: {{\"error\":\"w\"}}\n\n"), "hi\u{fffd}", &[], Some("provider_failed"));
}

/// Events of other matters are passed over, and an `error` event is a failure in any shape.
#[test]
fn decode_named_events_are_told_apart() {
    let stop = &[FinishReason::Stop];
    for other in [
        "event: ping\ndata: {\"type\":\"ping\"}",
        "event: ping\ndata: 2026-01-01",
        "event: agentic_tool_call_progress\ndata: {\"message\":\"1 of 2\",\"error\":\"none yet\"}",
        "event: file_produced\ndata: plain text",
    ] {
        check(&format!("{other}\n\ndata: {HI}\n\n{other}\n\ndata: {STOP}\n\n"), "hi", stop, None);
    }
    check(
        &format!("event: chunk\ndata: {HI}\n\nevent: end\ndata: {STOP}\n\nevent: done\ndata: [DONE]\n\n"),
        "hi",
        stop,
        None,
    );
    for (data, words) in [
        ("{\"message\":\"out of cheese\"}", "out of cheese"),
        ("{\"error\":{\"message\":\"out of cheese\"}}", "out of cheese"),
        ("out of cheese", "out of cheese"),
        ("", "it gave no reason"),
    ] {
        let (text, _, end) = decode(1000, format!("data: {HI}\n\nevent: error\ndata: {data}\n\n").as_bytes());
        let failure = end.unwrap_err();
        assert_eq!((text.as_str(), failure.code()), ("hi", "provider_failed"), "{data}");
        assert!(failure.to_string().contains(words), "{failure}");
    }
}

#[test]
fn decode_bare_errors_in_body_return_failure() {
    for body in [
        r#"data: {"detail":"out of cheese"}"#,
        r#"data: {"code":500,"msg":"out of cheese"}"#,
        r#"{"code":500,"msg":"out of cheese","data":null}"#,
        r#"{"detail":"out of cheese"}"#,
        r#"{"success":false,"errors":[{"code":7003,"message":"out of cheese"}]}"#,
        "error: out of cheese",
    ] {
        let (_, _, end) = decode(1000, format!("{body}\n\n").as_bytes());
        let failure = end.unwrap_err();
        assert!(failure.code() == "provider_failed" && failure.to_string().contains("out of cheese"), "{body}");
    }
}

/// A stream without events is empty, whatever keeps it alive. Anything else is not.
#[test]
fn decode_empty_stream_is_recognized() {
    let is_empty = |kind: &str, body: &str| {
        let mut decoder = new_decoder(kind, 1000);
        let _fed = decoder.feed(body.as_bytes(), &mut Vec::new());
        let _ended = decoder.finish(&mut Vec::new());
        decoder.is_empty()
    };
    for body in ["", "\n", ": ping\n\n", "data: [DONE]\n\n", "retry: 1\n\ndata:\n\n", "event: ping\ndata: {}\n\n"] {
        assert!(is_empty("openai", body), "{body:?}");
    }
    for body in ["hello", "{}", "<html>", "data: {\"choi", "data: {}\n\n", "event: error\ndata: x\n\n"] {
        assert!(!is_empty("openai", body), "{body:?}");
    }
    assert!(is_empty("ollama", "") && !is_empty("ollama", "{\"mess"));
}

#[test]
fn decode_malformed_events_are_skipped() {
    let noisy = format!(
        "\u{feff}: hello\r\n\r\nevent: x\nid: 7\nretry: 1\ndata:{HI}\r\r: ping\n\ndata:\n\ndata: null\n\ndata: {STOP}\r\n\r\n"
    );
    check(&noisy, "hi", &[FinishReason::Stop], None);
    check(&format!("data: {}\n\ndata: {STOP}\n\n", HI.replace(',', ",\ndata: ")), "hi", &[FinishReason::Stop], None);
}

/// The form of a body is recognized by its content, in any encoding and with any ends of lines.
#[test]
fn decode_body_of_any_form_and_encoding_is_read() {
    let stop = &[FinishReason::Stop];
    for body in [
        format!("data:{HI}\r\rdata: {STOP}\r\r"),
        format!("data: {HI}\r\n\r\ndata: {STOP}\r\n\r\n"),
        format!("data: {HI}\ndata: {STOP}\ndata: [DONE]\n"),
        format!("id: 1\ndata: {HI}\nid: 2\ndata: {STOP}"),
        format!(": ping\n\ndata: ping\n\ndata: {HI}\n\ndata: [PING]\n\nevent: ping\n\n: ping\rdata: {STOP}\n\n"),
        format!("{HI}\n{STOP}\n"),
        format!("{HI}\r{STOP}\r"),
        format!("{HI}\n\n{STOP}\n[DONE]\n"),
        format!("{HI}\ndata: {STOP}\n"),
        format!("{HI}{STOP}"),
        format!(": ping\n\n{HI}\n{STOP}\n"),
        format!("data: {HI}\n\ndata: {STOP}\n\ndata: [done]\n\n"),
    ] {
        for body in [body.clone(), format!("\u{feff}{body}")] {
            check(&body, "hi", stop, None);
            let little: Vec<u8> = body.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let big: Vec<u8> = body.encode_utf16().flat_map(u16::to_be_bytes).collect();
            for wide in [little, big] {
                let (said, finished, end) = decode(1000, &wide);
                assert_eq!((said.as_str(), finished.as_slice(), end), ("hi", stop.as_slice(), Ok(())), "{body}");
            }
        }
    }
    check(&format!("{HI}\n"), "hi", &[], Some("cut_off"));
    check(&format!("{HI}\n{}", STOP.split_at(20).0), "hi", &[], Some("cut_off"));
    check(
        &format!("data: {HI}\n\n{{\"error\":{{\"message\":\"w\",\"code\":429}}}}\n"),
        "hi",
        &[],
        Some("provider_rate_limited"),
    );
    let whole = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"}}]}"#;
    check(&format!("{whole}\n"), "hi", &[], None);
    check(&format!("{}\n", whole.replace(",\"", ",\n\"")), "hi", &[], None);
    check("{\"a\":1}\n", "", &[], Some("provider_garbled"));
}

/// Kinds that send JSON lines are read as server-sent events, and as a whole over several lines.
#[test]
fn decode_json_lines_kind_in_other_form_is_read() {
    let (piece, last) = (r#"{"message":{"content":"hi"},"done":false}"#, r#"{"done":true,"done_reason":"stop"}"#);
    for body in [
        format!("{piece}\n{last}\n"),
        format!("{piece}\n{last}"),
        format!("data: {piece}\n\ndata: {last}\n\n"),
        format!("data: {piece}\ndata: {last}\n"),
        "{\n\"message\": {\"content\": \"hi\"},\n\"done\": true, \"done_reason\": \"stop\"}\n".to_owned(),
    ] {
        let (mut frames, end) = decode_kind("ollama", body.as_bytes());
        frames.retain(|frame| *frame != Frame::KeepAlive);
        let expected = [Frame::Text("hi".into()), Frame::Finish(FinishReason::Stop)];
        assert_eq!((frames, end), (expected.to_vec(), Ok(())), "{body}");
    }
    assert_eq!(decode_kind("ollama", piece.as_bytes()).1, Err(ProviderFailure::CutOff));
}

#[test]
fn decode_foreign_body_returns_failure() {
    for body in [
        "hello",
        "data: hello\n\n",
        "data: [1]\n\n",
        "data: 7\n\n",
        "[]",
        r#"{"a":1}"#,
        "{nonsense}",
        "<html><title>Login</title>",
        "a: b\n\n",
        "event: start\ndata: {\"type\":\"message_start\"}\n\n",
    ] {
        check(body, "", &[], Some("provider_garbled"));
    }
    let (_, _, end) = decode(1000, b"<html><title>Login</title>");
    assert!(end.unwrap_err().to_string().contains("Login"));
    check(&format!("data: {HI}\n\ndata: {{nonsense\n\ndata: {STOP}\n\n"), "hi", &[], Some("provider_garbled"));
}

#[test]
fn decode_whole_body_returns_frames() {
    let whole = r#" {"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;
    check(whole, "hi", &[FinishReason::Stop], None);
    check(&format!("\u{feff}\n\n{whole}\n"), "hi", &[FinishReason::Stop], None);
    check(whole.split_at(40).0, "", &[], Some("cut_off"));
    check(r#"{"error":{"message":"no"}}"#, "", &[], Some("provider_failed"));
    check(r#"[{"error":{"message":"no","code":400}}]"#, "", &[], Some("provider_refused"));
}

#[test]
fn decode_oversized_reply_keeps_text_up_to_limit() {
    let piece = |text: &str| format!("data: {}\n\n", HI.replace("hi", text));
    let (text, _, end) = decode(10, (piece("夜夜夜") + &piece("夜夜")).as_bytes());
    assert_eq!((text.as_str(), end), ("夜夜夜", Err(ProviderFailure::TooLarge { limit: 10 })));
    let (text, _, end) = decode(10, (piece("0123456789") + "data: [DONE]\n\n").as_bytes());
    assert_eq!((text.as_str(), end), ("0123456789", Ok(())));
    let (frames, end) = decode_in_pieces(usize::MAX, 10, format!("data: {}", "x".repeat(MIN_EVENT_BYTES)).as_bytes());
    assert_eq!((frames, end), (vec![], Err(ProviderFailure::TooLarge { limit: 10 })));
    let (_, end) = decode_in_pieces(usize::MAX, 10, format!("{{\"a\":\"{}", "x".repeat(MIN_EVENT_BYTES)).as_bytes());
    assert_eq!(end, Err(ProviderFailure::TooLarge { limit: 10 }));
}

#[test]
fn decode_any_bytes_emit_keep_alive() {
    let mut decoder = new_decoder("openai", 100);
    for piece in ["\n", ": ping\n\n", "data: {\"choices\"", ":[]}\n\n", "data: [DONE]\n\n", ": more\n\n"] {
        let mut frames = Vec::new();
        decoder.feed(piece.as_bytes(), &mut frames).unwrap();
        assert_eq!(frames, [Frame::KeepAlive], "{piece}");
    }
}
