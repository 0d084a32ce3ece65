//! Finds the parameter that a server refused, and how to ask without it.
//!
//! Servers name it in fields (`param`, `loc`), in quotes, or in plain words. To add a server, add its words to a list
//! of `refusal_words` and a case to the table of tests.

use super::{
    context_overflow::ContextOverflow,
    error_detail::ErrorDetail,
    refusal_words::{
        ACCEPTED_WORDS, CONFLICT_WORDS, ERROR_WORDS, PARAMETER_WORDS, REFUSING_WORDS, UNNAMED_WORDS, VALIDATION_WORDS,
        VALUE_WORDS,
    },
};
use serde_json::{Map, Value};

/// Fields that a request cannot do without, or that other code negotiates.
const REQUIRED_FIELDS: [&str; 16] = [
    "model",
    "messages",
    "stream",
    "prompt",
    "contents",
    "system",
    "systemInstruction",
    "input",
    "options",
    "generationConfig",
    "tools",
    "tool_choice",
    "toolConfig",
    // What keeps a story private or safe is never dropped in silence.
    "provider",
    "safetySettings",
    "safety_settings",
];

/// Objects of a body that hold parameters.
pub(super) const PARAMETER_OBJECTS: [&str; 3] = ["options", "generationConfig", "params"];

/// Names of the token limit of a reply, here and at servers.
pub(super) const REPLY_LIMIT_NAMES: [&str; 8] = [
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "max_new_tokens",
    "maxOutputTokens",
    "n_predict",
    "num_predict",
    "max_length",
];

/// Parameters, and the names that servers want instead.
const OTHER_NAMES: [(&str, &[&str]); 6] = [
    ("max_tokens", &["max_completion_tokens", "max_output_tokens", "max_new_tokens"]),
    ("max_completion_tokens", &["max_tokens", "max_output_tokens", "max_new_tokens"]),
    ("seed", &["random_seed"]),
    ("repetition_penalty", &["repeat_penalty"]),
    ("repeat_penalty", &["repetition_penalty"]),
    ("stop", &["stop_sequences"]),
];

/// Parameters that are ordinary words too, and still are recognized without quotes.
const BARE_WORDS: [&str; 8] =
    ["stop", "seed", "temperature", "thinking", "think", "logprobs", "reasoning", "verbosity"];

/// Refused parameters with an ordinary name.
const SPOKEN_NAMES: [(&str, &[&str]); 5] = [
    ("stop", &["stop sequence", "stop string", "stop word"]),
    ("stop_sequences", &["stop sequence", "stop string"]),
    ("stopSequences", &["stop", "stop sequence"]),
    ("think", &["thinking"]),
    ("reasoning_effort", &["reasoning", "thinking"]),
];

/// Parameters with another value in each request. What is learned of one value would not help the next.
const RANDOM_NAMES: [&str; 2] = ["seed", "random_seed"];

/// The fewest tokens that are worth a reply.
const MIN_REPLY_TOKENS: u64 = 16;
/// The fewest tokens for which a long prompt is asked again with a shorter reply.
const MIN_ROOM_TOKENS: u64 = 256;

/// A parameter that a server refused.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RefusedParameter {
    /// Its name in the body.
    pub(super) name: String,
    pub(super) scope: RefusalScope,
    pub(super) fix: ParameterFix,
}

/// When a parameter is refused.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RefusalScope {
    Always,
    /// With this value.
    Value(Value),
    /// Beside this other parameter.
    Beside(String),
    /// In this request only, because of the length of its prompt.
    Once,
}

/// How to ask again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ParameterFix {
    LeaveOut,
    Rename(String),
    /// With at most this number, or so many items.
    Limit(u64),
}

/// Returns whether an error with status 500 means that the request is wrong.
pub(super) fn is_validation_error(words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    VALIDATION_WORDS.iter().any(|word| words.contains(word))
}

