//! The ways in which a reply can fail, each with a stable code.

use std::{fmt, time::Duration};

/// Why there is no reply, or no more of it. The words of a provider are bounded, without control characters and without
/// the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderFailure {
    /// The endpoint's settings cannot work; nothing was sent.
    #[error("the provider's settings cannot work: {words}")]
    Misconfigured {
        /// What is wrong.
        words: String,
    },
    /// No connection, or none that lasted until an answer began.
    #[error("the model server cannot be reached: {words}")]
    Unreachable {
        /// The cause as the system names it.
        words: String,
    },
    /// The server let a limit of [`super::Timeouts`] pass.
    #[error("the model server {wait} within {} s", limit.as_secs_f64())]
    Timeout {
        /// What was waited for.
        wait: TimeoutPhase,
        /// How long.
        limit: Duration,
    },
    /// The server understood and said no: a wrong key, an unknown model, a prompt that is too long.
    #[error("the model server refused the request ({status}): {words}")]
    Refused {
        /// The HTTP status, or the number in the error it sent.
        status: u16,
        /// The server's words.
        words: String,
    },
    /// Too many requests, or nothing left to pay with for now.
    #[error("the model server asks to wait: {words}")]
    RateLimited {
        /// The server's words.
        words: String,
        /// How long it asks to wait.
        retry_after: Option<Duration>,
    },
    /// The server failed, before its answer or in the middle of it.
    #[error("the model server failed{}: {words}", status_text(*status))]
    Failed {
        /// The HTTP status, or the number in the error it sent, if it is one.
        status: Option<u16>,
        /// The server's words.
        words: String,
        /// How long it asks to wait.
        retry_after: Option<Duration>,
    },
    /// It failed several times in a row, and is left alone for a while. Nothing was sent.
    #[error("the model server failed {failures} times in a row and is left alone for {} s; the last time: {words}", retry_after.as_secs())]
    Resting {
        /// How often.
        failures: u32,
        /// What the last failure said.
        words: String,
        /// How long.
        retry_after: Duration,
    },
    /// The answer is not what a server of its kind sends.
    #[error("the model server's answer cannot be understood: {words}")]
    Garbled {
        /// What is wrong with it, and how it begins.
        words: String,
    },
    /// The answer ended in the middle.
    #[error("the reply was cut off before its end")]
    CutOff,
    /// The reply, or one piece of it, is larger than the endpoint's limit. What fits was handed out.
    #[error("the reply is larger than {limit} bytes")]
    TooLarge {
        /// [`super::Endpoint::max_reply_bytes`].
        limit: usize,
    },
}

/// What a server was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeoutPhase {
    /// A connection.
    Connect,
    /// The first text or reasoning.
    FirstToken,
    /// More, after that.
    Idle,
}

impl fmt::Display for TimeoutPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "accepted no connection",
            Self::FirstToken => "sent no text",
            Self::Idle => "fell silent and sent nothing more",
        })
    }
}

fn status_text(status: Option<u16>) -> String {
    status.map(|status| format!(" ({status})")).unwrap_or_default()
}

impl ProviderFailure {
    /// The stable name of this kind of failure, for clients and for the node that keeps it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Misconfigured { .. } => "provider_misconfigured",
            Self::Unreachable { .. } => "provider_unreachable",
            Self::Timeout { .. } => "provider_timeout",
            Self::Refused { .. } => "provider_refused",
            Self::RateLimited { .. } => "provider_rate_limited",
            Self::Failed { .. } => "provider_failed",
            Self::Resting { .. } => "provider_resting",
            Self::Garbled { .. } => "provider_garbled",
            Self::CutOff => "cut_off",
            Self::TooLarge { .. } => "too_large",
        }
    }

    /// What the reader can do about it, in one sentence.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Misconfigured { .. } => "correct the provider's settings",
            Self::Unreachable { .. } => "see whether the model server runs and `base_url` points to it",
            Self::Timeout { wait: TimeoutPhase::Connect, .. } => "see whether `base_url` points to the model server",
            Self::Timeout { .. } => "try again, or raise the time limits under `[generation]`",
            Self::Refused { status: 401 | 403, .. } => "see whether the provider's key is right and allows this model",
            Self::Refused { status: 402, .. } => "see whether the account at the provider has credit left",
            Self::Refused { status: 404, .. } => "see whether `base_url` and the model's name are right",
            Self::Refused { status: 300..=399, .. } => {
                "redirects are not followed: set `base_url` to the final address"
            }
            Self::Refused { .. } => "change the request as the model server says",
            Self::RateLimited { .. } => "wait a little and try again",
            Self::Failed { .. } => "try again, or choose another model",
            Self::Resting { .. } => "wait a little and try again, or choose another model",
            Self::Garbled { .. } => "see whether `kind` and `base_url` are those of this model server",
            Self::CutOff => "try again, or continue from what arrived",
            Self::TooLarge { .. } => "lower `max_tokens`, or raise the limit for replies",
        }
    }

    /// Whether the same request may do better in a moment. It is asked again by itself only while nothing of a reply has
    /// arrived.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::RateLimited { .. } => true,
            Self::Failed { status, .. } => !matches!(status, Some(501 | 505)),
            _ => false,
        }
    }

    /// Whether another model may do better, as long as nothing of a reply has arrived.
    pub fn should_try_fallback(&self) -> bool {
        !matches!(self, Self::TooLarge { .. })
    }

    /// Whether the server does not take a request that tells of tools: each says it in other words, and all of them name the thing.
    pub fn refuses_tools(&self) -> bool {
        let (Self::Refused { status: 400 | 404 | 422 | 501, words }
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

    /// Whether the model takes no beginning of its own turn. No vendor has a code for this; their words name it.
    pub(super) fn refuses_prefill(&self) -> bool {
        let Self::Refused { status: 400 | 422, words } = self else { return false };
        let words = words.to_ascii_lowercase();
        words.contains("prefill") || words.contains("end with a user")
    }

    /// How long to wait, where that is known.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Failed { retry_after, .. } => *retry_after,
            Self::Resting { retry_after, .. } => Some(*retry_after),
            _ => None,
        }
    }

    /// Sorts an answer that is an error by its number.
    pub(super) fn from_status(status: u16, words: String, retry_after: Option<Duration>) -> Self {
        match status {
            429 => Self::RateLimited { words, retry_after },
            300..=499 => Self::Refused { status, words },
            _ => Self::Failed { status: Some(status), words, retry_after },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What servers say that cannot be told of tools; what they say of a prompt is something else.
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
