//! Values of parameters that have another form at some servers: biases, bans, schemas and reasoning.

use super::parameter_rules::model_version;
use serde_json::{Map, Value, json};

/// The bias that forbids a token, at servers that know only biases.
const BAN: i64 = -100;
/// The tokens for reasoning that an effort stands for, at servers that take only a number: those of `minimal`, `low`,
/// `medium`, `high` and `max`.
const EFFORT_TOKENS: [(&str, u64); 5] =
    [("minimal", 1_024), ("low", 2_048), ("medium", 4_096), ("high", 8_192), ("max", 16_384)];
/// The fewest tokens for reasoning that Anthropic and Gemini's larger models accept.
const MIN_TOKENS: u64 = 1_024;

/// A field of a request.
type Field = (String, Value);

/// Returns the value of a parameter under this name of a server. Most are the same everywhere.
pub(super) fn of_server(name: &str, value: &Value) -> Value {
    // Here 0 is the whole context, there nothing.
    if name == "repeat_last_n" && value.as_i64() == Some(0) { (-1).into() } else { value.clone() }
}

/// A dynamic temperature as llama.cpp and KoboldCpp take it: around a temperature.
pub(super) struct DynamicTemperature {
    pub(super) middle: f64,
    pub(super) half_width: f64,
}

impl DynamicTemperature {
    /// Returns it for two bounds. `None` if they are no numbers.
    pub(super) fn of(low: &Value, high: &Value) -> Option<Self> {
        let (low, high) = (low.as_f64()?, high.as_f64()?);
        // Hides the noise of binary fractions: 1.1 instead of 1.1000000000000001.
        let rounded = |number: f64| (number * 1e6).round() / 1e6;
        Some(Self { middle: rounded(f64::midpoint(low, high)), half_width: rounded(((high - low) / 2.0).max(0.0)) })
    }
}

