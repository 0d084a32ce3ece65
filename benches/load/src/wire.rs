//! HTTP by hand over one keep-alive connection, so that nothing affects the time of a request.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits for something. On a timeout, says what did not happen.
pub async fn with_timeout<T>(what: &str, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(PATIENCE, work).await;
    done.unwrap_or_else(|_| panic!("{what} did not come within {} s", PATIENCE.as_secs()))
}

/// A keep-alive connection.
pub struct Wire {
    address: SocketAddr,
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Wire {
    pub async fn open(at: SocketAddr) -> Self {
        Self::try_open(at).await.unwrap_or_else(|error| panic!("connecting to {at}: {error}"))
    }

    /// Connects to a server that may not listen yet.
    pub async fn try_open(at: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(at).await?;
        stream.set_nodelay(true)?;
        Ok(Self { address: at, stream, unread: Vec::new() })
    }

    pub async fn send(&mut self, line: &str, content_type: &str, body: &[u8]) {
        let (at, length) = (self.address, body.len());
        let head = format!(
            "{line} HTTP/1.1\r\nhost: {at}\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\r\n"
        );
        let sent = async {
            self.stream.write_all(head.as_bytes()).await?;
            self.stream.write_all(body).await
        };
        sent.await.unwrap_or_else(|error| panic!("sending {line}: {error}"));
    }

    /// Returns the body of a response with a content length. A refusal ends the bench with its text.
    pub async fn read_response(&mut self, line: &str) -> Value {
        let answered = async {
            let end = self.read_until(b"\r\n\r\n").await;
            let head = String::from_utf8_lossy(&self.unread[..end]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let whole = end + length.map_or(0, |length| length.parse::<usize>().unwrap());
            while self.unread.len() < whole {
                self.read_more().await;
            }
            let body: Vec<u8> = self.unread.drain(..whole).skip(end).collect();
            assert!(head.starts_with("http/1.1 20"), "{line}: {head}{}", String::from_utf8_lossy(&body));
            serde_json::from_slice(&body).unwrap_or_default()
        };
        with_timeout(line, answered).await
    }

    /// Reads until `wanted` arrives. Returns the offset behind it.
    pub async fn read_until(&mut self, wanted: &[u8]) -> usize {
        let mut seen: usize = 0;
        loop {
            let from = seen.saturating_sub(wanted.len());
            let found = self.unread[from..].windows(wanted.len()).position(|bytes| bytes == wanted);
            if let Some(at) = found {
                return from + at + wanted.len();
            }
            seen = self.unread.len();
            self.read_more().await;
        }
    }

    /// Takes the bytes up to `end`.
    pub fn take_bytes(&mut self, end: usize) -> Vec<u8> {
        self.unread.drain(..end).collect()
    }

    /// Reads to the end of a chunked response and discards it.
    pub async fn skip_chunks(&mut self) {
        let end = self.read_until(b"\r\n0\r\n\r\n").await;
        self.unread.drain(..end);
    }

    async fn read_more(&mut self) {
        let read =
            self.stream.read_buf(&mut self.unread).await.unwrap_or_else(|error| panic!("{}: {error}", self.address));
        assert!(read > 0, "{} has closed the connection", self.address);
    }

    pub async fn get(&mut self, target: &str) -> Value {
        self.request(&format!("GET {target}"), &[]).await
    }

    pub async fn post(&mut self, target: &str, body: &Value) -> Value {
        self.request(&format!("POST {target}"), body.to_string().as_bytes()).await
    }

    pub async fn request(&mut self, line: &str, body: &[u8]) -> Value {
        self.send(line, "application/json", body).await;
        self.read_response(line).await
    }
}

/// Returns the text of a JSON string.
pub fn json_string(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}
