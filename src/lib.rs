//! Clotho: a self-hosted role-play server whose history is a tree and whose every message carries the world's state.
//!
//! *Plugins propose, the turn decides, the store commits, the operation log tells everyone.*
//!
//! The modules are floors of one house; a file imports only from lower floors or from its own folder (`tests/it/tidy.rs`
//! holds this). From the ground up:
//!
//! 1. [`world`], [`config`], [`ids`], [`assets`]: values, operations, schemas and the fold; settings; newtypes; files
//!    inside the program
//! 2. [`provider`], [`clock`], [`interop`]: model streams; time and ids as arguments; files of other programs
//! 3. [`tree`], [`oplog`]: nodes, paths and edits; what an operation is
//! 4. [`plugin`], [`prompt`], [`archive`]: Rhai hooks and their host; blueprint to messages; the file of a session
//! 5. [`store`], [`search`], [`live`]: rows and SQL; the index; live events
//! 6. [`turn`], [`log_follower`], [`embed`], [`secure_erase`], [`maintenance`], [`transfer`]: one journey; operations to the index and the live
//!    bus; texts to vectors; what was destroyed off the disk; copies and clearing away; sessions out and in
//! 7. [`app`]: builds everything once and hands it round
//! 8. `http`: the only floor that speaks HTTP and JSON to clients
//! 9. `cli`: serve, plugin, export, import, backup, restore, gc, stats, doctor
//!
//! `ARCHITECTURE.md` has the map and the way of a turn, `GLOSSARY.md` the words.

pub mod app;
pub mod archive;
pub mod assets;
pub mod cli;
pub mod clock;
pub mod config;
pub mod devices;
pub mod embed;
pub mod http;
pub mod ids;
pub mod image_proxy;
pub mod interop;
pub mod keyring;
pub mod live;
pub mod log_follower;
pub mod maintenance;
pub mod oplog;
pub mod plugin;
pub mod prompt;
pub mod provider;
pub mod search;
pub mod secure_erase;
pub mod store;
pub mod tls;
pub mod transfer;
pub mod tree;
pub mod turn;
pub mod world;

/// Every allocation is counted per thread, because scripts have a budget of memory and their engine has no limit for it.
#[global_allocator]
static ALLOCATOR: plugin::heap::CountingAllocator = plugin::heap::CountingAllocator;
