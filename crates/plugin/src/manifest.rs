//! `plugin.toml`: identity, state, settings and permissions of a plugin (`docs/modders.md`).
//!
//! An unknown key, a wrong type or a value out of range is an error with file, line, key and expectation. To add a key:
//! add a field in `raw.rs`, its checked form here, and its line in the reference.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::error::{ScriptError, ScriptErrorKind};
use super::limits::ScriptLimits;
use super::localized_text::LocalizedText;
use super::manifest_rules::ManifestRule;
use super::permission::Permission;
use super::plain_messages;
use super::settings::{PluginSettingSpec, SettingError};
use super::version::{Requirement, Version};
use clotho_core::world::{Pointer, Schema};

mod raw;

/// The name of the manifest file in a plugin's folder.
pub const MANIFEST_FILE: &str = "plugin.toml";

/// The API version between host and scripts that this program implements.
pub const API_VERSION: &str = "1";

/// A checked manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The name in ids, paths and folders: `[a-z][a-z0-9-]*`.
    pub id: String,
    /// The display name.
    pub title: LocalizedText,
    pub version: Version,
    pub authors: Vec<String>,
    /// The licence as an SPDX expression.
    pub license: String,
    /// One sentence about what the plugin does.
    pub description: LocalizedText,
    /// The script file with the hooks.
    pub entry: String,
    /// The oldest Clotho version that can run the plugin.
    pub min: Option<Version>,
    /// The Clotho version that the plugin was tested with.
    pub tested: Option<Version>,
    /// Plugins that must be enabled too, with their versions.
    pub requires: BTreeMap<String, Requirement>,
    /// Plugins that must not be enabled together with this one.
    pub conflicts: Vec<String>,
    /// Plugins that run before this one, if they are enabled.
    pub load_after: Vec<String>,
    /// The root of its values and their schema.
    pub state: ManifestState,
    /// The settings, in file order.
    pub config: Vec<(String, PluginSettingSpec)>,
    /// The requested permissions.
    pub permissions: Vec<Permission>,
    /// Tools offered to the model.
    pub tools: Vec<PluginTool>,
    /// Slash commands offered to the user.
    pub commands: Vec<PluginCommand>,
    /// Declarative rules, in file order.
    pub rules: Vec<ManifestRule>,
    /// The languages it writes, default first; empty if it does not depend on the language.
    pub languages: Vec<String>,
    /// The limits of its calls; never above the server's.
    pub limits: ScriptLimits,
}

/// The `[state]` table.
#[derive(Debug, Clone, PartialEq)]
pub struct ManifestState {
    /// The only place in `vars` that it may write without a grant; its id by default.
    pub root: Pointer,
    /// Path of the schema file.
    pub schema: Option<String>,
    /// Version of the shape of its values.
    pub version: u32,
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginTool {
    /// The name; the script defines `tool_<name>`.
    pub name: String,
    /// What the tool does, for the model.
    pub description: String,
    /// The schema of the arguments. Arguments of a call are adjusted to fit it, or refused.
    pub parameters: Arc<Schema>,
}

/// A slash command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginCommand {
    /// The word after the slash, as in `ctx.command`.
    pub name: String,
    /// Other words for the command, for example in other languages.
    pub aliases: Vec<String>,
    /// Notation of the arguments, for users: `2d6+3`, `up | down`.
    pub args: LocalizedText,
    /// What the command does.
    pub help: LocalizedText,
}

impl Manifest {
    /// Parses and checks a manifest. `folder` names the plugin while its id is unknown. `server` holds the limits that
    /// `[limits]` may only lower.
    ///
    /// # Errors
    /// Returns the first fault, with its line.
    pub fn parse(text: &str, folder: &str, server: &ScriptLimits) -> Result<Self, Box<ScriptError>> {
        let at = |span: Option<std::ops::Range<usize>>, message: String| {
            let error = ScriptError::new(folder, "", ScriptErrorKind::Parse, message);
            let (line, column) = span.map_or((None, None), |span| line_and_column(text, span.start));
            Box::new(error.with_location(MANIFEST_FILE, line, column, Some(text)))
        };
        let raw: raw::RawManifest =
            toml::from_str(text).map_err(|error| at(error.span(), plain_messages::plain_message(error.message())))?;
        raw.check(server).map_err(|fault| at(fault.span, fault.message))
    }

