//! Characters that sessions are played with.

use serde_json::{Map, Value};

use super::AppData;
use super::avatar_files::delete_replaced;
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{CharacterIdPath, QueryParams};
use crate::http::response::{ApiResponse, ApiResult, NoContent};
use crate::http::wire::cards::{CharacterFields, CharacterResponse};
use crate::http::wire::{PageQuery, PageResponse};
use clotho_core::ids::CharacterId;
use clotho_store::{CharacterCard, IdempotencyClaim, Tx};

/// Lists the caller's characters, oldest first.
///
/// # Errors
/// Returns an error if the page parameters are invalid.
pub async fn list(
    app: AppData,
    caller: Caller,
    query: QueryParams<PageQuery>,
) -> ApiResult<PageResponse<CharacterResponse>> {
    let (limit, skip) = query.0.limit_and_offset()?;
    let cards =
        app.store.read::<_, ApiError, _>(move |reader| Ok(reader.characters(caller.0, skip, limit + 1)?)).await?;
    ApiResponse::ok(&PageQuery::page(cards.into_iter().map(CharacterResponse::without_texts).collect(), limit, skip))
}

/// Creates a character.
///
/// # Errors
/// Returns an error if a field is invalid.
pub async fn create(app: AppData, caller: Caller, body: JsonBody<CharacterFields>) -> ApiResult<CharacterResponse> {
    if let Some(previous) = IdempotencyClaim::previous_result() {
        return ApiResponse::created(&CharacterResponse::from(load(&app, caller, CharacterIdPath(previous)).await?));
    }
    let mut card = Map::new();
    check_lorebook_owner(&app, caller, &body.0).await?;
    body.0.apply(&mut card)?;
    let now = app.clock.now();
    let new = CharacterCard { id: CharacterId::new(app.ids.next_id(now)), card, created: now, updated: now };
    let stored = new.clone();
    let claim = IdempotencyClaim::current();
    let write = move |tx: &mut Tx<'_>| {
        tx.put_character(caller.0, &stored)?;
        tx.record_claim(claim.as_ref(), &stored.id)
    };
    app.store.write(write).await?;
    ApiResponse::created(&CharacterResponse::from(new))
}

/// Returns one of the caller's characters.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn read(app: AppData, caller: Caller, id: CharacterIdPath) -> ApiResult<CharacterResponse> {
    ApiResponse::ok(&CharacterResponse::from(load(&app, caller, id).await?))
}

/// Changes the fields that the request names.
///
/// # Errors
/// Returns an error if the character does not exist or a field is invalid.
pub async fn update(
    app: AppData,
    caller: Caller,
    id: CharacterIdPath,
    body: JsonBody<CharacterFields>,
) -> ApiResult<CharacterResponse> {
    let mut card = load(&app, caller, id).await?;
    check_lorebook_owner(&app, caller, &body.0).await?;
    body.0.apply(&mut card.card)?;
    card.updated = app.clock.now();
    let stored = card.clone();
    let write = move |tx: &mut Tx<'_>| {
        tx.update_character(caller.0, &stored)?;
        delete_replaced(tx, "characters", id.0.uuid(), stored.card.get("avatar").and_then(Value::as_str))
    };
    app.store.write(write).await?;
    ApiResponse::ok(&CharacterResponse::from(card))
}

/// Checks that the lorebook in the fields belongs to the caller.
async fn check_lorebook_owner(app: &AppData, caller: Caller, fields: &CharacterFields) -> Result<(), ApiError> {
    let Some(Some(id)) = fields.lorebook_id else { return Ok(()) };
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.lorebook(caller.0, id.0)?)).await?;
    let missing = || ApiError::not_found("the lorebook").detail("field", "lorebookId");
    found.map(|_| ()).ok_or_else(missing)
}

/// Moves a character to the trash. Sessions that use it keep their version.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn delete(app: AppData, caller: Caller, id: CharacterIdPath) -> ApiResult<NoContent> {
    let now = app.clock.now();
    app.store.write(move |tx| tx.trash_character(caller.0, id.0, now)).await?;
    Ok(ApiResponse::no_content())
}

/// Loads one of the caller's characters.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn load(app: &AppData, caller: Caller, id: CharacterIdPath) -> Result<CharacterCard, ApiError> {
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.character(caller.0, id.0)?)).await?;
    found.ok_or_else(|| ApiError::not_found(CharacterIdPath::WHAT))
}
