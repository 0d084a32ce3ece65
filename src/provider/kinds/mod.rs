//! The kinds of model servers: a file and a row for each.
//!
//! To add one: a file with a [`Dialect`] (where it is asked, the body, who reads the answer, where its models are told) and
//! its row in [`KINDS`]; then a protocol of the mock in `tests/it/support/mock_model/protocol.rs`, a recorded transcript in
//! `tests/fixtures/wire/`, and a row in the table of `docs/hosts.md`.

mod anthropic;
mod gemini;
mod koboldcpp;
mod llamacpp;
mod ollama;
mod openai;

use super::dialect::Dialect;
use std::fmt;

/// Every kind, the usual one first.
const KINDS: [&dyn Dialect; 6] = [
    &openai::OpenAi,
    &anthropic::Anthropic,
    &gemini::Gemini,
    &ollama::Ollama,
    &koboldcpp::KoboldCpp,
    &llamacpp::LlamaCpp,
];

/// What a model server speaks.
#[derive(Clone, Copy)]
pub struct Kind(&'static dyn Dialect);

impl Kind {
    /// The kind that the settings call so.
    pub fn named(word: &str) -> Option<Self> {
        Self::all().find(|kind| kind.word() == word)
    }

    /// Every kind, the usual one first.
    pub fn all() -> impl Iterator<Item = Self> {
        KINDS.into_iter().map(Self)
    }

    /// What the settings call it.
    pub fn word(self) -> &'static str {
        self.0.word()
    }

    pub(super) fn dialect(self) -> &'static dyn Dialect {
        self.0
    }
}

impl Default for Kind {
    /// OpenAI's chat completions.
    fn default() -> Self {
        Self(&openai::OpenAi)
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_word_and_no_other() {
        let words: Vec<&str> = Kind::all().map(Kind::word).collect();
        assert_eq!(words, ["openai", "anthropic", "gemini", "ollama", "koboldcpp", "llamacpp"]);
        for word in words {
            assert_eq!(Kind::named(word).map(Kind::word), Some(word));
        }
        assert!(Kind::named("claude").is_none() && Kind::named("").is_none());
        assert_eq!(Kind::default().word(), "openai");
    }
}
