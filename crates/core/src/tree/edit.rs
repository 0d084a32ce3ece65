//! What an act means: plans of effects, and the rules that refuse one. The store loads what a plan needs and carries it
//! out inside one transaction.

use crate::ids::NodeId;
use crate::oplog::Effect;

use super::{Kind, Node, Role, Status};

/// Why an act on the tree is refused. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// The session or node does not exist, or not for this caller.
    #[error("{0} does not exist")]
    NotFound(&'static str),
    /// HEAD is not where the caller saw it.
    #[error("HEAD has moved since you looked")]
    HeadMoved {
        /// Where it stands.
        leaf: NodeId,
        /// The operation that is the newest.
        op: i64,
    },
    /// What a request names in its body does not exist, or not for this caller.
    #[error("{what} does not exist")]
    ReferenceNotFound {
        /// What it is.
        what: &'static str,
        /// The field that names it, as on the wire.
        field: &'static str,
    },
    /// The target lies at or below what is to hang there.
    #[error("nothing can hang below itself")]
    Cycle,
    /// One of several edits is refused, and so none was made.
    #[error("edit {index}: {refusal}")]
    InEdit {
        /// Which, counted from 0.
        index: usize,
        /// Why.
        refusal: Box<TreeError>,
    },
    /// It would write more than one request may.
    #[error("{message}")]
    TooLarge {
        /// One sentence.
        message: String,
        /// How much it may be.
        most: usize,
    },
    /// The actor has no step that could be taken back, or brought back.
    #[error("there is nothing to {0}")]
    NothingToRevert(&'static str),
    /// What the actor did last is something that was destroyed for good, or came before that.
    #[error("there is nothing to {0} since something was destroyed for good")]
    NothingSincePurge(&'static str),
    /// Somebody did something later that stands on what is to be taken back.
    #[error("operation {op} ({kind}) came later and touched the same: {what}")]
    BlockedByLater {
        /// The operation in the way.
        op: i64,
        /// What kind of act it was.
        kind: &'static str,
        /// What about it.
        what: String,
    },
    /// Two lines did different things to the same places, and nobody said which of them holds.
    #[error("both lines changed the same: say for each path in details.conflicts which of them holds")]
    Diverged {
        /// The places: `[{path, theirs, ours}]`, each with what was done there.
        conflicts: serde_json::Value,
    },
    /// What would be destroyed, and nobody said that it is meant.
    #[error("nothing would bring that back")]
    ConfirmationRequired {
        /// The messages that would go, those that were taken back included.
        nodes: usize,
        /// The lines that end in them.
        branches: usize,
        /// The fragments of the stash that would go.
        fragments: usize,
        /// The fragments that were cut out of them and would stay in the stash.
        kept: usize,
    },
    /// Another node has the name already, and would lose it.
    #[error("another message is named \"{name}\" already")]
    NameTaken {
        /// The name.
        name: String,
        /// Who has it.
        node: NodeId,
    },
    /// The node is still being generated.
    #[error("that message is still being generated")]
    Generating,
    /// The act does not fit the node or the session.
    #[error("{0}")]
    Conflict(String),
    /// A field of the request does not fit.
    #[error("{message}")]
    Invalid {
        /// The field, as on the wire.
        field: &'static str,
        /// One sentence.
        message: String,
    },
}

/// One edge of the way down to a new HEAD, with what its upper node remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathEdge {
    /// The upper node.
    pub parent: NodeId,
    /// The child it remembered before.
    pub remembered: Option<NodeId>,
    /// The child on the way.
    pub child: NodeId,
}

/// HEAD moves from `from` to `to`; `way` are the edges from the last common ancestor down to `to`. Each fork on the way
/// remembers where HEAD went, so that coming back later lands on the leaf last visited (`domain.md` 2.8).
pub fn move_head(from: Option<NodeId>, to: NodeId, way: &[PathEdge]) -> Vec<Effect> {
    let head = (from != Some(to)).then_some(Effect::Head { from, to });
    let remembered = way.iter().filter(|edge| edge.remembered != Some(edge.child)).map(|edge| Effect::Remembered {
        node: edge.parent,
        from: edge.remembered,
        to: Some(edge.child),
    });
    head.into_iter().chain(remembered).collect()
}

/// The children of `old` move below its new version (`carry`, `domain.md` 2.7); the old one stays as a leaf.
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

/// Whether a node may be a parent.
///
/// # Errors
/// A placeholder may not (`domain.md` 5.7).
pub fn check_parent(node: &Node) -> Result<(), TreeError> {
    if node.status == Status::Generating { Err(TreeError::Generating) } else { Ok(()) }
}

/// Whether a node may be edited (`domain.md` 2.7).
///
/// # Errors
/// The root and change nodes have no text of their own; a generating one is not there yet; `carry` and a new reply
/// exclude each other.
pub fn check_editable(node: &Node, carry: bool, generate: bool) -> Result<(), TreeError> {
    if matches!(node.kind, Kind::Root | Kind::Change) {
        return Err(TreeError::Conflict(format!("a {} node has no text to edit", node.kind.word())));
    }
    if node.status == Status::Generating {
        return Err(TreeError::Generating);
    }
    if carry && generate {
        let message = "\"carry\" keeps what follows, so no new reply can be generated".to_owned();
        return Err(TreeError::Invalid { field: "carry", message });
    }
    if generate && node.role == Role::Assistant {
        let message = "an edited reply is a reply already: nothing is generated below it".to_owned();
        return Err(TreeError::Invalid { field: "generate", message });
    }
    Ok(())
}

/// Whether an edit asks for a reply when the request does not say: a user's text without `carry` does.
pub fn edit_requests_reply(node: &Node, carry: bool) -> bool {
    node.role == Role::User && !carry
}

/// What a generation remembers of the moment it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadRequest {
    /// Whether the request wanted HEAD to follow the reply.
    pub move_head: bool,
    /// The operation at which HEAD had last moved, the request's own move included.
    pub head_op: i64,
    /// Whether HEAD stood at the context node or at one of its generations.
    pub at_context: bool,
}

