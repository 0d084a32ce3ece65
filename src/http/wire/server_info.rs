//! What the server itself offers: the caller, plugins, models, commands, how it is.

use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::ids::{WireDeviceId, WireUserId};
use clotho_core::world::StateOperation;
use clotho_plugin::manifest_rules::{ManifestRule, RuleTrigger};
use clotho_plugin::{CatalogueEntry, LoadedPlugin, Manifest, Permission, PluginOrigin, PluginSettingSpec, SettingKind};

/// Who is calling.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MeResponse {
    /// The user.
    pub user: UserResponse,
    /// `local` or `accounts`.
    pub mode: &'static str,
    /// What a browser's writes carry as `X-CSRF-Token`.
    pub csrf: String,
    /// Whether this server lets parts of a tree be taken out, moved, copied, summarised and merged.
    pub may_rearrange: bool,
    /// Whether this server lets paired devices of the house in.
    pub serves_house: bool,
    /// The paired device that asks; null at the machine itself.
    pub device_id: Option<WireDeviceId>,
}

/// A user of this server.
#[derive(Debug, Serialize, ToSchema)]
pub struct UserResponse {
    /// Its id.
    pub id: WireUserId,
    /// The name.
    pub name: String,
    /// `owner`, `admin` or `user`.
    pub role: String,
}

/// A plugin in a list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginSummaryResponse {
    /// Its id.
    pub id: String,
    /// Its name for people, in their language.
    pub title: String,
    /// What it does, in their language.
    pub description: String,
    /// Its version; null while it cannot be read.
    pub version: Option<String>,
    /// `bundled` or `folder`.
    pub origin: &'static str,
    /// Whether it can run.
    pub is_ok: bool,
    /// Why it cannot run; beside `isOk`, why what lies in its folder by now cannot, while what lay there before goes on.
    #[schema(value_type = Option<Object>)]
    pub error: Option<Value>,
    /// What is probably a mistake, though it runs.
    #[schema(value_type = Vec<Object>)]
    pub warnings: Vec<Value>,
    /// The hooks it defines.
    pub hooks: Vec<&'static str>,
    /// Whether it can be a model: `plugin:<id>`.
    pub narrates: bool,
    /// What it asks for, to be shown before it is switched on.
    pub permissions: Vec<PermissionResponse>,
}

/// One thing that a plugin asks for.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Permission)]
pub struct PermissionResponse {
    /// The word for it, as in `grants`.
    pub name: String,
    /// What it allows, in the reader's language.
    pub words: String,
}

/// A plugin with everything about it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginResponse {
    /// The same as in lists.
    #[serde(flatten)]
    pub info: PluginSummaryResponse,
    /// Who it is, what it asks for, what it needs; null while it cannot be read.
    #[schema(value_type = Option<Object>)]
    pub manifest: Option<Value>,
    /// What can be set, as a form.
    pub config: Vec<PluginConfigField>,
    /// The schema of its state.
    #[schema(value_type = Option<Object>)]
    pub schema: Option<Value>,
    /// The hash of its code.
    pub code_hash: Option<String>,
    /// Its files, by path.
    pub files: Vec<String>,
}

/// One setting of a plugin.
#[derive(Debug, Serialize, ToSchema)]
pub struct PluginConfigField {
    /// Its name in `config`.
    pub name: String,
    /// `integer`, `number`, `boolean`, `text` or `list`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The value when nobody sets it.
    pub default: Value,
    /// Its name for people.
    pub label: String,
    /// More about it.
    pub help: String,
    /// The least.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub min: Option<Value>,
    /// The most.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub max: Option<Value>,
    /// The choices of a text; none = any text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
}

/// A slash command.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Command)]
pub struct SlashCommandResponse {
    /// The plugin that knows it.
    pub plugin: String,
    /// The word after the slash.
    pub name: String,
    /// Other words for it.
    pub aliases: Vec<String>,
    /// How its arguments are written.
    pub args: String,
    /// What it does.
    pub help: String,
}

