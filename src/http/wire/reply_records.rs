//! Schemas of what the server records about replies, for the API document: the metadata of nodes and the heads of
//! traces. The domain writes these objects and keeps fields of other programs; nothing is ever made of these types.

use utoipa::ToSchema;

use super::ids::WireNodeId;
use super::records::{
    CodedMessageSchema, HookRunSchema, LoreSimilaritySchema, LoreVerdictSchema, ScannedLorebookSchema,
};
use super::string_enums::{PresetReasonEnum, ScriptScopeEnum};
use crate::http::json_schema::{AnyJson, JsonMap, OtherFields};

/// What is recorded about a node besides its text. Every field may be absent.
#[derive(Debug, ToSchema)]
#[schema(as = NodeMetadata, rename_all = "camelCase")]
pub struct NodeMetadataSchema {
    /// The model that was asked; `plugin:<id>` for a plugin.
    #[schema(nullable = false)]
    pub model: Option<String>,
    /// While the node is generated: `queued`, `waiting`, `thinking`, `streaming` or `values`.
    #[schema(nullable = false)]
    pub phase: Option<String>,
    /// Position in the queue, from 1, while `phase` is `queued`.
    #[schema(nullable = false)]
    pub queue_position: Option<usize>,
    /// Whether the text ends before the model was done.
    #[schema(nullable = false)]
    pub is_truncated: Option<bool>,
    /// Why the model stopped; `cancelled` if a user stopped it.
    pub finish_reason: Option<String>,
    /// Why the reply failed.
    #[schema(nullable = false)]
    pub error: Option<ReplyErrorSchema>,
    /// Stars from the user, 1 to 5.
    #[schema(nullable = false)]
    pub rating: Option<u8>,
    /// The messages that a summary replaces.
    #[schema(nullable = false)]
    pub summarized_from: Option<Vec<WireNodeId>>,
    /// The leaf of the branch that a merge took changes from.
    #[schema(nullable = false)]
    pub merged_from: Option<WireNodeId>,
    /// The text as typed, if plugins changed it.
    #[schema(nullable = false)]
    pub original_content: Option<String>,
    /// The version from which this one was edited.
    #[schema(nullable = false)]
    pub edited_from: Option<WireNodeId>,
    /// The model call of a plugin whose answer made the node.
    #[schema(nullable = false)]
    pub answers: Option<AnsweredCallSchema>,
    /// Where a copy or an imported message comes from.
    #[schema(nullable = false)]
    pub provenance: Option<ProvenanceSchema>,
    /// Everything else: `params, seed, latencyMs, firstTokenMs, tokenCount, cost, costFrom, …`, and fields of other
    /// programs.
    #[serde(flatten)]
    pub rest: OtherFields,
}

/// Why a reply failed.
#[derive(Debug, ToSchema)]
#[schema(as = ReplyError)]
pub struct ReplyErrorSchema {
    /// Stable code.
    pub code: String,
    /// Arguments of the code: texts and numbers by name.
    #[schema(value_type = JsonMap, required = false)]
    pub args: Option<JsonMap>,
    /// The error in one sentence.
    pub message: String,
    /// What the user can do about it.
    #[schema(nullable = false)]
    pub hint: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: OtherFields,
}

/// The model call of a plugin that was answered.
#[derive(Debug, ToSchema)]
#[schema(as = AnsweredCall, rename_all = "camelCase")]
pub struct AnsweredCallSchema {
    /// The plugin.
    pub plugin: String,
    /// Name of the call.
    pub name: String,
    /// The message at which it was requested.
    pub node_id: WireNodeId,
    /// Everything else, such as `failure`.
    #[serde(flatten)]
    pub rest: OtherFields,
}

/// Where a copy or an imported message comes from: the original, or a file.
#[derive(Debug, ToSchema)]
#[schema(as = Provenance, rename_all = "camelCase")]
pub struct ProvenanceSchema {
    /// The file of an import.
    #[schema(nullable = false)]
    pub file: Option<String>,
    /// Line of the file, from 1.
    pub line: Option<u64>,
    /// The session of the original.
    #[schema(nullable = false, value_type = Option<WireNodeId>)]
    pub session_id: Option<WireNodeId>,
    /// The original.
    #[schema(nullable = false)]
    pub node_id: Option<WireNodeId>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: OtherFields,
}

