//! Selects the relevant part of a long text.

use crate::prompt::TokenMeasure;

/// Characters after which a text may be cut.
const SENTENCE_ENDS: [char; 9] = ['\n', '.', '!', '?', '。', '！', '？', '…', '；'];
/// Marks an omission.
const ELLIPSIS: &str = "…";

/// Returns the text, or, if it exceeds `most` tokens, the sentences around the one with the highest weight.
pub fn excerpt(text: &str, most: usize, measure: &TokenMeasure, weigh: impl Fn(&str) -> f32) -> String {
    let text = text.trim();
    let tokens = |text: &str| measure.message(text);
    if tokens(text) <= most {
        return text.to_owned();
    }
    let sentences: Vec<&str> = text.split_inclusive(SENTENCE_ENDS).collect();
    let mut best = (0, f32::MIN);
    for (at, sentence) in sentences.iter().enumerate() {
        let weight = weigh(sentence);
        if weight > best.1 {
            best = (at, weight);
        }
    }
    let (mut first, mut last) = (best.0, best.0);
    let part = |first: usize, last: usize| sentences.get(first..=last).unwrap_or_default().concat();
    // Extend forwards first: following sentences are more often relevant than preceding ones.
    loop {
        if last + 1 < sentences.len() && tokens(&part(first, last + 1)) <= most {
            last += 1;
        } else if first > 0 && tokens(&part(first - 1, last)) <= most {
            first -= 1;
        } else {
            break;
        }
    }
    let part = part(first, last);
    let short = truncate_to_tokens(part.trim(), most, measure);
    let is_cut = last + 1 < sentences.len() || short.len() < part.trim().len();
    [if first > 0 { ELLIPSIS } else { "" }, &short, if is_cut { ELLIPSIS } else { "" }].concat()
}

/// Returns the longest prefix of at most `most` tokens.
fn truncate_to_tokens(text: &str, most: usize, measure: &TokenMeasure) -> String {
    let ends: Vec<usize> = text.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
    let beginning = |end: &usize| text.get(..*end).unwrap_or_default();
    let fitting = ends.partition_point(|end| measure.message(beginning(end)) <= most);
    let end = fitting.checked_sub(1).and_then(|last| ends.get(last));
    end.map(beginning).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::estimate_message;

    fn excerpt(text: &str, most: usize, weigh: impl Fn(&str) -> f32) -> String {
        super::excerpt(text, most, &TokenMeasure::default(), weigh)
    }

    fn word_weigher(word: &'static str) -> impl Fn(&str) -> f32 {
        move |text| if text.contains(word) { 1.0 } else { 0.0 }
    }

    #[test]
    fn excerpt_keeps_highest_weight_sentences() {
        let long = "One is here. Two is there. The key is blue. It lies deep. And so on it goes.";
        assert_eq!(excerpt(long, 100, word_weigher("key")), long);
        assert_eq!(excerpt(long, 12, word_weigher("key")), "…The key is blue. It lies deep.…");
        assert_eq!(excerpt(long, 9, word_weigher("key")), "…The key is blue.…");
        assert_eq!(excerpt(long, 9, word_weigher("nothing")), "One is here.…");
    }

    #[test]
    fn excerpt_oversized_sentence_is_cut_between_characters() {
        let cut = excerpt(&"夜".repeat(50), 14, word_weigher("x"));
        assert_eq!(cut, format!("{}…", "夜".repeat(10)));
        assert!(estimate_message(&excerpt(&"a".repeat(500), 30, word_weigher("x"))) <= 31);
        assert_eq!(excerpt("", 0, word_weigher("x")), "");
    }
}
