//! How much of each running reply a WebSocket has sent. Offsets count UTF-16 code units; a chunk never splits a code
//! point.

use std::collections::HashMap;

use crate::http::error::ApiError;
use crate::http::wire::events::{Event, ReplyChunkEvent};
use crate::http::wire::ids::WireId;
use clotho_core::ids::NodeId;
use clotho_engine::live::{GenerationPhase, LiveSessions, PartialText};

/// The replies that this socket has announced and not finished.
#[derive(Debug, Default)]
pub struct ReplyStreams {
    open: HashMap<NodeId, ReplyStreamProgress>,
}

/// How much of a reply was sent.
#[derive(Debug, Clone, Copy, Default)]
struct ReplyStreamProgress {
    content: StreamTextPosition,
    reasoning: StreamTextPosition,
    phase: GenerationPhase,
    /// How often the sent text had been taken back.
    rewrites: u32,
}

/// A position in a text, in bytes and in UTF-16 code units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamTextPosition {
    bytes: usize,
    units: usize,
}

impl StreamTextPosition {
    /// Returns the position after `units` UTF-16 code units; `None` beyond the end or inside a code point.
    fn from_units(text: &str, units: usize) -> Option<Self> {
        let mut at = Self::default();
        for c in text.chars() {
            if at.units >= units {
                break;
            }
            at.bytes += c.len_utf8();
            at.units += c.len_utf16();
        }
        (at.units == units).then_some(at)
    }

    /// Returns the number of UTF-16 code units before the position.
    pub fn utf16_units(self) -> usize {
        self.units
    }

    /// Returns the text after the position, and the position at its end.
    pub fn rest_of(self, text: &str) -> (&str, Self) {
        let rest = text.get(self.bytes..).unwrap_or_default();
        let units = self.units + rest.encode_utf16().count();
        (rest, Self { bytes: self.bytes + rest.len(), units })
    }
}

impl ReplyStreams {
    /// Starts a reply whose node was just sent to the client; all of its text follows.
    pub fn open(&mut self, node: NodeId) {
        self.open.insert(node, ReplyStreamProgress::default());
    }

    /// Joins a running reply whose node the client already knows. Only new text follows; the client requests what it
    /// lacks with `resume`.
    pub fn join(&mut self, node: NodeId, live: &LiveSessions) {
        let mut sent = ReplyStreamProgress::default();
        if let Some(running) = live.running_reply(node) {
            running.with_partial_text(|written| _ = running_chunk(node, &mut sent, written));
        }
        self.open.insert(node, sent);
    }

    /// Returns the new text of every open reply.
    pub fn take_events(&mut self, live: &LiveSessions) -> Vec<Event> {
        let mut events = Vec::new();
        for (node, sent) in &mut self.open {
            let Some(running) = live.running_reply(*node) else { continue };
            let phase = running.phase();
            if std::mem::replace(&mut sent.phase, phase) != phase {
                events.push(Event::Progress { id: WireId(*node), phase: phase.word, queue_position: phase.place });
            }
            running.with_partial_text(|written| events.extend(running_chunk(*node, sent, written)));
        }
        events
    }

    /// Ends a reply and returns the unsent rest of its final text, if any.
    pub fn close(&mut self, node: NodeId, content: &str, reasoning: &str) -> Option<Event> {
        let mut sent = self.open.remove(&node).unwrap_or_default();
        next_chunk(node, &mut sent, content, reasoning)
    }

    /// Returns one chunk of a running reply from the client's offset; later chunks continue after it. If text was taken
    /// back, the client's offset may be of another text: the chunk is all of it then.
    ///
    /// # Errors
    /// Returns an error if the offset is not in the text.
    pub fn resume(
        &mut self,
        node: NodeId,
        written: &PartialText,
        offset: usize,
        reasoning_offset: Option<usize>,
    ) -> Result<Event, ApiError> {
        let PartialText { content, reasoning, .. } = written;
        let is_whole = written.rewrites() > 0;
        let offset = if is_whole { 0 } else { offset };
        let event = chunk_event(node, content, reasoning, offset, reasoning_offset)?;
        let event = if is_whole { as_whole(event) } else { event };
        if let Some(sent) = self.open.get_mut(&node) {
            sent.rewrites = written.rewrites();
            sent.content = StreamTextPosition::default().rest_of(content).1;
            if reasoning_offset.is_some() {
                sent.reasoning = StreamTextPosition::default().rest_of(reasoning).1;
            }
        }
        Ok(event)
    }
}

/// Returns the unsent text of a running reply as a chunk; `None` if there is none. If text was taken back, the chunk is
/// all of it.
fn running_chunk(node: NodeId, sent: &mut ReplyStreamProgress, written: &PartialText) -> Option<Event> {
    if std::mem::replace(&mut sent.rewrites, written.rewrites()) == written.rewrites() {
        return next_chunk(node, sent, &written.content, &written.reasoning);
    }
    sent.content = StreamTextPosition::default();
    let whole = next_chunk(node, sent, &written.content, &written.reasoning);
    let none = || Event::Grown(ReplyChunkEvent { id: Some(WireId(node)), ..ReplyChunkEvent::default() });
    Some(as_whole(whole.unwrap_or_else(none)))
}

