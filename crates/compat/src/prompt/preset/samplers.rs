//! Reads the parameters of presets of every kind: chat completion, text completion (text-generation-webui and the
//! servers like it), KoboldAI and NovelAI. Each kind has names of its own; the result has those of
//! [`clotho_core::parameters`].
//!
//! To add a parameter: add its names to [`NAMES`]. One that is written in a form of its own gets a function.

use clotho_core::parameters::{PARAMETERS, ParameterType, remove_idle};
use serde_json::{Map, Value, json};

use super::Preset;
use super::setting_values::{integer, number, truth};

/// The kinds of presets that have only parameters, and no prompts.
const SAMPLER_KINDS: [&str; 3] = ["textgen", "kobold", "novel"];

/// The names of parameters in presets, beside our own. Parameters with a form of their own are not here.
const NAMES: [(&str, &[&str]); 24] = [
    ("temperature", &["temp"]),
    ("typical_p", &["typical"]),
    ("tfs", &["tail_free_sampling", "tfs_z"]),
    ("top_n_sigma", &["nsigma"]),
    ("repetition_penalty", &["rep_pen", "repeat_penalty"]),
    ("repetition_penalty_range", &["rep_pen_range", "repeat_last_n"]),
    ("repetition_penalty_slope", &["rep_pen_slope"]),
    ("repetition_decay", &["rep_pen_decay"]),
    ("frequency_penalty", &["freq_pen", "repetition_penalty_frequency"]),
    ("presence_penalty", &["presence_pen", "repetition_penalty_presence"]),
    ("encoder_repetition_penalty", &["encoder_rep_pen"]),
    ("mirostat_mode", &["mirostat"]),
    ("mirostat_eta", &["mirostat_lr"]),
    ("dynatemp_low", &["dynatemp_min", "min_temp"]),
    ("dynatemp_high", &["dynatemp_max", "max_temp"]),
    ("dynatemp_exponent", &["temp_exponent"]),
    ("guidance_scale", &["cfg_scale"]),
    ("seed", &["sampler_seed"]),
    ("min_tokens", &["min_length"]),
    ("ban_eos_token", &["ignore_eos"]),
    ("grammar", &["grammar_string"]),
    ("json_schema", &["guided_json"]),
    ("reasoning_budget", &["thinking_budget"]),
    ("stop", &["stopping_strings", "stop_sequence", "custom_stopping_strings"]),
];

/// The order of samplers that SillyTavern writes into every preset. It is the server's own.
const USUAL_ORDER: [u64; 7] = [6, 0, 1, 3, 4, 2, 5];

/// Returns the parameters of a preset of a kind, as a story can take them over: with the length of replies. `None` if
/// presets of this kind have none.
pub fn parameters_of(kind: &str, body: &Map<String, Value>) -> Option<Map<String, Value>> {
    let (mut samplers, length) = match kind {
        "openai" => {
            let preset = Preset::read(body).ok()?;
            (preset.samplers, preset.settings.reply)
        }
        // The length of replies is not in NovelAI's own files under this name.
        kind if SAMPLER_KINDS.contains(&kind) => (samplers(body), length(body, &["genamt", "max_new_tokens"])),
        _ => return None,
    };
    samplers.extend(length.map(|tokens| ("max_tokens".to_owned(), tokens.into())));
    Some(samplers)
}

fn length(body: &Map<String, Value>, names: &[&str]) -> Option<usize> {
    let tokens = names.iter().find_map(|name| body.get(*name).and_then(integer))?;
    usize::try_from(tokens).ok().filter(|tokens| *tokens > 0)
}

/// Returns the parameters of a preset. Those that change nothing are left out, unless a server may need them against
/// its own defaults.
pub(super) fn samplers(map: &Map<String, Value>) -> Map<String, Value> {
    let mut samplers = Map::new();
    for spec in PARAMETERS {
        let read = |value: &Value| read(spec.name, spec.value, value);
        let names = NAMES.iter().find(|(name, _)| *name == spec.name).map_or(&[][..], |(_, names)| names);
        let value = std::iter::once(&spec.name).chain(names).find_map(|name| map.get(*name).and_then(read));
        samplers.extend(value.map(|value| (spec.name.to_owned(), value)));
    }
    if is_off(map, "dynatemp") || is_off(map, "dynamic_temperature") {
        samplers.retain(|name, _| !name.starts_with("dynatemp_"));
    }
    add_bans(map, &mut samplers);
    if let Some(biases) = biases(map) {
        samplers.insert("logit_bias".to_owned(), biases);
    }
    samplers.retain(|name, value| name != "sampler_order" || *value != json!(USUAL_ORDER));
    remove_idle(&mut samplers, true);
    samplers
}

