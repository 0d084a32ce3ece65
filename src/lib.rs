//! Clotho: a self-hosted role-play server whose history is a tree and whose every message carries the world's state.
//!
//! *Plugins propose, the turn decides, the store commits, the operation log tells everyone.*
//!
//! The modules are floors of one house; a file imports only from lower floors or from its own folder (`tests/it/tidy.rs`
//! holds this). From the ground up:
//!

pub mod assets;
pub mod clock;
pub mod config;
pub mod ids;
pub mod live;
pub mod oplog;
pub mod provider;
pub mod store;
pub mod tree;
pub mod world;
