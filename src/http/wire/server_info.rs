//! Information about the server: the caller, plugins, models, commands and health.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::ids::{WireDeviceId, WireUserId};
use super::records::{CodedMessageSchema, ScriptErrorSchema};
use super::string_enums::{PluginOriginEnum, SettingKindEnum, ToolModeEnum};
use crate::http::json_schema::{AnyJson, JsonMap, OtherFields};
use clotho_core::coded_message::{CodedMessage, MessageArgs, RenderedMessage};
use clotho_core::world::StateOperation;
use clotho_engine::turn::ProviderProblemDetail;
use clotho_plugin::manifest_rules::{ManifestRule, RuleTrigger};
use clotho_plugin::{CatalogueEntry, LoadedPlugin, Manifest, Permission, PluginOrigin, PluginSettingSpec, SettingKind};
use clotho_provider::ProviderFailure;

/// The caller.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MeResponse {
    /// The user of the request.
    pub user: UserResponse,
    /// `local` or `accounts`.
    pub mode: &'static str,
    /// Token that browsers send as `X-CSRF-Token` with writes.
    pub csrf: String,
    /// Whether this server allows moving, copying, pruning, summarising and merging parts of a tree.
    pub may_rearrange: bool,
    /// Whether this server accepts paired devices of the local network.
    pub serves_house: bool,
    /// Paired device of the caller; null on the machine itself.
    #[schema(required)]
    pub device_id: Option<WireDeviceId>,
}

/// A user of this server.
#[derive(Debug, Serialize, ToSchema)]
pub struct UserResponse {
    /// Id of the user.
    pub id: WireUserId,
    /// Display name.
    pub name: String,
    /// `owner`, `admin` or `user`.
    pub role: String,
}

/// A plugin in a list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginSummaryResponse {
    /// Id of the plugin.
    pub id: String,
    /// Display name, in the reader's language.
    pub title: String,
    /// What the plugin does, in the reader's language.
    pub description: String,
    /// Version; null if the plugin cannot be read.
    #[schema(required)]
    pub version: Option<String>,
    /// `bundled` or `folder`.
    #[schema(value_type = PluginOriginEnum)]
    pub origin: &'static str,
    /// Whether the plugin can run.
    pub is_ok: bool,
    /// Why it cannot run. With `isOk`: why the current files cannot be loaded, while the previous code stays active.
    #[schema(required, value_type = Option<ScriptErrorSchema>)]
    pub error: Option<Value>,
    /// Probable mistakes that do not prevent it from running.
    #[schema(value_type = Vec<ScriptErrorSchema>)]
    pub warnings: Vec<Value>,
    /// The hooks that the plugin defines.
    pub hooks: Vec<&'static str>,
    /// Whether it can be used as the model `plugin:<id>`.
    pub narrates: bool,
    /// Requested permissions, to be shown before it is enabled.
    pub permissions: Vec<PermissionResponse>,
}

/// One requested permission.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Permission)]
pub struct PermissionResponse {
    /// Name of the permission, as in `grants`.
    pub name: String,
    /// What it allows, in the reader's language.
    pub words: String,
}

/// A plugin with all details.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginResponse {
    /// The fields of the list entry.
    #[serde(flatten)]
    pub info: PluginSummaryResponse,
    /// Identity, permissions and requirements; null if the plugin cannot be read.
    #[schema(required, value_type = Option<PluginManifestSchema>)]
    pub manifest: Option<Value>,
    /// Settings of the plugin, as a form.
    pub config: Vec<PluginConfigField>,
    /// Schema of the plugin's state.
    #[schema(required, value_type = Option<JsonMap>)]
    pub schema: Option<Value>,
    /// Hash of the active code.
    #[schema(required)]
    pub code_hash: Option<String>,
    /// Paths of the plugin's files.
    pub files: Vec<String>,
}

