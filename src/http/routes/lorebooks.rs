//! Lorebooks: kept, changed, bound to what they hold for, tried, brought in and taken along.

use actix_web::web;
use bytes::Bytes;
use futures_util::stream;
use serde::Serialize;
use serde_json::{Map, Value};

use super::Program;
use crate::clock::Time;
use crate::http::answer::{Answer, File, FileHead, Nothing, Pieces, Reply};
use crate::http::body::Body;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::form::Form;
use crate::http::query::{EntryUid, Lid, Query};
use crate::http::wire::lorebooks::{
    BookExportQuery, BookFormat, EntryChange, EntryFields, EntryGone, ImportedLorebook, LoreEntry, LoreSettings,
    LoreTestOf, LoreTested, Lorebook, LorebookFields, LorebookHolds, LorebookHoldsFields,
};
use crate::http::wire::{Page, PageQuery};
use crate::ids::LorebookId;
use crate::interop::book;
use crate::prompt::lore;
use crate::store::{self, Claim, Tx};
use crate::transfer::{self, BookNotKept, Report};
use crate::tree::book::fits;
use crate::turn;

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
    let some = book::numbered(&book.card).into_iter().skip(from).take(most).map(LoreEntry);
    Reply::ok(&PageQuery::page(some.collect(), limit, skip))
}

/// Changes the fields that the request names.
///
/// # Errors
/// It is not there, or a field does not fit.
pub async fn change(app: Program, caller: Caller, id: Lid, body: Body<LorebookFields>) -> Answer<Lorebook> {
    let (book, ()) = edit(&app, caller, id, |book| body.0.clone().apply(book)).await?;
    Reply::ok(&Lorebook::whole(&book))
}

/// Changes a book as it stands: what somebody else changes meanwhile, in another window or by a program, stays.
async fn edit<T: Serialize>(
    app: &Program,
    caller: Caller,
    id: Lid,
    change: impl Fn(&mut Map<String, Value>) -> Result<T, ApiError>,
) -> Result<(store::Lorebook, T), ApiError> {
    loop {
        let mut book = load(app, caller, id).await?;
        let seen = book.updated;
        let made = change(&mut book.card)?;
        book.updated = app.clock.now().max(Time(seen.0 + 1));
        let (kept, claim, told) = (book.clone(), Claim::present(), serde_json::to_value(&made));
        let told = told.map_err(ApiError::internal)?;
        let write = move |tx: &mut Tx<'_>| {
            let is_kept = tx.swap_lorebook(caller.0, seen, &kept)?;
            if is_kept {
                tx.act_for(claim.as_ref(), &told)?;
            }
            Ok(is_kept)
        };
        if app.store.write(write).await? {
            return Ok((book, made));
        }
    }
}

/// The same with its entries as a list, each with what it is known by.
async fn edit_entries<T: Serialize>(
    app: &Program,
    caller: Caller,
    id: Lid,
    change: impl Fn(&mut Vec<Map<String, Value>>) -> Result<T, ApiError>,
) -> Result<(store::Lorebook, T), ApiError> {
    let change = |book: &mut Map<String, Value>| {
        let mut entries = book::numbered(book);
        let made = change(&mut entries)?;
        book.insert("entries".to_owned(), book::by_number(entries).into());
        fits(book)?;
        Ok(made)
    };
    edit(app, caller, id, change).await
}

/// What a path of an entry leads to.
const ENTRY: &str = "the entry";

/// Keeps a new entry, behind the others. One that comes with a `uid` that is free keeps it.
///
/// # Errors
/// The book is not there, or the entry does not fit.
pub async fn add(app: Program, caller: Caller, id: Lid, body: Body<EntryFields>) -> Answer<LoreEntry> {
    if let Some(made) = Claim::made_before() {
        return Reply::created(&LoreEntry(made));
    }
    let (_, entry) =
        edit_entries(&app, caller, id, |entries| Ok(LoreEntry(book::append(entries, &body.0.entry.0)))).await?;
    Reply::created(&entry)
}

