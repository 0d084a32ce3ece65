//! Presets of other programs: kept, listed, changed and taken along. No prompt is made with them yet.

use bytes::Bytes;
use futures_util::stream;
use serde_json::Value;

use super::Program;
use crate::http::answer::{Answer, File, FileHead, Nothing, Pieces, Reply};
use crate::http::body::Body;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{Query, Rid};
use crate::http::wire::presets::{NewPreset, Preset, PresetFields, PresetQuery};
use crate::http::wire::{Page, PageQuery};
use crate::ids::PresetId;
use crate::store::{self, Claim, Tx};
use crate::tree::preset::KINDS;

/// The caller's presets, oldest first, without their bodies.
///
/// # Errors
/// The page does not fit, or the kind is none.
pub async fn list(app: Program, caller: Caller, query: Query<PresetQuery>) -> Answer<Page<Preset>> {
    let (limit, skip) = query.0.page().bounds()?;
    let kind = query.0.kind;
    if kind.as_ref().is_some_and(|kind| !KINDS.contains(&kind.as_str())) {
        return Err(ApiError::invalid("kind", format!("one of these is expected: {}", KINDS.join(", "))));
    }
    let read = move |reader: &mut store::Reader<'_>| Ok(reader.presets(caller.0, kind.as_deref(), skip, limit + 1)?);
    let presets = app.store.read::<_, ApiError, _>(read).await?;
    Reply::ok(&PageQuery::page(presets.into_iter().map(Preset::from).collect(), limit, skip))
}

/// Keeps a new one.
///
/// # Errors
/// A field does not fit.
pub async fn create(app: Program, caller: Caller, body: Body<NewPreset>) -> Answer<Preset> {
    if let Some(made) = Claim::made_before() {
        return Reply::created(&Preset::from(load(&app, caller, Rid(made)).await?));
    }
    let (card, now) = (body.0.card()?, app.clock.now());
    let new = store::Preset { id: PresetId::new(app.ids.next(now)), card, created: now, updated: now };
    let (kept, claim) = (new.clone(), Claim::present());
    let write = move |tx: &mut Tx<'_>| {
        tx.put_preset(caller.0, &kept)?;
        tx.act_for(claim.as_ref(), &kept.id)
    };
    app.store.write(write).await?;
    Reply::created(&Preset::from(new))
}

/// One of the caller's, with all that it says.
///
/// # Errors
/// It is not there.
pub async fn read(app: Program, caller: Caller, id: Rid) -> Answer<Preset> {
    Reply::ok(&Preset::from(load(&app, caller, id).await?))
}

/// Changes the fields that the request names.
///
/// # Errors
/// It is not there, or a field does not fit.
pub async fn change(app: Program, caller: Caller, id: Rid, body: Body<PresetFields>) -> Answer<Preset> {
    let mut preset = load(&app, caller, id).await?;
    body.0.apply(&mut preset.card)?;
    preset.updated = app.clock.now();
    let kept = preset.clone();
    app.store.write(move |tx| tx.update_preset(caller.0, &kept)).await?;
    Reply::ok(&Preset::from(preset))
}

/// Moves one to the trash.
///
/// # Errors
/// It is not there.
pub async fn delete(app: Program, caller: Caller, id: Rid) -> Answer<Nothing> {
    let now = app.clock.now();
    app.store.write(move |tx| tx.trash_preset(caller.0, id.0, now)).await?;
    Ok(Reply::done())
}

/// One as the program that it came from reads it.
///
/// # Errors
/// It is not there.
pub async fn export(app: Program, caller: Caller, id: Rid) -> Answer<File> {
    let preset = load(&app, caller, id).await?;
    let name = preset.card.get("name").and_then(Value::as_str).unwrap_or_default();
    let bytes = serde_json::to_vec_pretty(&preset.card.get("body")).map_err(ApiError::internal)?;
    let pieces: Pieces = Box::pin(stream::iter([Ok(Bytes::from(bytes))]));
    Ok(Reply::file(FileHead::called(name, "json", "application/json"), pieces))
}

async fn load(app: &Program, caller: Caller, id: Rid) -> Result<store::Preset, ApiError> {
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.preset(caller.0, id.0)?)).await?;
    found.ok_or_else(|| ApiError::not_found(Rid::WHAT))
}
