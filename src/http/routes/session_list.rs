//! The list of sessions with its folders and tags, and changes of many sessions at once.

use super::{AppData, node_renderer};
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::QueryParams;
use crate::http::response::{ApiResponse, ApiResult};
use crate::http::wire::ids::WireId;
use crate::http::wire::session_list::{
    ChangeSessionsRequest, ChangeSessionsResponse, ChangedSessionResponse, SessionGroupsResponse, SessionListQuery,
};
use crate::http::wire::sessions::SessionResponse;
use crate::http::wire::{PageQuery, PageResponse};
use clotho_core::ids::SessionId;
use clotho_core::tree::edit::TreeError;
use clotho_queries::sessions::list_sessions;
use clotho_store::{Actor, SessionListChange, StoreReader, Tx, WriteError};

/// Lists the caller's sessions.
///
/// # Errors
/// Returns an error if a filter or the page is invalid.
pub async fn list(
    app: AppData,
    caller: Caller,
    query: QueryParams<SessionListQuery>,
) -> ApiResult<PageResponse<SessionResponse>> {
    let (limit, skip) = query.0.page().limit_and_offset()?;
    let (filter, order) = query.0.read()?;
    let renderer = node_renderer(&app);
    let read = move |reader: &mut StoreReader<'_>| {
        list_sessions(reader, caller.0, &renderer, (&filter, order), skip, limit + 1)
    };
    let sessions = app.store.read(read).await?.into_iter().map(SessionResponse::from).collect();
    ApiResponse::ok(&PageQuery::page(sessions, limit, skip))
}

/// Lists the tags of the caller's sessions.
///
/// # Errors
/// Returns an error if the database fails.
pub async fn tags(app: AppData, caller: Caller) -> ApiResult<SessionGroupsResponse> {
    let read = move |reader: &mut StoreReader<'_>| Ok::<_, ApiError>(reader.session_tags(caller.0)?);
    ApiResponse::ok(&SessionGroupsResponse::from(app.store.read(read).await?))
}

/// Lists the folders of the caller's sessions.
///
/// # Errors
/// Returns an error if the database fails.
pub async fn folders(app: AppData, caller: Caller) -> ApiResult<SessionGroupsResponse> {
    let read = move |reader: &mut StoreReader<'_>| Ok::<_, ApiError>(reader.session_folders(caller.0)?);
    ApiResponse::ok(&SessionGroupsResponse::from(app.store.read(read).await?))
}

/// Changes several sessions. A session that cannot be changed does not keep the others from it.
///
/// # Errors
/// Returns an error if a field is invalid.
pub async fn change_many(
    app: AppData,
    caller: Caller,
    body: JsonBody<ChangeSessionsRequest>,
) -> ApiResult<ChangeSessionsResponse> {
    let change = body.0.read()?;
    let is_deletion = change.is_none();
    let ids: Vec<SessionId> = body.0.ids.iter().map(|id| id.0).collect();
    let actor = Actor { user: caller.0, at: app.clock.now(), expected_leaf: None };
    let write =
        move |tx: &mut Tx<'_>| ids.iter().map(|id| Ok((*id, change_one(tx, &actor, *id, change.as_ref())?))).collect();
    let changed: Vec<(SessionId, Option<TreeError>)> = app.store.write(write).await?;
    if is_deletion {
        changed.iter().filter(|(_, refusal)| refusal.is_none()).for_each(|(id, _)| app.live.remove_session(*id));
    }
    let items = changed.into_iter().map(|(id, refusal)| ChangedSessionResponse {
        id: WireId(id),
        is_done: refusal.is_none(),
        error: refusal.map(|refusal| ApiError::from(refusal).body(None).error),
    });
    ApiResponse::ok(&ChangeSessionsResponse { items: items.collect() })
}

/// Changes one session, or moves it to the trash. Returns why it was refused, if it was.
fn change_one(
    tx: &mut Tx<'_>,
    actor: &Actor,
    id: SessionId,
    change: Option<&SessionListChange>,
) -> Result<Option<TreeError>, WriteError> {
    let changed = match change {
        Some(change) => tx.change_session_list(actor, id, change),
        None => tx.trash_session(actor.user, id, actor.at),
    };
    match changed {
        Ok(()) => Ok(None),
        // It was refused before anything was written.
        Err(WriteError::Refused(refusal)) => Ok(Some(refusal)),
        Err(failed) => Err(failed),
    }
}
