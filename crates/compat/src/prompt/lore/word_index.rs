//! Maps words to entries, so that entries that share words with the messages are found without reading all of them. The
//! caller splits texts into words.

use std::collections::HashMap;

use crate::prompt::recall::{RecallQuery, TermCounts};

use super::entry::LorebookEntry;

/// Minimum number of shared words, unless one of them is in a key or the title.
const MIN_SHARED_WORDS: usize = 2;

/// Splits a text and calls the callback with every word.
pub type WordSplitter<'c> = &'c mut dyn FnMut(&str, &mut dyn FnMut(&str));

/// The word index of some entries of a book.
#[derive(Debug, Default)]
pub struct LoreWordIndex {
    words: HashMap<Box<str>, Vec<WordPosting>>,
    /// Number of words of each entry.
    lengths: Vec<f32>,
}

/// The occurrences of a word in an entry.
#[derive(Debug)]
struct WordPosting {
    place: usize,
    times: f32,
    /// Whether the word is in the title or a key.
    is_name: bool,
}

impl LoreWordIndex {
    /// Builds the index of these entries.
    pub fn build<'e>(entries: impl IntoIterator<Item = &'e LorebookEntry>, cut: WordSplitter<'_>) -> Self {
        let mut all = Self::default();
        for entry in entries {
            let place = all.lengths.len();
            all.lengths.push(0.0);
            let names = entry.keys.iter().chain(&entry.secondary).map(|key| key.text.as_str());
            for name in names.chain([entry.title.as_str()]) {
                cut(name, &mut |word| all.add(place, word, true));
            }
            cut(&entry.content, &mut |word| all.add(place, word, false));
        }
        all
    }

    fn add(&mut self, place: usize, word: &str, is_name: bool) {
        self.lengths.last_mut().into_iter().for_each(|length| *length += 1.0);
        if !self.words.contains_key(word) {
            self.words.insert(word.into(), Vec::new());
        }
        let Some(postings) = self.words.get_mut(word) else { return };
        match postings.last_mut().filter(|last| last.place == place) {
            Some(last) => {
                last.times += 1.0;
                last.is_name |= is_name;
            }
            None => postings.push(WordPosting { place, times: 1.0, is_name }),
        }
    }

    /// Returns the term counts of each entry for a query, in entry order. A single shared word outside keys and title
    /// counts as chance: the entry gets no counts.
    pub fn match_counts(&self, query: &RecallQuery) -> Vec<TermCounts> {
        let mut counted: Vec<TermCounts> = self.lengths.iter().map(|length| TermCounts::with_length(*length)).collect();
        let mut shared: HashMap<usize, (usize, bool)> = HashMap::new();
        for word in query.terms() {
            for posting in self.words.get(word).into_iter().flatten() {
                let (words, is_named) = shared.entry(posting.place).or_default();
                *words += 1;
                *is_named |= posting.is_name;
                if let Some(own) = counted.get_mut(posting.place) {
                    query.add_count(word, posting.times, own);
                }
            }
        }
        for (place, (words, is_named)) in shared {
            let is_chance = !is_named && words < MIN_SHARED_WORDS;
            if let Some((own, length)) = counted.get_mut(place).zip(self.lengths.get(place)).filter(|_| is_chance) {
                *own = TermCounts::with_length(*length);
            }
        }
        counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(key: &str, content: &str) -> LorebookEntry {
        let entry = json!({"key": [key], "content": content});
        LorebookEntry::read("0".into(), entry.as_object().unwrap())
    }

    fn rank_entries(asked: &str, entries: &[LorebookEntry]) -> Vec<usize> {
        let mut cut = |text: &str, take: &mut dyn FnMut(&str)| text.split_whitespace().for_each(take);
        let words = LoreWordIndex::build(entries, &mut cut);
        let mut query = RecallQuery::default();
        asked.split_whitespace().for_each(|word| query.add_term(word, 1.0));
        query.rank(&words.match_counts(&query), 10).into_iter().map(|(place, _)| place).collect()
    }

    /// Domain 7.1: one word of a key or title is enough; other words count only with a second one.
    #[test]
    fn lore_word_index_single_shared_word_is_ignored() {
        let entries = [entry("tower", "grey stones by the sea"), entry("inn", "warm soup and grey bread")];
        assert_eq!(rank_entries("tower", &entries), [0]);
        assert_eq!(rank_entries("grey", &entries), Vec::<usize>::new());
        assert_eq!(rank_entries("grey stones", &entries), [0]);
        assert_eq!(rank_entries("soup bread inn", &entries), [1]);
        assert_eq!(rank_entries("", &entries), Vec::<usize>::new());
        assert_eq!(rank_entries("tower", &[]), Vec::<usize>::new());
    }
}
