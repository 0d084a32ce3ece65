//! Imports a session file: checks it as a whole, then writes it batch by batch.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clotho_core::clock::{IdGenerator, Time};
use clotho_core::ids::{JobId, NodeId, SessionId, UserId};
use clotho_core::tree::edit::TreeError;
use clotho_store::archive::{ArchiveError, ArchiveLimits, ArchiveLine, ArchiveReader};
use clotho_store::{ImportConsent, IncomingSession, Store, StoreError, Tx, WriteError};

use super::archive_budget::ArchiveBudgetError;
use super::check::{ImportCheck, StashAndLabels, check};
use super::consent::withhold_in_log;
use super::file_container::SourceFile;
use super::id_map::ImportIdMap;

/// A transaction writes at most this many lines, or lines of about this many bytes.
pub(super) const BATCH: usize = 128;
pub(super) const BATCH_BYTES: usize = 512 << 10;

/// The progress of an import, in bytes. The file is read twice, so the total is twice its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportProgress {
    pub done: u64,
    pub total: u64,
}

/// A callback that gets the progress and stops the import by returning `false`. It is a trait object, because a type
/// parameter would compile the whole import once per caller.
pub(super) type ProgressListener<'a> = &'a mut (dyn FnMut(ImportProgress) -> bool + Send);

/// Why an import failed. A failed import of a session file keeps nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ImportError {
    /// The file is invalid.
    #[error(transparent)]
    Fault(#[from] ArchiveError),
    /// The store rejected a write.
    #[error(transparent)]
    Refused(#[from] TreeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file is of no known kind.
    #[error("nothing to import was found: {0}")]
    Unknown(String),
    #[error("the file cannot be read: {0}")]
    Read(String),
    /// The export index (`clotho.json`) cannot be read. Without it, stories that begin alike would be merged.
    #[error("clotho.json, which groups chats into sessions, cannot be read: {0}")]
    BadList(String),
    /// The archives of the import are too large together. What was imported before stays.
    #[error("the import stopped: {0}")]
    TooLarge(#[from] ArchiveBudgetError),
    /// The server is shutting down, or the listener stopped the import.
    #[error("the server stopped before the import ended")]
    Stopped,
    /// The user cancelled it.
    #[error("the import was cancelled")]
    Cancelled,
}

/// A hint for users whose export index cannot be read.
pub const REPAIR_LIST_HINT: &str = "correct it, or remove it from the folder to import the chats as plain files";

impl From<WriteError> for ImportError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Refused(refusal) => Self::Refused(refusal),
            WriteError::Failed(error) => Self::Store(error),
        }
    }
}

impl From<io::Error> for ImportError {
    fn from(error: io::Error) -> Self {
        Self::Read(error.to_string())
    }
}

/// Who gets an imported session, under which title, and the job that reports on it.
#[derive(Debug, Clone)]
pub struct SessionImportOptions {
    pub owner: UserId,
    /// The job to complete in the same transaction, if any.
    pub job: Option<JobId>,
    /// The title; default is the one in the file.
    pub title: Option<String>,
    /// Whether the owner trusts the file. Otherwise settings that may cost money, grant permissions or run scripts wait
    /// for an answer.
    pub is_trusted: bool,
}

/// Imports a session for its new owner. `report_progress` is called with the progress; the import stops if it returns
/// `false`.
///
/// # Errors
/// Returns an error if the file is invalid, the store fails, or the import was stopped. Nothing is kept then.
pub async fn import(
    store: &Store,
    file: &mut File,
    arrival: SessionImportOptions,
    ids: &IdGenerator,
    at: Time,
    limits: ArchiveLimits,
    mut report_progress: impl FnMut(ImportProgress) -> bool + Send,
) -> Result<SessionId, ImportError> {
    import_from(store, &SourceFile::from_file(file.try_clone()?, "")?, arrival, ids, at, limits, &mut report_progress)
        .await
}

/// Like [`import`], from any kind of source file.
pub(super) async fn import_from(
    store: &Store,
    place: &SourceFile,
    arrival: SessionImportOptions,
    ids: &IdGenerator,
    at: Time,
    limits: ArchiveLimits,
    report_progress: ProgressListener<'_>,
) -> Result<SessionId, ImportError> {
    let mut pass = ImportPasses::new(place, report_progress);
    let checked = check(&mut ArchiveReader::begin(pass.input()?, limits)?, || pass.report_progress())?;
    let names = import_ids(store, &checked, arrival.owner, ids, at).await?;
    let mut lines = ArchiveReader::begin(pass.input()?, limits)?;
    match write_lines(store, &mut lines, &checked, &names, arrival, at, || pass.report_progress()).await {
        Ok(session) => Ok(session),
        Err(error) => {
            discard(store).await?;
            Err(error)
        }
    }
}

/// Deletes sessions whose import did not complete, and publishes the log entries of those that did. It is called
/// after a crash and after every failure.
///
/// # Errors
/// Returns an error if the store fails.
pub async fn discard(store: &Store) -> Result<(), StoreError> {
    let failed = |error| match error {
        WriteError::Failed(error) => error,
        WriteError::Refused(refusal) => StoreError::Database(refusal.to_string()),
    };
    while store.write(|tx| tx.discard_imports()).await.map_err(failed)? {}
    while store.write(|tx| tx.publish_imported()).await.map_err(failed)? {}
    Ok(())
}

