//! A client that plays one session: messages over HTTP, replies over a WebSocket.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::wire::{Wire, json_string, with_timeout};

/// A WebSocket of one session.
pub struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    pub async fn open(at: SocketAddr, session: &str) -> Self {
        let opened = with_timeout("a WebSocket", connect_async(format!("ws://{at}/api/chat/{session}/ws"))).await;
        let (socket, _) = opened.unwrap_or_else(|error| panic!("a WebSocket is refused: {error}"));
        let mut socket = Self(socket);
        socket.wait_for_frame("\"hello\"").await;
        socket
    }

    /// Returns the next frame with content.
    pub async fn next_frame(&mut self) -> String {
        loop {
            let frame = with_timeout("a frame", self.0.next()).await.expect("the server has closed the WebSocket");
            if let Message::Text(frame) = frame.unwrap_or_else(|error| panic!("a WebSocket is broken: {error}")) {
                return frame.as_str().to_owned();
            }
        }
    }

    /// Returns the next frame that contains this text.
    pub async fn wait_for_frame(&mut self, wanted: &str) -> String {
        loop {
            let frame = self.next_frame().await;
            if frame.contains(wanted) {
                return frame;
            }
        }
    }
}

pub struct Player {
    pub wire: Wire,
    pub session_id: String,
    /// Problems of plugins in the newest reply.
    pub problem_count: usize,
    socket: Socket,
    leaf: String,
}

/// The times of events since the message was sent.
#[derive(Clone, Copy)]
pub struct TurnTimes {
    pub first_token_time: Duration,
    pub completion_time: Duration,
}

impl Player {
    /// Creates a session with `history` messages of 200 characters.
    pub async fn create(at: SocketAddr, history: usize) -> Self {
        let mut wire = Wire::open(at).await;
        let session = create_session(&mut wire).await;
        let mut player = Self::join(at, &session).await;
        for n in 0..history {
            let role = if n % 2 == 0 { "user" } else { "assistant" };
            let body = json!({"parentId": player.leaf, "content": "word ".repeat(40), "role": role});
            player.leaf = json_string(&player.wire.post(&player.message_target(), &body).await["node"]["id"]);
        }
        player
    }

    /// Joins an existing session from its current state on.
    pub async fn join(at: SocketAddr, session: &str) -> Self {
        let mut wire = Wire::open(at).await;
        let leaf = json_string(&wire.get(&format!("/api/sessions/{session}")).await["activeLeafId"]);
        Self { wire, session_id: session.to_owned(), problem_count: 0, socket: Socket::open(at, session).await, leaf }
    }

    fn message_target(&self) -> String {
        format!("/api/chat/{}/message", self.session_id)
    }

    /// Writes a message that asks for a reply. Returns once the reply is being generated.
    pub async fn send_message(&mut self, content: &str) -> Value {
        let body = json!({"parentId": self.leaf, "content": content, "generate": true});
        let mut started = self.wire.post(&self.message_target(), &body).await;
        let reply = started["generations"][0].take();
        self.leaf = json_string(&reply["id"]);
        reply
    }

    /// Waits for the end of the requested reply. Calls `heard` with each earlier frame.
    pub async fn wait_for_reply(&mut self, mut heard: impl FnMut(&str)) -> Value {
        loop {
            let frame = self.socket.next_frame().await;
            heard(&frame);
            if !frame.contains("\"node.completed\"") {
                continue;
            }
            let node = serde_json::from_str::<Value>(&frame).unwrap()["node"].take();
            if node["id"] == self.leaf.as_str() {
                assert_eq!(node["status"], "complete", "a reply failed: {node}");
                self.problem_count = node["problems"].as_array().map_or(0, Vec::len);
                return node;
            }
        }
    }

    /// Plays one turn, from the message to the end of its reply.
    pub async fn run_turn(&mut self) -> TurnTimes {
        let sent = Instant::now();
        self.send_message("I look around the room.").await;
        let mut first = None;
        // A reply that arrives at once may come with its end, without a piece before.
        let says = |frame: &str| frame.contains("\"node.content.updated\"") || frame.contains("\"node.completed\"");
        self.wait_for_reply(|frame| {
            if first.is_none() && says(frame) {
                first = Some(sent.elapsed());
            }
        })
        .await;
        let completed = sent.elapsed();
        TurnTimes { first_token_time: first.unwrap_or(completed), completion_time: completed }
    }

    /// Plays several turns.
    pub async fn run_turns(&mut self, count: usize) -> Vec<TurnTimes> {
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(self.run_turn().await);
        }
        all
    }
}

/// Creates a session with its own character. Returns its id.
pub async fn create_session(wire: &mut Wire) -> String {
    let character = wire.post("/api/characters", &json!({"name": "Rin", "firstMessage": "Hello."})).await["id"].take();
    json_string(&wire.post("/api/sessions", &json!({"characterIds": [character]})).await["id"])
}
