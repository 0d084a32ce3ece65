//! What an imported session asks for.

use std::collections::BTreeMap;

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::ids::{WireId, WirePresetId};
use super::sessions::{RegexScriptsPermission, SummarySettingsFields};
use crate::http::json_schema::JsonMap;
use clotho_core::tree;

/// The settings that an imported file wants and that were not applied, because they may cost money, grant permissions or
/// run scripts. To accept them, set them with `PATCH`, together with `"requestedSettings": null`, and the permissions
/// with `PUT /api/sessions/{sid}/plugins`. To decline them, send only the null.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestedSettingsResponse {
    /// Model of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub model: Option<String>,
    /// Model that writes the changes of values.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub values_model: Option<String>,
    /// Model parameters; absent if there are none.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(required = false, value_type = JsonMap)]
    pub params: Map<String, Value>,
    /// Preset for prompts. It came with the file, or is a preset of this server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub preset_id: Option<WirePresetId>,
    /// Which regex scripts want to run; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub regex_scripts: Option<RegexScriptsPermission>,
    /// `true` if messages and documents are to be recalled; otherwise absent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub recall: bool,
    /// Automatic summaries; absent if there are to be none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub summaries: Option<SummarySettingsFields>,
    /// The permissions that each plugin is to get, by the plugin's id; absent if there are none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(required = false)]
    pub grants: BTreeMap<String, Vec<String>>,
}

impl RequestedSettingsResponse {
    /// Returns the response for the settings; `None` if nothing is asked for.
    pub fn new(requested: &tree::RequestedSettings) -> Option<Self> {
        let scripts = requested.scripts.as_ref();
        (!requested.is_empty()).then(|| Self {
            model: requested.model.clone(),
            values_model: requested.values_model.clone(),
            params: requested.params.clone(),
            preset_id: requested.preset.map(WireId),
            regex_scripts: scripts.map(|scripts| RegexScriptsPermission { card: scripts.card, preset: scripts.preset }),
            recall: requested.is_recall_on,
            summaries: requested.summaries.as_ref().map(SummarySettingsFields::from),
            grants: requested.grants.clone(),
        })
    }
}

/// Deserializes a field that can only be null.
///
/// # Errors
/// Returns an error if the value is not null.
pub fn deserialize_null<'de, D: Deserializer<'de>>(from: D) -> Result<Option<()>, D::Error> {
    match Option::<serde::de::IgnoredAny>::deserialize(from)? {
        None => Ok(Some(())),
        Some(_) => Err(D::Error::custom("expected null")),
    }
}
