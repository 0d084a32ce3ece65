//! Tests of the HTTP API against the real server.
//!
//! Some files test every route, so a new route needs nothing there:
//!
//! - `contract`: the route table, the OpenAPI document and the server agree
//! - `page_types`: the committed OpenAPI document, and what the types of the page need of it
//! - `refusals`: invalid requests on every route
//! - `ownership`: ids of other users on every route
//! - `request_guard`: wrong hosts, origins and tokens
//! - `error_codes`: one refusal of each code
//! - `fuzz`: random bodies, queries and frames
//!
//! The behaviour of a route is tested in the file of its subject:
//!
//! - `tree_views`, `branches`, `deltas`, `node_fields`: views of a tree, of several branches, of changes and of nodes
//! - `tree_edits`, `tree_edits_disabled`, `copy_summarise_merge`, `purges`, `trash`: edits of the tree and deletion
//! - `cards`, `card_plugins`, `mvu`: cards of other programs and what they contain
//! - `lorebooks`, `lore_activation`, `lore_settings`, `lore_similarity`: lorebooks and what they add to prompts
//! - `presets`, `preset_edits`, `preset_prompts`: presets and the prompts that they make
//! - `connection_profiles`: named sets of model settings, and the sessions that take them over
//! - `authors_note`, `macros`, `regex_scripts`, `prompt_plans`: what else changes a prompt
//! - `script_consent`: whether the regex scripts of an imported card or preset may run
//! - `memory`, `summaries`, `plugin_summaries`, `vector_search`: recall and summaries
//! - `chat_templates`, `token_counts`, `usage_totals`: prompts as one text, their size, and what replies cost
//! - `transcripts`, `exports`, `session_transfer`, `requested_settings`: a branch as a file, whole sessions out and in
//! - `sockets`, `reply_queue`, `continue_replies`, `drafts`, `unread_replies`, `stale_heads`: live events and replies
//! - `odd_types`: values of other types in imported metadata, traces and deltas
//! - `reply_thoughts`: thoughts in the text of replies
//! - `repeat_requests`, `clock_jumps`, `sql_statements`: repeated requests, clock changes and the cost of a turn
//! - `models`, `providers`, `model_streams`, `values_model`, `tool_calls`: model servers, the values model and tools
//! - `plugin_and_model_lists`, `plugin_reload`, `plugin_state`, `plugin_displays`, `plugin_model_calls`: plugins
//! - `plugin_workshop`, `plugin_tests`: files, checks, trials and tests of plugins
//! - `devices`, `static_files`, `remote_pictures`: pairing, the page and pictures of other servers
//! - `search_hits`, `search_queries`: search
//! - `session_list`: the list of sessions with its folders, tags and pins
//! - `save_points`: messages that are opened later
//! - `end_to_end`: one story from beginning to end
//!
//! [`api_session::ApiSession`] is a session with short methods. The client itself checks every answer against the document.

pub mod api_session;
mod authors_note;
mod branches;
mod card_plugins;
mod card_versions;
mod cards;
mod chat_templates;
mod clock_jumps;
mod connection_profiles;
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
mod lorebook_links;
mod lorebooks;
mod macros;
mod memory;
mod model_streams;
mod models;
mod mvu;
mod node_fields;
mod odd_types;
mod ownership;
mod page_types;
mod parameters;
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
mod reply_thoughts;
mod request_guard;
mod requested_settings;
mod save_points;
mod script_consent;
mod search_hits;
mod search_queries;
mod session_list;
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
use crate::support::server::{TestServer, id_of};
use crate::support::wait::wait_for_some;
use serde_json::{Value, json};

/// Searches until there are `hits` hits. The index follows the log asynchronously.
pub async fn search_until(app: &TestServer, query: &str, hits: usize) -> Value {
    wait_for_some(&format!("\"{query}\" in the index"), async || {
        let found = app.get(&format!("/api/search?q={query}")).await;
        (found["items"].as_array().unwrap().len() >= hits).then_some(found)
    })
    .await
}
