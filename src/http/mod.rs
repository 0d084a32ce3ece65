//! The only floor that speaks HTTP and JSON to clients.
//!
//! A request passes the gate (`seal.rs`, `caller.rs`), finds its line in the table below (`table.rs`), is read into shapes
//! (`body.rs`, `file.rs`, `query.rs`, `wire/`), and its handler (`routes/`) has one gait: take, load, decide, one write, answer.
//! Whatever is refused leaves in one form (`error.rs`). `ws/` tells of what happens, `repeat.rs` keeps a repeated key from
//! acting twice, `document.rs` writes the contract from this same table and what handlers say of themselves (`sketch.rs`),
//! `server.rs` listens.
//!
//! To add a route: a handler in `routes/`, and its line in [`table()`], which says who may call it and what it answers. The
//! document, the refusals of other methods and the tests of every route follow from the line.

pub mod answer;
pub mod body;
pub mod caller;
pub mod document;
pub mod error;
pub mod file;
pub mod form;
pub mod query;
mod repeat;
pub mod routes;
pub mod scan;
mod seal;
pub mod server;
pub mod shared;
pub mod sketch;
pub mod table;
pub mod wire;
pub mod ws;

use actix_web::http::Method;

pub use server::{serve, serve_until};

use caller::RouteAccess::{Door, Operator, Public, User};
use routes::{
    arrange, auth, branches, cards, characters, devices, docs, documents, drafts, exports, health, line, lorebooks,
    messages, models, nodes, outside, page, personas, pictures, plugins, presets, preview, providers, rules, search,
    sessions, states, summaries, transcript, transfers, trash, tree, turns, workshop, worlds,
};
use table::{RouteEntry, group, route};

const GET: Method = Method::GET;
const POST: Method = Method::POST;
const PUT: Method = Method::PUT;
const PATCH: Method = Method::PATCH;
const DELETE: Method = Method::DELETE;

/// Every route of the program, with who may call it.
pub fn table() -> Vec<RouteEntry> {
    [
        group("Caller", vec![route(GET, "/api/auth/me", User, "Who is calling", auth::me)]),
        group("Devices", house()),
        group("Characters and personas", people()),
        group("Lorebooks", books()),
        group("Presets", kept_presets()),
        group("Documents", kept_documents()),
        // Before the sessions: a path that is a word comes before the one that takes any.
        group("Out and in", transfers()),
        group("Sessions", stories()),
        group("The trash", trash()),
        group("The tree", reading()),
        group("Writing", writing()),
        group("Search, plugins, models", offers()),
        group("Operations", operations()),
        group("The page", files()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn house() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/devices", User, "The paired devices", devices::list),
        route(POST, "/api/devices/pairing", User, "Makes a code by which one device may be paired", devices::pair),
        route(POST, "/api/devices/claim", Door, "Pairs the device that shows a code", devices::claim).answers(&[201]),
        route(PATCH, "/api/devices/{vid}", User, "Names a device", devices::rename),
        route(DELETE, "/api/devices/{vid}", User, "Lets a device in no more", devices::revoke).answers(&[204]),
    ]
}

fn people() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/characters", User, "The caller's characters", characters::list),
        route(POST, "/api/characters", User, "Keeps a new character", characters::create).answers(&[201]),
        route(POST, "/api/characters/import", User, "Makes a character of a card of another program", cards::import)
            .answers(&[201]),
        route(GET, "/api/characters/{cid}/export", User, "A character as a card of other programs", cards::export),
        route(GET, "/api/characters/{cid}/avatar", User, "The picture of a character", pictures::of_character)
            .answers(TAGGED),
        route(
            PUT,
            "/api/characters/{cid}/avatar",
            User,
            "Gives a character another picture",
            pictures::change_characters,
        ),
        route(GET, "/api/characters/{cid}/outside", User, "Whether pictures of other servers are shown", outside::read),
        route(PUT, "/api/characters/{cid}/outside", User, "Says whether they are", outside::put),
        route(GET, "/api/characters/{cid}/outside/picture", User, "A picture of another server", outside::picture)
            .answers(TAGGED),
        route(GET, "/api/characters/{cid}/rules", User, "The rules that a card carries", rules::read),
        route(PUT, "/api/characters/{cid}/rules", User, "Lets a card carry a plugin", rules::put),
        route(DELETE, "/api/characters/{cid}/rules", User, "Takes the rules out of a card", rules::delete)
            .answers(&[204]),
        route(POST, "/api/characters/{cid}/rules/accept", User, "Takes the rules of a card in", rules::accept),
        route(GET, "/api/characters/{cid}", User, "One character", characters::read),
        route(PATCH, "/api/characters/{cid}", User, "Changes fields of a character", characters::change),
        route(DELETE, "/api/characters/{cid}", User, "Moves a character to the trash", characters::delete)
            .answers(&[204]),
        route(GET, "/api/personas", User, "The caller's personas", personas::list),
        route(POST, "/api/personas", User, "Keeps a new persona", personas::create).answers(&[201]),
        route(POST, "/api/personas/import", User, "Keeps the personas of another program", personas::import)
            .answers(&[201]),
        route(GET, "/api/personas/{pid}", User, "One persona", personas::read),
        route(GET, "/api/personas/{pid}/avatar", User, "The picture of a persona", pictures::of_persona)
            .answers(TAGGED),
        route(PUT, "/api/personas/{pid}/avatar", User, "Gives a persona another picture", pictures::change_personas),
        route(PATCH, "/api/personas/{pid}", User, "Changes fields of a persona", personas::change),
        route(DELETE, "/api/personas/{pid}", User, "Moves a persona to the trash", personas::delete).answers(&[204]),
    ]
}

