//! Schemas of recorded JSON for the API document: what [`serde_json::Value`] fields of other files contain. The domain
//! writes these objects; nothing is ever made of these types. The tests compare every response with them.

use utoipa::ToSchema;

use super::enums::Role;
use super::ids::WireNodeId;
use crate::http::json_schema::{AnyJson, JsonMap, OtherFields};

/// An operation on the state at a node.
#[derive(Debug, ToSchema)]
#[schema(as = WorldOperation)]
pub struct WorldOperationSchema {
    /// The section, unless it is `vars`: `lore`, `summary` or `events`.
    #[serde(rename = "in")]
    #[schema(nullable = false)]
    pub section: Option<String>,
    /// `add`, `set`, `remove`, `insert`, `append`, `take` or `move`.
    pub op: String,
    /// JSON Pointer from the top of the section.
    pub path: String,
    /// The value, if the operation takes one.
    #[schema(value_type = AnyJson, required = false)]
    pub value: Option<AnyJson>,
    /// Key for `insert`.
    #[schema(nullable = false)]
    pub key: Option<String>,
    /// Old path for `move`.
    #[schema(nullable = false)]
    pub from: Option<String>,
    /// The reason, for people.
    #[schema(nullable = false)]
    pub why: Option<String>,
    /// Who proposed it: a plugin, `user` or `server`.
    #[schema(nullable = false)]
    pub by: Option<String>,
}

/// A recorded random draw.
#[derive(Debug, ToSchema)]
#[schema(as = DiceRoll)]
pub struct DiceRollSchema {
    /// The plugin that drew.
    pub plugin: String,
    /// The hook that drew.
    pub hook: String,
    /// Position among the draws of the hook, from 0.
    pub n: u32,
    /// What was rolled, such as `2d6+3`.
    pub spec: String,
    /// Every die, in order.
    pub dice: Vec<i64>,
    /// The result.
    pub total: i64,
}

/// A message for people: a code with arguments, and the sentence made from them. Older records have only the sentence.
#[derive(Debug, ToSchema)]
#[schema(as = CodedMessage)]
pub struct CodedMessageSchema {
    /// Stable code; absent if there is none.
    #[schema(nullable = false)]
    pub code: Option<String>,
    /// Arguments of the code: texts and numbers by name.
    #[schema(value_type = JsonMap, required = false)]
    pub args: Option<JsonMap>,
    /// The message in one sentence.
    pub message: String,
}

/// A recorded problem; `code` is absent in older records.
#[derive(Debug, ToSchema)]
#[schema(as = RecordedProblem)]
pub struct RecordedProblemSchema {
    /// Code, arguments and sentence.
    #[serde(flatten)]
    pub message: CodedMessageSchema,
    /// The plugin concerned; absent if there is none.
    #[schema(nullable = false)]
    pub plugin: Option<String>,
}

/// A recorded line below a message.
#[derive(Debug, ToSchema)]
#[schema(as = RecordedNote)]
pub struct RecordedNoteSchema {
    /// The plugin that wrote the line.
    pub plugin: String,
    /// The text of the line.
    pub text: String,
    /// Stable code if the server wrote the line; absent otherwise.
    #[schema(nullable = false)]
    pub code: Option<String>,
    /// Arguments of the code: texts and numbers by name.
    #[schema(value_type = JsonMap, required = false)]
    pub args: Option<JsonMap>,
}

/// An operation with its node.
#[derive(Debug, ToSchema)]
#[schema(as = NodeOperation, rename_all = "camelCase")]
pub struct NodeOperationSchema {
    /// The node that has it.
    pub node_id: WireNodeId,
    /// The operation.
    #[serde(flatten)]
    pub operation: WorldOperationSchema,
}

/// One effect of an operation of the log: its first field names the effect.
#[derive(Debug, ToSchema)]
#[schema(as = OperationEffect)]
pub struct OperationEffectSchema {
    /// For a purge: the destroyed node.
    #[schema(nullable = false)]
    pub purged: Option<WireNodeId>,
    /// For a purge: the nodes below it.
    #[schema(nullable = false)]
    pub below: Option<Vec<WireNodeId>>,
    /// Every other effect.
    #[serde(flatten)]
    pub rest: OtherFields,
}

