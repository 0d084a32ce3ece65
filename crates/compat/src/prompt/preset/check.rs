//! Validates a preset change: every field name must be known and every value valid.

use serde_json::{Map, Value};

use super::read::{AS_NEEDED, TURNS};
use clotho_core::parameters::{PARAMETERS, ParameterSpec};
use clotho_core::tree::Role;

/// An invalid field of a change, with a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresetFieldError {
    /// Field path, as in the JSON request.
    pub field: String,
    /// One sentence without a final period.
    pub message: String,
    /// How to fix it.
    pub hint: String,
}

impl PresetFieldError {
    pub(super) fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into(), hint: String::new() }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

/// Largest depth or order.
const MAX_DEPTH: f64 = 10_000.0;
/// Largest number of stop strings or models, and of characters of each.
const MAX_LIST: (usize, usize) = (64, 200);
/// Largest number of characters of a part's name or identifier.
const MAX_NAME_CHARS: usize = 200;
/// Kinds of request that a part may be limited to.
const TRIGGERS: [&str; 6] = ["normal", "continue", "impersonate", "swipe", "regenerate", "quiet"];

/// What null means.
const NULL_HINT: &str = "null takes it away, and it is as where no preset says anything";

/// The type and range of a field.
enum PresetFieldType {
    Text,
    Boolean,
    /// A number in this range.
    Number(f64, f64),
    /// An integer in this range.
    Integer(f64, f64),
    OneOf(&'static [&'static str]),
    /// A list of strings.
    Texts,
    /// An object of percentages.
    Shares,
}

impl PresetFieldType {
    fn check(&self, place: &str, value: &Value) -> Result<(), PresetFieldError> {
        let between = |least: f64, most: f64| value.as_f64().is_some_and(|n| (least..=most).contains(&n));
        let (is_right, words) = match self {
            Self::Text => (value.is_string(), "a text is expected".to_owned()),
            Self::Boolean => (value.is_boolean(), "true or false is expected".to_owned()),
            Self::Number(least, most) => {
                (between(*least, *most), format!("a number from {least} to {most} is expected"))
            }
            Self::Integer(least, most) => {
                (value.is_i64() && between(*least, *most), format!("a whole number from {least} to {most} is expected"))
            }
            Self::OneOf(words) => {
                let is_one = value.as_str().is_some_and(|word| words.contains(&word));
                (is_one, format!("one of these is expected: {}", words.join(", ")))
            }
            Self::Shares => {
                let fits = |(key, share): (&String, &Value)| {
                    SHARE_NAMES.contains(&key.as_str()) && share.as_u64().is_some_and(|percent| percent <= 100)
                };
                let is_right = value.as_object().is_some_and(|shares| shares.iter().all(fits));
                (
                    is_right,
                    format!("whole percents from 0 to 100 are expected, by the names {}", SHARE_NAMES.join(", ")),
                )
            }
            Self::Texts => {
                let fits = |text: &Value| {
                    text.as_str().is_some_and(|text| !text.is_empty() && text.chars().count() <= MAX_LIST.1)
                };
                let is_list = value.as_array().is_some_and(|list| list.len() <= MAX_LIST.0 && list.iter().all(fits));
                let (most, longest) = MAX_LIST;
                (is_list, format!("a list of at most {most} texts is expected, each of 1 to {longest} characters"))
            }
        };
        let hint = NULL_HINT;
        if is_right || value.is_null() { Ok(()) } else { Err(PresetFieldError::new(place, words).hint(hint)) }
    }
}

/// The fields beside the parameters of [`clotho_core::parameters`], and those that presets write in another form.
const FIELDS: [(&str, PresetFieldType); 18] = [
    ("temperature", PresetFieldType::Number(0.0, 2.0)),
    ("reasoning_effort", PresetFieldType::OneOf(&["auto", "none", "min", "minimal", "low", "medium", "high", "max"])),
    ("seed", PresetFieldType::Integer(-1.0, 9_007_199_254_740_991.0)),
    ("openai_max_context", PresetFieldType::Integer(1.0, 10_000_000.0)),
    ("openai_max_tokens", PresetFieldType::Integer(1.0, 10_000_000.0)),
    ("names_behavior", PresetFieldType::Integer(-1.0, 2.0)),
    ("send_if_empty", PresetFieldType::Text),
    ("impersonation_prompt", PresetFieldType::Text),
    ("new_chat_prompt", PresetFieldType::Text),
    ("new_example_chat_prompt", PresetFieldType::Text),
    ("continue_nudge_prompt", PresetFieldType::Text),
    ("wi_format", PresetFieldType::Text),
    ("scenario_format", PresetFieldType::Text),
    ("personality_format", PresetFieldType::Text),
    ("assistant_prefill", PresetFieldType::Text),
    ("assistant_impersonation", PresetFieldType::Text),
    ("continue_prefill", PresetFieldType::Boolean),
    ("squash_system_messages", PresetFieldType::Boolean),
];

/// Names of the shares.
const SHARE_NAMES: [&str; 4] = ["lore", "examples", "recalled", "history"];

