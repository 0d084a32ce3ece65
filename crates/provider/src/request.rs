//! What is asked.

use serde_json::{Map, Value};

use super::frame::ToolCall;

/// Who says a message, in the wire's sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestRole {
    /// Instructions.
    System,
    /// The player.
    User,
    /// The model.
    Assistant,
}

impl RequestRole {
    /// The wire's word.
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
    /// Who says it.
    pub role: RequestRole,
    /// The speaker. Sent only where the API allows it: 1 to 64 Latin letters, digits, `_` and `-`. A name that must
    /// reach the model belongs into the content.
    pub name: Option<String>,
    /// What is said.
    pub content: String,
}

/// What happened when a model wanted tools called before it went on: it said something, perhaps, and each call was answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolRound {
    /// What the model had said when it wanted them.
    pub said: String,
    /// What it wanted called, each with a name for the call.
    pub calls: Vec<ToolCall>,
    /// What came of each, in the same order: JSON.
    pub answers: Vec<String>,
}

impl ToolRound {
    /// Each call with what came of it.
    pub fn calls_with_answers(&self) -> impl Iterator<Item = (&ToolCall, &str)> {
        self.calls.iter().zip(self.answers.iter().map(String::as_str))
    }
}

/// One reply to be asked for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    /// The model, as the provider names it.
    pub model: String,
    /// The prompt.
    pub messages: Vec<RequestMessage>,
    /// Tools that this reply has used so far; they stand behind the messages.
    pub rounds: Vec<ToolRound>,
    /// `temperature`, `max_tokens`, `stop`, `seed` and whatever else the provider takes, in OpenAI's words: other kinds
    /// rename what they know. They go over the endpoint's own `extra`; `null` takes a field out.
    pub params: Map<String, Value>,
    /// So many messages from the beginning are expected to begin the next prompt too: where a provider keeps what it has
    /// read, it is told to keep these. 0 = nothing is known.
    pub cacheable_messages: usize,
    /// Tokens of prompt and reply together that the prompt was made for; a server that has to be told is told.
    pub context: Option<usize>,
}
