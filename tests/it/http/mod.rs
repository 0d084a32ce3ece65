//! The contract of the HTTP floor, against the real server.
//!
//! `contract` compares the table of routes, the document and what is served; `refusals` sends every route what it must not
//! take; `owners` asks every route for somebody else's things; `gate` comes from the wrong side. Then one file for each
//! kind of thing. A new route is in the first four by itself; what it does gets a test in the file of its thing.

mod contract;
mod gate;
mod owners;
mod refusals;

use crate::support::server::{TestServer, id};
use serde_json::{Value, json};

/// Searches until so many are found: the index follows the log, it is not on the way of a write.
async fn search_until(app: &TestServer, query: &str, hits: usize) -> Value {
    for _ in 0..600 {
        let found = app.get(&format!("/api/search?q={query}")).await;
        if found["items"].as_array().unwrap().len() >= hits {
            return found;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("\"{query}\" is not found");
}
