//! Token counts of texts, per model.
//!
//! If the model's tokenizer is known (`provider/tokenizer.rs`), it counts. Else texts are estimated, and the estimate
//! is corrected by what the model server counted for earlier prompts.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clotho_compat::prompt::{ESTIMATE, OutgoingMessage, TokenCounter, TokenMeasure, estimate_message, estimate_text};
use clotho_config::ProviderConfig;
use clotho_core::stop_check::StopCheck;
use clotho_provider::{ChatTemplate, Tokenizer, TokenizerError};

/// The number of models of a provider with their own counters. Beyond that all are dropped and learned anew.
const MAX_MODELS: usize = 256;
/// The number of prompts remembered. The highest ratio among them is used, so that the next prompt fits.
const LAST: usize = 4;
/// Prompts of fewer estimated tokens are not used for the correction.
const LEAST: usize = 64;
/// The plausible server counts per 1000 estimated tokens. A lower one covers only a part of the prompt, since some
/// servers count only uncached tokens; a higher one includes something else.
const PLAUSIBLE_RATIO: std::ops::RangeInclusive<usize> = 400..=3_000;

/// The counters of one provider's models.
#[derive(Debug, Default)]
pub struct TokenCounters {
    /// The tokenizer of the settings for all models; `per_model` overrides it.
    default: Option<Tokenizer>,
    per_model: HashMap<String, Tokenizer>,
    /// Whether model names have the meaning that they have at OpenAI.
    uses_openai_names: bool,
    models: Mutex<HashMap<String, Arc<ModelTokenCounter>>>,
}

impl TokenCounters {
    /// Creates the counters of a provider. Reads the tokenizer files of the settings; if one is invalid, that is logged
    /// and texts are estimated.
    pub fn new(provider: &ProviderConfig) -> Self {
        let read = |setting: &str| {
            let warn =
                |error: &TokenizerError| tracing::warn!(provider = %provider.id, "{error}; token counts are estimates");
            Tokenizer::from_setting(setting).inspect_err(warn).ok()
        };
        let default = Some(provider.tokenizer.as_str()).filter(|setting| !setting.is_empty()).and_then(read);
        let own = provider.tokenizers.iter().filter_map(|(model, setting)| Some((model.clone(), read(setting)?)));
        Self {
            default,
            per_model: own.collect(),
            uses_openai_names: provider.kind == "openai",
            models: Mutex::default(),
        }
    }

    /// Returns the token measure of a model.
    pub fn measure(&self, model: &str) -> TokenMeasure {
        TokenMeasure::new(self.model_counter(model))
    }

    /// Corrects the estimate of a model from the server's count of a prompt.
    pub fn learn(&self, model: &str, estimated: usize, counted: u64) {
        self.model_counter(model).learn(estimated, counted);
    }

    fn model_counter(&self, model: &str) -> Arc<ModelTokenCounter> {
        let mut models = lock(&self.models);
        if let Some(counter) = models.get(model) {
            return Arc::clone(counter);
        }
        let guessed = || Tokenizer::for_model(model).filter(|_| self.uses_openai_names);
        let tokenizer = self.per_model.get(model).or(self.default.as_ref()).cloned().or_else(guessed);
        let new = Arc::new(ModelTokenCounter { tokenizer, server_ratios: Mutex::default() });
        if models.len() >= MAX_MODELS {
            models.clear();
        }
        models.insert(model.to_owned(), Arc::clone(&new));
        new
    }
}

/// Returns a sentence for each tokenizer or template file of the settings that is invalid.
pub fn unusable_files(providers: &[ProviderConfig]) -> Vec<String> {
    let named = |provider: &ProviderConfig| {
        let own = provider.tokenizers.values().chain([&provider.tokenizer]).filter(|setting| !setting.is_empty());
        let wrong = own.filter_map(|setting| Tokenizer::from_setting(setting).err());
        let wrong = wrong.map(|error| format!("{error}; token counts are estimates"));
        let template = ChatTemplate::from_setting(&provider.template).problem();
        let all = wrong.chain(template.map(|why| format!("{why}; prompts use ChatML")));
        all.map(|why| format!("provider {}: {why}", provider.id)).collect::<Vec<_>>()
    };
    providers.iter().flat_map(named).collect()
}

