//! The recall setting of a session: whether text that no longer fits the prompt is found again. Plain data.

use serde_json::{Value, json};

use super::limits;

/// Whether and what a session recalls (`docs/domain.md` 7).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecallSettings {
    pub is_on: bool,
    /// Collections of the owner's documents that are searched too.
    pub collections: Vec<String>,
}

impl RecallSettings {
    /// Returns the form of the log, the database and files: `{enabled, collections}`.
    pub fn to_json(&self) -> Value {
        json!({"enabled": self.is_on, "collections": self.collections})
    }

    /// Parses that form; `None` if it is invalid. Null is the default.
    pub fn from_json(value: &Value) -> Option<Self> {
        if value.is_null() {
            return Some(Self::default());
        }
        let is_on = value.get("enabled")?.as_bool()?;
        let names = value.get("collections")?.as_array()?;
        let collections: Option<Vec<String>> = names.iter().map(|name| name.as_str().map(str::to_owned)).collect();
        let collections = collections.filter(|names| limits::check_collections(names).is_ok())?;
        Some(Self { is_on, collections })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recall_settings_json_round_trips() {
        let recall = RecallSettings { is_on: true, collections: vec!["Maps".into(), "史".into()] };
        assert_eq!(RecallSettings::from_json(&recall.to_json()), Some(recall));
        assert_eq!(RecallSettings::from_json(&Value::Null), Some(RecallSettings::default()));
        for bad in [
            json!(1),
            json!({}),
            json!({"enabled": 1, "collections": []}),
            json!({"enabled": true, "collections": [""]}),
            json!({"enabled": true, "collections": [7]}),
        ] {
            assert_eq!(RecallSettings::from_json(&bad), None, "{bad}");
        }
    }
}
