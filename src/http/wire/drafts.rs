//! Texts that a model drafts and that are no nodes.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::ids::{DraftRef, Id, NodeRef};
use super::sessions::model;
use crate::http::error::ApiError;
use crate::live::{Draft, Failed};
use crate::turn;

/// The most messages of a summary.
const RUN: usize = 2_000;

/// A message to draft in the user's own voice.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Impersonate {
    /// Where it would be written; at HEAD unless said.
    pub leaf_id: Option<NodeRef>,
    /// Another model than the session's.
    pub model: Option<String>,
    /// Parameters over the session's.
    #[schema(value_type = Object)]
    pub params: Map<String, Value>,
}

/// A summary to draft.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Summarise {
    /// Messages that follow each other on one line, in any order.
    pub node_ids: Vec<NodeRef>,
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
pub struct Begun {
    /// The draft.
    pub draft_id: DraftRef,
}

/// A draft as far as it is. It is kept until the server stops, or until many others came after it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Draft)]
pub struct DraftShape {
    /// Its id.
    pub id: DraftRef,
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
    pub error: Option<DraftError>,
}

/// Why a draft failed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DraftError {
    /// A stable word, as on a message.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl Impersonate {
    /// The draft for the turn.
    ///
    /// # Errors
    /// Names the field.
    pub fn read(self) -> Result<turn::Impersonate, ApiError> {
        model(self.model.as_deref())?;
        Ok(turn::Impersonate { leaf: self.leaf_id.map(|id| id.0), model: self.model, params: self.params })
    }
}

impl Summarise {
    /// The draft for the turn.
    ///
    /// # Errors
    /// Names the field.
    pub fn read(self) -> Result<turn::Summarise, ApiError> {
        if self.node_ids.is_empty() || self.node_ids.len() > RUN {
            return Err(ApiError::invalid("nodeIds", format!("1 to {RUN} messages are expected")));
        }
        model(self.model.as_deref())?;
        let nodes = self.node_ids.into_iter().map(|id| id.0).collect();
        Ok(turn::Summarise { nodes, model: self.model, params: self.params })
    }
}

impl From<&Draft> for DraftShape {
    fn from(draft: &Draft) -> Self {
        // The end first: what is over has all of its text.
        let phase = draft.phase();
        Self {
            id: Id(draft.writing.id),
            kind: draft.kind.word(),
            status: phase.word,
            queue_position: phase.place,
            content: draft.writing.look(|written| written.content.clone()),
            model: draft.model.clone(),
            error: draft.failed().map(DraftError::from),
        }
    }
}

impl From<&Failed> for DraftError {
    fn from(failed: &Failed) -> Self {
        Self { code: failed.code.clone(), message: failed.message.clone(), hint: failed.hint.clone() }
    }
}
