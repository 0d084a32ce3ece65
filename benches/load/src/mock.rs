//! A model server for OpenAI's chat completions. It answers at once, or streams at a fixed pace to messages that ask
//! for it.
//!
//! A message with `[stream N]` gets the stream of that number from the [`Plan`]. Its words follow from the number, so
//! that a reader knows what must arrive. A table that the reader shares has the time at which each word was sent.
//! Streams start together with [`Mock::open`]; until then they have sent only their head. The server has its own
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
pub fn whole(stream: usize, words: usize) -> String {
    (0..words).map(|place| word(stream, place)).collect()
}

/// How messages that ask for a stream are answered.
pub struct Plan {
    pub streams: usize,
    pub words: usize,
    pub pause: Duration,
}

struct Shared {
    begun: Instant,
    plan: Plan,
    /// Per stream, the time of each word in microseconds since `begun`.
    sent: Vec<Vec<AtomicU64>>,
    /// Streams that wait for the gate or run.
    running: AtomicUsize,
    gate: watch::Sender<bool>,
    /// The newest request that was answered at once.
    newest: Mutex<Vec<u8>>,
}

/// The running server; it ends with its last handle.
#[derive(Clone)]
pub struct Mock {
    pub at: SocketAddr,
    shared: Arc<Shared>,
    _stop: Arc<oneshot::Sender<()>>,
}

impl Mock {
    /// Starts a server that answers everything at once.
    pub fn prompt() -> Self {
        Self::start(Plan { streams: 0, words: 0, pause: Duration::ZERO })
    }

    pub fn start(plan: Plan) -> Self {
        let times = |_| (0..plan.words).map(|_| AtomicU64::new(0)).collect();
        let shared = Arc::new(Shared {
            begun: Instant::now(),
            sent: (0..plan.streams).map(times).collect(),
            plan,
            running: AtomicUsize::new(0),
            gate: watch::Sender::new(false),
            newest: Mutex::default(),
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
                () = accept(listener, serving) => {}
            }
        };
        std::thread::spawn(move || super::run(work));
        Self { at, shared, _stop: Arc::new(stop) }
    }

    pub fn plan(&self) -> &Plan {
        &self.shared.plan
    }

    /// Returns the number of streams that wait for the gate or run.
    pub fn running(&self) -> usize {
        self.shared.running.load(Ordering::Relaxed)
    }

    /// Waits until this many streams are there.
    pub async fn until_running(&self, streams: usize) {
        let come = async {
            while self.running() != streams {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        super::wire::within(&format!("the moment of {streams} streams"), come).await;
    }

    /// Starts all waiting streams, and later ones at once.
    pub fn open(&self) {
        self.shared.gate.send_replace(true);
    }

    /// Returns the time since a word was sent.
    pub fn age(&self, stream: usize, place: usize) -> Duration {
        let sent = self.shared.sent[stream][place].load(Ordering::Relaxed);
        self.shared.begun.elapsed().saturating_sub(Duration::from_micros(sent))
    }

    /// Returns the time from the first word of the streams to the last.
    pub fn took(&self) -> Duration {
        let of = |words: &Vec<AtomicU64>, at: usize| words[at].load(Ordering::Relaxed);
        let first = self.shared.sent.iter().map(|words| of(words, 0)).min().unwrap_or(0);
        let last = self.shared.sent.iter().map(|words| of(words, words.len() - 1)).max().unwrap_or(0);
        Duration::from_micros(last.saturating_sub(first))
    }

    /// Returns the newest request that was answered at once.
    pub fn newest(&self) -> Vec<u8> {
        self.shared.newest.lock().unwrap().clone()
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        // A client that disconnects in the middle is not an error.
        tokio::spawn(async move { serve(stream, &shared).await.ok() });
    }
}

async fn serve(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut unread = Vec::new();
    while let Some((line, body)) = request(&mut stream, &mut unread).await? {
        match line.as_str() {
            "POST /v1/chat/completions" => match number(&body).filter(|number| *number < shared.plan.streams) {
                Some(number) => paced(&mut stream, number, shared).await?,
                None => {
                    stream.write_all(at_once().as_bytes()).await?;
                    *shared.newest.lock().unwrap() = body;
                }
            },
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
async fn request(stream: &mut TcpStream, unread: &mut Vec<u8>) -> std::io::Result<Option<(String, Vec<u8>)>> {
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
fn number(body: &[u8]) -> Option<usize> {
    let mark = b"[stream ";
    let at = body.windows(mark.len()).rposition(|bytes| bytes == mark)? + mark.len();
    let digits: String = body[at..].iter().map(|byte| char::from(*byte)).take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// Returns one event as a chunk of the body.
fn event(data: &str) -> String {
    format!("{:x}\r\ndata: {data}\n\n\r\n", data.len() + 8)
}

fn piece(words: &str) -> String {
    event(&format!(
        r#"{{"id":"c","object":"chat.completion.chunk","model":"mock","choices":[{{"index":0,"delta":{{"content":"{words}"}},"finish_reason":null}}]}}"#
    ))
}

fn end(words: usize) -> String {
    let last = r#"{"id":"c","object":"chat.completion.chunk","model":"mock","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let total = words + 7;
    let usage = format!(
        r#"{{"id":"c","object":"chat.completion.chunk","model":"mock","choices":[],"usage":{{"prompt_tokens":7,"completion_tokens":{words},"total_tokens":{total}}}}}"#
    );
    event(last) + &event(&usage) + &event("[DONE]") + "0\r\n\r\n"
}

/// Returns eight pieces and the end, for one write.
fn at_once() -> String {
    let words = 8;
    HEAD.to_owned() + &(0..words).map(|place| piece(word(0, place))).collect::<String>() + &end(words)
}

async fn paced(stream: &mut TcpStream, number: usize, shared: &Shared) -> std::io::Result<()> {
    stream.write_all(HEAD.as_bytes()).await?;
    shared.running.fetch_add(1, Ordering::Relaxed);
    let sent = stream_words(stream, number, shared).await;
    shared.running.fetch_sub(1, Ordering::Relaxed);
    sent
}

/// Streams the words. A late stream sends without pauses until it has caught up.
async fn stream_words(stream: &mut TcpStream, number: usize, shared: &Shared) -> std::io::Result<()> {
    let Plan { streams, words, pause } = shared.plan;
    _ = shared.gate.subscribe().wait_for(|is_open| *is_open).await;
    // The starts are spread over one pause: real models do not send at the same moment.
    let share = pause.mul_f64(number as f64 / streams as f64);
    let start = tokio::time::Instant::now() + share;
    for place in 0..words {
        tokio::time::sleep_until(start + pause * u32::try_from(place).unwrap()).await;
        let bytes = piece(word(number, place));
        let now = u64::try_from(shared.begun.elapsed().as_micros()).unwrap();
        shared.sent[number][place].store(now, Ordering::Relaxed);
        stream.write_all(bytes.as_bytes()).await?;
    }
    stream.write_all(end(words).as_bytes()).await
}
