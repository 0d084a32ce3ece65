//! A model server for tests on a free port of 127.0.0.1 that does exactly what the test scripts. It speaks OpenAI's
//! chat completions and the protocols of the other providers. A reply uses the protocol of its request.
//!
//! ```ignore
//! let mock = MockModel::start().await;
//! mock.queue_reply(Reply::ok(["Hel", "lo"]).usage(12, 2));   // the next request
//! mock.queue_reply(Reply::error(500, "out of order"));       // the one after it
//! … talk to mock.base_url() …
//! assert_eq!(mock.requests()[0]["messages"][0]["content"], "hi");
//! ```
//!
//! Requests take the scripted replies in order. When none is left, they get [`Reply::default`] or what
//! [`MockModel::set_default_reply`] set. The default behaves like a model: it obeys `max_tokens` (a word is a token) and `stop`.
//!
//! Nothing depends on timing. A test that must see the middle of a reply holds it with a [`Gate`] and releases the
//! pieces. A test that waits for the server's side uses `wait_for_requests` or `wait_for_aborted_replies`.
//!
//! The mock has its own thread and runtime, so it answers while a test blocks. It stops when dropped. To add a
//! behaviour, add a method of [`Reply`] that sets a field, and handle the field in `Reply::steps`. To add a kind of
//! server, add a [`Protocol`].

mod protocol;
mod reply;

pub use protocol::Protocol;

pub use reply::{Gate, ReasoningField, Reply, WORDS};

use reply::ReplyStep;
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{oneshot, watch},
};

/// How long a test waits for an event of the mock. Only a failing test waits this long.
const GIVE_UP: Duration = Duration::from_secs(60);

/// One received request.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// Method and target, such as `POST /v1/chat/completions`.
    pub request_line: String,
    /// Header lines, with names in lower case.
    pub headers: Vec<String>,
    /// The JSON body; null if there is none.
    pub body: Value,
}

impl RecordedRequest {
    /// Returns whether the request asks for a reply.
    fn is_chat(&self) -> bool {
        let is_count = Protocol::token_count_response(&self.request_line, &self.body).is_some();
        !self.body.is_null() && self.request_line != EMBEDDINGS && !is_count
    }
}

/// The request line of a request for vectors.
const EMBEDDINGS: &str = "POST /v1/embeddings";

/// Groups of words that get the same vector although their letters differ. Vector search finds them where text search
/// does not.
const ALIKE: [&[&str]; 3] = [&["blade", "sword", "dagger"], &["ocean", "sea", "tide"], &["剑", "刀"]];

/// Returns the vector of a text. Each word adds to one dimension, and words of one [`ALIKE`] group share it.
pub fn embed_text(text: &str) -> Vec<f64> {
    let mut vector = vec![0.0; 64];
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 3 || !word.is_ascii()) {
        let word = word.to_lowercase();
        let alike = ALIKE.iter().find(|alike| alike.iter().any(|one| word.contains(one)));
        let word = alike.map_or(word.as_str(), |alike| alike[0]);
        let place = word.bytes().fold(7_usize, |sum, byte| (sum * 31 + usize::from(byte)) % 64);
        vector[place] += 1.0;
    }
    vector[0] += 0.01;
    vector
}

/// Returns the vectors for the texts of a request.
fn embeddings_response(body: &Value) -> Value {
    let texts = body["input"].as_array().cloned().unwrap_or_default();
    let one = |(index, text): (usize, &Value)| json!({"object": "embedding", "index": index, "embedding": embed_text(text.as_str().unwrap())});
    json!({"object": "list", "model": body["model"], "data": texts.iter().enumerate().map(one).collect::<Vec<_>>()})
}

struct MockState {
    scripted_replies: VecDeque<Reply>,
    default_reply: Reply,
    models_reply: Reply,
    /// The answer to requests for vectors; `None` means vectors by [`vector`].
    embeddings_reply: Option<Reply>,
    /// Texts with this word get no vectors.
    refused_word: Option<String>,
    chat_template: Option<String>,
    /// The answer to requests with a `tools` field.
    tools_refusal: Option<Reply>,
    requests: Vec<RecordedRequest>,
    connection_count: usize,
    aborted_count: usize,
    answered_count: usize,
}

struct SharedState {
    state: Mutex<MockState>,
    change_sender: watch::Sender<()>,
}

impl SharedState {
    fn lock_state(&self) -> MutexGuard<'_, MockState> {
        self.state.lock().unwrap()
    }

    fn update(&self, change: impl FnOnce(&mut MockState)) {
        change(&mut self.lock_state());
        self.change_sender.send_replace(());
    }
}

/// The running mock.
pub struct MockModel {
    shared: Arc<SharedState>,
    address: SocketAddr,
    /// Dropping the sender ends the thread of the mock.
    _stop_sender: oneshot::Sender<()>,
}

impl MockModel {
    /// Starts a mock with the models `mock` (8192 tokens of context, with prices) and `mock-plain`.
    pub async fn start() -> Self {
        Self::start_at(Ipv4Addr::LOCALHOST).await
    }

