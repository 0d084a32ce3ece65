//! The trash: deleted items that can still be restored.

use super::AppData;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{QueryParams, TrashIdPath};
use crate::http::response::{ApiResponse, ApiResult, NoContent};
use crate::http::wire::trash::{ConfirmQuery, TrashItemKind, TrashItemResponse};
use crate::http::wire::{PageQuery, PageResponse};
use clotho_store::{TRASH_RETENTION_MS, TrashEntry};

/// Lists the caller's deleted items, newest first.
///
/// # Errors
/// Returns an error if the page parameters are invalid.
pub async fn list(
    app: AppData,
    caller: Caller,
    query: QueryParams<PageQuery>,
) -> ApiResult<PageResponse<TrashItemResponse>> {
    let (limit, skip) = query.0.limit_and_offset()?;
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.trash(caller.0, skip, limit + 1)?)).await?;
    let items = found.into_iter().map(|trashed| TrashItemResponse::new(trashed, TRASH_RETENTION_MS)).collect();
    ApiResponse::ok(&PageQuery::page(items, limit, skip))
}

/// Restores an item.
///
/// # Errors
/// Returns an error if it is not in the caller's trash.
pub async fn restore(app: AppData, caller: Caller, id: TrashIdPath) -> ApiResult<NoContent> {
    let now = app.clock.now();
    app.store.write(move |tx| tx.restore(caller.0, id.0, now)).await?;
    Ok(ApiResponse::no_content())
}

/// Deletes an item permanently, if confirmed.
///
/// # Errors
/// Returns an error if it is not in the caller's trash or the confirmation is missing.
pub async fn destroy(
    app: AppData,
    caller: Caller,
    id: TrashIdPath,
    query: QueryParams<ConfirmQuery>,
) -> ApiResult<NoContent> {
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.trash_entry(caller.0, id.0)?)).await?;
    let found = found.ok_or_else(|| ApiError::not_found(TrashIdPath::WHAT))?;
    if !query.0.confirm {
        return Err(confirmation_error(&found));
    }
    app.store.write(move |tx| tx.delete_permanently(caller.0, id.0)).await?;
    // The item is already invisible. If the client disconnects before its rows are deleted, secure erasure deletes the
    // rest.
    app.store.clear_deleted_rows().await?;
    Ok(ApiResponse::no_content())
}

/// Returns the error for a missing confirmation, which says what would be deleted.
fn confirmation_error(found: &TrashEntry) -> ApiError {
    let kind = TrashItemKind::from(found.kind).name();
    let with = if found.nodes > 0 { format!(" with {} messages", found.nodes) } else { String::new() };
    ApiError::invalid("confirm", format!("deleting the {kind} \"{}\"{with} is permanent", found.name))
        .hint("add ?confirm=true to the address to confirm it")
        .detail("kind", kind)
        .detail("name", found.name.clone())
        .detail("nodes", found.nodes)
}
