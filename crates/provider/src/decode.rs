//! Decodes a response body into frames. Pure; the client feeds it the received bytes.
//!
//! - The body is split into chunks by the framing of its kind, and each chunk is read by the kind's reader.
//! - `tests.rs` has the endings of a body: with and without a reason, cut, empty, and as a whole.

use super::{
    FinishReason, Frame, ProviderFailure,
    dialect::{ChunkReader, ChunkStatus, Framing},
    error_report,
    error_text::ErrorScrubber,
    json, json_lines,
    sse::{LineTooLong, SseEvent, SseParser},
    stream_end::StreamEnd,
    surrogates::{self, SurrogateJoiner},
    utf16_body::BodyConverter,
};
use serde_json::Value;

/// Minimum limit of an event, whatever the reply's limit. Roles, usage and vendor fields need space.
const MIN_EVENT_BYTES: usize = 1 << 20;

/// Bytes kept from the start of a response, to quote in an error.
const HEAD_BYTES: usize = 2048;

/// Names of events, and data, that only keep the connection alive.
const PING_EVENTS: [&str; 4] = ["ping", "heartbeat", "keepalive", "keep-alive"];

/// Decodes one response.
#[derive(Debug)]
pub(super) struct ReplyDecoder {
    limit: usize,
    /// Bytes of text and reasoning returned so far.
    taken: usize,
    /// Number of chunks read.
    read: usize,
    /// Whether there was anything but comments, empty events and events of other matters.
    has_data: bool,
    framing: Framing,
    converter: BodyConverter,
    shape: ReplyBodyShape,
    /// Whether the first line of a body of lines is a whole reply, unless others follow.
    may_be_single: bool,
    reader: Box<dyn ChunkReader>,
    /// The combined status of all chunks.
    status: ChunkStatus,
    end: StreamEnd,
    /// Whether the server cuts texts by UTF-16 units.
    has_marks: bool,
    text_joiner: SurrogateJoiner,
    reasoning_joiner: SurrogateJoiner,
    scrub: ErrorScrubber,
    head: Vec<u8>,
}

/// The layout of the body, detected by its beginning. The content types of servers are not reliable.
#[derive(Debug)]
enum ReplyBodyShape {
    Unknown,
    Stream(SseParser),
    /// The beginning of a JSON object. If its first line is one, the body consists of lines.
    FirstLine(Vec<u8>),
    Lines(json_lines::JsonLinesParser),
    Whole(Vec<u8>),
    Closed,
}

impl ReplyDecoder {
    /// Creates a decoder that returns at most `limit` bytes of text and reasoning.
    pub(super) fn new(limit: usize, scrub: ErrorScrubber, reader: Box<dyn ChunkReader>, framing: Framing) -> Self {
        Self {
            limit,
            taken: 0,
            read: 0,
            has_data: false,
            framing,
            converter: BodyConverter::default(),
            shape: ReplyBodyShape::Unknown,
            may_be_single: false,
            reader,
            status: ChunkStatus::default(),
            end: StreamEnd::default(),
            has_marks: false,
            text_joiner: SurrogateJoiner::default(),
            reasoning_joiner: SurrogateJoiner::default(),
            scrub,
            head: Vec::new(),
        }
    }

    /// Returns whether the provider said that nothing more will come.
    pub(super) fn is_done(&self) -> bool {
        self.status.done
    }