/// Returns whether a preset has a switch, and it is off.
fn is_off(map: &Map<String, Value>, name: &str) -> bool {
    map.get(name).and_then(truth) == Some(false)
}

/// Reads a value in any form in which programs write it. `None` if it is of another type, or says nothing.
fn read(name: &str, wanted: ParameterType, value: &Value) -> Option<Value> {
    match wanted {
        ParameterType::Number(..) => number(value).map(Value::Number),
        // A seed below 0 is a random one.
        ParameterType::Integer(..) => integer(value).filter(|seed| name != "seed" || *seed >= 0).map(Value::from),
        ParameterType::Flag => truth(value).map(Value::from),
        ParameterType::Text => value.as_str().filter(|text| !text.trim().is_empty()).map(Value::from),
        ParameterType::Word(words) => {
            let word = match value.as_str()? {
                "min" => "minimal",
                "max" => "high",
                word => word,
            };
            words.contains(&word).then(|| word.into())
        }
        ParameterType::Texts => texts(value).map(Value::from),
        ParameterType::Object => object(value),
        ParameterType::List => value.as_array().filter(|list| !list.is_empty()).map(|list| list.clone().into()),
        // These have fields of their own.
        ParameterType::Tokens | ParameterType::Biases => None,
    }
}

/// Reads a list of texts: a list, a JSON list in a text, or such a list without its brackets.
fn texts(value: &Value) -> Option<Vec<String>> {
    let list = match value {
        Value::Array(list) => list.clone(),
        Value::String(text) if text.trim_start().starts_with('[') => serde_json::from_str(text).ok()?,
        Value::String(text) if text.trim_start().starts_with('"') => serde_json::from_str(&format!("[{text}]")).ok()?,
        Value::String(text) => vec![text.as_str().into()],
        _ => return None,
    };
    let texts = list.into_iter().filter_map(|text| text.as_str().filter(|text| !text.is_empty()).map(str::to_owned));
    Some(texts.collect::<Vec<_>>()).filter(|texts| !texts.is_empty())
}

/// Reads an object, also as a text. An empty one says nothing.
fn object(value: &Value) -> Option<Value> {
    let parsed = value.as_str().map(|text| serde_json::from_str(text).unwrap_or_default());
    let object = parsed.as_ref().unwrap_or(value);
    object.as_object().filter(|fields| !fields.is_empty())?;
    Some(object.clone())
}

/// Adds what is forbidden: texts and token numbers. SillyTavern has one line for each: `"text"` or `[1, 2]`.
fn add_bans(map: &Map<String, Value>, samplers: &mut Map<String, Value>) {
    if is_off(map, "send_banned_tokens") {
        return;
    }
    let (mut strings, mut tokens) = (Vec::new(), Vec::new());
    let mut add = |entry: &Value| match entry {
        Value::Number(_) => tokens.extend(entry.as_u64()),
        Value::String(line) => match serde_json::from_str::<Value>(line.trim()) {
            Ok(Value::Array(list)) => tokens.extend(list.iter().filter_map(Value::as_u64)),
            Ok(Value::String(text)) => strings.push(text),
            Ok(Value::Number(token)) => tokens.extend(token.as_u64()),
            _ if line.trim().is_empty() => {}
            _ => strings.push(line.trim().to_owned()),
        },
        _ => {}
    };
    for name in ["banned_strings", "banned_tokens", "global_banned_tokens"] {
        match map.get(name) {
            Some(Value::String(text)) => text.lines().for_each(|line| add(&line.into())),
            Some(Value::Array(list)) => list.iter().for_each(&mut add),
            _ => {}
        }
    }
    if let Some(Value::String(numbers)) = map.get("custom_token_bans") {
        numbers.split(',').for_each(|token| add(&token.into()));
    }
    strings.retain(|text| !text.is_empty());
    samplers.shift_remove("banned_strings");
    if !strings.is_empty() {
        samplers.insert("banned_strings".to_owned(), strings.into());
    }
    if !tokens.is_empty() {
        samplers.insert("banned_tokens".to_owned(), tokens.into());
    }
}

