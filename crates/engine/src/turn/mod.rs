//! The steps of one turn and their order: input, node, 202, prompt, stream, rules, commit.
//!
//! [`TurnEngine`] is the entry point: begin, message, reroll, continue, edit, cancel, change. `requests.rs` has the
//! request types. Each request runs on the server's own task, so a client that disconnects changes nothing. The
//! modules, in the order of a turn:
//!
//! - `start/`: everything up to commit 1, which writes the user's node and the placeholders.
//! - `rules/`: runs the rules of a session. `snapshot.rs` reads what they need at a node, `cast.rs` reads who plays.
//! - `ask/`: builds the prompt. `models/` resolves model names, `tools/` has the tools that a model may call.
//! - `reply/`: one reply up to commit 2, driven by the actions of `machine/`, which is pure.
//! - `side_calls/`: model calls that are not replies. `summarizer.rs` summarises what no longer fits the prompt.
//!
//! Not part of a turn: `draft.rs` has a model write text that becomes no node. `preview.rs` builds a prompt without
//! sending it, and `lore_test.rs` tests which lore fires. `display.rs` lets plugins change how replies are shown, and
//! `display_cache.rs` caches that. `hook_trial/` tries a hook without writing, and replays rules.
//!
//! To add a step to the turn, call it in `start/` or `reply/runner.rs` and put its facts in the trace. To add a hook,
//! see [`clotho_plugin`], then call it in `rules/`.

mod ask;
mod cast;
mod display;
mod display_cache;
mod draft;
mod hook_trial;
mod lore_test;
pub mod machine;
mod models;
mod preview;
mod problem;
mod reply;
mod requests;
mod rules;
mod side_calls;
mod snapshot;
mod start;
mod summarizer;
mod tools;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::de::DeserializeOwned;
use tokio::runtime::Handle;

use crate::live::LiveSessions;
use clotho_config::Config;
use clotho_core::clock::{Clock, IdGenerator};
use clotho_core::coded_message::RenderedMessage;
use clotho_core::ids::{DraftId, NodeId, SessionId, SummaryId, UserId};
use clotho_core::tree::edit::TreeError;
use clotho_plugin::{InstalledPlugins, ScriptHost};
use clotho_provider::{Embedder, ProviderClient};
use clotho_store::{
    ArrangeResult, ExpectedVersion, IdempotencyClaim, Store, StoreError, StoreReader, StoredNode, StoredSession,
    WriteError,
};

pub use ask::lore::world_info_settings as lore_settings;
pub use ask::preset_selection::parse_preset as preset;
pub use ask::recall::{RankedDocument, RankedDocuments};
pub use ask::regex_scripts::{
    DisplayScripts as ShownScripts, ScopedScript as KnownScript, known as scripts, shown as shown_scripts,
};
pub use ask::summary_block::BranchSummary;
pub use ask::trace::{RebuiltPrompt, read_trace};
pub use display::ReplyDisplay;
pub use display_cache::DisplayResult;
pub use hook_trial::replay::{ReplayOutcome, ReplaySpec, ReplayStep};
pub use hook_trial::{HookTrialOutcome, HookTrialSpec};
pub use lore_test::LoreTestOutcome;
pub use models::connections;
pub use models::providers::ReplyCost;
pub use models::token_counters::unusable_files;
pub use models::{ModelCandidate, ModelRegistry, ModelSelection, ReplyWriter, SkippedModel, UnknownModelError};
pub use problem::{ModelCallProblem, TurnProblem};
pub use reply::autosave::SaveIntervals;
pub use requests::{
    ContinueSpec, EditSpec, GenerationSpec, ImpersonateSpec, LoreTestSpec, MessageSpec, PluginChoice, PreviewSpec,
    RerollSpec, SessionSpec, StaleHeadPolicy, SummarySpec, TurnReceipt,
};
pub use rules::metrics::HookMetric;
pub use snapshot::{LeafSnapshot, ReplySuggestions, SuggestedReply};
pub use start::change::PluginsUpdate;

