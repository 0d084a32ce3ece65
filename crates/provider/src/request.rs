//! The request for a reply.

use serde_json::{Map, Value};

use super::frame::ToolCall;

/// The role of a message, as sent to servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestRole {
    System,
    User,
    Assistant,
}

impl RequestRole {
    /// Returns the name used in requests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestMessage {
    pub role: RequestRole,
    /// The speaker. Sent only if the API allows it: 1 to 64 Latin letters, digits, `_` and `-`. A name that must reach
    /// the model belongs into the content.
    pub name: Option<String>,
    pub content: String,
}

/// One round of tool calls and their results, before the model continued.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolRound {
    /// What the model had said before the calls; can be empty.
    pub text: String,
    /// The calls, each with an id.
    pub calls: Vec<ToolCall>,
    /// The results as JSON, in the order of the calls.
    pub answers: Vec<String>,
    /// What the server sent to get back with this round ([`super::Frame::ProviderState`]). Only for its own endpoint.
    pub provider_state: Option<Value>,
}

impl ToolRound {
    /// Returns each call with its result.
    pub fn calls_with_answers(&self) -> impl Iterator<Item = (&ToolCall, &str)> {
        self.calls.iter().zip(self.answers.iter().map(String::as_str))
    }
}

/// A request for one reply.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    /// The model's name at the provider.
    pub model: String,
    pub messages: Vec<RequestMessage>,
    /// Tool rounds of this reply so far. They come after the messages.
    pub rounds: Vec<ToolRound>,
    /// `temperature`, `max_tokens`, `stop`, `seed` and other parameters, with OpenAI's names; other kinds rename them.
    /// They override the endpoint's `extra`; `null` removes a field.
    pub params: Map<String, Value>,
    /// Number of messages at the start that the next prompt probably repeats. Used to set cache marks. 0 = unknown.
    pub cacheable_messages: usize,
    /// Context length in tokens, prompt and reply together, for which the prompt was made. Sent to servers that need
    /// it.
    pub context: Option<usize>,
}
