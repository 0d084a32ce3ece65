//! The only floor that speaks HTTP and JSON to clients.
//!
//! A request passes the gate (`finalize.rs`, `caller.rs`), finds its line in the table below (`route_table.rs`), is read into shapes
//! (`body.rs`, `file.rs`, `query.rs`, `wire/`), and its handler (`routes/`) has one gait: take, load, decide, one write, answer.
//! Whatever is refused leaves in one form (`error.rs`). `ws/` tells of what happens, `idempotency.rs` keeps a repeated key from
//! acting twice, `openapi.rs` writes the contract from this same table and what handlers say of themselves (`describe.rs`),
//! `server.rs` listens.
//!
//! To add a route: a handler in `routes/`, and its line in [`table()`], which says who may call it and what it answers. The
//! document, the refusals of other methods and the tests of every route follow from the line.

pub mod body;
pub mod caller;
pub mod describe;
pub mod error;
pub mod file;
mod finalize;
mod idempotency;
pub mod json_scan;
pub mod openapi;
pub mod query;
pub mod response;
pub mod route_table;
pub mod routes;
pub mod server;
pub mod server_state;
pub mod upload_form;
pub mod wire;
pub mod ws;

use actix_web::http::Method;

pub use server::{serve, serve_until};

use caller::RouteAccess::{Operator, Public, Unpaired, User};
use route_table::{RouteEntry, route, with_group};
use routes::{
    api_docs, auth, avatars, branches, cards, characters, devices, documents, drafts, embedded_plugin, exports, health,
    image_proxy, lorebooks, messages, models, node_states, nodes, personas, plugin_editor, plugins, presets,
    projection, prompt_preview, providers, search, sessions, summaries, transcript, transfers, trash, tree, tree_edits,
    turns, web_page, worlds,
};

const GET: Method = Method::GET;
const POST: Method = Method::POST;
const PUT: Method = Method::PUT;
const PATCH: Method = Method::PATCH;
const DELETE: Method = Method::DELETE;

