//! Creates the clients of the configured providers: API kind, key, and the concurrency limit of that key.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Number;

use crate::keyring::{Keyring, KeyringError};
use clotho_config::{ApiKey, Config, ConfigError, ModelPrices, ProviderConfig, ProviderConnection, Secret, ToolMode};
use clotho_core::clock::Time;
use clotho_provider::{
    self as provider, ChatTemplate, ConcurrencyLimit, Endpoint, ModelInfo, ProviderClient, ProviderKind, Timeouts,
    Usage,
};
use clotho_store::ConnectedProvider;

use super::provider_problem::ProviderProblemDetail;
use super::token_counters::TokenCounters;

/// The maximum number of models whose told context length is kept. Above it, all are forgotten and learned again.
const MAX_TOLD_CONTEXTS: usize = 256;

/// A provider, usable or not.
pub(in crate::turn) struct ProviderEntry {
    pub id: String,
    /// The models that the settings list; empty = those that the server reports.
    pub models: Vec<String>,
    pub client: ProviderClient,
    /// Why it cannot be used: its key is missing, or its kind is unknown.
    pub unusable: Option<ProviderProblemDetail>,
    /// The context lengths of the settings, in tokens: of all models, and of single ones.
    context: ContextSettings,
    /// Context lengths that errors of the server told, by model. Kept until the process ends.
    told_contexts: Mutex<HashMap<String, usize>>,
    prices: indexmap::IndexMap<String, ModelPrices>,
    /// The token counters of its models.
    pub counters: TokenCounters,
    model_list: Mutex<ProviderModelList>,
    tools: ToolMode,
    /// Models whose server refused tools in a request. Kept until the process ends.
    text_tool_models: Mutex<HashSet<String>>,
}

/// The context lengths that the settings of a provider have.
#[derive(Default)]
struct ContextSettings {
    /// Of all its models; 0 = unknown.
    tokens: u32,
    /// Of single models.
    by_model: indexmap::IndexMap<String, u32>,
}

/// The models that a provider reported.
#[derive(Default)]
pub(in crate::turn) struct ProviderModelList {
    pub models: Vec<ModelInfo>,
    /// When the list was last requested.
    pub asked_at: Option<Time>,
}

/// The cost of a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplyCost {
    /// Money, in the currency of the prices.
    pub cost: Number,
    /// What the provider's cache saved; `None` = nothing or unknown.
    pub saved: Option<Number>,
    /// The source of the prices: `settings` or `prices`.
    pub from: &'static str,
}

impl ProviderEntry {
    /// Locks the list of models that the server told.
    pub fn model_list(&self) -> MutexGuard<'_, ProviderModelList> {
        self.model_list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how tools are offered to a model.
    pub fn tools(&self, model: &str) -> ToolMode {
        let is_in_words = || !self.client.supports_tools() || self.text_tool_models().contains(model);
        if self.tools == ToolMode::RequestField && is_in_words() { ToolMode::PromptText } else { self.tools }
    }

    /// From now on describes tools in the prompt text for a model.
    pub fn use_text_tools(&self, model: &str) {
        self.text_tool_models().insert(model.to_owned());
    }

    fn text_tool_models(&self) -> MutexGuard<'_, HashSet<String>> {
        self.text_tool_models.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the context length of a model in tokens, with what its provider reported last.
    pub fn context_length(&self, model: &str) -> Option<usize> {
        self.context_length_beside(model, || {
            let models = self.model_list();
            usize::try_from(models.models.iter().find(|info| info.id == model)?.context_length?).ok()
        })
    }

    /// Returns the context length of a model in tokens: that of the settings, else the listed one; at most what an error
    /// of the server told.
    pub fn context_length_beside(&self, model: &str, listed: impl FnOnce() -> Option<usize>) -> Option<usize> {
        let own = self.context.by_model.get(model).copied().unwrap_or(self.context.tokens);
        let known = usize::try_from(own).ok().filter(|tokens| *tokens > 0).or_else(listed);
        let told = self.told_contexts().get(model).copied();
        known.map(|known| told.map_or(known, |told| told.min(known))).or(told)
    }

