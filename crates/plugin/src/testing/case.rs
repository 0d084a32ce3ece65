//! A test file: the input of a hook.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;

use super::expect::Expectation;
use super::lint::is_rule_hook;
use super::{object, test_error};
use crate::call::{Hook, HookCall, HookNodeInfo, RecentMessage, TOOL_PREFIX, ToolInvocation};
use crate::dice::DiceSeeds;
use crate::error::ScriptError;
use crate::loaded::LoadedPlugin;
use crate::manifest::{Manifest, line_and_column};
use crate::model_call::ModelCallAnswer;
use crate::mvu::InitVarText;
use crate::permission::Permission;
use crate::plain_messages;
use crate::suggest::did_you_mean;
use clotho_core::clock::Time;
use clotho_core::world::{SchemaSet, World};

/// One checked case.
#[derive(Debug)]
pub(super) struct PluginTestCase {
    pub(super) hook: Hook,
    /// The plugin's own values; `None` means the result of `init`.
    pub(super) state: Option<Map<String, Value>>,
    /// Values outside the plugin's root.
    pub(super) vars: Map<String, Value>,
    pub(super) graft: bool,
    pub(super) expect: Expectation,
    /// Whether `[expect]` has any content.
    pub(super) expects: bool,
    /// Why the tool's schema refuses the arguments; the tool is then not called, as in a story.
    pub(super) unfit_reason: Option<String>,
    config: Arc<Map<String, Value>>,
    grants: Arc<[Permission]>,
    tool: Option<ToolInvocation>,
    raw: RawTestCase,
}

