//! Refusals as clients see them. One table says for every code which status it has and what one can do about it.
//!
//! Which error to use where: a handler answers [`ApiError`] and makes one with [`ApiError::new`] for what it finds wrong
//! itself; what the floors below refuse becomes one by `From`. Whatever is our own fault is [`ApiError::internal`]: the
//! cause goes to the log, once, and the body holds an incident id (`finalize.rs`). To add a code: a line in the table.

use std::fmt;
use std::ops::{Deref, DerefMut};

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpResponse, ResponseError};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use clotho_core::tree::edit::TreeError;
use clotho_engine::turn::TurnError;
use clotho_provider::ProviderFailure;
use clotho_store::{StoreError, WriteError};

macro_rules! codes {
    ($($variant:ident = $word:literal $status:literal $hint:literal;)*) => {
        /// Every code that a refusal can have; the words are stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ApiErrorCode { $(
            #[doc = concat!("`", $word, "`, status ", stringify!($status))]
            $variant,
        )* }

        impl ApiErrorCode {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The word in the body.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The HTTP status.
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)* }
            }

            /// What one can do about it, unless the refusal knows better.
            pub const fn hint(self) -> &'static str {
                match self { $(Self::$variant => $hint,)* }
            }
        }
    };
}

codes! {
    Malformed = "malformed" 400 "send well-formed JSON in UTF-8, and a well-formed query";
    Invalid = "invalid" 422 "compare the request with the documentation at /api/docs";
    Unauthenticated = "unauthenticated" 401 "say who you are first";
    Forbidden = "forbidden" 403 "ask whoever runs the server";
    BadHost = "bad_host" 403 "open the server by its own address, or add the name to allowed_hosts in the configuration";
    NotFound = "not_found" 404 "look at the address and the ids in it: what they name may have been deleted";
    MethodNotAllowed = "method_not_allowed" 405 "the Allow header lists what this address takes";
    Conflict = "conflict" 409 "read the current state and decide again";
    HeadMoved = "head_moved" 409 "look at the new messages, then send again with the current expectedLeafId or expectedOp";
    Cycle = "cycle" 409 "choose a target that does not lie below what is moved";
    Generating = "generating" 409 "wait until the reply is complete, or cancel it";
    NothingToUndo = "nothing_to_undo" 409 "there is nothing left to take back or to bring back";
    GonePurged = "gone_purged" 410 "nothing brings it back: only its id is still known";
    TooLarge = "too_large" 413 "send less at once";
    UnsupportedMedia = "unsupported_media" 415 "send JSON with \"Content-Type: application/json\"";
    InputRefused = "input_refused" 422 "change the message and send it again";
    RateLimited = "rate_limited" 429 "wait as long as Retry-After says";
    TooManyGenerating = "too_many_generating" 429 "wait for a running reply to end, or cancel one";
    ProviderFailed = "provider_failed" 502 "try again, or choose another model";
    Unavailable = "unavailable" 503 "try again in a moment";
    ProviderTimeout = "provider_timeout" 504 "try again, or choose a faster model";
    StorageFull = "storage_full" 507 "free some space on the server's disk; nothing was changed";
    Internal = "internal" 500 "the incident id leads to the cause in the server's log";
}

/// A refusal. Boxed, because every handler carries one that it mostly does not use.
#[derive(Debug, Clone)]
pub struct ApiError(Box<ApiErrorInner>);

/// What a client sees of a refusal, and for the server's own faults the cause that it does not see.
#[derive(Debug, Clone)]
pub struct ApiErrorInner {
    /// The stable code.
    pub code: ApiErrorCode,
    /// One sentence without a final period.
    pub message: String,
    /// What to do about it; the code's own hint unless something better is known.
    pub hint: Option<String>,
    /// What programs may want to know: `field`, `leafId`, `op`, ….
    pub details: Map<String, Value>,
    /// Seconds to wait, for `Retry-After`.
    pub retry_after_s: Option<u64>,
    /// The methods that an address takes, for `Allow`.
    pub allow: Option<String>,
    /// For the log only.
    pub cause: Option<String>,
}

impl ApiError {
    /// A refusal with the code's own hint.
    pub fn new(code: ApiErrorCode, message: impl Into<String>) -> Self {
        Self(Box::new(ApiErrorInner {
            code,
            message: message.into(),
            hint: None,
            details: Map::new(),
            retry_after_s: None,
            allow: None,
            cause: None,
        }))
    }

    /// A field of the request does not fit.
    pub fn invalid(field: &str, message: impl Into<String>) -> Self {
        Self::new(ApiErrorCode::Invalid, message).detail("field", field)
    }

    /// Something is not there, or not for this caller; which of the two is nobody's business.
    pub fn not_found(what: &str) -> Self {
        Self::new(ApiErrorCode::NotFound, format!("{what} does not exist"))
    }