/// Every route of the program, with who may call it.
pub fn all_routes() -> Vec<RouteEntry> {
    [
        with_group("Caller", vec![route(GET, "/api/auth/me", User, "Who is calling", auth::me)]),
        with_group("Devices", device_routes()),
        with_group("Characters and personas", character_routes()),
        with_group("Lorebooks", lorebook_routes()),
        with_group("Presets", preset_routes()),
        with_group("Documents", document_routes()),
        // Before the sessions: a path that is a word comes before the one that takes any.
        with_group("Out and in", transfer_routes()),
        with_group("Sessions", session_routes()),
        with_group("The trash", trash_routes()),
        with_group("The tree", chat_read_routes()),
        with_group("Writing", chat_write_routes()),
        with_group("Search, plugins, models", search_and_plugin_routes()),
        with_group("Operations", operational_routes()),
        with_group("The page", page_routes()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn device_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/devices", User, "The paired devices", devices::list),
        route(POST, "/api/devices/pairing", User, "Makes a code by which one device may be paired", devices::pair),
        route(POST, "/api/devices/claim", Unpaired, "Pairs the device that shows a code", devices::claim)
            .with_statuses(&[201]),
        route(PATCH, "/api/devices/{vid}", User, "Names a device", devices::rename),
        route(DELETE, "/api/devices/{vid}", User, "Lets a device in no more", devices::revoke).with_statuses(&[204]),
    ]
}

fn character_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/characters", User, "The caller's characters", characters::list),
        route(POST, "/api/characters", User, "Keeps a new character", characters::create).with_statuses(&[201]),
        route(POST, "/api/characters/import", User, "Makes a character of a card of another program", cards::import)
            .with_statuses(&[201]),
        route(GET, "/api/characters/{cid}/export", User, "A character as a card of other programs", cards::export),
        route(GET, "/api/characters/{cid}/avatar", User, "The picture of a character", avatars::read_character)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(PUT, "/api/characters/{cid}/avatar", User, "Gives a character another picture", avatars::set_character),
        route(
            GET,
            "/api/characters/{cid}/outside",
            User,
            "Whether pictures of other servers are shown",
            image_proxy::read,
        ),
        route(PUT, "/api/characters/{cid}/outside", User, "Says whether they are", image_proxy::put),
        route(
            GET,
            "/api/characters/{cid}/outside/picture",
            User,
            "A picture of another server",
            image_proxy::read_image,
        )
        .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/characters/{cid}/rules", User, "The rules that a card carries", embedded_plugin::read),
        route(PUT, "/api/characters/{cid}/rules", User, "Lets a card carry a plugin", embedded_plugin::put),
        route(DELETE, "/api/characters/{cid}/rules", User, "Takes the rules out of a card", embedded_plugin::delete)
            .with_statuses(&[204]),
        route(
            POST,
            "/api/characters/{cid}/rules/accept",
            User,
            "Takes the rules of a card in",
            embedded_plugin::accept,
        ),
        route(GET, "/api/characters/{cid}", User, "One character", characters::read),
        route(PATCH, "/api/characters/{cid}", User, "Changes fields of a character", characters::change),
        route(DELETE, "/api/characters/{cid}", User, "Moves a character to the trash", characters::delete)
            .with_statuses(&[204]),
        route(GET, "/api/personas", User, "The caller's personas", personas::list),
        route(POST, "/api/personas", User, "Keeps a new persona", personas::create).with_statuses(&[201]),
        route(POST, "/api/personas/import", User, "Keeps the personas of another program", personas::import)
            .with_statuses(&[201]),
        route(GET, "/api/personas/{pid}", User, "One persona", personas::read),
        route(GET, "/api/personas/{pid}/avatar", User, "The picture of a persona", avatars::read_persona)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(PUT, "/api/personas/{pid}/avatar", User, "Gives a persona another picture", avatars::set_persona),
        route(PATCH, "/api/personas/{pid}", User, "Changes fields of a persona", personas::change),
        route(DELETE, "/api/personas/{pid}", User, "Moves a persona to the trash", personas::delete)
            .with_statuses(&[204]),
    ]
}

fn lorebook_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/lorebooks", User, "The caller's lorebooks", lorebooks::list),
        route(POST, "/api/lorebooks", User, "Keeps a new lorebook", lorebooks::create).with_statuses(&[201]),
        route(POST, "/api/lorebooks/import", User, "Keeps a lorebook of another program", lorebooks::import)
            .with_statuses(&[201]),
        route(POST, "/api/lorebooks/test", User, "Which entries would fire, and why", lorebooks::test),
        route(GET, "/api/lorebooks/settings", User, "The house rules of lore", lorebooks::settings),
        route(PUT, "/api/lorebooks/settings", User, "Says the house rules of lore", lorebooks::set_settings),
        route(GET, "/api/lorebooks/{lid}", User, "One lorebook with its entries", lorebooks::read),
        route(PATCH, "/api/lorebooks/{lid}", User, "Changes fields of a lorebook", lorebooks::change),
        route(DELETE, "/api/lorebooks/{lid}", User, "Moves a lorebook to the trash", lorebooks::delete)
            .with_statuses(&[204]),
        route(GET, "/api/lorebooks/{lid}/entries", User, "The entries of a lorebook", lorebooks::entries),
        route(POST, "/api/lorebooks/{lid}/entries", User, "Keeps a new entry of a lorebook", lorebooks::add)
            .with_statuses(&[201]),
        route(PATCH, "/api/lorebooks/{lid}/entries/{uid}", User, "Changes fields of an entry", lorebooks::update_entry),
        route(
            DELETE,
            "/api/lorebooks/{lid}/entries/{uid}",
            User,
            "Takes an entry out of a lorebook",
            lorebooks::delete_entry,
        )
        .with_statuses(&[204]),
        route(GET, "/api/lorebooks/{lid}/holds", User, "For what a lorebook holds", lorebooks::holds),
        route(PUT, "/api/lorebooks/{lid}/holds", User, "Says for what a lorebook holds", lorebooks::set_bindings),
        route(GET, "/api/lorebooks/{lid}/export", User, "A lorebook as other programs read it", lorebooks::export),
    ]
}

