//! Edits of the arrangement, as people ask for them: a list of them is one request and one operation, made whole or not
//! at all (`docs/domain.md` 2.18).
//!
//! To add one: a variant, its act, its room in `store/arrange/`, its shape in `http/wire/tree_edits.rs`.

use std::collections::BTreeMap;

use icu_normalizer::ComposingNormalizerBorrowed;

use crate::ids::{FragmentId, NodeId, SessionId};
use crate::oplog::{Effect, OperationKind};

use super::edit::TreeError;
use super::merge::ConflictResolution;

/// The longest name of a fragment or a label, in characters.
pub const MAX_NAME_CHARS: usize = 100;

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
        piece: EditTarget,
        /// Below which node; `None` = where it was.
        target: Option<NodeId>,
    },
    /// A piece is copied below a node, perhaps from another session.
    Copy {
        /// What.
        piece: EditTarget,
        /// Below which node.
        target: NodeId,
        /// The session that the piece is of; `None` = the one that is edited.
        from: Option<SessionId>,
        /// The fragment that the original becomes there: a move between sessions is a copy and a cut.
        source_fragment: Option<FragmentId>,
        /// From this the ids and the dice of what comes are drawn.
        seed: u64,
    },
    /// A run of messages gets a summary, which stands for them from now on.
    Summarise {
        /// The messages; they follow each other on one line.
        nodes: Vec<NodeId>,
        /// The text of the summary.
        content: String,
        /// From this the ids and the dice of what comes are drawn.
        seed: u64,
    },
    /// What happened on another line since the two parted is brought over.
    Merge {
        /// The end of the other line.
        from: NodeId,
        /// The end of the line that goes on.
        onto: NodeId,
        /// The messages to bring along, which follow each other on the other line; none = only what happened there.
        nodes: Vec<NodeId>,
        /// What becomes of the conflicts, by path.
        resolve: BTreeMap<String, ConflictResolution>,
        /// From this the ids and the dice of what comes are drawn.
        seed: u64,
    },
    /// A piece is destroyed, with all that hangs below it: the one edit that nothing takes back.
    Purge {
        /// What.
        piece: EditTarget,
        /// Whether that is really meant.
        is_confirmed: bool,
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
pub enum EditTarget {
    /// A node in the tree with all below it.
    Node(NodeId),
    /// A fragment of the stash.
    Fragment(FragmentId),
}

impl TreeEdit {
    /// What kind of act it is.
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

    /// Whether it rearranges the tree or the stash; names do not.
    pub const fn is_structural(&self) -> bool {
        !matches!(self, Self::Rename { .. } | Self::Label { .. } | Self::Unlabel { .. })
    }

    /// Whether it can change what the world at some node is.
    pub const fn affects_world(&self) -> bool {
        matches!(self, Self::Prune { .. } | Self::Graft { .. } | Self::Merge { .. } | Self::Purge { .. })
    }
}

/// What kind of act a list of edits is. Nothing takes one back that destroys, whatever else it does.
pub fn combined_operation_kind(edits: &[TreeEdit]) -> OperationKind {
    match edits.split_first() {
        _ if edits.iter().any(|edit| edit.operation_kind() == OperationKind::Purge) => OperationKind::Purge,
        Some((first, others)) if others.iter().all(|other| other.operation_kind() == first.operation_kind()) => {
            first.operation_kind()
        }
        _ => OperationKind::Arrange,
    }
}

/// Where a summary comes to stand.
#[derive(Debug, Clone)]
pub struct SummaryPlacement {
    /// The summary.
    pub node: NodeId,
    /// The messages of its run that are enabled.
    pub enabled: Vec<NodeId>,
    /// The last message of the run.
    pub last: NodeId,
    /// What hangs below that.
    pub children: Vec<NodeId>,
    /// Which of those was visited last.
    pub remembered: Option<NodeId>,
}

/// What it means that a summary stands for a run: all that followed the run follows the summary, the line last visited goes
/// through it, a HEAD on the last message goes to it, and the texts of the run are left out (`docs/domain.md` 2.12).
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

/// A name without white space around it, in the one way of writing (Unicode NFC) in which names are compared: what looks the
/// same is the same, however a keyboard or a file system puts it together.
pub fn normalize_name(name: &str) -> String {
    ComposingNormalizerBorrowed::new_nfc().normalize(name.trim()).into_owned()
}

/// A name as it is kept: as it is [`normalize_name`]. Names are for people, so they fit one line.
///
/// # Errors
/// Nothing is left, or it is too long, or holds characters that no line shows.
pub fn name(field: &'static str, name: &str) -> Result<String, TreeError> {
    let name = normalize_name(name);
    let length = name.chars().count();
    let fits = (1..=MAX_NAME_CHARS).contains(&length) && !name.chars().any(|c| c.is_control() || is_invisible(c));
    if fits {
        return Ok(name);
    }
    let message = format!("a name of 1 to {MAX_NAME_CHARS} characters in one line is expected");
    Err(TreeError::Invalid { field, message })
}

/// Characters that leave no trace or turn the line around: two names would look alike.
const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrange_multiline_name_returns_error() {
        assert_eq!(name("name", " 最好的結局 "), Ok("最好的結局".to_owned()));
        assert_eq!(name("name", "Cafe\u{301}"), Ok("Caf\u{e9}".to_owned()), "one name, however it is put together");
        for bad in ["", "  ", "a\nb", &"x".repeat(101), "a\0", "\u{200b}", "a\u{202e}b"] {
            assert!(name("name", bad).is_err(), "{bad:?}");
        }
    }
}