    /// Starts a mock on another address of this machine.
    pub async fn start_at(address: Ipv4Addr) -> Self {
        let models = json!({"object": "list", "data": [
            {"id": "mock", "object": "model", "context_length": 8192, "pricing": {"prompt": "0.000001", "completion": "0.000002"}},
            {"id": "mock-plain", "object": "model"},
        ]});
        let state = MockState {
            scripted_replies: VecDeque::new(),
            default_reply: Reply::default(),
            models_reply: Reply::json(200, &models),
            embeddings_reply: None,
            refused_word: None,
            chat_template: None,
            tools_refusal: None,
            requests: Vec::new(),
            connection_count: 0,
            aborted_count: 0,
            answered_count: 0,
        };
        let shared = Arc::new(SharedState { state: Mutex::new(state), change_sender: watch::Sender::new(()) });
        let (stop, stopped) = oneshot::channel();
        let (ready, at) = oneshot::channel();
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind((address, 0)).await.unwrap();
                ready.send(listener.local_addr().unwrap()).unwrap();
                tokio::select! {
                    _ = stopped => {}
                    () = accept_connections(listener, serving) => {}
                }
            });
        });
        Self { shared, address: at.await.unwrap(), _stop_sender: stop }
    }

    /// Returns the address without `/v1`, for providers whose API has another prefix.
    pub fn root_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the address for a client's `base_url`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Queues the reply to the next request that has no scripted reply yet.
    pub fn queue_reply(&self, reply: Reply) {
        self.shared.lock_state().scripted_replies.push_back(reply);
    }

    /// Sets the reply to requests when nothing is scripted.
    pub fn set_default_reply(&self, reply: Reply) {
        self.shared.lock_state().default_reply = reply;
    }

    /// Sets the answer to `GET /v1/models`.
    pub fn set_models_reply(&self, reply: Reply) {
        self.shared.lock_state().models_reply = reply;
    }

    /// Sets the answer to `POST /v1/embeddings`; `None` means vectors by [`vector`].
    pub fn set_embeddings_reply(&self, reply: Option<Reply>) {
        self.shared.lock_state().embeddings_reply = reply;
    }

    /// Refuses from now on to embed requests with this word in a text.
    pub fn refuse_embedding_of(&self, word: &str) {
        self.shared.lock_state().refused_word = Some(word.to_owned());
    }

    /// Refuses requests with a `tools` field.
    pub fn refuse_tools(&self, status: u16, words: &str) {
        self.shared.update(|state| state.tools_refusal = Some(Reply::error(status, words)));
    }

    /// Sets the chat template that `GET /props` returns.
    pub fn set_chat_template(&self, source: &str) {
        self.shared.lock_state().chat_template = Some(source.to_owned());
    }

    /// Returns the bodies of the chat requests so far.
    pub fn requests(&self) -> Vec<Value> {
        let state = self.shared.lock_state();
        state.requests.iter().filter(|seen| seen.is_chat()).map(|seen| seen.body.clone()).collect()
    }

    /// Returns the texts that were embedded so far.
    pub fn embedded_texts(&self) -> Vec<String> {
        let state = self.shared.lock_state();
        let asked = state.requests.iter().filter(|seen| seen.request_line == EMBEDDINGS);
        let texts = asked.flat_map(|seen| seen.body["input"].as_array().cloned().unwrap_or_default());
        texts.filter_map(|text| text.as_str().map(str::to_owned)).collect()
    }

    /// Returns all requests so far with their headers.
    pub fn all_requests(&self) -> Vec<RecordedRequest> {
        self.shared.lock_state().requests.clone()
    }

    /// Returns the number of connections so far.
    pub fn connection_count(&self) -> usize {
        self.shared.lock_state().connection_count
    }

    /// Returns the number of replies that the client aborted.
    pub fn aborted_count(&self) -> usize {
        self.shared.lock_state().aborted_count
    }

    /// Waits until `n` chat requests have arrived.
    pub async fn wait_for_requests(&self, n: usize) {
        let chats = |state: &MockState| state.requests.iter().filter(|seen| seen.is_chat()).count();
        self.wait_until("requests", |state| chats(state) >= n).await;
    }

    /// Waits until a request with this line has arrived.
    pub async fn wait_for_request_line(&self, line: &str) {
        self.wait_until(line, |state| state.requests.iter().any(|seen| seen.request_line == line)).await;
    }

    /// Waits until the client has aborted `n` replies.
    pub async fn wait_for_aborted_replies(&self, n: usize) {
        self.wait_until("replies that the client left", |state| state.aborted_count >= n).await;
    }

    /// Waits until `n` replies are over, completed or aborted.
    pub async fn wait_for_ended_replies(&self, n: usize) {
        self.wait_until("replies that are over", |state| state.answered_count + state.aborted_count >= n).await;
    }

    async fn wait_until(&self, what: &str, reached: impl Fn(&MockState) -> bool) {
        let mut changes = self.shared.change_sender.subscribe();
        let wait = async {
            while !reached(&self.shared.lock_state()) {
                changes.changed().await.unwrap();
            }
        };
        assert!(tokio::time::timeout(GIVE_UP, wait).await.is_ok(), "the mock waited in vain for {what}");
    }
}

