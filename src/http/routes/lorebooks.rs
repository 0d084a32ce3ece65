//! Lorebooks: create, read, update, bind, test, import and export.

use actix_web::web;
use bytes::Bytes;
use futures_util::stream;
use serde::Serialize;
use serde_json::{Map, Value};

use super::AppData;
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{LoreEntryUidPath, LorebookIdPath, QueryParams};
use crate::http::response::{ApiResponse, ApiResult, FileResponse, FileResponseHead, NoContent, ResponseChunks};
use crate::http::upload_form::UploadForm;
use crate::http::wire::lorebooks::{
    CreateLoreEntryRequest, DeleteLoreEntryRequest, LoreEntryResponse, LoreTestRequest, LoreTestResponse,
    LorebookBindingsResponse, LorebookExportQuery, LorebookFields, LorebookFormatParam, LorebookImportResponse,
    LorebookResponse, UpdateLoreEntryRequest, UpdateLorebookBindingsRequest, WorldInfoSettingsFields,
};
use crate::http::wire::{PageQuery, PageResponse};
use clotho_compat::interop::lorebook;
use clotho_compat::prompt::lore;
use clotho_core::clock::Time;
use clotho_core::ids::LorebookId;
use clotho_core::tree::lorebook::validate_lorebook;
use clotho_engine::transfer::{self, ForeignImportReport, LorebookRejection};
use clotho_engine::turn;
use clotho_store::{self as store, IdempotencyClaim, Tx};

/// Lists the caller's lorebooks, oldest first.
///
/// # Errors
/// Returns an error if the page parameters are invalid.
pub async fn list(
    app: AppData,
    caller: Caller,
    query: QueryParams<PageQuery>,
) -> ApiResult<PageResponse<LorebookResponse>> {
    let (limit, skip) = query.0.limit_and_offset()?;
    let books =
        app.store.read::<_, ApiError, _>(move |reader| Ok(reader.lorebooks(caller.0, skip, limit + 1)?)).await?;
    ApiResponse::ok(&PageQuery::page(books.iter().map(LorebookResponse::without_entries).collect(), limit, skip))
}

/// Creates a lorebook.
///
/// # Errors
/// Returns an error if a field is invalid.
pub async fn create(app: AppData, caller: Caller, body: JsonBody<LorebookFields>) -> ApiResult<LorebookResponse> {
    if let Some(previous) = IdempotencyClaim::previous_result() {
        return ApiResponse::created(&LorebookResponse::with_entries(
            &load(&app, caller, LorebookIdPath(previous)).await?,
        ));
    }
    let mut book = Map::new();
    body.0.apply(&mut book)?;
    let now = app.clock.now();
    let new = store::Lorebook { id: LorebookId::new(app.ids.next_id(now)), card: book, created: now, updated: now };
    insert(&app, caller, &new).await?;
    ApiResponse::created(&LorebookResponse::with_entries(&new))
}

async fn insert(app: &AppData, caller: Caller, new: &store::Lorebook) -> Result<(), ApiError> {
    let (stored, claim) = (new.clone(), IdempotencyClaim::current());
    let write = move |tx: &mut Tx<'_>| {
        tx.put_lorebook(caller.0, &stored)?;
        tx.record_claim(claim.as_ref(), &stored.id)
    };
    Ok(app.store.write(write).await?)
}

/// Returns one of the caller's lorebooks with its entries.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn read(app: AppData, caller: Caller, id: LorebookIdPath) -> ApiResult<LorebookResponse> {
    ApiResponse::ok(&LorebookResponse::with_entries(&load(&app, caller, id).await?))
}

