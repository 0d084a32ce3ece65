//! The outermost middleware of every request: request id, authorisation, uniform errors, security headers, access log.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::web::Bytes;
use actix_web::{Error, HttpMessage, web};

use super::caller::{self, ClientIdentity};
use super::connection_limit::{ConnectionLimit, ConnectionPlace};
use super::error::{ApiError, code_of};
use super::server_state::{RunningRequestGuard, ServerState};
use crate::app::App;

/// Header of the request id, in requests and responses.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Responses below this size are not compressed, because compression costs more than it saves.
const MIN_COMPRESSED_BYTES: u64 = 1_400;

/// Maximum number of body bytes sent at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Only our own files run, nothing inline, and texts become HTML through a single sanitiser. The policy `clotho-worker`
/// of the page allows two own files: the worker for regex scripts, and the service worker for offline use
/// (`static/src/lib/trusted-urls.ts`).
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      connect-src 'self'; font-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; \
                      form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types dompurify clotho-worker";

const SECURITY_HEADERS: [(&str, &str); 7] = [
    ("content-security-policy", CONTENT_SECURITY_POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
];

/// Runs the outermost middleware.
///
/// # Errors
/// Returns no error of its own.
pub async fn finalize(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let (Some(app), Some(shared)) =
        (request.app_data::<web::Data<App>>().cloned(), request.app_data::<web::Data<ServerState>>().cloned())
    else {
        return Err(ApiError::internal("a server without the program").into());
    };
    let (begun, serving) = (Instant::now(), shared.clone().into_inner().begin_request());
    let id = request_id(&app, request.headers());
    let (method, path) = (request.method().clone(), request.path().to_owned());
    drop_unknown_encodings(request.headers_mut());
    let admitted = caller::authorize(&app, request.head()).and_then(|via| Ok((via, admit(&app, &request, via)?)));
    // The place of a client behind a proxy is held until its answer is complete.
    let (answer, place) = match admitted {
        Ok((via, place)) => {
            request.extensions_mut().insert(via);
            (next.call(request).await?.map_into_boxed_body(), place)
        }
        Err(refusal) => (request.error_response(refusal), None),
    };
    let mut answer = format_refusals(&app, &id, answer);
    let status = answer.status().as_u16();
    set_response_headers(&id, answer.headers_mut());
    shared.metrics.count_response(status);
    let micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    tracing::info!(target: "clotho::http", request_id = id, %method, path, status, micros, "request");
    Ok(answer.map_body(|_, body| BoxBody::new(TrackedBody { body, rest: Bytes::new(), _serving: (serving, place) })))
}

/// Counts the request of a client that is not known.
fn admit(app: &App, request: &ServiceRequest, via: ClientIdentity) -> Result<Option<ConnectionPlace>, ApiError> {
    let Some(connections) = request.app_data::<web::Data<ConnectionLimit>>() else { return Ok(None) };
    connections.clone().into_inner().admit_request(app, request.request(), via)
}

/// A response body that counts as a running request until it is sent. It is sent in chunks, because data accepted by
/// the connection is not sent yet.
struct TrackedBody {
    body: BoxBody,
    rest: Bytes,
    _serving: (RunningRequestGuard, Option<ConnectionPlace>),
}

impl MessageBody for TrackedBody {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        if self.rest.is_empty() {
            match self.body.as_pin_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(bytes))) => self.rest = bytes,
                other => return other,
            }
        }
        let piece = self.rest.len().min(CHUNK_BYTES);
        Poll::Ready(Some(Ok(self.rest.split_to(piece))))
    }
}

/// Returns the request id: the client's if it is valid, otherwise a new one.
fn request_id(app: &App, headers: &HeaderMap) -> String {
    let is_plain = |id: &&str| {
        (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
    };
    let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).filter(is_plain);
    given.map_or_else(|| app.ids.next_id(app.clock.now()).to_string(), str::to_owned)
}

