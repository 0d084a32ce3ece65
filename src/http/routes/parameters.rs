//! The parameters of a session: what its model server takes of them, and taking over those of a preset.

use serde_json::{Map, Value};

use super::AppData;
use crate::app::App;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{PresetIdPath, QueryParams, SessionIdPath};
use crate::http::response::{ApiResponse, ApiResult};
use crate::http::wire::parameters::{ParametersQuery, ParametersResponse};
use clotho_compat::prompt::preset::parameters_of;
use clotho_core::ids::PresetId;
use clotho_core::parameters::{PARAMETERS, ParameterSpec};
use clotho_engine::turn::{ModelCandidate, ReplyWriter};
use clotho_queries::lookup::load_session;
use clotho_store::StoredPreset;

/// The names of the length of replies, which a preset sets beside the parameters of the table.
const LENGTH_NAMES: [&str; 2] = ["max_tokens", "max_completion_tokens"];

/// Tells which parameters the model server of a session does not take, and which of those that are set it does not get.
///
/// # Errors
/// Returns an error if the session or the preset does not exist, or the preset has no parameters.
pub async fn read(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    query: QueryParams<ParametersQuery>,
) -> ApiResult<ParametersResponse> {
    let stored = app.store.read::<_, ApiError, _>(move |reader| Ok(load_session(reader, caller.0, sid.0)?)).await?;
    let session = stored.session;
    let asked = query.0.preset_id.map(|id| id.0);
    let preset = match (asked, session.preset) {
        (Some(id), _) => preset_parameters(&app, caller, id, "presetId").await?,
        // A preset that was deleted counts as none.
        (None, Some(id)) => preset_parameters(&app, caller, id, "presetId").await.unwrap_or_default(),
        (None, None) => Map::new(),
    };
    let writer = app.models.find(&session.model.clone().unwrap_or_else(|| app.models.default_name()));
    let candidate = match writer {
        Ok(ReplyWriter::Model(choice)) => Some(choice.first),
        _ => None,
    };
    let mut set = preset.clone();
    if asked.is_none() {
        set.extend(session.params.clone());
    }
    let not_sent = |candidate: &ModelCandidate| candidate.client.not_taken(&candidate.model, &set);
    let not_taken = |candidate: &ModelCandidate| {
        let names = PARAMETERS.iter().map(|spec| spec.name);
        names.filter(|name| !candidate.client.takes(&candidate.model, name)).map(str::to_owned).collect()
    };
    let not_sent = candidate.as_ref().map(not_sent).unwrap_or_default();
    ApiResponse::ok(&ParametersResponse {
        model: candidate.as_ref().map(|candidate| candidate.name.clone()),
        kind: candidate.as_ref().map(|candidate| candidate.client.kind().name().to_owned()),
        not_taken: candidate.as_ref().map(not_taken).unwrap_or_default(),
        preset,
        not_sent: not_sent.into_iter().map(str::to_owned).collect(),
    })
}

/// Returns the parameters of a session after it has taken over those of a preset: these replace all that a preset can
/// set, and others stay.
///
/// # Errors
/// Returns an error if the session or the preset does not exist, or the preset has no parameters.
pub(super) async fn taken_over(
    app: &App,
    caller: Caller,
    sid: SessionIdPath,
    preset: PresetId,
) -> Result<Map<String, Value>, ApiError> {
    let wanted = preset_parameters(app, caller, preset, "paramsFrom").await?;
    let stored = app.store.read::<_, ApiError, _>(move |reader| Ok(load_session(reader, caller.0, sid.0)?)).await?;
    let mut params = stored.session.params;
    let is_of_presets = |name: &str| ParameterSpec::of(name).is_some() || LENGTH_NAMES.contains(&name);
    params.retain(|name, _| !is_of_presets(name));
    params.extend(wanted);
    Ok(params)
}

/// Returns the parameters of one of the caller's presets; `field` is the field of the request that names it.
async fn preset_parameters(
    app: &App,
    caller: Caller,
    id: PresetId,
    field: &str,
) -> Result<Map<String, Value>, ApiError> {
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.preset(caller.0, id)?)).await?;
    let preset = found.ok_or_else(|| ApiError::not_found(PresetIdPath::WHAT).detail("field", field))?;
    parameters_of_stored(&preset).ok_or_else(|| {
        ApiError::invalid(field, "this preset has no parameters")
            .hint("choose a preset of the kind openai, textgen, kobold or novel")
    })
}

fn parameters_of_stored(preset: &StoredPreset) -> Option<Map<String, Value>> {
    let kind = preset.card.get("kind").and_then(Value::as_str)?;
    parameters_of(kind, preset.card.get("body").and_then(Value::as_object)?)
}
