//! Consent for the regex scripts of an imported card or preset.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::ids::WireCharacterId;
use clotho_core::tree::ScriptConsent;

/// How a character card is imported.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct CardImportQuery {
    /// Whether the regex scripts of the card run without a question; default `false` (see `requestedSettings` of a
    /// character).
    pub trust: Option<bool>,
    /// The character whose card the file replaces, as a new version; absent = the file becomes a new character.
    #[param(value_type = Option<String>)]
    pub character_id: Option<WireCharacterId>,
}

/// What an imported card or preset wants and its owner has neither accepted nor declined yet. To accept it, send
/// `"regexScripts": true` with `PATCH`; to decline it, send `false`, or only `"requestedSettings": null`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestedScriptsResponse {
    /// `true`: its regex scripts want to run.
    pub regex_scripts: bool,
}

impl RequestedScriptsResponse {
    /// Returns the question; `None` if nobody is asked.
    pub fn new(consent: ScriptConsent) -> Option<Self> {
        (consent == ScriptConsent::Asked).then_some(Self { regex_scripts: true })
    }
}

/// What a request says about the regex scripts of a card or preset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptAnswer {
    /// Whether they may run; `None` = the request does not say.
    pub is_allowed: Option<bool>,
    /// Whether the question is over.
    pub ends_question: bool,
}
