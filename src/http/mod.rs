//! The HTTP layer: the only code that speaks HTTP and JSON to clients.
//!
//! A request passes authorisation (`finalize.rs`, `caller.rs`), is matched against the route table below
//! (`route_table.rs`) and is parsed into typed requests (`body.rs`, `file.rs`, `query.rs`, `wire/`). Its handler
//! (`routes/`) always takes the same steps: parse, load, decide, one write, answer. All errors leave in one JSON form
//! (`error.rs`). `ws/` streams events, `idempotency.rs` keeps a repeated key from writing twice, and `server.rs`
//! listens. `openapi.rs` generates the OpenAPI document from the route table and from what extractors and responders
//! describe (`describe.rs`).
//!
//! To add a route: write a handler in `routes/` and add its line to [`all_routes()`], with who may call it and its
//! status codes. The document, the `405` answers and the tests of all routes follow from that line.

pub mod body;
pub mod caller;
mod connection_end;
mod connection_limit;
mod content_disposition;
pub mod describe;
pub mod error;
pub mod file;
mod file_limit;
mod finalize;
mod idempotency;
pub mod json_schema;
pub mod openapi;
mod proxy_headers;
pub mod query;
mod recorded_json;
pub mod response;
pub mod route_table;
pub mod routes;
pub mod server;
pub mod server_state;
pub mod upload_form;
pub mod wire;
pub mod ws;

use actix_web::FromRequest;
use actix_web::http::Method;

pub use server::{serve, serve_until};

use caller::RouteAccess::{Operator, Public, Unpaired, User};
use describe::DescribeInput;
use query::{CharacterIdPath, PersonaIdPath, SessionIdPath};
use route_table::{RouteEntry, route, with_group};
use routes::lorebook_links::BindingTargetPath;
use routes::{
    api_docs, auth, avatars, branches, card_versions, cards, characters, connection_profiles, devices, documents,
    drafts, embedded_plugin, exports, health, image_proxy, lorebook_links, lorebooks, messages, models, node_states,
    nodes, parameters, personas, plugin_editor, plugins, presets, projection, prompt_preview, providers, search,
    session_list, sessions, summaries, transcript, transfers, trash, tree, tree_edits, turns, web_page, worlds,
};

const GET: Method = Method::GET;
const POST: Method = Method::POST;
const PUT: Method = Method::PUT;
const PATCH: Method = Method::PATCH;
const DELETE: Method = Method::DELETE;

