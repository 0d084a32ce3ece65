//! The journey of one turn, and the only place that orders it: input, node, 202, prompt, stream, rules, commit.
//!
//! [`TurnEngine`] is the door: begin, message, reroll, go on, edit, cancel, change. What one asks is in `requests.rs`. Each runs on the server's
//! own task: a client that goes away changes nothing. Its rooms, in the order of the way:
//!
//! - `start/` is the way to commit 1: the user's node and placeholders.
//! - `rules/` runs the rules of a story, wherever the way wants one; `snapshot.rs` reads a position for them, `cast.rs` who plays there.
//! - `ask/` makes the prompt, `models/` finds who is meant by a name, `tools/` is what they may call.
//! - `reply/` is one reply up to commit 2, by the actions of `machine/`, which is pure.
//! - `side_calls/` makes the calls that are no replies, `summarizer.rs` has summed up what slid out of prompts.
//!
//! What is no turn: `draft.rs` lets a model write what becomes no node; `preview.rs` shows a prompt that nobody sends, `lore_test.rs` what lore
//! would fire; `display.rs` shows replies as plugins say, and `display_cache.rs` remembers how; `hook_trial/` tries a hook without writing, and runs rules again.
//!
//! To add a step to the journey: its place in `start/` or `reply/runner.rs`, its facts in the trace. To add a hook: see
//! [`clotho_plugin`], then call it in `rules/`.

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
pub use reply::autosave::SaveIntervals;
pub use requests::{
    ContinueSpec, EditSpec, GenerationSpec, ImpersonateSpec, LoreTestSpec, MessageSpec, PluginChoice, PreviewSpec,
    RerollSpec, SessionSpec, StaleHeadPolicy, SummarySpec, TurnReceipt,
};
pub use rules::metrics::HookMetric;
pub use snapshot::{LeafSnapshot, ReplySuggestions, SuggestedReply};
pub use start::change::PluginsUpdate;

