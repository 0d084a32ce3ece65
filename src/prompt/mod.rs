//! What the model is sent: a blueprint of typed blocks and the history, woven into messages within a budget. Pure; the turn
//! reads everything first and hands it in.
//!
//! - [`blueprint()`] makes the blocks from character, persona and world; [`choose`] leaves out what there is no room for;
//!   [`fit`] says how much of the history goes with the rest; [`weave`] orders and joins everything.
//! - [`preset`] makes them in the order that somebody chose, as other programs' presets say it.
//! - [`impersonation`] and [`summary`] ask for something else than a reply.
//! - [`lore`] says which entries of the lorebooks a story calls up, and why.
//! - [`pattern`] is regular expressions as SillyTavern's files write them, bounded in steps; [`scripts`] change texts
//!   with them, as cards and people wish.
//! - [`macros`] fills texts in: names, variables, dates, dice; [`refill`] does so with lines of the history, and again when a
//!   trace is read. [`tags`] hides what models write for machines, [`status`] shows the world to the model.
//!
//! To add a block: a [`Slot`], its text in `blueprint.rs`, its place in `weave.rs`, and in `choose.rs` whether it may be left
//! out. The trace keeps every block, so a
//! prompt can be rebuilt only as long as `weave` gives the same messages for the same blocks and history.

mod blueprint;
mod choose;
mod fit;
mod instruct;
pub mod lore;
pub mod macros;
pub mod pattern;
pub mod preset;
pub mod refill;
pub mod scripts;
pub mod status;
pub mod tags;
mod weave;

use serde_json::Value;

use crate::tree::Role;

pub use blueprint::{MAIN, blueprint};
pub use choose::{LeftOut, TooLarge, choose};
pub use fit::{Fit, fit, tokens};
pub use instruct::{impersonation, summary};
pub use weave::{continued, filler, stable, weave};

/// Where a block belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// The instructions of the card, or the default ones.
    Main,
    /// Who the character is.
    Description,
    /// How the character is.
    Personality,
    /// Where the story is set.
    Scenario,
    /// Who the user plays.
    Persona,
    /// Example turns.
    Example,
    /// The world as its schemas show it; changes each turn, so it stands behind the history.
    Status,
    /// What stands for a user's message where there is none: model servers refuse a prompt without one.
    Filler,
    /// The last word to the model.
    PostHistory,
    /// What the model is asked to do in place of a reply.
    Instruction,
    /// The reply that it is to go on from.
    Continued,
}

impl Slot {
    /// The word for it in traces.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Description => "description",
            Self::Personality => "personality",
            Self::Scenario => "scenario",
            Self::Persona => "persona",
            Self::Example => "example",
            Self::Status => "status",
            Self::Filler => "filler",
            Self::PostHistory => "postHistory",
            Self::Instruction => "instruction",
            Self::Continued => "continued",
        }
    }

    /// Reads the word.
    pub fn from_word(word: &str) -> Option<Self> {
        const ALL: [Slot; 11] = [
            Slot::Main,
            Slot::Description,
            Slot::Personality,
            Slot::Scenario,
            Slot::Persona,
            Slot::Example,
            Slot::Status,
            Slot::Filler,
            Slot::PostHistory,
            Slot::Instruction,
            Slot::Continued,
        ];
        ALL.into_iter().find(|slot| slot.word() == word)
    }
}

/// One typed block of the blueprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Where it belongs.
    pub slot: Slot,
    /// Who says it.
    pub role: Role,
    /// The text, macros filled in.
    pub text: String,
    /// Where it comes from: `card`, `persona`, `world`, `default`, `settings`, `reply`.
    pub source: &'static str,
    /// Why it is not sent; `None` = it is.
    pub left_out: Option<LeftOut>,
}

/// One message of the history, as it goes into a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Who it speaks as.
    pub role: Role,
    /// The speaker.
    pub name: Option<String>,
    /// The text, with what is hidden from models taken out.
    pub text: String,
}

/// One message as sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Who it speaks as.
    pub role: Role,
    /// The speaker, where the provider is told in a field.
    pub name: Option<String>,
    /// The text.
    pub text: String,
}

/// Who plays: names and texts of the cards, macros not yet filled in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cast {
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
    /// What the card's author says to its readers.
    pub creator_notes: String,
    /// The version of the card.
    pub version: String,
    /// The regex scripts that the card brings along.
    pub scripts: Vec<Value>,
}

impl Cast {
    /// What macros know of who plays, and nothing else yet.
    pub fn facts(&self) -> macros::Facts {
        macros::Facts {
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
            main: MAIN.to_owned(),
            ..macros::Facts::default()
        }
    }

    /// The names that are filled into the history.
    pub fn names(&self) -> refill::Names {
        refill::Names { user: self.user.clone(), character: self.character.clone() }
    }
}
