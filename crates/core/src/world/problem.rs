//! What comes of operations that do not fit as they are.

use super::Pointer;

/// What the fold had to bend or leave out. The prose of the reply is never lost by it.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// What kind.
    pub kind: ProblemKind,
    /// The position of the operation in its delta.
    pub operation: usize,
    /// Where in the section; below the path of the operation where only a part of its value is meant.
    pub path: Pointer,
    /// One sentence for people, without a final period: "hp: -5 is below 0, kept at 0".
    pub message: String,
}

/// Kinds of what the fold had to bend or leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemKind {
    /// A note: a number was brought into its range.
    Clamped,
    /// A note: a fraction was rounded for an integer.
    Rounded,
    /// There was nothing to remove or take.
    NothingThere,
    /// The operation breaks the schema or does not fit the value there; it was skipped.
    Refused,
}