/// Returns the biases of tokens and texts: the field itself, or the list that is chosen among those of the preset.
fn biases(map: &Map<String, Value>) -> Option<Value> {
    let chosen = || map.get("bias_presets")?.get(map.get("bias_preset_selected")?.as_str()?);
    match map.get("logit_bias").or_else(chosen)? {
        Value::Object(biases) => (!biases.is_empty()).then(|| biases.clone().into()),
        Value::Array(list) => {
            let pairs: Vec<Value> = list.iter().flat_map(bias_pairs).collect();
            (!pairs.is_empty()).then(|| pairs.into())
        }
        _ => None,
    }
}

/// Returns the pairs of one entry: `{text, value}`, or a pair. A text such as `[1, 2]` stands for token numbers.
fn bias_pairs(entry: &Value) -> Vec<Value> {
    let target = entry.get("text").or_else(|| entry.get(0));
    let bias = entry.get("value").or_else(|| entry.get(1)).and_then(|bias| number(bias).map(Value::Number));
    let (Some(target), Some(bias)) = (target, bias) else { return Vec::new() };
    match target {
        Value::Number(_) => vec![json!([target, bias])],
        Value::String(text) => match serde_json::from_str::<Vec<u64>>(text.trim()) {
            Ok(tokens) => tokens.into_iter().map(|token| json!([token, bias])).collect(),
            Err(_) if text.is_empty() => Vec::new(),
            // In braces it is taken as it is written.
            Err(_) => {
                let braced = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
                vec![json!([braced.unwrap_or(text), bias])]
            }
        },
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_samplers(body: Value) -> Value {
        Value::Object(samplers(body.as_object().unwrap()))
    }

    /// A file as SillyTavern saves it for text completion.
    #[test]
    fn preset_samplers_of_text_completion_are_read() {
        let body: Value = serde_json::from_str(
            r#"{
            "temp": 1.1, "temperature_last": true, "top_p": 1, "top_k": 0, "top_a": 0, "tfs": 1, "epsilon_cutoff": 0,
            "eta_cutoff": 0, "typical_p": 1, "min_p": 0.05, "rep_pen": 1.05, "rep_pen_range": 2048, "rep_pen_decay": 0,
            "rep_pen_slope": 1, "no_repeat_ngram_size": 0, "penalty_alpha": 0, "num_beams": 1, "length_penalty": 1,
            "min_length": 0, "encoder_rep_pen": 1, "freq_pen": 0, "presence_pen": 0, "skew": 0, "do_sample": true,
            "early_stopping": false, "dynatemp": false, "min_temp": 0.5, "max_temp": 3, "dynatemp_exponent": 1,
            "smoothing_factor": 0.2, "smoothing_curve": 1.5, "dry_allowed_length": 2, "dry_multiplier": 0.8,
            "dry_base": 1.75, "dry_sequence_breakers": "[\"\\n\", \":\"]", "dry_penalty_last_n": 0,
            "add_bos_token": true, "ban_eos_token": false, "skip_special_tokens": true, "mirostat_mode": 0,
            "mirostat_tau": 5, "mirostat_eta": 0.1, "guidance_scale": 1, "negative_prompt": "", "grammar_string": "",
            "json_schema": {}, "banned_tokens": "\"shivers\"\n[12, 13]\nspine", "sampler_order": [6, 0, 1, 3, 4, 2, 5],
            "samplers": ["penalties", "dry", "top_k", "temperature"], "xtc_threshold": 0.1, "xtc_probability": 0.5,
            "logit_bias": [{"id": "a", "text": "Elara", "value": -5}, {"id": "b", "text": "[7]", "value": 2}],
            "genamt": 350, "max_length": 8192, "seed": -1
        }"#,
        )
        .unwrap();
        let expected = json!({
            "temperature": 1.1, "temperature_last": true, "top_p": 1, "top_k": 0, "min_p": 0.05,
            "repetition_penalty": 1.05, "repetition_penalty_range": 2048, "repetition_penalty_slope": 1,
            "frequency_penalty": 0, "presence_penalty": 0, "smoothing_factor": 0.2, "smoothing_curve": 1.5,
            "dry_multiplier": 0.8, "dry_base": 1.75, "dry_allowed_length": 2, "dry_sequence_breakers": ["\n", ":"],
            "xtc_probability": 0.5, "xtc_threshold": 0.1, "banned_strings": ["shivers", "spine"],
            "banned_tokens": [12, 13], "logit_bias": [["Elara", -5], [7, 2]],
            "samplers": ["penalties", "dry", "top_k", "temperature"],
        });
        assert_eq!(read_samplers(body.clone()), expected);
        let taken = parameters_of("textgen", body.as_object().unwrap()).unwrap();
        assert_eq!((&taken["max_tokens"], taken.len()), (&json!(350), expected.as_object().unwrap().len() + 1));
    }

    #[test]
    fn preset_samplers_of_koboldai_and_novelai_are_read() {
        let kobold = json!({"temp": 0.7, "top_p": 0.9, "top_k": 0, "top_a": 0.2, "typical": 0.9, "tfs": 0.95,
            "rep_pen": 1.1, "rep_pen_range": 1024, "rep_pen_slope": 0.9, "mirostat": 2, "mirostat_tau": 5,
            "mirostat_eta": 0.1, "sampler_order": [0, 1, 2, 3, 4, 5, 6], "grammar": "root ::= \"a\"", "genamt": 200});
        let expected = json!({"temperature": 0.7, "top_p": 0.9, "top_k": 0, "top_a": 0.2, "typical_p": 0.9,
            "tfs": 0.95, "repetition_penalty": 1.1, "repetition_penalty_range": 1024, "repetition_penalty_slope": 0.9,
            "mirostat_mode": 2, "mirostat_tau": 5, "mirostat_eta": 0.1, "grammar": "root ::= \"a\"",
            "sampler_order": [0, 1, 2, 3, 4, 5, 6]});
        assert_eq!(read_samplers(kobold), expected);
        let novel = json!({"temperature": 1.25, "tail_free_sampling": 0.9, "top_k": 15, "repetition_penalty": 2.75,
            "repetition_penalty_range": 2048, "repetition_penalty_frequency": 0.02, "repetition_penalty_presence": 0,
            "mirostat_tau": 4, "cfg_scale": 1, "phrase_rep_pen": "aggressive"});
        let expected = json!({"temperature": 1.25, "tfs": 0.9, "top_k": 15, "repetition_penalty": 2.75,
            "repetition_penalty_range": 2048, "frequency_penalty": 0.02, "presence_penalty": 0});
        assert_eq!(read_samplers(novel), expected);
    }

    #[test]
    fn preset_samplers_in_other_forms_are_read() {
        for (given, expected) in [
            (
                json!({"dynatemp": true, "min_temp": 0.5, "max_temp": 1.5}),
                json!({"dynatemp_low": 0.5, "dynatemp_high": 1.5}),
            ),
            (
                json!({"dry_multiplier": "0.8", "dry_sequence_breakers": "\"\\n\", \":\""}),
                json!({"dry_multiplier": 0.8, "dry_sequence_breakers": ["\n", ":"]}),
            ),
            (
                json!({"custom_stopping_strings": "[\"END\"]", "reasoning_effort": "min"}),
                json!({"stop": ["END"], "reasoning_effort": "minimal"}),
            ),
            (
                json!({"json_schema": "{\"type\": \"object\"}", "custom_token_bans": "1, 2"}),
                json!({"json_schema": {"type": "object"}, "banned_tokens": [1, 2]}),
            ),
            (
                json!({"bias_preset_selected": "Calm", "bias_presets": {"Calm": [{"text": "!", "value": -3}], "x": []}}),
                json!({"logit_bias": [["!", -3]]}),
            ),
            (json!({"send_banned_tokens": false, "banned_tokens": "\"a\""}), json!({})),
            (
                json!({"logit_bias": {"50256": -100}, "verbosity": "auto", "reasoning_budget": 2048}),
                json!({"logit_bias": {"50256": -100}, "reasoning_budget": 2048}),
            ),
        ] {
            assert_eq!(read_samplers(given.clone()), expected, "{given}");
        }
    }

    #[test]
    fn preset_sampler_names_are_of_known_parameters() {
        for (name, _) in NAMES {
            assert!(PARAMETERS.iter().any(|spec| spec.name == name), "{name}");
        }
        assert!(parameters_of("theme", &Map::new()).is_none());
    }
}
