//! A node as people and programs see it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::enums::{Effects, Kind, Role, Status};
use super::ids::{WireCharacterId, WireId, WireNodeId, WirePersonaId, WireUserId, wire_ids};
use super::world::{DeltaResponse, TraceResponse, WorldStateSchema};
use crate::http::error::ApiError;
use clotho_compat::prompt::tags;
use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::tree;
use clotho_engine::live::LiveSessions;
use clotho_engine::turn::{DisplayResult, TurnEngine};
use clotho_store::{NodeDetails, StoreReader};

/// One message of a tree.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatMessageNode {
    /// Its id.
    pub id: WireNodeId,
    /// Its parent; null only for the root.
    pub parent_id: Option<WireNodeId>,
    /// Its children in creation order.
    pub children_ids: Vec<WireNodeId>,
    /// Who it speaks as.
    pub role: Role,
    /// What it is for.
    pub kind: Kind,
    /// The speaker's name.
    pub name: Option<String>,
    /// The user who wrote it or asked for it.
    pub author_id: Option<WireUserId>,
    /// The author's persona.
    pub persona_id: Option<WirePersonaId>,
    /// The character that speaks.
    pub character_id: Option<WireCharacterId>,
    /// The text exactly as received.
    pub content: String,
    /// The text as shown, where it differs: without what models write for machines, and as plugins show it (in whole trees
    /// without the latter).
    pub display: Option<String>,
    /// The model's thinking.
    pub reasoning: Option<String>,
    /// Where it stands in its life.
    pub status: Status,
    /// Whether its text is part of prompts and of the chat view.
    pub is_enabled: bool,
    /// Whether what it does to the world counts.
    pub effects: Effects,
    /// Whether it is a reply that ended where nobody looked: HEAD was never on it or below.
    pub is_unread: bool,
    /// Lines under it that plugins wrote.
    pub notes: Vec<NodeNoteResponse>,
    /// What went wrong while it was made.
    pub problems: Vec<NodeProblemResponse>,
    /// When it was made.
    pub timestamp: String,
    /// Edges from the root.
    pub depth: i32,
    /// The number of the turn.
    pub turn: i32,
    /// Everything else known: `model, params, seed, phase, queuePosition, finishReason, isTruncated, error, latencyMs,
    /// firstTokenMs, tokenCount, cost, costFrom, rating, editedFrom, …`.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    /// Its place among its siblings, in views that show one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub siblings: Option<SiblingsResponse>,
    /// Whether plugins have a say in how it is shown, and were not asked yet ([`NodeRenderer::ask`]).
    #[serde(skip)]
    pub is_unasked: bool,
}

/// A place among siblings.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Siblings)]
pub struct SiblingsResponse {
    /// Counted from 0.
    pub index: usize,
    /// How many there are.
    pub count: usize,
    /// All of them in creation order.
    pub ids: Vec<WireNodeId>,
}

/// A visible line under a node.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Note)]
pub struct NodeNoteResponse {
    /// The plugin that wrote it.
    pub plugin: String,
    /// The line.
    pub text: String,
}

/// Something that went wrong while a node was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct NodeProblemResponse {
    /// A stable word.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// The plugin it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
}

/// A node with what was asked for beside it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeResponse {
    /// The node.
    #[serde(flatten)]
    pub node: ChatMessageNode,
    /// The world after it (`expand=world`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub world: Option<Value>,
    /// The schemas in force at it (`expand=world`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schemas: Option<Vec<WorldStateSchema>>,
    /// What it does to the world (`expand=delta`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<DeltaResponse>,
    /// Why it exists (`expand=trace`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceResponse>,
}

/// What comes with a node.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct NodeQuery {
    /// Any of `world`, `trace`, `delta`, with commas.
    pub expand: Option<String>,
}

/// The other versions of a node.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AlternativesResponse {
    /// The node that was asked about.
    pub node_id: WireNodeId,
    /// The parent they share.
    pub parent_id: Option<WireNodeId>,
    /// The one that the session remembers, else the newest complete one.
    pub selected_id: Option<WireNodeId>,
    /// All versions in creation order, the node itself included.
    pub items: Vec<ChatMessageNode>,
    /// For a node that a model answers: its replies in creation order.
    pub generations: Vec<ChatMessageNode>,
    /// The chosen reply among `generations`.
    pub selected_generation_id: Option<WireNodeId>,
}

/// What is known of a node, its stars among it.
pub fn known(mut metadata: Map<String, Value>, rating: Option<u8>) -> Map<String, Value> {
    if let Some(stars) = rating {
        metadata.insert("rating".into(), stars.into());
    }
    metadata
}

/// How nodes are shown.
#[derive(Clone)]
pub struct NodeRenderer {
    /// Tags whose blocks readers do not see.
    pub hide_tags: Arc<[String]>,
    /// Where the texts of running replies are; `None` = shown as stored.
    pub live: Option<Arc<LiveSessions>>,
    /// Where plugins are that have a say in how replies are shown; `None` = they are not asked.
    pub turns: Option<TurnEngine>,
}

impl NodeRenderer {
    /// A node without its siblings.
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

    /// Nodes with their siblings, as people read them: but for what plugins say of some, who are asked when the snapshot is
    /// closed ([`NodeRenderer::ask`]).
    ///
    /// # Errors
    /// The database fails.
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

    /// Lets plugins have their say in how nodes of a line are shown.
    ///
    /// # Errors
    /// The database fails.
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
            // That a plugin is switched off may stand with the reply already.
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

    /// The text of somebody in this role ([`tree::Role::code`]) as shown, where it differs. What people write is shown as it stands.
    pub fn display(&self, role: i16, content: &str) -> Option<String> {
        let is_written = role == tree::Role::Assistant.code();
        let hidden = is_written.then(|| tags::hide_blocks(content, &self.hide_tags))?;
        hidden.filter(|shown| shown != content)
    }

    /// How a message begins as readers see it, on one line; at most `most` characters.
    pub fn preview(&self, node: &tree::Node, most: usize) -> String {
        let shown = self.display(node.role.code(), &node.content);
        let words = shown.as_deref().unwrap_or(&node.content).split_whitespace();
        words.collect::<Vec<_>>().join(" ").chars().take(most).collect()
    }

    /// What has arrived of a running reply.
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
    /// The text as it is shown so far.
    fn shown_text(&self) -> &str {
        self.display.as_deref().unwrap_or(&self.content)
    }

    /// Where nobody drew a panel, its place is nothing to read.
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
        Self { plugin: note.plugin, text: note.text }
    }
}

impl From<tree::NodeProblem> for NodeProblemResponse {
    fn from(trouble: tree::NodeProblem) -> Self {
        Self { code: trouble.code, message: trouble.message, plugin: trouble.plugin }
    }
}
