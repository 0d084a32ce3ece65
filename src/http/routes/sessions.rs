//! Sessions and their settings.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::connection_profiles::{load_usable_profile, model_problems};
use super::presets::check_preset_usable;
use super::{AppData, parameters, personas};
use crate::app::App;
use crate::http::body::{JsonBody, JsonListBody};
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{PersonaIdPath, SessionIdPath};
use crate::http::response::{ApiResponse, ApiResult, NoContent};
use crate::http::wire::display_scripts::DisplayScriptsResponse;
use crate::http::wire::enums::SessionViewMode;
use crate::http::wire::sessions::{
    CreateSessionRequest, SessionPluginFields, SessionResponse, SessionScriptResponse, SessionScriptsResponse,
    SetPluginsResponse, UpdateSessionRequest, UsageTotalsResponse, check_plugins,
};
use clotho_core::coded_message::RenderedMessage;
use clotho_core::ids::PersonaId;
use clotho_core::tree;
use clotho_engine::turn;
use clotho_queries::lookup::load_session;
use clotho_queries::sessions::read_session;
use clotho_store::{Actor, StoreReader};

/// Creates a session.
///
/// # Errors
/// Returns an error if a field is invalid or something it names does not exist.
pub async fn create(app: AppData, caller: Caller, body: JsonBody<CreateSessionRequest>) -> ApiResult<SessionResponse> {
    let body = body.0;
    body.check()?;
    let profile = match body.profile_id {
        Some(id) => Some(load_usable_profile(&app, caller, id.0).await?),
        None => None,
    };
    let connection = profile.as_ref().map(|profile| profile.settings.clone()).unwrap_or_default();
    let persona = match body.persona_id {
        Some(named) => named.map(|id| id.0),
        None => personas::chosen(&app, caller, body.character_ids.first().map(|id| id.0)).await?,
    };
    let new = turn::SessionSpec {
        character_ids: body.character_ids.iter().map(|id| id.0).collect(),
        persona_id: persona,
        title: body.title,
        plugins: body.plugins.map(|list| list.into_iter().map(Into::into).collect()),
        model: body.model.or(connection.model),
        mode: body.mode.map(|mode| mode.name().to_owned()),
        params: if body.params.is_empty() { connection.params } else { body.params },
        profile,
        lorebook_ids: body.lorebook_ids.iter().map(|id| id.0).collect(),
        time_zone: body.time_zone,
    };
    let id = app.turns.sessions.begin(caller.0, new).await?;
    ApiResponse::created(&load(&app, caller, SessionIdPath(id)).await?)
}

/// Returns one session.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn read(app: AppData, caller: Caller, sid: SessionIdPath) -> ApiResult<SessionResponse> {
    ApiResponse::ok(&load(&app, caller, sid).await?)
}

