//! When things were said, segment by segment. To open a column takes longer than to find a rare word, so each is opened once.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use tantivy::columnar::Column;
use tantivy::index::SegmentId;
use tantivy::{DocId, Searcher, SegmentReader};

use super::schema::TIME;

/// Of so many documents that follow one another the newest is known, so that rows of older ones need not be read.
const ROW: usize = 1_024;

/// The times of a segment. They do not change: a document that is put anew stands in another segment.
pub(super) struct SegmentTimes {
    column: Column<i64>,
    /// The newest of each row.
    newest: Vec<i64>,
    /// The newest of each row and all before it.
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

    /// When a document was said.
    pub fn of(&self, doc: DocId) -> i64 {
        self.column.first(doc).unwrap_or(i64::MIN)
    }

    /// The row in which a document stands. Documents with higher numbers stand in the same one or behind it.
    pub fn row(doc: DocId) -> usize {
        usize::try_from(doc).map_or(usize::MAX, |doc| doc / ROW)
    }

    /// Nothing in a row or before it was said later.
    pub fn newest_until(&self, row: usize) -> i64 {
        self.until.get(row).copied().unwrap_or(i64::MAX)
    }

    /// Nothing in a row was said later.
    pub fn newest(&self, row: usize) -> i64 {
        self.newest.get(row).copied().unwrap_or(i64::MAX)
    }
}

/// The times of all segments that somebody searches.
#[derive(Default)]
pub(super) struct SegmentTimesCache(RwLock<HashMap<SegmentId, Arc<SegmentTimes>>>);

impl SegmentTimesCache {
    /// Those of each segment of a snapshot, in their order.
    pub fn of(&self, searcher: &Searcher) -> tantivy::Result<Vec<Arc<SegmentTimes>>> {
        searcher.segment_readers().iter().map(|segment| self.segment(segment)).collect()
    }

    fn segment(&self, segment: &SegmentReader) -> tantivy::Result<Arc<SegmentTimes>> {
        let id = segment.segment_id();
        if let Some(known) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&id) {
            return Ok(Arc::clone(known));
        }
        let times = Arc::new(SegmentTimes::read(segment)?);
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::clone(&times));
        Ok(times)
    }

    /// Reads what is new in a snapshot, so that no search has to, and forgets what it has not any more.
    pub fn refresh(&self, searcher: &Searcher) -> tantivy::Result<()> {
        self.of(searcher)?;
        let segments: Vec<SegmentId> = searcher.segment_readers().iter().map(SegmentReader::segment_id).collect();
        self.0.write().unwrap_or_else(PoisonError::into_inner).retain(|id, _| segments.contains(id));
        Ok(())
    }
}
