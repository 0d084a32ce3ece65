//! Recognizes errors by their names and words: an account without credit, a rate limit, and errors that pass.
//!
//! Vendors spell the same name in many ways (`insufficient_quota`, `InsufficientQuota`, "insufficient quota"). So names
//! and words are compared without blanks, signs and capitals. To add a vendor, add its words to a list and a case to
//! the tests.

use super::json::{first_present, squash, text};
use serde_json::Value;

/// Words of an account that can pay for no request, whatever else the error says.
const NO_CREDIT_WORDS: [&str; 50] = [
    "insufficientquota",
    "insufficientuserquota",
    "insufficienttokenquota",
    "insufficientcredit",
    "insufficientbalance",
    "insufficientfund",
    "insufficientaccountbalance",
    "insufficientkudos",
    "balanceisinsufficient",
    "balanceinsufficient",
    "creditbalanceistoolow",
    "balanceistoolow",
    "balancetoolow",
    "notenoughcredit",
    "notenoughbalance",
    "notenoughquota",
    "quotaisnotenough",
    "notenoughkudos",
    "kudosupfront",
    "nocredit",
    "outofcredit",
    "usedallavailablecredits",
    "requiresmorecredits",
    "creditlimitexceeded",
    "creditsexhausted",
    "creditexhausted",
    "quotaexhausted",
    "includedcredits",
    "keylimitexceeded",
    "paymentrequired",
    "billingerror",
    "billinghardlimit",
    "billingnotactive",
    "billinglimit",
    "requiresbilling",
    "enablebilling",
    "spendinglimit",
    "spendlimit",
    "usagelimit",
    "budgetexceeded",
    "budgethasbeenexceeded",
    "exceededyourbudget",
    "accountoverdue",
    "arrearage",
    "callsmonth",
    "余额不足",
    "额度不足",
    "额度已用尽",
    "欠费",
    "请充值",
];

/// Words of an account without credit, which some vendors also use for a limit of a minute. They count if the error
/// does not say when to try again.
const QUOTA_WORDS: [&str; 8] = [
    "exceededyourcurrentquota",
    "exceededcurrentquota",
    "exceededyourquota",
    "quotaexceeded",
    "quotahasbeenexceeded",
    "checkyourplanandbilling",
    "billingdetails",
    "quotalimitreached",
];

/// Words of a quota for a short time, which is a rate limit.
const SHORT_TIME_WORDS: [&str; 4] = ["perminute", "persecond", "perhour", "minuteper"];

/// Words of a rate limit.
const RATE_LIMIT_WORDS: [&str; 12] = [
    "ratelimit",
    "toomanyrequests",
    "toomanytokens",
    "requestsperminute",
    "tokensperminute",
    "resourceexhausted",
    "throttl",
    "slowdown",
    "concurrencylimit",
    "限流",
    "请求过于频繁",
    "速率限制",
];

/// Words of an error that passes by itself.
const TEMPORARY_WORDS: [&str; 44] = [
    "overload",
    "overcapacity",
    "atcapacity",
    "capacityexceeded",
    "nocapacity",
    "highdemand",
    "heavyload",
    "isbusy",
    "serverbusy",
    "temporar",
    "tryagain",
    "retrylater",
    "pleaseretry",
    "unavailable",
    "modelisloading",
    "loadingmodel",
    "stillloading",
    "warmingup",
    "coldstart",
    "timeout",
    "timedout",
    "deadlineexceeded",
    "badgateway",
    "upstream",
    "connectionerror",
    "connectionreset",
    "connectionrefused",
    "connectionaborted",
    "connectionclosed",
    "connectionlost",
    "remoteprotocolerror",
    "incompleteread",
    "disconnected",
    "econnreset",
    "econnrefused",
    "etimedout",
    "sockethangup",
    "internalservererror",
    "internalerror",
    "providerreturnederror",
    "streamendedbefore",
    "系统繁忙",
    "服务繁忙",
    "稍后",
];

/// Statuses that say what an error is about. The words of an error with another one may tell more.
const CLEAR_STATUSES: [u16; 5] = [404, 408, 413, 422, 501];

/// What the names and the words of an error tell, besides its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorMeaning {
    /// The account has no credit, or its quota is used up.
    NoCredit,
    /// There were too many requests for now.
    RateLimit,
}

/// Returns what an error means, if its names or words tell it. `says_when` = it tells when to try again.
pub(super) fn meaning(
    status: Option<u16>,
    error: Option<&Value>,
    words: &str,
    says_when: bool,
) -> Option<ErrorMeaning> {
    if status == Some(402) {
        return Some(ErrorMeaning::NoCredit);
    }
    if status.is_some_and(|status| CLEAR_STATUSES.contains(&status)) {
        return None;
    }
    let names = squash(&error.map(names_of).unwrap_or_default());
    let text = squash(words);
    let has = |marks: &[&str]| marks.iter().any(|mark| text.contains(mark) || names.contains(mark));
    let may_be_quota = matches!(status, None | Some(403 | 429));
    if has(&NO_CREDIT_WORDS)
        || (may_be_quota && !says_when && has(&QUOTA_WORDS) && !has(&SHORT_TIME_WORDS))
        || error.is_some_and(is_daily_quota)
    {
        return Some(ErrorMeaning::NoCredit);
    }
    (status.is_none() && has(&RATE_LIMIT_WORDS)).then_some(ErrorMeaning::RateLimit)
}

