//! A node as people see it: its displayed text, and the text of a running reply so far.

use std::sync::Arc;

use clotho_compat::prompt::tags;
use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::tree::{Node, NodeNote, NodeProblem, Role, SiblingPosition, Status};
use clotho_engine::live::LiveSessions;
use clotho_engine::turn::{DisplayResult, TurnViews};
use clotho_store::{NodeDetails, StoreReader, StoredSession};

use crate::error::ReadError;

/// A node as people see it.
#[derive(Debug, Clone)]
pub struct NodeView {
    /// The node. A running reply has the text received so far.
    pub node: Node,
    /// Its children, in creation order.
    pub children: Vec<NodeId>,
    /// Its position among its siblings; only in views of one branch.
    pub siblings: Option<SiblingPosition>,
    pub notes: Vec<NodeNote>,
    pub problems: Vec<NodeProblem>,
    /// The displayed text, if it differs from the content.
    pub display: Option<String>,
    /// Whether plugins may render this node but have not been called yet ([`NodeRenderer::apply_plugin_display`]).
    pub needs_plugin_display: bool,
}

impl NodeView {
    /// Returns the displayed text so far.
    pub fn shown_text(&self) -> &str {
        self.display.as_deref().unwrap_or(&self.node.content)
    }

    /// Removes panel placeholders that no plugin has replaced.
    fn remove_panel_placeholders(&mut self) {
        if self.node.role == Role::Assistant {
            self.display = tags::remove_status_placeholders(self.shown_text()).or_else(|| self.display.take());
        }
    }
}

/// Turns stored nodes into displayed nodes.
#[derive(Clone)]
pub struct NodeRenderer {
    /// Tags whose blocks are hidden in displayed texts.
    pub hide_tags: Arc<[String]>,
    /// Source of the text of running replies; `None` = nodes are shown as stored.
    pub live: Option<Arc<LiveSessions>>,
    /// Access to plugins that render replies; `None` = they are not called.
    pub turns: Option<TurnViews>,
}

impl NodeRenderer {
    /// Renders a node without its siblings.
    pub fn node(&self, dressed: NodeDetails) -> NodeView {
        let (children, notes, problems) = (dressed.children, dressed.notes, dressed.problems);
        let mut node = dressed.node.node;
        node.metadata.drop_shown_keys();
        let display = self.display(node.role.code(), &node.content, node.reasoning.is_some());
        // Older and imported messages have their thoughts in the text.
        if display.is_some() && node.reasoning.is_none() {
            node.reasoning = tags::thoughts_in(&node.content, &self.hide_tags);
        }
        let mut shown =
            NodeView { node, children, siblings: None, notes, problems, display, needs_plugin_display: false };
        if shown.node.status == Status::Generating {
            self.fill_running_text(&mut shown.node);
        }
        shown
    }

    /// Renders nodes with their siblings. Rendering by plugins follows after the snapshot is closed, with
    /// [`NodeRenderer::apply_plugin_display`].
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn line(
        &self,
        reader: &mut StoreReader<'_>,
        dressed: impl IntoIterator<Item = NodeDetails>,
    ) -> Result<Vec<NodeView>, ReadError> {
        let display = self.turns.as_ref().and_then(TurnViews::display);
        let one = |dressed: NodeDetails| {
            let needs_plugin_display = match &display {
                Some(display) => display.has_display_hook(reader, &dressed.node)?,
                None => false,
            };
            let siblings = Some(dressed.siblings.clone());
            let mut node = NodeView { siblings, needs_plugin_display, ..self.node(dressed) };
            if !needs_plugin_display {
                node.remove_panel_placeholders();
            }
            Ok(node)
        };
        dressed.into_iter().map(one).collect()
    }

    /// Renders nodes by id, before plugins render them; unknown ids are left out.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn nodes(
        &self,
        reader: &mut StoreReader<'_>,
        stored: &StoredSession,
        ids: &[NodeId],
    ) -> Result<Vec<NodeView>, ReadError> {
        let placed = reader.nodes(stored, ids)?;
        let dressed = reader.node_details(placed)?;
        self.line(reader, dressed)
    }

    /// Calls the plugins that render nodes of a branch.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub async fn apply_plugin_display<'n>(
        &self,
        caller: UserId,
        session: SessionId,
        nodes: impl IntoIterator<Item = &'n mut NodeView>,
    ) -> Result<(), ReadError> {
        let mut nodes: Vec<&mut NodeView> = nodes.into_iter().filter(|node| node.needs_plugin_display).collect();
        let display = self.turns.as_ref().filter(|_| !nodes.is_empty()).and_then(TurnViews::display);
        let texts: Vec<(NodeId, String)> =
            nodes.iter().map(|node| (node.node.id, node.shown_text().to_owned())).collect();
        let displayed = match display {
            Some(display) => display.show(caller, session, &texts).await?,
            None => Vec::new(),
        };
        for (node, DisplayResult { text, problems }) in nodes.iter_mut().zip(displayed) {
            node.display = text.filter(|text| *text != node.node.content).or_else(|| node.display.take());
            // The reply may already have the problem that a plugin is disabled.
            let news: Vec<NodeProblem> = problems.into_iter().filter(|new| !node.problems.contains(new)).collect();
            node.problems.extend(news);
        }
        for node in nodes {
            node.needs_plugin_display = false;
            node.remove_panel_placeholders();
        }
        Ok(())
    }

    /// Returns the displayed text for a role ([`Role::code`]), if it differs from the content. Only assistant texts are
    /// changed.
    pub fn display(&self, role: i16, content: &str, has_reasoning: bool) -> Option<String> {
        let is_written = role == Role::Assistant.code();
        let hidden = is_written.then(|| tags::hide_blocks(content, has_reasoning, &self.hide_tags))?;
        hidden.filter(|shown| shown != content)
    }

    /// Returns the start of the displayed text on one line, at most `most` characters.
    pub fn preview(&self, node: &Node, most: usize) -> String {
        let shown = self.display(node.role.code(), &node.content, node.reasoning.is_some());
        let words = shown.as_deref().unwrap_or(&node.content).split_whitespace();
        words.collect::<Vec<_>>().join(" ").chars().take(most).collect()
    }

    /// Fills in the text received so far of a running reply.
    fn fill_running_text(&self, node: &mut Node) {
        let Some(running) = self.live.as_ref().and_then(|live| live.running_reply(node.id)) else { return };
        running.with_partial_text(|written| {
            node.content.clone_from(&written.content);
            node.reasoning = Some(written.reasoning.clone()).filter(|text| !text.is_empty());
        });
        let phase = running.phase();
        node.metadata.rest.insert("phase".into(), phase.word.into());
        if let Some(place) = phase.place {
            node.metadata.rest.insert("queuePosition".into(), place.into());
        }
    }
}
