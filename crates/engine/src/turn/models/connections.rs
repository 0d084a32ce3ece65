//! Model servers added at run time: stored with their keys sealed, active at once, and testable before and after. The
//! providers of `config.toml` are not changed here.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::Mutex;

use crate::keyring::{Keyring, KeyringError};
use clotho_config::{Config, ProviderConnection, ProviderFieldError, Secret};
use clotho_core::clock::{Clock, Time};
use clotho_provider::{
    Endpoint, FinishReason, Frame, ModelInfo, ProviderClient, ProviderFailure, ProviderKind, Request, RequestMessage,
    RequestRole, Timeouts,
};
use clotho_store::{ConnectedProvider, IdempotencyClaim, Store, StoreError, WriteError};

use super::ModelRegistry;
use super::provider_problem::ProviderProblemDetail;
use super::providers::{connection, key_context};

/// The time limit of a test for the model list.
const LIST_TIMEOUT: Duration = Duration::from_secs(15);
/// The time limit of a test for a short reply; the server may have to load the model first.
const REPLY_TIMEOUT: Duration = Duration::from_secs(90);
/// The message of a test.
const TEST_PROMPT: &str = "Say hello in one short sentence.";
/// The token limit of a test reply. Reasoning counts as a sign of life too.
const TEST_MAX_TOKENS: u32 = 64;
/// The number of characters of the test reply that are returned.
const MAX_SHOWN_CHARS: usize = 300;

/// The reason why a provider cannot be added or changed.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// A field is invalid.
    #[error("{message}")]
    Invalid { field: &'static str, message: String },
    /// The provider is one of `config.toml`.
    #[error("the provider \"{0}\" is set in config.toml and cannot be changed here")]
    Configured(String),
    #[error("the provider does not exist")]
    NotFound,
    /// The key cannot be sealed or opened.
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    /// The database refused the write or failed.
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("the server is shutting down")]
    Stopped,
}

impl From<StoreError> for ConnectError {
    fn from(error: StoreError) -> Self {
        Self::Write(error.into())
    }
}

impl From<ProviderFieldError> for ConnectError {
    fn from(error: ProviderFieldError) -> Self {
        Self::Invalid { field: error.field, message: error.message }
    }
}

/// A change of a provider; `None` = unchanged.
#[derive(Debug, Default)]
pub struct ConnectionChange {
    /// The kind of its API.
    pub kind: Option<String>,
    /// The base URL of its API.
    pub base_url: Option<String>,
    /// The key; `Some(None)` removes it.
    pub key: Option<Option<Secret>>,
    /// The names of its models.
    pub models: Option<Vec<String>>,
    /// The context length of its models in tokens; `Some(None)` asks the server.
    pub context_tokens: Option<Option<u32>>,
}

/// The result of a connection test.
#[derive(Debug, Default)]
pub struct ConnectionTestResult {
    /// The model list, or why it failed.
    pub models: Option<Result<Vec<ModelInfo>, ProviderFailure>>,
    /// The reply of a model, or why it failed; `None` = no model was asked.
    pub reply: Option<Result<ConnectionTestReply, ProviderFailure>>,
}

/// The reply of a model in a test.
#[derive(Debug, Default)]
pub struct ConnectionTestReply {
    /// The start of its text; empty if only reasoning arrived.
    pub text: String,
    /// Milliseconds until the first frame, reasoning included.
    pub first_ms: u64,
}

/// Adds, changes, removes and tests providers.
pub struct ProviderConnections {
    config: Arc<Config>,
    store: Arc<Store>,
    models: Arc<ModelRegistry>,
    keyring: Keyring,
    clock: Arc<dyn Clock>,
    runtime: Handle,
    /// Serializes changes, so that the registry always has what was stored last.
    write_lock: Arc<Mutex<()>>,
}

