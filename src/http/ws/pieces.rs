//! Pieces of a running reply: from where a client is to where the text is. Offsets are UTF-16 code units, a piece never
//! splits a character.

use serde_json::{Value, json};

use crate::ids::NodeId;

/// How much of a reply was sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    content: Offset,
    reasoning: Offset,
}

/// One position, counted both ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Offset {
    bytes: usize,
    units: u64,
}

/// A piece of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    content: String,
    offset: u64,
    reasoning: String,
    reasoning_offset: u64,
}

impl Place {
    /// The place after everything.
    pub fn after(content: &str, reasoning: &str) -> Self {
        let mut place = Self::default();
        place.take(content, reasoning);
        place
    }

    /// The place at two offsets; `None` if one lies beyond its text or inside a character.
    pub fn at(content: &str, offset: u64, reasoning: &str, reasoning_offset: u64) -> Option<Self> {
        Some(Self { content: Offset::at(content, offset)?, reasoning: Offset::at(reasoning, reasoning_offset)? })
    }

    /// What came since; `None` if nothing did. The place moves to the end.
    pub fn take(&mut self, content: &str, reasoning: &str) -> Option<Piece> {
        let piece = self.take_always(content, reasoning);
        (!piece.content.is_empty() || !piece.reasoning.is_empty()).then_some(piece)
    }

    /// What came since, also if that is nothing.
    pub fn take_always(&mut self, content: &str, reasoning: &str) -> Piece {
        let (offset, reasoning_offset) = (self.content.units, self.reasoning.units);
        Piece {
            content: self.content.take(content),
            offset,
            reasoning: self.reasoning.take(reasoning),
            reasoning_offset,
        }
    }
}

impl Offset {
    fn at(text: &str, units: u64) -> Option<Self> {
        let mut seen = 0;
        for (bytes, c) in text.char_indices() {
            if seen == units {
                return Some(Self { bytes, units });
            }
            seen += units_of(c);
        }
        (seen == units).then_some(Self { bytes: text.len(), units })
    }

    fn take(&mut self, text: &str) -> String {
        let new = text.get(self.bytes..).unwrap_or_default();
        self.bytes += new.len();
        self.units += new.chars().map(units_of).sum::<u64>();
        new.to_owned()
    }
}

fn units_of(c: char) -> u64 {
    if u32::from(c) > 0xffff { 2 } else { 1 }
}

impl Piece {
    /// The frame of a piece.
    pub fn frame(self, node: NodeId) -> Value {
        let mut frame = json!({
            "type": "node.content.updated",
            "id": node.to_string(),
            "contentChunk": self.content,
            "offset": self.offset,
        });
        if let Some(map) = frame.as_object_mut().filter(|_| !self.reasoning.is_empty()) {
            map.insert("reasoningChunk".into(), self.reasoning.into());
            map.insert("reasoningOffset".into(), self.reasoning_offset.into());
        }
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S4-46: pieces put together are the text, whatever was taken when.
    #[test]
    fn pieces_join_without_a_gap_or_a_repeat() {
        let text = "夜🌙 falls é";
        let mut place = Place::default();
        let mut joined = String::new();
        for end in text.char_indices().map(|(i, _)| i).chain([text.len()]) {
            if let Some(piece) = place.take(text.get(..end).unwrap(), "") {
                assert_eq!(piece.offset, u64::try_from(joined.encode_utf16().count()).unwrap());
                joined.push_str(&piece.content);
            }
        }
        assert_eq!(joined, text);
        assert_eq!(place.take(text, ""), None);
    }

    #[test]
    fn a_place_is_never_inside_a_character() {
        assert_eq!(Offset::at("夜🌙x", 1), Some(Offset { bytes: 3, units: 1 }));
        assert_eq!(Offset::at("夜🌙x", 2), None);
        assert_eq!(Offset::at("夜🌙x", 3), Some(Offset { bytes: 7, units: 3 }));
        assert_eq!(Offset::at("夜🌙x", 4), Some(Offset { bytes: 8, units: 4 }));
        assert_eq!(Offset::at("夜🌙x", 5), None);
    }
}
