//! The store: the only part that reads and writes the database. All rows and SQL are in this crate.
//!
//! - [`Store::write`] runs a synchronous closure on the single writer thread, which groups several writes into
//!   one commit. The closure cannot await, so no transaction can span an await. [`Store::read`] runs a closure
//!   on a snapshot, [`Store::read_inline`] does so for short reads.
//! - `conn.rs` is the only file with SQLite-specific code. `prepared.rs` caches prepared statements. `rows.rs`
//!   converts rows to domain types and reports damaged ones.
//! - `tree_writes.rs`: the writes to a session (one request, one operation). `effects.rs`: their effects on the
//!   overlay. `journal.rs`: the operation log.
//! - `arrange/`: edits of the arrangement. `undo.rs`: undo and redo.
//! - `worlds.rs`: the fold along a path. `path_worlds.rs`: the state of each node on a path.
//! - `page.rs`: one page of a path. `branches.rs`: the branches of a session. `compare.rs`: two branches side by
//!   side. `node_views.rs`: reads many nodes at once.
//! - `traces.rs`: how a reply was made. `usage.rs`: tokens and costs of replies.
//! - `library.rs`: users and cards. `lorebook_bindings.rs`: bindings of lorebooks to sessions and cards.
//!   `devices.rs`: paired devices. `connection_profiles.rs`: named sets of model settings. `persona_choices.rs`: the
//!   personas that new sessions get.
//! - `claims.rs`: idempotency keys of requests, committed together with the write.
//! - `upkeep/`: trash, backups, garbage collection and the doctor.
//! - `export.rs` writes a session as the lines of a file, `session_import.rs` reads one. `node_import.rs`
//!   imports messages of other formats, `sources.rs` records from which files.
//! - `documents.rs`: texts for prompts. `vectors.rs`: embeddings of texts. `summary_proposals.rs`: summaries
//!   that plugins propose. `summaries.rs`: summaries of runs of messages by models.
//! - `session_settings.rs`: settings of a session by name. `session_plugins.rs`: its plugins.
//!   `delta_revisions.rs`: new revisions of deltas.
//! - `session_list.rs`: the list of sessions, with filters, folders and tags. `session_tags.rs`: the tags of one.
//! - `destroy.rs` deletes nodes and log entries permanently. `pending_erasures.rs` marks that their bytes may
//!   still be in files. `row_numbers.rs` keeps row numbers from being reused.
//! - `branch_names.rs`: titles of sessions and names of branches. `descendants.rs`: the nodes below a node.
//! - `caches.rs`: what readers keep in memory. `writer_cache.rs`: what the writer keeps in memory.
//!
//! To add a table: a migration under `migrations/`, its columns in `tables.rs`, its row in `rows.rs`, its
//! methods in the file where they are used. Migrations only add; obsolete columns and tables are dropped one
//! release later.

mod ancestors;
pub mod archive;
mod arrange;
mod blobs;
mod branch_names;
mod branches;
mod caches;
mod card_versions;
mod claims;
mod compare;
mod compression;
mod conn;
mod connected_providers;
mod connection_profiles;
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
mod persona_choices;
mod prepared;
mod presets;
pub mod private_files;
mod read;
mod reader_pool;
mod recent_deltas;
mod replies;
mod row_numbers;
mod rows;
mod rules;
mod rules_changes;
mod script_consents;
mod session_import;
mod session_list;
mod session_plugins;
mod session_settings;
mod session_tags;
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
pub use card_versions::{CardVersion, CardVersionOrigin, CardVersionSummary, SessionCardVersion};
pub use claims::IdempotencyClaim;
pub use connected_providers::ConnectedProvider;
pub use connection_profiles::ConnectionProfile;
pub use delta_revisions::DeltaRevision;
pub use devices::PairedDevice;
pub use documents::StoredDocument;
pub use error::{StoreError, WriteError};
pub use export::{DatabaseSnapshot, SessionExportError};
pub use files::CardFile;
pub use jobs::JobRecord;
pub use library::{CharacterCard, LibraryItem, Lorebook, PersonaCard, SavedResponse, UserAccount};
pub use lore::PendingLorebook;
pub use lorebook_bindings::{BindingSet, BindingTarget, LorebookVersion};
pub use node_import::{ImportedNode, NodeImportCounts, NodeImportEnd};
pub use node_views::{NodeDetails, NodePosition, TreeOutlineNode};
pub use overlay::NodeStateUpdate;
pub use page::{NodePage, PathFilter};
pub use path_worlds::PathPoint;
pub use pending_erasures::PendingErasure;
pub use persona_choices::PersonaChoices;
pub use presets::{PresetBodies, PresetHead, StoredPreset};
pub use read::StoreReader;
pub use replies::{OrphanReply, ReplyCompletion};
pub use rules::{ActiveRules, PluginRecord, SharedRules};
pub use script_consents::{card_scripts, preset_scripts};
pub use session_import::{ImportConsent, IncomingSession};
pub use session_list::{SessionFilter, SessionGroup, SessionListChange, SessionOrder, SessionSortKey};
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
pub use usage::SessionUsageTotals;
pub use vectors::{EmbeddableText, EmbeddingBatch, EmbeddingProgress, VectorSearch};