/// Returns whether the words of an error without a number say that it passes by itself.
pub(super) fn is_temporary(words: &str) -> bool {
    let text = squash(words);
    TEMPORARY_WORDS.iter().any(|mark| text.contains(mark))
}

/// Returns the HTTP status that vendors send with an error name.
pub(super) fn status_of_name(name: &str) -> Option<u16> {
    let name = squash(name);
    let name = name.strip_suffix("exception").unwrap_or(&name);
    Some(match name.strip_suffix("error").unwrap_or(name) {
        "invalidrequest" | "badrequest" | "contextlengthexceeded" | "invalidargument" | "validation" => 400,
        "authentication" | "invalidapikey" | "unauthorized" | "unauthenticated" => 401,
        "billing" | "paymentrequired" | "insufficientquota" | "insufficientbalance" | "insufficientcredits" => 402,
        "permission" | "permissiondenied" | "forbidden" | "accessdenied" => 403,
        "notfound" | "modelnotfound" | "resourcenotfound" => 404,
        "requesttimeout" => 408,
        "requesttoolarge" => 413,
        "ratelimit" | "ratelimited" | "ratelimitexceeded" | "ratelimitreached" | "toomanyrequests"
        | "resourceexhausted" | "throttling" | "throttled" | "engineoverloaded" => 429,
        "api" | "server" | "internalserver" | "internal" | "modelstream" => 500,
        "badgateway" | "apiconnection" | "upstream" => 502,
        "serviceunavailable" | "unavailable" | "serverbusy" | "modelnotready" | "modeloverloaded" => 503,
        "timeout" | "gatewaytimeout" | "deadlineexceeded" | "modeltimeout" | "apitimeout" => 504,
        "overloaded" => 529,
        // Names such as `server_is_overloaded`.
        name if name.contains("overload") => 529,
        name if RATE_LIMIT_WORDS.iter().any(|word| name.contains(word)) => 429,
        name if name.contains("unavailable") => 503,
        name if name.contains("timeout") => 504,
        _ => return None,
    })
}

/// Returns the status in words such as `Error code: 503 - …`, "HTTP 429" or "(502)".
pub(super) fn status_in_words(words: &str) -> Option<u16> {
    let words = words.to_ascii_lowercase();
    let before = ["error code", "status code", "statuscode", "status", "http", "http error", "httperror"];
    for (at, _) in words.match_indices(['4', '5']) {
        let (head, tail) = words.split_at(at);
        if head.ends_with(|char: char| char.is_alphanumeric() || matches!(char, '.' | '-' | '_' | ','))
            || tail.chars().nth(3).is_some_and(|char| char.is_alphanumeric() || matches!(char, '_' | '%'))
        {
            continue;
        }
        let Some(number) = tail.get(..3).and_then(|digits| digits.parse::<u16>().ok()) else { continue };
        let lead = head.trim_end_matches([' ', ':', '=', '(', '[', '"', '\'', '#']);
        if before.iter().any(|mark| lead.ends_with(mark)) || head.ends_with("error ") {
            return Some(number);
        }
    }
    None
}

/// Returns the code, the type and the status of an error, as far as they are names.
fn names_of(error: &Value) -> String {
    let inner = first_present(error, &["error"]).filter(|inner| inner.is_object()).unwrap_or(error);
    let names = ["code", "type", "status", "rc", "reason", "error_type"];
    let of = |value| names.iter().filter_map(move |name| text(value, name));
    of(inner).chain(of(error)).collect::<Vec<_>>().join(" ")
}

