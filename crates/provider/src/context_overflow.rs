//! Recognizes errors which say that a prompt exceeds the context of the model, and reads their numbers.
//!
//! No code for it is shared by all servers, so most are recognized by their words. To add a server, add its words to
//! [`MARKS`], and the words beside its numbers to [`BEFORE_LIMIT`] and [`BEFORE_NEEDED`].

use super::json::{count, first_present};
use serde_json::Value;

/// The numbers of an overflow, as far as the server tells them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ContextOverflow {
    /// Tokens of prompt and reply together that the model can take.
    pub(super) limit: Option<u64>,
    /// Tokens that the request needs.
    pub(super) needed: Option<u64>,
    /// Tokens of the prompt alone.
    pub(super) prompt: Option<u64>,
}

/// Codes and words of an overflow, in lower case.
const MARKS: [&str; 26] = [
    "context_length_exceeded",
    "context_window_exceeded",
    "contextwindowexceeded",
    "exceed_context_size",
    "prompt_too_long",
    "maximum context length",
    "max context length",
    "maximum prompt length",
    "maximum model length",
    "model's context length",
    "available context size",
    "available context length",
    "exceed context window",
    "exceeds context window",
    "exceeds the context",
    "exceed the context",
    "exceed context limit",
    "exceeds context limit",
    "context window exceeds",
    "context length of only",
    "prompt is too long",
    "input is too long for",
    "input token count",
    "exceeded model token limit",
    "tokens in the prompt cannot exceed",
    "+ `max_new_tokens` must be",
];

/// Words before the number of tokens that fit.
const BEFORE_LIMIT: [&str; 19] = [
    "maximum context length is",
    "maximum context length of",
    "max context length is",
    "maximum prompt length is",
    "maximum model length of",
    "available context size (",
    "context length (",
    "context length of only",
    "context length is",
    "context length of",
    "context size of",
    "context window of",
    "context window is",
    "tokens allowed (",
    "model token limit:",
    "cannot exceed",
    "must be <=",
    "too large for model with",
    ">",
];

/// Words before the number of tokens that the whole request needs.
const BEFORE_NEEDED: [&str; 16] = [
    "you requested a total of",
    "you requested about",
    "you requested",
    "(requested:",
    "requested tokens (",
    "request contains",
    "prompt contains at least",
    "prompt contains",
    "prompt is too long:",
    "token count (",
    "the input (",
    "prompt (length",
    "resulted in",
    "keep the first",
    "request (",
    "given:",
];

/// Words after the number of tokens of the prompt alone.
const AFTER_PROMPT: [&str; 7] = [
    "in the messages",
    "of text input",
    "tokens from the input",
    "in the input",
    "input tokens",
    "in your prompt",
    "in the prompt;",
];

impl ContextOverflow {
    /// Returns the overflow that an error reports; `None` if it is about something else.
    ///
    /// `text` is the error's message. `error` is its body, if it is JSON.
    pub(super) fn find(error: Option<&Value>, text: &str) -> Option<Self> {
        let codes = error.map(error_names).unwrap_or_default();
        let text = text.to_ascii_lowercase().replace('’', "'");
        if !MARKS.iter().any(|mark| text.contains(mark) || codes.contains(mark)) {
            return None;
        }
        let (limit, needed) = error.map(own_numbers).unwrap_or_default();
        let said_limit = BEFORE_LIMIT.iter().find_map(|words| number_after(&text, words));
        let said_needed = BEFORE_NEEDED.iter().find_map(|words| number_after(&text, words));
        let prompt = AFTER_PROMPT.iter().find_map(|words| number_before(&text, words)).or_else(|| sum_begin(&text));
        let (limit, needed) = (limit.or(said_limit), needed.or(said_needed));
        // A number that is not above the limit was read in the wrong place.
        let needed = needed.filter(|needed| limit.is_none_or(|limit| *needed > limit));
        Some(Self { limit, needed, prompt })
    }

    /// Returns the tokens that remain for a reply, if the prompt itself fits.
    pub(super) fn room(&self) -> Option<u64> {
        self.limit?.checked_sub(self.prompt?)
    }
}

/// Returns the names of an error, in lower case.
fn error_names(error: &Value) -> String {
    let inner = first_present(error, &["error"]).unwrap_or(error);
    let names = ["code", "type", "status"].iter().filter_map(|name| inner.get(*name)?.as_str());
    names.collect::<Vec<_>>().join(" ").to_ascii_lowercase()
}

/// Returns the numbers in llama.cpp's own fields: what fits, and what the prompt needs.
fn own_numbers(error: &Value) -> (Option<u64>, Option<u64>) {
    let inner = first_present(error, &["error"]).unwrap_or(error);
    let number = |name: &str| inner.get(name).and_then(count).filter(|tokens| *tokens > 0);
    (number("n_ctx"), number("n_prompt_tokens"))
}