    /// From now on makes prompts for the context length that an error told. Returns whether that is shorter.
    pub fn learn_context(&self, model: &str, tokens: usize, before: usize) -> bool {
        let mut told = self.told_contexts();
        // Names of models are chosen by users.
        if told.len() >= MAX_TOLD_CONTEXTS {
            told.clear();
        }
        told.insert(model.to_owned(), tokens);
        tokens < before
    }

    fn told_contexts(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.told_contexts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the provider offers a model: by the settings, or if they list none, by its own list.
    pub fn has_model(&self, name: &str) -> bool {
        if self.models.is_empty() {
            return self.model_list().models.iter().any(|info| info.id == name);
        }
        self.models.iter().any(|model| model == name)
    }

    /// Returns the cost of a reply, by the prices of the settings, else by those that the provider reports.
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<ReplyCost> {
        let (info, from) = match self.prices.get(model) {
            Some(prices) => (priced_model(prices), "settings"),
            None => (self.model_list().models.iter().find(|info| info.id == model)?.clone(), "prices"),
        };
        Some(ReplyCost { cost: provider::cost(usage, &info)?, saved: provider::cache_savings(usage, &info), from })
    }
}

fn priced_model(prices: &ModelPrices) -> ModelInfo {
    ModelInfo {
        prompt_price: Some(per_token(prices.prompt)),
        completion_price: Some(per_token(prices.completion)),
        cached_price: prices.cached.map(per_token),
        written_price: prices.cache_write.map(per_token),
        ..ModelInfo::default()
    }
}

/// Returns the price of one token from that of a million. Parses it as a decimal, because a division is inexact.
fn per_token(million: f64) -> f64 {
    format!("{million}e-6").parse().unwrap_or(million / 1e6)
}

/// Creates all providers of the settings. A problem is logged now, and is an error when the provider is used.
pub(in crate::turn) fn provider_entries(config: &Config) -> Vec<ProviderEntry> {
    let keys: Vec<_> = config.providers.iter().map(ProviderConfig::key).collect();
    let of = |key: &Result<Option<Secret>, _>| key.as_ref().ok().cloned().flatten();
    let limits = concurrency_limits(&config.providers, &keys.iter().map(of).collect::<Vec<_>>());
    let parts = config.providers.iter().zip(keys).zip(limits);
    parts
        .map(|((provider, key), limit)| {
            provider_entry(provider, config, key.map_err(ProviderProblemDetail::from), limit)
        })
        .collect()
}

fn provider_entry(
    provider: &ProviderConfig,
    config: &Config,
    key: Result<Option<Secret>, ProviderProblemDetail>,
    concurrency_limit: ConcurrencyLimit,
) -> ProviderEntry {
    let kind =
        ProviderKind::from_name(&provider.kind).ok_or_else(|| ProviderProblemDetail::unknown_kind(&provider.kind));
    let unusable = kind.as_ref().err().or(key.as_ref().err()).cloned();
    if let Some(why) = &unusable {
        tracing::warn!(provider = %provider.id, "none of its models can be used: {why}");
    }
    let template = ChatTemplate::from_setting(&provider.template);
    if let Some(why) = template.problem() {
        tracing::warn!(provider = %provider.id, "{why}; prompts use ChatML");
    }
    let generation = &config.generation;
    let endpoint = Endpoint {
        key: key.ok().flatten(),
        extra: provider.extra.clone(),
        timeouts: Timeouts {
            connect: generation.connect_timeout,
            first_token: generation.first_token_timeout,
            idle: generation.idle_timeout,
            ..Timeouts::default()
        },
        max_reply_bytes: config.limits.reply_bytes,
        concurrency_limit,
        template,
        ..Endpoint::new(&provider.id, &provider.base_url)
    };
    ProviderEntry {
        id: provider.id.clone(),
        models: provider.models.clone(),
        client: ProviderClient::new(kind.unwrap_or_default(), endpoint),
        unusable,
        context: ContextSettings { tokens: provider.context_tokens, by_model: provider.contexts.clone() },
        told_contexts: Mutex::default(),
        prices: provider.prices.clone(),
        counters: TokenCounters::new(provider),
        model_list: Mutex::default(),
        tools: provider.tools,
        text_tool_models: Mutex::default(),
    }
}

/// Creates a provider that was added at run time. It shares the concurrency limit of another provider with the same key.
pub(in crate::turn) fn connected_entry<'a>(
    one: &ConnectedProvider,
    config: &Config,
    keyring: &Keyring,
    mut others: impl Iterator<Item = &'a Arc<ProviderEntry>>,
) -> ProviderEntry {
    let connection = connection(one);
    let bound_to = key_context(&connection);
    let provider = connection.into_config(api_key(one.sealed_key.as_ref().map(|key| keyring.open(key, &bound_to))));
    let key = provider.key();
    let own = key.as_ref().ok().cloned().flatten();
    let is_same = |other: &&Arc<ProviderEntry>| {
        let endpoint = other.client.endpoint();
        endpoint.key == own && (own.is_some() || endpoint.base_url == provider.base_url)
    };
    let limit = others.find(is_same).map(|other| other.client.endpoint().concurrency_limit.clone()).unwrap_or_default();
    provider_entry(&provider, config, key.map_err(ProviderProblemDetail::from), limit)
}