/// The reason why a request failed. Nothing was written, unless the method says otherwise.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TurnError {
    /// The request does not fit the tree.
    #[error(transparent)]
    Refused(#[from] TreeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A plugin refused the input. The message is for the user.
    #[error("{message}")]
    InputRefused { plugin: String, message: String },
    /// The message is longer than a plugin that reads or answers it accepts.
    #[error("the plugin \"{plugin}\" reads messages of up to {} KiB", .most >> 10)]
    TooLong {
        plugin: String,
        /// The limit in bytes.
        most: usize,
    },
    #[error("too many replies are being generated")]
    TooMany,
    /// A model, plugin or setting is unknown or invalid.
    #[error("{message}")]
    Invalid {
        /// The field, as spelled in the HTTP API.
        field: &'static str,
        /// One sentence.
        message: String,
    },
    /// The server is shutting down, or the request's task failed.
    #[error("the server is shutting down")]
    Stopped,
}

impl From<WriteError> for TurnError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Refused(refusal) => Self::Refused(refusal),
            WriteError::Failed(error) => Self::Store(error),
        }
    }
}

/// The services that all turns share.
pub(crate) struct TurnServices {
    pub config: Arc<Config>,
    pub store: Arc<Store>,
    pub live: Arc<LiveSessions>,
    pub catalogue: Arc<InstalledPlugins>,
    pub models: Arc<ModelRegistry>,
    pub hooks: rules::hooks::HookRunner,
    /// Recent `on_display` results.
    pub shown: display_cache::DisplayCache,
    /// Lorebooks already read.
    pub lorebook_cache: Arc<ask::lorebook_cache::LorebookCache>,
    pub query_embedder: ask::recall::QueryEmbedder,
    pub summarizer: summarizer::Summarizer,
    /// Side calls of models for plugins.
    pub plugin_calls: side_calls::PluginModelCalls,
    /// Intervals of the autosave of running replies.
    pub save_intervals: SaveIntervals,
    /// The requests of running replies.
    pub requests: reply::requests::RunningRequests,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<IdGenerator>,
    /// Set at shutdown; no new work begins.
    pub is_stopping: AtomicBool,
}

impl TurnServices {
    /// Refreshes a provider's model list in the background if it is due. Later prompts use the new limits.
    pub fn refresh_if_due(&self, client: &ProviderClient) {
        if self.models.needs_refresh(&client.endpoint().id, self.clock.now()) {
            let (models, client) = (Arc::clone(&self.models), client.clone());
            tokio::spawn(async move { models.refresh_models(&client).await });
        }
    }
}

/// The entry point for everything a turn does.
#[derive(Clone)]
pub struct TurnEngine {
    services: Arc<TurnServices>,
    runtime: Handle,
}

/// The arguments of [`TurnEngine::new`].
pub struct TurnDeps {
    pub config: Arc<Config>,
    pub store: Arc<Store>,
    pub live: Arc<LiveSessions>,
    pub catalogue: Arc<InstalledPlugins>,
    pub models: Arc<ModelRegistry>,
    /// The embedding model, if one is configured.
    pub embedder: Option<Embedder>,
    /// Runs the scripts of plugins.
    pub host: Arc<dyn ScriptHost>,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<IdGenerator>,
    /// Intervals of the autosave of running replies.
    pub save_intervals: SaveIntervals,
}

impl TurnEngine {
    /// Creates an engine that runs turns on `runtime`.
    pub fn new(needs: TurnDeps, runtime: Handle) -> Self {
        let parts = TurnServices {
            hooks: rules::hooks::HookRunner::new(needs.host, Arc::clone(&needs.store), runtime.clone()),
            store: needs.store,
            live: needs.live,
            catalogue: needs.catalogue,
            query_embedder: ask::recall::QueryEmbedder::new(needs.config.recall.clone(), needs.embedder),
            models: needs.models,
            shown: display_cache::DisplayCache::default(),
            summarizer: summarizer::Summarizer::default(),
            plugin_calls: side_calls::PluginModelCalls::default(),
            lorebook_cache: Arc::default(),
            save_intervals: needs.save_intervals,
            config: needs.config,
            requests: reply::requests::RunningRequests::default(),
            clock: needs.clock,
            ids: needs.ids,
            is_stopping: AtomicBool::new(false),
        };
        Self { services: Arc::new(parts), runtime }
    }

