//! Which terms of a text are among what was looked for: what the index matched, told term by term.

use std::collections::HashMap;

use super::query::{SearchTerms, TermMatch};
use super::{english, near};

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
    Begun(&'a str),
    Near(&'a str, u8),
    Form(&'a str),
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
                    TermMatch::Begun if is_last => Some(LooseTerm::Begun(term)),
                    TermMatch::Near(slips) => Some(LooseTerm::Near(term, *slips)),
                    TermMatch::Forms(stem) => Some(LooseTerm::Form(stem)),
                    TermMatch::Exact | TermMatch::Begun => None,
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
        let loose = self.loose.iter().filter(move |(_, loose)| loose.is(term)).map(|(number, _)| *number);
        self.exact.get(term).copied().into_iter().chain(loose)
    }
}

impl LooseTerm<'_> {
    fn is(&self, term: &str) -> bool {
        match self {
            Self::Begun(beginning) => term.starts_with(beginning),
            Self::Near(word, slips) => near::is_near(word, term, *slips),
            // No ending changes how a word begins, and most words begin otherwise.
            Self::Form(wanted) => {
                term.as_bytes().first() == wanted.as_bytes().first() && english::stem(term).as_deref() == Some(*wanted)
            }
        }
    }
}