/// Returns the parameters of `body` that an error refuses; empty if it is about something else. `required` are more
/// fields that must stay.
pub(super) fn find(error: &ErrorDetail, body: &Value, required: &[&str]) -> Vec<RefusedParameter> {
    let must_be_named = matches!(error.status, Some(403..=405));
    let concerns_request = match error.status {
        Some(400 | 422 | 501) => true,
        Some(500) | None => is_validation_error(&error.words),
        _ => must_be_named,
    };
    let Some(sent) = body.as_object().filter(|_| concerns_request) else { return Vec::new() };
    let words = error.words.to_ascii_lowercase();
    if let Some(overflow) = ContextOverflow::find(None, &error.words).filter(|_| !must_be_named) {
        return shorter_reply(&overflow, sent).into_iter().collect();
    }
    let candidates: Vec<(&str, &Value)> =
        sent.iter().chain(objects(sent)).map(|(name, value)| (name.as_str(), value)).collect();
    let names = match must_be_named {
        true => surely_named_parameters(error, &words, &candidates),
        false => named_parameters(error, &words, &candidates),
    };
    if names.is_empty() && refuses_unnamed_field(error, &words) {
        return added_seed(&candidates).into_iter().collect();
    }
    let value_of = |name: &str| candidates.iter().find(|(other, _)| *other == name).map(|(_, value)| *value);
    let refused = names.iter().filter_map(|name| refused_parameter(name, value_of(name)?, &names, &words, required));
    match is_conflict(&words) && names.len() > 1 {
        true => conflict(&names).into_iter().collect(),
        false => refused.collect(),
    }
}

/// Returns the parameters in the inner objects of a body.
fn objects(body: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    PARAMETER_OBJECTS.iter().filter_map(|name| body.get(*name)?.as_object()).flatten()
}

/// Returns the names of the sent parameters that an error names, by the surest way in which it does.
fn named_parameters<'a>(error: &ErrorDetail, words: &str, sent: &[(&'a str, &Value)]) -> Vec<&'a str> {
    let known: Vec<&str> = sent.iter().map(|(name, _)| *name).collect();
    let of_fields: Vec<&str> = known.iter().copied().filter(|name| is_in_fields(name, &error.fields)).collect();
    let is_droppable = |name: &&str| !REQUIRED_FIELDS.contains(name);
    if !error.fields.is_empty() && (!of_fields.is_empty() || error.fields.iter().any(|path| is_required(path))) {
        return of_fields.into_iter().filter(is_droppable).collect();
    }
    if !REFUSING_WORDS.iter().any(|word| words.contains(word)) {
        return foreign_named_parameters(error, words, sent);
    }
    let words = before_accepted(words);
    let quoted = quoted_words(words);
    // An error that repeats the whole request names no parameter of it.
    if quoted.contains(&"messages") || quoted.contains(&"contents") {
        return Vec::new();
    }
    let of_quotes: Vec<&str> =
        known.iter().copied().filter(|name| quoted.iter().any(|word| same_name(name, word))).collect();
    if !of_quotes.is_empty() {
        return of_quotes.into_iter().filter(is_droppable).collect();
    }
    let mut of_words: Vec<(usize, &str)> =
        known.iter().copied().filter(is_droppable).filter_map(|name| Some((position(words, name)?, name))).collect();
    of_words.sort_unstable();
    if of_words.is_empty() && find_word(words, "penalty").is_some() {
        return known.into_iter().filter(|name| name.to_ascii_lowercase().ends_with("penalty")).collect();
    }
    let most = if is_conflict(words) { usize::MAX } else { 1 };
    of_words.into_iter().map(|(_, name)| name).take(most).collect()
}

/// Returns the numbers that a message in any language names, by names that are no words of a language.
fn foreign_named_parameters<'a>(error: &ErrorDetail, words: &str, sent: &[(&'a str, &Value)]) -> Vec<&'a str> {
    if !matches!(error.status, Some(400 | 422)) || repeats_request(words) {
        return Vec::new();
    }
    let is_distinct = |name: &str| name.contains('_') && !REQUIRED_FIELDS.contains(&name);
    let numbers = sent.iter().filter(|(name, value)| value.is_number() && is_distinct(name));
    numbers.map(|(name, _)| *name).filter(|name| find_word(words, name).is_some()).collect()
}

