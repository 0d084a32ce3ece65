//! One reply under way: it waits for its place, is asked for, and is read frame by frame.

use super::{
    Endpoint, Frame, ProviderFailure, ProviderKind, Request, TimeoutPhase, Timeouts,
    breaker::CircuitBreaker,
    decode::ReplyDecoder,
    http::{EndpointHttp, OutgoingRequest},
    turns,
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
const MOST_MODELS: usize = 256;

/// What all replies of one endpoint share.
#[derive(Debug)]
pub(super) struct EndpointState {
    pub(super) http: EndpointHttp,
    breaker: CircuitBreaker,
    /// Models that take no beginning of their own turn, as they have said.
    only_whole: Mutex<HashSet<String>>,
}

impl EndpointState {
    pub(super) fn new(kind: ProviderKind, endpoint: Endpoint) -> Self {
        Self {
            http: EndpointHttp::new(kind, endpoint),
            breaker: CircuitBreaker::default(),
            only_whole: Mutex::default(),
        }
    }

    fn only_whole(&self) -> MutexGuard<'_, HashSet<String>> {
        self.only_whole.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reply under way.
pub(super) struct ReplyStream {
    line: Arc<EndpointState>,
    request: Request,
    step: ReplyPhase,
    decoder: ReplyDecoder,
    /// Frames that have arrived and were not yet asked for.
    ready: VecDeque<Frame>,
    /// Comes after the frames that are ready, and is the last.
    failure: Option<ProviderFailure>,
    /// Text or reasoning has arrived.
    speaking: bool,
    /// The breaker let it through and was not told yet what came of it.
    is_watched: bool,
    /// That it fails says nothing of the endpoint to others.
    is_aside: bool,
    /// Its place among the replies of its key.
    place: Option<OwnedSemaphorePermit>,
}

enum ReplyPhase {
    Queue,
    Ask,
    Read(Response),
    Over,
}

impl ReplyStream {
    pub(super) fn new(line: Arc<EndpointState>, request: Request, is_aside: bool) -> Self {
        let is_refused = turns::is_begun(&request) && line.only_whole().contains(&request.model);
        let request = if is_refused { turns::asked_to_go_on(&request) } else { request };
        Self {
            decoder: decoder(&line.http, &request),
            line,
            request,
            step: ReplyPhase::Queue,
            ready: VecDeque::new(),
            failure: None,
            speaking: false,
            is_watched: false,
            is_aside,
            place: None,
        }
    }

    pub(super) async fn next(&mut self) -> Option<Result<Frame, ProviderFailure>> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                self.speaking |= matches!(frame, Frame::Text(_) | Frame::Reasoning(_));
                return Some(Ok(frame));
            }
            if let Some(failure) = self.failure.take() {
                self.end();
                return Some(Err(failure));
            }
            match &mut self.step {
                ReplyPhase::Queue => self.queue().await,
                ReplyPhase::Ask => self.ask().await,
                ReplyPhase::Read(response) => {
                    let (wait, limit) =
                        patience(&self.line.http.endpoint.timeouts, self.speaking, self.decoder.is_finished());
                    let piece = self.line.http.piece(response, wait, limit).await;
                    self.take(piece);
                }
                ReplyPhase::Over => return None,
            }
        }
    }

    async fn queue(&mut self) {
        self.place = self.line.http.endpoint.lane.enter().await;
        match self.line.breaker.pass(Instant::now()) {
            Ok(()) => (self.is_watched, self.step) = (true, ReplyPhase::Ask),
            Err(failure) => self.failure = Some(failure),
        }
    }

    async fn ask(&mut self) {
        let http = &self.line.http;
        let url = http.kind.dialect().reply_url(&http.endpoint, &self.request.model);
        let body = http.kind.dialect().body(&self.request, &http.endpoint).to_string();
        let answered = match url {
            Ok(url) => http.answer(&OutgoingRequest { url, body: Some(Bytes::from(body)) }).await,
            Err(failure) => Err(failure),
        };
        match answered {
            Ok(response) => self.step = ReplyPhase::Read(response),
            Err(failure) if failure.refuses_a_beginning() && turns::is_begun(&self.request) => self.ask_otherwise(),
            Err(failure) => self.fail(failure),
        }
    }

    /// The model takes no beginning of its own turn: it is asked to go on with it, now and the next time.
    fn ask_otherwise(&mut self) {
        let mut known = self.line.only_whole();
        if known.len() >= MOST_MODELS {
            known.clear();
        }
        known.insert(self.request.model.clone());
        drop(known);
        self.request = turns::asked_to_go_on(&self.request);
        self.decoder = decoder(&self.line.http, &self.request);
    }

    fn fail(&mut self, failure: ProviderFailure) {
        if std::mem::take(&mut self.is_watched) {
            match self.is_aside {
                true => self.line.breaker.given_up(),
                false => self.line.breaker.failed(&failure, Instant::now()),
            }
        }
        self.failure = Some(failure);
    }

    /// Decodes what arrived, or what it means that nothing more does.
    fn take(&mut self, piece: Result<Option<Bytes>, ProviderFailure>) {
        let mut frames = Vec::new();
        let result = match piece {
            Ok(Some(bytes)) => self.decoder.feed(&bytes, &mut frames),
            // Nothing is missing but the end.
            Err(_) if self.decoder.is_finished() => self.close(&mut frames),
            Err(failure) => Err(failure),
            Ok(None) => self.close(&mut frames),
        };
        if result.is_ok() && self.decoder.is_done() {
            self.linger();
        }
        self.ready.extend(frames);
        if self.is_watched && (self.decoder.is_finished() || self.ready.iter().any(is_speech)) {
            self.is_watched = false;
            self.line.breaker.went_well();
        }
        if let Err(failure) = result {
            self.fail(failure);
        }
    }

    fn close(&mut self, frames: &mut Vec<Frame>) -> Result<(), ProviderFailure> {
        self.end();
        self.decoder.end(frames)
    }

    /// Nothing more will be read: the next one may have the place.
    fn end(&mut self) {
        self.step = ReplyPhase::Over;
        self.place = None;
    }

    /// The reply is complete, so nobody waits any longer; but a connection is only used again when its body was read to
    /// the end, which is most often on its way.
    fn linger(&mut self) {
        self.place = None;
        if let ReplyPhase::Read(mut response) = std::mem::replace(&mut self.step, ReplyPhase::Over) {
            let limit = self.line.http.endpoint.timeouts.after_finish;
            tokio::spawn(tokio::time::timeout(limit, async move { while let Ok(Some(_)) = response.chunk().await {} }));
        }
    }
}

