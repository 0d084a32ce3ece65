//! A plugin's model call (`ctx.ask`) and its result (`ctx.answer`). A script never waits: the host makes the call after
//! the message is written, and `on_answer` gets the result.

use clotho_core::coded_message::RenderedMessage;
use serde_json::{Value, json};

/// Default for the tokens of an answer.
pub const DEFAULT_MAX_TOKENS: u32 = 512;
/// The most tokens of an answer.
pub const MAX_TOKENS: u32 = 4_096;

/// One model call that a plugin requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginModelCall {
    /// The name that the plugin gives the call; the answer has the same name.
    pub name: String,
    /// The messages for the model, oldest first.
    pub messages: Vec<ModelCallMessage>,
    /// The most tokens of the answer.
    pub max_tokens: u32,
    /// The model; `None` means the session's.
    pub model: Option<String>,
}

/// One message of a model call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCallMessage {
    /// `user`, `assistant` or `system`.
    pub role: String,
    pub text: String,
}

/// The result of a model call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelCallAnswer {
    /// The name of the call.
    pub name: String,
    /// The model's text; empty if the call failed.
    pub text: String,
    /// Why the call failed, as scripts read it.
    pub error: Option<String>,
    /// Why the call failed, with code and arguments for the record of the run.
    pub failure: Option<RenderedMessage>,
    /// The turn of the message that requested the call.
    pub turn: u64,
}

impl PluginModelCall {
    /// Returns the JSON form for traces and tests.
    pub fn to_json(&self) -> Value {
        let line = |line: &ModelCallMessage| json!({"role": line.role, "text": line.text});
        let messages: Vec<Value> = self.messages.iter().map(line).collect();
        json!({"name": self.name, "messages": messages, "maxTokens": self.max_tokens, "model": self.model})
    }
}
