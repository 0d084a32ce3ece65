//! Interprets JSON errors, inside a stream or instead of one.

use super::{
    ProviderFailure,
    error_detail::ErrorDetail,
    error_text::{ErrorScrubber, json_error_text},
    error_words,
    json::{first_present, text},
    retry_after,
};
use serde_json::Value;

/// Fields of replies, of any kind of server. An object with one of them is no bare error.
const REPLY_FIELDS: [&str; 11] = [
    "choices",
    "candidates",
    "content",
    "token",
    "results",
    "delta",
    "usage",
    "usageMetadata",
    "promptFeedback",
    "done",
    "stop",
];

/// Fields in which servers write the text of a bare error.
const BARE_TEXT_FIELDS: [&str; 6] = ["message", "msg", "error_msg", "error_message", "errorMessage", "errmsg"];

/// Returns the error in a chunk, or the chunk itself if it is one.
pub(super) fn error_of(value: &Value) -> Option<&Value> {
    let is_error = |name| text(value, name) == Some("error");
    match first_present(value, &["error"]).filter(|error| !is_blank(error)) {
        // The words and the number stand beside it.
        Some(Value::Bool(_) | Value::Number(_)) => Some(value),
        Some(Value::String(_)) if text(value, "message").is_some() || error_number(value).is_some() => Some(value),
        // The number stands beside it.
        Some(error) if error_number(error).is_none() && error_number(value).is_some() => Some(value),
        Some(error) => Some(error),
        None if is_error("object") || is_error("type") => Some(value),
        None if has_reply_field(value) => None,
        None => bare_error_of(value),
    }
}

/// Returns whether a value has a field of replies.
pub(super) fn has_reply_field(value: &Value) -> bool {
    first_present(value, &REPLY_FIELDS).is_some()
}

/// Returns whether an `error` field reports nothing. Some servers send it with each chunk.
fn is_blank(error: &Value) -> bool {
    let is_empty = |value: &Value| value.is_null() || value.as_str() == Some("");
    matches!(error, Value::Bool(false)) || error.as_object().is_some_and(|fields| fields.values().all(is_empty))
}

/// Returns an error that has no field `error`: `{detail}`, `{code, msg}`, `{errors: […]}` and the like.
fn bare_error_of(value: &Value) -> Option<&Value> {
    let is_empty = |value: &Value| match value {
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        value => value.is_null(),
    };
    if let Some(first) = value.get("errors").and_then(|errors| errors.as_array()?.first()) {
        return Some(first);
    }
    if value.get("detail").is_some_and(|detail| !is_empty(detail)) {
        return Some(value);
    }
    BARE_TEXT_FIELDS.iter().find_map(|name| text(value, name))?;
    (is_marked_as_error(value) || has_only_text(value)).then_some(value)
}

/// Returns whether a message stands beside something that makes it an error: a code, a status or a type.
fn is_marked_as_error(value: &Value) -> bool {
    let is_named_error = |name| {
        let word = text(value, name).unwrap_or_default().to_ascii_lowercase();
        ["error", "exception", "fail"].iter().any(|mark| word.contains(mark))
    };
    let has_code = match value.get("code") {
        Some(Value::String(code)) => !matches!(code.to_ascii_lowercase().as_str(), "" | "0" | "200" | "ok" | "success"),
        Some(Value::Number(code)) => !matches!(code.as_u64(), Some(0 | 200)),
        _ => false,
    };
    let is_failed = value.get("success") == Some(&Value::Bool(false));
    has_code || is_failed || error_number(value).is_some() || is_named_error("type") || is_named_error("status")
}

/// Returns whether an object has a message and nothing else that tells what it is.
fn has_only_text(value: &Value) -> bool {
    let is_text = |name: &String| {
        let neutral = ["request_id", "requestId", "trace_id", "timestamp", "path", "param"];
        BARE_TEXT_FIELDS.contains(&name.as_str()) || neutral.contains(&name.as_str())
    };
    value.as_object().is_some_and(|fields| fields.keys().all(is_text))
}

/// Converts an error to a failure.
pub(super) fn failure_of(error: &Value, scrub: &ErrorScrubber) -> ProviderFailure {
    let said = json_error_text(error);
    let number = error_number(error).or_else(|| error_words::status_in_words(&said));
    let detail = ErrorDetail::from_words(number, &said);
    let words = scrub.text_of_json(error);
    ProviderFailure::from_error(&detail, Some(error), words, retry_after::of_stream_error(error))
}