/// Changes the fields of an entry that the request names, unless it says something else by now than the caller saw
/// there. What says already what it is to say stays as it is: a request that is repeated is no quarrel.
///
/// # Errors
/// It is not there, a field does not fit, or somebody else changed it meanwhile.
pub async fn change_entry(
    app: Program,
    caller: Caller,
    id: Lid,
    uid: EntryUid,
    body: Body<EntryChange>,
) -> Answer<LoreEntry> {
    let EntryChange { entry: fields, expected_entry: expected } = body.0;
    let (_, entry) = edit_entries(&app, caller, id, |entries| {
        let entry = entries.iter_mut().find(|entry| book::is_known_by(entry, &uid.0));
        let entry = entry.ok_or_else(|| ApiError::not_found(ENTRY))?;
        let was = entry.clone();
        entry.extend(fields.0.clone());
        if entry.get("uid") != was.get("uid") {
            return Err(ApiError::invalid("entry.uid", "what an entry is known by stays"));
        }
        if let Some(expected) = expected.as_ref().filter(|_| *entry != was) {
            expected.is_still(&was)?;
        }
        Ok(LoreEntry(entry.clone()))
    })
    .await?;
    Reply::ok(&entry)
}

/// Takes an entry out of a book, unless it says something else by now than the caller saw there.
///
/// # Errors
/// It is not there, or somebody else changed it meanwhile.
pub async fn drop_entry(
    app: Program,
    caller: Caller,
    id: Lid,
    uid: EntryUid,
    body: Body<EntryGone>,
) -> Answer<Nothing> {
    edit_entries(&app, caller, id, |entries| {
        let at = entries.iter().position(|entry| book::is_known_by(entry, &uid.0));
        let gone = entries.remove(at.ok_or_else(|| ApiError::not_found(ENTRY))?);
        body.0.expected_entry.as_ref().map_or(Ok(()), |expected| expected.is_still(&gone))
    })
    .await?;
    Ok(Reply::done())
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

/// For what one holds.
///
/// # Errors
/// It is not there.
pub async fn holds(app: Program, caller: Caller, id: Lid) -> Answer<LorebookHolds> {
    Reply::ok(&held(&app, caller, id).await?)
}

async fn held(app: &Program, caller: Caller, id: Lid) -> Result<LorebookHolds, ApiError> {
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.holds(caller.0, id.0)?)).await?;
    found.map(LorebookHolds::from).ok_or_else(|| ApiError::not_found(Lid::WHAT))
}

/// Says for what one holds, and for nothing else.
///
/// # Errors
/// It is not there, or something that it is to hold for is not.
pub async fn set_holds(
    app: Program,
    caller: Caller,
    id: Lid,
    body: Body<LorebookHoldsFields>,
) -> Answer<LorebookHolds> {
    let (holds, now) = (body.0.read()?, app.clock.now());
    app.store.write(move |tx| tx.set_holds(caller.0, id.0, &holds, now)).await?;
    Reply::ok(&held(&app, caller, id).await?)
}

/// The caller's house rules of lore.
///
/// # Errors
/// The database fails.
pub async fn settings(app: Program, caller: Caller) -> Answer<LoreSettings> {
    let read = move |reader: &mut store::Reader<'_>| Ok(turn::lore_settings(reader, caller.0)?);
    Reply::ok(&LoreSettings::from(app.store.read::<_, ApiError, _>(read).await?))
}

/// Says the caller's house rules of lore. What is left out is as it is shipped.
///
/// # Errors
/// A field does not fit.
pub async fn set_settings(app: Program, caller: Caller, body: Body<LoreSettings>) -> Answer<LoreSettings> {
    let wanted = body.0.read()?;
    let kept = (wanted != lore::Settings::default()).then(|| wanted.to_kept());
    app.store.write(move |tx| tx.set_lore_settings(caller.0, kept.as_ref())).await?;
    settings(app, caller).await
}

/// Which entries would fire, and why the others would not. Nothing is written.
///
/// # Errors
/// Something that is named is not there, or there is nothing to look at.
pub async fn test(app: Program, caller: Caller, body: Body<LoreTestOf>) -> Answer<LoreTested> {
    let asked = body.0.read(app.config.limits.message_bytes)?;
    Reply::ok(&LoreTested::from(app.turns.test_lore(caller.0, asked).await?))
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
