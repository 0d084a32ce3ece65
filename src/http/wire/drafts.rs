//! Texts that a model drafts and that are no nodes.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::ids::{WireDraftId, WireId, WireNodeId};
use super::sessions::model;
use crate::http::error::ApiError;
use clotho_engine::live::{Draft, DraftFailure};
use clotho_engine::turn;

/// The most messages of a summary.
const MAX_RUN_NODES: usize = 2_000;

/// A message to draft in the user's own voice.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ImpersonateRequest {
    /// Where it would be written; at HEAD unless said.
    pub leaf_id: Option<WireNodeId>,
    /// Another model than the session's.
    pub model: Option<String>,
    /// Parameters over the session's.
    #[schema(value_type = Object)]
    pub params: Map<String, Value>,
}

/// A summary to draft.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SummariseRequest {
    /// Messages that follow each other on one line, in any order.
    pub node_ids: Vec<WireNodeId>,
    /// Another model than the session's.
    #[serde(default)]
    pub model: Option<String>,
    /// Parameters over the session's.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub params: Map<String, Value>,
}

/// A draft was begun; its text comes as events.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DraftBegunResponse {
    /// The draft.
    pub draft_id: WireDraftId,
}

/// A draft as far as it is. It is kept until the server stops, or until many others came after it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Draft)]
pub struct DraftResponse {
    /// Its id.
    pub id: WireDraftId,
    /// `impersonate` or `summarise`.
    #[schema(value_type = String)]
    pub kind: &'static str,
    /// `queued`, `waiting`, `thinking`, `streaming`, `done` or `error`.
    #[schema(value_type = String)]
    pub status: &'static str,
    /// Its place in the queue, counted from 1, while it is `queued`.
    pub queue_position: Option<usize>,
    /// The text so far.
    pub content: String,
    /// The model that was asked.
    pub model: String,
    /// Why it failed.
    pub error: Option<DraftErrorResponse>,
}

/// Why a draft failed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DraftErrorResponse {
    /// A stable word, as on a message.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl ImpersonateRequest {
    /// The draft for the turn.
    ///
    /// # Errors
    /// Names the field.
    pub fn read(self) -> Result<turn::ImpersonateSpec, ApiError> {
        model(self.model.as_deref())?;
        Ok(turn::ImpersonateSpec { leaf: self.leaf_id.map(|id| id.0), model: self.model, params: self.params })
    }
}

impl SummariseRequest {
    /// The draft for the turn.
    ///
    /// # Errors
    /// Names the field.
    pub fn read(self) -> Result<turn::SummarySpec, ApiError> {
        if self.node_ids.is_empty() || self.node_ids.len() > MAX_RUN_NODES {
            return Err(ApiError::invalid("nodeIds", format!("1 to {MAX_RUN_NODES} messages are expected")));
        }
        model(self.model.as_deref())?;
        let nodes = self.node_ids.into_iter().map(|id| id.0).collect();
        Ok(turn::SummarySpec { nodes, model: self.model, params: self.params })
    }
}

impl From<&Draft> for DraftResponse {
    fn from(draft: &Draft) -> Self {
        // The end first: what is over has all of its text.
        let phase = draft.phase();
        Self {
            id: WireId(draft.generation.id),
            kind: draft.kind.word(),
            status: phase.word,
            queue_position: phase.place,
            content: draft.generation.with_partial_text(|written| written.content.clone()),
            model: draft.model.clone(),
            error: draft.failed().map(DraftErrorResponse::from),
        }
    }
}

impl From<&DraftFailure> for DraftErrorResponse {
    fn from(failed: &DraftFailure) -> Self {
        Self { code: failed.code.clone(), message: failed.message.clone(), hint: failed.hint.clone() }
    }
}
