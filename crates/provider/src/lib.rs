//! Clients for model servers: a request goes in, a stream of [`Frame`]s comes out.
//!
//! Callers never see a vendor's protocol. They get the closed set of [`Frame`]s and at most one [`ProviderFailure`],
//! which comes last. What a vendor wants back with the results of tools is opaque to them ([`Frame::ProviderState`]). A failure has a stable code, a sentence and the provider's own message.
//!
//! How a reply is made:
//!
//! - a kind of server (`kinds/`, a trait in `dialect`) builds the body and the URL
//! - `reply` waits for the `concurrency_limit` of its key and for the circuit `breaker`, sends over `http` and enforces
//!   the timeouts
//! - `decode` splits the bytes into chunks: with `sse` or `json_lines` for a stream, otherwise the whole body
//! - if the server refuses a parameter, `refused_parameter` finds it, and `parameter_rules` asks without it
//! - the kind's reader converts each chunk to frames
//!
//! Only `reply`, `http` and `client` do I/O for replies; the rest is pure. `embeddings` requests vectors of texts and
//! validates them.
//!
//! Invariants: dropping the stream ends the HTTP request. Nothing is sent again once a reply has begun. Redirects are
//! not followed. Keys never appear in logs, errors or traces.
//!
//! - To add a kind of server: add a file and a row in `kinds/`, as described in its head.
//! - To add a service to the list for people: add a row in `services`.
//! - To add a field or variant of the OpenAI-compatible kind: edit `kinds/openai/chunk.rs` and its table of tests.
//! - To add a failure: add a variant of [`ProviderFailure`] with its code and hint, and decide whether retrying helps.
//! - To add a parameter: add its row in `parameter_names`, and its other forms in `parameter_values`.
//! - To add a chat template: add a file in `templates/` and its row in `template.rs`.

mod alternation;
mod breaker;
mod client;
mod concurrency_limit;
mod context_overflow;
mod cost;
mod decode;
mod dialect;
mod embeddings;
mod endpoint;
mod error_detail;
mod error_report;
mod error_text;
mod error_words;
mod failure;
mod finish_reason;
mod frame;
mod http;
mod jinja;
mod job_queue;
mod json;
mod json_lines;
mod kinds;
mod models;
mod normalizer_growth;
mod parameter_change;
mod parameter_names;
mod parameter_rules;
mod parameter_values;
mod params;
mod prefill_echo;
mod refusal_words;
mod refused_parameter;
mod reply;
mod request;
mod retry;
mod retry_after;
mod running_job;
mod sent_body;
mod services;
pub mod sse;
mod stream_end;
mod stream_state;
mod surrogates;
mod template;
mod template_problem;
pub mod tls;
mod tokenizer;
mod tool_call_assembler;
mod utf16_body;

pub use client::ProviderClient;
pub use concurrency_limit::ConcurrencyLimit;
pub use cost::{cache_savings, cost, rounded_cost};
pub use embeddings::Embedder;
pub use endpoint::{Endpoint, Timeouts};
pub use failure::{ProviderFailure, TimeoutPhase, UnreachableCause};
pub use frame::{FinishReason, Frame, FrameStream, ToolCall, Usage};
pub use kinds::ProviderKind;
pub use models::ModelInfo;
pub use parameter_change::ParameterChange;
pub use request::{Request, RequestMessage, RequestRole, ToolRound};
pub use retry::RetryPolicy;
pub use services::{MODEL_SERVICES, ModelService};
pub use template::{ChatTemplate, TemplatedPrompt};
pub use template_problem::TemplateProblem;
pub use tokenizer::{Tokenizer, TokenizerError};
