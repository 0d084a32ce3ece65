//! Decides term by term which terms of a text match the search, as the index did.

use std::collections::HashMap;

use super::analyzer::PhraseTerm;
use super::query::{SearchTerms, TermMatch};
use super::{edit_distance, stemming};

/// The searched terms, numbered; each distinct term once.
pub(super) struct HighlightTerms<'a> {
    /// Exact terms with their numbers.
    exact: HashMap<&'a str, usize>,
    /// Prefixes, near matches and stems, with their numbers.
    loose: Vec<(usize, LooseTerm<'a>)>,
    /// For each search phrase, the offsets from its first term and the term numbers.
    pub patterns: Vec<Vec<(usize, usize)>>,
}

enum LooseTerm<'a> {
    Prefix(&'a str),
    Near(&'a str, u8),
    Stem(&'a str),
}

impl<'a> HighlightTerms<'a> {
    /// Collects the terms of a search.
    pub fn new(looked_for: &[&'a SearchTerms]) -> Self {
        let mut wants = Self { exact: HashMap::new(), loose: Vec::new(), patterns: Vec::new() };
        let mut next = 0;
        for words in looked_for {
            let mut pattern = Vec::new();
            for (at, PhraseTerm { offset, text: term }) in words.terms.iter().enumerate() {
                let is_last = at + 1 == words.terms.len();
                let loose = match &words.matching {
                    TermMatch::Prefix if is_last => Some(LooseTerm::Prefix(term)),
                    TermMatch::Near(slips) => Some(LooseTerm::Near(term, *slips)),
                    TermMatch::Forms(stem) => Some(LooseTerm::Stem(stem)),
                    TermMatch::Exact | TermMatch::Prefix => None,
                };
                let number = match loose {
                    Some(loose) => {
                        wants.loose.push((next, loose));
                        next
                    }
                    None => *wants.exact.entry(term).or_insert(next),
                };
                next += usize::from(number == next);
                pattern.push((*offset, number));
            }
            wants.patterns.push(pattern);
        }
        wants
    }

    /// Returns the numbers of all searched terms that `term` matches. It does not allocate, because it is called for
    /// every word of every shown text.
    pub fn matches(&self, term: &str) -> impl Iterator<Item = usize> {
        let loose = self.loose.iter().filter(move |(_, loose)| loose.matches(term)).map(|(number, _)| *number);
        self.exact.get(term).copied().into_iter().chain(loose)
    }
}

impl LooseTerm<'_> {
    fn matches(&self, term: &str) -> bool {
        match self {
            Self::Prefix(beginning) => term.starts_with(beginning),
            Self::Near(word, slips) => edit_distance::is_within_distance(word, term, *slips),
            // Stemming keeps the first letter, so most words are rejected here.
            Self::Stem(wanted) => {
                term.as_bytes().first() == wanted.as_bytes().first() && stemming::stem(term).as_deref() == Some(*wanted)
            }
        }
    }
}
