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
use crate::http::wire::cards::{
    ChoosePersonaRequest, PersonaChoicesResponse, PersonaFields, PersonaResponse, PersonasImportQuery,
    PersonasImportResponse,
};
use crate::http::wire::{PageQuery, PageResponse};
use clotho_compat::interop::persona::{self, PersonaError};
use clotho_core::ids::{CharacterId, PersonaId};
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

/// Imports the personas of another program. The default persona of a trusted file becomes the caller's if there is none.
///
/// # Errors
/// Returns an error if the file has none.
pub async fn import(
    app: AppData,
    caller: Caller,
    query: QueryParams<PersonasImportQuery>,
    form: UploadForm,
) -> ApiResult<PersonasImportResponse> {
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
    let is_trusted = query.0.trust.unwrap_or(false);
    let (stored, claim) = (personas.clone(), IdempotencyClaim::current());
    let write = move |tx: &mut Tx<'_>| {
        stored.iter().try_for_each(|persona| tx.put_persona(caller.0, persona))?;
        let is_default = |one: &&PersonaCard| one.card.get("metadata").is_some_and(is_default_there);
        if let Some(default) = stored.iter().filter(|_| is_trusted).find(is_default) {
            tx.suggest_persona(caller.0, None, default.id)?;
        }
        tx.record_claim(claim.as_ref(), &stored.iter().map(|persona| persona.id).collect::<Vec<_>>())
    };
    app.store.write(write).await?;
    let items = personas.into_iter().map(PersonaResponse::from).collect();
    ApiResponse::created(&PersonasImportResponse { items, report: report.into() })
}

/// Returns whether an imported persona was the default in its program.
fn is_default_there(metadata: &Value) -> bool {
    metadata.pointer("/sillytavern/isDefault") == Some(&Value::Bool(true))
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

/// Returns the personas that the caller chose for new sessions.
///
/// # Errors
/// Returns an error if the database fails.
pub async fn choices(app: AppData, caller: Caller) -> ApiResult<PersonaChoicesResponse> {
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.persona_choices(caller.0)?)).await?;
    ApiResponse::ok(&found.into())
}

/// Chooses the default persona, or locks a persona to a character.
///
/// # Errors
/// Returns an error if the request names no persona, or the persona or the character does not exist.
pub async fn choose(
    app: AppData,
    caller: Caller,
    body: JsonBody<ChoosePersonaRequest>,
) -> ApiResult<PersonaChoicesResponse> {
    let (character, persona) = (body.0.character_id.map(|id| id.0), body.0.persona_id.map(|id| id.0));
    app.store.write(move |tx| tx.choose_persona(caller.0, character, persona)).await?;
    choices(app, caller).await
}

/// Returns the persona that the caller chose for a new session with a character.
///
/// # Errors
/// Returns an error if the database fails.
pub async fn chosen(
    app: &AppData,
    caller: Caller,
    character: Option<CharacterId>,
) -> Result<Option<PersonaId>, ApiError> {
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.persona_choices(caller.0)?)).await?;
    Ok(character.and_then(|id| found.persona_for(id)))
}

/// Loads one of the caller's personas.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn load(app: &AppData, caller: Caller, id: PersonaIdPath) -> Result<PersonaCard, ApiError> {
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.persona(caller.0, id.0)?)).await?;
    found.ok_or_else(|| ApiError::not_found(PersonaIdPath::WHAT))
}
