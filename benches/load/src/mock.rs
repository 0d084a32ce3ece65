//! A model server for OpenAI's chat completions. It answers at once, or streams at a fixed pace to messages that ask
//! for it.
//!
//! A message with `[stream N]` gets the stream of that number from the [`Plan`]. Its words follow from the number, so
//! that a reader knows what must arrive. A table that the reader shares has the time at which each word was sent.
//! Streams start together with [`Mock::open_gate`]; until then they have sent only their head. The server has its own
//! thread.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};

/// Bytes of each word, with its space: an offset in the text gives the word.
pub const WORD: usize = 8;
const WORDS: [&str; 16] = [
    "lantern ", "harbour ", "evening ", "nothing ", "whisper ", "kitchen ", "weather ", "letters ", "morning ",
    "the fog ", "silence ", "the sea ", "a candle", " at last", "her hand", " closed ",
];

/// Returns the word at a place of a stream.
pub fn word(stream: usize, place: usize) -> &'static str {
    let mixed = (stream * 31 + place + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    WORDS[(mixed >> 40) % WORDS.len()]
}

/// Returns the whole text of a stream.
pub fn stream_text(stream: usize, words: usize) -> String {
    (0..words).map(|place| word(stream, place)).collect()
}

/// How messages that ask for a stream are answered.
pub struct Plan {
    pub stream_count: usize,
    pub word_count: usize,
    pub pause: Duration,
}

struct MockState {
    started_at: Instant,
    plan: Plan,
    /// Per stream, the time of each word in microseconds since `started_at`.
    sent_micros: Vec<Vec<AtomicU64>>,
    /// Streams that wait for the gate or run.
    running_count: AtomicUsize,
    gate: watch::Sender<bool>,
    /// The newest request that was answered at once.
    newest_request: Mutex<Vec<u8>>,
}

/// The running server; it ends with its last handle.
#[derive(Clone)]
pub struct Mock {
    pub address: SocketAddr,
    shared: Arc<MockState>,
    _stop_sender: Arc<oneshot::Sender<()>>,
}

impl Mock {
    /// Starts a server that answers everything at once.
    pub fn start_immediate() -> Self {
        Self::start(Plan { stream_count: 0, word_count: 0, pause: Duration::ZERO })
    }

    pub fn start(plan: Plan) -> Self {
        let times = |_| (0..plan.word_count).map(|_| AtomicU64::new(0)).collect();
        let shared = Arc::new(MockState {
            started_at: Instant::now(),
            sent_micros: (0..plan.stream_count).map(times).collect(),
            plan,
            running_count: AtomicUsize::new(0),
            gate: watch::Sender::new(false),
            newest_request: Mutex::default(),
        });
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let at = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let serving = Arc::clone(&shared);
        let work = async move {
            let listener = TcpListener::from_std(listener).unwrap();
            tokio::select! {
                _ = stopped => {}
                () = accept_connections(listener, serving) => {}
            }
        };
        std::thread::spawn(move || super::block_on(work));
        Self { address: at, shared, _stop_sender: Arc::new(stop) }
    }

    pub fn plan(&self) -> &Plan {
        &self.shared.plan
    }

    /// Returns the number of streams that wait for the gate or run.
    pub fn running_count(&self) -> usize {
        self.shared.running_count.load(Ordering::Relaxed)
    }

    /// Waits until this many streams are there.
    pub async fn wait_for_streams(&self, streams: usize) {
        let come = async {
            while self.running_count() != streams {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        super::wire::with_timeout(&format!("the moment of {streams} streams"), come).await;
    }

    /// Starts all waiting streams, and later ones at once.
    pub fn open_gate(&self) {
        self.shared.gate.send_replace(true);
    }

    /// Returns the time since a word was sent.
    pub fn time_since_sent(&self, stream: usize, place: usize) -> Duration {
        let sent = self.shared.sent_micros[stream][place].load(Ordering::Relaxed);
        self.shared.started_at.elapsed().saturating_sub(Duration::from_micros(sent))
    }

    /// Returns the time from the first word of the streams to the last.
    pub fn stream_duration(&self) -> Duration {
        let of = |words: &Vec<AtomicU64>, at: usize| words[at].load(Ordering::Relaxed);
        let first = self.shared.sent_micros.iter().map(|words| of(words, 0)).min().unwrap_or(0);
        let last = self.shared.sent_micros.iter().map(|words| of(words, words.len() - 1)).max().unwrap_or(0);
        Duration::from_micros(last.saturating_sub(first))
    }

    /// Returns the newest request that was answered at once.
    pub fn newest_request(&self) -> Vec<u8> {
        self.shared.newest_request.lock().unwrap().clone()
    }
}

async fn accept_connections(listener: TcpListener, shared: Arc<MockState>) {
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        // A client that disconnects in the middle is not an error.
        tokio::spawn(async move { serve_connection(stream, &shared).await.ok() });
    }
}

async fn serve_connection(mut stream: TcpStream, shared: &MockState) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut unread = Vec::new();
    while let Some((line, body)) = read_request(&mut stream, &mut unread).await? {
        match line.as_str() {
            "POST /v1/chat/completions" => {
                match stream_number(&body).filter(|number| *number < shared.plan.stream_count) {
                    Some(number) => send_paced_reply(&mut stream, number, shared).await?,
                    None => {
                        stream.write_all(immediate_response().as_bytes()).await?;
                        *shared.newest_request.lock().unwrap() = body;
                    }
                }
            }
            "GET /v1/models" => {
                let list = r#"{"object":"list","data":[{"id":"mock","object":"model","context_length":8192}]}"#;
                let length = list.len();
                let answer = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{list}"
                );
                stream.write_all(answer.as_bytes()).await?;
            }
            _ => stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await?,
        }
    }
    Ok(())
}

