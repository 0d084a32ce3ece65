//! A node as clients see it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::enums::{Effects, Kind, Role, Status};
use super::ids::{WireCharacterId, WireId, WireNodeId, WirePersonaId, WireUserId, wire_ids};
use super::world::{DeltaResponse, TraceResponse, WorldStateSchema};
use crate::http::error::ApiError;
use clotho_compat::prompt::tags;
use clotho_core::coded_message::MessageArgs;
use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::tree;
use clotho_core::tree::NodeMetadata;
use clotho_engine::live::LiveSessions;
use clotho_engine::turn::{DisplayResult, TurnEngine};
use clotho_store::{NodeDetails, StoreReader};

/// One node of a tree: a message, or a hidden node such as a state change.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatMessageNode {
    /// Id of the node.
    pub id: WireNodeId,
    /// Parent node; null only for the root.
    pub parent_id: Option<WireNodeId>,
    /// Children in creation order.
    pub children_ids: Vec<WireNodeId>,
    /// Role of the message.
    pub role: Role,
    /// Kind of the node.
    pub kind: Kind,
    /// Name of the speaker.
    pub name: Option<String>,
    /// The user who wrote or requested the node.
    pub author_id: Option<WireUserId>,
    /// The persona that the author played.
    pub persona_id: Option<WirePersonaId>,
    /// The character that speaks.
    pub character_id: Option<WireCharacterId>,
    /// The text exactly as received.
    pub content: String,
    /// The displayed text, if it differs from `content`: without blocks for machines, and as plugins render it. Whole
    /// trees do not include the rendering of plugins.
    pub display: Option<String>,
    /// Reasoning of the model.
    pub reasoning: Option<String>,
    /// `generating`, `complete` or `error`.
    pub status: Status,
    /// Whether the text is part of prompts and of the chat view.
    pub is_enabled: bool,
    /// `on`: the delta is applied to the state; `muted`: it is ignored.
    pub effects: Effects,
    /// Whether this is a reply that nobody has seen: HEAD has never been on it or below it.
    pub is_unread: bool,
    /// Visible lines below the message, written by plugins.
    pub notes: Vec<NodeNoteResponse>,
    /// What went wrong while the node was made.
    pub problems: Vec<NodeProblemResponse>,
    /// Creation time, ISO 8601 UTC.
    pub timestamp: String,
    /// Number of edges from the root.
    pub depth: i32,
    /// Number of the turn.
    pub turn: i32,
    /// Everything else: `model, params, seed, phase, queuePosition, finishReason, isTruncated, error, latencyMs,
    /// firstTokenMs, tokenCount, cost, costFrom, rating, editedFrom, …`.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    /// Position among the siblings; only in views of one branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub siblings: Option<SiblingsResponse>,
    /// Whether plugins may render this node but have not been called yet ([`NodeRenderer::ask`]).
    #[serde(skip)]
    pub is_unasked: bool,
}

/// The position of a node among its siblings.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Siblings)]
pub struct SiblingsResponse {
    /// Index from 0.
    pub index: usize,
    /// Number of siblings, including the node.
    pub count: usize,
    /// All siblings in creation order, including the node.
    pub ids: Vec<WireNodeId>,
}

/// A visible line below a message.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Note)]
pub struct NodeNoteResponse {
    /// The plugin that wrote the line.
    pub plugin: String,
    /// The text of the line.
    pub text: String,
    /// Stable code if the server wrote the line; absent otherwise.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub code: String,
    /// Arguments of the code: texts and numbers by name.
    #[serde(skip_serializing_if = "MessageArgs::is_empty")]
    #[schema(required = false, value_type = Object)]
    pub args: MessageArgs,
}

/// Something that went wrong while a node was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct NodeProblemResponse {
    /// Stable code of the problem.
    pub code: String,
    /// Arguments of the code: texts and numbers by name. Absent if there are none.
    #[serde(skip_serializing_if = "MessageArgs::is_empty")]
    #[schema(required = false, value_type = Object)]
    pub args: MessageArgs,
    /// The problem in one sentence.
    pub message: String,
    /// The plugin concerned; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
}