/// Returns the first number shortly after `words`.
fn number_after(text: &str, words: &str) -> Option<u64> {
    let (_, after) = text.split_once(words)?;
    let near: String = after.chars().take(24).collect();
    let start = near.find(|char: char| char.is_ascii_digit())?;
    // Another clause tells another number.
    let is_near = near.get(..start).is_some_and(|gap| !gap.contains(['.', ';', '(']) || gap.trim() == "(");
    leading_number(near.get(start..)?).filter(|_| is_near)
}

/// Returns the number just before `words`.
fn number_before(text: &str, words: &str) -> Option<u64> {
    let (before, _) = text.split_once(words)?;
    let before = before.trim_end().trim_end_matches("tokens").trim_end();
    let start = before.rfind(|char: char| !is_digit_or_mark(char)).map_or(0, |at| at.saturating_add(1));
    leading_number(before.get(start..).or_else(|| before.rsplit(' ').next())?)
}

/// Returns the first number of `A + B > C`, in which A counts the prompt and B the reply.
fn sum_begin(text: &str) -> Option<u64> {
    let (sum, _) = text.split_once(" > ")?;
    let (prompt, reply) = sum.rsplit_once(" + ")?;
    reply.trim().parse::<u64>().ok()?;
    prompt.rsplit([' ', ':', '(']).next()?.parse().ok()
}

const fn is_digit_or_mark(char: char) -> bool {
    char.is_ascii_digit() || matches!(char, ',' | '_')
}

/// Returns the number at the beginning, with or without marks between thousands.
fn leading_number(text: &str) -> Option<u64> {
    let digits: String = text.chars().take_while(|char| is_digit_or_mark(*char)).filter(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn numbers(text: &str) -> Option<(Option<u64>, Option<u64>)> {
        ContextOverflow::find(None, text).map(|overflow| (overflow.limit, overflow.needed))
    }

    #[test]
    fn context_overflow_words_of_servers_give_numbers() {
        for (text, limit, needed) in [
            (
                "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the \
                 messages, 1000 in the completion).",
                4096,
                5000,
            ),
            (
                "This model’s maximum context length is 8,192 tokens. However, your messages resulted in 9,001 tokens.",
                8192,
                9001,
            ),
            (
                "This endpoint's maximum context length is 8192 tokens. However, you requested about 10000 tokens \
                 (9000 of text input, 1000 in the output).",
                8192,
                10000,
            ),
            ("prompt is too long: 210000 tokens > 200000 maximum", 200_000, 210_000),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                1_048_576,
                1_200_000,
            ),
            ("request (931 tokens) exceeds the available context size (512 tokens), try increasing it", 512, 931),
            ("Requested tokens (931) exceed context window of 512", 512, 931),
            (
                "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with \
                 context length of only 4096 tokens, which is not enough.",
                4096,
                9000,
            ),
            (
                "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
                32768,
                40000,
            ),
            ("This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131_072, 537_812),
            (
                "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`",
                4096,
                5000,
            ),
            ("The input (5000 tokens) is longer than the model's context length (4096 tokens).", 4096, 5000),
            ("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4096, 5000),
            ("Your request exceeded model token limit: 8192 (requested: 9000)", 8192, 9000),
            ("too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5012", 4081, 0),
        ] {
            assert_eq!(numbers(text), Some((Some(limit), Some(needed).filter(|needed| *needed > 0))), "{text}");
        }
        for text in ["the prompt is too long", "input is too long for requested model.", "context window exceeds limit"]
        {
            assert_eq!(numbers(text), Some((None, None)), "{text}");
        }
    }

    #[test]
    fn context_overflow_codes_and_fields_are_read() {
        let error = json!({"error": {"code": 400, "message": "no", "type": "exceed_context_size_error",
            "n_prompt_tokens": 931, "n_ctx": 512}});
        let found = ContextOverflow::find(Some(&error), "no").unwrap();
        assert_eq!((found.limit, found.needed), (Some(512), Some(931)));
        let coded = json!({"error": {"message": "no", "code": "context_length_exceeded"}});
        assert_eq!(ContextOverflow::find(Some(&coded), "no"), Some(ContextOverflow::default()));
    }

    #[test]
    fn context_overflow_other_errors_are_not_taken_for_it() {
        for text in [
            "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
            "Request too large for gpt-4 on tokens per min (TPM): Limit 30000, Requested 40000",
            "the name of the session is too long",
            "Unsupported parameter: 'max_tokens'",
        ] {
            assert_eq!(numbers(text), None, "{text}");
        }
    }

    #[test]
    fn context_overflow_room_counts_prompt_alone() {
        for (text, room) in [
            ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", Some(10_000)),
            (
                "'max_tokens' is too large: 8000. This model's maximum context length is 4096 tokens and your request has \
              500 input tokens (8000 > 4096 - 500).",
                Some(3_596),
            ),
            (
                "This model's maximum context length is 512 tokens. However, you requested 931 tokens (931 in the \
              messages, None in the completion).",
                None,
            ),
        ] {
            assert_eq!(ContextOverflow::find(None, text).unwrap().room(), room, "{text}");
        }
    }
}
