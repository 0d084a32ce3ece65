//! Presets: what other programs keep for their prompts, each as JSON of its kind, whose fields keep the names that they have
//! there.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::PageQuery;
use super::ids::{Id, PresetRef};
use super::report::Report;
use crate::http::error::ApiError;
use crate::store;
use crate::tree::preset::fits;

/// A preset.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Preset {
    /// Its id.
    pub id: PresetRef,
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
pub struct ImportedPresets {
    /// Those that are there now; one that was there before, to the letter, is that one.
    pub items: Vec<Preset>,
    /// What came over, and what of it works here.
    pub report: Report,
}

/// A new preset.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewPreset {
    /// What it is for.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// All that it says.
    #[schema(value_type = Object)]
    pub body: Map<String, Value>,
}

/// Fields of a preset that change. Its kind stays.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PresetFields {
    /// Its name.
    pub name: Option<String>,
    /// All that it says.
    #[schema(value_type = Option<Object>)]
    pub body: Option<Map<String, Value>>,
}

impl PresetQuery {
    /// The page that it asks for.
    pub fn page(&self) -> PageQuery {
        PageQuery { limit: self.limit, cursor: self.cursor.clone() }
    }
}

impl NewPreset {
    /// The card of the preset.
    ///
    /// # Errors
    /// A field does not fit.
    pub fn card(self) -> Result<Map<String, Value>, ApiError> {
        let mut card = Map::from_iter([("kind".to_owned(), self.kind.into())]);
        PresetFields { name: Some(self.name), body: Some(self.body) }.apply(&mut card)?;
        Ok(card)
    }
}

impl PresetFields {
    /// Puts the fields into a preset.
    ///
    /// # Errors
    /// A field does not fit.
    pub fn apply(self, card: &mut Map<String, Value>) -> Result<(), ApiError> {
        card.extend(self.name.map(|name| ("name".to_owned(), name.trim().into())));
        card.extend(self.body.map(|body| ("body".to_owned(), body.into())));
        Ok(fits(card)?)
    }
}

impl From<store::Preset> for Preset {
    fn from(mut preset: store::Preset) -> Self {
        let text = |value: Option<Value>| value.as_ref().and_then(Value::as_str).map(str::to_owned);
        Self {
            id: Id(preset.id),
            kind: text(preset.card.shift_remove("kind")).unwrap_or_default(),
            name: text(preset.card.shift_remove("name")).unwrap_or_default(),
            file: text(preset.card.shift_remove("file")),
            body: preset.card.shift_remove("body"),
            created_at: preset.created.to_string(),
            updated_at: preset.updated.to_string(),
        }
    }
}

impl From<store::PresetHead> for Preset {
    fn from(head: store::PresetHead) -> Self {
        Self {
            id: Id(head.id),
            kind: head.kind,
            name: head.name,
            file: head.file,
            body: None,
            created_at: head.created.to_string(),
            updated_at: head.updated.to_string(),
        }
    }
}