impl ProviderConnections {
    /// Creates the service for a data directory. [`ProviderConnections::load`] activates the stored providers.
    pub fn new(
        config: &Arc<Config>,
        store: &Arc<Store>,
        models: &Arc<ModelRegistry>,
        clock: &Arc<dyn Clock>,
        runtime: Handle,
    ) -> Self {
        Self {
            keyring: Keyring::in_dir(&config.storage.data_dir),
            config: Arc::clone(config),
            store: Arc::clone(store),
            models: Arc::clone(models),
            clock: Arc::clone(clock),
            runtime,
            write_lock: Arc::default(),
        }
    }

    /// Activates the stored providers.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub async fn load(&self) -> Result<(), StoreError> {
        reload(&self.store, &self.models, &self.keyring).await
    }

    /// Returns all added providers, in order.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub async fn list(&self) -> Result<Vec<ConnectedProvider>, StoreError> {
        self.store.read(|reader| reader.connected_providers()).await
    }

    /// Returns one added provider.
    ///
    /// # Errors
    /// Returns an error if it does not exist or is one of the settings.
    pub async fn get(&self, id: &str) -> Result<ConnectedProvider, ConnectError> {
        let found = self.list().await?.into_iter().find(|one| one.id == id);
        found.ok_or_else(|| match self.models.is_configured(id) {
            true => ConnectError::Configured(id.to_owned()),
            false => ConnectError::NotFound,
        })
    }

    /// Adds a provider.
    ///
    /// # Errors
    /// Returns an error if a field is invalid or the id is taken.
    pub async fn add(&self, new: ProviderConnection, key: Option<Secret>) -> Result<ConnectedProvider, ConnectError> {
        let new = self.validate(new)?;
        if self.models.is_configured(&new.id) {
            let message = format!("config.toml already has a provider with the name {:?}", new.id);
            return Err(ConnectError::Invalid { field: "id", message });
        }
        let stored = self.to_stored(new, key.as_ref(), None)?;
        let (new, claim) = (stored.clone(), IdempotencyClaim::current());
        self.write_and_reload(move |tx| {
            tx.put_provider(&new)?;
            tx.record_claim(claim.as_ref(), &new.id)
        })
        .await?;
        Ok(stored)
    }

    /// Changes a provider. To change its address, the key has to be entered again: whoever may change the address must
    /// not learn the key by it.
    ///
    /// # Errors
    /// Returns an error if the provider does not exist or a field is invalid.
    pub async fn change(&self, id: &str, change: ConnectionChange) -> Result<ConnectedProvider, ConnectError> {
        let before = self.get(id).await?;
        let old = connection(&before);
        let new = self.validate(ProviderConnection {
            id: old.id.clone(),
            kind: change.kind.unwrap_or_else(|| old.kind.clone()),
            base_url: change.base_url.unwrap_or_else(|| old.base_url.clone()),
            models: change.models.unwrap_or_else(|| old.models.clone()),
            context_tokens: change.context_tokens.unwrap_or(old.context_tokens),
        })?;
        let stored = match change.key {
            Some(key) => self.to_stored(new, key.as_ref(), Some(before.created))?,
            None => {
                check_same_origin(&before, &new)?;
                let stored = self.to_stored(new, None, Some(before.created))?;
                ConnectedProvider { sealed_key: before.sealed_key, ..stored }
            }
        };
        let new = stored.clone();
        self.write_and_reload(move |tx| tx.update_provider(&new)).await?;
        Ok(stored)
    }

    /// Removes a provider and its key. Sessions that use one of its models get an error with the next reply.
    ///
    /// # Errors
    /// Returns an error if it does not exist.
    pub async fn remove(&self, id: &str) -> Result<(), ConnectError> {
        let id = self.get(id).await?.id;
        self.write_and_reload(move |tx| tx.delete_provider(&id)).await
    }

    /// Chooses the default model; `None` = that of the settings.
    ///
    /// # Errors
    /// Returns an error if the model does not exist.
    pub async fn choose(&self, model: Option<String>) -> Result<(), ConnectError> {
        if let Some(name) = &model {
            let unknown = |error: crate::turn::UnknownModelError| ConnectError::Invalid {
                field: "model",
                message: error.to_string(),
            };
            self.models.find(name).map_err(unknown)?;
        }
        self.write_and_reload(move |tx| tx.choose_model(model.as_deref())).await
    }

    /// Tests a new or changed provider: asks for its models and, if a model is named, for a short reply. Without `key`
    /// the test uses the stored key of this id, if the address is the same.
    ///
    /// # Errors
    /// Returns an error if a field is invalid.
    pub async fn test_connection(
        &self,
        new: ProviderConnection,
        key: Option<Option<Secret>>,
        model: Option<&str>,
    ) -> Result<ConnectionTestResult, ConnectError> {
        let new = self.validate(new)?;
        let key = match key {
            Some(key) => key,
            None => self.stored_key(&new).await?,
        };
        let kind = ProviderKind::from_name(&new.kind).unwrap_or_default();
        let timeouts = Timeouts { first_token: REPLY_TIMEOUT, ..Timeouts::default() };
        let max_reply_bytes = self.config.limits.reply_bytes;
        let endpoint = Endpoint { key, timeouts, max_reply_bytes, ..Endpoint::new(&new.id, &new.base_url) };
        Ok(self.test_client(&ProviderClient::new(kind, endpoint), model).await)
    }

    /// Tests an existing provider, from the settings or added. A provider that cannot be used is a failure in the
    /// result.
    ///
    /// # Errors
    /// Returns an error if it does not exist.
    pub async fn test_provider(&self, id: &str, model: Option<&str>) -> Result<ConnectionTestResult, ConnectError> {
        if let Some(why) = self.models.unusable_reason(id) {
            return Ok(ConnectionTestResult {
                models: Some(Err(ProviderFailure::Misconfigured { words: why.to_string() })),
                reply: None,
            });
        }
        let client = self.models.providers().find(|(other, ..)| other == id).map(|(_, client, _)| client);
        Ok(self.test_client(&client.ok_or(ConnectError::NotFound)?, model).await)
    }

    async fn test_client(&self, client: &ProviderClient, model: Option<&str>) -> ConnectionTestResult {
        let limit = LIST_TIMEOUT;
        let late = |_| Err(ProviderFailure::Timeout { wait: clotho_provider::TimeoutPhase::FirstToken, limit });
        let models = tokio::time::timeout(limit, client.models()).await.unwrap_or_else(late);
        // An unreachable server cannot reply either.
        let is_away = matches!(models, Err(ProviderFailure::Unreachable { .. } | ProviderFailure::Timeout { .. }));
        let reply = match model.filter(|_| !is_away) {
            Some(model) => Some(self.test_reply(client, model).await),
            None => None,
        };
        ConnectionTestResult { models: Some(models), reply }
    }

    /// Asks a model for a short reply.
    async fn test_reply(&self, client: &ProviderClient, model: &str) -> Result<ConnectionTestReply, ProviderFailure> {
        let message = RequestMessage { role: RequestRole::User, name: None, content: TEST_PROMPT.to_owned() };
        let params: Map<String, Value> = Map::from_iter([("max_tokens".to_owned(), Value::from(TEST_MAX_TOKENS))]);
        let request = Request { model: model.to_owned(), messages: vec![message], params, ..Request::default() };
        let begun = self.clock.now();
        let reply =
            tokio::time::timeout(REPLY_TIMEOUT, stream_test_reply(client, &request, begun, self.clock.as_ref())).await;
        let late = ProviderFailure::Timeout { wait: clotho_provider::TimeoutPhase::FirstToken, limit: REPLY_TIMEOUT };
        reply.unwrap_or(Err(late))
    }

    /// Checks the fields of a provider.
    fn validate(&self, new: ProviderConnection) -> Result<ProviderConnection, ConnectError> {
        let new = new.validate()?;
        match ProviderKind::from_name(&new.kind) {
            Some(_) => Ok(new),
            None => {
                let message = ProviderProblemDetail::unknown_kind(&new.kind).to_string();
                Err(ConnectError::Invalid { field: "kind", message })
            }
        }
    }

    fn to_stored(
        &self,
        new: ProviderConnection,
        key: Option<&Secret>,
        created: Option<Time>,
    ) -> Result<ConnectedProvider, ConnectError> {
        let sealed_key = key.map(|key| self.keyring.seal(key, &key_context(&new))).transpose()?;
        let now = self.clock.now();
        let ProviderConnection { id, kind, base_url, models, context_tokens } = new;
        let created = created.unwrap_or(now);
        Ok(ConnectedProvider { id, kind, base_url, sealed_key, models, context_tokens, created, updated: now })
    }

    /// Returns the stored key of an id, if it belongs to the same address.
    async fn stored_key(&self, new: &ProviderConnection) -> Result<Option<Secret>, ConnectError> {
        let Some(before) = self.list().await?.into_iter().find(|one| one.id == new.id) else { return Ok(None) };
        check_same_origin(&before, new)?;
        let sealed = before.sealed_key.as_deref();
        Ok(sealed.map(|sealed| self.keyring.open(sealed, &key_context(new))).transpose()?)
    }

    /// Writes and reloads on the server's own task, so that a disconnected client interrupts neither.
    async fn write_and_reload<F>(&self, closure: F) -> Result<(), ConnectError>
    where
        F: FnMut(&mut clotho_store::Tx<'_>) -> Result<(), WriteError> + Send + 'static,
    {
        let (store, models) = (Arc::clone(&self.store), Arc::clone(&self.models));
        let (keyring, order) = (self.keyring.clone(), Arc::clone(&self.write_lock));
        let work = async move {
            let _turn = order.lock().await;
            store.write(closure).await?;
            Ok(reload(&store, &models, &keyring).await?)
        };
        self.runtime.spawn(work).await.unwrap_or(Err(ConnectError::Stopped))
    }
}

