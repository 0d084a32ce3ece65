//! Presets: prompt settings of other programs, stored as JSON of their kind with the original field names.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::PageQuery;
use super::ids::{WireId, WirePresetId};
use super::import_report::ImportReportResponse;
use super::query_number::PageLimit;
use super::records::CodedMessageSchema;
use super::script_consent::{RequestedScriptsResponse, ScriptAnswer};
use super::{deserialize_null, deserialize_optional_object, deserialize_optional_objects};
use crate::http::error::{ApiError, ApiErrorCode};
use crate::http::json_schema::JsonMap;
use clotho_compat::prompt::preset::{ExpectedPreset, PresetFieldError, PresetPatch, PresetPatchError, models_of};
use clotho_compat::prompt::scripts;
use clotho_core::coded_message::RenderedMessage;
use clotho_core::tree::ScriptConsent;
use clotho_core::tree::preset::validate_preset;
use clotho_engine::turn;
use clotho_store as store;

/// A preset.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PresetResponse {
    /// Id of the preset.
    pub id: WirePresetId,
    /// Kind: `openai`, `textgen`, `kobold` and `novel` (prompt blocks and samplers), `instruct`, `context`,
    /// `sysprompt`, `reasoning` (templates), `regex`, `quickReplies`, `theme`, `group`, `variables`.
    pub kind: String,
    /// Name of the preset.
    pub name: String,
    /// Name of the imported file; null if it was created here.
    #[schema(required)]
    pub file: Option<String>,
    /// The complete content; absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = JsonMap)]
    pub body: Option<Value>,
    /// For presets that build prompts: all effective values by body field, with defaults for absent ones. Absent in
    /// lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = JsonMap)]
    pub effective: Option<Map<String, Value>>,
    /// For a `regex` preset with a body: why it never runs, such as an invalid pattern. It is stored anyway.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub problem: Option<String>,
    /// The same as `problem`: a code with arguments, and the sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = CodedMessageSchema, required = false)]
    pub failure: Option<RenderedMessage>,
    /// Models that use the preset when a session has none: aliases or names, with `*` as a wildcard.
    pub models: Vec<String>,
    /// Whether the regex scripts of the preset run; `true` also if it has none. In lists, only of the kind `regex`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub regex_scripts: Option<bool>,
    /// What the imported preset wants and nobody has accepted or declined yet; absent = nothing. In lists, only of the
    /// kind `regex`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub requested_settings: Option<RequestedScriptsResponse>,
    /// Creation or import time, ISO 8601 UTC.
    pub created_at: String,
    /// Time of the last change, ISO 8601 UTC.
    pub updated_at: String,
}

/// A filter and a page of presets.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct PresetQuery {
    /// Only presets of this kind.
    pub kind: Option<String>,
    /// Maximum number of items, 1 to 500; default 50.
    #[param(minimum = 1, maximum = 500, value_type = Option<u32>)]
    pub limit: Option<PageLimit>,
    /// `next` of the previous page.
    pub cursor: Option<String>,
}

/// Options for importing presets.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct PresetImportQuery {
    /// Kind of the imported presets; default: detected from their keys.
    pub kind: Option<String>,
    /// Whether the regex scripts inside the presets run without a question; default `false`.
    pub trust: Option<bool>,
}

/// The result of an import of presets.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PresetsImportResponse {
    /// The presets that exist now. An identical one that already existed is returned instead of a copy.
    pub items: Vec<PresetResponse>,
    /// What was imported, and which parts work here.
    pub report: ImportReportResponse,
}

/// A new preset: from a kind and a body, or as a copy.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreatePresetRequest {
    /// Kind of the preset; requires `body`.
    #[serde(default)]
    pub kind: Option<String>,
    /// Name of the preset.
    pub name: String,
    /// The complete content; requires `kind`.
    #[serde(default)]
    #[schema(value_type = Option<JsonMap>)]
    pub body: Option<Map<String, Value>>,
    /// Instead of `kind` and `body`: the id of the preset to copy, or `own` for the built-in default.
    #[serde(default)]
    pub from: Option<String>,
}

/// The source of a new preset.
#[derive(Debug)]
pub enum NewPresetSource {
    /// This kind and body.
    Said(String, Map<String, Value>),
    /// The built-in default.
    Own,
    /// A copy of another preset.
    Copy(WirePresetId),
}

/// One entry in the prompt order of a preset.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PresetOrderEntry {
    /// Identifier of the prompt.
    pub identifier: String,
    /// Whether the prompt is enabled.
    pub enabled: bool,
}

