//! What a plugin asks a model for (`ctx.ask`), and what came of it (`ctx.answer`). A script never waits: its host makes the call
//! when all of the turn is written, and `on_answer` hears of it.

use serde_json::{Value, json};

/// Tokens of an answer where the script does not say.
pub const DEFAULT_MAX_TOKENS: u32 = 512;
/// Tokens of an answer at most.
pub const MAX_TOKENS: u32 = 4_096;

/// One model call that a plugin asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginModelCall {
    /// What the plugin calls it: its answer comes under that name.
    pub name: String,
    /// What the model reads, oldest first.
    pub messages: Vec<ModelCallMessage>,
    /// Tokens that the answer may take.
    pub max_tokens: u32,
    /// The model; `None` = the session's own.
    pub model: Option<String>,
}

/// One message of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCallMessage {
    /// `user`, `assistant` or `system`.
    pub role: String,
    /// The text.
    pub text: String,
}

/// What came of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelCallAnswer {
    /// What the plugin called it.
    pub name: String,
    /// What the model wrote; empty where it failed.
    pub text: String,
    /// Why it failed.
    pub error: Option<String>,
    /// The turn of the message that asked.
    pub turn: u64,
}

impl PluginModelCall {
    /// As traces and tests show it.
    pub fn to_json(&self) -> Value {
        let line = |line: &ModelCallMessage| json!({"role": line.role, "text": line.text});
        let messages: Vec<Value> = self.messages.iter().map(line).collect();
        json!({"name": self.name, "messages": messages, "maxTokens": self.max_tokens, "model": self.model})
    }
}
