//! What a server accepts of the parameters: known from the start, or learned from its refusals. The rules change a body
//! before it is sent.

use super::{
    Endpoint,
    parameter_change::ParameterChange,
    refused_parameter::{PARAMETER_OBJECTS, ParameterFix, RefusalScope, RefusedParameter},
};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Maximum number of models remembered. Above it, all are forgotten and learned again.
const MAX_MODELS: usize = 256;

/// Maximum number of rules of one model.
const MAX_RULES: usize = 32;

/// A refused parameter, and the server's words.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ParameterRule {
    pub(super) refused: RefusedParameter,
    pub(super) words: String,
}

/// The learned rules of an endpoint, by model. They last until the process ends.
#[derive(Debug, Default)]
pub(super) struct LearnedRules(HashMap<String, Vec<ParameterRule>>);

impl LearnedRules {
    /// Returns the rules of a model.
    pub(super) fn of(&self, model: &str) -> &[ParameterRule] {
        self.0.get(model).map(Vec::as_slice).unwrap_or_default()
    }

    /// Adds rules that led to a reply. Those of a single request are not kept.
    pub(super) fn learn(&mut self, model: &str, rules: Vec<ParameterRule>) {
        let kept = rules.into_iter().filter(|rule| rule.refused.scope != RefusalScope::Once);
        let kept: Vec<ParameterRule> = kept.collect();
        if kept.is_empty() {
            return;
        }
        if self.0.len() >= MAX_MODELS && !self.0.contains_key(model) {
            self.0.clear();
        }
        let known = self.0.entry(model.to_owned()).or_default();
        for rule in kept {
            if !known.iter().any(|other| other.refused == rule.refused) {
                known.push(rule);
            }
        }
        let surplus = known.len().saturating_sub(MAX_RULES);
        known.drain(..surplus);
    }
}

/// Returns the rules of a model that need no refusal to be known.
pub(super) fn known_rules(endpoint: &Endpoint, model: &str, body: &Map<String, Value>) -> Vec<ParameterRule> {
    let rule = |name: &str, scope, fix, words: &str| ParameterRule {
        refused: RefusedParameter { name: name.to_owned(), scope, fix },
        words: words.to_owned(),
    };
    let mut rules = Vec::new();
    if takes_one_of_temperature_and_top_p(model) {
        // A temperature of 1 changes nothing, so then `top_p` is what was meant.
        let is_one =
            |name: &str| body.get(name).and_then(Value::as_f64).is_some_and(|value| (value - 1.0).abs() < 1e-9);
        let (dropped, other) = match is_one("temperature") && !is_one("top_p") {
            true => ("temperature", "top_p"),
            false => ("top_p", "temperature"),
        };
        let scope = RefusalScope::Beside(other.to_owned());
        let words = "this model takes either temperature or top_p";
        rules.push(rule(dropped, scope, ParameterFix::LeaveOut, words));
    }
    if endpoint.is_host(&["api.mistral.ai"]) {
        for (name, theirs) in [("seed", "random_seed"), ("max_completion_tokens", "max_tokens")] {
            let fix = ParameterFix::Rename(theirs.to_owned());
            rules.push(rule(name, RefusalScope::Always, fix, "the name at this server"));
        }
    }
    rules
}

/// Returns whether a model is a Claude that refuses a temperature beside `top_p`: version 4.1 and newer.
fn takes_one_of_temperature_and_top_p(model: &str) -> bool {
    model_version(model, "claude").is_some_and(|version| version >= (4, 1))
}

/// Returns the version in the name of a model of this family: `claude-sonnet-4-5-20250929` is 4.5. A name without a
/// number has version 0. `None` if it is of another family.
pub(super) fn model_version(model: &str, family: &str) -> Option<(u32, u32)> {
    let model = model.to_ascii_lowercase();
    let (_, name) = model.split_once(family)?;
    // Longer numbers are dates.
    let numbers = name.split(|char: char| !char.is_ascii_digit()).filter(|number| !number.is_empty());
    let mut version = numbers.take_while(|number| number.len() <= 2).map(|number| number.parse().unwrap_or(0_u32));
    Some((version.next().unwrap_or_default(), version.next().unwrap_or_default()))
}

/// Applies rules to a body, in order. Returns what they changed.
pub(super) fn apply<'r>(
    rules: impl IntoIterator<Item = &'r ParameterRule>,
    body: &mut Map<String, Value>,
) -> Vec<ParameterChange> {
    rules.into_iter().filter_map(|rule| apply_one(rule, body)).collect()
}