/// A partial update of an `openai` preset; everything it does not name stays unchanged.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct OpenAiPresetChange {
    /// Settings and samplers by body field; null removes one.
    #[schema(value_type = JsonMap)]
    pub fields: Map<String, Value>,
    /// Fields of `extensions.clotho`: `form`, `names`, `stop`, `models`, `shares`; null removes one.
    #[schema(value_type = JsonMap)]
    pub own: Map<String, Value>,
    /// Prompts: `identifier` and the changed fields. An unknown identifier adds a prompt, at the end unless `order` is
    /// set.
    #[schema(value_type = Vec<JsonMap>)]
    pub prompts: Vec<Map<String, Value>>,
    /// Identifiers of prompts to remove. Built-in prompts can only be disabled.
    pub removed: Vec<String>,
    /// The complete order.
    #[serde(deserialize_with = "deserialize_optional_objects")]
    pub order: Option<Vec<PresetOrderEntry>>,
}

/// Precondition: values as the caller saw them, null for absent ones. If one differs, nothing is changed.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ExpectedPresetFields {
    /// Expected name.
    pub name: Option<String>,
    /// Expected settings and samplers.
    #[schema(value_type = JsonMap)]
    pub fields: Map<String, Value>,
    /// Expected fields of `extensions.clotho`.
    #[schema(value_type = JsonMap)]
    pub own: Map<String, Value>,
    /// Expected prompts: `identifier` and their fields.
    #[schema(value_type = Vec<JsonMap>)]
    pub prompts: Vec<Map<String, Value>>,
    /// Expected order.
    #[serde(deserialize_with = "deserialize_optional_objects")]
    pub order: Option<Vec<PresetOrderEntry>>,
}

/// Fields of a preset to change. The kind cannot change.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct UpdatePresetRequest {
    /// New name.
    pub name: Option<String>,
    /// New complete content.
    #[schema(value_type = Option<JsonMap>)]
    pub body: Option<Map<String, Value>>,
    /// Partial change of an `openai` preset, instead of `body`.
    #[serde(deserialize_with = "deserialize_optional_object")]
    pub change: Option<OpenAiPresetChange>,
    /// Precondition on the current values.
    #[serde(deserialize_with = "deserialize_optional_object")]
    pub expected: Option<ExpectedPresetFields>,
    /// Whether the regex scripts of the preset run. Ends the question of an imported preset.
    pub regex_scripts: Option<bool>,
    /// Only null: ends the question about what an imported preset wants. Without `regexScripts`, its scripts do not run.
    #[serde(deserialize_with = "deserialize_null")]
    #[schema(value_type = Option<JsonMap>)]
    pub requested_settings: Option<()>,
}

impl PresetQuery {
    /// Returns the requested page.
    pub fn page(&self) -> PageQuery {
        PageQuery { limit: self.limit, cursor: self.cursor.clone() }
    }
}

impl CreatePresetRequest {
    /// Returns the name and the source of the new preset.
    ///
    /// # Errors
    /// Returns an error if it has both a body and a source to copy, or neither.
    pub fn name_and_source(self) -> Result<(String, NewPresetSource), ApiError> {
        let hint = "expected kind and body, or from: the id of a preset, or own";
        let beginning = match (self.from.as_deref(), self.kind, self.body) {
            (None, Some(kind), Some(body)) => NewPresetSource::Said(kind, body),
            (None, None, _) => return Err(ApiError::invalid("kind", "a kind is required").hint(hint)),
            (None, _, None) => return Err(ApiError::invalid("body", "expected an object").hint(hint)),
            (Some("own"), None, None) => NewPresetSource::Own,
            (Some(id), None, None) => {
                let id = id.parse().map_err(|_| ApiError::invalid("from", "expected the id of a preset").hint(hint))?;
                NewPresetSource::Copy(WireId(id))
            }
            _ => return Err(ApiError::invalid("from", "a copy has the kind and body of its original").hint(hint)),
        };
        Ok((self.name, beginning))
    }
}

/// Builds the stored object of a new preset.
///
/// # Errors
/// Returns an error that names the invalid field.
pub fn new_card(kind: String, name: &str, body: Map<String, Value>) -> Result<Map<String, Value>, ApiError> {
    let card = [("kind", kind.into()), ("name", name.trim().into()), ("body", Value::from(body))];
    let card: Map<String, Value> = card.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    validate_preset(&card)?;
    Ok(card)
}

impl UpdatePresetRequest {
    /// Returns what the request says about the regex scripts inside the preset.
    pub const fn script_answer(&self) -> ScriptAnswer {
        ScriptAnswer { is_allowed: self.regex_scripts, ends_question: self.requested_settings.is_some() }
    }

    /// Writes the fields into a preset.
    ///
    /// # Errors
    /// Returns an error if a field is invalid or the preset no longer has the expected values.
    pub fn apply(&self, card: &mut Map<String, Value>) -> Result<(), ApiError> {
        let before = card.clone();
        card.extend(self.name.as_ref().map(|name| ("name".to_owned(), name.trim().into())));
        if self.body.is_some() && self.change.is_some() {
            return Err(
                ApiError::invalid("change", "expected the whole body").hint("send a body, or a change of parts of it")
            );
        }
        card.extend(self.body.as_ref().map(|body| ("body".to_owned(), body.clone().into())));
        let seen = self.expected.as_ref().map(ExpectedPresetFields::read);
        if let Some(change) = &self.change {
            if card.get("kind").and_then(Value::as_str) != Some("openai") {
                return Err(ApiError::invalid("change", "only presets of the kind \"openai\" can be changed in parts")
                    .hint("send the whole body"));
            }
            let body = card.get("body").and_then(Value::as_object).cloned().unwrap_or_default();
            let changed =
                change.read().apply(&body, seen.as_ref()).map_err(|error| change_error(error, seen.as_ref(), &body))?;
            card.insert("body".to_owned(), changed.into());
        }
        if let Some(seen) = self.expected.as_ref().filter(|_| *card != before) {
            seen.check_unchanged(&before)?;
        }
        Ok(validate_preset(card)?)
    }
}