impl Drop for ReplyStream {
    fn drop(&mut self) {
        if self.is_watched {
            self.line.breaker.given_up();
        }
    }
}

fn decoder(http: &EndpointHttp, request: &Request) -> ReplyDecoder {
    let dialect = http.kind.dialect();
    ReplyDecoder::new(http.endpoint.max_reply_bytes, http.scrub(), dialect.reader(request), dialect.framing())
}

fn is_speech(frame: &Frame) -> bool {
    matches!(frame, Frame::Text(_) | Frame::Reasoning(_) | Frame::ToolCall(_) | Frame::Finish(_))
}

/// How long to wait for the next sign of life, and for what.
fn patience(timeouts: &Timeouts, speaking: bool, finished: bool) -> (TimeoutPhase, Duration) {
    match (speaking, finished) {
        (_, true) => (TimeoutPhase::Silence, timeouts.after_finish),
        (true, false) => (TimeoutPhase::Silence, timeouts.idle),
        (false, false) => (TimeoutPhase::FirstToken, timeouts.first_token),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_depends_on_how_far_the_reply_is() {
        let timeouts = Timeouts::default();
        assert_eq!(patience(&timeouts, false, false), (TimeoutPhase::FirstToken, timeouts.first_token));
        assert_eq!(patience(&timeouts, true, false), (TimeoutPhase::Silence, timeouts.idle));
        assert_eq!(patience(&timeouts, true, true), (TimeoutPhase::Silence, timeouts.after_finish));
    }
}
