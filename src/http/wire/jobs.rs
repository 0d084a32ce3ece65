//! Jobs: long work that somebody waits for.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::ids::{WireId, WireJobId, WireSessionId};
use crate::http::error::{ApiError, ApiErrorCode, ErrorFields};
use clotho_engine::transfer::sillytavern::zone_ahead;
use clotho_engine::transfer::{self, ForeignUpload, ImportError, ImportResult, REPAIR_LIST_HINT, TransferJobState};

/// Long work has begun.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobStartResponse {
    /// The job to ask for.
    pub job_id: WireJobId,
}

/// How a file of another program is called, and how it is taken in.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ForeignImportQuery {
    /// Its name: `data.zip`, or that of a chat, `Maintenance.jsonl`, which becomes the title; else that of `ResponseContent-Disposition`. What the
    /// file is, its content says.
    pub name: Option<String>,
    /// Whether nothing is written, and only the report is wanted; `false` unless named.
    pub dry_run: Option<bool>,
    /// How far ahead of UTC the clock was that wrote old dates without a time zone, in hours between -25 and 25; 0 unless named.
    pub utc_offset: Option<f64>,
}

impl ForeignImportQuery {
    /// What is wanted of a file that may be called something by its sender.
    ///
    /// # Errors
    /// No clock is that far ahead.
    pub fn read(self, called: Option<String>) -> Result<ForeignUpload, ApiError> {
        let zone = zone_ahead(self.utc_offset.unwrap_or(0.0));
        let refusal = || ApiError::invalid("utcOffset", "a number of hours between -25 and 25 is expected");
        let name = self.name.or(called).unwrap_or_else(|| "chats.zip".into());
        Ok(ForeignUpload { name, zone: zone.ok_or_else(refusal)?, is_dry: self.dry_run.unwrap_or(false) })
    }
}

/// Where a job stands. It is remembered for a week; why one failed, until the server stops.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobResponse {
    /// Its id.
    pub id: WireJobId,
    /// What it does: `import`.
    pub kind: &'static str,
    /// `queued`, `running`, `done`, `failed`, `cancelled`, or `interrupted`: the server stopped before the file was in.
    pub state: &'static str,
    /// How much of the work is done, in bytes of the file, which is read twice.
    pub done: u64,
    /// How much there is; 0 while it waits, and after a restart.
    pub total: u64,
    /// What came of it, once it is done.
    pub result: Option<JobResultResponse>,
    /// Why it did not come in. Of a session nothing was kept then; of what another program keeps what came until then stays.
    pub error: Option<ErrorFields>,
}

/// What came of a job.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobResultResponse {
    /// The session that is there now; null where another program's files came in.
    pub session_id: Option<WireSessionId>,
    /// What became of another program's files: `{totals, report: {items}}`; else null.
    #[schema(value_type = Option<Object>)]
    pub report: Option<Value>,
}

impl From<transfer::TransferJob> for JobResponse {
    fn from(job: transfer::TransferJob) -> Self {
        let (state, result, error) = match job.state {
            TransferJobState::Queued => ("queued", None, None),
            TransferJobState::Running => ("running", None, None),
            TransferJobState::Done(ImportResult::Session(session)) => {
                ("done", Some(JobResultResponse { session_id: Some(WireId(session)), report: None }), None)
            }
            TransferJobState::Done(ImportResult::Foreign(report)) => {
                ("done", Some(JobResultResponse { session_id: None, report: Some((*report).clone()) }), None)
            }
            TransferJobState::Failed(error) => {
                let state = match error {
                    ImportError::Stopped => "interrupted",
                    ImportError::Cancelled => "cancelled",
                    _ => "failed",
                };
                (state, None, Some(ApiError::from(error).body(None).error))
            }
        };
        let (done, total) = (job.progress.done, job.progress.total);
        Self { id: WireId(job.id), kind: "import", state, done, total, result, error }
    }
}

impl From<ImportError> for ApiError {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::Fault(fault) => {
                let refusal = Self::invalid("file", fault.to_string())
                    .hint("nothing was kept; export the session again, and send the file as it is")
                    .detail("line", fault.line);
                fault.flaw.into_iter().fold(refusal, |refusal, flaw| refusal.detail("flaw", flaw.word()))
            }
            ImportError::Refused(refusal) => refusal.into(),
            ImportError::Store(error) => error.into(),
            ImportError::Unknown(_) => Self::invalid("file", error.to_string()),
            ImportError::BadList(_) => Self::invalid("file", error.to_string()).hint(REPAIR_LIST_HINT),
            ImportError::Read(cause) => Self::internal(cause),
            ImportError::Cancelled => {
                Self::new(ApiErrorCode::Conflict, error.to_string()).hint("send the file again to go on")
            }
            ImportError::Stopped => Self::new(ApiErrorCode::Unavailable, error.to_string())
                .hint("nothing of it was kept: send the file again"),
        }
    }
}
