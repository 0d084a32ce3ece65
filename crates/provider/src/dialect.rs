//! What a kind of server has to say about itself, so that one client can talk to all of them.

use super::{Endpoint, Frame, ModelInfo, ProviderFailure, Request, error_text::ErrorScrubber};
use reqwest::Url;
use serde_json::{Map, Value};
use std::fmt;

/// A kind of model server: how it is asked, and how its answer is read. Pure; the client does the talking.
pub(super) trait ProviderDialect: Send + Sync {
    /// What the settings call it.
    fn name(&self) -> &'static str;

    /// Where a reply is asked for.
    ///
    /// # Errors
    /// The endpoint's address cannot work.
    fn reply_url(&self, endpoint: &Endpoint, model: &str) -> Result<Url, ProviderFailure>;

    /// The body that asks for a reply, exactly as it is sent.
    fn body(&self, request: &Request, endpoint: &Endpoint) -> Value;

    /// The parameters that go with a request, in the words that every kind understands (OpenAI's): without those that
    /// such a server has no use for.
    fn params(&self, request: &Request, endpoint: &Endpoint) -> Map<String, Value>;

    /// The header that carries the key, and what stands before it.
    fn key_header(&self) -> (&'static str, &'static str) {
        ("authorization", "Bearer ")
    }

    /// Headers that every request has.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// How a stream is cut into chunks.
    fn framing(&self) -> Framing {
        Framing::ServerSentEvents
    }

    /// Who reads the answer to `request`.
    fn reader(&self, request: &Request) -> Box<dyn ChunkReader>;

    /// Where the models are told. The first has to answer; what the others say is a help.
    ///
    /// # Errors
    /// The endpoint's address cannot work.
    fn model_list_urls(&self, endpoint: &Endpoint) -> Result<Vec<Url>, ProviderFailure>;

    /// Reads what those addresses told, null where one did not answer. `None` when there is no list in it.
    fn parse_models(&self, told: &[Value]) -> Option<Vec<ModelInfo>>;

    /// Where texts are embedded, in OpenAI's words.
    ///
    /// # Errors
    /// The endpoint's address cannot work, or such a server has no such place.
    fn embeddings_url(&self, _endpoint: &Endpoint) -> Result<Url, ProviderFailure> {
        Err(ProviderFailure::Misconfigured {
            words: format!("servers of the kind {:?} embed no texts here", self.name()),
        })
    }

    /// Whether the prompt goes as one text, made by the endpoint's template.
    fn is_text_completion(&self) -> bool {
        false
    }

    /// Whether a model can be handed the beginning of its own turn with these parameters, as far as the kind knows.
    fn supports_prefill(&self, _params: &Map<String, Value>, _endpoint: &Endpoint) -> bool {
        self.is_text_completion()
    }

    /// Where such a server counts the tokens of a prompt, and what it is asked; `None` = it does not.
    fn token_count_request(&self, _request: &Request, _endpoint: &Endpoint) -> Option<(Url, Value)> {
        None
    }

    /// Reads what it answers to that.
    fn parse_token_count(&self, _answer: &Value) -> Option<u64> {
        None
    }

    /// The length of the context that these parameters ask for, in tokens, where it is for the asker to say.
    fn context_size(&self, _params: &Map<String, Value>) -> Option<u64> {
        None
    }
}

/// How a stream is cut into chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// Server-sent events.
    ServerSentEvents,
    /// A JSON value on each line.
    JsonLines,
}

/// Reads one answer chunk by chunk and remembers what they have said so far.
pub(super) trait ChunkReader: fmt::Debug + Send {
    /// Appends what `chunk` says to `frames`.
    ///
    /// # Errors
    /// What the server reports instead of, or after, a piece of the reply.
    fn read(
        &mut self,
        chunk: &Value,
        scrub: &ErrorScrubber,
        frames: &mut Vec<Frame>,
    ) -> Result<ChunkStatus, ProviderFailure>;

    /// Whether a body that ends here is a reply that ends here, though nobody said so.
    fn may_end_without_finish(&self) -> bool {
        false
    }
}

/// What a chunk means for the course of things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ChunkStatus {
    /// It looks like a piece of a reply.
    pub recognised: bool,
    /// It gave a reason for the end of the reply; usage may still follow.
    pub finished: bool,
    /// Nothing more will come.
    pub done: bool,
}
