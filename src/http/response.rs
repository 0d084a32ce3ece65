//! Answers that are no refusals: JSON with a status, and with a tag where a client may ask "still the same?".

use std::marker::PhantomData;
use std::pin::Pin;

use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap, HeaderName};
use actix_web::{HttpRequest, HttpResponse, Responder};
use bytes::Bytes;
use futures_util::{Stream, TryStreamExt};
use serde::Serialize;

use super::error::ApiError;

/// The newest operation of the session when an answer was read.
const OPERATION_HEADER: HeaderName = HeaderName::from_static("clotho-op");

/// What a handler answers.
pub type ApiResult<T> = Result<ApiResponse<T>, ApiError>;

/// JSON of the shape `T`, or nothing new.
pub struct ApiResponse<T> {
    status: StatusCode,
    content: ResponseContent,
    tag: Option<String>,
    next: Option<String>,
    op: Option<i64>,
    cookie: Option<String>,
    kept: Option<ReplayBody>,
    shape: PhantomData<fn() -> T>,
}

enum ResponseContent {
    Json(Vec<u8>),
    File(FileResponseHead, ResponseChunks),
    Empty,
}

/// What is kept of an answer for a repeated `Idempotency-Key`, where that may not be all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayBody(pub Bytes);

/// What answers to a repeated request: ids and counts, and never a value of a world. Such a value may be what a message said
/// that the answer does not name, and would stay behind when that message is purged.
pub trait RedactForReplay: Serialize + Sized {
    /// The same without values; it says that there was more, if there was.
    #[must_use]
    fn redact_for_replay(self) -> Self;
}

/// The shape of an answer that is a file to keep.
pub struct FileResponse;

/// What is said of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileResponseHead {
    /// What it is, for `ResponseContent-Type`.
    pub kind: &'static str,
    /// How it should be named: letters, digits, `-`, `_` and `.` of any script.
    pub name: String,
}

/// A file in pieces, each made when the one before is gone.
pub type ResponseChunks = Pin<Box<dyn Stream<Item = Result<Bytes, ApiError>>>>;

/// The shape of an answer without a body.
pub struct NoContent;

impl<T> ApiResponse<T> {
    /// JSON that has been written already: large answers are written where they are read, off the threads that serve.
    pub fn from_json(json: Vec<u8>) -> Self {
        Self {
            status: StatusCode::OK,
            content: ResponseContent::Json(json),
            tag: None,
            next: None,
            op: None,
            cookie: None,
            kept: None,
            shape: PhantomData,
        }
    }

    fn empty(status: StatusCode) -> Self {
        Self {
            status,
            content: ResponseContent::Empty,
            tag: None,
            next: None,
            op: None,
            cookie: None,
            kept: None,
            shape: PhantomData,
        }
    }

    /// The client has it already.
    pub fn not_modified(tag: &str) -> Self {
        Self { tag: Some(tag.to_owned()), ..Self::empty(StatusCode::NOT_MODIFIED) }
    }

    /// The same with a tag for `If-None-RegexMatch`.
    #[must_use]
    pub fn with_etag(mut self, tag: &str) -> Self {
        self.tag = Some(tag.to_owned());
        self
    }

    /// The same with the operation that it was read at: the answer is of one moment, and this is its number.
    #[must_use]
    pub fn at(mut self, op: i64) -> Self {
        self.op = Some(op);
        self
    }

    /// The same with a cookie for the client to keep.
    #[must_use]
    pub fn cookie(mut self, cookie: Option<String>) -> Self {
        self.cookie = cookie;
        self
    }

    /// The same with the address of the next page, for lists that are bare arrays.
    #[must_use]
    pub fn next(mut self, address: Option<String>) -> Self {
        self.next = address;
        self
    }
}

impl<T: Serialize> ApiResponse<T> {
    /// 200 with a body.
    ///
    /// # Errors
    /// The body cannot be written as JSON, which is our own fault.
    pub fn ok(body: &T) -> Result<Self, ApiError> {
        Ok(Self::from_json(write(body)?))
    }

    /// 201: something new is there.
    ///
    /// # Errors
    /// As [`ApiResponse::ok`].
    pub fn created(body: &T) -> Result<Self, ApiError> {
        Ok(Self { status: StatusCode::CREATED, ..Self::ok(body)? })
    }

    /// 202: it has begun, the end is an event.
    ///
    /// # Errors
    /// As [`ApiResponse::ok`].
    pub fn accepted(body: &T) -> Result<Self, ApiError> {
        Ok(Self { status: StatusCode::ACCEPTED, ..Self::ok(body)? })
    }
}

impl<T: RedactForReplay> ApiResponse<T> {
    /// 200 with a body of which only what may stay is kept for a repeated key.
    ///
    /// # Errors
    /// As [`ApiResponse::ok`].
    pub fn ok_redacted(body: T) -> Result<Self, ApiError> {
        let whole = Self::ok(&body)?;
        Ok(Self { kept: Some(ReplayBody(write(&body.redact_for_replay())?.into())), ..whole })
    }
}

impl ApiResponse<FileResponse> {
    /// 200 with a file.
    pub fn file(head: FileResponseHead, pieces: ResponseChunks) -> Self {
        Self { content: ResponseContent::File(head, pieces), ..Self::empty(StatusCode::OK) }
    }
}

