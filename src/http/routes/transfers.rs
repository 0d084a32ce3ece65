//! Whole sessions out of the server and into it, and the jobs that take them in.

use super::{Program, held};
use crate::app::App;
use crate::http::answer::{Answer, Nothing, Reply};
use crate::http::caller::Caller;
use crate::http::error::{ApiError, Code};
use crate::http::file::{Archive, Download, KIND, Upload, nameless, unwritable};
use crate::http::query::{Jid, Query, Sid};
use crate::http::wire::ids::Id;
use crate::http::wire::jobs::{ForeignFile, Job, JobBegun};
use crate::ids::{SessionId, UserId};
use crate::store::{ExportError, Snapshot};
use crate::transfer::{Busy, Errand, FileKind, export as write};

/// So many characters of a title stand in the name of a file.
const NAME_CHARS: usize = 80;

/// A whole session as one file.
///
/// # Errors
/// The session is not there.
pub async fn export(app: Program, caller: Caller, sid: Sid) -> Result<Download, ApiError> {
    app.store.read(move |reader| held(reader, caller, sid).map(|_| ())).await?;
    // A few at a time: each holds a connection and reads as fast as it can.
    let _place = app.exports.acquire().await.map_err(ApiError::internal)?;
    let program = app.clone();
    actix_web::web::block(move || packed(&program, caller.0, sid.0)).await.map_err(ApiError::internal)?
}

/// Written to disk first: a slow client holds a file open and no moment of the database.
fn packed(app: &App, caller: UserId, id: SessionId) -> Result<Download, ApiError> {
    let storage = &app.config.storage;
    let mut snapshot = Snapshot::open(&storage.database_path())?;
    let held = snapshot.session(Some(caller), id)?.ok_or_else(|| ApiError::not_found(Sid::WHAT))?;
    let now = app.clock.now();
    let file = nameless(&storage.data_dir, app.ids.next(now)).map_err(|error| unwritable(&error))?;
    let file = write(&mut snapshot, &held, std::io::BufWriter::new(file), now, |_| {})?;
    let file = file.into_inner().map_err(|error| unwritable(error.error()))?;
    let title: String = held.session.title.chars().filter(|c| !c.is_control()).take(NAME_CHARS).collect();
    Download::of(format!("{}.clotho", title.trim()), file).map_err(ApiError::internal)
}

impl From<ExportError> for ApiError {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Store(error) => error.into(),
            ExportError::Write(error) => unwritable(&error),
        }
    }
}

/// Takes a file in. The answer comes when the file has arrived; what becomes of it is told by its job.
///
/// # Errors
/// The caller has enough files on their way, or the body is too large or no file.
pub async fn import(app: Program, caller: Caller, upload: Upload) -> Answer<JobBegun> {
    upload.may_arrive(app.config.limits.import_bytes, KIND)?;
    handed_in(app, caller, upload, FileKind::Session).await
}

/// Takes what another program keeps in: an archive of its folder, or any file of its own, which its content tells apart. What
/// became of each file is told by its job.
///
/// # Errors
/// As for a session; or no clock is that far ahead.
pub async fn import_foreign(
    app: Program,
    caller: Caller,
    query: Query<ForeignFile>,
    Archive(upload): Archive,
) -> Answer<JobBegun> {
    upload.may_arrive(app.config.limits.import_bytes, Archive::KIND)?;
    let how = query.0.read()?;
    handed_in(app, caller, upload, FileKind::Foreign(how)).await
}

async fn handed_in(app: Program, caller: Caller, upload: Upload, kind: FileKind) -> Answer<JobBegun> {
    let limit = app.config.limits.import_bytes;
    let job = app.desk.expect(caller.0)?;
    let file = nameless(&app.config.storage.data_dir, job.uuid()).map_err(|error| unwritable(&error));
    let arrived = match file {
        Ok(file) => upload.into_file(file, limit).await,
        Err(error) => Err(error),
    };
    match arrived {
        Ok(file) => {
            app.desk.hand_in(Errand { job, owner: caller.0, file, kind }).await?;
            Reply::begun(&JobBegun { job_id: Id(job) })
        }
        Err(error) => {
            app.desk.forget(job);
            Err(error)
        }
    }
}

impl From<Busy> for ApiError {
    fn from(busy: Busy) -> Self {
        let mut error = Self::new(Code::RateLimited, busy.to_string()).hint("wait until one of them is in");
        error.retry_after_s = Some(5);
        error
    }
}

/// How far a job is, and how it ended.
///
/// # Errors
/// It is not there.
pub async fn job(app: Program, caller: Caller, jid: Jid) -> Answer<Job> {
    let job = app.desk.job(caller.0, jid.0).await?.ok_or_else(|| ApiError::not_found(Jid::WHAT))?;
    Reply::ok(&Job::from(job))
}

/// Ends a job that waits or runs. What another program kept stays as far as it came; of a session nothing does.
///
/// # Errors
/// It is not there, or over.
pub async fn cancel(app: Program, caller: Caller, jid: Jid) -> Answer<Nothing> {
    if app.desk.cancel(caller.0, jid.0) {
        return Ok(Reply::done());
    }
    app.desk.job(caller.0, jid.0).await?.ok_or_else(|| ApiError::not_found(Jid::WHAT))?;
    Err(ApiError::new(Code::Conflict, "the job is over").hint("ask for it to see how it ended"))
}
