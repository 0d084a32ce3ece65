//! The ways in which a reply can fail, each with a stable code.

use std::{error::Error, fmt, io, time::Duration};

use serde_json::{Map, Value};

use super::{
    context_overflow::ContextOverflow,
    error_detail::ErrorDetail,
    error_words::{self, ErrorMeaning},
    refused_parameter,
};

/// Why there is no reply, or why it ended early. Texts of providers are bounded and contain no control characters and
/// no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderFailure {
    /// The endpoint's settings cannot work. Nothing was sent.
    #[error("the provider's settings are wrong: {words}")]
    Misconfigured { words: String },
    /// No connection, or it broke before a response began.
    #[error("the model server cannot be reached: {words}")]
    Unreachable {
        /// The cause as the system reports it.
        words: String,
        /// The cause, if it is a common one.
        cause: UnreachableCause,
    },
    /// The server exceeded a limit of [`super::Timeouts`].
    #[error("the model server {wait} within {} s", limit.as_secs_f64())]
    Timeout { wait: TimeoutPhase, limit: Duration },
    /// The server rejected the request: wrong key, unknown model, prompt too long.
    #[error("the model server refused the request ({status}): {words}")]
    Refused {
        /// The HTTP status, or the number in the error body.
        status: u16,
        /// The server's message.
        words: String,
    },
    /// The prompt exceeds the context of the model.
    #[error("the prompt is longer than the context of the model{}: {words}", limit_text(*limit))]
    ContextTooShort {
        /// The server's message.
        words: String,
        /// Tokens of prompt and reply together that the model can take, if the server tells them.
        limit: Option<u64>,
        /// Tokens that the request needs, if the server tells them.
        needed: Option<u64>,
    },
    /// The account has no credit, or its quota is used up. Waiting a little does not help.
    #[error("the account at the model server has no credit or quota left{}: {words}", status_text(*status))]
    NoCredit {
        /// The HTTP status, or the number in the error body.
        status: Option<u16>,
        /// The server's message.
        words: String,
    },
    /// Too many requests for now.
    #[error("the model server's rate limit is reached: {words}")]
    RateLimited {
        /// The server's message.
        words: String,
        /// The delay that the server asks for.
        retry_after: Option<Duration>,
    },
    /// The server failed, before or during its response.
    #[error("the model server failed{}: {words}", status_text(*status))]
    Failed {
        /// The HTTP status, or the number in the error body if it is a status.
        status: Option<u16>,
        /// The server's message.
        words: String,
        /// The delay that the server asks for.
        retry_after: Option<Duration>,
    },
    /// The circuit breaker is open after several failures in a row. Nothing was sent.
    #[error("the model server failed {failures} times in a row, requests are paused for {} s; the last error: {last}", retry_after.as_secs())]
    CircuitOpen {
        /// Number of failures in a row.
        failures: u32,
        /// The last failure.
        last: Box<ProviderFailure>,
        /// Time until the next attempt.
        retry_after: Duration,
    },
    /// The response is not what a server of this kind sends.
    #[error("the model server's answer is unreadable: {words}")]
    InvalidResponse {
        /// What is wrong with it, and its beginning.
        words: String,
    },
    /// The response ended in the middle.
    #[error("the reply was cut off before its end")]
    CutOff,
    /// The reply, or one chunk of it, exceeds the endpoint's limit. What fits was returned.
    #[error("the reply is larger than {limit} bytes")]
    TooLarge {
        /// [`super::Endpoint::max_reply_bytes`].
        limit: usize,
    },
}

/// Why no connection came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnreachableCause {
    /// Nothing listens at the address.
    Refused,
    /// The other side broke the connection.
    Reset,
    /// The host name is unknown.
    UnknownHost,
    /// Anything else.
    Other,
}

