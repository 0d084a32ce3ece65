//! A session as a user plays it: short methods for what a test does and checks.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::oplog::Operation;
use clotho_core::tree::{Delta, Node, Role, Session, Status};
use clotho_core::world::{Pointer, World};
use clotho_engine::live::{PartialText, RunningReply};
use clotho_engine::turn::{
    EditSpec, GenerationSpec, MessageSpec, PluginChoice, RebuiltPrompt, RegenerateSpec, ReplySuggestions, SessionSpec,
    StaleHeadPolicy, TurnError, TurnReceipt, read_trace,
};
use clotho_store::{Actor, NodePage, NodeStateUpdate, PathFilter, StoreError, StoreReader};
use serde_json::{Value, json};

use super::app::TestApp;

/// How long a test waits for something before it fails. Only a failing test waits this long.
const GIVE_UP: Duration = Duration::from_secs(60);

/// A session and its player.
#[derive(Clone, Copy)]
pub struct TestSession<'a> {
    pub app: &'a TestApp,
    /// The player.
    pub user: UserId,
    pub id: SessionId,
}

/// A message and its reply.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The user's node.
    pub user_node: NodeId,
    /// The finished reply.
    pub reply: Node,
}

/// Waits for a future and fails after a minute.
pub async fn with_timeout<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(GIVE_UP, what).await.expect("waited in vain")
}

/// Returns a message below a node that asks for one reply; change what differs.
pub fn message_spec(parent: NodeId, content: &str) -> MessageSpec {
    MessageSpec {
        parent,
        content: content.to_owned(),
        role: Role::User,
        name: None,
        persona: None,
        generate: Some(GenerationSpec::default()),
        move_head: true,
        expected_leaf: None,
        on_stale: StaleHeadPolicy::Refuse,
        time_zone: None,
    }
}

/// Returns an edit with default options.
pub fn edit_spec(content: &str) -> EditSpec {
    EditSpec {
        content: content.to_owned(),
        move_children: false,
        generate: None,
        move_head: true,
        expected_leaf: None,
        time_zone: None,
    }
}

/// Returns the choice of an enabled plugin with default settings.
pub fn enabled_plugin(id: &str) -> PluginChoice {
    PluginChoice::enable(id, serde_json::Map::new())
}

/// Returns the card of most stories.
pub fn rin_card() -> Value {
    json!({"name": "Rin", "systemPrompt": "Be {{char}}.", "firstMessage": "Hello, {{user}}."})
}

/// Returns the messages of a model request as pairs of role and text.
pub fn request_messages(body: &Value) -> Vec<(&str, &str)> {
    let messages = body["messages"].as_array().unwrap().iter();
    messages.map(|one| (one["role"].as_str().unwrap(), one["content"].as_str().unwrap())).collect()
}

impl<'a> TestSession<'a> {
    /// Creates a story with [`rin`] and these plugins.
    pub async fn create(app: &'a TestApp, plugins: &[&str]) -> Self {
        let character = app.add_character(rin_card()).await;
        let plugins = Some(plugins.iter().map(|id| enabled_plugin(id)).collect());
        Self::create_with_spec(app, SessionSpec { character_ids: vec![character], plugins, ..SessionSpec::default() })
            .await
    }

