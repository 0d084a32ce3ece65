//! What the mock does with one request: a [`Reply`] and its steps.

use super::protocol::{Protocol, ReplyEnd};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The words of the mock when nothing else is scripted.
pub const WORDS: [&str; 8] = ["The ", "lamp ", "is ", "lit. ", "夜色", "渐深🌙, ", "she ", "waits."];

/// Holds a reply back until the test releases it.
#[derive(Clone)]
pub struct Gate(Arc<Semaphore>);

impl Gate {
    /// Returns a closed gate.
    pub fn new() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    /// Lets `n` more pieces pass.
    pub fn release(&self, n: usize) {
        self.0.add_permits(n);
    }

    /// Lets everything pass from now on.
    pub fn open(&self) {
        self.0.close();
    }

    pub(super) async fn wait_to_pass(&self) {
        if let Ok(permit) = self.0.acquire().await {
            permit.forget();
        }
    }
}

/// The field in which a server sends reasoning.
#[derive(Clone, Copy, Debug)]
pub enum ReasoningField {
    Reasoning,
    ReasoningContent,
    ReasoningDetails,
    /// All three fields with the same text, as aggregators send them.
    All,
}

impl ReasoningField {
    fn delta(self, words: &str) -> Value {
        let details = json!([{"type": "reasoning.text", "text": words, "index": 0}]);
        match self {
            Self::Reasoning => json!({"reasoning": words}),
            Self::ReasoningContent => json!({"reasoning_content": words, "content": null}),
            Self::ReasoningDetails => json!({"reasoning_details": details}),
            Self::All => json!({"reasoning": words, "reasoning_content": words, "reasoning_details": details}),
        }
    }
}

/// The behaviour for one request. Start with [`Reply::ok`] or another constructor, and change it with the methods.
#[derive(Clone)]
pub struct Reply {
    body: ReplyBody,
    status: u16,
    headers: Vec<String>,
    reasoning_pieces: Vec<String>,
    tool_calls: Vec<(String, Value)>,
    reasoning_field: ReasoningField,
    finish_reason: Option<String>,
    usage: Option<Value>,
    usage_with_finish: bool,
    sends_done: bool,
    has_noise: bool,
    chunk_size: usize,
    head_gate: Option<Gate>,
    gate: Option<Gate>,
    ending: ReplyEnding,
}

#[derive(Clone)]
enum ReplyBody {
    /// [`WORDS`], limited by the `max_tokens` and `stop` of the request.
    Obedient,
    Pieces(Vec<String>),
    /// The payloads of the stream's events, verbatim.
    Events(Vec<String>),
    /// The same piece, repeated without end.
    Endless(String),
    /// A content type and bytes instead of a stream.
    Raw(String, Vec<u8>),
}

#[derive(Clone, PartialEq)]
enum ReplyEnding {
    Well,
    Stall,
    Cut,
    Reset,
    HangUp,
    Silent,
    Error(u16, String),
}

/// One action on the connection.
pub(super) enum ReplyStep {
    Bytes(Vec<u8>),
    Pass(Gate),
    Repeat(Vec<u8>),
    Wait,
    Close,
    Reset,
}

impl Default for Reply {
    /// Returns [`WORDS`] as a model would send them, with usage.
    fn default() -> Self {
        Self::new(ReplyBody::Obedient).usage(7, 0)
    }
}

impl Reply {
    fn new(body: ReplyBody) -> Self {
        Self {
            body,
            status: 200,
            headers: Vec::new(),
            reasoning_pieces: Vec::new(),
            tool_calls: Vec::new(),
            reasoning_field: ReasoningField::Reasoning,
            finish_reason: Some("stop".to_owned()),
            usage: None,
            usage_with_finish: false,
            sends_done: true,
            has_noise: false,
            chunk_size: usize::MAX,
            head_gate: None,
            gate: None,
            ending: ReplyEnding::Well,
        }
    }

    /// Streams these pieces and ends with `stop` and `[DONE]`.
    pub fn ok<S: Into<String>>(pieces: impl IntoIterator<Item = S>) -> Self {
        Self::new(ReplyBody::Pieces(pieces.into_iter().map(Into::into).collect()))
    }

    /// Streams these events verbatim: `{…}` or `[DONE]`.
    pub fn events<S: Into<String>>(events: impl IntoIterator<Item = S>) -> Self {
        Self::new(ReplyBody::Events(events.into_iter().map(Into::into).collect()))
    }

    /// Streams `piece` again and again until the client leaves.
    pub fn endless(piece: &str) -> Self {
        Self::new(ReplyBody::Endless(piece.to_owned()))
    }

    /// Answers without a stream.
    pub fn raw(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { status, ..Self::new(ReplyBody::Raw(content_type.to_owned(), body.into())) }
    }

