//! One node, its alternatives, its delta and its trace.

use actix_web::HttpRequest;

use super::{AppData, conditional_read, conditional_read_inline, node_renderer};
use crate::http::caller::Caller;
use crate::http::query::{NodeIdPath, QueryParams, SessionIdPath};
use crate::http::response::{ApiResponse, ApiResult};
use crate::http::wire::node::{AlternativesResponse, NodeQuery, NodeResponse};
use crate::http::wire::world::{DeltaResponse, TraceResponse};
use clotho_queries::error::ReadError;
use clotho_queries::lookup::load_node;
use clotho_queries::nodes::{node_alternatives, node_trace, read_node};
use clotho_queries::worlds::node_delta;
use clotho_store::{StoreReader, StoredSession};

/// Returns one node with the requested expansions.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn read(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    nid: NodeIdPath,
    query: QueryParams<NodeQuery>,
) -> ApiResult<NodeResponse> {
    let expansion = query.0.read()?;
    let (renderer, catalogue) = (node_renderer(&app), app.catalogue.current());
    let read_renderer = renderer.clone();
    let read = move |reader: &mut StoreReader<'_>, stored: &StoredSession| {
        read_node(reader, stored, &read_renderer, &catalogue, nid.0, expansion)
    };
    let mut conditional = conditional_read(&app, &request, caller, sid, read).await?;
    conditional.apply_plugin_display(&renderer, caller, sid, |facts| [&mut facts.node]).await?;
    conditional.respond(|facts| ApiResponse::ok(&NodeResponse::new(facts)))
}

/// Returns the alternatives of a node, and its replies if it is a context node.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn alternatives(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    nid: NodeIdPath,
) -> ApiResult<AlternativesResponse> {
    let renderer = node_renderer(&app);
    let read_renderer = renderer.clone();
    let read = move |reader: &mut StoreReader<'_>, stored: &StoredSession| {
        node_alternatives(reader, stored, &read_renderer, nid.0)
    };
    let mut conditional = conditional_read(&app, &request, caller, sid, read).await?;
    conditional
        .apply_plugin_display(&renderer, caller, sid, |found| found.siblings.iter_mut().chain(&mut found.replies))
        .await?;
    conditional.respond(|found| ApiResponse::ok(&AlternativesResponse::new(nid.0, found)))
}

/// Returns the delta of a node.
///
/// # Errors
/// Returns an error if the node does not exist.
pub async fn delta(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    nid: NodeIdPath,
) -> ApiResult<DeltaResponse> {
    let read = move |reader: &mut StoreReader<'_>, stored: &StoredSession| {
        let at = load_node(reader, stored, nid.0)?;
        Ok::<_, ReadError>(node_delta(reader, stored, &at)?)
    };
    conditional_read_inline(&app, &request, caller, sid, read).await?.respond_json()
}

/// Returns the trace of a reply.
///
/// # Errors
/// Returns an error if the node does not exist, or neither a model wrote it nor a plugin ran on it.
pub async fn trace(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    nid: NodeIdPath,
) -> ApiResult<TraceResponse> {
    let read = move |reader: &mut StoreReader<'_>, stored: &StoredSession| {
        let at = load_node(reader, stored, nid.0)?;
        node_trace(reader, stored, &at)?.ok_or(ReadError::NotFound("the trace of this message"))
    };
    conditional_read(&app, &request, caller, sid, read).await?.respond_json()
}
