//! Selects summaries: which ones a prompt includes, which messages are summarized next, and when summaries form a
//! chapter. Pure: summaries are passed in as spans of positions, counted from the start of the branch.
//!
//! A summary of messages has level 1. A chapter is one level above the summaries it was made from.

use super::OutgoingMessage;
use clotho_core::tree::Role;

/// First line of the summary block.
const HEADING: &str = "What happened before the messages that follow, summed up, the oldest first:";
/// Chapters of this level are not combined further.
const MAX_LEVEL: i16 = 5;
/// Number of the newest summaries that are never combined into a chapter.
const RECENT_KEPT: usize = 2;

/// A summary on a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SummarySpan {
    pub level: i16,
    /// Position of its first message.
    pub first: usize,
    /// Position of its last message.
    pub last: usize,
    /// Size of its text in tokens.
    pub tokens: usize,
}

/// A range of messages without a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SummaryGap {
    /// Position of the first message.
    pub first: usize,
    /// Position after the last message.
    pub end: usize,
    /// Whether a summary follows, so the gap cannot grow.
    pub is_closed: bool,
}

/// Selects the summaries for a prompt whose history begins at `begin`, oldest first.
///
/// Candidates are the summaries that end before `begin`. If they exceed `room` tokens, the oldest ones are replaced by
/// chapters. If that is still too much, the oldest are dropped.
pub fn select_for_prompt(spans: &[SummarySpan], begin: usize, room: usize) -> Vec<usize> {
    let over: Vec<usize> = sort_matching(spans, |span| span.last < begin);
    let mut chosen = non_overlapping(spans, &over, 1);
    let tokens =
        |chosen: &[usize]| chosen.iter().filter_map(|at| spans.get(*at)).map(|span| span.tokens).sum::<usize>();
    // Lower chapters first: a chapter of chapters is used only when no lower one makes the text shorter.
    let mut chapters = over.clone();
    chapters.sort_by_key(|at| spans.get(*at).map(|span| span.level));
    while tokens(&chosen) > room {
        match chapters.iter().find_map(|at| replace_with_chapter(spans, &chosen, *at)) {
            Some(shorter) => chosen = shorter,
            None if chosen.is_empty() => break,
            // A summary that alone exceeds the room is dropped first, so that it displaces no others; else the oldest
            // one.
            None => {
                let is_too_large = |at: &usize| spans.get(*at).is_some_and(|span| span.tokens > room);
                _ = chosen.remove(chosen.iter().position(is_too_large).unwrap_or(0));
            }
        }
    }
    chosen
}

/// Returns whether `some` covers at least half as many messages as `others`.
pub fn covers_half(spans: &[SummarySpan], some: &[usize], others: &[usize]) -> bool {
    let messages = |chosen: &[usize]| {
        let spans = chosen.iter().filter_map(|at| spans.get(*at));
        spans.map(|span| span.last.saturating_sub(span.first) + 1).sum::<usize>()
    };
    messages(some).saturating_mul(2) >= messages(others)
}

/// Returns the indices of the matching spans, by start; at the same start the lower and longer ones first.
fn sort_matching(spans: &[SummarySpan], wanted: impl Fn(&SummarySpan) -> bool) -> Vec<usize> {
    let mut all: Vec<(usize, i16, std::cmp::Reverse<usize>, usize)> = spans
        .iter()
        .enumerate()
        .filter(|(_, span)| wanted(span))
        .map(|(at, span)| (span.first, span.level, std::cmp::Reverse(span.last), at))
        .collect();
    all.sort_unstable();
    all.into_iter().map(|(.., at)| at).collect()
}

/// Returns the spans of a level that do not overlap an earlier chosen one.
fn non_overlapping(spans: &[SummarySpan], sorted: &[usize], level: i16) -> Vec<usize> {
    let mut end = 0;
    let mut chosen = Vec::new();
    for at in sorted {
        let Some(span) = spans.get(*at).filter(|span| span.level == level && span.first >= end) else { continue };
        end = span.last + 1;
        chosen.push(*at);
    }
    chosen
}

