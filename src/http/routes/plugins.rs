//! Plugins and their commands.

use actix_web::HttpRequest;

use super::{AppData, language};
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{PluginIdPath, QueryParams, SessionIdPath};
use crate::http::response::{ApiResponse, ApiResult};
use crate::http::wire::server_info::{PluginResponse, PluginSummaryResponse, SlashCommandResponse, commands};
use crate::http::wire::{ListResponse, PageQuery, PageResponse};
use clotho_queries::lookup::load_session;
use clotho_queries::workshop;

/// Lists all plugins of the server, including broken ones with their errors.
///
/// # Errors
/// Returns an error if the page parameters are invalid.
pub async fn list(
    app: AppData,
    request: HttpRequest,
    _: Caller,
    query: QueryParams<PageQuery>,
) -> ApiResult<PageResponse<PluginSummaryResponse>> {
    let (limit, skip) = query.0.limit_and_offset()?;
    let (language, before) = (language(&request), usize::try_from(skip).unwrap_or(usize::MAX));
    let catalogue = app.catalogue.current();
    let entries = catalogue.entries().skip(before).take(usize::try_from(limit + 1).unwrap_or(0));
    ApiResponse::ok(&PageQuery::page(
        entries.map(|entry| PluginSummaryResponse::new(entry, &language)).collect(),
        limit,
        skip,
    ))
}

/// Returns a plugin with its manifest, its settings as a form, and its errors.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn read(app: AppData, request: HttpRequest, _: Caller, name: PluginIdPath) -> ApiResult<PluginResponse> {
    let catalogue = app.catalogue.current();
    let entry = catalogue.entry(&name.0).ok_or_else(|| ApiError::not_found("the plugin"))?;
    let files = workshop::list_files(&app.catalogue, entry).await?;
    ApiResponse::ok(&PluginResponse::new(entry, files, &language(&request)))
}

/// Lists the slash commands of a session's plugins.
///
/// # Errors
/// Returns an error if the session does not exist.
pub async fn session_commands(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
) -> ApiResult<ListResponse<SlashCommandResponse>> {
    let session =
        app.store.read(move |reader| load_session(reader, caller.0, sid.0).map(|stored| stored.session)).await?;
    let language = language(&request);
    let playing = session.plugins.iter().filter(|plugin| plugin.enabled);
    let catalogue = app.catalogue.current();
    let loaded = playing.filter_map(|plugin| catalogue.get(&plugin.id));
    let list = ListResponse(loaded.flat_map(|loaded| commands(loaded.manifest(), &language)).collect());
    Ok(ApiResponse::ok(&list)?.with_operation(session.op))
}