    /// Returns the command of a typed word, by name or alias, ignoring case.
    pub fn command(&self, word: &str) -> Option<&PluginCommand> {
        let word = word.to_lowercase();
        let is_it = |name: &String| name.to_lowercase() == word;
        self.commands.iter().find(|command| is_it(&command.name) || command.aliases.iter().any(is_it))
    }

    /// Returns whether a rule needs the number of replies.
    pub fn counts_replies(&self) -> bool {
        self.rules.iter().any(ManifestRule::counts_replies)
    }

    /// Checks a user's settings and fills in the defaults. The result is `ctx.config`.
    ///
    /// # Errors
    /// Returns an error for an unknown setting or an invalid value.
    pub fn check_settings(&self, given: &Map<String, Value>) -> Result<Map<String, Value>, SettingError> {
        if let Some(name) = given.keys().find(|name| !self.config.iter().any(|(known, _)| known == *name)) {
            let known: Vec<&str> = self.config.iter().map(|(name, _)| name.as_str()).collect();
            let expected = format!("the plugin has no setting of this name; its settings are {}", known.join(", "));
            return Err(SettingError { name: name.clone(), expected });
        }
        let value = |(name, setting): &(String, PluginSettingSpec)| match given.get(name) {
            None => Ok((name.clone(), setting.default.clone())),
            Some(value) => match setting.kind.mismatch(value) {
                None => Ok((name.clone(), value.clone())),
                Some(expected) => Err(SettingError { name: name.clone(), expected }),
            },
        };
        self.config.iter().map(value).collect()
    }
}

