//! How each kind of server names the parameters of [`clotho_core::parameters`], and which it does not take.
//!
//! The table has a column for each [`ParameterDialect`]. A kind of server says which one is its own, so a new kind
//! needs no row here. A parameter that the table does not know is sent as it is, with the server's own name.

use super::{
    Endpoint,
    parameter_rules::model_version,
    parameter_values::{self, DynamicTemperature},
};
use clotho_core::parameters::{PARAMETERS, ParameterSpec};
use serde_json::{Map, Value};

/// A set of names of parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterDialect {
    /// OpenAI itself, and vendors that refuse everything else.
    Vendor,
    /// OpenRouter, which hands more of them on.
    OpenRouter,
    /// A server that speaks like OpenAI and is not known: text-generation-webui, TabbyAPI, vLLM, Aphrodite and many
    /// others. All parameters are sent, under every name that these have.
    Compatible,
    Anthropic,
    Gemini,
    Ollama,
    KoboldCpp,
    LlamaCpp,
    /// Like a vendor, with [`EXCEPTIONS`].
    Mistral,
    /// Like a vendor, with [`EXCEPTIONS`].
    DeepSeek,
    /// Like a vendor, with [`EXCEPTIONS`].
    Cohere,
    /// Like KoboldCpp, with [`EXCEPTIONS`].
    Horde,
}

/// The hosts of vendors that take OpenAI's own parameters and few others.
const VENDOR_HOSTS: [&str; 9] = [
    "api.openai.com",
    "openai.azure.com",
    "api.mistral.ai",
    "api.deepseek.com",
    "api.x.ai",
    "api.groq.com",
    "api.moonshot.ai",
    "api.moonshot.cn",
    "api.cohere.com",
];
/// The names of the order of samplers at different servers.
const SAMPLER_ORDERS: [&str; 3] = ["sampler_order", "samplers", "sampler_priority"];
/// The host of OpenRouter.
const OPEN_ROUTER_HOST: &str = "openrouter.ai";

/// A parameter with its names for [`ParameterDialect`], in the order of its variants. Several names are parted by
/// blanks and all are sent. `=` is our own name, an empty text is not taken.
type NameRow = (&'static str, [&'static str; 8]);

