//! The turn-based view: context nodes and their possible replies.

use std::collections::HashSet;

use actix_web::HttpRequest;

use super::{AppData, branch_range, conditional_read};
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{QueryParams, SessionIdPath};
use crate::http::response::{ApiResponse, ApiResult};
use crate::http::wire::ids::{WireId, WireNodeId};
use crate::http::wire::tree::BranchQuery;
use crate::http::wire::turns::{ContextPathStop, TurnRecordResponse, TurnResponse, newest_record};
use crate::http::wire::{ListResponse, MAX_PAGE_SIZE, check_limit};
use clotho_core::ids::NodeId;
use clotho_store::{NodePage, StoreReader, StoredNode, StoredSession};

/// Returns the turns on the path to a leaf, oldest first. Only the newest 500 are returned; the `Link` header leads to
/// older pages.
///
/// # Errors
/// Returns an error if the session or a node does not exist.
pub async fn turns(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    query: QueryParams<BranchQuery>,
) -> ApiResult<ListResponse<TurnResponse>> {
    let (limit, query) = (check_limit(query.0.limit, MAX_PAGE_SIZE)?, query.0);
    let read = move |reader: &mut StoreReader<'_>, held: &StoredSession| {
        let (leaf, page) = context_page(reader, held, &query, limit)?;
        let mut before = parent_context(reader, held, &page)?;
        let way = page.nodes.iter().skip(1).map(|next| Some(next.node.id)).chain([None]);
        let mut turns = Vec::new();
        for (context, next) in page.nodes.iter().zip(way) {
            turns.push(turn_response(reader, held, context, before, next.unwrap_or(leaf))?);
            before = Some(WireId(context.node.id));
        }
        Ok((turns, page.next))
    };
    let sight = conditional_read(&app, &request, caller, sid, read).await?;
    sight.shown(|(turns, next)| Ok(ApiResponse::ok(&ListResponse(turns))?.next(next_address(&request, next))))
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
    let (limit, query) = (check_limit(query.0.limit, MAX_PAGE_SIZE)?, query.0);
    let read = move |reader: &mut StoreReader<'_>, held: &StoredSession| {
        let (_, page) = context_page(reader, held, &query, limit)?;
        let mut before = parent_context(reader, held, &page)?;
        let last = page.nodes.last().map(|placed| placed.node.id).filter(|_| query.before.is_none());
        let mut stops = Vec::new();
        for context in &page.nodes {
            stops.push(ContextPathStop::new(context, before, Some(context.node.id) == last));
            before = Some(WireId(context.node.id));
        }
        Ok((stops, page.next))
    };
    let sight = conditional_read(&app, &request, caller, sid, read).await?;
    sight.shown(|(stops, next)| Ok(ApiResponse::ok(&ListResponse(stops))?.next(next_address(&request, next))))
}

fn context_page(
    reader: &mut StoreReader<'_>,
    held: &StoredSession,
    query: &BranchQuery,
    limit: i64,
) -> Result<(NodeId, NodePage), ApiError> {
    let (leaf, before) = branch_range(reader, held, query)?;
    Ok((leaf, reader.context_page(held, leaf, before, limit)?))
}

/// Returns the context node above the first one of a page.
fn parent_context(
    reader: &mut StoreReader<'_>,
    held: &StoredSession,
    page: &NodePage,
) -> Result<Option<WireNodeId>, ApiError> {
    let Some(parent) = page.nodes.first().and_then(|first| first.node.parent) else { return Ok(None) };
    Ok(reader.context_of(held, parent)?.map(|placed| WireId(placed.node.id)))
}

/// Builds one turn; `below` is the next context node of the branch, or its leaf.
fn turn_response(
    reader: &mut StoreReader<'_>,
    held: &StoredSession,
    context: &StoredNode,
    before: Option<WireNodeId>,
    below: NodeId,
) -> Result<TurnResponse, ApiError> {
    let node = &context.node;
    // The replies, and which of them have children.
    let replies = reader.generations(held, node.id)?;
    let followed: HashSet<NodeId> = reader
        .node_details(replies.clone())?
        .into_iter()
        .filter(|dressed| !dressed.children.is_empty())
        .map(|dressed| dressed.node.node.id)
        .collect();
    // The selected reply, and the one on the requested branch.
    let chosen = reader.remembered_generation(held, context, &replies)?.map(WireId);
    let mut shown = None;
    for reply in &replies {
        if reply.node.id == below || reader.is_on_path(held, reply.node.id, below)? {
            shown = Some(WireId(reply.node.id));
        }
    }
    // The response.
    let world = reader.world(held, context)?;
    Ok(TurnResponse {
        context_node_id: WireId(node.id),
        parent_id: before,
        role: node.role.word(),
        user_content: node.content.clone(),
        selected_record_id: chosen.or_else(|| newest_record(&replies)),
        shown_record_id: shown,
        records: replies
            .iter()
            .map(|reply| TurnRecordResponse::new(reply, node.id, followed.contains(&reply.node.id)))
            .collect(),
        is_keyframe: node.is_keyframe,
        rag_position: None,
        event_history: world.events.clone(),
        default_generation: chosen,
        turn: node.turn,
        created_at: node.created.to_string(),
    })
}

/// Returns the URL of the page of older turns.
fn next_address(request: &HttpRequest, next: Option<NodeId>) -> Option<String> {
    let others = request.query_string().split('&').filter(|part| !part.is_empty() && !part.starts_with("before="));
    let others: String = others.map(|part| format!("{part}&")).collect();
    next.map(|next| format!("{}?{others}before={next}", request.path()))
}
