//! Edits of the arrangement, as people ask for them: a list of them is one request and one operation, made whole or not
//! at all (`docs/domain.md` 2.18).
//!
//! To add one: a variant, its act, its room in `store/arrange/`, its shape in `http/wire/arrange.rs`.

use crate::ids::{FragmentId, NodeId};
use crate::oplog::Act;

use super::edit::Refusal;

/// The longest name of a fragment or a label, in characters.
pub const LONGEST_NAME: usize = 100;

/// One edit of the arrangement.
#[derive(Debug, Clone, PartialEq)]
pub enum TreeEdit {
    /// A node leaves the tree with all below it.
    Prune {
        /// The node.
        node: NodeId,
        /// The fragment that it becomes.
        fragment: FragmentId,
        /// The fragment's name.
        name: Option<String>,
    },
    /// A piece hangs below another node from now on.
    Graft {
        /// What.
        piece: Piece,
        /// Below which node; `None` = where it was.
        target: Option<NodeId>,
    },
    /// A fragment gets another name.
    Rename {
        /// The fragment.
        fragment: FragmentId,
        /// The name; `None` takes it away.
        name: Option<String>,
    },
    /// A node gets a name.
    Label {
        /// The node.
        node: NodeId,
        /// The name, unique in the session.
        name: String,
        /// Whether it moves with what is appended there.
        following: bool,
    },
    /// A name is given up.
    Unlabel {
        /// The name.
        name: String,
    },
}

/// What an edit takes hold of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// A node in the tree with all below it.
    Node(NodeId),
    /// A fragment of the stash.
    Fragment(FragmentId),
}

impl TreeEdit {
    /// What kind of act it is.
    pub const fn act(&self) -> Act {
        match self {
            Self::Prune { .. } => Act::Prune,
            Self::Graft { .. } => Act::Graft,
            Self::Rename { .. } => Act::Rename,
            Self::Label { .. } | Self::Unlabel { .. } => Act::Label,
        }
    }

    /// Whether it can change what the world at some node is.
    pub const fn touches_worlds(&self) -> bool {
        matches!(self, Self::Prune { .. } | Self::Graft { .. })
    }
}

/// What kind of act a list of edits is.
pub fn act_of(edits: &[TreeEdit]) -> Act {
    match edits.split_first() {
        Some((first, others)) if others.iter().all(|other| other.act() == first.act()) => first.act(),
        _ => Act::Arrange,
    }
}

/// A name as it is kept: without white space around it. Names are for people, so they fit one line.
///
/// # Errors
/// Nothing is left, or it is too long, or holds characters that no line shows.
pub fn name(field: &'static str, name: &str) -> Result<String, Refusal> {
    let name = name.trim();
    let fits = (1..=LONGEST_NAME).contains(&name.chars().count()) && !name.chars().any(char::is_control);
    if fits {
        return Ok(name.to_owned());
    }
    let message = format!("a name of 1 to {LONGEST_NAME} characters in one line is expected");
    Err(Refusal::Invalid { field, message })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_one_line() {
        assert_eq!(name("name", " 最好的結局 "), Ok("最好的結局".to_owned()));
        for bad in ["", "  ", "a\nb", &"x".repeat(101), "a\0"] {
            assert!(name("name", bad).is_err(), "{bad:?}");
        }
    }
}
