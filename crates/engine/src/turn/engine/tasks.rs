//! Work in the background: the start, the end and the summaries.

use std::sync::Arc;

use clotho_core::coded_message::RenderedMessage;
use clotho_core::ids::{NodeId, SessionId};
use clotho_provider::ProviderClient;

use crate::turn::error::TurnError;
use crate::turn::reply::autosave;
use crate::turn::running::RunningWork;
use crate::turn::services::TurnServices;
use crate::turn::summarizer;

/// Starts and ends the work in the background.
#[derive(Clone)]
pub struct TurnTasks {
    pub(super) services: Arc<TurnServices>,
}

impl TurnTasks {
    /// Ends orphaned replies: those that a crash left generating become `error: interrupted` and keep their partial
    /// text. Runs once at startup, before the server accepts requests.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub async fn end_interrupted_replies(&self) -> Result<usize, TurnError> {
        autosave::end_orphans(&self.services.storage, &self.services.work).await
    }

    /// Refreshes the model lists of all providers in the background, where due.
    pub fn refresh_models(&self) {
        let TurnServices { storage, prompts, work, .. } = self.services.as_ref();
        let _runtime = work.runtime.enter();
        let clients: Vec<ProviderClient> = prompts.models.providers().map(|(_, client, _)| client).collect();
        clients.iter().for_each(|client| prompts.refresh_if_due(client, storage.clock.now()));
    }

    /// Starts the background tasks: the autosave of partial texts with its cleanup, and the summarizer.
    pub fn spawn_background_tasks(&self) {
        let parts = Arc::clone(&self.services);
        let runtime = &self.services.work.runtime;
        runtime.spawn(async move { autosave::run_autosave(&parts.storage, &parts.work).await });
        let parts = Arc::clone(&self.services);
        runtime.spawn(async move { summarizer::run_summarizer(&parts).await });
    }

    /// Shuts down: starts nothing more, stops every running reply and waits until each is committed.
    pub async fn stop(&self) {
        autosave::stop_replies(&self.services.work).await;
    }
}

/// Schedules automatic summaries.
#[derive(Clone)]
pub struct SummaryTurns {
    pub(super) work: Arc<RunningWork>,
}

impl SummaryTurns {
    /// Schedules a check whether the branch to a node needs more summaries.
    pub fn schedule(&self, session: SessionId, leaf: NodeId) {
        self.work.summary_queue.schedule(session, leaf);
    }

    /// Returns whether the summarizer is working on a session, and its last problem.
    pub fn state(&self, session: SessionId) -> (bool, Option<RenderedMessage>) {
        self.work.summary_queue.state(session)
    }
}
