//! Summaries of what the prompts of a session do not hold any more.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::ids::{WireId, WireNodeId, WireSummaryId, wire_ids};
use crate::http::error::ApiError;
use clotho_engine::turn::BranchSummary;

/// Which line.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct SummariesQuery {
    /// Where it ends; at HEAD unless said.
    #[param(value_type = Option<String>)]
    pub node_id: Option<WireNodeId>,
}

/// The summaries of a line.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SummariesResponse {
    /// The summaries, in the order of their messages, what was made of several behind these.
    pub items: Vec<SummaryResponse>,
    /// Whether something is being summed up in the session right now.
    pub is_working: bool,
    /// Why nothing comes of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub problem: Option<String>,
}

/// A summary of messages that follow each other on a line.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Summary)]
pub struct SummaryResponse {
    /// Its id.
    pub id: WireSummaryId,
    /// 1 where it was made of messages; a chapter has one more than the summaries that it was made of.
    pub level: i16,
    /// The text; an empty one is told nowhere.
    pub content: String,
    /// The first of its messages.
    pub first_id: Option<WireNodeId>,
    /// The last of its messages.
    pub last_id: Option<WireNodeId>,
    /// All of its messages, oldest first.
    pub node_ids: Vec<WireNodeId>,
    /// Whether its messages stand otherwise now than when it was made: then no prompt tells it.
    pub is_stale: bool,
    /// Whether somebody has corrected it.
    pub is_edited: bool,
    /// The plugin that proposed it; null for one that the server had made.
    pub plugin: Option<String>,
    /// What is known of how it was made: `model`, `tokenCount`, `cost` and what else a reply has.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    /// When it was made.
    pub created_at: String,
}

/// Another text for a summary.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateSummaryRequest {
    /// The text; with an empty one its messages are summed up nowhere.
    pub content: String,
}

impl UpdateSummaryRequest {
    /// The text, which may have so many bytes.
    ///
    /// # Errors
    /// It is too long.
    pub fn read(self, limit: usize) -> Result<String, ApiError> {
        if self.content.len() > limit {
            return Err(ApiError::invalid("content", format!("a summary has at most {limit} bytes")));
        }
        Ok(self.content.trim().to_owned())
    }
}

impl SummariesResponse {
    /// Those of a line, with what is being done in its session.
    pub fn new(found: Vec<BranchSummary>, (is_working, problem): (bool, Option<String>)) -> Self {
        Self { items: found.into_iter().map(SummaryResponse::from).collect(), is_working, problem }
    }
}

impl From<BranchSummary> for SummaryResponse {
    fn from(found: BranchSummary) -> Self {
        let BranchSummary { summary, nodes, is_stale } = found;
        let plugin = summary.plugin().map(str::to_owned);
        Self {
            id: WireId(summary.id),
            level: summary.sources.level,
            content: summary.content,
            first_id: nodes.first().copied().map(WireId),
            last_id: nodes.last().copied().map(WireId),
            node_ids: wire_ids(&nodes),
            is_stale,
            is_edited: summary.is_edited,
            plugin,
            metadata: summary.metadata,
            created_at: summary.created.to_string(),
        }
    }
}
