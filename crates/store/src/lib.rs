//! The store: the only owner of history and world. Rows and SQL live here and nowhere else.
//!
//! - [`Store::write`] runs a synchronous closure on the one writer thread, which commits in groups; no transaction spans an
//!   await, so that mistake cannot be written. [`Store::read`] runs one on a snapshot, [`Store::read_inline`] one that is short.
//! - `conn.rs` is the one room that knows the dialect; `prepared.rs` has statements that are prepared once and kept;
//!   `rows.rs` turns rows into the domain and names what is damaged.
//! - `tree_writes.rs` has the acts on a session (one request, one operation), `effects.rs` their effects on the overlay, `journal.rs`
//!   the log that they are entered in,
//!   `arrange/` the edits of its arrangement, `undo.rs` takes back and brings back, `worlds.rs` the fold along a path,
//!   `path_worlds.rs` the world of each node on it, `page.rs` a page of it, `branches.rs` where the paths end, `compare.rs` two of
//!   them side by side, `node_views.rs` the reading of many nodes at once, `traces.rs`
//!   why a reply exists, `usage.rs` what replies took, `library.rs` users and cards, `claims.rs` keys of requests on their way to the write that acts.
//!   `upkeep/` has the trash and everything else that protects from loss. `export.rs` tells a session as the lines of a file,
//!   `session_import.rs` takes one in. `node_import.rs` takes in messages that were written elsewhere, `sources.rs` knows from which files;
//!   `documents.rs` has texts that are kept for prompts, `vectors.rs` what embeddings made of texts, `summary_proposals.rs` keeps summaries that plugins propose, `summaries.rs` what
//!   models made of runs of messages.
//!   `session_settings.rs` has the settings of a session by name, `session_plugins.rs` its plugins with what begins by them, `delta_revisions.rs` deltas made anew.
//!   `destroy.rs` is where nodes and entries of the log go for good, `pending_erasures.rs` marks that their bytes may still lie in files,
//!   `row_numbers.rs` has the numbers that are never given again, `branch_names.rs` what people call stories and branches, `descendants.rs`
//!   what hangs below a node.
//!   `devices.rs` has the devices that may come in.
//!   `lorebook_bindings.rs` says for what lorebooks hold.
//!   `caches.rs` is what readers keep in memory, `writer_cache.rs` what the writer does.
//!
//! To add a table: a migration under `migrations/`, its columns in `tables.rs`, its row in `rows.rs`, its methods beside
//! those it is used with. Migrations only ever add; what is old is dropped one release later.

mod ancestors;
pub mod archive;
mod arrange;
mod blobs;
mod branch_names;
mod branches;
mod caches;
mod claims;
mod compare;
mod compression;
mod conn;
mod connected_providers;
mod delta_revisions;
mod descendants;
mod destroy;
mod devices;
mod documents;
mod effects;
mod error;
mod export;
mod files;
mod jobs;
mod journal;
mod library;
mod lore;
mod lorebook_bindings;
mod node_import;
mod node_views;
mod overlay;
mod page;
mod path_worlds;
mod pending_erasures;
mod prepared;
mod presets;
mod read;
mod reader_pool;
mod recent_deltas;
mod replies;
mod row_numbers;
mod rows;
mod rules;
mod rules_changes;
mod session_import;
mod session_plugins;
mod session_settings;
mod sources;
mod stored;
mod summaries;
mod summary_proposals;
mod tables;
mod traces;
mod tree_writes;
mod tx;
mod undo;
mod unread;
mod upkeep;
mod usage;
mod vectors;
mod worlds;
mod writer;
mod writer_cache;

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;