/// Returns the parameters that an error names in a field, in quotes, or in a list of parameters.
fn surely_named_parameters<'a>(error: &ErrorDetail, words: &str, sent: &[(&'a str, &Value)]) -> Vec<&'a str> {
    let known: Vec<&str> = sent.iter().map(|(name, _)| *name).filter(|name| !REQUIRED_FIELDS.contains(name)).collect();
    let of_fields: Vec<&str> = known.iter().copied().filter(|name| is_in_fields(name, &error.fields)).collect();
    if !of_fields.is_empty() || error.fields.iter().any(|path| is_required(path)) {
        return of_fields;
    }
    let has = |list: &[&str]| list.iter().any(|word| words.contains(word));
    if !has(&REFUSING_WORDS) || !has(&PARAMETER_WORDS) || repeats_request(words) {
        return Vec::new();
    }
    let words = before_accepted(words);
    let mut named = quoted_words(words);
    named.extend(listed_words(words));
    known.into_iter().filter(|name| named.iter().any(|word| same_name(name, word))).collect()
}

/// Returns the part of a text before a list of what the server accepts.
fn before_accepted(words: &str) -> &str {
    // `unsupported parameters` and `invalid fields` end with such words, and mean the opposite.
    let is_negated = |before: &str| {
        before.ends_with(|char: char| char.is_ascii_alphanumeric()) || before.trim_end().ends_with("not")
    };
    let begins = |accepted: &&str| {
        let mut places = words.match_indices(*accepted).map(|(at, _)| at);
        places.find(|at| !words.get(..*at).is_some_and(is_negated))
    };
    let end = ACCEPTED_WORDS.iter().filter_map(begins).min().unwrap_or(words.len());
    words.get(..end).unwrap_or(words)
}

/// Returns the words of a list such as `parameters: seed, top_k`, up to the end of its sentence.
fn listed_words(words: &str) -> Vec<&str> {
    let is_word = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    let lists = ["parameter:", "parameters:", "param:", "params:", "argument:", "arguments:"];
    let after = lists.iter().filter_map(|list| words.split_once(list)).map(|(_, after)| after);
    let sentence = |after| str::split(after, ['.', ';', '\n']).next().unwrap_or_default();
    after
        .map(sentence)
        .flat_map(|list| list.split(move |char| !is_word(char)))
        .filter(|word| !word.is_empty())
        .collect()
}

/// Returns whether an error repeats the whole request, and so names no parameter of it, or is about a part of it that
/// must stay.
fn repeats_request(words: &str) -> bool {
    ["messages", "contents", "tools", "tool_choice"].iter().any(|name| find_word(words, name).is_some())
}

/// Returns whether an error refuses a field and does not say which.
fn refuses_unnamed_field(error: &ErrorDetail, words: &str) -> bool {
    matches!(error.status, Some(400 | 422))
        && error.fields.is_empty()
        && UNNAMED_WORDS.iter().any(|unnamed| words.contains(unnamed))
        && !repeats_request(words)
        && quoted_words(words).iter().all(|word| ERROR_WORDS.contains(word))
}

/// Returns the seed, which is sent without anybody asking for it, as refused.
fn added_seed(sent: &[(&str, &Value)]) -> Option<RefusedParameter> {
    let (name, _) = sent.iter().find(|(name, _)| RANDOM_NAMES.contains(name))?;
    let (name, scope) = ((*name).to_owned(), RefusalScope::Always);
    Some(RefusedParameter { name, scope, fix: ParameterFix::LeaveOut })
}

/// Returns whether a path leads to the parameter.
fn is_in_fields(name: &str, fields: &[Vec<String>]) -> bool {
    fields.iter().any(|path| field_name(path).is_some_and(|field| same_name(name, field)))
}