    /// Returns what the hooks of each plugin have cost since the server started, by plugin and hook.
    pub fn hook_metrics(&self) -> Vec<((String, &'static str), HookMetric)> {
        self.services.hooks.metrics.all()
    }

    /// Creates a session: the root with its rules, the greetings, and HEAD on the first greeting.
    ///
    /// # Errors
    /// Returns an error if a character, persona, model or plugin does not exist, or the database fails.
    pub async fn begin(&self, caller: UserId, new: SessionSpec) -> Result<SessionId, TurnError> {
        let parts = Arc::clone(&self.services);
        self.run_once(async move { start::new_session::begin(&parts, caller, new).await }).await
    }

    /// Writes a message and starts its replies.
    ///
    /// # Errors
    /// See [`TurnError`]; nothing was written then.
    pub async fn message(
        &self,
        caller: UserId,
        session: SessionId,
        new: MessageSpec,
    ) -> Result<TurnReceipt, TurnError> {
        let turns = self.clone();
        self.run_once(async move { start::message(&turns, caller, session, new).await }).await
    }

    /// Starts other replies beside an assistant node, or below a context node.
    ///
    /// # Errors
    /// See [`TurnError`]; nothing was written then.
    pub async fn reroll(
        &self,
        caller: UserId,
        session: SessionId,
        asked: RerollSpec,
    ) -> Result<TurnReceipt, TurnError> {
        let turns = self.clone();
        let work = async move {
            let expected_leaf = side_calls::seen(&turns.services, caller, session, asked.expected_leaf).await?;
            start::reroll::reroll(&turns, caller, session, RerollSpec { expected_leaf, ..asked }).await
        };
        self.run_once(work).await
    }

    /// Starts another reply that continues the text of an existing one.
    ///
    /// # Errors
    /// Returns an error if the node is no reply with text, a plugin writes it, or as [`TurnError`] says. Nothing was
    /// written then.
    pub async fn continue_reply(
        &self,
        caller: UserId,
        session: SessionId,
        asked: ContinueSpec,
    ) -> Result<TurnReceipt, TurnError> {
        let turns = self.clone();
        let work = async move {
            let expected_leaf = side_calls::seen(&turns.services, caller, session, asked.expected_leaf).await?;
            start::reroll::continue_reply(&turns, caller, session, ContinueSpec { expected_leaf, ..asked }).await
        };
        self.run_once(work).await
    }

    /// Writes an edited version of a message as its sibling.
    ///
    /// # Errors
    /// See [`TurnError`]; nothing was written then.
    pub async fn edit(
        &self,
        caller: UserId,
        session: SessionId,
        node: NodeId,
        edit: EditSpec,
    ) -> Result<TurnReceipt, TurnError> {
        let turns = self.clone();
        let work = async move {
            let expected_leaf = side_calls::seen(&turns.services, caller, session, edit.expected_leaf).await?;
            start::edit::edit(&turns, caller, session, node, EditSpec { expected_leaf, ..edit }).await
        };
        self.run_once(work).await
    }

    /// Changes the world manually: writes a change node below `node`.
    ///
    /// # Errors
    /// Returns an error if the operations do not fit, or as [`TurnError`] says.
    pub async fn change_world(
        &self,
        caller: UserId,
        session: SessionId,
        node: NodeId,
        operations: Vec<clotho_core::world::StateOperation>,
        expected_leaf: Option<ExpectedVersion>,
    ) -> Result<TurnReceipt, TurnError> {
        let parts = Arc::clone(&self.services);
        self.run_once(
            async move { start::change::change(&parts, caller, session, node, operations, expected_leaf).await },
        )
        .await
    }

    /// Sets the plugins of a session. They apply from HEAD on; a change node records them.
    ///
    /// # Errors
    /// Returns an error if a plugin does not exist or its settings are invalid; nothing was written then.
    pub async fn set_plugins(
        &self,
        caller: UserId,
        session: SessionId,
        plugins: Vec<PluginChoice>,
    ) -> Result<PluginsUpdate, TurnError> {
        let parts = Arc::clone(&self.services);
        self.run_detached(async move { start::change::set_plugins(&parts, caller, session, plugins).await }).await
    }

    /// Starts a draft of the user's next message. Its text comes as events and stays readable for a while.
    ///
    /// # Errors
    /// Returns an error if the leaf does not exist, no model is available, or too many replies are running.
    pub async fn impersonate(
        &self,
        caller: UserId,
        session: SessionId,
        asked: ImpersonateSpec,
    ) -> Result<DraftId, TurnError> {
        let turns = self.clone();
        self.run_detached(async move { draft::impersonate(&turns, caller, session, asked).await }).await
    }

    /// Builds the prompt that sending would use. Writes nothing and runs no `on_input`.
    ///
    /// # Errors
    /// Returns an error if the node does not exist or cannot be answered, no model is available, or the database fails.
    pub async fn preview(
        &self,
        caller: UserId,
        session: SessionId,
        asked: PreviewSpec,
    ) -> Result<RebuiltPrompt, TurnError> {
        preview::preview(&self.services, caller, session, asked).await
    }

    /// Tests which lorebook entries would fire, and why. Writes nothing.
    ///
    /// # Errors
    /// Returns an error if something that is named does not exist, or the database fails.
    pub async fn test_lore(&self, caller: UserId, asked: LoreTestSpec) -> Result<LoreTestOutcome, TurnError> {
        lore_test::test_lore(&self.services, caller, asked).await
    }

    /// Returns the caller's documents in these collections that match a question best, at most `most`.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub async fn find_documents(
        &self,
        caller: UserId,
        collections: Vec<String>,
        question: String,
        most: usize,
    ) -> Result<RankedDocuments, StoreError> {
        let (parts, now) = (&self.services, self.services.clock.now());
        parts.query_embedder.search_documents(&parts.store, now, caller, collections, question, most).await
    }

