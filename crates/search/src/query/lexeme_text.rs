//! A value in a query, as it was typed.

/// What stands behind a colon, or by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct LexemeText<'a> {
    pub text: &'a str,
    /// Where it stands.
    pub at: usize,
    pub is_quoted: bool,
    /// Whether a star follows the quotation mark.
    pub is_prefix: bool,
    /// Whether it goes on behind the end of what is read.
    pub is_truncated: bool,
}
