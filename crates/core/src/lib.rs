//! The foundation of Clotho: ids, clock, state and fold, message tree, and operation log.
//!
//! This crate does no I/O. [`world`] and [`tree`] are pure, so tests call them directly. Time and randomness are
//! passed in as arguments. Concepts that every other crate needs belong here, in the module that owns their
//! vocabulary.

pub mod clock;
pub mod coded_message;
pub mod ids;
pub mod json_facts;
pub mod json_scan;
pub mod letters;
pub mod oplog;
pub mod parameters;
pub mod printable;
pub mod secret_names;
pub mod stop_check;
pub mod thoughts;
pub mod tree;
pub mod world;
pub mod yaml;
