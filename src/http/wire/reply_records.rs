//! Schemas of what the server records about replies, for the API document: the metadata of nodes and the heads of
//! traces. The domain writes these objects and keeps fields of other programs; nothing is ever made of these types.

use utoipa::ToSchema;

use super::ids::WireNodeId;
use super::records::{
    CodedMessageSchema, HookRunSchema, LoreSimilaritySchema, LoreVerdictSchema, ScannedLorebookSchema,
};
use super::string_enums::{PresetReasonEnum, ScriptScopeEnum};
use crate::http::json_schema::{AnyJson, JsonMap, OtherFields};

/// The facts of one reply of a model or a narrator, also of a side call. Every field may be absent.
#[derive(Debug, ToSchema)]
#[schema(as = ReplyFacts, rename_all = "camelCase")]
pub struct ReplyFactsSchema {
    /// The model that was asked; `plugin:<id>` for a plugin.
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
    /// Time in the queue, in milliseconds.
    #[schema(nullable = false)]
    pub queued_ms: Option<u64>,
    /// Time from request to end, in milliseconds.
    #[schema(nullable = false)]
    pub latency_ms: Option<u64>,
    /// Time from request to the first text, in milliseconds; null if none came.
    pub first_token_ms: Option<u64>,
    /// The tokens, as the provider counted them.
    #[schema(nullable = false)]
    pub token_count: Option<ReplyTokenCountSchema>,
    /// Prompt tokens that came from the cache of the provider; null if unknown.
    pub cached_tokens: Option<u64>,
    /// The cost in the provider's currency, from 0; null if unknown.
    #[schema(minimum = 0)]
    pub cost: Option<f64>,
    /// The source of the cost: `provider`, `settings` or `prices`; null if the cost is unknown.
    #[schema(rename = "costFrom")]
    pub cost_source: Option<String>,
    /// What prompt caching saved, in the same currency.
    #[schema(nullable = false)]
    pub saved: Option<f64>,
    /// The tools that the model called.
    #[schema(nullable = false)]
    pub tool_calls: Option<Vec<ToolCallSchema>>,
    /// Why the model stopped; `cancelled` if a user stopped it. Null if the server did not say.
    pub finish_reason: Option<String>,
    /// Why the reply failed; in a trace also why no prompt could be made.
    #[schema(nullable = false)]
    pub error: Option<ReplyErrorSchema>,
    /// The model as the provider calls it.
    #[schema(nullable = false)]
    pub reported_model: Option<String>,
    /// Whether the text ends before the model was done.
    #[schema(nullable = false)]
    pub is_truncated: Option<bool>,
}

/// The tokens of a request and its answer.
#[derive(Debug, ToSchema)]
#[schema(as = ReplyTokenCount)]
pub struct ReplyTokenCountSchema {
    /// Prompt tokens.
    #[schema(nullable = false)]
    pub prompt: Option<u64>,
    /// Reply tokens.
    #[schema(nullable = false)]
    pub completion: Option<u64>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: OtherFields,
}

/// A call of a tool, as the model wrote it.
#[derive(Debug, ToSchema)]
#[schema(as = ReplyToolCall)]
pub struct ToolCallSchema {
    /// The provider's id of the call; empty if it gives none.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// The arguments. They should be JSON, but can be invalid.
    pub arguments: String,
    /// Everything else.
    #[serde(flatten)]
    pub rest: OtherFields,
}

/// What a request set instead of the session's settings.
#[derive(Debug, ToSchema)]
#[schema(as = GenerationOverride)]
pub struct GenerationOverrideSchema {
    /// The model.
    pub model: Option<String>,
    /// The parameters.
    #[schema(value_type = JsonMap, required = false)]
    pub params: Option<JsonMap>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: OtherFields,
}

/// How many operations of a merge come from one node. The merge's own operations are not counted.
#[derive(Debug, ToSchema)]
#[schema(as = MergedNode, rename_all = "camelCase")]
pub struct MergedNodeSchema {
    /// The node.
    pub node_id: WireNodeId,
    /// Number of its operations.
    pub operations: u64,
}

