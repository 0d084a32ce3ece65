//! Edits of the tree, undo and redo, the stash, and labels.

use actix_web::HttpRequest;
use serde_json::Value;

use super::{AppData, conditional_read, node_renderer};
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::{ApiError, ApiErrorCode};
use crate::http::query::{FragmentIdPath, QueryParams, SessionIdPath};
use crate::http::response::{ApiResponse, ApiResult, RedactForReplay, to_json};
use crate::http::wire::checks::expected_version;
use crate::http::wire::ids::WireId;
use crate::http::wire::node::wire_nodes;
use crate::http::wire::tree::TreePageQuery;
use crate::http::wire::tree_edits::{
    FragmentTreeResponse, LabelsResponse, StashResponse, TreeEditsRequest, TreeEditsResponse, UndoRequest, UndoResponse,
};
use crate::http::wire::{MAX_PAGE_SIZE, decode_cursor, encode_cursor, limit_or};
use clotho_core::tree::TreeEdit;
use clotho_queries::error::ReadError;
use clotho_queries::node_view::NodeRenderer;
use clotho_queries::tree::fragment_page;
use clotho_store::{Actor, IdempotencyClaim, StoreError, StoreReader, StoredSession, Tx, UndoResult, WriteError};

/// Applies a list of edits, all or none.
///
/// # Errors
/// Returns an error if an edit is impossible (`details.operation` is its index), HEAD has moved, or the operator has
/// disabled tree edits.
pub async fn edit(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    body: JsonBody<TreeEditsRequest>,
) -> ApiResult<TreeEditsResponse> {
    let at = app.clock.now();
    if let Some(before) = previous_answer() {
        return before;
    }
    let (edits, expected_leaf) = body.0.read(&app.ids, at, app.config.limits.message_bytes)?;
    if let Some(index) = edits.iter().position(TreeEdit::is_structural).filter(|_| !app.config.tree.edits) {
        let off = ApiError::new(ApiErrorCode::Forbidden, "tree edits are turned off on this server");
        return Err(off
            .hint("the owner of the server can allow them: edits = true in [tree]")
            .detail("operation", index));
    }
    let actor = Actor { user: caller.0, at, expected_leaf };
    let (asked, claim) = (edits.clone(), IdempotencyClaim::current());
    let arrange = move |tx: &mut Tx<'_>| {
        let arranged = tx.arrange(&actor, sid.0, &asked)?;
        if claim.is_some() {
            tx.record_claim(claim.as_ref(), &TreeEditsResponse::new(&arranged, &asked).redact_for_replay())?;
        }
        Ok(arranged)
    };
    let answer = app.store.write(arrange).await.map(|arranged| TreeEditsResponse::new(&arranged, &edits))?;
    let op = answer.op;
    Ok(ApiResponse::ok_redacted(answer)?.with_operation(op))
}

/// Undoes the caller's last step.
///
/// # Errors
/// Returns an error if there is none, a later step depends on it, one of its replies is still running, or HEAD has
/// moved.
pub async fn undo(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    body: JsonBody<UndoRequest>,
) -> ApiResult<UndoResponse> {
    undo_or_redo(&app, caller, body.0, move |tx, actor| tx.undo(actor, sid.0)).await
}

/// Redoes the step that the caller undid last, unless something new was done since.
///
/// # Errors
/// As [`undo`].
pub async fn redo(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    body: JsonBody<UndoRequest>,
) -> ApiResult<UndoResponse> {
    undo_or_redo(&app, caller, body.0, move |tx, actor| tx.redo(actor, sid.0)).await
}

async fn undo_or_redo(
    app: &AppData,
    caller: Caller,
    asked: UndoRequest,
    way: impl Fn(&mut Tx<'_>, &Actor) -> Result<UndoResult, WriteError> + Send + 'static,
) -> ApiResult<UndoResponse> {
    if let Some(before) = previous_answer() {
        return before;
    }
    let expected_leaf = expected_version(asked.expected_leaf_id, asked.expected_op)?;
    let actor = Actor { user: caller.0, at: app.clock.now(), expected_leaf };
    let claim = IdempotencyClaim::current();
    let act = move |tx: &mut Tx<'_>| {
        let undone = way(tx, &actor)?;
        if claim.is_some() {
            tx.record_claim(claim.as_ref(), &UndoResponse::from(&undone).redact_for_replay())?;
        }
        Ok(undone)
    };
    let turned = app.store.write(act).await.map(|undone| UndoResponse::from(&undone))?;
    let op = turned.op;
    Ok(ApiResponse::ok_redacted(turned)?.with_operation(op))
}

/// Returns what an earlier attempt of the request created, if its answer was lost.
fn previous_answer<T>() -> Option<ApiResult<T>> {
    let previous: Value = IdempotencyClaim::previous_result()?;
    let op = previous.get("op").and_then(Value::as_i64).unwrap_or_default();
    Some(to_json(&previous).map(|json| ApiResponse::from_json(json).with_operation(op)))
}

/// Lists the fragments in the stash.
///
/// # Errors
/// Returns an error if the session does not exist.
pub async fn stash(app: AppData, request: HttpRequest, caller: Caller, sid: SessionIdPath) -> ApiResult<StashResponse> {
    let read = |reader: &mut StoreReader<'_>, stored: &StoredSession| {
        let items = reader.stash(stored)?.into_iter().map(Into::into).collect();
        Ok::<_, StoreError>(StashResponse { items, op: stored.session.op })
    };
    conditional_read(&app, &request, caller, sid, read).await?.respond_json()
}

/// Lists the labels of the tree.
///
/// # Errors
/// Returns an error if the session does not exist.
pub async fn labels(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
) -> ApiResult<LabelsResponse> {
    let read = |reader: &mut StoreReader<'_>, stored: &StoredSession| {
        let items = reader.labels(stored)?.into_iter().map(Into::into).collect();
        Ok::<_, StoreError>(LabelsResponse { items, op: stored.session.op })
    };
    conditional_read(&app, &request, caller, sid, read).await?.respond_json()
}

/// Returns the tree of a fragment, page by page.
///
/// # Errors
/// Returns an error if the session or the fragment does not exist.
pub async fn fragment(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    fid: FragmentIdPath,
    query: QueryParams<TreePageQuery>,
) -> ApiResult<FragmentTreeResponse> {
    let renderer = NodeRenderer { live: None, ..node_renderer(&app) };
    let limit = limit_or(query.0.limit, MAX_PAGE_SIZE);
    let after = query.0.cursor.as_deref().filter(|cursor| !cursor.is_empty()).map(decode_cursor).transpose()?;
    let read = move |reader: &mut StoreReader<'_>, stored: &StoredSession| {
        let (nodes, next) = fragment_page(reader, stored, &renderer, fid.0, after.unwrap_or(0), limit)?;
        let (session_id, fragment_id) = (WireId(stored.session.id), WireId(fid.0));
        let (items, next) = (wire_nodes(nodes), next.map(encode_cursor));
        Ok::<_, ReadError>(FragmentTreeResponse { session_id, fragment_id, items, next, op: stored.session.op })
    };
    conditional_read(&app, &request, caller, sid, read).await?.respond_json()
}
