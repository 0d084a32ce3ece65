//! Talking to model servers: a request goes in, a stream of [`Frame`]s comes out.
//!
//! The room ends every vendor's dialect at its own door. Whoever consumes a reply sees the small closed set of
//! [`Frame`] and, at most once and last, one [`Failure`] with a stable code, a sentence and the provider's own words.
//!
//! The way of a reply: [`wire_body`] writes the request, `openai` sends it and watches the clock, `decode` cuts the
//! bytes into chunks (`sse` for a stream, the whole body otherwise), `chunk` reads one chunk's fields into frames.
//! All but `openai` and `client` are pure: bytes and values in, frames out.
//!
//! What must hold: dropping the stream ends the HTTP request; nothing is asked twice once a reply has begun; redirects
//! are not followed; a key is in no log, no error and no trace.
//!
//! - A new field or dialect of the OpenAI-compatible kind: `chunk`, with a case in its table of tests.
//! - A new way to fail: a variant of [`Failure`] with its code, hint and whether asking again can help.
//! - A new kind of server: a file beside `openai` whose `stream` gives the same [`FrameStream`], and a run of the
//!   suite in `tests/it/provider/` against it.

mod chunk;
mod client;
mod cost;
mod decode;
mod endpoint;
mod failure;
mod frame;
mod models;
mod openai;
mod request;
mod retry;
pub mod sse;
mod words;

pub use cost::cost;
pub use endpoint::{Endpoint, Timeouts};
pub use failure::{Failure, Wait};
pub use frame::{Finish, Frame, FrameStream, Usage};
pub use models::ModelInfo;
pub use openai::OpenAi;
pub use request::{Message, Request, Role, wire_body, wire_params};
pub use retry::Retries;