/// Settings for opening a store.
#[derive(Debug, Clone)]
pub struct StoreSettings {
    /// The data directory; created if missing.
    pub data_dir: PathBuf,
    /// The database file. Default: `clotho.db` in the data directory.
    pub database: Option<PathBuf>,
    /// The number of nodes along a path between two keyframes.
    pub keyframe_every: u16,
    /// The number of reader threads.
    pub readers: usize,
    /// The maximum number of requests in one commit.
    pub group_max: usize,
    /// A quota: the maximum size of the database file in pages (4,096 bytes each by default).
    pub max_pages: Option<u32>,
}

impl StoreSettings {
    /// Returns the path of the database file.
    pub fn database_path(&self) -> PathBuf {
        self.database.clone().unwrap_or_else(|| self.data_dir.join("clotho.db"))
    }
}

/// An open store.
pub struct Store {
    writer: writer::StoreWriter,
    readers: reader_pool::ReaderPool,
    caches: Arc<caches::Caches>,
    database: PathBuf,
    /// Held during garbage collection of blobs.
    gc_lock: tokio::sync::Mutex<()>,
    // Held for the lifetime of the store; dropping it releases the locks.
    _locks: [File; 2],
}

impl Store {
    /// Opens the store exclusively, and creates or migrates the database. The receiver gets every durable
    /// operation in log order.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be written, another server holds the lock, or the database is newer
    /// than this program.
    pub fn open(settings: &StoreSettings) -> Result<(Self, mpsc::UnboundedReceiver<PublishedOperation>), StoreError> {
        let path = settings.database_path();
        // The database has its own lock, because two data directories may name the same database.
        let locks = [lock_folder(&settings.data_dir)?, lock_database(&path)?];
        let disk = DiskProbe { database: path.clone(), has_quota: settings.max_pages.is_some() };
        let mut writing = conn::open_writer(&path, settings.max_pages).map_err(|error| disk.classify_error(error))?;
        session_list::fill_title_forms(&mut writing).map_err(|error| disk.classify_error(error))?;
        let caches = Arc::new(caches::Caches::default());
        let context =
            tx::TxContext { caches: Arc::clone(&caches), keyframe_every: i32::from(settings.keyframe_every.max(1)) };
        let (published, operations) = mpsc::unbounded_channel();
        let readers = reader_pool::ReaderPool::start(&path, settings.readers, &caches)?;
        let writer = writer::StoreWriter::start(writing, context, settings.group_max.max(1), disk, published)?;
        let sweeping = tokio::sync::Mutex::new(());
        Ok((Self { writer, readers, caches, database: path, gc_lock: sweeping, _locks: locks }, operations))
    }

    /// Runs a write and waits until it is durable. The closure may run twice, so it must not consume its
    /// captures.
    ///
    /// # Errors
    /// Returns the closure's error or an error of the database. In both cases nothing was written.
    pub async fn write<T, F>(&self, closure: F) -> Result<T, WriteError>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<T, WriteError> + Send + 'static,
    {
        self.writer.write(closure).await
    }

    /// Runs a read on one snapshot, on a reader thread. A long read does not block other callers.
    ///
    /// # Errors
    /// Returns the closure's error, or an error of the database.
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

    /// Runs a short read (a few hundred rows at most) on one snapshot, on the caller's thread while few others
    /// read. This blocks the thread for less time than handing the read to another thread would cost.
    ///
    /// # Errors
    /// Returns the closure's error, or an error of the database.
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

    /// Sends the writer the keyframes that reads found missing, so that it cuts them again.
    fn post_keyframe_repairs(&self) {
        let cuts = self.caches.take_keyframe_repairs();
        if !cuts.is_empty() {
            self.writer.post(move |tx| tx.cut_requested_keyframes(&cuts));
        }
    }

    /// Returns the number of deltas folded since the start. Tests use it to prove that reads are bounded.
    pub fn deltas_folded(&self) -> u64 {
        self.caches.fold_count()
    }

    /// Returns the number of commits since the start. Tests use it to prove that requests share commits.
    pub fn commits(&self) -> u64 {
        self.caches.commits()
    }

    /// Clears the cached worlds; results of reads stay the same.
    pub fn forget_worlds(&self) {
        self.caches.forget_worlds();
    }
}

/// Checks the disk under a database to tell its failures apart. SQLite reports a quota and a full disk with the
/// same message. If there is no space for its auxiliary files, it only reports an I/O error.
#[derive(Debug, Clone)]
struct DiskProbe {
    database: PathBuf,
    has_quota: bool,
}

impl DiskProbe {
    /// A disk with less free space than this counts as full.
    const MIN_FREE_BYTES: usize = 1 << 20;

    /// Returns the actual cause of a database failure.
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
        // Any other error does not mean that the disk is full.
        !written.is_err_and(|error| matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
    }
}

/// Creates the data directory and takes its lock, which excludes a second server.
fn lock_folder(folder: &Path) -> Result<File, StoreError> {
    private_files::create_folder(folder).map_err(|error| unusable(folder, &error))?;
    lock_file(&folder.join("lock"))
}

fn lock_file(path: &Path) -> Result<File, StoreError> {
    let failed = |error: std::io::Error| unusable(path, &error);
    private_files::create_file(path).map_err(failed)?;
    let file = File::options().write(true).open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Takes the lock of a database, which excludes others from any data directory.
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
