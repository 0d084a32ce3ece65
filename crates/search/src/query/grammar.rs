//! Pieces to an expression. Brackets bind first, then `-` and `NOT`, then juxtaposition (an `AND` is optional), then
//! `OR`. Missing parts are tolerated: see `mod.rs`.

use std::iter::Peekable;
use std::vec::IntoIter;

use super::error::{QueryError, QueryNote};
use super::scan::{CHARS_MAX, PARTS_MAX, QueryLexeme, QueryLexemes, tokenize};
use super::time::LocalNow;
use super::{ParsedQuery, QueryCondition, QueryExpr, SearchTerms, TreeCondition, TreeLocation};

/// The maximum depth of brackets; deeper ones are ignored.
const DEPTH_MAX: usize = 16;

/// Parses a search text.
pub(super) fn parse(text: &str, today: LocalNow) -> Result<ParsedQuery, QueryError> {
    if text.trim().is_empty() {
        return Err(empty_query_error(text));
    }
    let QueryLexemes { pieces, cut } = tokenize(text, today)?;
    let operators: Vec<QueryExpr> = pieces.iter().filter_map(as_word).collect();
    let mut parser = QueryParser { pieces: pieces.into_iter().peekable(), depth: 0, passed: 0 };
    let expr = parser.parse_or().or_else(|| all(operators));
    let mut notes: Vec<QueryNote> =
        cut.into_iter().map(|at| QueryNote::Cut { at, chars: CHARS_MAX, parts: PARTS_MAX }).collect();
    let Some(expr) = expr else {
        notes.push(QueryNote::NoWord);
        return Ok(ParsedQuery { expr: QueryExpr::Nothing, tree_conditions: Vec::new(), notes });
    };
    let (expr, asks) = split_tree_conditions(expr)?;
    if only_excludes(&expr) && asks.iter().all(|ask| ask.negated) {
        return Err(empty_query_error(text));
    }
    Ok(ParsedQuery { expr, tree_conditions: asks, notes })
}

/// Returns the error for a text without anything to search; it marks the text without surrounding whitespace.
fn empty_query_error(text: &str) -> QueryError {
    let units = |text: &str| text.encode_utf16().count();
    let at = units(text) - units(text.trim_start());
    QueryError::Empty { at, length: units(text.trim()) }
}

/// Returns whether an expression only excludes. A user who wants everything else adds a star.
fn only_excludes(expr: &QueryExpr) -> bool {
    match expr {
        QueryExpr::Not(_) => true,
        QueryExpr::All(parts) => parts.iter().all(only_excludes),
        _ => false,
    }
}

/// Returns an operator as a plain word, for texts that have only operators.
fn as_word(piece: &QueryLexeme) -> Option<QueryExpr> {
    let word = match piece {
        QueryLexeme::And => "and",
        QueryLexeme::Or => "or",
        QueryLexeme::Not => "not",
        QueryLexeme::Open | QueryLexeme::Close | QueryLexeme::Part(_) => return None,
    };
    SearchTerms::from_typed_text(word, false, false, false).map(QueryCondition::Text).map(QueryExpr::Condition)
}

struct QueryParser {
    pieces: Peekable<IntoIter<QueryLexeme>>,
    /// Open brackets.
    depth: usize,
    /// Open brackets that are ignored.
    passed: usize,
}

impl QueryParser {
    /// Parses operands with `OR` between them; `None` if there are none.
    fn parse_or(&mut self) -> Option<QueryExpr> {
        let mut parts: Vec<QueryExpr> = self.parse_and().into_iter().collect();
        while self.pieces.next_if(|piece| *piece == QueryLexeme::Or).is_some() {
            parts.extend(self.parse_and());
        }
        if parts.len() > 1 { Some(QueryExpr::Any(parts)) } else { parts.pop() }
    }

    fn parse_and(&mut self) -> Option<QueryExpr> {
        let (mut parts, mut unwanted) = (Vec::new(), false);
        while let Some(piece) = self.next_operand() {
            let part = match piece {
                QueryLexeme::Not => {
                    unwanted = !unwanted;
                    continue;
                }
                QueryLexeme::Open => self.bracket(),
                QueryLexeme::Part(part) => Some(part),
                QueryLexeme::Close => {
                    self.passed = self.passed.saturating_sub(1);
                    None
                }
                QueryLexeme::And | QueryLexeme::Or => None,
            };
            if let Some(part) = part {
                parts.push(if std::mem::take(&mut unwanted) { QueryExpr::Not(Box::new(part)) } else { part });
            }
        }
        all(parts)
    }

    /// Returns the next piece before an `OR` or the end of the bracket.
    fn next_operand(&mut self) -> Option<QueryLexeme> {
        let is_inside = self.depth > 0 && self.passed == 0;
        self.pieces.next_if(|piece| *piece != QueryLexeme::Or && !(is_inside && *piece == QueryLexeme::Close))
    }

    fn bracket(&mut self) -> Option<QueryExpr> {
        if self.depth >= DEPTH_MAX {
            self.passed += 1;
            return None;
        }
        self.depth += 1;
        let inner = self.parse_or();
        self.pieces.next_if(|piece| *piece == QueryLexeme::Close);
        self.depth -= 1;
        inner
    }
}

/// Combines parts with "and"; `None` if there are none.
fn all(mut parts: Vec<QueryExpr>) -> Option<QueryExpr> {
    if parts.len() < 2 {
        return parts.pop();
    }
    let inner = |part| if let QueryExpr::All(inner) = part { inner } else { vec![part] };
    Some(QueryExpr::All(parts.into_iter().flat_map(inner).collect()))
}

/// Separates the tree conditions from the rest. They are checked for each hit, so they cannot be part of an `OR`.
fn split_tree_conditions(expr: QueryExpr) -> Result<(QueryExpr, Vec<TreeCondition>), QueryError> {
    let parts = if let QueryExpr::All(parts) = expr { parts } else { vec![expr] };
    let (mut asks, mut rest) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            QueryExpr::Tree(_, what) => asks.push(TreeCondition { negated: false, location: what }),
            QueryExpr::Not(inner) => match *inner {
                QueryExpr::Tree(_, what) => asks.push(TreeCondition { negated: true, location: what }),
                inner => rest.push(QueryExpr::Not(Box::new(inner))),
            },
            part => rest.push(part),
        }
    }
    rest.iter().try_for_each(reject_tree_condition)?;
    Ok((all(rest).unwrap_or(QueryExpr::Everything), asks))
}

fn reject_tree_condition(expr: &QueryExpr) -> Result<(), QueryError> {
    match expr {
        QueryExpr::Tree(at, what) => Err(QueryError::Misplaced { at: *at, field: what.as_str() }),
        QueryExpr::All(parts) | QueryExpr::Any(parts) => parts.iter().try_for_each(reject_tree_condition),
        QueryExpr::Not(inner) => reject_tree_condition(inner),
        QueryExpr::Everything | QueryExpr::Nothing | QueryExpr::Condition(_) => Ok(()),
    }
}

impl TreeLocation {
    fn as_str(&self) -> &'static str {
        match self {
            Self::In(_) => "in",
            Self::Label(_) => "label",
        }
    }
}