pub use arrange::{ArrangeResult, CopyRefusal, Label, MAX_REFUSALS, NodeWorldDiff, StashFragment};
pub use branches::SessionBranch;
pub use claims::IdempotencyClaim;
pub use connected_providers::ConnectedProvider;
pub use delta_revisions::DeltaRevision;
pub use devices::PairedDevice;
pub use documents::StoredDocument;
pub use error::{StoreError, WriteError};
pub use export::{DatabaseSnapshot, SessionExportError};
pub use files::CardFile;
pub use jobs::JobRecord;
pub use library::{CharacterCard, LibraryItem, Lorebook, PersonaCard, SavedResponse, UserAccount};
pub use lore::PendingLorebook;
pub use lorebook_bindings::{BindingSet, BindingTarget, LorebookVersion as HeldBook};
pub use node_import::{ImportedNode, NodeImportCounts, NodeImportEnd};
pub use node_views::{NodeDetails, NodePosition, TreeOutlineNode};
pub use overlay::NodeStateUpdate;
pub use page::{NodePage, PathFilter};
pub use path_worlds::PathPoint;
pub use pending_erasures::PendingErasure;
pub use presets::{PresetBodies, PresetHead, StoredPreset};
pub use read::StoreReader;
pub use replies::{OrphanReply, ReplyCompletion};
pub use rules::{ActiveRules, PluginRecord, SharedRules};
pub use session_import::IncomingSession;
pub use session_plugins::RulesStart;
pub use session_settings::{apply_settings, exported_settings};
pub use sources::{SessionPresence, SourceRecord};
pub use stored::{NodeCounts, StoredNode, StoredSession};
pub use summaries::{NewSummary, StoredSummary, SummarySources, hash_of_rows};
pub use summary_proposals::ProposedSummary;
pub use traces::{MissingNode, Trace, TraceOutline};
pub use tree_writes::{Actor, ExpectedVersion, MessageReceipt, MessageWrite};
pub use tx::{NodeDraft, PublishedOperation, Tx};
pub use undo::UndoResult;
pub use upkeep::{GcReport, TRASH_RETENTION_MS, TrashEntry, TrashEntryKind};
pub use upkeep::{backups, doctor, statistics};
pub use usage::{SessionUsageTotals, VALUES_KEY};
pub use vectors::{EmbeddableText, EmbeddingBatch, EmbeddingProgress, VectorSearch};

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct StoreSettings {
    /// The folder that holds everything; made if it is not there.
    pub data_dir: PathBuf,
    /// The database file; inside the data directory unless named.
    pub database: Option<PathBuf>,
    /// A keyframe is cut after so many nodes along a path.
    pub keyframe_every: u16,
    /// Reader threads.
    pub readers: usize,
    /// The most requests that share one commit.
    pub group_max: usize,
    /// A quota: the database file grows to so many pages (of 4 096 bytes unless it was made otherwise) and no further.
    pub max_pages: Option<u32>,
}

impl StoreSettings {
    /// The database file.
    pub fn database_path(&self) -> PathBuf {
        self.database.clone().unwrap_or_else(|| self.data_dir.join("clotho.db"))
    }
}

/// The open store.
pub struct Store {
    writer: writer::StoreWriter,
    readers: reader_pool::ReaderPool,
    caches: Arc<caches::Caches>,
    database: PathBuf,
    /// Held by whoever sweeps blobs.
    gc_lock: tokio::sync::Mutex<()>,
    // Held as long as the store lives: the locks go with them.
    _locks: [File; 2],
}

impl Store {
    /// Opens the store, alone: creates and migrates what is not there. The receiver hears of every durable operation, in
    /// the order of the log.
    ///
    /// # Errors
    /// The folder cannot be made or written, another server holds it, or the database is newer than this program.
    pub fn open(settings: &StoreSettings) -> Result<(Self, mpsc::UnboundedReceiver<PublishedOperation>), StoreError> {
        let path = settings.database_path();
        // The database has a lock of its own: two data directories may name one database.
        let locks = [lock_folder(&settings.data_dir)?, lock_database(&path)?];
        let disk = DiskProbe { database: path.clone(), has_quota: settings.max_pages.is_some() };
        let writing = conn::open_writer(&path, settings.max_pages).map_err(|error| disk.classify_error(error))?;
        let caches = Arc::new(caches::Caches::default());
        let context =
            tx::TxContext { caches: Arc::clone(&caches), keyframe_every: i32::from(settings.keyframe_every.max(1)) };
        let (published, operations) = mpsc::unbounded_channel();
        let readers = reader_pool::ReaderPool::start(&path, settings.readers, &caches)?;
        let writer = writer::StoreWriter::start(writing, context, settings.group_max.max(1), disk, published)?;
        let sweeping = tokio::sync::Mutex::new(());
        Ok((Self { writer, readers, caches, database: path, gc_lock: sweeping, _locks: locks }, operations))
    }

