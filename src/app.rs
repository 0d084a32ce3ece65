//! The whole program, built once and handed round.

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
use clotho_store::{self as store, CharacterCard, Store, StoreError, UserAccount, WriteError};

/// How long dropping the program waits for what still runs.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// So many cards and pictures are taken apart at the same time: each takes some hundred megabytes at worst.
const MAX_CARD_IMPORTS: usize = 2;

/// So many sessions are exported at the same time.
const MAX_EXPORTS: usize = 2;

/// Everything that a request may need.
pub struct App {
    /// Settings.
    pub config: Arc<Config>,
    /// Rows and history.
    pub store: Arc<Store>,
    /// The journey of a turn.
    pub turns: TurnEngine,
    /// Live events.
    pub live: Arc<LiveSessions>,
    /// The search index.
    pub search: Arc<Index>,
    /// Makes vectors of texts, where a model of embeddings is set.
    pub embedding: Option<Arc<BackgroundEmbedder>>,
    /// Takes what was destroyed off the disk.
    pub secure_erase: Arc<SecureEraser>,
    /// The plugins.
    pub catalogue: Arc<InstalledPlugins>,
    /// The models.
    pub models: Arc<ModelRegistry>,
    /// Model servers that are connected while the server runs.
    pub connections: ProviderConnections,
    /// What is done once a day.
    pub maintenance: Arc<Maintenance>,
    /// The page.
    pub assets: WebAssets,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Arc<IdGenerator>,
    /// Where files of sessions are handed in.
    pub import_queue: ImportQueue,
    /// Asks other servers for pictures.
    pub image_proxy: ImageProxy,
    /// Places for those who export.
    pub export_slots: Semaphore,
    /// Places for those who bring cards and pictures.
    pub card_import_slots: Semaphore,
    /// The one owner in mode `local`.
    pub owner: UserId,
    /// The devices of the house.
    pub devices: Devices,
    /// The token that writes of the owner at the machine carry; those of devices are made of it.
    pub csrf: String,
    runtime: Option<Runtime>,
}

/// Why the program does not start. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store cannot be opened.
    #[error("{0}")]
    Store(String),
    /// The search index cannot be used.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// A setting names what is not there.
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
    /// Builds everything: opens the store, loads plugins, ends what a crash left, begins to follow the log.
    ///
    /// # Errors
    /// The data directory is held by another server, cannot be written, or was written by a newer version; the message
    /// says so in a sentence for people.
    pub fn build(config: Config, clock: Arc<dyn Clock>, ids: Arc<IdGenerator>) -> Result<Self, StartError> {
        let config = Arc::new(config);
        let assets = load_assets(&config)?;
        let runtime =
            runtime::Builder::new_multi_thread().worker_threads(2).thread_name("turn").enable_all().build()?;
        let catalogue = Arc::new(load_installed(&config));
        catalogue.begin(runtime.handle());
        let models = Arc::new(ModelRegistry::new(&config, Arc::clone(&catalogue)));
        let OpenDatabase { store, published, connections, embedder } =
            open_database(&config, &models, &clock, &runtime)?;
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
        turns.keep();
        let newest = runtime.block_on(store.read(|reader| reader.newest_cursor()));
        let newest = newest.map_err(|error| explain_store_error(&config, &error))?;
        let hide_tags: Arc<[String]> = Arc::from(config.generation.hide_tags.as_slice());
        let upstream = IndexSource { id: owner.uuid(), newest, texts: log_follower::texts(&hide_tags) };
        let search = Arc::new(Index::open(&config.storage.search_path(), upstream, config.search.clone())?);
        turns.refresh_models();
        log_follower::follow(
            runtime.handle(),
            &store,
            &live,
            log_follower::IndexFeeder { index: Arc::clone(&search), hide_tags: Arc::clone(&hide_tags) },
            published,
        );
        let embedding = embedder.map(|embedder| {
            let background = Arc::new(BackgroundEmbedder::new(embedder, config.recall.clone(), Arc::clone(&hide_tags)));
            background.begin(runtime.handle(), &store);
            background
        });
        let wiping = Arc::new(SecureEraser::new(Arc::clone(&search)));
        wiping.begin(runtime.handle(), &store);
        let (storage, backups) = (&config.storage, config.storage.backups_path());
        let (database, keep) = (storage.database_path(), storage.backups);
        let night = Arc::new(Maintenance::new(database, backups, keep, Arc::clone(&search), Arc::clone(&clock)));
        night.begin(runtime.handle(), &store);
        let devices = load_devices(&runtime, &store, &config, owner)?;
        let limits = ArchiveLimits::of(config.limits.import_bytes);
        let desk = ImportQueue::open(Arc::clone(&store), Arc::clone(&clock), Arc::clone(&ids), limits)?;
        Ok(Self {
            image_proxy: ImageProxy::new(&config.pictures.allowed_hosts),
            config,
            store,
            turns,
            live,
            search,
            embedding,
            secure_erase: wiping,
            catalogue,
            models,
            connections,
            maintenance: night,
            assets,
            clock,
            ids,
            import_queue: desk,
            export_slots: Semaphore::new(MAX_EXPORTS),
            card_import_slots: Semaphore::new(MAX_CARD_IMPORTS),
            owner,
            devices,
            csrf: random_token()?,
            runtime: Some(runtime),
        })
    }

    /// Ends in order: running replies are stopped and committed with what they have, the index is made durable. Blocks, so
    /// it is not for asynchronous code.
    pub fn close(&self) {
        self.import_queue.close();
        if let Some(runtime) = &self.runtime {
            runtime.block_on(self.turns.stop());
        }
        if let Err(error) = self.search.close() {
            tracing::warn!("the search index was not closed well, it resumes at the next start: {error}");
        }
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        if Handle::try_current().is_ok() {
            // Asynchronous code may not wait; what runs is dropped a little later.
            runtime.shutdown_background();
        } else {
            // What runs holds the store, and the store holds the lock of the data directory: it is free when this returns.
            runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        }
    }
}

