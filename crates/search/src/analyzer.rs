//! Text to terms; the same for indexing, searching and highlighting.
//!
//! Words of scripts with spaces are lower-cased, without accents and other marks, full-width letters as narrow ones.
//! Scripts without spaces (Chinese, Japanese, Korean, Thai …) give each character and each pair of neighbours. So any
//! substring is found, also a single character. A dictionary would miss unknown words, and needs more memory than the
//! whole idle server. Emoji are words of one character.

use std::collections::HashSet;
use std::iter::Peekable;
use std::str::CharIndices;

use tantivy::tokenizer::{AsciiFoldingFilter, TextAnalyzer, Token, TokenStream, Tokenizer};

use super::stemming::{StemFilter, stem};
use clotho_core::letters::{compose_letters, is_mark, is_quote, is_unspaced, push_base_letters, usual_form};

/// The name of the text analyzer in the index.
pub(super) const NAME: &str = "clotho";
/// The name of the stem analyzer in the index.
pub(super) const STEMS: &str = "clotho-english";

/// Longer words are split into several terms, which are searched as a phrase.
const WORD_MAX: usize = 64;

/// Returns the analyzer of all texts and names.
pub(super) fn text_analyzer() -> TextAnalyzer {
    TextAnalyzer::builder(MixedScriptTokenizer).filter(AsciiFoldingFilter).build()
}

/// Returns the analyzer of English stems.
pub(super) fn stem_analyzer() -> TextAnalyzer {
    TextAnalyzer::builder(MixedScriptTokenizer).filter(AsciiFoldingFilter).filter(StemFilter).build()
}

/// Returns every term of a text, in order.
pub(super) fn tokenize(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    text_analyzer().token_stream(text).process(&mut |token| words.push(token.text.clone()));
    words
}

/// Visits the terms of texts, English ones as stems. Very short words in Latin letters carry no meaning and are
/// skipped.
pub struct TermAnalyzer(TextAnalyzer);

impl Default for TermAnalyzer {
    fn default() -> Self {
        Self(text_analyzer())
    }
}

impl TermAnalyzer {
    /// Calls `take` with every term of a text, in order.
    pub fn for_each_term(&mut self, text: &str, mut take: impl FnMut(&str)) {
        self.0.token_stream(text).process(&mut |token| match stem(&token.text) {
            Some(stem) => take(&stem),
            None if token.text.bytes().any(|byte| !byte.is_ascii_alphabetic()) => take(&token.text),
            None => {}
        });
    }
}

/// Returns whether `text` contains `wanted` as a phrase. An empty phrase is in every text.
pub(super) fn contains(text: &str, wanted: &str) -> bool {
    contains_terms(text, wanted, |term, word| term == word)
}

/// Like [`contains`], but the last word may be a prefix.
pub(super) fn contains_prefix(text: &str, wanted: &str) -> bool {
    contains_terms(text, wanted, |term, word| term.starts_with(word) && is_word(term))
}

/// Returns whether a text contains a phrase whose last term matches by `is_alike`.
fn contains_terms(text: &str, wanted: &str, is_alike: impl Fn(&str, &str) -> bool) -> bool {
    let mut wanted = phrase_terms(wanted);
    let mut terms: HashSet<(usize, String)> = HashSet::new();
    text_analyzer().token_stream(text).process(&mut |token| _ = terms.insert((token.position, token.text.clone())));
    let Some(PhraseTerm { offset: place, text: last }) = wanted.pop() else { return true };
    let is_at = |start: usize, term: &PhraseTerm| terms.contains(&(start + term.offset, term.text.clone()));
    let is_before = |start: usize| wanted.iter().all(|term| is_at(start, term));
    let mut ends = terms.iter().filter(|(at, term)| *at >= place && is_alike(term, &last));
    ends.any(|(at, _)| is_before(at - place))
}

/// Returns whether a term is a word of a script with spaces; only those have prefixes and typing errors.
pub(super) fn is_word(term: &str) -> bool {
    term.chars().all(|c| char_class(c) == CharClass::Word)
}

