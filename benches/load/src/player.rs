//! A client that plays one session: messages over HTTP, replies over a WebSocket.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::wire::{Wire, text, within};

/// A WebSocket of one session.
pub struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    pub async fn open(at: SocketAddr, session: &str) -> Self {
        let opened = within("a WebSocket", connect_async(format!("ws://{at}/api/chat/{session}/ws"))).await;
        let (socket, _) = opened.unwrap_or_else(|error| panic!("a WebSocket is refused: {error}"));
        let mut socket = Self(socket);
        socket.hear("\"hello\"").await;
        socket
    }

    /// Returns the next frame with content.
    pub async fn frame(&mut self) -> String {
        loop {
            let frame = within("a frame", self.0.next()).await.expect("the server has closed the WebSocket");
            if let Message::Text(frame) = frame.unwrap_or_else(|error| panic!("a WebSocket is broken: {error}")) {
                return frame.as_str().to_owned();
            }
        }
    }

    /// Returns the next frame that contains this text.
    pub async fn hear(&mut self, wanted: &str) -> String {
        loop {
            let frame = self.frame().await;
            if frame.contains(wanted) {
                return frame;
            }
        }
    }
}

pub struct Player {
    pub wire: Wire,
    pub session: String,
    /// Problems of plugins in the newest reply.
    pub problems: usize,
    socket: Socket,
    leaf: String,
}

/// The times of events since the message was sent.
#[derive(Clone, Copy)]
pub struct Moments {
    pub first: Duration,
    pub completed: Duration,
}

impl Player {
    /// Creates a session with `history` messages of 200 characters.
    pub async fn begin(at: SocketAddr, history: usize) -> Self {
        let mut wire = Wire::open(at).await;
        let session = begin(&mut wire).await;
        let mut player = Self::join(at, &session).await;
        for n in 0..history {
            let role = if n % 2 == 0 { "user" } else { "assistant" };
            let body = json!({"parentId": player.leaf, "content": "word ".repeat(40), "role": role});
            player.leaf = text(&player.wire.post(&player.target(), &body).await["node"]["id"]);
        }
        player
    }

    /// Joins an existing session from its current state on.
    pub async fn join(at: SocketAddr, session: &str) -> Self {
        let mut wire = Wire::open(at).await;
        let leaf = text(&wire.get(&format!("/api/sessions/{session}")).await["activeLeafId"]);
        Self { wire, session: session.to_owned(), problems: 0, socket: Socket::open(at, session).await, leaf }
    }

    fn target(&self) -> String {
        format!("/api/chat/{}/message", self.session)
    }

    /// Writes a message that asks for a reply. Returns once the reply is being generated.
    pub async fn write(&mut self, content: &str) -> Value {
        let body = json!({"parentId": self.leaf, "content": content, "generate": true});
        let mut started = self.wire.post(&self.target(), &body).await;
        let reply = started["generations"][0].take();
        self.leaf = text(&reply["id"]);
        reply
    }

    /// Waits for the end of the requested reply. Calls `heard` with each earlier frame.
    pub async fn completed(&mut self, mut heard: impl FnMut(&str)) -> Value {
        loop {
            let frame = self.socket.frame().await;
            heard(&frame);
            if !frame.contains("\"node.completed\"") {
                continue;
            }
            let node = serde_json::from_str::<Value>(&frame).unwrap()["node"].take();
            if node["id"] == self.leaf.as_str() {
                assert_eq!(node["status"], "complete", "a reply failed: {node}");
                self.problems = node["problems"].as_array().map_or(0, Vec::len);
                return node;
            }
        }
    }

    /// Plays one turn, from the message to the end of its reply.
    pub async fn turn(&mut self) -> Moments {
        let sent = Instant::now();
        self.write("I look around the room.").await;
        let mut first = None;
        // A reply that arrives at once may come with its end, without a piece before.
        let says = |frame: &str| frame.contains("\"node.content.updated\"") || frame.contains("\"node.completed\"");
        self.completed(|frame| {
            if first.is_none() && says(frame) {
                first = Some(sent.elapsed());
            }
        })
        .await;
        let completed = sent.elapsed();
        Moments { first: first.unwrap_or(completed), completed }
    }

    /// Plays several turns.
    pub async fn turns(&mut self, count: usize) -> Vec<Moments> {
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(self.turn().await);
        }
        all
    }
}

/// Creates a session with its own character. Returns its id.
pub async fn begin(wire: &mut Wire) -> String {
    let character = wire.post("/api/characters", &json!({"name": "Rin", "firstMessage": "Hello."})).await["id"].take();
    text(&wire.post("/api/sessions", &json!({"characterIds": [character]})).await["id"])
}