/// Returns whether a path leads into a field that cannot be dropped.
fn is_required(path: &[String]) -> bool {
    field_name(path).is_some_and(|field| REQUIRED_FIELDS.contains(&field))
}

/// Returns the field to which a path leads, without the objects around it.
fn field_name(path: &[String]) -> Option<&str> {
    let around = [
        "body",
        "request",
        "data",
        "attributes",
        "params",
        "parameters",
        "options",
        "generation_config",
        "generationConfig",
    ];
    path.iter().map(String::as_str).find(|part| !around.contains(part))
}

/// Compares names without the difference between `top_k` and `topK`.
fn same_name(one: &str, other: &str) -> bool {
    let plain = |name: &str| name.replace(['_', '-'], "").to_ascii_lowercase();
    let base = |name: &str| plain(name.split(['.', '[']).next_back().unwrap_or(name));
    plain(one) == plain(other) || (other.contains('.') && plain(one) == base(other))
}

/// Returns the words in quotes of any kind.
fn quoted_words(text: &str) -> Vec<&str> {
    let is_quote = |char: char| matches!(char, '\'' | '"' | '`' | '‘' | '’' | '“' | '”' | '«' | '»');
    let fits = |word: &&str| {
        !word.is_empty()
            && word.len() <= 64
            && word.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.' | '[' | ']'))
    };
    text.split(is_quote).skip(1).map(|word| word.trim_end_matches('\\')).filter(fits).collect()
}

/// Returns where a text names a parameter without quotes.
fn position(words: &str, name: &str) -> Option<usize> {
    let lower = name.to_ascii_lowercase();
    let snake = snake_case(name);
    let spoken = snake.replace('_', " ");
    let (hyphened, joined) = (snake.replace('_', "-"), snake.replace('_', ""));
    let others = SPOKEN_NAMES.iter().find(|(other, _)| *other == name).map(|(_, others)| *others).unwrap_or_default();
    let is_distinct = |word: &&str| word.contains(['_', ' ', '-']) || BARE_WORDS.contains(word) || *word != snake;
    let all = [lower.as_str(), &snake, &spoken, &hyphened, &joined].into_iter().chain(others.iter().copied());
    all.filter(is_distinct).filter_map(|word| find_word(words, word)).min()
}

fn snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len().saturating_add(4));
    for char in name.chars() {
        if char.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(char.to_ascii_lowercase());
    }
    out
}

/// Returns where a text contains a whole word. A plural `s` may follow.
fn find_word(text: &str, word: &str) -> Option<usize> {
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
    text.match_indices(word).map(|(at, _)| at).find(|at| {
        let before = text.get(..*at).and_then(|before| before.chars().next_back());
        let after = text.get(at.saturating_add(word.len())..).unwrap_or_default();
        let after = after.strip_prefix('s').filter(|_| word.contains(' ')).unwrap_or(after);
        !before.is_some_and(is_part) && !after.chars().next().is_some_and(is_part)
    })
}

fn is_conflict(words: &str) -> bool {
    CONFLICT_WORDS.iter().any(|word| words.contains(word))
}

/// Returns which of several parameters stays at home. `top_p` says less than the temperature, and most presets have it.
fn conflict(names: &[&str]) -> Option<RefusedParameter> {
    let lesser = |name: &&&str| ["top_p", "topP", "top_k", "topK"].contains(*name);
    let dropped = names.iter().find(lesser).or_else(|| names.last())?;
    let other = names.iter().find(|name| *name != dropped)?;
    let scope = RefusalScope::Beside((*other).to_owned());
    Some(RefusedParameter { name: (*dropped).to_owned(), scope, fix: ParameterFix::LeaveOut })
}

