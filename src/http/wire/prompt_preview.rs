//! A prompt to look at before it is sent.

use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::checks::check_content;
use super::ids::{WireNodeId, WirePresetId};
use super::sessions::model;
use crate::http::error::ApiError;
use clotho_engine::turn;

/// What would be sent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Preview)]
pub struct PromptPreviewRequest {
    /// Where a message would be written; or the message itself that waits for an answer, where there is no `content`.
    pub parent_id: WireNodeId,
    /// The message that would be written.
    #[serde(default)]
    pub content: Option<String>,
    /// Another model than the session's.
    #[serde(default)]
    pub model: Option<String>,
    /// Parameters over the session's.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub params: Map<String, Value>,
    /// Another preset than the session's.
    #[serde(default)]
    pub preset_id: Option<WirePresetId>,
}

impl PromptPreviewRequest {
    /// The preview for the turn; a message may have so many bytes.
    ///
    /// # Errors
    /// Names the field.
    pub fn read(self, limit: usize) -> Result<turn::PreviewSpec, ApiError> {
        model(self.model.as_deref())?;
        if let Some(text) = &self.content {
            check_content(text, limit)?;
        }
        let (parent, content) = (self.parent_id.0, self.content);
        let preset = self.preset_id.map(|id| id.0);
        Ok(turn::PreviewSpec { parent, content, model: self.model, params: self.params, preset })
    }
}
