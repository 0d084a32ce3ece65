//! Clotho: a self-hosted role-play server whose history is a tree, where every message carries its own state.
//!
//! *Plugins propose, the turn decides, the store commits, the operation log tells everyone.*
//!
//! This package has the outermost layers: HTTP, the command line and the wiring. The rest are the crates in `crates/`:
//!
//! - [`clotho_core`] has ids, clock, state, tree, operation log
//! - [`clotho_config`] has settings
//! - [`clotho_compat`] has files, macros, lorebooks and presets of other programs
//! - [`clotho_provider`] has model servers
//! - [`clotho_plugin`] has Rhai hooks
//! - [`clotho_store`] has rows and SQL; [`clotho_search`]: the search index
//! - [`clotho_engine`] has turns, live events, background tasks, import and export
//!
//! `ARCHITECTURE.md` has the map and the steps of a turn. `GLOSSARY.md` defines the terms.

pub mod app;
pub mod assets;
pub mod cli;
pub mod devices;
pub mod http;
pub mod image_proxy;
