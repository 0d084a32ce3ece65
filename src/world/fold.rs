//! The fold: the only function that changes a world.

use super::{Operation, Pointer, Rules, World};

/// What the fold had to bend or leave out. The prose of the reply is never lost by it.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// What kind.
    pub kind: ProblemKind,
    /// The position of the operation in its delta.
    pub operation: usize,
    /// Where in the section.
    pub path: Pointer,
    /// One sentence for people.
    pub message: String,
}

/// Kinds of what the fold had to bend or leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemKind {
    /// A note: a number was brought into its range.
    Clamped,
    /// A note: a fraction was rounded for an integer.
    Rounded,
    /// A note: there was nothing to remove or take.
    NothingThere,
    /// The operation breaks the schema or does not fit the value there; it was skipped.
    Refused,
}

/// Applies operations in order under the rules in force.
pub fn fold(world: &mut World, operations: &[Operation], rules: &Rules) -> Vec<Problem> {
    let _ = (world, operations, rules);
    Vec::new()
}
