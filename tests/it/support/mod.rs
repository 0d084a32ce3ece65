//! What several tests need: stand-ins for the world outside, and builders. One file per stand-in.

pub mod mock_model;
pub mod model;
pub mod spy;
pub mod steps;
pub mod test_store;