/// Returns a page of the entries of a lorebook.
///
/// # Errors
/// Returns an error if the lorebook does not exist or the page parameters are invalid.
pub async fn list_entries(
    app: AppData,
    caller: Caller,
    id: LorebookIdPath,
    query: QueryParams<PageQuery>,
) -> ApiResult<PageResponse<LoreEntryResponse>> {
    let (limit, skip) = query.0.limit_and_offset()?;
    let book = load(&app, caller, id).await?;
    let (from, most) = (usize::try_from(skip).unwrap_or(0), usize::try_from(limit + 1).unwrap_or(0));
    let some = lorebook::entries_with_uid(&book.card).into_iter().skip(from).take(most).map(LoreEntryResponse);
    ApiResponse::ok(&PageQuery::page(some.collect(), limit, skip))
}

/// Changes the fields that the request names.
///
/// # Errors
/// Returns an error if the lorebook does not exist or a field is invalid.
pub async fn update(
    app: AppData,
    caller: Caller,
    id: LorebookIdPath,
    body: JsonBody<LorebookFields>,
) -> ApiResult<LorebookResponse> {
    let (book, ()) = edit(&app, caller, id, |book| body.0.clone().apply(book)).await?;
    ApiResponse::ok(&LorebookResponse::with_entries(&book))
}

/// Edits the current version of a lorebook, so that concurrent changes of other clients are kept.
async fn edit<T: Serialize>(
    app: &AppData,
    caller: Caller,
    id: LorebookIdPath,
    change: impl Fn(&mut Map<String, Value>) -> Result<T, ApiError>,
) -> Result<(store::Lorebook, T), ApiError> {
    loop {
        let mut book = load(app, caller, id).await?;
        let seen = book.updated;
        let entry = change(&mut book.card)?;
        book.updated = app.clock.now().max(Time(seen.0 + 1));
        let (stored, claim, answer) = (book.clone(), IdempotencyClaim::current(), serde_json::to_value(&entry));
        let answer = answer.map_err(ApiError::internal)?;
        let write = move |tx: &mut Tx<'_>| {
            let is_kept = tx.swap_lorebook(caller.0, seen, &stored)?;
            if is_kept {
                tx.record_claim(claim.as_ref(), &answer)?;
            }
            Ok(is_kept)
        };
        if app.store.write(write).await? {
            return Ok((book, entry));
        }
    }
}

/// Edits the entries of a lorebook as a list, each with its `uid`.
async fn edit_entries<T: Serialize>(
    app: &AppData,
    caller: Caller,
    id: LorebookIdPath,
    change: impl Fn(&mut Vec<Map<String, Value>>) -> Result<T, ApiError>,
) -> Result<(store::Lorebook, T), ApiError> {
    let change = |book: &mut Map<String, Value>| {
        let mut entries = lorebook::entries_with_uid(book);
        let entry = change(&mut entries)?;
        book.insert("entries".to_owned(), lorebook::keyed_by_uid(entries).into());
        validate_lorebook(book)?;
        Ok(entry)
    };
    edit(app, caller, id, change).await
}

/// Name of an entry in `not_found` messages.
const ENTRY_NAME: &str = "the entry";

/// Adds an entry at the end. A given `uid` is used if it is free.
///
/// # Errors
/// Returns an error if the lorebook does not exist or the entry is invalid.
pub async fn create_entry(
    app: AppData,
    caller: Caller,
    id: LorebookIdPath,
    body: JsonBody<CreateLoreEntryRequest>,
) -> ApiResult<LoreEntryResponse> {
    if let Some(previous) = IdempotencyClaim::previous_result() {
        return ApiResponse::created(&LoreEntryResponse(previous));
    }
    let (_, entry) =
        edit_entries(&app, caller, id, |entries| Ok(LoreEntryResponse(lorebook::append(entries, &body.0.entry.0))))
            .await?;
    ApiResponse::created(&entry)
}

