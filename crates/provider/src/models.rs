//! The list of models that a server offers.

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

/// Where servers report the context length. The configured length comes before the model's maximum.
const CONTEXT: [&str; 8] = [
    "/context_length",
    "/max_model_len",
    "/context_window",
    "/meta/n_ctx",
    "/loaded_context_length",
    "/max_context_length",
    "/top_provider/context_length",
    "/meta/n_ctx_train",
];

/// Parses the response of `/models`; skips entries without a name. Returns `None` if it contains no list.
pub(super) fn parse(answer: &Value) -> Option<Vec<ModelInfo>> {
    let list = answer.get("data").or_else(|| answer.get("models")).unwrap_or(answer).as_array()?;
    Some(list.iter().filter_map(model).collect())
}

fn model(entry: &Value) -> Option<ModelInfo> {
    let id = ["id", "name"].iter().find_map(|name| entry.get(*name)?.as_str()).filter(|id| !id.is_empty())?;
    let context = |path: &&str| entry.pointer(path)?.as_u64().filter(|tokens| *tokens > 0);
    Some(ModelInfo {
        id: id.to_owned(),
        context_length: CONTEXT.iter().find_map(context),
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
            {"id": ""}, {"name": "by-name"}, 7,
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
        assert_eq!(parse(&json!({"models": []})).unwrap(), []);
        assert_eq!(parse(&json!({"data": {}})), None);
        assert_eq!(parse(&json!("no")), None);
    }
}