fn preset_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/presets", User, "The caller's presets", presets::list),
        route(POST, "/api/presets", User, "Keeps a new preset", presets::create).with_statuses(&[201]),
        route(POST, "/api/presets/import", User, "Keeps presets of another program", presets::import)
            .with_statuses(&[201]),
        route(GET, "/api/presets/{rid}", User, "One preset with all that it says", presets::read),
        route(PATCH, "/api/presets/{rid}", User, "Changes fields of a preset", presets::change),
        route(DELETE, "/api/presets/{rid}", User, "Moves a preset to the trash", presets::delete).with_statuses(&[204]),
        route(GET, "/api/presets/{rid}/export", User, "A preset as other programs read it", presets::export),
    ]
}

fn document_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/documents", User, "The caller's documents", documents::list),
        route(POST, "/api/documents", User, "Keeps a new document", documents::create).with_statuses(&[201]),
        route(POST, "/api/documents/search", User, "The best documents for a question", documents::search),
        route(GET, "/api/documents/{oid}", User, "One document", documents::read),
        route(DELETE, "/api/documents/{oid}", User, "Destroys a document for good", documents::delete)
            .with_statuses(&[204]),
        route(GET, "/api/collections", User, "The caller's collections of documents", documents::collections),
    ]
}

fn session_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/sessions", User, "The caller's sessions, newest change first", sessions::list),
        route(POST, "/api/sessions", User, "Begins a session", sessions::create).with_statuses(&[201]),
        route(GET, "/api/sessions/{sid}", User, "One session", sessions::read),
        route(PATCH, "/api/sessions/{sid}", User, "Changes settings of a session", sessions::change),
        route(DELETE, "/api/sessions/{sid}", User, "Moves a session to the trash", sessions::delete)
            .with_statuses(&[204]),
        route(GET, "/api/sessions/{sid}/scripts", User, "The regex scripts of a session", sessions::scripts),
        route(
            GET,
            "/api/sessions/{sid}/scripts/shown",
            User,
            "The scripts for what is shown",
            sessions::display_scripts,
        ),
        route(GET, "/api/sessions/{sid}/summaries", User, "The summaries of a line", summaries::list),
        route(PATCH, "/api/sessions/{sid}/summaries/{mid}", User, "Corrects a summary", summaries::change),
        route(DELETE, "/api/sessions/{sid}/summaries/{mid}", User, "Has a summary made anew", summaries::delete)
            .with_statuses(&[204]),
        route(PUT, "/api/sessions/{sid}/plugins", User, "Sets the plugins of a session", sessions::set_plugins),
    ]
}

fn trash_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/trash", User, "What was deleted and can be brought back", trash::list),
        route(POST, "/api/trash/{tid}/restore", User, "Brings something back", trash::restore).with_statuses(&[204]),
        route(DELETE, "/api/trash/{tid}", User, "Destroys something for good", trash::destroy).with_statuses(&[204]),
    ]
}

fn transfer_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/sessions/{sid}/export", User, "A session as a file: all of it, or one line", exports::session),
        route(GET, "/api/export", User, "Everything as a folder of another program, packed", exports::all),
        route(POST, "/api/sessions/import", User, "Takes the file of a session in", transfers::import)
            .with_statuses(&[202]),
        route(POST, "/api/sessions/{sid}/copies", User, "Makes a copy of a session", transfers::copy)
            .with_statuses(&[202]),
        route(POST, "/api/import", User, "Takes what another program keeps in", transfers::import_foreign)
            .with_statuses(&[202]),
        route(GET, "/api/jobs/{jid}", User, "How far a job is", transfers::job),
        route(DELETE, "/api/jobs/{jid}", User, "Ends a job that waits or runs", transfers::cancel_job)
            .with_statuses(&[204]),
    ]
}

/// Answers with a tag: of one moment of a session, or of a file that stays as it is.
const OK_OR_NOT_MODIFIED: &[u16] = &[200, 304];

