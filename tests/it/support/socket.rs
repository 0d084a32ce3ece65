//! A WebSocket client that checks every frame against the OpenAPI document.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, client_async};

use super::client::connect;
use super::schema;

/// How long a test waits for a frame before it fails. Only a failing test waits this long.
const GIVE_UP: Duration = Duration::from_secs(60);

/// An open WebSocket.
pub struct Socket {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
    /// The first frame, read by [`Socket::open`] and not returned yet.
    first_frame: Option<Value>,
    /// The close code of the server.
    pub close_code: Option<u16>,
}

impl Socket {
    /// Opens a socket and waits for the first frame, which describes the session. Everything that happens from now on
    /// is reported.
    pub async fn open(at: SocketAddr, sid: &str, since: Option<i64>) -> Self {
        let opened = Self::try_open(at, sid, since, &[]).await;
        let mut socket = opened.unwrap_or_else(|status| panic!("refused with {status}"));
        socket.first_frame = socket.next_frame().await;
        socket
    }

    /// Opens a socket with additional headers. Returns the HTTP status if the server refuses.
    pub async fn try_open(
        at: SocketAddr,
        sid: &str,
        since: Option<i64>,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, u16> {
        Self::try_open_from(None, at, sid, since, headers).await
    }

    /// Does the same as [`Self::try_open`], from another address of this machine.
    pub async fn try_open_from(
        from: Option<IpAddr>,
        at: SocketAddr,
        sid: &str,
        since: Option<i64>,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, u16> {
        let since = since.map(|op| format!("?since={op}")).unwrap_or_default();
        let mut request = format!("ws://{at}/api/chat/{sid}/ws{since}").into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let stream = MaybeTlsStream::Plain(connect(at, from).await);
        match client_async(request, stream).await {
            Ok((stream, _)) => Ok(Self { stream, first_frame: None, close_code: None }),
            Err(Error::Http(answer)) => Err(answer.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Sends a JSON frame.
    pub async fn send(&mut self, frame: &Value) {
        self.send_text(&frame.to_string()).await;
    }

    /// Sends a text frame.
    pub async fn send_text(&mut self, text: &str) {
        self.stream.send(Message::text(text)).await.unwrap();
    }

    /// Sends a binary frame.
    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.send(Message::binary(bytes.to_vec())).await.unwrap();
    }

    /// Returns the next frame; `None` if the socket was closed.
    pub async fn next_frame(&mut self) -> Option<Value> {
        if let Some(first) = self.first_frame.take() {
            return Some(first);
        }
        loop {
            let message = tokio::time::timeout(GIVE_UP, self.stream.next()).await.expect("a frame");
            match message {
                Some(Ok(Message::Text(text))) => return Some(check_documented(serde_json::from_str(&text).unwrap())),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(frame))) => {
                    self.close_code = frame.map(|frame| frame.code.into());
                    return None;
                }
                Some(Err(_)) | None => return None,
                Some(Ok(other)) => panic!("{other:?}"),
            }
        }
    }

    /// Sends a close frame, with a code or empty.
    pub async fn say_goodbye(&mut self, code: Option<u16>) {
        let frame = code.map(|code| CloseFrame { code: code.into(), reason: "done".into() });
        self.stream.close(frame).await.unwrap();
    }

    /// Resets the connection without a close frame.
    pub fn reset(self) {
        match self.stream.get_ref() {
            MaybeTlsStream::Plain(stream) => stream.set_zero_linger().unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// Returns the frames up to and including the first that fits.
    pub async fn read_until(&mut self, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let frame = self.next_frame().await.unwrap_or_else(|| panic!("closed after {frames:#?}"));
            let is_last = fits(&frame);
            frames.push(frame);
            if is_last {
                return frames;
            }
        }
    }

    /// Returns the frames up to and including the first of a type.
    pub async fn read_until_type(&mut self, name: &str) -> Vec<Value> {
        self.read_until(|frame| frame["type"] == name).await
    }
}

/// Fails unless a frame matches the document; returns the frame.
fn check_documented(frame: Value) -> Value {
    let faults = schema::faults(&schema::schema_reference("ServerFrame"), &frame);
    assert!(faults.is_empty(), "{frame}: {faults:#?}");
    // Check the parts separately: their faults are named, while the whole only says that no variant fits.
    for (key, shape) in [("node", "ChatMessageNode"), ("worldDelta", "Delta"), ("operation", "Operation")] {
        if let Some(part) = frame.get(key) {
            let faults = schema::faults(&schema::schema_reference(shape), part);
            assert!(faults.is_empty(), "{frame}: {faults:#?}");
        }
    }
    frame
}

/// Returns the types of frames.
pub fn frame_types(frames: &[Value]) -> Vec<&str> {
    frames.iter().map(|frame| frame["type"].as_str().unwrap()).collect()
}
