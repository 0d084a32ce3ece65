//! HTTP.

pub mod answer;
pub mod body;
pub mod caller;
pub mod document;
pub mod error;
pub mod query;
pub mod repeat;
pub mod scan;
pub mod seal;
pub mod shared;
pub mod table;
pub mod wire;
pub mod ws;
