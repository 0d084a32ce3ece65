//! Models by name: `provider/model`, `model` if it is unique, an alias from the settings, or `plugin:<id>` for a
//! narrator plugin.
//!
//! What a provider reports of its models (names if the settings list none, context lengths) is fetched in the
//! background; a turn never waits for it.
//!
//! `providers.rs` creates the clients, `connections.rs` manages providers added at run time, and `token_counters.rs`
//! counts tokens per model.

pub mod connections;
pub(super) mod provider_problem;
pub(super) mod providers;
pub(super) mod token_counters;

use std::sync::{Arc, PoisonError, RwLock};

use crate::keyring::Keyring;
use crate::turn::machine::{ReplyFailure, provider_message};
use clotho_compat::prompt::TokenMeasure;
use clotho_config::{Config, ConfigError, ModelAlias, ToolMode};
use clotho_core::clock::Time;
use clotho_core::coded_message::RenderedMessage;
use clotho_core::tree::reply_facts::SkippedModelRecord;
use clotho_plugin::{Hook, InstalledPlugins, LoadedPlugin};
use clotho_provider::{Embedder, ProviderClient, ProviderFailure, Usage};
use clotho_store::ConnectedProvider;

use provider_problem::ProviderProblemDetail;
use providers::{ProviderEntry, ReplyCost};
use serde_json::Map;

/// The time for which a model list is valid, in milliseconds.
const LEARN_AGAIN_MS: u64 = 600_000;

/// All models that this server can ask.
pub struct ModelRegistry {
    config: Arc<Config>,
    /// The providers of the settings.
    configured: Vec<Arc<ProviderEntry>>,
    catalogue: Arc<InstalledPlugins>,
    roster: RwLock<Arc<ProviderRoster>>,
}

/// The providers added at run time. Replaced as a whole, so a caller keeps a consistent copy.
#[derive(Default)]
struct ProviderRoster {
    /// The added providers, as stored.
    connected: Vec<(ConnectedProvider, Arc<ProviderEntry>)>,
    /// The default model chosen at run time.
    chosen: Option<String>,
}

/// The writer of a reply.
#[derive(Clone)]
pub enum ReplyWriter {
    /// Models of providers.
    Model(ModelSelection),
    /// The `narrate` hook of a plugin.
    Narrator(Arc<LoadedPlugin>),
}

/// The models that a name resolves to.
#[derive(Debug, Clone)]
pub struct ModelSelection {
    /// The name that was requested.
    pub requested_name: String,
    /// The model to ask first.
    pub first: ModelCandidate,
    /// The fallback models, in order.
    pub others: Vec<ModelCandidate>,
    /// Models that cannot be asked.
    pub skipped: Vec<SkippedModel>,
}

/// A model that can be asked.
#[derive(Debug, Clone)]
pub struct ModelCandidate {
    /// `provider/model`.
    pub name: String,
    pub client: ProviderClient,
    /// The provider's name of the model.
    pub model: String,
}

/// A model that should have answered and could not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedModel {
    /// `provider/model`, or the name in the settings.
    pub model: String,
    /// Why it was skipped: a code of nodes, its arguments and one sentence.
    pub failure: RenderedMessage,
}

impl SkippedModel {
    /// Describes a model that failed before it sent any text.
    pub fn from_failure(model: &str, failure: &ProviderFailure) -> Self {
        Self { model: model.to_owned(), failure: provider_message(failure) }
    }

    /// Returns the form in which metadata and traces keep it.
    pub fn to_record(&self) -> SkippedModelRecord {
        let Self { model, failure: RenderedMessage { code, args, message } } = self.clone();
        SkippedModelRecord { model, code, args, message, rest: Map::new() }
    }

    fn from_unknown(model: &str, error: &UnknownModelError) -> Self {
        let failure = ReplyFailure::ModelUnusable { words: error.to_string() };
        Self { model: model.to_owned(), failure: RenderedMessage::new(&failure) }
    }
}

impl ModelSelection {
    /// Returns the names of the first model: as requested, `provider/model`, and the provider's own.
    pub fn names(&self) -> Vec<String> {
        vec![self.requested_name.clone(), self.first.name.clone(), self.first.model.clone()]
    }

