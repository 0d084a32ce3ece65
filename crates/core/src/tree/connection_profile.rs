//! What a connection profile sets in a session. Plain data.

use serde_json::{Map, Value, json};

use crate::ids::PresetId;

use super::limits;
use super::session::Session;

/// The settings that say which models tell a story, and how they are asked. A connection profile is a name for them, as
/// in SillyTavern. It has no persona and no key.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConnectionSettings {
    /// The model, as `provider/model` or the name of an alias; `None`: the server's default.
    pub model: Option<String>,
    /// The model parameters.
    pub params: Map<String, Value>,
    /// The preset that builds the prompts; `None`: that of the model, or the server's default.
    pub preset: Option<PresetId>,
    /// The model that writes summaries; `None`: the session's model.
    pub summaries_model: Option<String>,
    /// The model that writes value changes; `None`: the model of the reply.
    pub values_model: Option<String>,
}

impl ConnectionSettings {
    /// Returns the settings that a session has now.
    pub fn of_session(session: &Session) -> Self {
        Self {
            model: session.model.clone(),
            params: session.params.clone(),
            preset: session.preset,
            summaries_model: session.summaries.model.clone(),
            values_model: session.values_model.clone(),
        }
    }

    /// Writes the settings into a new session.
    pub fn apply_to(&self, session: &mut Session) {
        let Self { model, params, preset, summaries_model, values_model } = self.clone();
        (session.model, session.params, session.preset) = (model, params, preset);
        (session.summaries.model, session.values_model) = (summaries_model, values_model);
    }

    /// Returns the settings by their names in the operation log, as they change this session. Whether it has summaries,
    /// and how long they are, stays as it is.
    pub fn changes_of(&self, session: &Session) -> Vec<(String, Value)> {
        let mut changes = vec![
            ("model".to_owned(), self.model.clone().into()),
            ("params".to_owned(), self.params.clone().into()),
            ("preset".to_owned(), self.preset.map_or(Value::Null, |id| id.to_string().into())),
            ("valuesModel".to_owned(), self.values_model.clone().into()),
        ];
        if session.summaries.model != self.summaries_model {
            let mut summaries = session.summaries.clone();
            summaries.model.clone_from(&self.summaries_model);
            changes.push(("summaries".to_owned(), summaries.to_json()));
        }
        changes
    }

    /// Returns the form of the database: `{model, params, preset, summariesModel, valuesModel}`.
    pub fn to_json(&self) -> Value {
        json!({
            "model": self.model,
            "params": self.params,
            "preset": self.preset.map(|id| id.to_string()),
            "summariesModel": self.summaries_model,
            "valuesModel": self.values_model,
        })
    }

    /// Parses that form; `None` if it is invalid. An absent field is null.
    pub fn from_json(value: &Value) -> Option<Self> {
        let object = value.as_object()?;
        let text = |name: &str| match object.get(name) {
            None | Some(Value::Null) => Some(None),
            Some(value) => value.as_str().map(|text| Some(text.to_owned())),
        };
        let model = |name: &str| text(name).filter(|model| model.as_deref().is_none_or(is_model));
        Some(Self {
            model: model("model")?,
            params: object.get("params").map_or(Some(Map::new()), |params| params.as_object().cloned())?,
            preset: text("preset")?.map(|id| id.parse()).transpose().ok()?,
            summaries_model: model("summariesModel")?,
            values_model: model("valuesModel")?,
        })
    }
}

fn is_model(name: &str) -> bool {
    limits::check_model(name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_settings_json_round_trips() {
        let all = json!({
            "model": "local/large", "params": {"temperature": 0.5}, "preset": "018f3e2a-0000-7000-8000-0000000000aa",
            "summariesModel": "local/small", "valuesModel": "local/quick",
        });
        for json in [all, ConnectionSettings::default().to_json()] {
            assert_eq!(ConnectionSettings::from_json(&json).map(|settings| settings.to_json()), Some(json));
        }
        assert_eq!(ConnectionSettings::from_json(&json!({})), Some(ConnectionSettings::default()));
        for bad in [
            json!([]),
            json!({"model": 1}),
            json!({"model": ""}),
            json!({"preset": "x"}),
            json!({"params": []}),
            json!({"valuesModel": "x".repeat(301)}),
        ] {
            assert_eq!(ConnectionSettings::from_json(&bad), None, "{bad}");
        }
    }
}
