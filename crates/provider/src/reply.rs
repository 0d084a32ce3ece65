//! One reply under way: it waits for its place, is asked for, and is read frame by frame.

use super::{
    Endpoint, Frame, ProviderFailure, ProviderKind, Request, TimeoutPhase, Timeouts, alternation,
    breaker::CircuitBreaker,
    decode::ReplyDecoder,
    http::{EndpointHttp, OutgoingRequest},
};
use bytes::Bytes;
use reqwest::Response;
use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::OwnedSemaphorePermit, time::Instant};

/// So many models are remembered that take no beginning of their own turn; then it is forgotten and learned again.
const MAX_NO_PREFILL_MODELS: usize = 256;

/// What all replies of one endpoint share.
#[derive(Debug)]
pub(super) struct EndpointState {
    pub(super) http: EndpointHttp,
    breaker: CircuitBreaker,
    /// Models that take no beginning of their own turn, as they have said.
    no_prefill_models: Mutex<HashSet<String>>,
}

impl EndpointState {
    pub(super) fn new(kind: ProviderKind, endpoint: Endpoint) -> Self {
        Self {
            http: EndpointHttp::new(kind, endpoint),
            breaker: CircuitBreaker::default(),
            no_prefill_models: Mutex::default(),
        }
    }

    fn no_prefill_models(&self) -> MutexGuard<'_, HashSet<String>> {
        self.no_prefill_models.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reply under way.
pub(super) struct ReplyStream {
    shared: Arc<EndpointState>,
    request: Request,
    phase: ReplyPhase,
    decoder: ReplyDecoder,
    /// Frames that have arrived and were not yet asked for.
    ready: VecDeque<Frame>,
    /// Comes after the frames that are ready, and is the last.
    failure: Option<ProviderFailure>,
    /// Text or reasoning has arrived.
    has_content: bool,
    /// The breaker let it through and was not told yet what came of it.
    awaits_breaker: bool,
    /// That it fails says nothing of the endpoint to others.
    is_side_call: bool,
    /// Its place among the replies of its key.
    lane_permit: Option<OwnedSemaphorePermit>,
}

enum ReplyPhase {
    Queue,
    Send,
    Read(Response),
    Done,
}

impl ReplyStream {
    pub(super) fn new(shared: Arc<EndpointState>, request: Request, is_side_call: bool) -> Self {
        let is_refused = alternation::has_prefill(&request) && shared.no_prefill_models().contains(&request.model);
        let request = if is_refused { alternation::with_continue_instruction(&request) } else { request };
        Self {
            decoder: decoder(&shared.http, &request),
            shared,
            request,
            phase: ReplyPhase::Queue,
            ready: VecDeque::new(),
            failure: None,
            has_content: false,
            awaits_breaker: false,
            is_side_call,
            lane_permit: None,
        }
    }