/// Changes the settings that the request names.
///
/// # Errors
/// Returns an error if the session does not exist or a field is invalid.
pub async fn update(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    body: JsonBody<UpdateSessionRequest>,
) -> ApiResult<SessionResponse> {
    // Check everything that needs no write transaction: models, preset, persona.
    let mut body = body;
    body.0.check()?;
    app.store.read_inline(move |reader| load_session(reader, caller.0, sid.0).map(|_| ())).await?;
    if let Some(id) = body.0.params_from {
        body.0.params = Some(parameters::taken_over(&app, caller, sid, id.0).await?);
    }
    let mut problems = check_models(&app, &body.0)?;
    let summaries = body.0.summaries.clone();
    let profile = match body.0.profile_id {
        Some(Some(id)) => Some(load_usable_profile(&app, caller, id.0).await?.settings),
        _ => None,
    };
    problems.extend(profile.iter().flat_map(|profile| model_problems(&app, profile)));
    if let Some(Some(id)) = body.0.preset_id {
        check_preset_usable(&app, caller, id.0).await?;
    }
    let persona = match body.0.persona_id {
        Some(Some(id)) => Some(Some(load_persona_card(&app, caller, id.0).await?)),
        Some(None) => Some(None),
        None => None,
    };
    // Write the settings.
    let answer = body.0.script_answer();
    let settings = setting_changes(body.0);
    let actor = Actor { user: caller.0, at: app.clock.now(), expected_leaf: None };
    app.store
        .write(move |tx| {
            let mut settings = settings.clone();
            if let Some(profile) = &profile {
                let changes = profile.changes_of(&tx.session(caller.0, sid.0)?.session);
                let is_unset = |name: &str| !settings.iter().any(|(set, _)| set == name);
                let unset: Vec<_> = changes.into_iter().filter(|(name, _)| is_unset(name)).collect();
                settings.extend(unset);
            }
            match &persona {
                Some(Some((id, bytes))) => {
                    settings.push(("persona".into(), json!([id.to_string(), tx.put_blob(bytes)?])))
                }
                Some(None) => settings.push(("persona".into(), Value::Null)),
                None => {}
            }
            let Some(allowed) = answer else { return tx.set_settings(&actor, sid.0, &settings) };
            tx.answer_for_session_scripts(caller.0, sid.0, allowed)?;
            let op = tx.set_settings(&actor, sid.0, &settings)?;
            tx.apply_script_answers(caller.0)?;
            Ok(op)
        })
        .await?;
    let session = load(&app, caller, sid).await?;
    // Start summaries if they were enabled.
    if summaries.is_some_and(|summaries| summaries.enabled) {
        app.turns.summaries.schedule(sid.0, session.active_leaf_id.0);
    }
    ApiResponse::ok(&session.with_problems(problems))
}

/// Checks the models that a request names. Returns probable mistakes: models that their provider does not list.
fn check_models(app: &App, body: &UpdateSessionRequest) -> Result<Vec<RenderedMessage>, ApiError> {
    if let Some(Some(model)) = &body.model {
        app.models.find(model).map_err(|error| ApiError::invalid("model", error.to_string()))?;
    }
    if let Some(Some(model)) = &body.values_model {
        let writer = app.models.find(model).map_err(|error| ApiError::invalid("valuesModel", error.to_string()))?;
        if matches!(writer, turn::ReplyWriter::Narrator(_)) {
            let why = format!("\"{model}\" is a plugin that only writes replies: choose a model");
            return Err(ApiError::invalid("valuesModel", why));
        }
    }
    if let Some(model) = body.summaries.as_ref().and_then(|summaries| summaries.model.as_ref()) {
        app.models.find(model).map_err(|error| ApiError::invalid("summaries.model", error.to_string()))?;
    }
    let named = [body.model.clone().flatten(), body.values_model.clone().flatten()];
    let unlisted = named.into_iter().flatten().filter_map(|model| app.models.missing_model_hint(&model));
    Ok(unlisted.map(|problem| RenderedMessage::new(&problem)).collect())
}

/// Returns the settings by their names in the operation log.
fn setting_changes(change: UpdateSessionRequest) -> Vec<(String, Value)> {
    let UpdateSessionRequest {
        title,
        mode,
        model,
        params,
        preset_id,
        recall,
        summaries,
        values_model,
        regex_scripts,
        authors_note,
        requested_settings,
        profile_id,
        folder,
        tags,
        is_pinned,
        persona_id: _,
        params_from: _,
    } = change;
    let named = [
        ("title", title.map(Value::from)),
        ("mode", mode.map(SessionViewMode::name).map(Value::from)),
        ("model", model.map(Value::from)),
        ("valuesModel", values_model.map(Value::from)),
        ("params", params.map(Value::from)),
        ("preset", preset_id.map(|id| id.map(|id| id.0.to_string())).map(Value::from)),
        ("profile", profile_id.map(|id| id.map(|id| id.0.to_string())).map(Value::from)),
        ("scripts", regex_scripts.map(|allowed| json!(allowed))),
        ("recall", recall.map(Value::from)),
        ("note", authors_note.map(|note| note.map_or(Value::Null, |note| tree::AuthorsNote::from(note).to_json()))),
        ("summaries", summaries.map(Value::from)),
        ("requested", requested_settings.map(|()| Value::Null)),
        ("folder", folder.map(Value::from)),
        ("tags", tags.map(Value::from)),
        ("isPinned", is_pinned.map(Value::from)),
    ];
    named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// Returns the current version of one of the caller's personas.
async fn load_persona_card(app: &App, caller: Caller, id: PersonaId) -> Result<(PersonaId, Vec<u8>), ApiError> {
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.persona(caller.0, id)?)).await?;
    let persona = found.ok_or_else(|| ApiError::not_found(PersonaIdPath::WHAT))?;
    Ok((id, Value::from(Map::clone(&persona.card)).to_string().into_bytes()))
}

