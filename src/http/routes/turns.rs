//! The turn-based view: context nodes and their possible replies.

use actix_web::HttpRequest;

use super::{AppData, conditional_read};
use crate::http::caller::Caller;
use crate::http::query::{QueryParams, SessionIdPath};
use crate::http::response::{ApiResponse, ApiResult};
use crate::http::wire::tree::BranchQuery;
use crate::http::wire::turns::{ContextPathStop, TurnResponse};
use crate::http::wire::{ListResponse, MAX_PAGE_SIZE};
use clotho_core::ids::NodeId;
use clotho_queries::turns::{self, list_turns};
use clotho_store::{StoreReader, StoredSession};

/// Returns the turns on the path to a leaf, oldest first. Only the newest 500 are returned; the `Link` header leads to
/// older pages.
///
/// # Errors
/// Returns an error if the session or a node does not exist.
pub async fn list(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    query: QueryParams<BranchQuery>,
) -> ApiResult<ListResponse<TurnResponse>> {
    let selection = query.0.read(MAX_PAGE_SIZE);
    let read = move |reader: &mut StoreReader<'_>, stored: &StoredSession| list_turns(reader, stored, &selection);
    let conditional = conditional_read(&app, &request, caller, sid, read).await?;
    conditional.respond(|page| {
        let turns = page.turns.into_iter().map(TurnResponse::from).collect();
        Ok(ApiResponse::ok(&ListResponse(turns))?.with_next_page(next_address(&request, page.next)))
    })
}

/// Returns the context nodes from the root to a leaf.
///
/// # Errors
/// Returns an error if the session or a node does not exist.
pub async fn context_path(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    query: QueryParams<BranchQuery>,
) -> ApiResult<ListResponse<ContextPathStop>> {
    let selection = query.0.read(MAX_PAGE_SIZE);
    let read =
        move |reader: &mut StoreReader<'_>, stored: &StoredSession| turns::context_path(reader, stored, &selection);
    let conditional = conditional_read(&app, &request, caller, sid, read).await?;
    conditional.respond(|path| {
        let nodes = path.nodes.iter().map(ContextPathStop::from).collect();
        Ok(ApiResponse::ok(&ListResponse(nodes))?.with_next_page(next_address(&request, path.next)))
    })
}

/// Returns the URL of the page of older turns.
fn next_address(request: &HttpRequest, next: Option<NodeId>) -> Option<String> {
    let others = request.query_string().split('&').filter(|part| !part.is_empty() && !part.starts_with("before="));
    let others: String = others.map(|part| format!("{part}&")).collect();
    next.map(|next| format!("{}?{others}before={next}", request.path()))
}
