//! SillyTavern chats: JSON Lines with a header first, then one message per line.
//!
//! `lines.rs` splits a stream into lines of bounded length. `header.rs` and `row.rs` parse a line, and `write.rs`
//! writes a message as a line again. `date.rs` parses the timestamps of all versions. An invalid line gives a
//! [`ChatFileError`] with the reason, and reading continues with the next line.
//!
//! To support another key: take it out of `rest` in `row.rs`, or add an accessor in `header.rs`. Then write it back in
//! `write.rs`.

pub mod date;
mod header;
mod lines;
mod row;
mod write;

pub use header::ChatFileHeader;
pub use lines::{ChatFileReader, MAX_LINE_BYTES, NumberedLine};
pub use row::{ChatFileLine, ChatFileMessage, ChatFileSwipe, read};
pub use write::message_line;

/// Why a line is skipped: a sentence without a final period.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ChatFileError(pub String);
