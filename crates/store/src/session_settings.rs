//! The settings of a session by name, as in the log and in exports.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use clotho_core::ids::{ConnectionProfileId, PresetId};
use clotho_core::oplog::Effect;
use clotho_core::tree::edit::TreeError;
use clotho_core::tree::limits;
use clotho_core::tree::{
    AllowedScripts, AuthorsNote, PersonaRef, RecallSettings, RequestedSettings, Session, SummarySettings,
};

use super::rows::{
    cards_from_text, cards_to_text, persona_from_text, persona_to_text, plugins_from_text, plugins_to_json,
};
use super::tree_writes::check_storable_text;

/// The settings that go along with a session when it is exported.
const EXPORTED_SETTINGS: [&str; 7] = ["title", "mode", "model", "params", "plugins", "scripts", "note"];

/// Returns the settings that are exported with a session.
pub fn exported_settings(session: &Session) -> Map<String, Value> {
    EXPORTED_SETTINGS.iter().map(|name| ((*name).to_owned(), setting_value(session, name))).collect()
}

/// Applies imported settings to a session; invalid ones are skipped.
pub fn apply_settings(session: &mut Session, settings: &Map<String, Value>) {
    for (name, to) in settings.iter().filter(|(name, to)| check_setting(name, to).is_ok()) {
        match (name.as_str(), to) {
            ("title", Value::String(title)) => session.title.clone_from(title),
            ("mode", Value::String(mode)) => session.mode.clone_from(mode),
            ("model", model) => session.model = model.as_str().map(str::to_owned),
            ("params", Value::Object(params)) => session.params.clone_from(params),
            ("preset", preset) => session.preset = preset.as_str().and_then(|id| id.parse().ok()),
            ("scripts", scripts) => session.scripts = AllowedScripts::deserialize(scripts).unwrap_or_default(),
            ("note", note) => session.note = AuthorsNote::from_json(note),
            ("plugins", plugins) => session.plugins = plugins_from_text(&plugins.to_string()).unwrap_or_default(),
            _ => {}
        }
    }
}

/// Returns a setting of a session as the log stores it.
pub fn setting_value(session: &Session, name: &str) -> Value {
    let json = |text: String| serde_json::from_str(&text).unwrap_or_default();
    match name {
        "title" => session.title.clone().into(),
        "mode" => session.mode.clone().into(),
        "model" => session.model.clone().into(),
        "valuesModel" => session.values_model.clone().into(),
        "params" => session.params.clone().into(),
        "plugins" => plugins_to_json(&session.plugins),
        "scripts" => json!(session.scripts),
        "preset" => session.preset.map_or(Value::Null, |id| id.to_string().into()),
        "profile" => session.profile.map_or(Value::Null, |id| id.to_string().into()),
        "recall" if session.recall == RecallSettings::default() => Value::Null,
        "recall" => session.recall.to_json(),
        "note" => session.note.as_ref().map_or(Value::Null, AuthorsNote::to_json),
        "summaries" if session.summaries == SummarySettings::default() => Value::Null,
        "summaries" => session.summaries.to_json(),
        "requested" => session.requested.to_json(),
        "cards" => json(cards_to_text(&session.cards)),
        "folder" => session.folder.clone().into(),
        "tags" => session.tags.as_slice().into(),
        "isPinned" => session.is_pinned.into(),
        "persona" => session.persona.as_ref().map_or(Value::Null, |p: &PersonaRef| json(persona_to_text(p))),
        _ => Value::Null,
    }
}

/// Settings that only arrange the list of sessions. They do not change when a session was last played.
const LIST_SETTINGS: [&str; 3] = ["folder", "tags", "isPinned"];

/// Returns whether settings only arrange the list of sessions.
pub fn are_list_settings(settings: &[(String, Value)]) -> bool {
    settings.iter().all(|(name, _)| LIST_SETTINGS.contains(&name.as_str()))
}

