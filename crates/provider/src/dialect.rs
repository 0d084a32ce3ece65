//! The interface that each kind of server implements for the client.

use super::{
    Endpoint, Frame, ModelInfo, ProviderFailure, Request, error_text::ErrorScrubber, job_queue::JobQueue,
    parameter_names::ParameterDialect,
};
use reqwest::Url;
use serde_json::{Map, Value};
use std::fmt;

/// A kind of model server: builds requests and reads responses. Pure; the client does the I/O.
pub(super) trait ProviderDialect: Send + Sync {
    /// Returns its name in the settings.
    fn name(&self) -> &'static str;

    /// Returns the URL for replies.
    ///
    /// # Errors
    /// Returns an error if the endpoint's address is invalid.
    fn reply_url(&self, endpoint: &Endpoint, model: &str) -> Result<Url, ProviderFailure>;

    /// Returns the body of a request for a reply, exactly as it is sent.
    fn body(&self, request: &Request, endpoint: &Endpoint) -> Value;

    /// Returns the URL and body of a request for the same reply as a whole, without a stream. `None` = the request is
    /// not for a stream.
    ///
    /// # Errors
    /// Returns an error if the endpoint's address is invalid.
    fn whole_reply_request(
        &self,
        request: &Request,
        endpoint: &Endpoint,
    ) -> Result<Option<(Url, Value)>, ProviderFailure> {
        let mut body = self.body(request, endpoint);
        let Some(fields) = body.as_object_mut().filter(|fields| fields.get("stream") == Some(&Value::Bool(true)))
        else {
            return Ok(None);
        };
        fields.insert("stream".into(), false.into());
        fields.shift_remove("stream_options");
        Ok(Some((self.reply_url(endpoint, &request.model)?, body)))
    }

    /// Returns the parameters of a request under OpenAI's names, without those that this kind of server cannot use.
    fn params(&self, request: &Request, endpoint: &Endpoint) -> Map<String, Value>;

    /// Returns the fields that a body needs, besides the prompt and the model.
    fn required_fields(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns pairs of a parameter's name here and at the server.
    fn param_names(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Returns under which names parameters are sent. By default, those of OpenAI and of servers that speak like it.
    fn parameter_dialect(&self, endpoint: &Endpoint) -> ParameterDialect {
        ParameterDialect::of_host(endpoint)
    }

    /// Returns the header for the key and the prefix of its value.
    fn key_header(&self) -> (&'static str, &'static str) {
        ("authorization", "Bearer ")
    }

    /// Returns the key that is sent if the endpoint has none.
    fn anonymous_key(&self) -> Option<&'static str> {
        None
    }

    /// Returns how a server with a queue is asked for its jobs. `None` = the server answers a request with its reply.
    fn job_queue(&self) -> Option<&'static dyn JobQueue> {
        None
    }

    /// Returns the headers of every request.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Returns how a stream is split into chunks.
    fn framing(&self) -> Framing {
        Framing::ServerSentEvents
    }

    /// Creates the reader of the response to `request`.
    fn reader(&self, request: &Request) -> Box<dyn ChunkReader>;

    /// Returns the URLs of the model list. The first must answer; the others are optional.
    ///
    /// # Errors
    /// Returns an error if the endpoint's address is invalid.
    fn model_list_urls(&self, endpoint: &Endpoint) -> Result<Vec<Url>, ProviderFailure>;

    /// Returns more optional URLs of the model list, which the response of the first one asks for.
    fn more_model_list_urls(&self, _endpoint: &Endpoint, _first: &Value) -> Vec<Url> {
        Vec::new()
    }

    /// Parses the responses of those URLs, null for one that failed. Returns `None` if they contain no list.
    fn parse_models(&self, models: &[Value]) -> Option<Vec<ModelInfo>>;

    /// Returns the URL for embeddings in OpenAI's format.
    ///
    /// # Errors
    /// Returns an error if the endpoint's address is invalid, or the kind has no embeddings.
    fn embeddings_url(&self, _endpoint: &Endpoint) -> Result<Url, ProviderFailure> {
        Err(ProviderFailure::Misconfigured {
            words: format!("servers of the kind {:?} have no embeddings here", self.name()),
        })
    }

    /// Returns whether the prompt is sent as one text, made by the endpoint's template.
    fn is_text_completion(&self) -> bool {
        false
    }

    /// Returns whether a model accepts a prefill with these parameters, as far as the kind knows.
    fn supports_prefill(&self, _params: &Map<String, Value>, _endpoint: &Endpoint) -> bool {
        self.is_text_completion()
    }

    /// Returns the URL and body of a token count. `None` = the server cannot count.
    fn token_count_request(&self, _request: &Request, _endpoint: &Endpoint) -> Option<(Url, Value)> {
        None
    }

    /// Parses the response to a token count.
    fn parse_token_count(&self, _answer: &Value) -> Option<u64> {
        None
    }

    /// Returns the context length in tokens that the parameters request, if the server takes it from the request.
    fn context_size(&self, _params: &Map<String, Value>) -> Option<u64> {
        None
    }
}

/// How a stream is split into chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    ServerSentEvents,
    /// A JSON value on each line.
    JsonLines,
}

/// Reads the chunks of one response and keeps state between them.
pub(super) trait ChunkReader: fmt::Debug + Send {
    /// Appends the frames of `chunk` to `frames`.
    ///
    /// # Errors
    /// Returns an error if the chunk reports one.
    fn read(
        &mut self,
        chunk: &Value,
        scrub: &ErrorScrubber,
        frames: &mut Vec<Frame>,
    ) -> Result<ChunkStatus, ProviderFailure>;

    /// Appends what is held back, when the reply is over without a finish reason: tool calls.
    fn flush(&mut self, _frames: &mut Vec<Frame>) {}

    /// Returns whether a body without a finish reason can be a complete reply.
    fn may_end_without_finish(&self) -> bool {
        false
    }

    /// Returns whether the kind gives its events names. Otherwise an event with a name of its own, such as `ping`, is
    /// only read if its data look like a reply.
    fn names_events(&self) -> bool {
        false
    }
}

/// What a chunk means for the state of the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ChunkStatus {
    /// It looks like part of a reply.
    pub recognised: bool,
    /// It contained the finish reason; usage can still follow.
    pub finished: bool,
    /// Nothing more will come.
    pub done: bool,
}
