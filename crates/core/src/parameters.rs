//! The parameters of a reply that presets and stories can set: their names, ranges, and the values that change nothing.
//!
//! Where OpenAI has a name, it is that one; otherwise it is the one of text-generation-webui, which most presets use.
//! How a model server names a parameter is known by `provider`, how a preset names it by `compat`.
//!
//! To add a parameter: add a row to [`PARAMETERS`], its names at servers in `provider::parameter_names`, its names in
//! presets in `compat::prompt::preset::samplers`, and its field on the page (`static/src/lib/generation-params.ts`).

use serde_json::{Map, Value};

use NeutralValue::{AgainstDefaults, Omitted, OmittedEmpty, OmittedFlag, Sent};
use ParameterType::{Biases, Flag, Integer, List, Number, Object, Text, Texts, Tokens, Word};

/// What a parameter can be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParameterType {
    /// A number from the first to the second one.
    Number(f64, f64),
    /// A whole number from the first to the second one.
    Integer(i64, i64),
    /// Yes or no.
    Flag,
    /// A text.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A list of token numbers.
    Tokens,
    /// An object of token numbers and biases, or a list of pairs of a text or token number and a bias.
    Biases,
    /// An object.
    Object,
    /// A list of any kind.
    List,
}

/// The value with which a parameter changes nothing, and whether it is sent nevertheless.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NeutralValue {
    /// There is none.
    None,
    /// It is sent: every server that takes the parameter knows it.
    Sent(f64),
    /// It is sent to servers that have other defaults of their own.
    AgainstDefaults(f64),
    /// It is not sent.
    Omitted(f64),
    /// This flag is not sent.
    OmittedFlag(bool),
    /// An empty text, list or object is not sent.
    OmittedEmpty,
}

/// One parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParameterSpec {
    /// Its name in presets here, in stories and in requests.
    pub name: &'static str,
    /// What it can be.
    pub value: ParameterType,
    /// The value with which it changes nothing.
    pub neutral: NeutralValue,
    /// The parameter without which it has no effect.
    pub switch: Option<&'static str>,
}

/// The largest number of tokens or items.
const MAX_COUNT: i64 = 10_000_000;
/// The largest seed that every JSON reader keeps.
const MAX_SEED: i64 = 9_007_199_254_740_991;
/// The words of `reasoning_effort`.
const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "max"];
/// The words of `verbosity`.
const VERBOSITIES: &[&str] = &["low", "medium", "high"];

/// Returns a row without a switch.
const fn row(name: &'static str, value: ParameterType, neutral: NeutralValue) -> ParameterSpec {
    ParameterSpec { name, value, neutral, switch: None }
}

/// Returns a row of a parameter that has no effect without another one.
const fn below(switch: &'static str, name: &'static str, value: ParameterType, neutral: NeutralValue) -> ParameterSpec {
    ParameterSpec { name, value, neutral, switch: Some(switch) }
}