/// The file as deserialised.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTestCase {
    hook: Option<Spanned<String>>,
    /// `roll 2d6` means the text `/roll 2d6` in `on_input`.
    command: Option<String>,
    #[serde(default)]
    text: String,
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    config: toml::Table,
    /// Arguments with which the model calls a tool.
    #[serde(default)]
    args: toml::Table,
    /// `on_answer`: the result of the model call.
    answer: Option<RawAnswer>,
    state: Option<toml::Table>,
    /// The plugin's own values before the message; default is `state`.
    before: Option<toml::Table>,
    /// Rules that have fired already on this branch, each with its turn.
    #[serde(default)]
    fired: BTreeMap<String, u64>,
    #[serde(default)]
    vars: toml::Table,
    /// The session's grants; default is all that the manifest requests.
    grants: Option<Vec<String>>,
    #[serde(default = "default_true")]
    graft: bool,
    #[serde(default = "default_user")]
    user: String,
    #[serde(default = "default_character")]
    char: String,
    #[serde(default = "default_language")]
    language: String,
    /// `migrate`: the version of the state.
    #[serde(default = "default_version")]
    from: u32,
    #[serde(default)]
    node: RawNode,
    #[serde(default)]
    recent: Vec<RawRecent>,
    /// The texts of `[initvar]` entries, for `ctx.mvu_start()` in `init`.
    #[serde(default)]
    initvar: Vec<String>,
    #[serde(default)]
    expect: Option<Expectation>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawNode {
    id: String,
    depth: u64,
    /// Turn number, including this message if it is a user message.
    turn: Option<u64>,
    /// Replies from the root, including this message if it is one.
    replies: u64,
    time: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAnswer {
    name: String,
    #[serde(default)]
    text: String,
    error: Option<String>,
    /// The turn of the message that asked; default is that of the node.
    turn: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRecent {
    role: String,
    #[serde(default)]
    name: String,
    text: String,
}

fn default_true() -> bool {
    true
}

fn default_user() -> String {
    "Alice".to_owned()
}

fn default_character() -> String {
    "Rin".to_owned()
}

fn default_version() -> u32 {
    1
}

fn default_language() -> String {
    "en".to_owned()
}

impl PluginTestCase {
    /// Reads a test file of a plugin's folder.
    pub(super) fn read(plugin: &LoadedPlugin, file: &str) -> Result<Self, Box<ScriptError>> {
        let Some(text) = plugin.source().text(file) else {
            return Err(Box::new(
                test_error(plugin, "the file is not UTF-8".to_owned()).with_location(file, None, None, None),
            ));
        };
        let wrong = |message: String| Box::new(test_error(plugin, message).with_location(file, None, None, None));
        // Parse the file.
        let mut raw: RawTestCase = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| text.get(..span.start).unwrap_or_default().matches('\n').count() + 1);
            let line = line.and_then(|line| u32::try_from(line).ok());
            let message = plain_messages::plain_message(error.message());
            Box::new(test_error(plugin, message).with_location(file, line, None, Some(text)))
        })?;
        if let Some(command) = &raw.command {
            raw.text = format!("/{command}");
        }
        // Determine the hook or tool.
        let hook = hook(&raw, plugin).map_err(|message| {
            let at = raw.hook.as_ref().map_or((None, None), |hook| line_and_column(text, hook.span().start));
            Box::new(test_error(plugin, message).with_location(file, at.0, at.1, Some(text)))
        })?;
        let (tool, unfit) = tool(&raw, hook, plugin.manifest()).map_err(wrong)?;
        if raw.answer.is_some() != (hook == Hook::OnAnswer) {
            return Err(wrong("answer: only on_answer has an [answer]".into()));
        }
        if let Some(answer) = raw.answer.as_ref().filter(|_| raw.text.is_empty()) {
            raw.text.clone_from(&answer.text);
        }
        // Determine grants and settings.
        let grants = match &raw.grants {
            None => plugin.manifest().permissions.clone(),
            Some(words) => words
                .iter()
                .map(|word| word.parse())
                .collect::<Result<_, _>>()
                .map_err(|error: crate::UnknownPermission| wrong(error.to_string()))?,
        };
        let config = plugin
            .manifest()
            .check_settings(&object(&raw.config))
            .map_err(|error| wrong(format!("config: {error}")))?;
        Ok(Self {
            hook,
            state: raw.state.as_ref().map(object),
            vars: object(&raw.vars),
            graft: raw.graft,
            expect: raw.expect.take().unwrap_or_default(),
            expects: expects(text),
            unfit_reason: unfit,
            config: Arc::new(config),
            grants: grants.into(),
            tool,
            raw,
        })
    }

    /// Returns the plugin's values before the message, if the case sets them.
    pub(super) fn before(&self) -> Option<Map<String, Value>> {
        self.raw.before.as_ref().map(object)
    }

    /// Iterates over the rules that have fired already, each with its turn.
    pub(super) fn fired(&self) -> impl Iterator<Item = (&str, u64)> {
        self.raw.fired.iter().map(|(rule, turn)| (rule.as_str(), *turn))
    }

    /// Returns the typed command, with its slash.
    pub(super) fn command(&self) -> Option<&str> {
        self.raw.command.as_ref().map(|_| self.raw.text.as_str())
    }

    /// Returns the number of replies from the root.
    pub(super) fn replies(&self) -> u64 {
        self.raw.node.replies
    }

    /// Creates the call of the case on a state.
    pub(super) fn call(&self, world: Arc<World>, rules: &Arc<SchemaSet>) -> HookCall {
        let raw = &self.raw;
        let recent = raw.recent.iter().map(|message| RecentMessage {
            role: message.role.clone(),
            name: message.name.clone(),
            text: message.text.clone(),
        });
        let turn = raw.node.turn.unwrap_or(first_turn(self.hook));
        let start = |text: &String| InitVarText { name: "[initvar]".to_owned(), text: text.clone() };
        HookCall {
            config: Arc::clone(&self.config),
            grants: Arc::clone(&self.grants),
            text: Arc::from(raw.text.as_str()),
            role: role(self.hook).to_owned(),
            user: raw.user.clone(),
            character: raw.char.clone(),
            node: HookNodeInfo { id: raw.node.id.clone(), depth: raw.node.depth, turn, time: raw.node.time.map(Time) },
            recent: recent.collect(),
            seeds: DiceSeeds { session: raw.seed, node: raw.seed },
            initial_values: raw.initvar.iter().map(start).collect(),
            from_version: raw.from,
            language: raw.language.clone(),
            tool: self.tool.clone(),
            answer: raw.answer.as_ref().map(|answer| ModelCallAnswer {
                name: answer.name.clone(),
                text: answer.text.clone(),
                error: answer.error.clone(),
                failure: None,
                turn: answer.turn.unwrap_or(turn),
            }),
            ..HookCall::new(self.hook, world, Arc::clone(rules))
        }
    }
}

