//! The client of one endpoint, of any kind.

use super::{
    Endpoint, FrameStream, ModelInfo, ParameterChange, ProviderFailure, ProviderKind, Request, TemplatedPrompt,
    http::OutgoingRequest,
    json,
    reply::{EndpointState, ReplyStream},
    retry::RetryBudget,
};
use bytes::Bytes;
use clotho_core::json_scan::JsonBounds;
use futures_util::{StreamExt, stream};
use reqwest::Url;
use serde_json::{Map, Value};
use std::{sync::Arc, time::Duration};

/// Maximum size of a model list in bytes. The largest aggregators need less than one megabyte.
const MAX_LIST_BYTES: usize = 16 << 20;

/// How long to wait for a token count.
const TOKEN_COUNT_TIMEOUT: Duration = Duration::from_secs(2);

/// A client of one endpoint. Cheap to clone; clones share connections and what they have learned about the server.
#[derive(Debug, Clone)]
pub struct ProviderClient {
    pub(super) shared: Arc<EndpointState>,
}

impl ProviderClient {
    /// Creates a client. Nothing is sent or built before the first request.
    pub fn new(kind: ProviderKind, endpoint: Endpoint) -> Self {
        Self { shared: Arc::new(EndpointState::new(kind, endpoint)) }
    }

    /// Returns the kind of server.
    pub fn kind(&self) -> ProviderKind {
        self.shared.http.kind
    }

    /// Returns the endpoint's configuration.
    pub fn endpoint(&self) -> &Endpoint {
        &self.shared.http.endpoint
    }

    /// Returns the body of a request exactly as it is sent.
    pub fn wire_body(&self, request: &Request) -> Value {
        self.shared.body(&self.shared.translate(request), &[]).0
    }

    /// Returns the parameters of a request under their original names, without those that this kind of server cannot
    /// use.
    pub fn wire_params(&self, request: &Request) -> Map<String, Value> {
        self.shared.params(request).0
    }

    /// Returns the parameters of a request as [`crate::Frame::ParametersChanged`] changed them.
    pub fn changed_params(&self, request: &Request, changes: &[ParameterChange]) -> Map<String, Value> {
        self.shared.changed_params(request, changes)
    }

    /// Returns how the parameters that are sent differ from those of a request, because the server refuses some.
    pub fn parameter_changes(&self, request: &Request) -> Vec<ParameterChange> {
        self.shared.params(request).1
    }

    /// Returns those of some parameters that change something and that a model of this server does not take, by name.
    /// Only parameters of [`clotho_core::parameters`] are known; servers that are not known take all.
    pub fn not_taken(&self, model: &str, params: &Map<String, Value>) -> Vec<&'static str> {
        self.shared.parameter_dialect().not_taken(model, params)
    }

    /// Returns whether a model of this server takes a parameter, as far as the kind knows.
    pub fn takes(&self, model: &str, parameter: &str) -> bool {
        self.shared.parameter_dialect().takes(model, parameter)
    }

    /// Returns whether the server has defaults of its own that are not neutral, so that a preset has to tell it that
    /// a sampler is off.
    pub fn has_own_defaults(&self) -> bool {
        self.shared.parameter_dialect().has_own_defaults()
    }

    /// Returns the context length in tokens that the parameters or the endpoint request from the server.
    pub fn context_size(&self, params: &Map<String, Value>) -> Option<usize> {
        let dialect = self.kind().dialect();
        let asked = dialect.context_size(params).or_else(|| dialect.context_size(&self.endpoint().extra))?;
        usize::try_from(asked).ok().filter(|tokens| *tokens > 0)
    }

    /// Returns whether a model accepts a prefill with these parameters, as far as the kind knows.
    pub fn supports_prefill(&self, params: &Map<String, Value>) -> bool {
        self.kind().dialect().supports_prefill(params, self.endpoint())
    }

    /// Returns whether the kind sends tools in their own field. Text completion servers do not.
    pub fn supports_tools(&self) -> bool {
        !self.kind().dialect().is_text_completion()
    }

    /// Returns the prompt as text, if the server completes text. The template runs on a thread of its own, because it
    /// may take two seconds; after that, it is not run again. Needs a tokio runtime.
    pub async fn render_template(&self, request: &Request) -> Option<TemplatedPrompt> {
        if !self.kind().dialect().is_text_completion() {
            return None;
        }
        let template = self.endpoint().template.clone();
        let messages = request.messages.clone();
        tokio::task::spawn_blocking(move || template.render(&messages)).await.ok()
    }

    /// Requests a reply. The request is sent when the stream is first polled and the concurrency limit of its endpoint
    /// allows it. Dropping
    /// the stream ends the request at once. Needs a tokio runtime.
    pub fn stream(&self, request: &Request) -> FrameStream {
        self.stream_with(request, false)
    }

    /// Requests a reply that is not part of a story. Works like [`Self::stream`], but a failure does not open the
    /// circuit breaker for others.
    pub fn stream_side_call(&self, request: &Request) -> FrameStream {
        self.stream_with(request, true)
    }

    fn stream_with(&self, request: &Request, is_aside: bool) -> FrameStream {
        let reply = ReplyStream::new(Arc::clone(&self.shared), request.clone(), is_aside);
        stream::unfold(reply, |mut reply| async move { reply.next().await.map(|item| (item, reply)) }).fuse().boxed()
    }

    /// Returns the models of the server, in its order.
    ///
    /// # Errors
    /// Returns an error as for a reply, or [`ProviderFailure::InvalidResponse`] if the response contains no list.
    pub async fn models(&self) -> Result<Vec<ModelInfo>, ProviderFailure> {
        let dialect = self.kind().dialect();
        let mut urls = dialect.model_list_urls(self.endpoint())?.into_iter();
        let mut more = Vec::new();
        let mut listed = Vec::new();
        let mut head = String::new();
        if let Some(url) = urls.next() {
            let body = self.fetch(url).await?;
            let first = json::parse_bytes(&body, JsonBounds::DOCUMENT).unwrap_or_default();
            more = dialect.more_model_list_urls(self.endpoint(), &first);
            head = self.shared.http.scrub().text_of_body(&body);
            listed.push(body);
        }
        for url in urls.chain(more) {
            listed.push(self.fetch(url).await.unwrap_or_default());
        }
        let words = || self.shared.http.scrub().clean(&format!("it is not a list of models, it begins with: {head}"));
        let models = self
            .kind()
            .parse_model_lists(&listed)
            .ok_or_else(|| ProviderFailure::InvalidResponse { words: words() })?;
        if let Some(source) = models.iter().find_map(|model| model.template.clone()) {
            // Testing it may take seconds.
            let template = self.endpoint().template.clone();
            _ = tokio::task::spawn_blocking(move || template.set_server_template(&source)).await;
        }
        Ok(models)
    }

    /// Returns the number of tokens of a prompt, if the server can count them. Gives up after a short timeout.
    pub async fn count_tokens(&self, request: &Request) -> Option<u64> {
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
        dialect.parse_token_count(&json::parse_bytes(&body, JsonBounds::DOCUMENT).ok()?)
    }

    async fn fetch(&self, url: Url) -> Result<Vec<u8>, ProviderFailure> {
        let http = &self.shared.http;
        let response =
            http.send_with_retries(&OutgoingRequest { url, body: None }, &mut RetryBudget::default()).await?;
        let (body, end) = http.read_up_to(response, MAX_LIST_BYTES).await;
        end.map(|()| body)
    }
}