/// Returns whether Google says that the quota of a day is used up. Its words are those of a limit of a minute.
fn is_daily_quota(error: &Value) -> bool {
    let inner = first_present(error, &["error"]).unwrap_or(error);
    let details = inner.get("details").and_then(Value::as_array).into_iter().flatten();
    let violations = details.filter_map(|detail| detail.get("violations")?.as_array()).flatten();
    let mut ids = violations.filter_map(|violation| text(violation, "quotaId"));
    ids.any(|id| id.contains("PerDay"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn meaning_of(status: Option<u16>, error: &Value) -> Option<ErrorMeaning> {
        let words = crate::error_text::json_error_text(error);
        meaning(status, Some(error), &words, crate::retry_after::of_stream_error(error).is_some())
    }

    #[test]
    fn error_words_accounts_without_credit_are_recognized() {
        for (status, error) in [
            (Some(402), json!({"message": "Insufficient Balance"})),
            (Some(402), json!("")),
            (
                Some(429),
                json!({"message": "You exceeded your current quota, please check your plan and billing details.",
                "type": "insufficient_quota", "code": "insufficient_quota"}),
            ),
            (Some(429), json!({"message": "no", "code": "InsufficientQuota"})),
            (
                Some(429),
                json!({"message": "Your account is suspended, please check your plan and billing details",
                "type": "exceeded_current_quota_error"}),
            ),
            (
                Some(400),
                json!({"type": "invalid_request_error", "message": "Your credit balance is too low to access \
                the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}),
            ),
            (Some(403), json!({"message": "Key limit exceeded (monthly limit)"})),
            (Some(403), json!({"code": 30001, "message": "Sorry, your account balance is insufficient"})),
            (Some(429), json!({"code": "1113", "message": "账户余额不足"})),
            (Some(400), json!({"code": "Arrearage", "message": "Access denied."})),
            (Some(400), json!({"message": "Budget has been exceeded! Current cost: 1.2, Max budget: 1.0"})),
            (Some(500), json!({"message": "Error code: 429 - {'code': 'insufficient_quota'}"})),
            (None, json!({"message": "You have run out of credits"})),
            (None, json!({"message": "payment required"})),
            (None, json!({"code": "billing_hard_limit_reached", "message": "no"})),
            (
                Some(429),
                json!({"message": "You exceeded your current quota", "status": "RESOURCE_EXHAUSTED", "details": [
                {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},
                {"retryDelay": "34s"}]}),
            ),
        ] {
            assert_eq!(meaning_of(status, &error), Some(ErrorMeaning::NoCredit), "{status:?} {error}");
        }
    }

    /// A limit of a minute is no missing credit, even where the vendor uses the same words.
    #[test]
    fn error_words_limits_and_other_errors_are_not_taken_for_missing_credit() {
        let minute = json!({"message": "You exceeded your current quota, please check your plan and billing details. \
            Please retry in 34.07s.", "status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "34s"}]});
        assert_eq!(meaning_of(Some(429), &minute), None);
        let metric = json!({"message": "Quota exceeded for generate_content_requests_per_minute_per_project"});
        assert_eq!(meaning_of(Some(429), &metric), None);
        assert_eq!(meaning_of(Some(429), &json!({"message": "Rate limit reached. Try again in 2s."})), None);
        assert_eq!(meaning_of(Some(404), &json!({"message": "model 'no-credit-7b' not found"})), None);
        assert_eq!(meaning_of(Some(400), &json!({"message": "max_tokens is too large", "param": "max_tokens"})), None);
        assert_eq!(meaning_of(Some(503), &json!({"message": "overloaded"})), None);
        assert_eq!(meaning_of(None, &json!({"message": "Too many requests"})), Some(ErrorMeaning::RateLimit));
        assert_eq!(meaning_of(None, &json!({"message": "out of cheese"})), None);
    }

    #[test]
    fn error_words_temporary_errors_are_recognized() {
        for words in [
            "The model is overloaded. Please try again later.",
            "litellm.APIConnectionError: Connection error.",
            "Server is busy",
            "upstream connect error or disconnect/reset before headers",
            "Request timed out.",
            "Internal Server Error",
            "The model is loading",
        ] {
            assert!(is_temporary(words), "{words}");
        }
        for words in ["out of cheese", "model not found", "wrong key", "it gave no reason", ""] {
            assert!(!is_temporary(words), "{words}");
        }
    }

    #[test]
    fn error_words_names_of_any_spelling_give_status() {
        for (name, status) in [
            ("overloaded", 529),
            ("overloaded_error", 529),
            ("OverloadedError", 529),
            ("ThrottlingException", 429),
            ("rate_limit_exceeded", 429),
            ("RESOURCE_EXHAUSTED", 429),
            ("UNAVAILABLE", 503),
            ("service_unavailable", 503),
            ("server_is_overloaded", 529),
            ("slow_down", 429),
            ("server_error", 500),
            ("internal_server_error", 500),
            ("timeout_error", 504),
            ("invalid_request_error", 400),
            ("insufficient_quota", 402),
            ("billing_error", 402),
        ] {
            assert_eq!(status_of_name(name), Some(status), "{name}");
        }
        assert_eq!((status_of_name("InvalidParameter"), status_of_name("")), (None, None));
    }

    #[test]
    fn error_words_status_in_words_is_read() {
        for (words, status) in [
            ("Error code: 503 - {'error': {}}", Some(503)),
            ("Request failed with status code 429", Some(429)),
            ("upstream said HTTP 502", Some(502)),
            ("status=500", Some(500)),
            ("Error 503: no", Some(503)),
            ("Error: 512 tokens are too many", None),
            ("502 Bad Gateway", None),
            ("the limit is 512 tokens, you have 500", None),
            ("status code 5000", None),
            ("http://127.0.0.1:500", None),
            ("", None),
        ] {
            assert_eq!(status_in_words(words), status, "{words}");
        }
    }
}