/// Moves a session to the trash, cancels its running replies and closes its WebSockets.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn delete(app: AppData, caller: Caller, sid: SessionIdPath) -> ApiResult<NoContent> {
    let now = app.clock.now();
    app.store.write(move |tx| tx.trash_session(caller.0, sid.0, now)).await?;
    app.live.remove_session(sid.0);
    Ok(ApiResponse::no_content())
}

/// Sets the plugins of a session from HEAD on.
///
/// # Errors
/// Returns an error if the session or a plugin does not exist, or a plugin's settings are invalid.
pub async fn set_plugins(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    body: JsonListBody<SessionPluginFields>,
) -> ApiResult<SetPluginsResponse> {
    check_plugins(&body.0)?;
    let wanted = body.0.into_iter().map(Into::into).collect();
    let turn::PluginsUpdate { op, warnings: problems } =
        app.turns.sessions.set_plugins(caller.0, sid.0, wanted).await?;
    let session = load(&app, caller, sid).await?;
    let warnings = problems.iter().map(|problem| problem.message.clone()).collect();
    ApiResponse::ok(&SetPluginsResponse { op, plugins: session.plugins, warnings, problems })
}

async fn load(app: &App, caller: Caller, sid: SessionIdPath) -> Result<SessionResponse, ApiError> {
    Ok(app.store.read_inline(move |reader| read_session(reader, caller.0, sid.0)).await?.into())
}

/// Lists the regex scripts of a session.
///
/// # Errors
/// Returns an error if the session does not exist.
pub async fn scripts(app: AppData, caller: Caller, sid: SessionIdPath) -> ApiResult<SessionScriptsResponse> {
    let models = Arc::clone(&app.models);
    let read = move |reader: &mut StoreReader<'_>| {
        let session = load_session(reader, caller.0, sid.0)?.session;
        let found = turn::session_scripts(reader, &session, &models.names_of(session.model.as_deref()))?;
        let items = found.into_iter().map(|found| SessionScriptResponse::new(found, &session)).collect();
        Ok::<_, ApiError>(SessionScriptsResponse { items })
    };
    ApiResponse::ok(&app.store.read(read).await?)
}

/// Returns the regex scripts that change the display of a session, with what they need. The page runs them in
/// isolation, so that a script that never ends blocks nothing else.
///
/// # Errors
/// Returns an error if the session does not exist.
pub async fn display_scripts(app: AppData, caller: Caller, sid: SessionIdPath) -> ApiResult<DisplayScriptsResponse> {
    let models = Arc::clone(&app.models);
    let read = move |reader: &mut StoreReader<'_>| {
        let session = load_session(reader, caller.0, sid.0)?.session;
        let shown = turn::display_scripts(reader, &session, &models.names_of(session.model.as_deref()))?;
        Ok::<_, ApiError>(DisplayScriptsResponse::from(shown))
    };
    ApiResponse::ok(&app.store.read(read).await?)
}

/// Returns the token, time and cost totals of a session.
///
/// # Errors
/// Returns an error if the session does not exist.
pub async fn usage_totals(app: AppData, caller: Caller, sid: SessionIdPath) -> ApiResult<UsageTotalsResponse> {
    // Summaries are not in the operation log, so the answer has no `ETag`.
    let read = move |reader: &mut StoreReader<'_>| {
        let stored = load_session(reader, caller.0, sid.0)?;
        Ok::<_, ApiError>(UsageTotalsResponse::new(reader.session_usage(&stored)?, stored.session.op))
    };
    ApiResponse::ok(&app.store.read(read).await?)
}
