//! Errors as clients see them. One table gives each code its status and its hint.
//!
//! Which error to use: a handler returns [`ApiError`] and makes one with [`ApiError::new`] for faults that it finds
//! itself; errors of the layers below are converted by `From`. A fault of the server is [`ApiError::internal`]: the
//! cause is logged once, and the body has an incident id (`finalize.rs`). To add a code: add a line to the table.

use std::fmt;
use std::ops::{Deref, DerefMut};

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpResponse, ResponseError};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::json_schema::JsonMap;
use clotho_core::tree::edit::TreeError;
use clotho_engine::turn::TurnError;
use clotho_provider::ProviderFailure;
use clotho_queries::error::ReadError;
use clotho_store::{StoreError, WriteError};

/// What `details.field` says if the body itself is wrong.
const WHOLE_BODY: &str = ".";

macro_rules! error_codes {
    ($($variant:ident = $word:literal $status:literal $hint:literal;)*) => {
        /// All error codes. Their names on the wire are stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ApiErrorCode { $(
            #[doc = concat!("`", $word, "`, status ", stringify!($status))]
            $variant,
        )* }

        impl ApiErrorCode {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the code used on the wire.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// Returns the HTTP status.
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)* }
            }

            /// Returns the default hint for the user.
            pub const fn hint(self) -> &'static str {
                match self { $(Self::$variant => $hint,)* }
            }
        }
    };
}

error_codes! {
    Malformed = "malformed" 400 "send well-formed JSON in UTF-8, and a well-formed query";
    Invalid = "invalid" 422 "compare the request with the documentation at /api/docs";
    Unauthenticated = "unauthenticated" 401 "log in first";
    Forbidden = "forbidden" 403 "ask the owner of the server";
    BadHost = "bad_host" 403 "open the server by its own address, or add the name to allowed_hosts in the configuration";
    NotFound = "not_found" 404 "check the address and the ids in it: the item may have been deleted";
    MethodNotAllowed = "method_not_allowed" 405 "the Allow header lists the methods of this address";
    Conflict = "conflict" 409 "read the current state and decide again";
    HeadMoved = "head_moved" 409 "look at the new messages, then send again with the current expectedLeafId or expectedOp";
    Cycle = "cycle" 409 "choose a target that is not below the moved node";
    Generating = "generating" 409 "wait until the reply is complete, or cancel it";
    NothingToUndo = "nothing_to_undo" 409 "there is nothing left to undo or redo";
    GonePurged = "gone_purged" 410 "the deletion is permanent: only the id is still known";
    TooLarge = "too_large" 413 "send less in one request";
    UnsupportedMedia = "unsupported_media" 415 "send JSON with \"Content-Type: application/json\"";
    InputRefused = "input_refused" 422 "change the message and send it again";
    RateLimited = "rate_limited" 429 "wait as long as Retry-After says";
    TooManyGenerating = "too_many_generating" 429 "wait for a running reply to end, or cancel one";
    ProviderFailed = "provider_failed" 502 "try again, or choose another model";
    Unavailable = "unavailable" 503 "try again in a moment";
    ProviderTimeout = "provider_timeout" 504 "try again, or choose a faster model";
    StorageFull = "storage_full" 507 "free some space on the server's disk; nothing was changed";
    Internal = "internal" 500 "find the cause by the incident id in the server's log";
}

/// An error of a request. Boxed, because every handler's result carries one.
#[derive(Debug, Clone)]
pub struct ApiError(Box<ApiErrorInner>);

/// The content of an error: what a client sees, and the cause for the log.
#[derive(Debug, Clone)]
pub struct ApiErrorInner {
    /// Stable error code, with status and default hint.
    pub code: ApiErrorCode,
    /// One sentence without a final period.
    pub message: String,
    /// What to do about it; `None` = the hint of the code.
    pub hint: Option<String>,
    /// Machine-readable details: `field`, `leafId`, `op`, ….
    pub details: Map<String, Value>,
    /// Value of `Retry-After`, in seconds.
    pub retry_after_s: Option<u64>,
    /// Value of `Allow`: the methods of the address.
    pub allow: Option<String>,
    /// The cause, for the log only.
    pub cause: Option<String>,
}

impl ApiError {
    /// Returns an error with the default hint of its code.
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

    /// Returns an error for an invalid field of the request. An empty `field` is the body itself.
    pub fn invalid(field: &str, message: impl Into<String>) -> Self {
        let field = if field.is_empty() { WHOLE_BODY } else { field };
        Self::new(ApiErrorCode::Invalid, message).detail("field", field)
    }

    /// Returns an error for something that does not exist or belongs to another user; the two look the same.
    pub fn not_found(what: &str) -> Self {
        Self::new(ApiErrorCode::NotFound, format!("{what} does not exist"))
    }

    /// Returns an error for a fault of the server; the cause is only logged.
    pub fn internal(cause: impl fmt::Display) -> Self {
        let mut error = Self::new(ApiErrorCode::Internal, "something went wrong inside the server");
        error.cause = Some(cause.to_string());
        error
    }

    /// Sets a better hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a detail.
    #[must_use]
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// Returns the body; `incident` names the log line with the cause.
    pub fn body(&self, incident: Option<&str>) -> ErrorResponse {
        let hint = self.hint.clone().unwrap_or_else(|| self.code.hint().to_owned());
        ErrorResponse {
            error: ErrorFields {
                code: self.code.name().to_owned(),
                message: self.message.clone(),
                hint,
                details: self.details.clone(),
                incident: incident.map(str::to_owned),
            },
        }
    }