/// Marks a chunk as all of the text.
fn as_whole(event: Event) -> Event {
    match event {
        Event::Grown(chunk) => Event::Grown(ReplyChunkEvent { is_whole: Some(true), ..chunk }),
        other => other,
    }
}

/// Returns the unsent text as a chunk; `None` if there is none.
fn next_chunk(node: NodeId, sent: &mut ReplyStreamProgress, content: &str, reasoning: &str) -> Option<Event> {
    let (text, after) = sent.content.rest_of(content);
    let (thought, thought_after) = sent.reasoning.rest_of(reasoning);
    if text.is_empty() && thought.is_empty() {
        return None;
    }
    let has_thought = !thought.is_empty();
    let chunk = ReplyChunkEvent {
        id: Some(WireId(node)),
        content_chunk: text.to_owned(),
        offset: sent.content.units,
        reasoning_chunk: has_thought.then(|| thought.to_owned()),
        reasoning_offset: has_thought.then_some(sent.reasoning.units),
        is_whole: None,
    };
    (sent.content, sent.reasoning) = (after, thought_after);
    Some(Event::Grown(chunk))
}

/// Returns the text from an offset to the end as a chunk.
///
/// # Errors
/// Returns an error if the offset is beyond the end of the text or inside a code point.
pub fn chunk_event(
    node: NodeId,
    content: &str,
    reasoning: &str,
    offset: usize,
    reasoning_offset: Option<usize>,
) -> Result<Event, ApiError> {
    let bad = |field: &str| ApiError::invalid(field, "the offset is beyond the end of the text, or inside a character");
    let from = StreamTextPosition::from_units(content, offset).ok_or_else(|| bad("offset"))?;
    let thought = match reasoning_offset {
        Some(offset) => Some(StreamTextPosition::from_units(reasoning, offset).ok_or_else(|| bad("reasoningOffset"))?),
        None => None,
    };
    Ok(Event::Grown(ReplyChunkEvent {
        id: Some(WireId(node)),
        content_chunk: from.rest_of(content).0.to_owned(),
        offset,
        reasoning_chunk: thought.map(|from| from.rest_of(reasoning).0.to_owned()),
        reasoning_offset,
        is_whole: None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node_id() -> NodeId {
        NodeId::new(uuid::Uuid::from_u128(1))
    }

    fn expect_chunk(event: Option<Event>) -> Option<(usize, String)> {
        match event {
            Some(Event::Grown(chunk)) => Some((chunk.offset, chunk.content_chunk)),
            Some(other) => panic!("{other:?}"),
            None => None,
        }
    }

    /// S4-46: chunks joined at their offsets give the text, whatever its characters.
    #[test]
    fn reply_stream_chunks_join_to_full_text() {
        let mut sent = ReplyStreamProgress::default();
        let mut so_far = String::new();
        for text in ["a", "a天", "a天😀", "a天😀", "a天😀!"] {
            if let Some((offset, piece)) = expect_chunk(next_chunk(node_id(), &mut sent, text, "")) {
                assert_eq!(offset, so_far.encode_utf16().count());
                so_far.push_str(&piece);
            }
            assert_eq!(so_far, text);
        }
    }

    #[test]
    fn reply_stream_close_sends_rest_once() {
        let mut streams = ReplyStreams::default();
        streams.open(node_id());
        let mut written = PartialText::default();
        written.content.push_str("half");
        let resumed = streams.resume(node_id(), &written, 2, None).unwrap();
        assert_eq!(expect_chunk(Some(resumed)), Some((2, "lf".into())));
        assert_eq!(expect_chunk(streams.close(node_id(), "half a loaf", "")), Some((4, " a loaf".into())));
        assert!(streams.open.is_empty());
        // A socket that has not announced the reply sends all of it.
        assert_eq!(expect_chunk(streams.close(node_id(), "all", "")), Some((0, "all".into())));
        assert_eq!(expect_chunk(streams.close(node_id(), "", "")), None);
    }

    #[test]
    fn reply_stream_invalid_offset_is_refused() {
        let at =
            |offset, reasoning| chunk_event(node_id(), "a😀b", "hm", offset, reasoning).map(Some).map(expect_chunk);
        assert_eq!(at(0, None).unwrap(), Some((0, "a😀b".into())));
        assert_eq!(at(3, None).unwrap(), Some((3, "b".into())));
        assert_eq!(at(4, Some(2)).unwrap(), Some((4, String::new())));
        assert_eq!(at(2, None).unwrap_err().details["field"], "offset");
        assert_eq!(at(5, None).unwrap_err().details["field"], "offset");
        assert_eq!(at(0, Some(3)).unwrap_err().details["field"], "reasoningOffset");
    }
}
