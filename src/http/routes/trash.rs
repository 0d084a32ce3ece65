//! The trash: what was deleted, for as long as it can be brought back.

use super::Program;
use crate::http::answer::{Answer, Nothing, Reply};
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{Query, Tid};
use crate::http::wire::trash::{Confirmation, TrashItem, TrashKind};
use crate::http::wire::{Page, PageQuery};
use crate::store::{TRASH_KEPT_MS, Trashed};

/// What the caller deleted, the newest first.
///
/// # Errors
/// The page does not fit.
pub async fn list(app: Program, caller: Caller, query: Query<PageQuery>) -> Answer<Page<TrashItem>> {
    let (limit, skip) = query.0.bounds()?;
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.trash(caller.0, skip, limit + 1)?)).await?;
    let items = found.into_iter().map(|trashed| TrashItem::new(trashed, TRASH_KEPT_MS)).collect();
    Reply::ok(&PageQuery::page(items, limit, skip))
}

/// Brings something back as it was.
///
/// # Errors
/// It does not lie in the caller's trash.
pub async fn restore(app: Program, caller: Caller, id: Tid) -> Answer<Nothing> {
    let now = app.clock.now();
    app.store.write(move |tx| tx.restore(caller.0, id.0, now)).await?;
    Ok(Reply::done())
}

/// Destroys something for good, if that is really meant.
///
/// # Errors
/// It does not lie in the caller's trash, or nobody said that it is meant.
pub async fn destroy(app: Program, caller: Caller, id: Tid, query: Query<Confirmation>) -> Answer<Nothing> {
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.trashed(caller.0, id.0)?)).await?;
    let found = found.ok_or_else(|| ApiError::not_found(Tid::WHAT))?;
    if !query.0.confirm {
        return Err(unconfirmed(&found));
    }
    app.store.write(move |tx| tx.give_up(caller.0, id.0)).await?;
    // Out of sight already; where a client goes away before its rows are gone, the wiping takes what is left of them.
    app.store.clear_given_up().await?;
    Ok(Reply::done())
}

/// Says what would go.
fn unconfirmed(found: &Trashed) -> ApiError {
    let kind = TrashKind::from(found.kind).word();
    let with = if found.nodes > 0 { format!(" with {} messages", found.nodes) } else { String::new() };
    ApiError::invalid("confirm", format!("nothing would bring the {kind} \"{}\"{with} back", found.name))
        .hint("add ?confirm=true to the address if that is meant")
        .detail("kind", kind)
        .detail("name", found.name.clone())
        .detail("nodes", found.nodes)
}
