//! The handlers, one file per kind of thing. All take the same steps: parse, load, decide, one write, answer. This file
//! has what they share. To add a route: write a handler in the matching file, and add its line to the table in
//! `http/mod.rs`. Requests and answers are types of `wire/`. What is read is a query of `clotho_queries`, and the
//! decisions are made in the layers below.

pub mod api_docs;
pub mod auth;
mod avatar_files;
pub mod avatars;
pub mod branches;
pub mod card_versions;
pub mod cards;
pub mod characters;
pub mod connection_profiles;
pub mod devices;
pub mod documents;
pub mod drafts;
pub mod embedded_plugin;
pub mod exports;
pub mod health;
pub mod image_proxy;
pub mod lorebook_links;
pub mod lorebooks;
pub mod messages;
pub mod models;
pub mod node_states;
pub mod nodes;
pub mod parameters;
pub mod personas;
pub mod plugin_editor;
pub mod plugins;
pub mod presets;
pub mod projection;
pub mod prompt_preview;
pub mod providers;
mod script_consent;
pub mod search;
pub mod session_list;
pub mod sessions;
pub mod summaries;
pub mod transcript;
pub mod transfers;
pub mod trash;
pub mod tree;
pub mod tree_edits;
pub mod turns;
pub mod web_page;
pub mod worlds;

use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::header;
use actix_web::web::Data;
use serde::Serialize;

use super::caller::Caller;
use super::error::ApiError;
use super::query::SessionIdPath;
use super::response::{ApiResponse, ApiResult, has_if_none_match, make_etag, matches_etag};
use crate::app::App;
use clotho_queries::lookup::load_session;
use clotho_queries::node_view::{NodeRenderer, NodeView};
use clotho_store::{StoreReader, StoredSession};

/// The app state, as handlers take it.
pub type AppData = Data<App>;

/// Returns the renderer of nodes: as configured, with the texts of running replies.
pub fn node_renderer(app: &App) -> NodeRenderer {
    NodeRenderer {
        hide_tags: Arc::from(app.config.generation.hide_tags.as_slice()),
        live: Some(Arc::clone(&app.live)),
        turns: Some(app.turns.views.clone()),
    }
}

/// What was read of a session in one snapshot.
pub struct ConditionalRead<R> {
    tag: String,
    op: i64,
    /// `None`: the client already has the current version.
    value: Option<R>,
}

