//! The parameters of a story beside those that its model server takes.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::ids::WirePresetId;
use crate::http::json_schema::JsonMap;

/// The preset whose parameters are asked about.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct ParametersQuery {
    /// A preset with parameters; default: the one that is set in the session, and the parameters of the session.
    #[param(value_type = Option<String>)]
    pub preset_id: Option<WirePresetId>,
}

/// What the model server of a session takes.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ParametersResponse {
    /// `provider/model` that is asked first; null if a plugin writes the replies or there is no such model.
    #[schema(required)]
    pub model: Option<String>,
    /// Kind of its server; null like `model`.
    #[schema(required)]
    pub kind: Option<String>,
    /// Names of the known parameters that the server does not take.
    pub not_taken: Vec<String>,
    /// Parameters of the preset by name, with `max_tokens` as the length of replies; empty without one.
    #[schema(value_type = JsonMap)]
    pub preset: Map<String, Value>,
    /// Names of those parameters that are set, change something, and are not sent to this server.
    pub not_sent: Vec<String>,
}