/// Returns every route of the server, with its required access.
pub fn all_routes() -> Vec<RouteEntry> {
    [
        with_group("Caller", vec![route(GET, "/api/auth/me", User, "Get the caller", auth::me)]),
        with_group("Devices", device_routes()),
        with_group("Characters and personas", character_routes()),
        with_group("Lorebooks", lorebook_routes()),
        with_group("Lorebooks", lorebook_link_routes()),
        with_group("Presets", preset_routes()),
        with_group("Connection profiles", connection_profile_routes()),
        with_group("Documents", document_routes()),
        // Before the session routes: literal path segments must precede `{sid}`.
        with_group("Import and export", transfer_routes()),
        with_group("Sessions", session_routes()),
        with_group("Trash", trash_routes()),
        with_group("Tree", chat_read_routes()),
        with_group("Messages", chat_write_routes()),
        with_group("Search, plugins, models", search_and_plugin_routes()),
        with_group("Operations", operational_routes()),
        with_group("Page", page_routes()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn device_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/devices", User, "List paired devices", devices::list),
        route(POST, "/api/devices/pairing", User, "Create a pairing code for one device", devices::pair),
        route(POST, "/api/devices/claim", Unpaired, "Pair this device with a code", devices::claim)
            .with_statuses(&[201]),
        route(PATCH, "/api/devices/{vid}", User, "Rename a device", devices::rename),
        route(DELETE, "/api/devices/{vid}", User, "Revoke a device", devices::revoke).with_statuses(&[204]),
    ]
}

fn character_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/characters", User, "List characters", characters::list),
        route(POST, "/api/characters", User, "Create a character", characters::create).with_statuses(&[201]),
        route(POST, "/api/characters/import", User, "Import a character card", cards::import).with_statuses(&[201]),
        route(GET, "/api/characters/{cid}/export", User, "Export a character card", cards::export),
        route(GET, "/api/characters/{cid}/avatar", User, "Get the avatar of a character", avatars::read_character)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(PUT, "/api/characters/{cid}/avatar", User, "Set the avatar of a character", avatars::set_character),
        route(
            GET,
            "/api/characters/{cid}/outside",
            User,
            "Get the remote-image permission of a character",
            image_proxy::read_permission,
        ),
        route(
            PUT,
            "/api/characters/{cid}/outside",
            User,
            "Set the remote-image permission of a character",
            image_proxy::set_permission,
        ),
        route(
            GET,
            "/api/characters/{cid}/outside/picture",
            User,
            "Get a remote image through the proxy",
            image_proxy::read_image,
        )
        .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/characters/{cid}/rules", User, "Get the plugin embedded in a card", embedded_plugin::read),
        route(PUT, "/api/characters/{cid}/rules", User, "Embed a plugin in a card", embedded_plugin::embed),
        route(DELETE, "/api/characters/{cid}/rules", User, "Remove the plugin from a card", embedded_plugin::remove)
            .with_statuses(&[204]),
        route(
            POST,
            "/api/characters/{cid}/rules/accept",
            User,
            "Install the plugin of a card",
            embedded_plugin::install,
        ),
        route(GET, "/api/characters/{cid}/versions", User, "List the versions of a card", card_versions::list),
        route(GET, "/api/characters/{cid}/versions/{n}", User, "Get a version of a card", card_versions::read),
        route(
            POST,
            "/api/characters/{cid}/versions/{n}/restore",
            User,
            "Make a version of a card the present one",
            card_versions::restore,
        ),
        route(GET, "/api/characters/{cid}", User, "Get a character", characters::read),
        route(PATCH, "/api/characters/{cid}", User, "Update a character", characters::update),
        route(DELETE, "/api/characters/{cid}", User, "Move a character to the trash", characters::delete)
            .with_statuses(&[204]),
        route(GET, "/api/personas", User, "List personas", personas::list),
        route(POST, "/api/personas", User, "Create a persona", personas::create).with_statuses(&[201]),
        route(POST, "/api/personas/import", User, "Import personas", personas::import).with_statuses(&[201]),
        route(GET, "/api/personas/choices", User, "Get the personas for new sessions", personas::choices),
        route(PUT, "/api/personas/choices", User, "Choose a persona for new sessions", personas::choose),
        route(GET, "/api/personas/{pid}", User, "Get a persona", personas::read),
        route(GET, "/api/personas/{pid}/avatar", User, "Get the avatar of a persona", avatars::read_persona)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(PUT, "/api/personas/{pid}/avatar", User, "Set the avatar of a persona", avatars::set_persona),
        route(PATCH, "/api/personas/{pid}", User, "Update a persona", personas::update),
        route(DELETE, "/api/personas/{pid}", User, "Move a persona to the trash", personas::delete)
            .with_statuses(&[204]),
    ]
}

