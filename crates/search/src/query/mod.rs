//! What a person typed into the search box, as an expression: words, `"phrases"`, `begin*`, `slip~`, `-not`, `AND`, `OR`,
//! brackets, fields (`role:user`, `session:"The Tower"`, `after:2026-11-01`), and values of the world (`hp:<20`).
//!
//! Boxes search while one types, so nothing that a person writes as plain text is an error: a quotation mark or a bracket that
//! is not closed yet reaches to the end, an operator with nothing beside it says nothing (or is a word, where there is nothing
//! else), and of a text that is too long the beginning is looked for, with a note. Errors are left for fields that nobody knows
//! and values that do not fit; each has its place.
//!
//! - `scan`: the text as parts and operators, with their places
//! - `grammar`: parts to an expression: brackets before `-`, before "and", before `OR`
//! - `field`, `value_condition`, `time`: what may stand behind a colon
//! - `error`: refusals and notes
//!
//! To add a field: a word in `field.rs`, a variant of [`QueryCondition`], its arm in `compile.rs`.

mod error;
mod field;
mod grammar;
mod lexeme_text;
mod scan;
#[cfg(test)]
mod tests;
mod time;
mod value_condition;

use uuid::Uuid;

use super::analyzer;
use clotho_core::ids::{CharacterId, SessionId};
use clotho_core::tree::Role;

pub use error::{QueryError, QueryNote};
pub(super) use field::NameFilter;
pub use field::TreeScope;
pub use time::LocalNow;
pub(super) use time::TimeSpan;
pub(super) use value_condition::{ValueCondition, ValueMatch};

/// A parsed search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedQuery {
    pub(super) expr: QueryExpr,
    /// What only the tree knows; all of it must hold.
    tree_conditions: Vec<TreeCondition>,
    notes: Vec<QueryNote>,
}

/// What is asked of a hit that only the tree knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeCondition {
    /// Whether it must not be so.
    pub negated: bool,
    /// What.
    pub what: TreeLocation,
}

/// A place in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeLocation {
    /// On the line to HEAD, elsewhere in the tree, or in the stash.
    In(TreeScope),
    /// On the line to the message of this name.
    Label(String),
}

/// An expression; nowhere deeper than `grammar` lets it be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum QueryExpr {
    Everything,
    Nothing,
    All(Vec<QueryExpr>),
    Any(Vec<QueryExpr>),
    Not(Box<QueryExpr>),
    Condition(QueryCondition),
    /// Only while it is parsed: see [`ParsedQuery::asks`]. With its place.
    Ask(usize, TreeLocation),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum QueryCondition {
    /// In the text.
    Text(SearchTerms),
    /// In the speaker's name.
    Name(SearchTerms),
    Role(Role),
    Session(NameFilter),
    Character(NameFilter),
    Time(TimeSpan),
    World(ValueCondition),
}

/// What is looked for in a text: terms with their offsets from the first; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SearchTerms {
    pub terms: Vec<(usize, String)>,
    pub how: TermMatch,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TermMatch {
    /// As they stand.
    Exact,
    /// One English word, in any of its forms.
    Forms(String),
    /// The last term is only begun.
    Prefix,
    /// One word, with at most so many slips of the finger.
    Near(u8),
}

impl ParsedQuery {
    /// Everything: what is found is narrowed by something else than words.
    pub fn match_all() -> Self {
        Self { expr: QueryExpr::Everything, tree_conditions: Vec::new(), notes: Vec::new() }
    }

    /// Reads what a person typed; dates are those of `today`'s place.
    ///
    /// # Errors
    /// Nothing was typed or only what must not be, or a field is not one or has a value that is none; the error says why and where.
    pub fn parse(text: &str, today: LocalNow) -> Result<Self, QueryError> {
        grammar::parse(text, today)
    }

    /// What only the tree knows: whoever searches looks at each hit.
    pub fn asks(&self) -> &[TreeCondition] {
        &self.tree_conditions
    }

    /// What is worth saying about the search though it is one.
    pub fn notes(&self) -> &[QueryNote] {
        &self.notes
    }

