//! What a person typed into the search box, as clauses: words, `"phrases"`, `-not`, `role:user`, `name:Rin`. Boxes search
//! while one types, so a quotation mark that is not closed yet reaches to the end.

use crate::tree::Role;

use super::analyse;

/// More characters are not a search.
const CHARS_MAX: usize = 1_000;
/// More clauses are not a search.
const CLAUSES_MAX: usize = 32;
/// What can be typed.
const POSSIBLE: &str = "a search has words, \"phrases\", -without, role:user and name:Rin";

/// A parsed search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub(super) clauses: Vec<Clause>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clause {
    /// Whether it must not match.
    pub unwanted: bool,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// In the text: terms with their offsets; never empty.
    Text(Vec<(usize, String)>),
    /// In the speaker's name: likewise.
    Name(Vec<(usize, String)>),
    Role(Role),
}

/// Why a text is not a search. Positions count UTF-16 code units from the beginning of the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// Nothing to look for: no word, or only words that must not occur.
    #[error("there is nothing to look for: write at least one word that is not excluded")]
    Empty,
    /// Too long.
    #[error("a search has at most {CHARS_MAX} characters and {CLAUSES_MAX} parts")]
    TooLong {
        /// Where it becomes too long.
        at: usize,
    },
    /// A field nobody knows.
    #[error("nothing is searched by \"{field}:\"; {POSSIBLE}. Put it in quotation marks to look for it as it stands")]
    UnknownField {
        /// Where it stands.
        at: usize,
        /// What was written.
        field: String,
    },
    /// A condition on the world, such as `hp:<20`.
    #[error("values of the world such as \"{field}\" cannot be searched; {POSSIBLE}")]
    WorldValue {
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
}

impl QueryError {
    /// Where the problem stands, if it stands somewhere.
    pub fn at(&self) -> Option<usize> {
        match self {
            Self::Empty => None,
            Self::TooLong { at }
            | Self::UnknownField { at, .. }
            | Self::WorldValue { at, .. }
            | Self::UnknownRole { at, .. } => Some(*at),
        }
    }
}

impl Query {
    /// Everything: what is found is narrowed by something else than words.
    pub fn everything() -> Self {
        Self { clauses: Vec::new() }
    }

    /// Reads what a person typed.
    ///
    /// # Errors
    /// It is not a search; the error says why and where.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        if let Some((end, _)) = text.char_indices().nth(CHARS_MAX) {
            return Err(QueryError::TooLong { at: utf16(text.get(..end).unwrap_or_default()) });
        }
        let mut scanner = Scanner { rest: text, at: 0 };
        let mut clauses = Vec::new();
        while let Some(clause) = scanner.clause()? {
            if clauses.len() == CLAUSES_MAX {
                return Err(QueryError::TooLong { at: scanner.at });
            }
            clauses.extend(clause);
        }
        if clauses.iter().all(|clause: &Clause| clause.unwanted) {
            return Err(QueryError::Empty);
        }
        Ok(Self { clauses })
    }
}

fn utf16(text: &str) -> usize {
    text.encode_utf16().count()
}

struct Scanner<'a> {
    rest: &'a str,
    /// Where `rest` begins.
    at: usize,
}

impl<'a> Scanner<'a> {
    /// The next clause; `Some(None)` for one that says nothing (`!?`), `None` at the end.
    fn clause(&mut self) -> Result<Option<Option<Clause>>, QueryError> {
        self.take_while(char::is_whitespace);
        if self.rest.is_empty() {
            return Ok(None);
        }
        let unwanted = self.take('-');
        let what = match self.field()? {
            Some((at, Field::Role)) => Some(What::Role(self.role(at)?)),
            Some((_, Field::Name)) => non_empty(analyse::phrase(self.value())).map(What::Name),
            None => non_empty(analyse::phrase(self.value())).map(What::Text),
        };
        Ok(Some(what.map(|what| Clause { unwanted, what })))
    }

