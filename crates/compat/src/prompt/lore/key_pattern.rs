//! One key inside the automaton of a book, and where words begin and end.

/// Which pattern of the automaton stands for a key, and whether for all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPattern {
    /// The pattern.
    pub pattern: usize,
    /// It is the whole key.
    pub is_whole: bool,
}

/// Whether nothing around a place is what JavaScript takes for part of a word: ASCII letters, digits, `_`.
pub fn is_word(text: &str, start: usize, end: usize) -> bool {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let before = start.checked_sub(1).and_then(|before| text.as_bytes().get(before));
    !is_part(before) && !is_part(text.as_bytes().get(end))
}
