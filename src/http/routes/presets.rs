//! Presets: create, list, change in whole or in part, copy, import and export.

use actix_web::web;
use bytes::Bytes;
use futures_util::stream;
use serde_json::{Map, Value};

use super::AppData;
use super::script_consent;
use crate::app::App;
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{PresetIdPath, QueryParams};
use crate::http::response::{ApiResponse, ApiResult, FileResponse, FileResponseHead, NoContent, ResponseChunks};
use crate::http::upload_form::UploadForm;
use crate::http::wire::presets::{
    CreatePresetRequest, NewPresetSource, PresetImportQuery, PresetQuery, PresetResponse, PresetsImportResponse,
    UpdatePresetRequest, new_card,
};
use crate::http::wire::{PageQuery, PageResponse};
use clotho_compat::interop::preset::PresetImportError;
use clotho_compat::prompt::preset::Preset as Own;
use clotho_core::clock::Time;
use clotho_core::ids::PresetId;
use clotho_core::tree::preset::{KINDS, MAX_BYTES};
use clotho_engine::transfer::{self, ForeignImportReport, PresetRejection};
use clotho_engine::turn;
use clotho_store::{self as store, IdempotencyClaim, Tx, preset_scripts};

/// Lists the caller's presets, oldest first, without their bodies.
///
/// # Errors
/// Returns an error if the page parameters or the kind are invalid.
pub async fn list(
    app: AppData,
    caller: Caller,
    query: QueryParams<PresetQuery>,
) -> ApiResult<PageResponse<PresetResponse>> {
    let (limit, skip) = query.0.page().limit_and_offset()?;
    let kind = check_kind(query.0.kind)?;
    let read = move |reader: &mut store::StoreReader<'_>| {
        let heads = reader.presets(caller.0, kind.as_deref(), skip, limit + 1)?;
        let consents = reader.listed_script_consents(caller.0, &heads)?;
        Ok(heads.into_iter().zip(consents).collect::<Vec<_>>())
    };
    let presets = app.store.read::<_, ApiError, _>(read).await?;
    let items = presets.into_iter().map(|(head, consent)| PresetResponse::in_list(head, consent)).collect();
    ApiResponse::ok(&PageQuery::page(items, limit, skip))
}

/// Checks that a kind is known.
fn check_kind(kind: Option<String>) -> Result<Option<String>, ApiError> {
    if kind.as_ref().is_some_and(|kind| !KINDS.contains(&kind.as_str())) {
        return Err(ApiError::invalid("kind", format!("expected one of {}", KINDS.join(", "))));
    }
    Ok(kind)
}

/// Creates a preset.
///
/// # Errors
/// Returns an error if a field is invalid.
pub async fn create(app: AppData, caller: Caller, body: JsonBody<CreatePresetRequest>) -> ApiResult<PresetResponse> {
    if let Some(previous) = IdempotencyClaim::previous_result() {
        let preset = load(&app, caller, PresetIdPath(previous)).await?;
        return ApiResponse::created(&response(&app, caller, preset).await?);
    }
    let (name, beginning) = body.0.name_and_source()?;
    let (kind, source) = match beginning {
        NewPresetSource::Said(kind, source) => (kind, source),
        NewPresetSource::Own => (OPENAI_KIND.to_owned(), Own::built_in().to_json()),
        NewPresetSource::Copy(id) => copy_contents(load(&app, caller, PresetIdPath(id.0)).await?),
    };
    let (card, now) = (new_card(kind, &name, source)?, app.clock.now());
    let new = store::StoredPreset { id: PresetId::new(app.ids.next_id(now)), card, created: now, updated: now };
    let (stored, claim) = (new.clone(), IdempotencyClaim::current());
    let write = move |tx: &mut Tx<'_>| {
        tx.put_preset(caller.0, &stored)?;
        tx.record_claim(claim.as_ref(), &stored.id)
    };
    app.store.write(write).await?;
    ApiResponse::created(&response(&app, caller, new).await?)
}

/// Kind of presets that build prompts.
const OPENAI_KIND: &str = "openai";

fn copy_contents(mut preset: store::StoredPreset) -> (String, Map<String, Value>) {
    let kind = preset.card.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let body = preset.card.shift_remove("body");
    (kind, if let Some(Value::Object(body)) = body { body } else { Map::new() })
}

/// Imports the presets of a file. Presets that already exist with identical content are not duplicated.
///
/// # Errors
/// Returns an error if the file has none or too many, or their kind is unknown.
pub async fn import(
    app: AppData,
    caller: Caller,
    query: QueryParams<PresetImportQuery>,
    form: UploadForm,
) -> ApiResult<PresetsImportResponse> {
    let (kind, is_trusted) = (check_kind(query.0.kind)?, query.0.trust.unwrap_or(false));
    if let Some(previous) = IdempotencyClaim::previous_result::<Vec<PresetId>>() {
        return ApiResponse::created(&PresetsImportResponse {
            items: load_all(&app, caller, previous).await?,
            report: ForeignImportReport::default().into(),
        });
    }
    let sent = form.file(MAX_BYTES).await?;
    let (ids, now) = (app.ids.clone(), app.clock.now());
    let read = move || transfer::read_presets(&sent.bytes, sent.name.as_deref(), kind.as_deref(), &ids, now);
    let (presets, mut report) = web::block(read).await.map_err(ApiError::internal)??;
    let claim = IdempotencyClaim::current();
    let write = move |tx: &mut Tx<'_>| {
        let keep = |preset: &store::StoredPreset| {
            let id = tx.put_preset_if_new(caller.0, preset)?;
            // An identical preset that the caller has already asks for nothing new.
            if id == preset.id || is_trusted {
                transfer::put_preset_consent(tx, caller.0, preset, None, is_trusted)?;
            }
            Ok::<_, store::WriteError>(id)
        };
        let stored = presets.iter().map(keep).collect::<Result<Vec<_>, _>>()?;
        tx.record_claim(claim.as_ref(), &stored)?;
        Ok(stored)
    };
    let stored = app.store.write(write).await?;
    for (item, id) in report.items.iter_mut().zip(&stored) {
        item.id = Some(id.to_string());
    }
    ApiResponse::created(&PresetsImportResponse { items: load_all(&app, caller, stored).await?, report: report.into() })
}

