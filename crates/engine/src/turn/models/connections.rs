//! Model servers that are connected while the server runs: kept with their keys sealed, taken in at once, tried before or
//! after. What `config.toml` says of others is not touched.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::Mutex;

use crate::keyring::{Keyring, KeyringError};
use clotho_config::{Config, ProviderConnection, Secret};
use clotho_core::clock::{Clock, Time};
use clotho_provider::{
    Endpoint, FinishReason, Frame, ModelInfo, ProviderClient, ProviderFailure, ProviderKind, Request, RequestMessage,
    RequestRole, Timeouts,
};
use clotho_store::{ConnectedProvider, IdempotencyClaim, Store, StoreError, WriteError};

use super::ModelRegistry;
use super::providers::{connection, key_context, unknown_kind};

/// A server that is tried has so long to tell its models.
const LIST_TIMEOUT: Duration = Duration::from_secs(15);
/// And so long for a short reply: one that has to load the model first takes its time.
const REPLY_TIMEOUT: Duration = Duration::from_secs(90);
/// What is asked of a model that is tried.
const TEST_PROMPT: &str = "Say hello in one short sentence.";
/// It need not say more. One that thinks before it speaks is heard while it thinks.
const TEST_MAX_TOKENS: u32 = 64;
/// Characters of its reply that are handed on.
const MAX_SHOWN_CHARS: usize = 300;

/// Why a model server is not connected.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// A field does not fit.
    #[error("{message}")]
    Invalid {
        /// Which.
        field: &'static str,
        /// Why.
        message: String,
    },
    /// It stands in `config.toml`.
    #[error("the provider \"{0}\" stands in config.toml and is not changed here")]
    Configured(String),
    /// It is not there.
    #[error("the provider does not exist")]
    NotFound,
    /// Its key cannot be sealed.
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    /// The database refuses or fails.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The server is shutting down.
    #[error("the server is shutting down")]
    Stopped,
}

impl From<StoreError> for ConnectError {
    fn from(error: StoreError) -> Self {
        Self::Write(error.into())
    }
}