impl FileResponseHead {
    /// The file of something with a name that people gave it.
    pub fn from_title(name: &str, ending: &str, kind: &'static str) -> Self {
        /// So many characters of it are enough to know it by.
        const MAX_NAME_CHARS: usize = 80;
        let is_fit = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
        let name: String = name.chars().filter(is_fit).take(MAX_NAME_CHARS).collect();
        let name = if name.trim().is_empty() { "untitled" } else { name.trim() };
        Self { kind, name: format!("{}.{ending}", name.replace(' ', "-")) }
    }

    /// For `ResponseContent-Disposition`: the name, and one in plain letters for who reads no other (RFC 6266).
    fn disposition(&self) -> String {
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let plain: String = self.name.chars().map(|c| if is_plain(&c) { c } else { '_' }).collect();
        let mut whole = String::new();
        for c in self.name.chars() {
            if is_plain(&c) {
                whole.push(c);
            } else {
                let mut bytes = [0; 4];
                whole.extend(c.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")));
            }
        }
        format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{whole}")
    }
}

impl ApiResponse<NoContent> {
    /// 204: done, and nothing to say.
    pub fn no_content() -> Self {
        Self::empty(StatusCode::NO_CONTENT)
    }
}

/// A shape as JSON.
///
/// # Errors
/// It cannot be written, which is our own fault.
pub fn write<T: Serialize>(body: &T) -> Result<Vec<u8>, ApiError> {
    serde_json::to_vec(body).map_err(ApiError::internal)
}

impl<T> Responder for ApiResponse<T> {
    type Body = BoxBody;

    fn respond_to(self, _: &HttpRequest) -> HttpResponse<BoxBody> {
        let mut answer = HttpResponse::build(self.status);
        match &self.tag {
            Some(tag) => {
                answer.insert_header((header::ETAG, tag.as_str()));
                answer.insert_header((header::CACHE_CONTROL, "private, no-cache"));
            }
            None => _ = answer.insert_header((header::CACHE_CONTROL, "no-store")),
        }
        if let Some(op) = self.op {
            answer.insert_header((OPERATION_HEADER, op.to_string()));
        }
        if let Some(next) = self.next {
            answer.insert_header((header::LINK, format!("<{next}>; rel=\"next\"")));
        }
        if let Some(cookie) = self.cookie {
            answer.insert_header((header::SET_COOKIE, cookie));
        }
        if let Some(kept) = self.kept {
            answer.extensions_mut().insert(kept);
        }
        match self.content {
            ResponseContent::Json(bytes) => answer.content_type("application/json").body(bytes),
            ResponseContent::File(head, pieces) => {
                answer.insert_header((header::CONTENT_DISPOSITION, head.disposition()));
                answer.content_type(head.kind).streaming(pieces.map_err(actix_web::Error::from))
            }
            ResponseContent::Empty => answer.finish(),
        }
    }
}

/// A weak tag over everything that an answer depends on. Weak, because the bytes differ when they are compressed.
pub fn tag(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [env!("CARGO_PKG_VERSION")].iter().chain(parts) {
        hasher.update(&part.len().to_le_bytes()).update(part.as_bytes());
    }
    let hash: String = hasher.finalize().to_hex().chars().take(24).collect();
    format!("W/\"{hash}\"")
}

/// Whether the client says that it has the answer with this tag.
pub fn has(headers: &HeaderMap, tag: &str) -> bool {
    let bare = |tag: &str| tag.trim().strip_prefix("W/").unwrap_or(tag.trim()).to_owned();
    let lists = headers.get_all(header::IF_NONE_MATCH).filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|one| bare(one) == bare(tag))
}

/// Whether the client says that it has an answer, whatever its tag.
pub fn has_if_none_match(headers: &HeaderMap) -> bool {
    headers.get_all(header::IF_NONE_MATCH).any(|list| list.as_bytes().trim_ascii() == b"*")
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::test::TestRequest;

    #[test]
    fn file_response_disposition_has_ascii_and_utf8_names() {
        let head = |name: &str| FileResponseHead { kind: "text/plain", name: name.to_owned() }.disposition();
        assert_eq!(head("a-1.txt"), "attachment; filename=\"a-1.txt\"; filename*=UTF-8''a-1.txt");
        assert_eq!(FileResponseHead::from_title("../ Lamp 灯: x/y ", "png", "image/png").name, "Lamp-灯-xy.png");
        assert_eq!(FileResponseHead::from_title("\"/\"", "json", "application/json").name, "untitled.json");
        assert_eq!(head("灯\".txt"), "attachment; filename=\"__.txt\"; filename*=UTF-8''%E7%81%AF%22.txt");
    }

    #[test]
    fn etag_in_if_none_match_list_matches() {
        let check = |header: &str, expected: bool| {
            let request = TestRequest::default().insert_header((header::IF_NONE_MATCH, header)).to_http_request();
            assert_eq!(has(request.headers(), "W/\"abc\""), expected, "{header}");
        };
        check("W/\"abc\"", true);
        check("\"abc\"", true);
        check("\"x\", W/\"abc\"", true);
        check("*", false);
        check("\"ab\"", false);
        assert_ne!(tag(&["a", "b"]), tag(&["ab", ""]));
        let any = TestRequest::default().insert_header((header::IF_NONE_MATCH, " * ")).to_http_request();
        assert!(has_if_none_match(any.headers()));
    }
}