/// What is recorded about a node besides its text. Every field may be absent.
#[derive(Debug, ToSchema)]
#[schema(as = NodeMetadata, rename_all = "camelCase")]
pub struct NodeMetadataSchema {
    /// The facts of the reply, if the node is one.
    #[serde(flatten)]
    pub reply: ReplyFactsSchema,
    /// While the node is generated: `queued`, `waiting`, `thinking`, `streaming` or `values`.
    #[schema(nullable = false)]
    pub phase: Option<String>,
    /// Position in the queue, from 1, while `phase` is `queued`.
    #[schema(nullable = false)]
    pub queue_position: Option<usize>,
    /// Stars from the user, 1 to 5.
    #[schema(nullable = false)]
    pub rating: Option<u8>,
    /// The messages that a summary replaces.
    #[schema(nullable = false)]
    pub summarized_from: Option<Vec<WireNodeId>>,
    /// The leaf of the branch that a merge took changes from.
    #[schema(nullable = false)]
    pub merged_from: Option<WireNodeId>,
    /// How many operations of a merge come from which node.
    #[schema(nullable = false)]
    pub merged_nodes: Option<Vec<MergedNodeSchema>>,
    /// The text as typed, if plugins changed it.
    #[schema(nullable = false)]
    pub original_content: Option<String>,
    /// The seed as sent; null if none was.
    pub seed: Option<f64>,
    /// What the request set instead of the session's settings.
    #[schema(nullable = false, rename = "override")]
    pub overridden: Option<GenerationOverrideSchema>,
    /// What the model said that writes the values.
    #[schema(nullable = false)]
    pub values: Option<ValuesRecordSchema>,
    /// The reply that this one continues.
    #[schema(nullable = false)]
    pub continued_from: Option<WireNodeId>,
    /// The version from which this one was edited.
    #[schema(nullable = false)]
    pub edited_from: Option<WireNodeId>,
    /// The time zone of the person who wrote it, for dates in prompts: a name or an offset from UTC.
    #[schema(nullable = false)]
    pub time_zone: Option<String>,
    /// The model call of a plugin whose answer made the node.
    #[schema(nullable = false)]
    pub answers: Option<AnsweredCallSchema>,
    /// Where a copy or an imported message comes from.
    #[schema(nullable = false)]
    pub provenance: Option<ProvenanceSchema>,
    /// Imported data that has no place in a message.
    #[schema(value_type = JsonMap, required = false)]
    pub sillytavern: Option<JsonMap>,
    /// Fields of other programs.
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
    /// The facts of the reply.
    #[serde(flatten)]
    pub reply: ReplyFactsSchema,
    /// The hash of the messages as sent.
    #[schema(nullable = false)]
    pub hash: Option<String>,
    /// The estimated tokens of the prompt.
    #[schema(nullable = false)]
    pub tokens_estimated: Option<u64>,
    /// The parameters that were not sent as they were set, because the server refuses them: a code, and why.
    #[schema(nullable = false)]
    pub parameters: Option<Vec<CodedMessageSchema>>,
    /// The tags whose contents are hidden from models.
    #[schema(nullable = false)]
    pub hide_tags: Option<Vec<String>>,
    /// What macros put into the prompt.
    #[schema(value_type = JsonMap, required = false)]
    pub macros: Option<JsonMap>,
    /// The recalled passages.
    #[schema(value_type = JsonMap, required = false)]
    pub recall: Option<JsonMap>,
    /// The model that refused tools, so that they are in the text.
    #[schema(nullable = false, rename = "toolsInWords")]
    pub tools_in_text: Option<ToolsRefusalSchema>,
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
    /// Everything else.
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

/// A server that refused a request because of its tools.
#[derive(Debug, ToSchema)]
#[schema(as = ToolsRefusal)]
pub struct ToolsRefusalSchema {
    /// The model.
    pub model: String,
    /// Why it refused.
    pub why: String,
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

/// What the model said that writes the values. Facts of the call, such as its tokens, stand beside these.
#[derive(Debug, ToSchema)]
#[schema(as = ValuesRecord)]
pub struct ValuesRecordSchema {
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
    /// Everything else.
    #[serde(flatten)]
    pub rest: OtherFields,
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clotho_core::tree::{NodeMetadata, ReplyFacts, TraceHead};
    use serde_json::Value;
    use utoipa::PartialSchema;

    use super::*;

    /// Adds the names of the properties of a schema and of its parts.
    fn add_properties(schema: &Value, names: &mut BTreeSet<String>) {
        names.extend(schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()));
        schema["allOf"].as_array().into_iter().flatten().for_each(|part| add_properties(part, names));
    }

    fn properties<T: PartialSchema>() -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        add_properties(&serde_json::to_value(T::schema()).unwrap(), &mut names);
        names
    }

    /// What the server records has a documented type, so that values of another type are found.
    #[test]
    fn recorded_keys_are_all_documented() {
        let missing = |keys: &[&'static str], documented: BTreeSet<String>| {
            keys.iter().copied().filter(|key| !documented.contains(*key)).collect::<Vec<_>>()
        };
        assert_eq!(missing(ReplyFacts::KEYS, properties::<ReplyFactsSchema>()), [""; 0]);
        assert_eq!(missing(NodeMetadata::KEYS, properties::<NodeMetadataSchema>()), [""; 0]);
        // These two are fields of the trace itself.
        assert_eq!(missing(TraceHead::KEYS, properties::<TraceHeadSchema>()), ["plan", "tools"]);
    }
}
