//! Texts ranked by the words that they share with a question (BM25). The texts are read one after another and not kept:
//! of each only how often it has which word.

use std::collections::HashMap;

/// How soon more of a word in one text counts for less.
const SATURATION: f32 = 1.2;
/// How much long texts are held back.
const LENGTH: f32 = 0.75;
/// A text whose score is below this part of the best one's is left out.
const WEAK: f32 = 0.25;
/// Among so many texts or more a word that more than half of them have says nothing.
const MANY: f32 = 8.0;

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct RecallQuery {
    terms: HashMap<String, usize>,
    weights: Vec<f32>,
}

/// What a text has of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TermCounts {
    /// Terms of the text.
    length: f32,
    /// Which term of the query, and how often.
    found: Vec<(usize, f32)>,
}

impl TermCounts {
    /// A text of so many terms that has none of what is asked for, so far.
    pub const fn of(length: f32) -> Self {
        Self { length, found: Vec::new() }
    }
}

impl RecallQuery {
    /// Every term that is asked for.
    pub fn terms(&self) -> impl Iterator<Item = &str> {
        self.terms.keys().map(String::as_str)
    }

    /// Notes that a text of a known length has a term so often.
    pub fn found(&self, term: &str, times: f32, text: &mut TermCounts) {
        text.found.extend(self.terms.get(term).map(|at| (*at, times)));
    }

    /// Asks for a term; of the same one twice the larger weight counts.
    pub fn ask(&mut self, term: &str, weight: f32) {
        let next = self.weights.len();
        let at = *self.terms.entry(term.to_owned()).or_insert(next);
        match self.weights.get_mut(at) {
            Some(known) => *known = known.max(weight),
            None => self.weights.push(weight),
        }
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// How much a term weighs; 0 for one that nobody asks for.
    pub fn weight(&self, term: &str) -> f32 {
        self.terms.get(term).and_then(|at| self.weights.get(*at)).copied().unwrap_or(0.0)
    }

    /// Counts a term of a text.
    pub fn count(&self, term: &str, text: &mut TermCounts) {
        text.length += 1.0;
        let Some(at) = self.terms.get(term) else { return };
        match text.found.iter_mut().find(|(term, _)| term == at) {
            Some((_, times)) => *times += 1.0,
            None => text.found.push((*at, 1.0)),
        }
    }

    /// The best of these texts, the best first, with their scores; what shares only words that most of them have is
    /// left out.
    pub fn ranked(&self, texts: &[TermCounts], most: usize) -> Vec<(usize, f32)> {
        let all = texts.iter().map(|_| 1.0).sum::<f32>();
        let average = (texts.iter().map(|text| text.length).sum::<f32>() / all.max(1.0)).max(1.0);
        let mut holders = vec![0.0_f32; self.weights.len()];
        for (at, _) in texts.iter().flat_map(|text| &text.found) {
            if let Some(holders) = holders.get_mut(*at) {
                *holders += 1.0;
            }
        }
        let rare: Vec<f32> = holders.iter().map(|holders| rarity(*holders, all)).collect();
        let score = |text: &TermCounts| -> f32 {
            let held = SATURATION * (1.0 - LENGTH + LENGTH * text.length / average);
            let of = |(at, times): &(usize, f32)| {
                let weight = self.weights.get(*at)? * rare.get(*at)?;
                Some(weight * times * (SATURATION + 1.0) / (times + held))
            };
            text.found.iter().filter_map(of).sum()
        };
        let scored = texts.iter().map(score).enumerate().filter(|(_, score)| *score > 0.0).collect();
        let mut best = super::strongest(scored, 0.0, most);
        let least = best.first().map_or(0.0, |(_, score)| score * WEAK);
        best.retain(|(_, score)| *score >= least);
        best
    }
}

/// How much a word says that so many of all texts have.
fn rarity(holders: f32, all: f32) -> f32 {
    if all >= MANY && holders > all / 2.0 {
        return 0.0;
    }
    (1.0 + (all - holders + 0.5) / (holders + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(asked: &str, texts: &[&str]) -> Vec<usize> {
        let mut query = RecallQuery::default();
        asked.split(' ').for_each(|term| query.ask(term, 1.0));
        let counted: Vec<TermCounts> = texts
            .iter()
            .map(|text| {
                let mut counted = TermCounts::default();
                text.split(' ').for_each(|term| query.count(term, &mut counted));
                counted
            })
            .collect();
        query.ranked(&counted, 10).into_iter().map(|(at, _)| at).collect()
    }

    #[test]
    fn rare_words_and_short_texts_go_first() {
        assert_eq!(ranked("key", &["a b c", "the key", "the key lies under a stone in the garden"]), [1, 2]);
        assert_eq!(ranked("blue key", &["key key a", "blue key", "a b"])[0], 1);
        assert_eq!(ranked("nothing", &["a", "b"]), Vec::<usize>::new());
        assert_eq!(ranked("a", &[]), Vec::<usize>::new());
    }

    #[test]
    fn words_that_most_texts_have_say_nothing() {
        let texts = ["the a", "the b", "the c", "the d", "the e", "the f", "the g", "key"];
        assert_eq!(ranked("the key", &texts), [7]);
        assert_eq!(ranked("the", &texts), Vec::<usize>::new());
    }

    #[test]
    fn a_term_that_is_asked_for_twice_weighs_as_its_heavier() {
        let mut query = RecallQuery::default();
        query.ask("a", 0.3);
        query.ask("a", 1.0);
        query.ask("a", 0.5);
        assert_eq!((query.weight("a"), query.weight("b"), query.is_empty()), (1.0, 0.0, false));
    }
}