impl UnreachableCause {
    /// Returns the cause of a transport error.
    pub(super) fn from_error(error: &(dyn Error + 'static)) -> Self {
        let mut chain = std::iter::successors(Some(error), |error| (*error).source());
        let found = chain.find_map(|error| {
            let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
            match kind {
                Some(io::ErrorKind::ConnectionRefused) => Some(Self::Refused),
                Some(io::ErrorKind::ConnectionReset) => Some(Self::Reset),
                // The resolver's error has no type of its own.
                _ if error.to_string().starts_with("dns error") => Some(Self::UnknownHost),
                _ => None,
            }
        });
        found.unwrap_or(Self::Other)
    }

    /// Returns the stable word of the cause, used as an argument.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "connection_refused",
            Self::Reset => "connection_reset",
            Self::UnknownHost => "unknown_host",
            Self::Other => "other",
        }
    }
}

/// What a timeout was waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeoutPhase {
    Connect,
    /// The first text or reasoning.
    FirstToken,
    /// More content after the first.
    Idle,
}

impl fmt::Display for TimeoutPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "did not accept a connection",
            Self::FirstToken => "sent no text",
            Self::Idle => "stopped sending",
        })
    }
}

impl TimeoutPhase {
    /// Returns the stable word of the phase, used as an argument.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::FirstToken => "first_token",
            Self::Idle => "idle",
        }
    }
}

fn status_text(status: Option<u16>) -> String {
    status.map(|status| format!(" ({status})")).unwrap_or_default()
}

fn limit_text(limit: Option<u64>) -> String {
    limit.map(|limit| format!(" ({limit} tokens)")).unwrap_or_default()
}

