//! What several tests need: the program itself, clients of it, stand-ins for the world outside, and builders. One file for
//! each.

pub mod app;
pub mod client;
pub mod data_root;
pub mod file;
pub mod logs;
pub mod mock_model;
pub mod model;
pub mod schema;
pub mod server;
pub mod socket;
pub mod spy;
pub mod steps;
pub mod story;
pub mod test_store;