async fn load_all(app: &AppData, caller: Caller, ids: Vec<PresetId>) -> Result<Vec<PresetResponse>, ApiError> {
    let mut items = Vec::new();
    for id in ids {
        let preset = load(app, caller, PresetIdPath(id)).await?;
        items.push(response(app, caller, preset).await?);
    }
    Ok(items)
}

impl From<PresetRejection> for ApiError {
    fn from(error: PresetRejection) -> Self {
        match error {
            PresetRejection::NoPreset(error) => {
                let (field, reason) = match &error {
                    PresetImportError::NoKind => ("kind", "preset_without_kind"),
                    PresetImportError::NoPreset => ("file", "not_a_preset"),
                    PresetImportError::NotJson(_) => ("file", "preset_not_json"),
                };
                let refusal = Self::invalid(field, error.to_string()).hint(error.hint()).detail("reason", reason);
                match error {
                    PresetImportError::NotJson(error) => refusal.detail("error", error),
                    _ => refusal,
                }
            }
            PresetRejection::Unfit(unfit) => unfit.into(),
        }
    }
}

/// Returns one of the caller's presets with its body.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn read(app: AppData, caller: Caller, id: PresetIdPath) -> ApiResult<PresetResponse> {
    let preset = load(&app, caller, id).await?;
    ApiResponse::ok(&response(&app, caller, preset).await?)
}

/// Changes only what the request names, so that concurrent changes of other clients are kept. A conflict with the
/// values that the caller saw is reported.
///
/// # Errors
/// Returns an error if the preset does not exist, a field is invalid, or the preset was changed meanwhile.
pub async fn update(
    app: AppData,
    caller: Caller,
    id: PresetIdPath,
    body: JsonBody<UpdatePresetRequest>,
) -> ApiResult<PresetResponse> {
    loop {
        let mut preset = load(&app, caller, id).await?;
        let (seen, before) = (preset.updated, preset_scripts(&preset.card));
        let answer = body.0.script_answer();
        body.0.apply(&mut preset.card)?;
        preset.updated = app.clock.now().max(Time(seen.0 + 1));
        let stored = preset.clone();
        let write = move |tx: &mut Tx<'_>| {
            let is_swapped = tx.swap_preset(caller.0, seen, &stored)?;
            if is_swapped {
                let after = preset_scripts(&stored.card);
                script_consent::write_change(tx, caller, before.as_ref(), after.as_ref(), answer)?;
            }
            Ok::<_, store::WriteError>(is_swapped)
        };
        if app.store.write(write).await? {
            return ApiResponse::ok(&response(&app, caller, preset).await?);
        }
    }
}

/// Moves a preset to the trash.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn delete(app: AppData, caller: Caller, id: PresetIdPath) -> ApiResult<NoContent> {
    let now = app.clock.now();
    app.store.write(move |tx| tx.trash_preset(caller.0, id.0, now)).await?;
    Ok(ApiResponse::no_content())
}

/// Exports a preset for the program that it came from.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn export(app: AppData, caller: Caller, id: PresetIdPath) -> ApiResult<FileResponse> {
    let preset = load(&app, caller, id).await?;
    let name = preset.card.get("name").and_then(Value::as_str).unwrap_or_default();
    let bytes = serde_json::to_vec_pretty(&preset.card.get("body")).map_err(ApiError::internal)?;
    let pieces: ResponseChunks = Box::pin(stream::iter([Ok(Bytes::from(bytes))]));
    Ok(ApiResponse::file(FileResponseHead::from_title(name, "json", "application/json"), pieces))
}

/// Returns the response for one of the caller's presets, with its body.
async fn response(app: &AppData, caller: Caller, preset: store::StoredPreset) -> Result<PresetResponse, ApiError> {
    let consent = script_consent::read(app, caller, preset_scripts(&preset.card)).await?;
    Ok(PresetResponse::new(preset, consent))
}

async fn load(app: &AppData, caller: Caller, id: PresetIdPath) -> Result<store::StoredPreset, ApiError> {
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.preset(caller.0, id.0)?)).await?;
    found.ok_or_else(|| ApiError::not_found(PresetIdPath::WHAT))
}

/// Checks that a preset of the caller can build prompts.
pub(super) async fn check_preset_usable(app: &App, caller: Caller, id: PresetId) -> Result<(), ApiError> {
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.preset(caller.0, id)?)).await?;
    let preset = found.ok_or_else(|| ApiError::not_found(PresetIdPath::WHAT))?;
    let readable = turn::parse_preset(&preset).ok_or_else(|| {
        ApiError::invalid("presetId", "expected a preset of the kind \"openai\": others have no prompts")
    })?;
    readable.map(|_| ()).map_err(|error| ApiError::invalid("presetId", error.to_string()))
}
