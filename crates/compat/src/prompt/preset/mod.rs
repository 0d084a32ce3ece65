//! Presets: how the texts of a request are ordered, framed and fitted, in the form of SillyTavern's chat-completion presets, which
//! people bring along and write for one another. Every prompt is made by one: [`Preset::own`] where nobody chose another. Pure:
//! who plays, what was said and what lore fired are handed in.
//!
//! - [`Preset::read`] reads one; the file itself stays as it came, so that what is unknown goes out again.
//! - [`assemble()`] makes the messages of one request: `order` chooses and fills the parts, `inject` puts
//!   texts into the chat, `examples` frames example turns, `names` says who speaks, `budget` keeps to
//!   the budget, `duplicates` leaves out what is said twice. What does not go is told, with the reason ([`OmittedText`]).
//! - [`Preset::body`] writes one, all that it comes to; [`PresetPatch`] edits a file and leaves what it does not name as it is.
//! - [`to_pieces`] is what a trace keeps of a request, [`rebuild`] makes the request of it again.
//!
//! To add a marker (a part whose text comes from somewhere else): a row in `read::KNOWN`, its text in `order.rs`. To add a
//! setting: a field of [`PresetSettings`], its line in `read.rs`, and who reads it.

mod assemble;
mod body;
mod budget;
mod check;
mod duplicates;
mod edit;
mod examples;
mod inject;
mod model_match;
mod names;
mod order;
mod read;
mod shares;
mod squash;
mod trace;

use serde_json::{Map, Value};

use super::OmitReason;
use clotho_core::tree::Role;

pub use assemble::{PromptAssembly, PromptOverflow, assemble};
pub use check::PresetFieldError;
pub use edit::{ExpectedPreset, PresetPatch, PresetPatchError};
pub use model_match::{ModelMatchRank, best_match};
pub use read::{DEFAULT_MAIN, PresetReadError, models_of};
pub use shares::PromptShares;
pub use trace::{TraceLayout, TracePiece, rebuild, to_pieces};

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GenerationType {
    /// A reply.
    Normal,
    /// More of the last message.
    Continue,
    /// A message in the user's own voice.
    Impersonate,
    /// Another reply in place of the last one, which is not among the history.
    Swipe,
    /// A reply after the last one was taken away.
    Regenerate,
    /// Something that is no part of the story.
    Quiet,
}

impl GenerationType {
    /// The word for it in presets.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Continue => "continue",
            Self::Impersonate => "impersonate",
            Self::Swipe => "swipe",
            Self::Regenerate => "regenerate",
            Self::Quiet => "quiet",
        }
    }
}

/// How speakers are named in the messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SpeakerNaming {
    /// Never.
    Never,
    /// Before the text, where somebody else than the character of the session speaks.
    #[default]
    Others,
    /// In a field of its own.
    Field,
    /// Before the text, always.
    Before,
    /// Before the text, always, as soon as two people or two characters speak, else never; who knows what was said decides it
    /// before messages are made.
    AsNeeded,
}

/// In what form the messages of a request go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PromptLayout {
    /// Each part is a message and example turns are the system's, as other programs' presets mean it.
    #[default]
    Parts,
    /// Neighbours of one role are one message, example turns are turns, no text of the cards goes twice, and what else than a
    /// reply is wanted is asked for in the user's role.
    Turns,
}

/// What a preset says beside its parts. Texts still hold their macros; an empty one sends nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct PresetSettings {
    /// Tokens of context, the reply's among them; `None` = as the model has.
    pub context: Option<usize>,
    /// Tokens kept free for the reply; `None` = as the server says.
    pub reply: Option<usize>,
    /// How speakers are named.
    pub naming: SpeakerNaming,
    /// The user's message in a request that has none at its end.
    pub send_if_empty: String,
    /// What asks the model to write as the user.
    pub impersonation: String,
    /// What stands before the history.
    pub new_chat: String,
    /// What stands before each block of examples.
    pub new_example: String,
    /// What asks the model to go on.
    pub continue_nudge: String,
    /// The frame of lore; `{0}` is the text, an empty frame the text as it is.
    pub lore_format: String,
    /// The frame of the scenario; empty = as it is.
    pub scenario_format: String,
    /// The frame of the personality; empty = as it is.
    pub personality_format: String,
    /// What the reply begins with, where the provider lets it.
    pub prefill: String,
    /// What a message in the user's voice begins with, where the provider lets it.
    pub impersonation_prefill: String,
    /// Whether a message to go on from is the last one of the request, in place of the nudge.
    pub continue_prefill: bool,
    /// Whether neighbouring system messages are joined.
    pub squash: bool,
    /// In what form the messages go.
    pub layout: PromptLayout,
}

