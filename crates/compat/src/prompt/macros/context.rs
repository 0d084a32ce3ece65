//! What macros may know: names, cards, what was said last on this path, the time, sizes. Whoever makes a prompt gathers it
//! once; nothing here is read while a text is filled.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;

/// Everything that macros may know.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MacroContext {
    /// The user's name in the story.
    pub user: String,
    /// The character that speaks.
    pub character: String,
    /// Who the user plays, macros not yet filled in.
    pub persona: String,
    /// The texts of the character's card.
    pub card: CardTexts,
    /// All characters, where several play; empty where one does.
    pub group: Vec<String>,
    /// Those of the group that are silent.
    pub muted: Vec<String>,
    /// What was said on this path.
    pub said: MacroHistory,
    /// When it is.
    pub time: MacroTime,
    /// What a prompt may be.
    pub token_limits: MacroTokenLimits,
    /// The model that is asked.
    pub model: String,
    /// Instructions that stand where a card has none of its own.
    pub main: String,
    /// The author's note.
    pub note: String,
    /// The summary of the story so far.
    pub summary: String,
    /// Why a prompt is made: `normal`, `continue`, `impersonate`, `swipe`, `regenerate`.
    pub generation_type: String,
    /// What stands in the box where the user writes.
    pub input: String,
    /// Texts of lore by the name of their outlet; `None` = not known yet: the macro stays for whoever knows.
    pub outlets: Option<BTreeMap<String, String>>,
    /// What makes choices of `{{pick}}` those of this story.
    pub seed: u64,
}

/// The texts of a card, macros not yet filled in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CardTexts {
    /// Who the character is.
    pub description: String,
    /// How the character is.
    pub personality: String,
    /// Where the story is set.
    pub scenario: String,
    /// Example turns, in the form of character cards.
    pub examples: String,
    /// The first message and the others that a story may begin with.
    pub greetings: Vec<String>,
    /// Instructions that replace the default ones.
    pub system: String,
    /// The last word to the model.
    pub post_history: String,
    /// What is to stand between the last messages.
    pub depth_prompt: String,
    /// What the card's author says to its readers.
    pub creator_notes: String,
    /// The version of the card.
    pub version: String,
}

/// What was said on a path, as far as macros ask; texts as they stand in the nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MacroHistory {
    /// The newest message.
    pub last: String,
    /// The user's newest.
    pub last_user: String,
    /// A character's newest.
    pub last_character: String,
    /// The number of the newest message, from 0; `None` = there is none.
    pub last_id: Option<u64>,
    /// The number of the oldest message that went into the last prompt.
    pub first_included: Option<u64>,
    /// Which version of the newest message it is, from 1, and how many there are; of a reply that is being written, how many
    /// there are before it.
    pub version: Option<(u64, u64)>,
    /// When the user wrote last before the newest message, in milliseconds since 1970.
    pub user_spoke: Option<i64>,
}

/// A moment and where it is looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct MacroTime {
    /// Milliseconds since 1970.
    pub ms: i64,
    /// The zone.
    pub zone: TimeZone,
}

impl Default for MacroTime {
    fn default() -> Self {
        Self { ms: 0, zone: TimeZone::UTC }
    }
}

/// What a prompt may be, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MacroTokenLimits {
    /// Prompt and reply together.
    pub context: usize,
    /// The reply.
    pub reply: usize,
}
