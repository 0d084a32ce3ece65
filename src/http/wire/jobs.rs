//! Jobs: long-running work.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::ids::{WireId, WireJobId, WireSessionId};
use super::import_report::ForeignImportSchema;
use super::string_enums::JobStateEnum;
use crate::http::error::{ApiError, ApiErrorCode, ErrorFields};
use clotho_engine::transfer::sillytavern::zone_ahead;
use clotho_engine::transfer::{
    self, ForeignUpload, ImportError, ImportResult, REPAIR_LIST_HINT, TitleLanguage, TransferJobState,
};

/// A started job.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobStartResponse {
    /// Id to poll with `GET /api/jobs/{jid}`.
    pub job_id: WireJobId,
}

/// Options for importing a file of another program.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ForeignImportQuery {
    /// File name, such as `data.zip` or `Maintenance.jsonl`; the name of a chat becomes its title. Default: the name in
    /// `Content-Disposition`. The file type is detected from its content.
    pub name: Option<String>,
    /// Only report, import nothing; default `false`.
    pub dry_run: Option<bool>,
    /// UTC offset of old dates without a time zone, in hours from -25 to 25; default 0.
    #[serde(default, deserialize_with = "deserialize_hours")]
    pub utc_offset: Option<f64>,
    /// Language of dates in the titles of chats that have no name of their own; default `en`.
    #[param(inline)]
    pub language: Option<TitleLanguageParam>,
    /// Apply all settings of exported sessions, and let the regex scripts of cards and presets run; default `false` (see
    /// `requestedSettings` of a session and a character).
    pub trust: Option<bool>,
}

/// How a session file is imported.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct SessionImportQuery {
    /// Apply all settings of the file; default `false`. Otherwise its models, parameters, preset, recall, summaries,
    /// scripts and permissions of plugins wait in `requestedSettings` of the session.
    pub trust: Option<bool>,
}

/// Language of dates in titles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TitleLanguageParam {
    /// English.
    En,
    /// Chinese.
    Zh,
}

impl From<TitleLanguageParam> for TitleLanguage {
    fn from(language: TitleLanguageParam) -> Self {
        match language {
            TitleLanguageParam::En => Self::English,
            TitleLanguageParam::Zh => Self::Chinese,
        }
    }
}

/// What `utcOffset` is.
const HOURS_EXPECTED: &str = "expected a number of hours between -25 and 25";

/// Reads hours of a query; the range is checked later.
fn deserialize_hours<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map(Some).map_err(|_| D::Error::custom(HOURS_EXPECTED))
}

impl ForeignImportQuery {
    /// Returns the import options; `called` is the name from the request headers.
    ///
    /// # Errors
    /// Returns an error if the UTC offset is out of range.
    pub fn read(self, called: Option<String>) -> Result<ForeignUpload, ApiError> {
        let zone = zone_ahead(self.utc_offset.unwrap_or(0.0));
        let refusal = || ApiError::invalid("utcOffset", HOURS_EXPECTED);
        let name = self.name.or(called).unwrap_or_else(|| "chats.zip".into());
        Ok(ForeignUpload {
            name,
            zone: zone.ok_or_else(refusal)?,
            language: self.language.map_or(TitleLanguage::English, TitleLanguage::from),
            is_dry: self.dry_run.unwrap_or(false),
            is_trusted: self.trust.unwrap_or(false),
        })
    }
}

/// The state of a job. Kept for a week; `error` only until the server stops.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobResponse {
    /// Id of the job.
    pub id: WireJobId,
    /// `import`.
    pub kind: &'static str,
    /// `queued`, `running`, `done`, `failed`, `cancelled` or `interrupted` (the server stopped before the end).
    #[schema(value_type = JobStateEnum)]
    pub state: &'static str,
    /// Progress in bytes; the file is read twice.
    pub done: u64,
    /// Total in bytes; 0 while queued and after a restart.
    pub total: u64,
    /// Result of a finished job; null before.
    #[schema(required)]
    pub result: Option<JobResultResponse>,
    /// Why the job failed. A failed session import keeps nothing; an import from another program keeps what was
    /// imported until then.
    #[schema(required)]
    pub error: Option<ErrorFields>,
}

/// The result of a job.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobResultResponse {
    /// The new session; null for an import from another program.
    #[schema(required)]
    pub session_id: Option<WireSessionId>,
    /// Report of an import from another program: `{totals, report: {items}}`; null otherwise.
    #[schema(required, value_type = Option<ForeignImportSchema>)]
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
                    .detail("line", fault.line)
                    .detail("fault", fault.message.clone());
                fault.flaw.into_iter().fold(refusal, |refusal, flaw| refusal.detail("flaw", flaw.as_str()))
            }
            ImportError::Refused(refusal) => refusal.into(),
            ImportError::Store(error) => error.into(),
            ImportError::Unknown(_) => Self::invalid("file", error.to_string()),
            ImportError::BadList(_) => Self::invalid("file", error.to_string()).hint(REPAIR_LIST_HINT),
            ImportError::TooLarge(_) => Self::new(ApiErrorCode::TooLarge, error.to_string())
                .hint("what was imported before stays; send the archives one by one, or raise `limits.import_mb`"),
            ImportError::Read(cause) => Self::internal(cause),
            ImportError::Cancelled => {
                Self::new(ApiErrorCode::Conflict, error.to_string()).hint("send the file again to continue")
            }
            ImportError::Stopped => Self::new(ApiErrorCode::Unavailable, error.to_string())
                .hint("nothing of it was kept: send the file again"),
        }
    }
}
