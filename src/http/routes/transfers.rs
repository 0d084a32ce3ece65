//! Files into the server, copies of what is there, and the jobs that take them in.

use std::fs::File;

use super::{AppData, exports};
use crate::app::App;
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::{ApiError, ApiErrorCode};
use crate::http::file::{ArchiveUpload, FileUpload, SESSION_MEDIA_TYPE, unlinked_file, write_error};
use crate::http::query::{JobIdPath, QueryParams, SessionIdPath};
use crate::http::response::{ApiResponse, ApiResult, NoContent};
use crate::http::wire::ids::WireId;
use crate::http::wire::jobs::{ForeignImportQuery, JobResponse, JobStartResponse};
use crate::http::wire::sessions::CopySessionRequest;
use clotho_engine::transfer::{TooManyImports, UploadKind, UploadSlot};

/// Takes a file in. The answer comes when the file has arrived; what becomes of it is told by its job.
///
/// # Errors
/// The caller has enough files on their way, or the body is too large or no file.
pub async fn import(app: AppData, caller: Caller, upload: FileUpload) -> ApiResult<JobStartResponse> {
    upload.check_headers(app.config.limits.import_bytes, &[SESSION_MEDIA_TYPE])?;
    enqueue_upload(app, caller, upload, UploadKind::Session(None)).await
}

/// Takes what another program keeps in: an archive of its folder, or any file of its own, which its content tells apart. What
/// became of each file is told by its job.
///
/// # Errors
/// As for a session; or no clock is that far ahead.
pub async fn import_foreign(
    app: AppData,
    caller: Caller,
    query: QueryParams<ForeignImportQuery>,
    ArchiveUpload(upload): ArchiveUpload,
) -> ApiResult<JobStartResponse> {
    upload.check_headers(app.config.limits.import_bytes, &ArchiveUpload::ACCEPTED_MEDIA_TYPES)?;
    let how = query.0.read(upload.name())?;
    enqueue_upload(app, caller, upload, UploadKind::Foreign(how)).await
}

/// Makes a copy of a session with everything that is on its tree: it goes out and comes in again under new ids. What becomes
/// of it is told by its job.
///
/// # Errors
/// The session is not there, the title does not fit, or the caller has enough files on their way.
pub async fn copy(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    body: JsonBody<CopySessionRequest>,
) -> ApiResult<JobStartResponse> {
    let CopySessionRequest { title } = body.0.checked()?;
    let place = app.import_queue.expect(caller.0)?;
    let file = exports::export_archive(&app, caller, sid).await?;
    start_job(&app, place, file, UploadKind::Session(title)).await
}

async fn enqueue_upload(
    app: AppData,
    caller: Caller,
    upload: FileUpload,
    kind: UploadKind,
) -> ApiResult<JobStartResponse> {
    let place = app.import_queue.expect(caller.0)?;
    let file = unlinked_file(&app.config.storage.data_dir, place.job().uuid()).map_err(|error| write_error(&error))?;
    let file = upload.write_to(file, app.config.limits.import_bytes).await?;
    start_job(&app, place, file, kind).await
}

async fn start_job(app: &App, place: UploadSlot, file: File, kind: UploadKind) -> ApiResult<JobStartResponse> {
    let job = app.import_queue.submit(place, file, kind).await?;
    ApiResponse::accepted(&JobStartResponse { job_id: WireId(job) })
}

impl From<TooManyImports> for ApiError {
    fn from(busy: TooManyImports) -> Self {
        let mut error = Self::new(ApiErrorCode::RateLimited, busy.to_string()).hint("wait until one of them is in");
        error.retry_after_s = Some(5);
        error
    }
}

/// How far a job is, and how it ended.
///
/// # Errors
/// It is not there.
pub async fn job(app: AppData, caller: Caller, jid: JobIdPath) -> ApiResult<JobResponse> {
    let job = app.import_queue.job(caller.0, jid.0).await?.ok_or_else(|| ApiError::not_found(JobIdPath::WHAT))?;
    ApiResponse::ok(&JobResponse::from(job))
}

/// Ends a job that waits or runs. What another program kept stays as far as it came; of a session nothing does.
///
/// # Errors
/// It is not there, or over.
pub async fn cancel_job(app: AppData, caller: Caller, jid: JobIdPath) -> ApiResult<NoContent> {
    if app.import_queue.cancel(caller.0, jid.0) {
        return Ok(ApiResponse::no_content());
    }
    app.import_queue.job(caller.0, jid.0).await?.ok_or_else(|| ApiError::not_found(JobIdPath::WHAT))?;
    Err(ApiError::new(ApiErrorCode::Conflict, "the job is over").hint("ask for it to see how it ended"))
}
