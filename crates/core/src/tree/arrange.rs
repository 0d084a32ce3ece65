//! Edits of the arrangement. A list of them is one request and one operation, applied completely or not at all
//! (`docs/domain.md` 2.18).
//!
//! To add one: a variant, its operation kind, its module in `store/arrange/`, and its wire form in
//! `http/wire/tree_edits.rs`.

use std::collections::BTreeMap;

use icu_normalizer::ComposingNormalizerBorrowed;

use crate::ids::{FragmentId, NodeId, SessionId};
use crate::oplog::{Effect, OperationKind};

use super::edit::TreeError;
use super::merge::ConflictResolution;

/// The maximum length of a fragment's or label's name, in characters.
pub const MAX_NAME_CHARS: usize = 100;

/// One edit of the arrangement.
#[derive(Debug, Clone, PartialEq)]
pub enum TreeEdit {
    /// Takes a node with everything below it out of the tree, into the stash.
    Prune {
        node: NodeId,
        /// The id of the new fragment.
        fragment: FragmentId,
        name: Option<String>,
    },
    /// Moves a part below another node.
    Graft {
        source: EditTarget,
        /// The new parent; `None`: the former parent.
        target: Option<NodeId>,
    },
    /// Copies a part below a node, possibly from another session.
    Copy {
        source: EditTarget,
        /// The new parent.
        target: NodeId,
        /// The source session; `None`: the edited session.
        from: Option<SessionId>,
        /// The fragment that the original becomes in its session. Set for a move between sessions, which is a copy
        /// and a prune.
        source_fragment: Option<FragmentId>,
        /// Seed for the ids and dice of the copies.
        seed: u64,
    },
    /// Adds a summary that replaces a run of messages.
    Summarise {
        /// The messages; they follow each other on one branch.
        nodes: Vec<NodeId>,
        /// The text of the summary.
        content: String,
        /// Seed for the ids and dice of the new nodes.
        seed: u64,
    },
    /// Applies the operations of another branch since the two diverged.
    Merge {
        /// The leaf of the other branch.
        from: NodeId,
        /// The leaf of the branch that continues.
        onto: NodeId,
        /// Messages to copy along, which follow each other on the other branch; empty: only the operations are
        /// merged.
        nodes: Vec<NodeId>,
        /// Resolutions by conflict path.
        resolve: BTreeMap<String, ConflictResolution>,
        /// Seed for the ids and dice of the new nodes.
        seed: u64,
    },
    /// Deletes a part with everything below it. The only edit that undo cannot take back.
    Purge {
        source: EditTarget,
        /// Whether the caller confirmed the deletion.
        is_confirmed: bool,
    },
    /// Renames a fragment.
    Rename {
        fragment: FragmentId,
        /// The new name; `None` removes it.
        name: Option<String>,
    },
    /// Sets a label on a node.
    Label {
        node: NodeId,
        /// Unique in the session.
        name: String,
        /// Whether the label moves to appended nodes.
        following: bool,
    },
    /// Removes a label.
    Unlabel { name: String },
}

/// The target of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditTarget {
    /// A node in the tree with everything below it.
    Node(NodeId),
    /// A fragment of the stash.
    Fragment(FragmentId),
}

impl TreeEdit {
    /// Returns the kind of operation that this edit is.
    pub const fn operation_kind(&self) -> OperationKind {
        match self {
            Self::Prune { .. } => OperationKind::Prune,
            Self::Graft { .. } | Self::Copy { .. } => OperationKind::Graft,
            Self::Summarise { .. } => OperationKind::Summarise,
            Self::Merge { .. } => OperationKind::Merge,
            Self::Purge { .. } => OperationKind::Purge,
            Self::Rename { .. } => OperationKind::Rename,
            Self::Label { .. } | Self::Unlabel { .. } => OperationKind::Label,
        }
    }