async fn accept_connections(listener: TcpListener, shared: Arc<SharedState>) {
    while let Ok((stream, _)) = listener.accept().await {
        shared.update(|state| state.connection_count += 1);
        tokio::spawn(serve_connection(stream, Arc::clone(&shared)));
    }
}

/// Answers the requests of one connection until it ends.
async fn serve_connection(stream: TcpStream, shared: Arc<SharedState>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut reader, mut writer) = stream.into_split();
    let mut unread = Vec::new();
    while let Some(seen) = read_request(&mut reader, &mut unread).await? {
        let reply = choose_reply(&shared, &seen);
        let steps = reply.steps(Protocol::from_request_line(&seen.request_line).unwrap_or_default(), &seen.body);
        shared.update(|state| state.requests.push(seen));
        let open = tokio::select! {
            biased;
            done = run_steps(steps, &mut writer) => done,
            () = wait_for_disconnect(&mut reader) => Err(io::ErrorKind::ConnectionAborted.into()),
        };
        shared.update(|state| match open {
            Ok(_) => state.answered_count += 1,
            Err(_) => state.aborted_count += 1,
        });
        if !matches!(open, Ok(true)) {
            break;
        }
    }
    Ok(())
}

fn choose_reply(shared: &SharedState, seen: &RecordedRequest) -> Reply {
    let mut state = shared.lock_state();
    match seen.request_line.as_str() {
        line if Protocol::from_request_line(line).is_some()
            && state.tools_refusal.is_some()
            && !seen.body["tools"].is_null() =>
        {
            state.tools_refusal.clone().unwrap()
        }
        line if Protocol::from_request_line(line).is_some() => {
            state.scripted_replies.pop_front().unwrap_or_else(|| state.default_reply.clone())
        }
        "GET /v1/models" => state.models_reply.clone(),
        EMBEDDINGS if state.refused_word.as_ref().is_some_and(|word| seen.body["input"].to_string().contains(word)) => {
            Reply::error(400, "that text is too much for me")
        }
        EMBEDDINGS => {
            state.embeddings_reply.clone().unwrap_or_else(|| Reply::json(200, &embeddings_response(&seen.body)))
        }
        line => match Protocol::metadata_response(line).or_else(|| Protocol::token_count_response(line, &seen.body)) {
            Some(mut list) => {
                if let Some(template) = state.chat_template.as_ref().filter(|_| line == "GET /props") {
                    list["chat_template"] = template.as_str().into();
                }
                Reply::json(200, &list)
            }
            None => Reply::error(404, &format!("there is no {line}")),
        },
    }
}

/// Runs the steps of a reply. Returns whether the connection can take another request.
async fn run_steps(steps: Vec<ReplyStep>, writer: &mut OwnedWriteHalf) -> io::Result<bool> {
    for step in steps {
        match step {
            ReplyStep::Bytes(bytes) => writer.write_all(&bytes).await?,
            ReplyStep::Pass(gate) => gate.wait_to_pass().await,
            ReplyStep::Repeat(bytes) => loop {
                writer.write_all(&bytes).await?;
                tokio::task::yield_now().await;
            },
            ReplyStep::Wait => std::future::pending().await,
            ReplyStep::Close => return Ok(false),
            ReplyStep::Reset => {
                writer.as_ref().set_zero_linger()?;
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Returns when the client has closed its side.
async fn wait_for_disconnect(reader: &mut OwnedReadHalf) {
    if matches!(reader.peek(&mut [0]).await, Ok(1..)) {
        std::future::pending().await
    }
}

async fn read_request(reader: &mut OwnedReadHalf, unread: &mut Vec<u8>) -> io::Result<Option<RecordedRequest>> {
    let end = loop {
        if let Some(end) = unread.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        // A TLS client starts with a byte that is no letter. It gets no answer, since it could not read one.
        if reader.read_buf(unread).await? == 0 || !unread.first().is_some_and(u8::is_ascii_alphabetic) {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&unread[..end]).into_owned();
    unread.drain(..end + 4);
    let mut lines = head.lines();
    let line = lines.next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_owned();
    let headers: Vec<String> = lines
        .map(|header| {
            header
                .split_once(": ")
                .map_or(header.to_owned(), |(name, value)| format!("{}: {value}", name.to_lowercase()))
        })
        .collect();
    let length = headers.iter().find_map(|header| header.strip_prefix("content-length: "));
    let length = length.map_or(0, |length| length.parse().unwrap());
    while unread.len() < length {
        if reader.read_buf(unread).await? == 0 {
            return Ok(None);
        }
    }
    let body: Vec<u8> = unread.drain(..length).collect();
    Ok(Some(RecordedRequest { request_line: line, headers, body: serde_json::from_slice(&body).unwrap_or_default() }))
}
