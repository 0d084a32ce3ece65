//! The whole program beside a model server that answers at once, and its players: keep-alive HTTP and a WebSocket on
//! 127.0.0.1, without a client library.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use clotho::app::App;
use clotho_config::Config;
use clotho_core::clock::{IdGenerator, SystemClock};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::mock_model::MockModel;

/// The running program; it ends when dropped.
pub struct Program {
    pub address: SocketAddr,
    stop_sender: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    pub folder: TempDir,
}

impl Program {
    pub fn start(mock: &MockModel) -> Self {
        Self::start_with(mock, "model = \"mock/mock\"")
    }

    /// Starts the program with settings of `[generation]`. `mock/mock` has 8192 tokens of context, `mock/mock-plain`
    /// the configured number.
    pub fn start_with(mock: &MockModel, generation: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "[storage]\ndata_dir = {:?}\n[generation]\n{generation}\n[limits]\ngenerations_per_user = 64\nws_per_user = 1000\n\
             [[providers]]\nid = \"mock\"\nkind = \"openai\"\nbase_url = \"{}\"\nmodels = [\"mock\", \"mock-plain\"]\n",
            folder.path().join("data").display().to_string(),
            mock.base_url()
        );
        let config = Config::load(None, Some(text), std::iter::empty()).unwrap();
        let (ready, started) = mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let run = move || {
            let app = Arc::new(App::build(config, Arc::new(SystemClock), Arc::new(IdGenerator::new(7))).unwrap());
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            ready.send(listener.local_addr().unwrap()).unwrap();
            let until = async { _ = stopped.await };
            actix_web::rt::System::new()
                .block_on(clotho::http::serve_until(Arc::clone(&app), listener, until))
                .unwrap();
            app.close();
        };
        // The name separates its CPU time from that of the players.
        let thread = std::thread::Builder::new().name("server".into()).spawn(run).unwrap();
        Self { address: started.recv().unwrap(), stop_sender: Some(stop), thread: Some(thread), folder }
    }

    pub fn database_size(&self) -> u64 {
        super::bare::database_size(&self.folder.path().join("data/clotho.db"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.stop_sender.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

/// A keep-alive connection.
pub struct Wire {
    address: SocketAddr,
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Wire {
    pub async fn open(at: SocketAddr) -> Self {
        let stream = TcpStream::connect(at).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { address: at, stream, unread: Vec::new() }
    }

    pub async fn send_post(&mut self, target: &str, body: &Value) {
        let body = body.to_string();
        let request = format!(
            "POST {target} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await.unwrap();
    }

    /// Returns the body of a response with a content length.
    pub async fn read_response(&mut self) -> Value {
        let end = self.read_until(b"\r\n\r\n").await;
        let head = String::from_utf8_lossy(&self.unread[..end]).to_lowercase();
        assert!(head.starts_with("http/1.1 20"), "{head}{}", String::from_utf8_lossy(&self.unread[end..]));
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse::<usize>();
        let whole = end + length.unwrap();
        while self.unread.len() < whole {
            assert!(self.stream.read_buf(&mut self.unread).await.unwrap() > 0);
        }
        let body = serde_json::from_slice(&self.unread[end..whole]).unwrap();
        self.unread.drain(..whole);
        body
    }

    /// Reads until `wanted` arrives. Returns the offset behind it.
    pub async fn read_until(&mut self, wanted: &[u8]) -> usize {
        loop {
            if let Some(at) = self.unread.windows(wanted.len()).position(|bytes| bytes == wanted) {
                return at + wanted.len();
            }
            assert!(self.stream.read_buf(&mut self.unread).await.unwrap() > 0);
        }
    }

    /// Reads to the end of a chunked response and discards it.
    pub async fn skip_chunks(&mut self) {
        let end = self.read_until(b"\r\n0\r\n\r\n").await;
        self.unread.drain(..end);
    }

    pub async fn post(&mut self, target: &str, body: &Value) -> Value {
        self.send_post(target, body).await;
        self.read_response().await
    }
}

/// A client that plays one session.
pub struct Player {
    pub wire: Wire,
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    message_target: String,
    leaf: String,
}

/// The times of events since the message was sent.
#[derive(Clone, Copy)]
pub struct TurnTimes {
    pub accept_time: Duration,
    pub first_token_time: Duration,
    pub completion_time: Duration,
}

impl Player {
    /// Creates a session with `history` messages of 200 characters, about 50 tokens each.
    pub async fn create(at: SocketAddr, history: usize) -> Self {
        let mut wire = Wire::open(at).await;
        let card = json!({"name": "Rin", "firstMessage": "Hello."});
        let character = wire.post("/api/characters", &card).await["id"].clone();
        let session = wire.post("/api/sessions", &json!({"characterIds": [character]})).await;
        let (sid, mut leaf) = (json_string(&session["id"]), json_string(&session["activeLeafId"]));
        let target = format!("/api/chat/{sid}/message");
        for n in 0..history {
            let role = if n % 2 == 0 { "user" } else { "assistant" };
            let body = json!({"parentId": leaf, "content": "word ".repeat(40), "role": role});
            leaf = json_string(&wire.post(&target, &body).await["node"]["id"]);
        }
        let (socket, _) = connect_async(format!("ws://{at}/api/chat/{sid}/ws")).await.unwrap();
        let mut player = Self { wire, socket, message_target: target, leaf };
        player.wait_for_frame("\"hello\"").await;
        player
    }

    async fn wait_for_frame(&mut self, wanted: &str) {
        loop {
            match self.socket.next().await.unwrap().unwrap() {
                Message::Text(frame) if frame.contains(wanted) => return,
                _ => {}
            }
        }
    }

    pub async fn send_message(&mut self) -> Instant {
        let body = json!({"parentId": self.leaf, "content": "I look around the room.", "generate": true});
        let sent = Instant::now();
        self.wire.send_post(&self.message_target, &body).await;
        sent
    }

    /// Returns the response to the message; its reply is being generated then.
    pub async fn read_accepted_reply(&mut self) -> Value {
        let mut started = self.wire.read_response().await;
        let reply = started["generations"][0].take();
        self.leaf = json_string(&reply["id"]);
        reply
    }

    pub async fn wait_for_reply(&mut self) {
        self.wait_for_frame("\"node.completed\"").await;
    }

    /// Plays one turn, from the message to the end of its reply.
    pub async fn run_turn(&mut self) -> TurnTimes {
        let sent = self.send_message().await;
        self.read_accepted_reply().await;
        let accepted = sent.elapsed();
        self.wait_for_frame("\"node.content.updated\"").await;
        let first = sent.elapsed();
        self.wait_for_reply().await;
        TurnTimes { accept_time: accepted, first_token_time: first, completion_time: sent.elapsed() }
    }
}

fn json_string(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}