/// An error or warning about the code of a plugin.
#[derive(Debug, ToSchema)]
#[schema(as = ScriptError)]
pub struct ScriptErrorSchema {
    /// Id of the plugin.
    pub plugin: String,
    /// Version of the plugin; empty if unknown.
    pub version: String,
    /// Path of the file.
    #[schema(required)]
    pub file: Option<String>,
    /// Line, from 1.
    #[schema(required)]
    pub line: Option<u32>,
    /// Column, from 1.
    #[schema(required)]
    pub column: Option<u32>,
    /// The hook that ran.
    #[schema(required)]
    pub hook: Option<String>,
    /// Id of the node at which it ran.
    #[schema(required)]
    pub node: Option<String>,
    /// Number of the turn at which it ran.
    #[schema(nullable = false)]
    pub turn: Option<u64>,
    /// Kind of the error.
    pub kind: String,
    /// The limit that was hit.
    #[schema(value_type = AnyJson, required = false)]
    pub limit: Option<AnyJson>,
    /// Stable code; absent in older records.
    #[schema(nullable = false)]
    pub code: Option<String>,
    /// Arguments of the code: texts and numbers by name; absent if there are none.
    #[schema(value_type = JsonMap, required = false)]
    pub args: Option<JsonMap>,
    /// The error in one sentence.
    pub message: String,
    /// The call stack, innermost first.
    pub stack: Vec<ScriptFrameSchema>,
    /// Number of operations of the call that are not applied.
    #[serde(rename = "opsDropped")]
    pub ops_dropped: usize,
    /// The source around the error.
    #[schema(nullable = false)]
    pub excerpt: Option<Vec<ExcerptLineSchema>>,
}

/// One call of a stack.
#[derive(Debug, ToSchema)]
#[schema(as = ScriptFrame)]
pub struct ScriptFrameSchema {
    /// Name of the function.
    pub function: String,
    /// Path of the file.
    pub file: String,
    /// Line, from 1.
    #[schema(required)]
    pub line: Option<u32>,
    /// Column, from 1.
    #[schema(required)]
    pub column: Option<u32>,
}

/// One line of source.
#[derive(Debug, ToSchema)]
#[schema(as = ExcerptLine)]
pub struct ExcerptLineSchema {
    /// Line, from 1.
    pub line: u32,
    /// The text, possibly cut.
    pub text: String,
}

/// One call of a plugin, or one declarative rule that fired.
#[derive(Debug, ToSchema)]
#[schema(as = HookRun)]
pub struct HookRunSchema {
    /// The plugin.
    pub plugin: String,
    /// Version of the plugin.
    #[schema(nullable = false)]
    pub version: Option<String>,
    /// Name of the hook; `rule:<name>` for a declarative rule, `tool_<name>` for a tool.
    pub hook: String,
    /// The reason why a declarative rule fired.
    #[schema(nullable = false)]
    pub because: Option<String>,
    /// Number of its operations.
    #[schema(nullable = false)]
    pub ops: Option<u64>,
    /// Warnings for the author of the plugin.
    #[schema(nullable = false)]
    pub warnings: Option<Vec<String>>,
    /// CPU time in microseconds.
    #[schema(nullable = false)]
    pub micros: Option<u64>,
    /// For a tool: the arguments from the model.
    #[schema(value_type = AnyJson, required = false)]
    pub arguments: Option<AnyJson>,
    /// For a tool: its answer; for `on_answer`: the answer of the model.
    #[schema(value_type = AnyJson, required = false)]
    pub answer: Option<AnyJson>,
    /// For a tool: why the call was refused, as one sentence. The model got it.
    #[schema(nullable = false)]
    pub refused: Option<String>,
    /// The same with code and arguments. Older records have only the sentence.
    #[schema(nullable = false)]
    pub refusal: Option<CodedMessageSchema>,
    /// The model calls that it requests.
    #[schema(nullable = false)]
    pub asks: Option<Vec<ModelCallSchema>>,
    /// Why it failed; null if it did not.
    pub error: Option<HookErrorSchema>,
    /// Everything else: `log`, `rolls`, `notes`, `operations`, …
    #[serde(flatten)]
    pub rest: OtherFields,
}

/// Why a call of a plugin failed, or why an embedded plugin cannot be read.
#[derive(Debug, ToSchema)]
#[schema(as = HookError)]
pub struct HookErrorSchema {
    /// The error in one sentence.
    pub message: String,
    /// Path of the file.
    pub file: Option<String>,
    /// Line, from 1.
    pub line: Option<u32>,
    /// Everything else, as in a script error.
    #[serde(flatten)]
    pub rest: OtherFields,
}

