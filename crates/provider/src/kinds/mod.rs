//! The kinds of model servers, each with a file and a row.
//!
//! To add one: add a file with a [`ProviderDialect`] (URL, body, reader, model list) and a row in [`KINDS`]. Then add a
//! protocol of the mock in `tests/it/support/mock_model/protocol.rs`, a recorded transcript in `tests/fixtures/wire/`,
//! and a row in the table of `docs/hosts.md`.

mod anthropic;
mod azure;
mod cohere;
mod deepseek;
mod gemini;
mod horde;
mod koboldcpp;
mod llamacpp;
mod mistral;
mod ollama;
mod openai;
mod openrouter;

use super::dialect::ProviderDialect;
use std::fmt;

/// All kinds; the default comes first.
const KINDS: [&dyn ProviderDialect; 12] = [
    &openai::OpenAiDialect,
    &anthropic::AnthropicDialect,
    &gemini::GeminiDialect,
    &ollama::OllamaDialect,
    &koboldcpp::KoboldCppDialect,
    &llamacpp::LlamaCppDialect,
    &openrouter::OpenRouterDialect,
    &mistral::MistralDialect,
    &deepseek::DeepSeekDialect,
    &azure::AzureDialect,
    &cohere::CohereDialect,
    &horde::HordeDialect,
];

/// A kind of model server.
#[derive(Clone, Copy)]
pub struct ProviderKind(&'static dyn ProviderDialect);

impl ProviderKind {
    /// Returns the kind with this name in the settings.
    pub fn from_name(word: &str) -> Option<Self> {
        Self::all().find(|kind| kind.name() == word)
    }

    /// Returns all kinds; the default comes first.
    pub fn all() -> impl Iterator<Item = Self> {
        KINDS.into_iter().map(Self)
    }

    /// Returns the name in the settings.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    pub(super) fn dialect(self) -> &'static dyn ProviderDialect {
        self.0
    }
}

impl Default for ProviderKind {
    /// Returns OpenAI's chat completions.
    fn default() -> Self {
        Self(&openai::OpenAiDialect)
    }
}

impl fmt::Debug for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Endpoint, Frame, Request, error_text::ErrorScrubber};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// Texts that mean something to a kind.
    const TEXTS: [&str; 15] = [
        "error",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "tool_use",
        "message_delta",
        "text_delta",
        "thinking",
        "stop",
        "STOP",
        "tool_calls",
        "content-delta",
        "tool-call-delta",
        "message-end",
        "COMPLETE",
    ];

    /// Names of fields that a kind reads.
    const NAMES: [&str; 48] = [
        "type",
        "error",
        "choices",
        "delta",
        "message",
        "content",
        "content_block",
        "usage",
        "index",
        "candidates",
        "parts",
        "text",
        "functionCall",
        "name",
        "args",
        "finishReason",
        "usageMetadata",
        "promptFeedback",
        "blockReason",
        "promptTokenCount",
        "thinking",
        "tool_calls",
        "function",
        "arguments",
        "done",
        "done_reason",
        "eval_count",
        "token",
        "finish_reason",
        "results",
        "stop",
        "stop_type",
        "tokens_evaluated",
        "input_tokens",
        "cache_read_input_tokens",
        "output_tokens",
        "stop_reason",
        "model",
        "id",
        "input",
        "partial_json",
        "detail",
        "code",
        "generations",
        "tool_plan",
        "reasoning_content",
        "reasoning_details",
        "tokens",
    ];

    /// A random chunk of the relevant names, each of which can stand where another is expected.
    fn any_chunk() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            Just(json!(u64::MAX)),
            Just(json!(1e308)),
            "[a-z\u{0}\u{1}夜]{0,4}".prop_map(Value::from),
            proptest::sample::select(&TEXTS[..]).prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 60, 5, |inner| {
            let name = proptest::sample::select(&NAMES[..]);
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec((name, inner), 0..6)
                    .prop_map(|fields| fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
            ]
        })
    }

    proptest! {
        /// Whatever a server sends gives frames or a failure, texts without U+0000, and never a panic.
        #[test]
        fn provider_kinds_random_chunks_never_panic(chunks in proptest::collection::vec(any_chunk(), 1..6)) {
            for kind in ProviderKind::all() {
                let mut reader = kind.dialect().reader(&Request::default());
                let mut frames = Vec::new();
                for chunk in &chunks {
                    let _said = reader.read(chunk, &ErrorScrubber::default(), &mut frames);
                }
                let _models = kind.dialect().parse_models(&chunks);
                let clean = |frame: &Frame| match frame {
                    Frame::Text(words) | Frame::Reasoning(words) => !words.is_empty() && !words.contains('\0'),
                    _ => true,
                };
                prop_assert!(frames.iter().all(clean), "{kind:?}: {frames:?}");
            }
        }

        /// Any parameters give a body.
        #[test]
        fn provider_kinds_random_params_never_panic(params in any_chunk(), extra in any_chunk()) {
            let fields = |value: Value| value.as_object().cloned().unwrap_or_default();
            let request = Request { model: "m".into(), params: fields(params), ..Request::default() };
            let endpoint = Endpoint { extra: fields(extra), ..Endpoint::new("a", "http://a") };
            for kind in ProviderKind::all() {
                prop_assert!(kind.dialect().body(&request, &endpoint).is_object());
                let _told = (kind.dialect().params(&request, &endpoint), kind.dialect().context_size(&request.params));
            }
        }
    }

    #[test]
    fn provider_kind_from_name_finds_only_known_names() {
        let words: Vec<&str> = ProviderKind::all().map(ProviderKind::name).collect();
        let first = ["openai", "anthropic", "gemini", "ollama", "koboldcpp", "llamacpp"];
        assert_eq!(words[..6], first);
        assert_eq!(words[6..], ["openrouter", "mistral", "deepseek", "azure", "cohere", "horde"]);
        for word in words {
            assert_eq!(ProviderKind::from_name(word).map(ProviderKind::name), Some(word));
        }
        assert!(ProviderKind::from_name("claude").is_none() && ProviderKind::from_name("").is_none());
        assert_eq!(ProviderKind::default().name(), "openai");
    }
}
