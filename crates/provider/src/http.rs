//! The HTTP client of one endpoint: sends requests with retries, and reads bodies with timeouts and limits.

use crate::tls;

use super::{
    Endpoint, ProviderFailure, ProviderKind, TimeoutPhase, UnreachableCause, error_detail::ErrorDetail,
    error_text::ErrorScrubber, retry::RetryBudget, retry_after, utf16_body,
};
use bytes::Bytes;
use clotho_config::Secret;
use reqwest::{
    Client, Method, Response, Url,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION},
    redirect,
};
use std::{error::Error, sync::OnceLock, time::Duration};
use tokio::time::{Instant, timeout};

/// Maximum bytes of an error body that are searched for a message.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// The client of an endpoint. Built on first use, because that reads the system's certificates.
#[derive(Debug)]
pub(super) struct EndpointHttp {
    pub(super) kind: ProviderKind,
    pub(super) endpoint: Endpoint,
    client: OnceLock<Result<Client, ProviderFailure>>,
}

/// A request to send.
#[derive(Debug)]
pub(super) struct OutgoingRequest {
    pub(super) url: Url,
    /// JSON for a POST request; without it a GET request is sent.
    pub(super) body: Option<Bytes>,
}

/// A request that failed.
#[derive(Debug)]
pub(super) struct FailedRequest {
    pub(super) failure: ProviderFailure,
    /// What the server said, if it answered.
    pub(super) detail: Option<Box<ErrorDetail>>,
}

impl From<ProviderFailure> for FailedRequest {
    fn from(failure: ProviderFailure) -> Self {
        Self { failure, detail: None }
    }
}

impl From<FailedRequest> for ProviderFailure {
    fn from(failed: FailedRequest) -> Self {
        failed.failure
    }
}

impl EndpointHttp {
    pub(super) fn new(kind: ProviderKind, endpoint: Endpoint) -> Self {
        Self { kind, endpoint, client: OnceLock::new() }
    }

    pub(super) fn scrub(&self) -> ErrorScrubber {
        ErrorScrubber::new(self.endpoint.key.clone())
    }

    /// Sends a request with retries and returns the successful response, whose body is not yet read.
    pub(super) async fn send_with_retries(
        &self,
        ask: &OutgoingRequest,
        budget: &mut RetryBudget,
    ) -> Result<Response, FailedRequest> {
        loop {
            budget.start(Instant::now());
            let failed = match self.send_once(ask).await {
                Ok(response) => return Ok(response),
                Err(failed) => failed,
            };
            let Some(wait) = self.retry_delay(budget, &failed.failure) else { return Err(failed) };
            tokio::time::sleep(wait).await;
        }
    }

    /// Returns the delay before the request is sent again after `failure`, and counts that retry. `None` = give up.
    pub(super) fn retry_delay(&self, budget: &mut RetryBudget, failure: &ProviderFailure) -> Option<Duration> {
        let wait = budget.next_delay(&self.endpoint.retries, failure, Instant::now())?;
        let (provider, code) = (&self.endpoint.id, failure.code());
        tracing::info!(provider, code, %failure, ?wait, "sending the request to the model server again");
        Some(wait)
    }