fn chat_read_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/chat/{sid}/tree", User, "The whole tree, or its outline", tree::tree)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/projection", User, "The linear view", projection::projection)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/deltas", User, "What the messages of a line do to the world", worlds::deltas)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/line", User, "One line written out as a file", transcript::transcript)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/branches", User, "The branches of a tree", branches::branches)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/diff", User, "How two lines differ", branches::compare)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/variables", User, "How values went along lines", branches::variables)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/turns", User, "The turn-based view", turns::turns)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/context-path", User, "The turns from the root to a leaf", turns::context_path)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(
            GET,
            "/api/chat/{sid}/commands",
            User,
            "Slash commands of the session's plugins",
            plugins::session_commands,
        ),
        route(GET, "/api/chat/{sid}/labels", User, "The names in a tree", tree_edits::labels)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/stash", User, "What was pruned", tree_edits::stash)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/stash/{fid}/tree", User, "What lies in a fragment", tree_edits::fragment)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/spent", User, "What the replies of a session took", sessions::usage_totals),
        route(GET, "/api/chat/{sid}/ops", User, "A part of the session's log", tree::operations),
        route(GET, "/api/chat/{sid}/node/{nid}", User, "One node", nodes::node).with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/node/{nid}/alternatives", User, "The versions of a node", nodes::alternatives)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/node/{nid}/world", User, "The world after a node", worlds::world)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/node/{nid}/delta", User, "What a node does to the world", nodes::delta)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/node/{nid}/trace", User, "Why a reply exists", nodes::trace)
            .with_statuses(OK_OR_NOT_MODIFIED),
        route(GET, "/api/chat/{sid}/ws", User, "Live events, over a WebSocket", ws::open).with_statuses(&[101]),
    ]
}

fn chat_write_routes() -> Vec<RouteEntry> {
    const CREATED_OR_ACCEPTED: &[u16] = &[201, 202];
    vec![
        route(POST, "/api/chat/{sid}/message", User, "Writes a message", messages::message)
            .with_statuses(CREATED_OR_ACCEPTED),
        route(POST, "/api/chat/{sid}/node/{nid}/reroll", User, "Begins other replies", messages::reroll)
            .with_statuses(&[202]),
        route(
            POST,
            "/api/chat/{sid}/node/{nid}/continue",
            User,
            "Goes on from a reply's text",
            messages::continue_reply,
        )
        .with_statuses(&[202]),
        route(POST, "/api/chat/{sid}/node/{nid}/edit", User, "Writes a new version", messages::edit)
            .with_statuses(CREATED_OR_ACCEPTED),
        route(POST, "/api/chat/{sid}/node/{nid}/cancel", User, "Stops a reply", messages::cancel).with_statuses(&[202]),
        route(POST, "/api/chat/{sid}/prompt", User, "The prompt that a send would make", prompt_preview::preview),
        route(POST, "/api/chat/{sid}/impersonate", User, "Drafts the user's next message", drafts::impersonate)
            .with_statuses(&[202]),
        route(POST, "/api/chat/{sid}/summarise", User, "Drafts a summary of some messages", drafts::summarise)
            .with_statuses(&[202]),
        route(GET, "/api/chat/{sid}/draft/{did}", User, "A draft as far as it is", drafts::read),
        route(DELETE, "/api/chat/{sid}/draft/{did}", User, "Stops or forgets a draft", drafts::delete)
            .with_statuses(&[204]),
        route(POST, "/api/chat/{sid}/node/{nid}/world", User, "Changes the world by hand", worlds::change)
            .with_statuses(&[201]),
        route(
            PUT,
            "/api/chat/{sid}/tree/edit",
            User,
            "Rearranges the tree: all of the edits or none",
            tree_edits::edit,
        ),
        route(POST, "/api/chat/{sid}/undo", User, "Takes the caller's newest step back", tree_edits::undo),
        route(POST, "/api/chat/{sid}/redo", User, "Brings back what was taken back last", tree_edits::redo),
        route(PUT, "/api/chat/{sid}/active_leaf", User, "Moves HEAD", projection::checkout),
        route(PUT, "/api/chat/{sid}/node/{nid}/state", User, "Enables, mutes or rates a node", node_states::one),
        route(PUT, "/api/chat/{sid}/nodes/state", User, "Enables or mutes many nodes at once", node_states::set_many),
    ]
}

