//! Stems of English words: a search for *lantern* also finds *lanterns*.
//!
//! Stems have a field of their own, beside the original words. So the exact word matches in both fields and ranks
//! first. Words of other scripts and very short words have no stem.

use rust_stemmers::{Algorithm, Stemmer};
use tantivy::tokenizer::{Token, TokenFilter, TokenStream, Tokenizer};

/// Shorter words have no ending to remove.
const SHORTEST: usize = 3;

/// Returns the stem of a normalized word; `None` if it cannot be an English word.
pub(super) fn stem(word: &str) -> Option<String> {
    let is_english = word.len() >= SHORTEST && word.bytes().all(|byte| byte.is_ascii_lowercase());
    is_english.then(|| Stemmer::create(Algorithm::English).stem(word).into_owned())
}

/// A token filter that keeps only stems.
#[derive(Clone)]
pub(super) struct StemFilter;

/// See [`StemFilter`].
#[derive(Clone)]
pub(super) struct StemTokenizer<T>(T);

/// See [`StemFilter`].
pub(super) struct StemTokenStream<S>(S);

impl TokenFilter for StemFilter {
    type Tokenizer<T: Tokenizer> = StemTokenizer<T>;

    fn transform<T: Tokenizer>(self, tokenizer: T) -> StemTokenizer<T> {
        StemTokenizer(tokenizer)
    }
}

impl<T: Tokenizer> Tokenizer for StemTokenizer<T> {
    type TokenStream<'a> = StemTokenStream<T::TokenStream<'a>>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Self::TokenStream<'a> {
        StemTokenStream(self.0.token_stream(text))
    }
}

impl<S: TokenStream> TokenStream for StemTokenStream<S> {
    fn advance(&mut self) -> bool {
        while self.0.advance() {
            if let Some(stem) = stem(&self.0.token().text) {
                self.0.token_mut().text = stem;
                return true;
            }
        }
        false
    }

    fn token(&self) -> &Token {
        self.0.token()
    }

    fn token_mut(&mut self) -> &mut Token {
        self.0.token_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stemming_english_words_lose_endings() {
        for (word, expected) in [("lanterns", "lantern"), ("running", "run"), ("keeper", "keeper"), ("ponies", "poni")]
        {
            assert_eq!(stem(word).as_deref(), Some(expected));
        }
        // The check for stems in a text skips words with another first letter, so stemming must not change that letter.
        for word in ["dying", "skies", "ugly", "early", "only", "yes", "youth", "using", "generously", "inning", "idly"]
        {
            assert_eq!(stem(word).unwrap().chars().next(), word.chars().next());
        }
        for word in ["as", "20hp", "привет", "灯塔", "", "Fog"] {
            assert_eq!(stem(word), None, "{word}");
        }
    }
}
