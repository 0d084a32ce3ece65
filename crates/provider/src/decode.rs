//! Decodes a response body into frames. Pure; the client feeds it the received bytes.

use super::{
    Frame, ProviderFailure,
    dialect::{ChunkReader, ChunkStatus, Framing},
    error_text::ErrorScrubber,
    json, json_lines,
    sse::{LineTooLong, SseEvent, SseParser},
};

/// Minimum limit of an event, whatever the reply's limit. Roles, usage and vendor fields need space.
const MIN_EVENT_BYTES: usize = 1 << 20;

/// Bytes kept from the start of a response, to quote in an error.
const HEAD_BYTES: usize = 2048;

/// Decodes one response.
#[derive(Debug)]
pub(super) struct ReplyDecoder {
    limit: usize,
    /// Bytes of text and reasoning returned so far.
    taken: usize,
    /// Number of chunks read.
    read: usize,
    framing: Framing,
    shape: ReplyBodyShape,
    reader: Box<dyn ChunkReader>,
    /// The combined status of all chunks.
    status: ChunkStatus,
    scrub: ErrorScrubber,
    head: Vec<u8>,
}

/// The layout of the body, detected by its first byte. The content types of servers are not reliable.
#[derive(Debug)]
enum ReplyBodyShape {
    Unknown,
    Stream(SseParser),
    Lines(json_lines::JsonLinesParser),
    Whole(Vec<u8>),
    Closed,
}

impl ReplyDecoder {
    /// Creates a decoder that returns at most `limit` bytes of text and reasoning.
    pub(super) fn new(limit: usize, scrub: ErrorScrubber, reader: Box<dyn ChunkReader>, framing: Framing) -> Self {
        let (shape, status, head) = (ReplyBodyShape::Unknown, ChunkStatus::default(), Vec::new());
        Self { limit, taken: 0, read: 0, framing, shape, reader, status, scrub, head }
    }

    /// Returns whether the provider said that nothing more will come.
    pub(super) fn is_done(&self) -> bool {
        self.status.done
    }

    /// Returns whether the provider gave the finish reason; usage can still follow.
    pub(super) fn is_finished(&self) -> bool {
        self.status.finished
    }

    /// Appends the frames completed by `bytes`, or [`Frame::KeepAlive`] if there are none.
    ///
    /// # Errors
    /// Returns the failure that ends the reply. The frames before it are in `frames`.
    pub(super) fn feed(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), ProviderFailure> {
        let room = HEAD_BYTES.saturating_sub(self.head.len());
        self.head.extend(bytes.iter().take(room));
        let before = frames.len();
        let fed = self.feed_body(bytes, frames);
        if frames.len() == before && fed.is_ok() {
            frames.push(Frame::KeepAlive);
        }
        fed
    }

    fn feed_body(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), ProviderFailure> {
        let event_limit = self.limit.saturating_mul(2).max(MIN_EVENT_BYTES);
        let mut bytes = bytes;
        if matches!(self.shape, ReplyBodyShape::Unknown) {
            bytes = skip_bom_and_whitespace(bytes);
            self.shape = match (bytes.first(), self.framing) {
                (None, _) => return Ok(()),
                (Some(b'{'), Framing::JsonLines) => {
                    ReplyBodyShape::Lines(json_lines::JsonLinesParser::new(event_limit))
                }
                (Some(b'{' | b'[' | b'<'), _) => ReplyBodyShape::Whole(Vec::new()),
                (Some(_), _) => ReplyBodyShape::Stream(SseParser::new(event_limit)),
            };
        }
        match &mut self.shape {
            ReplyBodyShape::Stream(parser) => {
                let mut events = Vec::new();
                let fed = parser.feed(bytes, &mut events);
                events.into_iter().try_for_each(|event| self.decode_event(event, frames))?;
                fed.map_err(|error| self.too_long(error))
            }
            ReplyBodyShape::Lines(parser) => {
                let mut lines = Vec::new();
                let fed = parser.feed(bytes, &mut lines);
                lines.into_iter().try_for_each(|line| self.decode_event(SseEvent::Data(line), frames))?;
                fed.map_err(|error| self.too_long(error))
            }
            ReplyBodyShape::Whole(body) if body.len().saturating_add(bytes.len()) > event_limit => {
                Err(ProviderFailure::TooLarge { limit: self.limit })
            }
            ReplyBodyShape::Whole(body) => {
                body.extend_from_slice(bytes);
                Ok(())
            }
            ReplyBodyShape::Unknown | ReplyBodyShape::Closed => Ok(()),
        }
    }