    /// Whether it names stories, so that [`ParsedQuery::resolve_sessions`] is wanted.
    pub fn names_sessions(&self) -> bool {
        self.conditions().iter().any(|what| matches!(what, QueryCondition::Session(_)))
    }

    /// Whether it names characters, so that [`ParsedQuery::resolve_characters`] is wanted.
    pub fn names_characters(&self) -> bool {
        self.conditions().iter().any(|what| matches!(what, QueryCondition::Character(_)))
    }

    /// Says which stories there are: those count whose title has the words. Without a call nothing is found in any story.
    pub fn resolve_sessions(&mut self, all: &[(SessionId, &str)]) {
        let all: Vec<(Uuid, &str)> = all.iter().map(|(id, title)| (id.uuid(), *title)).collect();
        self.resolve_names(&all, |what| if let QueryCondition::Session(named) = what { Some(named) } else { None });
    }

    /// Says which characters there are, likewise by name.
    pub fn resolve_characters(&mut self, all: &[(CharacterId, &str)]) {
        let all: Vec<(Uuid, &str)> = all.iter().map(|(id, name)| (id.uuid(), *name)).collect();
        self.resolve_names(&all, |what| if let QueryCondition::Character(named) = what { Some(named) } else { None });
    }

    fn resolve_names(&mut self, all: &[(Uuid, &str)], pick: fn(&mut QueryCondition) -> Option<&mut NameFilter>) {
        let mut notes = Vec::new();
        self.expr.map_conditions(&mut |what| {
            if let Some(named) = pick(what) {
                notes.extend(named.resolve(all));
            }
        });
        self.notes.extend(notes);
    }

    /// Every single condition, in order.
    pub(super) fn conditions(&self) -> Vec<&QueryCondition> {
        let mut all = Vec::new();
        self.expr.for_each_condition(false, &mut |what, _| all.push(what));
        all
    }

    /// The words that hits have in their texts.
    pub(super) fn text_terms(&self) -> Vec<&SearchTerms> {
        let mut marks = Vec::new();
        self.expr.for_each_condition(false, &mut |what, unwanted| match what {
            QueryCondition::Text(words) if !unwanted => marks.push(words),
            _ => {}
        });
        marks
    }

    /// Decides what the names before colons are: values of the world that `is_known`, or plain text.
    ///
    /// # Errors
    /// One is neither.
    pub(super) fn resolve_values(&mut self, mut is_known: impl FnMut(&str) -> bool) -> Result<(), QueryError> {
        let mut refused = None;
        self.expr.map_conditions(&mut |what| {
            let QueryCondition::World(condition) = what else { return };
            if refused.is_some() || is_known(&condition.key) {
                return;
            }
            match condition.otherwise.take() {
                Some(words) => *what = QueryCondition::Text(words),
                None => refused = Some(condition.unknown()),
            }
        });
        refused.map_or(Ok(()), Err)
    }
}

impl QueryExpr {
    /// Every condition, with whether it must not hold.
    fn for_each_condition<'a>(&'a self, unwanted: bool, see: &mut dyn FnMut(&'a QueryCondition, bool)) {
        match self {
            Self::Condition(what) => see(what, unwanted),
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.for_each_condition(unwanted, see)),
            Self::Not(inner) => inner.for_each_condition(!unwanted, see),
            Self::Everything | Self::Nothing | Self::Ask(..) => {}
        }
    }

    fn map_conditions(&mut self, turn: &mut dyn FnMut(&mut QueryCondition)) {
        match self {
            Self::Condition(what) => turn(what),
            Self::All(parts) | Self::Any(parts) => parts.iter_mut().for_each(|part| part.map_conditions(turn)),
            Self::Not(inner) => inner.map_conditions(turn),
            Self::Everything | Self::Nothing | Self::Ask(..) => {}
        }
    }
}

impl SearchTerms {
    /// As it stands; `None` if there is nothing in it to look for.
    pub(super) fn exact_terms(text: &str) -> Option<Self> {
        let terms = analyzer::phrase_terms(text);
        (!terms.is_empty()).then_some(Self { terms, how: TermMatch::Exact })
    }
}