/// Returns the usual role of a hook's text; `narrate` gets the message that it answers.
fn role(hook: Hook) -> &'static str {
    match hook {
        Hook::Init | Hook::Migrate => "system",
        Hook::OnInput | Hook::Plan | Hook::Narrate => "user",
        Hook::OnReply
        | Hook::OnEdit
        | Hook::OnAnswer
        | Hook::OnGreeting
        | Hook::QuickReplies
        | Hook::OnDisplay
        | Hook::Tool => "assistant",
    }
}

/// Returns the default turn. `on_input` and `on_reply` follow a user message, so theirs is 1.
const fn first_turn(hook: Hook) -> u64 {
    if matches!(hook, Hook::OnInput | Hook::OnReply) { 1 } else { 0 }
}

/// Returns whether a file has expectations.
fn expects(text: &str) -> bool {
    let file: Option<toml::Table> = toml::from_str(text).ok();
    let expect = file.as_ref().and_then(|file| file.get("expect")?.as_table());
    expect.is_some_and(|expect| !expect.is_empty())
}

/// Returns the tool that a case calls, with its arguments coerced to the schema, and why they do not fit if so.
fn tool(
    raw: &RawTestCase,
    hook: Hook,
    manifest: &Manifest,
) -> Result<(Option<ToolInvocation>, Option<String>), String> {
    let called =
        raw.hook.as_ref().and_then(|name| name.get_ref().strip_prefix(TOOL_PREFIX)).filter(|_| hook == Hook::Tool);
    let Some(tool) = called.and_then(|name| manifest.tools.iter().find(|tool| tool.name == name)) else {
        return if raw.args.is_empty() { Ok((None, None)) } else { Err("args: only a tool has arguments".to_owned()) };
    };
    let mut arguments = Value::Object(object(&raw.args));
    let unfit = tool.parameters.coerce(&mut arguments).err().map(|why| format!("the arguments do not fit: {why}"));
    Ok((Some(ToolInvocation { name: tool.name.clone(), arguments, earlier_calls: 0 }), unfit))
}

/// Returns the hook of a case. The plugin must define it: a missing hook does nothing and would pass every test.
fn hook(raw: &RawTestCase, plugin: &LoadedPlugin) -> Result<Hook, String> {
    let tools: Vec<String> = plugin.manifest().tools.iter().map(|tool| format!("{TOOL_PREFIX}{}", tool.name)).collect();
    let hooks = || Hook::ALL.iter().filter(|hook| **hook != Hook::Tool).map(|hook| hook.name());
    let known = || hooks().chain(tools.iter().map(String::as_str));
    let all = || known().collect::<Vec<_>>().join(", ");
    let hook = match (&raw.hook, &raw.command) {
        (Some(name), _) if tools.contains(name.get_ref()) => return Ok(Hook::Tool),
        (Some(name), _) => {
            let name = name.get_ref();
            let found = Hook::from_name(name).filter(|hook| *hook != Hook::Tool);
            found.ok_or_else(|| {
                let what =
                    if name.starts_with(TOOL_PREFIX) { "the manifest has no tool for" } else { "there is no hook" };
                format!("{what} \"{name}\"{}: expected one of {}", did_you_mean(name, known()), all())
            })?
        }
        (None, Some(_)) => Hook::OnInput,
        (None, None) => return Err(format!("\"hook\" is missing: expected one of {}", all())),
    };
    let is_read_by_rules = is_rule_hook(hook) && !plugin.manifest().rules.is_empty();
    if plugin.has_hook(hook) || is_read_by_rules {
        return Ok(hook);
    }
    let mut own: Vec<&str> = plugin.hooks().map(Hook::name).collect();
    own.extend(tools.iter().map(String::as_str));
    let hint = did_you_mean(hook.name(), own.iter().copied());
    let has = if own.is_empty() { "no hook at all".to_owned() } else { own.join(", ") };
    Err(format!("the plugin has no \"{}\"{hint}; it has {has}", hook.name()))
}