/// What a trace records besides its blocks and messages. Every field may be absent.
#[derive(Debug, ToSchema)]
#[schema(as = TraceHead, rename_all = "camelCase")]
pub struct TraceHeadSchema {
    /// The model that was asked.
    #[schema(nullable = false)]
    pub model: Option<String>,
    /// The requested name, if it stands for several models.
    #[schema(nullable = false)]
    pub alias: Option<String>,
    /// The models of the alias that failed before one answered.
    #[schema(nullable = false, rename = "passedOver")]
    pub skipped_models: Option<Vec<SkippedModelSchema>>,
    /// The parameters as sent.
    #[schema(value_type = JsonMap, required = false)]
    pub params: Option<JsonMap>,
    /// Prompt tokens that came from the cache of the provider; null if unknown.
    pub cached_tokens: Option<u64>,
    /// The cost in the provider's currency; null if unknown.
    pub cost: Option<f64>,
    /// What prompt caching saved, in the same currency.
    #[schema(nullable = false)]
    pub saved: Option<f64>,
    /// Why no prompt could be made, or why the reply failed.
    #[schema(nullable = false)]
    pub error: Option<ReplyErrorSchema>,
    /// The size of the prompt, and who counted it.
    #[schema(nullable = false)]
    pub tokens: Option<PromptTokensSchema>,
    /// The newest message that was left out, and why.
    pub history_cut: Option<HistoryCutSchema>,
    /// The regex scripts that changed something or were left out.
    #[schema(nullable = false)]
    pub scripts: Option<Vec<ScriptRunSchema>>,
    /// The active entries of lorebooks.
    #[schema(nullable = false)]
    pub lore: Option<LoreTraceSchema>,
    /// The rolling summaries in the prompt.
    #[schema(nullable = false)]
    pub summaries: Option<PromptSummariesSchema>,
    /// The preset of the prompt, and why it was used.
    #[schema(nullable = false)]
    pub preset: Option<PromptPresetSchema>,
    /// The chat template that joined the prompt into one text.
    #[schema(nullable = false)]
    pub template: Option<PromptTemplateSchema>,
    /// The request to the model that writes the values.
    #[schema(nullable = false)]
    pub values: Option<ValuesCallSchema>,
    /// Everything else: `finishReason, hash, hideTags, recall, toolsInWords, …`
    #[serde(flatten)]
    pub rest: OtherFields,
}

/// A model that failed before another one answered.
#[derive(Debug, ToSchema)]
#[schema(as = SkippedModel)]
pub struct SkippedModelSchema {
    /// The model.
    pub model: String,
    /// Why it failed.
    #[serde(flatten)]
    pub failure: CodedMessageSchema,
    /// Everything else.
    #[serde(flatten)]
    pub rest: OtherFields,
}

/// The size of a prompt.
#[derive(Debug, ToSchema)]
#[schema(as = PromptTokens)]
pub struct PromptTokensSchema {
    /// Number of tokens.
    pub count: u64,
    /// A tokenizer, `server`, or an estimate.
    pub by: String,
    /// Everything else.
    #[serde(flatten)]
    pub rest: OtherFields,
}

/// Where the history of a prompt was cut.
#[derive(Debug, ToSchema)]
#[schema(as = HistoryCut)]
pub struct HistoryCutSchema {
    /// The reason, as a word.
    pub why: String,
    /// The newest message that was left out.
    pub through: WireNodeId,
}

/// What a regex script did to a prompt.
#[derive(Debug, ToSchema)]
#[schema(as = ScriptRun)]
pub struct ScriptRunSchema {
    /// Name of the script.
    #[schema(nullable = false)]
    pub name: Option<String>,
    /// Where it belongs.
    pub scope: ScriptScopeEnum,
    /// Number of changed texts.
    pub changed: u64,
    /// Why it was left out: a stable code.
    #[schema(nullable = false)]
    pub why: Option<String>,
    /// Arguments of the code: texts and numbers by name; absent if there are none.
    #[schema(value_type = JsonMap, required = false)]
    pub args: Option<JsonMap>,
    /// The same in one sentence.
    #[schema(nullable = false)]
    pub message: Option<String>,
}

