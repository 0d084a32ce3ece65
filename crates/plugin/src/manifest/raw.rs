//! The manifest as deserialised, and its checks.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Value, json};
use toml::Spanned;

use super::{API_VERSION, Manifest, ManifestState, PluginCommand, PluginTool};
use crate::limits::ScriptLimits;
use crate::localized_text::LocalizedText;
use crate::manifest_rules::{self, ManifestRule, RawRule};
use crate::permission::{Permission, root_pointer};
use crate::settings::{PluginSettingSpec, RawSetting};
use crate::version::{Requirement, Version};
use clotho_core::world::Schema;

/// A fault and its place in the file.
pub(super) struct ManifestFault {
    pub(super) span: Option<Range<usize>>,
    pub(super) message: String,
}

fn fault<T>(at: &Spanned<T>, message: impl Into<String>) -> ManifestFault {
    ManifestFault { span: Some(at.span()), message: message.into() }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawManifest {
    id: Spanned<String>,
    title: LocalizedText,
    version: Spanned<String>,
    api: Spanned<String>,
    #[serde(default)]
    authors: Vec<String>,
    #[serde(default)]
    license: String,
    #[serde(default)]
    description: LocalizedText,
    entry: Option<Spanned<String>>,
    #[serde(default)]
    compat: RawCompat,
    #[serde(default)]
    requires: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    conflicts: Vec<String>,
    #[serde(default)]
    after: Vec<String>,
    #[serde(default)]
    state: RawState,
    #[serde(default)]
    config: IndexMap<String, Spanned<RawSetting>>,
    #[serde(default)]
    permissions: RawPermissions,
    #[serde(default)]
    tool: Vec<RawTool>,
    #[serde(default)]
    command: Vec<RawCommand>,
    #[serde(default)]
    rule: Vec<RawRule>,
    #[serde(default)]
    locales: RawLocales,
    #[serde(default)]
    limits: RawLimits,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCompat {
    min: Option<Spanned<String>>,
    tested: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawState {
    schema: Option<Spanned<String>>,
    version: Option<u32>,
    root: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPermissions {
    #[serde(default)]
    request: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTool {
    name: Spanned<String>,
    description: String,
    #[serde(default)]
    parameters: Option<Spanned<toml::Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCommand {
    name: Spanned<String>,
    #[serde(default)]
    aliases: Vec<Spanned<String>>,
    #[serde(default)]
    args: LocalizedText,
    #[serde(default)]
    help: LocalizedText,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLocales {
    default: Option<Spanned<String>>,
    #[serde(default)]
    languages: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLimits {
    operations: Option<Spanned<u64>>,
    deadline_ms: Option<Spanned<u64>>,
    heap_kb: Option<Spanned<u64>>,
}

/// Not allowed as an id, because another resource has this address among those of plugins.
const RESERVED_NAME: &str = "reference";

impl RawManifest {
    pub(super) fn check(self, server: &ScriptLimits) -> Result<Manifest, ManifestFault> {
        if self.api.get_ref() != API_VERSION {
            let given = self.api.get_ref();
            return Err(fault(&self.api, format!("this program supports api \"{API_VERSION}\", not \"{given}\"")));
        }
        if self.id.get_ref() == RESERVED_NAME {
            return Err(fault(
                &self.id,
                format!("\"{RESERVED_NAME}\" is the address of the script reference: choose another id"),
            ));
        }
        let id = name(self.id, "an id has lower-case letters, digits and \"-\", and begins with a letter")?;
        let min = self.compat.min.map(|min| minimum(&min)).transpose()?;
        let state = self.state.check(&id)?;
        let permissions: Vec<Permission> =
            self.permissions.request.into_iter().map(permission).collect::<Result<_, _>>()?;
        Ok(Manifest {
            title: self.title,
            version: version(&self.version)?,
            authors: self.authors,
            license: self.license,
            description: self.description,
            entry: self.entry.map_or_else(|| Ok("main.rhai".to_owned()), |entry| file(entry, ".rhai"))?,
            min,
            tested: self.compat.tested.map(|tested| version(&tested)).transpose()?,
            requires: self
                .requires
                .into_iter()
                .map(|(id, text)| Ok((id, requirement(&text)?)))
                .collect::<Result<_, ManifestFault>>()?,
            conflicts: self.conflicts,
            load_after: self.after,
            config: self
                .config
                .into_iter()
                .map(|(name, raw)| Ok((name, setting(raw)?)))
                .collect::<Result<_, ManifestFault>>()?,
            rules: rules(self.rule, &id, &state, &permissions)?,
            permissions,
            tools: self.tool.into_iter().map(RawTool::check).collect::<Result<_, _>>()?,
            commands: self.command.into_iter().map(RawCommand::check).collect::<Result<_, _>>()?,
            languages: self.locales.check()?,
            limits: self.limits.lower(server)?,
            state,
            id,
        })
    }
}

fn rules(
    raw: Vec<RawRule>,
    id: &str,
    state: &ManifestState,
    asks: &[Permission],
) -> Result<Vec<ManifestRule>, ManifestFault> {
    let owner = manifest_rules::RuleOwner { id, root: &state.root, requested: asks };
    manifest_rules::rules(raw, &owner).map_err(|(span, message)| ManifestFault { span: Some(span), message })
}

impl RawState {
    fn check(self, id: &str) -> Result<ManifestState, ManifestFault> {
        let root = match &self.root {
            None => root_pointer(id).unwrap_or_default(),
            Some(text) => root_pointer(text.get_ref())
                .ok_or_else(|| fault(text, "\"root\" must name a place in the state, like \"combat\""))?,
        };
        let schema = self.schema.map(|schema| file(schema, ".json")).transpose()?;
        Ok(ManifestState { root, schema, version: self.version.unwrap_or(1) })
    }
}

impl RawTool {
    fn check(self) -> Result<PluginTool, ManifestFault> {
        let none = || json!({"type": "object", "properties": {}});
        let parameters = match &self.parameters {
            None => Schema::parse(none()).map_err(|error| fault(&self.name, error.to_string()))?,
            Some(said) => {
                let wrong =
                    |why: &str| fault(said, format!("\"parameters\" must be a JSON Schema of an object: {why}"));
                let schema = serde_json::to_value(said.get_ref()).map_err(|error| wrong(&error.to_string()))?;
                if schema.get("type").and_then(Value::as_str) != Some("object") {
                    return Err(wrong("its \"type\" must be \"object\""));
                }
                Schema::parse(schema).map_err(|error| wrong(&error.to_string()))?
            }
        };
        let name =
            identifier(self.name, "a tool name has lower-case letters, digits and \"_\", and begins with a letter")?;
        Ok(PluginTool { name, description: self.description, parameters: Arc::new(parameters) })
    }
}

impl RawCommand {
    fn check(self) -> Result<PluginCommand, ManifestFault> {
        Ok(PluginCommand {
            name: word(self.name)?,
            aliases: self.aliases.into_iter().map(word).collect::<Result<_, _>>()?,
            args: self.args,
            help: self.help,
        })
    }
}

impl RawLocales {
    fn check(self) -> Result<Vec<String>, ManifestFault> {
        let mut languages = self.languages;
        if let Some(default) = self.default {
            let Some(at) = languages.iter().position(|language| language == default.get_ref()) else {
                return Err(fault(&default, "the default must be one of \"languages\""));
            };
            if let Some(first) = languages.get_mut(..=at) {
                first.rotate_right(1);
            }
        }
        Ok(languages)
    }
}

impl RawLimits {
    fn lower(self, server: &ScriptLimits) -> Result<ScriptLimits, ManifestFault> {
        let mut limits = server.clone();
        let lower = |asked: Option<Spanned<u64>>, server: u64| match asked {
            None => Ok(server),
            Some(asked) if *asked.get_ref() <= server => Ok(*asked.get_ref()),
            Some(asked) => {
                Err(fault(&asked, format!("a plugin can only lower its limits; the server's limit is {server}")))
            }
        };
        limits.operations = lower(self.operations, server.operations)?;
        limits.heap = lower(self.heap_kb, server.heap >> 10)? << 10;
        if let Some(deadline) = self.deadline_ms {
            let milliseconds = u64::try_from(server.deadline.as_millis()).unwrap_or(u64::MAX);
            limits.deadline = Duration::from_millis(lower(Some(deadline), milliseconds)?);
        }
        Ok(limits)
    }
}

fn version(text: &Spanned<String>) -> Result<Version, ManifestFault> {
    text.get_ref().parse().map_err(|error| fault(text, format!("{error}")))
}

/// Parses the oldest supported Clotho version and checks that this program is not older.
fn minimum(text: &Spanned<String>) -> Result<Version, ManifestFault> {
    let min = version(text)?;
    match env!("CARGO_PKG_VERSION").parse::<Version>() {
        Ok(own) if own < min => {
            Err(fault(text, format!("the plugin needs version {min} of this program, which has version {own}")))
        }
        _ => Ok(min),
    }
}

fn requirement(text: &Spanned<String>) -> Result<Requirement, ManifestFault> {
    text.get_ref().parse().map_err(|error| fault(text, format!("{error}")))
}

fn permission(text: Spanned<String>) -> Result<Permission, ManifestFault> {
    text.get_ref().parse().map_err(|error| fault(&text, format!("{error}")))
}

fn setting(raw: Spanned<RawSetting>) -> Result<PluginSettingSpec, ManifestFault> {
    let span = raw.span();
    raw.into_inner().check().map_err(|(own, message)| ManifestFault { span: own.or(Some(span)), message })
}

fn is_name(text: &str, also: char) -> bool {
    let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == also;
    text.len() <= 64 && text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(known)
}

fn name(text: Spanned<String>, expected: &str) -> Result<String, ManifestFault> {
    if is_name(text.get_ref(), '-') { Ok(text.into_inner()) } else { Err(fault(&text, expected)) }
}

fn identifier(text: Spanned<String>, expected: &str) -> Result<String, ManifestFault> {
    if is_name(text.get_ref(), '_') { Ok(text.into_inner()) } else { Err(fault(&text, expected)) }
}

/// Checks the word of a slash command; any writing system is allowed.
fn word(text: Spanned<String>) -> Result<String, ManifestFault> {
    let fits = crate::slash_command::is_word(text.get_ref());
    if fits { Ok(text.into_inner()) } else { Err(fault(&text, "a command name has letters, digits, \"-\" and \"_\"")) }
}

/// Checks the path of a file in the plugin's folder.
fn file(path: Spanned<String>, ending: &str) -> Result<String, ManifestFault> {
    let inside = crate::source::is_relative_path(path.get_ref()) && path.get_ref().ends_with(ending);
    if inside {
        Ok(path.into_inner())
    } else {
        Err(fault(&path, format!("expected a file in the plugin folder that ends in \"{ending}\"")))
    }
}