/// Returns the biases as pairs of a text or token number and a bias.
fn bias_list(biases: &Value) -> Vec<(Value, Value)> {
    match biases {
        Value::Object(map) => {
            let target = |name: &str| name.parse::<u64>().map_or_else(|_| name.into(), Value::from);
            map.iter().map(|(name, bias)| (target(name), bias.clone())).collect()
        }
        Value::Array(pairs) => {
            let pair = |pair: &Value| Some((pair.get(0)?.clone(), pair.get(1)?.clone()));
            pairs.iter().filter_map(pair).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns whether all biases are of token numbers, and not of texts.
pub(super) fn are_of_tokens(biases: &Value) -> bool {
    bias_list(biases).iter().all(|(target, _)| target.is_u64())
}

/// Returns biases and bans as llama.cpp takes them: pairs, with `false` for a token that is forbidden.
pub(super) fn bias_pairs(biases: Option<&Value>, bans: Option<&Value>) -> Option<Field> {
    let biases = biases.map(bias_list).unwrap_or_default().into_iter().map(|(target, bias)| json!([target, bias]));
    let bans = bans.and_then(Value::as_array).into_iter().flatten().map(|token| json!([token, false]));
    let pairs: Vec<Value> = biases.chain(bans).collect();
    (!pairs.is_empty()).then(|| ("logit_bias".to_owned(), pairs.into()))
}

/// Returns biases and bans as OpenAI takes them: by token numbers. Texts are left out.
pub(super) fn bias_object(biases: Option<&Value>, bans: Option<&Value>) -> Option<Field> {
    let biases = biases.map(bias_list).unwrap_or_default().into_iter();
    let biases = biases.filter_map(|(target, bias)| Some((target.as_u64()?.to_string(), bias)));
    let bans = bans.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_u64);
    let bans = bans.map(|token| (token.to_string(), BAN.into()));
    let map: Map<String, Value> = biases.chain(bans).collect();
    (!map.is_empty()).then(|| ("logit_bias".to_owned(), map.into()))
}

/// Returns token numbers as one text: `1,2`.
pub(super) fn comma_list(tokens: &Value) -> Value {
    let tokens = tokens.as_array().into_iter().flatten().filter_map(Value::as_u64);
    tokens.map(|token| token.to_string()).collect::<Vec<_>>().join(",").into()
}

/// Returns a JSON schema as OpenAI takes it.
pub(super) fn response_format(schema: &Value) -> [Field; 1] {
    let named = json!({"name": "reply", "schema": schema});
    [("response_format".to_owned(), json!({"type": "json_schema", "json_schema": named}))]
}

/// Returns a JSON schema as Gemini takes it.
pub(super) fn gemini_schema(schema: &Value) -> [Field; 2] {
    [("responseMimeType".to_owned(), "application/json".into()), ("responseJsonSchema".to_owned(), schema.clone())]
}

/// Returns the tokens for reasoning: as set, else those of the effort. `None` if neither is set; 0 = no reasoning.
fn tokens(effort: Option<&str>, budget: Option<u64>) -> Option<u64> {
    let of_effort = |effort: &str| EFFORT_TOKENS.iter().find(|(name, _)| *name == effort).map(|(_, tokens)| *tokens);
    budget.or_else(|| effort.map(|effort| of_effort(effort).unwrap_or(0)))
}

/// Returns the reasoning of a request to OpenRouter, which takes either an effort or tokens.
pub(super) fn open_router_reasoning(effort: Option<&str>, budget: Option<u64>) -> Option<Field> {
    let reasoning = match (budget, effort) {
        (Some(budget), _) => json!({"max_tokens": budget}),
        (None, Some("max")) => json!({"effort": "high"}),
        (None, Some(effort)) => json!({"effort": effort}),
        (None, None) => return None,
    };
    Some(("reasoning".to_owned(), reasoning))
}

/// Returns the thinking of a request to Anthropic. Without any tokens it stays off, which is the default.
pub(super) fn anthropic_thinking(effort: Option<&str>, budget: Option<u64>) -> Option<Field> {
    let tokens = tokens(effort, budget).filter(|tokens| *tokens > 0)?.max(MIN_TOKENS);
    Some(("thinking".to_owned(), json!({"type": "enabled", "budget_tokens": tokens})))
}

/// Returns the thinking of a request to Gemini: a number of tokens up to version 2.5, a level from version 3 on.
pub(super) fn gemini_thinking(model: &str, effort: Option<&str>, budget: Option<u64>) -> Option<Field> {
    let tokens = tokens(effort, budget)?;
    let config = if model_version(model, "gemini").is_some_and(|version| version >= (3, 0)) {
        json!({"thinkingLevel": if tokens <= 2_048 { "low" } else { "high" }})
    } else {
        // The larger models cannot do without.
        let least = if model.contains("pro") { MIN_TOKENS } else { 0 };
        json!({"thinkingBudget": tokens.max(least)})
    };
    Some(("thinkingConfig".to_owned(), config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_values_biases_have_form_of_server() {
        let biases = json!([["Elara", -5], [7, 1.5]]);
        let bans = json!([3]);
        let pairs = bias_pairs(Some(&biases), Some(&bans)).unwrap().1;
        assert_eq!(pairs, json!([["Elara", -5], [7, 1.5], [3, false]]));
        assert_eq!(bias_object(Some(&biases), Some(&bans)).unwrap().1, json!({"7": 1.5, "3": -100}));
        assert_eq!(bias_object(Some(&json!([["Elara", -5]])), None), None);
        assert_eq!(bias_pairs(Some(&json!({"7": 1})), None).unwrap().1, json!([[7, 1]]));
        assert!(!are_of_tokens(&biases) && are_of_tokens(&json!({"7": 1})));
        assert_eq!(comma_list(&json!([1, 22])), "1,22");
    }

    #[test]
    fn parameter_values_reasoning_has_form_of_server() {
        let of = |field: Option<Field>| field.map(|(_, value)| value);
        assert_eq!(of(open_router_reasoning(Some("low"), None)), Some(json!({"effort": "low"})));
        assert_eq!(of(open_router_reasoning(Some("low"), Some(900))), Some(json!({"max_tokens": 900})));
        let thinking = json!({"type": "enabled", "budget_tokens": 1024});
        assert_eq!(of(anthropic_thinking(None, Some(10))), Some(thinking));
        assert_eq!(of(anthropic_thinking(Some("none"), None)), None);
        for (model, effort, expected) in [
            ("gemini-2.5-flash", "none", json!({"thinkingBudget": 0})),
            ("gemini-2.5-pro", "none", json!({"thinkingBudget": 1024})),
            ("gemini-3-pro-preview", "high", json!({"thinkingLevel": "high"})),
        ] {
            assert_eq!(of(gemini_thinking(model, Some(effort), None)), Some(expected), "{model}");
        }
    }

    #[test]
    fn parameter_values_dynamic_temperature_is_around_middle() {
        let range = DynamicTemperature::of(&json!(0.7), &json!(1.5)).unwrap();
        assert_eq!((range.middle, range.half_width), (1.1, 0.4));
        assert_eq!(of_server("repeat_last_n", &json!(0)), json!(-1));
        assert_eq!(of_server("rep_pen_range", &json!(0)), json!(0));
    }
}
