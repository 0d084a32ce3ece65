//! How large a text is.

/// An honest estimate of the tokens of a text: four bytes of Latin script, one character of any other, and a few for the
/// frame of a message. Marked as an estimate wherever it is shown.
pub fn tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let other = text.chars().filter(|c| !c.is_ascii()).count();
    ascii.div_ceil(4) + other + 4
}