/// Estimates the tokens of messages, without learned corrections.
pub fn estimate_messages(messages: &[OutgoingMessage]) -> usize {
    messages.iter().map(|message| estimate_message(&message.text)).sum()
}

/// The counter of one model.
#[derive(Debug)]
struct ModelTokenCounter {
    tokenizer: Option<Tokenizer>,
    /// Server counts per 1000 estimated tokens, newest last.
    server_ratios: Mutex<VecDeque<usize>>,
}

impl ModelTokenCounter {
    fn learn(&self, estimated: usize, counted: u64) {
        let counted = usize::try_from(counted).unwrap_or(usize::MAX);
        let Some(share) = counted.saturating_mul(1_000).checked_div(estimated) else { return };
        if estimated < LEAST || !PLAUSIBLE_RATIO.contains(&share) {
            return;
        }
        let mut seen = lock(&self.server_ratios);
        seen.push_back(share);
        if seen.len() > LAST {
            seen.pop_front();
        }
    }
}

impl TokenCounter for ModelTokenCounter {
    fn count(&self, text: &str, stop: &StopCheck) -> usize {
        if let Some(count) = self.tokenizer.as_ref().and_then(|tokenizer| tokenizer.count_until(text, stop)) {
            return count;
        }
        let share = lock(&self.server_ratios).iter().copied().max().unwrap_or(1_000);
        estimate_text(text).saturating_mul(share).div_ceil(1_000)
    }

    fn name(&self) -> String {
        self.tokenizer.as_ref().map_or_else(|| ESTIMATE.to_owned(), |tokenizer| tokenizer.name().to_owned())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clotho_config::Config;

    fn counters(settings: &str) -> TokenCounters {
        let text = format!("[[providers]]\nid = \"a\"\nbase_url = \"http://a\"\n{settings}");
        TokenCounters::new(&Config::load(None, Some(text), std::iter::empty()).unwrap().providers[0])
    }

    #[test]
    fn token_counters_model_name_selects_tokenizer() {
        let by = |settings: &str, model: &str| counters(settings).measure(model).counter_name();
        assert_eq!(by("", "gpt-4o"), "tiktoken o200k_base");
        assert_eq!(by("", "openai/gpt-4-turbo"), "tiktoken cl100k_base");
        assert_eq!(by("", "my-model"), "estimate");
        assert_eq!(by("kind = \"ollama\"\n", "gpt-4o"), "estimate", "that is somebody's own name");
        assert_eq!(by("tokenizer = \"cl100k_base\"\n", "my-model"), "tiktoken cl100k_base");
        let own = "tokenizer = \"cl100k_base\"\ntokenizers = { mine = \"o200k_base\", broken = \"no/such.json\" }\n";
        assert_eq!(by(own, "mine"), "tiktoken o200k_base");
        assert_eq!(by(own, "broken"), "tiktoken cl100k_base");
        assert_eq!(by("tokenizer = \"no/such.json\"\n", "my-model"), "estimate");
        assert_eq!(counters("").measure("gpt-4o").message("tiktoken is great!"), 10);
    }

    /// Without a tokenizer, server counts correct the estimate; the highest recent ratio is used.
    #[test]
    fn token_counters_estimate_learns_from_server_count() {
        let counters = counters("");
        let text = "word ".repeat(80);
        let now = || counters.measure("m").text(&text);
        assert_eq!(now(), 100);
        counters.learn("m", 1_000, 1_300);
        assert_eq!(now(), 130);
        counters.learn("m", 1_000, 700);
        assert_eq!(now(), 130, "the next prompt shall fit");
        (0..LAST).for_each(|_| counters.learn("m", 1_000, 700));
        assert_eq!(now(), 70);
        for (estimated, counted) in [(1_000, 12), (1_000, 90_000), (10, 20), (0, 5)] {
            counters.learn("m", estimated, counted);
            assert_eq!(now(), 70, "{counted} is no count of that prompt");
        }
        assert_eq!(counters.measure("other").text(&text), 100);
    }
}