/// One setting of a plugin.
#[derive(Debug, Serialize, ToSchema)]
pub struct PluginConfigField {
    /// Key in `config`.
    pub name: String,
    /// `integer`, `number`, `boolean`, `text` or `list`.
    #[serde(rename = "type")]
    #[schema(value_type = SettingKindEnum)]
    pub kind: &'static str,
    /// Default value.
    #[schema(value_type = AnyJson)]
    pub default: Value,
    /// Display name, in the reader's language.
    pub label: String,
    /// Help text, in the reader's language.
    pub help: String,
    /// Minimum value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = f64)]
    pub min: Option<Value>,
    /// Maximum value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = f64)]
    pub max: Option<Value>,
    /// Allowed values of a text; absent = any text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
}

/// The manifest of a plugin.
#[derive(Debug, ToSchema)]
#[schema(as = PluginManifest)]
pub struct PluginManifestSchema {
    /// Id of the plugin.
    pub id: String,
    /// Version of the plugin.
    pub version: String,
    /// Its authors.
    pub authors: Vec<String>,
    /// Its licence.
    pub license: String,
    /// Required plugins with their versions.
    pub requires: BTreeMap<String, String>,
    /// The state that it owns.
    pub state: PluginStateSchema,
    /// Its slash commands.
    pub commands: Vec<SlashCommandResponse>,
    /// Its tools for models.
    pub tools: Vec<PluginToolSchema>,
    /// Everything else: `conflicts`, `after`, `languages`, `permissions`, `rules`.
    #[serde(flatten)]
    pub rest: OtherFields,
}

/// The state that a plugin owns.
#[derive(Debug, ToSchema)]
#[schema(as = PluginState)]
pub struct PluginStateSchema {
    /// Root of the state, as a JSON Pointer from `vars`.
    pub root: String,
    /// Version of the state.
    pub version: u32,
}

/// A tool of a plugin.
#[derive(Debug, ToSchema)]
#[schema(as = PluginTool)]
pub struct PluginToolSchema {
    /// Name of the tool.
    pub name: String,
    /// Description for models.
    pub description: String,
}

/// A slash command.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Command)]
pub struct SlashCommandResponse {
    /// The plugin that implements the command.
    pub plugin: String,
    /// Name after the slash.
    pub name: String,
    /// Alternative names.
    pub aliases: Vec<String>,
    /// Syntax of the arguments.
    pub args: String,
    /// Help text, in the reader's language.
    pub help: String,
}

/// An available model.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelResponse {
    /// Model name in requests: `provider/model`, `plugin:<id>`, or an alias of the configuration.
    pub id: String,
    /// The provider; `plugin` for narrator plugins, `models` for aliases.
    pub provider: String,
    /// Display name.
    pub name: String,
    /// Context size in tokens, prompt and reply together; null if unknown.
    #[schema(required)]
    pub context_length: Option<u64>,
    /// Price per prompt token in the provider's currency; null if unknown.
    #[schema(required)]
    pub prompt_price: Option<f64>,
    /// Price per reply token in the provider's currency; null if unknown.
    #[schema(required)]
    pub completion_price: Option<f64>,
    /// Whether this is the default model.
    pub is_default: bool,
    /// Models behind an alias, preferred first; empty if this is no alias.
    pub stands_for: Vec<String>,
    /// How tools are offered to the model: `native`, `words` or `none`. Null if there is no server, or several may
    /// answer.
    #[schema(value_type = Option<ToolModeEnum>, required)]
    pub tools: Option<&'static str>,
    /// Why the model cannot be used; null if it can.
    #[schema(required)]
    pub unusable: Option<String>,
}

/// All available models.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelsResponse {
    /// The models of all providers.
    pub items: Vec<ModelResponse>,
    /// Always null; the list has one page.
    #[schema(required)]
    pub next: Option<String>,
    /// Model of sessions without a model of their own.
    pub default_model: String,
    /// Providers whose model list could not be read.
    pub problems: Vec<ProviderProblem>,
}

/// A provider whose model list could not be read.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProviderProblem {
    /// Id of the provider.
    pub provider: String,
    /// Stable error code.
    pub code: String,
    /// Arguments of the code: texts and numbers by name.
    #[schema(value_type = JsonMap)]
    pub args: MessageArgs,
    /// The error in one sentence.
    pub message: String,
}

