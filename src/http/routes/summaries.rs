//! Automatic summaries: list, edit and regenerate.

use super::AppData;
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{QueryParams, SessionIdPath, SummaryIdPath};
use crate::http::response::{ApiResponse, ApiResult, NoContent};
use crate::http::wire::summaries::{SummariesQuery, SummariesResponse, SummaryResponse, UpdateSummaryRequest};
use clotho_engine::turn::{branch_summaries, find_branch_summary};
use clotho_queries::error::ReadError;
use clotho_queries::lookup::{BranchEnd, branch_leaf, load_session};
use clotho_store::StoreReader;

/// Lists the summaries of a branch.
///
/// # Errors
/// Returns an error if the session or the node does not exist.
pub async fn list(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    query: QueryParams<SummariesQuery>,
) -> ApiResult<SummariesResponse> {
    let read = move |reader: &mut StoreReader<'_>| {
        let stored = load_session(reader, caller.0, sid.0)?;
        let end = BranchEnd { leaf: query.0.node_id.map(|id| id.0), label: None };
        let at = branch_leaf(reader, &stored, &end)?;
        Ok::<_, ReadError>(branch_summaries(reader, &stored, &at)?)
    };
    // Read before the summaries: a client that sees no work in progress then gets all of them.
    let (is_working, failure) = app.turns.summaries.state(sid.0);
    let found = app.store.read(read).await?;
    ApiResponse::ok(&SummariesResponse::new(found, is_working, failure))
}

/// Changes the text of a summary. Chapters that a model made of it are regenerated, unless a user has edited them.
///
/// # Errors
/// Returns an error if it does not exist or the text is invalid.
pub async fn update(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    id: SummaryIdPath,
    body: JsonBody<UpdateSummaryRequest>,
) -> ApiResult<SummaryResponse> {
    let content = body.0.read(app.config.limits.message_bytes)?;
    app.store.write(move |tx| tx.edit_summary(caller.0, sid.0, id.0, &content)).await?;
    let read = move |reader: &mut StoreReader<'_>| {
        let stored = load_session(reader, caller.0, sid.0)?;
        Ok::<_, ReadError>((find_branch_summary(reader, &stored, id.0)?, stored.session.head))
    };
    let (found, head) = app.store.read(read).await?;
    app.turns.summaries.schedule(sid.0, head);
    ApiResponse::ok(&SummaryResponse::from(found.ok_or_else(|| ApiError::not_found(SummaryIdPath::WHAT))?))
}

/// Deletes a summary and what a model made of it; the server summarises its messages again.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn delete(app: AppData, caller: Caller, sid: SessionIdPath, id: SummaryIdPath) -> ApiResult<NoContent> {
    app.store.write(move |tx| tx.delete_summary(caller.0, sid.0, id.0)).await?;
    let read =
        move |reader: &mut StoreReader<'_>| Ok::<_, ReadError>(load_session(reader, caller.0, sid.0)?.session.head);
    let head = app.store.read(read).await?;
    app.turns.summaries.schedule(sid.0, head);
    Ok(ApiResponse::no_content())
}
