//! A test's file: what a hook gets.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::expect::Expect;
use super::{object, test_error};
use crate::clock::Time;
use crate::plugin::call::{Call, Hook, NodeFacts, Recent, TOOL, ToolUse};
use crate::plugin::dice::Seeds;
use crate::plugin::error::ScriptError;
use crate::plugin::grant::Permission;
use crate::plugin::loaded::Loaded;
use crate::plugin::manifest::Manifest;
use crate::world::{Rules, World};

/// One case, checked.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) hook: Hook,
    /// The plugin's own values; `None` = what `init` makes.
    pub(super) state: Option<Map<String, Value>>,
    /// Everything outside them.
    pub(super) vars: Map<String, Value>,
    pub(super) graft: bool,
    pub(super) expect: Expect,
    config: Arc<Map<String, Value>>,
    grants: Arc<[Permission]>,
    tool: Option<ToolUse>,
    raw: Raw,
}

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    hook: Option<String>,
    /// `roll 2d6` = the text `/roll 2d6` in `on_input`.
    command: Option<String>,
    #[serde(default)]
    text: String,
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    config: toml::Table,
    /// Of a tool: what the model calls it with.
    #[serde(default)]
    args: toml::Table,
    state: Option<toml::Table>,
    /// The plugin's own values before the message; without, they are those of `state`.
    before: Option<toml::Table>,
    /// Rules that have fired on this line already, each with its turn.
    #[serde(default)]
    fired: BTreeMap<String, u64>,
    #[serde(default)]
    vars: toml::Table,
    /// What the session grants; by default all that the manifest asks for.
    grants: Option<Vec<String>>,
    #[serde(default = "yes")]
    graft: bool,
    #[serde(default = "alice")]
    user: String,
    #[serde(default = "rin")]
    char: String,
    #[serde(default = "english")]
    language: String,
    /// `migrate`: the version of the state.
    #[serde(default = "first")]
    from: u32,
    #[serde(default)]
    node: RawNode,
    #[serde(default)]
    recent: Vec<RawRecent>,
    #[serde(default)]
    expect: Option<Expect>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawNode {
    id: String,
    depth: u64,
    turn: u64,
    /// Replies from the root, with this one if it is one.
    replies: u64,
    time: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRecent {
    role: String,
    #[serde(default)]
    name: String,
    text: String,
}

fn yes() -> bool {
    true
}

fn alice() -> String {
    "Alice".to_owned()
}

fn rin() -> String {
    "Rin".to_owned()
}

fn first() -> u32 {
    1
}

fn english() -> String {
    "en".to_owned()
}

impl Case {
    /// Reads a file of a plugin's folder.
    pub(super) fn read(plugin: &Loaded, file: &str) -> Result<Self, Box<ScriptError>> {
        let Some(text) = plugin.source().text(file) else {
            return Err(Box::new(test_error(plugin, "the file is not UTF-8".to_owned()).at(file, None, None, None)));
        };
        let wrong = |message: String| Box::new(test_error(plugin, message).at(file, None, None, None));
        let mut raw: Raw = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| text.get(..span.start).unwrap_or_default().matches('\n').count() + 1);
            let line = line.and_then(|line| u32::try_from(line).ok());
            let message = error.message().replace('`', "\"");
            Box::new(test_error(plugin, message).at(file, line, None, Some(text)))
        })?;
        if let Some(command) = &raw.command {
            raw.text = format!("/{command}");
        }
        let hook = hook(&raw, plugin.manifest()).map_err(wrong)?;
        let tool = tool(&raw, hook, plugin.manifest()).map_err(wrong)?;
        let grants = match &raw.grants {
            None => plugin.manifest().permissions.clone(),
            Some(words) => words
                .iter()
                .map(|word| word.parse())
                .collect::<Result<_, _>>()
                .map_err(|error: crate::plugin::UnknownPermission| wrong(error.to_string()))?,
        };
        let config =
            plugin.manifest().settings(&object(&raw.config)).map_err(|error| wrong(format!("config: {error}")))?;
        Ok(Self {
            hook,
            state: raw.state.as_ref().map(object),
            vars: object(&raw.vars),
            graft: raw.graft,
            expect: raw.expect.take().unwrap_or_default(),
            config: Arc::new(config),
            grants: grants.into(),
            tool,
            raw,
        })
    }

    /// The plugin's values before the message, where the case says others than the hook finds.
    pub(super) fn before(&self) -> Option<Map<String, Value>> {
        self.raw.before.as_ref().map(object)
    }

    /// The rules that have fired already, each with its turn.
    pub(super) fn fired(&self) -> impl Iterator<Item = (&str, u64)> {
        self.raw.fired.iter().map(|(rule, turn)| (rule.as_str(), *turn))
    }

    /// Replies from the root.
    pub(super) fn replies(&self) -> u64 {
        self.raw.node.replies
    }

    /// The call that the case makes on a world.
    pub(super) fn call(&self, world: Arc<World>, rules: &Arc<Rules>) -> Call {
        let raw = &self.raw;
        let recent = raw.recent.iter().map(|message| Recent {
            role: message.role.clone(),
            name: message.name.clone(),
            text: message.text.clone(),
        });
        Call {
            config: Arc::clone(&self.config),
            grants: Arc::clone(&self.grants),
            text: Arc::from(raw.text.as_str()),
            role: role(self.hook).to_owned(),
            user: raw.user.clone(),
            character: raw.char.clone(),
            node: NodeFacts {
                id: raw.node.id.clone(),
                depth: raw.node.depth,
                turn: raw.node.turn,
                time: raw.node.time.map(Time),
            },
            recent: recent.collect(),
            seeds: Seeds { session: raw.seed, node: raw.seed },
            from: raw.from,
            language: raw.language.clone(),
            tool: self.tool.clone(),
            ..Call::new(self.hook, world, Arc::clone(rules))
        }
    }
}

