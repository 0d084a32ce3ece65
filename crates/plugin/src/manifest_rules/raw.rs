//! Rules as deserialised, and their checks.

use std::ops::Range;

use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;

use super::{
    MAX_EFFECTS, MAX_NOTE_CHARS, MAX_RULES, ManifestRule, RuleCondition, RuleCounter, RuleSpans, RuleTrigger, may_read,
    may_write, pointer_below, text,
};
use crate::localized_text::LocalizedText;
use crate::permission::Permission;
use crate::suggest::did_you_mean;
use clotho_core::world::condition::VariablePath;
use clotho_core::world::{Condition, Pointer, StateOperation};

/// A `[[rule]]` table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawRule {
    name: Spanned<String>,
    every: Option<Spanned<u64>>,
    of: Option<Spanned<RuleCounter>>,
    when: Option<Spanned<String>>,
    on: Option<Spanned<String>>,
    #[serde(rename = "if")]
    guard: Option<Spanned<String>>,
    #[serde(default)]
    once: bool,
    cooldown: Option<Spanned<u64>>,
    #[serde(default, rename = "do")]
    effects: Vec<Spanned<toml::Table>>,
    note: Option<Spanned<LocalizedText>>,
    event: Option<Spanned<LocalizedText>>,
}

/// A fault and its place in the manifest.
pub(crate) type RuleFault = (Range<usize>, String);

/// The plugin to which the rules belong.
pub(crate) struct RuleOwner<'a> {
    pub id: &'a str,
    pub root: &'a Pointer,
    /// The permissions that its manifest requests.
    pub requested: &'a [Permission],
}

/// Parses and checks the rules of one manifest.
pub(crate) fn rules(raw: Vec<RawRule>, owner: &RuleOwner<'_>) -> Result<Vec<ManifestRule>, RuleFault> {
    let mut rules: Vec<ManifestRule> = Vec::new();
    for one in raw {
        let (at, name) = (one.name.span(), one.name.get_ref().clone());
        if rules.len() >= MAX_RULES {
            return Err((at, format!("a plugin has at most {MAX_RULES} rules")));
        }
        if rules.iter().any(|other| other.name == name) {
            return Err((at, format!("two rules have the name \"{name}\"")));
        }
        let rule = one.check(owner)?;
        for (place, at) in rule.reads(owner.root) {
            if !may_read(owner.root, owner.requested, &place) {
                let what = "is outside of the plugin's own values; reading it needs";
                return Err((at, format!("\"{place}\" {what} \"state.read:*\" in [permissions] request")));
            }
        }
        rules.push(rule);
    }
    Ok(rules)
}

impl RawRule {
    fn check(self, owner: &RuleOwner<'_>) -> Result<ManifestRule, RuleFault> {
        let at = self.name.span();
        let name = named(self.name)?;
        let (trigger, trigger_at) = trigger(&at, self.every, self.of, self.when, self.on, owner.root)?;
        let mut places = RuleSpans { trigger: trigger_at, ..RuleSpans::default() };
        if self.effects.is_empty() && self.note.is_none() && self.event.is_none() {
            let message = format!("the rule \"{name}\" has no effect: give it a \"do\", a \"note\" or an \"event\"");
            return Err((at, message));
        }
        if self.effects.len() > MAX_EFFECTS {
            return Err((at, format!("a rule has at most {MAX_EFFECTS} effects")));
        }
        let guard = self.guard.map(|guard| condition(&guard, "if")).transpose()?.map(|(guard, at)| {
            places.guard = at;
            guard
        });
        let mut effects = Vec::new();
        for table in self.effects {
            places.effects.push(table.span());
            effects.push(effect(table, &name, owner)?);
        }
        let note = self.note.map(|note| line(note, "note", &Permission::Notes, owner)).transpose()?;
        let event = self.event.map(|event| line(event, "event", &Permission::Events, owner)).transpose()?;
        places.note = note.as_ref().map(Spanned::span).unwrap_or_default();
        places.event = event.as_ref().map(Spanned::span).unwrap_or_default();
        let (note, event) = (note.map(Spanned::into_inner), event.map(Spanned::into_inner));
        let cooldown = self.cooldown.map_or(Ok(0), |turns| positive(&turns, "a \"cooldown\""))?;
        Ok(ManifestRule { name, trigger, guard, once: self.once, cooldown, effects, note, event, spans: places })
    }
}

fn named(name: Spanned<String>) -> Result<String, RuleFault> {
    let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let text = name.get_ref();
    if text.len() <= 64 && text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(known) {
        return Ok(name.into_inner());
    }
    let expected = "a rule name has lower-case letters, digits, \"-\" and \"_\", and begins with a letter";
    Err((name.span(), expected.to_owned()))
}

fn positive(number: &Spanned<u64>, what: &str) -> Result<u64, RuleFault> {
    let n = *number.get_ref();
    if (1..=1_000_000).contains(&n) { Ok(n) } else { Err((number.span(), format!("{what} must be from 1 to 1000000"))) }
}

