//! Models by name: `provider/model`, `model` where that is unique, or `plugin:<id>` for a plugin that narrates.
//!
//! What a provider tells of its models (their names where the settings name none, the length of their context) is learned
//! in the background: a turn never waits for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Number;

use crate::clock::Time;
use crate::config::{Config, Provider};
use crate::plugin::{Catalogue, Hook, Loaded};
use crate::provider::{self, Endpoint, ModelInfo, OpenAi, Retries, Timeouts, Usage};

/// What a provider told is asked for again after so many milliseconds.
const LEARN_AGAIN_MS: u64 = 600_000;

/// All models that this server can ask.
pub struct Models {
    providers: Vec<Entry>,
    catalogue: Arc<Catalogue>,
    /// The model of sessions that name none.
    pub default: String,
}

struct Entry {
    id: String,
    models: Vec<String>,
    client: OpenAi,
    /// Why it cannot be asked: its key is not there.
    unusable: Option<String>,
    told: Mutex<Told>,
}

/// What a provider has told.
#[derive(Default)]
struct Told {
    models: Vec<ModelInfo>,
    /// When it was last asked.
    asked: Option<Time>,
}

impl Entry {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer(&self, model: &str) -> Result<Writer, UnknownModel> {
        match &self.unusable {
            Some(reason) => Err(UnknownModel::Unusable { provider: self.id.clone(), reason: reason.clone() }),
            None => Ok(Writer::Model { client: self.client.clone(), model: model.to_owned() }),
        }
    }

    /// Whether it offers a model of that name: as the settings say, or where they say nothing, as it told itself.
    fn offers(&self, name: &str) -> bool {
        if self.models.is_empty() {
            return self.told().models.iter().any(|info| info.id == name);
        }
        self.models.iter().any(|model| model == name)
    }
}

/// Who writes a reply.
#[derive(Clone)]
pub enum Writer {
    /// A model behind a provider.
    Model {
        /// The client.
        client: OpenAi,
        /// The model's name there.
        model: String,
    },
    /// A plugin's `narrate`.
    Narrator(Arc<Loaded>),
}

/// No model has that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownModel {
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

impl Models {
    /// The models of a configuration. A key that is not there is a log line now and an honest error when it is used.
    pub fn new(config: &Config, catalogue: Arc<Catalogue>) -> Self {
        let providers = config.providers.iter().map(|provider| entry(provider, config)).collect();
        Self { providers, catalogue, default: config.generation.model.clone() }
    }

    /// Who writes for a model's name.
    ///
    /// # Errors
    /// Nobody or more than one has that name.
    pub fn find(&self, name: &str) -> Result<Writer, UnknownModel> {
        if let Some(id) = name.strip_prefix("plugin:") {
            return self.narrator(id);
        }
        if let Some((provider, model)) = name.split_once('/')
            && let Some(entry) = self.providers.iter().find(|entry| entry.id == provider)
        {
            return entry.writer(model);
        }
        let mut offering = self.providers.iter().filter(|entry| entry.offers(name));
        match (offering.next(), offering.next()) {
            (Some(entry), None) => entry.writer(name),
            (Some(_), Some(_)) => Err(UnknownModel::Ambiguous(name.to_owned())),
            (None, _) => Err(UnknownModel::None(name.to_owned())),
        }
    }

    fn narrator(&self, id: &str) -> Result<Writer, UnknownModel> {
        match self.catalogue.get(id).filter(|plugin| plugin.has(Hook::Narrate)) {
            Some(plugin) => Ok(Writer::Narrator(Arc::clone(plugin))),
            None => Err(match self.catalogue.broken(id) {
                Some(broken) => UnknownModel::Broken { id: id.to_owned(), broken },
                None => UnknownModel::Narrator(id.to_owned()),
            }),
        }
    }

