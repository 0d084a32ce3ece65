//! Why a reply failed: a stable code with arguments, one sentence, and a hint.

use std::fmt;

use serde_json::{Map, Value};

use clotho_core::coded_message::RenderedMessage;
use clotho_core::coded_messages;
use clotho_core::tree::reply_facts::ReplyErrorRecord;
use clotho_provider::ProviderFailure;

coded_messages! {
    /// Why a reply failed, apart from failures of model servers ([`ProviderFailure`]).
    pub enum ReplyFailure {
        /// It was cancelled before it had any text.
        #[error("the reply was stopped before the first word")]
        Cancelled {} = "cancelled",
        /// The server stopped.
        #[error("the server stopped during this reply")]
        Interrupted {} = "interrupted",
        /// The server failed.
        #[error("the server failed while writing this {text}")]
        Internal { text: &'static str } = "internal",
        /// It ended normally without text.
        #[error("{reason}")]
        EmptyReply { reason: EmptyReplyReason } = "empty_reply",
        /// It ended without text, and the model server said why.
        #[error("the model answered without text, and gave as the reason: {words}")]
        EmptyReplyEnded { words: String } = "empty_reply",
        /// The plugin that writes replies answered without any text.
        #[error("the plugin \"{plugin}\" returned an empty reply")]
        EmptyNarration { plugin: String } = "empty_reply",
        /// The model server held it back.
        #[error("the model server blocked the reply: {words}")]
        ContentFiltered { words: String } = "provider_refused",
        /// The model server refuses tools, also in the prompt text.
        #[error("{words}")]
        ToolsRefused { words: String } = "provider_refused",
        /// It took longer than the limit for replies.
        #[error("the reply took longer than {seconds} s")]
        TooSlow { seconds: u64 } = "provider_timeout",
        /// The model does not exist or cannot be asked.
        #[error("{words}")]
        ModelUnusable { words: String } = "provider_misconfigured",
        /// The plugin that writes replies is not active in the session.
        #[error("\"{plugin}\" is not active in this session")]
        NarratorInactive { plugin: String } = "narrator_inactive",
        /// The plugin that writes replies does not understand the message.
        #[error("the plugin \"{plugin}\": {words}")]
        PluginRefused { plugin: String, words: String } = "plugin_refused",
        /// The plugin that writes replies failed.
        #[error("the plugin \"{plugin}\" failed: {words}")]
        PluginFailed { plugin: String, words: String } = "plugin_failed",
        /// The texts that a prompt must contain exceed the budget.
        #[error("{texts} need about {needed} tokens, and the model has room for {budget} in the prompt")]
        PromptTooLarge { texts: PromptTexts, needed: usize, budget: usize } = "prompt_too_large",
        /// Building the prompt took too long.
        #[error("building the prompt took longer than {seconds} s")]
        PromptTooSlow { seconds: u64 } = "prompt_too_slow",
    }
}

/// Why a reply has no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyReplyReason {
    /// The model answered without any text.
    NoText,
    /// The model did not continue the text.
    NothingAdded,
    /// The model only called tools.
    OnlyTools,
}

impl fmt::Display for EmptyReplyReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoText => "the model answered without text",
            Self::NothingAdded => "the model added nothing to the text",
            Self::OnlyTools => "the model only called tools and wrote no text",
        })
    }
}

impl From<EmptyReplyReason> for Value {
    fn from(reason: EmptyReplyReason) -> Self {
        let word = match reason {
            EmptyReplyReason::NoText => "no_text",
            EmptyReplyReason::NothingAdded => "nothing_added",
            EmptyReplyReason::OnlyTools => "only_tools",
        };
        word.into()
    }
}

/// The texts that a prompt must contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptTexts {
    /// The texts of the character.
    Card,
    /// The texts of the preset and the character.
    PresetAndCard,
    /// The messages of a summary.
    Messages,
}

impl fmt::Display for PromptTexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Card => "the texts of the character",
            Self::PresetAndCard => "the texts of the preset and the character",
            Self::Messages => "the messages",
        })
    }
}

impl From<PromptTexts> for Value {
    fn from(texts: PromptTexts) -> Self {
        let word = match texts {
            PromptTexts::Card => "card",
            PromptTexts::PresetAndCard => "preset_and_card",
            PromptTexts::Messages => "messages",
        };
        word.into()
    }
}

/// The reason why a reply failed, and a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyFault {
    /// What failed, with the provider's own words if there are any.
    pub failure: RenderedMessage,
    /// What the user can do.
    pub hint: String,
}

impl ReplyFault {
    /// Creates a fault from its parts.
    pub fn new(failure: &ReplyFailure, hint: &str) -> Self {
        Self { failure: RenderedMessage::new(failure), hint: hint.to_owned() }
    }

    /// Returns the form in which metadata and traces keep it.
    pub fn to_record(&self) -> ReplyErrorRecord {
        let RenderedMessage { code, args, message } = self.failure.clone();
        ReplyErrorRecord { code, args, message, hint: Some(self.hint.clone()), rest: Map::new() }
    }
}

impl From<&ProviderFailure> for ReplyFault {
    fn from(failure: &ProviderFailure) -> Self {
        Self { failure: provider_message(failure), hint: failure.hint().to_owned() }
    }
}

/// Renders the failure of a model server.
pub fn provider_message(failure: &ProviderFailure) -> RenderedMessage {
    RenderedMessage { code: failure.code().to_owned(), args: failure.args(), message: failure.to_string() }
}

/// Returns the fault of a reply whose prompt took too long to build.
pub fn prompt_too_slow(seconds: u64) -> ReplyFault {
    let hint = "turn off some lorebooks, scripts or plugins, or shorten the texts of the character";
    ReplyFault::new(&ReplyFailure::PromptTooSlow { seconds }, hint)
}

/// Returns the fault of a reply that was cancelled before it had any text.
pub fn cancelled_before_text() -> ReplyFault {
    ReplyFault::new(&ReplyFailure::Cancelled {}, "ask again")
}
