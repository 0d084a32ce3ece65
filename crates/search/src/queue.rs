//! The changes to be indexed and the progress of the index: one state behind one lock, shared by feeders and writer.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{IndexChange, SearchError};

/// How many changes may wait; then the feeder blocks.
const CHANGES_MAX: usize = 4_096;

/// Changes that advance the index to a cursor.
pub(super) struct ChangeBatch {
    pub changes: Vec<IndexChange>,
    pub cursor: i64,
}

/// The next task of the writer thread.
pub(super) enum IndexTask {
    Apply(ChangeBatch),
    Commit,
    /// Check whether segments were merged meanwhile.
    ReloadMerged,
    PurgeRemoved,
    Check,
    Stop,
}

/// Why changes were refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IndexSendError {
    /// The index is at another cursor: it went back, or something else fed it. Continue from this cursor.
    #[error("the search index needs the operations after {0}")]
    CursorMismatch(i64),
    /// The disk failed, or the index is closed. Try again later, from [`super::Index::cursor`].
    #[error("the search index accepts nothing at the moment")]
    Down,
}

/// The state of the queue; cursors are those of the operation log.
#[derive(Default)]
pub(super) struct IndexQueueState {
    queue: VecDeque<ChangeBatch>,
    waiting: usize,
    /// Everything up to here was sent.
    pub fed: i64,
    /// Everything up to here can be found.
    pub visible: i64,
    /// Everything up to here survives a crash.
    pub committed: i64,
    /// A rebuilt index is complete when it is visible up to here.
    pub whole_at: i64,
    pub is_down: bool,
    is_closing: bool,
    /// The files may be damaged and must be checked.
    pub is_suspect: bool,
    flush_requested: bool,
    /// Removed documents must be erased from the files.
    purge_requested: bool,
}

/// The queue between feeders and the writer thread.
#[derive(Default)]
pub(super) struct IndexQueue {
    state: Mutex<IndexQueueState>,
    /// Signals that there is work.
    work: Condvar,
    /// Signals that work was done.
    done: Condvar,
}

impl IndexQueue {
    /// Creates the queue of an index at `cursor`, for a log up to `newest`. If `is_suspect`, the first task is a check.
    pub fn new(cursor: i64, newest: i64, is_suspect: bool) -> Self {
        let whole_at = if cursor == 0 { newest } else { 0 };
        let state = IndexQueueState {
            fed: cursor,
            visible: cursor,
            committed: cursor,
            whole_at,
            is_suspect,
            ..IndexQueueState::default()
        };
        Self { state: Mutex::new(state), ..Self::default() }
    }

    /// Locks and returns the state.
    pub fn state(&self) -> MutexGuard<'_, IndexQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the changes after `after`. Blocks while too many changes wait.
    pub fn send(&self, after: i64, changes: Vec<IndexChange>, cursor: i64) -> Result<(), IndexSendError> {
        let mut state = self.state();
        loop {
            if state.is_down || state.is_closing {
                return Err(IndexSendError::Down);
            }
            if state.fed != after {
                return Err(IndexSendError::CursorMismatch(state.fed));
            }
            if state.waiting == 0 || state.waiting + changes.len() <= CHANGES_MAX {
                break;
            }
            state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting += changes.len();
        state.fed = cursor;
        state.queue.push_back(ChangeBatch { changes, cursor });
        self.work.notify_all();
        Ok(())
    }

    /// Waits until pending checks are done and all sent changes are durable and visible.
    pub fn flush(&self) -> Result<(), SearchError> {
        let mut state = self.state();
        let target = state.fed;
        while state.is_suspect || state.committed < target || state.visible < target {
            // If `fed` is below the target, the sent changes are lost and must be sent again.
            if state.is_down || state.is_closing || state.fed < target {
                return Err(SearchError::Down);
            }
            state.flush_requested = true;
            self.work.notify_all();
            state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    /// Waits until removed documents are erased from the files.
    pub fn purge_removed(&self) -> Result<(), SearchError> {
        let mut state = self.state();
        state.purge_requested = true;
        self.work.notify_all();
        while state.purge_requested {
            if state.is_down || state.is_closing {
                return Err(SearchError::Down);
            }
            state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    /// Reports that removed documents were erased.
    pub fn purge_finished(&self) {
        self.state().purge_requested = false;
        self.done.notify_all();
    }

    /// Requests a check of the files.
    pub fn mark_suspect(&self) {
        self.state().is_suspect = true;
        self.work.notify_all();
    }

    /// Reports that the files are intact.
    pub fn mark_intact(&self) {
        self.state().is_suspect = false;
        self.done.notify_all();
    }

    /// Refuses further changes and stops the thread. Waiting changes are lost until they are sent again.
    pub fn close(&self) {
        self.state().is_closing = true;
        self.work.notify_all();
        self.done.notify_all();
    }

    /// Waits for the next task. `commit` is the deadline of a commit, `look` the time to check for merged segments.
    pub fn next_task(&self, commit: Option<Instant>, look: Option<Instant>) -> IndexTask {
        let mut state = self.state();
        loop {
            let left = |at: Option<Instant>| at.map(|at| at.saturating_duration_since(Instant::now()));
            let (commit, look) = (left(commit), left(look));
            if state.is_closing {
                return IndexTask::Stop;
            }
            if state.is_suspect {
                return IndexTask::Check;
            }
            if commit == Some(Duration::ZERO) {
                return IndexTask::Commit;
            }
            if let Some(batch) = state.queue.pop_front() {
                state.waiting -= batch.changes.len();
                self.done.notify_all();
                return IndexTask::Apply(batch);
            }
            if std::mem::take(&mut state.flush_requested) {
                return IndexTask::Commit;
            }
            if state.purge_requested {
                return IndexTask::PurgeRemoved;
            }
            if look == Some(Duration::ZERO) {
                return IndexTask::ReloadMerged;
            }
            state = match commit.into_iter().chain(look).min() {
                None => self.work.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) => self.work.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }

    /// Reports that everything up to `cursor` is visible, because there was nothing to index.
    pub fn advance(&self, cursor: i64) {
        self.state().visible = cursor;
        self.done.notify_all();
    }

    /// Reports that everything up to `cursor` is durable and visible.
    pub fn commit(&self, cursor: i64) {
        let mut state = self.state();
        (state.visible, state.committed) = (cursor, cursor);
        self.done.notify_all();
    }

    /// Reports that the index is rebuilt: it is complete when it reaches its former position.
    pub fn restart(&self) {
        let mut state = self.state();
        state.whole_at = state.whole_at.max(state.fed);
        drop(state);
        self.rewind(0, false);
    }

    /// Moves the index back to `cursor`. Waiting changes are dropped and must be sent again from there.
    pub fn rewind(&self, cursor: i64, is_down: bool) {
        let mut state = self.state();
        state.queue.clear();
        state.waiting = 0;
        (state.fed, state.visible, state.committed) = (cursor, cursor, cursor);
        state.is_down = is_down;
        self.done.notify_all();
    }

    /// Waits after a failure; `false` if the index was closed meanwhile.
    pub fn wait_after_failure(&self, how_long: Duration) -> bool {
        let state = self.state();
        let waits = self.work.wait_timeout_while(state, how_long, |state| !state.is_closing);
        let mut state = waits.unwrap_or_else(PoisonError::into_inner).0;
        state.is_down = false;
        !state.is_closing
    }
}