/// What SillyTavern's form has no place for: under `extensions.clotho` of a preset.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PresetExtensions {
    /// The models for which it is used where a story chose none: aliases or names, `*` for any characters.
    pub models: Vec<String>,
    /// How much of a prompt some of its texts may take.
    pub shares: PromptShares,
}

/// Where in the chat a part stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChatPosition {
    /// Messages that come after it.
    pub depth: usize,
    /// Among those of one depth, the higher ones stand nearer the end.
    pub order: i64,
}

/// One part of a preset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresetPart {
    /// Its id.
    pub id: String,
    /// What people call it; empty = nothing.
    pub name: String,
    /// Who says it.
    pub role: Role,
    /// Its text, macros not yet filled in; `None` = a marker, whose text comes from somewhere else.
    pub text: Option<String>,
    /// Where in the chat; `None` = where the order has it.
    pub chat_position: Option<ChatPosition>,
    /// Whether cards may not replace it.
    pub forbids_override: bool,
    /// The kinds of request that it is for, as words; empty = all.
    pub triggers: Vec<String>,
}

/// A preset as the program understands it.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    /// What it says beside its parts.
    pub settings: PresetSettings,
    /// Its parts, the known ones that it does not name among them.
    pub parts: Vec<PresetPart>,
    /// Their order, and which of them are on.
    pub order: Vec<(String, bool)>,
    /// What it says to the model server, under the names that OpenAI-compatible servers know; how long a reply may be is not
    /// among it.
    pub samplers: Map<String, Value>,
    /// The regex scripts that it brings along.
    pub scripts: Vec<Value>,
    /// What only this program knows of it.
    pub own: PresetExtensions,
}

/// A text with a place of its own: a persona, a note, a card's depth prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PositionedText {
    /// The text, macros not yet filled in.
    pub text: String,
    /// Where it stands.
    pub place: PromptPosition,
    /// Who says it, where the place does not say that.
    pub role: Role,
}

/// Where a text with a place of its own stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptPosition {
    /// Where its marker is, or for a note after the main part.
    Prompt,
    /// Before the main part.
    BeforeMain,
    /// In the chat, with so many messages after it.
    Depth(usize),
    /// At the top of the author's note.
    NoteTop,
    /// At the bottom of the author's note.
    NoteBottom,
    /// Nowhere.
    Omit,
}

/// One message of the history, as it goes into a request: hidden parts and regex scripts are done, macros are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryMessage {
    /// Who it speaks as; the system's are narration.
    pub role: Role,
    /// The speaker.
    pub name: String,
    /// Whether the speaker is somebody else than the session's own character and user.
    pub is_other: bool,
    /// The text.
    pub text: String,
}

/// What lore there is for one request; macros are filled in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptLore {
    /// Before the character.
    pub before: String,
    /// After the character.
    pub after: String,
    /// At the top of the author's note, one a line.
    pub note_top: Vec<String>,
    /// At its bottom.
    pub note_bottom: Vec<String>,
    /// Before the card's examples, in their form.
    pub examples_before: Vec<String>,
    /// After them.
    pub examples_after: Vec<String>,
    /// In the chat: depth, role and text.
    pub in_chat: Vec<(usize, Role, String)>,
}

impl PromptLore {
    /// None at all.
    pub const NONE: Self = Self {
        before: String::new(),
        after: String::new(),
        note_top: Vec::new(),
        note_bottom: Vec::new(),
        examples_before: Vec::new(),
        examples_after: Vec::new(),
        in_chat: Vec::new(),
    };
}

/// A text that somebody puts into the chat of one request: the system's, and as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptInsert {
    /// What a trace calls it.
    pub slot: String,
    /// Messages that come after it.
    pub depth: usize,
    /// Among those of one depth, the higher ones stand nearer the end and take their room first.
    pub priority: i64,
    /// The text.
    pub text: String,
}

/// How a history is cut that there is no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryTruncation {
    /// Every request has as much as fits.
    Exact,
    /// In steps, so that the provider finds the beginning of the last request again: as far back as the last request went
    /// (its first message by its place in what is given), if that fits and fills half of the room, else to three quarters of
    /// the room (`domain.md` 6.3).
    Steps(Option<usize>),
}

