//! Drafts that become no nodes: the user's next message, and summaries.

use super::AppData;
use crate::app::App;
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{DraftIdPath, SessionIdPath};
use crate::http::response::{ApiResponse, ApiResult, NoContent};
use crate::http::wire::drafts::{DraftBegunResponse, DraftResponse, ImpersonateRequest, SummariseRequest};
use crate::http::wire::ids::WireId;
use clotho_core::ids::NodeId;
use clotho_engine::live::Draft;
use clotho_queries::lookup::{load_node, load_session};
use clotho_store::StoreReader;
use std::sync::Arc;

/// Starts a draft of the user's next message.
///
/// # Errors
/// Returns an error if the leaf does not exist or no model is available.
pub async fn impersonate(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    body: JsonBody<ImpersonateRequest>,
) -> ApiResult<DraftBegunResponse> {
    let asked = body.0.read()?;
    check_nodes_exist(&app, caller, sid, asked.leaf.map(|leaf| ("leafId".to_owned(), leaf)).into_iter().collect())
        .await?;
    let id = app.turns.drafts.impersonate(caller.0, sid.0, asked).await?;
    ApiResponse::accepted(&DraftBegunResponse { draft_id: WireId(id) })
}

/// Starts a draft of a summary of consecutive messages.
///
/// # Errors
/// Returns an error if a message does not exist, the messages are not consecutive, or no model is available.
pub async fn summarise(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    body: JsonBody<SummariseRequest>,
) -> ApiResult<DraftBegunResponse> {
    let asked = body.0.read()?;
    let named = asked.nodes.iter().enumerate().map(|(i, node)| (format!("nodeIds[{i}]"), *node)).collect();
    check_nodes_exist(&app, caller, sid, named).await?;
    let id = app.turns.drafts.summarise(caller.0, sid.0, asked).await?;
    ApiResponse::accepted(&DraftBegunResponse { draft_id: WireId(id) })
}

/// Returns the current state of a draft.
///
/// # Errors
/// Returns an error if the draft does not exist or is no longer kept.
pub async fn read(app: AppData, caller: Caller, sid: SessionIdPath, did: DraftIdPath) -> ApiResult<DraftResponse> {
    ApiResponse::ok(&DraftResponse::from(load_own(&app, caller, sid, did).await?.as_ref()))
}

/// Cancels a running draft, whose end is an event; deletes a finished one.
///
/// # Errors
/// Returns an error if the draft does not exist or is no longer kept.
pub async fn delete(app: AppData, caller: Caller, sid: SessionIdPath, did: DraftIdPath) -> ApiResult<NoContent> {
    let draft = load_own(&app, caller, sid, did).await?;
    if draft.is_over() {
        app.live.forget_draft(did.0);
    } else {
        draft.generation.cancel();
    }
    Ok(ApiResponse::no_content())
}

/// Loads a draft of the caller, in a session that the caller can still access.
async fn load_own(app: &App, caller: Caller, sid: SessionIdPath, did: DraftIdPath) -> Result<Arc<Draft>, ApiError> {
    check_nodes_exist(app, caller, sid, Vec::new()).await?;
    app.live.draft(caller.0, sid.0, did.0).ok_or_else(|| ApiError::not_found(DraftIdPath::WHAT))
}

/// Checks that the session and the nodes in the fields exist for the caller.
async fn check_nodes_exist(
    app: &App,
    caller: Caller,
    sid: SessionIdPath,
    named: Vec<(String, NodeId)>,
) -> Result<(), ApiError> {
    let read = move |reader: &mut StoreReader<'_>| {
        let stored = load_session(reader, caller.0, sid.0)?;
        for (field, node) in named {
            load_node(reader, &stored, node).map_err(|error| ApiError::from(error).detail("field", field))?;
        }
        Ok(())
    };
    app.store.read::<_, ApiError, _>(read).await
}
