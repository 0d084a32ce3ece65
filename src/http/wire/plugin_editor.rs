//! The workshop: files of plugins, checks and trials of code that is not saved.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::ids::{WireId, WireNodeId, WireSessionId};
pub use super::plugin_tests::{PluginReferenceResponse, PluginTestResponse};
use super::script_errors::{script_error_json, warnings};
use super::world::PathChangeResponse;
use crate::http::error::{ApiError, ApiErrorCode};
use crate::http::response::RedactForReplay;
use clotho_core::world::{StateOperation, diff};
use clotho_engine::turn::{HookTrialOutcome, ReplayStep};
use clotho_plugin::folder::PluginFileError;
use clotho_plugin::{
    CatalogueEntry, Hook, HookAnswer, HookOutcome, HookUsage, LoadedPlugin, PluginPromptPlan, ScriptError, TOOL_PREFIX,
    TextInjection,
};

/// One file of a plugin.
#[derive(Debug, Serialize, ToSchema)]
pub struct PluginFileResponse {
    /// Its path inside the plugin's folder.
    pub path: String,
    /// Its text; null if it is none.
    pub content: Option<String>,
    /// Its length in bytes.
    pub bytes: usize,
}

/// What a file of a plugin is to hold.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WritePluginFileRequest {
    /// The whole text.
    pub content: String,
}

/// What became of a plugin whose file was written.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WritePluginFileResponse {
    /// The file.
    pub path: String,
    /// Whether the plugin as it lies there now is in force. If not, what was there before goes on, and `error` says why.
    pub is_in_force: bool,
    /// What keeps it from running.
    #[schema(value_type = Option<Object>)]
    pub error: Option<Value>,
    /// What is probably a mistake, though it runs.
    #[schema(value_type = Vec<Object>)]
    pub warnings: Vec<Value>,
    /// The hash of the code in force.
    pub code_hash: Option<String>,
}

impl WritePluginFileResponse {
    /// What became of a plugin.
    pub fn new(path: String, entry: Option<&CatalogueEntry>) -> Self {
        let loaded = entry.and_then(|entry| entry.state.as_ref().ok());
        let error = entry.and_then(CatalogueEntry::error);
        Self {
            path,
            is_in_force: loaded.is_some() && error.is_none(),
            error: error.and_then(script_error_json),
            warnings: loaded.map(|loaded| warnings(loaded)).unwrap_or_default(),
            code_hash: loaded.map(|loaded| loaded.code_hash().to_owned()),
        }
    }
}

/// Code that is not saved.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schema(as = PluginCheck)]
pub struct CheckPluginRequest {
    /// Texts in the place of files, or beside them, by path.
    #[schema(value_type = Object)]
    pub files: BTreeMap<String, String>,
}

/// What is wrong with a plugin.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PluginChecked)]
pub struct CheckPluginResponse {
    /// Whether it can run.
    pub is_ok: bool,
    /// Why it cannot.
    #[schema(value_type = Option<Object>)]
    pub error: Option<Value>,
    /// What is probably a mistake, though it runs.
    #[schema(value_type = Vec<Object>)]
    pub warnings: Vec<Value>,
    /// The hooks it defines.
    pub hooks: Vec<&'static str>,
    /// The hash of its code.
    pub code_hash: Option<String>,
}

impl CheckPluginResponse {
    /// What came of loading it.
    pub fn new(loaded: &Result<LoadedPlugin, Box<ScriptError>>) -> Self {
        let ready = loaded.as_ref().ok();
        Self {
            is_ok: ready.is_some(),
            error: loaded.as_ref().err().and_then(|error| script_error_json(error)),
            warnings: ready.map(warnings).unwrap_or_default(),
            hooks: ready.map(|loaded| loaded.hooks().map(Hook::name).collect()).unwrap_or_default(),
            code_hash: ready.map(|loaded| loaded.code_hash().to_owned()),
        }
    }
}