/// Changes the named fields of an entry, unless it no longer has the values that the caller saw. Fields that already
/// have the new value are no conflict, so a request can be repeated.
///
/// # Errors
/// Returns an error if the entry does not exist, a field is invalid, or the entry was changed meanwhile.
pub async fn update_entry(
    app: AppData,
    caller: Caller,
    id: LorebookIdPath,
    uid: LoreEntryUidPath,
    body: JsonBody<UpdateLoreEntryRequest>,
) -> ApiResult<LoreEntryResponse> {
    let UpdateLoreEntryRequest { entry: fields, expected_entry: expected } = body.0;
    let (_, entry) = edit_entries(&app, caller, id, |entries| {
        let entry = entries.iter_mut().find(|entry| lorebook::has_uid(entry, &uid.0));
        let entry = entry.ok_or_else(|| ApiError::not_found(ENTRY_NAME))?;
        let was = entry.clone();
        entry.extend(fields.0.clone());
        if entry.get("uid") != was.get("uid") {
            return Err(ApiError::invalid("entry.uid", "the id of an entry cannot change"));
        }
        if let Some(expected) = expected.as_ref().filter(|_| *entry != was) {
            expected.check_unchanged(&was)?;
        }
        Ok(LoreEntryResponse(entry.clone()))
    })
    .await?;
    ApiResponse::ok(&entry)
}

/// Deletes an entry, unless it no longer has the values that the caller saw.
///
/// # Errors
/// Returns an error if the entry does not exist or was changed meanwhile.
pub async fn delete_entry(
    app: AppData,
    caller: Caller,
    id: LorebookIdPath,
    uid: LoreEntryUidPath,
    body: JsonBody<DeleteLoreEntryRequest>,
) -> ApiResult<NoContent> {
    edit_entries(&app, caller, id, |entries| {
        let at = entries.iter().position(|entry| lorebook::has_uid(entry, &uid.0));
        let gone = entries.remove(at.ok_or_else(|| ApiError::not_found(ENTRY_NAME))?);
        body.0.expected_entry.as_ref().map_or(Ok(()), |expected| expected.check_unchanged(&gone))
    })
    .await?;
    Ok(ApiResponse::no_content())
}

/// Moves a lorebook to the trash.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn delete(app: AppData, caller: Caller, id: LorebookIdPath) -> ApiResult<NoContent> {
    let now = app.clock.now();
    app.store.write(move |tx| tx.trash_lorebook(caller.0, id.0, now)).await?;
    Ok(ApiResponse::no_content())
}

/// Returns the bindings of a lorebook.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn bindings(app: AppData, caller: Caller, id: LorebookIdPath) -> ApiResult<LorebookBindingsResponse> {
    ApiResponse::ok(&load_bindings(&app, caller, id).await?)
}

async fn load_bindings(
    app: &AppData,
    caller: Caller,
    id: LorebookIdPath,
) -> Result<LorebookBindingsResponse, ApiError> {
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.lorebook_bindings(caller.0, id.0)?)).await?;
    found.map(LorebookBindingsResponse::from).ok_or_else(|| ApiError::not_found(LorebookIdPath::WHAT))
}

/// Replaces the bindings of a lorebook.
///
/// # Errors
/// Returns an error if the lorebook or something it is bound to does not exist.
pub async fn set_bindings(
    app: AppData,
    caller: Caller,
    id: LorebookIdPath,
    body: JsonBody<UpdateLorebookBindingsRequest>,
) -> ApiResult<LorebookBindingsResponse> {
    let (holds, now) = (body.0.read()?, app.clock.now());
    app.store.write(move |tx| tx.set_lorebook_bindings(caller.0, id.0, &holds, now)).await?;
    ApiResponse::ok(&load_bindings(&app, caller, id).await?)
}

/// Returns the caller's global lorebook settings.
///
/// # Errors
/// Returns an error if the database fails.
pub async fn settings(app: AppData, caller: Caller) -> ApiResult<WorldInfoSettingsFields> {
    let read = move |reader: &mut store::StoreReader<'_>| Ok(turn::lore_settings(reader, caller.0)?);
    ApiResponse::ok(&WorldInfoSettingsFields::from(app.store.read::<_, ApiError, _>(read).await?))
}

