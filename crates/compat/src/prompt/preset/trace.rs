//! Converts a request for the trace and back. The trace stores everything that the history alone does not give.

use super::{MessageSource, PromptMessage};
use crate::prompt::{OutgoingMessage, PromptLine};
use clotho_core::tree::Role;

/// A message of a request that is not an unchanged history line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracePiece {
    /// Ids of its parts, joined by `+`.
    pub slot: String,
    /// Number of history lines before it.
    pub at: usize,
    /// Whether it replaces the line at `at`: changed by macros or scripts, or joined into another message.
    pub replaces_line: bool,
    /// Message as sent; an empty text for a line that was not sent.
    pub sent: OutgoingMessage,
}

/// How messages are built from lines and pieces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TraceLayout {
    /// Whether each history line has its speaker's name as prefix.
    pub is_named: bool,
    /// Whether neighbours of one role are joined.
    pub is_joined: bool,
}

/// Returns the pieces of a request. `lines` are the history lines sent; the first one has the history index `first`.
pub fn to_pieces(
    messages: &[PromptMessage],
    lines: &[PromptLine],
    first: usize,
    TraceLayout { is_named, .. }: TraceLayout,
) -> Vec<TracePiece> {
    let mut pieces = Vec::new();
    let mut next = 0;
    for message in messages {
        let sent = OutgoingMessage { role: message.role, name: message.name.clone(), text: message.text.clone() };
        let places: Vec<usize> =
            message.sources.iter().filter_map(|from| line_index(from, first, next, lines.len())).collect();
        let alone = matches!(message.sources.as_slice(), [MessageSource::History(_)])
            .then(|| places.first().copied())
            .flatten();
        if let Some(at) = alone {
            pieces.extend(unsent_lines(lines, next, at, is_named));
            if plain_line(lines, at, is_named).as_ref() != Some(&sent) {
                pieces.push(TracePiece { slot: "history".to_owned(), at, replaces_line: true, sent });
            }
            next = at + 1;
            continue;
        }
        pieces.push(TracePiece { slot: message.source_label(), at: next, replaces_line: false, sent });
        if let Some(last) = places.last() {
            pieces.extend(unsent_lines(lines, next, last + 1, is_named));
            next = last + 1;
        }
    }
    pieces.extend(unsent_lines(lines, next, lines.len(), is_named));
    pieces
}

/// Rebuilds the messages of a request from pieces and history lines.
pub fn rebuild(
    pieces: &[TracePiece],
    lines: &[PromptLine],
    TraceLayout { is_named, is_joined }: TraceLayout,
) -> Vec<OutgoingMessage> {
    let mut sent = Vec::new();
    let mut next = 0;
    for piece in pieces {
        sent.extend((next..piece.at).filter_map(|at| plain_line(lines, at, is_named)));
        sent.push(piece.sent.clone());
        next = piece.at + usize::from(piece.replaces_line);
    }
    sent.extend((next..lines.len()).filter_map(|at| plain_line(lines, at, is_named)));
    if is_joined {
        return join_neighbours(sent);
    }
    sent.retain(|sent| !sent.text.is_empty());
    sent
}

/// Joins neighbours of one role and name with a blank line; drops blank messages.
fn join_neighbours(sent: Vec<OutgoingMessage>) -> Vec<OutgoingMessage> {
    let mut joined: Vec<OutgoingMessage> = Vec::new();
    for message in sent.into_iter().filter(|message| !message.text.trim().is_empty()) {
        match joined.last_mut().filter(|last| last.role == message.role && last.name == message.name) {
            Some(last) => {
                last.text.push_str("\n\n");
                last.text.push_str(&message.text);
            }
            None => joined.push(message),
        }
    }
    joined
}

/// Returns the line index of a source, if the line was sent and no earlier message has passed it.
fn line_index(from: &MessageSource, first: usize, next: usize, len: usize) -> Option<usize> {
    let MessageSource::History(at) = from else { return None };
    at.checked_sub(first).filter(|at| (next..len).contains(at))
}

/// Returns pieces for lines that were not sent as their own message.
fn unsent_lines(lines: &[PromptLine], from: usize, to: usize, is_named: bool) -> impl Iterator<Item = TracePiece> {
    (from..to).filter_map(move |at| {
        let sent = OutgoingMessage { text: String::new(), ..plain_line(lines, at, is_named)? };
        (!plain_line(lines, at, is_named)?.text.is_empty()).then_some(TracePiece {
            slot: "history".to_owned(),
            at,
            replaces_line: true,
            sent,
        })
    })
}

/// Returns a line as it is sent if nothing changed it.
fn plain_line(lines: &[PromptLine], at: usize, is_named: bool) -> Option<OutgoingMessage> {
    let line = lines.get(at)?;
    let text = match &line.name {
        Some(name) if is_named && line.role != Role::System => format!("{name}: {}", line.text),
        _ => line.text.clone(),
    };
    Some(OutgoingMessage { role: line.role, name: None, text })
}
