//! Previews of prompts.

use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::checks::{check_content, check_time_zone};
use super::deserialize_params;
use super::ids::{WireNodeId, WirePresetId};
use super::sessions::check_model;
use crate::http::error::ApiError;
use crate::http::json_schema::JsonMap;
use clotho_engine::turn;

/// A request for a prompt preview.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Preview)]
pub struct PromptPreviewRequest {
    /// The node below which the message would be written. Without `content`, the message to be answered.
    pub parent_id: WireNodeId,
    /// The message that would be written.
    #[serde(default)]
    pub content: Option<String>,
    /// Overrides the session's model.
    #[serde(default)]
    pub model: Option<String>,
    /// Overrides single parameters of the session.
    #[serde(default, deserialize_with = "deserialize_params")]
    #[schema(value_type = JsonMap)]
    pub params: Map<String, Value>,
    /// Overrides the session's preset.
    #[serde(default)]
    pub preset_id: Option<WirePresetId>,
    /// Time zone of the person who writes the message; see the field of messages.
    #[serde(default)]
    pub time_zone: Option<String>,
}

impl PromptPreviewRequest {
    /// Validates the preview for the turn engine; `limit` is the maximum size of a message in bytes.
    ///
    /// # Errors
    /// Returns an error that names the invalid field.
    pub fn read(self, limit: usize) -> Result<turn::PreviewSpec, ApiError> {
        check_model(self.model.as_deref())?;
        check_time_zone(self.time_zone.as_deref())?;
        if let Some(text) = &self.content {
            check_content(text, limit)?;
        }
        let (parent, content) = (self.parent_id.0, self.content);
        let preset = self.preset_id.map(|id| id.0);
        let (model, params, time_zone) = (self.model, self.params, self.time_zone);
        Ok(turn::PreviewSpec { parent, content, model, params, preset, time_zone })
    }
}