const EXTENSION_FIELDS: [(&str, PresetFieldType); 5] = [
    ("form", PresetFieldType::OneOf(&[TURNS])),
    ("names", PresetFieldType::OneOf(&[AS_NEEDED])),
    ("stop", PresetFieldType::Texts),
    ("models", PresetFieldType::Texts),
    ("shares", PresetFieldType::Shares),
];

fn find_field<'a>(
    table: &'a [(&str, PresetFieldType)],
    key: &str,
    place: &str,
) -> Result<&'a PresetFieldType, PresetFieldError> {
    let row = table.iter().find(|(name, _)| *name == key).map(|(_, is)| is);
    row.ok_or_else(|| unknown_field(place, &table.iter().map(|(name, _)| *name).collect::<Vec<_>>()))
}

fn unknown_field(place: &str, names: &[&str]) -> PresetFieldError {
    PresetFieldError::new(place, "nothing that is read has this name")
        .hint(format!("one of these is expected: {}", names.join(", ")))
}

/// Validates a setting or sampler.
pub(super) fn check_field(key: &str, value: &Value) -> Result<(), PresetFieldError> {
    let place = format!("change.fields.{key}");
    let is_own = FIELDS.iter().any(|(name, _)| *name == key);
    if let Some(spec) = ParameterSpec::of(key).filter(|_| !is_own) {
        let is_right = value.is_null() || spec.value.accepts(value);
        let error = || PresetFieldError::new(&place, spec.value.expectation()).hint(NULL_HINT);
        return if is_right { Ok(()) } else { Err(error()) };
    }
    match FIELDS.iter().find(|(name, _)| *name == key) {
        Some((_, is)) => is.check(&place, value),
        None => {
            let names = FIELDS.iter().map(|(name, _)| *name).chain(PARAMETERS.iter().map(|spec| spec.name));
            Err(unknown_field(&place, &names.collect::<Vec<_>>()))
        }
    }
}

/// Validates a field of `extensions.clotho`.
pub(super) fn check_extension(key: &str, value: &Value) -> Result<(), PresetFieldError> {
    let place = format!("change.own.{key}");
    find_field(&EXTENSION_FIELDS, key, &place)?.check(&place, value)
}

/// Validates the known fields of a part and returns its identifier.
pub(super) fn check_prompt(at: usize, fields: &Map<String, Value>) -> Result<&str, PresetFieldError> {
    let place = |key: &str| format!("change.prompts[{at}].{key}");
    let name = fields.get("identifier").and_then(Value::as_str).unwrap_or_default();
    if name.is_empty() || name.chars().count() > MAX_NAME_CHARS {
        let message = format!("a text of 1 to {MAX_NAME_CHARS} characters is expected");
        return Err(PresetFieldError::new(place("identifier"), message)
            .hint("say which prompt it is, or make up an identifier for a new one"));
    }
    let roles = [Role::System, Role::User, Role::Assistant].map(Role::as_str);
    for (key, value) in fields {
        let place = place(key);
        match key.as_str() {
            "role" if !value.as_str().is_some_and(|word| roles.contains(&word)) => {
                return Err(PresetFieldError::new(place, format!("one of these is expected: {}", roles.join(", ")))
                    .hint("the role in which the model is told it"));
            }
            "name" => {
                PresetFieldType::Text.check(&place, value)?;
                if value.as_str().is_some_and(|name| name.chars().count() > MAX_NAME_CHARS) {
                    return Err(PresetFieldError::new(
                        place,
                        format!("a name has at most {MAX_NAME_CHARS} characters"),
                    ));
                }
            }
            "content" => PresetFieldType::Text.check(&place, value)?,
            "marker" | "system_prompt" | "forbid_overrides" => PresetFieldType::Boolean.check(&place, value)?,
            "injection_position" => PresetFieldType::Integer(0.0, 1.0).check(&place, value)?,
            "injection_depth" => PresetFieldType::Integer(0.0, MAX_DEPTH).check(&place, value)?,
            "injection_order" => PresetFieldType::Integer(-MAX_DEPTH, MAX_DEPTH).check(&place, value)?,
            "injection_trigger" => {
                let is_known = |word: &Value| word.as_str().is_some_and(|word| TRIGGERS.contains(&word));
                if !value.as_array().is_some_and(|list| list.iter().all(is_known)) {
                    return Err(PresetFieldError::new(
                        place,
                        format!("a list of these is expected: {}", TRIGGERS.join(", ")),
                    )
                    .hint("an empty list is for all requests"));
                }
            }
            _ => {}
        }
    }
    Ok(name)
}

/// Validates an order of parts.
pub(super) fn check_order(rows: &[(String, bool)], is_known: impl Fn(&str) -> bool) -> Result<(), PresetFieldError> {
    let mut seen = std::collections::HashSet::new();
    for (at, (name, _)) in rows.iter().enumerate() {
        let place = format!("change.order[{at}].identifier");
        if !is_known(name) {
            let hint = "add it with prompts in the same change, or leave it out of the order";
            return Err(PresetFieldError::new(place, format!("there is no prompt `{name}`")).hint(hint));
        }
        if !seen.insert(name) {
            return Err(
                PresetFieldError::new(place, format!("`{name}` stands there twice")).hint("name each prompt once")
            );
        }
    }
    Ok(())
}
