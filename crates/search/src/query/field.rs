//! Fields and their values.

use uuid::Uuid;

use super::error::{QueryError, QueryNote};
use super::lexeme_text::LexemeText;
use super::time::{self, LocalNow};
use super::{QueryCondition, QueryExpr, SearchTerms, TreeLocation};
use crate::analyzer;
use clotho_core::letters::usual_form;
use clotho_core::tree::Role;

/// How many sessions or characters one name may match.
const NAMED_MAX: usize = 1_000;

/// A place in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeScope {
    /// On the current branch, from the root to HEAD.
    Trunk,
    /// On another branch.
    OtherBranch,
    /// In a pruned part.
    Stash,
}

/// A built-in field; any other name is a value of the state.
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

/// Sessions or characters by name. The ids are resolved before the search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NameFilter {
    /// The name as it was typed.
    text: String,
    is_session: bool,
    /// The resolved ids.
    pub ids: Vec<Uuid>,
}

impl SearchField {
    /// Returns the field with this lower-case name.
    pub fn parse(word: &str) -> Option<Self> {
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

    /// Returns the condition for a value of this field; `at` is the position of the field. `None` if the value is
    /// empty.
    pub fn read(self, value: &LexemeText<'_>, at: usize, today: LocalNow) -> Result<Option<QueryExpr>, QueryError> {
        if value.text.trim().is_empty() {
            return Ok(None);
        }
        let text = value.text;
        let what = match self {
            Self::Name => return Ok(value.words().map(QueryCondition::Name).map(QueryExpr::Condition)),
            Self::Role => QueryCondition::Role(role(text).ok_or_else(|| unknown_role(value))?),
            Self::Session | Self::Character => {
                QueryCondition::from_name_filter(NameFilter::new(text, self == Self::Session))
            }
            Self::Label => return Ok(Some(QueryExpr::Tree(at, TreeLocation::Label(text.to_owned())))),
            Self::In => {
                let place = place(text);
                let place = place.ok_or_else(|| QueryError::UnknownPlace { at: value.at, place: text.to_owned() })?;
                return Ok(Some(QueryExpr::Tree(at, TreeLocation::In(place))));
            }
            Self::Before | Self::After | Self::On => {
                let usual: String = text.chars().map(usual_form).collect();
                let span = match self {
                    Self::Before => time::before(&usual, today),
                    Self::After => time::after(&usual, today),
                    _ => time::within(&usual, today),
                };
                QueryCondition::Time(span.ok_or_else(|| QueryError::NoTime { at: value.at, time: text.to_owned() })?)
            }
        };
        Ok(Some(QueryExpr::Condition(what)))
    }
}

impl QueryCondition {
    fn from_name_filter(named: NameFilter) -> Self {
        if named.is_session { Self::Session(named) } else { Self::Character(named) }
    }
}

impl NameFilter {
    fn new(text: &str, is_session: bool) -> Self {
        Self { text: text.to_owned(), is_session, ids: Uuid::try_parse(text).into_iter().collect() }
    }

    /// Resolves the ids: names that contain the words, or if there are none, names with a word that starts with the
    /// last one. Returns a note if nothing matches.
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
    Role::parse(&text.to_lowercase())
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

/// Text of a field's value, analyzed like plain text.
impl LexemeText<'_> {
    /// Returns the terms to search; `None` if there are none.
    pub fn words(&self) -> Option<SearchTerms> {
        SearchTerms::from_typed_text(self.text, self.is_quoted, self.is_prefix, self.is_truncated)
    }
}
