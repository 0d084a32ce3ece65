//! Which regex scripts of a session may run. Plain data.

use serde::{Deserialize, Serialize};

use super::ScriptConsent;

/// Which third-party regex scripts may change sent and shown text. The user's own scripts always may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllowedScripts {
    /// Scripts of the speaking character's card.
    pub card: bool,
    /// Scripts of the preset.
    pub preset: bool,
}

impl AllowedScripts {
    /// Returns whether a session lets the scripts of its cards run, from the consent for each card. In a group it does if
    /// one of them may: those of the others are left out when they would run.
    pub fn of_cards(consents: &[ScriptConsent]) -> bool {
        let may_run = |consent: &ScriptConsent| *consent == ScriptConsent::Allowed;
        consents.iter().all(may_run) || (consents.len() > 1 && consents.iter().any(may_run))
    }
}

impl Default for AllowedScripts {
    /// Allows both. Scripts of an imported card that its owner has not allowed are turned off when a session begins
    /// (`Session::apply_script_consents`); those of a preset are checked when they run.
    fn default() -> Self {
        Self { card: true, preset: true }
    }
}