/// Returns whether effects only arrange the list of sessions.
pub fn are_list_effects(effects: &[Effect]) -> bool {
    let is_of_list =
        |effect: &Effect| matches!(effect, Effect::Setting { name, .. } if LIST_SETTINGS.contains(&name.as_str()));
    !effects.is_empty() && effects.iter().all(is_of_list)
}

/// Reads a list of tags; `None` if it is no list of strings.
pub fn tags_from_json(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|tag| tag.as_str().map(str::to_owned)).collect()
}

fn is_preset_text(text: &str) -> bool {
    text.parse::<PresetId>().is_ok()
}

/// Returns whether a text is the list of a session's cards, each in one version.
fn is_card_list(text: &str) -> bool {
    cards_from_text(text).is_some_and(|cards| {
        let hashes = cards.iter().all(|card| blake3::Hash::from_hex(&card.hash).is_ok());
        hashes && !cards.is_empty() && cards.len() <= limits::MAX_CHARACTERS
    })
}

fn is_profile_text(text: &str) -> bool {
    text.parse::<ConnectionProfileId>().is_ok()
}

/// Checks that a session with this setting could be read back. A value of the wrong shape would make the session
/// permanently unreadable.
pub fn check_setting(name: &str, to: &Value) -> Result<(), TreeError> {
    let json = to.to_string();
    let (field, fits, expected) = match name {
        "title" => ("title", to.is_string(), "a string"),
        "mode" => ("mode", matches!(to.as_str(), Some("tree" | "linear")), "\"tree\" or \"linear\""),
        "model" => ("model", to.is_string() || to.is_null(), "a string or null"),
        "valuesModel" => ("valuesModel", to.is_string() || to.is_null(), "a string or null"),
        "params" => ("params", to.is_object(), "an object"),
        "plugins" => {
            ("plugins", plugins_from_text(&json).is_some(), "a list of {id, enabled, config, grants, refused}")
        }
        "scripts" => ("scripts", AllowedScripts::deserialize(to).is_ok(), "{card, preset}, each true or false"),
        "preset" => ("preset", to.is_null() || to.as_str().is_some_and(is_preset_text), "an id or null"),
        "profile" => ("profileId", to.is_null() || to.as_str().is_some_and(is_profile_text), "an id or null"),
        "recall" => ("recall", RecallSettings::from_json(to).is_some(), "{enabled, collections} or null"),
        "note" => ("authorsNote", to.is_null() || AuthorsNote::from_json(to).is_some(), "a note or null"),
        "summaries" => ("summaries", SummarySettings::from_json(to).is_some(), "{enabled, every, model} or null"),
        "requested" => {
            ("requestedSettings", RequestedSettings::from_json(to).is_some(), "an object of settings or null")
        }
        "folder" => ("folder", to.is_string() || to.is_null(), "a string or null"),
        "tags" => ("tags", tags_from_json(to).is_some(), "a list of strings"),
        "isPinned" => ("isPinned", to.is_boolean(), "true or false"),
        "persona" => ("persona", to.is_null() || persona_from_text(&json).is_some(), "[id, hash] or null"),
        "cards" => ("cards", is_card_list(&json), "a list of [id, hash]"),
        other => {
            let message = format!("a session has no setting \"{other}\"");
            return Err(TreeError::Invalid { field: "settings", message });
        }
    };
    if !fits {
        return Err(TreeError::Invalid { field, message: format!("expected {expected}") });
    }
    let text = to.as_str().unwrap_or_default();
    match name {
        "title" => limits::check_title(text)?,
        "model" | "valuesModel" if to.is_string() => limits::check_model(text)?,
        "plugins" => limits::check_plugin_count(to.as_array().map_or(0, Vec::len))?,
        "folder" if to.is_string() => limits::check_folder(text)?,
        "tags" => limits::check_tags(&tags_from_json(to).unwrap_or_default())?,
        _ => {}
    }
    check_storable_text(field, text)
}