    /// Decodes the rest after the body has ended or broken off, and checks that the reply is complete.
    ///
    /// # Errors
    /// Returns the failure that ends the reply, as for [`ReplyDecoder::feed`].
    pub(super) fn finish(&mut self, frames: &mut Vec<Frame>) -> Result<(), ProviderFailure> {
        match std::mem::replace(&mut self.shape, ReplyBodyShape::Closed) {
            ReplyBodyShape::Whole(body) => self.finish_whole(&body, frames),
            ReplyBodyShape::Stream(parser) => {
                let open = parser.finish().map_err(|error| self.too_long(error))?;
                self.finish_stream(open, frames)
            }
            ReplyBodyShape::Lines(parser) => self.finish_stream(parser.finish(), frames),
            ReplyBodyShape::Unknown | ReplyBodyShape::Closed => self.finish_stream(None, frames),
        }
    }

    fn finish_stream(&mut self, open: Option<String>, frames: &mut Vec<Frame>) -> Result<(), ProviderFailure> {
        // Accept a last event without its blank line if it is complete; a partial one means that the body was cut.
        if let Some(data) = open.filter(|data| data.trim() == "[DONE]" || json::parse(data).is_ok()) {
            self.decode_event(SseEvent::Data(data), frames)?;
        }
        match self.status.done || self.status.finished || self.reader.may_end_without_finish() {
            true => Ok(()),
            false if self.status.recognised || self.is_preamble_only() => Err(ProviderFailure::CutOff),
            false => Err(self.malformed_reply("it is not a reply")),
        }
    }

    /// Returns whether nothing arrived, or only what can come before the first chunk of a stream.
    fn is_preamble_only(&self) -> bool {
        if self.framing == Framing::JsonLines && self.head.trim_ascii_start().first().is_none_or(|byte| *byte == b'{') {
            return self.read == 0;
        }
        let fields = ["", "data", "error", "event", "id", "retry"].map(str::as_bytes);
        let name = skip_bom_and_whitespace(&self.head)
            .split(|byte| matches!(byte, b':' | b'\r' | b'\n'))
            .next()
            .unwrap_or_default();
        self.read == 0 && fields.contains(&name)
    }

    fn finish_whole(&mut self, body: &[u8], frames: &mut Vec<Frame>) -> Result<(), ProviderFailure> {
        let value = match json::parse(&String::from_utf8_lossy(body)) {
            Ok(value) => value,
            Err(json::JsonResponseError::Syntax(error)) if error.is_eof() => return Err(ProviderFailure::CutOff),
            Err(_) => return Err(self.malformed_reply("it is not JSON")),
        };
        // Some gateways wrap the error object in a list.
        let value = value.as_array().and_then(|list| list.first()).unwrap_or(&value);
        self.decode_chunk(value, frames)?;
        if self.status.recognised { Ok(()) } else { Err(self.malformed_reply("it is not a reply")) }
    }

    fn decode_event(&mut self, event: SseEvent, frames: &mut Vec<Frame>) -> Result<(), ProviderFailure> {
        let SseEvent::Data(data) = event else { return Ok(()) };
        match data.trim() {
            _ if self.status.done => Ok(()),
            "" | "null" => Ok(()),
            "[DONE]" => {
                self.status.done = true;
                Ok(())
            }
            data => match json::parse(data) {
                Ok(value) if value.is_object() => self.decode_chunk(&value, frames),
                _ => Err(ProviderFailure::InvalidResponse {
                    words: self.scrub.clean(&format!("a piece of the stream is not a JSON object: {data}")),
                }),
            },
        }
    }

