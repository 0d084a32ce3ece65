//! The tree rebuilt from nothing but the operation log: proof that the log is complete, and the reference model that
//! property tests hold the store to.

use std::collections::BTreeMap;

use crate::ids::NodeId;
use crate::oplog::{Effect, Operation};

/// The arrangement of a session as its log tells it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mirror {
    nodes: BTreeMap<NodeId, Place>,
    head: Option<NodeId>,
    op: i64,
}

/// The overlay of one node.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Place {
    /// Its parent; `None` for the root.
    pub parent: Option<NodeId>,
    /// The child last visited.
    pub remembered: Option<NodeId>,
    /// Taken out by an undo.
    pub is_hidden: bool,
    /// Text left out.
    pub is_disabled: bool,
    /// Delta left out.
    pub is_muted: bool,
    /// Stars.
    pub rating: Option<u8>,
}

impl Mirror {
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
    /// As [`Mirror::replay`].
    pub fn apply(&mut self, operation: &Operation) -> Result<(), String> {
        if operation.op != self.op + 1 {
            return Err(format!("operation {} follows {}", operation.op, self.op));
        }
        self.op = operation.op;
        operation
            .effects
            .iter()
            .try_for_each(|effect| self.effect(effect))
            .map_err(|message| format!("operation {}: {message}", operation.op))
    }

    fn effect(&mut self, effect: &Effect) -> Result<(), String> {
        match effect {
            Effect::Added { node, parent } => self.add(*node, *parent)?,
            Effect::Completed { node } => _ = self.place(*node)?,
            Effect::Shown { node, to } => self.place(*node)?.is_hidden = !to,
            Effect::Moved { node, from, to } => {
                self.place(*to)?;
                let place = self.place(*node)?;
                if place.parent != Some(*from) {
                    return Err(format!("{node} did not hang below {from}"));
                }
                place.parent = Some(*to);
            }
            Effect::Head { from, to } => {
                self.place(*to)?;
                if self.head != *from {
                    return Err(format!("HEAD did not stand at {from:?}"));
                }
                self.head = Some(*to);
            }
            Effect::Remembered { node, to, .. } => self.place(*node)?.remembered = *to,
            Effect::Enabled { node, to } => self.place(*node)?.is_disabled = !to,
            Effect::Muted { node, to } => self.place(*node)?.is_muted = *to,
            Effect::Rated { node, to, .. } => self.place(*node)?.rating = *to,
            Effect::Setting { .. } => {}
        }
        Ok(())
    }

    fn add(&mut self, node: NodeId, parent: Option<NodeId>) -> Result<(), String> {
        match parent {
            Some(parent) => _ = self.place(parent)?,
            None if self.nodes.is_empty() => {}
            None => return Err(format!("{node} would be a second root")),
        }
        match self.nodes.insert(node, Place { parent, ..Place::default() }) {
            None => Ok(()),
            Some(_) => Err(format!("{node} came twice")),
        }
    }

    fn place(&mut self, node: NodeId) -> Result<&mut Place, String> {
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

    /// The overlay of every node.
    pub fn nodes(&self) -> &BTreeMap<NodeId, Place> {
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
