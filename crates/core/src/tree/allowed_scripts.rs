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
    /// Allows both: scripts only change texts, in bounded time, and playing a card already puts its texts into the
    /// prompt.
    fn default() -> Self {
        Self { card: true, preset: true }
    }
}
