//! The list of models that a server offers.

use super::json;
use serde_json::Value;

/// A model as the provider describes it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelInfo {
    /// The name to request it by.
    pub id: String,
    /// Tokens of prompt and reply together.
    pub context_length: Option<u64>,
    /// Price of one token of the prompt, in the provider's currency.
    pub prompt_price: Option<f64>,
    /// Price of one token of the reply.
    pub completion_price: Option<f64>,
    /// Price of one token read from the provider's cache; `None` = the prompt price.
    pub cached_price: Option<f64>,
    /// Price of one token written to the provider's cache; `None` = the prompt price.
    pub written_price: Option<f64>,
    /// The chat template of the model, if the server reports it.
    pub template: Option<String>,
}

/// Where servers report the context length. What the server was started with comes before the model's maximum.
const CONTEXT: [&str; 30] = [
    "/default_generation_settings/n_ctx",
    "/meta/n_ctx",
    "/n_ctx",
    "/loaded_context_length",
    "/context_length",
    "/max_model_len",
    "/context_window",
    "/contextLength",
    "/contextWindow",
    "/context_size",
    "/context_tokens",
    "/max_context_length",
    "/max_context_tokens",
    "/max_context_size",
    "/max_context_window",
    "/max_context_window_tokens",
    "/max_input_tokens",
    "/inputTokenLimit",
    "/input_token_limit",
    "/max_sequence_length",
    "/max_seq_len",
    "/parameters/max_seq_len",
    "/limits/max_context_window_tokens",
    "/limits/max_input_tokens",
    "/capabilities/limits/max_context_window_tokens",
    "/model_info/max_input_tokens",
    "/metadata/context_length",
    "/model_spec/availableContextTokens",
    "/top_provider/context_length",
    "/meta/n_ctx_train",
];

/// Where servers report the maximum of the model alone.
const TRAINED_CONTEXT: [&str; 3] = ["/n_ctx_train", "/details/context_length", "/max_position_embeddings"];

/// Returns the context length in a server's description of a model or of itself.
pub(super) fn context_length(entry: &Value) -> Option<u64> {
    let length = |path: &&str| tokens(entry.pointer(path)?);
    CONTEXT.iter().chain(&TRAINED_CONTEXT).find_map(length)
}

/// Parses a number of tokens, also as text.
fn tokens(value: &Value) -> Option<u64> {
    let digits = |text: &str| text.trim().replace([',', '_'], "").parse().ok();
    let number = json::count(value).or_else(|| value.as_str().and_then(digits))?;
    (number > 0).then_some(number)
}

/// Parses the response of `/models`; skips entries without a name. Returns `None` if it contains no list.
pub(super) fn parse(answer: &Value) -> Option<Vec<ModelInfo>> {
    let list = answer.get("data").or_else(|| answer.get("models")).unwrap_or(answer).as_array()?;
    Some(list.iter().filter_map(model).collect())
}

fn model(entry: &Value) -> Option<ModelInfo> {
    let id = ["id", "name"].iter().find_map(|name| entry.get(*name)?.as_str()).filter(|id| !id.is_empty())?;
    // A gateway lists what it passes on by a pattern, and no model has such a name.
    if id.ends_with('*') {
        return None;
    }
    Some(ModelInfo {
        id: id.to_owned(),
        context_length: context_length(entry),
        prompt_price: entry.pointer("/pricing/prompt").and_then(price),
        completion_price: entry.pointer("/pricing/completion").and_then(price),
        cached_price: entry.pointer("/pricing/input_cache_read").and_then(price),
        template: None,
        written_price: entry.pointer("/pricing/input_cache_write").and_then(price),
    })
}

/// Parses a price: a number or a number as text. Aggregators write -1 for variable prices.
fn price(value: &Value) -> Option<f64> {
    let price = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    (price.is_finite() && price >= 0.0).then_some(price)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn model_list_vendor_formats_are_parsed() {
        let info = |id: &str, context_length, prices: Option<(f64, f64)>| ModelInfo {
            id: id.into(),
            context_length,
            prompt_price: prices.map(|prices| prices.0),
            completion_price: prices.map(|prices| prices.1),
            ..ModelInfo::default()
        };
        let answer = json!({"object": "list", "data": [
            {"id": "a/b", "context_length": 32768, "pricing": {"prompt": "0.0000015", "completion": 0.000002}},
            {"id": "auto", "context_length": null, "pricing": {"prompt": "-1", "completion": "-1"}, "top_provider": {"context_length": 4096}},
            {"id": "vllm", "max_model_len": 8192},
            {"id": "llama.cpp", "meta": {"n_ctx_train": 8192, "n_ctx": 4096}},
            {"id": "plain", "pricing": "free"},
            {"id": ""}, {"name": "by-name"}, 7, {"id": "*"}, {"id": "openai/*"},
        ]});
        let expected = [
            info("a/b", Some(32768), Some((0.000_001_5, 0.000_002))),
            info("auto", Some(4096), None),
            info("vllm", Some(8192), None),
            info("llama.cpp", Some(4096), None),
            info("plain", None, None),
            info("by-name", None, None),
        ];
        assert_eq!(parse(&answer).unwrap(), expected);
        assert_eq!(parse(&json!([{"id": "x"}])).unwrap(), [info("x", None, None)]);
        for (entry, expected) in [
            (json!({"max_input_tokens": 32768, "max_output_tokens": 2048}), Some(32768)),
            (json!({"max_model_len": "8192"}), Some(8192)),
            (json!({"context_window": " 131,072 "}), Some(131_072)),
            (json!({"context_length": 4096.0}), Some(4096)),
            (json!({"context_length": 0, "max_context_length": 2048}), Some(2048)),
            (json!({"inputTokenLimit": 1_048_576}), Some(1_048_576)),
            (json!({"n_ctx_train": 8192, "n_ctx": 4096}), Some(4096)),
            (json!({"n_ctx_train": 8192}), Some(8192)),
            (json!({"default_generation_settings": {"n_ctx": 2048}, "n_ctx": 4096}), Some(2048)),
            (json!({"limits": {"max_input_tokens": 64000}}), Some(64000)),
            (json!({"context_length": "unknown"}), None),
            (json!({"max_output_tokens": 2048}), None),
        ] {
            assert_eq!(context_length(&entry), expected, "{entry}");
        }
        assert_eq!(parse(&json!({"models": []})).unwrap(), []);
        assert_eq!(parse(&json!({"data": {}})), None);
        assert_eq!(parse(&json!("no")), None);
    }
}
