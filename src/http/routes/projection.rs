//! One branch of a tree as people read it, and moving HEAD.

use actix_web::HttpRequest;

use super::{AppData, conditional_read_inline, node_renderer};
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{QueryParams, SessionIdPath};
use crate::http::response::{ApiResponse, ApiResult};
use crate::http::wire::checks::expected_version;
use crate::http::wire::ids::WireId;
use crate::http::wire::messages::{CheckoutRequest, HeadResponse};
use crate::http::wire::tree::{BranchQuery, ProjectionResponse};
use clotho_engine::turn::ReplySuggestions;
use clotho_queries::error::ReadError;
use clotho_queries::lookup::{BranchEnd, branch_leaf, load_session};
use clotho_queries::projection::read_projection;
use clotho_store::{Actor, StoreReader, StoredSession};

/// Returns the linear view: one page of the path to a leaf, oldest first.
///
/// # Errors
/// Returns an error if the session or a node does not exist.
pub async fn projection(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    query: QueryParams<BranchQuery>,
) -> ApiResult<ProjectionResponse> {
    let selection = query.0.read(50);
    let (renderer, turns) = (node_renderer(&app), app.turns.views.clone());
    let read_renderer = renderer.clone();
    let read = move |reader: &mut StoreReader<'_>, stored: &StoredSession| {
        read_projection(reader, stored, &read_renderer, &turns, &selection)
    };
    let mut conditional = conditional_read_inline(&app, &request, caller, sid, read).await?;
    conditional.apply_plugin_display(&renderer, caller, sid, |page| &mut page.nodes).await?;
    let offered = match conditional.value.as_mut().and_then(|page| page.tip.take()) {
        Some(tip) => app.turns.views.suggest_replies(tip).await,
        None => ReplySuggestions::default(),
    };
    conditional.respond(|page| ApiResponse::ok(&ProjectionResponse::new(page, offered)))
}

/// Moves HEAD: to the leaf last visited below a node, or to exactly that node.
///
/// # Errors
/// Returns an error if the node does not exist or is still being generated, or HEAD has moved.
pub async fn checkout(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    body: JsonBody<CheckoutRequest>,
) -> ApiResult<HeadResponse> {
    let CheckoutRequest { node_id, label, exact, expected_leaf_id, expected_op } = body.0;
    let expected_leaf = expected_version(expected_leaf_id, expected_op)?;
    if node_id.is_none() && label.is_none() {
        return Err(ApiError::invalid("nodeId", "expected the id of a message, or its label"));
    }
    let end = BranchEnd { leaf: node_id.map(|id| id.0), label };
    let named = move |reader: &mut StoreReader<'_>| {
        let stored = load_session(reader, caller.0, sid.0)?;
        Ok::<_, ReadError>(branch_leaf(reader, &stored, &end)?.node.id)
    };
    let node = app.store.read_inline(named).await?;
    let actor = Actor { user: caller.0, at: app.clock.now(), expected_leaf };
    let (op, leaf) = app.store.write(move |tx| tx.checkout(&actor, sid.0, node, exact)).await?;
    let read = move |reader: &mut StoreReader<'_>| {
        let stored = load_session(reader, caller.0, sid.0)?;
        Ok::<_, ReadError>(reader.context_of(&stored, leaf)?.map(|placed| placed.node.id))
    };
    let context = app.store.read_inline(read).await?;
    ApiResponse::ok(&HeadResponse { leaf_id: WireId(leaf), context_node_id: context.map(WireId), op })
}