    /// Returns whether it changes the tree or the stash; renaming and labels do not.
    pub const fn is_structural(&self) -> bool {
        !matches!(self, Self::Rename { .. } | Self::Label { .. } | Self::Unlabel { .. })
    }

    /// Returns whether it can change the world at some node.
    pub const fn affects_world(&self) -> bool {
        matches!(self, Self::Prune { .. } | Self::Graft { .. } | Self::Merge { .. } | Self::Purge { .. })
    }
}

/// Returns the kind of a list of edits. It is a purge if any edit is, because a purge cannot be undone.
pub fn combined_operation_kind(edits: &[TreeEdit]) -> OperationKind {
    match edits.split_first() {
        _ if edits.iter().any(|edit| edit.operation_kind() == OperationKind::Purge) => OperationKind::Purge,
        Some((first, others)) if others.iter().all(|other| other.operation_kind() == first.operation_kind()) => {
            first.operation_kind()
        }
        _ => OperationKind::Arrange,
    }
}

/// The place of a new summary.
#[derive(Debug, Clone)]
pub struct SummaryPlacement {
    pub node: NodeId,
    /// The enabled messages of its run.
    pub enabled: Vec<NodeId>,
    /// The last message of the run.
    pub last: NodeId,
    /// The children of `last`.
    pub children: Vec<NodeId>,
    /// The remembered child of `last`.
    pub remembered: Option<NodeId>,
}

/// Plans a summary that replaces a run (`docs/domain.md` 2.12). The children of the run move below the summary, the
/// remembered path and a HEAD at the last message move to it, and the texts of the run are disabled.
pub fn summary_effects(summary: SummaryPlacement, head: NodeId) -> Vec<Effect> {
    let SummaryPlacement { node, enabled, last, children, remembered } = summary;
    let mut effects = vec![Effect::Added { node, parent: Some(last) }];
    effects.extend(children.into_iter().map(|child| Effect::Moved { node: child, from: last, to: node }));
    effects.push(Effect::Remembered { node: last, from: remembered, to: Some(node) });
    effects.extend(remembered.map(|child| Effect::Remembered { node, from: None, to: Some(child) }));
    if head == last {
        effects.push(Effect::Head { from: Some(last), to: node });
    }
    effects.extend(enabled.into_iter().map(|node| Effect::Enabled { node, to: false }));
    effects
}

/// Trims a name and normalizes it to Unicode NFC. Names are compared in this form, so that names that look equal are
/// equal, whatever keyboard or file system produced them.
pub fn normalize_name(name: &str) -> String {
    ComposingNormalizerBorrowed::new_nfc().normalize(name.trim()).into_owned()
}

/// Validates a name and returns it normalized (see [`normalize_name`]). Names are for people, so they fit on one
/// line.
///
/// # Errors
/// Returns an error if the name is empty, too long, or contains control or invisible characters.
pub fn validate_name(field: &'static str, name: &str) -> Result<String, TreeError> {
    let name = normalize_name(name);
    let length = name.chars().count();
    let fits = (1..=MAX_NAME_CHARS).contains(&length) && !name.chars().any(|c| c.is_control() || is_invisible(c));
    if fits {
        return Ok(name);
    }
    let message = format!("expected a name of 1 to {MAX_NAME_CHARS} characters on one line");
    Err(TreeError::Invalid { field, message })
}

/// Invisible and bidirectional control characters, which would make two names look alike.
const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrange_multiline_name_returns_error() {
        assert_eq!(validate_name("name", " 最好的結局 "), Ok("最好的結局".to_owned()));
        assert_eq!(
            validate_name("name", "Cafe\u{301}"),
            Ok("Caf\u{e9}".to_owned()),
            "one name, however it is put together"
        );
        for bad in ["", "  ", "a\nb", &"x".repeat(101), "a\0", "\u{200b}", "a\u{202e}b"] {
            assert!(validate_name("name", bad).is_err(), "{bad:?}");
        }
    }
}
