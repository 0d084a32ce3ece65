//! One node, its alternatives, its delta and its trace.

use actix_web::HttpRequest;

use super::worlds::{delta_response, title_of};
use super::{AppData, conditional_read, conditional_read_inline, load_node, node_renderer, shown};
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{NodeIdPath, QueryParams, SessionIdPath};
use crate::http::response::ApiResult;
use crate::http::wire::ids::{WireId, WireNodeId};
use crate::http::wire::node::{AlternativesResponse, NodeQuery, NodeResponse};
use crate::http::wire::turns::newest_record;
use crate::http::wire::world::{DeltaResponse, TraceResponse, schemas};
use clotho_core::ids::NodeId;
use clotho_engine::turn::read_trace;
use clotho_store::{StoreReader, StoredNode, StoredSession};

/// The requested expansions of a node.
#[derive(Debug, Clone, Copy, Default)]
struct NodeExpansion {
    world: bool,
    trace: bool,
    delta: bool,
}

impl NodeExpansion {
    fn read(text: Option<&str>) -> Result<Self, ApiError> {
        let mut expand = Self::default();
        for word in text.unwrap_or_default().split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word {
                // The first design called the world "state".
                "world" | "state" => expand.world = true,
                "trace" => expand.trace = true,
                "delta" => expand.delta = true,
                _ => return Err(ApiError::invalid("expand", "any of world, trace and delta is expected, with commas")),
            }
        }
        Ok(expand)
    }
}

/// Returns one node with the requested expansions.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn node(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    nid: NodeIdPath,
    query: QueryParams<NodeQuery>,
) -> ApiResult<NodeResponse> {
    let expand = NodeExpansion::read(query.0.expand.as_deref())?;
    let (look, catalogue) = (node_renderer(&app), app.catalogue.now());
    let here = look.clone();
    let read = move |reader: &mut StoreReader<'_>, held: &StoredSession| {
        let at = load_node(reader, held, nid.0)?;
        let (mut world, mut in_force, mut delta) = (None, None, None);
        if expand.world {
            let own = reader.world(held, &at)?;
            in_force = Some(schemas(reader.rules(&at)?.as_ref(), &own, |id| title_of(&catalogue, id)));
            world = Some(own.to_json());
        }
        if expand.delta {
            delta = Some(delta_response(reader, held, &at)?);
        }
        let trace = if expand.trace { rebuild_trace(reader, held, &at)? } else { None };
        let node = shown(reader, held, &[nid.0], &here)?.pop().ok_or_else(|| ApiError::not_found(NodeIdPath::WHAT))?;
        Ok(NodeResponse { node, world, schemas: in_force, delta, trace })
    };
    let mut sight = conditional_read(&app, &request, caller, sid, read).await?;
    sight.asked(&look, caller, sid, |answer| [&mut answer.node]).await?;
    sight.json()
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
    let look = node_renderer(&app);
    let here = look.clone();
    let read = move |reader: &mut StoreReader<'_>, held: &StoredSession| {
        let at = load_node(reader, held, nid.0)?;
        let siblings = reader.siblings(&at)?.ids;
        let parent = match at.node.parent {
            Some(parent) => reader.node(held, parent)?,
            None => None,
        };
        let remembered = parent.and_then(|parent| parent.node.remembered);
        let selected_id = chosen_alternative(reader, held, remembered, &siblings)?;
        let replies = if at.node.is_context() { reader.generations(held, nid.0)? } else { Vec::new() };
        let remembered = reader.remembered_generation(held, &at, &replies)?;
        let replies: Vec<NodeId> = replies.iter().map(|reply| reply.node.id).collect();
        let selected_generation_id = chosen_alternative(reader, held, remembered, &replies)?;
        Ok(AlternativesResponse {
            node_id: WireId(nid.0),
            parent_id: at.node.parent.map(WireId),
            selected_id,
            items: shown(reader, held, &siblings, &here)?,
            generations: shown(reader, held, &replies, &here)?,
            selected_generation_id,
        })
    };
    let mut sight = conditional_read(&app, &request, caller, sid, read).await?;
    sight.asked(&look, caller, sid, |found| found.items.iter_mut().chain(&mut found.generations)).await?;
    sight.json()
}

/// Returns the node that the session remembers, otherwise the newest complete one.
fn chosen_alternative(
    reader: &mut StoreReader<'_>,
    held: &StoredSession,
    remembered: Option<NodeId>,
    among: &[NodeId],
) -> Result<Option<WireNodeId>, ApiError> {
    match remembered.filter(|id| among.contains(id)) {
        Some(id) => Ok(Some(WireId(id))),
        None => Ok(newest_record(&reader.nodes(held, among)?)),
    }
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
    let read = move |reader: &mut StoreReader<'_>, held: &StoredSession| {
        let at = load_node(reader, held, nid.0)?;
        delta_response(reader, held, &at)
    };
    conditional_read_inline(&app, &request, caller, sid, read).await?.json()
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
    let read = move |reader: &mut StoreReader<'_>, held: &StoredSession| {
        let at = load_node(reader, held, nid.0)?;
        rebuild_trace(reader, held, &at)?.ok_or_else(|| ApiError::not_found("a trace of this message"))
    };
    conditional_read(&app, &request, caller, sid, read).await?.json()
}

fn rebuild_trace(
    reader: &mut StoreReader<'_>,
    held: &StoredSession,
    at: &StoredNode,
) -> Result<Option<TraceResponse>, ApiError> {
    let rebuilt = read_trace(reader, held, at)?;
    Ok(TraceResponse::new(rebuilt, &reader.delta(at)?))
}
