//! Which terms of a text are among what was looked for: what the index matched, told term by term.

use std::collections::HashMap;

use super::query::{SearchTerms, TermMatch};
use super::{edit_distance, stemming};

/// What was looked for, each different term once.
pub(super) struct HighlightTerms<'a> {
    /// Terms as they stand, with their numbers.
    exact: HashMap<&'a str, usize>,
    /// Terms that may look otherwise.
    loose: Vec<(usize, LooseTerm<'a>)>,
    /// Each of what was looked for: numbers of terms with their offsets from the first.
    pub patterns: Vec<Vec<(usize, usize)>>,
}

enum LooseTerm<'a> {
    Prefix(&'a str),
    Near(&'a str, u8),
    Stem(&'a str),
}

impl<'a> HighlightTerms<'a> {
    /// What a search looks for in texts.
    pub fn new(looked_for: &[&'a SearchTerms]) -> Self {
        let mut wants = Self { exact: HashMap::new(), loose: Vec::new(), patterns: Vec::new() };
        let mut next = 0;
        for words in looked_for {
            let mut pattern = Vec::new();
            for (at, (offset, term)) in words.terms.iter().enumerate() {
                let is_last = at + 1 == words.terms.len();
                let loose = match &words.how {
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

    /// The numbers of what a term of a text is. Most terms are nothing that was looked for, and are told so without taking
    /// memory: this is asked of every word of every text that is shown.
    pub fn of(&self, term: &str) -> impl Iterator<Item = usize> {
        let loose = self.loose.iter().filter(move |(_, loose)| loose.matches(term)).map(|(number, _)| *number);
        self.exact.get(term).copied().into_iter().chain(loose)
    }
}

impl LooseTerm<'_> {
    fn matches(&self, term: &str) -> bool {
        match self {
            Self::Prefix(beginning) => term.starts_with(beginning),
            Self::Near(word, slips) => edit_distance::is_within_distance(word, term, *slips),
            // No ending changes how a word begins, and most words begin otherwise.
            Self::Stem(wanted) => {
                term.as_bytes().first() == wanted.as_bytes().first() && stemming::stem(term).as_deref() == Some(*wanted)
            }
        }
    }
}
