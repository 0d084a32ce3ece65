//! Characters that sessions are played with.

use serde_json::{Map, Value};

use super::AppData;
use super::avatar_files::delete_replaced;
use super::script_consent;
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{CharacterIdPath, QueryParams};
use crate::http::response::{ApiResponse, ApiResult, NoContent};
use crate::http::wire::cards::{CharacterFields, CharacterResponse};
use crate::http::wire::{PageQuery, PageResponse};
use clotho_core::ids::CharacterId;
use clotho_store::{CardVersionOrigin, CharacterCard, IdempotencyClaim, StoreReader, Tx, card_scripts};

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
    let read = move |reader: &mut StoreReader<'_>| {
        let mut items = Vec::new();
        for card in reader.characters(caller.0, skip, limit + 1)? {
            let consent = reader.script_consent(caller.0, card_scripts(&card.card))?;
            items.push(CharacterResponse::without_texts(card, consent));
        }
        Ok::<_, ApiError>(items)
    };
    ApiResponse::ok(&PageQuery::page(app.store.read(read).await?, limit, skip))
}

/// Creates a character.
///
/// # Errors
/// Returns an error if a field is invalid.
pub async fn create(app: AppData, caller: Caller, body: JsonBody<CharacterFields>) -> ApiResult<CharacterResponse> {
    if let Some(previous) = IdempotencyClaim::previous_result() {
        let character = load(&app, caller, CharacterIdPath(previous)).await?;
        return ApiResponse::created(&response(&app, caller, character).await?);
    }
    let mut card = Map::new();
    check_lorebook_owner(&app, caller, &body.0).await?;
    let answer = body.0.script_answer();
    body.0.apply(&mut card)?;
    let now = app.clock.now();
    let new = CharacterCard { id: CharacterId::new(app.ids.next_id(now)), card, created: now, updated: now };
    let stored = new.clone();
    let claim = IdempotencyClaim::current();
    let write = move |tx: &mut Tx<'_>| {
        tx.put_character(caller.0, &stored)?;
        script_consent::write_change(tx, caller, None, card_scripts(&stored.card), answer)?;
        tx.record_claim(claim.as_ref(), &stored.id)
    };
    app.store.write(write).await?;
    ApiResponse::created(&response(&app, caller, new).await?)
}

/// Returns one of the caller's characters.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn read(app: AppData, caller: Caller, id: CharacterIdPath) -> ApiResult<CharacterResponse> {
    let character = load(&app, caller, id).await?;
    ApiResponse::ok(&response(&app, caller, character).await?)
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
    let (before, answer) = (card_scripts(&card.card).cloned(), body.0.script_answer());
    body.0.apply(&mut card.card)?;
    card.updated = app.clock.now();
    let stored = card.clone();
    let write = move |tx: &mut Tx<'_>| {
        tx.save_card_version(caller.0, &stored, CardVersionOrigin::Edited)?;
        script_consent::write_change(tx, caller, before.as_ref(), card_scripts(&stored.card), answer)?;
        delete_replaced(tx, "characters", id.0.uuid(), stored.card.get("avatar").and_then(Value::as_str))
    };
    app.store.write(write).await?;
    ApiResponse::ok(&response(&app, caller, card).await?)
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

/// Returns the response for one of the caller's characters.
///
/// # Errors
/// Returns an error if the database fails.
pub async fn response(app: &AppData, caller: Caller, card: CharacterCard) -> Result<CharacterResponse, ApiError> {
    let consent = script_consent::read(app, caller, card_scripts(&card.card).cloned()).await?;
    Ok(CharacterResponse::new(card, consent))
}

/// Loads one of the caller's characters.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn load(app: &AppData, caller: Caller, id: CharacterIdPath) -> Result<CharacterCard, ApiError> {
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.character(caller.0, id.0)?)).await?;
    found.ok_or_else(|| ApiError::not_found(CharacterIdPath::WHAT))
}