    /// Returns whether the body has ended.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.shape, ReplyBodyShape::Closed)
    }

    /// Returns whether the provider gave the finish reason; usage can still follow.
    pub(super) fn is_finished(&self) -> bool {
        self.status.finished
    }

    /// Returns whether a body without anything of a reply has ended: at most with comments and the end mark.
    pub(super) fn is_empty(&self) -> bool {
        let has_ended = self.status.done || self.is_over();
        has_ended && !self.has_data && (self.status.done || self.is_preamble_only())
    }

    /// Appends the frames completed by `bytes`, or [`Frame::KeepAlive`] if there are none.
    ///
    /// # Errors
    /// Returns the failure that ends the reply. The frames before it are in `frames`.
    pub(super) fn feed(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), ProviderFailure> {
        let before = frames.len();
        let text = self.converter.feed(bytes);
        let fed = self.feed_body(&text, frames);
        if frames.len() == before && fed.is_ok() {
            frames.push(Frame::KeepAlive);
        }
        fed
    }

    fn feed_body(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), ProviderFailure> {
        let room = HEAD_BYTES.saturating_sub(self.head.len());
        self.head.extend(bytes.iter().take(room));
        let event_limit = self.event_limit();
        let mut bytes = bytes;
        if matches!(self.shape, ReplyBodyShape::Unknown) {
            bytes = skip_bom_and_whitespace(bytes);
            self.shape = match bytes.first() {
                None => return Ok(()),
                Some(b'{') => ReplyBodyShape::FirstLine(Vec::new()),
                Some(b'[' | b'<') => ReplyBodyShape::Whole(Vec::new()),
                Some(_) => ReplyBodyShape::Stream(SseParser::new(event_limit)),
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
                lines.into_iter().try_for_each(|line| self.decode_line(&line, frames))?;
                fed.map_err(|error| self.too_long(error))
            }
            ReplyBodyShape::Whole(body) if body.len().saturating_add(bytes.len()) > event_limit => {
                Err(ProviderFailure::TooLarge { limit: self.limit })
            }
            ReplyBodyShape::Whole(body) => {
                body.extend_from_slice(bytes);
                Ok(())
            }
            ReplyBodyShape::FirstLine(body) => {
                body.extend_from_slice(bytes);
                match bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
                    true => self.detect_lines(frames),
                    false if body.len() > event_limit => Err(ProviderFailure::TooLarge { limit: self.limit }),
                    false => Ok(()),
                }
            }
            ReplyBodyShape::Unknown | ReplyBodyShape::Closed => Ok(()),
        }
    }

    fn event_limit(&self) -> usize {
        self.limit.saturating_mul(2).max(MIN_EVENT_BYTES)
    }

    /// Decides what a JSON body is by its first line: a chunk of a stream of lines, or the beginning of a value.
    fn detect_lines(&mut self, frames: &mut Vec<Frame>) -> Result<(), ProviderFailure> {
        let ReplyBodyShape::FirstLine(body) = std::mem::replace(&mut self.shape, ReplyBodyShape::Unknown) else {
            return Ok(());
        };
        let line = body.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
        let first = json::parse(&String::from_utf8_lossy(line)).ok().filter(Value::is_object);
        let Some(first) = first else {
            let is_too_large = body.len() > self.event_limit();
            self.shape = ReplyBodyShape::Whole(body);
            return if is_too_large { Err(ProviderFailure::TooLarge { limit: self.limit }) } else { Ok(()) };
        };
        self.may_be_single = self.framing == Framing::ServerSentEvents && is_whole_reply(&first);
        let (mut parser, mut lines) = (json_lines::JsonLinesParser::new(self.event_limit()), Vec::new());
        let fed = parser.feed(&body, &mut lines);
        self.shape = ReplyBodyShape::Lines(parser);
        lines.into_iter().try_for_each(|line| self.decode_line(&line, frames))?;
        fed.map_err(|error| self.too_long(error))
    }

    /// Ends a reply whose body broke off: appends what is left of its texts.
    pub(super) fn break_off(&mut self, frames: &mut Vec<Frame>) {
        self.flush_halves(frames);
    }

    /// Decodes the rest after the body has ended or broken off, and checks that the reply is complete.
    ///
    /// # Errors
    /// Returns the failure that ends the reply, as for [`ReplyDecoder::feed`].
    pub(super) fn finish(&mut self, frames: &mut Vec<Frame>) -> Result<(), ProviderFailure> {
        let rest = self.converter.finish();
        if !rest.is_empty() {
            self.feed_body(&rest, frames)?;
        }
        match std::mem::replace(&mut self.shape, ReplyBodyShape::Closed) {
            ReplyBodyShape::Whole(body) => self.finish_whole(&body, frames),
            ReplyBodyShape::Stream(parser) => {
                let mut events = Vec::new();
                let open = parser.finish(&mut events);
                events.into_iter().try_for_each(|event| self.decode_event(event, frames))?;
                let open = open.map_err(|error| self.too_long(error))?;
                self.finish_stream(open, frames)
            }
            ReplyBodyShape::FirstLine(body) if self.framing == Framing::JsonLines => {
                self.finish_stream(Some(SseEvent::Data(String::from_utf8_lossy(&body).into_owned())), frames)
            }
            ReplyBodyShape::FirstLine(body) => self.finish_whole(&body, frames),
            ReplyBodyShape::Lines(parser) => self.finish_lines(parser.finish(), frames),
            ReplyBodyShape::Unknown | ReplyBodyShape::Closed => self.finish_stream(None, frames),
        }
    }

    fn finish_lines(&mut self, open: Option<String>, frames: &mut Vec<Frame>) -> Result<(), ProviderFailure> {
        let is_single = self.may_be_single && self.read == 1 && open.is_none();
        // Its JSON is complete, so the reply is.
        self.status.finished |= is_single && self.status.recognised;
        let open = open.map(|line| SseEvent::Data(data_of_line(&line).to_owned()));
        self.finish_stream(open, frames)
    }

    fn finish_stream(&mut self, open: Option<SseEvent>, frames: &mut Vec<Frame>) -> Result<(), ProviderFailure> {
        // Accept a last event without its blank line if it is complete; a partial one means that the body was cut.
        if let Some(event) = open {
            if is_complete(&event) {
                self.decode_event(event, frames)?;
            } else {
                self.has_data = true;
            }
        }
        let is_over = self.status.finished || self.reader.may_end_without_finish();
        if self.status.done {
            return Ok(());
        }
        if is_over || self.end.is_normal() {
            self.end_reply(frames);
            return Ok(());
        }
        self.flush_halves(frames);
        if self.status.recognised || self.is_preamble_only() {
            return Err(ProviderFailure::CutOff);
        }
        Err(self.malformed_reply("it is not a reply"))
    }

    /// Appends what was held back when the reply is over. If the server gave no reason and nothing else shows a normal
    /// end, says so.
    fn end_reply(&mut self, frames: &mut Vec<Frame>) {
        let before = frames.len();
        self.reader.flush(frames);
        let has_calls = frames.iter().skip(before).any(|frame| matches!(frame, Frame::ToolCall(_)));
        self.join_halves(frames, before);
        self.flush_halves(frames);
        let has_reason = self.status.finished || self.reader.may_end_without_finish();
        if has_calls {
            frames.push(Frame::Finish(FinishReason::ToolCalls));
        } else if !has_reason && self.end.is_open() {
            frames.push(Frame::Finish(FinishReason::Unstated));
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
        self.has_data = true;
        let text = String::from_utf8_lossy(body);
        let value = match json::parse_chunk(&text) {
            Ok((value, has_marks)) => {
                self.has_marks = has_marks;
                value
            }
            Err(json::JsonResponseError::Syntax(error)) if error.is_eof() => return Err(ProviderFailure::CutOff),
            Err(json::JsonResponseError::Syntax(_)) => {
                json::parse_sequence(&text).ok_or_else(|| self.malformed_reply("it is not JSON"))?
            }
            Err(json::JsonResponseError::OutOfBounds(_)) => return Err(self.malformed_reply("it is not JSON")),
        };
        // Some gateways wrap the error object in a list, and some send all chunks of the stream as one.
        match &value {
            Value::Array(chunks) => chunks.iter().try_for_each(|chunk| self.decode_chunk(chunk, frames))?,
            value => self.decode_chunk(value, frames)?,
        }
        if !self.status.recognised {
            return Err(self.malformed_reply("it is not a reply"));
        }
        // A whole body without a reason is complete, because its JSON is.
        self.status.finished = true;
        self.end_reply(frames);
        Ok(())
    }

    fn decode_event(&mut self, event: SseEvent, frames: &mut Vec<Frame>) -> Result<(), ProviderFailure> {
        match event {
            SseEvent::Comment => Ok(()),
            SseEvent::Data(data) => self.decode_data(&data, frames),
            SseEvent::Named { .. } if self.status.done => Ok(()),
            SseEvent::Named { name, data } if name == "error" => {
                self.has_data = true;
                self.flush_halves(frames);
                let value = json::parse(&data).unwrap_or(Value::String(data));
                Err(error_report::failure_of(error_report::error_of(&value).unwrap_or(&value), &self.scrub))
            }
            SseEvent::Named { name, data } if is_ping(&name, &data) => Ok(()),
            SseEvent::Named { data, .. } if self.reader.names_events() || is_done_mark(data.trim()) => {
                self.decode_data(&data, frames)
            }
            SseEvent::Named { data, .. } => self.decode_named(&data, frames),
        }
    }

    /// Decodes a line of a stream of JSON lines. Some servers mix them with lines of server-sent events.
    fn decode_line(&mut self, line: &str, frames: &mut Vec<Frame>) -> Result<(), ProviderFailure> {
        let is_other = [":", "event:", "id:", "retry:"].iter().any(|begin| line.starts_with(begin));
        if is_other { Ok(()) } else { self.decode_data(data_of_line(line), frames) }
    }

    /// Decodes an event with a name of its own. Servers tell other things in such events: progress, files, pings.
    fn decode_named(&mut self, data: &str, frames: &mut Vec<Frame>) -> Result<(), ProviderFailure> {
        let value = json::parse(data).unwrap_or_default();
        if error_report::has_reply_field(&value) {
            return self.decode_data(data, frames);
        }
        if value.is_object() {
            self.has_data = true;
            self.read = self.read.saturating_add(1);
        }
        Ok(())
    }

    fn decode_data(&mut self, data: &str, frames: &mut Vec<Frame>) -> Result<(), ProviderFailure> {
        match data.trim() {
            _ if self.status.done => Ok(()),
            "" | "null" => Ok(()),
            data if is_ping_word(data) => Ok(()),
            data if is_done_mark(data) => {
                self.status.done = true;
                self.end_reply(frames);
                Ok(())
            }
            data => self.decode_json(data, frames),
        }
    }

    fn decode_json(&mut self, data: &str, frames: &mut Vec<Frame>) -> Result<(), ProviderFailure> {
        self.has_data = true;
        let Some((value, has_marks)) = json::parse_chunk(data).ok().filter(|(value, _)| value.is_object()) else {
            self.flush_halves(frames);
            let words = self.scrub.clean(&format!("a piece of the stream is not a JSON object: {data}"));
            return Err(ProviderFailure::InvalidResponse { words });
        };
        self.has_marks |= has_marks;
        self.decode_chunk(&value, frames)?;
        if self.status.done {
            self.end_reply(frames);
        }
        Ok(())
    }

    /// Joins characters that chunks have cut, in the frames from `start` on.
    fn join_halves(&mut self, frames: &mut Vec<Frame>, start: usize) {
        if !self.has_marks {
            return;
        }
        for mut frame in frames.split_off(start.min(frames.len())) {
            match &mut frame {
                Frame::Text(words) => *words = self.text_joiner.push(words),
                Frame::Reasoning(words) => *words = self.reasoning_joiner.push(words),
                Frame::ToolCall(call) => {
                    for text in [&mut call.id, &mut call.name, &mut call.arguments] {
                        *text = surrogates::join_text(text);
                    }
                }
                Frame::ProviderState(state) => surrogates::join_value(state),
                Frame::Finish(_) => self.flush_halves(frames),
                Frame::KeepAlive
                | Frame::Queued { .. }
                | Frame::Usage(_)
                | Frame::Model(_)
                | Frame::ParametersChanged(_) => {}
            }
            if !matches!(&frame, Frame::Text(words) | Frame::Reasoning(words) if words.is_empty()) {
                frames.push(frame);
            }
        }
    }

    /// Ends texts in the middle of a character.
    fn flush_halves(&mut self, frames: &mut Vec<Frame>) {
        frames.extend(self.reasoning_joiner.finish().map(Frame::Reasoning));
        frames.extend(self.text_joiner.finish().map(Frame::Text));
    }

    /// Reads one chunk, within the limit.
    fn decode_chunk(&mut self, value: &Value, frames: &mut Vec<Frame>) -> Result<(), ProviderFailure> {
        self.read = self.read.saturating_add(1);
        let mut read = Vec::new();
        let end = self.reader.read(value, &self.scrub, &mut read).map(|said| {
            self.status.recognised |= said.recognised;
            self.status.finished |= said.finished;
            self.status.done |= said.done;
        });
        self.end.note(&read);
        self.join_halves(&mut read, 0);
        if end.is_err() {
            self.flush_halves(&mut read);
        }
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

/// Returns whether an event that the end of the body interrupted has all of its data.
fn is_complete(event: &SseEvent) -> bool {
    match event {
        SseEvent::Comment => false,
        SseEvent::Named { name, .. } if name == "error" => true,
        SseEvent::Data(data) | SseEvent::Named { data, .. } => is_done_mark(data.trim()) || json::parse(data).is_ok(),
    }
}

/// Returns whether an event only keeps the connection alive.
fn is_ping(name: &str, data: &str) -> bool {
    PING_EVENTS.contains(&name) && !error_report::has_reply_field(&json::parse(data).unwrap_or_default())
}

/// Returns whether the data of an event are a word that only keeps the connection alive, such as `[PING]`.
fn is_ping_word(data: &str) -> bool {
    let word = data.trim_matches(|char| matches!(char, '[' | ']' | '"')).to_ascii_lowercase();
    PING_EVENTS.contains(&word.as_str())
}

/// Returns whether data mark the end of a stream.
fn is_done_mark(data: &str) -> bool {
    data.trim_matches('"').eq_ignore_ascii_case("[DONE]")
}

/// Returns whether a chunk has the form of a whole reply rather than of a piece of a stream.
fn is_whole_reply(chunk: &Value) -> bool {
    let places = ["/choices/0/message", "/choices/0/text", "/results"];
    places.iter().any(|place| chunk.pointer(place).is_some()) || json::text(chunk, "type") == Some("message")
}

/// Returns a line without the name of a field of server-sent events.
fn data_of_line(line: &str) -> &str {
    line.strip_prefix("data:").unwrap_or(line)
}

/// Skips leading whitespace, which can keep a connection alive, and a byte order mark.
fn skip_bom_and_whitespace(bytes: &[u8]) -> &[u8] {
    let is_lead_in = |byte: &u8| byte.is_ascii_whitespace() || "\u{feff}".as_bytes().contains(byte);
    let start = bytes.iter().position(|byte| !is_lead_in(byte));
    start.and_then(|start| bytes.get(start..)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
