//! Pieces to an expression. Brackets bind first, then `-` and `NOT`, then what stands side by side (`AND` may stand between), then
//! `OR`. Whatever is missing is forgiven: see the head of this folder.

use std::iter::Peekable;
use std::vec::IntoIter;

use super::error::{QueryError, QueryNote};
use super::scan::{CHARS_MAX, PARTS_MAX, QueryLexeme, QueryLexemes, tokenize};
use super::time::LocalNow;
use super::{ParsedQuery, QueryCondition, QueryExpr, SearchTerms, TreeCondition, TreeLocation};

/// Brackets inside brackets inside brackets: deeper ones are passed over.
const DEPTH_MAX: usize = 16;

/// Reads what a person typed.
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

/// All that was typed, without the blanks around it, is nothing to look for.
fn empty_query_error(text: &str) -> QueryError {
    let units = |text: &str| text.encode_utf16().count();
    let at = units(text) - units(text.trim_start());
    QueryError::Empty { at, length: units(text.trim()) }
}

/// Whether it says only what must not be. Who means everything else writes a star.
fn only_excludes(expr: &QueryExpr) -> bool {
    match expr {
        QueryExpr::Not(_) => true,
        QueryExpr::All(parts) => parts.iter().all(only_excludes),
        _ => false,
    }
}

/// An operator as the word that it is where there is nothing to join.
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
    /// Brackets that are open.
    depth: usize,
    /// Brackets that are open and were passed over.
    passed: usize,
}

impl QueryParser {
    /// Several with `OR` between them; `None` if they say nothing.
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

    /// The next piece before an `OR` or the end of the bracket.
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

/// All of some; `None` if there are none.
fn all(mut parts: Vec<QueryExpr>) -> Option<QueryExpr> {
    if parts.len() < 2 {
        return parts.pop();
    }
    let inner = |part| if let QueryExpr::All(inner) = part { inner } else { vec![part] };
    Some(QueryExpr::All(parts.into_iter().flat_map(inner).collect()))
}

/// Parts what only the tree knows from the rest. It is asked of each hit, so it must hold for all of them.
fn split_tree_conditions(expr: QueryExpr) -> Result<(QueryExpr, Vec<TreeCondition>), QueryError> {
    let parts = if let QueryExpr::All(parts) = expr { parts } else { vec![expr] };
    let (mut asks, mut rest) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            QueryExpr::Ask(_, what) => asks.push(TreeCondition { negated: false, what }),
            QueryExpr::Not(inner) => match *inner {
                QueryExpr::Ask(_, what) => asks.push(TreeCondition { negated: true, what }),
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
        QueryExpr::Ask(at, what) => Err(QueryError::Misplaced { at: *at, field: what.word() }),
        QueryExpr::All(parts) | QueryExpr::Any(parts) => parts.iter().try_for_each(reject_tree_condition),
        QueryExpr::Not(inner) => reject_tree_condition(inner),
        QueryExpr::Everything | QueryExpr::Nothing | QueryExpr::Condition(_) => Ok(()),
    }
}

impl TreeLocation {
    fn word(&self) -> &'static str {
        match self {
            Self::In(_) => "in",
            Self::Label(_) => "label",
        }
    }
}
