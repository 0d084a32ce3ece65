//! Parses the search text into an expression: words, `"phrases"`, `begin*`, `slip~`, `-not`, `AND`, `OR`, brackets,
//! fields (`role:user`, `session:"The Tower"`, `after:2026-11-01`) and values of the state (`hp:<20`).
//!
//! Clients search while the user types, so plain text is never an error. An open quotation mark or bracket reaches to
//! the end. An operator without operand is ignored, or is a word if there is nothing else. A text that is too long is
//! cut, with a note. Only unknown fields and wrong values are errors, each with its position.
//!
//! - `scan`: text to parts and operators, with positions
//! - `grammar`: parts to an expression; brackets bind first, then `-`, "and", `OR`
//! - `field`, `value_condition`, `time`: what may follow a colon
//! - `error`: errors and notes
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

use super::analyzer::{self, PhraseTerm};
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
    /// Conditions on the tree, which the index cannot check; all of them must hold.
    tree_conditions: Vec<TreeCondition>,
    notes: Vec<QueryNote>,
}

/// A condition on the position of a hit in its tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeCondition {
    /// Whether the hit must not be there.
    pub negated: bool,
    pub location: TreeLocation,
}

/// A place in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeLocation {
    /// On the current branch, on another one, or in the stash.
    In(TreeScope),
    /// On the path to the message with this label.
    Label(String),
}

/// An expression. `grammar` limits its depth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum QueryExpr {
    Everything,
    Nothing,
    All(Vec<QueryExpr>),
    Any(Vec<QueryExpr>),
    Not(Box<QueryExpr>),
    Condition(QueryCondition),
    /// A tree condition with its position; exists only while parsing, see [`ParsedQuery::asks`].
    Tree(usize, TreeLocation),
}

/// A condition that the index checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum QueryCondition {
    /// Terms in the text of the message.
    Text(SearchTerms),
    /// Terms in the name of the speaker.
    Name(SearchTerms),
    Role(Role),
    Session(NameFilter),
    Character(NameFilter),
    Time(TimeSpan),
    World(ValueCondition),
}

/// Terms to search; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SearchTerms {
    pub terms: Vec<PhraseTerm>,
    pub matching: TermMatch,
}

/// How terms match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TermMatch {
    /// The terms as they are.
    Exact,
    /// One English word in any form; with its stem.
    Forms(String),
    /// The last term is a prefix.
    Prefix,
    /// One word, with at most this many typing errors.
    Near(u8),
}

impl ParsedQuery {
    /// Returns a query that matches everything, for searches by filters only.
    pub fn match_all() -> Self {
        Self { expr: QueryExpr::Everything, tree_conditions: Vec::new(), notes: Vec::new() }
    }

    /// Parses a search text. Dates are local to `today`.
    ///
    /// # Errors
    /// Returns an error with its position if the text is empty or only excludes, or if a field or its value is unknown.
    pub fn parse(text: &str, today: LocalNow) -> Result<Self, QueryError> {
        grammar::parse(text, today)
    }

    /// Returns the conditions on the tree, which the caller must check for each hit.
    pub fn tree_conditions(&self) -> &[TreeCondition] {
        &self.tree_conditions
    }

    /// Returns notes about a valid query.
    pub fn notes(&self) -> &[QueryNote] {
        &self.notes
    }

    /// Returns whether the query names sessions, so that [`ParsedQuery::resolve_sessions`] must be called.
    pub fn names_sessions(&self) -> bool {
        self.conditions().iter().any(|what| matches!(what, QueryCondition::Session(_)))
    }

    /// Returns whether the query names characters, so that [`ParsedQuery::resolve_characters`] must be called.
    pub fn names_characters(&self) -> bool {
        self.conditions().iter().any(|what| matches!(what, QueryCondition::Character(_)))
    }

    /// Resolves the named sessions to those whose title has the words. Without this call, they match nothing.
    pub fn resolve_sessions(&mut self, all: &[(SessionId, &str)]) {
        let all: Vec<(Uuid, &str)> = all.iter().map(|(id, title)| (id.uuid(), *title)).collect();
        self.resolve_names(&all, |what| if let QueryCondition::Session(named) = what { Some(named) } else { None });
    }

    /// Resolves the named characters, like [`ParsedQuery::resolve_sessions`].
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

    /// Returns every condition, in order.
    pub(super) fn conditions(&self) -> Vec<&QueryCondition> {
        let mut all = Vec::new();
        self.expr.for_each_condition(false, &mut |what, _| all.push(what));
        all
    }

    /// Returns the words that hits must have in their text.
    pub(super) fn text_terms(&self) -> Vec<&SearchTerms> {
        let mut marks = Vec::new();
        self.expr.for_each_condition(false, &mut |what, unwanted| match what {
            QueryCondition::Text(words) if !unwanted => marks.push(words),
            _ => {}
        });
        marks
    }

    /// Resolves names before colons: values of the state if `is_known`, else plain text.
    ///
    /// # Errors
    /// Returns an error if a name can be neither.
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
    /// Visits every condition, with whether it is negated.
    fn for_each_condition<'a>(&'a self, unwanted: bool, see: &mut dyn FnMut(&'a QueryCondition, bool)) {
        match self {
            Self::Condition(what) => see(what, unwanted),
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.for_each_condition(unwanted, see)),
            Self::Not(inner) => inner.for_each_condition(!unwanted, see),
            Self::Everything | Self::Nothing | Self::Tree(..) => {}
        }
    }

    fn map_conditions(&mut self, turn: &mut dyn FnMut(&mut QueryCondition)) {
        match self {
            Self::Condition(what) => turn(what),
            Self::All(parts) | Self::Any(parts) => parts.iter_mut().for_each(|part| part.map_conditions(turn)),
            Self::Not(inner) => inner.map_conditions(turn),
            Self::Everything | Self::Nothing | Self::Tree(..) => {}
        }
    }
}

impl SearchTerms {
    /// Returns the exact terms of a text; `None` if there are none.
    pub(super) fn exact_terms(text: &str) -> Option<Self> {
        let terms = analyzer::phrase_terms(text);
        (!terms.is_empty()).then_some(Self { terms, matching: TermMatch::Exact })
    }
}