    pub(super) async fn next(&mut self) -> Option<Result<Frame, ProviderFailure>> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                self.has_content |= matches!(frame, Frame::Text(_) | Frame::Reasoning(_));
                return Some(Ok(frame));
            }
            if let Some(failure) = self.failure.take() {
                self.release();
                return Some(Err(failure));
            }
            match &mut self.phase {
                ReplyPhase::Queue => self.wait_for_lane().await,
                ReplyPhase::Send => self.send().await,
                ReplyPhase::Read(response) => {
                    let (wait, limit) =
                        next_timeout(&self.shared.http.endpoint.timeouts, self.has_content, self.decoder.is_finished());
                    let piece = self.shared.http.next_chunk(response, wait, limit).await;
                    self.accept(piece);
                }
                ReplyPhase::Done => return None,
            }
        }
    }

    async fn wait_for_lane(&mut self) {
        self.lane_permit = self.shared.http.endpoint.lane.acquire().await;
        match self.shared.breaker.try_acquire(Instant::now()) {
            Ok(()) => (self.awaits_breaker, self.phase) = (true, ReplyPhase::Send),
            Err(failure) => self.failure = Some(failure),
        }
    }

    async fn send(&mut self) {
        let http = &self.shared.http;
        let url = http.kind.dialect().reply_url(&http.endpoint, &self.request.model);
        let body = http.kind.dialect().body(&self.request, &http.endpoint).to_string();
        let answered = match url {
            Ok(url) => http.send_with_retries(&OutgoingRequest { url, body: Some(Bytes::from(body)) }).await,
            Err(failure) => Err(failure),
        };
        match answered {
            Ok(response) => self.phase = ReplyPhase::Read(response),
            Err(failure) if failure.refuses_prefill() && alternation::has_prefill(&self.request) => {
                self.retry_without_prefill()
            }
            Err(failure) => self.fail(failure),
        }
    }

    /// The model takes no beginning of its own turn: it is asked to go on with it, now and the next time.
    fn retry_without_prefill(&mut self) {
        let mut known = self.shared.no_prefill_models();
        if known.len() >= MAX_NO_PREFILL_MODELS {
            known.clear();
        }
        known.insert(self.request.model.clone());
        drop(known);
        self.request = alternation::with_continue_instruction(&self.request);
        self.decoder = decoder(&self.shared.http, &self.request);
    }

    fn fail(&mut self, failure: ProviderFailure) {
        if std::mem::take(&mut self.awaits_breaker) {
            match self.is_side_call {
                true => self.shared.breaker.abandon_probe(),
                false => self.shared.breaker.record_failure(&failure, Instant::now()),
            }
        }
        self.failure = Some(failure);
    }

    /// Decodes what arrived, or what it means that nothing more does.
    fn accept(&mut self, piece: Result<Option<Bytes>, ProviderFailure>) {
        let mut frames = Vec::new();
        let result = match piece {
            Ok(Some(bytes)) => self.decoder.feed(&bytes, &mut frames),
            // Nothing is missing but the end.
            Err(_) if self.decoder.is_finished() => self.finish_decoder(&mut frames),
            Err(failure) => Err(failure),
            Ok(None) => self.finish_decoder(&mut frames),
        };
        if result.is_ok() && self.decoder.is_done() {
            self.drain_connection();
        }
        self.ready.extend(frames);
        if self.awaits_breaker && (self.decoder.is_finished() || self.ready.iter().any(is_content)) {
            self.awaits_breaker = false;
            self.shared.breaker.record_success();
        }
        if let Err(failure) = result {
            self.fail(failure);
        }
    }

    fn finish_decoder(&mut self, frames: &mut Vec<Frame>) -> Result<(), ProviderFailure> {
        self.release();
        self.decoder.finish(frames)
    }

    /// Nothing more will be read: the next one may have the place.
    fn release(&mut self) {
        self.phase = ReplyPhase::Done;
        self.lane_permit = None;
    }

    /// The reply is complete, so nobody waits any longer; but a connection is only used again when its body was read to
    /// the end, which is most often on its way.
    fn drain_connection(&mut self) {
        self.lane_permit = None;
        if let ReplyPhase::Read(mut response) = std::mem::replace(&mut self.phase, ReplyPhase::Done) {
            let limit = self.shared.http.endpoint.timeouts.after_finish;
            tokio::spawn(tokio::time::timeout(limit, async move { while let Ok(Some(_)) = response.chunk().await {} }));
        }
    }
}

impl Drop for ReplyStream {
    fn drop(&mut self) {
        if self.awaits_breaker {
            self.shared.breaker.abandon_probe();
        }
    }
}

fn decoder(http: &EndpointHttp, request: &Request) -> ReplyDecoder {
    let dialect = http.kind.dialect();
    ReplyDecoder::new(http.endpoint.max_reply_bytes, http.scrub(), dialect.reader(request), dialect.framing())
}

fn is_content(frame: &Frame) -> bool {
    matches!(frame, Frame::Text(_) | Frame::Reasoning(_) | Frame::ToolCall(_) | Frame::Finish(_))
}

/// How long to wait for the next sign of life, and for what.
fn next_timeout(timeouts: &Timeouts, speaking: bool, finished: bool) -> (TimeoutPhase, Duration) {
    match (speaking, finished) {
        (_, true) => (TimeoutPhase::Idle, timeouts.after_finish),
        (true, false) => (TimeoutPhase::Idle, timeouts.idle),
        (false, false) => (TimeoutPhase::FirstToken, timeouts.first_token),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reply_stream_timeout_depends_on_phase() {
        let timeouts = Timeouts::default();
        assert_eq!(next_timeout(&timeouts, false, false), (TimeoutPhase::FirstToken, timeouts.first_token));
        assert_eq!(next_timeout(&timeouts, true, false), (TimeoutPhase::Idle, timeouts.idle));
        assert_eq!(next_timeout(&timeouts, true, true), (TimeoutPhase::Idle, timeouts.after_finish));
    }
}