fn change_error(error: PresetPatchError, seen: Option<&ExpectedPreset>, body: &Map<String, Value>) -> ApiError {
    match error {
        PresetPatchError::Invalid(PresetFieldError { field, message, hint }) => {
            let error = ApiError::invalid(&field, message);
            if hint.is_empty() { error } else { error.hint(hint) }
        }
        PresetPatchError::Conflict(fields) => {
            conflict_error(fields, seen.map(|seen| seen.current(body)).unwrap_or_default())
        }
    }
}

fn conflict_error(fields: Vec<String>, now: Value) -> ApiError {
    ApiError::new(ApiErrorCode::Conflict, "another request changed the preset")
        .hint("read the current preset in details.now. Send it as expected to overwrite it")
        .detail("fields", fields)
        .detail("now", now)
}

fn order_rows(order: Option<&Vec<PresetOrderEntry>>) -> Option<Vec<(String, bool)>> {
    order.map(|order| order.iter().map(|row| (row.identifier.clone(), row.enabled)).collect())
}

impl OpenAiPresetChange {
    fn read(&self) -> PresetPatch {
        PresetPatch {
            fields: self.fields.clone(),
            extensions: self.own.clone(),
            prompts: self.prompts.clone(),
            removed: self.removed.clone(),
            order: order_rows(self.order.as_ref()),
        }
    }
}

impl ExpectedPresetFields {
    /// Checks the precondition.
    fn check_unchanged(&self, card: &Map<String, Value>) -> Result<(), ApiError> {
        let body = card.get("body").and_then(Value::as_object).cloned().unwrap_or_default();
        let seen = self.read();
        let name = card.get("name").and_then(Value::as_str).unwrap_or_default();
        let mut moved = seen.conflicts(&body);
        let mut now = seen.current(&body);
        if self.name.as_ref().is_some_and(|seen| seen != name) {
            moved.push("name".to_owned());
            now.as_object_mut().map(|now| now.insert("name".to_owned(), name.into()));
        }
        if moved.is_empty() { Ok(()) } else { Err(conflict_error(moved, now)) }
    }

    fn read(&self) -> ExpectedPreset {
        ExpectedPreset {
            fields: self.fields.clone(),
            extensions: self.own.clone(),
            prompts: self.prompts.clone(),
            order: order_rows(self.order.as_ref()),
        }
    }
}

/// Kind of regex scripts.
const REGEX_KIND: &str = "regex";

impl PresetResponse {
    /// Returns a preset with its body; `consent` tells whether the regex scripts inside it may run.
    pub fn new(mut preset: store::StoredPreset, consent: ScriptConsent) -> Self {
        let effective = turn::parse_preset(&preset).and_then(Result::ok).map(|preset| preset.to_json());
        let text = |value: Option<Value>| value.as_ref().and_then(Value::as_str).map(str::to_owned);
        let kind = text(preset.card.shift_remove("kind")).unwrap_or_default();
        let body = preset.card.shift_remove("body");
        let script = body.as_ref().filter(|_| kind == REGEX_KIND);
        let failure = script.and_then(scripts::find_problem).map(|why| RenderedMessage::new(&why));
        Self {
            id: WireId(preset.id),
            problem: failure.as_ref().map(|failure| failure.message.clone()),
            failure,
            kind,
            name: text(preset.card.shift_remove("name")).unwrap_or_default(),
            file: text(preset.card.shift_remove("file")),
            body,
            models: effective.as_ref().map(models_of).unwrap_or_default(),
            effective,
            regex_scripts: Some(consent == ScriptConsent::Allowed),
            requested_settings: RequestedScriptsResponse::new(consent),
            created_at: preset.created.to_string(),
            updated_at: preset.updated.to_string(),
        }
    }
}

impl PresetResponse {
    /// Returns a preset without its body; `consent` tells whether it may run if it is a regex script.
    pub fn in_list(head: store::PresetHead, consent: Option<ScriptConsent>) -> Self {
        Self {
            id: WireId(head.id),
            kind: head.kind,
            name: head.name,
            file: head.file,
            body: None,
            effective: None,
            problem: None,
            failure: None,
            models: head.models,
            regex_scripts: consent.map(|consent| consent == ScriptConsent::Allowed),
            requested_settings: consent.and_then(RequestedScriptsResponse::new),
            created_at: head.created.to_string(),
            updated_at: head.updated.to_string(),
        }
    }
}
