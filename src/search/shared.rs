//! What those who search and the thread that writes have in common: the queue, and the index as it is at the moment.

use std::sync::{PoisonError, RwLock};

use tantivy::IndexReader;

use super::SearchError;
use super::disk::{Open, guarded};
use super::queue::Queue;

/// The queue and the index.
pub(super) struct Shared {
    pub queue: Queue,
    current: RwLock<(tantivy::Index, IndexReader)>,
}

impl Shared {
    pub fn new(queue: Queue, open: Open) -> Self {
        Self { queue, current: RwLock::new((open.index, open.reader)) }
    }

    pub fn index(&self) -> tantivy::Index {
        self.current.read().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    pub fn reader(&self) -> IndexReader {
        self.current.read().unwrap_or_else(PoisonError::into_inner).1.clone()
    }

    pub fn replace(&self, open: Open) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = (open.index, open.reader);
    }

    /// Reads the index. A failure, also a panic over damaged files, has the files checked.
    pub fn read<T>(&self, read: impl FnOnce() -> tantivy::Result<T>) -> Result<T, SearchError> {
        let outcome = guarded(|| read().map_err(SearchError::from));
        if outcome.is_err() {
            self.queue.suspect();
        }
        outcome
    }
}