/// A term of a phrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PhraseTerm {
    /// The number of positions after the first term.
    pub offset: usize,
    pub text: String,
}

/// Returns the terms of a phrase. Empty if the text has no terms.
pub(super) fn phrase_terms(text: &str) -> Vec<PhraseTerm> {
    let mut analyser = text_analyzer();
    let mut tokens: Vec<(usize, usize, String)> = Vec::new();
    analyser.token_stream(text).process(&mut |token| {
        let end = token.position + token.position_length;
        match tokens.last_mut() {
            // A pair is more specific than its two characters.
            Some(last) if last.0 == token.position => *last = (token.position, end, token.text.clone()),
            Some(last) if last.1 == end && end - last.0 == 2 => {}
            _ => tokens.push((token.position, end, token.text.clone())),
        }
    });
    tokens.into_iter().map(|(offset, _, text)| PhraseTerm { offset, text }).collect()
}

#[derive(Clone)]
struct MixedScriptTokenizer;

struct MixedScriptTokenStream<'a> {
    chars: Peekable<CharIndices<'a>>,
    token: Token,
    /// The pair that starts at the token's character, and its end.
    pair: Option<(String, usize)>,
}

impl Tokenizer for MixedScriptTokenizer {
    type TokenStream<'a> = MixedScriptTokenStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> MixedScriptTokenStream<'a> {
        MixedScriptTokenStream { chars: text.char_indices().peekable(), token: Token::default(), pair: None }
    }
}