/// The lorebook entries that were activated for a reply, and those that were stopped.
#[derive(Debug, ToSchema)]
#[schema(as = LoreTrace)]
pub struct LoreTraceSchema {
    /// The scanned lorebooks.
    pub books: Vec<ScannedLorebookSchema>,
    /// The activated entries.
    pub fired: Vec<LoreVerdictSchema>,
    /// Entries that matched but were stopped.
    pub stopped: Vec<LoreVerdictSchema>,
    /// Number of entries that did not match.
    pub silent: usize,
    /// Whether the budget was exceeded.
    pub overflowed: bool,
    /// How entries similar to the chat were found; null if they were not searched.
    pub similar: Option<LoreSimilaritySchema>,
    /// What was aborted or could not be read.
    pub notes: Vec<String>,
    /// The same with code and arguments; absent in older records.
    #[schema(nullable = false)]
    pub problems: Option<Vec<CodedMessageSchema>>,
    /// Everything else: `budget`, `passes`, `firedInAll`, `stoppedInAll`.
    #[serde(flatten)]
    pub rest: OtherFields,
}

/// The rolling summaries in a prompt.
#[derive(Debug, ToSchema)]
#[schema(as = PromptSummaries)]
pub struct PromptSummariesSchema {
    /// The summaries that were used.
    #[schema(nullable = false)]
    pub texts: Option<Vec<PromptSummarySchema>>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: OtherFields,
}

/// One summary in a prompt.
#[derive(Debug, ToSchema)]
#[schema(as = PromptSummary)]
pub struct PromptSummarySchema {
    /// Id of the summary.
    pub id: String,
    /// Everything else.
    #[serde(flatten)]
    pub rest: OtherFields,
}

/// The preset of a prompt.
#[derive(Debug, ToSchema)]
#[schema(as = PromptPreset)]
pub struct PromptPresetSchema {
    /// What selected it.
    #[schema(nullable = false)]
    pub by: Option<PresetReasonEnum>,
    /// Its id.
    #[schema(nullable = false)]
    pub id: Option<String>,
    /// Its name.
    #[schema(nullable = false)]
    pub name: Option<String>,
    /// The model that selected it.
    #[schema(nullable = false)]
    pub model: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: OtherFields,
}

/// The chat template of a prompt.
#[derive(Debug, ToSchema)]
#[schema(as = PromptTemplate)]
pub struct PromptTemplateSchema {
    /// Its name.
    pub name: String,
    /// Why it could not be used as it is.
    #[schema(nullable = false)]
    pub problem: Option<String>,
    /// The same with code and arguments; absent in older records.
    #[schema(nullable = false)]
    pub failure: Option<CodedMessageSchema>,
}

/// The request to the model that writes the values. Facts of the call, such as its tokens, stand beside these.
#[derive(Debug, ToSchema)]
#[schema(as = ValuesCall)]
pub struct ValuesCallSchema {
    /// The model.
    #[schema(nullable = false)]
    pub model: Option<String>,
    /// Its commands.
    #[schema(nullable = false)]
    pub text: Option<String>,
    /// Why there are none, as one sentence.
    #[schema(nullable = false)]
    pub error: Option<String>,
    /// The same with code and arguments.
    #[schema(nullable = false)]
    pub failure: Option<CodedMessageSchema>,
    /// Number of requests.
    #[schema(nullable = false)]
    pub tries: Option<u64>,
    /// The messages as sent.
    #[schema(nullable = false)]
    pub messages: Option<Vec<ValuesMessageSchema>>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: OtherFields,
}

/// One message to the model that writes the values.
#[derive(Debug, ToSchema)]
#[schema(as = ValuesMessage)]
pub struct ValuesMessageSchema {
    /// Role of the message.
    pub role: String,
    /// Text of the message.
    pub content: String,
    /// Everything else.
    #[serde(flatten)]
    pub rest: OtherFields,
}

/// The tools that plugins offered, and the calls of the model.
#[derive(Debug, ToSchema)]
#[schema(as = TraceTools)]
pub struct TraceToolsSchema {
    /// The tools: their names, or in a preview the definitions for the model.
    pub offered: Vec<AnyJson>,
    /// The calls, in order.
    pub used: Vec<HookRunSchema>,
}
