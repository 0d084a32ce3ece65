//! Problems: what the fold clamped, rounded or skipped.

use super::Pointer;

/// One deviation of the fold from an operation. It never costs the text of the reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    pub kind: ProblemKind,
    /// The index of the operation in its delta.
    pub operation: usize,
    /// The path in the section. It lies below the operation's path if only a part of the value is concerned.
    pub path: Pointer,
    /// One sentence for people, without a final period: "hp: -5 is below 0, kept at 0".
    pub message: String,
}

/// The kind of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemKind {
    /// A note: a number was clamped to its range.
    Clamped,
    /// A note: a fraction was rounded, because an integer is required.
    Rounded,
    /// There was nothing to remove or take.
    NothingThere,
    /// The operation breaks the schema or does not fit the value there; it was skipped.
    Refused,
}
