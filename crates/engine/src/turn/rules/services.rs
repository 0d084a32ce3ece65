//! What runs the rules of sessions.

use std::sync::Arc;

use clotho_plugin::InstalledPlugins;

use super::hooks::HookRunner;
use crate::turn::display_cache::DisplayCache;

/// What runs the rules of sessions: the plugins, and the runs of their hooks.
pub(crate) struct RuleServices {
    pub catalogue: Arc<InstalledPlugins>,
    pub hooks: HookRunner,
    /// Recent `on_display` results.
    pub shown: DisplayCache,
    /// Tags whose blocks plugins do not see.
    pub hide_tags: Vec<String>,
}
