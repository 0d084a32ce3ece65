//! One job of a server with a queue. It is asked for at growing intervals, and cancelled if nobody waits for it any more.

use super::{
    ProviderFailure, TimeoutPhase,
    http::{EndpointHttp, OutgoingRequest},
    job_queue::{JobQueue, JobStatus},
    json,
    retry::RetryBudget,
};
use clotho_core::json_scan::JsonBounds;
use reqwest::{Response, Url};
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// How long a job may take. Servers forget older ones.
const MAX_JOB_TIME: Duration = Duration::from_secs(20 * 60);

/// The longest interval between two requests, as a multiple of the first.
const MAX_INTERVAL_FACTOR: u32 = 5;

/// Maximum bytes of a response about a job, in addition to the limit of the reply.
const MAX_JOB_BYTES: usize = 1 << 20;

/// How long the request that cancels a job may take.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// What is new about a job.
pub(super) enum JobNews {
    Queued(usize),
    Running,
    /// The response for the reader.
    Done(Value),
}

/// A job that the server works on. Dropping it cancels the job.
pub(super) struct RunningJob {
    http: Arc<EndpointHttp>,
    queue: &'static dyn JobQueue,
    url: Url,
    /// The body of the request.
    sent: Value,
    began: Instant,
    interval: Duration,
    /// The server no longer has the job.
    is_over: bool,
}

impl RunningJob {
    /// Reads the response to the request `sent`.
    ///
    /// # Errors
    /// Returns an error if the response has no job.
    pub(super) async fn begin(
        http: Arc<EndpointHttp>,
        queue: &'static dyn JobQueue,
        response: Response,
        sent: Value,
    ) -> Result<Self, ProviderFailure> {
        let (body, end) = http.read_up_to(response, MAX_JOB_BYTES).await;
        end?;
        let answer = json::parse_bytes(&body, JsonBounds::DOCUMENT).unwrap_or_default();
        let words = || http.scrub().clean(&format!("it has no job: {}", http.scrub().text_of_body(&body)));
        let id = queue.job_id(&answer).ok_or_else(|| ProviderFailure::InvalidResponse { words: words() })?;
        let url = queue.job_url(&http.endpoint, &id)?;
        let interval = http.endpoint.poll_interval;
        Ok(Self { http, queue, url, sent, began: Instant::now(), interval, is_over: false })
    }

    /// Waits for the next interval, and asks for the job.
    ///
    /// # Errors
    /// Returns an error if the job has failed, is unknown, or takes too long.
    pub(super) async fn next(&mut self) -> Result<JobNews, ProviderFailure> {
        if self.began.elapsed() > MAX_JOB_TIME {
            return Err(ProviderFailure::Timeout { wait: TimeoutPhase::FirstToken, limit: MAX_JOB_TIME });
        }
        tokio::time::sleep(self.interval).await;
        let most = self.http.endpoint.poll_interval.saturating_mul(MAX_INTERVAL_FACTOR);
        self.interval = self.interval.saturating_mul(5).checked_div(4).unwrap_or(most).min(most);
        let http = &self.http;
        let ask = OutgoingRequest { url: self.url.clone(), body: None };
        let response = http.send_with_retries(&ask, &mut RetryBudget::default()).await?;
        let limit = http.endpoint.max_reply_bytes.saturating_mul(2).saturating_add(MAX_JOB_BYTES);
        let (body, end) = http.read_up_to(response, limit).await;
        end?;
        let Ok(answer) = json::parse_bytes(&body, JsonBounds::DOCUMENT) else {
            return Err(ProviderFailure::InvalidResponse { words: http.scrub().text_of_body(&body) });
        };
        Ok(match self.queue.status(&answer, &http.scrub())? {
            JobStatus::Queued(place) => JobNews::Queued(place),
            JobStatus::Running => JobNews::Running,
            JobStatus::Done => {
                self.is_over = true;
                JobNews::Done(self.queue.reply(answer, &self.sent))
            }
        })
    }
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (http, url) = (Arc::clone(&self.http), self.url.clone());
            runtime.spawn(tokio::time::timeout(CANCEL_TIMEOUT, async move { http.delete(url).await }));
        }
    }
}
