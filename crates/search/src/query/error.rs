//! Errors and notes about search texts.

/// A summary of the syntax for error messages.
const POSSIBLE: &str = "a search has words, \"phrases\", begin*, slip~, -without, OR, brackets, and filters: \
    role:user, name:Rin, session:, character:, label:, in:trunk, after: and before: a day";

/// Why a text is not a valid search. Positions count UTF-16 code units from the start of the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The text is empty or only excludes.
    #[error("the search is empty: write at least one word that is not excluded")]
    Empty {
        at: usize,
        /// The length in UTF-16 code units.
        length: usize,
    },
    /// The name is neither a field nor a value of the state.
    #[error("there is no filter \"{field}:\"; {POSSIBLE}. Put it in quotation marks to search for the text")]
    UnknownField { at: usize, field: String },
    /// A condition on a value that no message has.
    #[error("the state has no values named \"{field}\"; {POSSIBLE}")]
    UnknownValue { at: usize, field: String },
    #[error("there is no role \"{role}\": expected user, assistant or system")]
    UnknownRole { at: usize, role: String },
    /// The place after `in:` is unknown.
    #[error("there is no place \"{place}\": expected trunk, off-trunk or stash")]
    UnknownPlace { at: usize, place: String },
    #[error(
        "\"{time}\" is not a time: expected a day such as 2026-11-21, a month, a year, a moment such as \
         2026-11-21T04:05:06Z, today, yesterday, or an age such as 3d or 12h"
    )]
    NoTime { at: usize, time: String },
    /// A comparison with something that is no number.
    #[error("\"{number}\" is not a number: write {field}:<20, {field}:>=3, {field}:5..10, {field}:20 or {field}:*")]
    NoNumber { at: usize, field: String, number: String },
    /// A tree condition inside `OR` or a negated group.
    #[error("\"{field}:\" must be at the top level: it cannot be part of an OR or of a -(…)")]
    Misplaced { at: usize, field: &'static str },
}

impl QueryError {
    /// Returns the position, in UTF-16 code units.
    pub fn at(&self) -> usize {
        match self {
            Self::Empty { at, .. }
            | Self::UnknownField { at, .. }
            | Self::UnknownValue { at, .. }
            | Self::UnknownRole { at, .. }
            | Self::UnknownPlace { at, .. }
            | Self::NoTime { at, .. }
            | Self::NoNumber { at, .. }
            | Self::Misplaced { at, .. } => *at,
        }
    }

    /// Returns the length of the faulty part, in UTF-16 code units.
    pub fn length(&self) -> usize {
        match self {
            Self::Empty { length, .. } => *length,
            _ => self.what().encode_utf16().count(),
        }
    }

    /// Returns the faulty part.
    pub fn what(&self) -> &str {
        match self {
            Self::Empty { .. } => "",
            Self::UnknownField { field, .. } | Self::UnknownValue { field, .. } => field,
            Self::UnknownRole { role, .. } => role,
            Self::UnknownPlace { place, .. } => place,
            Self::NoTime { time, .. } => time,
            Self::NoNumber { number, .. } => number,
            Self::Misplaced { field, .. } => field,
        }
    }

    /// Returns a stable name of the error, for clients.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Empty { .. } => "empty",
            Self::UnknownField { .. } => "unknown_field",
            Self::UnknownValue { .. } => "unknown_value",
            Self::UnknownRole { .. } => "unknown_role",
            Self::UnknownPlace { .. } => "unknown_place",
            Self::NoTime { .. } => "no_time",
            Self::NoNumber { .. } => "no_number",
            Self::Misplaced { .. } => "misplaced",
        }
    }
}

/// A note about a valid search.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryNote {
    /// The text has no word, so nothing is found.
    #[error("there is no word in it to search for")]
    NoWord,
    /// The text is too long; only the part before this position is searched.
    #[error("the search is too long, and its end is ignored: the limits are {chars} characters and {parts} parts")]
    Cut {
        /// The position of the cut, in UTF-16 code units.
        at: usize,
        chars: usize,
        parts: usize,
    },
    #[error("no session has the title \"{0}\"")]
    NoSession(String),
    #[error("no character has the name \"{0}\"")]
    NoCharacter(String),
}

impl QueryNote {
    /// Returns a stable name of the note, for clients.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoWord => "no_word",
            Self::Cut { .. } => "cut",
            Self::NoSession(_) => "no_session",
            Self::NoCharacter(_) => "no_character",
        }
    }

    /// Returns the name that matches no session or character.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::NoSession(name) | Self::NoCharacter(name) => Some(name),
            Self::NoWord | Self::Cut { .. } => None,
        }
    }
}
