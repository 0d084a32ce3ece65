//! Talking to model servers: a request goes in, a stream of [`Frame`]s comes out.
//!
//! The room ends every vendor's dialect at its own door. Whoever consumes a reply sees the small closed set of
//! [`Frame`] and, at most once and last, one [`ProviderFailure`] with a stable code, a sentence and the provider's own words.
//!
//! The way of a reply: a kind of server (`kinds/`, behind the trait of `dialect`) writes the request's body and address;
//! `reply` waits for a place in its key's `lane` and for the `breaker`, sends it over `http` and watches the clock; `decode`
//! cuts the bytes into chunks (`sse` or `json_lines` for a stream, the whole body otherwise); the kind's reader makes frames of a
//! chunk. All but `reply`, `http` and `client` are pure: bytes and values in, frames out.
//!
//! `embeddings` asks a server for vectors of texts, and believes nothing of what comes back until it has looked.
//!
//! What must hold: dropping the stream ends the HTTP request; nothing is asked twice once a reply has begun; redirects
//! are not followed; a key is in no log, no error and no trace.
//!
//! - A new kind of server: a file and a row in `kinds/`, see its head.
//! - A new field or dialect of the OpenAI-compatible kind: `kinds/openai/chunk.rs`, with a case in its table of tests.
//! - A new way to fail: a variant of [`ProviderFailure`] with its code, hint and whether asking again can help.
//! - Another way to write messages as one text: a file in `templates/` and its row in `template.rs`.

mod alternation;
mod breaker;
mod client;
mod cost;
mod decode;
mod dialect;
mod embeddings;
mod endpoint;
mod error_report;
mod error_text;
mod failure;
mod frame;
mod http;
mod jinja;
mod json;
mod json_lines;
mod kinds;
mod lane;
mod models;
mod params;
mod reply;
mod request;
mod retry;
pub mod sse;
mod stream_state;
mod template;
pub mod tls;
mod tokenizer;

pub use client::ProviderClient;
pub use cost::{cache_savings, cost};
pub use embeddings::Embedder;
pub use endpoint::{Endpoint, Timeouts};
pub use failure::{ProviderFailure, TimeoutPhase};
pub use frame::{FinishReason, Frame, FrameStream, ToolCall, Usage};
pub use kinds::ProviderKind;
pub use lane::Lane;
pub use models::ModelInfo;
pub use request::{Request, RequestMessage, RequestRole, ToolRound};
pub use retry::RetryPolicy;
pub use template::{ChatTemplate, TemplatedPrompt};
pub use tokenizer::{Tokenizer, TokenizerError};
