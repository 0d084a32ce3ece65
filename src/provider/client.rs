//! The client of one endpoint, whatever kind it is.

use super::{
    Endpoint, Failure, FrameStream, Kind, ModelInfo, Request,
    http::Ask,
    reply::{Line, Reply},
};
use futures_util::{StreamExt, stream};
use reqwest::Url;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The longest list of models that is read, in bytes. The largest aggregators need less than one megabyte.
const MOST_LIST_BYTES: usize = 16 << 20;

/// A client of one endpoint. Cheap to clone; clones share their connections and what they know of the server.
#[derive(Debug, Clone)]
pub struct Client {
    pub(super) line: Arc<Line>,
}

impl Client {
    /// A client of `endpoint`, which speaks `kind`. Nothing is sent or built before the first request.
    pub fn new(kind: Kind, endpoint: Endpoint) -> Self {
        Self { line: Arc::new(Line::new(kind, endpoint)) }
    }

    /// What the server speaks.
    pub fn kind(&self) -> Kind {
        self.line.http.kind
    }

    /// The endpoint as it was given.
    pub fn endpoint(&self) -> &Endpoint {
        &self.line.http.endpoint
    }

    /// The body of a request, exactly as it is sent.
    pub fn wire_body(&self, request: &Request) -> Value {
        self.kind().dialect().body(request, self.endpoint())
    }

    /// The parameters that go with a request, in the words in which they were given: without those that such a server has
    /// no use for.
    pub fn wire_params(&self, request: &Request) -> Map<String, Value> {
        self.kind().dialect().params(request, self.endpoint())
    }

    /// The length of the context in tokens, where these parameters or the endpoint's own ask the server for one.
    pub fn context(&self, params: &Map<String, Value>) -> Option<usize> {
        let dialect = self.kind().dialect();
        let asked = dialect.context(params).or_else(|| dialect.context(&self.endpoint().extra))?;
        usize::try_from(asked).ok().filter(|tokens| *tokens > 0)
    }

    /// Asks for a reply. The request is sent when the stream is first polled, and when the endpoint's lane has a place;
    /// dropping the stream ends it at once. Needs a tokio runtime.
    pub fn stream(&self, request: &Request) -> FrameStream {
        let reply = Reply::new(Arc::clone(&self.line), request.clone());
        stream::unfold(reply, |mut reply| async move { reply.next().await.map(|item| (item, reply)) }).fuse().boxed()
    }

    /// The models that the server offers, in its order.
    ///
    /// # Errors
    /// As for a reply; [`Failure::Garbled`] when the answer holds no list.
    pub async fn models(&self) -> Result<Vec<ModelInfo>, Failure> {
        let dialect = self.kind().dialect();
        let mut urls = dialect.list_urls(self.endpoint())?.into_iter();
        let mut told = Vec::new();
        let mut head = String::new();
        if let Some(url) = urls.next() {
            let body = self.read(url).await?;
            told.push(serde_json::from_slice(&body).unwrap_or_default());
            head = self.line.http.scrub().of_body(&body);
        }
        for url in urls {
            let body = self.read(url).await.unwrap_or_default();
            told.push(serde_json::from_slice(&body).unwrap_or_default());
        }
        let words = || self.line.http.scrub().clean(&format!("it is no list of models, it begins: {head}"));
        dialect.models(&told).ok_or_else(|| Failure::Garbled { words: words() })
    }

    async fn read(&self, url: Url) -> Result<Vec<u8>, Failure> {
        let http = &self.line.http;
        let response = http.answer(&Ask { url, body: None }).await?;
        let (body, end) = http.read_up_to(response, MOST_LIST_BYTES).await;
        end.map(|()| body)
    }
}
