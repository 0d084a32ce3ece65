//! Pieces to an expression. Brackets bind first, then `-` and `NOT`, then what stands side by side (`AND` may stand between), then
//! `OR`. Whatever is missing is forgiven: see the head of this folder.

use std::iter::Peekable;
use std::vec::IntoIter;

use super::error::{Note, QueryError};
use super::scan::{CHARS_MAX, PARTS_MAX, Piece, Pieces, pieces};
use super::time::Today;
use super::{Ask, Expr, Query, Spot, What, Words};

/// Brackets inside brackets inside brackets: deeper ones are passed over.
const DEPTH_MAX: usize = 16;

/// Reads what a person typed.
pub(super) fn parse(text: &str, today: Today) -> Result<Query, QueryError> {
    if text.trim().is_empty() {
        return Err(empty(text));
    }
    let Pieces { pieces, cut } = pieces(text, today)?;
    let operators: Vec<Expr> = pieces.iter().filter_map(as_word).collect();
    let mut parser = Parser { pieces: pieces.into_iter().peekable(), depth: 0, passed: 0 };
    let expr = parser.any().or_else(|| all(operators));
    let mut notes: Vec<Note> = cut.into_iter().map(|at| Note::Cut { at, chars: CHARS_MAX, parts: PARTS_MAX }).collect();
    let Some(expr) = expr else {
        notes.push(Note::NoWord);
        return Ok(Query { expr: Expr::Nothing, asks: Vec::new(), notes });
    };
    let (expr, asks) = lift(expr)?;
    if only_excludes(&expr) && asks.iter().all(|ask| ask.unwanted) {
        return Err(empty(text));
    }
    Ok(Query { expr, asks, notes })
}

/// All that was typed, without the blanks around it, is nothing to look for.
fn empty(text: &str) -> QueryError {
    let units = |text: &str| text.encode_utf16().count();
    let at = units(text) - units(text.trim_start());
    QueryError::Empty { at, length: units(text.trim()) }
}

/// Whether it says only what must not be. Who means everything else writes a star.
fn only_excludes(expr: &Expr) -> bool {
    match expr {
        Expr::Not(_) => true,
        Expr::All(parts) => parts.iter().all(only_excludes),
        _ => false,
    }
}

/// An operator as the word that it is where there is nothing to join.
fn as_word(piece: &Piece) -> Option<Expr> {
    let word = match piece {
        Piece::And => "and",
        Piece::Or => "or",
        Piece::Not => "not",
        Piece::Open | Piece::Close | Piece::Part(_) => return None,
    };
    Words::typed(word, false, false, false).map(What::Text).map(Expr::Is)
}

struct Parser {
    pieces: Peekable<IntoIter<Piece>>,
    /// Brackets that are open.
    depth: usize,
    /// Brackets that are open and were passed over.
    passed: usize,
}

impl Parser {
    /// Several with `OR` between them; `None` if they say nothing.
    fn any(&mut self) -> Option<Expr> {
        let mut parts: Vec<Expr> = self.side_by_side().into_iter().collect();
        while self.pieces.next_if(|piece| *piece == Piece::Or).is_some() {
            parts.extend(self.side_by_side());
        }
        if parts.len() > 1 { Some(Expr::Any(parts)) } else { parts.pop() }
    }

    fn side_by_side(&mut self) -> Option<Expr> {
        let (mut parts, mut unwanted) = (Vec::new(), false);
        while let Some(piece) = self.next_here() {
            let part = match piece {
                Piece::Not => {
                    unwanted = !unwanted;
                    continue;
                }
                Piece::Open => self.bracket(),
                Piece::Part(part) => Some(part),
                Piece::Close => {
                    self.passed = self.passed.saturating_sub(1);
                    None
                }
                Piece::And | Piece::Or => None,
            };
            if let Some(part) = part {
                parts.push(if std::mem::take(&mut unwanted) { Expr::Not(Box::new(part)) } else { part });
            }
        }
        all(parts)
    }

    /// The next piece before an `OR` or the end of the bracket.
    fn next_here(&mut self) -> Option<Piece> {
        let is_inside = self.depth > 0 && self.passed == 0;
        self.pieces.next_if(|piece| *piece != Piece::Or && !(is_inside && *piece == Piece::Close))
    }

    fn bracket(&mut self) -> Option<Expr> {
        if self.depth >= DEPTH_MAX {
            self.passed += 1;
            return None;
        }
        self.depth += 1;
        let inner = self.any();
        self.pieces.next_if(|piece| *piece == Piece::Close);
        self.depth -= 1;
        inner
    }
}

/// All of some; `None` if there are none.
fn all(mut parts: Vec<Expr>) -> Option<Expr> {
    if parts.len() < 2 {
        return parts.pop();
    }
    let inner = |part| if let Expr::All(inner) = part { inner } else { vec![part] };
    Some(Expr::All(parts.into_iter().flat_map(inner).collect()))
}

/// Parts what only the tree knows from the rest. It is asked of each hit, so it must hold for all of them.
fn lift(expr: Expr) -> Result<(Expr, Vec<Ask>), QueryError> {
    let parts = if let Expr::All(parts) = expr { parts } else { vec![expr] };
    let (mut asks, mut rest) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Expr::Ask(_, what) => asks.push(Ask { unwanted: false, what }),
            Expr::Not(inner) => match *inner {
                Expr::Ask(_, what) => asks.push(Ask { unwanted: true, what }),
                inner => rest.push(Expr::Not(Box::new(inner))),
            },
            part => rest.push(part),
        }
    }
    rest.iter().try_for_each(has_no_ask)?;
    Ok((all(rest).unwrap_or(Expr::Everything), asks))
}

fn has_no_ask(expr: &Expr) -> Result<(), QueryError> {
    match expr {
        Expr::Ask(at, what) => Err(QueryError::Misplaced { at: *at, field: what.word() }),
        Expr::All(parts) | Expr::Any(parts) => parts.iter().try_for_each(has_no_ask),
        Expr::Not(inner) => has_no_ask(inner),
        Expr::Everything | Expr::Nothing | Expr::Is(_) => Ok(()),
    }
}

impl Spot {
    fn word(&self) -> &'static str {
        match self {
            Self::In(_) => "in",
            Self::Label(_) => "label",
        }
    }
}
