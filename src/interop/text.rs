//! Bytes of strangers as text. Most write UTF-8; some editors put a mark in front of it or write UTF-16.

use std::borrow::Cow;

/// Bytes that are no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoText {
    /// Neither UTF-8 nor marked as UTF-16.
    #[error("not UTF-8 at byte {0}")]
    NotUtf8(usize),
    /// Marked as UTF-16, and is not.
    #[error("it says that it is UTF-16, and is not")]
    NotUtf16,
}

/// The text of a file, without the mark that it may begin with.
///
/// # Errors
/// It is neither UTF-8 nor marked UTF-16.
pub fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, NoText> {
    if let Some(rest) = bytes.strip_prefix(b"\xff\xfe") {
        return utf16(rest, u16::from_le_bytes).map(Cow::Owned);
    }
    if let Some(rest) = bytes.strip_prefix(b"\xfe\xff") {
        return utf16(rest, u16::from_be_bytes).map(Cow::Owned);
    }
    let mark = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let rest = bytes.get(mark..).unwrap_or_default();
    std::str::from_utf8(rest).map(Cow::Borrowed).map_err(|error| NoText::NotUtf8(mark + error.valid_up_to()))
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, NoText> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let text: Result<String, _> = char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).collect();
    text.ok().filter(|_| rest.is_empty()).ok_or(NoText::NotUtf16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_and_go() {
        let check = |bytes: &[u8], expected: Result<&str, NoText>| {
            assert_eq!(decode(bytes).as_deref(), expected.as_ref().copied(), "{bytes:?}");
        };
        check("狐".as_bytes(), Ok("狐"));
        check(b"\xef\xbb\xbf{}", Ok("{}"));
        check(b"\xff\xfe{\0}\0", Ok("{}"));
        check(b"\xfe\xff\x72\xd0", Ok("狐"));
        check(b"ab\xff", Err(NoText::NotUtf8(2)));
        check(b"\xef\xbb\xbfa\xff", Err(NoText::NotUtf8(4)));
        check(b"\xff\xfe{", Err(NoText::NotUtf16));
        check(b"\xff\xfe\x00\xd8", Err(NoText::NotUtf16));
    }
}
