//! Automatic summaries of messages that are no longer in the prompts of a session.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::ids::{WireId, WireNodeId, WireSummaryId, wire_ids};
use super::records::CodedMessageSchema;
use crate::http::error::ApiError;
use crate::http::json_schema::JsonMap;
use clotho_core::coded_message::RenderedMessage;
use clotho_engine::turn::BranchSummary;

/// The branch.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct SummariesQuery {
    /// Leaf of the branch; default HEAD.
    #[param(value_type = Option<String>)]
    pub node_id: Option<WireNodeId>,
}

/// The summaries of a branch.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SummariesResponse {
    /// Summaries in the order of their messages; chapters follow the summaries that they were made of.
    pub items: Vec<SummaryResponse>,
    /// Whether a summary of the session is being written right now.
    pub is_working: bool,
    /// Why no summary can be written; null otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub problem: Option<String>,
    /// The same as code, arguments and sentence; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = CodedMessageSchema)]
    pub failure: Option<RenderedMessage>,
}

/// A summary of consecutive messages of a branch.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Summary)]
pub struct SummaryResponse {
    /// Id of the summary.
    pub id: WireSummaryId,
    /// 1 for a summary of messages; a chapter has the level of its parts plus one.
    pub level: i16,
    /// The text; an empty one is never put into a prompt.
    pub content: String,
    /// First summarised message.
    #[schema(required)]
    pub first_id: Option<WireNodeId>,
    /// Last summarised message.
    #[schema(required)]
    pub last_id: Option<WireNodeId>,
    /// All summarised messages, oldest first.
    pub node_ids: Vec<WireNodeId>,
    /// Whether the messages have changed since; then no prompt uses the summary.
    pub is_stale: bool,
    /// Whether a user has edited the text.
    pub is_edited: bool,
    /// The plugin that proposed it; null for a summary of the server.
    #[schema(required)]
    pub plugin: Option<String>,
    /// How it was made: `model`, `tokenCount`, `cost` and other fields of a reply's metadata.
    #[schema(value_type = JsonMap)]
    pub metadata: Map<String, Value>,
    /// Creation time, ISO 8601 UTC.
    pub created_at: String,
}

/// A new text for a summary.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateSummaryRequest {
    /// The text. With an empty one, the messages have no summary.
    pub content: String,
}

impl UpdateSummaryRequest {
    /// Returns the text; `limit` is its maximum size in bytes.
    ///
    /// # Errors
    /// Returns an error if the text is too long.
    pub fn read(self, limit: usize) -> Result<String, ApiError> {
        if self.content.len() > limit {
            return Err(ApiError::invalid("content", format!("a summary has at most {limit} bytes")));
        }
        Ok(self.content.trim().to_owned())
    }
}

impl SummariesResponse {
    /// Builds the response from the summaries of a branch and the activity in the session.
    pub fn new(found: Vec<BranchSummary>, is_working: bool, failure: Option<RenderedMessage>) -> Self {
        let problem = failure.as_ref().map(|failure| failure.message.clone());
        Self { items: found.into_iter().map(SummaryResponse::from).collect(), is_working, problem, failure }
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
            metadata: summary.metadata.for_readers().into(),
            created_at: summary.created.to_string(),
        }
    }
}
