//! Settings of a plugin: `[config.<name>]` of a manifest. The UI builds its form from them, and the values are checked
//! here.

use std::ops::Range;

use serde::Deserialize;
use serde_json::{Number, Value};
use toml::Spanned;

use super::localized_text::LocalizedText;

/// One setting.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginSettingSpec {
    /// The kind of value.
    pub kind: SettingKind,
    /// The value if the user sets none.
    pub default: Value,
    /// Display name; empty means the key.
    pub label: LocalizedText,
    /// A longer explanation.
    pub help: LocalizedText,
}

/// The kinds of settings, with their bounds.
#[derive(Debug, Clone, PartialEq)]
pub enum SettingKind {
    Integer {
        min: Option<i64>,
        max: Option<i64>,
    },
    Number {
        min: Option<f64>,
        max: Option<f64>,
    },
    Boolean,
    /// Any text, or one of a few choices.
    Text {
        /// The choices; empty allows any text.
        choices: Vec<String>,
    },
    /// A list of texts.
    List,
}

/// Error: a value that a setting does not accept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{name}\": {expected}")]
pub struct SettingError {
    /// Name of the setting.
    pub name: String,
    pub expected: String,
}

const MAX_TEXT_BYTES: usize = 4_096;
const MAX_LIST: usize = 100;

impl SettingKind {
    /// Returns what is expected, if the value does not fit.
    pub(super) fn mismatch(&self, value: &Value) -> Option<String> {
        match (self, value) {
            (Self::Integer { min, max }, Value::Number(number)) => match number.as_i64() {
                None => Some("expected a whole number".to_owned()),
                Some(n) => out_of_range(n, *min, *max),
            },
            (Self::Number { min, max }, Value::Number(number)) => match number.as_f64().filter(|n| n.is_finite()) {
                None => Some("expected a number".to_owned()),
                Some(n) => out_of_range(n, *min, *max),
            },
            (Self::Boolean, Value::Bool(_)) => None,
            (Self::Text { choices }, Value::String(text)) => {
                if !choices.is_empty() && !choices.contains(text) {
                    Some(format!("expected one of {}", choices.join(", ")))
                } else {
                    too_long(text)
                }
            }
            (Self::List, Value::Array(list)) if list.len() <= MAX_LIST && list.iter().all(Value::is_string) => {
                list.iter().filter_map(Value::as_str).find_map(too_long)
            }
            _ => Some(format!("expected {}", self.name())),
        }
    }

    /// Names the kind in words for plugin authors.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Integer { .. } => "a whole number",
            Self::Number { .. } => "a number",
            Self::Boolean => "true or false",
            Self::Text { .. } => "a string",
            Self::List => "a list of at most 100 strings",
        }
    }

    fn default_value(&self) -> Value {
        match self {
            Self::Integer { .. } | Self::Number { .. } => Value::Number(Number::from(0)),
            Self::Boolean => Value::Bool(false),
            Self::Text { choices } => choices.first().cloned().unwrap_or_default().into(),
            Self::List => Value::Array(Vec::new()),
        }
    }
}

fn too_long(text: &str) -> Option<String> {
    let fits = text.len() <= MAX_TEXT_BYTES && !text.contains('\0');
    (!fits).then(|| format!("expected a string of at most {MAX_TEXT_BYTES} bytes"))
}

fn out_of_range<N: PartialOrd + std::fmt::Display>(n: N, min: Option<N>, max: Option<N>) -> Option<String> {
    match (min, max) {
        (Some(min), _) if n < min => Some(format!("expected at least {min}")),
        (_, Some(max)) if n > max => Some(format!("expected at most {max}")),
        _ => None,
    }
}

/// A setting as deserialised.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSetting {
    #[serde(rename = "type")]
    kind: RawSettingKind,
    default: Option<Spanned<toml::Value>>,
    min: Option<Spanned<f64>>,
    max: Option<Spanned<f64>>,
    #[serde(default)]
    label: LocalizedText,
    #[serde(default)]
    help: LocalizedText,
    #[serde(default)]
    choices: Vec<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawSettingKind {
    Integer,
    Number,
    Boolean,
    Text,
    List,
}

type SettingFault = (Option<Range<usize>>, String);

impl RawSetting {
    pub(super) fn check(self) -> Result<PluginSettingSpec, SettingFault> {
        let (min, max) = (self.min.as_ref(), self.max.as_ref());
        let kind = match self.kind {
            RawSettingKind::Integer => SettingKind::Integer {
                min: min.map(integer_bound).transpose()?,
                max: max.map(integer_bound).transpose()?,
            },
            RawSettingKind::Number => {
                SettingKind::Number { min: min.map(|n| *n.get_ref()), max: max.map(|n| *n.get_ref()) }
            }
            RawSettingKind::Boolean => SettingKind::Boolean,
            RawSettingKind::Text => SettingKind::Text { choices: self.choices.clone() },
            RawSettingKind::List => SettingKind::List,
        };
        let numeric = matches!(self.kind, RawSettingKind::Integer | RawSettingKind::Number);
        if let (false, Some(bound)) = (numeric, min.or(max)) {
            return Err((Some(bound.span()), "only numbers can have \"min\" and \"max\"".to_owned()));
        }
        let default = match self.default {
            None => kind.default_value(),
            Some(default) => {
                let span = default.span();
                let value = json(default.into_inner()).ok_or((Some(span.clone()), "not a value".to_owned()))?;
                match kind.mismatch(&value) {
                    None => value,
                    Some(expected) => return Err((Some(span), format!("\"default\": {expected}"))),
                }
            }
        };
        Ok(PluginSettingSpec { kind, default, label: self.label, help: self.help })
    }
}

fn integer_bound(bound: &Spanned<f64>) -> Result<i64, SettingFault> {
    format!("{}", bound.get_ref()).parse().map_err(|_| (Some(bound.span()), "expected a whole number".to_owned()))
}

fn json(value: toml::Value) -> Option<Value> {
    serde_json::to_value(value).ok()
}
