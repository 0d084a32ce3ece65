//! What several tests need: stand-ins for the world outside, and builders. One file per stand-in.

pub mod app;
pub mod mock_model;
pub mod model;
pub mod story;
pub mod test_store;
