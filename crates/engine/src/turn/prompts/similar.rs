//! Lorebook entries similar to the last messages, found without their keys (`docs/lore.md`): by vectors if there are
//! any, else by shared words. What is found then goes through all other steps of a scan.

use std::sync::Arc;

use serde_json::{Value, json};

use clotho_compat::prompt::lore::{LoreReason, LoreScore, ScanBook, SimilarEntry, SimilaritySettings};
use clotho_compat::prompt::recall::{self, NearestVectors, RecallQuery, TermCounts};
use clotho_search::TermAnalyzer;
use clotho_store::{StoreError, StoreReader};

use super::recall::PromptRecallQuery;

/// The maximum number of entries compared by vectors.
const MAX_ENTRIES: usize = 5_000;
/// The weight of messages before the last one.
const BEFORE: f32 = 0.5;
/// Common English words, stemmed, sorted.
const STOP_WORDS: [&str; 67] = [
    "about", "after", "again", "all", "also", "and", "ani", "are", "away", "back", "been", "befor", "but", "can",
    "could", "did", "down", "for", "from", "get", "had", "has", "have", "her", "here", "him", "his", "how", "into",
    "just", "let", "like", "may", "more", "not", "now", "off", "one", "our", "out", "over", "say", "see", "she",
    "some", "that", "the", "their", "them", "then", "there", "they", "this", "too", "veri", "was", "were", "what",
    "when", "where", "which", "who", "will", "with", "would", "you", "your",
];

/// The entries found.
#[derive(Debug, Clone, Default)]
pub struct SimilarEntries {
    pub near: Vec<SimilarEntry>,
    /// How they were found, for the trace; `None` if similarity is off.
    pub trace: Option<Value>,
}

/// The index of a book, and of an entry in it.
type LoreEntryPosition = (usize, usize);

/// Finds the entries similar to the last messages, given newest first.
///
/// # Errors
/// Returns an error if the database fails.
pub fn find_similar(
    reader: &mut StoreReader<'_>,
    books: &[&Arc<ScanBook>],
    rules: &SimilaritySettings,
    newest_first: &[&str],
    cue: &PromptRecallQuery,
) -> Result<SimilarEntries, StoreError> {
    let first = |at: usize, book: &ScanBook| books.iter().position(|other| other.id == book.id) == Some(at);
    let places: Vec<LoreEntryPosition> = books
        .iter()
        .enumerate()
        .filter(|(at, book)| rules.entries > 0 && first(*at, book))
        .flat_map(|(at, book)| book.content_matched_entries(rules.all).map(move |entry| (at, entry)))
        .collect();
    if places.is_empty() {
        return Ok(SimilarEntries::default());
    }
    let (mut near, known) = by_vectors(reader, books, rules, &places, cue)?;
    let has_vectors = !known.is_empty();
    let left = rules.entries.saturating_sub(near.len());
    let (looked, is_whole) = (places.len(), known.len() == places.len());
    if left > 0 && !is_whole {
        near.extend(by_words(books, rules, newest_first, &known, left));
    }
    let by: Vec<&str> =
        [("vectors", has_vectors), ("words", !is_whole)].iter().filter(|by| by.1).map(|by| by.0).collect();
    let mut told = json!({"by": by, "looked": looked, "found": near.len()});
    if let (Some(problem), Some(told)) = (cue.lore.problem.as_ref(), told.as_object_mut()) {
        told.insert("problem".into(), problem.message.as_str().into());
        told.insert("failure".into(), problem.to_json());
    }
    Ok(SimilarEntries { near, trace: Some(told) })
}

/// Returns the entries with near vectors, nearest first, and all entries that have a vector.
fn by_vectors(
    reader: &mut StoreReader<'_>,
    books: &[&Arc<ScanBook>],
    rules: &SimilaritySettings,
    places: &[LoreEntryPosition],
    cue: &PromptRecallQuery,
) -> Result<(Vec<SimilarEntry>, Vec<LoreEntryPosition>), StoreError> {
    let Some((model, vector)) = &cue.lore.vector else { return Ok((Vec::new(), Vec::new())) };
    let hash = |(book, entry): &LoreEntryPosition| {
        let entry = books.get(*book)?.entries.get(*entry)?;
        Some(recall::embed_hash(&entry.content, cue.max_chars()))
    };
    let hashes: Vec<blake3::Hash> = places.iter().take(MAX_ENTRIES).filter_map(hash).collect();
    let ranked = reader.vectors(model).nearest(vector, &hashes, -1.0, hashes.len())?;
    let least = f32::from(rules.threshold) / 100.0;
    let near = ranked.iter().take_while(|(_, score)| *score >= least).take(rules.entries);
    let near = near.filter_map(|(at, score)| {
        let (book, entry) = *places.get(*at)?;
        Some(SimilarEntry { book, entry, reason: LoreReason::Vectors { score: LoreScore::from_score(*score) } })
    });
    let mut known: Vec<LoreEntryPosition> = ranked.iter().filter_map(|(at, _)| places.get(*at).copied()).collect();
    known.sort_unstable();
    Ok((near.collect(), known))
}

/// Returns the entries that share most words with the messages, except for those that have vectors.
fn by_words(
    books: &[&Arc<ScanBook>],
    rules: &SimilaritySettings,
    newest_first: &[&str],
    known: &[LoreEntryPosition],
    most: usize,
) -> Vec<SimilarEntry> {
    let (mut terms, mut query, mut weight) = (TermAnalyzer::default(), RecallQuery::default(), 1.0);
    for text in newest_first.iter().take(rules.messages) {
        terms.for_each_term(text, |term| {
            if is_meaningful(term) {
                query.add_term(term, weight);
            }
        });
        weight = BEFORE;
    }
    let (mut places, mut counted): (Vec<LoreEntryPosition>, Vec<TermCounts>) = (Vec::new(), Vec::new());
    for (at, book) in books.iter().enumerate() {
        if books.iter().position(|other| other.id == book.id) != Some(at) {
            continue;
        }
        let mut cut = |text: &str, take: &mut dyn FnMut(&str)| terms.for_each_term(text, take);
        let own = book.word_index(rules.all, &mut cut).match_counts(&query);
        for (entry, counts) in book.content_matched_entries(rules.all).zip(own) {
            let is_known = known.binary_search(&(at, entry)).is_ok();
            places.push((at, entry));
            counted.push(if is_known { TermCounts::default() } else { counts });
        }
    }
    let near = |(at, score): (usize, f32)| {
        let (book, entry) = *places.get(at)?;
        Some(SimilarEntry { book, entry, reason: LoreReason::Words { score: LoreScore::from_score(score) } })
    };
    query.rank(&counted, most).into_iter().filter_map(near).collect()
}

/// Returns whether a shared word counts: not if it is a single character or a stop word.
fn is_meaningful(term: &str) -> bool {
    term.chars().nth(1).is_some() && STOP_WORDS.binary_search(&term).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lore_similarity_ignores_common_words() {
        assert!(STOP_WORDS.is_sorted());
        for (term, says) in [("the", false), ("灯", false), ("灯塔", true), ("lantern", true), ("with", false)] {
            assert_eq!(is_meaningful(term), says, "{term}");
        }
        let mut stems = Vec::new();
        TermAnalyzer::default().for_each_term(&STOP_WORDS.join(" "), |term| stems.push(term.to_owned()));
        assert_eq!(stems, STOP_WORDS, "they are ground forms");
    }
}