/// A node with the requested expansions.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeResponse {
    /// The node itself; its fields stand at the top level.
    #[serde(flatten)]
    pub node: ChatMessageNode,
    /// State after the node (`expand=world`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub world: Option<Value>,
    /// Active schemas at the node (`expand=world`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schemas: Option<Vec<WorldStateSchema>>,
    /// Delta of the node (`expand=delta`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<DeltaResponse>,
    /// Trace of the node (`expand=trace`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceResponse>,
}

/// The expansions of a node.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct NodeQuery {
    /// Comma-separated list of `world`, `trace` and `delta`.
    pub expand: Option<String>,
}

/// The alternatives of a node.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AlternativesResponse {
    /// The requested node.
    pub node_id: WireNodeId,
    /// The common parent of the alternatives.
    pub parent_id: Option<WireNodeId>,
    /// The alternative that the session remembers; otherwise the newest complete one.
    pub selected_id: Option<WireNodeId>,
    /// All alternatives in creation order, including the node.
    pub items: Vec<ChatMessageNode>,
    /// If the node is a context node: its replies in creation order.
    pub generations: Vec<ChatMessageNode>,
    /// The selected reply among `generations`.
    pub selected_generation_id: Option<WireNodeId>,
}

/// Returns the metadata of a node, including its rating.
pub fn known(metadata: NodeMetadata, rating: Option<u8>) -> Map<String, Value> {
    let mut metadata = Map::from(metadata);
    if let Some(stars) = rating {
        metadata.insert("rating".into(), stars.into());
    }
    metadata
}

/// Turns stored nodes into displayed nodes.
#[derive(Clone)]
pub struct NodeRenderer {
    /// Tags whose blocks are hidden in displayed texts.
    pub hide_tags: Arc<[String]>,
    /// Source of the text of running replies; `None` = nodes are shown as stored.
    pub live: Option<Arc<LiveSessions>>,
    /// Access to plugins that render replies; `None` = they are not called.
    pub turns: Option<TurnEngine>,
}

impl NodeRenderer {
    /// Converts a node without its siblings.
    pub fn node(&self, dressed: NodeDetails) -> ChatMessageNode {
        let (children, notes, problems) = (dressed.children, dressed.notes, dressed.problems);
        let node = dressed.node.node;
        let mut shown = ChatMessageNode {
            id: WireId(node.id),
            parent_id: node.parent.map(WireId),
            children_ids: wire_ids(&children),
            role: node.role.into(),
            kind: node.kind.into(),
            name: node.name,
            author_id: node.author.map(WireId),
            persona_id: node.persona.map(WireId),
            character_id: node.character.map(WireId),
            display: self.display(node.role.code(), &node.content),
            content: node.content,
            reasoning: node.reasoning,
            status: node.status.into(),
            is_enabled: node.is_enabled,
            effects: node.effects.into(),
            is_unread: node.is_unread,
            notes: notes.into_iter().map(NodeNoteResponse::from).collect(),
            problems: problems.into_iter().map(NodeProblemResponse::from).collect(),
            timestamp: node.created.to_string(),
            depth: node.depth,
            turn: node.turn,
            metadata: known(node.metadata, node.rating),
            siblings: None,
            is_unasked: false,
        };
        if shown.status == Status::Generating {
            self.fill_running_text(&mut shown);
        }
        shown
    }

    /// Converts nodes with their siblings. Rendering by plugins follows after the snapshot is closed, with
    /// [`NodeRenderer::ask`].
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn line(
        &self,
        reader: &mut StoreReader<'_>,
        dressed: impl IntoIterator<Item = NodeDetails>,
    ) -> Result<Vec<ChatMessageNode>, ApiError> {
        let display = self.turns.as_ref().and_then(TurnEngine::display);
        let one = |dressed: NodeDetails| {
            let is_unasked = match &display {
                Some(display) => display.asks(reader, &dressed.node)?,
                None => false,
            };
            let siblings = SiblingsResponse::from(&dressed.siblings);
            let mut node = ChatMessageNode { siblings: Some(siblings), is_unasked, ..self.node(dressed) };
            if !is_unasked {
                node.remove_panel_placeholders();
            }
            Ok(node)
        };
        dressed.into_iter().map(one).collect()
    }