/// Returns what to do about one refused parameter; `None` = nothing can be done.
fn refused_parameter(
    name: &str,
    value: &Value,
    all: &[&str],
    words: &str,
    required: &[&str],
) -> Option<RefusedParameter> {
    let is_only = all.len() == 1;
    let asks_other = ["instead", "use ", "did you mean", "renamed", "in favor", "in favour", "replace", "please pass"];
    let is_renamed = is_only && asks_other.iter().any(|word| words.contains(word));
    let others = OTHER_NAMES.iter().find(|(known, _)| *known == name).map(|(_, others)| *others).unwrap_or_default();
    let other = others.iter().find(|other| is_renamed && find_word(words, other).is_some());
    let concerns_value = VALUE_WORDS.iter().any(|word| words.contains(word)) && !words.contains("default");
    let limit = match value {
        _ if !concerns_value => None,
        Value::Array(items) => largest_number_below(words, u64::try_from(items.len()).unwrap_or(u64::MAX), 1),
        _ if REPLY_LIMIT_NAMES.contains(&name) => {
            value.as_u64().and_then(|sent| largest_number_below(words, sent, MIN_REPLY_TOKENS))
        }
        _ => None,
    };
    let (scope, fix) = match (other, limit) {
        (_, Some(limit)) => (RefusalScope::Always, ParameterFix::Limit(limit)),
        (Some(other), None) => (RefusalScope::Always, ParameterFix::Rename((*other).to_owned())),
        (None, None) if required.contains(&name) => return None,
        (None, None) if concerns_value && !RANDOM_NAMES.contains(&name) => {
            (RefusalScope::Value(value.clone()), ParameterFix::LeaveOut)
        }
        (None, None) => (RefusalScope::Always, ParameterFix::LeaveOut),
    };
    Some(RefusedParameter { name: name.to_owned(), scope, fix })
}

/// Returns a shorter reply for a prompt that fits without it.
fn shorter_reply(overflow: &ContextOverflow, sent: &Map<String, Value>) -> Option<RefusedParameter> {
    let room = overflow.room().filter(|room| *room >= MIN_ROOM_TOKENS)?;
    let mut all = sent.iter().chain(objects(sent));
    let is_longer = |value: &Value| value.as_u64().is_some_and(|asked| asked > room);
    let (name, _) = all.find(|(name, value)| REPLY_LIMIT_NAMES.contains(&name.as_str()) && is_longer(value))?;
    Some(RefusedParameter { name: name.clone(), scope: RefusalScope::Once, fix: ParameterFix::Limit(room) })
}

