//! Plugins embedded in cards: viewed by the owner of the card, installed by the operator of the server.

use std::sync::Arc;

use actix_web::{HttpRequest, web};

use super::plugin_editor::check_may_install;
use super::{AppData, characters, language};
use crate::app::App;
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::{ApiError, ApiErrorCode};
use crate::http::query::CharacterIdPath;
use crate::http::response::{ApiResponse, ApiResult, NoContent};
use crate::http::wire::embedded_plugin::{EmbedPluginRequest, EmbeddedPluginResponse, InstallEmbeddedPluginRequest};
use crate::http::wire::server_info::PluginResponse;
use clotho_plugin::embedded_plugin::{self, EmbeddedPluginError};
use clotho_plugin::{LoadedPlugin, PluginSource, ScriptError, ScriptLimits};
use clotho_queries::workshop;
use clotho_store::{CardVersionOrigin, CharacterCard, Tx};

/// Returns the embedded plugin, compared with the installed plugin of the same id. Nothing of it has run.
///
/// # Errors
/// Returns an error if the character does not exist.
pub async fn read(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    id: CharacterIdPath,
) -> ApiResult<EmbeddedPluginResponse> {
    let language = language(&request);
    let card = characters::load(&app, caller, id).await?;
    let source = match embedded_plugin::read(&card.card) {
        None => return ApiResponse::ok(&EmbeddedPluginResponse::not_embedded()),
        Some(Err(error)) => return ApiResponse::ok(&EmbeddedPluginResponse::malformed(error.to_string())),
        Some(Ok(source)) => source,
    };
    let loaded = load_plugin(source.clone()).await?;
    let catalogue = app.catalogue.current();
    let installed = catalogue.get(&source.name);
    ApiResponse::ok(&EmbeddedPluginResponse::new(&source, &loaded, installed.map(Arc::as_ref), &language))
}

/// Embeds an installed plugin with its schema and tests in a card, replacing a previous one. The plugin then travels
/// with the card.
///
/// # Errors
/// Returns an error if the character or plugin does not exist, the caller may not read the plugin's files, or they are
/// not text or too large.
pub async fn embed(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    id: CharacterIdPath,
    body: JsonBody<EmbedPluginRequest>,
) -> ApiResult<EmbeddedPluginResponse> {
    check_may_install(&app, caller).await?;
    let card = characters::load(&app, caller, CharacterIdPath(id.0)).await?;
    let catalogue = app.catalogue.current();
    let missing = || ApiError::not_found("the plugin").detail("field", "plugin");
    let source = catalogue.get(&body.0.plugin).ok_or_else(missing)?.source().clone();
    update_card(&app, caller, card, move |card| embedded_plugin::embed(&mut card.card, &source)).await?;
    read(app, request, caller, id).await
}

/// Removes the plugin from a card. An installed copy stays.
///
/// # Errors
/// Returns an error if the character does not exist.
pub async fn remove(app: AppData, caller: Caller, id: CharacterIdPath) -> ApiResult<NoContent> {
    let card = characters::load(&app, caller, id).await?;
    update_card(&app, caller, card, |card| {
        embedded_plugin::remove(&mut card.card);
        Ok(())
    })
    .await?;
    Ok(ApiResponse::no_content())
}

/// Installs the embedded plugin, as the caller saw it, into the plugin folder. Sessions can then use it like any other
/// plugin. Sessions with an older version switch to it with their next turn; their earlier turns keep their rules.
///
/// # Errors
/// Returns an error if the caller may not install plugins, or the server has no plugin folder. Also if the embedded or
/// installed code is not what the caller saw, the plugin cannot run, or its id belongs to a bundled plugin.
pub async fn install(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    id: CharacterIdPath,
    body: JsonBody<InstallEmbeddedPluginRequest>,
) -> ApiResult<PluginResponse> {
    check_may_install(&app, caller).await?;
    let card = characters::load(&app, caller, id).await?;
    let none = || ApiError::new(ApiErrorCode::Conflict, "the card contains no plugin");
    let source = embedded_plugin::read(&card.card).ok_or_else(none)?.map_err(embed_error)?;
    let loaded = load_plugin(source.clone()).await?.map_err(|error| {
        ApiError::new(ApiErrorCode::Conflict, format!("the plugin of the card cannot run: {}", error.message))
    })?;
    if loaded.code_hash() != body.0.code_hash {
        let message = "the plugin of the card has changed since your review";
        return Err(ApiError::new(ApiErrorCode::Conflict, message).detail("codeHash", loaded.code_hash()));
    }
    check_replaceable(&app, &loaded, body.0.installed_hash.as_deref())?;
    let (installed, name) = (Arc::clone(&app.catalogue), source.name.clone());
    web::block(move || installed.install(&source)).await.map_err(ApiError::internal)??;
    tracing::info!(plugin = name, "the plugin of a card was installed");
    let catalogue = app.catalogue.current();
    let entry = catalogue.entry(&name).ok_or_else(|| ApiError::not_found("the plugin"))?;
    let files = workshop::list_files(&app.catalogue, entry).await?;
    ApiResponse::ok(&PluginResponse::new(entry, files, &language(&request)))
}

fn check_replaceable(app: &App, loaded: &LoadedPlugin, seen: Option<&str>) -> Result<(), ApiError> {
    if !app.catalogue.has_folder() {
        let error = ApiError::new(ApiErrorCode::Conflict, "this server has no plugin folder");
        return Err(error.hint("set one: dir in [plugins] of config.toml"));
    }
    let catalogue = app.catalogue.current();
    let installed = catalogue.get(loaded.id());
    if installed.is_some_and(|installed| installed.origin() == clotho_plugin::PluginOrigin::Bundled) {
        let message = format!("\"{}\" is the id of a bundled plugin", loaded.id());
        return Err(ApiError::new(ApiErrorCode::Conflict, message)
            .hint("the author of the card must choose another id for the plugin"));
    }
    let hash = installed.map(|installed| installed.code_hash());
    if hash != seen {
        let message = "another plugin has been installed under this id since your review";
        return Err(ApiError::new(ApiErrorCode::Conflict, message).detail("installedHash", hash));
    }
    Ok(())
}

async fn load_plugin(source: PluginSource) -> Result<Result<LoadedPlugin, Box<ScriptError>>, ApiError> {
    web::block(move || LoadedPlugin::load(source, &ScriptLimits::default())).await.map_err(ApiError::internal)
}

async fn update_card(
    app: &App,
    caller: Caller,
    mut card: CharacterCard,
    work: impl FnOnce(&mut CharacterCard) -> Result<(), EmbeddedPluginError>,
) -> Result<(), ApiError> {
    work(&mut card).map_err(embed_error)?;
    card.updated = app.clock.now();
    let write = move |tx: &mut Tx<'_>| tx.save_card_version(caller.0, &card, CardVersionOrigin::Edited);
    app.store.write(write).await?;
    Ok(())
}

fn embed_error(error: EmbeddedPluginError) -> ApiError {
    let code =
        if matches!(error, EmbeddedPluginError::TooLarge(_)) { ApiErrorCode::TooLarge } else { ApiErrorCode::Invalid };
    ApiError::new(code, error.to_string())
}