/// Whether a finished reply takes HEAD (`domain.md` 5.2): asked for, HEAD on the context node or one of its generations
/// then and now, and no move in between.
pub fn reply_takes_head(asked: &HeadRequest, head_op_now: i64) -> bool {
    asked.move_head && asked.at_context && asked.head_op == head_op_now
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u128) -> NodeId {
        NodeId::new(uuid::Uuid::from_u128(n))
    }

    /// C11: forks on the way remember where HEAD went, others are not touched.
    #[test]
    fn move_head_unchanged_fork_writes_no_effect() {
        let way = [
            PathEdge { parent: id(1), remembered: Some(id(2)), child: id(3) },
            PathEdge { parent: id(3), remembered: Some(id(4)), child: id(4) },
        ];
        let expected = vec![
            Effect::Head { from: Some(id(9)), to: id(4) },
            Effect::Remembered { node: id(1), from: Some(id(2)), to: Some(id(3)) },
        ];
        assert_eq!(move_head(Some(id(9)), id(4), &way), expected);
        assert_eq!(move_head(Some(id(4)), id(4), &way[1..]), vec![]);
    }

    /// C13: HEAD follows a reply only if nothing moved it in between.
    #[test]
    fn reply_takes_head_after_move_returns_false() {
        let asked = HeadRequest { move_head: true, head_op: 7, at_context: true };
        assert!(reply_takes_head(&asked, 7));
        assert!(!reply_takes_head(&asked, 8));
        assert!(!reply_takes_head(&HeadRequest { move_head: false, ..asked }, 7));
        assert!(!reply_takes_head(&HeadRequest { at_context: false, ..asked }, 7));
    }
}
