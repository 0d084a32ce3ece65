//! Excerpts of texts that show the matches, with the ranges to mark; never markup.

use std::collections::BTreeMap;

use super::analyzer::{self, is_snippet_boundary};
use super::highlight::HighlightTerms;

/// The length of a snippet, in characters.
const LENGTH: usize = 200;
/// How many characters may precede the first mark.
const LEAD: usize = 40;
/// How many term matches of one text are examined.
const TERMS_MAX: usize = 10_000;
/// How many matches are compared as possible starts.
const PLACES_MAX: usize = 200;

/// An excerpt of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snippet {
    /// One line, with `…` where the text was cut.
    pub text: String,
    /// The matches: sorted, disjoint ranges `[start, end)` in UTF-16 code units of `text`.
    pub marks: Vec<(usize, usize)>,
}

/// A match in bytes, with the number of its phrase.
struct SnippetMatch {
    start: usize,
    end: usize,
    phrase: usize,
}

/// Returns the excerpt of `text` with the most distinct phrases, the earliest of several.
pub(super) fn build_snippet(text: &str, wants: &HighlightTerms<'_>) -> Snippet {
    let places = find_matches(text, wants);
    let first = best_start(&places);
    let start = extend_back(text, first, LEAD);
    let end = extend_forward(text, start, LENGTH);
    let mut snippet = Snippet::default();
    if start > 0 {
        snippet.text.push('…');
    }
    let shift = snippet.text.chars().count();
    let piece = text.get(start..end).unwrap_or_default();
    snippet.text.extend(piece.chars().map(|c| if c.is_control() { ' ' } else { c }));
    if end < text.len() {
        snippet.text.push('…');
    }
    let units = |at: usize| shift + piece.get(..at - start).unwrap_or_default().encode_utf16().count();
    for place in places.iter().filter(|place| place.start >= start && place.start < end) {
        let mark = (units(place.start), units(place.end.min(end)));
        match snippet.marks.last_mut() {
            Some(last) if mark.0 <= last.1 => last.1 = last.1.max(mark.1),
            _ => snippet.marks.push(mark),
        }
    }
    snippet
}

/// Returns all matches, sorted by position.
fn find_matches(text: &str, wants: &HighlightTerms<'_>) -> Vec<SnippetMatch> {
    let mut hits: BTreeMap<(usize, usize), (usize, usize)> = BTreeMap::new();
    analyzer::text_analyzer().token_stream(text).process(&mut |token| {
        if hits.len() < TERMS_MAX {
            let place = |number| ((token.position, number), (token.offset_from, token.offset_to));
            hits.extend(wants.matches(&token.text).map(place));
        }
    });
    let mut places = Vec::new();
    for (&(position, number), &(start, _)) in &hits {
        for (phrase, terms) in wants.patterns.iter().enumerate() {
            let begins = terms.first().filter(|(_, first)| *first == number);
            let ends = begins.and_then(|(first, _)| {
                let end = |(offset, number): &(usize, usize)| hits.get(&(position + offset - first, *number));
                terms.iter().map(|term| end(term).map(|(_, end)| *end)).collect::<Option<Vec<usize>>>()
            });
            if let Some(end) = ends.and_then(|ends| ends.into_iter().max()) {
                places.push(SnippetMatch { start, end, phrase });
            }
        }
    }
    places.sort_by_key(|place| (place.start, place.end));
    places
}

/// Returns the start of the excerpt with the most distinct phrases.
fn best_start(places: &[SnippetMatch]) -> usize {
    let variety = |from: usize, start: usize| {
        let near = places.iter().skip(from).take_while(|place| place.end <= start + LENGTH).take(PLACES_MAX);
        let mut phrases: Vec<usize> = near.map(|place| place.phrase).collect();
        phrases.sort_unstable();
        phrases.dedup();
        phrases.len()
    };
    let weighed =
        places.iter().take(PLACES_MAX).enumerate().map(|(from, place)| (variety(from, place.start), place.start));
    weighed.reduce(|best, next| if next.0 > best.0 { next } else { best }).map_or(0, |(_, start)| start)
}

/// Returns the position up to `count` characters before `at`, at the start of a word if one is near.
fn extend_back(text: &str, at: usize, count: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    let mut start = at;
    let mut word = None;
    for (place, c) in before.char_indices().rev().take(count) {
        if c.is_whitespace() {
            word = Some(place + c.len_utf8());
        }
        if is_snippet_boundary(c) {
            start = place;
        }
    }
    if start == 0 { 0 } else { word.unwrap_or(start) }
}

