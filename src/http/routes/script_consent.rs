//! Consent for the regex scripts of imported cards and presets.

use serde_json::Value;

use super::AppData;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::wire::script_consent::ScriptAnswer;
use clotho_core::tree::ScriptConsent;
use clotho_store::{Tx, WriteError};

/// Returns whether scripts of the caller may run.
///
/// # Errors
/// Returns an error if the database fails.
pub async fn read(app: &AppData, caller: Caller, scripts: Option<Value>) -> Result<ScriptConsent, ApiError> {
    let read = move |reader: &mut clotho_store::StoreReader<'_>| Ok(reader.script_consent(caller.0, scripts.as_ref())?);
    app.store.read::<_, ApiError, _>(read).await
}

/// Stores what a change of a card or preset means for its scripts. Changed scripts keep the consent of those before,
/// and the answer of the request applies to the new ones.
///
/// # Errors
/// Returns an error if the database fails.
pub fn write_change(
    tx: &mut Tx<'_>,
    caller: Caller,
    before: Option<&Value>,
    after: Option<&Value>,
    answer: ScriptAnswer,
) -> Result<(), WriteError> {
    tx.carry_script_consent(caller.0, before, after)?;
    match answer.is_allowed {
        Some(is_allowed) => tx.answer_for_scripts(caller.0, after, is_allowed)?,
        None if answer.ends_question => tx.decline_asked_scripts(caller.0, after)?,
        None => return Ok(()),
    }
    tx.apply_script_answers(caller.0)
}
