//! The plugin embedded in a card, compared with the installed one.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::records::{HookErrorSchema, ScriptErrorSchema};
use super::script_errors::script_error_json;
use super::server_info::{PermissionResponse, permissions};
use super::string_enums::{EmbeddedPluginStateEnum, FileChangeEnum};
use clotho_plugin::{LoadedPlugin, PluginSource, ScriptError};

/// The plugin embedded in a card. Nothing of it runs before it is installed.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EmbeddedPluginResponse {
    /// Id of the plugin; null if the card has none, or an unreadable one.
    #[schema(required)]
    pub id: Option<String>,
    /// Display name, in the reader's language.
    pub title: String,
    /// What the plugin does, in the reader's language.
    pub description: String,
    /// Version of the embedded plugin.
    #[schema(required)]
    pub version: Option<String>,
    /// Hash of the code. Installing must name it, so that nobody installs code they have not seen.
    #[schema(required)]
    pub code_hash: Option<String>,
    /// `none`: no plugin in the card. `broken`: it cannot run, see `error`. `new`: no plugin of this id is installed.
    /// `same`: the installed code is identical. `newer`, `older`, `other`: another version is installed, or other code
    /// of the same version. `bundled`: the id belongs to a bundled plugin, which a card cannot replace.
    #[schema(value_type = EmbeddedPluginStateEnum)]
    pub state: &'static str,
    /// Version of the installed plugin with this id.
    #[schema(required)]
    pub installed_version: Option<String>,
    /// Hash of the installed code.
    #[schema(required)]
    pub installed_hash: Option<String>,
    /// Why the embedded plugin cannot run; null otherwise.
    #[schema(required, value_type = Option<HookErrorSchema>)]
    pub error: Option<Value>,
    /// Probable mistakes that do not prevent it from running.
    #[schema(value_type = Vec<ScriptErrorSchema>)]
    pub warnings: Vec<Value>,
    /// Requested permissions, to be shown before installing.
    pub permissions: Vec<PermissionResponse>,
    /// Requested permissions that the installed plugin does not request.
    pub asks_more: Vec<String>,
    /// All files compared with the installed ones, sorted by path.
    pub files: Vec<EmbeddedPluginFile>,
}

/// One file, embedded and installed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CardRulesFile)]
pub struct EmbeddedPluginFile {
    /// Path inside the plugin.
    pub path: String,
    /// `same`, `added`, `changed` or `removed`.
    #[schema(value_type = FileChangeEnum)]
    pub change: &'static str,
    /// Installed text; null if there is none, if it is not text, or if it is the same.
    #[schema(required)]
    pub before: Option<String>,
    /// Embedded text; null if there is none.
    #[schema(required)]
    pub after: Option<String>,
}

/// The plugin to embed in a card.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EmbedPluginRequest {
    /// Id of an installed plugin.
    pub plugin: String,
}

/// The code to install, as the caller saw it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = CardRulesAccept)]
pub struct InstallEmbeddedPluginRequest {
    /// Hash of the embedded code.
    pub code_hash: String,
    /// Hash of the installed code; absent if no plugin was installed.
    #[serde(default)]
    pub installed_hash: Option<String>,
}

impl EmbeddedPluginResponse {
    /// Returns the response for a card without a plugin.
    pub fn not_embedded() -> Self {
        Self { state: "none", ..Self::default() }
    }

    /// Returns the response for a plugin that cannot be parsed.
    pub fn malformed(message: String) -> Self {
        let error = serde_json::json!({"kind": "manifest", "message": message});
        Self { state: "broken", error: Some(error), ..Self::default() }
    }

    /// Compares the embedded plugin with the installed one.
    pub fn new(
        source: &PluginSource,
        loaded: &Result<LoadedPlugin, Box<ScriptError>>,
        installed: Option<&LoadedPlugin>,
        language: &str,
    ) -> Self {
        let files = files(source, installed.map(LoadedPlugin::source));
        let beside = Self {
            id: Some(source.name.clone()),
            installed_version: installed.map(|installed| installed.manifest().version.to_string()),
            installed_hash: installed.map(|installed| installed.code_hash().to_owned()),
            files,
            ..Self::default()
        };
        let loaded = match loaded {
            Ok(loaded) => loaded,
            Err(error) => return Self { state: "broken", error: script_error_json(error), ..beside },
        };
        let manifest = loaded.manifest();
        let had = installed.map(|installed| &installed.manifest().permissions);
        let is_more = |permission: &&clotho_plugin::Permission| had.is_some_and(|had| !had.contains(permission));
        Self {
            title: manifest.title.get(language).to_owned(),
            description: manifest.description.get(language).to_owned(),
            version: Some(manifest.version.to_string()),
            code_hash: Some(loaded.code_hash().to_owned()),
            state: state(loaded, installed),
            warnings: loaded.warnings().iter().filter_map(script_error_json).collect(),
            permissions: permissions(manifest, language),
            asks_more: manifest.permissions.iter().filter(is_more).map(ToString::to_string).collect(),
            ..beside
        }
    }
}

fn state(loaded: &LoadedPlugin, installed: Option<&LoadedPlugin>) -> &'static str {
    let Some(installed) = installed else { return "new" };
    if installed.origin() == clotho_plugin::PluginOrigin::Bundled {
        return "bundled";
    }
    if installed.code_hash() == loaded.code_hash() {
        return "same";
    }
    let (carried, there) = (&loaded.manifest().version, &installed.manifest().version);
    match (carried > there, carried < there) {
        (true, _) => "newer",
        (_, true) => "older",
        _ => "other",
    }
}

fn files(carried: &PluginSource, installed: Option<&PluginSource>) -> Vec<EmbeddedPluginFile> {
    let nothing = std::collections::BTreeMap::new();
    let installed = installed.map_or(&nothing, |installed| &installed.files);
    let paths: std::collections::BTreeSet<&String> = carried.files.keys().chain(installed.keys()).collect();
    let text = |bytes: &bytes::Bytes| String::from_utf8(bytes.to_vec()).ok();
    let one = |path: &String| {
        let (before, after) = (installed.get(path), carried.files.get(path));
        let change = match (before, after) {
            (Some(before), Some(after)) if before == after => "same",
            (Some(_), Some(_)) => "changed",
            (None, _) => "added",
            (Some(_), None) => "removed",
        };
        let before = before.filter(|_| change != "same").and_then(text);
        EmbeddedPluginFile { path: path.clone(), change, before, after: after.and_then(text) }
    };
    paths.into_iter().map(one).collect()
}
