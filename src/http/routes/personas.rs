//! Personas: who the user plays.

use serde_json::{Map, Value};

use super::Program;
use super::pictures::forget_unseen;
use crate::http::answer::{Answer, Nothing, Reply};
use crate::http::body::Body;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{Pid, Query};
use crate::http::wire::cards::{Persona, PersonaFields};
use crate::http::wire::{Page, PageQuery};
use crate::ids::PersonaId;
use crate::store::{Claim, PersonaCard, Tx};

/// The caller's personas, oldest first.
///
/// # Errors
/// The page does not fit.
pub async fn list(app: Program, caller: Caller, query: Query<PageQuery>) -> Answer<Page<Persona>> {
    let (limit, skip) = query.0.bounds()?;
    let cards = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.personas(caller.0, skip, limit + 1)?)).await?;
    Reply::ok(&PageQuery::page(cards.into_iter().map(Persona::from).collect(), limit, skip))
}

/// Keeps a new one.
///
/// # Errors
/// A field does not fit.
pub async fn create(app: Program, caller: Caller, body: Body<PersonaFields>) -> Answer<Persona> {
    if let Some(made) = Claim::made_before() {
        return Reply::created(&Persona::from(load(&app, caller, Pid(made)).await?));
    }
    let mut card = Map::new();
    body.0.apply(&mut card)?;
    let now = app.clock.now();
    let new = PersonaCard { id: PersonaId::new(app.ids.next(now)), card, created: now, updated: now };
    let kept = new.clone();
    let claim = Claim::present();
    let write = move |tx: &mut Tx<'_>| {
        tx.put_persona(caller.0, &kept)?;
        tx.act_for(claim.as_ref(), &kept.id)
    };
    app.store.write(write).await?;
    Reply::created(&Persona::from(new))
}

/// One of the caller's.
///
/// # Errors
/// It is not there.
pub async fn read(app: Program, caller: Caller, id: Pid) -> Answer<Persona> {
    Reply::ok(&Persona::from(load(&app, caller, id).await?))
}

/// Changes the fields that the request names.
///
/// # Errors
/// It is not there, or a field does not fit.
pub async fn change(app: Program, caller: Caller, id: Pid, body: Body<PersonaFields>) -> Answer<Persona> {
    let mut card = load(&app, caller, id).await?;
    body.0.apply(&mut card.card)?;
    card.updated = app.clock.now();
    let kept = card.clone();
    let write = move |tx: &mut Tx<'_>| {
        tx.update_persona(caller.0, &kept)?;
        forget_unseen(tx, "personas", id.0.uuid(), kept.card.get("avatar").and_then(Value::as_str))
    };
    app.store.write(write).await?;
    Reply::ok(&Persona::from(card))
}

/// Moves one to the trash; sessions that play it keep their version.
///
/// # Errors
/// It is not there.
pub async fn delete(app: Program, caller: Caller, id: Pid) -> Answer<Nothing> {
    let now = app.clock.now();
    app.store.write(move |tx| tx.trash_persona(caller.0, id.0, now)).await?;
    Ok(Reply::done())
}

/// One of the caller's.
///
/// # Errors
/// It is not there.
pub async fn load(app: &Program, caller: Caller, id: Pid) -> Result<PersonaCard, ApiError> {
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.persona(caller.0, id.0)?)).await?;
    found.ok_or_else(|| ApiError::not_found(Pid::WHAT))
}