    /// Creates a story of the owner.
    pub async fn create_with_spec(app: &'a TestApp, new: SessionSpec) -> Self {
        let id = app.turns.sessions.begin(app.owner, new).await.unwrap();
        Self { app, user: app.owner, id }
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut StoreReader<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> T {
        self.app.store.read(read).await.unwrap()
    }

    /// Returns the session.
    pub async fn session(&self) -> Session {
        let (user, id) = (self.user, self.id);
        self.read(move |reader| Ok(reader.session(user, id)?.unwrap().session)).await
    }

    /// Returns HEAD.
    pub async fn head(&self) -> NodeId {
        self.session().await.head
    }

    /// Returns a node.
    pub async fn node(&self, node: NodeId) -> Node {
        let (user, id) = (self.user, self.id);
        self.read(move |reader| {
            let held = reader.session(user, id)?.unwrap();
            Ok(reader.node(&held, node)?.unwrap().node)
        })
        .await
    }

    /// Returns the children of a node.
    pub async fn children(&self, node: NodeId) -> Vec<Node> {
        let (user, id) = (self.user, self.id);
        let placed = self.read(move |reader| {
            let held = reader.session(user, id)?.unwrap();
            reader.children(&held, node)
        });
        placed.await.into_iter().map(|placed| placed.node).collect()
    }

    /// Returns the world after a node.
    pub async fn world(&self, node: NodeId) -> Arc<World> {
        let (user, id) = (self.user, self.id);
        self.read(move |reader| {
            let held = reader.session(user, id)?.unwrap();
            let placed = reader.node(&held, node)?.unwrap();
            reader.world(&held, &placed)
        })
        .await
    }

    /// Returns a value of the world after a node; null if there is none.
    pub async fn var(&self, node: NodeId, path: &str) -> Value {
        let path: Pointer = path.parse().unwrap();
        self.world(node).await.get(&path).cloned().unwrap_or_default()
    }

    /// Returns the delta of a node.
    pub async fn delta(&self, node: NodeId) -> Delta {
        let (user, id) = (self.user, self.id);
        self.read(move |reader| {
            let held = reader.session(user, id)?.unwrap();
            let placed = reader.node(&held, node)?.unwrap();
            reader.delta(&placed)
        })
        .await
    }

    /// Returns the ids of the plugins in force at a node.
    pub async fn active_plugin_ids(&self, node: NodeId) -> Vec<String> {
        let (user, id) = (self.user, self.id);
        let rules = self.read(move |reader| {
            let held = reader.session(user, id)?.unwrap();
            let placed = reader.node(&held, node)?.unwrap();
            reader.rules(&placed)
        });
        rules.await.plugins.iter().map(|plugin| plugin.id.clone()).collect()
    }

    /// Returns the path to a node as the chat view shows it, oldest first, with disabled nodes.
    pub async fn path(&self, leaf: NodeId) -> Vec<Node> {
        self.path_with_filter(leaf, PathFilter::WithDisabled).await
    }

    /// Returns the path to a node through a filter.
    pub async fn path_with_filter(&self, leaf: NodeId, show: PathFilter) -> Vec<Node> {
        let (user, id) = (self.user, self.id);
        let page = self.read(move |reader| {
            let held = reader.session(user, id)?.unwrap();
            reader.page(&held, leaf, None, 100_000, show)
        });
        let NodePage { nodes, .. } = page.await;
        nodes.into_iter().map(|placed| placed.node).collect()
    }

    /// Returns the whole operation log.
    pub async fn log(&self) -> Vec<Operation> {
        let (user, id) = (self.user, self.id);
        self.read(move |reader| {
            let held = reader.session(user, id)?.unwrap();
            reader.operations(&held, 0, 1_000_000)
        })
        .await
    }

    /// Returns the rebuilt prompt of a reply.
    pub async fn trace(&self, node: NodeId) -> RebuiltPrompt {
        self.find_trace(node).await.unwrap()
    }

    /// Returns the rebuilt prompt of a reply, if it has a trace.
    pub async fn find_trace(&self, node: NodeId) -> Option<RebuiltPrompt> {
        let (user, session) = (self.user, self.id);
        let read = move |reader: &mut StoreReader<'_>| {
            let held = reader.session(user, session)?.unwrap();
            let placed = reader.node(&held, node)?.unwrap();
            read_trace(reader, &held, &placed)
        };
        self.app.store.read(read).await.unwrap()
    }

