//! Versions of a character's card, and the use of one in a session.

use super::characters::{load, response};
use super::{AppData, script_consent};
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{CardVersionPath, CharacterIdPath, QueryParams, SessionIdPath};
use crate::http::response::{ApiResponse, ApiResult};
use crate::http::wire::card_versions::{CardVersionResponse, CardVersionSummaryResponse, UseCardVersionRequest};
use crate::http::wire::cards::CharacterResponse;
use crate::http::wire::script_consent::ScriptAnswer;
use crate::http::wire::sessions::SessionResponse;
use crate::http::wire::{PageQuery, PageResponse};
use clotho_core::tree::card::validate_card;
use clotho_queries::sessions::read_session;
use clotho_store::{Actor, CardVersion, CardVersionOrigin, Tx, card_scripts};

/// Lists the versions of a character's card, newest first.
///
/// # Errors
/// Returns an error if the character does not exist or the page parameters are invalid.
pub async fn list(
    app: AppData,
    caller: Caller,
    id: CharacterIdPath,
    query: QueryParams<PageQuery>,
) -> ApiResult<PageResponse<CardVersionSummaryResponse>> {
    let (limit, skip) = query.0.limit_and_offset()?;
    let read =
        app.store.read::<_, ApiError, _>(move |reader| Ok(reader.card_versions(caller.0, id.0, skip, limit + 1)?));
    let found = read.await?.ok_or_else(|| ApiError::not_found(CharacterIdPath::WHAT))?;
    let found = found.into_iter().map(CardVersionSummaryResponse::from).collect();
    ApiResponse::ok(&PageQuery::page(found, limit, skip))
}

/// Returns one version of a character's card.
///
/// # Errors
/// Returns an error if the character or the version does not exist.
pub async fn read(
    app: AppData,
    caller: Caller,
    id: CharacterIdPath,
    number: CardVersionPath,
) -> ApiResult<CardVersionResponse> {
    let present = load(&app, caller, id).await?;
    let version = load_version(&app, caller, id, number).await?;
    let consent = script_consent::read(&app, caller, card_scripts(&version.card).cloned()).await?;
    ApiResponse::ok(&CardVersionResponse::new(version, present, consent))
}

/// Makes an older version the present card of the character, as a new version.
///
/// # Errors
/// Returns an error if the character or the version does not exist.
pub async fn restore(
    app: AppData,
    caller: Caller,
    id: CharacterIdPath,
    number: CardVersionPath,
) -> ApiResult<CharacterResponse> {
    let mut character = load(&app, caller, id).await?;
    let version = load_version(&app, caller, id, number).await?;
    let before = card_scripts(&character.card).cloned();
    character.card = version.restored(&character.card);
    validate_card(&character.card)?;
    character.updated = app.clock.now();
    let stored = character.clone();
    let write = move |tx: &mut Tx<'_>| {
        tx.save_card_version(caller.0, &stored, CardVersionOrigin::Restored)?;
        let answer = ScriptAnswer { is_allowed: None, ends_question: false };
        script_consent::write_change(tx, caller, before.as_ref(), card_scripts(&stored.card), answer)
    };
    app.store.write(write).await?;
    ApiResponse::ok(&response(&app, caller, character).await?)
}

/// Lets a session use a version of one of its characters. Its history stays; prompts use the version from now on.
///
/// # Errors
/// Returns an error if the session, the character or the version does not exist.
pub async fn use_version(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    body: JsonBody<UseCardVersionRequest>,
) -> ApiResult<SessionResponse> {
    let UseCardVersionRequest { character_id, version } = body.0;
    let actor = Actor { user: caller.0, at: app.clock.now(), expected_leaf: None };
    app.store.write(move |tx| tx.use_card_version(&actor, sid.0, character_id.0, version)).await?;
    let session = app.store.read_inline(move |reader| read_session(reader, caller.0, sid.0)).await?;
    ApiResponse::ok(&session.into())
}

async fn load_version(
    app: &AppData,
    caller: Caller,
    id: CharacterIdPath,
    number: CardVersionPath,
) -> Result<CardVersion, ApiError> {
    let read = move |reader: &mut clotho_store::StoreReader<'_>| Ok(reader.card_version(caller.0, id.0, number.0)?);
    let found = app.store.read::<_, ApiError, _>(read).await?;
    found.ok_or_else(|| ApiError::not_found(CardVersionPath::WHAT))
}
