//! The contract of the HTTP floor, against the real server.
//!
//! `contract` compares the table of routes, the document and what is served; `refusals` sends every route what it must not
//! take; `owners` asks every route for somebody else's things; `gate` comes from the wrong side; `codes` has a refusal of
//! each code; `fuzz` throws dice. A new route is in those by itself; what it does gets a test in the file of its question:
//! `views` (the faces of a tree), `cards` (cards of other programs, pictures), `lorebooks`, `presets`, `ordered` (prompts by a preset), `scripts` (regex scripts in them), `memory` (what is recalled), `summaries` (what is summed up), `nearest` (who compares vectors), `branches` (several of its lines), `transcripts` (a line as a file), `exports` (a line as a file of
//! others), `transfers` (whole sessions out and in), `deltas` (what a line changed), `heads` (who writes where HEAD is not), `sockets`, `again` (the same
//! request twice, the same answer twice), `files` (the page), `finds` and `searches` (searching), `hosts` (what the server itself offers), `models` (whole turns over every kind of model server),
//! `providers` (servers that are connected while this one runs),
//! `trash` (what was deleted), `waiting` (replies whose turn has not come), `continued` (replies that go on), `drafts` (what is
//! no node), `unread` (replies that nobody saw), `fields` (what every node says of itself), `edits` and `pieces` (what is
//! rearranged, copied, summed up and brought over), `purges` (what goes for good), `off` (a server that rearranges nothing),
//! `jumps` (a clock that does), `reload` (plugins that change while the server runs), `spent` (what replies took), `tokens` (how large prompts are), `tools` (what a model may call), `templates` (prompts as one text), `workshop` and `workshop_tests` (files, checks, trials and tests of plugins), `whole` (one story from beginning to end).
//! [`play::Play`] is a session in few words. Every answer is held to the document by the client itself.

mod again;
mod asks;
mod begins;
mod branches;
mod cards;
mod carried;
mod codes;
mod continued;
mod contract;
mod cost;
mod deltas;
mod devices;
mod displays;
mod drafts;
mod edits;
mod exports;
mod fields;
mod files;
mod finds;
mod fuzz;
mod gate;
mod heads;
mod hosts;
mod jumps;
mod lore;
mod lore_rules;
mod lore_similar;
mod lorebooks;
mod macros;
mod memory;
mod models;
mod mvu;
mod nearest;
mod note;
mod off;
mod ordered;
mod outside;
mod owners;
mod pieces;
mod plans;
pub mod play;
mod preset_edits;
mod presets;
mod providers;
pub mod purges;
mod refusals;
mod reload;
mod scripts;
mod searches;
mod sockets;
mod spent;
mod summaries;
mod summaries_proposed;
mod templates;
mod tokens;
mod tools;
mod transcripts;
mod transfers;
mod trash;
mod unread;
mod values;
mod views;
mod waiting;
mod whole;
mod workshop;
mod workshop_tests;

use crate::support::app::{Setup, TestApp};
use crate::support::mock_model::{Gate, Reply};
use crate::support::server::{TestServer, id};
use crate::support::wait::until_some;
use serde_json::{Value, json};

/// Searches until so many are found: the index follows the log, it is not on the way of a write.
pub async fn search_until(app: &TestServer, query: &str, hits: usize) -> Value {
    until_some(&format!("\"{query}\" in the index"), async || {
        let found = app.get(&format!("/api/search?q={query}")).await;
        (found["items"].as_array().unwrap().len() >= hits).then_some(found)
    })
    .await
}