    /// Answers with a JSON value.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::raw(status, "application/json", body.to_string())
    }

    /// Answers with an error in OpenAI's form.
    pub fn error(status: u16, words: &str) -> Self {
        Self::json(status, &json!({"error": {"message": words, "type": "server_error", "param": null, "code": null}}))
    }

    /// Answers with an HTML page, as a gateway before the model server does.
    pub fn html(status: u16, title: &str) -> Self {
        Self::raw(status, "text/html", format!("<html><head><title>{title}</title></head><body>sorry</body></html>"))
    }

    /// Redirects to another address.
    pub fn redirect(to: &str) -> Self {
        Self::raw(302, "text/plain", "elsewhere").header("Location", to)
    }

    /// Sends a whole completion at once although a stream was requested.
    pub fn full_completion(content: &str) -> Self {
        Self::json(
            200,
            &json!({"id": "c-1", "object": "chat.completion", "model": "mock-whole",
                "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8}}),
        )
    }

    /// Reads the request and never answers.
    pub fn silent() -> Self {
        Self { ending: ReplyEnding::Silent, ..Self::ok([""; 0]) }
    }

    /// Reads the request and closes the connection without an answer.
    pub fn hang_up() -> Self {
        Self { ending: ReplyEnding::HangUp, ..Self::ok([""; 0]) }
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push(format!("{name}: {value}"));
        self
    }

    /// Sends reasoning before the text.
    pub fn reasoning<S: Into<String>>(mut self, dialect: ReasoningField, pieces: impl IntoIterator<Item = S>) -> Self {
        self.reasoning_field = dialect;
        self.reasoning_pieces = pieces.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a tool call after the text, for protocols other than OpenAI's. Text completion protocols have no tools, so
    /// the call is part of the text.
    pub fn tool_call(mut self, name: &str, arguments: Value) -> Self {
        self.tool_calls.push((name.to_owned(), arguments));
        self
    }

    /// Sends usage in a last event without choices, as OpenAI does.
    pub fn usage(mut self, prompt: u64, completion: u64) -> Self {
        let total = prompt + completion;
        self.usage = Some(json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}));
        self
    }

    /// Sends any usage, in the event with the finish reason.
    pub fn usage_with_finish(mut self, usage: Value) -> Self {
        self.usage = Some(usage);
        self.usage_with_finish = true;
        self
    }

    /// Sets a `finish_reason` other than `stop`.
    pub fn finish_reason(mut self, reason: &str) -> Self {
        self.finish_reason = Some(reason.to_owned());
        self
    }

    /// Omits `[DONE]`.
    pub fn without_done(mut self) -> Self {
        self.sends_done = false;
        self
    }

    /// Omits all signs that the reply is over, but ends the body properly.
    pub fn without_finish(mut self) -> Self {
        self.finish_reason = None;
        self.without_done()
    }

    /// Adds what the format allows but few clients expect: a byte order mark, comments, all line endings, other fields,
    /// empty and multi-line data.
    pub fn with_noise(mut self) -> Self {
        self.has_noise = true;
        self
    }

    /// Cuts the body into chunks of `bytes` bytes, regardless of its content.
    pub fn chunk_size(mut self, bytes: usize) -> Self {
        self.chunk_size = bytes;
        self
    }

    /// Makes each piece (of reasoning and text), and then the ending, wait for one release of `gate`.
    pub fn gate(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// Makes the response head wait for one release of `gate`.
    pub fn head_gate(mut self, gate: &Gate) -> Self {
        self.head_gate = Some(gate.clone());
        self
    }

    /// Sends nothing after the pieces and keeps the connection open.
    pub fn then_stall(mut self) -> Self {
        self.ending = ReplyEnding::Stall;
        self
    }

    /// Closes the connection in the middle of the body, after the pieces.
    pub fn then_cut(mut self) -> Self {
        self.ending = ReplyEnding::Cut;
        self
    }

    /// Resets the connection after the pieces.
    pub fn then_reset(mut self) -> Self {
        self.ending = ReplyEnding::Reset;
        self
    }

    /// Sends an error event after the pieces and ends the body.
    pub fn then_error(mut self, code: u16, words: &str) -> Self {
        self.ending = ReplyEnding::Error(code, words.to_owned());
        self
    }

    /// Returns the steps that answer `request`.
    pub(super) fn steps(&self, protocol: Protocol, request: &Value) -> Vec<ReplyStep> {
        let mut steps: Vec<ReplyStep> = self.head_gate.iter().cloned().map(ReplyStep::Pass).collect();
        match (&self.ending, &self.body) {
            (ReplyEnding::Silent, _) => steps.push(ReplyStep::Wait),
            (ReplyEnding::HangUp, _) => steps.push(ReplyStep::Close),
            (_, ReplyBody::Raw(content_type, body)) if self.chunk_size != usize::MAX => {
                let head = self.response_head(content_type, "Transfer-Encoding: chunked");
                steps.push(ReplyStep::Bytes([head, self.http_chunks(body), b"0\r\n\r\n".to_vec()].concat()));
            }
            (_, ReplyBody::Raw(content_type, body)) => {
                let mut answer = self.response_head(content_type, &format!("Content-Length: {}", body.len()));
                answer.extend_from_slice(body);
                steps.push(ReplyStep::Bytes(answer));
            }
            _ => {
                steps.push(ReplyStep::Bytes(self.response_head(protocol.content_type(), "Transfer-Encoding: chunked")));
                match protocol {
                    Protocol::OpenAi => self.openai_steps(request, &mut steps),
                    other => self.other_protocol_steps(other, request, &mut steps),
                }
            }
        }
        steps
    }

    fn response_head(&self, content_type: &str, framing: &str) -> Vec<u8> {
        let own: String = self.headers.iter().map(|header| format!("{header}\r\n")).collect();
        format!("HTTP/1.1 {} Mock\r\nContent-Type: {content_type}\r\n{framing}\r\n{own}\r\n", self.status).into_bytes()
    }

    fn openai_steps(&self, request: &Value, steps: &mut Vec<ReplyStep>) {
        let (pieces, finish) = self.pieces(Protocol::OpenAi, request);
        let chunk = |delta: Value, finish: Option<&str>| {
            json!({"id": "c-1", "object": "chat.completion.chunk", "model": request["model"],
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
        };
        let mut events = vec![(false, chunk(json!({"role": "assistant", "content": null}), None).to_string())];
        events.extend(
            self.reasoning_pieces
                .iter()
                .map(|words| (true, chunk(self.reasoning_field.delta(words), None).to_string())),
        );
        match &self.body {
            ReplyBody::Events(own) => events = own.iter().map(|event| (true, event.clone())).collect(),
            _ => events.extend(pieces.iter().map(|piece| (true, chunk(json!({"content": piece}), None).to_string()))),
        }
        let gate = |held: bool| self.gate.iter().filter(move |_| held).cloned().map(ReplyStep::Pass);
        for (nth, (held, event)) in events.iter().enumerate() {
            steps.extend(gate(*held));
            steps.push(ReplyStep::Bytes(self.http_chunks(&self.encode_event(nth, event))));
        }
        if let ReplyBody::Endless(piece) = &self.body {
            let event = self.encode_event(1, &chunk(json!({"content": piece}), None).to_string());
            steps.push(ReplyStep::Repeat(self.http_chunks(&event)));
        }
        steps.extend(gate(true));
        let mut tail = Vec::new();
        if !matches!(self.body, ReplyBody::Events(_)) {
            let last = finish.map(|reason| chunk(json!({}), Some(&reason)));
            tail = self.tail_events(last, pieces.len());
        }
        let tail: Vec<u8> =
            tail.iter().enumerate().flat_map(|(nth, event)| self.encode_event(nth + 3, event)).collect();
        steps.extend(self.ending_steps(Protocol::OpenAi, &tail));
    }

    /// Adds the steps for a protocol other than OpenAI's, without noise.
    fn other_protocol_steps(&self, protocol: Protocol, request: &Value, steps: &mut Vec<ReplyStep>) {
        let (pieces, finish) = self.pieces(protocol, request);
        let usage = self.final_usage(pieces.len());
        let last = ReplyEnd { finish_reason: finish.as_deref(), usage: usage.as_ref() };
        let wire = |chunk: &Value| ReplyStep::Bytes(self.http_chunks(&protocol.frame_chunk(chunk)));
        steps.extend(protocol.start_chunks(request, &last).iter().map(wire));
        let thoughts = self.reasoning_pieces.iter().map(|words| protocol.encode_piece(request, words, true));
        for chunk in thoughts.chain(pieces.iter().map(|words| protocol.encode_piece(request, words, false))) {
            steps.extend(self.gate.iter().cloned().map(ReplyStep::Pass));
            steps.push(wire(&chunk));
        }
        for (nth, (name, arguments)) in self.tool_calls.iter().enumerate() {
            steps.extend(protocol.encode_tool_call(request, nth, name, arguments).iter().map(wire));
        }
        if let ReplyBody::Endless(piece) = &self.body {
            steps.push(ReplyStep::Repeat(
                self.http_chunks(&protocol.frame_chunk(&protocol.encode_piece(request, piece, false))),
            ));
        }
        steps.extend(self.gate.iter().cloned().map(ReplyStep::Pass));
        let end = if finish.is_some() { protocol.end_chunks(request, &last) } else { Vec::new() };
        let tail: Vec<u8> = end.iter().flat_map(|chunk| protocol.frame_chunk(chunk)).collect();
        steps.extend(self.ending_steps(protocol, &tail));
    }

    /// Returns the usage. A model-like reply counts the words that it sent.
    fn final_usage(&self, said: usize) -> Option<Value> {
        let mut usage = self.usage.clone();
        if let (ReplyBody::Obedient, Some(usage)) = (&self.body, &mut usage) {
            usage["completion_tokens"] = said.into();
        }
        usage
    }

    /// Returns the pieces of text and the finish reason.
    fn pieces(&self, protocol: Protocol, request: &Value) -> (Vec<String>, Option<String>) {
        match &self.body {
            ReplyBody::Pieces(pieces) => (pieces.clone(), self.finish_reason.clone()),
            ReplyBody::Obedient => limited_words(protocol, request),
            _ => (Vec::new(), self.finish_reason.clone()),
        }
    }

    /// Returns the events after the pieces of a reply that ends well.
    fn tail_events(&self, last: Option<Value>, said: usize) -> Vec<String> {
        let usage = self.final_usage(said);
        let mut events: Vec<Value> = last.into_iter().collect();
        match (events.first_mut(), usage) {
            (Some(last), Some(usage)) if self.usage_with_finish => last["usage"] = usage,
            (_, Some(usage)) => events.push(json!({"object": "chat.completion.chunk", "choices": [], "usage": usage})),
            (_, None) => {}
        }
        let mut events: Vec<String> = events.iter().map(Value::to_string).collect();
        events.extend(self.sends_done.then(|| "[DONE]".to_owned()));
        events
    }

    fn ending_steps(&self, protocol: Protocol, tail: &[u8]) -> Vec<ReplyStep> {
        let ended = |bytes: &[u8]| {
            let mut body = self.http_chunks(bytes);
            body.extend_from_slice(b"0\r\n\r\n");
            ReplyStep::Bytes(body)
        };
        match &self.ending {
            ReplyEnding::Well => vec![ended(tail)],
            ReplyEnding::Error(code, words) => {
                let error = protocol.encode_error(*code, words);
                let is_plain = protocol == Protocol::OpenAi;
                vec![ended(&if is_plain {
                    self.encode_event(0, &error.to_string())
                } else {
                    protocol.frame_chunk(&error)
                })]
            }
            ReplyEnding::Stall => vec![ReplyStep::Wait],
            ReplyEnding::Reset => vec![ReplyStep::Reset],
            ReplyEnding::Cut | ReplyEnding::HangUp | ReplyEnding::Silent => vec![ReplyStep::Close],
        }
    }

    /// Returns the bytes of one event, with noise if set.
    fn encode_event(&self, nth: usize, data: &str) -> Vec<u8> {
        let mark = if nth == 0 { "\u{feff}" } else { "" };
        let pretty = || serde_json::from_str(data).map_or(data.to_owned(), |value: Value| format!("{value:#}"));
        let event = match (self.has_noise, nth % 4) {
            (false, _) => format!("data: {data}\n\n"),
            (true, 0) => {
                format!("{mark}: hello\n\n:\r\n\r\nevent: message\r\nid: {nth}\r\nretry: 100\r\ndata: {data}\r\n\r\n")
            }
            (true, 1) => format!("data:{data}\r\r: still here\r\r"),
            (true, 2) => format!("data: {}\n\n", pretty().replace('\n', "\r\ndata: ")),
            (true, _) => format!("data:\n\nunknown: 1\ndata: {data}\nnothing\n\n"),
        };
        event.into_bytes()
    }

    /// Splits bytes into chunks of HTTP's chunked encoding. The client's HTTP library passes them on one by one.
    fn http_chunks(&self, bytes: &[u8]) -> Vec<u8> {
        let frame = |slice: &[u8]| [format!("{:x}\r\n", slice.len()).as_bytes(), slice, b"\r\n"].concat();
        bytes.chunks(self.chunk_size).flat_map(frame).collect()
    }
}

/// Returns [`WORDS`], limited by the `max_tokens` and `stop` of the request.
fn limited_words(protocol: Protocol, request: &Value) -> (Vec<String>, Option<String>) {
    let limits = protocol.request_limits(request);
    let most = limits.max_tokens.map_or(WORDS.len(), |most| usize::try_from(most).unwrap());
    let mut said: Vec<String> = Vec::new();
    for word in WORDS {
        if said.len() == most {
            return (said, Some("length".to_owned()));
        }
        if let Some(at) = limits.stop_sequences.iter().filter_map(|stop| word.find(stop.as_str())).min() {
            said.push(word[..at].to_owned());
            break;
        }
        said.push(word.to_owned());
    }
    (said, Some("stop".to_owned()))
}
