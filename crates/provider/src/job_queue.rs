//! What a kind of server with a queue does: a request makes a job, and the reply is fetched when the job is done.

use super::{Endpoint, ProviderFailure, error_text::ErrorScrubber};
use reqwest::Url;
use serde_json::Value;

/// What a kind of server with a queue does otherwise than the others.
pub(super) trait JobQueue: Send + Sync {
    /// Returns the id of the job in the response to a request for a reply.
    fn job_id(&self, answer: &Value) -> Option<String>;

    /// Returns the URL of a job: GET for its status and reply, DELETE to cancel it.
    ///
    /// # Errors
    /// Returns an error if the endpoint's address is invalid.
    fn job_url(&self, endpoint: &Endpoint, id: &str) -> Result<Url, ProviderFailure>;

    /// Reads the status of a job.
    ///
    /// # Errors
    /// Returns an error if the job has failed or can never be done.
    fn status(&self, answer: &Value, scrub: &ErrorScrubber) -> Result<JobStatus, ProviderFailure>;

    /// Returns the response of a job that is done, as the reader of the kind reads it. `sent` is the body of the request.
    fn reply(&self, answer: Value, sent: &Value) -> Value;
}

/// The status of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobStatus {
    /// It waits in the queue, at this place, counted from 1.
    Queued(usize),
    /// A worker has begun.
    Running,
    /// The reply is in the same response.
    Done,
}