/// Removes `Accept-Encoding` if the client accepts no supported compression, so that it gets an uncompressed answer
/// instead of an error.
fn drop_unknown_encodings(headers: &mut HeaderMap) {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|accepted| accepted.to_str().ok()).unwrap_or_default();
    let knows = |name: &str| {
        accepted.split(',').any(|one| {
            let (word, weight) = one.split_once(';').unwrap_or((one, ""));
            let is_refused = matches!(weight.trim().trim_start_matches("q=").trim_end_matches('0'), "0" | "0." | "");
            word.trim().eq_ignore_ascii_case(name) && (weight.is_empty() || !is_refused)
        })
    };
    if !knows("gzip") && !knows("br") {
        headers.remove(header::ACCEPT_ENCODING);
    }
}

/// Gives every error the uniform JSON form. Faults of the server get an incident id and a log line with the cause.
fn format_refusals(app: &App, request_id: &str, answer: ServiceResponse<BoxBody>) -> ServiceResponse<BoxBody> {
    let status = answer.status();
    let refusal = match answer.response().error() {
        Some(error) => match error.as_error::<ApiError>() {
            Some(refusal) => refusal.clone(),
            None => {
                let mut refusal = ApiError::new(code_of(status), "the request cannot be served");
                refusal.cause = Some(error.to_string()).filter(|_| status.is_server_error());
                refusal
            }
        },
        None if is_framework_error(&answer) => ApiError::new(code_of(status), "the request cannot be served"),
        None => return answer,
    };
    let Some(cause) = &refusal.cause else { return answer.into_response(refusal.to_response(None)) };
    let incident = app.ids.next_id(app.clock.now()).to_string();
    let code = refusal.code.name();
    tracing::error!(target: "clotho::http", request_id, incident, code, cause, "incident {incident}: {cause}");
    answer.into_response(refusal.to_response(Some(&incident)))
}

/// Returns whether an error response does not come from our handlers, which answer with JSON or the 404 page.
fn is_framework_error(answer: &ServiceResponse<BoxBody>) -> bool {
    let is_refusal = answer.status().is_client_error() || answer.status().is_server_error();
    let kind = answer.headers().get(header::CONTENT_TYPE);
    let is_ours = kind.is_some_and(|kind| kind == "application/json" || kind.as_bytes().starts_with(b"text/html"));
    is_refusal && !is_ours
}

fn set_response_headers(id: &str, headers: &mut HeaderMap) {
    if headers.get(header::CONTENT_ENCODING).is_some_and(|encoding| encoding == "identity") {
        headers.remove(header::CONTENT_ENCODING);
    }
    for (name, value) in SECURITY_HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert(REQUEST_ID, id);
    }
}

/// Runs below the compressor and excludes small answers from compression.
///
/// # Errors
/// Returns no error of its own.
pub async fn skip_small_bodies(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let mut answer = next.call(request).await?.map_into_boxed_body();
    let is_small = match answer.response().body().size() {
        BodySize::None => true,
        BodySize::Sized(bytes) => bytes < MIN_COMPRESSED_BYTES,
        BodySize::Stream => false,
    };
    if is_small {
        answer.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("identity"));
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn finalize_unknown_accept_encoding_returns_identity() {
        let check = |accepted: &str, kept: bool| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_str(accepted).unwrap());
            drop_unknown_encodings(&mut headers);
            assert_eq!(headers.contains_key(header::ACCEPT_ENCODING), kept, "{accepted}");
        };
        check("gzip, br", true);
        check("GZIP;q=0.5", true);
        check("br;q=1.0, *;q=0", true);
        check("identity", false);
        check("zstd", false);
        check("gzip;q=0", false);
        check("gzip;q=0.0", false);
        check("*", false);
        check("identity;q=0, *;q=0", false);
    }

    #[tokio::test]
    async fn finalize_response_counts_as_running_until_body_sent() {
        let shared = Arc::new(ServerState::default());
        let body = BoxBody::new(Bytes::from(vec![7; CHUNK_BYTES + 1]));
        let mut leaving = TrackedBody { body, rest: Bytes::new(), _serving: (shared.begin_request(), None) };
        let mut sizes = Vec::new();
        while let Some(piece) = std::future::poll_fn(|cx| Pin::new(&mut leaving).poll_next(cx)).await {
            sizes.push(piece.unwrap().len());
        }
        assert_eq!(sizes, [CHUNK_BYTES, 1]);
        assert!(shared.wait_until_idle().now_or_never().is_none());
        drop(leaving);
        assert!(shared.wait_until_idle().now_or_never().is_some());
    }
}
