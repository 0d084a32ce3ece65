//! Presets: kept, listed, changed in whole or in parts, copied and taken along.

use actix_web::web;
use bytes::Bytes;
use futures_util::stream;
use serde_json::{Map, Value};

use super::Program;
use crate::clock::Time;
use crate::http::answer::{Answer, File, FileHead, Nothing, Pieces, Reply};
use crate::http::body::Body;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::form::Form;
use crate::http::query::{Query, Rid};
use crate::http::wire::presets::{
    Beginning, ImportedPresets, NewPreset, Preset, PresetFields, PresetImportQuery, PresetQuery, new_card,
};
use crate::http::wire::{Page, PageQuery};
use crate::ids::PresetId;
use crate::interop::preset::PresetError;
use crate::prompt::preset::Preset as Own;
use crate::store::{self, Claim, Tx};
use crate::transfer::{self, PresetNotKept, Report};
use crate::tree::preset::{KINDS, LARGEST};

/// The caller's presets, oldest first, without their bodies.
///
/// # Errors
/// The page does not fit, or the kind is none.
pub async fn list(app: Program, caller: Caller, query: Query<PresetQuery>) -> Answer<Page<Preset>> {
    let (limit, skip) = query.0.page().bounds()?;
    let kind = known(query.0.kind)?;
    let read = move |reader: &mut store::Reader<'_>| Ok(reader.presets(caller.0, kind.as_deref(), skip, limit + 1)?);
    let presets = app.store.read::<_, ApiError, _>(read).await?;
    Reply::ok(&PageQuery::page(presets.into_iter().map(Preset::from).collect(), limit, skip))
}

/// A kind, if it is one.
fn known(kind: Option<String>) -> Result<Option<String>, ApiError> {
    if kind.as_ref().is_some_and(|kind| !KINDS.contains(&kind.as_str())) {
        return Err(ApiError::invalid("kind", format!("one of these is expected: {}", KINDS.join(", "))));
    }
    Ok(kind)
}

/// Keeps a new one.
///
/// # Errors
/// A field does not fit.
pub async fn create(app: Program, caller: Caller, body: Body<NewPreset>) -> Answer<Preset> {
    if let Some(made) = Claim::made_before() {
        return Reply::created(&Preset::from(load(&app, caller, Rid(made)).await?));
    }
    let (name, beginning) = body.0.beginning()?;
    let (kind, said) = match beginning {
        Beginning::Said(kind, said) => (kind, said),
        Beginning::Own => (OPENAI.to_owned(), Own::own().body()),
        Beginning::Copy(id) => copied(load(&app, caller, Rid(id.0)).await?),
    };
    let (card, now) = (new_card(kind, &name, said)?, app.clock.now());
    let new = store::Preset { id: PresetId::new(app.ids.next(now)), card, created: now, updated: now };
    let (kept, claim) = (new.clone(), Claim::present());
    let write = move |tx: &mut Tx<'_>| {
        tx.put_preset(caller.0, &kept)?;
        tx.act_for(claim.as_ref(), &kept.id)
    };
    app.store.write(write).await?;
    Reply::created(&Preset::from(new))
}

/// The kind of presets that make prompts.
const OPENAI: &str = "openai";

fn copied(mut preset: store::Preset) -> (String, Map<String, Value>) {
    let kind = preset.card.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let body = preset.card.shift_remove("body");
    (kind, if let Some(Value::Object(body)) = body { body } else { Map::new() })
}

/// Keeps the presets of a file of another program. What is here already, to the letter, does not come twice.
///
/// # Errors
/// The file has none, or more than may be; or nothing says what kind they are of.
pub async fn import(
    app: Program,
    caller: Caller,
    query: Query<PresetImportQuery>,
    form: Form,
) -> Answer<ImportedPresets> {
    let kind = known(query.0.kind)?;
    if let Some(made) = Claim::made_before::<Vec<PresetId>>() {
        return Reply::created(&ImportedPresets {
            items: load_all(&app, caller, made).await?,
            report: Report::default().into(),
        });
    }
    let sent = form.file(LARGEST).await?;
    let (ids, now) = (app.ids.clone(), app.clock.now());
    let read = move || transfer::arriving_presets(&sent.bytes, sent.name.as_deref(), kind.as_deref(), &ids, now);
    let (presets, mut report) = web::block(read).await.map_err(ApiError::internal)??;
    let claim = Claim::present();
    let write = move |tx: &mut Tx<'_>| {
        let keep = |preset: &store::Preset| tx.put_preset_once(caller.0, preset);
        let kept = presets.iter().map(keep).collect::<Result<Vec<_>, _>>()?;
        tx.act_for(claim.as_ref(), &kept)?;
        Ok(kept)
    };
    let kept = app.store.write(write).await?;
    for (item, id) in report.items.iter_mut().zip(&kept) {
        item.id = Some(id.to_string());
    }
    Reply::created(&ImportedPresets { items: load_all(&app, caller, kept).await?, report: report.into() })
}

async fn load_all(app: &Program, caller: Caller, ids: Vec<PresetId>) -> Result<Vec<Preset>, ApiError> {
    let mut items = Vec::new();
    for id in ids {
        items.push(load(app, caller, Rid(id)).await?.into());
    }
    Ok(items)
}

impl From<PresetNotKept> for ApiError {
    fn from(error: PresetNotKept) -> Self {
        match error {
            PresetNotKept::NoPreset(PresetError::NoKind) => {
                Self::invalid("kind", PresetError::NoKind.to_string()).hint(PresetError::NoKind.hint())
            }
            PresetNotKept::NoPreset(error) => Self::invalid("file", error.to_string()).hint(error.hint()),
            PresetNotKept::Unfit(unfit) => unfit.into(),
        }
    }
}

/// One of the caller's, with all that it says.
///
/// # Errors
/// It is not there.
pub async fn read(app: Program, caller: Caller, id: Rid) -> Answer<Preset> {
    Reply::ok(&Preset::from(load(&app, caller, id).await?))
}

/// Changes what the request names, and nothing else. What somebody else changes meanwhile stays; what was changed of what the
/// caller saw there is told.
///
/// # Errors
/// It is not there, a field does not fit, or somebody else changed it meanwhile.
pub async fn change(app: Program, caller: Caller, id: Rid, body: Body<PresetFields>) -> Answer<Preset> {
    loop {
        let mut preset = load(&app, caller, id).await?;
        let seen = preset.updated;
        body.0.apply(&mut preset.card)?;
        preset.updated = app.clock.now().max(Time(seen.0 + 1));
        let kept = preset.clone();
        if app.store.write(move |tx| tx.swap_preset(caller.0, seen, &kept)).await? {
            return Reply::ok(&Preset::from(preset));
        }
    }
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
