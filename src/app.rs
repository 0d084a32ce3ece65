//! The application: all services, built once at start and shared by every request.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::runtime::{self, Handle, Runtime};
use tokio::sync::{Semaphore, mpsc};

use crate::assets::{self, WebAssets};
use crate::devices::Devices;
use crate::image_proxy::ImageProxy;
use clotho_config::{Config, ConfigError};
use clotho_core::clock::{Clock, IdGenerator};
use clotho_core::ids::{CharacterId, UserId};
use clotho_engine::embedding::BackgroundEmbedder;
use clotho_engine::live::{GenerationLimits, LiveSessions};
use clotho_engine::log_follower;
use clotho_engine::maintenance::Maintenance;
use clotho_engine::secure_erase::SecureEraser;
use clotho_engine::transfer::{self, ImportQueue};
use clotho_engine::turn::connections::ProviderConnections;
use clotho_engine::turn::{ModelRegistry, SaveIntervals, TurnDeps, TurnEngine, TurnError};
use clotho_plugin::{Catalogue, InstalledPlugins, LoadedPlugin, PluginOrigin, PluginSource, ScriptLimits, ScriptPool};
use clotho_provider::Embedder;
use clotho_search::{Index, IndexSource, SearchError};
use clotho_store::archive::ArchiveLimits;
use clotho_store::{self as store, CharacterCard, Store, StoreError, UserAccount, WriteError, private_files};

/// How long dropping the [`App`] waits for tasks that still run.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// How many cards and images are decoded at the same time. Each takes some hundred megabytes at worst.
const MAX_CARD_IMPORTS: usize = 2;

/// How many sessions are exported at the same time.
const MAX_EXPORTS: usize = 2;

/// All services that a request may need.
pub struct App {
    pub config: Arc<Config>,
    pub store: Arc<Store>,
    pub turns: TurnEngine,
    pub live: Arc<LiveSessions>,
    pub search: Arc<Index>,
    /// Computes embeddings in the background; `None` if no embedding model is set.
    pub embedding: Option<Arc<BackgroundEmbedder>>,
    /// Erases purged data from the disk.
    pub secure_erase: Arc<SecureEraser>,
    pub catalogue: Arc<InstalledPlugins>,
    pub models: Arc<ModelRegistry>,
    /// Model servers that users connect while the server runs.
    pub connections: ProviderConnections,
    /// The daily maintenance.
    pub maintenance: Arc<Maintenance>,
    /// The files of the web page.
    pub assets: WebAssets,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<IdGenerator>,
    pub import_queue: ImportQueue,
    /// Fetches remote images.
    pub image_proxy: ImageProxy,
    /// Limits concurrent exports.
    pub export_slots: Semaphore,
    /// Limits concurrent imports of cards and images.
    pub card_import_slots: Semaphore,
    /// The only owner in mode `local`.
    pub owner: UserId,
    /// The paired LAN devices.
    pub devices: Devices,
    /// The CSRF token for writes of the local owner. Tokens of devices are derived from it.
    pub csrf: String,
    runtime: Option<Runtime>,
}

/// Why the server does not start. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{0}")]
    Store(String),
    #[error(transparent)]
    Search(#[from] SearchError),
    /// A setting is wrong, for example a model that does not exist.
    #[error(transparent)]
    Setting(#[from] ConfigError),
    /// The system gives no thread, randomness or file.
    #[error("{0}")]
    System(String),
}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> Self {
        Self::System(error.to_string())
    }
}