impl TokenStream for MixedScriptTokenStream<'_> {
    fn advance(&mut self) -> bool {
        if let Some((text, end)) = self.pair.take() {
            self.token.text = text;
            self.token.offset_to = end;
            self.token.position_length = 2;
            return true;
        }
        while let Some((at, written)) = self.chars.next() {
            let c = usual_form(written);
            let class = char_class(c);
            if matches!(class, CharClass::Gap | CharClass::Joiner) {
                continue;
            }
            let end = at + written.len_utf8();
            match class {
                CharClass::Dense => self.read_pair(at, c, end),
                CharClass::Word => self.read_word(at, c, end),
                _ => {
                    self.begin(at, end);
                    self.token.text.push(c);
                    self.token.offset_to = self.skip_marks(end);
                }
            }
            return true;
        }
        false
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

impl MixedScriptTokenStream<'_> {
    fn begin(&mut self, at: usize, end: usize) {
        self.token.text.clear();
        self.token.offset_from = at;
        self.token.offset_to = end;
        self.token.position = self.token.position.wrapping_add(1);
        self.token.position_length = 1;
    }

    fn read_word(&mut self, at: usize, first: char, end: usize) {
        self.begin(at, end);
        push_base_letters(first, |c| self.token.text.push(c));
        let mut count = 1;
        while let Some(&(at, written)) = self.chars.peek() {
            let c = usual_form(written);
            match char_class(c) {
                CharClass::Word if count < WORD_MAX => {
                    push_base_letters(c, |c| self.token.text.push(c));
                    self.token.offset_to = at + written.len_utf8();
                    count += 1;
                }
                CharClass::Joiner if is_mark(c) => self.token.offset_to = at + written.len_utf8(),
                CharClass::Joiner => {}
                _ => break,
            }
            self.chars.next();
        }
    }

    /// Reads one character of a script without spaces, and looks at the next one for the pair.
    fn read_pair(&mut self, at: usize, first: char, end: usize) {
        self.begin(at, end);
        let (first, end) = self.compose(first, end);
        self.token.text.extend(first.to_lowercase());
        self.token.offset_to = self.skip_marks(end);
        let mut ahead = self.chars.clone();
        std::mem::swap(&mut ahead, &mut self.chars);
        if let Some((at, written)) = self.chars.next()
            && let next = usual_form(written)
            && char_class(next) == CharClass::Dense
        {
            let (next, end) = self.compose(next, at + written.len_utf8());
            let text = self.token.text.chars().chain(next.to_lowercase()).collect();
            self.pair = Some((text, self.skip_marks(end)));
        }
        self.chars = ahead;
    }

    /// Joins a letter and the characters after it that Unicode has one character for: kana and their voicing marks,
    /// Korean letters. Returns it with its end.
    fn compose(&mut self, first: char, end: usize) -> (char, usize) {
        let (mut whole, mut end) = (first, end);
        while let Some(&(at, written)) = self.chars.peek()
            && let Some(joined) = compose_letters(whole, usual_form(written))
        {
            (whole, end) = (joined, at + written.len_utf8());
            self.chars.next();
        }
        (whole, end)
    }

    /// Skips the joiners from here on. Returns the end of the last mark among them.
    fn skip_marks(&mut self, end: usize) -> usize {
        let mut end = end;
        while let Some((at, c)) = self.chars.next_if(|&(_, c)| char_class(usual_form(c)) == CharClass::Joiner) {
            if c != '\u{200d}' {
                end = at + c.len_utf8();
            }
        }
        end
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharClass {
    /// Part of a word in a script with spaces.
    Word,
    /// A character of a script without spaces.
    Dense,
    /// A word of its own.
    Symbol,
    /// Belongs to the character before it and is ignored: accents and other marks, joiners, variation selectors.
    Joiner,
    /// Separates words.
    Gap,
}

fn char_class(c: char) -> CharClass {
    match c {
        '\u{ad}'
        | '\u{640}'
        | '\u{200c}'
        | '\u{200d}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{1f3fb}'..='\u{1f3ff}'
        | '\u{e0100}'..='\u{e01ef}' => CharClass::Joiner,
        // Unicode counts some apostrophes as letters.
        c if is_quote(c) => CharClass::Gap,
        c if is_unspaced(c) => CharClass::Dense,
        c if is_mark(c) => CharClass::Joiner,
        '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{25a0}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' => {
            CharClass::Symbol
        }
        '\u{1f000}'..='\u{1faff}' => CharClass::Symbol,
        c if c.is_alphanumeric() => CharClass::Word,
        _ => CharClass::Gap,
    }
}

/// Returns whether a snippet may start or end before this character.
pub(super) fn is_snippet_boundary(c: char) -> bool {
    char_class(c) != CharClass::Joiner
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<(usize, String, &str)> {
        let mut found = Vec::new();
        text_analyzer().token_stream(text).process(&mut |token| {
            let shown = text.get(token.offset_from..token.offset_to).unwrap();
            found.push((token.position, token.text.clone(), shown));
        });
        found
    }

    #[test]
    fn analyzer_spaced_scripts_give_words() {
        assert_eq!(tokenize("The Keeper's café, 20 HP"), ["the", "keeper", "s", "cafe", "20", "hp"]);
        assert_eq!(tokenize("cafe\u{301} ＨＰ Straße ПРИВЕТ"), ["cafe", "hp", "strasse", "привет"]);
        assert_eq!(tokens("a, b")[1], (1, "b".to_owned(), "b"));
        assert_eq!(tokenize(&"x".repeat(130)).iter().map(String::len).collect::<Vec<_>>(), [64, 64, 2]);
    }

    #[test]
    fn analyzer_unspaced_scripts_give_characters_and_pairs() {
        let expected = [(0, "灯", "灯"), (0, "灯塔", "灯塔"), (1, "塔", "塔"), (2, "hp", "HP"), (3, "低", "低")];
        let found = tokens("灯塔HP低。");
        assert_eq!(found.iter().map(|(at, word, text)| (*at, word.as_str(), *text)).collect::<Vec<_>>(), expected);
        assert_eq!(tokenize("灯・塔"), ["灯", "塔"]);
        assert_eq!(tokens("か\u{3099}き")[1], (0, "がき".to_owned(), "か\u{3099}き"));
        assert_eq!(tokenize("か\u{3099}き"), ["が", "がき", "き"]);
        assert_eq!(tokenize("ｶﾞｷ"), ["ガ", "ガキ", "キ"]);
        assert_eq!(tokenize("\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}"), tokenize("한글"));
    }

    /// Accents and marks of any script are left out, composed or not, and stay inside of the marked place.
    #[test]
    fn analyzer_marks_of_any_script_are_left_out() {
        for (text, expected) in [
            ("кот и ёж", "кот и еж"),
            ("Ελλάς ΕΛΛΑΣ", "ελλασ ελλασ"),
            ("İstanbul i\u{307}stanbul ISTANBUL", "istanbul istanbul istanbul"),
            ("ışık IŞIK", "isik isik"),
            ("Đặng Łódź Ørsted", "dang lodz orsted"),
            ("שָׁלוֹם", "שלום"),
            ("مُحَمَّد مـحـمـد أحمد", "محمد محمد احمد"),
            ("ﻣﺤﻤﺪ", "محمد"),
            ("мʼяч", "м яч"),
            ("ＣＡＦÉ 𝒞𝒶𝒻é", "cafe cafe"),
            ("ﬁn ĳs", "fin ijs"),
            ("٢٠ ۲۰ २० ২০ ２０ ๒๐ ၂၀", "20 20 20 20 20 20 20"),
            ("Hawaiʻi Hawai’i Hawai'i", "hawai i hawai i hawai i"),
            ("Muʿāwiya qaꞌa", "mu awiya qa a"),
        ] {
            assert_eq!(tokenize(text), expected.split(' ').collect::<Vec<_>>(), "{text}");
        }
        assert_eq!(tokens("(e\u{308}ж)")[0], (0, "eж".to_owned(), "e\u{308}ж"));
        assert_eq!(tokens("(же\u{308}) ы")[0], (0, "же".to_owned(), "же\u{308}"));
    }

    /// Terms are counted in any script, English words by their stems.
    #[test]
    fn analyzer_any_script_gives_terms() {
        let mut found = Vec::new();
        TermAnalyzer::default()
            .for_each_term("The lanterns of 灯塔, привет 20 hp", |term| found.push(term.to_owned()));
        assert_eq!(found, ["the", "lantern", "灯", "灯塔", "塔", "привет", "20"]);
    }

    #[test]
    fn analyzer_contains_finds_substrings() {
        for wanted in ["keeper", "The Keeper", "keeper of", "灯塔", "塔", "of 灯", "", "?"] {
            assert!(contains("The Keeper of 灯塔", wanted), "{wanted}");
        }
        for other in ["keep", "The of", "塔灯", "Keeper The"] {
            assert!(!contains("The Keeper of 灯塔", other), "{other}");
        }
        for begun in ["k", "the keep", "keeper o", "keeper", ""] {
            assert!(contains_prefix("The Keeper of 灯塔", begun), "{begun}");
        }
        for other in ["eeper", "the o", "keep of", "塔灯", "keepers"] {
            assert!(!contains_prefix("The Keeper of 灯塔", other), "{other}");
        }
    }

    #[test]
    fn analyzer_emoji_are_words() {
        assert_eq!(tokenize("ok🔥🔥 👩\u{200d}🚀 ❤\u{fe0f} 👍🏽"), ["ok", "🔥", "🔥", "👩", "🚀", "❤", "👍"]);
    }

    #[test]
    fn analyzer_phrase_prefers_pairs() {
        let check = |text: &str, expected: &[(usize, &str)]| {
            let found = phrase_terms(text);
            assert_eq!(
                found.iter().map(|term| (term.offset, term.text.as_str())).collect::<Vec<_>>(),
                expected,
                "{text}"
            );
        };
        check("塔", &[(0, "塔")]);
        check("灯塔", &[(0, "灯塔")]);
        check("守灯人", &[(0, "守灯"), (1, "灯人")]);
        check("守灯人 hp 低", &[(0, "守灯"), (1, "灯人"), (3, "hp"), (4, "低")]);
        check("灯 塔", &[(0, "灯"), (1, "塔")]);
        check("灯塔 灯塔", &[(0, "灯塔"), (2, "灯塔")]);
        check("don't", &[(0, "don"), (1, "t")]);
        check("?!", &[]);
    }
}
