//! Errors and warnings of scripts as JSON.

use clotho_plugin::{LoadedPlugin, ScriptError};
use serde_json::Value;

/// Returns a plugin error as JSON.
pub(super) fn script_error_json(error: &ScriptError) -> Option<Value> {
    serde_json::to_value(error).ok()
}

/// The warnings about a plugin.
pub(super) fn warnings(loaded: &LoadedPlugin) -> Vec<Value> {
    loaded.warnings().iter().filter_map(script_error_json).collect()
}