impl ProviderProblem {
    /// Describes a provider that cannot be used, with the code and the arguments of the reason as arguments.
    pub fn unusable(provider: &str, reason: &ProviderProblemDetail) -> Self {
        let mut args = reason.args();
        args.insert("reason".to_owned(), reason.code().into());
        args.insert("words".to_owned(), reason.to_string().into());
        let code = "provider_misconfigured".to_owned();
        Self { provider: provider.to_owned(), code, args, message: reason.to_string() }
    }

    /// Describes a provider that could not list its models.
    pub fn unlisted(provider: &str, failure: &ProviderFailure) -> Self {
        let (code, message) = (failure.code().to_owned(), failure.to_string());
        Self { provider: provider.to_owned(), code, args: failure.args(), message }
    }

    /// Describes a provider that did not list its models in time.
    pub fn late(provider: &str, limit: Duration) -> Self {
        let seconds = limit.as_secs();
        Self {
            provider: provider.to_owned(),
            code: "provider_timeout".to_owned(),
            args: MessageArgs::from_iter([("seconds".to_owned(), seconds.into())]),
            message: format!("the model server did not list its models within {seconds} s"),
        }
    }
}

/// The health of the server.
#[derive(Debug, Serialize, ToSchema)]
pub struct HealthResponse {
    /// `ok`, or `degraded` if a part fails.
    pub status: &'static str,
    /// Version of the server.
    pub version: &'static str,
    /// Parts by name: `ok`, or what is wrong.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = JsonMap)]
    pub parts: Map<String, Value>,
    /// What is wrong with a part, by its name: a code with arguments, and the sentence.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, CodedMessageSchema>, required = false)]
    pub problems: BTreeMap<&'static str, RenderedMessage>,
}

impl PluginSummaryResponse {
    /// Describes a plugin of the catalogue in the reader's language.
    pub fn new(entry: &CatalogueEntry, language: &str) -> Self {
        let loaded = entry.state.as_ref().ok();
        let manifest = loaded.map(|loaded| loaded.manifest());
        let origin = match entry.origin {
            PluginOrigin::Bundled => "bundled",
            PluginOrigin::Folder => "folder",
        };
        let warnings = loaded.map(|loaded| loaded.warnings()).unwrap_or_default();
        Self {
            id: entry.name.clone(),
            title: manifest.map_or_else(|| entry.name.clone(), |manifest| manifest.title.get(language).to_owned()),
            description: manifest.map(|manifest| manifest.description.get(language).to_owned()).unwrap_or_default(),
            version: manifest.map(|manifest| manifest.version.to_string()),
            origin,
            is_ok: loaded.is_some(),
            error: entry.error().and_then(|error| serde_json::to_value(error).ok()),
            warnings: warnings.iter().filter_map(|warning| serde_json::to_value(warning).ok()).collect(),
            hooks: loaded.map(|loaded| loaded.hooks().map(clotho_plugin::Hook::name).collect()).unwrap_or_default(),
            narrates: loaded.is_some_and(|loaded| loaded.has_hook(clotho_plugin::Hook::Narrate)),
            permissions: manifest.map(|manifest| permissions(manifest, language)).unwrap_or_default(),
        }
    }
}

impl PluginResponse {
    /// Describes a plugin with all details in the reader's language; `files` are the paths in its folder.
    pub fn new(entry: &CatalogueEntry, files: Vec<String>, language: &str) -> Self {
        let loaded: Option<&LoadedPlugin> = entry.state.as_deref().ok();
        let manifest = loaded.map(LoadedPlugin::manifest);
        let fields = manifest.map(|manifest| manifest.config.as_slice()).unwrap_or_default();
        Self {
            info: PluginSummaryResponse::new(entry, language),
            manifest: manifest.map(|manifest| manifest_json(manifest, language)),
            config: fields.iter().map(|(name, setting)| PluginConfigField::new(name, setting, language)).collect(),
            schema: loaded.and_then(|loaded| loaded.schema()).map(|schema| schema.source().clone()),
            code_hash: loaded.map(|loaded| loaded.code_hash().to_owned()),
            files,
        }
    }
}