/// Refuses kinds of servers that nobody speaks, names that stand for no model, and a default model that can be none, before
/// anything is touched; the program's own default is nobody's mistake.
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

/// The model of embeddings. One that nobody can ask is a mistake in the settings.
fn build_embedder(models: &ModelRegistry, config: &Config) -> Result<Option<Embedder>, StartError> {
    match models.embedder(config) {
        Ok(embedder) => Ok(embedder),
        Err(message) => match config.refuse_embeddings(message.clone()) {
            Some(error) => Err(error.into()),
            None => Err(StartError::System(message)),
        },
    }
}

/// The devices that the owner has paired.
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

/// How the store is opened by these settings.
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

/// What the start has once the database is open.
struct OpenDatabase {
    store: Arc<Store>,
    published: mpsc::UnboundedReceiver<store::PublishedOperation>,
    connections: ProviderConnections,
    embedder: Option<Embedder>,
}

/// Opens the database and takes in what was connected while a server ran: settings may name that too, so those that seem wrong
/// are looked at again. A folder that has no database is not made for settings that cannot work.
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

/// A sentence for the one who starts the server.
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
                "the data directory {folder} cannot be written: see the owner and permissions of it and of {database}"
            )
        }
        StoreError::Quota => {
            format!("the database in {folder} has reached its quota: raise storage.max_database_mb and start again")
        }
        StoreError::Full => format!("the disk of the data directory {folder} is full: make room and start again"),
        StoreError::Newer(version) => {
            format!("the database in {folder} was written by a newer version (schema {version}): use that version")
        }
        other => format!("the data directory {folder} cannot be used: {other}"),
    })
}

/// The plugins as they are now.
pub fn catalogue(config: &Config) -> Arc<Catalogue> {
    load_installed(config).now()
}

/// Whether the program itself brings a plugin of that id.
pub fn is_bundled(id: &str) -> bool {
    assets::plugin_ids().any(|known| known == id)
}

/// The bundled plugins, and those of the folder in the settings; a broken one is listed with its error.
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
    let owner = settled(store, clock, ids).await?;
    transfer::discard(store).await?;
    let ended = turns.end_interrupted_replies().await?;
    if ended > 0 {
        tracing::warn!("{ended} replies were interrupted by the last stop; their partial texts are kept");
    }
    Ok(owner)
}

/// The one owner in mode `local`. The first start makes them, and the characters that bundled plugins bring.
///
/// # Errors
/// The store fails.
pub async fn settled(store: &Arc<Store>, clock: &dyn Clock, ids: &IdGenerator) -> Result<UserId, WriteError> {
    let known = store.read(|reader| reader.users()).await?;
    match known.into_iter().find(|user| user.role == "owner") {
        Some(owner) => Ok(owner.id),
        None => create_owner(store, clock, ids).await,
    }
}

async fn create_owner(store: &Arc<Store>, clock: &dyn Clock, ids: &IdGenerator) -> Result<UserId, WriteError> {
    let now = clock.now();
    let owner = UserAccount { id: UserId::new(ids.next(now)), name: "You".into(), role: "owner".into() };
    let new = |card| CharacterCard { id: CharacterId::new(ids.next(now)), card, created: now, updated: now };
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

/// The characters in `characters/*.json` of the bundled plugins.
fn bundled_characters() -> Vec<Map<String, Value>> {
    let mut found = Vec::new();
    for id in assets::plugin_ids() {
        let is_character =
            |path: &str| path.starts_with("characters/") && Path::new(path).extension().is_some_and(|e| e == "json");
        for file in assets::plugin(id).filter(|file| is_character(file.path)) {
            match serde_json::from_slice(file.bytes) {
                Ok(card) => found.push(card),
                Err(error) => tracing::warn!(plugin = id, file = file.path, "a character was left out: {error}"),
            }
        }
    }
    found
}

/// 256 bits of the system's randomness, in hex.
fn random_token() -> Result<String, StartError> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| StartError::System(error.to_string()))?;
    Ok(blake3::Hash::from_bytes(bytes).to_hex().to_string())
}

/// The plugins that are ready to run.
pub fn ready_plugins(catalogue: &Catalogue) -> impl Iterator<Item = &Arc<LoadedPlugin>> {
    catalogue.entries().filter_map(|entry| entry.state.as_ref().ok())
}
