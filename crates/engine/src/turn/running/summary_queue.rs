//! The queue of the summarizer.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, Semaphore};

use clotho_core::coded_message::RenderedMessage;
use clotho_core::ids::{NodeId, SessionId};

/// The number of concurrent calls of all sessions together.
const MAX_CONCURRENT: usize = 2;
/// The number of leaves that wait per session. The oldest is dropped; its next turn schedules it again.
const MAX_LEAVES_PER_SESSION: usize = 8;

/// The queue of the summarizer.
#[derive(Debug)]
pub struct SummaryQueue {
    /// The leaves to check; a session in this map has a task.
    pending: Mutex<HashMap<SessionId, VecDeque<NodeId>>>,
    /// The sessions whose task has not started yet.
    new: Mutex<Vec<SessionId>>,
    pub wake: Notify,
    /// The last problem of each session that has one.
    problems: Mutex<HashMap<SessionId, RenderedMessage>>,
    /// The slots of concurrent calls.
    pub slots: Semaphore,
}

impl Default for SummaryQueue {
    fn default() -> Self {
        Self {
            pending: Mutex::default(),
            new: Mutex::default(),
            wake: Notify::new(),
            problems: Mutex::default(),
            slots: Semaphore::new(MAX_CONCURRENT),
        }
    }
}

impl SummaryQueue {
    /// Returns the leaves to check of each session that has a task.
    pub fn pending(&self) -> MutexGuard<'_, HashMap<SessionId, VecDeque<NodeId>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the last problem of each session that has one.
    pub fn problems(&self) -> MutexGuard<'_, HashMap<SessionId, RenderedMessage>> {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a session is being summarised, and its last problem.
    pub fn state(&self, session: SessionId) -> (bool, Option<RenderedMessage>) {
        let is_working = self.pending().contains_key(&session);
        (is_working, self.problems().get(&session).cloned())
    }

    /// Schedules the branch to a leaf.
    pub fn schedule(&self, session: SessionId, leaf: NodeId) {
        let mut waiting = self.pending();
        let is_new = !waiting.contains_key(&session);
        let lines = waiting.entry(session).or_default();
        lines.retain(|line| *line != leaf);
        lines.push_back(leaf);
        let surplus = lines.len().saturating_sub(MAX_LEAVES_PER_SESSION);
        lines.drain(..surplus);
        if is_new {
            self.new.lock().unwrap_or_else(PoisonError::into_inner).push(session);
            self.wake.notify_one();
        }
    }

    /// Takes the sessions whose task is to be started.
    pub fn take_new(&self) -> Vec<SessionId> {
        std::mem::take(&mut *self.new.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the next leaf. After the last one the session is removed, which ends its task.
    pub fn next(&self, session: SessionId) -> Option<NodeId> {
        let mut waiting = self.pending();
        let next = waiting.get_mut(&session).and_then(VecDeque::pop_front);
        if next.is_none() {
            waiting.remove(&session);
        }
        next
    }
}
