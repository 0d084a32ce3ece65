//! Successful answers: JSON with a status, and with an `ETag` for conditional requests.

use std::marker::PhantomData;
use std::pin::Pin;

use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap, HeaderName};
use actix_web::{HttpRequest, HttpResponse, Responder};
use bytes::Bytes;
use futures_util::{Stream, TryStreamExt};
use serde::Serialize;

use super::content_disposition;
use super::error::ApiError;

/// Header with the newest operation of the session at the time of reading.
const OPERATION_HEADER: HeaderName = HeaderName::from_static("clotho-op");

/// The result of a handler.
pub type ApiResult<T> = Result<ApiResponse<T>, ApiError>;

/// A JSON answer of type `T`, or `304 Not Modified`.
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

/// The part of an answer that is stored for a repeated `Idempotency-Key`, if it is not the whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayBody(pub Bytes);

/// An answer that is stored for repeated requests without values of the state, only with ids and counts. Such a value
/// may come from a message that the answer does not name, and would outlive the purge of that message.
pub trait RedactForReplay: Serialize + Sized {
    /// Removes the values, and marks the answer as incomplete if there were any.
    #[must_use]
    fn redact_for_replay(self) -> Self;
}

/// Marker for an answer that is a file download.
pub struct FileResponse;

/// The headers of a file download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileResponseHead {
    /// Value of `Content-Type`.
    pub kind: &'static str,
    /// File name: letters, digits, `-`, `_` and `.` of any script.
    pub name: String,
}

/// A file as a stream of chunks, each produced when the previous one is sent.
pub type ResponseChunks = Pin<Box<dyn Stream<Item = Result<Bytes, ApiError>>>>;

/// Marker for an answer without a body.
pub struct NoContent;

impl<T> ApiResponse<T> {
    /// Wraps serialized JSON. Large answers are serialized where they are read, not on the server's worker threads.
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

    /// Returns `304 Not Modified`.
    pub fn not_modified(tag: &str) -> Self {
        Self { tag: Some(tag.to_owned()), ..Self::empty(StatusCode::NOT_MODIFIED) }
    }

    /// Adds an `ETag` for `If-None-Match`.
    #[must_use]
    pub fn with_etag(mut self, tag: &str) -> Self {
        self.tag = Some(tag.to_owned());
        self
    }

    /// Adds the number of the operation at which the answer was read.
    #[must_use]
    pub fn with_operation(mut self, op: i64) -> Self {
        self.op = Some(op);
        self
    }

    /// Adds a cookie.
    #[must_use]
    pub fn with_cookie(mut self, cookie: Option<String>) -> Self {
        self.cookie = cookie;
        self
    }

    /// Adds a link to the next page, for answers that are bare lists.
    #[must_use]
    pub fn with_next_page(mut self, address: Option<String>) -> Self {
        self.next = address;
        self
    }
}

impl<T: Serialize> ApiResponse<T> {
    /// Returns a 200 answer with a body.
    ///
    /// # Errors
    /// Returns an internal error if the body cannot be serialized.
    pub fn ok(body: &T) -> Result<Self, ApiError> {
        Ok(Self::from_json(to_json(body)?))
    }

    /// Returns a 201 answer for something created.
    ///
    /// # Errors
    /// As [`ApiResponse::ok`].
    pub fn created(body: &T) -> Result<Self, ApiError> {
        Ok(Self { status: StatusCode::CREATED, ..Self::ok(body)? })
    }

    /// Returns a 202 answer for something started whose end is an event.
    ///
    /// # Errors
    /// As [`ApiResponse::ok`].
    pub fn accepted(body: &T) -> Result<Self, ApiError> {
        Ok(Self { status: StatusCode::ACCEPTED, ..Self::ok(body)? })
    }
}

impl<T: RedactForReplay> ApiResponse<T> {
    /// Returns a 200 answer of which only the redacted form is stored for a repeated key.
    ///
    /// # Errors
    /// As [`ApiResponse::ok`].
    pub fn ok_redacted(body: T) -> Result<Self, ApiError> {
        let whole = Self::ok(&body)?;
        Ok(Self { kept: Some(ReplayBody(to_json(&body.redact_for_replay())?.into())), ..whole })
    }
}

