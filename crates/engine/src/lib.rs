//! The turn engine, and everything else that combines several crates.
//!
//! - [`turn`]: one turn from a message to its committed reply; the only place that orders its steps
//! - [`transfer`]: import and export of sessions, cards and whole installations
//! - [`live`]: watchers of sessions, and running generations
//! - [`log_follower`]: feeds live events and the search index from the operation log
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
