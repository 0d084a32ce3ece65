//! The parts of a plugin that a running call needs. Other modules of a plugin depend on this one, and it depends on
//! none of them.

use std::sync::Arc;

use super::manifest::Manifest;
use super::regexes::RegexCache;
use super::script::ScriptFiles;

/// A plugin's manifest, script files and compiled patterns.
pub(super) struct PluginRuntime {
    pub(super) manifest: Arc<Manifest>,
    pub(super) scripts: ScriptFiles,
    pub(super) regexes: RegexCache,
}