    /// Returns all models in the order in which they are asked.
    pub fn candidates(&self) -> impl Iterator<Item = &ModelCandidate> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

/// The reason why a model name cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownModelError {
    /// No provider offers it.
    #[error("there is no model \"{0}\"")]
    None(String),
    /// More than one provider offers it.
    #[error("several providers offer \"{0}\": write it as provider/model")]
    Ambiguous(String),
    /// The plugin does not exist or is no narrator.
    #[error("there is no plugin \"{0}\" that writes replies")]
    Narrator(String),
    /// The plugin exists but cannot run.
    #[error("the plugin \"{id}\" {broken}")]
    Broken {
        id: String,
        /// `is broken: main.rhai:3:1: why`.
        broken: String,
    },
    /// The provider cannot be used.
    #[error("the provider \"{provider}\" cannot be used: {reason}")]
    Unusable { provider: String, reason: String },
}

impl UnknownModelError {
    /// Returns whether the error can go away without a change of settings: a fixed plugin, a new key, a new model list.
    fn is_recoverable(&self, models: &ModelRegistry) -> bool {
        match self {
            Self::Broken { .. } | Self::Unusable { .. } => true,
            Self::None(_) => models.is_listed_by_server(),
            Self::Ambiguous(_) | Self::Narrator(_) => false,
        }
    }
}

impl ModelRegistry {
    /// Creates the registry of a configuration. A missing key is logged now, and is an error when the model is used.
    pub fn new(config: &Arc<Config>, catalogue: Arc<InstalledPlugins>) -> Self {
        let configured = providers::provider_entries(config).into_iter().map(Arc::new).collect();
        Self { config: Arc::clone(config), configured, catalogue, roster: RwLock::default() }
    }

    /// Replaces the providers added at run time and the chosen default model. An unchanged provider keeps its client
    /// and what was learned of it; running replies keep the client that they use.
    pub fn connect(&self, stored: Vec<ConnectedProvider>, chosen: Option<String>, keyring: &Keyring) {
        let before = self.roster();
        let mut connected: Vec<(ConnectedProvider, Arc<ProviderEntry>)> = Vec::with_capacity(stored.len());
        for one in stored {
            let existing = before.connected.iter().find(|(other, _)| *other == one).map(|(_, entry)| Arc::clone(entry));
            let entry = existing.unwrap_or_else(|| {
                let others = self.configured.iter().chain(connected.iter().map(|(_, entry)| entry));
                Arc::new(providers::connected_entry(&one, &self.config, keyring, others))
            });
            connected.push((one, entry));
        }
        *self.roster.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(ProviderRoster { connected, chosen });
    }