    /// Sends a request once, without retries.
    pub(super) async fn send_once(&self, ask: &OutgoingRequest) -> Result<Response, FailedRequest> {
        let client = self.client.get_or_init(|| build(&self.endpoint, &ask.url)).as_ref().map_err(Clone::clone)?;
        let method = if ask.body.is_some() { Method::POST } else { Method::GET };
        let mut request = client.request(method, ask.url.clone()).headers(self.headers()?);
        if let Some(body) = &ask.body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.clone());
        }
        let limit = self.endpoint.timeouts.first_token;
        let sent = timeout(limit, request.send()).await;
        let response = sent
            .map_err(|_| ProviderFailure::Timeout { wait: TimeoutPhase::FirstToken, limit })?
            .map_err(|error| self.transport_failure(&error))?;
        if response.status().is_success() { Ok(response) } else { Err(self.status_failure(response).await) }
    }

    /// Cancels a job, without retries.
    pub(super) async fn delete(&self, url: Url) -> Result<(), ProviderFailure> {
        let client = self.client.get_or_init(|| build(&self.endpoint, &url)).as_ref().map_err(Clone::clone)?;
        let sent = client.delete(url).headers(self.headers()?).send().await;
        sent.map(drop).map_err(|error| self.transport_failure(&error))
    }

    fn headers(&self) -> Result<HeaderMap, ProviderFailure> {
        let mut headers = HeaderMap::new();
        let accept = "text/event-stream, application/x-ndjson, application/json";
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        for (name, value) in self.kind.dialect().headers() {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let own_key = self.endpoint.key.as_ref().map(Secret::expose).filter(|key| !key.is_empty());
        if let Some(key) = own_key.or_else(|| self.kind.dialect().anonymous_key()) {
            let (name, before) = self.kind.dialect().key_header();
            let value = HeaderValue::from_str(&format!("{before}{key}"));
            let wrong = |_| ProviderFailure::Misconfigured {
                words: "the key has characters that are not allowed in a header".to_owned(),
            };
            let mut value = value.map_err(wrong)?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        Ok(headers)
    }

    /// Converts an error before any response to a failure.
    fn transport_failure(&self, error: &reqwest::Error) -> ProviderFailure {
        if error.is_connect() && error.is_timeout() {
            return ProviderFailure::Timeout { wait: TimeoutPhase::Connect, limit: self.endpoint.timeouts.connect };
        }
        let words = self.scrub().clean(&root_cause(error));
        ProviderFailure::Unreachable { words, cause: UnreachableCause::from_error(error) }
    }

    /// Converts a response with a status other than 2xx to a failure.
    async fn status_failure(&self, response: Response) -> FailedRequest {
        let status = response.status();
        let headers = response.headers().clone();
        if status.is_redirection() {
            let target = headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or("nowhere");
            let words = self.scrub().clean(&format!("it redirects to {target}"));
            return ProviderFailure::from_status(status.as_u16(), words, None).into();
        }
        // A truncated or endless body must not hide the status.
        let (body, _) = self.read_up_to(response, MAX_ERROR_BYTES).await;
        let body = utf16_body::convert_whole(body);
        let (detail, error) = ErrorDetail::from_body(status.as_u16(), &body);
        let wait = retry_after::of_response(&headers, error.as_ref(), status.as_u16() == 429);
        let words = self.scrub().text_of_body(&body);
        let failure = ProviderFailure::from_error(&detail, error.as_ref(), words, wait);
        FailedRequest { failure, detail: Some(Box::new(detail)) }
    }

    /// Reads the body of `response`. Also returns the reason if it ends early.
    pub(super) async fn read_up_to(
        &self,
        mut response: Response,
        most: usize,
    ) -> (Vec<u8>, Result<(), ProviderFailure>) {
        let mut body = Vec::new();
        loop {
            match self.next_chunk(&mut response, TimeoutPhase::Idle, self.endpoint.timeouts.idle).await {
                Ok(Some(piece)) if body.len().saturating_add(piece.len()) > most => {
                    body.extend(piece.iter().take(most.saturating_sub(body.len())));
                    return (body, Err(ProviderFailure::TooLarge { limit: most }));
                }
                Ok(Some(piece)) => body.extend_from_slice(&piece),
                Ok(None) => return (body, Ok(())),
                Err(failure) => return (body, Err(failure)),
            }
        }
    }

    /// Reads the next bytes of a body, with a timeout. Returns `None` at its end.
    pub(super) async fn next_chunk(
        &self,
        response: &mut Response,
        wait: TimeoutPhase,
        limit: Duration,
    ) -> Result<Option<Bytes>, ProviderFailure> {
        let piece = timeout(limit, response.chunk()).await.map_err(|_| ProviderFailure::Timeout { wait, limit })?;
        piece.map_err(|error| {
            tracing::debug!(provider = self.endpoint.id, cause = root_cause(&error), "an answer was incomplete");
            ProviderFailure::CutOff
        })
    }
}

/// Builds a client. It follows no redirects, because only the configured address is trusted, and uses no proxy for a
/// server on this machine.
fn build(endpoint: &Endpoint, url: &Url) -> Result<Client, ProviderFailure> {
    tls::install_crypto_provider();
    let common = || {
        let builder = Client::builder()
            .user_agent(concat!("clotho/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .connect_timeout(endpoint.timeouts.connect)
            .tcp_nodelay(true);
        if Endpoint::is_loopback(url) { builder.no_proxy() } else { builder }
    };
    let bundled = || Ok(common().tls_backend_preconfigured(tls::client_config()?).build()?);
    // Plain HTTP needs no certificates, and building the default client fails on a machine without any.
    let built: Result<_, Box<dyn Error>> =
        if url.scheme() == "https" { common().build().or_else(|_| bundled()) } else { bundled() };
    built.map_err(|error| ProviderFailure::Misconfigured { words: error.to_string() })
}

/// Returns the innermost cause, because the outer ones repeat the address and say less.
fn root_cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