/// Sets the caller's global lorebook settings. Absent fields get their defaults.
///
/// # Errors
/// Returns an error if a field is invalid.
pub async fn set_settings(
    app: AppData,
    caller: Caller,
    body: JsonBody<WorldInfoSettingsFields>,
) -> ApiResult<WorldInfoSettingsFields> {
    let wanted = body.0.read()?;
    let stored = (wanted != lore::WorldInfoSettings::default()).then(|| wanted.to_stored());
    app.store.write(move |tx| tx.set_lore_settings(caller.0, stored.as_ref())).await?;
    settings(app, caller).await
}

/// Tests which entries would fire, and why the others would not. Nothing is written.
///
/// # Errors
/// Returns an error if something named does not exist, or there is no text to scan.
pub async fn test(app: AppData, caller: Caller, body: JsonBody<LoreTestRequest>) -> ApiResult<LoreTestResponse> {
    let asked = body.0.read(app.config.limits.message_bytes)?;
    ApiResponse::ok(&LoreTestResponse::from(app.turns.prompts.test_lore(caller.0, asked).await?))
}

/// Imports a lorebook.
///
/// # Errors
/// Returns an error if the file is no lorebook or too large.
pub async fn import(app: AppData, caller: Caller, form: UploadForm) -> ApiResult<LorebookImportResponse> {
    if let Some(previous) = IdempotencyClaim::previous_result() {
        let lorebook = LorebookResponse::with_entries(&load(&app, caller, LorebookIdPath(previous)).await?);
        return ApiResponse::created(&LorebookImportResponse {
            lorebook,
            report: ForeignImportReport::default().into(),
        });
    }
    let sent = form.file(lorebook::MAX_FILE_BYTES).await?;
    let _place = app.card_import_slots.acquire().await.map_err(ApiError::internal)?;
    let (ids, now) = (app.ids.clone(), app.clock.now());
    let read = move || transfer::read_lorebook(&sent.bytes, sent.name.as_deref(), &ids, now);
    let (new, item) = web::block(read).await.map_err(ApiError::internal)??;
    insert(&app, caller, &new).await?;
    let report = ForeignImportReport { items: vec![item] }.into();
    ApiResponse::created(&LorebookImportResponse { lorebook: LorebookResponse::with_entries(&new), report })
}

impl From<LorebookRejection> for ApiError {
    fn from(error: LorebookRejection) -> Self {
        match error {
            LorebookRejection::NoBook(error) => Self::invalid("file", error.to_string()).hint(error.hint()),
            LorebookRejection::Unfit(unfit) => Self::from(unfit)
                .hint("make the lorebook smaller in the program that it comes from; nothing of it was kept"),
        }
    }
}

/// Exports a lorebook for other programs.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn export(
    app: AppData,
    caller: Caller,
    id: LorebookIdPath,
    query: QueryParams<LorebookExportQuery>,
) -> ApiResult<FileResponse> {
    let book = load(&app, caller, id).await?;
    let name = book.card.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let value = match query.0.format {
        LorebookFormatParam::World => Value::Object(book.card),
        LorebookFormatParam::Card => lorebook::to_card(&book.card),
    };
    let bytes = serde_json::to_vec_pretty(&value).map_err(ApiError::internal)?;
    let pieces: ResponseChunks = Box::pin(stream::iter([Ok(Bytes::from(bytes))]));
    Ok(ApiResponse::file(FileResponseHead::from_title(&name, "json", "application/json"), pieces))
}

/// Loads one of the caller's lorebooks.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn load(app: &AppData, caller: Caller, id: LorebookIdPath) -> Result<store::Lorebook, ApiError> {
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.lorebook(caller.0, id.0)?)).await?;
    found.ok_or_else(|| ApiError::not_found(LorebookIdPath::WHAT))
}