/// Keeps the ids of the file if none of them is taken; otherwise makes new ones for all.
async fn import_ids(
    store: &Store,
    checked: &ImportCheck,
    owner: UserId,
    ids: &IdGenerator,
    at: Time,
) -> Result<ImportIdMap, ImportError> {
    let session = checked.session.id;
    for some in checked.nodes.chunks(BATCH) {
        let some = some.to_vec();
        if store.read(move |reader| reader.is_id_taken(session, &some)).await? {
            return Ok(ImportIdMap::copying(checked, owner, || ids.next_id(at)));
        }
    }
    Ok(ImportIdMap::keeping(&checked.session, owner))
}

async fn write_lines<R: Read>(
    store: &Store,
    lines: &mut ArchiveReader<R>,
    checked: &ImportCheck,
    names: &ImportIdMap,
    arrival: SessionImportOptions,
    at: Time,
    mut tell: impl FnMut() -> Result<(), ImportError>,
) -> Result<SessionId, ImportError> {
    let SessionImportOptions { owner, job, title, is_trusted } = arrival;
    let consent = match is_trusted {
        true => ImportConsent::Given,
        false => ImportConsent::Withheld { has_scripts: checked.has_scripts },
    };
    let mut session = names.session(checked.session.clone());
    session.title = title.unwrap_or(session.title);
    let session = Arc::new(session);
    let line = Arc::clone(&session);
    // Write the lines in batches.
    let incoming = store.write(move |tx| tx.begin_import(owner, &line, consent)).await?;
    let mut piece = Vec::with_capacity(BATCH);
    let mut remembered: Vec<(NodeId, NodeId)> = Vec::new();
    let mut written = 0;
    while let Some(line) = lines.next_line()? {
        let unreadable = |error| lines.error(format!("JSON that cannot be read: {error}"));
        let line = names.line(line).map_err(unreadable)?;
        if matches!(line, ArchiveLine::Source(_)) && names.is_copy() {
            continue;
        }
        let line = if is_trusted { line } else { withhold_in_log(line).map_err(unreadable)? };
        if let ArchiveLine::Node(node) = &line {
            remembered.extend(node.remembered.map(|child| (node.id, child)));
        }
        // A blob must be in the same batch as the first line that refers to it.
        let is_end = !matches!(line, ArchiveLine::Blob(_));
        piece.push(line);
        if is_end && (piece.len() >= BATCH || lines.bytes() - written >= BATCH_BYTES as u64) {
            write_batch(store, incoming, std::mem::take(&mut piece)).await?;
            written = lines.bytes();
            tell()?;
        }
    }
    write_batch(store, incoming, piece).await?;
    // Remembered children, stash and labels refer to nodes, so they come last.
    for some in remembered.chunks(BATCH) {
        let some = some.to_vec();
        store.write(move |tx| tx.import_remembered(incoming, &some)).await?;
        tell()?;
    }
    put_stash_and_labels(store, incoming, names.stash_and_labels(&checked.stash_and_labels)).await?;
    let (line, counts) = (Arc::clone(&session), checked.counts);
    let finish = move |tx: &mut Tx<'_>| {
        tx.finish_import(incoming, owner, &line, counts, consent, at)?;
        job.map_or(Ok(()), |job| tx.end_job(job, line.id))
    };
    store.write(finish).await?;
    // From here on the session exists. If the server crashes, the rest is published after the restart.
    while store.write(|tx| tx.publish_imported()).await? {}
    Ok(session.id)
}

/// Writes the stash and the labels, whose nodes exist now.
async fn put_stash_and_labels(
    store: &Store,
    incoming: IncomingSession,
    beside: StashAndLabels,
) -> Result<(), ImportError> {
    for some in beside.stash.chunks(BATCH) {
        let some = some.to_vec();
        store.write(move |tx| tx.import_stash(incoming, &some)).await?;
    }
    for some in beside.stashed_nodes.chunks(BATCH) {
        let some = some.to_vec();
        store.write(move |tx| tx.import_stashed(incoming, &some)).await?;
    }
    for some in beside.labels.chunks(BATCH) {
        let some = some.to_vec();
        store.write(move |tx| tx.import_labels(incoming, &some)).await?;
    }
    Ok(())
}

async fn write_batch(store: &Store, incoming: IncomingSession, piece: Vec<ArchiveLine>) -> Result<(), ImportError> {
    Ok(store.write(move |tx| tx.import_lines(incoming, &piece)).await?)
}

/// The two readings of a file, with their progress.
struct ImportPasses<'a> {
    place: &'a SourceFile,
    read: Arc<AtomicU64>,
    total: u64,
    listener: ProgressListener<'a>,
}

impl<'a> ImportPasses<'a> {
    fn new(place: &'a SourceFile, listener: ProgressListener<'a>) -> Self {
        Self { place, read: Arc::default(), total: place.bytes.saturating_mul(2), listener }
    }

    fn input(&self) -> io::Result<ImportFileReader> {
        Ok(ImportFileReader { file: self.place.open()?, read: Arc::clone(&self.read) })
    }

    fn report_progress(&mut self) -> Result<(), ImportError> {
        let done = self.read.load(Ordering::Relaxed).min(self.total);
        let goes_on = (self.listener)(ImportProgress { done, total: self.total });
        if goes_on { Ok(()) } else { Err(ImportError::Stopped) }
    }
}

/// A reader that counts the bytes read.
struct ImportFileReader {
    file: Box<dyn Read>,
    read: Arc<AtomicU64>,
}

impl Read for ImportFileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read.fetch_add(u64::try_from(read).unwrap_or(u64::MAX), Ordering::Relaxed);
        Ok(read)
    }
}
