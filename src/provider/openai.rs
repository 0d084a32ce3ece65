//! The OpenAI-compatible chat API: `POST {base_url}/chat/completions`, streamed, and `GET {base_url}/models`.

use super::{
    Endpoint, Failure, Frame, FrameStream, ModelInfo, Request, Timeouts, Wait,
    client::{Ask, Http},
    decode::Decoder,
    models, wire_body,
};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use reqwest::Response;
use std::{collections::VecDeque, sync::Arc, time::Duration};

/// The longest list of models that is read, in bytes. The largest aggregators need less than one megabyte.
const MOST_LIST_BYTES: usize = 16 << 20;

/// A client of one endpoint. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub struct OpenAi {
    http: Arc<Http>,
}

impl OpenAi {
    /// A client of `endpoint`. Nothing is sent or built before the first request.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { http: Arc::new(Http::new(endpoint)) }
    }

    /// The endpoint as it was given.
    pub fn endpoint(&self) -> &Endpoint {
        &self.http.endpoint
    }

    /// Asks for a reply. The request is sent when the stream is first polled; dropping the stream ends it at once. Needs
    /// a tokio runtime.
    pub fn stream(&self, request: &Request) -> FrameStream {
        let body = Bytes::from(wire_body(request, &self.http.endpoint).to_string());
        let reply = Reply {
            decoder: Decoder::new(self.http.endpoint.max_reply_bytes, self.http.scrub()),
            http: Arc::clone(&self.http),
            step: Step::Ask(body),
            ready: VecDeque::new(),
            failure: None,
            speaking: false,
        };
        stream::unfold(reply, |mut reply| async move { reply.next().await.map(|item| (item, reply)) }).fuse().boxed()
    }

    /// The models that the server offers, in its order.
    ///
    /// # Errors
    /// As for a reply; [`Failure::Garbled`] when the answer holds no list.
    pub async fn models(&self) -> Result<Vec<ModelInfo>, Failure> {
        let response = self.http.answer(&Ask { path: &["models"], body: None }).await?;
        let (body, end) = self.http.read_up_to(response, MOST_LIST_BYTES).await;
        end?;
        let list = serde_json::from_slice(&body).ok().as_ref().and_then(models::parse);
        list.ok_or_else(|| {
            let head = self.http.scrub().of_body(&body);
            Failure::Garbled { words: self.http.scrub().clean(&format!("it is no list of models, it begins: {head}")) }
        })
    }
}

/// A reply under way.
struct Reply {
    http: Arc<Http>,
    step: Step,
    decoder: Decoder,
    /// Frames that have arrived and were not yet asked for.
    ready: VecDeque<Frame>,
    /// Comes after the frames that are ready, and is the last.
    failure: Option<Failure>,
    /// Text or reasoning has arrived.
    speaking: bool,
}

enum Step {
    Ask(Bytes),
    Read(Response),
    Over,
}

impl Reply {
    async fn next(&mut self) -> Option<Result<Frame, Failure>> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                self.speaking |= matches!(frame, Frame::Text(_) | Frame::Reasoning(_));
                return Some(Ok(frame));
            }
            if let Some(failure) = self.failure.take() {
                self.step = Step::Over;
                return Some(Err(failure));
            }
            match &mut self.step {
                Step::Ask(body) => {
                    let ask = Ask { path: &["chat", "completions"], body: Some(std::mem::take(body)) };
                    match self.http.answer(&ask).await {
                        Ok(response) => self.step = Step::Read(response),
                        Err(failure) => self.failure = Some(failure),
                    }
                }
                Step::Read(response) => {
                    let (wait, limit) =
                        patience(&self.http.endpoint.timeouts, self.speaking, self.decoder.is_finished());
                    let piece = self.http.piece(response, wait, limit).await;
                    self.take(piece);
                }
                Step::Over => return None,
            }
        }
    }

    /// Decodes what arrived, or what it means that nothing more does.
    fn take(&mut self, piece: Result<Option<Bytes>, Failure>) {
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
        self.failure = result.err();
    }

    fn close(&mut self, frames: &mut Vec<Frame>) -> Result<(), Failure> {
        self.step = Step::Over;
        self.decoder.end(frames)
    }

    /// The reply is complete, so nobody waits any longer; but a connection is only used again when its body was read to
    /// the end, which is most often on its way.
    fn linger(&mut self) {
        if let Step::Read(mut response) = std::mem::replace(&mut self.step, Step::Over) {
            let limit = self.http.endpoint.timeouts.after_finish;
            tokio::spawn(tokio::time::timeout(limit, async move { while let Ok(Some(_)) = response.chunk().await {} }));
        }
    }
}

/// How long to wait for the next sign of life, and for what.
fn patience(timeouts: &Timeouts, speaking: bool, finished: bool) -> (Wait, Duration) {
    match (speaking, finished) {
        (_, true) => (Wait::Silence, timeouts.after_finish),
        (true, false) => (Wait::Silence, timeouts.idle),
        (false, false) => (Wait::FirstToken, timeouts.first_token),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_depends_on_how_far_the_reply_is() {
        let timeouts = Timeouts::default();
        assert_eq!(patience(&timeouts, false, false), (Wait::FirstToken, timeouts.first_token));
        assert_eq!(patience(&timeouts, true, false), (Wait::Silence, timeouts.idle));
        assert_eq!(patience(&timeouts, true, true), (Wait::Silence, timeouts.after_finish));
    }
}
