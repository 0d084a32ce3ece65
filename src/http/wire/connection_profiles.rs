//! Connection profiles: named sets of model settings, and what a request says about them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::ids::{WireConnectionProfileId, WireId, WirePresetId};
use super::records::CodedMessageSchema;
use super::sessions::check_model;
use super::{deserialize_nullable_option, deserialize_optional_params, deserialize_params};
use crate::http::error::ApiError;
use crate::http::json_schema::JsonMap;
use clotho_core::coded_message::RenderedMessage;
use clotho_core::tree::{ConnectionSettings, limits};
use clotho_store as store;

/// A connection profile: the models of a story, their preset and their parameters under one name. It has no persona and
/// no key.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ConnectionProfile)]
pub struct ConnectionProfileResponse {
    /// Id of the profile.
    pub id: WireConnectionProfileId,
    /// Name of the profile, unique among those of its owner.
    pub name: String,
    /// Model, as `provider/model` or an alias; null = the server's default.
    #[schema(required)]
    pub model: Option<String>,
    /// Model parameters.
    #[schema(value_type = JsonMap)]
    pub params: Map<String, Value>,
    /// Preset for prompts; null or a deleted preset = the server's default.
    #[schema(required)]
    pub preset_id: Option<WirePresetId>,
    /// Model that writes summaries; null = the model of the story.
    #[schema(required)]
    pub summaries_model: Option<String>,
    /// Model that writes the changes of values after each reply; null = the model of the reply.
    #[schema(required)]
    pub values_model: Option<String>,
    /// Creation time, ISO 8601 UTC.
    pub created_at: String,
    /// Time of the last change, ISO 8601 UTC.
    pub updated_at: String,
    /// Probable mistakes in what the request sets, such as models that their provider does not list; otherwise absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, value_type = Vec<CodedMessageSchema>)]
    pub problems: Vec<RenderedMessage>,
}

/// A connection profile to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = NewConnectionProfile)]
pub struct CreateConnectionProfileRequest {
    /// Name of the profile, 1 to 100 characters; no other profile has it.
    pub name: String,
    /// Model; null = the server's default.
    #[serde(default)]
    pub model: Option<String>,
    /// Model parameters.
    #[serde(default, deserialize_with = "deserialize_params")]
    #[schema(value_type = JsonMap)]
    pub params: Map<String, Value>,
    /// Preset for prompts, of kind `openai`; null = the server's default.
    #[serde(default)]
    pub preset_id: Option<WirePresetId>,
    /// Model that writes summaries; null = the model of the story.
    #[serde(default)]
    pub summaries_model: Option<String>,
    /// Model that writes the changes of values; null = the model of the reply.
    #[serde(default)]
    pub values_model: Option<String>,
}

/// Fields of a connection profile to change. Stories that have chosen it keep their settings.
#[derive(Debug, Default, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct UpdateConnectionProfileRequest {
    /// New name.
    pub name: Option<String>,
    /// New model; null = the server's default.
    #[serde(deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub model: Option<Option<String>>,
    /// The complete model parameters.
    #[serde(deserialize_with = "deserialize_optional_params")]
    #[schema(value_type = Option<JsonMap>)]
    pub params: Option<Map<String, Value>>,
    /// New preset; null = the server's default.
    #[serde(deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub preset_id: Option<Option<WirePresetId>>,
    /// New model of summaries; null = the model of the story.
    #[serde(deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub summaries_model: Option<Option<String>>,
    /// New model of values; null = the model of the reply.
    #[serde(deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub values_model: Option<Option<String>>,
}

impl ConnectionProfileResponse {
    /// Returns the response for a profile.
    pub fn new(profile: store::ConnectionProfile, problems: Vec<RenderedMessage>) -> Self {
        let store::ConnectionProfile { id, name, settings, created, updated } = profile;
        let ConnectionSettings { model, params, preset, summaries_model, values_model } = settings;
        Self {
            id: WireId(id),
            name,
            model,
            params,
            preset_id: preset.map(WireId),
            summaries_model,
            values_model,
            created_at: created.to_string(),
            updated_at: updated.to_string(),
            problems,
        }
    }
}

impl CreateConnectionProfileRequest {
    /// Returns the name and the settings, checked without any lookup.
    ///
    /// # Errors
    /// Returns an error that names the invalid field.
    pub fn name_and_settings(self) -> Result<(String, ConnectionSettings), ApiError> {
        let name = self.name.trim().to_owned();
        limits::check_profile_name(&name)?;
        let settings = ConnectionSettings {
            model: self.model,
            params: self.params,
            preset: self.preset_id.map(|id| id.0),
            summaries_model: self.summaries_model,
            values_model: self.values_model,
        };
        check_models(&settings)?;
        Ok((name, settings))
    }
}

impl UpdateConnectionProfileRequest {
    /// Checks the fields without any lookup.
    ///
    /// # Errors
    /// Returns an error that names the invalid field.
    pub fn check(&self) -> Result<(), ApiError> {
        if let Some(name) = &self.name {
            limits::check_profile_name(name.trim())?;
        }
        check_models(&self.named_settings())
    }

    /// Returns only the settings that the request names; the others are the defaults.
    pub fn named_settings(&self) -> ConnectionSettings {
        let mut settings = ConnectionSettings::default();
        self.apply_settings(&mut settings);
        settings
    }

    /// Writes the fields into a profile.
    pub fn apply(&self, profile: &mut store::ConnectionProfile) {
        if let Some(name) = &self.name {
            name.trim().clone_into(&mut profile.name);
        }
        self.apply_settings(&mut profile.settings);
    }

    fn apply_settings(&self, settings: &mut ConnectionSettings) {
        let Self { name: _, model, params, preset_id, summaries_model, values_model } = self.clone();
        replace(&mut settings.model, model);
        replace(&mut settings.params, params);
        replace(&mut settings.preset, preset_id.map(|id| id.map(|id| id.0)));
        replace(&mut settings.summaries_model, summaries_model);
        replace(&mut settings.values_model, values_model);
    }
}

fn replace<T>(value: &mut T, new: Option<T>) {
    if let Some(new) = new {
        *value = new;
    }
}

/// Checks the names of the models without looking them up.
fn check_models(settings: &ConnectionSettings) -> Result<(), ApiError> {
    check_model(settings.model.as_deref())?;
    for (field, model) in [("summariesModel", &settings.summaries_model), ("valuesModel", &settings.values_model)] {
        check_model(model.as_deref()).map_err(|error| ApiError::invalid(field, error.message.clone()))?;
    }
    Ok(())
}
