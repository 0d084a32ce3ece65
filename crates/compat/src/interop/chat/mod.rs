//! Chats as SillyTavern keeps them: JSON lines, first a header, then one message a line.
//!
//! `lines.rs` cuts a stream into lines of bounded length, `header.rs` and `row.rs` say what a line is, `date.rs` reads the
//! moments that eight years of versions have written, `write.rs` makes a line of a message again. A line that is none is a [`ChatFileError`] with a reason, and the next one is
//! read. To understand another key: take it out of the rest in `row.rs` or `header.rs`, and say there what it means, and put it back in
//! `write.rs`.

pub mod date;
mod header;
mod lines;
mod row;
mod write;

pub use header::ChatFileHeader;
pub use lines::{ChatFileReader, MAX_LINE_BYTES, NumberedLine};
pub use row::{ChatFileLine, ChatFileMessage, ChatFileSwipe, read};
pub use write::line;

/// Why a line is left out: a sentence without a final period.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ChatFileError(pub String);
