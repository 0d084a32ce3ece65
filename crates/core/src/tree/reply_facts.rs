//! What the server records about replies besides their text: the metadata of nodes and summaries, and the heads of traces.
//! The JSON forms are in `docs/api.md`; keys of other programs and of newer versions are kept.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::merge_parts::MergedNodeRecord;
use crate::coded_message::{MessageArgs, RenderedMessage};
use crate::ids::{NodeId, SessionId};
use crate::json_facts::NullableField;
use crate::{json_facts, json_object};

json_facts! {
    /// The facts of one reply of a model or a narrator, also of a side call.
    ReplyFacts {
        /// The model that was asked, by its name here; `plugin:ID` for a plugin.
        model: Option<String> = "model",
        /// The requested name, if it stands for a list of models.
        alias: Option<String> = "alias",
        /// The models of the list that failed before one answered.
        skipped_models: Option<Vec<SkippedModelRecord>> = "passedOver",
        /// The parameters as sent.
        params: Option<Map<String, Value>> = "params",
        /// The time in the queue, in milliseconds.
        queued_ms: Option<u64> = "queuedMs",
        /// The time from request to end, in milliseconds.
        latency_ms: Option<u64> = "latencyMs",
        /// The time from request to the first text, in milliseconds.
        first_token_ms: NullableField<u64> = "firstTokenMs",
        /// The tokens, as the provider counted them.
        token_count: Option<TokenCount> = "tokenCount",
        /// The prompt tokens that came from the provider's cache.
        cached_tokens: NullableField<u64> = "cachedTokens",
        /// The cost in the provider's currency.
        cost: NullableField<CostAmount> = "cost",
        /// The source of the cost: `provider`, or the price list.
        cost_source: NullableField<String> = "costFrom",
        /// What prompt caching saved, in the same currency.
        saved: Option<FiniteNumber> = "saved",
        /// The tools that the model called.
        tool_calls: Option<Vec<ToolCallRecord>> = "toolCalls",
        /// Why the model stopped; `cancelled` if a user stopped it.
        finish_reason: NullableField<String> = "finishReason",
        /// Why the reply failed.
        error: Option<ReplyErrorRecord> = "error",
        /// The model as the provider calls it.
        reported_model: Option<String> = "reportedModel",
        /// Whether the text ends before the model was done.
        is_truncated: Option<bool> = "isTruncated",
    }
}

impl ReplyFacts {
    /// Returns the facts that a trace repeats.
    pub fn for_trace(&self) -> Self {
        Self { reported_model: None, is_truncated: None, ..self.clone() }
    }
}

/// A number that a program can calculate with. JSON can also write numbers beyond every finite one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Number", into = "Number")]
pub struct FiniteNumber(Number);

/// The cost of a reply: a finite number from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Number", into = "Number")]
pub struct CostAmount(Number);

/// A number is negative, or no finite one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the number is negative or no finite one")]
pub struct NumberOutOfRange;

macro_rules! checked_number {
    ($name:ident, $fits:expr) => {
        impl $name {
            /// Returns the number with all its digits.
            pub fn number(&self) -> &Number {
                &self.0
            }
        }

        impl TryFrom<Number> for $name {
            type Error = NumberOutOfRange;

            fn try_from(number: Number) -> Result<Self, NumberOutOfRange> {
                let fits: fn(f64) -> bool = $fits;
                let is_in_range = number.as_f64().is_some_and(|value| value.is_finite() && fits(value));
                if is_in_range { Ok(Self(number)) } else { Err(NumberOutOfRange) }
            }
        }

        impl From<$name> for Number {
            fn from(from: $name) -> Self {
                from.0
            }
        }
    };
}

impl FiniteNumber {
    /// Returns the number of a JSON value; `None` if it is none.
    pub fn from_json(value: &Value) -> Option<Self> {
        value.as_number().cloned().and_then(|number| number.try_into().ok())
    }
}

checked_number!(FiniteNumber, |_| true);
checked_number!(CostAmount, |value| value >= 0.0);

