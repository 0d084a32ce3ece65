//! One key inside the automaton of a book, and where words begin and end.

/// The automaton pattern of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPattern {
    /// Index of the pattern.
    pub pattern: usize,
    /// Whether the pattern is the whole key.
    pub is_whole: bool,
}

/// Returns whether the range is not next to a JavaScript word character: ASCII letters, digits, `_`.
pub fn is_word(text: &str, start: usize, end: usize) -> bool {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let before = start.checked_sub(1).and_then(|before| text.as_bytes().get(before));
    !is_part(before) && !is_part(text.as_bytes().get(end))
}
