//! Characters: who sessions are played with.

use serde_json::{Map, Value};

use super::Program;
use super::pictures::forget_unseen;
use crate::http::answer::{Answer, Nothing, Reply};
use crate::http::body::Body;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{Cid, Query};
use crate::http::wire::cards::{Character, CharacterFields};
use crate::http::wire::{Page, PageQuery};
use crate::ids::CharacterId;
use crate::store::{CharacterCard, Claim, Tx};

/// The caller's characters, oldest first.
///
/// # Errors
/// The page does not fit.
pub async fn list(app: Program, caller: Caller, query: Query<PageQuery>) -> Answer<Page<Character>> {
    let (limit, skip) = query.0.bounds()?;
    let cards =
        app.store.read::<_, ApiError, _>(move |reader| Ok(reader.characters(caller.0, skip, limit + 1)?)).await?;
    Reply::ok(&PageQuery::page(cards.into_iter().map(Character::brief).collect(), limit, skip))
}

/// Keeps a new one.
///
/// # Errors
/// A field does not fit.
pub async fn create(app: Program, caller: Caller, body: Body<CharacterFields>) -> Answer<Character> {
    if let Some(made) = Claim::made_before() {
        return Reply::created(&Character::from(load(&app, caller, Cid(made)).await?));
    }
    let mut card = Map::new();
    owns_lorebook(&app, caller, &body.0).await?;
    body.0.apply(&mut card)?;
    let now = app.clock.now();
    let new = CharacterCard { id: CharacterId::new(app.ids.next(now)), card, created: now, updated: now };
    let kept = new.clone();
    let claim = Claim::present();
    let write = move |tx: &mut Tx<'_>| {
        tx.put_character(caller.0, &kept)?;
        tx.act_for(claim.as_ref(), &kept.id)
    };
    app.store.write(write).await?;
    Reply::created(&Character::from(new))
}

/// One of the caller's.
///
/// # Errors
/// It is not there.
pub async fn read(app: Program, caller: Caller, id: Cid) -> Answer<Character> {
    Reply::ok(&Character::from(load(&app, caller, id).await?))
}

/// Changes the fields that the request names.
///
/// # Errors
/// It is not there, or a field does not fit.
pub async fn change(app: Program, caller: Caller, id: Cid, body: Body<CharacterFields>) -> Answer<Character> {
    let mut card = load(&app, caller, id).await?;
    owns_lorebook(&app, caller, &body.0).await?;
    body.0.apply(&mut card.card)?;
    card.updated = app.clock.now();
    let kept = card.clone();
    let write = move |tx: &mut Tx<'_>| {
        tx.update_character(caller.0, &kept)?;
        forget_unseen(tx, "characters", id.0.uuid(), kept.card.get("avatar").and_then(Value::as_str))
    };
    app.store.write(write).await?;
    Reply::ok(&Character::from(card))
}

/// Whether the lorebook that a character is to have is the caller's.
async fn owns_lorebook(app: &Program, caller: Caller, fields: &CharacterFields) -> Result<(), ApiError> {
    let Some(Some(id)) = fields.lorebook_id else { return Ok(()) };
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.lorebook(caller.0, id.0)?)).await?;
    let missing = || ApiError::not_found("the lorebook").detail("field", "lorebookId");
    found.map(|_| ()).ok_or_else(missing)
}

/// Moves one to the trash; sessions that play it keep their version.
///
/// # Errors
/// It is not there.
pub async fn delete(app: Program, caller: Caller, id: Cid) -> Answer<Nothing> {
    let now = app.clock.now();
    app.store.write(move |tx| tx.trash_character(caller.0, id.0, now)).await?;
    Ok(Reply::done())
}

/// One of the caller's.
///
/// # Errors
/// It is not there.
pub async fn load(app: &Program, caller: Caller, id: Cid) -> Result<CharacterCard, ApiError> {
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.character(caller.0, id.0)?)).await?;
    found.ok_or_else(|| ApiError::not_found(Cid::WHAT))
}
