//! Plans edits as lists of effects, and checks whether an edit is allowed. The store loads the data a plan needs and
//! applies the effects inside one transaction.

use crate::ids::NodeId;
use crate::oplog::Effect;

use super::{Kind, Node, Role, Status};

/// The reason an edit of the tree is refused. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// The session or node does not exist, or the caller may not see it.
    #[error("{0} does not exist")]
    NotFound(&'static str),
    /// HEAD is not at the node the caller expected.
    #[error("HEAD has moved since your last read")]
    HeadMoved {
        /// The current HEAD.
        leaf: NodeId,
        /// The newest operation.
        op: i64,
    },
    /// Something named in the request body does not exist, or the caller may not see it.
    #[error("{what} does not exist")]
    ReferenceNotFound {
        /// The kind of thing.
        what: &'static str,
        /// The request field that names it, as on the wire.
        field: &'static str,
    },
    /// The target is the moved node itself or lies below it.
    #[error("a node cannot be moved below itself")]
    Cycle,
    /// One edit of a list is refused, so none was applied.
    #[error("edit {index}: {refusal}")]
    InEdit {
        /// Index in the list, from 0.
        index: usize,
        refusal: Box<TreeError>,
    },
    /// The request would write more than is allowed.
    #[error("{message}")]
    TooLarge {
        message: String,
        /// The maximum.
        most: usize,
    },
    /// The actor has no step to undo or redo.
    #[error("there is nothing to {0}")]
    NothingToRevert(&'static str),
    /// The actor's last step is a purge or lies before one.
    #[error("there is nothing to {0}, because something was deleted permanently")]
    NothingSincePurge(&'static str),
    /// A later operation depends on the step to undo.
    #[error("operation {op} ({kind}) came later and changed the same: {what}")]
    BlockedByLater {
        /// The blocking operation.
        op: i64,
        /// Its kind.
        kind: &'static str,
        /// Its conflicting effect.
        what: String,
    },
    /// Both branches changed the same paths, and the request does not resolve the conflict.
    #[error("both branches changed the same values: choose a side for each path in details.conflicts")]
    Diverged {
        /// `[{path, theirs, ours}]`, each with the operations of that side.
        conflicts: serde_json::Value,
    },
    /// A purge that the caller has not confirmed.
    #[error("this deletion is permanent")]
    ConfirmationRequired {
        /// Messages that would be deleted, including those that were undone.
        nodes: usize,
        /// Branches that end in these messages.
        branches: usize,
        /// Stash fragments that would be deleted.
        fragments: usize,
        /// Fragments that were pruned from these messages and would stay in the stash.
        kept: usize,
    },
    /// Another node already has the name and would lose it.
    #[error("another message already has the label \"{name}\"")]
    NameTaken {
        name: String,
        /// The node that has it.
        node: NodeId,
    },
    /// The node is still being generated.
    #[error("this message is still being generated")]
    Generating,
    /// The edit does not fit the node or the session.
    #[error("{0}")]
    Conflict(String),
    /// The node that an edit names is in the stash.
    #[error("this message is in the stash: restore its fragment first")]
    InStash,
    /// A merge would bring nothing new.
    #[error("this branch already contains all messages of the other one")]
    NothingToMerge,
    /// A field of the request is invalid.
    #[error("{message}")]
    Invalid {
        /// The field, as on the wire.
        field: &'static str,
        message: String,
    },
}

/// One edge of the path down to a new HEAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathEdge {
    /// The upper node.
    pub parent: NodeId,
    /// The child that `parent` remembered before.
    pub remembered: Option<NodeId>,
    /// The child on the path.
    pub child: NodeId,
}

/// Moves HEAD from `from` to `to`; `way` holds the edges from the last common ancestor down to `to`. Each fork on the
/// path remembers its child, so that coming back later leads to the leaf last visited (`domain.md` 2.8).
pub fn move_head(from: Option<NodeId>, to: NodeId, way: &[PathEdge]) -> Vec<Effect> {
    let head = (from != Some(to)).then_some(Effect::Head { from, to });
    let remembered = way.iter().filter(|edge| edge.remembered != Some(edge.child)).map(|edge| Effect::Remembered {
        node: edge.parent,
        from: edge.remembered,
        to: Some(edge.child),
    });
    head.into_iter().chain(remembered).collect()
}

/// Moves the children of `old` below its new version (`carry`, `domain.md` 2.7). The old version stays as a leaf.
pub fn move_children(old: &Node, new: NodeId, children: &[NodeId]) -> Vec<Effect> {
    let moved = children.iter().map(|&node| Effect::Moved { node, from: old.id, to: new });
    let remembered = old.remembered.into_iter().flat_map(|child| {
        [
            Effect::Remembered { node: old.id, from: Some(child), to: None },
            Effect::Remembered { node: new, from: None, to: Some(child) },
        ]
    });
    moved.chain(remembered).collect()
}

/// Checks that a node may be a parent.
///
/// # Errors
/// Returns an error if the node is a placeholder (`domain.md` 5.7).
pub fn check_parent(node: &Node) -> Result<(), TreeError> {
    if node.status == Status::Generating { Err(TreeError::Generating) } else { Ok(()) }
}

/// Checks that a node may be edited (`domain.md` 2.7).
///
/// # Errors
/// Returns an error if the node is the root, a change node or a placeholder, if `carry` and `generate` are both set,
/// or if `generate` is set for a reply.
pub fn check_editable(node: &Node, carry: bool, generate: bool) -> Result<(), TreeError> {
    if matches!(node.kind, Kind::Root | Kind::Change) {
        return Err(TreeError::Conflict(format!("a {} node has no text to edit", node.kind.as_str())));
    }
    if node.status == Status::Generating {
        return Err(TreeError::Generating);
    }
    if carry && generate {
        let message = "\"carry\" keeps the messages below, so no new reply can be generated".to_owned();
        return Err(TreeError::Invalid { field: "carry", message });
    }
    if generate && node.role == Role::Assistant {
        let message = "an edited reply is already a reply: nothing is generated below it".to_owned();
        return Err(TreeError::Invalid { field: "generate", message });
    }
    Ok(())
}

/// Returns the default of `generate` for an edit: true for a user's message without `carry`.
pub fn edit_requests_reply(node: &Node, carry: bool) -> bool {
    node.role == Role::User && !carry
}

/// The state of HEAD when a generation was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadRequest {
    /// Whether the request wants HEAD to follow the reply.
    pub move_head: bool,
    /// The operation that last moved HEAD, including the request's own move.
    pub head_op: i64,
    /// Whether HEAD was at the context node or at one of its generations.
    pub at_context: bool,
}

