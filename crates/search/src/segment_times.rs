//! The times of documents by segment. Opening a column takes longer than finding a rare word, so each is opened only
//! once.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use tantivy::columnar::Column;
use tantivy::index::SegmentId;
use tantivy::{DocId, Searcher, SegmentReader};

use super::schema::TIME;

/// Documents per row. The newest time of each row is known, so that rows of older documents can be skipped.
const ROW: usize = 1_024;

/// The times of a segment. They never change: a replaced document is in another segment.
pub(super) struct SegmentTimes {
    column: Column<i64>,
    /// The newest time of each row.
    newest: Vec<i64>,
    /// The newest time of each row and all rows before it.
    until: Vec<i64>,
}

impl SegmentTimes {
    fn read(segment: &SegmentReader) -> tantivy::Result<Self> {
        let column = segment.fast_fields().i64(TIME)?;
        let (mut newest, mut until) = (Vec::new(), Vec::new());
        let docs: Vec<DocId> = (0..segment.max_doc()).collect();
        let mut times = vec![None; ROW];
        for row in docs.chunks(ROW) {
            times.fill(None);
            times.truncate(row.len());
            column.first_vals(row, &mut times);
            let own = times.iter().flatten().copied().max().unwrap_or(i64::MIN);
            until.push(until.last().map_or(own, |before: &i64| own.max(*before)));
            newest.push(own);
        }
        Ok(Self { column, newest, until })
    }

    /// Returns the time of a document.
    pub fn time(&self, doc: DocId) -> i64 {
        self.column.first(doc).unwrap_or(i64::MIN)
    }

    /// Returns the row of a document. Rows grow with document numbers.
    pub fn row(doc: DocId) -> usize {
        usize::try_from(doc).map_or(usize::MAX, |doc| doc / ROW)
    }

    /// Returns the newest time of a row and all rows before it.
    pub fn newest_until(&self, row: usize) -> i64 {
        self.until.get(row).copied().unwrap_or(i64::MAX)
    }

    /// Returns the newest time of a row.
    pub fn newest(&self, row: usize) -> i64 {
        self.newest.get(row).copied().unwrap_or(i64::MAX)
    }
}

/// The times of all segments in use.
#[derive(Default)]
pub(super) struct SegmentTimesCache(RwLock<HashMap<SegmentId, Arc<SegmentTimes>>>);

impl SegmentTimesCache {
    /// Returns the times of each segment of a searcher, in its order.
    pub fn segments(&self, searcher: &Searcher) -> tantivy::Result<Vec<Arc<SegmentTimes>>> {
        searcher.segment_readers().iter().map(|segment| self.segment(segment)).collect()
    }

    fn segment(&self, segment: &SegmentReader) -> tantivy::Result<Arc<SegmentTimes>> {
        let id = segment.segment_id();
        if let Some(cached) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&id) {
            return Ok(Arc::clone(cached));
        }
        let times = Arc::new(SegmentTimes::read(segment)?);
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::clone(&times));
        Ok(times)
    }

    /// Loads the segments that are new in a searcher, so that searches need not, and drops those it no longer has.
    pub fn refresh(&self, searcher: &Searcher) -> tantivy::Result<()> {
        self.segments(searcher)?;
        let segments: Vec<SegmentId> = searcher.segment_readers().iter().map(SegmentReader::segment_id).collect();
        self.0.write().unwrap_or_else(PoisonError::into_inner).retain(|id, _| segments.contains(id));
        Ok(())
    }
}