fn books() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/lorebooks", User, "The caller's lorebooks", lorebooks::list),
        route(POST, "/api/lorebooks", User, "Keeps a new lorebook", lorebooks::create).answers(&[201]),
        route(POST, "/api/lorebooks/import", User, "Keeps a lorebook of another program", lorebooks::import)
            .answers(&[201]),
        route(POST, "/api/lorebooks/test", User, "Which entries would fire, and why", lorebooks::test),
        route(GET, "/api/lorebooks/settings", User, "The house rules of lore", lorebooks::settings),
        route(PUT, "/api/lorebooks/settings", User, "Says the house rules of lore", lorebooks::set_settings),
        route(GET, "/api/lorebooks/{lid}", User, "One lorebook with its entries", lorebooks::read),
        route(PATCH, "/api/lorebooks/{lid}", User, "Changes fields of a lorebook", lorebooks::change),
        route(DELETE, "/api/lorebooks/{lid}", User, "Moves a lorebook to the trash", lorebooks::delete).answers(&[204]),
        route(GET, "/api/lorebooks/{lid}/entries", User, "The entries of a lorebook", lorebooks::entries),
        route(POST, "/api/lorebooks/{lid}/entries", User, "Keeps a new entry of a lorebook", lorebooks::add)
            .answers(&[201]),
        route(PATCH, "/api/lorebooks/{lid}/entries/{uid}", User, "Changes fields of an entry", lorebooks::change_entry),
        route(
            DELETE,
            "/api/lorebooks/{lid}/entries/{uid}",
            User,
            "Takes an entry out of a lorebook",
            lorebooks::drop_entry,
        )
        .answers(&[204]),
        route(GET, "/api/lorebooks/{lid}/holds", User, "For what a lorebook holds", lorebooks::holds),
        route(PUT, "/api/lorebooks/{lid}/holds", User, "Says for what a lorebook holds", lorebooks::set_holds),
        route(GET, "/api/lorebooks/{lid}/export", User, "A lorebook as other programs read it", lorebooks::export),
    ]
}

