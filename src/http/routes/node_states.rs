//! The state of nodes: enabled, muted, rated, unread.

use super::AppData;
use crate::app::App;
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{NodeIdPath, SessionIdPath};
use crate::http::response::{ApiResponse, ApiResult};
use crate::http::wire::ids::WireId;
use crate::http::wire::messages::{
    NodeStateResponse, NodeStatesResponse, UpdateNodeStateRequest, UpdateNodeStatesRequest,
};
use crate::http::wire::tree_edits::world_changes;
use clotho_core::ids::NodeId;
use clotho_core::tree::Node;
use clotho_queries::error::ReadError;
use clotho_queries::lookup::load_session;
use clotho_store::{Actor, NodeStateUpdate, StoreReader};

/// Changes the state of one node.
///
/// # Errors
/// Returns an error if the node does not exist, is still being generated, or is the root.
pub async fn set_one(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    nid: NodeIdPath,
    body: JsonBody<UpdateNodeStateRequest>,
) -> ApiResult<NodeStatesResponse> {
    let UpdateNodeStateRequest { is_enabled, effects, rating, is_unread } = body.0;
    if is_enabled.is_none() && effects.is_none() && rating.is_none() && is_unread.is_none() {
        let message = "expected at least one of isEnabled, effects, rating and isUnread";
        return Err(ApiError::invalid("isEnabled", message));
    }
    if rating.flatten().is_some_and(|stars| !(1..=5).contains(&stars)) {
        return Err(ApiError::invalid("rating", "expected 1 to 5 stars or null"));
    }
    let update = NodeStateUpdate { node: nid.0, is_enabled, effects: effects.map(Into::into), rating, is_unread };
    apply_updates(&app, caller, sid, vec![update]).await
}

/// Changes the state of many nodes in one operation.
///
/// # Errors
/// Returns an error and changes nothing if a node does not exist, is still being generated, or is the root.
pub async fn set_many(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    body: JsonBody<UpdateNodeStatesRequest>,
) -> ApiResult<NodeStatesResponse> {
    body.0.check()?;
    let update = |update: crate::http::wire::messages::UpdateNodeStateItem| NodeStateUpdate {
        node: update.node_id.0,
        is_enabled: update.is_enabled,
        effects: update.effects.map(Into::into),
        rating: None,
        is_unread: None,
    };
    apply_updates(&app, caller, sid, body.0.updates.into_iter().map(update).collect()).await
}

async fn apply_updates(
    app: &App,
    caller: Caller,
    sid: SessionIdPath,
    updates: Vec<NodeStateUpdate>,
) -> ApiResult<NodeStatesResponse> {
    let ids: Vec<NodeId> = updates.iter().map(|update| update.node).collect();
    let actor = Actor { user: caller.0, at: app.clock.now(), expected_leaf: None };
    let arranged = app.store.write(move |tx| tx.set_state(&actor, sid.0, &updates)).await?;
    let read = move |reader: &mut StoreReader<'_>| {
        let stored = load_session(reader, caller.0, sid.0)?;
        Ok::<_, ReadError>(reader.nodes(&stored, &ids)?)
    };
    let placed = app.store.read_inline(read).await?;
    let (world_changes, is_cut_short) = world_changes(&arranged.worlds);
    let nodes = placed.iter().map(|placed| state_response(&placed.node)).collect();
    ApiResponse::ok_redacted(NodeStatesResponse { op: arranged.op, nodes, world_changes, is_cut_short })
}

fn state_response(node: &Node) -> NodeStateResponse {
    NodeStateResponse {
        id: WireId(node.id),
        is_enabled: node.is_enabled,
        effects: node.effects.into(),
        rating: node.rating,
        is_unread: node.is_unread,
    }
}