    /// Looks whether the default model can be anything at all, for the one who starts the server: `Err` is a mistake in
    /// the settings. What may still come right (a plugin is mended, a provider tells its models) is a line in the log.
    ///
    /// # Errors
    /// Says why no such model can be.
    pub fn check_default(&self, config: &Config) -> Result<(), String> {
        let error = match self.find(&self.default) {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        let asks_its_server = self.providers.iter().any(|entry| entry.models.is_empty());
        let meant = match self.default.split_once('/') {
            Some((word, model)) => config.nearest_provider(word).map(|id| format!("; did you mean \"{id}/{model}\"?")),
            None => None,
        };
        match error {
            UnknownModel::Broken { .. } | UnknownModel::Unusable { .. } => {}
            UnknownModel::None(_) if meant.is_none() && asks_its_server => {}
            UnknownModel::None(_) => return Err(format!("{error}{}", meant.unwrap_or_else(|| self.choice()))),
            UnknownModel::Ambiguous(_) | UnknownModel::Narrator(_) => return Err(format!("{error}{}", self.choice())),
        }
        tracing::warn!(model = self.default, "sessions that name no model cannot be answered as it stands: {error}");
        Ok(())
    }

    /// What could stand there instead.
    fn choice(&self) -> String {
        let narrators = self.narrators().map(|plugin| format!("\"plugin:{}\"", plugin.id()));
        let ids = self.providers.iter().map(|entry| format!("\"{}/…\"", entry.id));
        format!("; there are {}", narrators.chain(ids).collect::<Vec<_>>().join(", "))
    }

    /// Tokens that a model's prompt and reply may have together, if its provider has told.
    pub fn context_length(&self, provider: &str, model: &str) -> Option<usize> {
        let entry = self.providers.iter().find(|entry| entry.id == provider)?;
        let length = entry.told().models.iter().find(|info| info.id == model)?.context_length?;
        usize::try_from(length).ok()
    }

    /// What a reply costs by the prices that its provider has told, in the provider's currency.
    pub fn cost(&self, provider: &str, model: &str, usage: &Usage) -> Option<Number> {
        let entry = self.providers.iter().find(|entry| entry.id == provider)?;
        let told = entry.told();
        provider::cost(usage, told.models.iter().find(|info| info.id == model)?)
    }

    /// Whether a provider was not asked for a while; who is told so asks it.
    pub fn wants_to_learn(&self, provider: &str, now: Time) -> bool {
        let Some(entry) = self.providers.iter().find(|entry| entry.id == provider) else { return false };
        let mut told = entry.told();
        let wants = told.asked.is_none_or(|asked| now.since(asked) >= LEARN_AGAIN_MS);
        if wants {
            told.asked = Some(now);
        }
        wants
    }

    /// Asks a provider what it has. A failure is no harm: what was known stays known.
    pub async fn learn_from(&self, client: &OpenAi) {
        let id = &client.endpoint().id;
        match client.models().await {
            Ok(models) => {
                if let Some(entry) = self.providers.iter().find(|entry| entry.id == *id) {
                    entry.told().models = models;
                }
            }
            Err(failure) => tracing::info!(provider = %id, "the provider did not tell its models: {failure}"),
        }
    }

    /// The providers that can be asked: id, client, and the models that the configuration names.
    pub fn providers(&self) -> impl Iterator<Item = (&str, &OpenAi, &[String])> {
        let usable = self.providers.iter().filter(|entry| entry.unusable.is_none());
        usable.map(|entry| (entry.id.as_str(), &entry.client, entry.models.as_slice()))
    }

    /// The providers that cannot: id, why, and the models that the configuration names.
    pub fn unusable(&self) -> impl Iterator<Item = (&str, &str, &[String])> {
        let why = self.providers.iter().filter_map(|entry| Some((entry, entry.unusable.as_deref()?)));
        why.map(|(entry, why)| (entry.id.as_str(), why, entry.models.as_slice()))
    }

    /// The plugins that narrate.
    pub fn narrators(&self) -> impl Iterator<Item = &Arc<Loaded>> {
        self.catalogue.entries().filter_map(|entry| entry.state.as_ref().ok()).filter(|one| one.has(Hook::Narrate))
    }
}

fn entry(provider: &Provider, config: &Config) -> Entry {
    let (key, unusable) = match provider.key() {
        Ok(key) => (key, None),
        Err(error) => {
            tracing::warn!(provider = %provider.id, "none of its models can be used: {error}");
            (None, Some(error.to_string()))
        }
    };
    let generation = &config.generation;
    let endpoint = Endpoint {
        id: provider.id.clone(),
        base_url: provider.base_url.clone(),
        key,
        extra: provider.extra.clone(),
        timeouts: Timeouts {
            connect: generation.connect_timeout,
            first_token: generation.first_token_timeout,
            idle: generation.idle_timeout,
            ..Timeouts::default()
        },
        max_reply_bytes: config.limits.reply_bytes,
        retries: Retries::default(),
    };
    Entry {
        id: provider.id.clone(),
        models: provider.models.clone(),
        client: OpenAi::new(endpoint),
        unusable,
        told: Mutex::default(),
    }
}