/// Reads from a session in one snapshot, unless the client already has the current version. The answer carries the
/// number of the operation at which it was read, and an `ETag` (`docs/domain.md` 4).
///
/// # Errors
/// Returns an error if the session does not exist or `read` fails.
pub async fn conditional_read<R, E, F>(
    app: &AppData,
    request: &HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    read: F,
) -> Result<ConditionalRead<R>, ApiError>
where
    R: Send + 'static,
    E: Into<ApiError>,
    F: FnOnce(&mut StoreReader<'_>, &StoredSession) -> Result<R, E> + Send + 'static,
{
    app.store.read(read_if_changed(app, request, caller, sid, read)).await
}

/// Like [`conditional_read`], on the caller's thread, for at most a page ([`clotho_store::Store::read_inline`]).
///
/// # Errors
/// As [`conditional_read`].
pub async fn conditional_read_inline<R, E, F>(
    app: &AppData,
    request: &HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    read: F,
) -> Result<ConditionalRead<R>, ApiError>
where
    R: Send + 'static,
    E: Into<ApiError>,
    F: FnOnce(&mut StoreReader<'_>, &StoredSession) -> Result<R, E> + Send + 'static,
{
    app.store.read_inline(read_if_changed(app, request, caller, sid, read)).await
}

fn read_if_changed<R, E>(
    app: &AppData,
    request: &HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    read: impl FnOnce(&mut StoreReader<'_>, &StoredSession) -> Result<R, E> + Send + 'static,
) -> impl FnOnce(&mut StoreReader<'_>) -> Result<ConditionalRead<R>, ApiError> + Send + 'static
where
    R: Send + 'static,
    E: Into<ApiError>,
{
    let around = etag_context(app, sid);
    let address = format!("{}?{}", request.path(), request.query_string());
    let headers = request.headers().clone();
    move |reader| {
        let stored = load_session(reader, caller.0, sid.0)?;
        let op = stored.session.op;
        let tag = make_etag(&[&address, &op.to_string(), &around]);
        if matches_etag(&headers, &tag) {
            return Ok(ConditionalRead { tag, op, value: None });
        }
        // A client with `If-None-Match: *` must still get an error if nothing exists at this address.
        let seen = Some(read(reader, &stored).map_err(Into::into)?).filter(|_| !has_if_none_match(&headers));
        Ok(ConditionalRead { tag, op, value: seen })
    }
}

impl<R> ConditionalRead<R> {
    /// Calls the plugins that render nodes of the answer.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub async fn apply_plugin_display<'s, N>(
        &'s mut self,
        renderer: &NodeRenderer,
        caller: Caller,
        sid: SessionIdPath,
        nodes: impl FnOnce(&'s mut R) -> N,
    ) -> Result<(), ApiError>
    where
        N: IntoIterator<Item = &'s mut NodeView>,
    {
        match &mut self.value {
            Some(seen) => Ok(renderer.apply_plugin_display(caller.0, sid.0, nodes(seen)).await?),
            None => Ok(()),
        }
    }

    /// Builds the answer; `304` if the client already has it.
    ///
    /// # Errors
    /// Returns an internal error if the answer cannot be serialized.
    pub fn respond<T>(self, show: impl FnOnce(R) -> ApiResult<T>) -> ApiResult<T> {
        let reply = match self.value {
            Some(seen) => show(seen)?.with_etag(&self.tag),
            None => ApiResponse::not_modified(&self.tag),
        };
        Ok(reply.with_operation(self.op))
    }

    /// Builds a JSON answer of the type that the API document describes.
    ///
    /// # Errors
    /// As [`ConditionalRead::respond`].
    pub fn respond_json<T>(self) -> ApiResult<T>
    where
        T: From<R> + Serialize,
    {
        self.respond(|seen| ApiResponse::ok(&T::from(seen)))
    }
}

/// Returns what an answer depends on besides operations, for the `ETag`: display settings, code and enabled state of
/// plugins, and the progress of running replies.
fn etag_context(app: &App, sid: SessionIdPath) -> String {
    let catalogue = app.catalogue.current();
    let entries = catalogue.entries();
    let code = entries.filter_map(|entry| entry.state.as_ref().ok().map(|loaded| loaded.code_hash().to_owned()));
    let own = app.live.all_running_replies().into_iter().filter(|running| running.session == sid.0);
    let arrived = own.map(|running| {
        let phase = running.phase();
        running.with_partial_text(|so_far| {
            format!("{} {} {} {:?}", running.id, so_far.content.len(), so_far.reasoning.len(), phase)
        })
    });
    let mut arrived: Vec<String> = arrived.collect();
    arrived.sort();
    let shown = app.config.generation.hide_tags.iter().cloned();
    let off = app.turns.views.disabled_plugins(sid.0).into_iter().map(|plugin| format!("without {plugin}"));
    shown.chain(code).chain(off).chain(arrived).map(|part| format!("{part}\n")).collect()
}

/// Returns the reader's language: the first plain tag of `Accept-Language`.
pub fn language(request: &HttpRequest) -> String {
    let accepted = request.headers().get(header::ACCEPT_LANGUAGE).and_then(|accepted| accepted.to_str().ok());
    let first = accepted.and_then(|accepted| accepted.split([',', ';']).next()).unwrap_or_default().trim();
    let is_plain = (1..=35).contains(&first.len()) && first.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if is_plain { first.to_owned() } else { "en".to_owned() }
}