/// Returns whether a finished reply takes HEAD (`domain.md` 5.2). It does if the request wants that, HEAD was at the
/// context node or one of its generations, and HEAD has not moved since.
pub fn reply_takes_head(asked: &HeadRequest, head_op_now: i64) -> bool {
    asked.move_head && asked.at_context && asked.head_op == head_op_now
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node_id(n: u128) -> NodeId {
        NodeId::new(uuid::Uuid::from_u128(n))
    }

    /// C11: forks on the path remember the new child; a fork that already does so gets no effect.
    #[test]
    fn move_head_unchanged_fork_writes_no_effect() {
        let way = [
            PathEdge { parent: node_id(1), remembered: Some(node_id(2)), child: node_id(3) },
            PathEdge { parent: node_id(3), remembered: Some(node_id(4)), child: node_id(4) },
        ];
        let expected = vec![
            Effect::Head { from: Some(node_id(9)), to: node_id(4) },
            Effect::Remembered { node: node_id(1), from: Some(node_id(2)), to: Some(node_id(3)) },
        ];
        assert_eq!(move_head(Some(node_id(9)), node_id(4), &way), expected);
        assert_eq!(move_head(Some(node_id(4)), node_id(4), &way[1..]), vec![]);
    }

    /// C13: HEAD follows a reply only if nothing moved HEAD meanwhile.
    #[test]
    fn reply_takes_head_after_move_returns_false() {
        let asked = HeadRequest { move_head: true, head_op: 7, at_context: true };
        assert!(reply_takes_head(&asked, 7));
        assert!(!reply_takes_head(&asked, 8));
        assert!(!reply_takes_head(&HeadRequest { move_head: false, ..asked }, 7));
        assert!(!reply_takes_head(&HeadRequest { at_context: false, ..asked }, 7));
    }
}
