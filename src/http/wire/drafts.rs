//! Texts that a model drafts and that become no nodes.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::deserialize_params;
use super::ids::{WireDraftId, WireId, WireNodeId};
use super::sessions::check_model;
use super::string_enums::DraftStatusEnum;
use crate::http::error::ApiError;
use crate::http::json_schema::JsonMap;
use clotho_core::coded_message::{MessageArgs, RenderedMessage};
use clotho_engine::live::{Draft, DraftFailure};
use clotho_engine::turn;

/// Maximum number of messages in a summary.
const MAX_RUN_NODES: usize = 2_000;

/// A request to draft the user's next message.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ImpersonateRequest {
    /// The node below which the message would be written; default HEAD.
    pub leaf_id: Option<WireNodeId>,
    /// Overrides the session's model.
    pub model: Option<String>,
    /// Overrides single parameters of the session.
    #[serde(deserialize_with = "deserialize_params")]
    #[schema(value_type = JsonMap)]
    pub params: Map<String, Value>,
}

/// A request to draft a summary.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SummariseRequest {
    /// Consecutive messages of one branch, in any order; at most 2000.
    pub node_ids: Vec<WireNodeId>,
    /// Overrides the session's model.
    #[serde(default)]
    pub model: Option<String>,
    /// Overrides single parameters of the session.
    #[serde(default, deserialize_with = "deserialize_params")]
    #[schema(value_type = JsonMap)]
    pub params: Map<String, Value>,
}

/// A started draft; its text arrives as events.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DraftBegunResponse {
    /// Id of the draft.
    pub draft_id: WireDraftId,
}

/// The current state of a draft. It is kept until the server stops or many newer drafts replace it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Draft)]
pub struct DraftResponse {
    /// Id of the draft.
    pub id: WireDraftId,
    /// `impersonate` or `summarise`.
    #[schema(value_type = String)]
    pub kind: &'static str,
    /// `queued`, `waiting`, `thinking`, `streaming`, `done` or `error`.
    #[schema(value_type = DraftStatusEnum)]
    pub status: &'static str,
    /// Position in the queue, from 1, while `status` is `queued`.
    #[schema(required)]
    pub queue_position: Option<usize>,
    /// Text received so far.
    pub content: String,
    /// The model that writes the draft.
    pub model: String,
    /// Why the draft failed; null otherwise.
    #[schema(required)]
    pub error: Option<DraftErrorResponse>,
}

/// Why a draft failed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DraftErrorResponse {
    /// Stable error code, as on messages.
    pub code: String,
    /// Arguments of the code: texts and numbers by name.
    #[schema(value_type = JsonMap)]
    pub args: MessageArgs,
    /// The error in one sentence.
    pub message: String,
    /// What the user can do about it.
    pub hint: String,
}

impl ImpersonateRequest {
    /// Validates the request for the turn engine.
    ///
    /// # Errors
    /// Returns an error that names the invalid field.
    pub fn read(self) -> Result<turn::ImpersonateSpec, ApiError> {
        check_model(self.model.as_deref())?;
        Ok(turn::ImpersonateSpec { leaf: self.leaf_id.map(|id| id.0), model: self.model, params: self.params })
    }
}

impl SummariseRequest {
    /// Validates the request for the turn engine.
    ///
    /// # Errors
    /// Returns an error that names the invalid field.
    pub fn read(self) -> Result<turn::SummarySpec, ApiError> {
        if self.node_ids.is_empty() || self.node_ids.len() > MAX_RUN_NODES {
            return Err(ApiError::invalid("nodeIds", format!("expected 1 to {MAX_RUN_NODES} messages")));
        }
        check_model(self.model.as_deref())?;
        let nodes = self.node_ids.into_iter().map(|id| id.0).collect();
        Ok(turn::SummarySpec { nodes, model: self.model, params: self.params })
    }
}

impl From<&Draft> for DraftResponse {
    fn from(draft: &Draft) -> Self {
        // Read the phase before the text: a finished draft then has all of its text.
        let phase = draft.phase();
        Self {
            id: WireId(draft.generation.id),
            kind: draft.kind.as_str(),
            status: phase.word,
            queue_position: phase.place,
            content: draft.generation.with_partial_text(|written| written.content.clone()),
            model: draft.model.clone(),
            error: draft.failure().map(DraftErrorResponse::from),
        }
    }
}

impl From<&DraftFailure> for DraftErrorResponse {
    fn from(failed: &DraftFailure) -> Self {
        let RenderedMessage { code, args, message } = failed.failure.clone();
        Self { code, args, message, hint: failed.hint.clone() }
    }
}