fn lorebook_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/lorebooks", User, "List lorebooks", lorebooks::list),
        route(POST, "/api/lorebooks", User, "Create a lorebook", lorebooks::create).with_statuses(&[201]),
        route(POST, "/api/lorebooks/import", User, "Import a lorebook", lorebooks::import).with_statuses(&[201]),
        route(POST, "/api/lorebooks/test", User, "Test which lorebook entries would fire, and why", lorebooks::test),
        route(GET, "/api/lorebooks/settings", User, "Get the global lorebook settings", lorebooks::settings),
        route(PUT, "/api/lorebooks/settings", User, "Set the global lorebook settings", lorebooks::set_settings),
        route(GET, "/api/lorebooks/{lid}", User, "Get a lorebook with its entries", lorebooks::read),
        route(PATCH, "/api/lorebooks/{lid}", User, "Update a lorebook", lorebooks::update),
        route(DELETE, "/api/lorebooks/{lid}", User, "Move a lorebook to the trash", lorebooks::delete)
            .with_statuses(&[204]),
        route(GET, "/api/lorebooks/{lid}/entries", User, "List the entries of a lorebook", lorebooks::list_entries),
        route(POST, "/api/lorebooks/{lid}/entries", User, "Create a lorebook entry", lorebooks::create_entry)
            .with_statuses(&[201]),
        route(PATCH, "/api/lorebooks/{lid}/entries/{uid}", User, "Update a lorebook entry", lorebooks::update_entry),
        route(DELETE, "/api/lorebooks/{lid}/entries/{uid}", User, "Delete a lorebook entry", lorebooks::delete_entry)
            .with_statuses(&[204]),
        route(GET, "/api/lorebooks/{lid}/holds", User, "Get the bindings of a lorebook", lorebooks::bindings),
        route(PUT, "/api/lorebooks/{lid}/holds", User, "Set the bindings of a lorebook", lorebooks::set_bindings),
        route(GET, "/api/lorebooks/{lid}/export", User, "Export a lorebook", lorebooks::export),
    ]
}

fn lorebook_link_routes() -> Vec<RouteEntry> {
    let links = [
        link_routes::<()>(
            "/api/lorebooks/{lid}/holds/everything",
            "Link a lorebook to all sessions",
            "Unlink a lorebook from all sessions",
        ),
        link_routes::<SessionIdPath>(
            "/api/lorebooks/{lid}/holds/sessions/{sid}",
            "Link a lorebook to a session",
            "Unlink a lorebook from a session",
        ),
        link_routes::<PersonaIdPath>(
            "/api/lorebooks/{lid}/holds/personas/{pid}",
            "Link a lorebook to a persona",
            "Unlink a lorebook from a persona",
        ),
        link_routes::<CharacterIdPath>(
            "/api/lorebooks/{lid}/holds/characters/{cid}",
            "Link a lorebook to a character",
            "Unlink a lorebook from a character",
        ),
    ];
    links.into_iter().flatten().collect()
}

/// Returns the routes that set and remove one kind of link.
fn link_routes<T>(path: &'static str, link: &'static str, unlink: &'static str) -> [RouteEntry; 2]
where
    T: BindingTargetPath + FromRequest + DescribeInput + 'static,
{
    [
        route(PUT, path, User, link, lorebook_links::link::<T>).with_statuses(&[204]),
        route(DELETE, path, User, unlink, lorebook_links::unlink::<T>).with_statuses(&[204]),
    ]
}

fn preset_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/presets", User, "List presets", presets::list),
        route(POST, "/api/presets", User, "Create a preset", presets::create).with_statuses(&[201]),
        route(POST, "/api/presets/import", User, "Import presets", presets::import).with_statuses(&[201]),
        route(GET, "/api/presets/{rid}", User, "Get a preset with its body", presets::read),
        route(PATCH, "/api/presets/{rid}", User, "Update a preset", presets::update),
        route(DELETE, "/api/presets/{rid}", User, "Move a preset to the trash", presets::delete).with_statuses(&[204]),
        route(GET, "/api/presets/{rid}/export", User, "Export a preset", presets::export),
    ]
}

fn connection_profile_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/profiles", User, "List connection profiles", connection_profiles::list),
        route(POST, "/api/profiles", User, "Create a connection profile", connection_profiles::create)
            .with_statuses(&[201]),
        route(GET, "/api/profiles/{kid}", User, "Get a connection profile", connection_profiles::read),
        route(PATCH, "/api/profiles/{kid}", User, "Update a connection profile", connection_profiles::update),
        route(
            DELETE,
            "/api/profiles/{kid}",
            User,
            "Delete a connection profile permanently",
            connection_profiles::delete,
        )
        .with_statuses(&[204]),
    ]
}

