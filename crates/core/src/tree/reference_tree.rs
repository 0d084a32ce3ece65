//! The tree rebuilt from the operation log alone. It proves that the log is complete, and property tests compare the
//! store with it.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::ids::{FragmentId, NodeId};
use crate::oplog::{Effect, FragmentInfo, LabelTarget, Operation};

/// The arrangement of a session according to its log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReferenceTree {
    nodes: BTreeMap<NodeId, ReferenceNode>,
    /// Pairs of parent and child, including hidden nodes.
    children: BTreeSet<(NodeId, NodeId)>,
    fragments: BTreeMap<FragmentId, (NodeId, FragmentInfo)>,
    labels: BTreeMap<String, LabelTarget>,
    head: Option<NodeId>,
    op: i64,
}

/// The arrangement of one node.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReferenceNode {
    /// `None` for the root.
    pub parent: Option<NodeId>,
    /// The child last visited.
    pub remembered: Option<NodeId>,
    /// Not in the tree: pruned or undone.
    pub is_hidden: bool,
    /// The fragment that contains the node; a hidden node without one was undone.
    pub fragment: Option<FragmentId>,
    /// The text is left out.
    pub is_disabled: bool,
    /// The delta is left out.
    pub is_muted: bool,
    pub is_unread: bool,
    /// 1 to 5 stars.
    pub rating: Option<u8>,
    /// The revision of its delta, if the log names one. The log records later revisions, but not the one a reply
    /// ended with.
    pub revision: Option<i32>,
}

