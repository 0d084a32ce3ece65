//! Turns operations of the log into frames. The log position of a socket may be behind the tree. A node that was
//! created as a placeholder and is complete by now is sent as the placeholder, since its completion follows later in
//! the log.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::draft_stream::DraftStreams;
use super::reply_stream::ReplyStreams;
use crate::http::wire::card_versions::SessionCardResponse;
use crate::http::wire::events::{Event, NodeStateEvent, NodeStatesEvent};
use crate::http::wire::ids::WireId;
use crate::http::wire::node::ChatMessageNode;
use crate::http::wire::sessions::RequestedSettingsResponse;
use crate::http::wire::tree::OperationResponse;
use crate::http::wire::world::DeltaResponse;
use clotho_core::ids::NodeId;
use clotho_core::oplog::{Effect, Operation};
use clotho_core::tree::{Kind, Node, NodeMetadata, ReplyFacts, Role, Status};
use clotho_engine::live::LiveSessions;
use clotho_queries::error::ReadError;
use clotho_queries::lookup::NODE;
use clotho_queries::node_view::{NodeRenderer, NodeView};
use clotho_queries::worlds::{NodeDelta, node_delta};
use clotho_store::{NodeDetails, StoreError, StoreReader, StoredNode, StoredSession};

/// Number of operations read at once when looking for completions only.
const LOOK_AHEAD_BATCH: i64 = 500;

/// The log position of a socket, and what it must know of later operations.
#[derive(Debug)]
pub struct SocketLogPosition {
    op: i64,
    /// Last operation that was searched for completions.
    searched_until: i64,
    /// Replies whose completion is in the log after `op`.
    completed_later: HashSet<NodeId>,
    /// Running replies.
    pub streams: ReplyStreams,
    /// Drafts of the caller.
    pub drafts: DraftStreams,
}

/// A frame before plugins render its node.
#[derive(Debug)]
pub enum OperationEvent {
    /// A node was created: complete, or as a placeholder.
    Created { op: i64, node: Box<NodeView> },
    /// A reply ended.
    Completed { op: i64, node: Box<NodeView>, delta: NodeDelta },
    /// A frame without a node.
    Plain(Event),
}

impl OperationEvent {
    /// Returns the node that plugins may render.
    pub fn node(&mut self) -> Option<&mut NodeView> {
        match self {
            Self::Created { node, .. } | Self::Completed { node, .. } => Some(node),
            Self::Plain(_) => None,
        }
    }
}

impl From<OperationEvent> for Event {
    fn from(event: OperationEvent) -> Self {
        let wire = |node: Box<NodeView>| Box::new(ChatMessageNode::from(*node));
        match event {
            OperationEvent::Created { op, node } => Self::Created { op, node: wire(node) },
            OperationEvent::Completed { op, node, delta } => {
                Self::Completed { op, node: wire(node), world_delta: DeltaResponse::from(delta) }
            }
            OperationEvent::Plain(event) => event,
        }
    }
}

/// Returns the first frame.
pub fn hello_event(stored: &StoredSession) -> Event {
    Event::Hello { op: stored.session.op, leaf_id: WireId(stored.session.head) }
}

