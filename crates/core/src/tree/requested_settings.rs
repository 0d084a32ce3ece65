//! The settings that an imported session asks for. Plain data.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::ids::PresetId;

use super::allowed_scripts::AllowedScripts;
use super::limits;
use super::summary_settings::SummarySettings;

/// The settings of an imported session that its owner has not accepted yet. They may cost money, grant permissions or
/// run scripts of somebody else, so they do not come into force by an import (`docs/export.md`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestedSettings {
    pub model: Option<String>,
    pub values_model: Option<String>,
    /// Model parameters; empty asks for none.
    pub params: Map<String, Value>,
    pub preset: Option<PresetId>,
    /// Which regex scripts want to run. `None` if there are no scripts.
    pub scripts: Option<AllowedScripts>,
    /// Whether text that no longer fits the prompt is to be recalled.
    pub is_recall_on: bool,
    /// `None` if there are to be no summaries.
    pub summaries: Option<SummarySettings>,
    /// The permissions of each plugin, by its id.
    pub grants: BTreeMap<String, Vec<String>>,
}

/// The names of the settings that an import does not apply, as in the log.
pub const WITHHELD_SETTINGS: [&str; 14] = [
    "cards",
    "model",
    "valuesModel",
    "params",
    "preset",
    "profile",
    "scripts",
    "recall",
    "summaries",
    "plugins",
    "requested",
    "folder",
    "tags",
    "isPinned",
];

impl RequestedSettings {
    /// Returns whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the form of the log and the database: an object with the settings that are asked for; null if there are
    /// none.
    pub fn to_json(&self) -> Value {
        if self.is_empty() {
            return Value::Null;
        }
        let scripts = self.scripts.map(|scripts| json!(scripts));
        let settings = [
            ("model", self.model.clone().map(Value::from)),
            ("valuesModel", self.values_model.clone().map(Value::from)),
            ("params", (!self.params.is_empty()).then(|| self.params.clone().into())),
            ("preset", self.preset.map(|id| id.to_string().into())),
            ("scripts", scripts),
            ("recall", self.is_recall_on.then_some(Value::Bool(true))),
            ("summaries", self.summaries.as_ref().map(SummarySettings::to_json)),
            ("grants", (!self.grants.is_empty()).then(|| json!(self.grants))),
        ];
        settings.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect::<Map<_, _>>().into()
    }

    /// Parses that form; `None` if it is invalid.
    pub fn from_json(value: &Value) -> Option<Self> {
        let mut requested = Self::default();
        if value.is_null() {
            return Some(requested);
        }
        for (name, value) in value.as_object()? {
            match name.as_str() {
                "model" => requested.model = Some(model_from_json(value)?),
                "valuesModel" => requested.values_model = Some(model_from_json(value)?),
                "params" => requested.params = value.as_object()?.clone(),
                "preset" => requested.preset = Some(value.as_str()?.parse().ok()?),
                "scripts" => requested.scripts = Some(serde_json::from_value(value.clone()).ok()?),
                "recall" => requested.is_recall_on = value.as_bool()?,
                "summaries" => requested.summaries = Some(SummarySettings::from_json(value)?),
                "grants" => requested.grants = serde_json::from_value(value.clone()).ok()?,
                _ => return None,
            }
        }
        Some(requested)
    }
}

fn model_from_json(value: &Value) -> Option<String> {
    let model = value.as_str()?;
    limits::check_model(model).is_ok().then(|| model.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requested_settings_json_round_trips() {
        let all = json!({
            "model": "local/large", "valuesModel": "local/small", "params": {"max_tokens": 90000},
            "preset": "01990000-0000-7000-8000-000000000001", "scripts": {"card": true, "preset": false},
            "recall": true, "summaries": {"enabled": true, "every": 100, "model": "local/small"},
            "grants": {"summariser": ["model.call"]},
        });
        let requested = RequestedSettings::from_json(&all).unwrap();
        assert_eq!(requested.to_json(), all);
        assert_eq!(RequestedSettings::from_json(&Value::Null), Some(RequestedSettings::default()));
        assert_eq!(RequestedSettings::default().to_json(), Value::Null);
        for bad in [
            json!(1),
            json!({"model": ""}),
            json!({"params": []}),
            json!({"grants": ["x"]}),
            json!({"summaries": {}}),
            json!({"other": 1}),
        ] {
            assert_eq!(RequestedSettings::from_json(&bad), None, "{bad}");
        }
    }
}
