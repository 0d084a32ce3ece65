//! The file of a whole session: which lines it has, how they are written, and how they are read from a stranger.
//!
//! A file is one zstd stream of JSON lines: a header, then one line for each thing, then an end that counts and hashes what
//! came before. `docs/export.md` describes every line; `lines.rs` has their shapes, `writer.rs` and `reader.rs` their way
//! to bytes and back. Nothing here knows rows or sessions: what fits together is looked at in `transfer/`.
//!
//! To add something to a file: a field or a line in `lines.rs`, and a new [`VERSION`] if an older program must not read it.

mod lines;
mod reader;
mod writer;

pub use lines::{
    ArchiveFooter, ArchiveHeader, ArchiveHistory, ArchiveLine, BlobKind, BlobLine, DeltaLine, HistoryNode, NodeLine,
    OperationLine, PresetLine, SessionLine, SourceLine, TraceLine,
};
pub use reader::{ArchiveError, ArchiveErrorKind, ArchiveLimits, ArchiveReader};
pub use writer::ArchiveWriter;

/// What a header says the file is.
pub const FORMAT: &str = "clotho-session";
/// The version that this program writes, and the newest that it reads.
pub const VERSION: u32 = 1;