impl SocketLogPosition {
    /// Starts after operation `since`, or at the newest operation.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn new(
        reader: &mut StoreReader<'_>,
        stored: &StoredSession,
        since: Option<i64>,
        live: &LiveSessions,
    ) -> Result<Self, StoreError> {
        // A number larger than the newest comes from another database; the client detects that in `hello`.
        let op = since.unwrap_or(stored.session.op).min(stored.session.op);
        let mut streams = ReplyStreams::default();
        reader.placeholders(stored)?.into_iter().for_each(|node| streams.join(node, live));
        let drafts = DraftStreams::new(live, stored.session.id, stored.session.owner);
        Ok(Self { op, searched_until: op, completed_later: HashSet::new(), streams, drafts })
    }

    /// Returns the newest operation that was sent.
    pub fn op(&self) -> i64 {
        self.op
    }

    /// Returns the frames of the next operations, at most `batch` of them, before plugins render the nodes.
    /// `operations` are the next operations as published, if known; otherwise the log is read.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn advance(
        &mut self,
        reader: &mut StoreReader<'_>,
        stored: &StoredSession,
        renderer: &NodeRenderer,
        batch: i64,
        operations: &[Arc<Operation>],
    ) -> Result<Vec<OperationEvent>, ReadError> {
        let is_next = operations.first().is_some_and(|first| first.op == self.op + 1);
        let next: Vec<Arc<Operation>> = match is_next {
            true => operations.iter().take(usize::try_from(batch).unwrap_or(usize::MAX)).cloned().collect(),
            false => reader.operations(stored, self.op, batch)?.into_iter().map(Arc::new).collect(),
        };
        self.look_ahead(reader, stored, &next)?;
        let mut events = Vec::new();
        for operation in next {
            events.append(&mut self.operation_events(reader, stored, renderer, &operation)?);
            self.op = operation.op;
        }
        Ok(events)
    }

    /// Searches the log up to the snapshot for completions, starting with `next`.
    fn look_ahead(
        &mut self,
        reader: &mut StoreReader<'_>,
        stored: &StoredSession,
        next: &[Arc<Operation>],
    ) -> Result<(), StoreError> {
        self.note_completions(next.iter().map(AsRef::as_ref));
        while self.searched_until < stored.session.op {
            let operations = reader.operations(stored, self.searched_until, LOOK_AHEAD_BATCH)?;
            if operations.is_empty() {
                return Ok(());
            }
            self.note_completions(operations.iter());
        }
        Ok(())
    }

    fn note_completions<'a>(&mut self, operations: impl Iterator<Item = &'a Operation>) {
        let searched = self.searched_until;
        for operation in operations.skip_while(|operation| operation.op <= searched) {
            self.searched_until = operation.op;
            self.completed_later.extend(operation.effects.iter().filter_map(|effect| match effect {
                Effect::Completed { node } => Some(*node),
                _ => None,
            }));
        }
    }

    /// Returns the frames of one operation in the order in which it was written: nodes first, HEAD last.
    fn operation_events(
        &mut self,
        reader: &mut StoreReader<'_>,
        stored: &StoredSession,
        renderer: &NodeRenderer,
        operation: &Operation,
    ) -> Result<Vec<OperationEvent>, ReadError> {
        let op = operation.op;
        // Created and completed nodes.
        let mut nodes = changed_nodes(reader, stored, operation)?;
        let mut events = Vec::new();
        let mut spoken = None;
        for effect in &operation.effects {
            match effect {
                Effect::Added { node, .. } => {
                    let Some(dressed) = nodes.remove(node) else { continue };
                    let added = &dressed.node.node;
                    if added.role != Role::Assistant && added.kind != Kind::Change {
                        spoken = Some(*node);
                    }
                    events.push(self.created_event(reader, renderer, op, dressed)?);
                }
                Effect::Completed { node } => {
                    self.completed_later.remove(node);
                    let Some(dressed) = nodes.remove(node) else { continue };
                    events.extend(self.completed_events(reader, stored, renderer, op, dressed)?);
                }
                _ => {}
            }
        }
        // States, layout and settings.
        events.extend(states_event(reader, stored, operation)?.map(OperationEvent::Plain));
        if operation.effects.iter().any(Effect::changes_layout) {
            events.push(tree_changed(operation));
        }
        events.extend(settings_event(reader, stored, operation)?.map(OperationEvent::Plain));
        // The last HEAD of the operation.
        let head = operation.effects.iter().rev().find_map(|effect| match effect {
            Effect::Head { to, .. } => Some(*to),
            _ => None,
        });
        if let Some(leaf) = head {
            // A node that was just written, and not by a model, is its own context.
            let context = match spoken.filter(|node| *node == leaf) {
                Some(leaf) => Some(WireId(leaf)),
                None => reader.context_of(stored, leaf)?.map(|placed| WireId(placed.node.id)),
            };
            let moved = Event::HeadMoved { op, leaf_id: WireId(leaf), context_node_id: context };
            events.push(OperationEvent::Plain(moved));
        }
        if events.is_empty() {
            // Its nodes are outside the tree by now. Clients that count operations still need a frame.
            events.push(tree_changed(operation));
        }
        Ok(events)
    }

    fn created_event(
        &mut self,
        reader: &mut StoreReader<'_>,
        renderer: &NodeRenderer,
        op: i64,
        dressed: NodeDetails,
    ) -> Result<OperationEvent, ReadError> {
        let node = dressed.node.node.id;
        let mut shown = node_view(reader, renderer, dressed)?;
        if self.completed_later.contains(&node) {
            shown = as_placeholder(shown);
        }
        if shown.node.status == Status::Generating {
            self.streams.open(node);
        }
        Ok(OperationEvent::Created { op, node: Box::new(shown) })
    }

    /// Returns the last chunk of the final text, then the whole node; each exactly once.
    fn completed_events(
        &mut self,
        reader: &mut StoreReader<'_>,
        stored: &StoredSession,
        renderer: &NodeRenderer,
        op: i64,
        dressed: NodeDetails,
    ) -> Result<Vec<OperationEvent>, ReadError> {
        let id = dressed.node.node.id;
        let delta = node_delta(reader, stored, &dressed.node)?;
        let shown = node_view(reader, renderer, dressed)?;
        let Node { content, reasoning, .. } = &shown.node;
        let last = self.streams.close(id, content, reasoning.as_deref().unwrap_or_default());
        let completed = OperationEvent::Completed { op, node: Box::new(shown), delta };
        Ok(last.into_iter().map(OperationEvent::Plain).chain([completed]).collect())
    }
}