/// Replaces the summaries inside a chapter by the chapter; `None` if the result is not shorter or they do not match.
fn replace_with_chapter(spans: &[SummarySpan], chosen: &[usize], at: usize) -> Option<Vec<usize>> {
    let chapter = spans.get(at).filter(|span| span.level > 1)?;
    let is_in =
        |one: &usize| spans.get(*one).is_some_and(|span| is_within(span, chapter) && span.level < chapter.level);
    let inside: Vec<usize> = chosen.iter().copied().filter(is_in).collect();
    let ends = (inside.first().and_then(|at| spans.get(*at))?.first, inside.last().and_then(|at| spans.get(*at))?.last);
    let saved: usize = inside.iter().filter_map(|at| spans.get(*at)).map(|span| span.tokens).sum();
    if ends != (chapter.first, chapter.last) || saved <= chapter.tokens {
        return None;
    }
    let place = chosen.iter().position(is_in)?;
    let mut shorter: Vec<usize> = chosen.iter().copied().filter(|one| !is_in(one)).collect();
    shorter.insert(place, at);
    Some(shorter)
}

const fn is_within(span: &SummarySpan, chapter: &SummarySpan) -> bool {
    span.first >= chapter.first && span.last <= chapter.last
}

/// Returns the message ranges before `end` that have no summary, oldest first.
pub fn gaps(spans: &[SummarySpan], end: usize) -> Vec<SummaryGap> {
    let mut gaps = Vec::new();
    let mut next = 0;
    for at in sort_matching(spans, |span| span.level == 1) {
        let Some(span) = spans.get(at) else { continue };
        if span.first > next && next < end {
            gaps.push(SummaryGap { first: next, end: span.first, is_closed: true });
        }
        next = next.max(span.last + 1);
    }
    if next < end {
        gaps.push(SummaryGap { first: next, end, is_closed: false });
    }
    gaps
}

/// Returns the `size` summaries that become a chapter now, oldest first.
///
/// They are adjacent, belong to no chapter and are not among the newest.
pub fn next_chapter(spans: &[SummarySpan], size: usize) -> Option<Vec<usize>> {
    let all = sort_matching(spans, |_| true);
    (1..MAX_LEVEL).find_map(|level| {
        let is_told_of =
            |span: &SummarySpan| spans.iter().any(|other| other.level == level + 1 && is_within(span, other));
        let mut free = non_overlapping(spans, &all, level);
        free.retain(|at| spans.get(*at).is_some_and(|span| !is_told_of(span)));
        free.truncate(free.len().saturating_sub(RECENT_KEPT));
        let follow = |run: &&[usize]| {
            run.windows(2).all(|pair| match pair {
                [one, other] => spans.get(*one).map(|one| one.last + 1) == spans.get(*other).map(|other| other.first),
                _ => true,
            })
        };
        free.windows(size.max(2)).find(follow).map(<[usize]>::to_vec)
    })
}

/// Returns the summary block of a prompt; empty if all texts are empty.
pub fn block<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let told: Vec<&str> = texts.into_iter().map(str::trim).filter(|text| !text.is_empty()).collect();
    if told.is_empty() { String::new() } else { format!("{HEADING}\n{}", told.join("\n")) }
}

/// Returns the heading of the block, to measure its size.
pub const fn heading() -> &'static str {
    HEADING
}

const CHAPTER_INSTRUCTION: &str = "You sum up a part of a story, of which you are given summaries in their order, for whoever goes on telling \
                       it. Keep what later events may depend on: who did, said, promised, learnt, gained and lost what, where \
                       they are and how they stand to each other. Leave out what has been settled since. Write plain prose \
                       in the past tense, in the language of the text, a third of its length or less, and nothing besides.";