impl ApiResponse<FileResponse> {
    /// Returns a 200 answer with a file.
    pub fn file(head: FileResponseHead, pieces: ResponseChunks) -> Self {
        Self { content: ResponseContent::File(head, pieces), ..Self::empty(StatusCode::OK) }
    }
}

impl FileResponseHead {
    /// Returns the headers of a file named after something with a user-given name.
    pub fn from_title(name: &str, ending: &str, kind: &'static str) -> Self {
        /// Maximum number of characters taken from the user-given name.
        const MAX_NAME_CHARS: usize = 80;
        let is_fit = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
        let name: String = name.chars().filter(is_fit).take(MAX_NAME_CHARS).collect();
        let name = if name.trim().is_empty() { "untitled" } else { name.trim() };
        Self { kind, name: format!("{}.{ending}", name.replace(' ', "-")) }
    }
}

impl ApiResponse<NoContent> {
    /// Returns a 204 answer.
    pub fn no_content() -> Self {
        Self::empty(StatusCode::NO_CONTENT)
    }
}

/// Serializes a value to JSON.
///
/// # Errors
/// Returns an internal error if it cannot be serialized.
pub fn to_json<T: Serialize>(body: &T) -> Result<Vec<u8>, ApiError> {
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
        if let Some(replay) = self.kept {
            answer.extensions_mut().insert(replay);
        }
        match self.content {
            ResponseContent::Json(bytes) => answer.content_type("application/json").body(bytes),
            ResponseContent::File(head, pieces) => {
                answer.insert_header((header::CONTENT_DISPOSITION, content_disposition::attachment(&head.name)));
                answer.content_type(head.kind).streaming(pieces.map_err(actix_web::Error::from))
            }
            ResponseContent::Empty => answer.finish(),
        }
    }
}

/// Returns a weak `ETag` over everything that an answer depends on. It is weak because compression changes the bytes.
pub fn make_etag(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [env!("CARGO_PKG_VERSION")].iter().chain(parts) {
        hasher.update(&part.len().to_le_bytes()).update(part.as_bytes());
    }
    let hash: String = hasher.finalize().to_hex().chars().take(24).collect();
    format!("W/\"{hash}\"")
}

/// Returns whether `If-None-Match` contains this tag.
pub fn matches_etag(headers: &HeaderMap, tag: &str) -> bool {
    let bare = |tag: &str| tag.trim().strip_prefix("W/").unwrap_or(tag.trim()).to_owned();
    let lists = headers.get_all(header::IF_NONE_MATCH).filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|one| bare(one) == bare(tag))
}

/// Returns whether the client has `If-None-Match` with any tag.
pub fn has_if_none_match(headers: &HeaderMap) -> bool {
    headers.get_all(header::IF_NONE_MATCH).any(|list| list.as_bytes().trim_ascii() == b"*")
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::test::TestRequest;

    #[test]
    fn file_response_name_is_made_from_title() {
        assert_eq!(FileResponseHead::from_title("../ Lamp 灯: x/y ", "png", "image/png").name, "Lamp-灯-xy.png");
        assert_eq!(FileResponseHead::from_title("\"/\"", "json", "application/json").name, "untitled.json");
    }

    #[test]
    fn etag_in_if_none_match_list_matches() {
        let check = |header: &str, expected: bool| {
            let request = TestRequest::default().insert_header((header::IF_NONE_MATCH, header)).to_http_request();
            assert_eq!(matches_etag(request.headers(), "W/\"abc\""), expected, "{header}");
        };
        check("W/\"abc\"", true);
        check("\"abc\"", true);
        check("\"x\", W/\"abc\"", true);
        check("*", false);
        check("\"ab\"", false);
        assert_ne!(make_etag(&["a", "b"]), make_etag(&["ab", ""]));
        let any = TestRequest::default().insert_header((header::IF_NONE_MATCH, " * ")).to_http_request();
        assert!(has_if_none_match(any.headers()));
    }
}
