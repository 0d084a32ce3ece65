//! The facts that macros may use: names, cards, latest messages, time, token limits. The prompt builder gathers them
//! once; nothing is read while a text is expanded.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;

use super::super::PromptTokenLimits;

/// All facts that macros may use.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MacroContext {
    pub user: String,
    /// Name of the character that speaks.
    pub character: String,
    /// What `{{char}}` becomes instead of that name; empty = the name.
    pub nickname: String,
    /// Persona text, before macro expansion.
    pub persona: String,
    pub card: CardTexts,
    /// All characters of a group; empty with a single one.
    pub group: Vec<String>,
    /// Muted members of the group.
    pub muted: Vec<String>,
    /// Messages on this path.
    pub history: MacroHistory,
    pub time: MacroTime,
    pub token_limits: PromptTokenLimits,
    pub model: String,
    /// System prompt for cards without their own.
    pub main: String,
    pub note: String,
    pub summary: String,
    /// Kind of generation: `normal`, `continue`, `impersonate`, `swipe`, `regenerate`.
    pub generation_type: String,
    /// Text in the user's input box.
    pub input: String,
    /// Lore texts by outlet name; `None` = not known yet, so the macro stays text.
    pub outlets: Option<BTreeMap<String, String>>,
    /// Seed of `{{pick}}`, fixed for a story.
    pub seed: u64,
}

impl MacroContext {
    /// Returns what `{{char}}` becomes in a text by a speaker; `None` = by nobody or by the character.
    pub fn char_name<'a>(&'a self, speaker: Option<&'a str>) -> &'a str {
        match speaker.filter(|speaker| *speaker != self.character) {
            Some(other) => other,
            None if self.nickname.is_empty() => &self.character,
            None => &self.nickname,
        }
    }
}

/// The texts of a card, before macro expansion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CardTexts {
    pub description: String,
    pub personality: String,
    pub scenario: String,
    /// Example dialogue, in the format of character cards.
    pub examples: String,
    /// The first message and its alternatives.
    pub greetings: Vec<String>,
    /// System prompt; replaces the default one.
    pub system: String,
    /// Instructions after the history.
    pub post_history: String,
    /// Text between the last messages.
    pub depth_prompt: String,
    /// The author's notes for users.
    pub creator_notes: String,
    pub version: String,
}

/// The latest messages of a path, with texts as stored in the nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MacroHistory {
    /// Text of the newest message.
    pub last: String,
    /// Text of the newest user message.
    pub last_user: String,
    /// Text of the newest character message.
    pub last_character: String,
    /// Number of the newest message, from 0; `None` = no messages.
    pub last_id: Option<u64>,
    /// Number of the oldest message in the last prompt.
    pub first_included: Option<u64>,
    /// Swipe number of the newest message, from 1, and the number of swipes. While a reply is generated: the number of
    /// swipes before it.
    pub version: Option<(u64, u64)>,
    /// Time of the user's last message before the newest message, in milliseconds since 1970.
    pub user_spoke: Option<i64>,
}

/// A point in time with a time zone.
#[derive(Debug, Clone, PartialEq)]
pub struct MacroTime {
    /// Milliseconds since 1970.
    pub ms: i64,
    pub zone: TimeZone,
}

impl Default for MacroTime {
    fn default() -> Self {
        Self { ms: 0, zone: TimeZone::UTC }
    }
}