fn kept_presets() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/presets", User, "The caller's presets", presets::list),
        route(POST, "/api/presets", User, "Keeps a new preset", presets::create).answers(&[201]),
        route(POST, "/api/presets/import", User, "Keeps presets of another program", presets::import).answers(&[201]),
        route(GET, "/api/presets/{rid}", User, "One preset with all that it says", presets::read),
        route(PATCH, "/api/presets/{rid}", User, "Changes fields of a preset", presets::change),
        route(DELETE, "/api/presets/{rid}", User, "Moves a preset to the trash", presets::delete).answers(&[204]),
        route(GET, "/api/presets/{rid}/export", User, "A preset as other programs read it", presets::export),
    ]
}

fn kept_documents() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/documents", User, "The caller's documents", documents::list),
        route(POST, "/api/documents", User, "Keeps a new document", documents::create).answers(&[201]),
        route(POST, "/api/documents/search", User, "The best documents for a question", documents::search),
        route(GET, "/api/documents/{oid}", User, "One document", documents::read),
        route(DELETE, "/api/documents/{oid}", User, "Destroys a document for good", documents::delete).answers(&[204]),
        route(GET, "/api/collections", User, "The caller's collections of documents", documents::collections),
    ]
}

fn stories() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/sessions", User, "The caller's sessions, newest change first", sessions::list),
        route(POST, "/api/sessions", User, "Begins a session", sessions::create).answers(&[201]),
        route(GET, "/api/sessions/{sid}", User, "One session", sessions::read),
        route(PATCH, "/api/sessions/{sid}", User, "Changes settings of a session", sessions::change),
        route(DELETE, "/api/sessions/{sid}", User, "Moves a session to the trash", sessions::delete).answers(&[204]),
        route(GET, "/api/sessions/{sid}/scripts", User, "The regex scripts of a session", sessions::scripts),
        route(GET, "/api/sessions/{sid}/scripts/shown", User, "The scripts for what is shown", sessions::scripts_shown),
        route(GET, "/api/sessions/{sid}/summaries", User, "The summaries of a line", summaries::list),
        route(PATCH, "/api/sessions/{sid}/summaries/{mid}", User, "Corrects a summary", summaries::change),
        route(DELETE, "/api/sessions/{sid}/summaries/{mid}", User, "Has a summary made anew", summaries::delete)
            .answers(&[204]),
        route(PUT, "/api/sessions/{sid}/plugins", User, "Sets the plugins of a session", sessions::set_plugins),
    ]
}

fn trash() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/trash", User, "What was deleted and can be brought back", trash::list),
        route(POST, "/api/trash/{tid}/restore", User, "Brings something back", trash::restore).answers(&[204]),
        route(DELETE, "/api/trash/{tid}", User, "Destroys something for good", trash::destroy).answers(&[204]),
    ]
}

fn transfers() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/sessions/{sid}/export", User, "A session as a file: all of it, or one line", exports::session),
        route(GET, "/api/export", User, "Everything as a folder of another program, packed", exports::all),
        route(POST, "/api/sessions/import", User, "Takes the file of a session in", transfers::import).answers(&[202]),
        route(POST, "/api/sessions/{sid}/copies", User, "Makes a copy of a session", transfers::copy).answers(&[202]),
        route(POST, "/api/import", User, "Takes what another program keeps in", transfers::import_foreign)
            .answers(&[202]),
        route(GET, "/api/jobs/{jid}", User, "How far a job is", transfers::job),
        route(DELETE, "/api/jobs/{jid}", User, "Ends a job that waits or runs", transfers::cancel).answers(&[204]),
    ]
}

/// Answers with a tag: of one moment of a session, or of a file that stays as it is.
const TAGGED: &[u16] = &[200, 304];

