//! What an import does not apply without the consent of the new owner: settings that may cost money, grant permissions
//! or run scripts. They wait in the session for an answer (`clotho_core::tree::RequestedSettings`).

use serde_json::Value;

use clotho_core::oplog::Effect;
use clotho_core::tree::requested_settings::WITHHELD_SETTINGS;
use clotho_store::archive::{ArchiveLine, OperationLine, SessionLine};

/// Returns whether a card, as stored, has regex scripts.
pub(super) fn has_card_scripts(card: &str) -> bool {
    let card: Value = serde_json::from_str(card).unwrap_or_default();
    is_filled_list(card.pointer("/metadata/extensions/regex_scripts"))
}

/// Returns whether the preset that comes with a session has regex scripts.
pub(super) fn has_preset_scripts(session: &SessionLine) -> bool {
    let Some(preset) = &session.preset_kept else { return false };
    let body: Value = serde_json::from_str(preset.body.get()).unwrap_or_default();
    is_filled_list(body.pointer("/extensions/regex_scripts"))
}

fn is_filled_list(value: Option<&Value>) -> bool {
    value.and_then(Value::as_array).is_some_and(|list| !list.is_empty())
}

/// Removes the changes of withheld settings from the log, so that an undo cannot bring them back.
///
/// # Errors
/// Returns an error if the effects are no list. Nothing unread passes.
pub(super) fn withhold_in_log(line: ArchiveLine) -> serde_json::Result<ArchiveLine> {
    let ArchiveLine::Operation(operation) = line else { return Ok(line) };
    let effects: Vec<Value> = serde_json::from_str(operation.effects.get())?;
    let is_withheld = |effect: &Value| {
        let Some(Effect::Setting { name, .. }) = Effect::from_json(effect) else { return false };
        WITHHELD_SETTINGS.contains(&name.as_str())
    };
    if !effects.iter().any(is_withheld) {
        return Ok(ArchiveLine::Operation(operation));
    }
    let kept: Vec<&Value> = effects.iter().filter(|effect| !is_withheld(effect)).collect();
    let effects = serde_json::value::to_raw_value(&kept)?;
    Ok(ArchiveLine::Operation(Box::new(OperationLine { effects, ..*operation })))
}
