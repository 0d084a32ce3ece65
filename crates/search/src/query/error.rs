//! Why a text is not a search, and what is worth saying about one that is.

/// What can be typed.
const POSSIBLE: &str = "a search has words, \"phrases\", begin*, slip~, -without, OR, brackets, role:user, name:Rin, session:, character:, \
     label:, in:trunk, after: and before: a day";

/// Why a text is not a search. Positions count UTF-16 code units from the beginning of the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// Nothing was typed, or only what must not be.
    #[error("there is nothing to look for: write at least one word that is not excluded")]
    Empty {
        /// Where it stands.
        at: usize,
        /// How long it is.
        length: usize,
    },
    /// A field nobody knows, and no value of the world either.
    #[error("nothing is searched by \"{field}:\"; {POSSIBLE}. Put it in quotation marks to look for it as it stands")]
    UnknownField {
        /// Where it stands.
        at: usize,
        /// What was written.
        field: String,
    },
    /// A condition on a value of the world that no message has.
    #[error("no values of the world are called \"{field}\"; {POSSIBLE}")]
    UnknownValue {
        /// Where it stands.
        at: usize,
        /// What was written.
        field: String,
    },
    /// A role nobody knows.
    #[error("there is no role \"{role}\": user, assistant or system is expected")]
    UnknownRole {
        /// Where it stands.
        at: usize,
        /// What was written.
        role: String,
    },
    /// A place nobody knows.
    #[error("there is no place \"{place}\": trunk, off-trunk or stash is expected")]
    UnknownPlace {
        /// Where it stands.
        at: usize,
        /// What was written.
        place: String,
    },
    /// No day and no time.
    #[error(
        "\"{time}\" is no time: a day such as 2026-11-21, a month, a year, a moment such as 2026-11-21T04:05:06Z, today, \
         yesterday, or a while ago such as 3d or 12h is expected"
    )]
    NoTime {
        /// Where it stands.
        at: usize,
        /// What was written.
        time: String,
    },
    /// No number where one is compared with.
    #[error("\"{number}\" is no number: write {field}:<20, {field}:>=3, {field}:5..10, {field}:20 or {field}:*")]
    NoNumber {
        /// Where it stands.
        at: usize,
        /// The value of the world.
        field: String,
        /// What was written.
        number: String,
    },
    /// Asked of the tree inside something that may hold or not.
    #[error(
        "\"{field}:\" stands by itself, beside everything else: it cannot be one of several with OR, nor stand in a -(…)"
    )]
    Misplaced {
        /// Where it stands.
        at: usize,
        /// Which field.
        field: &'static str,
    },
}

impl QueryError {
    /// Where, in UTF-16 code units.
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

    /// How much of the text from there on is meant, in UTF-16 code units.
    pub fn length(&self) -> usize {
        match self {
            Self::Empty { length, .. } => *length,
            _ => self.what().encode_utf16().count(),
        }
    }

    /// What was written there.
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

    /// A stable word for it, for programs.
    pub fn word(&self) -> &'static str {
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

/// What is worth saying about a search that is one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryNote {
    /// There is nothing to look for in it, so nothing is found.
    #[error("there is no word in it to look for")]
    NoWord,
    /// It is too long: only what stands before this place is looked for.
    #[error("only the beginning is looked for: a search has at most {chars} characters and {parts} parts")]
    Cut {
        /// Where it was cut, in UTF-16 code units.
        at: usize,
        /// The most characters.
        chars: usize,
        /// The most parts.
        parts: usize,
    },
    /// No story is called so.
    #[error("no story is called \"{0}\"")]
    NoSession(String),
    /// No character is called so.
    #[error("no character is called \"{0}\"")]
    NoCharacter(String),
}

impl QueryNote {
    /// A stable word for it, for programs.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NoWord => "no_word",
            Self::Cut { .. } => "cut",
            Self::NoSession(_) => "no_session",
            Self::NoCharacter(_) => "no_character",
        }
    }

    /// The name that nobody has.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::NoSession(name) | Self::NoCharacter(name) => Some(name),
            Self::NoWord | Self::Cut { .. } => None,
        }
    }
}