    /// Our own fault: the cause is for the log.
    pub fn internal(cause: impl fmt::Display) -> Self {
        let mut error = Self::new(ApiErrorCode::Internal, "something went wrong inside the server");
        error.cause = Some(cause.to_string());
        error
    }

    /// The same with a better hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with one more detail.
    #[must_use]
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// The body; `incident` names the line in the log that has the cause.
    pub fn body(&self, incident: Option<&str>) -> ErrorResponse {
        let hint = self.hint.clone().unwrap_or_else(|| self.code.hint().to_owned());
        ErrorResponse {
            error: ErrorFields {
                code: self.code.word().to_owned(),
                message: self.message.clone(),
                hint,
                details: self.details.clone(),
                incident: incident.map(str::to_owned),
            },
        }
    }

    /// The whole answer.
    pub fn answer(&self, incident: Option<&str>) -> HttpResponse {
        let mut answer = HttpResponse::build(self.status_code());
        if let Some(seconds) = self.retry_after_s {
            answer.insert_header((header::RETRY_AFTER, seconds.to_string()));
        }
        if let Some(methods) = self.allow.as_deref().and_then(|allow| HeaderValue::from_str(allow).ok()) {
            answer.insert_header((header::ALLOW, methods));
        }
        answer.insert_header((header::CACHE_CONTROL, "no-store"));
        answer.json(self.body(incident))
    }
}

impl Deref for ApiError {
    type Target = ApiErrorInner;

    fn deref(&self) -> &ApiErrorInner {
        &self.0
    }
}

impl DerefMut for ApiError {
    fn deref_mut(&mut self) -> &mut ApiErrorInner {
        &mut self.0
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.word(), self.message)
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        self.answer(None)
    }
}

/// The body of every refusal.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Error)]
pub struct ErrorResponse {
    /// What is wrong.
    #[schema(inline)]
    pub error: ErrorFields,
}

/// What is wrong.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ErrorFields {
    /// A stable word.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// What to do about it.
    pub hint: String,
    /// What programs may want to know, by code: `field`, `leafId`, `op`, ….
    #[schema(value_type = Object)]
    pub details: Map<String, Value>,
    /// Names the line in the server's log that has the cause; only where the fault is the server's own.
    pub incident: Option<String>,
}

impl From<TreeError> for ApiError {
    fn from(refusal: TreeError) -> Self {
        let message = refusal.to_string();
        match refusal {
            TreeError::NotFound(_) => Self::new(ApiErrorCode::NotFound, message),
            TreeError::HeadMoved { leaf, op } => {
                Self::new(ApiErrorCode::HeadMoved, message).detail("leafId", leaf.to_string()).detail("op", op)
            }
            TreeError::ReferenceNotFound { field, .. } => {
                Self::new(ApiErrorCode::NotFound, message).detail("field", field)
            }
            TreeError::Cycle => Self::new(ApiErrorCode::Cycle, message),
            TreeError::InEdit { index, refusal } => Self::from(*refusal).detail("operation", index),
            TreeError::TooLarge { most, .. } => Self::new(ApiErrorCode::TooLarge, message).detail("limit", most),
            TreeError::NothingToRevert(_) => Self::new(ApiErrorCode::NothingToUndo, message),
            TreeError::NothingSincePurge(_) => Self::new(ApiErrorCode::NothingToUndo, message)
                .hint("nothing from before a purge is taken back: what it destroyed does not come again")
                .detail("reason", "purged"),
            TreeError::BlockedByLater { op, .. } => Self::new(ApiErrorCode::Conflict, message).detail("op", op),
            TreeError::Diverged { conflicts } => Self::new(ApiErrorCode::Conflict, message)
                .hint("repeat the edit with resolve: {path: \"theirs\", \"ours\", a value, or {\"value\": …}}")
                .detail("conflicts", conflicts),
            TreeError::ConfirmationRequired { nodes, branches, fragments, kept } => Self::invalid("confirm", message)
                .hint("repeat the edit with confirm: true if that is meant")
                .detail("nodes", nodes)
                .detail("branches", branches)
                .detail("fragments", fragments)
                .detail("keptFragments", kept),
            TreeError::NameTaken { name, node } => Self::new(ApiErrorCode::Conflict, message)
                .hint("choose another name, or take this one off the other message first")
                .detail("name", name)
                .detail("nodeId", node.to_string()),
            TreeError::Generating => Self::new(ApiErrorCode::Generating, message),
            TreeError::Conflict(_) => Self::new(ApiErrorCode::Conflict, message),
            TreeError::Invalid { field, .. } => Self::invalid(field, message),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let cause = error.to_string();
        let mut refusal = match error {
            StoreError::Full => Self::new(ApiErrorCode::StorageFull, "the server's disk is full"),
            StoreError::Quota => Self::new(ApiErrorCode::StorageFull, "the server's database has reached its quota")
                .hint("raise storage.max_database_mb on the server; nothing was changed"),
            StoreError::ReadOnly => {
                Self::new(ApiErrorCode::Unavailable, "the server cannot write its data at the moment").hint(
                    "see the owner, the permissions and the disk of the server's data directory; nothing was changed",
                )
            }
            StoreError::Locked => {
                Self::new(ApiErrorCode::Unavailable, "the server's data is in use by another program")
            }
            StoreError::Closed => Self::new(ApiErrorCode::Unavailable, "the server is shutting down"),
            _ => return Self::internal(cause),
        };
        refusal.cause = Some(cause);
        refusal
    }
}

impl From<WriteError> for ApiError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Refused(refusal) => refusal.into(),
            WriteError::Failed(error) => error.into(),
        }
    }
}

