//! What those who search and the thread that writes have in common: the queue, and the index as it is at the moment.

use std::collections::BTreeSet;
use std::sync::{PoisonError, RwLock};

use tantivy::index::SegmentId;
use tantivy::{IndexReader, SegmentReader};

use super::SearchError;
use super::disk::{OpenIndex, catch_panic};
use super::queue::IndexQueue;
use super::segment_times::SegmentTimesCache;

/// The queue and the index.
pub(super) struct SharedIndex {
    pub queue: IndexQueue,
    pub times: SegmentTimesCache,
    current: RwLock<(tantivy::Index, IndexReader)>,
}

impl SharedIndex {
    pub fn new(queue: IndexQueue, open: OpenIndex) -> Self {
        Self { queue, times: SegmentTimesCache::default(), current: RwLock::new((open.index, open.reader)) }
    }

    pub fn index(&self) -> tantivy::Index {
        self.current.read().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    pub fn reader(&self) -> IndexReader {
        self.current.read().unwrap_or_else(PoisonError::into_inner).1.clone()
    }

    /// Lets searches that come see the last commit.
    pub fn reload(&self) -> tantivy::Result<()> {
        let reader = self.reader();
        reader.reload()?;
        self.times.refresh(&reader.searcher())
    }

    /// Lets searches that come see segments that were merged since the last commit: few large ones are searched faster than many
    /// small ones.
    pub fn reload_merged(&self) -> tantivy::Result<()> {
        let seen = self.reader().searcher().segment_readers().iter().map(SegmentReader::segment_id).collect();
        let merged: BTreeSet<SegmentId> = self.index().searchable_segment_ids()?.into_iter().collect();
        if merged == seen { Ok(()) } else { self.reload() }
    }

    pub fn replace(&self, open: OpenIndex) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = (open.index, open.reader);
    }

    /// Reads the index. A failure, also a panic over damaged files, has the files checked.
    pub fn read<T>(&self, read: impl FnOnce() -> tantivy::Result<T>) -> Result<T, SearchError> {
        let outcome = catch_panic(|| read().map_err(SearchError::from));
        if outcome.is_err() {
            self.queue.mark_suspect();
        }
        outcome
    }
}