    /// Returns whether the session has a node.
    pub async fn has_node(&self, node: NodeId) -> bool {
        let (user, session) = (self.user, self.id);
        let read = move |reader: &mut StoreReader<'_>| {
            let held = reader.session(user, session)?.unwrap();
            Ok::<_, StoreError>(reader.node(&held, node)?.is_some())
        };
        self.app.store.read(read).await.unwrap()
    }

    /// Returns the quick replies that plugins offer at a node.
    pub async fn quick_replies(&self, node: NodeId) -> ReplySuggestions {
        let (user, session, turns) = (self.user, self.id, self.app.turns.clone());
        let tip = self.app.store.read(move |reader| turns.views.read_leaf(reader, user, session, node)).await.unwrap();
        self.app.turns.views.suggest_replies(tip).await
    }

    /// Sends a message.
    pub async fn send(&self, new: MessageSpec) -> Result<TurnReceipt, TurnError> {
        self.app.turns.replies.send_message(self.user, self.id, new).await
    }

    /// Sends a text at HEAD and asks for one reply.
    pub async fn start_turn(&self, text: &str) -> TurnReceipt {
        self.send(message_spec(self.head().await, text)).await.unwrap()
    }

    /// Sends a text at HEAD and waits for its reply.
    pub async fn run_turn(&self, text: &str) -> Turn {
        self.run_turn_at(self.head().await, text).await
    }

    /// Sends a text below a node and waits for its reply.
    pub async fn run_turn_at(&self, parent: NodeId, text: &str) -> Turn {
        let started = self.send(message_spec(parent, text)).await.unwrap();
        Turn { user_node: started.node.unwrap(), reply: self.wait_for_reply(started.generations[0]).await }
    }

    /// Writes a message without a reply.
    pub async fn write_message(&self, parent: NodeId, text: &str) -> NodeId {
        self.send(MessageSpec { generate: None, ..message_spec(parent, text) }).await.unwrap().node.unwrap()
    }

    /// Asks for other replies.
    pub async fn regenerate(&self, node: NodeId, generate: GenerationSpec) -> Result<TurnReceipt, TurnError> {
        self.reroll_with_spec(RegenerateSpec { node, generate, move_head: true, expected_leaf: None }).await
    }

    /// Asks for other replies with all options given.
    pub async fn reroll_with_spec(&self, asked: RegenerateSpec) -> Result<TurnReceipt, TurnError> {
        self.app.turns.replies.regenerate(self.user, self.id, asked).await
    }

    /// Asks for another reply and waits for it.
    pub async fn regenerate_and_wait(&self, node: NodeId) -> Node {
        let started = self.regenerate(node, GenerationSpec::default()).await.unwrap();
        self.wait_for_reply(started.generations[0]).await
    }

    /// Edits a message.
    pub async fn edit(&self, node: NodeId, edit: EditSpec) -> Result<TurnReceipt, TurnError> {
        self.app.turns.replies.edit(self.user, self.id, node, edit).await
    }

    /// Stops a reply.
    pub async fn cancel(&self, node: NodeId) -> Result<(), TurnError> {
        self.app.turns.replies.cancel_reply(self.user, self.id, node).await
    }

    /// Returns the actor for direct writes to the store.
    pub fn actor(&self) -> Actor {
        Actor { user: self.user, at: self.app.clock.now(), expected_leaf: None }
    }

    /// Moves HEAD to exactly this node.
    pub async fn checkout(&self, node: NodeId) {
        let (actor, id) = (self.actor(), self.id);
        self.app.store.write(move |tx| tx.checkout(&actor, id, node, true)).await.unwrap();
    }

    /// Enables or disables a node.
    pub async fn set_enabled(&self, node: NodeId, is_enabled: bool) {
        let (actor, id) = (self.actor(), self.id);
        let update =
            NodeStateUpdate { node, is_enabled: Some(is_enabled), effects: None, rating: None, is_unread: None };
        self.app.store.write(move |tx| tx.set_state(&actor, id, &[update])).await.unwrap();
    }

    /// Changes a setting of the session.
    pub async fn set_setting(&self, name: &str, to: Value) {
        let (actor, id, setting) = (self.actor(), self.id, (name.to_owned(), to));
        self.app.store.write(move |tx| tx.set_settings(&actor, id, std::slice::from_ref(&setting))).await.unwrap();
    }

    /// Sets the session's plugins; returns the operation number.
    pub async fn set_plugins(&self, ids: &[&str]) -> Result<i64, TurnError> {
        let set = self
            .app
            .turns
            .sessions
            .set_plugins(self.user, self.id, ids.iter().map(|id| enabled_plugin(id)).collect())
            .await;
        set.map(|set| set.op)
    }

    /// Returns a reply that is being written.
    pub fn running_reply(&self, node: NodeId) -> Arc<RunningReply> {
        self.app.live.running_reply(node).expect("the reply is not being written")
    }

    /// Waits until a reply has ended and returns it.
    pub async fn wait_for_reply(&self, node: NodeId) -> Node {
        // Subscribe before reading, so that the end cannot be missed in between.
        let mut watcher = self.app.live.watch(self.id);
        with_timeout(async {
            loop {
                let now = self.node(node).await;
                if now.status != Status::Generating {
                    return now;
                }
                watcher.changed().await;
            }
        })
        .await
    }

    /// Waits until the partial text of a reply fits.
    pub async fn wait_for_partial_text(&self, node: NodeId, wanted: impl Fn(&PartialText) -> bool) -> PartialText {
        let mut watcher = self.app.live.watch(self.id);
        with_timeout(async {
            loop {
                let written = self.running_reply(node).partial_text();
                if wanted(&written) {
                    return written;
                }
                watcher.changed().await;
            }
        })
        .await
    }

    /// Waits until the text of a running reply is exactly `text`.
    pub async fn wait_for_text(&self, node: NodeId, text: &str) {
        self.wait_for_partial_text(node, |written| written.content == text).await;
    }
}