/// A model that can be asked.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelResponse {
    /// Its name in requests: `provider/model`, `plugin:<id>`, or a name of the settings that stands for models.
    pub id: String,
    /// The provider; `plugin` for plugins that narrate, `models` for names of the settings.
    pub provider: String,
    /// Its name for people.
    pub name: String,
    /// Tokens of prompt and reply together, where known.
    pub context_length: Option<u64>,
    /// The price of one token of the prompt, in the provider's currency, where known.
    pub prompt_price: Option<f64>,
    /// The price of one token of the reply, where known.
    pub completion_price: Option<f64>,
    /// Whether sessions that name no model use it.
    pub is_default: bool,
    /// The models that a name of the settings stands for, the preferred one first; empty for a model itself.
    pub stands_for: Vec<String>,
    /// How it is told of tools: `native`, `words` or `none`; null where no server is asked or several may be.
    pub tools: Option<&'static str>,
    /// Why it cannot be used; null = it can.
    pub unusable: Option<String>,
}

/// The models that can be asked.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelsResponse {
    /// The models.
    pub items: Vec<ModelResponse>,
    /// Always null: there is one page.
    pub next: Option<String>,
    /// The model of sessions that name none.
    pub default_model: String,
    /// Providers that could not be asked for their list, and why.
    pub problems: Vec<ProviderProblem>,
}

/// A provider that could not be asked.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProviderProblem {
    /// The provider.
    pub provider: String,
    /// A stable word.
    pub code: String,
    /// One sentence.
    pub message: String,
}

/// How the server is.
#[derive(Debug, Serialize, ToSchema)]
pub struct HealthResponse {
    /// `ok`, or `degraded` where something does not work.
    pub status: &'static str,
    /// The version.
    pub version: &'static str,
    /// The parts by name, each `ok` or what is wrong with it.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub parts: Map<String, Value>,
}

impl PluginSummaryResponse {
    /// A plugin as the catalogue has it, in a reader's language.
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
            narrates: loaded.is_some_and(|loaded| loaded.has(clotho_plugin::Hook::Narrate)),
            permissions: manifest.map(|manifest| permissions(manifest, language)).unwrap_or_default(),
        }
    }
}

impl PluginResponse {
    /// A plugin with everything about it, in a reader's language; `files`: what lies in its folder.
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

/// What a plugin asks for, in words.
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
        "after": manifest.after,
        "languages": manifest.languages,
        "permissions": manifest.permissions.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "state": {"root": manifest.state.root.to_string(), "version": manifest.state.version},
        "commands": commands(manifest, language).iter().map(|one| json!(one)).collect::<Vec<_>>(),
        "tools": manifest.tools.iter().map(|tool| json!({"name": tool.name, "description": tool.description}))
            .collect::<Vec<_>>(),
        "rules": manifest.rules.iter().map(|rule| rule_json(rule, language)).collect::<Vec<_>>(),
    })
}

/// A rule of the manifest: what it waits for as it is written there, and what it does.
fn rule_json(rule: &ManifestRule, language: &str) -> Value {
    let mut told = Map::new();
    told.insert("name".into(), json!(rule.name));
    match &rule.trigger {
        RuleTrigger::Every { n, of } => {
            told.insert("every".into(), json!(n));
            told.insert("of".into(), json!(of));
        }
        RuleTrigger::Crosses(wanted) => _ = told.insert("when".into(), json!(wanted.text)),
        RuleTrigger::Changes { text, .. } => _ = told.insert("on".into(), json!(text)),
    }
    told.insert("if".into(), json!(rule.guard.as_ref().map(|guard| &guard.text)));
    told.insert("once".into(), json!(rule.once));
    told.insert("cooldown".into(), json!(rule.cooldown));
    told.insert("do".into(), rule.effects.iter().map(StateOperation::to_json).collect());
    told.insert("note".into(), json!(rule.note.as_ref().map(|note| note.get(language))));
    Value::Object(told)
}

/// The commands of a plugin, in a reader's language.
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
