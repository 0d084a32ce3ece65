//! The model calls of plugins that wait or run.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Semaphore;

use clotho_core::ids::SessionId;
use clotho_plugin::PluginModelCall;

/// The number of concurrent calls of all sessions together.
const MAX_CONCURRENT: usize = 4;
/// The number of calls per session that may wait or run.
pub const MAX_PER_SESSION: usize = 16;

/// The model calls of plugins that wait or run.
#[derive(Debug)]
pub struct PluginModelCalls {
    /// The number of waiting or running calls per session.
    pending: Mutex<HashMap<SessionId, usize>>,
    /// The slots of concurrent calls.
    pub slots: Semaphore,
}

impl Default for PluginModelCalls {
    fn default() -> Self {
        Self { pending: Mutex::default(), slots: Semaphore::new(MAX_CONCURRENT) }
    }
}

impl PluginModelCalls {
    /// Reserves a slot for each call while the session has room; removes and returns the others.
    pub fn reserve_slots(
        &self,
        session: SessionId,
        asks: &mut Vec<(String, PluginModelCall)>,
    ) -> Vec<(String, PluginModelCall)> {
        let mut waiting = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let count = waiting.entry(session).or_default();
        let late = asks.split_off(asks.len().min(MAX_PER_SESSION.saturating_sub(*count)));
        *count += asks.len();
        late
    }

    /// Frees the slot of a call that has ended.
    pub fn release_slot(&self, session: SessionId) {
        let mut waiting = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let left = waiting.get(&session).copied().unwrap_or_default().saturating_sub(1);
        if left == 0 {
            waiting.remove(&session);
        } else {
            waiting.insert(session, left);
        }
    }
}
