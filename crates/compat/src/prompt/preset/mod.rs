//! Presets: order, framing and budget of the texts of a request, in the format of SillyTavern's chat-completion
//! presets.
//!
//! Every prompt is built by a preset: [`Preset::built_in`] if the user chose none. Pure: card texts, history and active
//! lore are passed in.
//!
//! - [`Preset::read`] reads a preset. The file itself is kept, so unknown fields are exported again.
//! - [`assemble()`] builds the messages of one request in three steps. `sources` gather candidates (`candidate`): texts
//!   with an order, a stage and tokens. `allocate` spends the `budget` on them, stage by stage. `render` makes messages
//!   of what is kept, and `squash` joins some. `names` adds speakers. Omitted texts have a reason ([`OmittedText`]).
//! - [`SubstituteBudget`] divides the tokens of texts that stand for cut messages.
//! - [`Preset::to_json`] writes a complete preset; [`PresetPatch`] edits a file and leaves other fields unchanged.
//! - [`to_pieces`] converts a request for the trace, [`rebuild`] restores the request from it.
//!
//! To add a marker (a part whose text comes from elsewhere), add a row to `read::DEFAULT_PARTS` and its text to
//! `sources/parts.rs`. To add another text, add a source. To add a setting, add a field to [`PresetSettings`], its line
//! in `read.rs`, and the code that uses it.

mod allocate;
mod assemble;
mod body;
mod budget;
mod candidate;
mod check;
mod edit;
mod model_match;
mod names;
mod read;
mod render;
mod samplers;
mod setting_values;
mod shares;
mod sources;
mod squash;
mod substitutes;
mod trace;

use serde_json::{Map, Value};

use super::{OmitReason, PromptTokenLimits};
use clotho_core::tree::Role;

pub use assemble::{PromptAssembly, PromptOverflow, assemble};
pub use check::PresetFieldError;
pub use edit::{ExpectedPreset, PresetPatch, PresetPatchError};
pub use model_match::{ModelMatchRank, best_match};
pub use read::{DEFAULT_MAIN, PresetReadError, models_of};
pub use samplers::parameters_of;
pub use shares::PromptShares;
pub use substitutes::SubstituteBudget;
pub use trace::{TraceLayout, TracePiece, rebuild, to_pieces};

/// The purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GenerationType {
    /// A new reply.
    Normal,
    /// A continuation of the last message.
    Continue,
    /// A message written as the user.
    Impersonate,
    /// Another reply in place of the last one, which is not in the history.
    Swipe,
    /// A reply after the last one was removed.
    Regenerate,
    /// A request outside the story.
    Quiet,
}

impl GenerationType {
    /// Returns the word used in presets.
    pub const fn as_str(self) -> &'static str {
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
    Never,
    /// Before the text, if the speaker is not the session's own character or user.
    #[default]
    Others,
    /// In a separate field.
    Field,
    /// Before the text, always.
    Before,
    /// Before the text, if two users or two characters speak, else never. The caller resolves this before messages are
    /// built.
    AsNeeded,
}

/// How the parts become messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PromptLayout {
    /// Each part is a message and examples are system messages, as SillyTavern presets expect it.
    #[default]
    Parts,
    /// Neighbours of one role are joined, examples are turns, and no card text is sent twice. Tasks other than a reply
    /// are sent as the user.
    Turns,
}

/// The settings of a preset. Texts still contain macros; an empty text sends nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct PresetSettings {
    /// Context size in tokens, including the reply; `None` = the model's.
    pub context: Option<usize>,
    /// Tokens reserved for the reply; `None` = the server's default.
    pub reply: Option<usize>,
    pub naming: SpeakerNaming,
    /// User message for a request that ends with a reply.
    pub send_if_empty: String,
    /// Instruction to write as the user.
    pub impersonation: String,
    /// Text before the history.
    pub new_chat: String,
    /// Text before each block of examples.
    pub new_example: String,
    /// Instruction to continue.
    pub continue_nudge: String,
    /// Format of lore; `{0}` is the text, an empty format leaves it unchanged.
    pub lore_format: String,
    /// Format of the scenario; empty = unchanged.
    pub scenario_format: String,
    /// Format of the personality; empty = unchanged.
    pub personality_format: String,
    /// Start of the reply, if the provider supports prefill.
    pub prefill: String,
    /// Start of a message written as the user, if the provider supports prefill.
    pub impersonation_prefill: String,
    /// Whether a message to continue is sent last, without the nudge.
    pub continue_prefill: bool,
    /// Whether neighbouring system messages are joined.
    pub squash: bool,
    pub layout: PromptLayout,
}

