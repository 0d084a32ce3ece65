//! The parts of a streamed reply.

use super::{ParameterChange, ProviderFailure};
use futures_util::stream::BoxStream;
use serde_json::Value;

/// A reply in progress. It ends after the first failure. Dropping it ends the request. Timeouts run only while it is
/// polled, so a slow consumer does not count as a silent server.
///
/// A reply without a failure has at most one [`Frame::Finish`], and none if its end is normal but has no reason.
pub type FrameStream = BoxStream<'static, Result<Frame, ProviderFailure>>;

/// A part of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// Something arrived that has no content: the server is alive.
    KeepAlive,
    /// The request is at this place of the server's queue, counted from 1. 0 = the server has begun.
    Queued { place: usize },
    /// The server refused parameters of this request. It was sent again with all of these changes.
    ParametersChanged(Vec<ParameterChange>),
    /// More of the reply. Never empty, never cut inside a code point, and without U+0000, which becomes U+FFFD.
    Text(String),
    /// More of the model's reasoning, with the same guarantees as [`Frame::Text`].
    Reasoning(String),
    /// A complete tool call.
    ToolCall(ToolCall),
    /// What the provider wants back unchanged with the results of the tool calls, such as signatures of reasoning. It
    /// belongs into [`super::ToolRound::provider_state`] of requests to the same endpoint. Its form is private.
    ProviderState(Value),
    /// Token usage. Can come more than once; the last one is valid.
    Usage(Usage),
    /// The name of the model that answers. Sent again if it changes.
    Model(String),
    /// Why the reply ended. Usage can still follow.
    Finish(FinishReason),
}

/// A tool call of the model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolCall {
    /// The provider's id for this call; empty if it gives none.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// The arguments as written by the model. They should be JSON, but can be invalid.
    pub arguments: String,
}

/// Tokens and cost as counted by the provider.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Usage {
    /// Tokens of the prompt, including cached ones.
    pub prompt: u64,
    /// Tokens of the reply, including reasoning.
    pub completion: u64,
    /// Tokens of the prompt read from the provider's cache.
    pub cached: Option<u64>,
    /// Tokens of the prompt written to the provider's cache, at their own price.
    pub written: Option<u64>,
    /// Tokens of reasoning in the reply.
    pub reasoning: Option<u64>,
    /// Cost in the provider's currency (US dollars at the aggregators that report it).
    pub cost: Option<f64>,
}

/// Why a reply ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinishReason {
    /// The model was done, or wrote a stop string.
    Stop,
    /// The token or context limit was reached, so the reply is truncated.
    Length,
    /// The provider withheld content, with its name for the reason.
    ContentFilter(String),
    /// Something other than the model stopped the reply, with the provider's name for it. It is truncated.
    Aborted(String),
    /// The model wants tools to be called before it continues.
    ToolCalls,
    /// Another reason, with the provider's name for it. The reply can be truncated.
    Other(String),
    /// The provider ended the reply without a reason, and nothing else shows a normal end. It can be truncated.
    Unstated,
}

impl FinishReason {
    /// Returns OpenAI's name for the reason, or the provider's own.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ContentFilter(_) => "content_filter",
            Self::Aborted(_) => "abort",
            Self::ToolCalls => "tool_calls",
            Self::Other(reason) => reason,
            Self::Unstated => "unknown",
        }
    }
}
