//! Converts bodies in UTF-16 to UTF-8. Does no I/O.
//!
//! Some servers on Windows send UTF-16, and name no charset or a wrong one. So it is recognized by its bytes: by its
//! byte order mark, or by the zero byte of its first character, which is ASCII in every format that servers send.

use std::borrow::Cow;

/// An incremental converter. Bytes can be split anywhere without changing the result. Bodies in other encodings pass
/// unchanged.
#[derive(Debug, Default)]
pub(super) struct BodyConverter {
    encoding: BodyEncoding,
    /// What arrived of a pair of bytes.
    half: Option<u8>,
    /// The first half of a surrogate pair.
    high: Option<u16>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum BodyEncoding {
    #[default]
    Unknown,
    /// UTF-8, or anything else.
    Bytes,
    BigEndian,
    LittleEndian,
}

impl BodyConverter {
    /// Returns the next bytes in UTF-8. They can be empty.
    pub(super) fn feed<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.encoding == BodyEncoding::Unknown {
            let first_two = self.half.into_iter().chain(bytes.iter().copied());
            let mut first_two = first_two.take(2);
            let (Some(first), Some(second)) = (first_two.next(), first_two.next()) else {
                self.half = self.half.or(bytes.first().copied());
                return Cow::Borrowed(&[]);
            };
            self.encoding = encoding_of(first, second);
            if let Some(first) = self.half.filter(|_| self.encoding == BodyEncoding::Bytes) {
                self.half = None;
                return Cow::Owned([&[first], bytes].concat());
            }
        }
        match self.encoding {
            BodyEncoding::Unknown | BodyEncoding::Bytes => Cow::Borrowed(bytes),
            BodyEncoding::BigEndian => Cow::Owned(self.convert(bytes, u16::from_be_bytes)),
            BodyEncoding::LittleEndian => Cow::Owned(self.convert(bytes, u16::from_le_bytes)),
        }
    }

    /// Returns the rest at the end of the body. A character that was cut becomes U+FFFD.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        match (self.encoding, self.half.take(), self.high.take()) {
            (BodyEncoding::Unknown | BodyEncoding::Bytes, half, _) => half.into_iter().collect(),
            (_, None, None) => Vec::new(),
            _ => "\u{fffd}".as_bytes().to_vec(),
        }
    }

    fn convert(&mut self, bytes: &[u8], unit_of: fn([u8; 2]) -> u16) -> Vec<u8> {
        let mut units = Vec::with_capacity(bytes.len() / 2 + 2);
        units.extend(self.high.take());
        for byte in bytes {
            match self.half.take() {
                Some(first) => units.push(unit_of([first, *byte])),
                None => self.half = Some(*byte),
            }
        }
        if let Some(high) = units.pop_if(|last| (0xd800..=0xdbff).contains(last)) {
            self.high = Some(high);
        }
        String::from_utf16_lossy(&units).into_bytes()
    }
}

/// Returns a whole body in UTF-8.
pub(super) fn convert_whole(body: Vec<u8>) -> Vec<u8> {
    let mut converter = BodyConverter::default();
    let text = match converter.feed(&body) {
        Cow::Owned(text) => Some(text),
        // A single byte is held back, and nothing else.
        Cow::Borrowed(_) => None,
    };
    match text {
        Some(text) => [text, converter.finish()].concat(),
        None => body,
    }
}

fn encoding_of(first: u8, second: u8) -> BodyEncoding {
    match (first, second) {
        (0xfe, 0xff) => BodyEncoding::BigEndian,
        (0xff, 0xfe) => BodyEncoding::LittleEndian,
        (0, second) if second != 0 => BodyEncoding::BigEndian,
        (first, 0) if first != 0 => BodyEncoding::LittleEndian,
        _ => BodyEncoding::Bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(pieces: &[&[u8]]) -> String {
        let mut converter = BodyConverter::default();
        let mut body: Vec<u8> = pieces.iter().flat_map(|piece| converter.feed(piece).into_owned()).collect();
        body.extend(converter.finish());
        String::from_utf8(body).unwrap()
    }

    #[test]
    fn utf16_body_any_split_gives_same_text() {
        let text = "data: {\"a\":\"夜🌙é\"}\r\n\r\n";
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let marked = |mark: [u8; 2], body: &[u8]| [&mark, body].concat();
        for (body, expected) in [
            (text.as_bytes().to_vec(), text.to_owned()),
            (big.clone(), text.to_owned()),
            (little.clone(), text.to_owned()),
            (marked([0xfe, 0xff], &big), format!("\u{feff}{text}")),
            (marked([0xff, 0xfe], &little), format!("\u{feff}{text}")),
            (b"d".to_vec(), "d".to_owned()),
            (Vec::new(), String::new()),
        ] {
            for size in 1..8 {
                assert_eq!(convert(&body.chunks(size).collect::<Vec<_>>()), expected, "{size}");
            }
            assert_eq!(convert_whole(body), expected.as_bytes()[..], "whole");
        }
    }

    #[test]
    fn utf16_body_cut_character_is_replaced() {
        let little: Vec<u8> = "a🌙".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(convert(&[&little[..4]]), "a\u{fffd}");
        assert_eq!(convert(&[&little[..3]]), "a\u{fffd}");
    }
}