/// All parameters, in the order in which they are listed.
pub const PARAMETERS: [ParameterSpec; 54] = [
    row("temperature", Number(0.0, 5.0), Sent(1.0)),
    row("top_p", Number(0.0, 1.0), Sent(1.0)),
    row("top_k", Integer(0, 100_000), AgainstDefaults(0.0)),
    row("min_p", Number(0.0, 1.0), AgainstDefaults(0.0)),
    row("top_a", Number(0.0, 1.0), Omitted(0.0)),
    row("typical_p", Number(0.0, 1.0), Omitted(1.0)),
    row("tfs", Number(0.0, 1.0), Omitted(1.0)),
    row("top_n_sigma", Number(0.0, 10.0), Omitted(0.0)),
    row("temperature_last", Flag, OmittedFlag(false)),
    row("repetition_penalty", Number(0.0, 5.0), AgainstDefaults(1.0)),
    below("repetition_penalty", "repetition_penalty_range", Integer(-1, MAX_COUNT), NeutralValue::None),
    below("repetition_penalty", "repetition_penalty_slope", Number(0.0, 20.0), Omitted(0.0)),
    below("repetition_penalty", "repetition_decay", Number(0.0, 10_000_000.0), Omitted(0.0)),
    row("frequency_penalty", Number(-2.0, 2.0), Sent(0.0)),
    row("presence_penalty", Number(-2.0, 2.0), Sent(0.0)),
    row("encoder_repetition_penalty", Number(0.0, 5.0), Omitted(1.0)),
    row("no_repeat_ngram_size", Integer(0, 1_000), Omitted(0.0)),
    row("penalty_alpha", Number(0.0, 5.0), Omitted(0.0)),
    row("dry_multiplier", Number(0.0, 100.0), Omitted(0.0)),
    below("dry_multiplier", "dry_base", Number(0.0, 100.0), NeutralValue::None),
    below("dry_multiplier", "dry_allowed_length", Integer(0, 10_000), NeutralValue::None),
    below("dry_multiplier", "dry_penalty_last_n", Integer(-1, MAX_COUNT), Omitted(0.0)),
    below("dry_multiplier", "dry_sequence_breakers", Texts, OmittedEmpty),
    row("xtc_probability", Number(0.0, 1.0), Omitted(0.0)),
    below("xtc_probability", "xtc_threshold", Number(0.0, 1.0), NeutralValue::None),
    row("mirostat_mode", Integer(0, 2), Omitted(0.0)),
    below("mirostat_mode", "mirostat_tau", Number(0.0, 100.0), NeutralValue::None),
    below("mirostat_mode", "mirostat_eta", Number(0.0, 10.0), NeutralValue::None),
    row("dynatemp_low", Number(0.0, 10.0), NeutralValue::None),
    row("dynatemp_high", Number(0.0, 10.0), NeutralValue::None),
    below("dynatemp_high", "dynatemp_exponent", Number(0.0, 100.0), Omitted(1.0)),
    row("smoothing_factor", Number(0.0, 100.0), Omitted(0.0)),
    below("smoothing_factor", "smoothing_curve", Number(0.0, 100.0), Omitted(1.0)),
    row("epsilon_cutoff", Number(0.0, 100.0), Omitted(0.0)),
    row("eta_cutoff", Number(0.0, 100.0), Omitted(0.0)),
    row("guidance_scale", Number(0.0, 100.0), Omitted(1.0)),
    below("guidance_scale", "negative_prompt", Text, OmittedEmpty),
    row("seed", Integer(0, MAX_SEED), NeutralValue::None),
    row("stop", Texts, OmittedEmpty),
    row("logit_bias", Biases, OmittedEmpty),
    row("banned_tokens", Tokens, OmittedEmpty),
    row("banned_strings", Texts, OmittedEmpty),
    row("min_tokens", Integer(0, MAX_COUNT), Omitted(0.0)),
    row("ban_eos_token", Flag, OmittedFlag(false)),
    row("add_bos_token", Flag, OmittedFlag(true)),
    row("skip_special_tokens", Flag, OmittedFlag(true)),
    row("grammar", Text, OmittedEmpty),
    row("json_schema", Object, OmittedEmpty),
    row("reasoning_effort", Word(EFFORTS), NeutralValue::None),
    row("reasoning_budget", Integer(0, MAX_COUNT), NeutralValue::None),
    row("verbosity", Word(VERBOSITIES), NeutralValue::None),
    row("sampler_order", List, OmittedEmpty),
    row("samplers", List, OmittedEmpty),
    row("sampler_priority", List, OmittedEmpty),
];

impl ParameterType {
    /// Returns whether a value is of this type and in its range.
    pub fn accepts(self, value: &Value) -> bool {
        let all = |is_one: fn(&Value) -> bool| value.as_array().is_some_and(|list| list.iter().all(is_one));
        match self {
            Self::Number(least, most) => value.as_f64().is_some_and(|number| (least..=most).contains(&number)),
            Self::Integer(least, most) => value.as_i64().is_some_and(|number| (least..=most).contains(&number)),
            Self::Flag => value.is_boolean(),
            Self::Text => value.is_string(),
            Self::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::Texts => all(Value::is_string),
            Self::Tokens => all(Value::is_u64),
            Self::Biases => value.is_object() || all(is_bias),
            Self::Object => value.is_object(),
            Self::List => value.is_array(),
        }
    }

    /// Says what is expected, as the end of a sentence.
    pub fn expectation(self) -> String {
        match self {
            Self::Number(least, most) => format!("a number from {least} to {most} is expected"),
            Self::Integer(least, most) => format!("a whole number from {least} to {most} is expected"),
            Self::Flag => "true or false is expected".to_owned(),
            Self::Text => "a text is expected".to_owned(),
            Self::Word(words) => format!("one of these is expected: {}", words.join(", ")),
            Self::Texts => "a list of texts is expected".to_owned(),
            Self::Tokens => "a list of token numbers is expected".to_owned(),
            Self::Biases => {
                "an object of token numbers and biases is expected, or a list of pairs such as [\"text\", -5]"
                    .to_owned()
            }
            Self::Object => "an object is expected".to_owned(),
            Self::List => "a list is expected".to_owned(),
        }
    }
}

/// Returns whether a value is a pair of a text or token number and a bias.
fn is_bias(pair: &Value) -> bool {
    let is_target = |target: &Value| target.is_string() || target.is_u64();
    matches!(pair.as_array().map(Vec::as_slice), Some([target, bias]) if is_target(target) && (bias.is_number() || bias.is_boolean()))
}