    /// Takes `role:` or `name:`, refuses any other word before a colon; a word without a value is just a word.
    fn field(&mut self) -> Result<Option<(usize, Field)>, QueryError> {
        let fits = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let end = self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len());
        let (name, tail) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        let Some(value) = tail.strip_prefix(':').or_else(|| tail.strip_prefix('：')) else { return Ok(None) };
        let begins_as_name = name.chars().next().is_some_and(char::is_alphabetic);
        if !begins_as_name || value.is_empty() || value.starts_with(char::is_whitespace) {
            return Ok(None);
        }
        let at = self.at;
        let field = match name.to_lowercase().as_str() {
            "role" => Field::Role,
            "name" => Field::Name,
            _ if !name.is_ascii() => return Ok(None),
            _ if value.starts_with(['<', '>', '=', '!', '-']) || value.starts_with(|c: char| c.is_ascii_digit()) => {
                return Err(QueryError::WorldValue { at, field: name.to_owned() });
            }
            _ => return Err(QueryError::UnknownField { at, field: name.to_owned() }),
        };
        self.at += utf16(self.rest) - utf16(value);
        self.rest = value;
        Ok(Some((at, field)))
    }

    fn role(&mut self, at: usize) -> Result<Role, QueryError> {
        let word = self.value();
        Role::from_word(&word.to_lowercase()).ok_or_else(|| QueryError::UnknownRole { at, role: word.to_owned() })
    }

    /// A phrase in quotation marks, closed or not, or everything up to the next blank.
    fn value(&mut self) -> &'a str {
        let quote = if self.take('"') {
            '"'
        } else if self.take('“') {
            '”'
        } else {
            return self.take_while(|c| !c.is_whitespace());
        };
        let inner = self.take_while(|c| c != quote);
        self.take(quote);
        inner
    }

    fn take(&mut self, c: char) -> bool {
        let Some(rest) = self.rest.strip_prefix(c) else { return false };
        self.rest = rest;
        self.at += c.len_utf16();
        true
    }

    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        self.at += utf16(taken);
        taken
    }
}

enum Field {
    Role,
    Name,
}

fn non_empty(phrase: Vec<(usize, String)>) -> Option<Vec<(usize, String)>> {
    (!phrase.is_empty()).then_some(phrase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Vec<String> {
        let say =
            |phrase: &[(usize, String)]| phrase.iter().map(|(_, word)| word.as_str()).collect::<Vec<_>>().join("+");
        let clauses = Query::parse(text).unwrap().clauses;
        let one = |clause: &Clause| {
            let what = match &clause.what {
                What::Text(phrase) => say(phrase),
                What::Name(phrase) => format!("name={}", say(phrase)),
                What::Role(role) => format!("role={}", role.word()),
            };
            if clause.unwanted { format!("not {what}") } else { what }
        };
        clauses.iter().map(one).collect()
    }

    #[test]
    fn clauses() {
        assert_eq!(read("red lantern"), ["red", "lantern"]);
        assert_eq!(read("\"Red Lantern\" -fog -\"old tower\""), ["red+lantern", "not fog", "not old+tower"]);
        assert_eq!(read("role:user name:Rin -name:\"Old Keeper\""), ["role=user", "name=rin", "not name=old+keeper"]);
        assert_eq!(read("“灯塔 里”　守灯人 role：Assistant"), ["灯塔+里", "守灯+灯人", "role=assistant"]);
        assert_eq!(read("12:30 note: 时间:夜 !? - \"\" fire"), ["12+30", "note", "时间+夜", "fire"]);
        assert_eq!(read("role: x"), ["role", "x"]);
        assert_eq!(read("fog \"red lan"), ["fog", "red+lan"]);
        assert_eq!(read("fog -\"red lan"), ["fog", "not red+lan"]);
        assert_eq!(read("fog \""), ["fog"]);
        assert_eq!(read("role:user “灯塔"), ["role=user", "灯塔"]);
    }

    #[test]
    fn refusals_name_the_place() {
        let check = |text: &str, expected: QueryError| assert_eq!(Query::parse(text), Err(expected), "{text}");
        check("", QueryError::Empty);
        check("?!", QueryError::Empty);
        check("-fog", QueryError::Empty);
        check("\"", QueryError::Empty);
        check("🔥 hp:<20", QueryError::WorldValue { at: 3, field: "hp".into() });
        check("a hp:<20", QueryError::WorldValue { at: 2, field: "hp".into() });
        check("combat.hp:3", QueryError::WorldValue { at: 0, field: "combat.hp".into() });
        check("-mood:sad", QueryError::UnknownField { at: 1, field: "mood".into() });
        check("role:king", QueryError::UnknownRole { at: 0, role: "king".into() });
        check(&"x".repeat(1_001), QueryError::TooLong { at: 1_000 });
        check(&"x ".repeat(33), QueryError::TooLong { at: 65 });
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in "[ -~\"“”：灯🔥\u{301}]{0,40}|.{0,60}") {
            if let Err(error) = Query::parse(&text) {
                prop_assert!(error.at().unwrap_or(0) <= text.encode_utf16().count());
            }
        }
    }
}
