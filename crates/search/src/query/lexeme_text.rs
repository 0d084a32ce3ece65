//! A value in a query, as it was typed.

/// A value behind a colon, or a word or phrase.
#[derive(Debug, Clone, Copy)]
pub(super) struct LexemeText<'a> {
    pub text: &'a str,
    /// The position in UTF-16 code units.
    pub at: usize,
    pub is_quoted: bool,
    /// Whether a star follows the closing quotation mark.
    pub is_prefix: bool,
    /// Whether it was cut by the length limit.
    pub is_truncated: bool,
}
