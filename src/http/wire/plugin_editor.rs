//! The plugin editor: files of plugins, checks, and trials of unsaved code.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::ids::{WireId, WireNodeId, WireSessionId};
pub use super::plugin_tests::{PluginReferenceResponse, PluginTestResponse};
use super::records::{
    DiceRollSchema, ModelCallSchema, OperationProblemSchema, ScriptErrorSchema, WorldOperationSchema,
};
use super::script_errors::{script_error_json, warnings};
use super::world::PathChangeResponse;
use crate::http::error::{ApiError, ApiErrorCode};
use crate::http::json_schema::{AnyJson, JsonMap};
use crate::http::response::RedactForReplay;
use clotho_core::coded_message::CodedMessage;
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
    /// Path inside the plugin folder.
    pub path: String,
    /// Text of the file; null if it is not text.
    #[schema(required)]
    pub content: Option<String>,
    /// Size in bytes.
    pub bytes: usize,
}

/// The new content of a plugin file.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WritePluginFileRequest {
    /// The complete text.
    pub content: String,
}

/// The state of a plugin after one of its files changed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WritePluginFileResponse {
    /// Path of the written file.
    pub path: String,
    /// Whether the plugin was reloaded from its current files. If not, the previous code stays active and `error` says
    /// why.
    pub is_in_force: bool,
    /// What prevents the plugin from running; null otherwise.
    #[schema(required, value_type = Option<ScriptErrorSchema>)]
    pub error: Option<Value>,
    /// Probable mistakes that do not prevent it from running.
    #[schema(value_type = Vec<ScriptErrorSchema>)]
    pub warnings: Vec<Value>,
    /// Hash of the active code.
    #[schema(required)]
    pub code_hash: Option<String>,
}

