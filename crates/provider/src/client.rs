//! The client of one endpoint, whatever kind it is.

use super::{
    Endpoint, FrameStream, ModelInfo, ProviderFailure, ProviderKind, Request, TemplatedPrompt,
    http::OutgoingRequest,
    reply::{EndpointState, ReplyStream},
};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use reqwest::Url;
use serde_json::{Map, Value};
use std::{sync::Arc, time::Duration};

/// The longest list of models that is read, in bytes. The largest aggregators need less than one megabyte.
const MAX_LIST_BYTES: usize = 16 << 20;

/// How long a count is waited for.
const TOKEN_COUNT_TIMEOUT: Duration = Duration::from_secs(2);

/// A client of one endpoint. Cheap to clone; clones share their connections and what they know of the server.
#[derive(Debug, Clone)]
pub struct ProviderClient {
    pub(super) shared: Arc<EndpointState>,
}

impl ProviderClient {
    /// A client of `endpoint`, which speaks `kind`. Nothing is sent or built before the first request.
    pub fn new(kind: ProviderKind, endpoint: Endpoint) -> Self {
        Self { shared: Arc::new(EndpointState::new(kind, endpoint)) }
    }

    /// What the server speaks.
    pub fn kind(&self) -> ProviderKind {
        self.shared.http.kind
    }

    /// The endpoint as it was given.
    pub fn endpoint(&self) -> &Endpoint {
        &self.shared.http.endpoint
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
    pub fn context_size(&self, params: &Map<String, Value>) -> Option<usize> {
        let dialect = self.kind().dialect();
        let asked = dialect.context_size(params).or_else(|| dialect.context_size(&self.endpoint().extra))?;
        usize::try_from(asked).ok().filter(|tokens| *tokens > 0)
    }

    /// Whether a model can be handed the beginning of its own turn with these parameters, as far as the kind knows.
    pub fn supports_prefill(&self, params: &Map<String, Value>) -> bool {
        self.kind().dialect().supports_prefill(params, self.endpoint())
    }

    /// Whether such a server is told of tools in a field of its own; one that completes a text is not.
    pub fn supports_tools(&self) -> bool {
        !self.kind().dialect().is_text_completion()
    }

    /// The prompt as the one text that is sent, where the server completes a text.
    pub fn written(&self, request: &Request) -> Option<TemplatedPrompt> {
        self.kind().dialect().is_text_completion().then(|| self.endpoint().template.write(&request.messages))
    }

    /// Asks for a reply. The request is sent when the stream is first polled, and when the endpoint's lane has a place;
    /// dropping the stream ends it at once. Needs a tokio runtime.
    pub fn stream(&self, request: &Request) -> FrameStream {
        self.stream_with(request, false)
    }

    /// Asks for an answer that nobody waits for in a story: as for a reply, but that it fails lets nobody else find the endpoint
    /// at rest.
    pub fn stream_side_call(&self, request: &Request) -> FrameStream {
        self.stream_with(request, true)
    }

    fn stream_with(&self, request: &Request, is_aside: bool) -> FrameStream {
        let reply = ReplyStream::new(Arc::clone(&self.shared), request.clone(), is_aside);
        stream::unfold(reply, |mut reply| async move { reply.next().await.map(|item| (item, reply)) }).fuse().boxed()
    }

    /// The models that the server offers, in its order.
    ///
    /// # Errors
    /// As for a reply; [`ProviderFailure::Garbled`] when the answer holds no list.
    pub async fn models(&self) -> Result<Vec<ModelInfo>, ProviderFailure> {
        let dialect = self.kind().dialect();
        let mut urls = dialect.model_list_urls(self.endpoint())?.into_iter();
        let mut told = Vec::new();
        let mut head = String::new();
        if let Some(url) = urls.next() {
            let body = self.fetch(url).await?;
            told.push(serde_json::from_slice(&body).unwrap_or_default());
            head = self.shared.http.scrub().text_of_body(&body);
        }
        for url in urls {
            let body = self.fetch(url).await.unwrap_or_default();
            told.push(serde_json::from_slice(&body).unwrap_or_default());
        }
        let words = || self.shared.http.scrub().clean(&format!("it is no list of models, it begins: {head}"));
        let models = dialect.parse_models(&told).ok_or_else(|| ProviderFailure::Garbled { words: words() })?;
        if let Some(template) = models.iter().find_map(|model| model.template.as_deref()) {
            self.endpoint().template.set_server_template(template);
        }
        Ok(models)
    }

    /// The tokens of a prompt, where the server counts them before it is asked for a reply. A server that does not answer
    /// soon is not waited for.
    pub async fn count(&self, request: &Request) -> Option<u64> {
        let http = &self.shared.http;
        let dialect = self.kind().dialect();
        let (url, asked) = dialect.token_count_request(request, self.endpoint())?;
        let ask = OutgoingRequest { url, body: Some(Bytes::from(asked.to_string())) };
        let body = async {
            let response = http.send_once(&ask).await.ok()?;
            let (body, end) = http.read_up_to(response, MAX_LIST_BYTES).await;
            end.ok().map(|()| body)
        };
        let body = tokio::time::timeout(TOKEN_COUNT_TIMEOUT, body).await.ok()??;
        dialect.parse_token_count(&serde_json::from_slice(&body).ok()?)
    }

    async fn fetch(&self, url: Url) -> Result<Vec<u8>, ProviderFailure> {
        let http = &self.shared.http;
        let response = http.send_with_retries(&OutgoingRequest { url, body: None }).await?;
        let (body, end) = http.read_up_to(response, MAX_LIST_BYTES).await;
        end.map(|()| body)
    }
}