impl From<(&'static str, String)> for ConnectError {
    fn from((field, message): (&'static str, String)) -> Self {
        Self::Invalid { field, message }
    }
}

/// What changes of one; `None` = stays.
#[derive(Debug, Default)]
pub struct ConnectionChange {
    /// What it speaks.
    pub kind: Option<String>,
    /// Where its API begins.
    pub base_url: Option<String>,
    /// Its key; `Some(None)` takes it away.
    pub key: Option<Option<Secret>>,
    /// The names of its models.
    pub models: Option<Vec<String>>,
}

/// What a server that was tried has shown.
#[derive(Debug, Default)]
pub struct ConnectionTestResult {
    /// The models that it told, or why it did not.
    pub models: Option<Result<Vec<ModelInfo>, ProviderFailure>>,
    /// What a model said, or why it said nothing; `None` = nobody asked.
    pub reply: Option<Result<ConnectionTestReply, ProviderFailure>>,
}

/// What a model said that was tried.
#[derive(Debug, Default)]
pub struct ConnectionTestReply {
    /// How it begins; empty where it only thought.
    pub text: String,
    /// Milliseconds until the first of it, thoughts included.
    pub first_ms: u64,
}

/// Connects, changes and forgets model servers.
pub struct ProviderConnections {
    config: Arc<Config>,
    store: Arc<Store>,
    models: Arc<ModelRegistry>,
    keyring: Keyring,
    clock: Arc<dyn Clock>,
    runtime: Handle,
    /// One change after another: what is asked is always what was kept last.
    write_lock: Arc<Mutex<()>>,
}

impl ProviderConnections {
    /// Those of a data directory. [`ProviderConnections::load`] takes in what is kept.
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

    /// Takes in what is kept.
    ///
    /// # Errors
    /// The database fails.
    pub async fn load(&self) -> Result<(), StoreError> {
        reload(&self.store, &self.models, &self.keyring).await
    }

    /// Everything that was connected, in its order.
    ///
    /// # Errors
    /// The database fails.
    pub async fn list(&self) -> Result<Vec<ConnectedProvider>, StoreError> {
        self.store.read(|reader| reader.connected_providers()).await
    }

    /// One that was connected.
    ///
    /// # Errors
    /// It is not there, or stands in the settings.
    pub async fn get(&self, id: &str) -> Result<ConnectedProvider, ConnectError> {
        let found = self.list().await?.into_iter().find(|one| one.id == id);
        found.ok_or_else(|| match self.models.is_configured(id) {
            true => ConnectError::Configured(id.to_owned()),
            false => ConnectError::NotFound,
        })
    }

    /// Connects one.
    ///
    /// # Errors
    /// A field does not fit, or another is called so.
    pub async fn add(&self, new: ProviderConnection, key: Option<Secret>) -> Result<ConnectedProvider, ConnectError> {
        let new = self.validate(new)?;
        if self.models.is_configured(&new.id) {
            let message = format!("a provider of config.toml is called {:?} already", new.id);
            return Err(ConnectError::Invalid { field: "id", message });
        }
        let kept = self.to_stored(new, key.as_ref(), None)?;
        let (new, claim) = (kept.clone(), IdempotencyClaim::current());
        self.write_and_reload(move |tx| {
            tx.put_provider(&new)?;
            tx.record_claim(claim.as_ref(), &new.id)
        })
        .await?;
        Ok(kept)
    }

    /// Changes one. A key goes with it to another address only where it is typed again: who may change an address must not
    /// learn the key by it.
    ///
    /// # Errors
    /// It is not there, or a field does not fit.
    pub async fn change(&self, id: &str, change: ConnectionChange) -> Result<ConnectedProvider, ConnectError> {
        let before = self.get(id).await?;
        let old = connection(&before);
        let new = self.validate(ProviderConnection {
            id: old.id.clone(),
            kind: change.kind.unwrap_or_else(|| old.kind.clone()),
            base_url: change.base_url.unwrap_or_else(|| old.base_url.clone()),
            models: change.models.unwrap_or_else(|| old.models.clone()),
        })?;
        let kept = match change.key {
            Some(key) => self.to_stored(new, key.as_ref(), Some(before.created))?,
            None => {
                is_same_origin(&before, &new)?;
                let kept = self.to_stored(new, None, Some(before.created))?;
                ConnectedProvider { sealed_key: before.sealed_key, ..kept }
            }
        };
        let new = kept.clone();
        self.write_and_reload(move |tx| tx.update_provider(&new)).await?;
        Ok(kept)
    }

    /// Forgets one, and its key. Stories that name a model of its say so with their next reply.
    ///
    /// # Errors
    /// It is not there.
    pub async fn remove(&self, id: &str) -> Result<(), ConnectError> {
        let id = self.get(id).await?.id;
        self.write_and_reload(move |tx| tx.delete_provider(&id)).await
    }

    /// Chooses the model of sessions that name none; `None` = that of the settings.
    ///
    /// # Errors
    /// No model is named so.
    pub async fn choose(&self, model: Option<String>) -> Result<(), ConnectError> {
        if let Some(name) = &model {
            let unknown = |error: crate::turn::UnknownModelError| ("model", error.to_string());
            self.models.find(name).map_err(unknown)?;
        }
        self.write_and_reload(move |tx| tx.choose_model(model.as_deref())).await
    }

    /// Tries what may be connected, or one that is: asks for its models and, where a model is named, for a short reply. Without
    /// a key of its own the one that is kept under the id goes with it, to the address that it is for.
    ///
    /// # Errors
    /// A field does not fit.
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

    /// Tries a provider that is there, of the settings or connected.
    ///
    /// # Errors
    /// It is not there, or cannot be asked.
    pub async fn test_provider(&self, id: &str, model: Option<&str>) -> Result<ConnectionTestResult, ConnectError> {
        if let Some(why) = self.models.unusable_reason(id) {
            return Ok(ConnectionTestResult {
                models: Some(Err(ProviderFailure::Misconfigured { words: why })),
                reply: None,
            });
        }
        let client = self.models.providers().find(|(known, ..)| known == id).map(|(_, client, _)| client);
        Ok(self.test_client(&client.ok_or(ConnectError::NotFound)?, model).await)
    }

    async fn test_client(&self, client: &ProviderClient, model: Option<&str>) -> ConnectionTestResult {
        let limit = LIST_TIMEOUT;
        let late = |_| Err(ProviderFailure::Timeout { wait: clotho_provider::TimeoutPhase::FirstToken, limit });
        let models = tokio::time::timeout(limit, client.models()).await.unwrap_or_else(late);
        // Where nobody is there, nobody speaks.
        let is_away = matches!(models, Err(ProviderFailure::Unreachable { .. } | ProviderFailure::Timeout { .. }));
        let reply = match model.filter(|_| !is_away) {
            Some(model) => Some(self.test_reply(client, model).await),
            None => None,
        };
        ConnectionTestResult { models: Some(models), reply }
    }

    /// A short reply of a model.
    async fn test_reply(&self, client: &ProviderClient, model: &str) -> Result<ConnectionTestReply, ProviderFailure> {
        let message = RequestMessage { role: RequestRole::User, name: None, content: TEST_PROMPT.to_owned() };
        let params: Map<String, Value> = Map::from_iter([("max_tokens".to_owned(), Value::from(TEST_MAX_TOKENS))]);
        let request = Request { model: model.to_owned(), messages: vec![message], params, ..Request::default() };
        let begun = self.clock.now();
        let said =
            tokio::time::timeout(REPLY_TIMEOUT, stream_test_reply(client, &request, begun, self.clock.as_ref())).await;
        let late = ProviderFailure::Timeout { wait: clotho_provider::TimeoutPhase::FirstToken, limit: REPLY_TIMEOUT };
        said.unwrap_or(Err(late))
    }

    /// What is to be kept, as far as it fits.
    fn validate(&self, new: ProviderConnection) -> Result<ProviderConnection, ConnectError> {
        let new = new.validate()?;
        match ProviderKind::from_name(&new.kind) {
            Some(_) => Ok(new),
            None => Err(ConnectError::Invalid { field: "kind", message: unknown_kind(&new.kind) }),
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
        let ProviderConnection { id, kind, base_url, models } = new;
        Ok(ConnectedProvider { id, kind, base_url, sealed_key, models, created: created.unwrap_or(now), updated: now })
    }

    /// The key that is kept under an id, for the address that it is for.
    async fn stored_key(&self, new: &ProviderConnection) -> Result<Option<Secret>, ConnectError> {
        let Some(before) = self.list().await?.into_iter().find(|one| one.id == new.id) else { return Ok(None) };
        is_same_origin(&before, new)?;
        let sealed = before.sealed_key.as_deref();
        Ok(sealed.map(|sealed| self.keyring.open(sealed, &key_context(new))).transpose()?)
    }

    /// Writes and takes in what was written, on the server's own task: whoever asked may go away in the middle.
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
    let (kept, chosen) = store.read::<_, StoreError, _>(read).await?;
    models.connect(kept, chosen, keyring);
    Ok(())
}

fn is_same_origin(before: &ConnectedProvider, new: &ProviderConnection) -> Result<(), ConnectError> {
    let origin = connection(before).origin();
    if before.sealed_key.is_none() || origin == new.origin() {
        return Ok(());
    }
    let message = format!("the key that is kept is for {origin}: type the one for the new address, or null for none");
    Err(ConnectError::Invalid { field: "key", message })
}

async fn stream_test_reply(
    client: &ProviderClient,
    request: &Request,
    begun: Time,
    clock: &dyn Clock,
) -> Result<ConnectionTestReply, ProviderFailure> {
    let mut frames = client.stream_side_call(request);
    let mut said = None;
    while let Some(frame) = frames.next().await {
        let piece = match frame? {
            Frame::Text(text) => text,
            Frame::Reasoning(_) => String::new(),
            Frame::Finish(FinishReason::Stop | FinishReason::Length) if said.is_some() => break,
            _ => continue,
        };
        let now: &mut ConnectionTestReply = said.get_or_insert_with(|| ConnectionTestReply {
            text: String::new(),
            first_ms: clock.now().millis_since(begun),
        });
        now.text.push_str(&piece);
        if now.text.chars().count() >= MAX_SHOWN_CHARS {
            break;
        }
    }
    let said = said.map(|said| ConnectionTestReply { text: said.text.chars().take(MAX_SHOWN_CHARS).collect(), ..said });
    said.ok_or_else(|| ProviderFailure::Garbled { words: "the reply is empty".to_owned() })
}