    /// Returns the hash under which the vector of a text is stored.
    pub fn text_hash(&self, text: &str) -> blake3::Hash {
        self.services.query_embedder.hash(text)
    }

    /// Starts a draft of a summary of a run of messages; like [`TurnEngine::impersonate`].
    ///
    /// # Errors
    /// Returns an error if the messages are no run of one branch, no model is available, or too many replies are
    /// running.
    pub async fn summarise(
        &self,
        caller: UserId,
        session: SessionId,
        asked: SummarySpec,
    ) -> Result<DraftId, TurnError> {
        let turns = self.clone();
        self.run_detached(async move { draft::summarise(&turns, caller, session, asked).await }).await
    }

    /// Stops a running reply and keeps its text. Returns when the stop is requested; the end itself is an event.
    ///
    /// # Errors
    /// Returns an error if the node does not exist or the reply has already ended.
    pub async fn cancel_reply(&self, caller: UserId, session: SessionId, node: NodeId) -> Result<(), TurnError> {
        start::cancel_reply(&self.services, caller, session, node).await
    }

    /// Reads a leaf for [`TurnEngine::offered`], in the snapshot of an existing reader.
    ///
    /// # Errors
    /// Returns an error if the session or node does not exist, or the database fails.
    pub fn read_leaf(
        &self,
        reader: &mut StoreReader<'_>,
        caller: UserId,
        session: SessionId,
        leaf: NodeId,
    ) -> Result<LeafSnapshot, TurnError> {
        snapshot::read_leaf(reader, &snapshot::SnapshotQuery::at_node(&self.services, caller, session, leaf))
    }

    /// Returns the plugins known to be turned off in a session, without reading. Only plugins already used there are
    /// known.
    pub fn disabled_plugins(&self, session: SessionId) -> Vec<String> {
        self.services.hooks.known_disabled(session)
    }

    /// Returns the display of replies for one read; `None` if no plugin has `on_display`.
    pub fn display(&self) -> Option<ReplyDisplay> {
        ReplyDisplay::new(&self.services)
    }

    /// Tries a hook of a plugin on a message, optionally with unsaved code. Writes nothing.
    ///
    /// # Errors
    /// Returns an error if the session or message does not exist, or the database fails.
    pub async fn try_hook(&self, caller: UserId, trial: HookTrialSpec) -> Result<HookTrialOutcome, TurnError> {
        hook_trial::try_hook(&self.services, caller, trial).await
    }

