//! Personas that the user plays.

use serde_json::{Map, Value};

use super::AppData;
use super::avatar_files::delete_replaced;
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{PersonaIdPath, QueryParams};
use crate::http::response::{ApiResponse, ApiResult, NoContent};
use crate::http::upload_form::UploadForm;
use crate::http::wire::cards::{PersonaFields, PersonaResponse, PersonasImportResponse};
use crate::http::wire::{PageQuery, PageResponse};
use clotho_compat::interop::persona::{self, PersonaError};
use clotho_core::ids::PersonaId;
use clotho_engine::transfer::{self, ForeignImportReport};
use clotho_store::{IdempotencyClaim, PersonaCard, Tx};

/// Lists the caller's personas, oldest first.
///
/// # Errors
/// Returns an error if the page parameters are invalid.
pub async fn list(
    app: AppData,
    caller: Caller,
    query: QueryParams<PageQuery>,
) -> ApiResult<PageResponse<PersonaResponse>> {
    let (limit, skip) = query.0.limit_and_offset()?;
    let cards = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.personas(caller.0, skip, limit + 1)?)).await?;
    ApiResponse::ok(&PageQuery::page(cards.into_iter().map(PersonaResponse::from).collect(), limit, skip))
}

/// Creates a persona.
///
/// # Errors
/// Returns an error if a field is invalid.
pub async fn create(app: AppData, caller: Caller, body: JsonBody<PersonaFields>) -> ApiResult<PersonaResponse> {
    if let Some(previous) = IdempotencyClaim::previous_result() {
        return ApiResponse::created(&PersonaResponse::from(load(&app, caller, PersonaIdPath(previous)).await?));
    }
    let mut card = Map::new();
    body.0.apply(&mut card)?;
    let now = app.clock.now();
    let new = PersonaCard { id: PersonaId::new(app.ids.next_id(now)), card, created: now, updated: now };
    let stored = new.clone();
    let claim = IdempotencyClaim::current();
    let write = move |tx: &mut Tx<'_>| {
        tx.put_persona(caller.0, &stored)?;
        tx.record_claim(claim.as_ref(), &stored.id)
    };
    app.store.write(write).await?;
    ApiResponse::created(&PersonaResponse::from(new))
}

/// Imports the personas of another program.
///
/// # Errors
/// Returns an error if the file has none.
pub async fn import(app: AppData, caller: Caller, form: UploadForm) -> ApiResult<PersonasImportResponse> {
    if let Some(previous) = IdempotencyClaim::previous_result::<Vec<PersonaId>>() {
        let mut items = Vec::new();
        for id in previous {
            items.push(load(&app, caller, PersonaIdPath(id)).await?.into());
        }
        return ApiResponse::created(&PersonasImportResponse { items, report: ForeignImportReport::default().into() });
    }
    let sent = form.file(persona::MAX_FILE_BYTES).await?;
    let (ids, now) = (app.ids.clone(), app.clock.now());
    let read = move || transfer::read_personas(&sent.bytes, sent.name.as_deref(), &ids, now);
    let (personas, report) = actix_web::web::block(read).await.map_err(ApiError::internal)??;
    let (stored, claim) = (personas.clone(), IdempotencyClaim::current());
    let write = move |tx: &mut Tx<'_>| {
        stored.iter().try_for_each(|persona| tx.put_persona(caller.0, persona))?;
        tx.record_claim(claim.as_ref(), &stored.iter().map(|persona| persona.id).collect::<Vec<_>>())
    };
    app.store.write(write).await?;
    let items = personas.into_iter().map(PersonaResponse::from).collect();
    ApiResponse::created(&PersonasImportResponse { items, report: report.into() })
}

impl From<PersonaError> for ApiError {
    fn from(error: PersonaError) -> Self {
        Self::invalid("file", error.to_string()).hint(error.hint())
    }
}

/// Returns one of the caller's personas.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn read(app: AppData, caller: Caller, id: PersonaIdPath) -> ApiResult<PersonaResponse> {
    ApiResponse::ok(&PersonaResponse::from(load(&app, caller, id).await?))
}

/// Changes the fields that the request names.
///
/// # Errors
/// Returns an error if the persona does not exist or a field is invalid.
pub async fn update(
    app: AppData,
    caller: Caller,
    id: PersonaIdPath,
    body: JsonBody<PersonaFields>,
) -> ApiResult<PersonaResponse> {
    let mut card = load(&app, caller, id).await?;
    body.0.apply(&mut card.card)?;
    card.updated = app.clock.now();
    let stored = card.clone();
    let write = move |tx: &mut Tx<'_>| {
        tx.update_persona(caller.0, &stored)?;
        delete_replaced(tx, "personas", id.0.uuid(), stored.card.get("avatar").and_then(Value::as_str))
    };
    app.store.write(write).await?;
    ApiResponse::ok(&PersonaResponse::from(card))
}

/// Moves a persona to the trash. Sessions that use it keep their version.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn delete(app: AppData, caller: Caller, id: PersonaIdPath) -> ApiResult<NoContent> {
    let now = app.clock.now();
    app.store.write(move |tx| tx.trash_persona(caller.0, id.0, now)).await?;
    Ok(ApiResponse::no_content())
}

/// Loads one of the caller's personas.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn load(app: &AppData, caller: Caller, id: PersonaIdPath) -> Result<PersonaCard, ApiError> {
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.persona(caller.0, id.0)?)).await?;
    found.ok_or_else(|| ApiError::not_found(PersonaIdPath::WHAT))
}
