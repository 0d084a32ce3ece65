//! An HTTP client that sends exactly the bytes it is told, so that tests can be as rude as strangers. It also holds every
//! answer to the contract: a status that the table of routes names and the shape that the document says, or a refusal in the
//! one form. A body that was taken is one that the document describes.

use std::net::{IpAddr, SocketAddr};

use clotho::http::error::ApiErrorCode;
use clotho::http::route_table::RouteEntry;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::schema;

/// A request in the making.
#[derive(Debug, Clone)]
pub struct Ask {
    at: SocketAddr,
    from: Option<IpAddr>,
    method: String,
    target: String,
    host: Option<String>,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    announced: Option<usize>,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Heard {
    /// The status.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, out of its chunks.
    pub body: Vec<u8>,
}

impl Ask {
    /// A request to a server.
    pub fn new(at: SocketAddr, method: &str, target: &str) -> Self {
        Self {
            at,
            from: None,
            method: method.to_owned(),
            target: target.to_owned(),
            host: Some(at.to_string()),
            headers: Vec::new(),
            body: Vec::new(),
            announced: None,
        }
    }

    /// With one more header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// From another address of this machine.
    pub fn from(mut self, address: IpAddr) -> Self {
        self.from = Some(address);
        self
    }

    /// With another `Host`, or none.
    pub fn host(mut self, host: Option<&str>) -> Self {
        self.host = host.map(str::to_owned);
        self
    }

    /// With a JSON body.
    pub fn json(self, body: &Value) -> Self {
        self.text(&body.to_string())
    }

    /// With a body that says it is JSON.
    pub fn text(self, body: &str) -> Self {
        self.bytes(body.as_bytes(), "application/json")
    }

    /// With any body.
    pub fn bytes(mut self, body: &[u8], kind: &str) -> Self {
        self.body = body.to_vec();
        if kind.is_empty() { self } else { self.header("content-type", kind) }
    }

    /// Says that its body has another length than it has.
    pub fn announced(mut self, length: usize) -> Self {
        self.announced = Some(length);
        self
    }

    /// Sends it and holds the answer to the contract.
    pub async fn send(self) -> Heard {
        let (method, target, body) = (self.method.clone(), self.target.clone(), self.body.clone());
        let heard = self.send_raw().await;
        heard.keeps_the_contract(&method, &target, &body);
        heard
    }

    /// Sends it, whatever comes back.
    pub async fn send_raw(self) -> Heard {
        let is_head = self.method == "HEAD";
        let mut stream = self.begin().await;
        let mut bytes = Vec::new();
        // A server that refuses a large body may leave the connection open for the rest of it.
        while !is_whole(&bytes, is_head) && stream.read_buf(&mut bytes).await.unwrap() > 0 {}
        parse(&bytes)
    }

    /// Sends it, waits for something, and breaks the connection off without having read a byte.
    pub async fn send_and_reset(self, when: impl Future<Output = ()>) {
        let stream = self.begin().await;
        when.await;
        stream.set_zero_linger().unwrap();
    }

    async fn begin(self) -> TcpStream {
        let mut head = format!("{} {} HTTP/1.1\r\nconnection: close\r\n", self.method, self.target);
        for (name, value) in self.host.iter().map(|host| ("host".to_owned(), host.clone())).chain(self.headers) {
            head += &format!("{name}: {value}\r\n");
        }
        let length = self.announced.unwrap_or(self.body.len());
        if length > 0 || matches!(self.method.as_str(), "POST" | "PUT" | "PATCH") {
            head += &format!("content-length: {length}\r\n");
        }
        head += "\r\n";
        let mut stream = connect(self.at, self.from).await;
        stream.write_all(head.as_bytes()).await.unwrap();
        // A server that has refused already may not take the rest.
        let _ = stream.write_all(&self.body).await;
        stream
    }
}

/// A connection, from one address of this machine if that is said.
pub async fn connect(at: SocketAddr, from: Option<IpAddr>) -> TcpStream {
    let socket = if at.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }.unwrap();
    if let Some(from) = from {
        socket.bind(SocketAddr::new(from, 0)).unwrap();
    }
    socket.connect(at).await.unwrap()
}