/// A hook or tool to be tried on a message of a session.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = PluginTry)]
pub struct TryHookRequest {
    /// The session.
    pub session_id: WireSessionId,
    /// The message: for `on_input` a user's and for `on_reply` a reply, which are then read as they were, with the same dice;
    /// for a tool the reply in which it is called; else the place at which the hook runs.
    pub node_id: WireNodeId,
    /// The hook; left out where a tool is named.
    #[serde(default)]
    pub hook: Option<String>,
    /// The tool, by its name in the manifest.
    #[serde(default)]
    pub tool: Option<String>,
    /// What the tool is called with.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub arguments: Option<Map<String, Value>>,
    /// The entry file's text, in the place of the saved one.
    #[serde(default)]
    pub source: Option<String>,
    /// Texts in the place of files, or beside them, by path.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub files: BTreeMap<String, String>,
    /// What the hook reads, in the place of the message's text.
    #[serde(default)]
    pub text: Option<String>,
}

impl TryHookRequest {
    /// The hook, if there is one of that name, or the tool with what it is called with; the text, if it is not too long.
    ///
    /// # Errors
    /// There is none, or it is; both are named, or neither.
    pub fn hook_and_tool(&self, most: usize) -> Result<(Hook, Option<(String, Value)>), ApiError> {
        if self.text.as_ref().is_some_and(|text| text.len() > most) {
            let message = format!("a text has at most {most} bytes");
            return Err(ApiError::new(ApiErrorCode::TooLarge, message).detail("field", "text").detail("limit", most));
        }
        match (&self.hook, &self.tool) {
            (Some(hook), None) if self.arguments.is_some() => {
                Err(ApiError::invalid("arguments", format!("{hook} takes none: name a tool")))
            }
            (Some(hook), None) => Ok((parse_hook(hook)?, None)),
            (None, Some(tool)) => {
                let arguments = self.arguments.clone().unwrap_or_default();
                Ok((Hook::Tool, Some((tool.clone(), arguments.into()))))
            }
            (Some(_), Some(_)) => Err(ApiError::invalid("tool", "a hook or a tool is tried, not both")),
            (None, None) => Err(ApiError::invalid("hook", "a hook or a tool is expected")),
        }
    }
}

fn parse_hook(name: &str) -> Result<Hook, ApiError> {
    Hook::from_name(name).ok_or_else(|| {
        let known = Hook::ALL.map(Hook::name).join(", ");
        let error = ApiError::invalid("hook", format!("\"{name}\" is no hook; there are {known}"));
        if name.starts_with(TOOL_PREFIX) { error.hint("a tool is named in `tool`, without `tool_`") } else { error }
    })
}

/// What a hook did that was tried. Nothing of it is written.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PluginTried)]
pub struct TryHookResponse {
    /// What it proposed, in order.
    #[schema(value_type = Vec<Object>)]
    pub operations: Vec<Value>,
    /// What the fold had to bend or leave out.
    #[schema(value_type = Vec<Object>)]
    pub problems: Vec<Value>,
    /// Every draw of chance; those of the message are used again.
    #[schema(value_type = Vec<Object>)]
    pub rolls: Vec<Value>,
    /// Lines for under the message.
    pub notes: Vec<String>,
    /// Lines for the author.
    pub warnings: Vec<String>,
    /// What `print` and `debug` said.
    pub log: Vec<String>,
    /// The places of `vars` that would differ.
    pub world: Vec<PathChangeResponse>,
    /// What models would be asked: `{name, messages, maxTokens, model}`.
    pub asks: Vec<Value>,
    /// The summary that it proposes: `{text, turns, upto}`; null for none.
    #[schema(value_type = Option<Object>)]
    pub summary: Option<Value>,
    /// What the hook answered: for `on_input` `{text, reply, stop}` or `{refused}`, for `narrate` the pieces of the reply, for
    /// `quick_replies` a list of `{label, send}`, for `plan` `{inject, lore, unlore}`, for `on_display` the text, for a tool what
    /// the model is told, or `{refused}`; null for nothing.
    #[schema(value_type = Value)]
    pub result: Value,
    /// What it cost.
    pub usage: TryHookUsage,
    /// Why it failed; then it proposes nothing.
    #[schema(value_type = Option<Object>)]
    pub error: Option<Value>,
    /// Whether this is what was kept of an answer for a repeated key: only what it cost.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub is_cut_short: bool,
}