    fn roster(&self) -> Arc<ProviderRoster> {
        Arc::clone(&self.roster.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns all providers, those of the settings first. An added provider with the same id is hidden.
    fn entries(&self) -> Vec<Arc<ProviderEntry>> {
        let roster = self.roster();
        let is_free = |entry: &&Arc<ProviderEntry>| !self.is_configured(&entry.id);
        let connected = roster.connected.iter().map(|(_, entry)| entry).filter(is_free);
        self.configured.iter().chain(connected).cloned().collect()
    }

    /// Returns whether the settings have a provider with this id.
    pub fn is_configured(&self, id: &str) -> bool {
        self.configured.iter().any(|entry| entry.id == id)
    }

    /// Returns why a provider cannot be used; `None` if it can, or does not exist.
    pub fn unusable_reason(&self, id: &str) -> Option<ProviderProblemDetail> {
        self.entry(id)?.unusable.clone()
    }

    /// Returns the default model: the chosen one, else that of the settings.
    pub fn default_name(&self) -> String {
        self.roster().chosen.clone().unwrap_or_else(|| self.config.generation.model.clone())
    }

    /// Returns the default model chosen at run time.
    pub fn chosen_default(&self) -> Option<String> {
        self.roster().chosen.clone()
    }

    /// Resolves a model name.
    ///
    /// # Errors
    /// Returns an error if no or more than one provider offers the name. For an alias: the error of its first model, if
    /// none of them can be asked.
    pub fn find(&self, name: &str) -> Result<ReplyWriter, UnknownModelError> {
        if let Some(id) = name.strip_prefix("plugin:") {
            return self.narrator(id);
        }
        let choice = match self.config.aliases.iter().find(|alias| alias.name == name) {
            Some(alias) => self.resolve_alias(alias)?,
            None => ModelSelection {
                requested_name: name.to_owned(),
                first: self.candidate(name)?,
                others: Vec::new(),
                skipped: Vec::new(),
            },
        };
        Ok(ReplyWriter::Model(choice))
    }

    /// Returns the names of the model that `name` resolves to, or of the default model: as requested, `provider/model`,
    /// and the provider's own. Empty if it is no model.
    pub fn names_of(&self, name: Option<&str>) -> Vec<String> {
        match self.find(&name.map_or_else(|| self.default_name(), str::to_owned)) {
            Ok(ReplyWriter::Model(choice)) => choice.names(),
            _ => Vec::new(),
        }
    }

    /// Resolves an alias of the settings to those of its models that can be asked.
    fn resolve_alias(&self, alias: &ModelAlias) -> Result<ModelSelection, UnknownModelError> {
        let (mut found, mut passed, mut why) = (Vec::new(), Vec::new(), None);
        for name in &alias.models {
            match self.candidate(name) {
                Ok(candidate) => found.push(candidate),
                Err(error) => {
                    passed.push(SkippedModel::from_unknown(name, &error));
                    why.get_or_insert(error);
                }
            }
        }
        let mut found = found.into_iter();
        match found.next() {
            Some(first) => Ok(ModelSelection {
                requested_name: alias.name.clone(),
                first,
                others: found.collect(),
                skipped: passed,
            }),
            None => Err(why.unwrap_or_else(|| UnknownModelError::None(alias.name.clone()))),
        }
    }

    /// Returns the embedding model of the settings; `None` if none is configured.
    ///
    /// # Errors
    /// Returns an error if the provider does not exist or cannot be used, or its kind has no embeddings.
    pub fn embedder(&self, config: &Config) -> Result<Option<Embedder>, String> {
        let name = &config.recall.embeddings;
        if name.is_empty() {
            return Ok(None);
        }
        let candidate = match self.candidate(name) {
            Err(UnknownModelError::None(_)) => {
                return Err(format!("there is no provider as in {name:?}{}", self.valid_names_hint()));
            }
            other => other.map_err(|error| error.to_string())?,
        };
        let embedder = Embedder::new(candidate.name, candidate.client, candidate.model);
        embedder.check().map_err(|failure| failure.to_string())?;
        Ok(Some(embedder))
    }

    fn candidate(&self, name: &str) -> Result<ModelCandidate, UnknownModelError> {
        if let Some((provider, model)) = name.split_once('/')
            && let Some(entry) = self.entry(provider)
        {
            return candidate_of(&entry, model);
        }
        let entries = self.entries();
        let mut offering = entries.iter().filter(|entry| entry.has_model(name));
        match (offering.next(), offering.next()) {
            (Some(entry), None) => candidate_of(entry, name),
            (Some(_), Some(_)) => Err(UnknownModelError::Ambiguous(name.to_owned())),
            (None, _) => Err(UnknownModelError::None(name.to_owned())),
        }
    }

    /// Returns a warning if the provider exists but does not list the model. It is no error, because the model may be
    /// new.
    pub fn missing_model_hint(&self, name: &str) -> Option<ProviderProblemDetail> {
        let (provider, model) =
            name.split_once('/').filter(|_| !self.config.aliases.iter().any(|alias| alias.name == name))?;
        let entry = self.entry(provider)?;
        let is_known = !entry.models.is_empty() || !entry.model_list().models.is_empty();
        let unlisted =
            || ProviderProblemDetail::UnlistedModel { provider: provider.to_owned(), model: model.to_owned() };
        (is_known && !entry.has_model(model)).then(unlisted)
    }

    fn entry(&self, provider: &str) -> Option<Arc<ProviderEntry>> {
        if let Some(entry) = self.configured.iter().find(|entry| entry.id == provider) {
            return Some(Arc::clone(entry));
        }
        let roster = self.roster();
        roster.connected.iter().find(|(one, _)| one.id == provider).map(|(_, entry)| Arc::clone(entry))
    }

    fn narrator(&self, id: &str) -> Result<ReplyWriter, UnknownModelError> {
        let catalogue = self.catalogue.current();
        match catalogue.get(id).filter(|plugin| plugin.has_hook(Hook::Narrate)) {
            Some(plugin) => Ok(ReplyWriter::Narrator(Arc::clone(plugin))),
            None => Err(match catalogue.error_summary(id) {
                Some(broken) => UnknownModelError::Broken { id: id.to_owned(), broken },
                None => UnknownModelError::Narrator(id.to_owned()),
            }),
        }
    }

    /// Returns the errors in the settings that need knowledge of provider kinds and models, each with its position.
    pub fn config_error(&self, config: &Config) -> Option<ConfigError> {
        let stands_for_none = |alias: &ModelAlias| {
            let wrong = alias.models.iter().filter_map(|name| self.candidate(name).err());
            let wrong = wrong.filter(|error| !error.is_recoverable(self)).map(|error| error.to_string()).next()?;
            alias.refuse(format!("{wrong}{}", self.valid_names_hint()))
        };
        ConfigError::combine(
            providers::unknown_kinds(config).chain(self.config.aliases.iter().filter_map(stands_for_none)),
        )
    }

    /// Checks the default model at startup. What may still come right (a broken plugin, an unknown model list) is only
    /// logged.
    ///
    /// # Errors
    /// Returns a message if no such model can exist.
    pub fn check_default(&self, config: &Config) -> Result<(), String> {
        let default = &config.generation.model;
        let error = match self.find(default) {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        let meant = match default.split_once('/') {
            Some((word, model)) => config.nearest_provider(word).map(|id| format!("; did you mean \"{id}/{model}\"?")),
            None => None,
        };
        match error {
            UnknownModelError::Broken { .. } | UnknownModelError::Unusable { .. } => {}
            UnknownModelError::None(_) if meant.is_none() && self.is_listed_by_server() => {}
            UnknownModelError::None(_) => {
                return Err(format!("{error}{}", meant.unwrap_or_else(|| self.valid_names_hint())));
            }
            UnknownModelError::Ambiguous(_) | UnknownModelError::Narrator(_) => {
                return Err(format!("{error}{}", self.valid_names_hint()));
            }
        }
        tracing::warn!(model = default, "sessions without a model cannot get replies: {error}");
        Ok(())
    }

    /// Returns whether some provider's models are only known from its own list.
    fn is_listed_by_server(&self) -> bool {
        self.entries().iter().any(|entry| entry.models.is_empty())
    }

    /// Returns a hint with the valid names.
    fn valid_names_hint(&self) -> String {
        let narrators = self.narrators().into_iter().map(|plugin| format!("\"plugin:{}\"", plugin.id()));
        let entries = self.entries();
        let ids = entries.iter().map(|entry| format!("\"{}/…\"", entry.id));
        format!("; there are {}", narrators.chain(ids).collect::<Vec<_>>().join(", "))
    }

    /// Returns the context length of a model in tokens, if the settings or the provider tell it.
    pub fn context_length(&self, provider: &str, model: &str) -> Option<usize> {
        self.entry(provider)?.context_length(model)
    }

    /// Returns the context length of a model in tokens that prompts are made for, if its provider lists this one.
    pub fn context_length_beside(&self, provider: &str, model: &str, listed: Option<u64>) -> Option<u64> {
        let Some(entry) = self.entry(provider) else { return listed };
        let length = entry.context_length_beside(model, || usize::try_from(listed?).ok());
        length.and_then(|tokens| u64::try_from(tokens).ok())
    }

    /// From now on makes prompts for a context length that an error told. Returns whether that is shorter than before.
    pub fn learn_context(&self, provider: &str, model: &str, tokens: usize, before: usize) -> bool {
        self.entry(provider).is_some_and(|entry| entry.learn_context(model, tokens, before))
    }

    /// Returns the token measure of a model.
    pub fn measure(&self, provider: &str, model: &str) -> TokenMeasure {
        self.entry(provider).map(|entry| entry.counters.measure(model)).unwrap_or_default()
    }

    /// Returns how tools are offered to a model.
    pub fn tools(&self, candidate: &ModelCandidate) -> ToolMode {
        self.tools_of(&candidate.client.endpoint().id, &candidate.model).unwrap_or_default()
    }

    /// Returns how tools are offered to a model of a provider; `None` if there is no such provider.
    pub fn tools_of(&self, provider: &str, model: &str) -> Option<ToolMode> {
        Some(self.entry(provider)?.tools(model))
    }

    /// Records that a server refused a request with tools. From now on they are described in the prompt text.
    pub fn use_text_tools(&self, provider: &str, model: &str) {
        if let Some(entry) = self.entry(provider) {
            entry.use_text_tools(model);
        }
    }

    /// Corrects the estimate of a model from the server's count of a prompt.
    pub fn learn_token_count(&self, provider: &str, model: &str, estimated: usize, counted: u64) {
        if let Some(entry) = self.entry(provider) {
            entry.counters.learn(model, estimated, counted);
        }
    }

    /// Returns the cost of a reply, by the prices of the settings, else by those that the provider reports.
    pub fn cost(&self, provider: &str, model: &str, usage: &Usage) -> Option<ReplyCost> {
        self.entry(provider)?.cost(model, usage)
    }

    /// Returns whether a provider's model list is due for a refresh, and if so marks it as asked now.
    pub fn needs_refresh(&self, provider: &str, now: Time) -> bool {
        let Some(entry) = self.entry(provider) else { return false };
        let mut models = entry.model_list();
        let wants = models.asked_at.is_none_or(|asked| now.millis_since(asked) >= LEARN_AGAIN_MS);
        if wants {
            models.asked_at = Some(now);
        }
        wants
    }

    /// Fetches the model list of a provider. On failure the old list stays.
    pub async fn refresh_models(&self, client: &ProviderClient) {
        let id = &client.endpoint().id;
        match client.models().await {
            Ok(models) => {
                if let Some(entry) = self.entry(id) {
                    entry.model_list().models = models;
                }
            }
            Err(failure) => tracing::info!(provider = %id, "the provider did not list its models: {failure}"),
        }
    }

    /// Returns the usable providers: id, client, and the models that the settings list.
    pub fn providers(&self) -> impl Iterator<Item = (String, ProviderClient, Vec<String>)> {
        let usable = self.entries().into_iter().filter(|entry| entry.unusable.is_none());
        usable.map(|entry| (entry.id.clone(), entry.client.clone(), entry.models.clone()))
    }

    /// Returns the unusable providers: id, reason, and the models that the settings list.
    pub fn unusable(&self) -> impl Iterator<Item = (String, ProviderProblemDetail, Vec<String>)> {
        let entries = self.entries().into_iter();
        entries.filter_map(|entry| Some((entry.id.clone(), entry.unusable.clone()?, entry.models.clone())))
    }

    /// Returns the aliases: name, models, and why none of them can be asked.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &[String], Option<String>)> {
        self.config.aliases.iter().map(|alias| {
            let why = self.resolve_alias(alias).err().map(|error| error.to_string());
            (alias.name.as_str(), alias.models.as_slice(), why)
        })
    }

    /// Returns the narrator plugins.
    pub fn narrators(&self) -> Vec<Arc<LoadedPlugin>> {
        let catalogue = self.catalogue.current();
        let loaded = catalogue.entries().filter_map(|entry| entry.state.as_ref().ok());
        loaded.filter(|one| one.has_hook(Hook::Narrate)).cloned().collect()
    }
}

fn candidate_of(entry: &ProviderEntry, model: &str) -> Result<ModelCandidate, UnknownModelError> {
    match &entry.unusable {
        Some(reason) => Err(UnknownModelError::Unusable { provider: entry.id.clone(), reason: reason.to_string() }),
        None => Ok(ModelCandidate {
            name: format!("{}/{model}", entry.id),
            client: entry.client.clone(),
            model: model.to_owned(),
        }),
    }
}
