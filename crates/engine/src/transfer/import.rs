//! A file into the store: looked at as a whole, then written piece by piece.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clotho_core::clock::{IdGenerator, Time};
use clotho_core::ids::{JobId, NodeId, SessionId, UserId};
use clotho_core::tree::edit::TreeError;
use clotho_store::archive::{ArchiveError, ArchiveLimits, ArchiveLine, ArchiveReader};
use clotho_store::{IncomingSession, Store, StoreError, Tx, WriteError};

use super::check::{ImportCheck, StashAndLabels, check};
use super::file_container::SourceFile;
use super::id_map::ImportIdMap;

/// So many lines are written in one transaction, or as many as have these bytes.
pub(super) const BATCH: usize = 128;
pub(super) const BATCH_BYTES: usize = 512 << 10;

/// How far an import is: bytes of the file, which is read twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportProgress {
    /// Done.
    pub done: u64,
    /// In all.
    pub total: u64,
}

/// Who hears how far an import is, and ends it by answering `false`. One kind for all: each other one would make the code of a
/// whole import once more.
pub(super) type ProgressListener<'a> = &'a mut (dyn FnMut(ImportProgress) -> bool + Send);

/// Why a file did not come in. Nothing of it was kept.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ImportError {
    /// Something is wrong with the file.
    #[error(transparent)]
    Fault(#[from] ArchiveError),
    /// The store refuses.
    #[error(transparent)]
    Refused(#[from] TreeError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It is nothing that this program knows.
    #[error("nothing to import was found: {0}")]
    Unknown(String),
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    Read(String),
    /// The list of what went out (`clotho.json`) cannot be read, and without it stories that begin alike would become one.
    #[error("clotho.json, which says which chats are one story, cannot be read: {0}")]
    BadList(String),
    /// The program ends.
    #[error("the server stopped before the file was in")]
    Stopped,
    /// Whoever sent it does not want it any more.
    #[error("it was cancelled")]
    Cancelled,
}

/// What helps where the list of what went out cannot be read.
pub const REPAIR_LIST_HINT: &str = "mend it, or take it out of the folder to have the chats taken as plain files";

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

/// Whose session it will be, how it is called, and the job that tells of it, if anybody asks.
#[derive(Debug, Clone)]
pub struct SessionImportOptions {
    /// The owner.
    pub owner: UserId,
    /// The job.
    pub job: Option<JobId>,
    /// The title; as the file has it unless said.
    pub title: Option<String>,
}

/// Takes a session in for its new owner. `told` hears how far it is, and ends it by answering `false`.
///
/// # Errors
/// The file is not whole and sound, the store fails, or it was ended; then nothing is kept.
pub async fn import(
    store: &Store,
    file: &mut File,
    arrival: SessionImportOptions,
    ids: &IdGenerator,
    at: Time,
    limits: ArchiveLimits,
    mut told: impl FnMut(ImportProgress) -> bool + Send,
) -> Result<SessionId, ImportError> {
    import_from(store, &SourceFile::from_file(file.try_clone()?, "")?, arrival, ids, at, limits, &mut told).await
}

/// The same from wherever the file lies.
pub(super) async fn import_from(
    store: &Store,
    place: &SourceFile,
    arrival: SessionImportOptions,
    ids: &IdGenerator,
    at: Time,
    limits: ArchiveLimits,
    told: ProgressListener<'_>,
) -> Result<SessionId, ImportError> {
    let mut pass = ImportPasses::new(place, told);
    let checked = check(&mut ArchiveReader::begin(pass.input()?, limits)?, || pass.report_progress())?;
    let names = import_ids(store, &checked, arrival.owner, ids, at).await?;
    let mut lines = ArchiveReader::begin(pass.input()?, limits)?;
    match write_lines(store, &mut lines, &checked, &names, (arrival, at), || pass.report_progress()).await {
        Ok(session) => Ok(session),
        Err(error) => {
            discard(store).await?;
            Err(error)
        }
    }
}

/// Takes away what came in and never became whole, and tells the followers of the log what they have not heard: after a
/// crash, and after every failure.
///
/// # Errors
/// The store fails.
pub async fn discard(store: &Store) -> Result<(), StoreError> {
    let failed = |error| match error {
        WriteError::Failed(error) => error,
        WriteError::Refused(refusal) => StoreError::Database(refusal.to_string()),
    };
    while store.write(|tx| tx.discard_imports()).await.map_err(failed)? {}
    while store.write(|tx| tx.publish_imported()).await.map_err(failed)? {}
    Ok(())
}

/// The ids of a file where nobody has them, new ones otherwise.
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
            return Ok(ImportIdMap::copying(checked, owner, || ids.next(at)));
        }
    }
    Ok(ImportIdMap::keeping(&checked.session, owner))
}

async fn write_lines<R: Read>(
    store: &Store,
    lines: &mut ArchiveReader<R>,
    checked: &ImportCheck,
    names: &ImportIdMap,
    (arrival, at): (SessionImportOptions, Time),
    mut tell: impl FnMut() -> Result<(), ImportError>,
) -> Result<SessionId, ImportError> {
    let SessionImportOptions { owner, job, title } = arrival;
    let mut session = names.session(checked.session.clone());
    session.title = title.unwrap_or(session.title);
    let session = Arc::new(session);
    let line = Arc::clone(&session);
    let incoming = store.write(move |tx| tx.begin_import(owner, &line)).await?;
    let mut piece = Vec::with_capacity(BATCH);
    let mut remembered: Vec<(NodeId, NodeId)> = Vec::new();
    let mut written = 0;
    while let Some(line) = lines.next_line()? {
        let line = names.line(line).map_err(|error| lines.error(format!("JSON that cannot be read: {error}")))?;
        if matches!(line, ArchiveLine::Source(_)) && names.is_copy() {
            continue;
        }
        if let ArchiveLine::Node(node) = &line {
            remembered.extend(node.remembered.map(|child| (node.id, child)));
        }
        // A blob is written together with the first line that names it.
        let is_end = !matches!(line, ArchiveLine::Blob(_));
        piece.push(line);
        if is_end && (piece.len() >= BATCH || lines.bytes() - written >= BATCH_BYTES as u64) {
            write_batch(store, incoming, std::mem::take(&mut piece)).await?;
            written = lines.bytes();
            tell()?;
        }
    }
    write_batch(store, incoming, piece).await?;
    for some in remembered.chunks(BATCH) {
        let some = some.to_vec();
        store.write(move |tx| tx.import_remembered(incoming, &some)).await?;
        tell()?;
    }
    put_stash_and_labels(store, incoming, names.stash_and_labels(&checked.stash_and_labels)).await?;
    let (line, counts) = (Arc::clone(&session), checked.counts);
    let finish = move |tx: &mut Tx<'_>| {
        tx.finish_import(incoming, owner, &line, counts, at)?;
        job.map_or(Ok(()), |job| tx.end_job(job, line.id))
    };
    store.write(finish).await?;
    // From here on it is there, whatever happens; what is left to tell is told after a crash, too.
    while store.write(|tx| tx.publish_imported()).await? {}
    Ok(session.id)
}

/// The stash and the labels: their nodes are there now.
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
    Ok(store.write(move |tx| tx.import(incoming, &piece)).await?)
}

/// The two readings of a file, and how far they are.
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

/// A file that counts what is read of it.
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