    /// Runs a write and waits until it is durable. The closure may run twice, so it must not use anything up.
    ///
    /// # Errors
    /// The closure's refusal, or the database's failure; either way nothing of it was kept.
    pub async fn write<T, F>(&self, closure: F) -> Result<T, WriteError>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<T, WriteError> + Send + 'static,
    {
        self.writer.write(closure).await
    }

    /// Runs a read on one snapshot, on a thread of the store: however long it takes, it keeps nobody else.
    ///
    /// # Errors
    /// The closure's own error, or the database's.
    pub async fn read<T, E, F>(&self, closure: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&mut StoreReader<'_>) -> Result<T, E> + Send + 'static,
    {
        let result = self.readers.read(closure).await;
        self.post_keyframe_repairs();
        result
    }

    /// Runs a read of some rows, a few hundred at most, on one snapshot: right here while few others read. Whoever calls it
    /// keeps the thread for less time than it would take to wake another and to be woken by it.
    ///
    /// # Errors
    /// The closure's own error, or the database's.
    pub async fn read_inline<T, E, F>(&self, closure: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&mut StoreReader<'_>) -> Result<T, E> + Send + 'static,
    {
        let result = self.readers.read_inline(closure).await;
        self.post_keyframe_repairs();
        result
    }

    /// Has keyframes cut again that reads found missing.
    fn post_keyframe_repairs(&self) {
        let cuts = self.caches.take_keyframe_repairs();
        if !cuts.is_empty() {
            self.writer.post(move |tx| tx.cut_requested_keyframes(&cuts));
        }
    }

    /// How many deltas have been folded since the start: the proof that reads are bounded.
    pub fn deltas_folded(&self) -> u64 {
        self.caches.fold_count()
    }

    /// How many groups of writes have been committed since the start: the proof that requests share commits.
    pub fn commits(&self) -> u64 {
        self.caches.commits()
    }

    /// Forgets the worlds kept in memory; answers stay the same.
    pub fn forget_worlds(&self) {
        self.caches.forget_worlds();
    }
}

/// The disk under a database, which tells its failures apart: a quota and a full disk have the same words, and where there is
/// no room for what stands beside the database, it only speaks of a fault.
#[derive(Debug, Clone)]
struct DiskProbe {
    database: PathBuf,
    has_quota: bool,
}

impl DiskProbe {
    /// A disk without so many bytes is full.
    const MIN_FREE_BYTES: usize = 1 << 20;

    /// What a failure of the database was.
    fn classify_error(&self, error: StoreError) -> StoreError {
        let is_fault = |message: &str| message.contains("disk I/O error") || message.contains("unable to open");
        match error {
            StoreError::Full if self.has_quota && self.has_room() => StoreError::Quota,
            StoreError::Open(message) | StoreError::Database(message) if is_fault(&message) && !self.has_room() => {
                StoreError::Full
            }
            error => error,
        }
    }

    fn has_room(&self) -> bool {
        let mut name = self.database.as_os_str().to_owned();
        name.push(".room");
        let written = fs::write(&name, vec![0; Self::MIN_FREE_BYTES]);
        let _ = fs::remove_file(&name);
        // Whatever else is wrong there, it is not for want of room.
        !written.is_err_and(|error| matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
    }
}

/// Makes the data directory and takes the lock that keeps a second server off it.
fn lock_folder(folder: &Path) -> Result<File, StoreError> {
    fs::create_dir_all(folder).map_err(|error| unusable(folder, &error))?;
    lock_file(&folder.join("lock"))
}

fn lock_file(path: &Path) -> Result<File, StoreError> {
    let failed = |error: std::io::Error| unusable(path, &error);
    let file = File::options().create(true).truncate(false).write(true).open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Takes the lock that keeps others off a database, whatever folder they name it from.
fn lock_database(database: &Path) -> Result<File, StoreError> {
    let mut name = database.as_os_str().to_owned();
    name.push(".lock");
    lock_file(Path::new(&name))
}

fn unusable(path: &Path, error: &std::io::Error) -> StoreError {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::Full,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly,
        _ => StoreError::Open(format!("{}: {error}", path.display())),
    }
}
