//! A wrapper for excluded queries.
//!
//! tantivy tests an exclusion for each candidate document with `seek_danger`, also for documents before its first
//! match. Phrase scorers assert that this never happens, and a debug build panics there. The wrapper does not forward
//! `seek_danger`, so tantivy's default implementation is used, which only seeks forward.

use tantivy::query::{EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{DocId, DocSet, Score, SegmentReader, Term};

/// A query whose matches are excluded from another one.
#[derive(Debug)]
pub(super) struct ExclusionQuery(pub Box<dyn Query>);

impl Clone for ExclusionQuery {
    fn clone(&self) -> Self {
        Self(self.0.box_clone())
    }
}

impl Query for ExclusionQuery {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(ExclusionWeight(self.0.weight(scoring)?)))
    }

    fn query_terms<'a>(&'a self, visitor: &mut dyn FnMut(&'a Term, bool)) {
        self.0.query_terms(visitor);
    }
}

struct ExclusionWeight(Box<dyn Weight>);

impl Weight for ExclusionWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        Ok(Box::new(ForwardScorer(self.0.scorer(reader, boost)?)))
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        self.0.explain(reader, doc)
    }
}

/// A scorer that does not forward `seek_danger`, so that it only moves forward.
struct ForwardScorer(Box<dyn Scorer>);

impl DocSet for ForwardScorer {
    fn advance(&mut self) -> DocId {
        self.0.advance()
    }

    fn seek(&mut self, target: DocId) -> DocId {
        self.0.seek(target)
    }

    fn doc(&self) -> DocId {
        self.0.doc()
    }

    fn size_hint(&self) -> u32 {
        self.0.size_hint()
    }

    fn cost(&self) -> u64 {
        self.0.cost()
    }
}

impl Scorer for ForwardScorer {
    fn score(&mut self) -> Score {
        self.0.score()
    }
}
