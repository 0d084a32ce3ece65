//! What the model is sent: typed parts in the order of a preset, with as much of the history as there is room for. Pure; the
//! turn reads everything first and hands it in.
//!
//! - [`preset`] makes the messages of a request: the texts of character, persona, world and lore in their order, as much of the
//!   history as fits, and why the rest does not go. [`TokenMeasure`] says how large texts are.
//! - [`summary_messages`] asks for something that is no part of the story.
//! - [`lore`] says which entries of the lorebooks a story calls up, and why.
//! - [`js_regex`] is regular expressions as SillyTavern's files write them, bounded in steps; [`scripts`] change texts
//!   with them, as cards and people wish.
//! - [`macros`] fills texts in: names, variables, dates, dice; [`refill`] does so with lines of the history, and again when a
//!   trace is read. [`recall`] chooses what of long ago is told again, [`summaries`] what is told of it summed up. [`tags`]
//!   hides what models write for machines, [`status`] shows the world to the model.
//!
//! To add a text to prompts: a part in `preset/read.rs` with its place in the order, its text in `preset/order.rs`; one that
//! stands between messages in `preset/inject.rs`. The trace keeps what was sent, so a prompt can be rebuilt only as long as
//! [`preset::woven`] gives the same messages for the same pieces and history; [`weave`] does that for older traces.

pub mod js_regex;
mod legacy_trace;
pub mod lore;
pub mod macros;
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
pub use token_count::{ESTIMATE, TokenCounter, TokenMeasure, estimate_text, tokens};

/// Why a text is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OmitReason {
    /// There was no room.
    Budget,
    /// Another text says the same.
    Duplicate,
    /// The preset has no history in which it could stand.
    NoPlace,
}

impl OmitReason {
    /// The word for it in traces.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Duplicate => "duplicate",
            Self::NoPlace => "noPlace",
        }
    }
}

/// What may never be left out is larger than the whole prompt may be. Both in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenOverflow {
    /// What it takes.
    pub needed: usize,
    /// What there is.
    pub budget: usize,
}

/// One message of the history, as it goes into a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptLine {
    /// Who it speaks as.
    pub role: Role,
    /// The speaker.
    pub name: Option<String>,
    /// The text, with what is hidden from models taken out.
    pub text: String,
}

/// One message as sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingMessage {
    /// Who it speaks as.
    pub role: Role,
    /// The speaker, where the provider is told in a field.
    pub name: Option<String>,
    /// The text.
    pub text: String,
}

/// Where a text between the messages stands that does not say: with so many behind it, said by the system.
pub const DEFAULT_DEPTH: (usize, Role) = (4, Role::System);

/// Who plays: names and texts of the cards, macros not yet filled in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptCast {
    /// The user's name in the story.
    pub user: String,
    /// Who the user plays.
    pub persona: String,
    /// The character's name.
    pub character: String,
    /// Who the character is.
    pub description: String,
    /// How the character is.
    pub personality: String,
    /// Where the story is set.
    pub scenario: String,
    /// Example turns, in the form of character cards.
    pub examples: String,
    /// Instructions that replace the default ones.
    pub system: String,
    /// The last word to the model.
    pub post_history: String,
    /// The first message and the others that a story may begin with.
    pub greetings: Vec<String>,
    /// What the card wants to stand between the last messages.
    pub depth_prompt: String,
    /// How many messages stand behind that, and who says it; `None` = as [`DEFAULT_DEPTH`] has it.
    pub depth_prompt_position: Option<(usize, Role)>,
    /// What the card's author says to its readers.
    pub creator_notes: String,
    /// The version of the card.
    pub version: String,
    /// The regex scripts that the card brings along.
    pub scripts: Vec<Value>,
    /// What the card adds to the author's note; `None` = nothing.
    pub author_note: Option<CardAuthorsNote>,
}

/// What a card has to say where the author's note stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardAuthorsNote {
    /// What it says.
    pub text: String,
    /// Where it stands to the note of the session.
    pub place: CardNotePosition,
}

/// Where the note of a card stands to that of the session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CardNotePosition {
    /// Instead of it.
    #[default]
    Instead,
    /// Above it.
    Above,
    /// Below it.
    Below,
}

impl CardAuthorsNote {
    /// The note of the session with that of the card.
    pub fn over(&self, own: &str) -> String {
        match self.place {
            CardNotePosition::Above if !own.is_empty() => format!("{}\n{own}", self.text),
            CardNotePosition::Below if !own.is_empty() => format!("{own}\n{}", self.text),
            _ => self.text.clone(),
        }
    }
}

impl PromptCast {
    /// What macros know of who plays, and nothing else yet.
    pub fn macro_context(&self) -> macros::MacroContext {
        macros::MacroContext {
            user: self.user.clone(),
            character: self.character.clone(),
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

    /// The names that are filled into the history.
    pub fn names(&self) -> refill::HistoryNames {
        refill::HistoryNames { user: self.user.clone(), character: self.character.clone() }
    }
}
