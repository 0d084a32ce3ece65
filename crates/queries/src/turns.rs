//! The turn-based view of a branch: context nodes and their possible replies.

use std::collections::HashSet;

use serde_json::Value;

use clotho_core::ids::NodeId;
use clotho_core::tree::Status;
use clotho_store::{NodePage, StoreError, StoreReader, StoredNode, StoredSession};

use crate::error::ReadError;
use crate::lookup::{BranchSelection, selected_leaf};

/// A page of the turns of a branch.
#[derive(Debug)]
pub struct TurnPage {
    /// The turns, oldest first.
    pub turns: Vec<TurnView>,
    /// `before` of the page of older turns; `None` at the start of the branch.
    pub next: Option<NodeId>,
}

/// One turn: a context node, with the state just before the model speaks, and its possible replies.
#[derive(Debug)]
pub struct TurnView {
    pub context: StoredNode,
    /// The previous context node; `None` for the root.
    pub parent: Option<NodeId>,
    /// All replies in creation order.
    pub replies: Vec<TurnReply>,
    /// The reply that the session remembers as selected.
    pub remembered: Option<NodeId>,
    /// The reply on the requested branch.
    pub shown: Option<NodeId>,
    /// Events confirmed so far on this branch.
    pub events: Vec<Value>,
    /// How many messages of the branch recall and summaries can use at this turn: those up to the context node. `None`
    /// while both are off.
    pub memory_position: Option<i64>,
}

/// One possible reply.
#[derive(Debug)]
pub struct TurnReply {
    pub reply: StoredNode,
    /// Whether anything follows it.
    pub has_children: bool,
}

/// A page of the context nodes from the root to a leaf.
#[derive(Debug)]
pub struct ContextPath {
    /// The context nodes, oldest first.
    pub nodes: Vec<ContextPathNode>,
    /// `before` of the page of older ones; `None` at the root.
    pub next: Option<NodeId>,
}

/// One context node of a branch.
#[derive(Debug)]
pub struct ContextPathNode {
    pub context: StoredNode,
    /// The previous context node; `None` for the root.
    pub parent: Option<NodeId>,
    /// Whether the leaf belongs to this turn.
    pub is_current: bool,
}

impl TurnView {
    /// Returns the remembered reply, otherwise the newest complete one.
    pub fn selected(&self) -> Option<NodeId> {
        self.remembered.or_else(|| newest_complete(self.replies.iter().map(|one| &one.reply)))
    }
}

/// Returns the newest complete reply among these, which are in creation order.
pub fn newest_complete<'n>(replies: impl DoubleEndedIterator<Item = &'n StoredNode>) -> Option<NodeId> {
    replies.rev().find(|placed| placed.node.status == Status::Complete).map(|placed| placed.node.id)
}

/// Returns the turns on the path to a leaf.
///
/// # Errors
/// Returns an error if a node does not exist.
pub fn list_turns(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    selection: &BranchSelection,
) -> Result<TurnPage, ReadError> {
    let (leaf, page) = context_page(reader, stored, selection)?;
    let mut parent = parent_context(reader, stored, &page)?;
    let below: Vec<NodeId> = page.nodes.iter().skip(1).map(|next| next.node.id).chain([leaf]).collect();
    let mut turns = Vec::new();
    for (context, below) in page.nodes.into_iter().zip(below) {
        let id = context.node.id;
        turns.push(turn_view(reader, stored, context, parent, below)?);
        parent = Some(id);
    }
    Ok(TurnPage { turns, next: page.next })
}

/// Returns the context nodes from the root to a leaf.
///
/// # Errors
/// Returns an error if a node does not exist.
pub fn context_path(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    selection: &BranchSelection,
) -> Result<ContextPath, ReadError> {
    let (_, page) = context_page(reader, stored, selection)?;
    let mut parent = parent_context(reader, stored, &page)?;
    let last = page.nodes.last().map(|placed| placed.node.id).filter(|_| selection.before.is_none());
    let mut nodes = Vec::new();
    for context in page.nodes {
        let id = context.node.id;
        nodes.push(ContextPathNode { context, parent, is_current: Some(id) == last });
        parent = Some(id);
    }
    Ok(ContextPath { nodes, next: page.next })
}

fn context_page(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    selection: &BranchSelection,
) -> Result<(NodeId, NodePage), ReadError> {
    let leaf = selected_leaf(reader, stored, selection)?;
    Ok((leaf, reader.context_page(stored, leaf, selection.before, selection.limit)?))
}

/// Returns the context node above the first one of a page.
fn parent_context(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    page: &NodePage,
) -> Result<Option<NodeId>, StoreError> {
    let Some(parent) = page.nodes.first().and_then(|first| first.node.parent) else { return Ok(None) };
    Ok(reader.context_of(stored, parent)?.map(|placed| placed.node.id))
}

/// Reads one turn; `below` is the next context node of the branch, or its leaf.
fn turn_view(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    context: StoredNode,
    parent: Option<NodeId>,
    below: NodeId,
) -> Result<TurnView, StoreError> {
    // The replies, and which of them have children.
    let replies = reader.generations(stored, context.node.id)?;
    let followed: HashSet<NodeId> = reader
        .node_details(replies.clone())?
        .into_iter()
        .filter(|dressed| !dressed.children.is_empty())
        .map(|dressed| dressed.node.node.id)
        .collect();
    // The selected reply, and the one on the requested branch.
    let remembered = reader.remembered_generation(stored, &context, &replies)?;
    let mut shown = None;
    for reply in &replies {
        if reply.node.id == below || reader.is_on_path(stored, reply.node.id, below)? {
            shown = Some(reply.node.id);
        }
    }
    let events = reader.world(stored, &context)?.events.clone();
    let has_memory = stored.session.recall.is_on || stored.session.summaries.is_on;
    let memory_position = has_memory.then_some(i64::from(context.node.depth));
    let reply = |reply: StoredNode| TurnReply { has_children: followed.contains(&reply.node.id), reply };
    let replies = replies.into_iter().map(reply).collect();
    Ok(TurnView { context, parent, replies, remembered, shown, events, memory_position })
}