/// The names of all parameters. A word in brackets is made by
/// [`parameter_values`], or is what the server does anyway (`default`).
const NAMES: [NameRow; 54] = [
    // name, vendor, OpenRouter, compatible, Anthropic, Gemini, Ollama, KoboldCpp, llama.cpp
    ("temperature", ["=", "=", "=", "=", "=", "=", "=", "="]),
    ("top_p", ["=", "=", "=", "=", "=", "=", "=", "="]),
    ("top_k", ["", "=", "=", "=", "=", "=", "=", "="]),
    ("min_p", ["", "=", "=", "", "", "=", "=", "="]),
    ("top_a", ["", "=", "=", "", "", "", "=", ""]),
    ("typical_p", ["", "", "=", "", "", "=", "typical", "="]),
    ("tfs", ["", "", "=", "", "", "", "=", ""]),
    ("top_n_sigma", ["", "", "= nsigma", "", "", "", "nsigma", "="]),
    ("temperature_last", ["", "", "=", "", "", "(default)", "(default)", "(default)"]),
    ("repetition_penalty", ["", "=", "= repeat_penalty", "", "", "repeat_penalty", "rep_pen", "repeat_penalty"]),
    (
        "repetition_penalty_range",
        ["", "", "= repeat_last_n", "", "", "repeat_last_n", "rep_pen_range", "repeat_last_n"],
    ),
    ("repetition_penalty_slope", ["", "", "=", "", "", "", "rep_pen_slope", ""]),
    ("repetition_decay", ["", "", "=", "", "", "", "", ""]),
    ("frequency_penalty", ["=", "=", "=", "", "=", "=", "", "="]),
    ("presence_penalty", ["=", "=", "=", "", "=", "=", "=", "="]),
    ("encoder_repetition_penalty", ["", "", "=", "", "", "", "", ""]),
    ("no_repeat_ngram_size", ["", "", "=", "", "", "", "", ""]),
    ("penalty_alpha", ["", "", "=", "", "", "", "", ""]),
    ("dry_multiplier", ["", "", "=", "", "", "", "=", "="]),
    ("dry_base", ["", "", "=", "", "", "", "=", "="]),
    ("dry_allowed_length", ["", "", "=", "", "", "", "=", "="]),
    ("dry_penalty_last_n", ["", "", "= dry_range", "", "", "", "=", "="]),
    ("dry_sequence_breakers", ["", "", "=", "", "", "", "=", "="]),
    ("xtc_probability", ["", "", "=", "", "", "", "=", "="]),
    ("xtc_threshold", ["", "", "=", "", "", "", "=", "="]),
    ("mirostat_mode", ["", "", "= mirostat", "", "", "", "mirostat", "mirostat"]),
    ("mirostat_tau", ["", "", "=", "", "", "", "=", "="]),
    ("mirostat_eta", ["", "", "=", "", "", "", "=", "="]),
    ("dynatemp_low", ["", "", "= dynatemp_min min_temp", "", "", "", "(dynatemp_range)", "(dynatemp_range)"]),
    ("dynatemp_high", ["", "", "= dynatemp_max max_temp", "", "", "", "(dynatemp_range)", "(dynatemp_range)"]),
    ("dynatemp_exponent", ["", "", "= temp_exponent", "", "", "", "=", "="]),
    ("smoothing_factor", ["", "", "=", "", "", "", "=", ""]),
    ("smoothing_curve", ["", "", "=", "", "", "", "=", ""]),
    ("epsilon_cutoff", ["", "", "=", "", "", "", "", ""]),
    ("eta_cutoff", ["", "", "=", "", "", "", "", ""]),
    ("guidance_scale", ["", "", "= cfg_scale", "", "", "", "=", ""]),
    ("negative_prompt", ["", "", "=", "", "", "", "=", ""]),
    ("seed", ["=", "=", "=", "", "=", "=", "sampler_seed", "="]),
    ("stop", ["=", "=", "=", "=", "=", "=", "=", "="]),
    ("logit_bias", ["(logit_bias)", "(logit_bias)", "(logit_bias)", "", "", "", "(logit_bias)", "(logit_bias)"]),
    ("banned_tokens", ["(logit_bias)", "(logit_bias)", "(bans)", "", "", "", "(bans)", "(logit_bias)"]),
    ("banned_strings", ["", "", "=", "", "", "", "banned_tokens", ""]),
    ("min_tokens", ["", "", "=", "", "", "", "", ""]),
    ("ban_eos_token", ["", "", "= ignore_eos", "", "", "", "= use_default_badwordsids", "ignore_eos"]),
    ("add_bos_token", ["", "", "=", "", "", "", "", ""]),
    ("skip_special_tokens", ["", "", "=", "", "", "", "", ""]),
    ("grammar", ["", "", "= grammar_string guided_grammar", "", "", "", "=", "="]),
    ("json_schema", ["(schema)", "(schema)", "(schema)", "", "(schema)", "format", "", "="]),
    ("reasoning_effort", ["=", "(reasoning)", "=", "(reasoning)", "(reasoning)", "", "", ""]),
    ("reasoning_budget", ["", "(reasoning)", "thinking_budget", "(reasoning)", "(reasoning)", "", "", ""]),
    ("verbosity", ["=", "=", "=", "", "", "", "", ""]),
    ("sampler_order", ["", "", "=", "", "", "", "=", ""]),
    ("samplers", ["", "", "=", "", "", "", "", "="]),
    ("sampler_priority", ["", "", "=", "", "", "", "", ""]),
];