/// Builds the request for a chapter. The texts go into a user message, because every server accepts one.
pub fn chapter_messages(texts: &[String]) -> Vec<OutgoingMessage> {
    let sent = |role: Role, text: String| OutgoingMessage { role, name: None, text };
    vec![sent(Role::System, CHAPTER_INSTRUCTION.to_owned()), sent(Role::User, texts.join("\n\n"))]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(level: i16, first: usize, last: usize, tokens: usize) -> SummarySpan {
        SummarySpan { level, first, last, tokens }
    }

    /// Section 4, rank 11: newest summaries whole, older ones as chapters, and only those that left the history.
    #[test]
    fn summaries_select_prefers_recent_whole_and_old_chapters() {
        let spans = [
            span(1, 0, 3, 10),
            span(1, 4, 7, 10),
            span(1, 8, 11, 10),
            span(1, 12, 15, 10),
            span(2, 0, 7, 6),
            span(2, 8, 15, 6),
            span(3, 0, 15, 4),
        ];
        for (begin, room, expected) in [
            (16, 40, vec![0, 1, 2, 3]),
            (16, 39, vec![4, 2, 3]),
            (16, 26, vec![4, 2, 3]),
            (16, 25, vec![4, 5]),
            (16, 11, vec![6]),
            (16, 3, vec![]),
            (15, 40, vec![0, 1, 2]),
            (15, 29, vec![4, 2]),
            (15, 15, vec![2]),
            (3, 40, vec![]),
            (4, 40, vec![0]),
        ] {
            assert_eq!(select_for_prompt(&spans, begin, room), expected, "{begin} {room}");
        }
    }

    #[test]
    fn summaries_covering_half_of_messages_is_enough() {
        let spans = [span(1, 0, 3, 5), span(1, 4, 7, 5), span(2, 0, 7, 3)];
        for (some, others, expected) in
            [(vec![0], vec![0, 1], true), (vec![0], vec![2], true), (vec![], vec![0], false), (vec![], vec![], true)]
        {
            assert_eq!(covers_half(&spans, &some, &others), expected, "{some:?} {others:?}");
        }
        assert!(!covers_half(&[span(1, 0, 1, 9), span(2, 0, 17, 9)], &[0], &[1]));
    }

    /// A summary that is too long for the room does not displace the others.
    #[test]
    fn summaries_oversized_summary_alone_is_dropped() {
        let spans = [span(1, 0, 3, 10), span(1, 4, 7, 10), span(1, 8, 11, 90)];
        assert_eq!(select_for_prompt(&spans, 16, 25), [0, 1]);
        assert_eq!(select_for_prompt(&spans, 16, 15), [1]);
    }

    #[test]
    fn summaries_overlapping_spans_one_is_selected() {
        let spans = [span(1, 0, 3, 5), span(1, 2, 6, 5), span(1, 4, 8, 5), span(1, 0, 2, 5)];
        assert_eq!(select_for_prompt(&spans, 20, 100), [0, 2]);
    }

    #[test]
    fn summaries_uncovered_messages_are_gaps() {
        let gap = |first, end, is_closed| SummaryGap { first, end, is_closed };
        assert_eq!(gaps(&[], 5), [gap(0, 5, false)]);
        assert_eq!(gaps(&[], 0), []);
        let spans = [span(1, 2, 3, 5), span(1, 6, 9, 5), span(2, 0, 9, 5)];
        assert_eq!(gaps(&spans, 12), [gap(0, 2, true), gap(4, 6, true), gap(10, 12, false)]);
        assert_eq!(gaps(&spans, 10), [gap(0, 2, true), gap(4, 6, true)]);
        assert_eq!(gaps(&spans, 1), [gap(0, 2, true)]);
    }

    #[test]
    fn summaries_enough_neighbours_form_chapter() {
        let pieces = |n: usize| (0..n).map(|at| span(1, at * 4, at * 4 + 3, 10)).collect::<Vec<_>>();
        assert_eq!(next_chapter(&pieces(4), 3), None, "the newest stay whole");
        assert_eq!(next_chapter(&pieces(5), 3), Some(vec![0, 1, 2]));
        let mut spans = pieces(7);
        spans.push(span(2, 0, 11, 10));
        assert_eq!(next_chapter(&spans, 3), None);
        spans.push(span(1, 28, 31, 10));
        assert_eq!(next_chapter(&spans, 3), Some(vec![3, 4, 5]));
        spans.remove(4);
        assert_eq!(next_chapter(&spans, 3), None, "what lies between is missing");
        let chapters: Vec<SummarySpan> = (0..5).map(|at| span(2, at * 4, at * 4 + 3, 10)).collect();
        assert_eq!(next_chapter(&chapters, 3), Some(vec![0, 1, 2]));
    }

    #[test]
    fn summaries_block_empty_text_is_skipped() {
        assert_eq!(block([" ", ""]), "");
        assert!(block(["One.", "", " Two.\n"]).ends_with("first:\nOne.\nTwo."));
        assert_eq!(chapter_messages(&["a".into(), "b".into()]).last().map(|sent| sent.text.as_str()), Some("a\n\nb"));
    }
}
