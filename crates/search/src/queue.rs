//! What waits to be indexed, and how far the index got: one small state behind one lock, between those who feed and
//! the thread that writes.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{IndexChange, SearchError};

/// So many changes may wait; who feeds faster waits too.
const CHANGES_MAX: usize = 4_096;

/// Changes that bring the index to a cursor.
pub(super) struct ChangeBatch {
    pub changes: Vec<IndexChange>,
    pub cursor: i64,
}

/// What the writing thread is to do next.
pub(super) enum IndexTask {
    Apply(ChangeBatch),
    Commit,
    /// See whether segments were merged meanwhile.
    ReloadMerged,
    PurgeRemoved,
    Check,
    Stop,
}

/// Why changes were not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IndexSendError {
    /// The index went back, or somebody else fed it: it wants what comes after this cursor.
    #[error("the search index wants what comes after {0}")]
    Elsewhere(i64),
    /// The disk failed, or the index is closed: try again later, from [`super::Index::cursor`].
    #[error("the search index takes nothing now")]
    Down,
}

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
    /// The index was made anew and is whole when it can find everything up to here.
    pub whole_at: i64,
    pub is_down: bool,
    is_closing: bool,
    /// The files may be damaged and are to be checked.
    pub is_suspect: bool,
    flush_requested: bool,
    /// What was removed is to leave the files too.
    purge_requested: bool,
}

#[derive(Default)]
pub(super) struct IndexQueue {
    state: Mutex<IndexQueueState>,
    /// There is something to do.
    work: Condvar,
    /// Something was done.
    done: Condvar,
}

impl IndexQueue {
    /// A queue whose index stands at `cursor` of a log that goes up to `newest`; `is_suspect`: the first task is to check it.
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

    /// The state, to look at.
    pub fn state(&self) -> MutexGuard<'_, IndexQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes changes that follow `after`; waits while too many wait.
    pub fn send(&self, after: i64, changes: Vec<IndexChange>, cursor: i64) -> Result<(), IndexSendError> {
        let mut state = self.state();
        loop {
            if state.is_down || state.is_closing {
                return Err(IndexSendError::Down);
            }
            if state.fed != after {
                return Err(IndexSendError::Elsewhere(state.fed));
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

    /// Waits until the files are checked and everything that was sent is durable and can be found.
    pub fn flush(&self) -> Result<(), SearchError> {
        let mut state = self.state();
        let target = state.fed;
        while state.is_suspect || state.committed < target || state.visible < target {
            // Going back below the target means that what was sent is lost and must be sent again.
            if state.is_down || state.is_closing || state.fed < target {
                return Err(SearchError::Down);
            }
            state.flush_requested = true;
            self.work.notify_all();
            state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    /// Waits until what was removed has left the files.
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

    /// What was removed has left the files.
    pub fn purge_finished(&self) {
        self.state().purge_requested = false;
        self.done.notify_all();
    }

    /// The files may be damaged: the thread is to check them.
    pub fn mark_suspect(&self) {
        self.state().is_suspect = true;
        self.work.notify_all();
    }

    /// The files are sound.
    pub fn mark_intact(&self) {
        self.state().is_suspect = false;
        self.done.notify_all();
    }

    /// Nothing is taken any more, and the thread is to stop; what waits is left to the next start.
    pub fn close(&self) {
        self.state().is_closing = true;
        self.work.notify_all();
        self.done.notify_all();
    }

    /// What to do next: when to commit at the latest, and when to look for merged segments if there is nothing else to do.
    pub fn next(&self, commit: Option<Instant>, look: Option<Instant>) -> IndexTask {
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

    /// Everything up to `cursor` can be found, because nothing of it was to be indexed.
    pub fn advance(&self, cursor: i64) {
        self.state().visible = cursor;
        self.done.notify_all();
    }

    /// Everything up to `cursor` is durable and can be found.
    pub fn commit(&self, cursor: i64) {
        let mut state = self.state();
        (state.visible, state.committed) = (cursor, cursor);
        self.done.notify_all();
    }

    /// The index was made anew: it is whole again when it stands where it stood.
    pub fn restart(&self) {
        let mut state = self.state();
        state.whole_at = state.whole_at.max(state.fed);
        drop(state);
        self.rewind(0, false);
    }

    /// The index stands at `cursor` again; what waits is dropped, since it must be sent again from there.
    pub fn rewind(&self, cursor: i64, is_down: bool) {
        let mut state = self.state();
        state.queue.clear();
        state.waiting = 0;
        (state.fed, state.visible, state.committed) = (cursor, cursor, cursor);
        state.is_down = is_down;
        self.done.notify_all();
    }

    /// Rests after a failure; `false` if the index was closed meanwhile.
    pub fn rest(&self, how_long: Duration) -> bool {
        let state = self.state();
        let waits = self.work.wait_timeout_while(state, how_long, |state| !state.is_closing);
        let mut state = waits.unwrap_or_else(PoisonError::into_inner).0;
        state.is_down = false;
        !state.is_closing
    }
}