impl App {
    /// Builds everything: opens the store, loads plugins, ends replies that a crash left, starts the log follower.
    ///
    /// # Errors
    /// Returns an error if another server locks the data directory, if it is not writable, or if a newer version wrote
    /// it. The message is a sentence for the user.
    pub fn build(config: Config, clock: Arc<dyn Clock>, ids: Arc<IdGenerator>) -> Result<Self, StartError> {
        // Check files and settings before anything is written.
        let config = Arc::new(config);
        let assets = load_assets(&config)?;
        // Plugins, models and the database.
        let runtime =
            runtime::Builder::new_multi_thread().worker_threads(2).thread_name("turn").enable_all().build()?;
        let catalogue = Arc::new(load_installed(&config));
        catalogue.start_watching(runtime.handle());
        let models = Arc::new(ModelRegistry::new(&config, Arc::clone(&catalogue)));
        let OpenDatabase { store, published, connections, embedder } =
            open_database(&config, &models, &clock, &runtime)?;
        // Turns.
        let live = Arc::new(LiveSessions::new(generation_limits(&config)));
        let dependencies = TurnDeps {
            config: Arc::clone(&config),
            store: Arc::clone(&store),
            live: Arc::clone(&live),
            catalogue: Arc::clone(&catalogue),
            models: Arc::clone(&models),
            embedder: embedder.clone(),
            host: Arc::new(ScriptPool::with_all_cores()?),
            clock: Arc::clone(&clock),
            ids: Arc::clone(&ids),
            save_intervals: SaveIntervals::default(),
        };
        let turns = TurnEngine::new(dependencies, runtime.handle().clone());
        let owner = recover_owner(&config, &runtime, &store, &turns, &clock, &ids)?;
        turns.tasks.spawn_background_tasks();
        // The search index, fed from the operation log.
        let newest = runtime.block_on(store.read(|reader| reader.newest_cursor()));
        let newest = newest.map_err(|error| explain_store_error(&config, &error))?;
        let hide_tags: Arc<[String]> = Arc::from(config.generation.hide_tags.as_slice());
        let upstream = IndexSource { id: owner.uuid(), newest, texts: log_follower::text_fingerprint(&hide_tags) };
        let search = open_index(&config, upstream)?;
        turns.tasks.refresh_models();
        let feeder = log_follower::IndexFeeder { index: Arc::clone(&search), hide_tags: Arc::clone(&hide_tags) };
        log_follower::follow(runtime.handle(), &store, &live, feeder, published);
        // Background tasks: embeddings, secure erase, maintenance.
        let embedding = embedder.map(|embedder| {
            let background = Arc::new(BackgroundEmbedder::new(embedder, config.recall.clone(), Arc::clone(&hide_tags)));
            background.spawn(runtime.handle(), &store);
            background
        });
        let secure_erase = Arc::new(SecureEraser::new(Arc::clone(&search)));
        secure_erase.spawn(runtime.handle(), &store);
        let (storage, backups) = (&config.storage, config.storage.backups_path());
        let (database, keep) = (storage.database_path(), storage.backups);
        let maintenance = Arc::new(Maintenance::new(database, backups, keep, Arc::clone(&search), Arc::clone(&clock)));
        maintenance.spawn(runtime.handle(), &store);
        // Devices and imports.
        let devices = load_devices(&runtime, &store, &config, owner)?;
        let limits = ArchiveLimits::for_archive(config.limits.import_bytes);
        let import_queue = ImportQueue::open(Arc::clone(&store), Arc::clone(&clock), Arc::clone(&ids), limits)?;
        Ok(Self {
            image_proxy: ImageProxy::new(&config.pictures.allowed_hosts),
            config,
            store,
            turns,
            live,
            search,
            embedding,
            secure_erase,
            catalogue,
            models,
            connections,
            maintenance,
            assets,
            clock,
            ids,
            import_queue,
            export_slots: Semaphore::new(MAX_EXPORTS),
            card_import_slots: Semaphore::new(MAX_CARD_IMPORTS),
            owner,
            devices,
            csrf: random_token()?,
            runtime: Some(runtime),
        })
    }

    /// Shuts down in order: stops running replies and commits their partial texts, then makes the index durable.
    ///
    /// Blocks, so it must not be called from asynchronous code.
    pub fn close(&self) {
        self.import_queue.close();
        if let Some(runtime) = &self.runtime {
            runtime.block_on(self.turns.tasks.stop());
        }
        if let Err(error) = self.search.close() {
            tracing::warn!("the search index was not closed correctly, the next start continues it: {error}");
        }
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        if Handle::try_current().is_ok() {
            // Asynchronous code must not block; running tasks are dropped a little later.
            runtime.shutdown_background();
        } else {
            // Running tasks hold the store, and the store holds the lock of the data directory. The lock is free on
            // return.
            runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        }
    }
}

/// Checks the configured models before anything is written: unknown provider kinds, model names that match nothing, and
/// a default model that cannot exist. A built-in default that cannot be used is only a warning.
fn check_models(models: &ModelRegistry, config: &Config) -> Result<(), StartError> {
    if let Some(mistakes) = models.config_error(config) {
        return Err(mistakes.into());
    }
    let Err(message) = models.check_default(config) else { return Ok(()) };
    match config.refuse_model(message.clone()) {
        Some(error) => Err(error.into()),
        None => {
            tracing::warn!("the default model cannot be used: {message}");
            Ok(())
        }
    }
}

/// Returns the embedding model. One that cannot be called is a configuration error.
fn build_embedder(models: &ModelRegistry, config: &Config) -> Result<Option<Embedder>, StartError> {
    match models.embedder(config) {
        Ok(embedder) => Ok(embedder),
        Err(message) => match config.refuse_embeddings(message.clone()) {
            Some(error) => Err(error.into()),
            None => Err(StartError::System(message)),
        },
    }
}

