//! Models by name: `provider/model`, `model` where that is unique, a name of the settings that stands for several, or
//! `plugin:<id>` for a plugin that narrates.
//!
//! What a provider tells of its models (their names where the settings name none, the length of their context) is learned
//! in the background: a turn never waits for it.
//!
//! `providers.rs` makes the clients, `connections.rs` those that come while the server runs, `token_counters.rs` says how large texts are to them.

pub mod connections;
pub(super) mod providers;
pub(super) mod token_counters;

use std::sync::{Arc, PoisonError, RwLock};

use crate::keyring::Keyring;
use clotho_compat::prompt::TokenMeasure;
use clotho_config::{Config, ConfigError, ModelAlias, ToolMode};
use clotho_core::clock::Time;
use clotho_plugin::{Hook, InstalledPlugins, LoadedPlugin};
use clotho_provider::{Embedder, ProviderClient, ProviderFailure, Usage};
use clotho_store::ConnectedProvider;

use providers::{ProviderEntry, ReplyCost};

/// What a provider told is asked for again after so many milliseconds.
const LEARN_AGAIN_MS: u64 = 600_000;

/// All models that this server can ask.
pub struct ModelRegistry {
    config: Arc<Config>,
    /// Those of the settings.
    configured: Vec<Arc<ProviderEntry>>,
    catalogue: Arc<InstalledPlugins>,
    roster: RwLock<Arc<ProviderRoster>>,
}

/// Who can be asked at a moment. It is replaced as a whole: whoever asks keeps the one that it found.
#[derive(Default)]
struct ProviderRoster {
    /// Those that were connected while the server runs, as they are kept.
    connected: Vec<(ConnectedProvider, Arc<ProviderEntry>)>,
    /// The model that was chosen for sessions that name none.
    chosen: Option<String>,
}

/// Who writes a reply.
#[derive(Clone)]
pub enum ReplyWriter {
    /// Models behind providers.
    Model(ModelSelection),
    /// A plugin's `narrate`.
    Narrator(Arc<LoadedPlugin>),
}

/// The models that a name stands for.
#[derive(Debug, Clone)]
pub struct ModelSelection {
    /// The name by which it was asked for.
    pub asked: String,
    /// The one that is asked.
    pub first: ModelCandidate,
    /// Those that are asked one after another where it cannot answer.
    pub others: Vec<ModelCandidate>,
    /// Those that could not even be asked.
    pub skipped: Vec<SkippedModel>,
}

/// A model that can be asked.
#[derive(Debug, Clone)]
pub struct ModelCandidate {
    /// `provider/model`.
    pub name: String,
    /// The client.
    pub client: ProviderClient,
    /// The model's name there.
    pub model: String,
}

/// A model that was to answer and could not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedModel {
    /// `provider/model`, or as the settings name it.
    pub model: String,
    /// A code of the table for nodes.
    pub code: String,
    /// One sentence.
    pub message: String,
}

impl SkippedModel {
    /// A model that failed before it said anything.
    pub fn from_failure(model: &str, failure: &ProviderFailure) -> Self {
        Self { model: model.to_owned(), code: failure.code().to_owned(), message: failure.to_string() }
    }

    fn from_unknown(model: &str, error: &UnknownModelError) -> Self {
        let code = "provider_misconfigured".to_owned();
        Self { model: model.to_owned(), code, message: error.to_string() }
    }
}

impl ModelSelection {
    /// The names that it has: as it was asked for, `provider/model`, and the model's own.
    pub fn names(&self) -> Vec<String> {
        vec![self.asked.clone(), self.first.name.clone(), self.first.model.clone()]
    }

    /// Every model, in the order in which they are asked.
    pub fn candidates(&self) -> impl Iterator<Item = &ModelCandidate> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

/// No model has that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownModelError {
    /// Nobody offers it.
    #[error("no model is named \"{0}\"")]
    None(String),
    /// More than one provider offers it.
    #[error("more than one provider offers \"{0}\": write it as provider/model")]
    Ambiguous(String),
    /// The plugin is not there or does not narrate.
    #[error("no plugin \"{0}\" is loaded that can narrate")]
    Narrator(String),
    /// The plugin is there and cannot run.
    #[error("the plugin \"{id}\" {broken}")]
    Broken {
        /// The plugin.
        id: String,
        /// `is broken: main.rhai:3:1: why`.
        broken: String,
    },
    /// The provider cannot be asked.
    #[error("the provider \"{provider}\" cannot be used: {reason}")]
    Unusable {
        /// The provider.
        provider: String,
        /// Why.
        reason: String,
    },
}

