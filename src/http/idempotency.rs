//! `Idempotency-Key`: a request repeated with the same key within a day is executed once and gets the first answer.
//! While the first one runs, the others wait. It finishes even if its client disconnects.
//!
//! A write stores the key in its own commit ([`IdempotencyClaim`]), so no crash can separate the two. If the answer is
//! lost afterwards, the next attempt learns what was created and answers with that.
//!
//! A refused request has changed nothing, so its key is not used up. The same request is executed again, and a
//! corrected one may use the same key.

use actix_web::body::{BoxBody, to_bytes};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, HttpResponse, web};

use super::body;
use super::caller::Caller;
use super::error::{ApiError, ApiErrorCode};
use super::response::ReplayBody;
use super::server_state::{IdempotencyKeyGuard, ServerState};
use crate::app::App;
use clotho_core::clock::Time;
use clotho_store::{IdempotencyClaim, SavedResponse, Tx};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Header that marks a replayed answer.
const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
const MAX_KEY_LENGTH: usize = 200;
const RETENTION_MS: i64 = 24 * 3_600 * 1_000;

/// Returns whether a request has a key that applies.
pub fn has_key(request: &ServiceRequest) -> bool {
    accepts_key(request.method()) && request.headers().contains_key(IDEMPOTENCY_KEY)
}

/// Returns whether requests with this method may have a key.
pub fn accepts_key(method: &Method) -> bool {
    [Method::POST, Method::PUT].contains(method)
}

/// Executes a request unless it was executed before.
///
/// # Errors
/// Returns an error if the key is malformed or belongs to another request.
pub async fn run_once(
    caller: Caller,
    mut request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let key = read_key(&request)?;
    let (Some(app), Some(shared)) =
        (request.app_data::<web::Data<App>>().cloned(), request.app_data::<web::Data<ServerState>>().cloned())
    else {
        return Err(ApiError::internal("a route without the program").into());
    };
    let payload = request.take_payload();
    let bytes = body::read_bytes(request.request(), payload, app.config.limits.body_bytes).await?;
    let hash = request_hash(&request, &bytes);
    request.set_payload(Payload::from(web::Bytes::from(bytes)));
    let held = shared.lock_key(caller.0, &key).await;
    let mut result = None;
    if let Some(stored) = find_stored_response(&app, caller, &key).await? {
        check_same_request(&stored, &hash)?;
        if stored.status == SavedResponse::PURGED {
            return Err(ApiError::new(ApiErrorCode::GonePurged, "the result of this request was deleted").into());
        }
        shared.metrics.count_replay();
        if stored.status != SavedResponse::LOST {
            return Ok(request.into_response(replay(&stored)?));
        }
        result = Some(stored.body);
    }
    let at = app.clock.now();
    let claim =
        IdempotencyClaim { caller: caller.0, key, request: hash, at, forget_before: Time(at.0 - RETENTION_MS), result };
    let first = FirstRequest { app, claim, _held: held };
    // A separate task: the client may disconnect, and its next attempt must find this answer.
    let answer = actix_web::rt::spawn(async move { first.execute(request, next).await }).await;
    answer.map_err(|error| Error::from(ApiError::internal(error)))?
}

struct FirstRequest {
    app: web::Data<App>,
    claim: IdempotencyClaim,
    _held: IdempotencyKeyGuard,
}

impl FirstRequest {
    async fn execute(self, request: ServiceRequest, next: Next<BoxBody>) -> Result<ServiceResponse<BoxBody>, Error> {
        let http = request.request().clone();
        let answer = IdempotencyClaim::scope(Some(self.claim.clone()), next.call(request)).await;
        let answer = answer.unwrap_or_else(|error| ServiceResponse::from_err(error, http));
        let refusal = answer.response().error().and_then(|error| error.as_error::<ApiError>()).cloned();
        let (request, response) = answer.into_parts();
        let stored = response.extensions().get::<ReplayBody>().cloned();
        let (response, body) = response.into_parts();
        let bytes = to_bytes(body).await.map_err(|_| ApiError::internal("the stored answer cannot be read"))?;
        let status = response.status();
        if status.is_success() {
            self.store_response(status, stored.as_ref().map_or(&bytes, |ReplayBody(instead)| instead)).await;
        }
        // Keep the cause of an error for the outermost middleware.
        Ok(match refusal {
            Some(refusal) => ServiceResponse::from_err(refusal, request),
            None => {
                let mut response = response.set_body(BoxBody::new(bytes));
                if self.claim.result.is_some() {
                    response.headers_mut().insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
                }
                ServiceResponse::new(request, response)
            }
        })
    }

    /// Stores the answer. A failure is not reported to the client, because the request has already been executed.
    async fn store_response(&self, status: StatusCode, bytes: &[u8]) {
        let claim = self.claim.clone();
        let body = String::from_utf8_lossy(bytes).into_owned();
        let answer = SavedResponse { request: claim.request.clone(), status: status.as_u16(), body };
        let put =
            move |tx: &mut Tx<'_>| tx.save_response(claim.caller, &claim.key, &answer, claim.at, claim.forget_before);
        if let Err(error) = self.app.store.write(put).await {
            tracing::warn!("an answer could not be stored for its Idempotency-Key: {error}");
        }
    }
}

fn read_key(request: &ServiceRequest) -> Result<String, ApiError> {
    let mut keys = request.headers().get_all(IDEMPOTENCY_KEY);
    let (key, second) = (keys.next(), keys.next());
    let key = key.filter(|_| second.is_none()).and_then(|key| key.to_str().ok());
    let fits = |key: &&str| (1..=MAX_KEY_LENGTH).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_graphic());
    let message = format!("a key has 1 to {MAX_KEY_LENGTH} visible ASCII characters");
    key.filter(fits).map(str::to_owned).ok_or_else(|| ApiError::invalid("Idempotency-Key", message))
}

fn request_hash(request: &ServiceRequest, body: &[u8]) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new();
    for part in [request.method().as_str(), request.path(), request.query_string()] {
        hasher.update(&part.len().to_le_bytes()).update(part.as_bytes());
    }
    hasher.update(body);
    hasher.finalize().as_bytes().to_vec()
}

async fn find_stored_response(app: &App, caller: Caller, key: &str) -> Result<Option<SavedResponse>, ApiError> {
    let after = Time(app.clock.now().0 - RETENTION_MS);
    let key = key.to_owned();
    app.store.read_inline(move |reader| Ok(reader.saved_response(caller.0, &key, after)?)).await
}

fn check_same_request(stored: &SavedResponse, hash: &[u8]) -> Result<(), ApiError> {
    if stored.request == hash {
        return Ok(());
    }
    let message = "this key was used for another request";
    Err(ApiError::invalid("Idempotency-Key", message).hint("use a new key for a new request"))
}

fn replay(stored: &SavedResponse) -> Result<HttpResponse, ApiError> {
    let status = StatusCode::from_u16(stored.status).map_err(ApiError::internal)?;
    let mut answer = HttpResponse::build(status);
    answer.insert_header((IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true")));
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    Ok(answer.content_type("application/json").body(stored.body.clone()))
}
