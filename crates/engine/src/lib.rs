//! The turn engine, and everything that several stores take part in.
//!
//! - [`turn`]: one turn from a message to its committed reply; the only place that orders its steps
//! - [`transfer`]: import and export of sessions, cards and whole installations
//! - [`live`]: who watches a session, and what is being generated
//! - [`log_follower`]: operations of the log to live events and to the search index
//! - [`embedding`]: vectors of messages, documents and lorebook entries, in the background
//! - [`maintenance`]: daily backups and garbage collection
//! - [`secure_erase`]: removes purged data from the index, the write-ahead log and every other file
//! - [`keyring`]: encrypted API keys

pub mod embedding;
pub mod keyring;
pub mod live;
pub mod log_follower;
pub mod maintenance;
pub mod secure_erase;
pub mod transfer;
pub mod turn;