/// Returns the request line and the body, or `None` after a disconnect.
async fn read_request(stream: &mut TcpStream, unread: &mut Vec<u8>) -> std::io::Result<Option<(String, Vec<u8>)>> {
    let end = loop {
        if let Some(end) = unread.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(unread).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&unread[..end]).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    let line = String::from_utf8_lossy(&unread[..end]).lines().next().unwrap_or_default().to_owned();
    let whole = end + length.unwrap_or(0);
    while unread.len() < whole {
        if stream.read_buf(unread).await? == 0 {
            return Ok(None);
        }
    }
    let body = unread.drain(..whole).skip(end).collect();
    Ok(Some((line.trim_end_matches(" HTTP/1.1").to_owned(), body)))
}

/// Returns the stream that the newest message asks for.
fn stream_number(body: &[u8]) -> Option<usize> {
    let mark = b"[stream ";
    let at = body.windows(mark.len()).rposition(|bytes| bytes == mark)? + mark.len();
    let digits: String = body[at..].iter().map(|byte| char::from(*byte)).take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// Returns one event as a chunk of the body.
fn encode_event(data: &str) -> String {
    format!("{:x}\r\ndata: {data}\n\n\r\n", data.len() + 8)
}

fn encode_piece(words: &str) -> String {
    encode_event(&format!(
        r#"{{"id":"c","object":"chat.completion.chunk","model":"mock","choices":[{{"index":0,"delta":{{"content":"{words}"}},"finish_reason":null}}]}}"#
    ))
}

fn encode_end(words: usize) -> String {
    let last = r#"{"id":"c","object":"chat.completion.chunk","model":"mock","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let total = words + 7;
    let usage = format!(
        r#"{{"id":"c","object":"chat.completion.chunk","model":"mock","choices":[],"usage":{{"prompt_tokens":7,"completion_tokens":{words},"total_tokens":{total}}}}}"#
    );
    encode_event(last) + &encode_event(&usage) + &encode_event("[DONE]") + "0\r\n\r\n"
}

/// Returns eight pieces and the end, for one write.
fn immediate_response() -> String {
    let words = 8;
    HEAD.to_owned() + &(0..words).map(|place| encode_piece(word(0, place))).collect::<String>() + &encode_end(words)
}

async fn send_paced_reply(stream: &mut TcpStream, number: usize, shared: &MockState) -> std::io::Result<()> {
    stream.write_all(HEAD.as_bytes()).await?;
    shared.running_count.fetch_add(1, Ordering::Relaxed);
    let sent = stream_words(stream, number, shared).await;
    shared.running_count.fetch_sub(1, Ordering::Relaxed);
    sent
}

/// Streams the words. A late stream sends without pauses until it has caught up.
async fn stream_words(stream: &mut TcpStream, number: usize, shared: &MockState) -> std::io::Result<()> {
    let Plan { stream_count: streams, word_count: words, pause } = shared.plan;
    _ = shared.gate.subscribe().wait_for(|is_open| *is_open).await;
    // The starts are spread over one pause: real models do not send at the same moment.
    let share = pause.mul_f64(number as f64 / streams as f64);
    let start = tokio::time::Instant::now() + share;
    for place in 0..words {
        tokio::time::sleep_until(start + pause * u32::try_from(place).unwrap()).await;
        let bytes = encode_piece(word(number, place));
        let now = u64::try_from(shared.started_at.elapsed().as_micros()).unwrap();
        shared.sent_micros[number][place].store(now, Ordering::Relaxed);
        stream.write_all(bytes.as_bytes()).await?;
    }
    stream.write_all(encode_end(words).as_bytes()).await
}
