//! The contract of the HTTP floor, against the real server.
//!
//! `contract` compares the table of routes, the document and what is served; `refusals` sends every route what it must not
//! take; `ownership` asks every route for somebody else's things; `request_guard` comes from the wrong side; `error_codes` has a refusal of
//! each code; `fuzz` throws dice. A new route is in those by itself; what it does gets a test in the file of its question:
//! `tree_views` (the faces of a tree), `cards` (cards of other programs, pictures), `lorebooks`, `presets`, `preset_prompts` (prompts by a preset), `regex_scripts` (regex scripts in them), `memory` (what is recalled), `summaries` (what is summed up), `vector_search` (who compares vectors), `branches` (several of its lines), `transcripts` (a line as a file), `exports` (a line as a file of
//! others), `session_transfer` (whole sessions out and in), `deltas` (what a line changed), `stale_heads` (who writes where HEAD is not), `sockets`, `repeat_requests` (the same
//! request twice, the same answer twice), `static_files` (the page), `search_hits` and `search_queries` (searching), `plugin_and_model_lists` (what the server itself offers), `models` (whole turns over every kind of model server),
//! `providers` (servers that are connected while this one runs),
//! `trash` (what was deleted), `reply_queue` (replies whose turn has not come), `continue_replies` (replies that go on), `drafts` (what is
//! no node), `unread_replies` (replies that nobody saw), `node_fields` (what every node says of itself), `tree_edits` and `copy_summarise_merge` (what is
//! rearranged, copied, summed up and brought over), `purges` (what goes for good), `tree_edits_disabled` (a server that rearranges nothing),
//! `clock_jumps` (a clock that does), `plugin_reload` (plugins that change while the server runs), `usage_totals` (what replies took), `token_counts` (how large prompts are), `tool_calls` (what a model may call), `chat_templates` (prompts as one text), `plugin_workshop` and `plugin_tests` (files, checks, trials and tests of plugins), `end_to_end` (one story from beginning to end).
//! [`play::Play`] is a session in few words. Every answer is held to the document by the client itself.

mod authors_note;
mod branches;
mod card_plugins;
mod cards;
mod chat_templates;
mod clock_jumps;
mod continue_replies;
mod contract;
mod copy_summarise_merge;
mod deltas;
mod devices;
mod drafts;
mod end_to_end;
mod error_codes;
mod exports;
mod fuzz;
mod lore_activation;
mod lore_settings;
mod lore_similarity;
mod lorebooks;
mod macros;
mod memory;
mod models;
mod mvu;
mod node_fields;
mod ownership;
pub mod play;
mod plugin_and_model_lists;
mod plugin_displays;
mod plugin_model_calls;
mod plugin_reload;
mod plugin_state;
mod plugin_summaries;
mod plugin_tests;
mod plugin_workshop;
mod preset_edits;
mod preset_prompts;
mod presets;
mod prompt_plans;
mod providers;
pub mod purges;
mod refusals;
mod regex_scripts;
mod remote_pictures;
mod repeat_requests;
mod reply_queue;
mod request_guard;
mod search_hits;
mod search_queries;
mod session_transfer;
mod sockets;
mod sql_statements;
mod stale_heads;
mod static_files;
mod summaries;
mod token_counts;
mod tool_calls;
mod transcripts;
mod trash;
mod tree_edits;
mod tree_edits_disabled;
mod tree_views;
mod unread_replies;
mod usage_totals;
mod values_model;
mod vector_search;

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