/// Returns the largest number in a text that is below `sent`, and at least `least`.
fn largest_number_below(text: &str, sent: u64, least: u64) -> Option<u64> {
    let is_digit = |char: char| char.is_ascii_digit() || matches!(char, ',' | '_');
    let is_word = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '.' | ',' | '_');
    let words = text.split(|char| !is_word(char)).map(|word| word.trim_end_matches([',', '.']));
    let numbers = words.filter(|word| word.chars().all(is_digit)).map(|word| word.replace([',', '_'], ""));
    let numbers = numbers.filter_map(|word| word.parse::<u64>().ok());
    numbers.filter(|number| *number < sent && *number >= least).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns what a body with all kinds of parameters is asked without.
    fn found(status: u16, error: &Value) -> Vec<(String, ParameterFix)> {
        let body = json!({"model": "m", "messages": [], "stream": true, "stream_options": {"include_usage": true},
            "temperature": 0.9, "top_p": 0.95, "top_k": 40, "min_p": 0.1, "seed": 7, "max_tokens": 100_000,
            "stop": ["\n"], "presence_penalty": 0.5, "frequency_penalty": 3, "logit_bias": {}, "user": "u"});
        let (detail, _) = ErrorDetail::from_body(status, error.to_string().as_bytes());
        find(&detail, &body, &[]).into_iter().map(|refused| (refused.name, refused.fix)).collect()
    }

    fn words(text: &str) -> Value {
        json!({"error": {"message": text, "type": "invalid_request_error", "param": null, "code": null}})
    }

    #[test]
    fn refused_parameter_is_found_in_fields() {
        let forbidden =
            |loc: Value| json!({"type": "extra_forbidden", "loc": loc, "msg": "Extra inputs are not permitted"});
        for (error, expected) in [
            (json!({"error": {"message": "no", "param": "temperature"}}), vec!["temperature"]),
            (json!({"errors": [{"pointer": "#/top_k", "detail": "unexpected property"}]}), vec!["top_k"]),
            (json!({"errors": [{"source": {"pointer": "/data/attributes/top_k"}}]}), vec!["top_k"]),
            (json!({"errors": [{"pointer": "#/messages/0/name", "detail": "unexpected property"}]}), vec![]),
            (json!({"detail": [forbidden(json!(["body", "seed"]))]}), vec!["seed"]),
            (json!({"object": "error", "message": {"detail": [forbidden(json!(["body", "seed"]))]}}), vec!["seed"]),
            (
                json!({"detail": [forbidden(json!(["body", "top_k"])), forbidden(json!(["body", "min_p"]))]}),
                vec!["top_k", "min_p"],
            ),
            (json!({"error": {"message": "bad `seed`", "param": "messages"}}), vec![]),
            (json!({"detail": [forbidden(json!(["body", "messages", 0, "name"]))]}), vec![]),
            (json!({"error": {"message": "no", "param": "model"}}), vec![]),
        ] {
            let names: Vec<String> = found(422, &error).into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, expected, "{error}");
        }
    }

    #[test]
    fn refused_parameter_is_found_in_words() {
        for (text, expected) in [
            ("Unexpected fields in the request: {'top_k'}", vec!["top_k"]),
            ("Unexpected fields in the request: {'top_k', 'min_p'}", vec!["top_k", "min_p"]),
            ("Unrecognized request argument supplied: stream_options", vec!["stream_options"]),
            ("unknown field `min_p`, expected one of `model`, `messages`, `temperature`, `top_p`", vec!["min_p"]),
            (
                "Invalid JSON payload received. Unknown name \"minP\" at 'generation_config': Cannot find field.",
                vec!["min_p"],
            ),
            (
                "Unsupported value: 'temperature' does not support 0.9 with this model. Only the default (1) value is supported.",
                vec!["temperature"],
            ),
            ("This model does not support stop", vec!["stop"]),
            ("Argument not supported on this model: presencePenalty", vec!["presence_penalty"]),
            ("Malformed input request: #: extraneous key [top_k] is not permitted", vec!["top_k"]),
            ("Malformed input request: #/temperature: 1.5 is not less or equal to 1", vec!["temperature"]),
            ("property 'frequency_penalty' is unsupported", vec!["frequency_penalty"]),
            ("Unsupported parameters: top_k", vec!["top_k"]),
            ("Unsupported parameters: 'top_k'. Supported parameters: 'top_p'", vec!["top_k"]),
            ("Additional properties are not allowed ('seed' was unexpected)", vec!["seed"]),
            ("Extra inputs are not permitted, field: 'min_p', value: 0.1", vec!["min_p"]),
            ("invalid temperature: only 0.6 is allowed for this model", vec!["temperature"]),
            ("temperature 参数非法", vec!["temperature"]),
            ("Stop sequences are not supported", vec!["stop"]),
            ("presence penalty is not supported by this model", vec!["presence_penalty"]),
            (
                "litellm.UnsupportedParamsError: m does not support parameters: ['logit_bias'], for model=m",
                vec!["logit_bias"],
            ),
            (
                "Provider returned error: {\"detail\":[{\"loc\":[\"body\",\"seed\"],\"msg\":\"Extra inputs are not permitted\"}]}",
                vec!["seed"],
            ),
            ("`temperature` and `top_p` cannot both be specified for this model. Please use only one.", vec!["top_p"]),
            ("temperature and top_p cannot both be specified", vec!["top_p"]),
            ("The model `m` does not exist", vec![]),
            ("The user has no access to this model", vec![]),
            ("Invalid request: {\"messages\": [], \"temperature\": 0.9, \"top_p\": 0.95}", vec![]),
            ("You must be verified to stream this model", vec![]),
        ] {
            let names: Vec<String> = found(400, &words(text)).into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, expected, "{text}");
        }
        assert_eq!(found(401, &words("unsupported parameter 'seed'")), []);
        assert_eq!(found(429, &words("unsupported parameter 'seed'")), []);
    }

    #[test]
    fn refused_parameter_seed_out_of_range_is_left_out_whatever_its_value() {
        for text in ["seed must be between 0 and 65535", "'seed': Input should be less than or equal to 65535"] {
            let body = json!({"model": "m", "seed": 4_000_000_000_u64, "top_k": 500});
            let found = find(&ErrorDetail::from_words(Some(400), text), &body, &[]);
            let expected =
                RefusedParameter { name: "seed".into(), scope: RefusalScope::Always, fix: ParameterFix::LeaveOut };
            assert_eq!(found, [expected], "{text}");
            let other = find(&ErrorDetail::from_words(Some(400), &text.replace("seed", "top_k")), &body, &[]);
            assert_eq!(other.first().map(|refused| &refused.scope), Some(&RefusalScope::Value(500.into())), "{text}");
        }
    }

    #[test]
    fn refused_parameter_unnamed_field_is_the_seed() {
        let seed = [("seed".to_owned(), ParameterFix::LeaveOut)];
        for error in [
            words("Extra inputs are not permitted"),
            json!({"detail": "Additional properties are not allowed"}),
            json!({"errors": [{"detail": "additional properties"}]}),
        ] {
            assert_eq!(found(422, &error), seed, "{error}");
            assert_eq!(found(403, &error), [], "{error}");
        }
        assert_eq!(found(400, &words("messages.0.name: Extra inputs are not permitted")), []);
        assert_eq!(found(400, &words("Additional properties are not allowed ('name' was unexpected)")), []);
        let body = json!({"model": "m", "messages": [], "top_k": 4});
        assert_eq!(find(&ErrorDetail::from_words(Some(400), "Extra inputs are not permitted"), &body, &[]), []);
    }

    #[test]
    fn refused_parameter_of_other_status_is_found_only_if_named() {
        let names =
            |status, error: &Value| -> Vec<String> { found(status, error).into_iter().map(|(name, _)| name).collect() };
        for (text, expected) in [
            ("No endpoints found that support the requested parameters: seed", vec!["seed"]),
            (
                "No endpoints found that support the parameters: top_k, min_p. See the user guide.",
                vec!["top_k", "min_p"],
            ),
            ("Parameter 'seed' is not allowed", vec!["seed"]),
            ("Unsupported parameter: logit_bias", vec!["logit_bias"]),
            ("The model `m` does not exist or you do not have access to it", vec![]),
            ("model not found", vec![]),
            ("The user must not seed this model", vec![]),
            ("No endpoints found that support tool use", vec![]),
            ("Method not allowed", vec![]),
        ] {
            for status in [403, 404, 405] {
                assert_eq!(names(status, &words(text)), expected, "{status} {text}");
            }
        }
        assert_eq!(names(404, &json!({"error": {"message": "no", "param": "seed"}})), ["seed"]);
        assert_eq!(names(404, &json!({"error": {"message": "'seed' is unsupported", "param": "model"}})), [""; 0]);
    }

    #[test]
    fn refused_parameter_name_in_any_language_is_found() {
        for (text, expected) in [
            ("top_k wird nicht unterstützt", vec!["top_k"]),
            ("パラメータmin_pは使えません", vec!["min_p"]),
            ("Параметры top_k, min_p лишние", vec!["top_k", "min_p"]),
            ("Der Wert ist falsch", vec![]),
            ("top_keks", vec![]),
            ("{messages: [], top_k: 40}", vec![]),
        ] {
            let names: Vec<String> = found(400, &words(text)).into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, expected, "{text}");
        }
        assert_eq!(found(403, &words("top_k wird nicht unterstützt")), []);
    }

    #[test]
    fn refused_parameter_server_error_counts_if_it_is_a_validation() {
        let python = "1 validation error:\n  {'type': 'less_than_equal', 'loc': ('body', 'frequency_penalty'), 'msg': \
                      'Input should be less than or equal to 2', 'input': 3}";
        assert_eq!(found(500, &words(python)), [("frequency_penalty".to_owned(), ParameterFix::LeaveOut)]);
        let keyword = "create() got an unexpected keyword argument 'top_k'";
        assert_eq!(found(500, &json!({"detail": keyword})), [("top_k".to_owned(), ParameterFix::LeaveOut)]);
        assert_eq!(found(500, &json!({"detail": "the 'seed' of all evil must be destroyed"})), []);
        assert!(!is_validation_error("out of memory") && is_validation_error("Unsupported param: tools"));
    }

    #[test]
    fn refused_parameter_other_name_is_used_only_if_asked_for() {
        let name = |text: &str| found(400, &words(text)).pop();
        let renamed = |to: &str| Some(("max_tokens".to_owned(), ParameterFix::Rename(to.to_owned())));
        let openai = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
        assert_eq!(name(openai), renamed("max_completion_tokens"));
        assert_eq!(name("max_tokens is deprecated in favor of max_output_tokens"), renamed("max_output_tokens"));
        assert_eq!(
            name("'max_tokens' or 'max_completion_tokens' must not be sent: unsupported"),
            Some(("max_tokens".to_owned(), ParameterFix::LeaveOut))
        );
        let seed = name("Unknown parameter 'seed', did you mean 'random_seed'?");
        assert_eq!(seed, Some(("seed".to_owned(), ParameterFix::Rename("random_seed".to_owned()))));
    }

    #[test]
    fn refused_parameter_reply_limit_is_lowered_to_what_is_told() {
        for (text, limit) in [
            (
                "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022",
                8192,
            ),
            (
                "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.",
                16384,
            ),
            ("`max_tokens` must be less than or equal to `32,768`", 32768),
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 100000. This model's maximum context length is 4096 tokens and your request has 500 input tokens (100000 > 4096 - 500).",
                3596,
            ),
            (
                "input length and `max_tokens` exceed context limit: 190000 + 100000 > 200000, decrease input length",
                10000,
            ),
        ] {
            assert_eq!(found(400, &words(text)), [("max_tokens".to_owned(), ParameterFix::Limit(limit))], "{text}");
        }
        let full = "This model's maximum context length is 512 tokens. However, you requested 931 tokens (931 in the messages)";
        assert_eq!(found(400, &words(full)), []);
    }

    #[test]
    fn refused_parameter_list_is_cut_to_allowed_length() {
        let body = json!({"model": "m", "stop": ["a", "b", "c", "d", "e", "f"]});
        let text = "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with \
                    length 6 instead.";
        let found = find(&ErrorDetail::from_words(Some(400), text), &body, &[]);
        assert_eq!(found.into_iter().map(|refused| refused.fix).collect::<Vec<_>>(), [ParameterFix::Limit(4)]);
        let body = json!({"model": "m", "think": true});
        let found = find(&ErrorDetail::from_words(Some(400), "\"gemma3\" does not support thinking"), &body, &[]);
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn refused_parameter_of_inner_object_is_found_unless_required() {
        let body =
            json!({"contents": [], "generationConfig": {"topK": 40, "presencePenalty": 1, "frequencyPenalty": 1}});
        let names = |text: &str| -> Vec<String> {
            let detail = ErrorDetail::from_words(Some(400), text);
            find(&detail, &body, &[]).into_iter().map(|refused| refused.name).collect()
        };
        assert_eq!(names("Invalid value at 'generation_config.top_k'"), ["topK"]);
        assert_eq!(names("Penalty is not enabled for models/gemini"), ["presencePenalty", "frequencyPenalty"]);
        let body = json!({"model": "m", "messages": [], "max_tokens": 4096});
        let detail = ErrorDetail::from_words(Some(400), "max_tokens: Extra inputs are not permitted");
        assert_eq!(find(&detail, &body, &["max_tokens"]), []);
        assert_eq!(find(&detail, &body, &[]).len(), 1);
    }
}