fn document_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/documents", User, "List documents", documents::list),
        route(POST, "/api/documents", User, "Create a document", documents::create).with_statuses(&[201]),
        route(POST, "/api/documents/search", User, "Search documents by relevance to a query", documents::search),
        route(GET, "/api/documents/{oid}", User, "Get a document", documents::read),
        route(DELETE, "/api/documents/{oid}", User, "Delete a document permanently", documents::delete)
            .with_statuses(&[204]),
        route(GET, "/api/collections", User, "List document collections", documents::collections),
    ]
}

fn session_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/sessions", User, "List sessions, with filters and sorted", session_list::list),
        route(POST, "/api/sessions", User, "Create a session", sessions::create).with_statuses(&[201]),
        route(GET, "/api/sessions/tags", User, "List the tags of sessions", session_list::tags),
        route(GET, "/api/sessions/folders", User, "List the folders of sessions", session_list::folders),
        route(POST, "/api/sessions/bulk", User, "Change several sessions", session_list::change_many),
        route(GET, "/api/sessions/{sid}", User, "Get a session", sessions::read),
        route(PATCH, "/api/sessions/{sid}", User, "Update a session", sessions::update),
        route(DELETE, "/api/sessions/{sid}", User, "Move a session to the trash", sessions::delete)
            .with_statuses(&[204]),
        route(
            GET,
            "/api/sessions/{sid}/parameters",
            User,
            "List the parameters that the model server of a session does not take",
            parameters::read,
        ),
        route(GET, "/api/sessions/{sid}/scripts", User, "List the regex scripts of a session", sessions::scripts),
        route(
            GET,
            "/api/sessions/{sid}/scripts/shown",
            User,
            "List the regex scripts that change the display",
            sessions::display_scripts,
        ),
        route(GET, "/api/sessions/{sid}/summaries", User, "List the summaries of a branch", summaries::list),
        route(PATCH, "/api/sessions/{sid}/summaries/{mid}", User, "Edit a summary", summaries::update),
        route(
            DELETE,
            "/api/sessions/{sid}/summaries/{mid}",
            User,
            "Delete a summary so that it is regenerated",
            summaries::delete,
        )
        .with_statuses(&[204]),
        route(
            POST,
            "/api/sessions/{sid}/cards",
            User,
            "Use a version of a card in a session",
            card_versions::use_version,
        ),
        route(PUT, "/api/sessions/{sid}/plugins", User, "Set the plugins of a session", sessions::set_plugins),
    ]
}

fn trash_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/trash", User, "List the trash", trash::list),
        route(POST, "/api/trash/{tid}/restore", User, "Restore an item from the trash", trash::restore)
            .with_statuses(&[204]),
        route(DELETE, "/api/trash/{tid}", User, "Delete an item of the trash permanently", trash::destroy)
            .with_statuses(&[204]),
    ]
}

fn transfer_routes() -> Vec<RouteEntry> {
    vec![
        route(
            GET,
            "/api/sessions/{sid}/export",
            User,
            "Export a session, whole or one branch",
            exports::export_session,
        ),
        route(GET, "/api/export", User, "Export all data as a SillyTavern archive", exports::export_user_data),
        route(POST, "/api/sessions/import", User, "Import a session file", transfers::import_session)
            .with_statuses(&[202]),
        route(POST, "/api/sessions/{sid}/copies", User, "Copy a session", transfers::copy_session)
            .with_statuses(&[202]),
        route(POST, "/api/import", User, "Import data of another program", transfers::import_foreign)
            .with_statuses(&[202]),
        route(GET, "/api/jobs/{jid}", User, "Get the progress of a job", transfers::read_job),
        route(DELETE, "/api/jobs/{jid}", User, "Cancel a queued or running job", transfers::cancel_job)
            .with_statuses(&[204]),
    ]
}

/// Status codes of answers with an `ETag`.
const OK_OR_NOT_MODIFIED: &[u16] = &[200, 304];

