//! The whole tree and its operation log.

use actix_web::HttpRequest;

use super::{AppData, conditional_read, node_renderer};
use crate::http::caller::Caller;
use crate::http::query::{QueryParams, SessionIdPath};
use crate::http::response::{ApiResponse, ApiResult, to_json};
use crate::http::wire::query_number::QueryNumber;
use crate::http::wire::tree::{
    ChatHistoryTree, OperationsQuery, OperationsResponse, TreeQuery, TreeResponse, TreeShapeParam, TreeSkeleton,
};
use crate::http::wire::{MAX_PAGE_SIZE, decode_cursor, limit_or};
use clotho_queries::node_view::NodeRenderer;
use clotho_queries::tree::{operation_page, tree_outline, tree_page, whole_tree};
use clotho_store::{StoreReader, StoredSession};

/// Returns the whole tree, a page of it, or its outline.
///
/// # Errors
/// Returns an error if the session does not exist or the tree is too large for one answer.
pub async fn tree(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    query: QueryParams<TreeQuery>,
) -> ApiResult<TreeResponse> {
    let renderer = NodeRenderer { live: None, ..node_renderer(&app) };
    let limit = limit_or(query.0.limit, MAX_PAGE_SIZE);
    let after = match query.0.cursor.as_deref() {
        Some("") => Some(0),
        Some(cursor) => Some(decode_cursor(cursor)?),
        None => None,
    };
    let shape = query.0.shape.unwrap_or_default();
    // A whole tree is large: its JSON is written where it is read.
    let read = move |reader: &mut StoreReader<'_>, stored: &StoredSession| match (shape, after) {
        (TreeShapeParam::Skeleton, _) => {
            to_json(&TreeSkeleton::new(&stored.session, tree_outline(reader, stored, &renderer)?))
        }
        (TreeShapeParam::Full, Some(after)) => {
            to_json(&ChatHistoryTree::new(&stored.session, tree_page(reader, stored, &renderer, after, limit)?))
        }
        (TreeShapeParam::Full, None) => {
            to_json(&ChatHistoryTree::new(&stored.session, whole_tree(reader, stored, &renderer)?))
        }
    };
    conditional_read(&app, &request, caller, sid, read).await?.respond(|json| Ok(ApiResponse::from_json(json)))
}

/// Returns a page of the operation log.
///
/// # Errors
/// Returns an error if the session does not exist.
pub async fn operations(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    query: QueryParams<OperationsQuery>,
) -> ApiResult<OperationsResponse> {
    let limit = limit_or(query.0.limit, 50);
    let since = query.0.since.map_or(0, QueryNumber::get);
    let page = app.store.read(move |reader| operation_page(reader, caller.0, sid.0, since, limit)).await?;
    ApiResponse::ok(&OperationsResponse::from(page))
}
