//! One node with what belongs to it: its state, its delta, its trace and its alternatives.

use clotho_core::ids::NodeId;
use clotho_core::tree::Delta;
use clotho_engine::turn::{RebuiltPrompt, read_trace};
use clotho_plugin::Catalogue;
use clotho_store::{StoreError, StoreReader, StoredNode, StoredSession};

use crate::error::ReadError;
use crate::lookup::{NODE, load_node};
use crate::node_view::{NodeRenderer, NodeView};
use crate::turns::newest_complete;
use crate::worlds::{NodeDelta, WorldView, node_delta, world_at};

/// What to read of a node besides the node itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct NodeExpansion {
    pub world: bool,
    pub trace: bool,
    pub delta: bool,
}

/// A node with the requested expansions.
pub struct NodeFacts {
    pub node: NodeView,
    pub world: Option<WorldView>,
    pub delta: Option<NodeDelta>,
    pub trace: Option<NodeTrace>,
}

/// How a node was made: the prompt that a model got, and the hooks that ran.
#[derive(Debug)]
pub struct NodeTrace {
    pub prompt: RebuiltPrompt,
    pub delta: Delta,
}

/// The alternatives of a node.
#[derive(Debug)]
pub struct NodeAlternatives {
    /// The common parent of the alternatives.
    pub parent: Option<NodeId>,
    /// The alternative that the session remembers; otherwise the newest complete one.
    pub selected: Option<NodeId>,
    /// All alternatives in creation order, including the node.
    pub siblings: Vec<NodeView>,
    /// If the node is a context node: its replies in creation order.
    pub replies: Vec<NodeView>,
    /// The selected reply.
    pub selected_reply: Option<NodeId>,
}

/// Returns one node with the requested expansions, before plugins render it.
///
/// # Errors
/// Returns an error if it does not exist.
pub fn read_node(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    look: &NodeRenderer,
    catalogue: &Catalogue,
    node: NodeId,
    expansion: NodeExpansion,
) -> Result<NodeFacts, ReadError> {
    let at = load_node(reader, stored, node)?;
    let world = if expansion.world { Some(world_at(reader, stored, &at, catalogue)?) } else { None };
    let delta = if expansion.delta { Some(node_delta(reader, stored, &at)?) } else { None };
    let trace = if expansion.trace { node_trace(reader, stored, &at)? } else { None };
    let node = look.nodes(reader, stored, &[node])?.pop().ok_or(ReadError::NotFound(NODE))?;
    Ok(NodeFacts { node, world, delta, trace })
}

/// Returns how a node was made. A message that no model wrote only has the hooks that ran; `None` if none did.
///
/// # Errors
/// Returns an error if the database fails.
pub fn node_trace(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    at: &StoredNode,
) -> Result<Option<NodeTrace>, ReadError> {
    let rebuilt = read_trace(reader, stored, at)?;
    let delta = reader.delta(at)?;
    let has_run = !delta.runs.is_empty() || !delta.problems.is_empty();
    let prompt = rebuilt.or_else(|| has_run.then(RebuiltPrompt::default));
    Ok(prompt.map(|prompt| NodeTrace { prompt, delta }))
}

/// Returns the alternatives of a node, and its replies if it is a context node; before plugins render them.
///
/// # Errors
/// Returns an error if it does not exist.
pub fn node_alternatives(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    look: &NodeRenderer,
    node: NodeId,
) -> Result<NodeAlternatives, ReadError> {
    let at = load_node(reader, stored, node)?;
    let siblings = reader.siblings(&at)?.ids;
    let parent = match at.node.parent {
        Some(parent) => reader.node(stored, parent)?,
        None => None,
    };
    let remembered = parent.and_then(|parent| parent.node.remembered);
    let selected = chosen_alternative(reader, stored, remembered, &siblings)?;
    let replies = if at.node.is_context() { reader.generations(stored, node)? } else { Vec::new() };
    let remembered = reader.remembered_generation(stored, &at, &replies)?;
    let replies: Vec<NodeId> = replies.iter().map(|reply| reply.node.id).collect();
    let selected_reply = chosen_alternative(reader, stored, remembered, &replies)?;
    Ok(NodeAlternatives {
        parent: at.node.parent,
        selected,
        siblings: look.nodes(reader, stored, &siblings)?,
        replies: look.nodes(reader, stored, &replies)?,
        selected_reply,
    })
}

/// Returns the node that the session remembers, otherwise the newest complete one.
fn chosen_alternative(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    remembered: Option<NodeId>,
    among: &[NodeId],
) -> Result<Option<NodeId>, StoreError> {
    match remembered.filter(|id| among.contains(id)) {
        Some(id) => Ok(Some(id)),
        None => Ok(newest_complete(reader.nodes(stored, among)?.iter())),
    }
}