impl UnknownModelError {
    /// Whether it may still come right without another setting: a plugin is mended, a key appears, a provider tells more.
    fn is_recoverable(&self, models: &ModelRegistry) -> bool {
        match self {
            Self::Broken { .. } | Self::Unusable { .. } => true,
            Self::None(_) => models.is_listed_by_server(),
            Self::Ambiguous(_) | Self::Narrator(_) => false,
        }
    }
}

impl ModelRegistry {
    /// The models of a configuration. A key that is not there is a log line now and an honest error when it is used.
    pub fn new(config: &Arc<Config>, catalogue: Arc<InstalledPlugins>) -> Self {
        let configured = providers::provider_entries(config).into_iter().map(Arc::new).collect();
        Self { config: Arc::clone(config), configured, catalogue, roster: RwLock::default() }
    }

    /// Takes in what was connected, and the model that was chosen. Who did not change stays who it was, with all that was
    /// learned of it; replies under way go on with whom they have asked.
    pub fn connect(&self, kept: Vec<ConnectedProvider>, chosen: Option<String>, keyring: &Keyring) {
        let before = self.roster();
        let mut connected: Vec<(ConnectedProvider, Arc<ProviderEntry>)> = Vec::with_capacity(kept.len());
        for one in kept {
            let known = before.connected.iter().find(|(other, _)| *other == one).map(|(_, entry)| Arc::clone(entry));
            let entry = known.unwrap_or_else(|| {
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

    /// Every provider, those of the settings first: what they name so goes before what was connected so.
    fn entries(&self) -> Vec<Arc<ProviderEntry>> {
        let roster = self.roster();
        let is_free = |entry: &&Arc<ProviderEntry>| !self.is_configured(&entry.id);
        let connected = roster.connected.iter().map(|(_, entry)| entry).filter(is_free);
        self.configured.iter().chain(connected).cloned().collect()
    }

    /// Whether the settings name a provider so.
    pub fn is_configured(&self, id: &str) -> bool {
        self.configured.iter().any(|entry| entry.id == id)
    }

    /// Why a provider cannot be asked; `None` where it can, or is not there.
    pub fn unusable_reason(&self, id: &str) -> Option<String> {
        self.entry(id)?.unusable.clone()
    }

    /// The model of sessions that name none: the one that was chosen, else that of the settings.
    pub fn default_name(&self) -> String {
        self.roster().chosen.clone().unwrap_or_else(|| self.config.generation.model.clone())
    }

    /// The model that was chosen over that of the settings.
    pub fn chosen_default(&self) -> Option<String> {
        self.roster().chosen.clone()
    }

    /// Who writes for a model's name.
    ///
    /// # Errors
    /// Nobody or more than one has that name; of a name that stands for several, why none of them can be asked.
    pub fn find(&self, name: &str) -> Result<ReplyWriter, UnknownModelError> {
        if let Some(id) = name.strip_prefix("plugin:") {
            return self.narrator(id);
        }
        let choice = match self.config.aliases.iter().find(|alias| alias.name == name) {
            Some(alias) => self.resolve_alias(alias)?,
            None => ModelSelection {
                asked: name.to_owned(),
                first: self.candidate(name)?,
                others: Vec::new(),
                skipped: Vec::new(),
            },
        };
        Ok(ReplyWriter::Model(choice))
    }

    /// The names of the model that a session's name of one stands for, the server's own where it has none: as it is asked for,
    /// `provider/model`, and the model's own. None where no model would be asked.
    pub fn names(&self, name: Option<&str>) -> Vec<String> {
        match self.find(&name.map_or_else(|| self.default_name(), str::to_owned)) {
            Ok(ReplyWriter::Model(choice)) => choice.names(),
            _ => Vec::new(),
        }
    }

    /// The models that a name of the settings stands for, as far as they can be asked.
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
            Some(first) => {
                Ok(ModelSelection { asked: alias.name.clone(), first, others: found.collect(), skipped: passed })
            }
            None => Err(why.unwrap_or_else(|| UnknownModelError::None(alias.name.clone()))),
        }
    }

    /// The model of embeddings that the settings name; `None` where they name none.
    ///
    /// # Errors
    /// There is no such provider, it cannot be asked, or its kind embeds nothing.
    pub fn embedder(&self, config: &Config) -> Result<Option<Embedder>, String> {
        let name = &config.recall.embeddings;
        if name.is_empty() {
            return Ok(None);
        }
        let candidate = match self.candidate(name) {
            Err(UnknownModelError::None(_)) => {
                return Err(format!("no provider is named as in {name:?}{}", self.valid_names_hint()));
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
        let mut offering = entries.iter().filter(|entry| entry.offers(name));
        match (offering.next(), offering.next()) {
            (Some(entry), None) => candidate_of(entry, name),
            (Some(_), Some(_)) => Err(UnknownModelError::Ambiguous(name.to_owned())),
            (None, _) => Err(UnknownModelError::None(name.to_owned())),
        }
    }

    /// What to say of a name whose provider is there and does not offer such a model, as far as that is known: it may be new there,
    /// so that it is no mistake in any case.
    pub fn missing_model_hint(&self, name: &str) -> Option<String> {
        let (provider, model) =
            name.split_once('/').filter(|_| !self.config.aliases.iter().any(|alias| alias.name == name))?;
        let entry = self.entry(provider)?;
        let is_known = !entry.models.is_empty() || !entry.told().models.is_empty();
        let why = || format!("\"{provider}\" offers no model \"{model}\", as far as it has told");
        (is_known && !entry.offers(model)).then(why)
    }

    fn entry(&self, provider: &str) -> Option<Arc<ProviderEntry>> {
        if let Some(entry) = self.configured.iter().find(|entry| entry.id == provider) {
            return Some(Arc::clone(entry));
        }
        let roster = self.roster();
        roster.connected.iter().find(|(one, _)| one.id == provider).map(|(_, entry)| Arc::clone(entry))
    }

    fn narrator(&self, id: &str) -> Result<ReplyWriter, UnknownModelError> {
        let catalogue = self.catalogue.now();
        match catalogue.get(id).filter(|plugin| plugin.has(Hook::Narrate)) {
            Some(plugin) => Ok(ReplyWriter::Narrator(Arc::clone(plugin))),
            None => Err(match catalogue.broken(id) {
                Some(broken) => UnknownModelError::Broken { id: id.to_owned(), broken },
                None => UnknownModelError::Narrator(id.to_owned()),
            }),
        }
    }

    /// Mistakes in the settings that only somebody finds who knows the kinds of servers and the models, each at its place.
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

    /// Looks whether the default model can be anything at all, for the one who starts the server: `Err` is a mistake in
    /// the settings. What may still come right (a plugin is mended, a provider tells its models) is a line in the log.
    ///
    /// # Errors
    /// Says why no such model can be.
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
        tracing::warn!(model = default, "sessions that name no model cannot be answered as it stands: {error}");
        Ok(())
    }

    /// Whether the names of some models are only known once a server has told them.
    fn is_listed_by_server(&self) -> bool {
        self.entries().iter().any(|entry| entry.models.is_empty())
    }

    /// What could stand there instead.
    fn valid_names_hint(&self) -> String {
        let narrators = self.narrators().into_iter().map(|plugin| format!("\"plugin:{}\"", plugin.id()));
        let entries = self.entries();
        let ids = entries.iter().map(|entry| format!("\"{}/…\"", entry.id));
        format!("; there are {}", narrators.chain(ids).collect::<Vec<_>>().join(", "))
    }

    /// Tokens that a model's prompt and reply may have together, if its provider has told.
    pub fn context_length(&self, provider: &str, model: &str) -> Option<usize> {
        let length = self.entry(provider)?.told().models.iter().find(|info| info.id == model)?.context_length?;
        usize::try_from(length).ok()
    }

    /// What texts for a model are measured by.
    pub fn measure(&self, provider: &str, model: &str) -> TokenMeasure {
        self.entry(provider).map(|entry| entry.counters.measure(model)).unwrap_or_default()
    }

    /// How a model is told of tools.
    pub fn tools(&self, candidate: &ModelCandidate) -> ToolMode {
        self.tools_of(&candidate.client.endpoint().id, &candidate.model).unwrap_or_default()
    }

    /// How a model of a provider is told of tools; `None` where there is no such provider.
    pub fn tools_of(&self, provider: &str, model: &str) -> Option<ToolMode> {
        Some(self.entry(provider)?.tools(model))
    }

    /// Remembers that a model's server refused a request that told of tools: it is told in words from now on.
    pub fn use_text_tools(&self, provider: &str, model: &str) {
        if let Some(entry) = self.entry(provider) {
            entry.use_text_tools(model);
        }
    }

    /// Learns from what a provider counted for a prompt of so many estimated tokens.
    pub fn learn_token_count(&self, provider: &str, model: &str, estimated: usize, counted: u64) {
        if let Some(entry) = self.entry(provider) {
            entry.counters.learn(model, estimated, counted);
        }
    }

    /// What a reply costs by the prices of the settings, else by those that its provider has told.
    pub fn cost(&self, provider: &str, model: &str, usage: &Usage) -> Option<ReplyCost> {
        self.entry(provider)?.cost(model, usage)
    }

    /// Whether a provider was not asked for a while; who is told so asks it.
    pub fn needs_refresh(&self, provider: &str, now: Time) -> bool {
        let Some(entry) = self.entry(provider) else { return false };
        let mut told = entry.told();
        let wants = told.asked.is_none_or(|asked| now.millis_since(asked) >= LEARN_AGAIN_MS);
        if wants {
            told.asked = Some(now);
        }
        wants
    }

    /// Asks a provider what it has. A failure is no harm: what was known stays known.
    pub async fn refresh_models(&self, client: &ProviderClient) {
        let id = &client.endpoint().id;
        match client.models().await {
            Ok(models) => {
                if let Some(entry) = self.entry(id) {
                    entry.told().models = models;
                }
            }
            Err(failure) => tracing::info!(provider = %id, "the provider did not tell its models: {failure}"),
        }
    }

    /// The providers that can be asked: id, client, and the models that the configuration names.
    pub fn providers(&self) -> impl Iterator<Item = (String, ProviderClient, Vec<String>)> {
        let usable = self.entries().into_iter().filter(|entry| entry.unusable.is_none());
        usable.map(|entry| (entry.id.clone(), entry.client.clone(), entry.models.clone()))
    }

    /// The providers that cannot: id, why, and the models that the configuration names.
    pub fn unusable(&self) -> impl Iterator<Item = (String, String, Vec<String>)> {
        let entries = self.entries().into_iter();
        entries.filter_map(|entry| Some((entry.id.clone(), entry.unusable.clone()?, entry.models.clone())))
    }

    /// The names of the settings that stand for models: the name, the models, and why none of them can be asked.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &[String], Option<String>)> {
        self.config.aliases.iter().map(|alias| {
            let why = self.resolve_alias(alias).err().map(|error| error.to_string());
            (alias.name.as_str(), alias.models.as_slice(), why)
        })
    }

    /// The plugins that narrate.
    pub fn narrators(&self) -> Vec<Arc<LoadedPlugin>> {
        let catalogue = self.catalogue.now();
        let loaded = catalogue.entries().filter_map(|entry| entry.state.as_ref().ok());
        loaded.filter(|one| one.has(Hook::Narrate)).cloned().collect()
    }
}

fn candidate_of(entry: &ProviderEntry, model: &str) -> Result<ModelCandidate, UnknownModelError> {
    match &entry.unusable {
        Some(reason) => Err(UnknownModelError::Unusable { provider: entry.id.clone(), reason: reason.clone() }),
        None => Ok(ModelCandidate {
            name: format!("{}/{model}", entry.id),
            client: entry.client.clone(),
            model: model.to_owned(),
        }),
    }
}