    /// Reads one chunk, within the limit.
    fn decode_chunk(&mut self, value: &serde_json::Value, frames: &mut Vec<Frame>) -> Result<(), ProviderFailure> {
        self.read = self.read.saturating_add(1);
        let mut read = Vec::new();
        let end = self.reader.read(value, &self.scrub, &mut read).map(|said| {
            self.status.recognised |= said.recognised;
            self.status.finished |= said.finished;
            self.status.done |= said.done;
        });
        for mut frame in read {
            let room = self.limit.saturating_sub(self.taken);
            let (Frame::Text(words) | Frame::Reasoning(words)) = &mut frame else {
                frames.push(frame);
                continue;
            };
            self.taken = self.taken.saturating_add(words.len());
            let fits = words.len() <= room;
            words.truncate(words.floor_char_boundary(room));
            if !words.is_empty() {
                frames.push(frame);
            }
            if !fits {
                return Err(ProviderFailure::TooLarge { limit: self.limit });
            }
        }
        end
    }

    fn too_long(&self, _: LineTooLong) -> ProviderFailure {
        ProviderFailure::TooLarge { limit: self.limit }
    }

    fn malformed_reply(&self, what: &str) -> ProviderFailure {
        let head = self.scrub.text_of_body(&self.head);
        ProviderFailure::InvalidResponse { words: self.scrub.clean(&format!("{what}, it begins with: {head}")) }
    }
}

/// Skips leading whitespace, which can keep a connection alive, and a byte order mark.
fn skip_bom_and_whitespace(bytes: &[u8]) -> &[u8] {
    let is_lead_in = |byte: &u8| byte.is_ascii_whitespace() || "\u{feff}".as_bytes().contains(byte);
    let start = bytes.iter().position(|byte| !is_lead_in(byte));
    start.and_then(|start| bytes.get(start..)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
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
        let finish = frames
            .iter()
            .filter_map(|frame| if let Frame::Finish(finish) = frame { Some(finish.clone()) } else { None });
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
        check(&format!("data: {HI}\n\ndata: [DONE]"), "hi", &[], None);
        check(&format!("data: {HI}\n\ndata: [DONE]\n\ndata: {HI}\n\ndata: nonsense\n\n"), "hi", &[], None);
        check(&format!("data: {HI}\n\n"), "hi", &[], Some("cut_off"));
        check(&format!("data: {HI}\n\ndata: {{\"choi"), "hi", &[], Some("cut_off"));
        check("data: {\"choi", "", &[], Some("cut_off"));
        check(": ping\n\n: ping\n\n", "", &[], Some("cut_off"));
        check("", "", &[], Some("cut_off"));
        check(" \r\n\n", "", &[], Some("cut_off"));
    }

    #[test]
    fn decode_malformed_events_are_skipped() {
        let noisy = format!(
            "\u{feff}: hello\r\n\r\nevent: x\nid: 7\nretry: 1\ndata:{HI}\r\r: ping\n\ndata:\n\ndata: null\n\ndata: {STOP}\r\n\r\n"
        );
        check(&noisy, "hi", &[FinishReason::Stop], None);
        check(
            &format!("data: {}\n\ndata: {STOP}\n\n", HI.replace(',', ",\ndata: ")),
            "hi",
            &[FinishReason::Stop],
            None,
        );
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
        let whole =
            r#" {"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;
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
        let (frames, end) =
            decode_in_pieces(usize::MAX, 10, format!("data: {}", "x".repeat(MIN_EVENT_BYTES)).as_bytes());
        assert_eq!((frames, end), (vec![], Err(ProviderFailure::TooLarge { limit: 10 })));
        let (_, end) =
            decode_in_pieces(usize::MAX, 10, format!("{{\"a\":\"{}", "x".repeat(MIN_EVENT_BYTES)).as_bytes());
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
}
