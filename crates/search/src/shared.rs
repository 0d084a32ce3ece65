//! What searches and the writer thread share: the queue and the current index.

use std::collections::BTreeSet;
use std::sync::{PoisonError, RwLock};

use tantivy::index::SegmentId;
use tantivy::{IndexReader, SegmentReader};

use super::SearchError;
use super::disk::{OpenIndex, catch_panic};
use super::queue::IndexQueue;
use super::segment_times::SegmentTimesCache;

/// The queue, the cached times and the current index.
pub(super) struct SharedIndex {
    pub queue: IndexQueue,
    pub times: SegmentTimesCache,
    current: RwLock<(tantivy::Index, IndexReader)>,
}

impl SharedIndex {
    /// Creates the shared state of an open index.
    pub fn new(queue: IndexQueue, open: OpenIndex) -> Self {
        Self { queue, times: SegmentTimesCache::default(), current: RwLock::new((open.index, open.reader)) }
    }

    /// Returns the current index.
    pub fn index(&self) -> tantivy::Index {
        self.current.read().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// Returns the reader of the current index.
    pub fn reader(&self) -> IndexReader {
        self.current.read().unwrap_or_else(PoisonError::into_inner).1.clone()
    }

    /// Makes the last commit visible to new searches.
    pub fn reload(&self) -> tantivy::Result<()> {
        let reader = self.reader();
        reader.reload()?;
        self.times.refresh(&reader.searcher())
    }

    /// Makes segments that were merged since the last commit visible to new searches, because fewer large segments are
    /// searched faster.
    pub fn reload_merged(&self) -> tantivy::Result<()> {
        let seen = self.reader().searcher().segment_readers().iter().map(SegmentReader::segment_id).collect();
        let merged: BTreeSet<SegmentId> = self.index().searchable_segment_ids()?.into_iter().collect();
        if merged == seen { Ok(()) } else { self.reload() }
    }

    /// Replaces the index by a new one.
    pub fn replace(&self, open: OpenIndex) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = (open.index, open.reader);
    }

    /// Reads the index. After a failure or a panic, the files are checked.
    pub fn read<T>(&self, read: impl FnOnce() -> tantivy::Result<T>) -> Result<T, SearchError> {
        let outcome = catch_panic(|| read().map_err(SearchError::from));
        if outcome.is_err() {
            self.queue.mark_suspect();
        }
        outcome
    }
}