impl ParameterSpec {
    /// Returns the parameter with this name.
    pub fn of(name: &str) -> Option<&'static Self> {
        PARAMETERS.iter().find(|spec| spec.name == name)
    }

    /// Returns whether a value changes nothing.
    pub fn is_neutral(&self, value: &Value) -> bool {
        let is = |neutral: f64| value.as_f64().is_some_and(|number| (number - neutral).abs() < 1e-9);
        match self.neutral {
            NeutralValue::None => false,
            Sent(neutral) | AgainstDefaults(neutral) | Omitted(neutral) => is(neutral),
            OmittedFlag(neutral) => value.as_bool() == Some(neutral),
            OmittedEmpty => match value {
                Value::String(text) => text.trim().is_empty(),
                Value::Array(list) => list.is_empty(),
                Value::Object(map) => map.is_empty(),
                _ => false,
            },
        }
    }

    /// Returns whether a value that changes nothing is to be told: always, or only to servers with other defaults.
    fn is_told(&self, against_defaults: bool) -> bool {
        match self.neutral {
            NeutralValue::None | Sent(_) => true,
            AgainstDefaults(_) => against_defaults,
            Omitted(_) | OmittedFlag(_) | OmittedEmpty => false,
        }
    }
}

/// Removes the parameters of a preset that change nothing: those with a neutral value, and those whose switch is off.
/// Presets name every parameter that they know, and many servers refuse those that they do not know. With
/// `against_defaults`, the values stay that a server needs against its own defaults.
pub fn remove_idle(params: &mut Map<String, Value>, against_defaults: bool) {
    let is_on = |name: &str| {
        let value = params.get(name).filter(|value| !value.is_null());
        value.is_some_and(|value| !ParameterSpec::of(name).is_some_and(|spec| spec.is_neutral(value)))
    };
    let idle: Vec<&str> = PARAMETERS
        .iter()
        .filter(|spec| spec.switch.is_some_and(|switch| !is_on(switch)))
        .map(|spec| spec.name)
        .collect();
    params.retain(|name, value| {
        let is_kept = |spec: &ParameterSpec| !spec.is_neutral(value) || spec.is_told(against_defaults);
        !idle.contains(&name.as_str()) && ParameterSpec::of(name).is_none_or(is_kept)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parameters_without_effect_are_removed() {
        let idle = |params: Value, against_defaults: bool| {
            let mut params = params.as_object().unwrap().clone();
            remove_idle(&mut params, against_defaults);
            Value::Object(params)
        };
        let off = json!({"temperature": 1, "top_k": 0, "repetition_penalty": 1.0, "repetition_penalty_range": 512,
            "dry_multiplier": 0, "dry_base": 1.75, "xtc_threshold": 0.1, "grammar": " ", "other": 0});
        assert_eq!(idle(off.clone(), false), json!({"temperature": 1, "other": 0}));
        let told = json!({"temperature": 1, "top_k": 0, "repetition_penalty": 1.0, "other": 0});
        assert_eq!(idle(off, true), told);
        let on = json!({"dry_multiplier": 0.8, "dry_base": 1.75, "top_k": 40, "mirostat_mode": 2, "mirostat_tau": 5});
        assert_eq!(idle(on.clone(), false), on);
    }

    #[test]
    fn parameters_are_checked_by_type_and_range() {
        let accepts = |name: &str, value: Value| ParameterSpec::of(name).unwrap().value.accepts(&value);
        for (name, right, wrong) in [
            ("temperature", json!(0.7), json!(9)),
            ("top_k", json!(40), json!(0.5)),
            ("mirostat_mode", json!(2), json!(3)),
            ("ban_eos_token", json!(true), json!(1)),
            ("reasoning_effort", json!("low"), json!("much")),
            ("banned_tokens", json!([1, 2]), json!(["a"])),
            ("banned_strings", json!(["a"]), json!("a")),
            ("logit_bias", json!([["a", -5], [7, 1.5]]), json!([["a"]])),
            ("json_schema", json!({"type": "object"}), json!("{}")),
        ] {
            assert!(accepts(name, right) && !accepts(name, wrong), "{name}");
        }
    }

    #[test]
    fn parameters_have_one_row_each_and_known_switches() {
        for (at, spec) in PARAMETERS.iter().enumerate() {
            assert_eq!(PARAMETERS.iter().position(|other| other.name == spec.name), Some(at), "{}", spec.name);
            assert!(spec.switch.is_none_or(|switch| ParameterSpec::of(switch).is_some()), "{}", spec.name);
        }
    }
}
