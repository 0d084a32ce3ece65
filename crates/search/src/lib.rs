//! Full-text search over every complete node of every branch: a tantivy index derived from the store.
//!
//! The index lives in a folder of its own, which may be deleted at any time. Each commit stores the cursor of the
//! operation log up to which it is complete. The feeder *pulls*: it asks [`Index::cursor`] where to continue, reads the
//! log from there and calls [`Index::send`]. A missing, damaged or foreign index is rebuilt, and its cursor goes back
//! to 0. After a disk failure, the cursor goes back to the last commit. So start, rebuild and recovery use the same
//! code path.
//!
//! - `analyzer`, `stemming`: text to terms; words, character pairs for scripts without spaces, and stems
//! - `values`, `decimal_code`: values of the state as terms; numbers that sort numerically
//! - `query/`: parsing the search text into an expression; `edit_distance`: typing errors
//! - `compile`, `exclusion`: an expression as a tantivy query; excluded matches
//! - `find`: expression and filters to hits; the owner is always a filter
//! - `best_hits`, `segment_times`: the best hits, ties by newest first; the time of each document
//! - `snippet`, `highlight`: the excerpt of a hit, and the marks in it
//! - `schema`, `stored_fields`: the fields and how they are written; reading stored fields
//! - `disk`: opening, checking and discarding the files
//! - `queue`, `writer`: changes to be indexed; the only thread that writes and commits
//! - `inspection`: reading every document, for the doctor
//! - `shared`, `index`: state shared by searches and writer; the public handle
//!
//! To add a field: `schema.rs` (field, writing), `stored_fields.rs` (reading), and increment `schema::FORMAT`, so that
//! old indexes are rebuilt. To add a filter: a field of [`SearchRequest`] and a line in `find.rs`. To add syntax:
//! `query/`.

mod analyzer;
mod best_hits;
mod compile;
mod decimal_code;
mod disk;
mod edit_distance;
mod exclusion;
mod exhaustion;
mod find;
mod highlight;
mod index;
mod inspection;
mod query;
mod queue;
mod schema;
mod segment_times;
mod shared;
mod snippet;
mod stemming;
mod stored_fields;
#[cfg(test)]
mod tests;
mod values;
mod writer;

use uuid::Uuid;

use clotho_core::clock::Time;
use clotho_core::ids::{CharacterId, NodeId, SessionId, UserId};
use clotho_core::tree::Role;

pub use analyzer::TermAnalyzer;
pub use disk::discard;
pub use find::{SearchHit, SearchPage, SearchRequest, SearchResults, SearchSort};
pub use index::{Index, IndexProgress};
pub use inspection::{IndexContents, document_hash, read_contents};
pub use query::{LocalNow, ParsedQuery, QueryError, QueryNote, TreeCondition, TreeLocation, TreeScope};
pub use queue::IndexSendError;
pub use snippet::Snippet;
pub use values::{IndexedScalar, IndexedValue, has_searchable_values, indexed_values};

/// The operation log that an index is fed from. An index with another source is rebuilt: the database was replaced, or
/// an older backup was restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexSource {
    /// A permanent id of the database.
    pub id: Uuid,
    /// The newest cursor of the log. An index beyond it was fed from a log that no longer exists.
    pub newest: i64,
    /// A hash of the text processing before indexing. Another number means other texts for the same log.
    pub texts: u64,
}

/// One node as it is indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchDocument {
    /// The node; a second document of a node replaces the first.
    pub node: NodeId,
    pub session: SessionId,
    /// The owner of the session; nobody else finds the node.
    pub owner: UserId,
    /// The speaking character.
    pub character: Option<CharacterId>,
    pub role: Role,
    /// The name of the speaker.
    pub name: String,
    pub text: String,
    /// When the message was written.
    pub time: Time,
    /// The searchable values of the node's state.
    pub facts: Vec<IndexedValue>,
}

/// One change of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexChange {
    /// Adds a node or replaces its document.
    Put(SearchDocument),
    Remove(NodeId),
    /// Removes all nodes of a session.
    RemoveSession(SessionId),
}

/// Why the search index cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The folder cannot be used.
    #[error("the search index in {folder} cannot be used: {cause}")]
    Folder { folder: String, cause: std::io::Error },
    #[error("the thread of the search index cannot start: {0}")]
    Thread(std::io::Error),
    /// The index could not be read; it is now checked, and rebuilt if damaged.
    #[error("the search index could not be read: {0}")]
    Unreadable(String),
    /// The system has no more open files or memory. The files of the index are as they were.
    #[error("the search index could not be read for now, because the system has no more open files or memory: {0}")]
    Exhausted(String),
    /// The last commit failed, or the index is closed.
    #[error("the search index cannot be written at the moment")]
    Down,
}

impl From<tantivy::TantivyError> for SearchError {
    fn from(error: tantivy::TantivyError) -> Self {
        if exhaustion::is_exhausted(&error) {
            Self::Exhausted(error.to_string())
        } else {
            Self::Unreadable(error.to_string())
        }
    }
}
