//! Interprets JSON errors, inside a stream or instead of one.

use super::{
    ProviderFailure,
    error_detail::ErrorDetail,
    error_text::{ErrorScrubber, json_error_text},
    json::{first_present, text},
    retry_after,
};
use serde_json::Value;

/// Returns the error in a chunk, or the chunk itself if it is one.
pub(super) fn error_of(value: &Value) -> Option<&Value> {
    let is_error = |name| text(value, name) == Some("error");
    let empty =
        |error: &Value| matches!(error, Value::Bool(false)) || error.as_object().is_some_and(serde_json::Map::is_empty);
    first_present(value, &["error"])
        .filter(|error| !empty(error))
        .or_else(|| (is_error("object") || is_error("type")).then_some(value))
}

/// Converts an error to a failure.
pub(super) fn failure_of(error: &Value, scrub: &ErrorScrubber) -> ProviderFailure {
    let detail = ErrorDetail::from_words(error_number(error), &json_error_text(error));
    let words = scrub.text_of_json(error);
    ProviderFailure::from_error(&detail, Some(error), words, retry_after::of_stream_error(error))
}

/// Returns the HTTP status of an error, by its number or its name.
fn error_number(error: &Value) -> Option<u16> {
    let number = |name| {
        let value = error.get(name)?;
        let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
        u16::try_from(number).ok().filter(|number| (400..600).contains(number))
    };
    let named = |name| status_of(text(error, name)?);
    number("code").or_else(|| number("status")).or_else(|| named("code")).or_else(|| named("type"))
}

/// Returns the HTTP status that vendors send with an error name.
fn status_of(name: &str) -> Option<u16> {
    Some(match name {
        "invalid_request_error" | "context_length_exceeded" => 400,
        "authentication_error" | "invalid_api_key" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" | "rate_limit_exceeded" | "insufficient_quota" => 429,
        "api_error" => 500,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => return None,
    })
}