/// Loads the paired devices of the owner.
fn load_devices(runtime: &Runtime, store: &Store, config: &Config, owner: UserId) -> Result<Devices, StartError> {
    let known = runtime.block_on(store.read(move |reader| reader.devices(owner)));
    Ok(Devices::new(&config.server, known.map_err(|error| explain_store_error(config, &error))?))
}

fn generation_limits(config: &Config) -> GenerationLimits {
    let limits = &config.limits;
    GenerationLimits {
        per_user: limits.generations_per_user,
        total: limits.generations,
        waiting_per_user: limits.waiting_per_user,
    }
}

fn load_assets(config: &Config) -> Result<WebAssets, StartError> {
    match &config.server.static_dir {
        None => Ok(WebAssets::bundled()),
        Some(folder) => {
            let failed = |error| StartError::System(format!("server.static_dir {}: {error}", folder.display()));
            WebAssets::from_folder(folder).map_err(failed)
        }
    }
}

/// Returns the settings with which the store is opened.
pub fn store_settings(config: &Config) -> store::StoreSettings {
    let storage = &config.storage;
    store::StoreSettings {
        data_dir: storage.data_dir.clone(),
        database: Some(storage.database_path()),
        keyframe_every: u16::try_from(storage.keyframe_every).unwrap_or(u16::MAX),
        readers: storage.readers,
        group_max: storage.group_max,
        max_pages: storage.max_pages(),
    }
}

fn open_store(config: &Config) -> Result<(Arc<Store>, mpsc::UnboundedReceiver<store::PublishedOperation>), StartError> {
    let settings = store_settings(config);
    let (store, published) = Store::open(&settings).map_err(|error| explain_store_error(config, &error))?;
    Ok((Arc::new(store), published))
}

/// What [`open_database`] returns.
struct OpenDatabase {
    store: Arc<Store>,
    published: mpsc::UnboundedReceiver<store::PublishedOperation>,
    connections: ProviderConnections,
    embedder: Option<Embedder>,
}

/// Opens the database and loads the connections that were made while a server ran.
///
/// Opens the search index, which only the owner of the files can read: it contains the words of the stories.
fn open_index(config: &Config, upstream: IndexSource) -> Result<Arc<Index>, StartError> {
    let folder = config.storage.search_path();
    // An error is reported when the index is opened.
    let _ = private_files::create_folder(&folder);
    private_files::exclude_others_from(&folder);
    Ok(Arc::new(Index::open(&folder, upstream, config.search.clone())?))
}

/// Settings may refer to such connections, so settings that look wrong are checked again afterwards. If there is no
/// database yet, wrong settings fail before one is created.
fn open_database(
    config: &Arc<Config>,
    models: &Arc<ModelRegistry>,
    clock: &Arc<dyn Clock>,
    runtime: &Runtime,
) -> Result<OpenDatabase, StartError> {
    let checked = check_models(models, config);
    let is_wrong = checked.is_err();
    if !config.storage.database_path().exists() {
        checked?;
    }
    let embedder = build_embedder(models, config)?;
    let (store, published) = open_store(config)?;
    let connections = ProviderConnections::new(config, &store, models, clock, runtime.handle().clone());
    runtime.block_on(connections.load()).map_err(|error| explain_store_error(config, &error))?;
    if is_wrong {
        check_models(models, config)?;
    }
    Ok(OpenDatabase { store, published, connections, embedder })
}

/// Turns a store error into a sentence for the user who starts the server.
pub fn explain_store_error(config: &Config, error: &StoreError) -> StartError {
    let folder = config.storage.data_dir.display();
    StartError::Store(match error {
        StoreError::Locked => {
            format!("another server uses the data directory {folder}: stop it, or set storage.data_dir")
        }
        StoreError::ReadOnly => {
            let database = config.storage.database_path();
            let database = database.display();
            format!(
                "the data directory {folder} cannot be written: check the owner and permissions of it and of {database}"
            )
        }
        StoreError::Quota => {
            format!("the database in {folder} has reached its quota: raise storage.max_database_mb and start again")
        }
        StoreError::Full => format!("the disk of the data directory {folder} is full: free some space and start again"),
        StoreError::Newer(version) => {
            format!("the database in {folder} was written by a newer version (schema {version}): use that version")
        }
        StoreError::ForeignSchema(object) => format!(
            "the database in {folder} has the {object}, which this program did not make and which may change what is \
             written: run \"clotho doctor\" to list all of them, and restore a backup"
        ),
        other => format!("the data directory {folder} cannot be used: {other}"),
    })
}