/// What differs at servers without a column of their own.
const EXCEPTIONS: [(ParameterDialect, &str, &str); 29] = [
    (ParameterDialect::Mistral, "logit_bias", ""),
    (ParameterDialect::Mistral, "banned_tokens", ""),
    (ParameterDialect::Mistral, "reasoning_effort", ""),
    (ParameterDialect::Mistral, "verbosity", ""),
    (ParameterDialect::DeepSeek, "seed", ""),
    (ParameterDialect::DeepSeek, "logit_bias", ""),
    (ParameterDialect::DeepSeek, "banned_tokens", ""),
    (ParameterDialect::DeepSeek, "verbosity", ""),
    (ParameterDialect::Cohere, "top_k", "="),
    (ParameterDialect::Cohere, "logit_bias", ""),
    (ParameterDialect::Cohere, "banned_tokens", ""),
    (ParameterDialect::Cohere, "json_schema", ""),
    (ParameterDialect::Cohere, "reasoning_effort", ""),
    (ParameterDialect::Cohere, "verbosity", ""),
    (ParameterDialect::Horde, "seed", ""),
    (ParameterDialect::Horde, "presence_penalty", ""),
    (ParameterDialect::Horde, "logit_bias", ""),
    (ParameterDialect::Horde, "banned_tokens", ""),
    (ParameterDialect::Horde, "banned_strings", ""),
    (ParameterDialect::Horde, "grammar", ""),
    (ParameterDialect::Horde, "top_n_sigma", ""),
    (ParameterDialect::Horde, "dry_multiplier", ""),
    (ParameterDialect::Horde, "xtc_probability", ""),
    (ParameterDialect::Horde, "xtc_threshold", ""),
    (ParameterDialect::Horde, "mirostat_mode", ""),
    (ParameterDialect::Horde, "smoothing_curve", ""),
    (ParameterDialect::Horde, "guidance_scale", ""),
    (ParameterDialect::Horde, "negative_prompt", ""),
    (ParameterDialect::Horde, "ban_eos_token", "use_default_badwordsids"),
];

impl ParameterDialect {
    /// Returns the names at a server that speaks like OpenAI: those of a known vendor, else all.
    pub(super) fn of_host(endpoint: &Endpoint) -> Self {
        let host = endpoint.url(&[]).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
        let is = |vendor: &str| host.strip_suffix(vendor).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        match host.as_str() {
            host if is(OPEN_ROUTER_HOST) && !host.is_empty() => Self::OpenRouter,
            _ if VENDOR_HOSTS.iter().any(|vendor| is(vendor)) => Self::Vendor,
            _ => Self::Compatible,
        }
    }

    /// Returns the dialect whose column of the table counts.
    const fn column(self) -> Self {
        match self {
            Self::Mistral | Self::DeepSeek | Self::Cohere => Self::Vendor,
            Self::Horde => Self::KoboldCpp,
            own => own,
        }
    }

    /// Returns whether a server has defaults that are not neutral, so that it needs to be told also a neutral value.
    pub(super) const fn has_own_defaults(self) -> bool {
        matches!(self.column(), Self::Ollama | Self::KoboldCpp | Self::LlamaCpp)
    }