fn search_and_plugin_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/search", User, "Searches all branches", search::search),
        route(GET, "/api/plugins", User, "The plugins of this server", plugins::list),
        route(GET, "/api/plugins/reference", User, "What scripts of plugins can call", plugin_editor::reference),
        route(GET, "/api/plugins/{plugin}", User, "One plugin with its settings", plugins::read),
        route(GET, "/api/plugins/{plugin}/files/{path:.*}", User, "One file of a plugin", plugin_editor::read),
        route(PUT, "/api/plugins/{plugin}/files/{path:.*}", User, "Writes a file of a plugin", plugin_editor::write),
        route(
            DELETE,
            "/api/plugins/{plugin}/files/{path:.*}",
            User,
            "Deletes a file of a plugin",
            plugin_editor::delete,
        ),
        route(
            POST,
            "/api/plugins/{plugin}/check",
            User,
            "Checks a plugin, unsaved texts included",
            plugin_editor::check,
        ),
        route(
            POST,
            "/api/plugins/{plugin}/try",
            User,
            "Tries a hook on a message, writing nothing",
            plugin_editor::try_hook,
        ),
        route(POST, "/api/plugins/{plugin}/test", User, "Runs the tests of a plugin", plugin_editor::test),
        route(POST, "/api/plugins/{plugin}/replay", User, "Runs rules again, writing nothing", plugin_editor::replay),
        route(GET, "/api/models", User, "The models that can be asked", models::list),
        route(PUT, "/api/models/default", User, "Chooses the model of sessions that name none", providers::set_default),
        route(GET, "/api/providers", User, "The model servers, without their keys", providers::list),
        route(POST, "/api/providers", User, "Connects a model server", providers::create).with_statuses(&[201]),
        // Before the addresses of one, which a provider called "test" would be.
        route(POST, "/api/providers/test", User, "Tries a model server before it is kept", providers::test_new),
        route(PATCH, "/api/providers/{provider}", User, "Changes a connected model server", providers::change),
        route(DELETE, "/api/providers/{provider}", User, "Forgets a connected model server", providers::delete)
            .with_statuses(&[204]),
        route(POST, "/api/providers/{provider}/test", User, "Tries a model server", providers::test),
    ]
}

fn operational_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/healthz", Public, "Whether the process is there", health::healthz),
        route(GET, "/readyz", Operator, "Whether database, index and plugins work", health::readyz)
            .with_statuses(&[200, 503]),
        route(GET, "/metrics", Operator, "Counters for Prometheus", health::metrics),
        route(GET, "/api/openapi.json", Public, "This contract as OpenAPI", api_docs::openapi),
        route(GET, "/api/docs", Public, "This contract for people", api_docs::read),
        route(GET, "/api/docs/style.css", Public, "How the contract for people looks", api_docs::style),
    ]
}

fn page_routes() -> Vec<RouteEntry> {
    vec![
        route(GET, "/", Unpaired, "The page", web_page::index),
        route(GET, "/settings", Unpaired, "The page, at its settings", web_page::index),
        route(GET, "/s/{address:.*}", Unpaired, "The page, at the address of a session", web_page::index),
        route(GET, "/pair", Unpaired, "The page, where a device is paired", web_page::index),
        route(GET, "/assets/{version}/{path:.*}", Unpaired, "A file of the page", web_page::asset)
            .with_statuses(&[200, 304]),
        route(GET, "/offline.js", Unpaired, "The service worker of the page", web_page::offline)
            .with_statuses(&[200, 304]),
        route(GET, "/favicon.ico", Unpaired, "The icon", web_page::favicon).with_statuses(&[200, 304]),
    ]
}
