//! Builds the services of turns, and hands them out by who calls.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio::runtime::Handle;

use crate::live::LiveSessions;
use clotho_config::Config;
use clotho_core::clock::{Clock, IdGenerator};
use clotho_plugin::{InstalledPlugins, ScriptHost};
use clotho_provider::Embedder;
use clotho_store::Store;

use super::replies::{DraftTurns, ReplyTurns};
use super::sessions::SessionTurns;
use super::tasks::{SummaryTurns, TurnTasks};
use super::trials::{PromptTrials, RuleTrials};
use super::views::{DocumentRecall, TurnViews};
use crate::turn::display_cache::DisplayCache;
use crate::turn::models::ModelRegistry;
use crate::turn::prompts::PromptServices;
use crate::turn::prompts::recall::QueryEmbedder;
use crate::turn::rules::RuleServices;
use crate::turn::rules::hooks::HookRunner;
use crate::turn::running::{PluginModelCalls, RunningRequests, RunningWork, SaveIntervals, SummaryQueue};
use crate::turn::services::TurnServices;
use crate::turn::storage::TreeStorage;

/// The services of turns, one for each group of callers. Each part sees only the services that it needs.
#[derive(Clone)]
pub struct TurnEngine {
    pub sessions: SessionTurns,
    pub replies: ReplyTurns,
    pub drafts: DraftTurns,
    pub prompts: PromptTrials,
    pub rules: RuleTrials,
    pub views: TurnViews,
    pub documents: DocumentRecall,
    pub summaries: SummaryTurns,
    pub tasks: TurnTasks,
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
        let rules = Arc::new(RuleServices {
            hooks: HookRunner::new(needs.host, Arc::clone(&needs.store), runtime.clone()),
            catalogue: needs.catalogue,
            shown: DisplayCache::default(),
            hide_tags: needs.config.generation.hide_tags.clone(),
        });
        let storage = Arc::new(TreeStorage { store: needs.store, clock: needs.clock, ids: needs.ids });
        let prompts = Arc::new(PromptServices {
            models: needs.models,
            lorebook_cache: Arc::default(),
            query_embedder: QueryEmbedder::new(needs.config.recall.clone(), needs.embedder),
            config: needs.config,
        });
        let work = Arc::new(RunningWork {
            live: needs.live,
            requests: RunningRequests::default(),
            summary_queue: SummaryQueue::default(),
            plugin_calls: PluginModelCalls::default(),
            save_intervals: needs.save_intervals,
            runtime,
            is_stopping: AtomicBool::new(false),
        });
        let services = Arc::new(TurnServices {
            storage: Arc::clone(&storage),
            rules: Arc::clone(&rules),
            prompts: Arc::clone(&prompts),
            work: Arc::clone(&work),
        });
        Self {
            sessions: SessionTurns { services: Arc::clone(&services) },
            replies: ReplyTurns { services: Arc::clone(&services) },
            drafts: DraftTurns { services: Arc::clone(&services) },
            prompts: PromptTrials { services: Arc::clone(&services) },
            rules: RuleTrials { storage: Arc::clone(&storage), rules: Arc::clone(&rules) },
            views: TurnViews { storage: Arc::clone(&storage), rules },
            documents: DocumentRecall { storage, prompts },
            summaries: SummaryTurns { work },
            tasks: TurnTasks { services },
        }
    }
}
