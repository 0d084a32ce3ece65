//! Which model parameters carry a secret, such as the token of a gateway. They are sent, but never recorded or exported.

use serde_json::{Map, Value};

/// What stands in records in place of a secret.
pub const MASK: &str = "***";

/// Words of names that always carry a secret.
const SECRET_WORDS: [&str; 11] = [
    "secret",
    "password",
    "passwd",
    "passphrase",
    "authorization",
    "bearer",
    "credential",
    "credentials",
    "cookie",
    "apikey",
    "jwt",
];

/// Words that make a `key` a secret when they stand before it: `api_key`, not `prompt_cache_key`.
const KEY_OWNERS: [&str; 6] = ["api", "access", "auth", "private", "subscription", "gateway"];

/// Words before `token` that name a token of the text: `eos_token`, not `gateway_token`.
const TEXT_TOKENS: [&str; 9] = ["eos", "bos", "pad", "unk", "stop", "ban", "sep", "mask", "special"];

/// Returns whether a parameter carries a secret: a text, or a list or object of texts, under a name such as `api_key`,
/// `x-gateway-token` or `Authorization`.
pub fn is_secret(name: &str, value: &Value) -> bool {
    names_secret(name) && has_text(value)
}

fn has_text(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => list.iter().any(has_text),
        Value::Object(inner) => inner.values().any(has_text),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn names_secret(name: &str) -> bool {
    let words = words_of(name);
    let before = words.len().checked_sub(2).and_then(|at| words.get(at)).map(String::as_str);
    let is_secret_name = match words.last().map(String::as_str) {
        Some("key") => before.is_some_and(|word| KEY_OWNERS.contains(&word)),
        Some("token") => before.is_none_or(|word| !TEXT_TOKENS.contains(&word)),
        _ => false,
    };
    is_secret_name || words.iter().any(|word| SECRET_WORDS.contains(&word.as_str()))
}

/// Returns the name of the first secret among parameters, also inside nested objects and lists.
pub fn first_secret(params: &Map<String, Value>) -> Option<&str> {
    params.iter().find_map(|(name, value)| if is_secret(name, value) { Some(name.as_str()) } else { secret_in(value) })
}

fn secret_in(value: &Value) -> Option<&str> {
    match value {
        Value::Object(inner) => first_secret(inner),
        Value::Array(list) => list.iter().find_map(secret_in),
        _ => None,
    }
}

/// Replaces secrets among parameters, also inside nested objects and lists, with [`MASK`].
pub fn mask_secrets(params: &mut Map<String, Value>) {
    for (name, value) in params.iter_mut() {
        if is_secret(name, value) {
            *value = MASK.into();
        } else {
            mask_inside(value);
        }
    }
}

fn mask_inside(value: &mut Value) {
    match value {
        Value::Object(inner) => mask_secrets(inner),
        Value::Array(list) => list.iter_mut().for_each(mask_inside),
        _ => {}
    }
}

/// Splits a name into lower-case words: at `_`, `-`, `.` and spaces, and before capitals.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        let is_break = matches!(letter, '_' | '-' | '.' | ' ');
        if is_break || was_lower && letter.is_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| !is_break) {
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secret_names_are_told_from_tokens_of_text() {
        for name in [
            "api_key",
            "apiKey",
            "apikey",
            "x-api-key",
            "authorization_token",
            "x_gateway_token",
            "Authorization",
            "token",
            "accessToken",
            "password",
            "client_secret",
            "Cookie",
        ] {
            assert!(is_secret(name, &json!("T")), "{name}");
            assert!(!is_secret(name, &json!(true)) && !is_secret(name, &json!("")), "{name}");
        }
        for name in [
            "max_tokens",
            "min_tokens",
            "stop_token",
            "eos_token",
            "prompt_cache_key",
            "logit_bias",
            "stop",
            "user",
            "keyword",
            "tokenizer",
            "author",
            "secretary",
            "service_tier",
        ] {
            assert!(!is_secret(name, &json!("T")), "{name}");
        }
    }

    #[test]
    fn secrets_inside_parameters_are_masked() {
        let mut params = json!({"temperature": 0.5, "extra_body": {"list": [{"api_key": "T"}], "stop": ["T"]}});
        let params = params.as_object_mut().unwrap();
        assert_eq!(first_secret(params), Some("api_key"));
        mask_secrets(params);
        let masked = json!({"temperature": 0.5, "extra_body": {"list": [{"api_key": "***"}], "stop": ["T"]}});
        assert_eq!(Value::Object(params.clone()), masked);
        assert_eq!(first_secret(json!({"max_tokens": 5}).as_object().unwrap()), None);
        // Headers may have several values.
        let mut params = json!({"headers": {"Authorization": ["Bearer T"], "Cookie": {"a": "T"}, "Accept": ["x"]}});
        let params = params.as_object_mut().unwrap();
        assert_eq!(first_secret(params), Some("Authorization"));
        mask_secrets(params);
        let masked = json!({"headers": {"Authorization": "***", "Cookie": "***", "Accept": ["x"]}});
        assert_eq!(Value::Object(params.clone()), masked);
        assert_eq!(first_secret(json!({"password": [], "token": [1, null], "cookie": {}}).as_object().unwrap()), None);
    }
}
