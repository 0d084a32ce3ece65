//! Providers that are added without a restart. In mode `local` the only user is the owner, who can reach every address
//! from this machine anyway. Before other users may call these routes, they must be restricted to administrators.

use super::AppData;
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::query::ProviderIdPath;
use crate::http::response::{ApiResponse, ApiResult, NoContent};
use crate::http::wire::providers::{
    CreateProviderRequest, DefaultModelResponse, ProviderResponse, ProviderTestResponse, ProvidersResponse,
    SetDefaultModelRequest, TestNewProviderRequest, TestProviderRequest, UpdateProviderRequest,
};
use clotho_engine::turn::ProviderProblemDetail;
use clotho_store::{ConnectedProvider, IdempotencyClaim};

/// Lists the providers of the configuration, then those added at run time. No key is returned.
///
/// # Errors
/// Returns an error if the database fails.
pub async fn list(app: AppData, _: Caller) -> ApiResult<ProvidersResponse> {
    let configured = app.config.providers.iter();
    let mut items: Vec<ProviderResponse> =
        configured.map(|one| ProviderResponse::from_config(one, app.models.unusable_reason(&one.id))).collect();
    items.extend(app.connections.list().await?.into_iter().map(|one| provider_response(&app, one)));
    let DefaultModelResponse { default_model, is_chosen } = default_model_response(&app);
    ApiResponse::ok(&ProvidersResponse {
        items,
        next: None,
        kinds: ProviderResponse::kinds(),
        services: ProviderResponse::services(),
        default_model,
        is_chosen,
    })
}

/// Adds a provider; its models are available at once.
///
/// # Errors
/// Returns an error if a field is invalid or the id is taken.
pub async fn create(app: AppData, _: Caller, body: JsonBody<CreateProviderRequest>) -> ApiResult<ProviderResponse> {
    if let Some(previous) = IdempotencyClaim::previous_result::<String>() {
        return ApiResponse::created(&provider_response(&app, app.connections.get(&previous).await?));
    }
    let (new, key) = body.0.into_connection()?;
    ApiResponse::created(&provider_response(&app, app.connections.add(new, key).await?))
}

/// Changes what the request names. Running replies are not affected.
///
/// # Errors
/// Returns an error if the provider does not exist or comes from the configuration, or a field is invalid.
pub async fn update(
    app: AppData,
    _: Caller,
    name: ProviderIdPath,
    body: JsonBody<UpdateProviderRequest>,
) -> ApiResult<ProviderResponse> {
    let changed = app.connections.change(&name.0, body.0.change()?).await?;
    ApiResponse::ok(&provider_response(&app, changed))
}

/// Deletes a provider and its key.
///
/// # Errors
/// Returns an error if it does not exist or comes from the configuration.
pub async fn delete(app: AppData, _: Caller, name: ProviderIdPath) -> ApiResult<NoContent> {
    app.connections.remove(&name.0).await?;
    Ok(ApiResponse::no_content())
}

/// Tests an existing provider. A failed test is a normal answer, not an error.
///
/// # Errors
/// Returns an error if the provider does not exist.
pub async fn test(
    app: AppData,
    _: Caller,
    name: ProviderIdPath,
    body: JsonBody<TestProviderRequest>,
) -> ApiResult<ProviderTestResponse> {
    let seen = app.connections.test_provider(&name.0, body.0.model.as_deref()).await?;
    ApiResponse::ok(&seen.into())
}

/// Tests a provider before it is added.
///
/// # Errors
/// Returns an error if a field is invalid.
pub async fn test_new(
    app: AppData,
    _: Caller,
    body: JsonBody<TestNewProviderRequest>,
) -> ApiResult<ProviderTestResponse> {
    let (new, key, model) = body.0.into_test_parts()?;
    ApiResponse::ok(&app.connections.test_connection(new, key, model.as_deref()).await?.into())
}

/// Sets the default model.
///
/// # Errors
/// Returns an error if no model has this name.
pub async fn set_default(
    app: AppData,
    _: Caller,
    body: JsonBody<SetDefaultModelRequest>,
) -> ApiResult<DefaultModelResponse> {
    app.connections.choose(body.0.model).await?;
    ApiResponse::ok(&default_model_response(&app))
}

fn default_model_response(app: &AppData) -> DefaultModelResponse {
    DefaultModelResponse { default_model: app.models.default_name(), is_chosen: app.models.chosen_default().is_some() }
}

fn provider_response(app: &AppData, one: ConnectedProvider) -> ProviderResponse {
    let unusable = match app.models.is_configured(&one.id) {
        true => Some(ProviderProblemDetail::Replaced {}),
        false => app.models.unusable_reason(&one.id),
    };
    ProviderResponse::from_connection(one, unusable)
}