/// Returns the HTTP status of an error, by its number or its name.
fn error_number(error: &Value) -> Option<u16> {
    let number = |name| {
        let value = error.get(name)?;
        let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())?;
        u16::try_from(number).ok().filter(|number| (400..600).contains(number))
    };
    let named = |name| error_words::status_of_name(text(error, name)?);
    let numbers = ["code", "status", "status_code", "statusCode", "error_code", "http_status"];
    let names = ["code", "type", "status", "error_type"];
    numbers.into_iter().find_map(number).or_else(|| names.into_iter().find_map(named))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns the code and the message of the failure, if a value is an error.
    fn failure(value: &Value) -> Option<String> {
        let failure = failure_of(error_of(value)?, &ErrorScrubber::default());
        Some(format!("{} {failure}", failure.code()))
    }

    #[test]
    fn error_report_any_shape_is_found() {
        for (value, code) in [
            (json!({"error": "out of cheese"}), "provider_failed"),
            (json!({"error": {"message": "out of cheese"}}), "provider_failed"),
            (json!({"error": true, "message": "out of cheese"}), "provider_failed"),
            (json!({"error": "Bad Request", "status": 400, "message": "out of cheese"}), "provider_refused"),
            (json!({"error": "out of cheese", "code": 429}), "provider_rate_limited"),
            (json!({"detail": "out of cheese"}), "provider_failed"),
            (json!({"detail": [{"loc": ["body"], "msg": "out of cheese"}]}), "provider_failed"),
            (json!({"code": 500, "msg": "out of cheese", "data": null}), "provider_failed"),
            (json!({"code": 1301, "message": "out of cheese"}), "provider_failed"),
            (json!({"code": "401", "message": "out of cheese", "success": false}), "provider_refused"),
            (json!({"success": false, "errors": [{"code": 7003, "message": "out of cheese"}]}), "provider_failed"),
            (json!({"status_code": 429, "error_msg": "out of cheese"}), "provider_rate_limited"),
            (json!({"message": "out of cheese"}), "provider_failed"),
            (json!({"code": "InvalidParameter", "message": "out of cheese", "request_id": "r"}), "provider_failed"),
            (json!({"status": "failed", "message": "out of cheese"}), "provider_failed"),
            (json!({"type": "invalid_request_error", "message": "out of cheese"}), "provider_refused"),
            (json!({"error": {"message": "out of cheese", "code": "insufficient_quota"}}), "provider_no_credit"),
            (json!({"error": {"message": "out of cheese"}, "code": 402}), "provider_no_credit"),
            (json!({"error": {"message": "out of cheese", "status": "RESOURCE_EXHAUSTED"}}), "provider_rate_limited"),
            (json!({"error": "Error code: 429 - out of cheese"}), "provider_rate_limited"),
        ] {
            let found = failure(&value).unwrap_or_else(|| panic!("{value}"));
            assert!(found.starts_with(code) && found.contains("out of cheese"), "{value}: {found}");
        }
    }

    /// Errors inside of a response are temporary as those with the status of the same meaning are.
    #[test]
    fn error_report_temporary_errors_are_retryable() {
        let is_retryable =
            |value: &Value| failure_of(error_of(value).unwrap(), &ErrorScrubber::default()).is_retryable();
        for value in [
            json!({"error": {"message": "w", "code": 502}}),
            json!({"error": {"message": "w", "code": "429"}}),
            json!({"error": {"message": "w", "code": "overloaded"}}),
            json!({"error": {"message": "w", "type": "overloaded_error"}, "type": "error"}),
            json!({"error": {"message": "w", "type": "server_error"}}),
            json!({"error": {"message": "w"}, "status": 503}),
            json!({"error": {"message": "w", "code": 408}}),
            json!({"error": "the server is overloaded"}),
            json!({"detail": {"msg": "Server is busy; please try again later.", "type": "service_unavailable"}}),
        ] {
            assert!(is_retryable(&value), "{value}");
        }
        for value in [
            json!({"error": "out of cheese"}),
            json!({"error": {"message": "w", "code": 400}}),
            json!({"error": {"message": "w", "code": 402}}),
            json!({"error": {"message": "w", "type": "invalid_request_error"}}),
            json!({"error": {"message": "w", "code": "insufficient_quota"}}),
        ] {
            assert!(!is_retryable(&value), "{value}");
        }
    }

    #[test]
    fn error_report_other_chunks_are_no_error() {
        for value in [
            json!({"choices": [], "message": "hi", "code": 500}),
            json!({"error": null, "candidates": []}),
            json!({"error": {"code": null, "message": ""}, "choices": []}),
            json!({"error": false, "content": "a"}),
            json!({"message": {"role": "assistant", "content": "a"}}),
            json!({"code": 0, "msg": "success", "data": {}}),
            json!({"code": "200", "message": "ok"}),
            json!({"type": "progress", "message": "2 of 3"}),
            json!({"status": "loading", "message": "the model is loading"}),
            json!({"detail": null}),
            json!({"hello": "world"}),
        ] {
            assert_eq!(failure(&value), None, "{value}");
        }
    }
}