impl ProviderFailure {
    /// Returns the stable code, used by clients and stored on the node.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Misconfigured { .. } => "provider_misconfigured",
            Self::Unreachable { .. } => "provider_unreachable",
            Self::Timeout { .. } => "provider_timeout",
            Self::Refused { .. } => "provider_refused",
            Self::ContextTooShort { .. } => "context_too_short",
            Self::NoCredit { .. } => "provider_no_credit",
            Self::RateLimited { .. } => "provider_rate_limited",
            Self::Failed { .. } => "provider_failed",
            Self::CircuitOpen { .. } => "provider_resting",
            Self::InvalidResponse { .. } => "provider_garbled",
            Self::CutOff => "cut_off",
            Self::TooLarge { .. } => "too_large",
        }
    }

    /// Returns the arguments of the code by name. A resting server has those of its last failure, with its code as
    /// `last`.
    pub fn args(&self) -> Map<String, Value> {
        let named = |pairs: &[(&str, Value)]| -> Map<String, Value> {
            pairs
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| ((*key).to_owned(), value.clone()))
                .collect()
        };
        match self {
            Self::Misconfigured { words } | Self::RateLimited { words, .. } | Self::InvalidResponse { words } => {
                named(&[("words", words.as_str().into())])
            }
            Self::Unreachable { words, cause } => {
                named(&[("words", words.as_str().into()), ("cause", cause.as_str().into())])
            }
            Self::Timeout { wait, limit } => {
                named(&[("wait", wait.as_str().into()), ("seconds", limit.as_secs_f64().into())])
            }
            Self::Refused { status, words } => named(&[("status", (*status).into()), ("words", words.as_str().into())]),
            Self::ContextTooShort { words, limit, needed } => {
                named(&[("words", words.as_str().into()), ("limit", (*limit).into()), ("needed", (*needed).into())])
            }
            Self::NoCredit { status, words } | Self::Failed { status, words, .. } => {
                named(&[("status", (*status).into()), ("words", words.as_str().into())])
            }
            Self::CircuitOpen { failures, last, retry_after } => {
                let mut args = last.args();
                args.extend(named(&[
                    ("failures", (*failures).into()),
                    ("retryAfter", retry_after.as_secs().into()),
                    ("last", last.code().into()),
                ]));
                args
            }
            Self::CutOff => Map::new(),
            Self::TooLarge { limit } => named(&[("limit", (*limit).into())]),
        }
    }

    /// Every code, with the names of its arguments. Those of `provider_resting` come with those of the last failure.
    pub const CODES: &'static [(&'static str, &'static [&'static str])] = &[
        ("provider_misconfigured", &["words"]),
        ("provider_unreachable", &["words", "cause"]),
        ("provider_timeout", &["wait", "seconds"]),
        ("provider_refused", &["status", "words"]),
        ("context_too_short", &["words", "limit", "needed"]),
        ("provider_no_credit", &["status", "words"]),
        ("provider_rate_limited", &["words"]),
        ("provider_failed", &["status", "words"]),
        ("provider_resting", &["failures", "retryAfter", "last"]),
        ("provider_garbled", &["words"]),
        ("cut_off", &[]),
        ("too_large", &["limit"]),
    ];

    /// Returns advice for the user in one sentence.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Misconfigured { .. } => "correct the provider's settings",
            Self::Unreachable { .. } => "check that the model server runs and that `base_url` points to it",
            Self::Timeout { wait: TimeoutPhase::Connect, .. } => "check that `base_url` points to the model server",
            Self::Timeout { .. } => "try again, or raise the time limits under `[generation]`",
            Self::Refused { status: 401 | 403, .. } => "check that the provider's key is correct and allows this model",
            Self::Refused { status: 404, .. } => "check `base_url` and the name of the model",
            Self::Refused { status: 300..=399, .. } => {
                "redirects are not followed: set `base_url` to the final address"
            }
            Self::Refused { .. } => "change the request as the model server asks",
            Self::ContextTooShort { .. } => {
                "set the context length of the model server to what it can take, or choose another model"
            }
            Self::NoCredit { .. } => {
                "check the credit and the limits of the account at the provider, or choose another model"
            }
            Self::RateLimited { .. } => "wait a little and try again",
            Self::Failed { .. } => "try again, or choose another model",
            Self::CircuitOpen { .. } => "wait a little and try again, or choose another model",
            Self::InvalidResponse { .. } => "check that `kind` and `base_url` are correct for this model server",
            Self::CutOff => "try again, or continue the text so far",
            Self::TooLarge { .. } => "lower `max_tokens`, or raise the size limit of replies",
        }
    }

    /// Returns the words of the server, if it said any.
    pub(super) fn words(&self) -> Option<&str> {
        match self {
            Self::Refused { words, .. }
            | Self::ContextTooShort { words, .. }
            | Self::NoCredit { words, .. }
            | Self::RateLimited { words, .. }
            | Self::Failed { words, .. } => Some(words),
            _ => None,
        }
    }

    /// Returns the status of the server's error, if it told one.
    pub(super) const fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(*status),
            Self::NoCredit { status, .. } | Self::Failed { status, .. } => *status,
            Self::RateLimited { .. } => Some(429),
            Self::ContextTooShort { .. } => Some(400),
            _ => None,
        }
    }

    /// Returns whether the same request may succeed soon. It is retried automatically only if nothing of a reply has
    /// arrived.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::RateLimited { .. } => true,
            Self::Failed { status: Some(status), .. } => !matches!(status, 501 | 505),
            // An error inside of a response, without a number.
            Self::Failed { status: None, words, .. } => error_words::is_temporary(words),
            _ => false,
        }
    }

    /// Returns whether another model may succeed, if nothing of a reply has arrived.
    pub fn should_try_fallback(&self) -> bool {
        !matches!(self, Self::TooLarge { .. })
    }

    /// Returns whether the server rejected tools. Each vendor has its own message, but all mention tools.
    pub fn refuses_tools(&self) -> bool {
        let (Self::Refused { status: 400 | 404 | 422 | 500 | 501, words }
        | Self::Failed { status: Some(500 | 501), words, .. }) = self
        else {
            return false;
        };
        let words = words.to_ascii_lowercase();
        let is_named = words.contains("tool") || words.contains("function call");
        let is_unfit =
            ["support", "require", "enable", "not allowed", "not available", "unknown", "unrecognized", "unexpected"];
        is_named && is_unfit.iter().any(|word| words.contains(word))
    }

    /// Returns whether the model rejected a prefill. No vendor has a code for this, but their messages mention it.
    pub(super) fn refuses_prefill(&self) -> bool {
        let Self::Refused { status: 400 | 422, words } = self else { return false };
        let words = words.to_ascii_lowercase();
        words.contains("prefill") || words.contains("end with a user")
    }

    /// Returns the time to wait, if known.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Failed { retry_after, .. } => *retry_after,
            Self::CircuitOpen { retry_after, .. } => Some(*retry_after),
            _ => None,
        }
    }

    /// Classifies an error by what it says in full. `words` is its message for people.
    pub(super) fn from_error(
        detail: &ErrorDetail,
        error: Option<&Value>,
        words: String,
        retry_after: Option<Duration>,
    ) -> Self {
        let may_be_overflow = matches!(detail.status, None | Some(400 | 413 | 422 | 500));
        let overflow = ContextOverflow::find(error, &detail.words).filter(|_| may_be_overflow);
        let status = detail.status;
        if let Some(ContextOverflow { limit, needed, .. }) = overflow {
            return Self::ContextTooShort { words, limit, needed };
        }
        match error_words::meaning(status, error, &detail.words, retry_after.is_some()) {
            Some(ErrorMeaning::NoCredit) => return Self::NoCredit { status, words },
            Some(ErrorMeaning::RateLimit) => return Self::RateLimited { words, retry_after },
            None => {}
        }
        match status {
            // Some servers say so when a field of the request is wrong.
            Some(status @ 500) if refused_parameter::is_validation_error(&detail.words) => {
                Self::Refused { status, words }
            }
            Some(status) => Self::from_status(status, words, retry_after),
            None => Self::Failed { status: None, words, retry_after },
        }
    }

    /// Classifies an error response by its status.
    pub(super) fn from_status(status: u16, words: String, retry_after: Option<Duration>) -> Self {
        match status {
            429 => Self::RateLimited { words, retry_after },
            402 => Self::NoCredit { status: Some(status), words },
            // The server gave up waiting, is not ready, or has no capacity.
            408 | 425 | 498 => Self::Failed { status: Some(status), words, retry_after },
            300..=499 => Self::Refused { status, words },
            _ => Self::Failed { status: Some(status), words, retry_after },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_failure_args_match_declared_codes() {
        let words = || "w".to_owned();
        let (cause, limit) = (UnreachableCause::Refused, Duration::from_millis(1500));
        let all = [
            ProviderFailure::Misconfigured { words: words() },
            ProviderFailure::Unreachable { words: words(), cause },
            ProviderFailure::Timeout { wait: TimeoutPhase::Idle, limit },
            ProviderFailure::Refused { status: 401, words: words() },
            ProviderFailure::ContextTooShort { words: words(), limit: Some(512), needed: Some(931) },
            ProviderFailure::NoCredit { status: Some(402), words: words() },
            ProviderFailure::RateLimited { words: words(), retry_after: None },
            ProviderFailure::Failed { status: Some(500), words: words(), retry_after: None },
            ProviderFailure::CircuitOpen { failures: 3, last: Box::new(ProviderFailure::CutOff), retry_after: limit },
            ProviderFailure::InvalidResponse { words: words() },
            ProviderFailure::CutOff,
            ProviderFailure::TooLarge { limit: 9 },
        ];
        let told: Vec<(&str, Vec<String>)> =
            all.iter().map(|failure| (failure.code(), failure.args().keys().cloned().collect())).collect();
        let declared: Vec<(&str, Vec<String>)> = ProviderFailure::CODES
            .iter()
            .map(|(code, names)| (*code, names.iter().map(|name| (*name).to_owned()).collect()))
            .collect();
        assert_eq!(told, declared);
        let refused: Box<dyn Error> = Box::new(io::Error::from(io::ErrorKind::ConnectionRefused));
        assert_eq!(UnreachableCause::from_error(refused.as_ref()), UnreachableCause::Refused);
        let unknown: Box<dyn Error> = "dns error".into();
        assert_eq!(UnreachableCause::from_error(unknown.as_ref()), UnreachableCause::UnknownHost);
        let last = Box::new(ProviderFailure::Unreachable { words: words(), cause });
        let args = ProviderFailure::CircuitOpen { failures: 3, last, retry_after: limit }.args();
        assert_eq!((&args["last"], &args["cause"]), (&"provider_unreachable".into(), &"connection_refused".into()));
    }

    #[test]
    fn provider_failure_overflow_and_validation_have_their_own_codes() {
        let classified = |status: u16, words: &str| {
            let detail = ErrorDetail::from_words(Some(status), words);
            ProviderFailure::from_error(&detail, None, words.to_owned(), None)
        };
        let long = "This model's maximum context length is 512 tokens. However, you requested 931 tokens";
        let expected = ProviderFailure::ContextTooShort { words: long.into(), limit: Some(512), needed: Some(931) };
        assert_eq!(classified(400, long), expected);
        assert!(!expected.is_retryable() && expected.should_try_fallback());
        assert_eq!(classified(429, long).code(), "provider_rate_limited");
        let refused = classified(500, "1 validation error: frequency_penalty");
        assert_eq!((refused.code(), refused.is_retryable()), ("provider_refused", false));
        assert_eq!(classified(500, "out of memory").code(), "provider_failed");
        assert_eq!(classified(503, "1 validation error").code(), "provider_failed");
    }

    /// Missing credit is told as such, whatever its status, and neither retried nor a fault of the server.
    #[test]
    fn provider_failure_missing_credit_has_its_own_code() {
        let classified = |status: Option<u16>, words: &str| {
            ProviderFailure::from_error(&ErrorDetail::from_words(status, words), None, words.to_owned(), None)
        };
        for (status, words) in [
            (Some(402), "no"),
            (Some(429), "You exceeded your current quota, please check your plan and billing details."),
            (Some(403), "insufficient_quota"),
            (None, "Insufficient balance"),
        ] {
            let failure = classified(status, words);
            assert_eq!((failure.code(), failure.status()), ("provider_no_credit", status), "{words}");
            assert!(!failure.is_retryable() && failure.should_try_fallback() && failure.to_string().contains(words));
        }
        assert_eq!(classified(Some(429), "Too many requests").code(), "provider_rate_limited");
        assert_eq!(classified(None, "Too many requests").code(), "provider_rate_limited");
    }

    #[test]
    fn provider_failure_temporary_errors_are_retryable() {
        let classified = |status: Option<u16>, words: &str| {
            ProviderFailure::from_error(&ErrorDetail::from_words(status, words), None, words.to_owned(), None)
        };
        for status in [408, 425, 429, 498, 500, 502, 503, 504, 520, 529] {
            assert!(classified(Some(status), "no").is_retryable(), "{status}");
        }
        for status in [400, 401, 402, 403, 404, 409, 413, 422, 501, 505] {
            assert!(!classified(Some(status), "no").is_retryable(), "{status}");
        }
        assert!(classified(None, "The model is overloaded").is_retryable());
        assert!(!classified(None, "out of cheese").is_retryable());
    }

    /// Servers that reject tools are recognized by their message. Messages about the prompt mean something else.
    #[test]
    fn provider_failure_tool_refusal_is_detected() {
        let refused = |status: u16, words: &str| ProviderFailure::Refused { status, words: words.into() };
        for words in [
            "registry.ollama.ai/library/gemma3:latest does not support tools",
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
            "Function calling is not supported for this model",
            "Unrecognized request argument supplied: tools",
        ] {
            assert!(refused(400, words).refuses_tools(), "{words}");
        }
        let words = || "tools param requires --jinja flag".to_owned();
        let failed = |status| ProviderFailure::Failed { status, words: words(), retry_after: None };
        assert!(failed(Some(500)).refuses_tools() && !failed(Some(503)).refuses_tools());
        assert!(refused(404, "No endpoints found that support tool use").refuses_tools());
        for (status, words) in
            [(400, "the prompt is too long"), (404, "model 'toolace' not found"), (401, "tools need a key")]
        {
            assert!(!refused(status, words).refuses_tools(), "{words}");
        }
    }
}
