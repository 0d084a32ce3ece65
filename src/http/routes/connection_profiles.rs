//! Connection profiles: list, create, change and delete, and what a session takes over from one.

use super::AppData;
use super::presets::check_preset_usable;
use crate::app::App;
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{ConnectionProfileIdPath, QueryParams};
use crate::http::response::{ApiResponse, ApiResult, NoContent};
use crate::http::wire::connection_profiles::{
    ConnectionProfileResponse, CreateConnectionProfileRequest, UpdateConnectionProfileRequest,
};
use crate::http::wire::{PageQuery, PageResponse};
use clotho_core::coded_message::RenderedMessage;
use clotho_core::ids::ConnectionProfileId;
use clotho_core::tree::ConnectionSettings;
use clotho_engine::turn;
use clotho_store::{ConnectionProfile, IdempotencyClaim, StoreReader, Tx};

/// Lists the caller's connection profiles by name.
///
/// # Errors
/// Returns an error if the page parameters are invalid.
pub async fn list(
    app: AppData,
    caller: Caller,
    query: QueryParams<PageQuery>,
) -> ApiResult<PageResponse<ConnectionProfileResponse>> {
    let (limit, skip) = query.0.limit_and_offset()?;
    let read = move |reader: &mut StoreReader<'_>| Ok(reader.connection_profiles(caller.0, skip, limit + 1)?);
    let profiles = app.store.read::<_, ApiError, _>(read).await?;
    let profiles = profiles.into_iter().map(|profile| ConnectionProfileResponse::new(profile, Vec::new()));
    ApiResponse::ok(&PageQuery::page(profiles.collect(), limit, skip))
}

/// Creates a connection profile.
///
/// # Errors
/// Returns an error if a field is invalid, the name is taken, or something it names does not exist.
pub async fn create(
    app: AppData,
    caller: Caller,
    body: JsonBody<CreateConnectionProfileRequest>,
) -> ApiResult<ConnectionProfileResponse> {
    if let Some(previous) = IdempotencyClaim::previous_result() {
        let profile = load_profile(&app, caller, previous).await?;
        return ApiResponse::created(&ConnectionProfileResponse::new(profile, Vec::new()));
    }
    let (name, settings) = body.0.name_and_settings()?;
    check_settings(&app, caller, &settings).await?;
    let problems = model_problems(&app, &settings);
    let now = app.clock.now();
    let id = ConnectionProfileId::new(app.ids.next_id(now));
    let new = ConnectionProfile { id, name, settings, created: now, updated: now };
    let (stored, claim) = (new.clone(), IdempotencyClaim::current());
    let write = move |tx: &mut Tx<'_>| {
        tx.put_connection_profile(caller.0, &stored)?;
        tx.record_claim(claim.as_ref(), &stored.id)
    };
    app.store.write(write).await?;
    ApiResponse::created(&ConnectionProfileResponse::new(new, problems))
}

/// Returns one connection profile.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn read(app: AppData, caller: Caller, id: ConnectionProfileIdPath) -> ApiResult<ConnectionProfileResponse> {
    ApiResponse::ok(&ConnectionProfileResponse::new(load_profile(&app, caller, id.0).await?, Vec::new()))
}

/// Changes the fields that the request names. Sessions that have chosen the profile keep their settings.
///
/// # Errors
/// Returns an error if the profile does not exist, a field is invalid, or the name is taken.
pub async fn update(
    app: AppData,
    caller: Caller,
    id: ConnectionProfileIdPath,
    body: JsonBody<UpdateConnectionProfileRequest>,
) -> ApiResult<ConnectionProfileResponse> {
    let change = body.0;
    change.check()?;
    load_profile(&app, caller, id.0).await?;
    let named = change.named_settings();
    check_settings(&app, caller, &named).await?;
    let problems = model_problems(&app, &named);
    let now = app.clock.now();
    let write = move |tx: &mut Tx<'_>| {
        let mut profile = tx.connection_profile(caller.0, id.0)?;
        change.apply(&mut profile);
        profile.updated = now;
        tx.update_connection_profile(caller.0, &profile)?;
        Ok(profile)
    };
    let profile = app.store.write(write).await?;
    ApiResponse::ok(&ConnectionProfileResponse::new(profile, problems))
}

/// Deletes a connection profile permanently. Sessions that have chosen it keep their settings.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn delete(app: AppData, caller: Caller, id: ConnectionProfileIdPath) -> ApiResult<NoContent> {
    app.store.write(move |tx| tx.delete_connection_profile(caller.0, id.0)).await?;
    Ok(ApiResponse::no_content())
}

async fn load_profile(app: &App, caller: Caller, id: ConnectionProfileId) -> Result<ConnectionProfile, ApiError> {
    let read = move |reader: &mut StoreReader<'_>| Ok(reader.connection_profiles_by_id(caller.0, &[id])?);
    let found = app.store.read_inline::<_, ApiError, _>(read).await?;
    found.into_iter().next().ok_or_else(|| ApiError::not_found(ConnectionProfileIdPath::WHAT))
}

/// Returns the profile that a session is to take over.
///
/// # Errors
/// Returns an error if it does not exist, or names a model that this server does not have any more.
pub(super) async fn load_usable_profile(
    app: &App,
    caller: Caller,
    id: ConnectionProfileId,
) -> Result<ConnectionProfile, ApiError> {
    let profile = load_profile(app, caller, id).await.map_err(|error| error.detail("field", "profileId"))?;
    check_profile_models(app, &profile.settings).map_err(|(_, reason)| {
        let message = format!("the connection profile \"{}\" cannot be used: {reason}", profile.name);
        ApiError::invalid("profileId", message)
            .hint("choose other models in the profile, or connect their server again")
    })?;
    Ok(profile)
}

/// Checks that models and preset of a profile exist.
async fn check_settings(app: &App, caller: Caller, settings: &ConnectionSettings) -> Result<(), ApiError> {
    check_profile_models(app, settings).map_err(|(field, reason)| ApiError::invalid(field, reason))?;
    match settings.preset {
        Some(id) => check_preset_usable(app, caller, id).await,
        None => Ok(()),
    }
}

/// Checks that the models exist. Returns the field of the first one that does not, and the reason.
fn check_profile_models(app: &App, settings: &ConnectionSettings) -> Result<(), (&'static str, String)> {
    if let Some(model) = &settings.model {
        app.models.find(model).map_err(|error| ("model", error.to_string()))?;
    }
    for (field, model) in [("summariesModel", &settings.summaries_model), ("valuesModel", &settings.values_model)] {
        let Some(model) = model else { continue };
        let writer = app.models.find(model).map_err(|error| (field, error.to_string()))?;
        if field == "valuesModel" && matches!(writer, turn::ReplyWriter::Narrator(_)) {
            return Err((field, format!("\"{model}\" is a plugin that only writes replies: choose a model")));
        }
    }
    Ok(())
}

/// Returns probable mistakes: models that their provider does not list.
pub(super) fn model_problems(app: &App, settings: &ConnectionSettings) -> Vec<RenderedMessage> {
    let named = [&settings.model, &settings.summaries_model, &settings.values_model];
    let unlisted = named.into_iter().flatten().filter_map(|model| app.models.missing_model_hint(model));
    unlisted.map(|problem| RenderedMessage::new(&problem)).collect()
}