impl Heard {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body of a success of this status.
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        if self.body.is_empty() { Value::Null } else { self.json() }
    }

    /// A refusal of this code; answers with its `error`.
    pub fn refused(&self, code: &str) -> Value {
        let error = self.json()["error"].clone();
        assert_eq!(error["code"], code, "{} {}", self.status, self.text());
        error
    }

    fn keeps_the_contract(&self, method: &str, target: &str, sent: &[u8]) {
        let table = clotho::http::all_routes();
        let path = target.split('?').next().unwrap_or_default();
        let entry = table.iter().find(|entry| entry.method == method && fits(entry, path));
        match entry.filter(|entry| entry.statuses.contains(&self.status)) {
            Some(entry) => self.is_documented(entry, target, sent),
            None => self.is_a_refusal(method, target),
        }
    }

    fn is_documented(&self, entry: &RouteEntry, target: &str, sent: &[u8]) {
        let (method, path) = (entry.method.as_str(), entry.openapi_path());
        if let Some(schema) = schema::answer(method, &path, self.status) {
            let faults = schema::faults(schema, &self.json());
            assert!(faults.is_empty(), "{method} {target} answers {}: {faults:#?}", self.text());
        }
        if let (Some(schema), Ok(body)) = (schema::body(method, &path), serde_json::from_slice(sent)) {
            let faults = schema::faults(schema, &body);
            assert!(faults.is_empty(), "{method} {target} took {body}: {faults:#?}");
        }
    }

    fn is_a_refusal(&self, method: &str, target: &str) {
        assert!(self.status >= 400, "{method} {target}: {} is not in the table", self.status);
        assert!(self.header("x-request-id").is_some(), "{method} {target}");
        if method == "HEAD" {
            return;
        }
        let body = self.json();
        let faults = schema::faults(&schema::named("Error"), &body);
        assert!(faults.is_empty(), "{method} {target}: {body} {faults:?}");
        let error = &body["error"];
        let code =
            ApiErrorCode::ALL.iter().find(|code| code.word() == error["code"]).unwrap_or_else(|| panic!("{body}"));
        assert_eq!(code.status(), self.status, "{method} {target}: {body}");
        for key in ["message", "hint"] {
            let text = error[key].as_str().unwrap_or_else(|| panic!("{method} {target}: no {key} in {body}"));
            // A plugin's refusal has its own words.
            assert!(!text.is_empty() && (!text.ends_with('.') || *code == ApiErrorCode::InputRefused), "{body}");
        }
        let has_incident = error["incident"].is_string();
        assert!(
            if *code == ApiErrorCode::Internal { has_incident } else { !has_incident || self.status >= 500 },
            "{body}"
        );
    }
}

/// Whether a path is one of a route.
pub fn fits(entry: &RouteEntry, path: &str) -> bool {
    let mut wanted = entry.path.split('/');
    let mut given = path.split('/');
    loop {
        match (wanted.next(), given.next()) {
            (Some(part), Some(_)) if part.ends_with(":.*}") => return true,
            (Some(part), Some(text)) if part == text || (part.starts_with('{') && !text.is_empty()) => {}
            (None, None) => return true,
            _ => return false,
        }
    }
}

/// Whether an answer that says its length is all there.
fn is_whole(bytes: &[u8], is_head: bool) -> bool {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    length.is_some_and(|length| is_head || bytes.len() >= end + 4 + length)
}

fn parse(bytes: &[u8]) -> Heard {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or_else(|| {
        panic!("no HTTP: {:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(200)]));
    });
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: Vec<(String, String)> = lines
        .map(|line| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned())).unwrap())
        .collect();
    let body = &bytes[end + 4..];
    let is_chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    Heard { status, headers, body: if is_chunked { unchunk(body) } else { body.to_vec() } }
}

fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let line = bytes.windows(2).position(|two| two == b"\r\n").expect("a chunk's length");
        let length = usize::from_str_radix(std::str::from_utf8(&bytes[..line]).unwrap(), 16).unwrap();
        if length == 0 {
            return body;
        }
        body.extend_from_slice(&bytes[line + 2..line + 2 + length]);
        bytes = &bytes[line + 2 + length + 2..];
    }
}
