//! The file format of an exported session: its lines, its writer and its reader for untrusted files.
//!
//! A file is one zstd stream of JSON lines: a header, one line for each item, and a footer with counts and a
//! hash of everything before. `docs/export.md` describes every line. `lines.rs` has their shapes, `writer.rs`
//! and `reader.rs` convert them to bytes and back. Nothing here knows rows or sessions; `transfer/` checks that
//! the lines are consistent.
//!
//! To extend the format: add a field or a line in `lines.rs`, and raise [`VERSION`] if an older program must not
//! read it.

mod lines;
mod reader;
mod writer;

pub use lines::{
    ArchiveFooter, ArchiveHeader, ArchiveHistory, ArchiveLine, BlobKind, BlobLine, DeltaLine, HistoryNode, NodeLine,
    OperationLine, PresetLine, SessionLine, SourceLine, TraceLine,
};
pub use reader::{ArchiveError, ArchiveErrorKind, ArchiveLimits, ArchiveReader};
pub use writer::ArchiveWriter;

/// The value of the header field that identifies the format.
pub const FORMAT: &str = "clotho-session";
/// The version that this program writes, and the newest that it reads.
pub const VERSION: u32 = 1;