impl RedactForReplay for TryHookResponse {
    fn redact_for_replay(self) -> Self {
        Self { usage: self.usage, is_cut_short: true, ..Self::default() }
    }
}

/// A line along which the rules of a plugin are to run again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = PluginReplay)]
pub struct ReplayPluginRequest {
    /// The session.
    pub session_id: WireSessionId,
    /// Where the line ends; HEAD if it is left out.
    #[serde(default)]
    pub leaf_id: Option<WireNodeId>,
    /// The message at which it begins, one of the last 200; as far back as may be if it is left out.
    #[serde(default)]
    pub from_node_id: Option<WireNodeId>,
    /// The entry file's text, in the place of the saved one.
    #[serde(default)]
    pub source: Option<String>,
    /// Texts in the place of files, or beside them, by path.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub files: BTreeMap<String, String>,
    /// Whether the messages are to do what the rules say now: one step of the session, that undo takes back. Only with the
    /// code that is in force.
    #[serde(default)]
    pub accept: bool,
}

/// What the rules of a plugin would have done along a line. Nothing of it is written, unless it was accepted.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PluginReplayed)]
pub struct ReplayPluginResponse {
    /// The messages at which they ran, oldest first.
    pub rows: Vec<ReplayPluginRow>,
    /// Why the code does not even load.
    #[schema(value_type = Option<Object>)]
    pub error: Option<Value>,
    /// The operation of the session in which it was accepted; null for one that was only looked at.
    pub op: Option<i64>,
    /// Whether this is what was kept of an answer for a repeated key: only the operation, if there was one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub is_cut_short: bool,
}

/// One message at which the rules ran again.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplayPluginRow {
    /// The message.
    pub node_id: WireNodeId,
    /// The hook.
    pub hook: &'static str,
    /// What the plugin proposed there.
    #[schema(value_type = Vec<Object>)]
    pub old: Vec<Value>,
    /// What it would propose.
    #[schema(value_type = Vec<Object>)]
    pub new: Vec<Value>,
    /// The lines that it would say under the message.
    pub notes: Vec<String>,
    /// The summary that it would propose: `{text, turns, upto}`; null for none.
    #[schema(value_type = Option<Object>)]
    pub summary: Option<Value>,
    /// Why it would fail.
    #[schema(value_type = Option<Object>)]
    pub error: Option<Value>,
    /// Where the world after the message would differ: `before` is the story's, `after` what it would be.
    pub world: Vec<PathChangeResponse>,
}

impl RedactForReplay for ReplayPluginResponse {
    fn redact_for_replay(self) -> Self {
        Self { op: self.op, is_cut_short: true, ..Self::default() }
    }
}

impl From<&ScriptError> for ReplayPluginResponse {
    fn from(error: &ScriptError) -> Self {
        Self { error: script_error_json(error), ..Self::default() }
    }
}

impl From<Vec<ReplayStep>> for ReplayPluginResponse {
    fn from(rows: Vec<ReplayStep>) -> Self {
        let all = |operations: &[StateOperation]| operations.iter().map(StateOperation::to_json).collect();
        let row = |row: ReplayStep| ReplayPluginRow {
            node_id: WireId(row.node),
            hook: row.hook.name(),
            old: all(&row.old),
            new: all(&row.new),
            notes: row.notes,
            summary: row.summary.as_ref().map(clotho_plugin::SummaryProposal::to_json),
            error: row.error.as_ref().and_then(script_error_json),
            world: row.world.into_iter().map(PathChangeResponse::from).collect(),
        };
        Self { rows: rows.into_iter().map(row).collect(), ..Self::default() }
    }
}

