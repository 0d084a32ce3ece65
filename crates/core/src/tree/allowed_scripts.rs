//! Which regex scripts of a session may run. Plain data.

use serde::{Deserialize, Serialize};

/// Which third-party regex scripts may change sent and shown text. The user's own scripts always may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllowedScripts {
    /// Scripts of the speaking character's card.
    pub card: bool,
    /// Scripts of the preset.
    pub preset: bool,
}

impl Default for AllowedScripts {
    /// Allows both. Scripts of an imported card that its owner has not allowed are turned off when a session begins
    /// (`Session::apply_script_consents`); those of a preset are checked when they run.
    fn default() -> Self {
        Self { card: true, preset: true }
    }
}