/// Returns the installed plugins as they are now.
pub fn load_catalogue(config: &Config) -> Arc<Catalogue> {
    load_installed(config).current()
}

/// Returns whether a bundled plugin has this id.
pub fn is_bundled(id: &str) -> bool {
    assets::plugin_ids().any(|known| known == id)
}

/// Loads the bundled plugins and those of the configured folder. A broken plugin is listed with its error.
fn load_installed(config: &Config) -> InstalledPlugins {
    let limits = ScriptLimits::default();
    let bundled = assets::plugin_ids().map(|id| {
        let files = assets::plugin(id).map(|file| (file.path, file.bytes));
        PluginSource::new(id, PluginOrigin::Bundled, files)
    });
    InstalledPlugins::new(Catalogue::bundled(bundled, &limits), config.plugins.dir.clone(), limits)
}

/// Ends the replies that a crash left, and returns the owner.
fn recover_owner(
    config: &Config,
    runtime: &Runtime,
    store: &Arc<Store>,
    turns: &TurnEngine,
    clock: &Arc<dyn Clock>,
    ids: &Arc<IdGenerator>,
) -> Result<UserId, StartError> {
    let recovered = runtime.block_on(recover_after_restart(store, turns, clock.as_ref(), ids));
    recovered.map_err(|error| match error {
        TurnError::Store(error) => explain_store_error(config, &error),
        other => StartError::System(other.to_string()),
    })
}

/// Every start ends what a crash left: replies that were being written, files that were coming in.
async fn recover_after_restart(
    store: &Arc<Store>,
    turns: &TurnEngine,
    clock: &dyn Clock,
    ids: &IdGenerator,
) -> Result<UserId, TurnError> {
    let owner = find_or_create_owner(store, clock, ids).await?;
    transfer::discard(store).await?;
    let ended = turns.tasks.end_interrupted_replies().await?;
    if ended > 0 {
        tracing::warn!("{ended} replies were interrupted by the last stop; their texts so far are kept");
    }
    Ok(owner)
}

/// Returns the only owner in mode `local`. The first start creates it, with the characters of the bundled plugins.
///
/// # Errors
/// Returns an error if the store fails.
pub async fn find_or_create_owner(
    store: &Arc<Store>,
    clock: &dyn Clock,
    ids: &IdGenerator,
) -> Result<UserId, WriteError> {
    let known = store.read(|reader| reader.users()).await?;
    match known.into_iter().find(|user| user.role == "owner") {
        Some(owner) => Ok(owner.id),
        None => create_owner(store, clock, ids).await,
    }
}

async fn create_owner(store: &Arc<Store>, clock: &dyn Clock, ids: &IdGenerator) -> Result<UserId, WriteError> {
    let now = clock.now();
    let owner = UserAccount { id: UserId::new(ids.next_id(now)), name: "You".into(), role: "owner".into() };
    let new = |card| CharacterCard { id: CharacterId::new(ids.next_id(now)), card, created: now, updated: now };
    let characters: Vec<CharacterCard> = bundled_characters().into_iter().map(new).collect();
    let id = owner.id;
    store
        .write(move |tx| {
            tx.put_user(&owner, now)?;
            characters.iter().try_for_each(|character| tx.put_character(owner.id, character))
        })
        .await?;
    Ok(id)
}

/// Returns the characters in `characters/*.json` of the bundled plugins.
fn bundled_characters() -> Vec<Map<String, Value>> {
    let mut found = Vec::new();
    for id in assets::plugin_ids() {
        let is_character =
            |path: &str| path.starts_with("characters/") && Path::new(path).extension().is_some_and(|e| e == "json");
        for file in assets::plugin(id).filter(|file| is_character(file.path)) {
            match serde_json::from_slice(file.bytes) {
                Ok(card) => found.push(card),
                Err(error) => tracing::warn!(plugin = id, file = file.path, "a character was skipped: {error}"),
            }
        }
    }
    found
}

/// Returns 256 random bits from the system, in hex.
fn random_token() -> Result<String, StartError> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| StartError::System(error.to_string()))?;
    Ok(blake3::Hash::from_bytes(bytes).to_hex().to_string())
}

/// Returns the plugins that loaded without an error.
pub fn ready_plugins(catalogue: &Catalogue) -> impl Iterator<Item = &Arc<LoadedPlugin>> {
    catalogue.entries().filter_map(|entry| entry.state.as_ref().ok())
}
