//! Personas: who the user plays.

use serde_json::{Map, Value};

use super::Program;
use super::pictures::forget_unseen;
use crate::http::answer::{Answer, Nothing, Reply};
use crate::http::body::Body;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::form::Form;
use crate::http::query::{Pid, Query};
use crate::http::wire::cards::{ImportedPersonas, Persona, PersonaFields};
use crate::http::wire::{Page, PageQuery};
use crate::ids::PersonaId;
use crate::interop::persona::{self, PersonaError};
use crate::store::{Claim, PersonaCard, Tx};
use crate::transfer::{self, Report};

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

/// Keeps the personas of another program.
///
/// # Errors
/// The file has none.
pub async fn import(app: Program, caller: Caller, form: Form) -> Answer<ImportedPersonas> {
    if let Some(made) = Claim::made_before::<Vec<PersonaId>>() {
        let mut items = Vec::new();
        for id in made {
            items.push(load(&app, caller, Pid(id)).await?.into());
        }
        return Reply::created(&ImportedPersonas { items, report: Report::default().into() });
    }
    let sent = form.file(persona::LARGEST_FILE).await?;
    let (ids, now) = (app.ids.clone(), app.clock.now());
    let read = move || transfer::arriving_personas(&sent.bytes, sent.name.as_deref(), &ids, now);
    let (personas, report) = actix_web::web::block(read).await.map_err(ApiError::internal)??;
    let (kept, claim) = (personas.clone(), Claim::present());
    let write = move |tx: &mut Tx<'_>| {
        kept.iter().try_for_each(|persona| tx.put_persona(caller.0, persona))?;
        tx.act_for(claim.as_ref(), &kept.iter().map(|persona| persona.id).collect::<Vec<_>>())
    };
    app.store.write(write).await?;
    let items = personas.into_iter().map(Persona::from).collect();
    Reply::created(&ImportedPersonas { items, report: report.into() })
}

impl From<PersonaError> for ApiError {
    fn from(error: PersonaError) -> Self {
        Self::invalid("file", error.to_string()).hint(error.hint())
    }
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