    /// Calls the plugins that render nodes of a branch.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub async fn ask<'n>(
        &self,
        caller: UserId,
        session: SessionId,
        nodes: impl IntoIterator<Item = &'n mut ChatMessageNode>,
    ) -> Result<(), ApiError> {
        let mut nodes: Vec<&mut ChatMessageNode> = nodes.into_iter().filter(|node| node.is_unasked).collect();
        let display = self.turns.as_ref().filter(|_| !nodes.is_empty()).and_then(TurnEngine::display);
        let texts: Vec<(NodeId, String)> = nodes.iter().map(|node| (node.id.0, node.shown_text().to_owned())).collect();
        let displayed = match display {
            Some(display) => display.show(caller, session, &texts).await?,
            None => Vec::new(),
        };
        for (node, DisplayResult { text, problems }) in nodes.iter_mut().zip(displayed) {
            node.display = text.filter(|text| *text != node.content).or_else(|| node.display.take());
            // The reply may already have the problem that a plugin is disabled.
            let news = problems.into_iter().map(NodeProblemResponse::from).filter(|new| !node.problems.contains(new));
            let news: Vec<NodeProblemResponse> = news.collect();
            node.problems.extend(news);
        }
        for node in nodes {
            node.is_unasked = false;
            node.remove_panel_placeholders();
        }
        Ok(())
    }

    /// Returns the displayed text for a role ([`tree::Role::code`]), if it differs from the content. Only assistant
    /// texts are changed.
    pub fn display(&self, role: i16, content: &str) -> Option<String> {
        let is_written = role == tree::Role::Assistant.code();
        let hidden = is_written.then(|| tags::hide_blocks(content, &self.hide_tags))?;
        hidden.filter(|shown| shown != content)
    }

    /// Returns the start of the displayed text on one line, at most `most` characters.
    pub fn preview(&self, node: &tree::Node, most: usize) -> String {
        let shown = self.display(node.role.code(), &node.content);
        let words = shown.as_deref().unwrap_or(&node.content).split_whitespace();
        words.collect::<Vec<_>>().join(" ").chars().take(most).collect()
    }

    /// Fills in the text received so far of a running reply.
    fn fill_running_text(&self, node: &mut ChatMessageNode) {
        let Some(running) = self.live.as_ref().and_then(|live| live.running(node.id.0)) else { return };
        running.with_partial_text(|written| {
            node.content.clone_from(&written.content);
            node.reasoning = Some(written.reasoning.clone()).filter(|text| !text.is_empty());
        });
        let phase = running.phase();
        node.metadata.insert("phase".into(), phase.word.into());
        if let Some(place) = phase.place {
            node.metadata.insert("queuePosition".into(), place.into());
        }
    }
}

impl ChatMessageNode {
    /// Returns the displayed text so far.
    fn shown_text(&self) -> &str {
        self.display.as_deref().unwrap_or(&self.content)
    }

    /// Removes panel placeholders that no plugin has replaced.
    fn remove_panel_placeholders(&mut self) {
        if self.role == Role::Assistant {
            self.display = tags::remove_status_placeholders(self.shown_text()).or_else(|| self.display.take());
        }
    }
}

impl From<&tree::SiblingPosition> for SiblingsResponse {
    fn from(siblings: &tree::SiblingPosition) -> Self {
        Self { index: siblings.index, count: siblings.ids.len(), ids: wire_ids(&siblings.ids) }
    }
}

impl From<tree::NodeNote> for NodeNoteResponse {
    fn from(note: tree::NodeNote) -> Self {
        Self { plugin: note.plugin, text: note.text, code: note.code, args: note.args }
    }
}

impl From<tree::NodeProblem> for NodeProblemResponse {
    fn from(trouble: tree::NodeProblem) -> Self {
        Self { code: trouble.code, args: trouble.args, message: trouble.message, plugin: trouble.plugin }
    }
}