/// Parses the single trigger of a rule.
fn trigger(
    at: &Range<usize>,
    every: Option<Spanned<u64>>,
    of: Option<Spanned<RuleCounter>>,
    when: Option<Spanned<String>>,
    on: Option<Spanned<String>>,
    root: &Pointer,
) -> Result<(RuleTrigger, Range<usize>), RuleFault> {
    if let (None, Some(of)) = (&every, &of) {
        return Err((of.span(), "\"of\" only works with \"every\": add an \"every\"".to_owned()));
    }
    match (every, when, on) {
        (Some(every), None, None) => {
            let n = positive(&every, "\"every\"")?;
            Ok((RuleTrigger::Every { n, of: of.map(Spanned::into_inner).unwrap_or_default() }, every.span()))
        }
        (None, Some(when), None) => {
            let (wanted, at) = condition(&when, "when")?;
            Ok((RuleTrigger::Crosses(wanted), at))
        }
        (None, None, Some(on)) => {
            let Some(variable) = VariablePath::parse(on.get_ref()) else {
                return Err((on.span(), format!("\"{}\" is not the name of a value", on.get_ref())));
            };
            let place = super::variable_pointer(root, &variable);
            Ok((RuleTrigger::Changes { place, text: on.get_ref().clone() }, on.span()))
        }
        _ => Err((at.clone(), "a rule needs exactly one of \"every\", \"when\" and \"on\"".to_owned())),
    }
}

/// Parses the condition in a key.
fn condition(text: &Spanned<String>, key: &str) -> Result<(RuleCondition, Range<usize>), RuleFault> {
    let condition = Condition::parse(text.get_ref()).map_err(|why| {
        let why = why.to_string().replace('`', "\"");
        (text.span(), format!("\"{key}\": {why}"))
    })?;
    Ok((RuleCondition { condition, text: text.get_ref().clone() }, text.span()))
}

/// Parses one effect of a rule: an operation with paths relative to the plugin's root.
fn effect(table: Spanned<toml::Table>, rule: &str, owner: &RuleOwner<'_>) -> Result<StateOperation, RuleFault> {
    let at = table.span();
    let wrong = |message: String| (at.clone(), message);
    let json = serde_json::to_value(table.get_ref()).map_err(|_| wrong("expected an operation".to_owned()))?;
    let Value::Object(mut map) = json else { return Err(wrong("expected an operation".to_owned())) };
    if let Some(word) = ["in", "by"].into_iter().find(|word| map.contains_key(*word)) {
        return Err(wrong(format!("\"{word}\" is not allowed here: a rule changes the plugin's own values")));
    }
    const KEYS: [&str; 6] = ["op", "path", "value", "key", "from", "why"];
    if let Some(odd) = map.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let hint = did_you_mean(odd, KEYS);
        return Err(wrong(format!("this is not an operation: \"{odd}\" is unknown{hint}")));
    }
    for key in ["path", "from"] {
        absolute(&mut map, key, owner.root).map_err(&wrong)?;
    }
    let mut operation = StateOperation::from_json(&Value::Object(map))
        .map_err(|error| wrong(format!("this is not an operation: {error}")))?;
    owner.id.clone_into(&mut operation.by);
    if operation.why.is_empty() {
        operation.why = format!("rule {rule}");
    }
    for place in places(&operation) {
        if !may_write(owner.root, owner.requested, place) {
            let top = place.keys().first().map_or("…", String::as_str);
            let what = "is outside of the plugin's own values; writing it needs";
            return Err(wrong(format!("\"{place}\" {what} \"state.write:{top}\" in [permissions] request")));
        }
    }
    Ok(operation)
}

/// Iterates over every place that an operation changes.
pub(super) fn places(operation: &StateOperation) -> impl Iterator<Item = &Pointer> {
    let from = match &operation.change {
        clotho_core::world::StateChange::Move { from } => Some(from),
        _ => None,
    };
    std::iter::once(&operation.path).chain(from)
}

fn absolute(map: &mut Map<String, Value>, key: &str, root: &Pointer) -> Result<(), String> {
    let Some(Value::String(path)) = map.get_mut(key) else { return Ok(()) };
    if !path.starts_with('/') {
        let inner: Pointer = if path.is_empty() { Pointer::default() } else { read(&format!("/{path}"))? };
        *path = pointer_below(root, inner.keys().iter().cloned()).to_string();
    }
    read(path).map(drop)
}

fn read(path: &str) -> Result<Pointer, String> {
    path.parse().map_err(|error| format!("\"{path}\": {error}"))
}

/// Checks the text of a `note` or an `event`.
fn line(
    words: Spanned<LocalizedText>,
    key: &str,
    permission: &Permission,
    owner: &RuleOwner<'_>,
) -> Result<Spanned<LocalizedText>, RuleFault> {
    let texts = text::all_languages(words.get_ref());
    let fault = texts.iter().find_map(|one| text::text_problem(one));
    let is_long = texts.iter().any(|one| one.chars().count() > MAX_NOTE_CHARS);
    if !owner.requested.contains(permission) {
        return Err((words.span(), format!("\"{key}\" needs \"{permission}\" in [permissions] request")));
    }
    if is_long {
        return Err((words.span(), format!("\"{key}\" has at most {MAX_NOTE_CHARS} characters")));
    }
    fault.map_or_else(|| Ok(words.clone()), |why| Err((words.span(), why)))
}