impl WritePluginFileResponse {
    /// Describes the plugin after the change.
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

/// Unsaved code to check.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schema(as = PluginCheck)]
pub struct CheckPluginRequest {
    /// Unsaved texts by path; they replace or add files.
    pub files: BTreeMap<String, String>,
}

/// The result of checking a plugin.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PluginChecked)]
pub struct CheckPluginResponse {
    /// Whether the plugin can run.
    pub is_ok: bool,
    /// Why it cannot run; null otherwise.
    #[schema(required, value_type = Option<ScriptErrorSchema>)]
    pub error: Option<Value>,
    /// Probable mistakes that do not prevent it from running.
    #[schema(value_type = Vec<ScriptErrorSchema>)]
    pub warnings: Vec<Value>,
    /// The hooks that the plugin defines.
    pub hooks: Vec<&'static str>,
    /// Hash of the checked code.
    #[schema(required)]
    pub code_hash: Option<String>,
}

impl CheckPluginResponse {
    /// Describes the result of loading the code.
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

/// A hook or tool to try on a message of a session.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = PluginTry)]
pub struct TryHookRequest {
    /// Id of the session.
    pub session_id: WireSessionId,
    /// The message. `on_input` takes a user message and `on_reply` a reply; both are read as they were, with the same
    /// dice. For a tool, the reply that calls it. For other hooks, the node at which the hook runs.
    pub node_id: WireNodeId,
    /// Name of the hook; absent for a tool.
    #[serde(default)]
    pub hook: Option<String>,
    /// Name of the tool in the manifest.
    #[serde(default)]
    pub tool: Option<String>,
    /// Arguments of the tool call.
    #[serde(default)]
    #[schema(value_type = Option<JsonMap>)]
    pub arguments: Option<Map<String, Value>>,
    /// Unsaved text of the entry script.
    #[serde(default)]
    pub source: Option<String>,
    /// Unsaved texts by path; they replace or add files.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Text that the hook reads instead of the message's text.
    #[serde(default)]
    pub text: Option<String>,
}

impl TryHookRequest {
    /// Returns the hook, and for a tool its name and arguments; `most` is the maximum size of `text` in bytes.
    ///
    /// # Errors
    /// Returns an error if the hook is unknown, the text is too long, or not exactly one of `hook` and `tool` is set.
    pub fn hook_and_tool(&self, most: usize) -> Result<(Hook, Option<(String, Value)>), ApiError> {
        if self.text.as_ref().is_some_and(|text| text.len() > most) {
            let message = format!("a text has at most {most} bytes");
            return Err(ApiError::new(ApiErrorCode::TooLarge, message).detail("field", "text").detail("limit", most));
        }
        match (&self.hook, &self.tool) {
            (Some(hook), None) if self.arguments.is_some() => {
                Err(ApiError::invalid("arguments", format!("{hook} has none: name a tool")))
            }
            (Some(hook), None) => Ok((parse_hook(hook)?, None)),
            (None, Some(tool)) => {
                let arguments = self.arguments.clone().unwrap_or_default();
                Ok((Hook::Tool, Some((tool.clone(), arguments.into()))))
            }
            (Some(_), Some(_)) => Err(ApiError::invalid("tool", "expected a hook or a tool, not both")),
            (None, None) => Err(ApiError::invalid("hook", "expected a hook or a tool")),
        }
    }
}

fn parse_hook(name: &str) -> Result<Hook, ApiError> {
    Hook::from_name(name).ok_or_else(|| {
        let hooks = Hook::ALL.map(Hook::name).join(", ");
        let error = ApiError::invalid("hook", format!("\"{name}\" is not a hook; the hooks are {hooks}"));
        if name.starts_with(TOOL_PREFIX) { error.hint("write the name in `tool`, without `tool_`") } else { error }
    })
}

/// The result of trying a hook. Nothing is written.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PluginTried)]
pub struct TryHookResponse {
    /// Proposed operations, in order.
    #[schema(value_type = Vec<WorldOperationSchema>)]
    pub operations: Vec<Value>,
    /// Operations that were clamped or skipped.
    #[schema(value_type = Vec<OperationProblemSchema>)]
    pub problems: Vec<Value>,
    /// Recorded random draws; those of the message are reused.
    #[schema(value_type = Vec<DiceRollSchema>)]
    pub rolls: Vec<Value>,
    /// Visible lines below the message.
    pub notes: Vec<String>,
    /// Warnings for the plugin author.
    pub warnings: Vec<String>,
    /// Output of `print` and `debug`.
    pub log: Vec<String>,
    /// Paths of `vars` that would change.
    pub world: Vec<PathChangeResponse>,
    /// Requested model calls: `{name, messages, maxTokens, model}`.
    #[schema(value_type = Vec<ModelCallSchema>)]
    pub asks: Vec<Value>,
    /// Proposed summary: `{text, turns, upto}`; null for none.
    #[schema(required, value_type = Option<JsonMap>)]
    pub summary: Option<Value>,
    /// Return value of the hook. `on_input`: `{text, reply, stop}` or `{refused}`. `narrate`: the pieces of the reply.
    /// `quick_replies`: a list of `{label, send}`. `plan`: `{inject, lore, unlore}`. `on_display`: the text. A tool:
    /// the answer for the model, or `{refused}`. Null for nothing.
    #[schema(value_type = AnyJson)]
    pub result: Value,
    /// Cost of the call.
    pub usage: TryHookUsage,
    /// Why the hook failed; it then proposes nothing. Null otherwise.
    #[schema(required, value_type = Option<ScriptErrorSchema>)]
    pub error: Option<Value>,
    /// Whether this is the replay of an idempotent request, which only keeps `usage`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub is_cut_short: bool,
}

impl RedactForReplay for TryHookResponse {
    fn redact_for_replay(self) -> Self {
        Self { usage: self.usage, is_cut_short: true, ..Self::default() }
    }
}

/// A branch along which a plugin runs again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = PluginReplay)]
pub struct ReplayPluginRequest {
    /// Id of the session.
    pub session_id: WireSessionId,
    /// Leaf of the branch; default HEAD.
    #[serde(default)]
    pub leaf_id: Option<WireNodeId>,
    /// First message, one of the last 200; default: as far back as possible.
    #[serde(default)]
    pub from_node_id: Option<WireNodeId>,
    /// Unsaved text of the entry script.
    #[serde(default)]
    pub source: Option<String>,
    /// Unsaved texts by path; they replace or add files.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Whether to write the new deltas, as one step that undo takes back. Only possible with the active code.
    #[serde(default)]
    pub accept: bool,
    /// The `shown` of the replay to accept; required with `accept`.
    #[serde(default)]
    pub shown: Option<String>,
}

/// The result of a replay. Nothing is written unless it was accepted.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PluginReplayed)]
pub struct ReplayPluginResponse {
    /// The messages at which hooks ran, oldest first.
    pub rows: Vec<ReplayPluginRow>,
    /// Why the code cannot be loaded; null otherwise.
    #[schema(required, value_type = Option<ScriptErrorSchema>)]
    pub error: Option<Value>,
    /// What to send as `shown` to accept exactly this replay; null if the code cannot be loaded, or if it was accepted.
    #[schema(required)]
    pub shown: Option<String>,
    /// Number of the operation that accepted the replay; null if nothing was written.
    #[schema(required)]
    pub op: Option<i64>,
    /// Whether this is the replay of an idempotent request, which only keeps `op`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub is_cut_short: bool,
}

/// One message at which a hook ran again.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplayPluginRow {
    /// Id of the message.
    pub node_id: WireNodeId,
    /// Name of the hook.
    pub hook: &'static str,
    /// Operations that the plugin proposed originally.
    #[schema(value_type = Vec<WorldOperationSchema>)]
    pub old: Vec<Value>,
    /// Operations that it proposes now.
    #[schema(value_type = Vec<WorldOperationSchema>)]
    pub new: Vec<Value>,
    /// Visible lines that it would write below the message.
    pub notes: Vec<String>,
    /// Summary that it would propose: `{text, turns, upto}`; null for none.
    #[schema(required, value_type = Option<JsonMap>)]
    pub summary: Option<Value>,
    /// Why the hook failed; null otherwise.
    #[schema(required, value_type = Option<ScriptErrorSchema>)]
    pub error: Option<Value>,
    /// Differences of the state after the message: `before` is the stored state, `after` that of the replay.
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

/// The cost of one hook call.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TryHookUsage {
    /// Interpreter steps.
    pub operations: u64,
    /// CPU time in microseconds.
    pub micros: u64,
    /// Peak heap size in bytes.
    pub heap_peak: u64,
}

impl From<&ScriptError> for TryHookResponse {
    /// Describes code that cannot be loaded.
    fn from(error: &ScriptError) -> Self {
        Self { error: script_error_json(error), ..Self::default() }
    }
}

impl From<HookTrialOutcome> for TryHookResponse {
    fn from(tried: HookTrialOutcome) -> Self {
        let after = tried.outcome.world.as_ref().unwrap_or(&tried.world_before);
        let world = diff(&tried.world_before, after).into_iter().map(PathChangeResponse::from).collect();
        let HookOutcome {
            operations,
            problems,
            rolls,
            notes,
            warnings,
            log,
            answer,
            plan,
            model_calls: asks,
            summary,
            usage,
            error,
            ..
        } = tried.outcome;
        let HookUsage { operations: steps, micros, heap_peak } = usage;
        let problem = |problem: &clotho_core::world::Problem| json!({"operation": problem.operation, "path": problem.path.to_string(), "code": problem.code(), "args": problem.args(), "message": problem.to_string()});
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
                plan.lore
                    .iter()
                    .filter(|choice| choice.is_included == is_in)
                    .map(|choice| choice.entry.as_str())
                    .collect()
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
                Self::new(ApiErrorCode::TooLarge, message).hint("a plugin contains rules, it is not a library")
            }
            PluginFileError::Disk(error) => Self::internal(error),
        }
    }
}