/// Whose text a hook is usually about: `narrate` gets the message it answers.
fn role(hook: Hook) -> &'static str {
    match hook {
        Hook::Init | Hook::Migrate => "system",
        Hook::OnInput | Hook::Plan | Hook::Narrate => "user",
        Hook::OnReply | Hook::OnEdit | Hook::QuickReplies | Hook::OnDisplay | Hook::Tool => "assistant",
    }
}

/// The tool that a case calls, with its arguments as the tool's schema has them.
fn tool(raw: &Raw, hook: Hook, manifest: &Manifest) -> Result<Option<ToolUse>, String> {
    let called = raw.hook.as_deref().and_then(|name| name.strip_prefix(TOOL)).filter(|_| hook == Hook::Tool);
    let Some(tool) = called.and_then(|name| manifest.tools.iter().find(|tool| tool.name == name)) else {
        return if raw.args.is_empty() {
            Ok(None)
        } else {
            Err("args: only a tool is called with arguments".to_owned())
        };
    };
    let mut arguments = Value::Object(object(&raw.args));
    tool.parameters.fit(&mut arguments).map_err(|why| format!("args: {why}"))?;
    Ok(Some(ToolUse { name: tool.name.clone(), arguments, before: 0 }))
}

fn hook(raw: &Raw, manifest: &Manifest) -> Result<Hook, String> {
    let tools = || manifest.tools.iter().map(|tool| format!("{TOOL}{}", tool.name));
    let known = || Hook::ALL.iter().map(|hook| hook.name().to_owned()).chain(tools()).collect::<Vec<_>>().join(", ");
    match (&raw.hook, &raw.command) {
        (Some(name), _) if tools().any(|tool| tool == *name) => Ok(Hook::Tool),
        (Some(name), _) => Hook::from_name(name).ok_or_else(|| format!("hook: one of {} is expected", known())),
        (None, Some(_)) => Ok(Hook::OnInput),
        (None, None) => Err(format!("\"hook\" is missing; one of {} is expected", known())),
    }
}