fn reading() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/chat/{sid}/tree", User, "The whole tree, or its outline", tree::tree).answers(TAGGED),
        route(GET, "/api/chat/{sid}/projection", User, "The linear view", line::projection).answers(TAGGED),
        route(GET, "/api/chat/{sid}/deltas", User, "What the messages of a line do to the world", worlds::deltas)
            .answers(TAGGED),
        route(GET, "/api/chat/{sid}/line", User, "One line written out as a file", transcript::transcript)
            .answers(TAGGED),
        route(GET, "/api/chat/{sid}/branches", User, "The branches of a tree", branches::branches).answers(TAGGED),
        route(GET, "/api/chat/{sid}/diff", User, "How two lines differ", branches::compare).answers(TAGGED),
        route(GET, "/api/chat/{sid}/variables", User, "How values went along lines", branches::variables)
            .answers(TAGGED),
        route(GET, "/api/chat/{sid}/turns", User, "The turn-based view", turns::turns).answers(TAGGED),
        route(GET, "/api/chat/{sid}/context-path", User, "The turns from the root to a leaf", turns::context_path)
            .answers(TAGGED),
        route(
            GET,
            "/api/chat/{sid}/commands",
            User,
            "Slash commands of the session's plugins",
            plugins::session_commands,
        ),
        route(GET, "/api/chat/{sid}/labels", User, "The names in a tree", arrange::labels).answers(TAGGED),
        route(GET, "/api/chat/{sid}/stash", User, "What was pruned", arrange::stash).answers(TAGGED),
        route(GET, "/api/chat/{sid}/stash/{fid}/tree", User, "What lies in a fragment", arrange::fragment)
            .answers(TAGGED),
        route(GET, "/api/chat/{sid}/spent", User, "What the replies of a session took", sessions::spent),
        route(GET, "/api/chat/{sid}/ops", User, "A part of the session's log", tree::operations),
        route(GET, "/api/chat/{sid}/node/{nid}", User, "One node", nodes::node).answers(TAGGED),
        route(GET, "/api/chat/{sid}/node/{nid}/alternatives", User, "The versions of a node", nodes::alternatives)
            .answers(TAGGED),
        route(GET, "/api/chat/{sid}/node/{nid}/world", User, "The world after a node", worlds::world).answers(TAGGED),
        route(GET, "/api/chat/{sid}/node/{nid}/delta", User, "What a node does to the world", nodes::delta)
            .answers(TAGGED),
        route(GET, "/api/chat/{sid}/node/{nid}/trace", User, "Why a reply exists", nodes::trace).answers(TAGGED),
        route(GET, "/api/chat/{sid}/ws", User, "Live events, over a WebSocket", ws::open).answers(&[101]),
    ]
}

fn writing() -> Vec<RouteEntry> {
    const GROWN: &[u16] = &[201, 202];
    vec![
        route(POST, "/api/chat/{sid}/message", User, "Writes a message", messages::message).answers(GROWN),
        route(POST, "/api/chat/{sid}/node/{nid}/reroll", User, "Begins other replies", messages::reroll)
            .answers(&[202]),
        route(POST, "/api/chat/{sid}/node/{nid}/continue", User, "Goes on from a reply's text", messages::go_on)
            .answers(&[202]),
        route(POST, "/api/chat/{sid}/node/{nid}/edit", User, "Writes a new version", messages::edit).answers(GROWN),
        route(POST, "/api/chat/{sid}/node/{nid}/cancel", User, "Stops a reply", messages::cancel).answers(&[202]),
        route(POST, "/api/chat/{sid}/prompt", User, "The prompt that a send would make", preview::prompt),
        route(POST, "/api/chat/{sid}/impersonate", User, "Drafts the user's next message", drafts::impersonate)
            .answers(&[202]),
        route(POST, "/api/chat/{sid}/summarise", User, "Drafts a summary of some messages", drafts::summarise)
            .answers(&[202]),
        route(GET, "/api/chat/{sid}/draft/{did}", User, "A draft as far as it is", drafts::read),
        route(DELETE, "/api/chat/{sid}/draft/{did}", User, "Stops or forgets a draft", drafts::delete).answers(&[204]),
        route(POST, "/api/chat/{sid}/node/{nid}/world", User, "Changes the world by hand", worlds::change)
            .answers(&[201]),
        route(PUT, "/api/chat/{sid}/tree/edit", User, "Rearranges the tree: all of the edits or none", arrange::edit),
        route(POST, "/api/chat/{sid}/undo", User, "Takes the caller's newest step back", arrange::undo),
        route(POST, "/api/chat/{sid}/redo", User, "Brings back what was taken back last", arrange::redo),
        route(PUT, "/api/chat/{sid}/active_leaf", User, "Moves HEAD", line::checkout),
        route(PUT, "/api/chat/{sid}/node/{nid}/state", User, "Enables, mutes or rates a node", states::one),
        route(PUT, "/api/chat/{sid}/nodes/state", User, "Enables or mutes many nodes at once", states::many),
    ]
}