    /// Replays the rules of a plugin along a branch, on a copy of the state. Writes nothing.
    ///
    /// # Errors
    /// Returns an error if the session or a message does not exist, or the database fails.
    pub async fn replay(&self, caller: UserId, asked: ReplaySpec) -> Result<ReplayOutcome, TurnError> {
        hook_trial::replay::replay(&self.services, caller, asked).await
    }

    /// Replays the rules of a plugin along a branch and writes the new deltas of its messages, in one step.
    ///
    /// # Errors
    /// Returns an error if the session or a message does not exist, other rules apply on the branch, a rule fails, the
    /// session changed meanwhile, or the database fails.
    pub async fn accept(&self, caller: UserId, asked: ReplaySpec) -> Result<(ReplayOutcome, ArrangeResult), TurnError> {
        hook_trial::replay::accept(&self.services, caller, asked).await
    }

    /// Asks the plugins for suggested replies at a leaf.
    pub async fn offered(&self, tip: LeafSnapshot) -> ReplySuggestions {
        snapshot::suggest_replies(&self.services, tip).await
    }

    /// Ends orphaned replies: those that a crash left generating become `error: interrupted` and keep their partial
    /// text. Runs once at startup, before the server accepts requests.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub async fn end_interrupted_replies(&self) -> Result<usize, TurnError> {
        reply::autosave::end_orphans(&self.services).await
    }

    /// Refreshes the model lists of all providers in the background, where due.
    pub fn refresh_models(&self) {
        let _runtime = self.runtime.enter();
        let clients: Vec<ProviderClient> = self.services.models.providers().map(|(_, client, _)| client).collect();
        clients.iter().for_each(|client| self.services.refresh_if_due(client));
    }

    /// Schedules a check whether the branch to a node needs more summaries.
    pub fn schedule_summary(&self, session: SessionId, leaf: NodeId) {
        self.services.summarizer.schedule(session, leaf);
    }

    /// Returns whether the summarizer is working on a session, and its last problem.
    pub fn summary_state(&self, session: SessionId) -> (bool, Option<RenderedMessage>) {
        self.services.summarizer.state(session)
    }

    /// Returns the summaries made on the branch to a node, including those that are no longer valid there.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn summaries(
        reader: &mut StoreReader<'_>,
        held: &StoredSession,
        at: &StoredNode,
    ) -> Result<Vec<BranchSummary>, StoreError> {
        ask::summary_block::of_branch(reader, held, at)
    }

    /// Returns one summary, as it is on the branch to HEAD.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn summary(
        reader: &mut StoreReader<'_>,
        held: &StoredSession,
        id: SummaryId,
    ) -> Result<Option<BranchSummary>, StoreError> {
        ask::summary_block::one(reader, held, id)
    }

    /// Starts the background tasks: the autosave of partial texts with its cleanup, and the summarizer.
    pub fn keep(&self) {
        let parts = Arc::clone(&self.services);
        self.runtime.spawn(async move { reply::autosave::keep(&parts).await });
        let parts = Arc::clone(&self.services);
        self.runtime.spawn(async move { summarizer::run_summarizer(&parts).await });
    }

    /// Shuts down: starts nothing more, stops every running reply and waits until each is committed.
    pub async fn stop(&self) {
        reply::autosave::stop_replies(&self.services).await;
    }

    /// Runs work on the server's own task, so that it finishes even if the caller disconnects.
    async fn run_detached<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, TurnError>> + Send + 'static,
    ) -> Result<T, TurnError> {
        if self.services.is_stopping.load(Ordering::SeqCst) {
            return Err(TurnError::Stopped);
        }
        let claimed = IdempotencyClaim::scope(IdempotencyClaim::current(), work);
        self.runtime.spawn(claimed).await.unwrap_or(Err(TurnError::Stopped))
    }

    /// Like `run_detached`, but returns the earlier result if the same idempotency key already has one.
    async fn run_once<T: DeserializeOwned + Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, TurnError>> + Send + 'static,
    ) -> Result<T, TurnError> {
        match IdempotencyClaim::previous_result() {
            Some(made) => Ok(made),
            None => self.run_detached(work).await,
        }
    }
}
