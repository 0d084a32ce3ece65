//! Opening, checking and discarding an index. Only files that tantivy or this module created are ever removed, and only
//! directly in the index folder.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::{fs, io};

use tantivy::directory::MmapDirectory;
use tantivy::{IndexReader, ReloadPolicy, TantivyError};

use super::schema::{FIELDS, FORMAT};
use super::{IndexSource, SearchError, analyzer};

/// Marker file of a clean shutdown. Without it every file is checked.
const CLEAN: &str = "clean";

/// The folder of an index.
#[derive(Debug, Clone)]
pub(super) struct IndexFolder(pub PathBuf);

/// An open index.
pub(super) struct OpenIndex {
    pub index: tantivy::Index,
    pub reader: IndexReader,
    /// The cursor of the last commit; 0 if the index is new.
    pub cursor: i64,
    /// Whether the files must be checked.
    pub is_suspect: bool,
}

impl IndexFolder {
    /// Opens the existing index, or creates an empty one if it is missing, damaged or foreign.
    pub fn open(&self, upstream: IndexSource) -> Result<OpenIndex, SearchError> {
        let Self(folder) = self;
        fs::create_dir_all(folder).map_err(|cause| self.unusable(cause))?;
        let was_clean = folder.join(CLEAN).exists();
        match catch_panic(|| open_existing(folder, upstream)) {
            Ok(Some(open)) => {
                remove(&folder.join(CLEAN)).map_err(|cause| self.unusable(cause))?;
                Ok(OpenIndex { is_suspect: !was_clean, ..open })
            }
            Ok(None) => self.create(),
            Err(exhausted @ SearchError::Exhausted(_)) => Err(exhausted),
            Err(reason) => {
                tracing::warn!(folder = %folder.display(), %reason, "the search index is rebuilt");
                self.create()
            }
        }
    }

    /// Discards the existing index and creates an empty one.
    pub fn create(&self) -> Result<OpenIndex, SearchError> {
        let schema = FIELDS.schema.clone();
        let Self(folder) = self;
        fs::create_dir_all(folder).map_err(|cause| self.unusable(cause))?;
        throw_away(folder).map_err(|cause| self.unusable(cause))?;
        let index = tantivy::Index::create_in_dir(folder, schema)?;
        let reader = reader(&index)?;
        Ok(OpenIndex { index, reader, cursor: 0, is_suspect: false })
    }

    /// Writes the marker of a clean shutdown. Call it only when everything is on disk and nothing writes any more.
    pub fn mark_clean(&self) {
        if let Err(error) = fs::write(self.0.join(CLEAN), "") {
            tracing::debug!(%error, "the search index will be checked at the next start");
        }
    }

    fn unusable(&self, cause: io::Error) -> SearchError {
        SearchError::Folder { folder: self.0.display().to_string(), cause }
    }
}

/// Discards the index in a folder; the next start rebuilds it. It must not be open.
///
/// # Errors
/// Returns an error if the folder cannot be written.
pub fn discard(folder: &Path) -> io::Result<()> {
    if folder.exists() { throw_away(folder) } else { Ok(()) }
}

/// Returns whether the checksums of all files are right.
///
/// # Errors
/// Returns [`SearchError::Exhausted`] if the files cannot be opened now. That is no damage.
pub(super) fn is_intact(index: &tantivy::Index) -> Result<bool, SearchError> {
    match catch_panic(|| Ok(index.validate_checksum()?)) {
        Ok(damaged) => Ok(damaged.is_empty()),
        Err(exhausted @ SearchError::Exhausted(_)) => Err(exhausted),
        Err(_) => Ok(false),
    }
}

/// Returns the payload of a commit: format, source and cursor.
pub(super) fn payload(upstream: IndexSource, cursor: i64) -> String {
    format!("clotho {FORMAT} {} {cursor} {:016x}", upstream.id, upstream.texts)
}

/// Runs `work` and turns a panic into an error, because tantivy panics on some damaged files.
pub(super) fn catch_panic<T>(work: impl FnOnce() -> Result<T, SearchError>) -> Result<T, SearchError> {
    let panicked = |_| Err(SearchError::Unreadable("tantivy panicked".to_owned()));
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(panicked)
}

/// Opens an existing index; `None` if there is none. Returns an error if it is damaged or foreign.
pub(super) fn open_existing(folder: &Path, upstream: IndexSource) -> Result<Option<OpenIndex>, SearchError> {
    let other = |why: &str| SearchError::Unreadable(why.to_owned());
    let directory = MmapDirectory::open(folder).map_err(TantivyError::from)?;
    if !tantivy::Index::exists(&directory).map_err(TantivyError::from)? {
        return Ok(None);
    }
    let index = tantivy::Index::open(directory)?;
    let metas = index.load_metas()?;
    if metas.schema != FIELDS.schema {
        return Err(other("its fields differ"));
    }
    let cursor = match metas.payload.as_deref() {
        None if metas.segments.is_empty() => 0,
        None => return Err(other("its last commit has no cursor")),
        Some(payload) => {
            cursor_of(payload, upstream).ok_or_else(|| other("it has another format or belongs to another database"))?
        }
    };
    let reader = reader(&index)?;
    Ok(Some(OpenIndex { index, reader, cursor, is_suspect: true }))
}

fn cursor_of(text: &str, upstream: IndexSource) -> Option<i64> {
    let cursor = text.split(' ').nth(3)?.parse().ok()?;
    (payload(upstream, cursor) == text && cursor <= upstream.newest).then_some(cursor)
}

fn reader(index: &tantivy::Index) -> tantivy::Result<IndexReader> {
    index.tokenizers().register(analyzer::NAME, analyzer::text_analyzer());
    index.tokenizers().register(analyzer::STEMS, analyzer::stem_analyzer());
    index.reader_builder().reload_policy(ReloadPolicy::Manual).doc_store_cache_num_blocks(16).try_into()
}

/// Removes the files. `meta.json` goes first, so that a half-removed index counts as missing.
fn throw_away(folder: &Path) -> io::Result<()> {
    remove(&folder.join("meta.json"))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_file() && name.to_str().is_some_and(is_ours) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

fn is_ours(name: &str) -> bool {
    let is_segment = |stem: &str| stem.len() == 32 && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
    matches!(name, "meta.json" | ".managed.json" | ".tantivy-writer.lock" | ".tantivy-meta.lock" | CLEAN)
        || name.starts_with(".tmp")
        || name.split_once('.').is_some_and(|(stem, _)| is_segment(stem))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