/// Returns the context to which a sealed key is bound: the provider's id and its origin.
pub(in crate::turn) fn key_context(connection: &ProviderConnection) -> String {
    format!("{} {}", connection.id, connection.origin())
}

/// Converts an opened key to the form of the settings.
fn api_key(opened: Option<Result<Secret, KeyringError>>) -> ApiKey {
    match opened {
        None => ApiKey::None,
        Some(Ok(secret)) => ApiKey::Value(secret),
        Some(Err(error)) => ApiKey::Undecryptable(error.to_string()),
    }
}

/// Returns the connection settings of a stored provider.
pub(in crate::turn) fn connection(one: &ConnectedProvider) -> ProviderConnection {
    ProviderConnection {
        id: one.id.clone(),
        kind: one.kind.clone(),
        base_url: one.base_url.clone(),
        models: one.models.clone(),
        context_tokens: one.context_tokens,
    }
}

/// Creates a concurrency limit per provider. Providers with the same key (or without keys the same address) share the
/// smallest limit.
fn concurrency_limits(providers: &[ProviderConfig], keys: &[Option<Secret>]) -> Vec<ConcurrencyLimit> {
    let name = |provider: &ProviderConfig, key: &Option<Secret>| match key {
        Some(key) => format!("key {}", key.expose()),
        None => format!("address {}", provider.base_url),
    };
    let mut most: HashMap<String, u32> = HashMap::new();
    for (provider, key) in providers.iter().zip(keys).filter(|(provider, _)| provider.concurrent > 0) {
        let least = most.entry(name(provider, key)).or_insert(provider.concurrent);
        *least = provider.concurrent.min(*least);
    }
    let limits: HashMap<String, ConcurrencyLimit> =
        most.into_iter().map(|(name, most)| (name, ConcurrencyLimit::new(most))).collect();
    let limit = |(provider, key)| limits.get(&name(provider, key)).cloned().unwrap_or_default();
    providers.iter().zip(keys).map(limit).collect()
}

