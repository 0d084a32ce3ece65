//! Builds the prompt: typed parts in the order of a preset, with as much of the history as fits. Pure; the turn reads
//! everything first and passes it in.
//!
//! - [`preset`] builds the messages of a request: card, persona, world and lore texts in order, and the history that
//!   fits. It also records why a text is left out. [`TokenMeasure`] counts tokens.
//! - [`summary_messages`] asks for a summary, which is not part of the story.
//! - [`lore`] decides which lorebook entries are active, and why.
//! - [`js_regex`] implements the regular expressions of SillyTavern files with a step limit. [`scripts`] are the regex
//!   scripts of cards and users.
//! - [`macros`] expands names, variables, dates and dice. [`refill`] expands history lines, also when a trace is read.
//!   [`recall`] selects older messages to repeat, [`summaries`] selects summaries of them. [`tags`] hides
//!   machine-readable tags, [`status`] shows the state to the model.
//!
//! To add a text to prompts, add a part to `preset/read.rs` with its place in the order, and its text to
//! `preset/sources/parts.rs`. A text between messages goes into `preset/sources/chat_texts.rs`. The trace keeps what was
//! sent. A prompt can be rebuilt only while [`preset::rebuild`] gives the same messages for the same pieces and history;
//! [`rebuild_messages`] does that for older traces.

pub mod js_regex;
mod legacy_trace;
pub mod lore;
pub mod macros;
pub mod own_name;
pub mod preset;
pub mod recall;
pub mod refill;
pub mod scripts;
pub mod status;
pub mod summaries;
mod summary_request;
pub mod tags;
mod token_count;
pub mod values_request;

use serde_json::Value;

use clotho_core::tree::Role;

pub use legacy_trace::{TraceBlock, TraceSlot, rebuild_messages};
pub use summary_request::summary_messages;
pub use token_count::{ESTIMATE, PromptTokenLimits, TokenCounter, TokenMeasure, estimate_message, estimate_text};

/// Why a text is left out of the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OmitReason {
    /// The text does not fit into the token budget.
    Budget,
    /// Another text has the same content.
    Duplicate,
    /// The preset has no history to insert the text into.
    NoPlace,
}

impl OmitReason {
    /// Returns the word used in traces.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Duplicate => "duplicate",
            Self::NoPlace => "noPlace",
        }
    }
}

/// Error: the parts that must be sent exceed the prompt limit. Both numbers are tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenOverflow {
    pub needed: usize,
    pub budget: usize,
}

/// One history message, as it goes into a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptLine {
    pub role: Role,
    pub name: Option<String>,
    /// Text without the parts that are hidden from models.
    pub text: String,
}

/// One message as sent to the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingMessage {
    pub role: Role,
    /// Speaker, for providers with a separate name field.
    pub name: Option<String>,
    pub text: String,
}

/// Default position of a text between messages: the number of messages after it, and its role.
pub const DEFAULT_DEPTH: (usize, Role) = (4, Role::System);

/// Names and card texts of the participants, before macro expansion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptCast {
    /// The user's name in the story.
    pub user: String,
    /// The persona's description.
    pub persona: String,
    pub character: String,
    /// What `{{char}}` becomes instead of the name; empty = the name. A card of version 3 may have one.
    pub nickname: String,
    pub description: String,
    pub personality: String,
    pub scenario: String,
    /// Example dialogue, in the format of character cards.
    pub examples: String,
    /// System prompt of the card; replaces the default one.
    pub system: String,
    /// Instructions after the history.
    pub post_history: String,
    /// The first message and its alternatives.
    pub greetings: Vec<String>,
    /// Text that the card inserts between the last messages.
    pub depth_prompt: String,
    /// Number of messages after the depth prompt, and its role; `None` = [`DEFAULT_DEPTH`].
    pub depth_prompt_position: Option<(usize, Role)>,
    /// The card author's notes for users.
    pub creator_notes: String,
    pub version: String,
    /// Regex scripts embedded in the card.
    pub scripts: Vec<Value>,
    /// The card's addition to the author's note.
    pub author_note: Option<CardAuthorsNote>,
}

/// The author's note of a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardAuthorsNote {
    pub text: String,
    /// Position relative to the note of the session.
    pub position: CardNotePosition,
}

/// Position of a card's note relative to the session's note.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CardNotePosition {
    #[default]
    Instead,
    Above,
    Below,
}

impl CardAuthorsNote {
    /// Combines the session's note `own` with the card's note.
    pub fn merge_with(&self, own: &str) -> String {
        match self.position {
            CardNotePosition::Above if !own.is_empty() => format!("{}\n{own}", self.text),
            CardNotePosition::Below if !own.is_empty() => format!("{own}\n{}", self.text),
            _ => self.text.clone(),
        }
    }
}

impl PromptCast {
    /// Returns a macro context with the names and card texts only.
    pub fn macro_context(&self) -> macros::MacroContext {
        macros::MacroContext {
            user: self.user.clone(),
            character: self.character.clone(),
            nickname: self.nickname.clone(),
            persona: self.persona.clone(),
            card: macros::CardTexts {
                description: self.description.clone(),
                personality: self.personality.clone(),
                scenario: self.scenario.clone(),
                examples: self.examples.clone(),
                greetings: self.greetings.clone(),
                system: self.system.clone(),
                post_history: self.post_history.clone(),
                depth_prompt: self.depth_prompt.clone(),
                creator_notes: self.creator_notes.clone(),
                version: self.version.clone(),
            },
            main: preset::DEFAULT_MAIN.to_owned(),
            ..macros::MacroContext::default()
        }
    }

    /// Returns the names for expanding history lines.
    pub fn names(&self) -> refill::HistoryNames {
        let character = if self.nickname.is_empty() { &self.character } else { &self.nickname };
        refill::HistoryNames { user: self.user.clone(), character: character.clone() }
    }
}
