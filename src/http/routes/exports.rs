//! Exports of whole sessions, and of single branches in other formats.

use std::fs::File;
use std::io::BufWriter;

use super::AppData;
use crate::app::App;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::file::{ArchiveDownload, ArchiveUpload, FileDownload, unlinked_file, write_error};
use crate::http::query::{QueryParams, SessionIdPath};
use crate::http::wire::exports::{ExportAllQuery, SessionExportQuery};
use clotho_core::clock::Time;
use clotho_core::ids::SessionId;
use clotho_engine::transfer::{BranchExportOptions, ExportTarget, export as write, export_all, export_branch};
use clotho_queries::lookup::load_session;
use clotho_store::{DatabaseSnapshot, SessionExportError, StoredSession};

/// Maximum number of characters of a title in a file name.
const MAX_NAME_CHARS: usize = 80;

/// Exports a session, whole or as one branch.
///
/// # Errors
/// Returns an error if the session or the leaf does not exist.
pub async fn export_session(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    query: QueryParams<SessionExportQuery>,
) -> Result<FileDownload, ApiError> {
    query.0.export_form()?;
    run_blocking(&app, caller, sid, move |app| write_session(app, caller, sid.0, &query.0)).await
}

/// Writes a whole session to an unnamed file, to be imported again.
///
/// # Errors
/// Returns an error if the session does not exist or the disk is full.
pub async fn export_archive(app: &AppData, caller: Caller, sid: SessionIdPath) -> Result<File, ApiError> {
    let written = move |app: &App| {
        let (mut snapshot, stored) = open_session(app, caller, sid.0)?;
        let (out, now) = create_file(app)?;
        finish_file(write(&mut snapshot, &stored, out, now, |_| {})?)
    };
    run_blocking(app, caller, sid, written).await
}

/// Runs an export on a blocking thread. Only a few run in parallel, because each holds a database connection and reads
/// at full speed.
async fn run_blocking<T: Send + 'static>(
    app: &AppData,
    caller: Caller,
    sid: SessionIdPath,
    write: impl FnOnce(&App) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    app.store.read(move |reader| load_session(reader, caller.0, sid.0).map(|_| ())).await?;
    let _place = app.export_slots.acquire().await.map_err(ApiError::internal)?;
    let program = app.clone();
    actix_web::web::block(move || write(&program)).await.map_err(ApiError::internal)?
}

/// Opens a database snapshot and loads the session from it.
fn open_session(app: &App, caller: Caller, id: SessionId) -> Result<(DatabaseSnapshot, StoredSession), ApiError> {
    let mut snapshot = DatabaseSnapshot::open(&app.config.storage.database_path())?;
    let stored = snapshot.session(Some(caller.0), id)?.ok_or_else(|| ApiError::not_found(SessionIdPath::WHAT))?;
    Ok((snapshot, stored))
}

/// Creates the file to write to, and returns it with the current time.
fn create_file(app: &App) -> Result<(BufWriter<File>, Time), ApiError> {
    let now = app.clock.now();
    let file =
        unlinked_file(&app.config.storage.data_dir, app.ids.next_id(now)).map_err(|error| write_error(&error))?;
    Ok((BufWriter::new(file), now))
}

fn finish_file(out: BufWriter<File>) -> Result<File, ApiError> {
    out.into_inner().map_err(|error| write_error(error.error()))
}

/// Writes to disk first, so that a slow client holds a file open and not a database snapshot.
fn write_session(
    app: &App,
    caller: Caller,
    id: SessionId,
    wanted: &SessionExportQuery,
) -> Result<FileDownload, ApiError> {
    let (mut snapshot, stored) = open_session(app, caller, id)?;
    let (out, now) = create_file(app)?;
    let (out, ending) = match wanted.export_form()? {
        None => (write(&mut snapshot, &stored, out, now, |_| {})?, "clotho"),
        Some(form) => {
            let leaf = wanted.leaf.map_or(stored.session.head, |leaf| leaf.0);
            let options = BranchExportOptions { leaf, format: form, hide_tags: &app.config.generation.hide_tags };
            let written = export_branch(&mut snapshot, &stored, &options, out)?;
            let unknown = || ApiError::invalid("leaf", "this session has no message with this id");
            (written.ok_or_else(unknown)?, form.extension())
        }
    };
    download(&stored, ending, wanted.format.media_type(), out)
}

fn download(
    stored: &StoredSession,
    ending: &str,
    kind: &'static str,
    out: BufWriter<File>,
) -> Result<FileDownload, ApiError> {
    let file = finish_file(out)?;
    let title: String = stored.session.title.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect();
    FileDownload::new(format!("{}.{ending}", title.trim()), kind, file).map_err(ApiError::internal)
}

/// Exports all data of the caller as a SillyTavern data folder in a ZIP archive.
///
/// # Errors
/// Returns an error if the disk is full.
pub async fn export_user_data(
    app: AppData,
    caller: Caller,
    _query: QueryParams<ExportAllQuery>,
) -> Result<ArchiveDownload, ApiError> {
    let _place = app.export_slots.acquire().await.map_err(ApiError::internal)?;
    let program = app.clone();
    actix_web::web::block(move || write_all(&program, caller)).await.map_err(ApiError::internal)?
}

fn write_all(app: &App, caller: Caller) -> Result<ArchiveDownload, ApiError> {
    let mut snapshot = DatabaseSnapshot::open(&app.config.storage.database_path())?;
    let (out, _) = create_file(app)?;
    let (out, _) = export_all(&mut snapshot, caller.0, ExportTarget::archive(out), |_| {})?;
    let file = finish_file(out.ok_or_else(|| ApiError::internal("expected the bytes of an archive"))?)?;
    Ok(ArchiveDownload(
        FileDownload::new("sillytavern.zip".to_owned(), ArchiveUpload::MEDIA_TYPE, file).map_err(ApiError::internal)?,
    ))
}

impl From<SessionExportError> for ApiError {
    fn from(error: SessionExportError) -> Self {
        match error {
            SessionExportError::Store(error) => error.into(),
            SessionExportError::Write(error) => write_error(&error),
        }
    }
}
