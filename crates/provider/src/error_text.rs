//! Extracts a provider's error message and makes it safe to show: one bounded line without control characters and
//! without the key.

use clotho_config::Secret;
use serde_json::Value;

use super::json;

/// Maximum number of characters kept of a message.
const MAX_CHARS: usize = 500;

/// Minimum length of a key that is removed. A shorter one is a placeholder such as `none`, and removing it would only
/// damage the message.
const MIN_KEY_CHARS: usize = 8;

/// Maximum number of errors of a list that are shown.
const MAX_LISTED: usize = 8;
/// Fields that can have the message, the most telling ones first.
const TEXT_FIELDS: [&str; 10] = [
    "message",
    "error",
    "detail",
    "msg",
    "error_description",
    "error_msg",
    "error_message",
    "errorMessage",
    "errmsg",
    "title",
];

/// Cleans messages and removes the key from them.
#[derive(Debug, Clone, Default)]
pub(super) struct ErrorScrubber {
    key: Option<Secret>,
}

impl ErrorScrubber {
    pub(super) fn new(key: Option<Secret>) -> Self {
        Self { key: key.filter(|key| key.expose().len() >= MIN_KEY_CHARS) }
    }

    /// Returns the text as one line of at most [`MAX_CHARS`] characters.
    pub(super) fn clean(&self, text: &str) -> String {
        let without_key = match &self.key {
            Some(key) => text.replace(key.expose(), "[key]"),
            None => text.to_owned(),
        };
        let shown = without_key
            .chars()
            .filter(|char| !is_invisible(*char))
            .map(|char| if char.is_control() { ' ' } else { char });
        let shown: String = shown.take(8 * MAX_CHARS).collect();
        let line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(MAX_CHARS) {
            Some((end, _)) => line.get(..end).unwrap_or_default().to_owned() + "…",
            None if line.is_empty() => "it gave no reason".to_owned(),
            None => line,
        }
    }

    /// Returns the message in an error body.
    pub(super) fn text_of_body(&self, body: &[u8]) -> String {
        let text = String::from_utf8_lossy(body);
        match json::parse(&text) {
            Ok(value) => self.clean(&json_error_text(&value)),
            Err(_) if text.trim_start().starts_with('<') => self.clean(&html_error_text(&text)),
            Err(_) => self.clean(&text),
        }
    }

    /// Returns the message in a JSON error.
    pub(super) fn text_of_json(&self, value: &Value) -> String {
        self.clean(&json_error_text(value))
    }
}

/// Returns whether a character is invisible but can reorder or hide the text around it.
fn is_invisible(char: char) -> bool {
    matches!(char, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Returns the message in a JSON error, in full.
pub(super) fn json_error_text(value: &Value) -> String {
    match value {
        Value::String(words) => words.clone(),
        Value::Array(items) => {
            let said = items.iter().take(MAX_LISTED).map(json_error_text).filter(|words| !words.is_empty());
            said.collect::<Vec<_>>().join("; ")
        }
        Value::Object(fields) => {
            let said = TEXT_FIELDS.iter().filter_map(|name| fields.get(*name)).find(|said| !said.is_null());
            let words = said.map_or_else(|| value.to_string(), json_error_text);
            let words = with_field(fields, words);
            // Aggregators put the message of the vendor behind them here.
            match value.pointer("/metadata/raw").and_then(Value::as_str) {
                Some(raw) => format!("{words}: {raw}"),
                None => words,
            }
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Adds the field that an error is about, if its words do not name it.
fn with_field(error: &serde_json::Map<String, Value>, words: String) -> String {
    let place = match (error.get("loc"), error.get("param")) {
        (Some(Value::Array(path)), _) => path.iter().filter_map(Value::as_str).rfind(|part| *part != "body"),
        (_, Some(Value::String(param))) => Some(param.as_str()).filter(|param| !param.is_empty()),
        _ => None,
    };
    match place.filter(|place| !words.contains(place)) {
        Some(place) => format!("{place}: {words}"),
        None => words,
    }
}

fn html_error_text(page: &str) -> String {
    let lower = page.to_ascii_lowercase();
    let title = lower.find("<title>").zip(lower.find("</title>"));
    let title = title.and_then(|(start, end)| page.get(start.saturating_add("<title>".len())..end));
    title.map_or_else(|| "an HTML page".to_owned(), |title| format!("an HTML page, “{}”", title.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_text_any_body_shape_is_extracted() {
        for (body, expected) in [
            (r#"{"error":{"message":"no such model","type":"x","code":404}}"#, "no such model"),
            (r#"{"error":"plain"}"#, "plain"),
            (r#"{"object":"error","message":"too long"}"#, "too long"),
            (r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#, "field required"),
            (r#"[{"error":{"code":400,"message":"from a list"}}]"#, "from a list"),
            (
                r#"{"object":"error","message":{"detail":[{"loc":["body","seed"],"msg":"Extra inputs are not permitted"},
                    {"loc":["body","top_k"],"msg":"no"}]}}"#,
                "seed: Extra inputs are not permitted; top_k: no",
            ),
            (r#"{"error":{"message":"not supported","param":"stop"}}"#, "stop: not supported"),
            (r#"{"error":{"message":"'stop' is not supported","param":"stop"}}"#, "'stop' is not supported"),
            (
                r#"{"error":{"message":"Provider returned error","metadata":{"raw":"overloaded"}}}"#,
                "Provider returned error: overloaded",
            ),
            (r#"{"error":null,"detail":"other"}"#, "other"),
            (r#"{"status":7}"#, r#"{"status":7}"#),
            ("null", "it gave no reason"),
            ("  ", "it gave no reason"),
            ("upstream gone\n", "upstream gone"),
            ("<html><head><TITLE>502 Bad Gateway</TITLE></head></html>", "an HTML page, “502 Bad Gateway”"),
            ("<p>oops</p>", "an HTML page"),
            ("</title><title>", "an HTML page"),
        ] {
            assert_eq!(ErrorScrubber::default().text_of_body(body.as_bytes()), expected, "{body}");
        }
    }

    #[test]
    fn error_text_is_one_bounded_line() {
        let scrub = ErrorScrubber::default();
        assert_eq!(scrub.clean("a\u{0}\u{1b}[31mb\r\n c\u{202e}d\u{feff}"), "a [31mb cd");
        let long = scrub.clean(&"夜".repeat(10_000));
        assert_eq!(long.chars().count(), MAX_CHARS + 1);
        assert!(long.ends_with('…'));
    }

    /// If a provider echoes the key, the error does not contain it, even where the message is cut.
    #[test]
    fn error_text_key_is_removed() {
        let key = Secret::new("sk-very-secret");
        let scrub = ErrorScrubber::new(Some(key));
        assert_eq!(scrub.clean("bad key: sk-very-secret!"), "bad key: [key]!");
        assert!(!scrub.clean(&format!("{}sk-very-secret", "x".repeat(MAX_CHARS - 5))).contains("sk-"));
        assert_eq!(ErrorScrubber::new(Some(Secret::new("none"))).clean("none left"), "none left");
    }
}