fn chat_read_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/chat/{sid}/tree", User, "Get the tree, whole or as an outline", tree::tree)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/projection", User, "Get the linear view of a branch", projection::projection)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/deltas", User, "List the deltas of a branch", worlds::deltas)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/line", User, "Get a branch as a transcript file", transcript::transcript)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/branches", User, "List the branches of a tree", branches::list)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/diff", User, "Compare two branches", branches::compare)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/variables", User, "Get the history of values along branches", branches::variables)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/turns", User, "Get the turn-based view", turns::list)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/context-path", User, "List the turns from the root to a leaf", turns::context_path)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(
            GET,
            "/api/chat/{sid}/commands",
            User,
            "List the slash commands of the session's plugins",
            plugins::session_commands,
        ),
        route(GET, "/api/chat/{sid}/labels", User, "List the labels of a tree", tree_edits::labels)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/stash", User, "List the fragments in the stash", tree_edits::stash)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(
            GET,
            "/api/chat/{sid}/stash/{fid}/tree",
            User,
            "Get the tree of a stashed fragment",
            tree_edits::fragment,
        )
        .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/spent", User, "Get the token and cost totals of a session", sessions::usage_totals),
        route(GET, "/api/chat/{sid}/ops", User, "Get a page of the operation log", tree::operations),
        route(GET, "/api/chat/{sid}/node/{nid}", User, "Get a node", nodes::read).with_statuses(OK_OR_NOT_MODIFIED),
        route(
            GET,
            "/api/chat/{sid}/node/{nid}/alternatives",
            User,
            "List the alternatives of a node",
            nodes::alternatives,
        )
        .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/node/{nid}/world", User, "Get the state after a node", worlds::world)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/node/{nid}/delta", User, "Get the delta of a node", nodes::delta)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/node/{nid}/trace", User, "Get the trace of a reply", nodes::trace)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/ws", User, "Open a WebSocket for live events", ws::open).with_statuses(&[101]),
    ]
}

fn chat_write_routes() -> Vec<RouteEntry> {
    const CREATED_OR_ACCEPTED: &[u16] = &[201, 202];
    vec![
        route(POST, "/api/chat/{sid}/message", User, "Send a message", messages::create)
            .with_statuses(CREATED_OR_ACCEPTED),
        route(POST, "/api/chat/{sid}/node/{nid}/reroll", User, "Reroll a reply", messages::reroll)
            .with_statuses(&[202]),
        route(POST, "/api/chat/{sid}/node/{nid}/continue", User, "Continue a reply", messages::continue_reply)
            .with_statuses(&[202]),
        route(POST, "/api/chat/{sid}/node/{nid}/edit", User, "Edit a message", messages::edit)
            .with_statuses(CREATED_OR_ACCEPTED),
        route(POST, "/api/chat/{sid}/node/{nid}/cancel", User, "Cancel a reply", messages::cancel)
            .with_statuses(&[202]),
        route(POST, "/api/chat/{sid}/prompt", User, "Preview the prompt of a send", prompt_preview::preview),
        route(POST, "/api/chat/{sid}/impersonate", User, "Draft the user's next message", drafts::impersonate)
            .with_statuses(&[202]),
        route(POST, "/api/chat/{sid}/summarise", User, "Draft a summary of messages", drafts::summarise)
            .with_statuses(&[202]),
        route(GET, "/api/chat/{sid}/draft/{did}", User, "Get a draft", drafts::read),
        route(DELETE, "/api/chat/{sid}/draft/{did}", User, "Cancel or delete a draft", drafts::delete)
            .with_statuses(&[204]),
        route(POST, "/api/chat/{sid}/node/{nid}/world", User, "Change the state manually", worlds::update)
            .with_statuses(&[201]),
        route(PUT, "/api/chat/{sid}/tree/edit", User, "Edit the tree atomically", tree_edits::edit),
        route(POST, "/api/chat/{sid}/undo", User, "Undo the caller's last step", tree_edits::undo),
        route(POST, "/api/chat/{sid}/redo", User, "Redo the last undone step", tree_edits::redo),
        route(PUT, "/api/chat/{sid}/active_leaf", User, "Move HEAD", projection::checkout),
        route(PUT, "/api/chat/{sid}/node/{nid}/state", User, "Enable, mute or rate a node", node_states::set_one),
        route(PUT, "/api/chat/{sid}/nodes/state", User, "Enable or mute many nodes at once", node_states::set_many),
    ]
}

