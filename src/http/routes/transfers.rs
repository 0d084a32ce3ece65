//! Files into the server, copies of what is there, and the jobs that take them in.

use std::fs::File;

use super::{Program, exports};
use crate::app::App;
use crate::http::answer::{Answer, Nothing, Reply};
use crate::http::body::Body;
use crate::http::caller::Caller;
use crate::http::error::{ApiError, Code};
use crate::http::file::{Archive, KIND, Upload, nameless, unwritable};
use crate::http::query::{Jid, Query, Sid};
use crate::http::wire::ids::Id;
use crate::http::wire::jobs::{ForeignFile, Job, JobBegun};
use crate::http::wire::sessions::SessionCopy;
use crate::transfer::{Busy, Expected, FileKind};

/// Takes a file in. The answer comes when the file has arrived; what becomes of it is told by its job.
///
/// # Errors
/// The caller has enough files on their way, or the body is too large or no file.
pub async fn import(app: Program, caller: Caller, upload: Upload) -> Answer<JobBegun> {
    upload.may_arrive(app.config.limits.import_bytes, &[KIND])?;
    handed_in(app, caller, upload, FileKind::Session(None)).await
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
    upload.may_arrive(app.config.limits.import_bytes, &Archive::KINDS)?;
    let how = query.0.read(upload.name())?;
    handed_in(app, caller, upload, FileKind::Foreign(how)).await
}

/// Makes a copy of a session with everything that is on its tree: it goes out and comes in again under new ids. What becomes
/// of it is told by its job.
///
/// # Errors
/// The session is not there, the title does not fit, or the caller has enough files on their way.
pub async fn copy(app: Program, caller: Caller, sid: Sid, body: Body<SessionCopy>) -> Answer<JobBegun> {
    let SessionCopy { title } = body.0.checked()?;
    let place = app.desk.expect(caller.0)?;
    let file = exports::whole(&app, caller, sid).await?;
    begun(&app, place, file, FileKind::Session(title)).await
}

async fn handed_in(app: Program, caller: Caller, upload: Upload, kind: FileKind) -> Answer<JobBegun> {
    let place = app.desk.expect(caller.0)?;
    let file = nameless(&app.config.storage.data_dir, place.job().uuid()).map_err(|error| unwritable(&error))?;
    let file = upload.into_file(file, app.config.limits.import_bytes).await?;
    begun(&app, place, file, kind).await
}

async fn begun(app: &App, place: Expected, file: File, kind: FileKind) -> Answer<JobBegun> {
    let job = app.desk.hand_in(place, file, kind).await?;
    Reply::begun(&JobBegun { job_id: Id(job) })
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