    /// Returns the names of a parameter as the table has them. `None` if the table does not have the parameter.
    fn cell(self, name: &str) -> Option<&'static str> {
        let differs = EXCEPTIONS.iter().find(|(dialect, ours, _)| *dialect == self && *ours == name);
        if let Some((_, _, names)) = differs {
            return Some(names);
        }
        let (_, names) = NAMES.iter().find(|(ours, _)| *ours == name)?;
        let at = match self.column() {
            Self::OpenRouter => 1,
            Self::Compatible => 2,
            Self::Anthropic => 3,
            Self::Gemini => 4,
            Self::Ollama => 5,
            Self::KoboldCpp => 6,
            Self::LlamaCpp => 7,
            _ => 0,
        };
        names.get(at).copied()
    }

    /// Returns whether the table has a parameter.
    pub(super) fn knows(self, name: &str) -> bool {
        self.cell(name).is_some()
    }

    /// Returns whether a model takes a parameter. Parameters that the table does not have count as taken.
    pub(super) fn takes(self, model: &str, name: &str) -> bool {
        match self.cell(name) {
            None => true,
            Some("") => false,
            Some("(reasoning)") => match self {
                Self::Anthropic => model_version(model, "claude").is_some_and(|version| version >= (3, 7)),
                Self::Gemini => model_version(model, "gemini").is_some_and(|version| version >= (2, 5)),
                _ => true,
            },
            Some(_) => true,
        }
    }

    /// Returns those of some parameters that change something and that a model does not take, in the order of the
    /// table. Of parameters that only work together, the one that turns the others on stands for all.
    pub(super) fn not_taken(self, model: &str, params: &Map<String, Value>) -> Vec<&'static str> {
        let is_set = |spec: &ParameterSpec| {
            params.get(spec.name).is_some_and(|value| !value.is_null() && !spec.is_neutral(value))
        };
        let stands_alone = |spec: &ParameterSpec| {
            spec.switch
                .is_none_or(|switch| self.takes(model, switch) || !ParameterSpec::of(switch).is_some_and(&is_set))
        };
        // Presets have an order for each server. One is enough.
        let has_order = SAMPLER_ORDERS.iter().any(|name| params.contains_key(*name) && self.takes(model, name));
        let is_spare = |name: &str| has_order && SAMPLER_ORDERS.contains(&name);
        let left_out = PARAMETERS.iter().filter(|spec| is_set(spec) && stands_alone(spec) && !is_spare(spec.name));
        left_out
            .filter(|spec| !self.takes(model, spec.name) || self.loses(spec.name, params))
            .map(|spec| spec.name)
            .collect()
    }

    /// Returns whether a part of a value cannot be sent: biases of texts, to servers that know only token numbers.
    fn loses(self, name: &str, params: &Map<String, Value>) -> bool {
        let biases = params.get(name).filter(|_| name == "logit_bias" && self != Self::LlamaCpp);
        biases.is_some_and(|biases| !parameter_values::are_of_tokens(biases))
    }

    /// Returns the pairs of our names and the server's, without those that have another form there.
    pub(super) fn pairs(self) -> Vec<(&'static str, &'static str)> {
        let cells = NAMES.iter().filter_map(|(ours, _)| Some((*ours, self.cell(ours)?)));
        let names = cells.flat_map(|(ours, cell)| cell.split_whitespace().map(move |theirs| (ours, theirs)));
        names.filter(|(_, theirs)| *theirs != "=" && !theirs.starts_with('(')).collect()
    }

    /// Returns parameters under the names of a server, without those that a model does not take. A value under the
    /// server's own name stays and counts.
    pub(super) fn translate(self, model: &str, params: &Map<String, Value>) -> Map<String, Value> {
        let mut sent = Map::new();
        let is_own = |name: &str| params.get(name).is_some_and(|value| !value.is_null()) && self.cell(name).is_none();
        for (name, value) in params {
            let Some(cell) = self.cell(name).filter(|_| !value.is_null()) else {
                // Null removes a field of the settings, whatever its name is.
                let all =
                    self.cell(name).unwrap_or_default().split_whitespace().filter(|theirs| !theirs.starts_with('('));
                for theirs in all.filter(|theirs| *theirs != "=" && !is_own(theirs)) {
                    sent.entry(theirs).or_insert(Value::Null);
                }
                sent.insert(name.clone(), value.clone());
                continue;
            };
            if !self.takes(model, name) {
                continue;
            }
            if cell.starts_with('(') {
                let is_ours = ParameterSpec::of(name).is_some_and(|spec| spec.value.accepts(value));
                if !is_ours {
                    sent.insert(name.clone(), value.clone());
                }
                continue;
            }
            for theirs in cell.split_whitespace().map(|theirs| if theirs == "=" { name } else { theirs }) {
                if theirs == name || !is_own(theirs) {
                    sent.insert(theirs.to_owned(), self.value_at_server(theirs, value));
                }
            }
        }
        self.add_made(model, params, &mut sent);
        sent
    }

    /// Returns a value as a server takes it. The strongest effort has no word of its own at servers that speak like OpenAI.
    fn value_at_server(self, name: &str, value: &Value) -> Value {
        let speaks_like_openai = matches!(self.column(), Self::Vendor | Self::Compatible);
        match value.as_str() {
            Some("max") if speaks_like_openai && name == "reasoning_effort" => "high".into(),
            _ => parameter_values::of_server(name, value),
        }
    }

    /// Adds what has another form at the server.
    fn add_made(self, model: &str, params: &Map<String, Value>, sent: &mut Map<String, Value>) {
        let valid = |name: &str| {
            let spec = ParameterSpec::of(name)?;
            params.get(name).filter(|value| spec.value.accepts(value) && self.takes(model, name))
        };
        let mut made = Map::new();
        if let (Some(low), Some(high)) = (valid("dynatemp_low"), valid("dynatemp_high")) {
            match self.column() {
                Self::KoboldCpp | Self::LlamaCpp => {
                    if let Some(range) = DynamicTemperature::of(low, high) {
                        // The range is around the temperature.
                        sent.insert("temperature".to_owned(), range.middle.into());
                        made.insert("dynatemp_range".to_owned(), range.half_width.into());
                    }
                }
                Self::Compatible => _ = made.insert("dynamic_temperature".to_owned(), true.into()),
                _ => {}
            }
        }
        let (biases, bans) = (valid("logit_bias"), valid("banned_tokens"));
        match self.column() {
            Self::LlamaCpp => made.extend(parameter_values::bias_pairs(biases, bans)),
            Self::Compatible | Self::KoboldCpp => {
                made.extend(parameter_values::bias_object(biases, None));
                let is_kobold = self.column() == Self::KoboldCpp;
                made.extend(bans.map(|bans| ("custom_token_bans".to_owned(), parameter_values::comma_list(bans))));
                made.extend(bans.filter(|_| !is_kobold).map(|bans| ("banned_tokens".to_owned(), bans.clone())));
            }
            _ => made.extend(parameter_values::bias_object(biases, bans)),
        }
        if let Some(schema) = valid("json_schema") {
            match self.column() {
                Self::Gemini => made.extend(parameter_values::gemini_schema(schema)),
                Self::Vendor | Self::OpenRouter => made.extend(parameter_values::response_format(schema)),
                Self::Compatible => {
                    made.extend(parameter_values::response_format(schema));
                    made.insert("json_schema".to_owned(), schema.clone());
                }
                _ => {}
            }
        }
        let effort = valid("reasoning_effort").and_then(Value::as_str);
        let budget = valid("reasoning_budget").and_then(Value::as_u64);
        match self.column() {
            Self::OpenRouter => made.extend(parameter_values::open_router_reasoning(effort, budget)),
            Self::Anthropic => made.extend(parameter_values::anthropic_thinking(effort, budget)),
            Self::Gemini => made.extend(parameter_values::gemini_thinking(model, effort, budget)),
            _ => {}
        }
        for (name, value) in made {
            sent.entry(name).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ParameterChange, ProviderClient, ProviderKind, Request};
    use serde_json::json;

    fn client(kind: &str, base: &str) -> ProviderClient {
        ProviderClient::new(ProviderKind::from_name(kind).unwrap(), Endpoint::new("a", base))
    }

    fn request(model: &str, params: &Value) -> Request {
        Request { model: model.into(), params: params.as_object().unwrap().clone(), ..Request::default() }
    }

    /// Returns the fields of a body that are not about the prompt.
    fn fields(kind: &str, base: &str, model: &str, params: &Value) -> Value {
        let mut body = client(kind, base).wire_body(&request(model, params));
        let prompt = ["model", "messages", "contents", "prompt", "stream", "stream_options", "trim_stop", "quiet"];
        for name in prompt.iter().chain(&["stop", "stop_sequence", "cache_prompt"]) {
            body.as_object_mut().unwrap().shift_remove(*name);
        }
        body
    }

    /// A kind with a server of its own has its names wherever that server is, and names what it does not take.
    #[test]
    fn parameter_of_vendor_kind_has_its_name_behind_any_address() {
        let base = "http://gateway/v1";
        let asked = json!({"top_k": 40, "seed": 7, "logit_bias": {"5": 1}, "repetition_penalty": 1.1});
        let left_out = |kind: &str| client(kind, base).not_taken("m", asked.as_object().unwrap());
        assert_eq!(fields("cohere", base, "m", &asked), json!({"k": 40, "seed": 7}));
        assert_eq!(left_out("cohere"), ["repetition_penalty", "logit_bias"]);
        assert_eq!(fields("mistral", base, "m", &asked), json!({"random_seed": 7}));
        assert_eq!(left_out("mistral"), ["top_k", "repetition_penalty", "logit_bias"]);
        assert_eq!(left_out("deepseek"), ["top_k", "repetition_penalty", "seed", "logit_bias"]);
        assert_eq!(left_out("azure"), ["top_k", "repetition_penalty"]);
        assert_eq!(left_out("horde"), ["seed", "logit_bias"]);
        let most = json!({"reasoning_effort": "max"});
        assert_eq!(fields("openai", "https://api.openai.com/v1", "m", &most), json!({"reasoning_effort": "high"}));
    }

    /// Everything that a preset can ask for.
    fn everything() -> Value {
        json!({
            "temperature": 0.7, "top_k": 40, "min_p": 0.05, "top_a": 0.2, "typical_p": 0.9, "tfs": 0.95,
            "top_n_sigma": 1.5, "repetition_penalty": 1.1, "repetition_penalty_range": 0, "frequency_penalty": 0.5,
            "dry_multiplier": 0.8, "dry_base": 1.75, "xtc_probability": 0.5, "xtc_threshold": 0.1,
            "mirostat_mode": 2, "mirostat_tau": 5, "smoothing_factor": 0.2, "seed": 7,
            "banned_tokens": [3], "banned_strings": ["spine"], "logit_bias": [["Elara", -5], [9, 2]],
            "ban_eos_token": true, "grammar": "root ::= \"a\"", "reasoning_effort": "low",
            "sampler_order": [0, 1], "samplers": ["dry", "top_k"],
        })
    }

    #[test]
    fn parameters_reach_text_completion_servers_under_their_names() {
        let llamacpp = json!({
            "temperature": 0.7, "top_k": 40, "min_p": 0.05, "typical_p": 0.9, "top_n_sigma": 1.5,
            "repeat_penalty": 1.1, "repeat_last_n": -1, "frequency_penalty": 0.5, "dry_multiplier": 0.8,
            "dry_base": 1.75, "xtc_probability": 0.5, "xtc_threshold": 0.1, "mirostat": 2, "mirostat_tau": 5, "seed": 7,
            "logit_bias": [["Elara", -5], [9, 2], [3, false]], "ignore_eos": true, "grammar": "root ::= \"a\"",
            "samplers": ["dry", "top_k"],
        });
        assert_eq!(fields("llamacpp", "http://a", "m", &everything()), llamacpp);
        let koboldcpp = json!({
            "temperature": 0.7, "top_k": 40, "min_p": 0.05, "top_a": 0.2, "typical": 0.9, "tfs": 0.95, "nsigma": 1.5,
            "rep_pen": 1.1, "rep_pen_range": 0, "dry_multiplier": 0.8, "dry_base": 1.75, "xtc_probability": 0.5,
            "xtc_threshold": 0.1, "mirostat": 2, "mirostat_tau": 5, "smoothing_factor": 0.2, "sampler_seed": 7,
            "logit_bias": {"9": 2}, "custom_token_bans": "3", "banned_tokens": ["spine"], "ban_eos_token": true,
            "use_default_badwordsids": true, "grammar": "root ::= \"a\"", "sampler_order": [0, 1],
        });
        assert_eq!(fields("koboldcpp", "http://a", "m", &everything()), koboldcpp);
        let range = json!({"temperature": 1, "dynatemp_low": 0.5, "dynatemp_high": 1.5});
        for kind in ["llamacpp", "koboldcpp"] {
            assert_eq!(fields(kind, "http://a", "m", &range), json!({"temperature": 1.0, "dynatemp_range": 0.5}));
        }
    }

    #[test]
    fn parameters_reach_chat_servers_under_their_names() {
        let ollama = json!({"options": {"temperature": 0.7, "top_k": 40, "min_p": 0.05, "typical_p": 0.9,
            "repeat_penalty": 1.1, "repeat_last_n": -1, "frequency_penalty": 0.5, "seed": 7}});
        assert_eq!(fields("ollama", "http://a", "m", &everything()), ollama);
        let claude = json!({"max_tokens": 4096, "top_k": 40, "temperature": 0.7});
        assert_eq!(fields("anthropic", "http://a", "claude-3-5-sonnet-20241022", &everything()), claude);
        let thinking = json!({"max_tokens": 4096, "thinking": {"type": "enabled", "budget_tokens": 2048}});
        assert_eq!(fields("anthropic", "http://a", "claude-sonnet-4-5", &everything()), thinking);
        let gemini = json!({"generationConfig": {"temperature": 0.7, "topK": 40, "frequencyPenalty": 0.5, "seed": 7,
            "thinkingConfig": {"thinkingBudget": 2048}}});
        assert_eq!(fields("gemini", "http://a", "gemini-2.5-flash", &everything()), gemini);
        let vendor = json!({"temperature": 0.7, "frequency_penalty": 0.5, "seed": 7, "reasoning_effort": "low",
            "logit_bias": {"9": 2, "3": -100}});
        assert_eq!(fields("openai", "https://api.openai.com/v1", "gpt-5", &everything()), vendor);
        let router = json!({"temperature": 0.7, "top_k": 40, "min_p": 0.05, "top_a": 0.2, "repetition_penalty": 1.1,
            "frequency_penalty": 0.5, "seed": 7, "logit_bias": {"9": 2, "3": -100}, "reasoning": {"effort": "low"}});
        assert_eq!(fields("openai", "https://openrouter.ai/api/v1", "x/y", &everything()), router);
    }

    /// A server that is not known gets every parameter, under the names of all such servers.
    #[test]
    fn parameters_reach_compatible_server_under_all_names() {
        let body = fields("openai", "http://127.0.0.1:5000/v1", "m", &everything());
        for (name, value) in everything().as_object().unwrap() {
            if name != "logit_bias" {
                assert_eq!(body.get(name), Some(value), "{name}");
            }
        }
        for (name, value) in [
            ("repeat_penalty", json!(1.1)),
            ("repeat_last_n", json!(-1)),
            ("nsigma", json!(1.5)),
            ("mirostat", json!(2)),
            ("grammar_string", json!("root ::= \"a\"")),
            ("custom_token_bans", json!("3")),
            ("logit_bias", json!({"9": 2})),
        ] {
            assert_eq!(body[name], value, "{name}");
        }
        let range = json!({"dynatemp_low": 0.5, "dynatemp_high": 1.5});
        let body = fields("openai", "http://127.0.0.1:5000/v1", "m", &range);
        assert_eq!((&body["dynamic_temperature"], &body["max_temp"]), (&json!(true), &json!(1.5)));
    }

    #[test]
    fn parameters_json_schema_has_form_of_server() {
        let (schema, base) = (json!({"type": "object"}), "http://a");
        let params = json!({"json_schema": schema});
        let format = json!({"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}});
        assert_eq!(fields("openai", "https://api.openai.com/v1", "m", &params), json!({"response_format": format}));
        assert_eq!(fields("llamacpp", base, "m", &params), json!({"json_schema": schema}));
        assert_eq!(fields("ollama", base, "m", &params)["format"], schema);
        let gemini = json!({"responseMimeType": "application/json", "responseJsonSchema": schema});
        assert_eq!(fields("gemini", base, "m", &params)["generationConfig"], gemini);
    }

    /// A value under the server's own name counts, and null removes a field of the settings.
    #[test]
    fn parameters_under_own_names_of_server_stay() {
        let own = json!({"repetition_penalty": 1.1, "rep_pen": 1.3, "odd": 1, "banned_tokens": ["a"]});
        let expected = json!({"rep_pen": 1.3, "odd": 1, "banned_tokens": ["a"]});
        assert_eq!(fields("koboldcpp", "http://a", "m", &own), expected);
        let extra = json!({"rep_pen": 1.2}).as_object().unwrap().clone();
        let endpoint = Endpoint { extra, ..Endpoint::new("a", "http://a") };
        let client = ProviderClient::new(ProviderKind::from_name("koboldcpp").unwrap(), endpoint);
        assert_eq!(client.wire_body(&request("m", &json!({"repetition_penalty": null}))).get("rep_pen"), None);
        assert_eq!(client.wire_body(&request("m", &json!({"repetition_penalty": 1.4})))["rep_pen"], 1.4);
    }

    #[test]
    fn parameters_that_server_does_not_take_are_named() {
        let not_taken = |kind: &str, base: &str, model: &str, params: Value| {
            client(kind, base).not_taken(model, params.as_object().unwrap()).join(" ")
        };
        assert_eq!(not_taken("openai", "http://a", "m", json!({"dry_multiplier": 1, "tfs": 0.9})), "");
        assert_eq!(not_taken("openai", "http://a", "m", json!({"logit_bias": [["Elara", -5]]})), "logit_bias");
        let claude = "claude-3-5-sonnet";
        let told = not_taken("anthropic", "http://a", claude, everything());
        assert!(told.starts_with("min_p top_a typical_p") && told.contains("reasoning_effort"), "{told}");
        assert!(told.contains("dry_multiplier") && !told.contains("dry_base"), "one of a group stands for all: {told}");
        let neutral = json!({"min_p": 0, "repetition_penalty": 1.0, "tfs": null, "temperature": 1});
        assert_eq!(not_taken("anthropic", "http://a", claude, neutral), "");
        let orders = json!({"sampler_order": [1], "samplers": ["dry"]});
        assert_eq!(not_taken("llamacpp", "http://a", "m", orders), "");
    }

    /// The trace has our names and what is sent of them.
    #[test]
    fn parameters_are_told_under_our_names() {
        let params = json!({"repetition_penalty": 1.1, "tfs": 0.9, "reasoning_effort": "low", "seed": 7});
        let told =
            |kind: &str, model: &str| Value::Object(client(kind, "http://a").wire_params(&request(model, &params)));
        assert_eq!(told("anthropic", "claude-sonnet-4-5"), json!({"reasoning_effort": "low"}));
        assert_eq!(told("llamacpp", "m"), json!({"repetition_penalty": 1.1, "seed": 7}));
        let change = ParameterChange::LeftOut { parameter: "repeat_penalty".into(), words: "no".into() };
        let changed = client("llamacpp", "http://a").changed_params(&request("m", &params), &[change]);
        assert_eq!(Value::Object(changed), json!({"seed": 7}));
    }

    #[test]
    fn parameter_names_have_row_for_each_parameter() {
        for spec in PARAMETERS {
            assert!(ParameterDialect::Compatible.takes("m", spec.name), "{}", spec.name);
            assert!(NAMES.iter().any(|(name, _)| *name == spec.name), "{}", spec.name);
        }
    }
}