fn search_and_plugin_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/search", User, "Search all branches", search::search),
        route(GET, "/api/plugins", User, "List the plugins of the server", plugins::list),
        route(
            GET,
            "/api/plugins/reference",
            User,
            "Get the API reference for plugin scripts",
            plugin_editor::reference,
        ),
        route(GET, "/api/plugins/{plugin}", User, "Get a plugin with its settings", plugins::read),
        route(GET, "/api/plugins/{plugin}/files/{path:.*}", User, "Get a plugin file", plugin_editor::read_file),
        route(PUT, "/api/plugins/{plugin}/files/{path:.*}", User, "Write a plugin file", plugin_editor::write_file),
        route(
            DELETE,
            "/api/plugins/{plugin}/files/{path:.*}",
            User,
            "Delete a plugin file",
            plugin_editor::delete_file,
        ),
        route(
            POST,
            "/api/plugins/{plugin}/check",
            User,
            "Check a plugin, including unsaved files",
            plugin_editor::check,
        ),
        route(
            POST,
            "/api/plugins/{plugin}/try",
            User,
            "Try a hook on a message without writing",
            plugin_editor::try_hook,
        ),
        route(POST, "/api/plugins/{plugin}/test", User, "Run the tests of a plugin", plugin_editor::test),
        route(POST, "/api/plugins/{plugin}/replay", User, "Replay a plugin along a branch", plugin_editor::replay),
        route(GET, "/api/models", User, "List the available models", models::list),
        route(PUT, "/api/models/default", User, "Set the default model", providers::set_default),
        route(GET, "/api/providers", User, "List providers, without their keys", providers::list),
        route(POST, "/api/providers", User, "Add a provider", providers::create).with_statuses(&[201]),
        // Before `/api/providers/{provider}`, which would match "test".
        route(POST, "/api/providers/test", User, "Test a provider before adding it", providers::test_new),
        route(PATCH, "/api/providers/{provider}", User, "Update a provider", providers::update),
        route(DELETE, "/api/providers/{provider}", User, "Delete a provider", providers::delete).with_statuses(&[204]),
        route(POST, "/api/providers/{provider}/test", User, "Test a provider", providers::test),
    ]
}

fn operational_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/healthz", Public, "Check that the process is alive", health::healthz),
        route(GET, "/readyz", Operator, "Check the database, the search index and plugins", health::readyz)
            .with_statuses(&[200, 503]),
        route(GET, "/metrics", Operator, "Get Prometheus metrics", health::metrics),
        route(GET, "/api/openapi.json", Public, "Get this API as OpenAPI", api_docs::openapi),
        route(GET, "/api/docs", Public, "Get this API as an HTML page", api_docs::read),
        route(GET, "/api/docs/style.css", Public, "Get the stylesheet of the API page", api_docs::style),
    ]
}

fn page_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/", Unpaired, "Get the web page", web_page::index),
        route(GET, "/settings", Unpaired, "Get the web page, at its settings", web_page::index),
        route(GET, "/s/{address:.*}", Unpaired, "Get the web page, at a session", web_page::index),
        route(GET, "/pair", Unpaired, "Get the web page for pairing a device", web_page::index),
        route(GET, "/assets/{version}/{path:.*}", Unpaired, "Get a static file of the web page", web_page::asset)
            .with_statuses(&[200, 304]),
        route(GET, "/offline.js", Unpaired, "Get the service worker", web_page::offline).with_statuses(&[200, 304]),
        route(GET, "/favicon.ico", Unpaired, "Get the icon", web_page::favicon).with_statuses(&[200, 304]),
    ]
}