/// A model of a list that failed before another one answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SkippedModelRecord {
    pub model: String,
    pub code: String,
    /// The arguments of the code; older records have none.
    #[serde(default, skip_serializing_if = "MessageArgs::is_empty")]
    pub args: MessageArgs,
    pub message: String,
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The tokens of a request and its answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TokenCount {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<u64>,
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A call of a tool, as the model wrote it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCallRecord {
    /// Empty if the provider gives none.
    pub id: String,
    pub name: String,
    /// They should be JSON, but can be invalid.
    pub arguments: String,
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Why a reply failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplyErrorRecord {
    /// One of the error codes of nodes.
    pub code: String,
    /// The arguments of the code; older records have none.
    #[serde(default, skip_serializing_if = "MessageArgs::is_empty")]
    pub args: MessageArgs,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

json_object! {
    /// The metadata of a node.
    NodeMetadata(
        /// The facts of the reply, if the node is one.
        reply: ReplyFacts
    ) {
        /// The seed as sent.
        seed: NullableField<FiniteNumber> = "seed",
        /// What the request set instead of the session's settings.
        overridden: Option<GenerationOverride> = "override",
        /// What the values model said.
        values: Option<ValuesRecord> = "values",
        /// The reply that this one continues.
        continued_from: Option<NodeId> = "continuedFrom",
        /// The version from which this one was edited.
        edited_from: Option<NodeId> = "editedFrom",
        /// The time zone of the person who wrote it, as a name or an offset from UTC.
        time_zone: Option<String> = "timeZone",
        /// The text as typed, if plugins changed it.
        original_content: Option<String> = "originalContent",
        /// The messages that a summary node replaces.
        summarized_from: Option<Vec<NodeId>> = "summarizedFrom",
        /// The leaf of the other branch, on a node that a merge made.
        merged_from: Option<NodeId> = "mergedFrom",
        /// The origins of its operations.
        merged_nodes: Option<Vec<MergedNodeRecord>> = "mergedNodes",
        /// The background call whose answer made the node.
        answers: Option<ModelCallRecord> = "answers",
        /// Where a copy or an imported message comes from.
        provenance: Option<Provenance> = "provenance",
        /// Imported data that has no place in a node.
        sillytavern: Option<Map<String, Value>> = "sillytavern",
    }
}

impl NodeMetadata {
    /// Keys that only the server sets when it shows a node: they are never stored.
    const SHOWN_KEYS: [&'static str; 2] = ["phase", "queuePosition"];

    /// Removes what a program that reads metadata cannot expect: known keys whose value has another type.
    #[must_use]
    pub fn for_readers(mut self: Box<Self>) -> Box<Self> {
        self.drop_mistyped();
        if let Some(values) = &mut self.values {
            values.drop_mistyped();
        }
        self
    }

    /// Removes stored values of keys that the server sets when it shows a node.
    pub fn drop_shown_keys(&mut self) {
        self.rest.retain(|key, _| !Self::SHOWN_KEYS.contains(&key.as_str()));
    }
}

/// What a request set instead of the session's settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GenerationOverride {
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub params: Map<String, Value>,
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A background call of a plugin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelCallRecord {
    pub plugin: String,
    pub name: String,
    /// The node whose turn asked.
    pub node_id: NodeId,
    /// Why there is no answer, as one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why there is no answer; older records have only the sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<RenderedMessage>,
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Where a copy or an imported message comes from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Provenance {
    /// The file of an import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line of the file, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The session of the original.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The original.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    /// Details of the file format.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl Provenance {
    /// Returns the JSON value for a copy of a node, whose own value is `original`. The copy of an imported message also
    /// keeps the file, because its text is still what the other program made of it.
    pub fn of_copy(original: Option<&Value>, session: SessionId, node: NodeId) -> Value {
        let original = original.and_then(Value::as_object);
        let imported = original.filter(|original| original.get("file").is_some_and(Value::is_string));
        let mut copy = imported.cloned().unwrap_or_default();
        copy.insert("sessionId".to_owned(), session.to_string().into());
        copy.insert("nodeId".to_owned(), node.to_string().into());
        Value::Object(copy)
    }
}

json_object! {
    /// What the values model said about a reply.
    ValuesRecord(
        /// The facts of its call.
        call: ReplyFacts
    ) {
        /// Its commands.
        text: Option<String> = "text",
        /// Why there are none, as one sentence.
        error: Option<String> = "error",
        /// Why there are none; older records have only the sentence.
        failure: Option<RenderedMessage> = "failure",
    }
}

json_object! {
    /// The metadata of an automatic summary.
    SummaryMetadata(
        /// The facts of the call that made it.
        reply: ReplyFacts
    ) {
        /// The plugin that proposed it.
        plugin: Option<String> = "plugin",
    }
}

impl SummaryMetadata {
    /// As [`NodeMetadata::for_readers`].
    #[must_use]
    pub fn for_readers(mut self) -> Self {
        self.drop_mistyped();
        self
    }
}

json_object! {
    /// The head of a trace: everything except blocks and history.
    TraceHead(
        /// The facts of the reply.
        reply: ReplyFacts
    ) {
        /// The hooks that ran for the prompt.
        plan: Option<Vec<Map<String, Value>>> = "plan",
        /// The regex scripts that changed the prompt.
        scripts: Option<Vec<Value>> = "scripts",
        /// The hash of the messages as sent.
        hash: Option<String> = "hash",
        /// The estimated tokens of the prompt.
        tokens_estimated: Option<u64> = "tokensEstimated",
        /// The tokens of the prompt, with who counted them.
        tokens: Option<PromptTokens> = "tokens",
        /// The newest message that was left out, and why.
        history_cut: NullableField<HistoryCutoff> = "historyCut",
        /// The tags whose contents are hidden from models.
        hide_tags: Option<Vec<String>> = "hideTags",
        /// What macros put into the prompt.
        macros: Option<Value> = "macros",
        /// The rolling summaries in the prompt.
        summaries: Option<SummariesTrace> = "summaries",
        /// The recalled passages.
        recall: Option<Value> = "recall",
        /// The preset and why it was used.
        preset: Option<PresetTrace> = "preset",
        /// The offered tools.
        tools: Option<Vec<Value>> = "tools",
        /// The active entries of lorebooks.
        lore: Option<Value> = "lore",
        /// The chat template, if the prompt is sent as one text.
        template: Option<Value> = "template",
        /// The model that refused tools, so that they are in the text.
        tools_in_text: Option<ToolsRefusalRecord> = "toolsInWords",
        /// The parameters that were not sent as they were set, each with a code and the reason.
        parameters: Option<Vec<Value>> = "parameters",
        /// What the values model said.
        values: Option<ValuesRecord> = "values",
    }
}

/// The tokens of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PromptTokens {
    pub count: u64,
    /// A tokenizer, `server`, or an estimate.
    pub by: String,
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Where the history of a prompt was cut.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryCutoff {
    pub why: String,
    /// The newest message that was left out.
    pub through: NodeId,
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The rolling summaries of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SummariesTrace {
    /// The token budget of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
    /// The summaries that were used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texts: Option<Vec<Map<String, Value>>>,
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The preset of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PresetTrace {
    /// Whether each message begins with the speaker's name.
    pub named: bool,
    /// Whether neighbouring messages of one role are joined.
    pub joined: bool,
    /// Whether a stored preset was used.
    pub chosen: bool,
    /// Which one, and why.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A server that refused the request because of its tools.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolsRefusalRecord {
    pub model: String,
    pub why: String,
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn node_metadata_round_trip_keeps_every_key() {
        let mut stored = object(json!({
            "model": "m", "params": {"temperature": 0.70}, "seed": null, "finishReason": "stop", "isTruncated": false,
            "latencyMs": 12, "firstTokenMs": null, "tokenCount": {"prompt": 5, "completion": 7, "reasoning": 2},
            "cachedTokens": null, "cost": null, "costFrom": "provider",
            "error": {"code": "x", "message": "y", "hint": "z", "args": {"n": 1}},
            "values": {"model": "k", "error": "it was stopped", "odd": 1},
            "override": {"model": null, "params": {"seed": 1}, "newer": 2},
            "provenance": {"file": "a.jsonl", "line": 3, "hash": "h"}, "somebodyElses": [1, {"two": null}],
        }));
        // Numbers keep their digits.
        stored.insert("cost".into(), serde_json::from_str("0.00123456789012345678900").unwrap());
        let read = NodeMetadata::from(stored.clone());
        assert_eq!(read.reply.model.as_deref(), Some("m"));
        assert!(read.seed.is_unknown() && read.reply.first_token_ms.is_unknown());
        assert_eq!(
            read.reply.cost.get().map(|cost| cost.number().to_string()).as_deref(),
            Some("0.00123456789012345678900")
        );
        assert_eq!(read.values.as_ref().and_then(|values| values.error.as_deref()), Some("it was stopped"));
        assert_eq!(read.rest.keys().collect::<Vec<_>>(), ["somebodyElses"]);
        assert_eq!(Map::from(read), stored);
    }

    #[test]
    fn node_metadata_for_readers_has_no_value_of_other_type() {
        let stored = object(json!({
            "model": 5, "summarizedFrom": 5, "error": {"code": "x", "message": 5}, "values": {"text": [], "odd": 1},
            "phase": 5, "somebodyElses": 1,
        }));
        let mut read = Box::new(NodeMetadata::from(stored));
        read.drop_shown_keys();
        assert_eq!(Value::from(Map::from(read.for_readers())), json!({"values": {"odd": 1}, "somebodyElses": 1}));
    }

    /// Each known key is sent with a value of its type or not at all.
    #[test]
    fn node_metadata_for_readers_drops_numbers_and_records_out_of_shape() {
        let id = NodeId::new(uuid::Uuid::from_u128(7)).to_string();
        let fits = json!({
            "seed": 3, "cost": 0.5, "saved": -0.1, "toolCalls": [{"id": "", "name": "n", "arguments": "{"}],
            "mergedNodes": [{"nodeId": id, "operations": 0}], "provenance": {"file": "a.jsonl", "line": 3, "more": []},
        });
        let shown = |stored: Value| Value::from(Map::from(Box::new(NodeMetadata::from(object(stored))).for_readers()));
        assert_eq!(shown(fits.clone()), fits);
        for text in [
            r#"{"seed": "7", "cost": -1, "saved": [], "toolCalls": [5], "mergedNodes": [5], "provenance": 5}"#,
            r#"{"seed": [7], "cost": 1e999, "saved": 1e999, "toolCalls": [{"id": 1, "name": "n", "arguments": ""}]}"#,
            r#"{"cost": -1e-9, "seed": -1e999, "mergedNodes": [{"nodeId": "x", "operations": 1}], "toolCalls": [{}]}"#,
            r#"{"cost": "1", "mergedNodes": {}, "provenance": {"line": -1}, "values": {"cost": -1, "toolCalls": [5]}}"#,
        ] {
            let left = shown(serde_json::from_str(text).unwrap());
            assert!(left == json!({}) || left == json!({"values": {}}), "{text}: {left}");
        }
    }

    #[test]
    fn node_metadata_value_of_other_type_counts_as_absent_and_is_kept() {
        let stored = object(
            json!({"model": 5, "latencyMs": -1, "error": "x", "provenance": [], "tokenCount": {"prompt": "many"}}),
        );
        let read = NodeMetadata::from(stored.clone());
        assert_eq!(read.reply, ReplyFacts::default());
        assert_eq!(Map::from(read), stored);
    }

    #[test]
    fn provenance_of_copy_keeps_file_of_import() {
        let session = SessionId::new(uuid::Uuid::from_u128(1));
        let node = NodeId::new(uuid::Uuid::from_u128(2));
        let plain = json!({"sessionId": session.to_string(), "nodeId": node.to_string()});
        let check = |original: Value, expected: &Value| {
            assert_eq!(&Provenance::of_copy(Some(&original), session, node), expected, "{original}");
        };
        assert_eq!(Provenance::of_copy(None, session, node), plain);
        check(json!({"sessionId": "a", "nodeId": "b", "odd": 1}), &plain);
        check(json!({"file": 5}), &plain);
        check(json!([]), &plain);
        let mut imported = plain.clone();
        imported["file"] = json!("a.jsonl");
        imported["line"] = json!(3);
        check(json!({"file": "a.jsonl", "line": 3}), &imported);
        // So does a copy of that copy.
        check(json!({"file": "a.jsonl", "line": 3, "sessionId": "a", "nodeId": "b"}), &imported);
    }

    #[test]
    fn node_metadata_text_and_map_are_the_same_object() {
        let stored = r#"{"model":"m","latencyMs":12,"cost":0.00123456789012345678900,"seed":null,"somebodyElses":[1]}"#;
        let read: NodeMetadata = serde_json::from_str(stored).unwrap();
        assert_eq!(read, NodeMetadata::from(object(serde_json::from_str(stored).unwrap())));
        assert_eq!(serde_json::to_string(&read).unwrap(), stored);
        assert_eq!(serde_json::to_string(&Map::from(read)).unwrap(), stored);
    }

    #[test]
    fn node_metadata_key_twice_has_its_last_value() {
        let last = |text: &str| Value::Object(serde_json::from_str::<NodeMetadata>(text).unwrap().into());
        assert_eq!(last(r#"{"model": "a", "model": "b"}"#), json!({"model": "b"}));
        assert_eq!(last(r#"{"model": 5, "model": "b"}"#), json!({"model": "b"}));
        assert_eq!(last(r#"{"model": "a", "model": 5}"#), json!({"model": 5}));
        assert!(serde_json::from_str::<NodeMetadata>("[]").is_err());
    }
}