impl ReferenceTree {
    /// Replays a whole log.
    ///
    /// # Errors
    /// Returns a message that names the first operation that does not fit: a gap, an unknown node, a second root.
    pub fn replay<'a>(log: impl IntoIterator<Item = &'a Operation>) -> Result<Self, String> {
        let mut mirror = Self::default();
        log.into_iter().try_for_each(|operation| mirror.apply(operation))?;
        Ok(mirror)
    }

    /// Applies one operation.
    ///
    /// # Errors
    /// As [`ReferenceTree::replay`].
    pub fn apply(&mut self, operation: &Operation) -> Result<(), String> {
        if operation.op != self.op + 1 {
            return Err(format!("operation {} follows {}", operation.op, self.op));
        }
        self.op = operation.op;
        operation
            .effects
            .iter()
            .try_for_each(|effect| self.apply_effect(effect))
            .and_then(|()| self.check_head())
            .map_err(|message| format!("operation {}: {message}", operation.op))
    }

    fn apply_effect(&mut self, effect: &Effect) -> Result<(), String> {
        match effect {
            Effect::Added { node, parent } => self.add(*node, *parent)?,
            Effect::Completed { node } => _ = self.node_mut(*node)?,
            Effect::Shown { node, to } => self.node_mut(*node)?.is_hidden = !to,
            Effect::Moved { node, from, to } => {
                self.node_mut(*to)?;
                let place = self.node_mut(*node)?;
                if place.parent != Some(*from) {
                    return Err(format!("{node} was not below {from}"));
                }
                place.parent = Some(*to);
                self.children.remove(&(*from, *node));
                self.children.insert((*to, *node));
            }
            Effect::Detached { node, fragment } => self.detach(*node, fragment)?,
            Effect::Attached { node, fragment } => self.attach(*node, fragment)?,
            Effect::Purged { node, parent, below } => self.purge(*node, *parent, below)?,
            Effect::Renamed { fragment, to, .. } => {
                let known =
                    self.fragments.get_mut(fragment).ok_or_else(|| format!("{fragment} is not in the stash"))?;
                known.1.name.clone_from(to);
            }
            Effect::Labelled { name, from, to } => self.label(name, *from, *to)?,
            Effect::Head { from, to } => {
                self.node_mut(*to)?;
                if self.head != *from {
                    return Err(format!("HEAD was expected {}", describe_position(*from)));
                }
                self.head = Some(*to);
            }
            Effect::Remembered { node, to, .. } => self.node_mut(*node)?.remembered = *to,
            Effect::Enabled { node, to } => self.node_mut(*node)?.is_disabled = !to,
            Effect::Muted { node, to } => self.node_mut(*node)?.is_muted = *to,
            Effect::Revised { node, from, to } => {
                let place = self.node_mut(*node)?;
                // The log does not record the revision a reply ended with, so the first `from` is accepted.
                if place.revision.is_some_and(|revision| revision != *from) {
                    return Err(format!("revision {from} of {node} was not in force"));
                }
                place.revision = Some(*to);
            }
            Effect::Unread { node, to } => self.node_mut(*node)?.is_unread = *to,
            Effect::Rated { node, to, .. } => self.node_mut(*node)?.rating = *to,
            Effect::Setting { .. } => {}
        }
        Ok(())
    }

    fn add(&mut self, node: NodeId, parent: Option<NodeId>) -> Result<(), String> {
        match parent {
            Some(parent) => _ = self.node_mut(parent)?,
            None if self.nodes.is_empty() => {}
            None => return Err(format!("{node} would be a second root")),
        }
        if let Some(parent) = parent {
            self.children.insert((parent, node));
        }
        match self.nodes.insert(node, ReferenceNode { parent, ..ReferenceNode::default() }) {
            None => Ok(()),
            Some(_) => Err(format!("{node} appears twice")),
        }
    }

    fn detach(&mut self, node: NodeId, cut: &FragmentInfo) -> Result<(), String> {
        let place = self.node_mut(node)?;
        if place.is_hidden || place.parent.is_none() {
            return Err(format!("{node} cannot leave the tree"));
        }
        let (mut next, mut at) = (vec![node], 0);
        while let Some(node) = next.get(at).copied() {
            at += 1;
            let place = self.node_mut(node)?;
            if !place.is_hidden {
                (place.is_hidden, place.fragment) = (true, Some(cut.fragment));
                next.extend(self.children(node));
            }
        }
        match self.fragments.insert(cut.fragment, (node, cut.clone())) {
            None => Ok(()),
            Some(_) => Err(format!("{} appears twice", cut.fragment)),
        }
    }

    fn attach(&mut self, node: NodeId, cut: &FragmentInfo) -> Result<(), String> {
        let parent = self.node_mut(node)?.parent;
        let is_below_tree = parent.is_some_and(|parent| self.node_mut(parent).is_ok_and(|place| !place.is_hidden));
        if !is_below_tree || self.fragments.remove(&cut.fragment) != Some((node, cut.clone())) {
            return Err(format!("{node} cannot rejoin the tree as {}", cut.fragment));
        }
        for place in self.nodes.values_mut().filter(|place| place.fragment == Some(cut.fragment)) {
            (place.is_hidden, place.fragment) = (false, None);
        }
        Ok(())
    }

    /// Removes a node with everything below it. HEAD, labels and the parent may not refer to removed nodes.
    fn purge(&mut self, node: NodeId, parent: NodeId, below: &[NodeId]) -> Result<(), String> {
        if self.node_mut(node)?.parent != Some(parent) {
            return Err(format!("{node} was not below {parent}"));
        }
        let (mut gone, mut next) = (BTreeSet::new(), vec![node]);
        while let Some(node) = next.pop() {
            gone.insert(node);
            next.extend(self.children(node));
        }
        if gone != below.iter().copied().chain([node]).collect() {
            return Err(format!("the effect does not list all nodes below {node}"));
        }
        let is_named = self.head.is_some_and(|head| gone.contains(&head))
            || self.labels.values().any(|mark| gone.contains(&mark.node))
            || self.node_mut(parent)?.remembered == Some(node);
        if is_named {
            return Err(format!("HEAD, a label or {parent} still names a node below {node}"));
        }
        for id in &gone {
            if let Some(parent) = self.nodes.remove(id).and_then(|place| place.parent) {
                self.children.remove(&(parent, *id));
            }
        }
        self.fragments.retain(|_, (top, _)| !gone.contains(top));
        Ok(())
    }

    fn label(&mut self, name: &str, from: Option<LabelTarget>, to: Option<LabelTarget>) -> Result<(), String> {
        if let Some(mark) = to {
            self.node_mut(mark.node)?;
        }
        let before = match to {
            Some(mark) => self.labels.insert(name.to_owned(), mark),
            None => self.labels.remove(name),
        };
        if before == from {
            return Ok(());
        }
        Err(format!("the label \"{name}\" was expected {}", describe_position(from.map(|mark| mark.node))))
    }

    /// Checks that HEAD is in the tree, as it must be after each operation.
    fn check_head(&mut self) -> Result<(), String> {
        let Some(head) = self.head else { return Ok(()) };
        if self.node_mut(head)?.is_hidden { Err("HEAD is not in the tree".to_owned()) } else { Ok(()) }
    }

    /// Returns the children of a node, including hidden ones.
    pub fn children(&self, parent: NodeId) -> impl Iterator<Item = NodeId> {
        let least = NodeId::new(Uuid::nil());
        self.children.range((parent, least)..).take_while(move |(above, _)| *above == parent).map(|(_, node)| *node)
    }

    fn node_mut(&mut self, node: NodeId) -> Result<&mut ReferenceNode, String> {
        self.nodes.get_mut(&node).ok_or_else(|| format!("{node} does not exist"))
    }

    /// Returns the number of the newest operation.
    pub fn op(&self) -> i64 {
        self.op
    }

    /// Returns the HEAD node.
    pub fn head(&self) -> Option<NodeId> {
        self.head
    }

    /// Returns the stash: every fragment with its top node.
    pub fn fragments(&self) -> &BTreeMap<FragmentId, (NodeId, FragmentInfo)> {
        &self.fragments
    }

    /// Returns the labels.
    pub fn labels(&self) -> &BTreeMap<String, LabelTarget> {
        &self.labels
    }

    /// Returns the arrangement of every node.
    pub fn nodes(&self) -> &BTreeMap<NodeId, ReferenceNode> {
        &self.nodes
    }

    /// Returns the path from the root to a node (S0-25); empty if the node is unknown.
    pub fn path(&self, leaf: NodeId) -> Vec<NodeId> {
        let mut path = Vec::new();
        let mut next = self.nodes.contains_key(&leaf).then_some(leaf);
        while let Some(node) = next {
            path.push(node);
            // The log's rules exclude a cycle; this bound keeps even a broken log from looping forever.
            if path.len() > self.nodes.len() {
                return Vec::new();
            }
            next = self.nodes.get(&node).and_then(|place| place.parent);
        }
        path.reverse();
        path
    }
}

/// Describes a position in words.
fn describe_position(node: Option<NodeId>) -> String {
    node.map_or_else(|| "nowhere".to_owned(), |node| format!("at {node}"))
}
