//! Presets: what other programs keep for their prompts, each as JSON of its kind, whose fields keep the names that they have
//! there.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::PageQuery;
use super::ids::{WireId, WirePresetId};
use super::import_report::ImportReportResponse;
use super::{deserialize_optional_object, deserialize_optional_objects};
use crate::http::error::{ApiError, ApiErrorCode};
use clotho_compat::prompt::preset::{ExpectedPreset, PresetFieldError, PresetPatch, PresetPatchError, models_of};
use clotho_compat::prompt::scripts;
use clotho_core::tree::preset::validate_preset;
use clotho_engine::turn;
use clotho_store as store;

/// A preset.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PresetResponse {
    /// Its id.
    pub id: WirePresetId,
    /// What it is for: `openai`, `textgen`, `kobold` and `novel` (prompt blocks and samplers), `instruct`, `context`,
    /// `sysprompt`, `reasoning` (templates), `regex`, `quickReplies`, `theme`, `group`, `variables`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The file that it came in; null for one that was written here.
    pub file: Option<String>,
    /// All that it says; in a list it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub body: Option<Value>,
    /// Of one that makes prompts, all that it comes to, under the names of its body: what that leaves out is there as it
    /// holds. In a list it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub effective: Option<Map<String, Value>>,
    /// Of a `regex` whose body is here, why it would never run: what it looks for may be no regular expression. It is kept all
    /// the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// For which models it is used where a session chose no preset: aliases or names, `*` for any characters.
    pub models: Vec<String>,
    /// When it came.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

/// Which presets.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct PresetQuery {
    /// Only those of this kind.
    pub kind: Option<String>,
    /// How many things, 1 to 500; 50 unless said.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
    /// What `next` of the page before said.
    pub cursor: Option<String>,
}

/// What a file of presets does not say itself.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct PresetImportQuery {
    /// What those in it are for; unless said, what their keys say.
    pub kind: Option<String>,
}

/// Presets that came from another program.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PresetsImportResponse {
    /// Those that are there now; one that was there before, to the letter, is that one.
    pub items: Vec<PresetResponse>,
    /// What came over, and what of it works here.
    pub report: ImportReportResponse,
}

/// A new preset: of a kind and with a body, or as another one is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreatePresetRequest {
    /// What it is for.
    #[serde(default)]
    pub kind: Option<String>,
    /// Its name.
    pub name: String,
    /// All that it says.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub body: Option<Map<String, Value>>,
    /// In place of kind and body: the id of a preset that it begins as a copy of, or `own` for the one by which prompts are
    /// made where nobody chose any.
    #[serde(default)]
    pub from: Option<String>,
}

/// What a new preset begins as.
#[derive(Debug)]
pub enum NewPresetSource {
    /// As this kind and body.
    Said(String, Map<String, Value>),
    /// As our own.
    Own,
    /// As another one.
    Copy(WirePresetId),
}

/// One place in the order of a preset.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PresetOrderEntry {
    /// The prompt.
    pub identifier: String,
    /// Whether it is on.
    pub enabled: bool,
}

/// A change of a preset of the kind `openai`: what it does not name stays as it came, to the letter.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct OpenAiPresetChange {
    /// Settings and samplers by their names in the body; null takes one away.
    #[schema(value_type = Object)]
    pub fields: Map<String, Value>,
    /// What stands under `extensions.clotho`: `form`, `names`, `stop`, `models`, `shares`; null takes one away.
    #[schema(value_type = Object)]
    pub own: Map<String, Value>,
    /// Prompts: `identifier` and the fields that change. One that is not there is new, and comes last in the order where
    /// `order` is not said.
    #[schema(value_type = Vec<Object>)]
    pub prompts: Vec<Map<String, Value>>,
    /// Identifiers of prompts that go; those that every preset has can only be switched off.
    pub removed: Vec<String>,
    /// The order, all of it.
    #[serde(deserialize_with = "deserialize_optional_objects")]
    pub order: Option<Vec<PresetOrderEntry>>,
}

/// What the caller saw of a preset, null for what was not there: if one of it says something else by now, nothing is changed.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ExpectedPresetFields {
    /// Its name.
    pub name: Option<String>,
    /// Settings and samplers.
    #[schema(value_type = Object)]
    pub fields: Map<String, Value>,
    /// What stood under `extensions.clotho`.
    #[schema(value_type = Object)]
    pub own: Map<String, Value>,
    /// Prompts: `identifier` and what they said.
    #[schema(value_type = Vec<Object>)]
    pub prompts: Vec<Map<String, Value>>,
    /// The order as it held.
    #[serde(deserialize_with = "deserialize_optional_objects")]
    pub order: Option<Vec<PresetOrderEntry>>,
}

/// Fields of a preset that change. Its kind stays.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct UpdatePresetRequest {
    /// Its name.
    pub name: Option<String>,
    /// All that it says.
    #[schema(value_type = Option<Object>)]
    pub body: Option<Map<String, Value>>,
    /// Some of what it says, in place of a whole body.
    #[serde(deserialize_with = "deserialize_optional_object")]
    pub change: Option<OpenAiPresetChange>,
    /// What the caller saw there.
    #[serde(deserialize_with = "deserialize_optional_object")]
    pub expected: Option<ExpectedPresetFields>,
}

impl PresetQuery {
    /// The page that it asks for.
    pub fn page(&self) -> PageQuery {
        PageQuery { limit: self.limit, cursor: self.cursor.clone() }
    }
}