fn apply_one(rule: &ParameterRule, body: &mut Map<String, Value>) -> Option<ParameterChange> {
    let RefusedParameter { name, scope, fix } = &rule.refused;
    if let RefusalScope::Beside(other) = scope {
        find_object(body, other)?;
    }
    let fields = find_object(body, name)?;
    let value = fields.get(name)?;
    if let RefusalScope::Value(refused) = scope
        && value != refused
    {
        return None;
    }
    let (parameter, words) = (name.clone(), rule.words.clone());
    match fix {
        ParameterFix::LeaveOut => {
            fields.shift_remove(name);
            Some(ParameterChange::LeftOut { parameter, words })
        }
        ParameterFix::Rename(theirs) => {
            let value = fields.shift_remove(name)?;
            fields.entry(theirs.as_str()).or_insert(value);
            Some(ParameterChange::Renamed { parameter, name: theirs.clone(), words })
        }
        ParameterFix::Limit(most) => {
            let is_lower = lower(fields.get_mut(name)?, *most);
            is_lower.then_some(ParameterChange::Lowered { parameter, value: *most, words })
        }
    }
}

/// Lowers a number, or cuts a list. Returns whether it was larger.
fn lower(value: &mut Value, most: u64) -> bool {
    match value {
        Value::Array(items) => {
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            let is_longer = items.len() > most;
            items.truncate(most);
            is_longer
        }
        number if number.as_u64().is_some_and(|asked| asked > most) => {
            *number = most.into();
            true
        }
        _ => false,
    }
}

/// Returns the object that has a parameter: the body, or one inside of it.
fn find_object<'b>(body: &'b mut Map<String, Value>, name: &str) -> Option<&'b mut Map<String, Value>> {
    if body.contains_key(name) {
        return Some(body);
    }
    let has_it = |object: &&&str| body.get(**object).is_some_and(|inner| inner.get(name).is_some());
    let object = PARAMETER_OBJECTS.iter().find(has_it)?;
    body.get_mut(*object)?.as_object_mut()
}

