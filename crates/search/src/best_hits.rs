//! Collects the best hits, ties newest first, and the total number of hits in one pass.
//!
//! Most hits are worse than the best known ones and cost one comparison. Times are read only for better hits. Hits that
//! tie with the worst one are kept as numbers. At the end they are examined from the back, where most of the newest
//! are, and rows without anything newer are skipped. So a prefix search, where all hits tie, reads thousands of times
//! instead of all.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::{DocAddress, DocId, Score, SegmentOrdinal, SegmentReader, TantivyError};

use super::segment_times::SegmentTimes;

/// How many ties wait for their times to be read; 4 bytes each.
const TIES_MAX: usize = 1 << 18;

/// Collects the best `wanted` hits in order, and counts all.
pub(super) struct BestHitsCollector {
    wanted: usize,
    times: Vec<Arc<SegmentTimes>>,
}

impl BestHitsCollector {
    /// Creates a collector for `wanted` hits (not 0), with the times of each segment.
    pub fn new(wanted: usize, times: Vec<Arc<SegmentTimes>>) -> Self {
        Self { wanted, times }
    }
}

/// A ranked hit: greater is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RankedHit<A> {
    score: Score,
    time: i64,
    at: A,
}

impl<A: Ord> Eq for RankedHit<A> {}

impl<A: Ord> PartialOrd for RankedHit<A> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<A: Ord> Ord for RankedHit<A> {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.score.total_cmp(&other.score);
        by_score.then_with(|| self.time.cmp(&other.time)).then_with(|| other.at.cmp(&self.at))
    }
}

impl Collector for BestHitsCollector {
    type Fruit = (usize, Vec<(Score, DocAddress)>);
    type Child = SegmentBestHits;

    fn for_segment(&self, ordinal: SegmentOrdinal, _: &SegmentReader) -> tantivy::Result<SegmentBestHits> {
        let times = usize::try_from(ordinal).ok().and_then(|ordinal| self.times.get(ordinal));
        let times = times.ok_or_else(|| TantivyError::InternalError("a segment has no times".into()))?;
        Ok(SegmentBestHits {
            ordinal,
            wanted: self.wanted,
            times: Arc::clone(times),
            total: 0,
            threshold: Score::NEG_INFINITY,
            best: BinaryHeap::new(),
            ties: Vec::new(),
        })
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    fn merge_fruits(
        &self,
        segments: Vec<<SegmentBestHits as SegmentCollector>::Fruit>,
    ) -> tantivy::Result<Self::Fruit> {
        let total = segments.iter().map(|(total, _)| total).sum();
        let mut all: Vec<RankedHit<DocAddress>> = segments.into_iter().flat_map(|(_, best)| best).collect();
        all.sort_unstable_by(|one, other| other.cmp(one));
        all.truncate(self.wanted);
        Ok((total, all.into_iter().map(|hit| (hit.score, hit.at)).collect()))
    }
}

/// The best hits of one segment.
pub(super) struct SegmentBestHits {
    ordinal: SegmentOrdinal,
    wanted: usize,
    times: Arc<SegmentTimes>,
    total: usize,
    /// Lower scores are rejected.
    threshold: Score,
    best: BinaryHeap<Reverse<RankedHit<DocId>>>,
    /// Hits with exactly the score of the worst, in document order.
    ties: Vec<DocId>,
}

impl SegmentBestHits {
    fn rank(&mut self, score: Score, doc: DocId) {
        let hit = Reverse(RankedHit { score, time: self.times.time(doc), at: doc });
        if self.best.len() < self.wanted {
            self.best.push(hit);
        } else if let Some(mut worst) = self.best.peek_mut()
            && hit < *worst
        {
            *worst = hit;
        }
        self.raise_threshold();
    }

    /// Raises the threshold to the score of the worst hit. Ties with the old threshold are then too bad.
    fn raise_threshold(&mut self) {
        if self.best.len() < self.wanted {
            return;
        }
        if let Some(Reverse(worst)) = self.best.peek()
            && worst.score > self.threshold
        {
            self.threshold = worst.score;
            self.ties.clear();
        }
    }

    fn rank_ties(&mut self) {
        let mut ties = std::mem::take(&mut self.ties);
        while let Some(row) = ties.last().copied().map(SegmentTimes::row) {
            let oldest = self.best.peek().map_or(i64::MIN, |Reverse(worst)| worst.time);
            if self.times.newest_until(row) < oldest {
                break;
            }
            let begin = ties.partition_point(|doc| SegmentTimes::row(*doc) < row);
            if self.times.newest(row) >= oldest {
                for doc in ties.iter().skip(begin).rev() {
                    self.rank(self.threshold, *doc);
                }
            }
            ties.truncate(begin);
        }
        ties.clear();
        self.ties = ties;
    }
}

impl SegmentCollector for SegmentBestHits {
    type Fruit = (usize, Vec<RankedHit<DocAddress>>);

    fn collect(&mut self, doc: DocId, score: Score) {
        self.total += 1;
        if score < self.threshold {
            return;
        }
        if score > self.threshold {
            self.rank(score, doc);
        } else {
            self.ties.push(doc);
            if self.ties.len() == TIES_MAX {
                self.rank_ties();
            }
        }
    }

    fn harvest(mut self) -> Self::Fruit {
        self.rank_ties();
        let segment_ord = self.ordinal;
        let place = |hit: RankedHit<DocId>| RankedHit {
            score: hit.score,
            time: hit.time,
            at: DocAddress { segment_ord, doc_id: hit.at },
        };
        (self.total, self.best.into_iter().map(|Reverse(hit)| place(hit)).collect())
    }
}
