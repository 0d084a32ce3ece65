//! Whole sessions out of the server, and single lines in forms that others read.

use std::fs::File;
use std::io::BufWriter;

use super::{Program, held};
use crate::app::App;
use crate::clock::Time;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::file::{Archive, Download, Packed, nameless, unwritable};
use crate::http::query::{Query, Sid};
use crate::http::wire::exports::{AllExport, SessionExport};
use crate::ids::SessionId;
use crate::store::{ExportError, Held, Snapshot};
use crate::transfer::{LineWish, Shelf, export as write, export_all, export_line};

/// So many characters of a title stand in the name of a file.
const NAME_CHARS: usize = 80;

/// A session as a file: all of it, or one of its lines.
///
/// # Errors
/// The session or the end of the line is not there.
pub async fn session(
    app: Program,
    caller: Caller,
    sid: Sid,
    query: Query<SessionExport>,
) -> Result<Download, ApiError> {
    query.0.form()?;
    aside(&app, caller, sid, move |app| packed(app, caller, sid.0, &query.0)).await
}

/// All of a session as a file that nobody has seen yet, for who takes it in again.
///
/// # Errors
/// The session is not there, or the disk is full.
pub async fn whole(app: &Program, caller: Caller, sid: Sid) -> Result<File, ApiError> {
    let written = move |app: &App| {
        let (mut snapshot, held) = looked_up(app, caller, sid.0)?;
        let (out, now) = begun(app)?;
        finished(write(&mut snapshot, &held, out, now, |_| {})?)
    };
    aside(app, caller, sid, written).await
}

/// Writes what goes out of a session that is there, while the server goes on. A few at a time: each holds a connection and
/// reads as fast as it can.
async fn aside<T: Send + 'static>(
    app: &Program,
    caller: Caller,
    sid: Sid,
    write: impl FnOnce(&App) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    app.store.read(move |reader| held(reader, caller, sid).map(|_| ())).await?;
    let _place = app.exports.acquire().await.map_err(ApiError::internal)?;
    let program = app.clone();
    actix_web::web::block(move || write(&program)).await.map_err(ApiError::internal)?
}

/// One moment of the database, and the session in it.
fn looked_up(app: &App, caller: Caller, id: SessionId) -> Result<(Snapshot, Held), ApiError> {
    let mut snapshot = Snapshot::open(&app.config.storage.database_path())?;
    let held = snapshot.session(Some(caller.0), id)?.ok_or_else(|| ApiError::not_found(Sid::WHAT))?;
    Ok((snapshot, held))
}

/// A file to write into, and the moment.
fn begun(app: &App) -> Result<(BufWriter<File>, Time), ApiError> {
    let now = app.clock.now();
    let file = nameless(&app.config.storage.data_dir, app.ids.next(now)).map_err(|error| unwritable(&error))?;
    Ok((BufWriter::new(file), now))
}

fn finished(out: BufWriter<File>) -> Result<File, ApiError> {
    out.into_inner().map_err(|error| unwritable(error.error()))
}

/// Written to disk first: a slow client holds a file open and no moment of the database.
fn packed(app: &App, caller: Caller, id: SessionId, wanted: &SessionExport) -> Result<Download, ApiError> {
    let (mut snapshot, held) = looked_up(app, caller, id)?;
    let (out, now) = begun(app)?;
    let (out, ending) = match wanted.form()? {
        None => (write(&mut snapshot, &held, out, now, |_| {})?, "clotho"),
        Some(form) => {
            let leaf = wanted.leaf.map_or(held.session.head, |leaf| leaf.0);
            let wish = LineWish { leaf, form, hide_tags: &app.config.generation.hide_tags };
            let written = export_line(&mut snapshot, &held, &wish, out)?;
            let unknown = || ApiError::invalid("leaf", "no message of this session has this id");
            (written.ok_or_else(unknown)?, form.ending())
        }
    };
    download(&held, ending, wanted.format.media_type(), out)
}

fn download(held: &Held, ending: &str, kind: &'static str, out: BufWriter<File>) -> Result<Download, ApiError> {
    let file = finished(out)?;
    let title: String = held.session.title.chars().filter(|c| !c.is_control()).take(NAME_CHARS).collect();
    Download::of(format!("{}.{ending}", title.trim()), kind, file).map_err(ApiError::internal)
}

/// Everything of the caller's as a folder of data of another program, packed.
///
/// # Errors
/// The disk is full.
pub async fn all(app: Program, caller: Caller, _query: Query<AllExport>) -> Result<Packed, ApiError> {
    let _place = app.exports.acquire().await.map_err(ApiError::internal)?;
    let program = app.clone();
    actix_web::web::block(move || house(&program, caller)).await.map_err(ApiError::internal)?
}

fn house(app: &App, caller: Caller) -> Result<Packed, ApiError> {
    let mut snapshot = Snapshot::open(&app.config.storage.database_path())?;
    let (out, _) = begun(app)?;
    let (out, _) = export_all(&mut snapshot, caller.0, Shelf::archive(out), |_| {})?;
    let file = finished(out.ok_or_else(|| ApiError::internal("an archive has no bytes"))?)?;
    Ok(Packed(Download::of("sillytavern.zip".to_owned(), Archive::KIND, file).map_err(ApiError::internal)?))
}

impl From<ExportError> for ApiError {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Store(error) => error.into(),
            ExportError::Write(error) => unwritable(&error),
        }
    }
}