/// Clotho's own settings, stored under `extensions.clotho` of a preset.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PresetExtensions {
    /// Models that use this preset by default: aliases or names, `*` matches any characters.
    pub models: Vec<String>,
    /// Shares of the prompt for some texts.
    pub shares: PromptShares,
}

/// The position of a part in the chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChatPosition {
    /// Number of messages after it.
    pub depth: usize,
    /// At the same depth, higher orders stand nearer to the end.
    pub order: i64,
}

/// One part of a preset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresetPart {
    pub id: String,
    /// Display name; may be empty.
    pub name: String,
    pub role: Role,
    /// Text before macro expansion; `None` = a marker, whose text comes from elsewhere.
    pub text: Option<String>,
    /// Position in the chat; `None` = by the order of parts.
    pub chat_position: Option<ChatPosition>,
    /// Whether cards may not replace it.
    pub forbids_override: bool,
    /// Kinds of request that it is for, as words; empty = all.
    pub triggers: Vec<String>,
}

/// A parsed preset.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    pub settings: PresetSettings,
    /// Parts, including known ones that the file does not name.
    pub parts: Vec<PresetPart>,
    /// Part ids in order, and whether each is enabled.
    pub order: Vec<(String, bool)>,
    /// Parameters for the model server, under the names of [`clotho_core::parameters`], without the reply length. Some
    /// change nothing, and are only for servers that have other defaults.
    pub samplers: Map<String, Value>,
    /// Embedded regex scripts.
    pub scripts: Vec<Value>,
    /// Clotho's own settings.
    pub extensions: PresetExtensions,
}

/// A text with its own position: a persona, a note, a card's depth prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PositionedText {
    /// Text before macro expansion.
    pub text: String,
    pub position: PromptPosition,
    /// Role, if the position does not determine it.
    pub role: Role,
}

/// The position of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptPosition {
    /// At its marker; a note stands after the main part.
    Prompt,
    /// Before the main part.
    BeforeMain,
    /// In the chat, with so many messages after it.
    Depth(usize),
    /// At the top of the author's note.
    NoteTop,
    /// At the bottom of the author's note.
    NoteBottom,
    /// Not in the prompt.
    Omit,
}

/// One history message: hidden parts are removed and regex scripts applied, macros are not expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryMessage {
    /// System messages are narration.
    pub role: Role,
    /// Name of the speaker.
    pub name: String,
    /// Whether the speaker is not the session's own character or user.
    pub is_other: bool,
    pub text: String,
}

/// The lore texts of one request, with macros expanded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptLore {
    /// Before the character description.
    pub before: String,
    /// After the character description.
    pub after: String,
    /// At the top of the author's note.
    pub note_top: Vec<String>,
    /// At the bottom of the author's note.
    pub note_bottom: Vec<String>,
    /// Before the card's examples, in their format.
    pub examples_before: Vec<String>,
    /// After the card's examples.
    pub examples_after: Vec<String>,
    /// In the chat: depth, role and text.
    pub in_chat: Vec<(usize, Role, String)>,
}

impl PromptLore {
    /// No lore.
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

/// A text inserted into the chat of one request, as a system message; sent as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptInsert {
    /// Name in traces.
    pub slot: String,
    /// Number of messages after it.
    pub depth: usize,
    /// At the same depth, higher priorities stand nearer to the end and use the budget first.
    pub priority: i64,
    pub text: String,
}

/// How a history that does not fit is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryTruncation {
    /// Each request keeps as much as fits.
    Exact,
    /// Cut in steps, so that the provider's prefix cache stays valid (`domain.md` 6.3).
    ///
    /// The value is the first message of the last request, as an index in the history. It is kept if it fits and fills
    /// half of the room; otherwise the history is cut to three quarters of the room.
    Steps(Option<usize>),
}