/// Describes the requested permissions in the reader's language.
pub(super) fn permissions(manifest: &Manifest, language: &str) -> Vec<PermissionResponse> {
    let info =
        |one: &Permission| PermissionResponse { name: one.to_string(), words: one.describe().get(language).to_owned() };
    manifest.permissions.iter().map(info).collect()
}

fn manifest_json(manifest: &Manifest, language: &str) -> Value {
    let requires: Map<String, Value> =
        manifest.requires.iter().map(|(id, needed)| (id.clone(), needed.to_string().into())).collect();
    json!({
        "id": manifest.id,
        "version": manifest.version.to_string(),
        "authors": manifest.authors,
        "license": manifest.license,
        "requires": requires,
        "conflicts": manifest.conflicts,
        "after": manifest.load_after,
        "languages": manifest.languages,
        "permissions": manifest.permissions.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "state": {"root": manifest.state.root.to_string(), "version": manifest.state.version},
        "commands": commands(manifest, language).iter().map(|one| json!(one)).collect::<Vec<_>>(),
        "tools": manifest.tools.iter().map(|tool| json!({"name": tool.name, "description": tool.description}))
            .collect::<Vec<_>>(),
        "rules": manifest.rules.iter().map(|rule| rule_json(rule, language)).collect::<Vec<_>>(),
    })
}

/// Returns a manifest rule as JSON: its trigger as written, and what it does.
fn rule_json(rule: &ManifestRule, language: &str) -> Value {
    let mut fields = Map::new();
    fields.insert("name".into(), json!(rule.name));
    match &rule.trigger {
        RuleTrigger::Every { n, of } => {
            fields.insert("every".into(), json!(n));
            fields.insert("of".into(), json!(of));
        }
        RuleTrigger::Crosses(wanted) => _ = fields.insert("when".into(), json!(wanted.text)),
        RuleTrigger::Changes { text, .. } => _ = fields.insert("on".into(), json!(text)),
    }
    fields.insert("if".into(), json!(rule.guard.as_ref().map(|guard| &guard.text)));
    fields.insert("once".into(), json!(rule.once));
    fields.insert("cooldown".into(), json!(rule.cooldown));
    fields.insert("do".into(), rule.effects.iter().map(StateOperation::to_json).collect());
    fields.insert("note".into(), json!(rule.note.as_ref().map(|note| note.get(language))));
    Value::Object(fields)
}

/// Returns the commands of a plugin in the reader's language.
pub fn commands(manifest: &Manifest, language: &str) -> Vec<SlashCommandResponse> {
    let info = |command: &clotho_plugin::PluginCommand| SlashCommandResponse {
        plugin: manifest.id.clone(),
        name: command.name.clone(),
        aliases: command.aliases.clone(),
        args: command.args.get(language).to_owned(),
        help: command.help.get(language).to_owned(),
    };
    manifest.commands.iter().map(info).collect()
}

impl PluginConfigField {
    fn new(name: &str, setting: &PluginSettingSpec, language: &str) -> Self {
        let (kind, min, max) = match &setting.kind {
            SettingKind::Integer { min, max } => ("integer", min.map(Value::from), max.map(Value::from)),
            SettingKind::Number { min, max } => ("number", min.map(Value::from), max.map(Value::from)),
            SettingKind::Boolean => ("boolean", None, None),
            SettingKind::Text { .. } => ("text", None, None),
            SettingKind::List => ("list", None, None),
        };
        let choices = match &setting.kind {
            SettingKind::Text { choices } => choices.clone(),
            _ => Vec::new(),
        };
        let label = setting.label.get(language);
        Self {
            name: name.to_owned(),
            kind,
            default: setting.default.clone(),
            label: if label.is_empty() { name.to_owned() } else { label.to_owned() },
            help: setting.help.get(language).to_owned(),
            min,
            max,
            choices,
        }
    }
}
