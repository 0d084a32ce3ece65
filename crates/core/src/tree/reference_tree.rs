//! The tree rebuilt from nothing but the operation log: proof that the log is complete, and the reference model that
//! property tests hold the store to.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::ids::{FragmentId, NodeId};
use crate::oplog::{Effect, FragmentInfo, LabelTarget, Operation};

/// The arrangement of a session as its log tells it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReferenceTree {
    nodes: BTreeMap<NodeId, ReferenceNode>,
    /// Every parent with each node that has it, wherever that stands.
    children: BTreeSet<(NodeId, NodeId)>,
    fragments: BTreeMap<FragmentId, (NodeId, FragmentInfo)>,
    labels: BTreeMap<String, LabelTarget>,
    head: Option<NodeId>,
    op: i64,
}

/// The overlay of one node.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReferenceNode {
    /// Its parent; `None` for the root.
    pub parent: Option<NodeId>,
    /// The child last visited.
    pub remembered: Option<NodeId>,
    /// Not in the tree: pruned, or taken back by an undo.
    pub is_hidden: bool,
    /// The fragment that it lies in; a hidden node without one was taken back.
    pub fragment: Option<FragmentId>,
    /// Text left out.
    pub is_disabled: bool,
    /// Delta left out.
    pub is_muted: bool,
    /// Ended where nobody looked.
    pub is_unread: bool,
    /// Stars.
    pub rating: Option<u8>,
    /// The revision of its delta, where the log says so: it tells what rules made anew, and not how a reply ended.
    pub revision: Option<i32>,
}

impl ReferenceTree {
    /// Reads a whole log.
    ///
    /// # Errors
    /// Names the operation that does not fit what came before: a gap, an unknown node, a second root.
    pub fn replay<'a>(log: impl IntoIterator<Item = &'a Operation>) -> Result<Self, String> {
        let mut mirror = Self::default();
        log.into_iter().try_for_each(|operation| mirror.apply(operation))?;
        Ok(mirror)
    }

    /// Carries one operation out.
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
                    return Err(format!("{node} did not hang below {from}"));
                }
                place.parent = Some(*to);
                self.children.remove(&(*from, *node));
                self.children.insert((*to, *node));
            }
            Effect::Detached { node, cut } => self.detach(*node, cut)?,
            Effect::Attached { node, cut } => self.attach(*node, cut)?,
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
                    return Err(format!("HEAD should have stood {}", describe_position(*from)));
                }
                self.head = Some(*to);
            }
            Effect::Remembered { node, to, .. } => self.node_mut(*node)?.remembered = *to,
            Effect::Enabled { node, to } => self.node_mut(*node)?.is_disabled = !to,
            Effect::Muted { node, to } => self.node_mut(*node)?.is_muted = *to,
            Effect::Revised { node, from, to } => {
                let place = self.node_mut(*node)?;
                // What a reply ended with is no effect: the first that is said of it is believed.
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
            Some(_) => Err(format!("{node} came twice")),
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
            Some(_) => Err(format!("{} came twice", cut.fragment)),
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

    /// All below a node goes with it, and nothing that stays may name what went.
    fn purge(&mut self, node: NodeId, parent: NodeId, below: &[NodeId]) -> Result<(), String> {
        if self.node_mut(node)?.parent != Some(parent) {
            return Err(format!("{node} did not hang below {parent}"));
        }
        let (mut gone, mut next) = (BTreeSet::new(), vec![node]);
        while let Some(node) = next.pop() {
            gone.insert(node);
            next.extend(self.children(node));
        }
        if gone != below.iter().copied().chain([node]).collect() {
            return Err(format!("not all that went with {node} is named"));
        }
        let is_named = self.head.is_some_and(|head| gone.contains(&head))
            || self.labels.values().any(|mark| gone.contains(&mark.node))
            || self.node_mut(parent)?.remembered == Some(node);
        if is_named {
            return Err(format!("HEAD, a label or {parent} goes on naming what went with {node}"));
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
        Err(format!("the label \"{name}\" should have been {}", describe_position(from.map(|mark| mark.node))))
    }

    /// After each operation HEAD stands in the tree.
    fn check_head(&mut self) -> Result<(), String> {
        let Some(head) = self.head else { return Ok(()) };
        if self.node_mut(head)?.is_hidden { Err("HEAD does not stand in the tree".to_owned()) } else { Ok(()) }
    }

    /// The nodes that have a parent, wherever they stand.
    pub fn children(&self, parent: NodeId) -> impl Iterator<Item = NodeId> {
        let least = NodeId::new(Uuid::nil());
        self.children.range((parent, least)..).take_while(move |(above, _)| *above == parent).map(|(_, node)| *node)
    }

    fn node_mut(&mut self, node: NodeId) -> Result<&mut ReferenceNode, String> {
        self.nodes.get_mut(&node).ok_or_else(|| format!("{node} is not there"))
    }

    /// The newest operation.
    pub fn op(&self) -> i64 {
        self.op
    }

    /// Where HEAD stands.
    pub fn head(&self) -> Option<NodeId> {
        self.head
    }

    /// The stash: every fragment with its top.
    pub fn fragments(&self) -> &BTreeMap<FragmentId, (NodeId, FragmentInfo)> {
        &self.fragments
    }

    /// The labels.
    pub fn labels(&self) -> &BTreeMap<String, LabelTarget> {
        &self.labels
    }

    /// The overlay of every node.
    pub fn nodes(&self) -> &BTreeMap<NodeId, ReferenceNode> {
        &self.nodes
    }

    /// The path from the root to a node: reverse of the trace back (S0-25). Empty if the node is unknown.
    pub fn path(&self, leaf: NodeId) -> Vec<NodeId> {
        let mut path = Vec::new();
        let mut next = self.nodes.contains_key(&leaf).then_some(leaf);
        while let Some(node) = next {
            path.push(node);
            // A cycle cannot be built by the log's rules; the bound keeps even a broken log from hanging the reader.
            if path.len() > self.nodes.len() {
                return Vec::new();
            }
            next = self.nodes.get(&node).and_then(|place| place.parent);
        }
        path.reverse();
        path
    }
}

/// Where something is, in words.
fn describe_position(node: Option<NodeId>) -> String {
    node.map_or_else(|| "nowhere".to_owned(), |node| format!("at {node}"))
}
