//! What hits must not match, taken away with care.
//!
//! Of what is taken away tantivy asks about one document after the other, also about some that lie before the first one that
//! matches. Phrases are sure that nobody does that, and a program built with debug assertions stops there. This asks only for
//! what comes next.

use tantivy::query::{EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{DocId, DocSet, Score, SegmentReader, Term};

/// A query that may be taken away from another.
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

/// Is asked for what comes next, and for nothing else.
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