/// Returns the position `count` characters after `start`, at the end of a word if one is near.
fn extend_forward(text: &str, start: usize, count: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let Some((limit, _)) = rest.char_indices().skip(count).find(|(_, c)| is_snippet_boundary(*c)) else {
        return text.len();
    };
    let piece = rest.get(..limit).unwrap_or_default();
    let word = piece.char_indices().rev().take(LEAD / 2).find(|(_, c)| c.is_whitespace());
    start + word.map_or(limit, |(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{SearchTerms, TermMatch};
    use proptest::prelude::*;

    fn mark_phrases(text: &str, phrases: &[&str]) -> String {
        let words: Vec<SearchTerms> = phrases.iter().filter_map(|phrase| SearchTerms::exact_terms(phrase)).collect();
        mark_terms(text, &words)
    }

    fn mark_terms(text: &str, words: &[SearchTerms]) -> String {
        let words: Vec<&SearchTerms> = words.iter().collect();
        let snippet = build_snippet(text, &HighlightTerms::new(&words));
        let units: Vec<u16> = snippet.text.encode_utf16().collect();
        let mut shown = String::new();
        let mut at = 0;
        for (start, end) in snippet.marks {
            assert!(start >= at && end > start && end <= units.len());
            shown += &String::from_utf16(&units[at..start]).unwrap();
            shown += &format!("[{}]", String::from_utf16(&units[start..end]).unwrap());
            at = end;
        }
        shown + &String::from_utf16(&units[at..]).unwrap()
    }

    #[test]
    fn snippet_marks_cover_matched_words() {
        assert_eq!(mark_phrases("The Red lantern.\nRed fog", &["red"]), "The [Red] lantern. [Red] fog");
        assert_eq!(mark_phrases("red fog, red lantern", &["red lantern"]), "red fog, [red lantern]");
        assert_eq!(mark_phrases("🔥🔥 守灯人点亮了灯塔", &["守灯人", "灯塔"]), "🔥🔥 [守灯人]点亮了[灯塔]");
        assert_eq!(mark_phrases("🔥 <b>café</b>", &["cafe"]), "🔥 <b>[café]</b>");
        assert_eq!(mark_phrases("点亮了灯塔", &["亮了", "灯"]), "点[亮了灯]塔");
        assert_eq!(mark_phrases("nothing here", &["name"]), "nothing here");
        assert_eq!(mark_phrases("", &["x"]), "");
    }

    #[test]
    fn snippet_fuzzy_matches_are_marked() {
        let words =
            |text: &str, how: TermMatch| SearchTerms { matching: how, ..SearchTerms::exact_terms(text).unwrap() };
        let text = "Running past lanterns she runs; the red lamp";
        let check = |looked_for: SearchTerms, expected: &str| assert_eq!(mark_terms(text, &[looked_for]), expected);
        check(words("runs", TermMatch::Forms("run".into())), "[Running] past lanterns she [runs]; the red lamp");
        check(words("red la", TermMatch::Prefix), "Running past lanterns she runs; the [red lamp]");
        check(words("la", TermMatch::Prefix), "Running past [lanterns] she runs; the red [lamp]");
        check(words("lamb", TermMatch::Near(1)), "Running past lanterns she runs; the red [lamp]");
    }

    #[test]
    fn snippet_shows_most_phrases() {
        let text = format!("red {} red lantern {}", "fog ".repeat(100), "sea ".repeat(100));
        let shown = mark_phrases(&text, &["red", "lantern"]);
        assert!(shown.contains("[red] [lantern]"), "{shown}");
        assert!(shown.starts_with("…fog") && shown.ends_with("sea…"), "{shown}");
        assert!(shown.chars().count() < LENGTH + 10);
    }

    proptest! {
        #[test]
        fn snippet_any_text_does_not_panic(text in "[a-c 灯塔🔥\u{301}\u{200d}\n]{0,600}", phrase in "[a-c 灯塔🔥]{0,6}") {
            let shown = mark_phrases(&text, &[&phrase, "a b"]);
            prop_assert!(shown.chars().filter(|&c| c == '…').count() <= 2);
        }
    }
}