/// Returns line and column, both from 1, of a byte offset.
pub(super) fn line_and_column(text: &str, offset: usize) -> (Option<u32>, Option<u32>) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (u32::try_from(line).ok(), u32::try_from(column).ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const GOOD: &str = r#"
id = "combat"
title = { en = "Combat", zh = "战斗" }
version = "1.2.0"
api = "1"
authors = ["Someone"]
license = "MIT"
description = "Damage and dice"
after = ["quests"]

[compat]
min = "0.1.0"

[requires]
quests = "^1"

[state]
schema = "state.schema.json"
version = 2
root = "combat"

[config.max_hp]
type = "integer"
default = 40
min = 1
max = 999
label = "Hit points"

[permissions]
request = ["input.rewrite", "notes"]

[[command]]
name = "roll"
aliases = ["掷"]
args = { en = "a die", zh = "骰子" }
help = "Rolls dice"

[locales]
default = "en"
languages = ["en", "zh"]

[limits]
operations = 50000
"#;

    fn parse(text: &str) -> Result<Manifest, Box<ScriptError>> {
        Manifest::parse(text, "combat", &ScriptLimits::default())
    }

    #[test]
    fn manifest_full_form_is_parsed() {
        let manifest = parse(GOOD).unwrap();
        assert_eq!(manifest.id, "combat");
        assert_eq!((manifest.title.get("zh-CN"), manifest.title.get("de")), ("战斗", "Combat"));
        assert_eq!(manifest.state.root.to_string(), "/combat");
        assert_eq!(manifest.command("掷").unwrap().name, "roll");
        assert_eq!(manifest.command("roll").unwrap().args.get("zh"), "骰子");
        assert_eq!(manifest.limits.operations, 50_000);
        assert_eq!(manifest.permissions.len(), 2);
        assert_eq!(manifest.languages, ["en", "zh"]);
    }

    #[test]
    fn manifest_minimal_form_uses_defaults() {
        let manifest = parse("id = \"combat\"\ntitle = \"Combat\"\nversion = \"1.0.0\"\napi = \"1\"\n").unwrap();
        assert_eq!((manifest.entry.as_str(), manifest.state.root.to_string().as_str()), ("main.rhai", "/combat"));
        assert_eq!(manifest.limits, ScriptLimits::default());
    }

    #[test]
    fn manifest_invalid_field_returns_error_with_line() {
        let check = |from: &str, to: &str, line: u32, message: &str| {
            assert!(GOOD.contains(from), "{from}");
            let error = parse(&GOOD.replacen(from, to, 1)).unwrap_err();
            assert_eq!((error.file.as_deref(), error.line), (Some("plugin.toml"), Some(line)), "{error}");
            assert!(error.message.contains(message), "{message:?} is not in {:?}", error.message);
        };
        check("license", "licence", 7, "there is no \"licence\" here (did you mean \"license\"?); there are \"id\"");
        check("\"1.2.0\"", "12", 4, "expected a string, not 12");
        check("\"1.2.0\"", "\"one\"", 4, "\"one\" is not a version");
        check("api = \"1\"", "api = \"2\"", 5, "this program supports api \"1\"");
        check("\"combat\"", "\"Combat!\"", 2, "an id has");
        check("min = \"0.1.0\"", "min = \"99.0.0\"", 12, "needs version 99.0.0");
        check("\"^1\"", "\"about 1\"", 15, "is not a version requirement");
        check("root = \"combat\"", "root = \"/\"", 20, "\"root\"");
        check("default = 40", "default = 4000", 24, "at most 999");
        check("type = \"integer\"", "type = \"int\"", 23, "\"int\" is not known here");
        check("\"notes\"", "\"network\"", 30, "\"network\" is not a permission");
        check("\"notes\"", "\"note\"", 30, "\"note\" is not a permission (did you mean \"notes\"?)");
        check("[permissions]", "[permission]", 29, "no \"permission\" here (did you mean \"permissions\"?)");
        check("operations = 50000", "operations = 900000", 43, "only lower");
        check("default = \"en\"", "default = \"fr\"", 39, "\"languages\"");
        check("name = \"roll\"", "name = \"ro ll\"", 33, "a command name");
    }

    #[test]
    fn manifest_invalid_toml_returns_error_with_line() {
        let error = parse("id = \"a\"\ntitle = \n").unwrap_err();
        assert_eq!(error.line, Some(2));
        assert!(parse("").unwrap_err().message.contains("\"id\" is missing"));
    }

    #[test]
    fn manifest_settings_are_checked_and_defaults_filled_in() {
        let manifest = "id = \"a\"\ntitle = \"A\"\nversion = \"1.0.0\"\napi = \"1\"\n\
            [config.hp]\ntype = \"integer\"\ndefault = 40\nmin = 1\nmax = 99\n\
            [config.rate]\ntype = \"number\"\ndefault = 0.5\nmax = 1\n\
            [config.hard]\ntype = \"boolean\"\n\
            [config.tone]\ntype = \"text\"\nchoices = [\"grim\", \"light\"]\n\
            [config.likes]\ntype = \"list\"\ndefault = [\"tea\"]\n";
        let manifest = Manifest::parse(manifest, "a", &ScriptLimits::default()).unwrap();
        let settings = |given: Value| manifest.check_settings(given.as_object().unwrap());
        let full = settings(json!({"hp": 7})).unwrap();
        let expected = json!({"hp": 7, "rate": 0.5, "hard": false, "tone": "grim", "likes": ["tea"]});
        assert_eq!(Value::Object(full), expected);
        let check = |given: Value, message: &str| assert_eq!(settings(given).unwrap_err().to_string(), message);
        check(
            json!({"mp": 1}),
            "\"mp\": the plugin has no setting of this name; its settings are hp, rate, hard, tone, likes",
        );
        check(json!({"hp": 0}), "\"hp\": expected at least 1");
        check(json!({"hp": 1.5}), "\"hp\": expected a whole number");
        check(json!({"hp": "7"}), "\"hp\": expected a whole number");
        check(json!({"rate": 2}), "\"rate\": expected at most 1");
        check(json!({"hard": 1}), "\"hard\": expected true or false");
        check(json!({"tone": "odd"}), "\"tone\": expected one of grim, light");
        check(json!({"likes": [1]}), "\"likes\": expected a list of at most 100 strings");
    }
}
