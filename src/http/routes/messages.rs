//! Requests that grow the tree: messages, rerolls, continuations and edits; and cancelling a reply.

use super::{AppData, node_renderer};
use crate::app::App;
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{NodeIdPath, PersonaIdPath, SessionIdPath};
use crate::http::response::{ApiResponse, ApiResult};
use crate::http::wire::ids::{WireId, WirePersonaId};
use crate::http::wire::messages::{
    CancelReplyResponse, ContinueRequest, CreateMessageRequest, EditMessageRequest, RerollRequest, TurnStartResponse,
};
use crate::http::wire::node::wire_nodes;
use clotho_core::ids::NodeId;
use clotho_engine::turn;
use clotho_queries::lookup::load_session;
use clotho_store::StoreReader;

/// Writes a message and starts its replies, if requested.
///
/// # Errors
/// Returns an error if a field is invalid, HEAD has moved, or a plugin refuses the input.
pub async fn create(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    body: JsonBody<CreateMessageRequest>,
) -> ApiResult<TurnStartResponse> {
    let persona = body.0.persona_id;
    let new = body.0.read(app.config.limits.message_bytes)?;
    check_persona_owner(&app, caller, persona).await?;
    let started = app.turns.replies.send_message(caller.0, sid.0, new).await?;
    start_response(&app, caller, sid, started).await
}

/// Starts alternatives to a reply, or replies to a context node.
///
/// # Errors
/// Returns an error if a field is invalid or HEAD has moved.
pub async fn reroll(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    nid: NodeIdPath,
    body: JsonBody<RerollRequest>,
) -> ApiResult<TurnStartResponse> {
    let started = app.turns.replies.regenerate(caller.0, sid.0, body.0.read(nid.0)?).await?;
    start_response(&app, caller, sid, started).await
}

/// Starts a reply that continues the text of this one.
///
/// # Errors
/// Returns an error if the node is no reply with text, the model is a narrator plugin, or HEAD has moved.
pub async fn continue_reply(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    nid: NodeIdPath,
    body: JsonBody<ContinueRequest>,
) -> ApiResult<TurnStartResponse> {
    let started = app.turns.replies.continue_reply(caller.0, sid.0, body.0.read(nid.0)?).await?;
    start_response(&app, caller, sid, started).await
}

/// Writes a new version of a message as its sibling.
///
/// # Errors
/// Returns an error if a field is invalid, the node cannot be edited, or HEAD has moved.
pub async fn edit(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    nid: NodeIdPath,
    body: JsonBody<EditMessageRequest>,
) -> ApiResult<TurnStartResponse> {
    let edit = body.0.read(app.config.limits.message_bytes)?;
    let started = app.turns.replies.edit(caller.0, sid.0, nid.0, edit).await?;
    start_response(&app, caller, sid, started).await
}

/// Cancels a running reply; the text received so far is kept.
///
/// # Errors
/// Returns an error if the node does not exist or the reply has ended.
pub async fn cancel(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    nid: NodeIdPath,
) -> ApiResult<CancelReplyResponse> {
    app.turns.replies.cancel_reply(caller.0, sid.0, nid.0).await?;
    ApiResponse::accepted(&CancelReplyResponse { id: WireId(nid.0) })
}

async fn check_persona_owner(app: &App, caller: Caller, persona: Option<WirePersonaId>) -> Result<(), ApiError> {
    let Some(WireId(id)) = persona else { return Ok(()) };
    let found = app.store.read_inline::<_, ApiError, _>(move |reader| Ok(reader.persona(caller.0, id)?)).await?;
    found.map(|_| ()).ok_or_else(|| ApiError::not_found(PersonaIdPath::WHAT))
}

/// Answers 202 if replies were started, otherwise 201.
pub async fn start_response(
    app: &App,
    caller: Caller,
    sid: SessionIdPath,
    started: turn::TurnReceipt,
) -> ApiResult<TurnStartResponse> {
    let renderer = node_renderer(app);
    let read_renderer = renderer.clone();
    let turn::TurnReceipt { node, generations, op } = started;
    let is_running = !generations.is_empty();
    let read = move |reader: &mut StoreReader<'_>| {
        let stored = load_session(reader, caller.0, sid.0)?;
        let ids: Vec<NodeId> = node.into_iter().chain(generations).collect();
        read_renderer.nodes(reader, &stored, &ids)
    };
    let mut views = app.store.read_inline(read).await?;
    renderer.apply_plugin_display(caller.0, sid.0, &mut views).await?;
    let (own, generations): (Vec<_>, Vec<_>) = views.into_iter().partition(|one| Some(one.node.id) == node);
    let node = own.into_iter().next_back().map(Into::into);
    let body = TurnStartResponse { node, generations: wire_nodes(generations), op };
    if is_running { ApiResponse::accepted(&body) } else { ApiResponse::created(&body) }
}
