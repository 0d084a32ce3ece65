//! The rules that a card carries: what they are, beside what is installed.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::script_errors::script_error_json;
use super::server_info::{PermissionResponse, permissions};
use clotho_plugin::{LoadedPlugin, PluginSource, ScriptError};

/// The plugin that a card carries. Nothing of it runs before it is taken in.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EmbeddedPluginResponse {
    /// The plugin's id; null if the card carries none, or one that cannot be read.
    pub id: Option<String>,
    /// Its name for people, in their language.
    pub title: String,
    /// What it does, in their language.
    pub description: String,
    /// Its version.
    pub version: Option<String>,
    /// The hash of its code: taking it in names it, so that nobody takes in what he has not seen.
    pub code_hash: Option<String>,
    /// `none`: the card carries no rules; `broken`: they cannot run, `error` says why; `new`: no plugin of this id is installed;
    /// `same`: it is, to the letter; `newer`, `older`, `other`: it is, with another version or, under the same version, another code;
    /// `bundled`: the id belongs to a plugin inside the program, whose place no card takes.
    pub state: &'static str,
    /// The version of the plugin that is installed under this id.
    pub installed_version: Option<String>,
    /// The hash of its code.
    pub installed_hash: Option<String>,
    /// Why it cannot run.
    #[schema(value_type = Option<Object>)]
    pub error: Option<Value>,
    /// What is probably a mistake, though it runs.
    #[schema(value_type = Vec<Object>)]
    pub warnings: Vec<Value>,
    /// What it asks for, to be shown before it is taken in.
    pub permissions: Vec<PermissionResponse>,
    /// What it asks for that the installed one does not.
    pub asks_more: Vec<String>,
    /// Its files beside the installed ones, in the order of their paths.
    pub files: Vec<EmbeddedPluginFile>,
}

/// One file of two plugins.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CardRulesFile)]
pub struct EmbeddedPluginFile {
    /// Its path inside the plugin.
    pub path: String,
    /// `same`, `added`, `changed` or `removed`.
    pub change: &'static str,
    /// Its text in the installed plugin; null if there is none, if it is no text, or if it is the same.
    pub before: Option<String>,
    /// Its text in the card; null if there is none.
    pub after: Option<String>,
}

/// Which plugin a card is to carry.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EmbedPluginRequest {
    /// The id of an installed plugin.
    pub plugin: String,
}

/// What is taken in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = CardRulesAccept)]
pub struct InstallEmbeddedPluginRequest {
    /// The hash of the code as it was seen in the card.
    pub code_hash: String,
    /// The hash of the installed code as it was seen beside it; left out if there was none.
    #[serde(default)]
    pub installed_hash: Option<String>,
}

impl EmbeddedPluginResponse {
    /// A card without rules.
    pub fn not_embedded() -> Self {
        Self { state: "none", ..Self::default() }
    }

    /// Rules that are no plugin at all.
    pub fn malformed(message: String) -> Self {
        let error = serde_json::json!({"kind": "manifest", "message": message});
        Self { state: "broken", error: Some(error), ..Self::default() }
    }

    /// Rules beside what is installed under their id.
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
