//! Several branches of a tree: the list, the comparison of two, and the history of values along them.

use actix_web::HttpRequest;

use super::{AppData, conditional_read, node_renderer};
use crate::http::caller::Caller;
use crate::http::query::{QueryParams, SessionIdPath};
use crate::http::response::{ApiResponse, ApiResult};
use crate::http::wire::branches::{BranchResponse, DiffQuery, DiffResponse, VariablesQuery, VariablesResponse};
use crate::http::wire::{PageQuery, PageResponse, decode_cursor, limit_or};
use clotho_queries::branches::{compare_branches, list_branches};
use clotho_queries::variables::value_history;
use clotho_store::{StoreReader, StoredSession};

/// Lists the branches of a session, newest first.
///
/// # Errors
/// Returns an error if the session does not exist.
pub async fn list(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    query: QueryParams<PageQuery>,
) -> ApiResult<PageResponse<BranchResponse>> {
    let limit = limit_or(query.0.limit, 50);
    let before = query.0.cursor.as_deref().map_or(Ok(i64::MAX), decode_cursor)?;
    let renderer = node_renderer(&app);
    let read = move |reader: &mut StoreReader<'_>, stored: &StoredSession| {
        list_branches(reader, stored, &renderer, before, limit)
    };
    conditional_read(&app, &request, caller, sid, read).await?.respond_json()
}

/// Compares two branches: the nodes of each below the common ancestor, and the differences of their states with the
/// operations that caused them.
///
/// # Errors
/// Returns an error if the session or a node does not exist.
pub async fn compare(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    query: QueryParams<DiffQuery>,
) -> ApiResult<DiffResponse> {
    let limit = limit_or(query.0.limit, 200);
    let (from, to) = (query.0.from.map(|id| id.0), query.0.to.map(|id| id.0));
    let renderer = node_renderer(&app);
    let read_renderer = renderer.clone();
    let read = move |reader: &mut StoreReader<'_>, stored: &StoredSession| {
        compare_branches(reader, stored, &read_renderer, from, to, limit)
    };
    let mut conditional = conditional_read(&app, &request, caller, sid, read).await?;
    conditional
        .apply_plugin_display(&renderer, caller, sid, |diff| diff.from.nodes.iter_mut().chain(&mut diff.to.nodes))
        .await?;
    conditional.respond_json()
}

/// Returns the history of values along branches: the value at each path after each node.
///
/// # Errors
/// Returns an error if the session or a node does not exist, a path is invalid, or the values exceed the size limit.
pub async fn variables(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    query: QueryParams<VariablesQuery>,
) -> ApiResult<VariablesResponse> {
    let selection = query.0.read()?;
    let end = selection.depths.end;
    let read = move |reader: &mut StoreReader<'_>, stored: &StoredSession| value_history(reader, stored, &selection);
    let conditional = conditional_read(&app, &request, caller, sid, read).await?;
    conditional.respond(|history| ApiResponse::ok(&VariablesResponse::new(history, end)))
}
