//! The names that vendors give to the end of a reply, in every known spelling.
//!
//! Names are compared without signs and capitals, so `MAX_TOKENS`, `max-tokens` and `maxTokens` are one name. To add a
//! name, add it to its list and to the table of tests. An unknown name is [`FinishReason::Other`], and counts as an end
//! that may be too early.

use super::{FinishReason, ProviderFailure, error_text::ErrorScrubber, json::squash};

/// Names of a normal end: the model was done, or wrote a stop string.
const STOP_NAMES: [&str; 17] = [
    "stop",
    "stopped",
    "endturn",
    "endofturn",
    "stopsequence",
    "stopword",
    "stopstring",
    "stoptoken",
    "eos",
    "eostoken",
    "endoftext",
    "word",
    "complete",
    "completed",
    "done",
    "finished",
    "end",
];

/// Names of a limit that was reached.
const LENGTH_NAMES: [&str; 16] = [
    "length",
    "maxlength",
    "modellength",
    "maxtokens",
    "maxoutputtokens",
    "maxcompletiontokens",
    "maxnewtokens",
    "maxtokensreached",
    "tokenlimit",
    "limit",
    "lengthlimit",
    "errorlimit",
    "contextlength",
    "contextlengthexceeded",
    "modelcontextwindowexceeded",
    "truncated",
];

/// Names of content that the provider withheld.
const FILTER_NAMES: [&str; 25] = [
    "contentfilter",
    "contentfiltered",
    "contentblocked",
    "contentmoderation",
    "contentpolicy",
    "contentpolicyviolation",
    "moderation",
    "safety",
    "unsafe",
    "imagesafety",
    "imageprohibitedcontent",
    "recitation",
    "imagerecitation",
    "prohibitedcontent",
    "blocklist",
    "blocked",
    "filtered",
    "spii",
    "modelarmor",
    "refusal",
    "sensitive",
    "errortoxic",
    "guardrail",
    "guardrails",
    "guardrailintervened",
];

/// Names of tool calls.
const TOOL_NAMES: [&str; 6] = ["toolcalls", "toolcall", "tooluse", "functioncall", "functioncalls", "tools"];

/// Names of a reply that somebody or something else stopped.
const ABORT_NAMES: [&str; 15] = [
    "abort",
    "aborted",
    "cancel",
    "canceled",
    "cancelled",
    "cancellation",
    "usercancel",
    "usercancelled",
    "interrupt",
    "interrupted",
    "preempted",
    "disconnected",
    "clientdisconnect",
    "shutdown",
    "unload",
];

/// Names of a server that failed.
const ERROR_NAMES: [&str; 17] = [
    "error",
    "errored",
    "failed",
    "failure",
    "fail",
    "exception",
    "internalerror",
    "internalservererror",
    "servererror",
    "modelerror",
    "networkerror",
    "enginefailure",
    "insufficientsystemresource",
    "insufficientsystemresources",
    "timeout",
    "timelimit",
    "overloaded",
];

/// Names that say nothing about the end.
const UNSTATED_NAMES: [&str; 5] = ["unknown", "unspecified", "incomplete", "undefined", "na"];

/// What servers send as long as there is no reason.
const ABSENT_NAMES: [&str; 6] = ["", "null", "none", "nil", "inprogress", "continue"];

/// Returns why a reply ended; `None` if it goes on. Unknown names are bounded like all texts of a provider.
///
/// # Errors
/// Returns a failure if the server says that it failed.
pub(super) fn read(reason: &str, scrub: &ErrorScrubber) -> Result<Option<FinishReason>, ProviderFailure> {
    let name = squash(reason);
    let name = name.strip_prefix("finishreason").filter(|rest| !rest.is_empty()).unwrap_or(&name);
    let is_in = |names: &[&str]| names.contains(&name);
    let shown = || scrub.clean(reason);
    Ok(Some(match () {
        () if is_in(&ABSENT_NAMES) => return Ok(None),
        () if is_in(&STOP_NAMES) => FinishReason::Stop,
        () if is_in(&LENGTH_NAMES) => FinishReason::Length,
        () if is_in(&TOOL_NAMES) => FinishReason::ToolCalls,
        () if is_in(&FILTER_NAMES) => FinishReason::ContentFilter(shown()),
        () if is_in(&ABORT_NAMES) => FinishReason::Aborted(shown()),
        () if is_in(&UNSTATED_NAMES) => FinishReason::Unstated,
        () if is_in(&ERROR_NAMES) => return Err(failure(&shown())),
        () => FinishReason::Other(shown()),
    }))
}

/// Returns the failure of a server that ended a reply by a failure of its own. Such a failure passes.
fn failure(reason: &str) -> ProviderFailure {
    let words = format!("it ended the reply with an internal error ({reason})");
    ProviderFailure::Failed { status: None, words, retry_after: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason_of(name: &str) -> Option<FinishReason> {
        read(name, &ErrorScrubber::default()).unwrap()
    }

    #[test]
    fn finish_reason_names_of_any_spelling_are_read() {
        for name in ["stop", "STOP", "end_turn", "stop_sequence", "eos", "eos_token", "COMPLETE", "FINISH_REASON_STOP"]
        {
            assert_eq!(reason_of(name), Some(FinishReason::Stop), "{name}");
        }
        for name in ["length", "max_tokens", "MAX_TOKENS", "maxTokens", "model_length", "ERROR_LIMIT"] {
            assert_eq!(reason_of(name), Some(FinishReason::Length), "{name}");
        }
        for name in ["tool_calls", "tool_use", "function_call", "TOOL_CALL"] {
            assert_eq!(reason_of(name), Some(FinishReason::ToolCalls), "{name}");
        }
        for name in [
            "content_filter",
            "content-filter",
            "contentFilter",
            "CONTENT_FILTERED",
            "SAFETY",
            "refusal",
            "ERROR_TOXIC",
        ] {
            assert_eq!(reason_of(name), Some(FinishReason::ContentFilter(name.into())), "{name}");
        }
        for name in ["abort", "Aborted", "cancelled", "canceled", "USER_CANCEL", "interrupted"] {
            assert_eq!(reason_of(name), Some(FinishReason::Aborted(name.into())), "{name}");
            assert_eq!(FinishReason::Aborted(name.into()).as_str(), "abort", "{name}");
        }
        for name in ["unknown", "FINISH_REASON_UNSPECIFIED", "incomplete"] {
            assert_eq!(reason_of(name), Some(FinishReason::Unstated), "{name}");
        }
        for name in ["", "null", "none"] {
            assert_eq!(reason_of(name), None, "{name}");
        }
        for name in ["LANGUAGE", "MALFORMED_FUNCTION_CALL", "pause_turn", "bored", "夜"] {
            assert_eq!(reason_of(name), Some(FinishReason::Other(name.into())), "{name}");
        }
    }

    #[test]
    fn finish_reason_error_is_failure() {
        for name in ["error", "ERROR", "failed", "network_error", "insufficient_system_resource", "timeout"] {
            let failure = read(name, &ErrorScrubber::default()).unwrap_err();
            assert_eq!((failure.code(), failure.is_retryable()), ("provider_failed", true), "{name}");
            assert!(failure.to_string().contains(name), "{failure}");
        }
    }
}
