//! What a running call has to know of its plugin. Everything else of a plugin knows this; it knows nothing of them.

use std::sync::Arc;

use super::manifest::Manifest;
use super::regexes::RegexCache;
use super::script::ScriptFiles;

/// A plugin's manifest, its script files, and its compiled patterns.
pub(super) struct PluginRuntime {
    pub(super) manifest: Arc<Manifest>,
    pub(super) scripts: ScriptFiles,
    pub(super) regexes: RegexCache,
}
