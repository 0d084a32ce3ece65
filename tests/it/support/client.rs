//! An HTTP client that sends exactly the given bytes, so that tests can send malformed requests.
//!
//! It also checks every answer against the contract. An answer has a status of the route table and the shape of the
//! OpenAPI document, or it is a refusal in the common form. An accepted JSON body must match the document.

use std::net::{IpAddr, SocketAddr};

use clotho::http::error::ApiErrorCode;
use clotho::http::route_table::RouteEntry;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::schema;

/// A request that is not sent yet.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    address: SocketAddr,
    source_address: Option<IpAddr>,
    method: String,
    target: String,
    host: Option<String>,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    content_length: Option<usize>,
}

/// A response.
#[derive(Debug, Clone)]
pub struct HttpResponse {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body after chunked decoding.
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// Creates a request to a server.
    pub fn new(at: SocketAddr, method: &str, target: &str) -> Self {
        Self {
            address: at,
            source_address: None,
            method: method.to_owned(),
            target: target.to_owned(),
            host: Some(at.to_string()),
            headers: Vec::new(),
            body: Vec::new(),
            content_length: None,
        }
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends from another address of this machine.
    pub fn with_source_address(mut self, address: IpAddr) -> Self {
        self.source_address = Some(address);
        self
    }

    /// Replaces the `Host` header, or omits it.
    pub fn host(mut self, host: Option<&str>) -> Self {
        self.host = host.map(str::to_owned);
        self
    }

    /// Sets a JSON body.
    pub fn json(self, body: &Value) -> Self {
        self.json_text(&body.to_string())
    }

    /// Sets a body with the content type of JSON.
    pub fn json_text(self, body: &str) -> Self {
        self.bytes(body.as_bytes(), "application/json")
    }

    /// Sets any body. An empty `kind` adds no content type.
    pub fn bytes(mut self, body: &[u8], kind: &str) -> Self {
        self.body = body.to_vec();
        if kind.is_empty() { self } else { self.header("content-type", kind) }
    }

    /// Sets a `Content-Length` that differs from the length of the body.
    pub fn content_length(mut self, length: usize) -> Self {
        self.content_length = Some(length);
        self
    }

    /// Sends the request and checks the response against the contract.
    pub async fn send(self) -> HttpResponse {
        let (method, target, body) = (self.method.clone(), self.target.clone(), self.body.clone());
        let heard = self.send_raw().await;
        heard.assert_contract(&method, &target, &body);
        heard
    }

    /// Sends the request without checking the response.
    pub async fn send_raw(self) -> HttpResponse {
        let is_head = self.method == "HEAD";
        let mut stream = self.write_request().await;
        let mut bytes = Vec::new();
        // A server that refuses a large body may keep the connection open to receive the rest.
        while !is_complete_response(&bytes, is_head) && stream.read_buf(&mut bytes).await.unwrap() > 0 {}
        parse_response(&bytes)
    }

    /// Sends the request, waits for `when` and resets the connection without reading a byte.
    pub async fn send_and_reset(self, when: impl Future<Output = ()>) {
        let stream = self.write_request().await;
        when.await;
        stream.set_zero_linger().unwrap();
    }

    async fn write_request(self) -> TcpStream {
        let mut head = format!("{} {} HTTP/1.1\r\nconnection: close\r\n", self.method, self.target);
        for (name, value) in self.host.iter().map(|host| ("host".to_owned(), host.clone())).chain(self.headers) {
            head += &format!("{name}: {value}\r\n");
        }
        let length = self.content_length.unwrap_or(self.body.len());
        if length > 0 || matches!(self.method.as_str(), "POST" | "PUT" | "PATCH") {
            head += &format!("content-length: {length}\r\n");
        }
        head += "\r\n";
        let mut stream = connect(self.address, self.source_address).await;
        stream.write_all(head.as_bytes()).await.unwrap();
        // A server that has already refused the request may not read the rest.
        let _ = stream.write_all(&self.body).await;
        stream
    }
}

/// Opens a connection, from a given address of this machine if there is one.
pub async fn connect(at: SocketAddr, from: Option<IpAddr>) -> TcpStream {
    let socket = if at.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }.unwrap();
    if let Some(from) = from {
        socket.bind(SocketAddr::new(from, 0)).unwrap();
    }
    socket.connect(at).await.unwrap()
}