/// What one call cost.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TryHookUsage {
    /// Steps of the interpreter.
    pub operations: u64,
    /// Microseconds of CPU.
    pub micros: u64,
    /// The most bytes of memory held at once.
    pub heap_peak: u64,
}

impl From<&ScriptError> for TryHookResponse {
    /// The code does not even load.
    fn from(error: &ScriptError) -> Self {
        Self { error: script_error_json(error), ..Self::default() }
    }
}

impl From<HookTrialOutcome> for TryHookResponse {
    fn from(tried: HookTrialOutcome) -> Self {
        let after = tried.outcome.world.as_ref().unwrap_or(&tried.before);
        let world = diff(&tried.before, after).into_iter().map(PathChangeResponse::from).collect();
        let HookOutcome {
            operations,
            problems,
            rolls,
            notes,
            warnings,
            log,
            answer,
            plan,
            asks,
            summary,
            usage,
            error,
            ..
        } = tried.outcome;
        let HookUsage { operations: steps, micros, heap_peak } = usage;
        let problem = |problem: &clotho_core::world::Problem| json!({"operation": problem.operation, "path": problem.path.to_string(), "message": problem.message});
        Self {
            operations: operations.iter().map(StateOperation::to_json).collect(),
            problems: problems.iter().map(problem).collect(),
            rolls: rolls.iter().filter_map(|roll| serde_json::to_value(roll).ok()).collect(),
            notes,
            warnings,
            log,
            world,
            asks: asks.iter().map(clotho_plugin::PluginModelCall::to_json).collect(),
            summary: summary.as_ref().map(clotho_plugin::SummaryProposal::to_json),
            result: result_json(answer, &plan),
            usage: TryHookUsage { operations: steps, micros, heap_peak },
            error: error.as_ref().and_then(script_error_json),
            is_cut_short: false,
        }
    }
}

fn result_json(answer: HookAnswer, plan: &PluginPromptPlan) -> Value {
    match answer {
        HookAnswer::Nothing if !plan.is_empty() => {
            let one = |one: &TextInjection| json!({"slot": one.slot, "text": one.text, "depth": one.depth, "priority": one.priority});
            let named = |is_in: bool| -> Vec<&str> {
                plan.lore.iter().filter(|wish| wish.is_included == is_in).map(|wish| wish.entry.as_str()).collect()
            };
            let injected: Vec<Value> = plan.injections.iter().map(one).collect();
            json!({"inject": injected, "lore": named(true), "unlore": named(false)})
        }
        HookAnswer::Display(text) => text.into(),
        HookAnswer::Value(value) => value,
        HookAnswer::Nothing => Value::Null,
        HookAnswer::Input { text, reply, stop } => json!({"text": text, "reply": reply, "stop": stop}),
        HookAnswer::Refused(why) => json!({"refused": why}),
        HookAnswer::Narration(pieces) => pieces.into(),
        HookAnswer::QuickReplies(replies) => {
            let one = |reply: clotho_plugin::PluginQuickReply| {
                let pair = [("label", reply.label), ("send", reply.send)];
                Value::Object(pair.into_iter().map(|(key, text)| (key.to_owned(), text.into())).collect::<Map<_, _>>())
            };
            replies.into_iter().map(one).collect()
        }
    }
}

impl From<PluginFileError> for ApiError {
    fn from(fault: PluginFileError) -> Self {
        let message = fault.to_string();
        match fault {
            PluginFileError::InvalidPath(_) | PluginFileError::NotFound => Self::new(ApiErrorCode::NotFound, message),
            PluginFileError::TooLarge(_) => {
                Self::new(ApiErrorCode::TooLarge, message).hint("a plugin is rules, not a library")
            }
            PluginFileError::Disk(error) => Self::internal(error),
        }
    }
}
