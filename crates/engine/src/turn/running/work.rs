//! What runs at the moment.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::runtime::Handle;

use crate::live::LiveSessions;
use clotho_store::IdempotencyClaim;

use super::plugin_calls::PluginModelCalls;
use super::requests::RunningRequests;
use super::summary_queue::SummaryQueue;
use crate::turn::error::TurnError;

/// The intervals of the autosave.
#[derive(Debug, Clone, Copy)]
pub struct SaveIntervals {
    /// The interval between saves of partial texts (`docs/domain.md` 5.3).
    pub save: Duration,
    /// A request is saved when it is between one and two of these intervals old. Shorter replies cost no write.
    pub request: Duration,
    /// The number of saves between two checks for orphaned replies.
    pub orphan_check_every: u32,
}

impl Default for SaveIntervals {
    fn default() -> Self {
        Self { save: Duration::from_secs(1), request: Duration::from_millis(250), orphan_check_every: 30 }
    }
}

/// What runs at the moment: the watchers of sessions, running replies, and work in the background.
pub(crate) struct RunningWork {
    pub live: Arc<LiveSessions>,
    /// The requests of running replies.
    pub requests: RunningRequests,
    pub summary_queue: SummaryQueue,
    /// Side calls of models for plugins.
    pub plugin_calls: PluginModelCalls,
    /// Intervals of the autosave of running replies.
    pub save_intervals: SaveIntervals,
    /// Runs the server's own tasks.
    pub runtime: Handle,
    /// Set at shutdown; no new work begins.
    pub is_stopping: AtomicBool,
}

impl RunningWork {
    /// Runs work on the server's own task, so that it finishes even if the caller disconnects.
    pub async fn run_detached<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, TurnError>> + Send + 'static,
    ) -> Result<T, TurnError> {
        if self.is_stopping.load(Ordering::SeqCst) {
            return Err(TurnError::Stopped);
        }
        let claimed = IdempotencyClaim::scope(IdempotencyClaim::current(), work);
        self.runtime.spawn(claimed).await.unwrap_or(Err(TurnError::Stopped))
    }

    /// Like `run_detached`, but returns the earlier result if the same idempotency key already has one.
    pub async fn run_once<T: DeserializeOwned + Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, TurnError>> + Send + 'static,
    ) -> Result<T, TurnError> {
        match IdempotencyClaim::previous_result() {
            Some(result) => Ok(result),
            None => self.run_detached(work).await,
        }
    }
}
