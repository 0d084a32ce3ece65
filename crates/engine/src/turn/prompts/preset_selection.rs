//! Selects the preset of a prompt: the session's own, else the best match for the model, else the built-in one.

use serde_json::{Map, Value};

use clotho_compat::prompt::preset::{Preset, PresetReadError, best_match};
use clotho_core::tree::Session;
use clotho_store::{self as store, StoreError, StoreReader};

/// The kind of presets that define prompts.
const KIND: &str = "openai";

/// Parses a stored preset; `None` if it is of another kind.
pub fn parse_preset(kept: &store::StoredPreset) -> Option<Result<Preset, PresetReadError>> {
    let is_kind = kept.card.get("kind").and_then(Value::as_str) == Some(KIND);
    let body = kept.card.get("body").and_then(Value::as_object).filter(|_| is_kind)?;
    Some(Preset::read(body))
}

/// A preset and why it is used.
pub struct PresetSelection {
    /// The preset in its current version.
    pub preset: Preset,
    pub reason: PresetReason,
}

/// The reason why a preset is used.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PresetReason {
    /// Its id and name; `None` = built-in.
    pub preset_name: Option<(String, String)>,
    /// The model pattern that matched, if the session chose none.
    pub model: Option<String>,
}

impl PresetReason {
    /// Returns whether the preset is a stored one.
    pub const fn is_stored(&self) -> bool {
        self.preset_name.is_some()
    }

    /// Formats the reason for the trace.
    pub fn to_trace(&self) -> Map<String, Value> {
        let by = match (&self.preset_name, &self.model) {
            (None, _) => "own",
            (Some(_), None) => "session",
            (Some(_), Some(_)) => "model",
        };
        let mut told = Map::from_iter([("by".to_owned(), by.into())]);
        if let Some((id, name)) = &self.preset_name {
            told.insert("id".to_owned(), id.as_str().into());
            told.insert("name".to_owned(), name.as_str().into());
        }
        told.extend(self.model.as_ref().map(|model| ("model".to_owned(), model.as_str().into())));
        told
    }
}

/// Selects the preset for a session and a model with these names. Missing and unreadable presets are skipped.
pub fn select_preset(
    reader: &mut StoreReader<'_>,
    session: &Session,
    names: &[String],
) -> Result<PresetSelection, StoreError> {
    if let Some(id) = session.preset {
        let kept = reader.preset(session.owner, id)?;
        if let Some((preset, kept)) = kept.and_then(|kept| Some((parse_preset(&kept)?.ok()?, id_and_name(&kept)))) {
            return Ok(PresetSelection { preset, reason: PresetReason { preset_name: Some(kept), model: None } });
        }
    }
    // Closest match first; among equal matches the oldest preset.
    let fitting = reader.presets_for_models(session.owner)?;
    let mut close: Vec<_> = fitting
        .iter()
        .filter_map(|(id, models)| {
            let (closeness, pattern) = best_match(models, names)?;
            Some((closeness, *id, pattern.to_owned()))
        })
        .collect();
    close.sort_by(|(one, ..), (other, ..)| other.cmp(one));
    for (_, id, model) in close {
        let kept = reader.preset(session.owner, id)?;
        if let Some((preset, kept)) = kept.and_then(|kept| Some((parse_preset(&kept)?.ok()?, id_and_name(&kept)))) {
            return Ok(PresetSelection {
                preset,
                reason: PresetReason { preset_name: Some(kept), model: Some(model) },
            });
        }
    }
    Ok(PresetSelection { preset: Preset::built_in(), reason: PresetReason::default() })
}

fn id_and_name(kept: &store::StoredPreset) -> (String, String) {
    let name = kept.card.get("name").and_then(Value::as_str).unwrap_or_default();
    (kept.id.to_string(), name.to_owned())
}
