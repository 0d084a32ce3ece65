//! What is kept of a request so that it can be made again: everything that the history alone does not say, and where it stood.

use super::{Message, Source};
use crate::prompt::{Line, Sent};
use crate::tree::Role;

/// A message of a request that is not a line of the history as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// What it was made of: the names of parts.
    pub slot: String,
    /// How many lines of the history stand before it.
    pub at: usize,
    /// Whether it stands in place of the line there: macros or scripts changed that, or it went into another message.
    pub is_over: bool,
    /// What was sent; an empty text for a line that was not.
    pub sent: Sent,
}

/// The pieces of a request; `lines` are those of the history that went, the first of them number `first` of what was given, and
/// `is_named` says whether each is sent with its speaker before it.
pub fn pieces(messages: &[Message], lines: &[Line], first: usize, is_named: bool) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut next = 0;
    for message in messages {
        let sent = Sent { role: message.role, name: message.name.clone(), text: message.text.clone() };
        let places: Vec<usize> = message.from.iter().filter_map(|from| place(from, first, next, lines.len())).collect();
        let alone = matches!(message.from.as_slice(), [Source::History(_)]).then(|| places.first().copied()).flatten();
        if let Some(at) = alone {
            pieces.extend(unsent(lines, next, at, is_named));
            if plain(lines, at, is_named).as_ref() != Some(&sent) {
                pieces.push(Piece { slot: "history".to_owned(), at, is_over: true, sent });
            }
            next = at + 1;
            continue;
        }
        pieces.push(Piece { slot: slot(message), at: next, is_over: false, sent });
        if let Some(last) = places.last() {
            pieces.extend(unsent(lines, next, last + 1, is_named));
            next = last + 1;
        }
    }
    pieces.extend(unsent(lines, next, lines.len(), is_named));
    pieces
}

/// The messages of a request, made again.
pub fn woven(pieces: &[Piece], lines: &[Line], is_named: bool) -> Vec<Sent> {
    let mut sent = Vec::new();
    let mut next = 0;
    for piece in pieces {
        sent.extend((next..piece.at).filter_map(|at| plain(lines, at, is_named)));
        sent.push(piece.sent.clone());
        next = piece.at + usize::from(piece.is_over);
    }
    sent.extend((next..lines.len()).filter_map(|at| plain(lines, at, is_named)));
    sent.retain(|sent| !sent.text.is_empty());
    sent
}

/// The place of a source among the lines that went, if it is one that no earlier message has passed.
fn place(from: &Source, first: usize, next: usize, len: usize) -> Option<usize> {
    let Source::History(at) = from else { return None };
    at.checked_sub(first).filter(|at| (next..len).contains(at))
}

fn slot(message: &Message) -> String {
    let slots = message.from.iter().map(|from| match from {
        Source::Part(id) => id.as_str(),
        Source::History(_) => "history",
    });
    slots.collect::<Vec<_>>().join("+")
}

/// Lines that were not sent by themselves.
fn unsent(lines: &[Line], from: usize, to: usize, is_named: bool) -> impl Iterator<Item = Piece> {
    (from..to).filter_map(move |at| {
        let sent = Sent { text: String::new(), ..plain(lines, at, is_named)? };
        (!plain(lines, at, is_named)?.text.is_empty()).then_some(Piece {
            slot: "history".to_owned(),
            at,
            is_over: true,
            sent,
        })
    })
}

/// A line as it is sent where nothing changed it.
fn plain(lines: &[Line], at: usize, is_named: bool) -> Option<Sent> {
    let line = lines.get(at)?;
    let text = match &line.name {
        Some(name) if is_named && line.role != Role::System => format!("{name}: {}", line.text),
        _ => line.text.clone(),
    };
    Some(Sent { role: line.role, name: None, text })
}
