//! Operations as frames: what watchers are told of each effect.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::http::wire::node::Look;
use crate::http::wire::tree::OperationShape;
use crate::http::wire::world::DeltaShape;
use crate::ids::{NodeId, SessionId, UserId};
use crate::oplog::{Effect, Operation};
use crate::store::{Dressed, Held, Reader, StoreError};
use crate::tree::{Effects, Status};

/// A frame and what the socket must know about it.
#[derive(Debug, Clone)]
pub enum Frame {
    /// To be sent as it is.
    Plain(Value),
    /// A placeholder came: its text will follow from the beginning.
    Began {
        /// The placeholder.
        node: NodeId,
        /// The frame.
        json: Value,
    },
    /// A reply ended: the rest of its text goes first.
    Completed {
        /// The reply.
        node: NodeId,
        /// Its whole text.
        content: String,
        /// Its whole thinking.
        reasoning: String,
        /// The frame.
        json: Value,
    },
}

/// The frames of operations, in order; `None` if the session is not the caller's any more.
pub fn of(
    reader: &mut Reader<'_>,
    caller: UserId,
    session: SessionId,
    operations: &[Arc<Operation>],
    hide_tags: &[String],
) -> Result<Option<Vec<Frame>>, StoreError> {
    let Some(held) = reader.session(caller, session)? else { return Ok(None) };
    let mut frames = Vec::new();
    for operation in operations {
        Teller { reader, held: &held, operation, look: Look { hide_tags, live: None } }.tell(&mut frames)?;
    }
    Ok(Some(frames))
}

struct Teller<'a, 'r> {
    reader: &'a mut Reader<'r>,
    held: &'a Held,
    operation: &'a Operation,
    look: Look<'a>,
}

impl Teller<'_, '_> {
    fn tell(&mut self, frames: &mut Vec<Frame>) -> Result<(), StoreError> {
        let mut settings = Map::new();
        let mut states = Vec::new();
        let mut rearranged = false;
        let mut head = None;
        for effect in &self.operation.effects {
            match effect {
                Effect::Added { node, .. } => frames.extend(self.created(*node)?),
                Effect::Completed { node } => frames.extend(self.completed(*node)?),
                Effect::Head { to, .. } => head = Some(*to),
                Effect::Enabled { node, .. } | Effect::Muted { node, .. } | Effect::Rated { node, .. } => {
                    if !states.contains(node) {
                        states.push(*node);
                    }
                }
                Effect::Setting { name, to, .. } => _ = settings.insert(name.clone(), to.clone()),
                Effect::Moved { .. } | Effect::Shown { .. } => rearranged = true,
                Effect::Remembered { .. } => {}
            }
        }
        frames.extend(self.states(&states)?);
        if rearranged {
            let operation = OperationShape::from(self.operation);
            frames.push(Frame::Plain(self.frame("tree.changed", json!({"operation": operation}))));
        }
        if !settings.is_empty() {
            frames.push(Frame::Plain(self.frame("session.updated", json!({"settings": settings}))));
        }
        if let Some(leaf) = head {
            frames.push(self.moved(leaf)?);
        }
        Ok(())
    }

    fn frame(&self, name: &str, mut payload: Value) -> Value {
        if let Some(map) = payload.as_object_mut() {
            map.insert("type".into(), name.into());
            map.insert("op".into(), self.operation.op.into());
        }
        payload
    }

    fn dressed(&mut self, node: NodeId) -> Result<Option<Dressed>, StoreError> {
        let Some(placed) = self.reader.node(self.held, node)? else { return Ok(None) };
        Ok(self.reader.dress(vec![placed])?.pop())
    }

    /// A node that came. Later operations may have taken it away again: then there is nothing to tell.
    fn created(&mut self, node: NodeId) -> Result<Option<Frame>, StoreError> {
        let Some(dressed) = self.dressed(node)? else { return Ok(None) };
        let placeholder = dressed.placed.node.status == Status::Generating;
        let json = self.frame("node.created", json!({"node": self.look.in_line(dressed)}));
        Ok(Some(if placeholder { Frame::Began { node, json } } else { Frame::Plain(json) }))
    }

    fn completed(&mut self, node: NodeId) -> Result<Option<Frame>, StoreError> {
        let Some(dressed) = self.dressed(node)? else { return Ok(None) };
        let placed = &dressed.placed;
        let delta = self.reader.delta(placed)?;
        let before = self.reader.world_before(self.held, placed)?;
        let after = self.reader.world(self.held, placed)?;
        let world = DeltaShape::new(&delta, &before, &after);
        let (content, reasoning) = (placed.node.content.clone(), placed.node.reasoning.clone().unwrap_or_default());
        let payload = json!({"node": self.look.in_line(dressed), "worldDelta": world});
        Ok(Some(Frame::Completed { node, content, reasoning, json: self.frame("node.completed", payload) }))
    }

    /// One event for nodes that have the same state now, whether one or five hundred.
    fn states(&mut self, ids: &[NodeId]) -> Result<Vec<Frame>, StoreError> {
        let mut groups: Vec<((bool, Effects), Vec<NodeId>)> = Vec::new();
        let mut rating = Value::Null;
        for placed in self.reader.nodes(self.held, ids)? {
            let node = placed.node;
            let state = (node.is_enabled, node.effects);
            rating = node.metadata.get("rating").cloned().unwrap_or_default();
            match groups.iter_mut().find(|(of, _)| *of == state) {
                Some((_, ids)) => ids.push(node.id),
                None => groups.push((state, vec![node.id])),
            }
        }
        let told = groups.into_iter().map(|((enabled, effects), ids)| {
            let mut payload = json!({"isEnabled": enabled, "effects": effects.word()});
            if let Some(map) = payload.as_object_mut() {
                match ids.as_slice() {
                    [id] => {
                        map.insert("id".into(), id.to_string().into());
                        map.insert("rating".into(), rating.clone());
                    }
                    many => _ = map.insert("ids".into(), many.iter().map(ToString::to_string).collect()),
                }
            }
            Frame::Plain(self.frame("node.state.updated", payload))
        });
        Ok(told.collect())
    }

    fn moved(&mut self, leaf: NodeId) -> Result<Frame, StoreError> {
        let context = self.reader.context_of(self.held, leaf)?.map(|placed| placed.node.id.to_string());
        let payload = json!({"leafId": leaf.to_string(), "contextNodeId": context});
        Ok(Frame::Plain(self.frame("head.moved", payload)))
    }
}