impl HttpResponse {
    /// Parses the body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// Returns the body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns a header; `name` is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body and fails unless the status is `status`. An empty body gives null.
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        if self.body.is_empty() { Value::Null } else { self.json() }
    }

    /// Returns the `error` of a refusal and fails unless it has this code.
    pub fn expect_error(&self, code: &str) -> Value {
        let error = self.json()["error"].clone();
        assert_eq!(error["code"], code, "{} {}", self.status, self.text());
        error
    }

    fn assert_contract(&self, method: &str, target: &str, sent: &[u8]) {
        let table = clotho::http::all_routes();
        let path = target.split('?').next().unwrap_or_default();
        let entry = table.iter().find(|entry| entry.method == method && route_matches(entry, path));
        match entry.filter(|entry| entry.statuses.contains(&self.status)) {
            Some(entry) => self.assert_documented(entry, target, sent),
            None => self.assert_error_response(method, target),
        }
    }

    fn assert_documented(&self, entry: &RouteEntry, target: &str, sent: &[u8]) {
        let (method, path) = (entry.method.as_str(), entry.openapi_path());
        if let Some(schema) = schema::response_schema(method, &path, self.status) {
            let faults = schema::faults(schema, &self.json());
            assert!(faults.is_empty(), "{method} {target} answers {}: {faults:#?}", self.text());
        }
        if let (Some(schema), Ok(body)) = (schema::request_schema(method, &path), serde_json::from_slice(sent)) {
            let faults = schema::faults(schema, &body);
            assert!(faults.is_empty(), "{method} {target} took {body}: {faults:#?}");
        }
    }

    fn assert_error_response(&self, method: &str, target: &str) {
        assert!(self.status >= 400, "{method} {target}: {} is not in the table", self.status);
        assert!(self.header("x-request-id").is_some(), "{method} {target}");
        if method == "HEAD" {
            return;
        }
        let body = self.json();
        let faults = schema::faults(&schema::schema_reference("Error"), &body);
        assert!(faults.is_empty(), "{method} {target}: {body} {faults:?}");
        let error = &body["error"];
        let code =
            ApiErrorCode::ALL.iter().find(|code| code.name() == error["code"]).unwrap_or_else(|| panic!("{body}"));
        assert_eq!(code.status(), self.status, "{method} {target}: {body}");
        for key in ["message", "hint"] {
            let text = error[key].as_str().unwrap_or_else(|| panic!("{method} {target}: no {key} in {body}"));
            // The text of `InputRefused` comes from a plugin and may end with a full stop.
            assert!(!text.is_empty() && (!text.ends_with('.') || *code == ApiErrorCode::InputRefused), "{body}");
        }
        let has_incident = error["incident"].is_string();
        assert!(
            if *code == ApiErrorCode::Internal { has_incident } else { !has_incident || self.status >= 500 },
            "{body}"
        );
    }
}

/// Returns whether a path matches a route.
pub fn route_matches(entry: &RouteEntry, path: &str) -> bool {
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

/// Returns whether a response with a content length has arrived completely.
fn is_complete_response(bytes: &[u8], is_head: bool) -> bool {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    length.is_some_and(|length| is_head || bytes.len() >= end + 4 + length)
}

fn parse_response(bytes: &[u8]) -> HttpResponse {
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
    HttpResponse { status, headers, body: if is_chunked { decode_chunked(body) } else { body.to_vec() } }
}

fn decode_chunked(mut bytes: &[u8]) -> Vec<u8> {
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
