//! English words in their ground form: who looks for *lantern* also means *lanterns*.
//!
//! Ground forms lie in a field of their own, beside the words as they stand, so that the word as it was typed counts twice and
//! comes first. Other scripts and very short words have none.

use rust_stemmers::{Algorithm, Stemmer};
use tantivy::tokenizer::{Token, TokenFilter, TokenStream, Tokenizer};

/// Shorter words have no endings to take away.
const SHORTEST: usize = 3;

/// The ground form of a word that was folded before; `None` for what is no English word.
pub(super) fn stem(word: &str) -> Option<String> {
    let is_english = word.len() >= SHORTEST && word.bytes().all(|byte| byte.is_ascii_lowercase());
    is_english.then(|| Stemmer::create(Algorithm::English).stem(word).into_owned())
}

/// Leaves only ground forms of a text.
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
        // Who looks for other forms in a text looks only at words that begin alike.
        for word in ["dying", "skies", "ugly", "early", "only", "yes", "youth", "using", "generously", "inning", "idly"]
        {
            assert_eq!(stem(word).unwrap().chars().next(), word.chars().next());
        }
        for word in ["as", "20hp", "привет", "灯塔", "", "Fog"] {
            assert_eq!(stem(word), None, "{word}");
        }
    }
}
