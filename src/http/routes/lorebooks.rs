//! Lorebooks: kept, changed, brought in and taken along. No prompt reads them yet.

use actix_web::web;
use bytes::Bytes;
use futures_util::stream;
use serde_json::{Map, Value};

use super::Program;
use crate::http::answer::{Answer, File, FileHead, Nothing, Pieces, Reply};
use crate::http::body::Body;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::form::Form;
use crate::http::query::{Lid, Query};
use crate::http::wire::lorebooks::{
    BookExportQuery, BookFormat, ImportedLorebook, LoreEntry, Lorebook, LorebookFields,
};
use crate::http::wire::{Page, PageQuery};
use crate::ids::LorebookId;
use crate::interop::book;
use crate::store::{self, Claim, Tx};
use crate::transfer::{self, BookNotKept, Report};

/// The caller's lorebooks, oldest first.
///
/// # Errors
/// The page does not fit.
pub async fn list(app: Program, caller: Caller, query: Query<PageQuery>) -> Answer<Page<Lorebook>> {
    let (limit, skip) = query.0.bounds()?;
    let books =
        app.store.read::<_, ApiError, _>(move |reader| Ok(reader.lorebooks(caller.0, skip, limit + 1)?)).await?;
    Reply::ok(&PageQuery::page(books.iter().map(Lorebook::brief).collect(), limit, skip))
}

/// Keeps a new one.
///
/// # Errors
/// A field does not fit.
pub async fn create(app: Program, caller: Caller, body: Body<LorebookFields>) -> Answer<Lorebook> {
    if let Some(made) = Claim::made_before() {
        return Reply::created(&Lorebook::whole(&load(&app, caller, Lid(made)).await?));
    }
    let mut book = Map::new();
    body.0.apply(&mut book)?;
    let now = app.clock.now();
    let new = store::Lorebook { id: LorebookId::new(app.ids.next(now)), card: book, created: now, updated: now };
    keep(&app, caller, &new).await?;
    Reply::created(&Lorebook::whole(&new))
}

async fn keep(app: &Program, caller: Caller, new: &store::Lorebook) -> Result<(), ApiError> {
    let (kept, claim) = (new.clone(), Claim::present());
    let write = move |tx: &mut Tx<'_>| {
        tx.put_lorebook(caller.0, &kept)?;
        tx.act_for(claim.as_ref(), &kept.id)
    };
    Ok(app.store.write(write).await?)
}

/// One of the caller's, with its entries.
///
/// # Errors
/// It is not there.
pub async fn read(app: Program, caller: Caller, id: Lid) -> Answer<Lorebook> {
    Reply::ok(&Lorebook::whole(&load(&app, caller, id).await?))
}

/// A page of the entries of one.
///
/// # Errors
/// It is not there, or the page does not fit.
pub async fn entries(app: Program, caller: Caller, id: Lid, query: Query<PageQuery>) -> Answer<Page<LoreEntry>> {
    let (limit, skip) = query.0.bounds()?;
    let book = load(&app, caller, id).await?;
    let (from, most) = (usize::try_from(skip).unwrap_or(0), usize::try_from(limit + 1).unwrap_or(0));
    let some = book::entries(&book.card).into_iter().skip(from).take(most).cloned().map(LoreEntry);
    Reply::ok(&PageQuery::page(some.collect(), limit, skip))
}

/// Changes the fields that the request names.
///
/// # Errors
/// It is not there, or a field does not fit.
pub async fn change(app: Program, caller: Caller, id: Lid, body: Body<LorebookFields>) -> Answer<Lorebook> {
    let mut book = load(&app, caller, id).await?;
    body.0.apply(&mut book.card)?;
    book.updated = app.clock.now();
    let kept = book.clone();
    app.store.write(move |tx| tx.update_lorebook(caller.0, &kept)).await?;
    Reply::ok(&Lorebook::whole(&book))
}

/// Moves one to the trash.
///
/// # Errors
/// It is not there.
pub async fn delete(app: Program, caller: Caller, id: Lid) -> Answer<Nothing> {
    let now = app.clock.now();
    app.store.write(move |tx| tx.trash_lorebook(caller.0, id.0, now)).await?;
    Ok(Reply::done())
}

/// Keeps a lorebook of another program.
///
/// # Errors
/// The file is no lorebook, or more than one may be.
pub async fn import(app: Program, caller: Caller, form: Form) -> Answer<ImportedLorebook> {
    if let Some(made) = Claim::made_before() {
        let lorebook = Lorebook::whole(&load(&app, caller, Lid(made)).await?);
        return Reply::created(&ImportedLorebook { lorebook, report: Report::default().into() });
    }
    let sent = form.file(book::LARGEST_FILE).await?;
    let _place = app.drawing.acquire().await.map_err(ApiError::internal)?;
    let (ids, now) = (app.ids.clone(), app.clock.now());
    let read = move || transfer::arriving_book(&sent.bytes, sent.name.as_deref(), &ids, now);
    let (new, item) = web::block(read).await.map_err(ApiError::internal)??;
    keep(&app, caller, &new).await?;
    let report = Report { items: vec![item] }.into();
    Reply::created(&ImportedLorebook { lorebook: Lorebook::whole(&new), report })
}

impl From<BookNotKept> for ApiError {
    fn from(error: BookNotKept) -> Self {
        match error {
            BookNotKept::NoBook(error) => Self::invalid("file", error.to_string()).hint(error.hint()),
            BookNotKept::Unfit(unfit) => {
                Self::from(unfit).hint("make the book smaller where it comes from; nothing of it was kept")
            }
        }
    }
}

/// A lorebook as other programs read it.
///
/// # Errors
/// It is not there.
pub async fn export(app: Program, caller: Caller, id: Lid, query: Query<BookExportQuery>) -> Answer<File> {
    let book = load(&app, caller, id).await?;
    let name = book.card.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let value = match query.0.format {
        BookFormat::World => Value::Object(book.card),
        BookFormat::Card => book::to_card(&book.card),
    };
    let bytes = serde_json::to_vec_pretty(&value).map_err(ApiError::internal)?;
    let pieces: Pieces = Box::pin(stream::iter([Ok(Bytes::from(bytes))]));
    Ok(Reply::file(FileHead::called(&name, "json", "application/json"), pieces))
}

/// One of the caller's.
///
/// # Errors
/// It is not there.
pub async fn load(app: &Program, caller: Caller, id: Lid) -> Result<store::Lorebook, ApiError> {
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.lorebook(caller.0, id.0)?)).await?;
    found.ok_or_else(|| ApiError::not_found(Lid::WHAT))
}