/// The input of one request.
#[derive(Debug, Clone)]
pub struct PromptInput<'a> {
    /// Purpose of the request.
    pub kind: GenerationType,
    pub user: &'a str,
    pub character: &'a str,
    pub description: &'a str,
    pub personality: &'a str,
    pub scenario: &'a str,
    /// Example dialogue, in the format of cards.
    pub examples: &'a str,
    /// The card's replacement for the main part; empty = none.
    pub card_main: &'a str,
    /// The card's replacement for the instructions after the history; empty = none.
    pub card_post_history: &'a str,
    /// The card's depth prompt.
    pub card_depth: Option<PositionedText>,
    pub persona: PositionedText,
    /// Author's note, if it is due.
    pub note: Option<PositionedText>,
    /// Texts of the active lore entries.
    pub lore: &'a PromptLore,
    /// Messages, oldest first; [`GenerationType::Continue`] continues the last one.
    pub history: &'a [HistoryMessage],
    /// The state as text, sent just before the newest message. Empty = none.
    pub state: &'a str,
    /// Texts inserted into the chat for this request.
    pub injected: &'a [PromptInsert],
    /// User message if no user message is there, or if a reply comes last and the preset has no text for that. Model
    /// servers refuse such requests. Empty = none.
    pub filler: &'a str,
    /// How to cut a history that is too long.
    pub truncation: HistoryTruncation,
    /// Whether no examples are sent.
    pub strips_examples: bool,
    /// Whether examples have priority over the history.
    pub pins_examples: bool,
    /// Whether the provider supports prefill.
    pub has_prefill: bool,
    /// Tokens reserved for something else, if the mandatory texts and the texts between the last messages leave them.
    pub reserve: usize,
    /// Further tokens that are reserved in the same way, but only if the history does not fit without them.
    pub cut_reserve: usize,
    /// The limits, if the preset does not set them.
    pub default_budget: PromptTokenLimits,
    /// Tokens of the whole prompt including those reserved for recall; 0 = the default budget.
    pub prompt_tokens: usize,
}

/// Expands macros and counts tokens for a request.
pub trait PromptRenderer {
    /// Expands macros; variables they write are visible to the next text.
    fn fill(&mut self, text: &str) -> String;
    /// Expands the macros of a message of the history. Those of the newest user message run for the first time.
    fn fill_message(&mut self, text: &str, _is_new: bool) -> String {
        self.fill(text)
    }
    /// Expands a text that replaces another one, available as `{{original}}`.
    fn fill_over(&mut self, text: &str, original: &str) -> String;
    /// Returns the tokens of a text.
    fn count(&self, text: &str) -> usize;
}

/// The origin of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageSource {
    /// A part of the preset, by id. Other sources are named `authorsNote`, `personaDescription`, `lore`, `cardDepth`,
    /// `world`, `newChat`, `newExample`, `nudge`, `sendIfEmpty`, `filler`, `impersonation`.
    Part(String),
    /// A message of the history, by index.
    History(usize),
}

/// One message of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptMessage {
    pub role: Role,
    /// Speaker, for providers with a separate name field.
    pub name: Option<String>,
    pub text: String,
    /// Everything it was made from.
    pub sources: Vec<MessageSource>,
}

/// A text that is not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmittedText {
    /// Id of the part, or a word of [`MessageSource::Part`].
    pub slot: String,
    pub role: Role,
    pub text: String,
    pub reason: OmitReason,
}

impl PromptInsert {
    /// Returns the text as omitted, because the prompt has no chat.
    fn without_place(&self) -> OmittedText {
        let Self { slot, text, .. } = self;
        OmittedText { slot: slot.clone(), role: Role::System, text: text.clone(), reason: OmitReason::NoPlace }
    }
}

impl PromptMessage {
    fn from_part(role: Role, text: impl Into<String>, id: &str) -> Self {
        Self { role, name: None, text: text.into(), sources: vec![MessageSource::Part(id.to_owned())] }
    }

    /// Returns the history index of a message that comes from the history alone.
    fn history_index(&self) -> Option<usize> {
        match self.sources.as_slice() {
            [MessageSource::History(at)] => Some(*at),
            _ => None,
        }
    }

    /// Returns the sources as one word, joined by `+`.
    fn source_label(&self) -> String {
        let slots = self.sources.iter().map(|from| match from {
            MessageSource::Part(id) => id.as_str(),
            MessageSource::History(_) => "history",
        });
        slots.collect::<Vec<_>>().join("+")
    }

    /// Converts the message to an omitted text.
    fn omit(self, why: OmitReason) -> OmittedText {
        OmittedText { slot: self.source_label(), role: self.role, text: self.text, reason: why }
    }
}
