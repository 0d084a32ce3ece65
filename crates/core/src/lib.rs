//! The foundation of Clotho: ids and time as arguments, the state and its fold, the message tree, and the operation log.
//!
//! Nothing here does I/O. [`world`] and [`tree`] are pure: plain calls test them. To add a concept that every other crate
//! needs, put it into the module that owns its words.

pub mod clock;
pub mod ids;
pub mod oplog;
pub mod tree;
pub mod world;
