//! The summary setting of a session: whether text that no longer fits the prompt is summarized. Plain data.

use serde_json::{Value, json};

use super::limits;

/// Whether and how a session is summarized (`docs/domain.md` 7).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SummarySettings {
    pub is_on: bool,
    /// Tokens of messages per summary; `None`: the server's setting.
    pub every: Option<u32>,
    /// The model that writes the summaries; `None`: the session's model.
    pub model: Option<String>,
}

impl SummarySettings {
    /// Returns the form of the log, the database and files: `{enabled, every, model}`.
    pub fn to_json(&self) -> Value {
        json!({"enabled": self.is_on, "every": self.every, "model": self.model})
    }

    /// Parses that form; `None` if it is invalid. Null is the default.
    pub fn from_json(value: &Value) -> Option<Self> {
        if value.is_null() {
            return Some(Self::default());
        }
        let is_on = value.get("enabled")?.as_bool()?;
        let every = match value.get("every") {
            None | Some(Value::Null) => None,
            Some(every) => Some(u32::try_from(every.as_u64()?).ok()?),
        };
        let model = match value.get("model") {
            None | Some(Value::Null) => None,
            Some(model) => Some(model.as_str()?.to_owned()),
        };
        let fits = every.is_none_or(|every| limits::check_summary_interval(every).is_ok());
        let fits = fits && model.as_deref().is_none_or(|model| limits::check_model(model).is_ok());
        fits.then_some(Self { is_on, every, model })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_settings_json_round_trips() {
        let all = SummarySettings { is_on: true, every: Some(500), model: Some("quick".into()) };
        for summaries in [all, SummarySettings { is_on: true, ..SummarySettings::default() }] {
            assert_eq!(SummarySettings::from_json(&summaries.to_json()), Some(summaries));
        }
        assert_eq!(SummarySettings::from_json(&Value::Null), Some(SummarySettings::default()));
        for bad in [
            json!(1),
            json!({}),
            json!({"enabled": 1}),
            json!({"enabled": true, "every": 5}),
            json!({"enabled": true, "every": "many"}),
            json!({"enabled": true, "model": 7}),
        ] {
            assert_eq!(SummarySettings::from_json(&bad), None, "{bad}");
        }
    }
}