async fn reload(store: &Store, models: &ModelRegistry, keyring: &Keyring) -> Result<(), StoreError> {
    let read = |reader: &mut clotho_store::StoreReader<'_>| Ok((reader.connected_providers()?, reader.chosen_model()?));
    let (stored, chosen) = store.read::<_, StoreError, _>(read).await?;
    models.connect(stored, chosen, keyring);
    Ok(())
}

fn check_same_origin(before: &ConnectedProvider, new: &ProviderConnection) -> Result<(), ConnectError> {
    let origin = connection(before).origin();
    if before.sealed_key.is_none() || origin == new.origin() {
        return Ok(());
    }
    let message = format!("the stored key is for {origin}: enter the key for the new URL, or null for none");
    Err(ConnectError::Invalid { field: "key", message })
}

async fn stream_test_reply(
    client: &ProviderClient,
    request: &Request,
    begun: Time,
    clock: &dyn Clock,
) -> Result<ConnectionTestReply, ProviderFailure> {
    let mut frames = client.stream_side_call(request);
    let mut reply = None;
    while let Some(frame) = frames.next().await {
        let piece = match frame? {
            Frame::Text(text) => text,
            Frame::Reasoning(_) => String::new(),
            Frame::Finish(FinishReason::Stop | FinishReason::Length) if reply.is_some() => break,
            _ => continue,
        };
        let now: &mut ConnectionTestReply = reply.get_or_insert_with(|| ConnectionTestReply {
            text: String::new(),
            first_ms: clock.now().millis_since(begun),
        });
        now.text.push_str(&piece);
        if now.text.chars().count() >= MAX_SHOWN_CHARS {
            break;
        }
    }
    let reply =
        reply.map(|reply| ConnectionTestReply { text: reply.text.chars().take(MAX_SHOWN_CHARS).collect(), ..reply });
    reply.ok_or_else(|| ProviderFailure::InvalidResponse { words: "the reply is empty".to_owned() })
}