/// A model call that a plugin requests.
#[derive(Debug, ToSchema)]
#[schema(as = ModelCall)]
#[serde(rename_all = "camelCase")]
pub struct ModelCallSchema {
    /// Name of the call.
    pub name: String,
    /// The messages.
    pub messages: Vec<ModelCallMessageSchema>,
    /// Maximum number of tokens of the answer.
    pub max_tokens: u32,
    /// The model; null means that of the session.
    #[schema(required)]
    pub model: Option<String>,
}

/// One message of a model call.
#[derive(Debug, ToSchema)]
#[schema(as = ModelCallMessage)]
pub struct ModelCallMessageSchema {
    /// `user`, `assistant` or `system`.
    pub role: String,
    /// The text.
    pub text: String,
}

/// A problem of one operation of a tried hook.
#[derive(Debug, ToSchema)]
#[schema(as = OperationProblem)]
pub struct OperationProblemSchema {
    /// Index of the operation.
    pub operation: usize,
    /// Path of the operation.
    pub path: String,
    /// Stable code.
    pub code: String,
    /// Arguments of the code: texts and numbers by name.
    pub args: JsonMap,
    /// The problem in one sentence.
    pub message: String,
}

/// The state at a node.
#[derive(Debug, ToSchema)]
#[schema(as = World)]
pub struct WorldSchema {
    /// Values of plugins and stories.
    pub vars: JsonMap,
    /// Active entries and timers of lorebooks.
    pub lore: JsonMap,
    /// The rolling summary.
    pub summary: String,
    /// Events: `{text, tags, node}`.
    pub events: Vec<AnyJson>,
}

/// The result for one lorebook entry.
#[derive(Debug, ToSchema)]
#[schema(as = LoreVerdict)]
pub struct LoreVerdictSchema {
    /// Id of the lorebook.
    pub book: String,
    /// Id of the entry.
    pub uid: String,
    /// Title of the entry.
    pub title: String,
    /// The reason, as a word.
    pub why: String,
    /// The key that matched.
    #[schema(nullable = false)]
    pub key: Option<String>,
    /// Tokens of the text.
    #[schema(nullable = false)]
    pub tokens: Option<usize>,
    /// Why a condition cannot be read.
    #[schema(nullable = false)]
    pub problem: Option<String>,
    /// The same with code and arguments. Older records have only the sentence.
    #[schema(nullable = false)]
    pub failure: Option<CodedMessageSchema>,
    /// How well the entry matches.
    #[schema(nullable = false)]
    pub score: Option<f64>,
    /// The plugin that activates it or keeps it out.
    #[schema(nullable = false)]
    pub plugin: Option<String>,
    /// Everything else, such as `lost` and `text`.
    #[serde(flatten)]
    pub rest: OtherFields,
}

/// A scanned lorebook.
#[derive(Debug, ToSchema)]
#[schema(as = ScannedLorebook)]
pub struct ScannedLorebookSchema {
    /// Id of the lorebook.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Why it applies.
    pub scope: String,
}

/// How entries similar to the chat were found.
#[derive(Debug, ToSchema)]
#[schema(as = LoreSimilarity)]
pub struct LoreSimilaritySchema {
    /// `vectors`, `words`, or both.
    pub by: Vec<String>,
    /// Number of compared entries.
    pub looked: usize,
    /// Number of found entries.
    pub found: usize,
    /// Why vectors were not used.
    #[schema(nullable = false)]
    pub problem: Option<String>,
    /// The same with code and arguments.
    #[schema(nullable = false)]
    pub failure: Option<CodedMessageSchema>,
}

/// One block of a prompt.
#[derive(Debug, ToSchema)]
#[schema(as = PromptBlock)]
pub struct PromptBlockSchema {
    /// Its place in the prompt; `plugin:<id>:<slot>` for the text of a plugin.
    #[schema(nullable = false)]
    pub slot: Option<String>,
    /// Role of the message.
    #[schema(nullable = false)]
    pub role: Option<Role>,
    /// Number of tokens.
    #[schema(nullable = false)]
    pub tokens: Option<usize>,
    /// Where the text comes from.
    #[schema(nullable = false)]
    pub source: Option<String>,
    /// The text.
    pub text: String,
    /// Whether it was sent.
    pub kept: bool,
    /// Why it was not sent: `budget`, `duplicate` or `noPlace`.
    #[schema(nullable = false)]
    pub why: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: OtherFields,
}
