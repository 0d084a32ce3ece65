//! Integration tests, which drive the real program.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, in its helpers too"
)]

mod cli;
mod foreign;
mod fuzz_corpus;
mod http;
mod interop;
mod lore;
mod message_codes;
mod plugins;
mod prompts;
mod provider;
mod reliability;
mod sillytavern;
mod store_bounds;
mod store_card_versions;
mod store_connection_profiles;
mod store_contract;
mod store_documents;
mod store_edit_costs;
mod store_faults;
mod store_properties;
mod store_schema;
mod store_session_list;
mod support;
mod tidy;
mod transfer;
mod turn;