fn tree_changed(operation: &Operation) -> OperationEvent {
    OperationEvent::Plain(Event::TreeChanged { op: operation.op, operation: OperationResponse::from(operation) })
}

fn node_view(
    reader: &mut StoreReader<'_>,
    renderer: &NodeRenderer,
    dressed: NodeDetails,
) -> Result<NodeView, ReadError> {
    renderer.line(reader, [dressed])?.pop().ok_or(ReadError::NotFound(NODE))
}

/// Returns the nodes that an operation created or completed and that are in the tree.
fn changed_nodes(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    operation: &Operation,
) -> Result<HashMap<NodeId, NodeDetails>, StoreError> {
    let named = operation.effects.iter().filter_map(|effect| match effect {
        Effect::Added { node, .. } | Effect::Completed { node } => Some(*node),
        _ => None,
    });
    let placed = reader.nodes(stored, &named.collect::<Vec<_>>())?;
    if placed.is_empty() {
        return Ok(HashMap::new());
    }
    let dressed = reader.node_details(placed)?;
    Ok(dressed.into_iter().map(|one| (one.node.node.id, one)).collect())
}

/// Turns a complete reply back into its placeholder.
fn as_placeholder(view: NodeView) -> NodeView {
    let mut node = view.node;
    // What a placeholder has from the start; everything else comes with the completion.
    let NodeMetadata { reply: ReplyFacts { model, params, .. }, edited_from, continued_from, .. } =
        std::mem::take(&mut *node.metadata);
    let reply = ReplyFacts { model, params, ..ReplyFacts::default() };
    *node.metadata = NodeMetadata { reply, edited_from, continued_from, ..NodeMetadata::default() };
    let (children, notes, problems) = (Vec::new(), Vec::new(), Vec::new());
    let (content, status) = (String::new(), Status::Generating);
    let node = Node { content, reasoning: None, rating: None, status, is_unread: false, ..node };
    NodeView { node, children, siblings: view.siblings, notes, problems, display: None, needs_plugin_display: false }
}

/// Returns one frame for the nodes whose state an operation changed.
fn states_event(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    operation: &Operation,
) -> Result<Option<Event>, StoreError> {
    let mut ids: Vec<NodeId> = Vec::new();
    for effect in &operation.effects {
        match effect {
            Effect::Enabled { node, .. }
            | Effect::Muted { node, .. }
            | Effect::Revised { node, .. }
            | Effect::Rated { node, .. }
            | Effect::Unread { node, .. }
                if !ids.contains(node) =>
            {
                ids.push(*node);
            }
            _ => {}
        }
    }
    // Completed nodes are sent whole, so they need no state frame.
    ids.retain(|id| !operation.effects.contains(&Effect::Completed { node: *id }));
    let placed = if ids.is_empty() { Vec::new() } else { reader.nodes(stored, &ids)? };
    let states = placed.iter().map(|placed: &StoredNode| node_state(&placed.node)).collect();
    Ok(NodeStatesEvent::new(states).map(|states| Event::State { op: operation.op, states }))
}

fn node_state(node: &Node) -> NodeStateEvent {
    NodeStateEvent {
        id: WireId(node.id),
        is_enabled: node.is_enabled,
        effects: node.effects.into(),
        rating: node.rating,
        is_unread: node.is_unread,
    }
}

/// Returns the field of a session that has a setting of the log.
fn field_name(setting: &str) -> &str {
    match setting {
        "preset" => "presetId",
        "profile" => "profileId",
        "scripts" => "regexScripts",
        "note" => "authorsNote",
        other => other,
    }
}

/// Returns the settings that an operation changed, by the field names of a session.
fn settings_event(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    operation: &Operation,
) -> Result<Option<Event>, StoreError> {
    let mut session = Map::new();
    for effect in &operation.effects {
        if let Effect::Setting { name, to, .. } = effect {
            match name.as_str() {
                "cards" => {
                    let used = reader.session_card_versions(&stored.session)?;
                    let used: Vec<SessionCardResponse> = used.into_iter().map(Into::into).collect();
                    session.insert("cards".into(), json!(used));
                }
                "requested" => {
                    let requested = RequestedSettingsResponse::new(&stored.session.requested);
                    session.insert("requestedSettings".into(), json!(requested));
                }
                "persona" => _ = session.insert("personaId".into(), to.get(0).cloned().unwrap_or_default()),
                name => _ = session.insert(field_name(name).to_owned(), to.clone()),
            }
        }
    }
    if session.is_empty() {
        return Ok(None);
    }
    session.insert("updatedAt".into(), operation.at.to_string().into());
    let title = session.get("title").and_then(Value::as_str).map(str::to_owned);
    Ok(Some(Event::SessionUpdated { op: operation.op, title, session }))
}
