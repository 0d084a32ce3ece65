//! Ranks texts by the words they share with a query (BM25). Texts are read one by one and not kept; only their term
//! counts are.

use std::collections::HashMap;

/// BM25 parameter k1: how fast repeated terms saturate.
const TERM_SATURATION: f32 = 1.2;
/// BM25 parameter b: how strongly long texts are penalized.
const LENGTH_NORMALIZATION: f32 = 0.75;
/// Texts with a score below this share of the best score are dropped.
const MIN_SCORE_RATIO: f32 = 0.25;
/// With at least so many texts, terms in more than half of them are ignored.
const COMMON_TERM_MIN_TEXTS: f32 = 8.0;

/// A query of weighted terms.
#[derive(Debug, Clone, Default)]
pub struct RecallQuery {
    terms: HashMap<String, usize>,
    weights: Vec<f32>,
}

/// The query terms in one text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TermCounts {
    /// Number of terms of the text.
    length: f32,
    /// Index of a query term, and its count.
    terms: Vec<(usize, f32)>,
}

impl TermCounts {
    /// Creates the counts of a text with a known length, without any query terms yet.
    pub const fn with_length(length: f32) -> Self {
        Self { length, terms: Vec::new() }
    }
}

impl RecallQuery {
    /// Returns all query terms.
    pub fn terms(&self) -> impl Iterator<Item = &str> {
        self.terms.keys().map(String::as_str)
    }

    /// Records how often a text contains a term; the length must already be set.
    pub fn add_count(&self, term: &str, times: f32, text: &mut TermCounts) {
        text.terms.extend(self.terms.get(term).map(|at| (*at, times)));
    }

    /// Adds a query term; for a repeated term the larger weight counts.
    pub fn add_term(&mut self, term: &str, weight: f32) {
        let next = self.weights.len();
        let at = *self.terms.entry(term.to_owned()).or_insert(next);
        match self.weights.get_mut(at) {
            Some(known) => *known = known.max(weight),
            None => self.weights.push(weight),
        }
    }

    /// Returns whether the query has no terms.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// Returns the weight of a term; 0 if it is not in the query.
    pub fn weight(&self, term: &str) -> f32 {
        self.terms.get(term).and_then(|at| self.weights.get(*at)).copied().unwrap_or(0.0)
    }

    /// Counts one term of a text.
    pub fn count(&self, term: &str, text: &mut TermCounts) {
        text.length += 1.0;
        let Some(at) = self.terms.get(term) else { return };
        match text.terms.iter_mut().find(|(term, _)| term == at) {
            Some((_, times)) => *times += 1.0,
            None => text.terms.push((*at, 1.0)),
        }
    }

    /// Returns at most `most` texts with their scores, best first. Texts that share only common terms are dropped.
    pub fn rank(&self, texts: &[TermCounts], most: usize) -> Vec<(usize, f32)> {
        let all = texts.iter().map(|_| 1.0).sum::<f32>();
        let average = (texts.iter().map(|text| text.length).sum::<f32>() / all.max(1.0)).max(1.0);
        let mut holders = vec![0.0_f32; self.weights.len()];
        for (at, _) in texts.iter().flat_map(|text| &text.terms) {
            if let Some(holders) = holders.get_mut(*at) {
                *holders += 1.0;
            }
        }
        let rare: Vec<f32> = holders.iter().map(|holders| inverse_document_frequency(*holders, all)).collect();
        let score = |text: &TermCounts| -> f32 {
            let saturation =
                TERM_SATURATION * (1.0 - LENGTH_NORMALIZATION + LENGTH_NORMALIZATION * text.length / average);
            let of = |(at, times): &(usize, f32)| {
                let weight = self.weights.get(*at)? * rare.get(*at)?;
                Some(weight * times * (TERM_SATURATION + 1.0) / (times + saturation))
            };
            text.terms.iter().filter_map(of).sum()
        };
        let scored = texts.iter().map(score).enumerate().filter(|(_, score)| *score > 0.0).collect();
        let mut best = super::top_scored(scored, 0.0, most);
        let least = best.first().map_or(0.0, |(_, score)| score * MIN_SCORE_RATIO);
        best.retain(|(_, score)| *score >= least);
        best
    }
}

/// Returns the inverse document frequency of a term; 0 for common terms.
fn inverse_document_frequency(holders: f32, all: f32) -> f32 {
    if all >= COMMON_TERM_MIN_TEXTS && holders > all / 2.0 {
        return 0.0;
    }
    (1.0 + (all - holders + 0.5) / (holders + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank_texts(asked: &str, texts: &[&str]) -> Vec<usize> {
        let mut query = RecallQuery::default();
        asked.split(' ').for_each(|term| query.add_term(term, 1.0));
        let counted: Vec<TermCounts> = texts
            .iter()
            .map(|text| {
                let mut counted = TermCounts::default();
                text.split(' ').for_each(|term| query.count(term, &mut counted));
                counted
            })
            .collect();
        query.rank(&counted, 10).into_iter().map(|(at, _)| at).collect()
    }

    #[test]
    fn bm25_rare_terms_and_short_texts_rank_first() {
        assert_eq!(rank_texts("key", &["a b c", "the key", "the key lies under a stone in the garden"]), [1, 2]);
        assert_eq!(rank_texts("blue key", &["key key a", "blue key", "a b"])[0], 1);
        assert_eq!(rank_texts("nothing", &["a", "b"]), Vec::<usize>::new());
        assert_eq!(rank_texts("a", &[]), Vec::<usize>::new());
    }

    #[test]
    fn bm25_common_terms_are_ignored() {
        let texts = ["the a", "the b", "the c", "the d", "the e", "the f", "the g", "key"];
        assert_eq!(rank_texts("the key", &texts), [7]);
        assert_eq!(rank_texts("the", &texts), Vec::<usize>::new());
    }

    #[test]
    fn bm25_repeated_term_uses_higher_weight() {
        let mut query = RecallQuery::default();
        query.add_term("a", 0.3);
        query.add_term("a", 1.0);
        query.add_term("a", 0.5);
        assert_eq!((query.weight("a"), query.weight("b"), query.is_empty()), (1.0, 0.0, false));
    }
}