    /// Returns the whole response.
    pub fn to_response(&self, incident: Option<&str>) -> HttpResponse {
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
        write!(f, "{}: {}", self.code.name(), self.message)
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        self.to_response(None)
    }
}

/// The body of every error.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Error)]
pub struct ErrorResponse {
    /// The error itself.
    #[schema(inline)]
    pub error: ErrorFields,
}

/// The fields of an error.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ErrorFields {
    /// Stable error code.
    pub code: String,
    /// The error in one sentence.
    pub message: String,
    /// What the user can do about it.
    pub hint: String,
    /// Machine-readable arguments of the code: `field`, `leafId`, `op`, …. `reason` is a stable word for the exact reason.
    #[schema(value_type = JsonMap)]
    pub details: Map<String, Value>,
    /// Id of the server log line with the cause; only for faults of the server.
    #[schema(required)]
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
                .hint("undo stops at a purge: deleted data cannot be restored")
                .detail("reason", "purged"),
            TreeError::BlockedByLater { op, .. } => Self::new(ApiErrorCode::Conflict, message).detail("op", op),
            TreeError::Diverged { conflicts } => Self::new(ApiErrorCode::Conflict, message)
                .hint("repeat the edit with resolve: {path: \"theirs\", \"ours\", a value, or {\"value\": …}}")
                .detail("conflicts", conflicts),
            TreeError::ConfirmationRequired { nodes, branches, fragments, kept } => Self::invalid("confirm", message)
                .hint("repeat the edit with confirm: true to confirm it")
                .detail("nodes", nodes)
                .detail("branches", branches)
                .detail("fragments", fragments)
                .detail("keptFragments", kept),
            TreeError::NameTaken { name, node } => Self::new(ApiErrorCode::Conflict, message)
                .hint("choose another label, or remove it from the other message first")
                .detail("name", name)
                .detail("nodeId", node.to_string()),
            TreeError::Generating => Self::new(ApiErrorCode::Generating, message),
            TreeError::Conflict(_) => Self::new(ApiErrorCode::Conflict, message),
            TreeError::InStash => Self::new(ApiErrorCode::Conflict, message).detail("reason", "in_stash"),
            TreeError::NothingToMerge => {
                Self::new(ApiErrorCode::Conflict, message).detail("reason", "nothing_to_merge")
            }
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
                    "check the owner, the permissions and the disk of the server's data directory; nothing was changed",
                )
            }
            StoreError::Locked => Self::new(ApiErrorCode::Unavailable, "another program uses the server's data"),
            StoreError::Abandoned | StoreError::Closed => {
                Self::new(ApiErrorCode::Unavailable, "the server is shutting down")
            }
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
                .hint("shorten the message, or turn off the plugin")
                .detail("plugin", plugin),
            TurnError::TooMany => {
                let mut error = Self::new(ApiErrorCode::TooManyGenerating, message);
                error.retry_after_s = Some(5);
                error
            }
            TurnError::Invalid { field, .. } => Self::invalid(field, message),
            TurnError::PromptTooSlow { seconds } => Self::new(ApiErrorCode::TooLarge, message)
                .hint("turn off some lorebooks, scripts or plugins, or shorten the texts of the character")
                .detail("seconds", seconds),
            TurnError::ReplayChanged => Self::new(ApiErrorCode::Conflict, message)
                .hint("run the replay again, look at it, and accept it with the new `shown`")
                .detail("reason", "replay_changed"),
            TurnError::Stopped => Self::new(ApiErrorCode::Unavailable, message),
        }
    }
}

impl From<ReadError> for ApiError {
    fn from(error: ReadError) -> Self {
        let message = error.to_string();
        match error {
            ReadError::Store(error) => error.into(),
            ReadError::Turn(error) => error.into(),
            ReadError::NotFound(_) => Self::new(ApiErrorCode::NotFound, message),
            ReadError::LeafAndLabel => Self::invalid("label", message),
            ReadError::TreeTooLarge { nodes, limit } => Self::new(ApiErrorCode::TooLarge, message)
                .hint("request ?shape=skeleton, or pages: ?cursor= first, then the value of \"next\"")
                .detail("nodes", nodes)
                .detail("limit", limit),
            ReadError::ValuesTooLarge { limit } => Self::new(ApiErrorCode::TooLarge, message)
                .hint("request a deeper path, fewer branches, or a smaller limit")
                .detail("limit", limit),
            ReadError::Purged => Self::new(ApiErrorCode::GonePurged, message),
        }
    }
}

/// A provider that failed before a reply could start.
impl From<ProviderFailure> for ApiError {
    fn from(failure: ProviderFailure) -> Self {
        let code = match &failure {
            ProviderFailure::Timeout { .. } => ApiErrorCode::ProviderTimeout,
            ProviderFailure::RateLimited { .. } => ApiErrorCode::RateLimited,
            _ => ApiErrorCode::ProviderFailed,
        };
        let mut error = Self::new(code, failure.to_string())
            .hint(failure.hint())
            .detail("provider", failure.code())
            .detail("args", failure.args());
        error.retry_after_s = failure.retry_after().map(|wait| wait.as_secs().max(1));
        error
    }
}

/// Returns the code for a bare status that the framework or a library answered.
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

/// Returns the codes with their statuses, for the API document.
pub fn codes_json() -> Value {
    ApiErrorCode::ALL
        .iter()
        .map(|code| json!({"code": code.name(), "status": code.status(), "hint": code.hint()}))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn error_codes_are_snake_case_and_unique() {
        let words: HashSet<&str> = ApiErrorCode::ALL.iter().map(|code| code.name()).collect();
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