impl CreatePresetRequest {
    /// What it begins as, and its name.
    ///
    /// # Errors
    /// It says both what it is and what it is a copy of, or neither.
    pub fn name_and_source(self) -> Result<(String, NewPresetSource), ApiError> {
        let hint = "say kind and body, or from: the id of a preset, or own";
        let beginning = match (self.from.as_deref(), self.kind, self.body) {
            (None, Some(kind), Some(body)) => NewPresetSource::Said(kind, body),
            (None, None, _) => return Err(ApiError::invalid("kind", "a kind is needed").hint(hint)),
            (None, _, None) => return Err(ApiError::invalid("body", "an object is expected").hint(hint)),
            (Some("own"), None, None) => NewPresetSource::Own,
            (Some(id), None, None) => {
                let id = id.parse().map_err(|_| ApiError::invalid("from", "no id of a preset").hint(hint))?;
                NewPresetSource::Copy(WireId(id))
            }
            _ => return Err(ApiError::invalid("from", "a copy has the kind and body of the other one").hint(hint)),
        };
        Ok((self.name, beginning))
    }
}

/// The card of a new preset.
///
/// # Errors
/// A field does not fit.
pub fn new_card(kind: String, name: &str, body: Map<String, Value>) -> Result<Map<String, Value>, ApiError> {
    let card = [("kind", kind.into()), ("name", name.trim().into()), ("body", Value::from(body))];
    let card: Map<String, Value> = card.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    validate_preset(&card)?;
    Ok(card)
}

impl UpdatePresetRequest {
    /// Puts the fields into a preset.
    ///
    /// # Errors
    /// A field does not fit, or somebody else changed meanwhile what was expected to be as it was.
    pub fn apply(&self, card: &mut Map<String, Value>) -> Result<(), ApiError> {
        let before = card.clone();
        card.extend(self.name.as_ref().map(|name| ("name".to_owned(), name.trim().into())));
        if self.body.is_some() && self.change.is_some() {
            return Err(
                ApiError::invalid("change", "a body is all of it").hint("send a body, or a change of some of it")
            );
        }
        card.extend(self.body.as_ref().map(|body| ("body".to_owned(), body.clone().into())));
        let seen = self.expected.as_ref().map(ExpectedPresetFields::read);
        if let Some(change) = &self.change {
            if card.get("kind").and_then(Value::as_str) != Some("openai") {
                return Err(ApiError::invalid("change", "only presets of the kind \"openai\" are changed in parts")
                    .hint("send the whole body"));
            }
            let body = card.get("body").and_then(Value::as_object).cloned().unwrap_or_default();
            let changed =
                change.read().onto(&body, seen.as_ref()).map_err(|error| change_error(error, seen.as_ref(), &body))?;
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
        PresetPatchError::Wrong(PresetFieldError { field, message, hint }) => {
            let error = ApiError::invalid(&field, message);
            if hint.is_empty() { error } else { error.hint(hint) }
        }
        PresetPatchError::Conflict(fields) => {
            conflict_error(fields, seen.map(|seen| seen.now(body)).unwrap_or_default())
        }
    }
}

fn conflict_error(fields: Vec<String>, now: Value) -> ApiError {
    ApiError::new(ApiErrorCode::Conflict, "somebody else changed the preset meanwhile")
        .hint("see in details.now what it says now, and send again with that as expected if you still mean it")
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
            own: self.own.clone(),
            prompts: self.prompts.clone(),
            removed: self.removed.clone(),
            order: order_rows(self.order.as_ref()),
        }
    }
}

impl ExpectedPresetFields {
    /// Whether all that was seen is still so.
    fn check_unchanged(&self, card: &Map<String, Value>) -> Result<(), ApiError> {
        let body = card.get("body").and_then(Value::as_object).cloned().unwrap_or_default();
        let seen = self.read();
        let name = card.get("name").and_then(Value::as_str).unwrap_or_default();
        let mut moved = seen.conflicts(&body);
        let mut now = seen.now(&body);
        if self.name.as_ref().is_some_and(|seen| seen != name) {
            moved.push("name".to_owned());
            now.as_object_mut().map(|now| now.insert("name".to_owned(), name.into()));
        }
        if moved.is_empty() { Ok(()) } else { Err(conflict_error(moved, now)) }
    }

    fn read(&self) -> ExpectedPreset {
        ExpectedPreset {
            fields: self.fields.clone(),
            own: self.own.clone(),
            prompts: self.prompts.clone(),
            order: order_rows(self.order.as_ref()),
        }
    }
}

/// The kind of regex scripts.
const REGEX_KIND: &str = "regex";

impl From<store::StoredPreset> for PresetResponse {
    fn from(mut preset: store::StoredPreset) -> Self {
        let effective = turn::preset(&preset).and_then(Result::ok).map(|preset| preset.body());
        let text = |value: Option<Value>| value.as_ref().and_then(Value::as_str).map(str::to_owned);
        let kind = text(preset.card.shift_remove("kind")).unwrap_or_default();
        let body = preset.card.shift_remove("body");
        let script = body.as_ref().filter(|_| kind == REGEX_KIND);
        Self {
            id: WireId(preset.id),
            problem: script.and_then(scripts::problem).map(|why| why.to_string()),
            kind,
            name: text(preset.card.shift_remove("name")).unwrap_or_default(),
            file: text(preset.card.shift_remove("file")),
            body,
            models: effective.as_ref().map(models_of).unwrap_or_default(),
            effective,
            created_at: preset.created.to_string(),
            updated_at: preset.updated.to_string(),
        }
    }
}

impl From<store::PresetHead> for PresetResponse {
    fn from(head: store::PresetHead) -> Self {
        Self {
            id: WireId(head.id),
            kind: head.kind,
            name: head.name,
            file: head.file,
            body: None,
            effective: None,
            problem: None,
            models: head.models,
            created_at: head.created.to_string(),
            updated_at: head.updated.to_string(),
        }
    }
}