/// Returns an error for each unknown provider kind in the settings, with its position.
pub(in crate::turn) fn unknown_kinds(config: &Config) -> impl Iterator<Item = ConfigError> {
    let wrong = config.providers.iter().filter(|provider| ProviderKind::from_name(&provider.kind).is_none());
    wrong.filter_map(|provider| provider.refuse_kind(ProviderProblemDetail::unknown_kind(&provider.kind).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clotho_provider::ConcurrencyLimit;

    fn parse_config(text: &str) -> Config {
        Config::load(None, Some(text.to_owned()), std::iter::empty()).unwrap()
    }

    /// Prices of the settings are exact and take precedence over those of the server.
    #[test]
    fn provider_config_prices_take_precedence() {
        let entries = provider_entries(&parse_config(
            "[[providers]]\nid = \"a\"\nbase_url = \"http://a\"\n\
             prices = {m = {prompt = 3, completion = 15, cached = 0.3}}\n",
        ));
        let usage = Usage { prompt: 1_000, completion: 10, cached: Some(800), ..Usage::default() };
        let cost = entries[0].cost("m", &usage).unwrap();
        assert_eq!((cost.cost.to_string(), cost.from), ("0.00099".to_owned(), "settings"));
        assert_eq!(cost.saved.map(|saved| saved.to_string()).as_deref(), Some("0.00216"));
        assert_eq!(entries[0].cost("other", &usage), None);
        entries[0].model_list().models = vec![ModelInfo {
            id: "other".into(),
            prompt_price: Some(0.1),
            completion_price: Some(0.2),
            ..ModelInfo::default()
        }];
        assert_eq!(entries[0].cost("other", &usage).map(|cost| cost.from), Some("prices"));
    }

    /// The settings come before what the server lists; what it says in an error can only make the context shorter.
    #[test]
    fn provider_context_length_settings_come_first() {
        let entries = provider_entries(&parse_config(
            "[[providers]]\nid = \"a\"\nbase_url = \"http://a\"\ncontexts = {m = 4096}\n\
             [[providers]]\nid = \"b\"\nbase_url = \"http://b\"\ncontext_tokens = 2048\ncontexts = {m = 4096}\n",
        ));
        let listed = |id: &str| ModelInfo { id: id.into(), context_length: Some(32_768), ..ModelInfo::default() };
        entries[0].model_list().models = vec![listed("m"), listed("n")];
        let lengths = |entry: &ProviderEntry| ["m", "n", "other"].map(|model| entry.context_length(model));
        assert_eq!(lengths(&entries[0]), [Some(4096), Some(32_768), None]);
        assert_eq!(lengths(&entries[1]), [Some(4096), Some(2048), Some(2048)]);
        assert!(entries[0].learn_context("n", 512, 32_768) && entries[0].learn_context("other", 512, 8192));
        assert!(!entries[0].learn_context("m", 9_000, 4096));
        assert_eq!(lengths(&entries[0]), [Some(4096), Some(512), Some(512)]);
    }

    /// Ranked idea 9: the limit belongs to the key, even if several providers use it.
    #[test]
    fn provider_shared_key_shares_lane() {
        let config = parse_config(
            "[[providers]]\nid = \"a\"\nbase_url = \"http://a\"\napi_key = \"k\"\nconcurrent = 3\n\
             [[providers]]\nid = \"b\"\nbase_url = \"http://b\"\napi_key = \"k\"\nconcurrent = 1\n\
             [[providers]]\nid = \"c\"\nbase_url = \"http://c\"\n\
             [[providers]]\nid = \"d\"\nbase_url = \"http://c\"\nconcurrent = 2\n",
        );
        let shown = |entry: &ProviderEntry| format!("{:?}", entry.client.endpoint().concurrency_limit);
        let shown: Vec<String> = provider_entries(&config).iter().map(shown).collect();
        assert!(shown[0].contains("permits: 1") && shown[1] == shown[0], "{shown:?}");
        assert!(shown[2].contains("permits: 2") && shown[3] == shown[2], "{shown:?}");
        assert_ne!(shown[0], format!("{:?}", ConcurrencyLimit::default()));
    }

    #[test]
    fn provider_unknown_kind_returns_config_error() {
        let config = parse_config("[[providers]]\nid = \"a\"\nbase_url = \"http://a\"\nkind = \"claude\"\n");
        let said = ConfigError::combine(unknown_kinds(&config)).unwrap().to_string();
        assert_eq!(
            said,
            "config.toml:4:1: [[providers]] kind: expected one of \"openai\", \"anthropic\", \"gemini\", \"ollama\", \
             \"koboldcpp\", \"llamacpp\", \"openrouter\", \"mistral\", \"deepseek\", \"azure\", \"cohere\", \
             \"horde\", got \"claude\""
        );
        assert!(provider_entries(&config)[0].unusable.is_some());
    }
}
