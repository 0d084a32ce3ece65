//! Imports of files, copies of sessions, and their jobs.

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
use crate::http::wire::jobs::{ForeignImportQuery, JobResponse, JobStartResponse, SessionImportQuery};
use crate::http::wire::sessions::CopySessionRequest;
use clotho_engine::transfer::{SessionUpload, TooManyImports, UploadKind, UploadSlot};

/// Uploads a session file. Answers when the file has arrived; its job reports the result.
///
/// # Errors
/// Returns an error if the caller has too many uploads, or the body is empty, too large or no file.
pub async fn import_session(
    app: AppData,
    caller: Caller,
    query: QueryParams<SessionImportQuery>,
    upload: FileUpload,
) -> ApiResult<JobStartResponse> {
    upload.check_headers(app.config.limits.import_bytes, &[SESSION_MEDIA_TYPE])?;
    let how = SessionUpload { title: None, is_trusted: query.0.trust.unwrap_or(false) };
    enqueue_upload(app, caller, upload, UploadKind::Session(how)).await
}

/// Uploads data of another program: an archive of its folder, or a single file, whose type is detected. The job reports
/// the result for each file.
///
/// # Errors
/// As [`import_session`]; also if the UTC offset is out of range.
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

/// Copies a session with its whole tree, as an export and import with new ids. Its job reports the result.
///
/// # Errors
/// Returns an error if the session does not exist, the title is invalid, or the caller has too many uploads.
pub async fn copy_session(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    body: JsonBody<CopySessionRequest>,
) -> ApiResult<JobStartResponse> {
    let CopySessionRequest { title } = body.0.checked()?;
    let place = app.import_queue.reserve_slot(caller.0)?;
    let file = exports::export_archive(&app, caller, sid).await?;
    start_job(&app, place, file, UploadKind::Session(SessionUpload { title, is_trusted: true })).await
}

async fn enqueue_upload(
    app: AppData,
    caller: Caller,
    upload: FileUpload,
    kind: UploadKind,
) -> ApiResult<JobStartResponse> {
    let place = app.import_queue.reserve_slot(caller.0)?;
    let file = unlinked_file(&app.config.storage.data_dir, place.job().uuid()).map_err(|error| write_error(&error))?;
    let file = upload.write_to(file, app.config.limits.import_bytes).await?;
    if file.metadata().map_err(ApiError::internal)?.len() == 0 {
        let hint = "send the bytes of the file as the body; if the file itself is empty, export it again";
        return Err(ApiError::invalid("file", "the file is empty").hint(hint));
    }
    start_job(&app, place, file, kind).await
}

async fn start_job(app: &App, place: UploadSlot, file: File, kind: UploadKind) -> ApiResult<JobStartResponse> {
    let job = app.import_queue.submit(place, file, kind).await?;
    ApiResponse::accepted(&JobStartResponse { job_id: WireId(job) })
}

impl From<TooManyImports> for ApiError {
    fn from(busy: TooManyImports) -> Self {
        let mut error = Self::new(ApiErrorCode::RateLimited, busy.to_string()).hint("wait until one of them has ended");
        error.retry_after_s = Some(5);
        error
    }
}

/// Returns the progress of a job, or its result.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn read_job(app: AppData, caller: Caller, jid: JobIdPath) -> ApiResult<JobResponse> {
    let job = app.import_queue.job(caller.0, jid.0).await?.ok_or_else(|| ApiError::not_found(JobIdPath::WHAT))?;
    ApiResponse::ok(&JobResponse::from(job))
}

/// Cancels a queued or running job. An import from another program keeps what was imported until then; a session import
/// keeps nothing.
///
/// # Errors
/// Returns an error if the job does not exist or has ended.
pub async fn cancel_job(app: AppData, caller: Caller, jid: JobIdPath) -> ApiResult<NoContent> {
    if app.import_queue.cancel(caller.0, jid.0) {
        return Ok(ApiResponse::no_content());
    }
    app.import_queue.job(caller.0, jid.0).await?.ok_or_else(|| ApiError::not_found(JobIdPath::WHAT))?;
    Err(ApiError::new(ApiErrorCode::Conflict, "the job has ended").hint("read the job to see its result"))
}