/// What one request is made of.
#[derive(Debug, Clone)]
pub struct PromptInput<'a> {
    /// What it is for.
    pub kind: GenerationType,
    /// The user's name.
    pub user: &'a str,
    /// The character's name.
    pub character: &'a str,
    /// Who the character is.
    pub description: &'a str,
    /// How the character is.
    pub personality: &'a str,
    /// Where the story is set.
    pub scenario: &'a str,
    /// Example turns, in the form of cards.
    pub examples: &'a str,
    /// What the card puts in place of the main part; empty = nothing.
    pub card_main: &'a str,
    /// What it puts in place of the last word; empty = nothing.
    pub card_post_history: &'a str,
    /// A text of the card in the chat.
    pub card_depth: Option<PositionedText>,
    /// Who the user plays.
    pub persona: PositionedText,
    /// The author's note, where it is due.
    pub note: Option<PositionedText>,
    /// The lore that fired.
    pub lore: &'a PromptLore,
    /// The messages, oldest first; for [`GenerationType::Continue`] the last one is gone on from.
    pub history: &'a [HistoryMessage],
    /// The world as its schemas show it: in the chat just before the newest message. Empty = nothing.
    pub world: &'a str,
    /// What others put into the chat for this request.
    pub injected: &'a [PromptInsert],
    /// The user's message where nobody's is, or where a reply has the last word and the preset has none for that: model
    /// servers refuse such requests. Empty = none.
    pub filler: &'a str,
    /// How a history that is too long is cut.
    pub cut: HistoryTruncation,
    /// Whether no examples are sent.
    pub strips_examples: bool,
    /// Whether examples go before the history where there is not room for both.
    pub pins_examples: bool,
    /// Whether the provider lets the program begin the reply.
    pub has_prefill: bool,
    /// Tokens that are kept free for something else, as far as what has to go and what stands between the last messages leave
    /// them.
    pub aside: usize,
    /// Tokens of context and of the reply, where the preset does not say.
    pub default_budget: (usize, usize),
    /// Tokens of the whole prompt, also those that are kept for what is recalled; 0 = what the room says.
    pub prompt_tokens: usize,
}

/// What knows the words of a request: macros and the size of texts.
pub trait PromptRenderer {
    /// Fills in macros; what writing ones write is seen by the next text.
    fn fill(&mut self, text: &str) -> String;
    /// The same for a text that stands in place of another, which it can name as `{{original}}`.
    fn fill_over(&mut self, text: &str, original: &str) -> String;
    /// Tokens of a text.
    fn count(&self, text: &str) -> usize;
}

/// Where a message comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageSource {
    /// A part of the preset, by its id; `authorsNote`, `personaDescription`, `lore`, `cardDepth`, `world`, `newChat`, `newExample`,
    /// `nudge`, `sendIfEmpty`, `filler`, `impersonation` for what has no part.
    Part(String),
    /// A message of the history, by its place in what was given.
    History(usize),
}

/// One message of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptMessage {
    /// Who it speaks as.
    pub role: Role,
    /// The speaker, where the provider is told in a field.
    pub name: Option<String>,
    /// The text.
    pub text: String,
    /// What it was made of.
    pub from: Vec<MessageSource>,
}

/// A text that does not go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmittedText {
    /// Which one: a part's id, or a word of [`MessageSource::Part`].
    pub slot: String,
    /// Who would have said it.
    pub role: Role,
    /// The text.
    pub text: String,
    /// Why it does not go.
    pub why: OmitReason,
}

impl PromptInsert {
    /// What becomes of it where there is no chat to stand in.
    fn without_place(&self) -> OmittedText {
        let Self { slot, text, .. } = self;
        OmittedText { slot: slot.clone(), role: Role::System, text: text.clone(), why: OmitReason::NoPlace }
    }
}

impl PromptMessage {
    fn from_part(role: Role, text: impl Into<String>, id: &str) -> Self {
        Self { role, name: None, text: text.into(), from: vec![MessageSource::Part(id.to_owned())] }
    }

    /// What it was made of, in one word.
    fn source_label(&self) -> String {
        let slots = self.from.iter().map(|from| match from {
            MessageSource::Part(id) => id.as_str(),
            MessageSource::History(_) => "history",
        });
        slots.collect::<Vec<_>>().join("+")
    }

    /// The message as one that does not go.
    fn omit(self, why: OmitReason) -> OmittedText {
        OmittedText { slot: self.source_label(), role: self.role, text: self.text, why }
    }
}
