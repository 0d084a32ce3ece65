//! Whole sessions out of the server, and single lines in forms that others read.

use std::fs::File;
use std::io::BufWriter;

use super::{Program, held};
use crate::app::App;
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
    app.store.read(move |reader| held(reader, caller, sid).map(|_| ())).await?;
    // A few at a time: each holds a connection and reads as fast as it can.
    let _place = app.exports.acquire().await.map_err(ApiError::internal)?;
    let program = app.clone();
    let written = move || packed(&program, caller, sid.0, &query.0);
    actix_web::web::block(written).await.map_err(ApiError::internal)?
}

/// Written to disk first: a slow client holds a file open and no moment of the database.
fn packed(app: &App, caller: Caller, id: SessionId, wanted: &SessionExport) -> Result<Download, ApiError> {
    let storage = &app.config.storage;
    let mut snapshot = Snapshot::open(&storage.database_path())?;
    let held = snapshot.session(Some(caller.0), id)?.ok_or_else(|| ApiError::not_found(Sid::WHAT))?;
    let now = app.clock.now();
    let file = nameless(&storage.data_dir, app.ids.next(now)).map_err(|error| unwritable(&error))?;
    let out = BufWriter::new(file);
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
    let file = out.into_inner().map_err(|error| unwritable(error.error()))?;
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
    let storage = &app.config.storage;
    let mut snapshot = Snapshot::open(&storage.database_path())?;
    let id = app.ids.next(app.clock.now());
    let file = nameless(&storage.data_dir, id).map_err(|error| unwritable(&error))?;
    let (out, _) = export_all(&mut snapshot, caller.0, Shelf::archive(BufWriter::new(file)), |_| {})?;
    let out = out.ok_or_else(|| ApiError::internal("an archive has no bytes"))?;
    let file = out.into_inner().map_err(|error| unwritable(error.error()))?;
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
