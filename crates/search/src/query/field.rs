//! What may stand behind the colon of a field.

use uuid::Uuid;

use super::error::{QueryError, QueryNote};
use super::lexeme_text::LexemeText;
use super::time::{self, LocalNow};
use super::{QueryCondition, QueryExpr, SearchTerms, TreeLocation};
use crate::analyzer;
use clotho_core::tree::Role;

/// So many stories or characters may be meant by one name.
const NAMED_MAX: usize = 1_000;

/// Where in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeScope {
    /// On the line that leads to HEAD.
    Trunk,
    /// Anywhere else in the tree.
    OtherBranch,
    /// In what was pruned.
    Stash,
}

/// A field of this program; every other name is a value of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchField {
    Role,
    Name,
    Session,
    Character,
    Label,
    In,
    Before,
    After,
    On,
}

/// Stories or characters by their words; which these are is found out before the search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NameFilter {
    /// As it was written.
    text: String,
    is_session: bool,
    /// Whose these are.
    pub ids: Vec<Uuid>,
}

impl SearchField {
    /// The field of a word, folded.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "role" => Self::Role,
            "name" => Self::Name,
            "session" | "story" => Self::Session,
            "character" => Self::Character,
            "label" => Self::Label,
            "in" | "where" => Self::In,
            "before" => Self::Before,
            "after" => Self::After,
            "on" | "time" => Self::On,
            _ => return None,
        })
    }

    /// The condition that a value makes of it, which stands at `at`; `None` if the value says nothing.
    pub fn read(self, value: &LexemeText<'_>, at: usize, today: LocalNow) -> Result<Option<QueryExpr>, QueryError> {
        if value.text.trim().is_empty() {
            return Ok(None);
        }
        let text = value.text;
        let what = match self {
            Self::Name => return Ok(value.words().map(QueryCondition::Name).map(QueryExpr::Condition)),
            Self::Role => QueryCondition::Role(role(text).ok_or_else(|| unknown_role(value))?),
            Self::Session | Self::Character => QueryCondition::of(NameFilter::new(text, self == Self::Session)),
            Self::Label => return Ok(Some(QueryExpr::Ask(at, TreeLocation::Label(text.to_owned())))),
            Self::In => {
                let place = place(text);
                let place = place.ok_or_else(|| QueryError::UnknownPlace { at: value.at, place: text.to_owned() })?;
                return Ok(Some(QueryExpr::Ask(at, TreeLocation::In(place))));
            }
            Self::Before | Self::After | Self::On => {
                let span = match self {
                    Self::Before => time::before(text, today),
                    Self::After => time::after(text, today),
                    _ => time::within(text, today),
                };
                QueryCondition::Time(span.ok_or_else(|| QueryError::NoTime { at: value.at, time: text.to_owned() })?)
            }
        };
        Ok(Some(QueryExpr::Condition(what)))
    }
}

impl QueryCondition {
    fn of(named: NameFilter) -> Self {
        if named.is_session { Self::Session(named) } else { Self::Character(named) }
    }
}

impl NameFilter {
    fn new(text: &str, is_session: bool) -> Self {
        Self { text: text.to_owned(), is_session, ids: Uuid::try_parse(text).into_iter().collect() }
    }

    /// Takes those whose name has the words, or where none has, those who have what is typed of them so far; a note where there
    /// are none.
    pub(super) fn resolve(&mut self, all: &[(Uuid, &str)]) -> Option<QueryNote> {
        if Uuid::try_parse(&self.text).is_ok() {
            return None;
        }
        let named = |holds: fn(&str, &str) -> bool| -> Vec<Uuid> {
            all.iter().filter(|(_, name)| holds(name, &self.text)).map(|(id, _)| *id).take(NAMED_MAX).collect()
        };
        let whole = named(analyzer::contains);
        self.ids = if whole.is_empty() { named(analyzer::contains_prefix) } else { whole };
        let text = || self.text.clone();
        let note = || if self.is_session { QueryNote::NoSession(text()) } else { QueryNote::NoCharacter(text()) };
        self.ids.is_empty().then(note)
    }
}

fn role(text: &str) -> Option<Role> {
    Role::from_word(&text.to_lowercase())
}

fn unknown_role(value: &LexemeText<'_>) -> QueryError {
    QueryError::UnknownRole { at: value.at, role: value.text.to_owned() }
}

fn place(text: &str) -> Option<TreeScope> {
    match text.to_lowercase().as_str() {
        "trunk" => Some(TreeScope::Trunk),
        "off-trunk" | "other" => Some(TreeScope::OtherBranch),
        "stash" => Some(TreeScope::Stash),
        _ => None,
    }
}

/// The words of a field's value, as a plain text has them.
impl LexemeText<'_> {
    /// What is looked for; `None` if there is nothing in it.
    pub fn words(&self) -> Option<SearchTerms> {
        SearchTerms::from_typed_text(self.text, self.is_quoted, self.is_prefix, self.is_truncated)
    }
}
