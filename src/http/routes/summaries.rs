//! Summaries of what the prompts of a session do not hold any more: read, corrected, and made anew.

use super::{AppData, branch_leaf, load_session};
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{QueryParams, SessionIdPath, SummaryIdPath};
use crate::http::response::{ApiResponse, ApiResult, NoContent};
use crate::http::wire::summaries::{SummariesQuery, SummariesResponse, SummaryResponse, UpdateSummaryRequest};
use clotho_engine::turn::TurnEngine;
use clotho_store::StoreReader;

/// Those of one line.
///
/// # Errors
/// The session or the message is not there.
pub async fn list(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    query: QueryParams<SummariesQuery>,
) -> ApiResult<SummariesResponse> {
    let read = move |reader: &mut StoreReader<'_>| {
        let held = load_session(reader, caller, sid)?;
        let at = branch_leaf(reader, &held, query.0.node_id, None)?;
        Ok::<_, ApiError>(TurnEngine::summaries(reader, &held, &at)?)
    };
    // Asked first: who hears that nothing is worked on any more is given all of it.
    let state = app.turns.summary_state(sid.0);
    let found = app.store.read(read).await?;
    ApiResponse::ok(&SummariesResponse::new(found, state))
}

/// Gives one another text. Chapters that a model made of it are made anew; one that somebody has corrected stays.
///
/// # Errors
/// It is not there, or the text does not fit.
pub async fn change(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    id: SummaryIdPath,
    body: JsonBody<UpdateSummaryRequest>,
) -> ApiResult<SummaryResponse> {
    let content = body.0.read(app.config.limits.message_bytes)?;
    app.store.write(move |tx| tx.edit_summary(caller.0, sid.0, id.0, &content)).await?;
    let read = move |reader: &mut StoreReader<'_>| {
        let held = load_session(reader, caller, sid)?;
        Ok::<_, ApiError>((TurnEngine::summary(reader, &held, id.0)?, held.session.head))
    };
    let (found, head) = app.store.read(read).await?;
    app.turns.schedule_summary(sid.0, head);
    ApiResponse::ok(&SummaryResponse::from(found.ok_or_else(|| ApiError::not_found(SummaryIdPath::WHAT))?))
}

/// Destroys one, and what a model made of it; the server makes another of its messages.
///
/// # Errors
/// It is not there.
pub async fn delete(app: AppData, caller: Caller, sid: SessionIdPath, id: SummaryIdPath) -> ApiResult<NoContent> {
    app.store.write(move |tx| tx.delete_summary(caller.0, sid.0, id.0)).await?;
    let read = move |reader: &mut StoreReader<'_>| Ok::<_, ApiError>(load_session(reader, caller, sid)?.session.head);
    let head = app.store.read(read).await?;
    app.turns.schedule_summary(sid.0, head);
    Ok(ApiResponse::no_content())
}