/// Changes parameters as the body that is sent was changed. `names` are pairs of our names and the server's.
pub(super) fn apply_to_params(changes: &[ParameterChange], names: &[(&str, &str)], params: &mut Map<String, Value>) {
    for change in changes {
        let (ParameterChange::LeftOut { parameter, .. }
        | ParameterChange::NotTaken { parameter }
        | ParameterChange::Renamed { parameter, .. }
        | ParameterChange::Lowered { parameter, .. }) = change;
        let ours: Vec<&str> = names.iter().filter(|(_, theirs)| theirs == parameter).map(|(ours, _)| *ours).collect();
        for name in ours.into_iter().chain([parameter.as_str()]) {
            let Some(fields) = find_object(params, name) else { continue };
            match change {
                ParameterChange::LeftOut { .. } | ParameterChange::NotTaken { .. } => _ = fields.shift_remove(name),
                ParameterChange::Renamed { name: theirs, .. } => {
                    if let Some(value) = fields.shift_remove(name) {
                        fields.entry(theirs.as_str()).or_insert(value);
                    }
                }
                ParameterChange::Lowered { value, .. } => {
                    fields.get_mut(name).map(|sent| lower(sent, *value));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rule(name: &str, scope: RefusalScope, fix: ParameterFix) -> ParameterRule {
        ParameterRule { refused: RefusedParameter { name: name.into(), scope, fix }, words: "no".into() }
    }

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn parameter_rules_change_body_as_refused() {
        use ParameterFix::{LeaveOut, Limit, Rename};
        let body = json!({"temperature": 0.9, "top_p": 1, "seed": 7, "max_tokens": 900, "options": {"top_k": 4}});
        for (rule, expected) in [
            (
                rule("seed", RefusalScope::Always, LeaveOut),
                json!({"temperature": 0.9, "top_p": 1, "max_tokens": 900, "options": {"top_k": 4}}),
            ),
            (
                rule("top_k", RefusalScope::Always, LeaveOut),
                json!({"temperature": 0.9, "top_p": 1, "seed": 7, "max_tokens": 900, "options": {}}),
            ),
            (
                rule("top_p", RefusalScope::Beside("temperature".into()), LeaveOut),
                json!({"temperature": 0.9, "seed": 7, "max_tokens": 900, "options": {"top_k": 4}}),
            ),
            (
                rule("seed", RefusalScope::Always, Rename("random_seed".into())),
                json!({"temperature": 0.9, "top_p": 1, "max_tokens": 900, "options": {"top_k": 4}, "random_seed": 7}),
            ),
            (
                rule("max_tokens", RefusalScope::Always, Limit(100)),
                json!({"temperature": 0.9, "top_p": 1, "seed": 7, "max_tokens": 100, "options": {"top_k": 4}}),
            ),
        ] {
            let mut changed = object(body.clone());
            assert_eq!(apply([&rule], &mut changed).len(), 1);
            assert_eq!(Value::Object(changed), expected);
        }
        let mut listed = object(json!({"stop": ["a", "b", "c"]}));
        let changes = apply([&rule("stop", RefusalScope::Always, Limit(2))], &mut listed);
        assert_eq!(Value::Object(listed), json!({"stop": ["a", "b"]}));
        let mut params = object(json!({"stop": ["a", "b", "c"]}));
        apply_to_params(&changes, &[], &mut params);
        assert_eq!(Value::Object(params), json!({"stop": ["a", "b"]}));
        for rule in [
            rule("top_p", RefusalScope::Beside("min_p".into()), LeaveOut),
            rule("seed", RefusalScope::Value(8.into()), LeaveOut),
            rule("max_tokens", RefusalScope::Always, Limit(1000)),
            rule("min_p", RefusalScope::Always, LeaveOut),
        ] {
            let mut same = object(body.clone());
            assert_eq!((apply([&rule], &mut same).len(), Value::Object(same)), (0, body.clone()), "{rule:?}");
        }
    }

    #[test]
    fn parameter_rules_params_follow_body_under_their_own_names() {
        let mut params = object(json!({"max_tokens": 900, "seed": 7, "stop": ["a"]}));
        let change = |parameter: &str| ParameterChange::LeftOut { parameter: parameter.into(), words: String::new() };
        let names = [("max_tokens", "maxOutputTokens"), ("stop", "stopSequences")];
        apply_to_params(&[change("maxOutputTokens"), change("seed")], &names, &mut params);
        assert_eq!(Value::Object(params), json!({"stop": ["a"]}));
    }

    #[test]
    fn parameter_rules_are_kept_for_each_model_unless_for_one_request() {
        let mut learned = LearnedRules::default();
        let always = || rule("seed", RefusalScope::Always, ParameterFix::LeaveOut);
        learned.learn("a", vec![always(), rule("max_tokens", RefusalScope::Once, ParameterFix::Limit(300))]);
        learned.learn("a", vec![always()]);
        assert_eq!((learned.of("a"), learned.of("b").len()), (&[always()][..], 0));
        (0..MAX_MODELS).for_each(|model| learned.learn(&format!("m{model}"), vec![always()]));
        assert!(learned.0.len() <= MAX_MODELS);
    }

    #[test]
    fn parameter_rules_newer_claude_gets_one_of_two_samplers() {
        for (model, expected) in [
            ("claude-sonnet-4-5-20250929", true),
            ("claude-opus-4-1", true),
            ("anthropic/claude-sonnet-4.5", true),
            ("us.anthropic.claude-haiku-4-5-20251001-v1:0", true),
            ("claude-opus-5", true),
            ("claude-4.5-sonnet", true),
            ("claude-sonnet-4-20250514", false),
            ("claude-3-5-sonnet-20241022", false),
            ("claude-3.7-sonnet", false),
            ("claude-2.1", false),
            ("claude-instant", false),
            ("gpt-5", false),
        ] {
            assert_eq!(takes_one_of_temperature_and_top_p(model), expected, "{model}");
        }
        let endpoint = Endpoint::new("a", "http://a");
        for (sent, expected) in [
            (json!({"temperature": 0.9, "top_p": 0.95}), json!({"temperature": 0.9})),
            (json!({"temperature": 1, "top_p": 0.95}), json!({"top_p": 0.95})),
            (json!({"temperature": 1.0, "top_p": 1}), json!({"temperature": 1.0})),
            (json!({"top_p": 0.95}), json!({"top_p": 0.95})),
        ] {
            let mut body = object(sent);
            let rules = known_rules(&endpoint, "claude-sonnet-4-5", &body);
            apply(&rules, &mut body);
            assert_eq!(Value::Object(body), expected);
        }
    }

    #[test]
    fn parameter_rules_mistral_gets_its_own_name_of_the_seed() {
        let sent = |base: &str| {
            let mut body = object(json!({"seed": 7}));
            let rules = known_rules(&Endpoint::new("a", base), "mistral-large", &body);
            apply(&rules, &mut body);
            Value::Object(body)
        };
        assert_eq!(sent("https://api.mistral.ai/v1"), json!({"random_seed": 7}));
        assert_eq!(sent("http://127.0.0.1/v1"), json!({"seed": 7}));
    }
}
