//! What a reply is made of.

use super::ProviderFailure;
use futures_util::stream::BoxStream;

/// A reply under way. It ends after the first failure. Dropping it ends the request. Limits of time run only while it is
/// polled: a slow listener is not the server's silence.
///
/// A reply that ends without a failure has said at most one [`Frame::Finish`]: none when the provider gave no reason.
pub type FrameStream = BoxStream<'static, Result<Frame, ProviderFailure>>;

/// The closed set of things a model server says.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// Something arrived that is none of the others: the server is alive.
    KeepAlive,
    /// More of the reply. Never empty, never cut inside a code point, without U+0000 (it becomes U+FFFD).
    Text(String),
    /// More of what the model thinks before it speaks. As clean as [`Frame::Text`].
    Reasoning(String),
    /// A tool that the model wants called, whole.
    ToolCall(ToolCall),
    /// What the reply costs, as the provider counts. May come more than once: the last one holds.
    Usage(Usage),
    /// The model that answers, in the provider's words. Again when it changes.
    Model(String),
    /// Why the reply ended. Usage may still follow.
    Finish(FinishReason),
}

/// A tool that the model wants called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolCall {
    /// The provider's name for this call; empty where it gives none.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments, as the model wrote them: JSON, or what was to be JSON.
    pub arguments: String,
}

/// Tokens and money, as the provider counts them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Usage {
    /// Tokens of the prompt, the cached ones included.
    pub prompt: u64,
    /// Tokens of the reply, reasoning included.
    pub completion: u64,
    /// Tokens of the prompt that the provider had read before.
    pub cached: Option<u64>,
    /// Tokens of the prompt that the provider keeps from now on and takes another price for.
    pub written: Option<u64>,
    /// Tokens of the reply that were reasoning.
    pub reasoning: Option<u64>,
    /// What the provider charges, in its own currency (US dollars at the aggregators that tell).
    pub cost: Option<f64>,
}

/// Why a reply ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinishReason {
    /// The model was done, or met a stop text.
    Stop,
    /// The limit of tokens, or of the context, was reached: the reply is truncated.
    Length,
    /// The provider held something back, and what it calls that.
    ContentFilter(String),
    /// The model wants tools called before it goes on.
    ToolCalls,
    /// A reason of the provider's own, as it names it.
    Other(String),
}

impl FinishReason {
    /// Reads the vendors' words for the same few things.
    pub(super) fn parse(reason: &str) -> Self {
        match reason.to_ascii_lowercase().as_str() {
            "stop" | "end_turn" | "stop_sequence" | "eos" | "word" => Self::Stop,
            "length" | "max_tokens" | "limit" | "model_context_window_exceeded" => Self::Length,
            "content_filter" | "safety" | "refusal" => Self::ContentFilter(reason.to_owned()),
            "tool_calls" | "tool_use" | "function_call" => Self::ToolCalls,
            _ => Self::Other(reason.to_owned()),
        }
    }

    /// The reason in OpenAI's word for it, or the provider's own.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ContentFilter(_) => "content_filter",
            Self::ToolCalls => "tool_calls",
            Self::Other(reason) => reason,
        }
    }
}