/// Why a turn did not begin. Nothing was written, unless it says so.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TurnError {
    /// The request does not fit the tree.
    #[error(transparent)]
    Refused(#[from] TreeError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A plugin refused the input; the message is for the user.
    #[error("{message}")]
    InputRefused {
        /// The plugin.
        plugin: String,
        /// Its words.
        message: String,
    },
    /// The message is longer than a plugin that is to read or answer it can read.
    #[error("the plugin \"{plugin}\" reads messages of up to {} KiB", .most >> 10)]
    TooLong {
        /// The plugin.
        plugin: String,
        /// Bytes.
        most: usize,
    },
    /// Too many replies are being generated.
    #[error("too many replies are being generated")]
    TooMany,
    /// A model, plugin or setting is not known.
    #[error("{message}")]
    Invalid {
        /// The field, as on the wire.
        field: &'static str,
        /// One sentence.
        message: String,
    },
    /// The server is shutting down, or its own task failed.
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

/// Everything a turn needs, shared by all of them.
pub(crate) struct TurnServices {
    pub config: Arc<Config>,
    pub store: Arc<Store>,
    pub live: Arc<LiveSessions>,
    pub catalogue: Arc<InstalledPlugins>,
    pub models: Arc<ModelRegistry>,
    pub hooks: rules::hooks::HookRunner,
    /// How plugins showed replies lately.
    pub shown: display_cache::DisplayCache,
    /// Lorebooks that were read already.
    pub lorebook_cache: Arc<ask::lorebook_cache::LorebookCache>,
    /// Who recalls.
    pub query_embedder: ask::recall::QueryEmbedder,
    /// Who sums up.
    pub summarizer: summarizer::Summarizer,
    /// Who asks models for plugins.
    pub plugin_calls: side_calls::PluginModelCalls,
    /// How often what runs is kept.
    pub save_intervals: SaveIntervals,
    /// What running replies were asked with.
    pub requests: reply::requests::RunningRequests,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<IdGenerator>,
    /// The server is shutting down: nothing begins any more.
    pub is_stopping: AtomicBool,
}

impl TurnServices {
    /// Asks a provider in the background what its models can, if nobody did so for a while: the next prompt knows.
    pub fn refresh_if_due(&self, client: &ProviderClient) {
        if self.models.needs_refresh(&client.endpoint().id, self.clock.now()) {
            let (models, client) = (Arc::clone(&self.models), client.clone());
            tokio::spawn(async move { models.refresh_models(&client).await });
        }
    }
}

/// The door to the journey.
#[derive(Clone)]
pub struct TurnEngine {
    services: Arc<TurnServices>,
    runtime: Handle,
}

/// What [`TurnEngine::new`] is built from.
pub struct TurnDeps {
    /// Settings.
    pub config: Arc<Config>,
    /// The store.
    pub store: Arc<Store>,
    /// Live events.
    pub live: Arc<LiveSessions>,
    /// The plugins.
    pub catalogue: Arc<InstalledPlugins>,
    /// The models.
    pub models: Arc<ModelRegistry>,
    /// The model of embeddings, where one is set.
    pub embedder: Option<Embedder>,
    /// Who runs scripts.
    pub host: Arc<dyn ScriptHost>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Arc<IdGenerator>,
    /// How often what runs is kept.
    pub save_intervals: SaveIntervals,
}

impl TurnEngine {
    /// Turns that run on a runtime of the server's own.
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

    /// What the hooks of each plugin have cost since the server began, by plugin and hook.
    pub fn hook_metrics(&self) -> Vec<((String, &'static str), HookMetric)> {
        self.services.hooks.metrics.all()
    }

    /// Begins a session: root with its rules, greetings, HEAD on the first greeting.
    ///
    /// # Errors
    /// A character, persona, model or plugin is not there, or the database fails.
    pub async fn begin(&self, caller: UserId, new: SessionSpec) -> Result<SessionId, TurnError> {
        let parts = Arc::clone(&self.services);
        self.run_once(async move { start::new_session::begin(&parts, caller, new).await }).await
    }

    /// Writes a message and begins its replies.
    ///
    /// # Errors
    /// As [`TurnError`] says; nothing was written then.
    pub async fn message(
        &self,
        caller: UserId,
        session: SessionId,
        new: MessageSpec,
    ) -> Result<TurnReceipt, TurnError> {
        let turns = self.clone();
        self.run_once(async move { start::message(&turns, caller, session, new).await }).await
    }

    /// Begins other replies beside an assistant node, or under a context node.
    ///
    /// # Errors
    /// As [`TurnError`] says; nothing was written then.
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

    /// Begins another reply that goes on from the text of one.
    ///
    /// # Errors
    /// It is no reply with text, a plugin writes, or as [`TurnError`] says; nothing was written then.
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

    /// Writes an edited version of a message beside it.
    ///
    /// # Errors
    /// As [`TurnError`] says; nothing was written then.
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

    /// Changes the world by hand: a change node below `node`.
    ///
    /// # Errors
    /// The operations do not fit, or as [`TurnError`] says.
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

    /// Sets the plugins of a session; they begin at HEAD, with a change node that records them.
    ///
    /// # Errors
    /// A plugin is not there or its settings do not fit; nothing was written then.
    pub async fn set_plugins(
        &self,
        caller: UserId,
        session: SessionId,
        plugins: Vec<PluginChoice>,
    ) -> Result<PluginsUpdate, TurnError> {
        let parts = Arc::clone(&self.services);
        self.run_detached(async move { start::change::set_plugins(&parts, caller, session, plugins).await }).await
    }

    /// Begins to draft the next message in the user's own voice; its text comes as events and can be read for a while.
    ///
    /// # Errors
    /// The leaf is not there, no model can be asked, or there is no room.
    pub async fn impersonate(
        &self,
        caller: UserId,
        session: SessionId,
        asked: ImpersonateSpec,
    ) -> Result<DraftId, TurnError> {
        let turns = self.clone();
        self.run_detached(async move { draft::impersonate(&turns, caller, session, asked).await }).await
    }

    /// The prompt that a send would make. Nothing is written and no rule runs.
    ///
    /// # Errors
    /// The node is not there or cannot be answered, no model can be asked, or the database fails.
    pub async fn preview(
        &self,
        caller: UserId,
        session: SessionId,
        asked: PreviewSpec,
    ) -> Result<RebuiltPrompt, TurnError> {
        preview::preview(&self.services, caller, session, asked).await
    }

    /// Which entries of lorebooks would fire, and why. Nothing is written.
    ///
    /// # Errors
    /// Something that is named is not there, or the database fails.
    pub async fn test_lore(&self, caller: UserId, asked: LoreTestSpec) -> Result<LoreTestOutcome, TurnError> {
        lore_test::test_lore(&self.services, caller, asked).await
    }

    /// The best of the caller's documents in these collections for a question.
    ///
    /// # Errors
    /// The database fails.
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

    /// The hash by which the vector of a text is found.
    pub fn text_hash(&self, text: &str) -> blake3::Hash {
        self.services.query_embedder.hash(text)
    }

    /// Begins to draft a summary of a run of messages, in the same way.
    ///
    /// # Errors
    /// The messages are no run of one line, no model can be asked, or there is no room.
    pub async fn summarise(
        &self,
        caller: UserId,
        session: SessionId,
        asked: SummarySpec,
    ) -> Result<DraftId, TurnError> {
        let turns = self.clone();
        self.run_detached(async move { draft::summarise(&turns, caller, session, asked).await }).await
    }

    /// Stops a running reply and keeps its text. Answers when it has been asked to stop; the end is an event.
    ///
    /// # Errors
    /// The node is not there, or the reply has ended already.
    pub async fn cancel_reply(&self, caller: UserId, session: SessionId, node: NodeId) -> Result<(), TurnError> {
        start::cancel_reply(&self.services, caller, session, node).await
    }

    /// Reads where plugins are asked what they offer, in the snapshot of one who reads already.
    ///
    /// # Errors
    /// The session or node is not there, or the database fails.
    pub fn read_leaf(
        &self,
        reader: &mut StoreReader<'_>,
        caller: UserId,
        session: SessionId,
        leaf: NodeId,
    ) -> Result<LeafSnapshot, TurnError> {
        snapshot::read_leaf(reader, &snapshot::SnapshotQuery::at_node(&self.services, caller, session, leaf))
    }

    /// The plugins that are switched off in a session, as far as is known without reading: those that were asked there.
    pub fn disabled_plugins(&self, session: SessionId) -> Vec<String> {
        self.services.hooks.known_disabled(session)
    }

    /// Who shows the replies of one look; `None` where no plugin has a say in that.
    pub fn display(&self) -> Option<ReplyDisplay> {
        ReplyDisplay::new(&self.services)
    }

    /// Tries a hook of a plugin on a message, perhaps with code that is not saved. Writes nothing.
    ///
    /// # Errors
    /// The session or message is not there, or the database fails.
    pub async fn try_hook(&self, caller: UserId, trial: HookTrialSpec) -> Result<HookTrialOutcome, TurnError> {
        hook_trial::try_hook(&self.services, caller, trial).await
    }

    /// Runs the rules of a plugin again along a line, in a world beside the story's own. Writes nothing.
    ///
    /// # Errors
    /// The session or a message is not there, or the database fails.
    pub async fn replay(&self, caller: UserId, asked: ReplaySpec) -> Result<ReplayOutcome, TurnError> {
        hook_trial::replay::replay(&self.services, caller, asked).await
    }

    /// Runs the rules of a plugin again along a line, and lets its messages do what they say now, in one step.
    ///
    /// # Errors
    /// The session or a message is not there, the line was played by other rules, a rule fails, something was done in the
    /// session meanwhile, or the database fails.
    pub async fn accept(&self, caller: UserId, asked: ReplaySpec) -> Result<(ReplayOutcome, ArrangeResult), TurnError> {
        hook_trial::replay::accept(&self.services, caller, asked).await
    }

    /// What plugins offer at a tip.
    pub async fn offered(&self, tip: LeafSnapshot) -> ReplySuggestions {
        snapshot::suggest_replies(&self.services, tip).await
    }

    /// Ends what nobody holds: replies that a crash left generating become `error: interrupted` with what had arrived.
    /// Run once at start, before anyone is let in.
    ///
    /// # Errors
    /// The database fails.
    pub async fn end_interrupted_replies(&self) -> Result<usize, TurnError> {
        reply::autosave::end_orphans(&self.services).await
    }

    /// Asks all providers in the background what they offer.
    pub fn refresh_models(&self) {
        let _runtime = self.runtime.enter();
        let clients: Vec<ProviderClient> = self.services.models.providers().map(|(_, client, _)| client).collect();
        clients.iter().for_each(|client| self.services.refresh_if_due(client));
    }

    /// Looks in the background whether the line to a node of a session is to be summed up further.
    pub fn schedule_summary(&self, session: SessionId, leaf: NodeId) {
        self.services.summarizer.schedule(session, leaf);
    }

    /// Whether something is being summed up in a session, and why nothing comes of it.
    pub fn summary_state(&self, session: SessionId) -> (bool, Option<String>) {
        self.services.summarizer.state(session)
    }

    /// The summaries that were made of the line to a node, whether or not they still hold there.
    ///
    /// # Errors
    /// The database fails.
    pub fn summaries(
        reader: &mut StoreReader<'_>,
        held: &StoredSession,
        at: &StoredNode,
    ) -> Result<Vec<BranchSummary>, StoreError> {
        ask::summary_block::of_branch(reader, held, at)
    }

    /// One of them, as it stands on the line to HEAD.
    ///
    /// # Errors
    /// The database fails.
    pub fn summary(
        reader: &mut StoreReader<'_>,
        held: &StoredSession,
        id: SummaryId,
    ) -> Result<Option<BranchSummary>, StoreError> {
        ask::summary_block::one(reader, held, id)
    }

    /// Saves partial texts and sweeps what nobody holds, for as long as the runtime lives.
    pub fn keep(&self) {
        let parts = Arc::clone(&self.services);
        self.runtime.spawn(async move { reply::autosave::keep(&parts).await });
        let parts = Arc::clone(&self.services);
        self.runtime.spawn(async move { summarizer::run_summarizer(&parts).await });
    }

    /// Begins nothing more, asks every running reply to end now, and waits until each has been committed; for shutdown.
    pub async fn stop(&self) {
        reply::autosave::stop_replies(&self.services).await;
    }

    /// Runs a piece of work on the server's own task: whoever asked may go away, the work is finished all the same.
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

    /// The same for what makes something and may be asked for again with the same key: it is made once.
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