impl From<TurnError> for ApiError {
    fn from(error: TurnError) -> Self {
        let message = error.to_string();
        match error {
            TurnError::Refused(refusal) => refusal.into(),
            TurnError::Store(error) => error.into(),
            TurnError::InputRefused { plugin, .. } => {
                Self::new(ApiErrorCode::InputRefused, message).detail("plugin", plugin)
            }
            TurnError::TooLong { plugin, .. } => Self::new(ApiErrorCode::TooLarge, message)
                .hint("shorten the message, or go on without the plugin")
                .detail("plugin", plugin),
            TurnError::TooMany => {
                let mut error = Self::new(ApiErrorCode::TooManyGenerating, message);
                error.retry_after_s = Some(5);
                error
            }
            TurnError::Invalid { field, .. } => Self::invalid(field, message),
            TurnError::Stopped => Self::new(ApiErrorCode::Unavailable, message),
        }
    }
}

/// A model server failed before anything could begin.
impl From<ProviderFailure> for ApiError {
    fn from(failure: ProviderFailure) -> Self {
        let code = match &failure {
            ProviderFailure::Timeout { .. } => ApiErrorCode::ProviderTimeout,
            ProviderFailure::RateLimited { .. } => ApiErrorCode::RateLimited,
            _ => ApiErrorCode::ProviderFailed,
        };
        let mut error = Self::new(code, failure.to_string()).hint(failure.hint()).detail("provider", failure.code());
        error.retry_after_s = failure.retry_after().map(|wait| wait.as_secs().max(1));
        error
    }
}

/// The code that stands for a bare status, where the framework or a library answered by itself.
pub fn code_of(status: StatusCode) -> ApiErrorCode {
    match status.as_u16() {
        400 => ApiErrorCode::Malformed,
        401 => ApiErrorCode::Unauthenticated,
        403 => ApiErrorCode::Forbidden,
        404 => ApiErrorCode::NotFound,
        405 => ApiErrorCode::MethodNotAllowed,
        409 => ApiErrorCode::Conflict,
        410 => ApiErrorCode::GonePurged,
        413 => ApiErrorCode::TooLarge,
        415 => ApiErrorCode::UnsupportedMedia,
        429 => ApiErrorCode::RateLimited,
        502 => ApiErrorCode::ProviderFailed,
        503 => ApiErrorCode::Unavailable,
        504 => ApiErrorCode::ProviderTimeout,
        507 => ApiErrorCode::StorageFull,
        _ if status.is_client_error() => ApiErrorCode::Invalid,
        _ => ApiErrorCode::Internal,
    }
}

/// The documented codes with their statuses, for the document.
pub fn codes_json() -> Value {
    ApiErrorCode::ALL
        .iter()
        .map(|code| json!({"code": code.word(), "status": code.status(), "hint": code.hint()}))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn error_codes_are_snake_case_and_unique() {
        let words: HashSet<&str> = ApiErrorCode::ALL.iter().map(|code| code.word()).collect();
        assert_eq!(words.len(), ApiErrorCode::ALL.len());
        assert!(ApiErrorCode::ALL.iter().all(|code| !code.hint().is_empty()));
        assert!(words.iter().all(|word| word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')));
        assert!(
            ApiErrorCode::ALL.iter().all(|code| StatusCode::from_u16(code.status()).is_ok_and(|s| !s.is_success()))
        );
    }

    #[test]
    fn error_internal_body_hides_cause() {
        let error = ApiError::from(StoreError::Database("table secrets is gone".into()));
        let body = serde_json::to_string(&error.body(Some("i-1"))).unwrap();
        assert!(!body.contains("secrets") && body.contains("i-1"));
        assert_eq!(error.cause.as_deref(), Some("database: table secrets is gone"));
    }

    #[test]
    fn error_body_contains_every_field() {
        let error = ApiError::from(TreeError::Conflict("it has ended already".into()));
        insta::assert_snapshot!(serde_json::to_string_pretty(&error.body(None)).unwrap(), @r#"
        {
          "error": {
            "code": "conflict",
            "message": "it has ended already",
            "hint": "read the current state and decide again",
            "details": {},
            "incident": null
          }
        }
        "#);
    }
}
