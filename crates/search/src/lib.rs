//! Full-text search over every complete node of every branch: a tantivy index that is derived from the store and knows
//! how far it got.
//!
//! The index lives in its own folder, which may be deleted at any time. Each of its commits carries the cursor of the
//! operation log up to which it is complete. Whoever feeds it *pulls*: it asks [`Index::cursor`] what comes next, reads
//! the log from there and calls [`Index::send`]. A missing, damaged or foreign index is made anew and its cursor goes
//! back to 0; an index whose disk failed goes back to its last commit. So there is one way for a start, a rebuild and a
//! recovery.
//!
//! - `analyzer`, `stemming`: from text to terms; words, pairs of characters for scripts without spaces, and ground forms
//! - `values`, `decimal_code`: values of the world as terms, numbers in their order
//! - `query/`: what a person typed, as an expression; `edit_distance`: slips of the finger
//! - `compile`, `exclusion`: an expression as tantivy takes it, and what must not match
//! - `find`: expression and filters to hits; the owner is always one of the filters
//! - `best_hits`, `segment_times`: the best hits, of equal ones the newest; when each was said
//! - `snippet`, `highlight`: the piece of a text that shows why it was found
//! - `schema`, `stored_fields`: the fields and how they go in; what comes out of them
//! - `disk`: opening, checking and throwing away
//! - `queue`, `writer`: what waits to be indexed; the one thread that writes and commits
//! - `look`: every document, for who compares the index with the tree
//! - `shared`, `index`: what both sides look at; the index as others hold it
//!
//! To add a field: `schema.rs` (field, writing), `stored_fields.rs` (reading) and `schema::FORMAT` one higher, so that old indexes
//! are rebuilt. To add a filter: a field of [`SearchRequest`] and a line in `find.rs`. To add syntax: `query/`.

mod analyzer;
mod best_hits;
mod compile;
mod decimal_code;
mod disk;
mod edit_distance;
mod exclusion;
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

/// The operation log that an index is fed from. An index that was fed from another one is made anew: somebody replaced
/// the database, or put back an older copy of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexSource {
    /// What tells this database from others: any id that it keeps for ever.
    pub id: Uuid,
    /// The newest cursor of the log; an index that stands further was fed from a log that is gone.
    pub newest: i64,
    /// What the texts were made with before they were given: another number, other texts of the same log.
    pub texts: u64,
}

/// One node as the index knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchDocument {
    /// The node; a second document of the same node replaces the first.
    pub node: NodeId,
    /// Its session.
    pub session: SessionId,
    /// The session's owner: nobody else finds it.
    pub owner: UserId,
    /// The character that speaks.
    pub character: Option<CharacterId>,
    /// Who it speaks as.
    pub role: Role,
    /// The speaker's name.
    pub name: String,
    /// What is said.
    pub text: String,
    /// When it was said.
    pub time: Time,
    /// The values of its world by which it is found.
    pub facts: Vec<IndexedValue>,
}

/// One change of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexChange {
    /// A node came, or is different now.
    Put(SearchDocument),
    /// A node must not be found any more.
    Remove(NodeId),
    /// Nothing of a session must be found any more.
    RemoveSession(SessionId),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The folder cannot be used.
    #[error("the search index in {folder} cannot be used: {cause}")]
    Folder {
        /// Which.
        folder: String,
        /// Why.
        cause: std::io::Error,
    },
    /// The system gives no thread.
    #[error("the search index got no thread: {0}")]
    Thread(std::io::Error),
    /// The index could not be read; it is being checked and will be rebuilt if it is damaged.
    #[error("the search index could not be read: {0}")]
    Unreadable(String),
    /// The last commit failed, or the index is closed.
    #[error("the search index cannot be written now")]
    Down,
}

impl From<tantivy::TantivyError> for SearchError {
    fn from(error: tantivy::TantivyError) -> Self {
        Self::Unreadable(error.to_string())
    }
}