fn offers() -> Vec<RouteEntry> {
    vec![
        route(GET, "/api/search", User, "Searches all branches", search::search),
        route(GET, "/api/plugins", User, "The plugins of this server", plugins::list),
        route(GET, "/api/plugins/reference", User, "What scripts of plugins can call", workshop::reference),
        route(GET, "/api/plugins/{plugin}", User, "One plugin with its settings", plugins::read),
        route(GET, "/api/plugins/{plugin}/files/{path:.*}", User, "One file of a plugin", workshop::read),
        route(PUT, "/api/plugins/{plugin}/files/{path:.*}", User, "Writes a file of a plugin", workshop::write),
        route(DELETE, "/api/plugins/{plugin}/files/{path:.*}", User, "Deletes a file of a plugin", workshop::delete),
        route(POST, "/api/plugins/{plugin}/check", User, "Checks a plugin, unsaved texts included", workshop::check),
        route(
            POST,
            "/api/plugins/{plugin}/try",
            User,
            "Tries a hook on a message, writing nothing",
            workshop::try_hook,
        ),
        route(POST, "/api/plugins/{plugin}/test", User, "Runs the tests of a plugin", workshop::test),
        route(POST, "/api/plugins/{plugin}/replay", User, "Runs rules again, writing nothing", workshop::replay),
        route(GET, "/api/models", User, "The models that can be asked", models::list),
        route(PUT, "/api/models/default", User, "Chooses the model of sessions that name none", providers::set_default),
        route(GET, "/api/providers", User, "The model servers, without their keys", providers::list),
        route(POST, "/api/providers", User, "Connects a model server", providers::create).answers(&[201]),
        // Before the addresses of one, which a provider called "test" would be.
        route(POST, "/api/providers/test", User, "Tries a model server before it is kept", providers::test_new),
        route(PATCH, "/api/providers/{provider}", User, "Changes a connected model server", providers::change),
        route(DELETE, "/api/providers/{provider}", User, "Forgets a connected model server", providers::delete)
            .answers(&[204]),
        route(POST, "/api/providers/{provider}/test", User, "Tries a model server", providers::test),
    ]
}

fn operations() -> Vec<RouteEntry> {
    vec![
        route(GET, "/healthz", Public, "Whether the process is there", health::healthz),
        route(GET, "/readyz", Operator, "Whether database, index and plugins work", health::readyz)
            .answers(&[200, 503]),
        route(GET, "/metrics", Operator, "Counters for Prometheus", health::metrics),
        route(GET, "/api/openapi.json", Public, "This contract as OpenAPI", docs::openapi),
        route(GET, "/api/docs", Public, "This contract for people", docs::read),
        route(GET, "/api/docs/style.css", Public, "How the contract for people looks", docs::style),
    ]
}

fn files() -> Vec<RouteEntry> {
    vec![
        route(GET, "/", Door, "The page", page::index),
        route(GET, "/settings", Door, "The page, at its settings", page::index),
        route(GET, "/s/{address:.*}", Door, "The page, at the address of a session", page::index),
        route(GET, "/pair", Door, "The page, where a device is paired", page::index),
        route(GET, "/assets/{version}/{path:.*}", Door, "A file of the page", page::asset).answers(&[200, 304]),
        route(GET, "/offline.js", Door, "The service worker of the page", page::offline).answers(&[200, 304]),
        route(GET, "/favicon.ico", Door, "The icon", page::favicon).answers(&[200, 304]),
    ]
}
