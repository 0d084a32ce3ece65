//! Generation parameters: merges settings with those of the request and translates them for each kind of server.
//!
//! A session has one set of parameters with OpenAI's names for all models. Each kind renames those it knows and omits
//! those its server would refuse. A parameter with the server's own name is sent unchanged and takes precedence.

use super::{Endpoint, Request, refused_parameter::REPLY_LIMIT_NAMES};
use serde_json::{Map, Value};

/// Fields that parameters cannot change, because reading the reply depends on them.
const RESERVED_PARAMS: [&str; 6] = ["model", "messages", "prompt", "stream", "stream_options", "n"];

/// Merges the endpoint's parameters with the request's, which take precedence. Removes nulls and those in `left_out`.
pub(super) fn merge(request: &Request, endpoint: &Endpoint, left_out: &[&str]) -> Map<String, Value> {
    let mut all = endpoint.extra.clone();
    all.extend(request.params.clone());
    all.retain(|name, _| !RESERVED_PARAMS.contains(&name.as_str()) && !left_out.contains(&name.as_str()));
    remove_unset(&mut all);
    all
}

/// Removes what counts as not set: nulls, a length of 0 for the reply, and empty stop strings. Servers take these
/// literally: they write one token, or nothing.
pub(super) fn remove_unset(params: &mut Map<String, Value>) {
    for name in ["stop", "stop_sequences", "stop_sequence", "stopSequences"] {
        if let Some(Value::Array(texts)) = params.get_mut(name) {
            texts.retain(|text| !matches!(text, Value::String(text) if text.is_empty()) && !text.is_null());
        }
        let is_empty = params.get(name).is_some_and(|stop| stop == "" || stop.as_array().is_some_and(Vec::is_empty));
        if is_empty {
            params.shift_remove(name);
        }
    }
    let is_none = |value: &Value| value.as_f64() == Some(0.0);
    let is_unset = |name: &str, value: &Value| REPLY_LIMIT_NAMES.contains(&name) && is_none(value);
    params.retain(|name, value| !value.is_null() && !is_unset(name, value));
}

/// Renames parameters. One that already exists under its new name is not overwritten.
pub(super) fn rename(params: &mut Map<String, Value>, names: &[(&str, &str)]) {
    for (from, to) in names {
        if let Some(value) = params.shift_remove(*from)
            && !params.contains_key(*to)
        {
            params.insert((*to).to_owned(), value);
        }
    }
}

/// Removes and returns the stop strings: a text or a list of texts. Drops empty ones, which servers refuse.
pub(super) fn take_stop_strings(params: &mut Map<String, Value>, name: &str) -> Vec<String> {
    let said = params.shift_remove(name);
    let texts = match said {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(texts)) => texts
            .into_iter()
            .filter_map(|text| if let Value::String(text) = text { Some(text) } else { None })
            .collect(),
        _ => Vec::new(),
    };
    texts.into_iter().filter(|text| !text.is_empty()).collect()
}

/// Converts the tools of a request from OpenAI's form with `own`. Tools in the server's own form stay unchanged.
pub(super) fn tools(params: &mut Map<String, Value>, own: impl Fn(&Map<String, Value>) -> Value) -> Option<Vec<Value>> {
    let Some(Value::Array(tools)) = params.shift_remove("tools") else { return None };
    let translate = |tool: Value| match tool.get("function").and_then(Value::as_object) {
        Some(function) => own(function),
        None => tool,
    };
    Some(tools.into_iter().map(translate).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn params_rename_keeps_native_name() {
        let mut params = json!({"a": 1, "max_tokens": 5, "b": 2, "n_predict": 7}).as_object().unwrap().clone();
        rename(&mut params, &[("max_tokens", "n_predict"), ("a", "alpha"), ("none", "x")]);
        assert_eq!(Value::Object(params).to_string(), r#"{"b":2,"n_predict":7,"alpha":1}"#);
    }

    #[test]
    fn params_that_set_nothing_are_removed() {
        for (params, expected) in [
            (json!({"stop": ["", "zzz"]}), json!({"stop": ["zzz"]})),
            (json!({"stop": [""]}), json!({})),
            (json!({"stop": ""}), json!({})),
            (json!({"stop": "a"}), json!({"stop": "a"})),
            (json!({"stop_sequences": ["", null, "b"]}), json!({"stop_sequences": ["b"]})),
            (json!({"max_tokens": 0, "max_completion_tokens": null, "n_predict": 0.0}), json!({})),
            (json!({"max_tokens": -1, "temperature": 0}), json!({"max_tokens": -1, "temperature": 0})),
        ] {
            let mut params = params.as_object().unwrap().clone();
            remove_unset(&mut params);
            assert_eq!(Value::Object(params), expected);
        }
    }

    #[test]
    fn params_stop_strings_any_shape_are_taken() {
        let stops = |value| take_stop_strings(json!({"stop": value}).as_object_mut().unwrap(), "stop");
        assert_eq!(stops(json!("a")), ["a"]);
        assert_eq!(stops(json!(["a", "", 7, "\n"])), ["a", "\n"]);
        assert!(stops(json!(7)).is_empty());
    }
}
