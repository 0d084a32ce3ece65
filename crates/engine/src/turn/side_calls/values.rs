//! The values model: one model writes the story, another says what a reply changes. Rules read its commands as if they
//! were at the end of the reply, so that their effects are on the same node.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use clotho_compat::prompt::values_request::values_messages;
use clotho_compat::prompt::{OutgoingMessage, PromptLine, status, tags};
use clotho_core::coded_message::RenderedMessage;
use clotho_core::tree::{NodeMetadata, NodeProblem, ReplyFacts, Role, ValuesRecord};
use clotho_core::world::World;
use clotho_plugin::mvu;

use super::call;
use crate::turn::machine::ReplyFailure;
use crate::turn::models::ReplyWriter;
use crate::turn::problem::{ModelCallProblem, TurnProblem};
use crate::turn::prompts::PromptServices;
use crate::turn::prompts::prompt_bounds;
use crate::turn::prompts::trace::BuiltPrompt;
use crate::turn::rules::rules_in_force;
use crate::turn::snapshot::TurnSnapshot;
use crate::turn::storage::TreeStorage;

/// The token limit of its answer.
const TOKENS: usize = 1_024;
/// The length limit of values without schemas in its prompt, in characters.
const WORLD: usize = 16 << 10;
/// The length limit of a useless answer in the trace, in characters.
const WORDS: usize = 4 << 10;
/// The length limit of a useless answer in a message for people, in characters.
const SHOWN: usize = 80;
/// Words of an answer that means no change, besides an empty block.
const NOTHING: [&str; 12] =
    ["nothing", "no change", "none", "unchanged", "no update", "n/a", "无", "没有", "不变", "未变", "[]", "{}"];

/// The result of a call.
#[derive(Debug, Default)]
pub struct ValuesModelResult {
    /// What the metadata of the node keeps: the commands, the usage, or the failure.
    pub record: ValuesRecord,
    /// The sent messages, for the trace.
    pub messages: Vec<Value>,
    /// The answer, for the trace, if it was useless.
    pub answer: Option<String>,
    /// Why there are no commands.
    pub problem: Option<NodeProblem>,
}

impl ValuesModelResult {
    /// A result without commands, with its reason.
    pub fn failure(model: &str, why: &RenderedMessage) -> Self {
        let call = ReplyFacts { model: Some(model.to_owned()), ..ReplyFacts::default() };
        let (error, failure) = (Some(why.message.clone()), Some(why.clone()));
        let record = ValuesRecord { call, error, failure, ..ValuesRecord::default() };
        let problem = TurnProblem::ValuesFailed { model: model.to_owned(), error: why.message.clone() };
        let problem = Some(NodeProblem::new(&problem, None));
        Self { record, problem, ..Self::default() }
    }
}

/// Asks a session's values model what a reply changes. A failure affects neither the reply nor the next one, and does
/// not count against the provider.
pub async fn request_values(
    storage: &TreeStorage,
    prompt_services: &PromptServices,
    snapshot: &TurnSnapshot,
    rules: &[String],
    world: &World,
    model: &str,
    reply: &str,
) -> ValuesModelResult {
    let choice = match prompt_services.models.find(model) {
        Ok(ReplyWriter::Model(choice)) => choice,
        Ok(ReplyWriter::Narrator(_)) => {
            let problem = ModelCallProblem::NotAModel { name: model.to_owned() };
            return ValuesModelResult::failure(model, &RenderedMessage::new(&problem));
        }
        Err(error) => {
            let failure = ReplyFailure::ModelUnusable { words: error.to_string() };
            return ValuesModelResult::failure(model, &RenderedMessage::new(&failure));
        }
    };
    let Some(values_text) = current_values(snapshot, world) else {
        return ValuesModelResult::failure(model, &RenderedMessage::new(&ModelCallProblem::NoValues {}));
    };
    let params = Map::new();
    let bounds = prompt_bounds::prompt_bounds(prompt_services, &choice, &params);
    let messages = values_messages(rules, &values_text, &last_lines(snapshot, reply, &bounds.hide_tags));
    let asked = messages
        .iter()
        .map(|sent: &OutgoingMessage| json!({"role": sent.role.as_str(), "content": sent.text}))
        .collect();
    let reply = TOKENS.min(bounds.context_tokens / 2);
    let prompt =
        BuiltPrompt { messages, reply_tokens: reply, context_tokens: bounds.context_tokens, ..BuiltPrompt::default() };
    let values = match call::complete(storage, prompt_services, &choice, &params, &prompt).await {
        Ok((content, values_text)) => {
            read_answer(model, &tags::text_for_rules(Role::Assistant, &content, false, &bounds.hide_tags), values_text)
        }
        Err(error) => ValuesModelResult::failure(model, &error),
    };
    ValuesModelResult { messages: asked, ..values }
}

/// Returns the last messages, without commands: those of the story's model are ignored and would only mislead this one.
fn last_lines(snapshot: &TurnSnapshot, reply: &str, hide_tags: &[String]) -> [PromptLine; 2] {
    let line =
        |role: Role, name: &str, text: &str| PromptLine { role, name: Some(name.to_owned()), text: text.to_owned() };
    let shown = tags::hide_for_reader(reply, true, hide_tags).unwrap_or_else(|| reply.to_owned());
    let shown = mvu::without_commands(&shown);
    [
        line(Role::User, &snapshot.cast.user, &snapshot.last_message.0),
        line(Role::Assistant, &snapshot.cast.character, &shown),
    ]
}

/// Checks an answer and returns its commands.
fn read_answer(model: &str, content: &str, call: ReplyFacts) -> ValuesModelResult {
    if mvu::count_commands(&wrap_in_tags(content)) == 0 && !is_no_change(content) {
        let words: String = content.trim().chars().take(SHOWN).collect();
        let none = ValuesModelResult::failure(model, &RenderedMessage::new(&ModelCallProblem::NoCommand { words }));
        let call = ReplyFacts { model: none.record.call.model.clone(), ..call };
        let record = ValuesRecord { call, ..none.record };
        let answer = Some(clotho_compat::prompt::recall::embed_prefix(content, WORDS).to_owned());
        return ValuesModelResult { record, answer, problem: none.problem, ..ValuesModelResult::default() };
    }
    let record = ValuesRecord { call, text: Some(wrap_in_tags(content)), ..ValuesRecord::default() };
    ValuesModelResult { record, ..ValuesModelResult::default() }
}

/// Returns whether an answer without commands says that nothing changed.
fn is_no_change(content: &str) -> bool {
    let mut words = content.to_lowercase();
    for tag in ["updatevariable", "jsonpatch", "json_patch"] {
        words = words.replace(&format!("<{tag}>"), " ").replace(&format!("</{tag}>"), " ");
    }
    let words = words.replace("```json", " ").replace('`', " ");
    let words = words.trim();
    words.is_empty() || (words.chars().count() <= SHOWN && NOTHING.iter().any(|word| words.contains(word)))
}

/// Returns the current values: as in prompts, and as JSON for plugins without a schema. `None` if there are none and no
/// plugin reads commands.
fn current_values(snapshot: &TurnSnapshot, world: &World) -> Option<String> {
    let mut parts = vec![status::state_block(world, &snapshot.rules.rules)];
    let active_plugins = rules_in_force::active_plugins(&snapshot.rules.plugins, &snapshot.catalogue);
    let mut bare = Map::new();
    for plugin in active_plugins.iter().map(|active| &active.plugin).filter(|plugin| plugin.schema().is_none()) {
        let root = &plugin.manifest().state.root;
        bare.extend(world.get(root).map(|value| (root.keys().join("."), visible_value(value))));
    }
    if !bare.is_empty() {
        let values = Value::Object(bare).to_string();
        parts.push(format!(
            "Other values (a path begins at the top, as stat_data.a.b):\n{}",
            clotho_compat::prompt::recall::embed_prefix(&values, WORLD)
        ));
    }
    parts.retain(|part| !part.is_empty());
    let is_read = active_plugins.iter().any(|active| active.plugin.reads_commands());
    (is_read || !parts.is_empty()).then(|| parts.join("\n\n"))
}

/// Returns a value without the keys that begin with `$`, which are private.
fn visible_value(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let seen = map.iter().filter(|(key, _)| !key.starts_with('$'));
            Value::Object(seen.map(|(key, value)| (key.clone(), visible_value(value))).collect())
        }
        Value::Array(list) => list.iter().map(visible_value).collect(),
        plain => plain.clone(),
    }
}

/// Wraps an answer in the tags that cards use for commands, because rules look for commands there.
fn wrap_in_tags(content: &str) -> String {
    let content = content.trim();
    let is_tagged = content.contains("<UpdateVariable") || content.contains("<JSONPatch");
    if is_tagged { content.to_owned() } else { format!("<UpdateVariable>\n{content}\n</UpdateVariable>") }
}

/// Returns a message as its rules read it: without hidden tags. With a values model, its commands replace those in the
/// text.
pub fn with_values(
    hide_tags: &[String],
    role: Role,
    content: &str,
    has_reasoning: bool,
    metadata: &NodeMetadata,
) -> Arc<str> {
    let heard = tags::text_for_rules(role, content, has_reasoning, hide_tags);
    let Some(values) = &metadata.values else { return Arc::from(heard) };
    let text = mvu::without_commands(&heard);
    match &values.text {
        Some(commands) => Arc::from(format!("{text}\n\n{commands}")),
        None => Arc::from(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plugins 3.1: an answer without commands is a visible failure, unless it says that nothing changed.
    #[test]
    fn values_model_answer_without_commands_is_problem() {
        for (content, is_good) in [
            ("<UpdateVariable></UpdateVariable>", true),
            ("Nothing changed.", true),
            ("<UpdateVariable>\n没有变化\n</UpdateVariable>", true),
            ("```json\n[]\n```", true),
            ("_.add('a', 1);", true),
            ("[{\"op\": \"delta\", \"path\": \"/a\", \"value\": 1}]", true),
            ("I am sorry, but I can't help with that.", false),
            ("She smiles and pours the tea.", false),
        ] {
            let values = read_answer("m", content, ReplyFacts::default());
            assert_eq!((values.problem.is_none(), values.record.text.is_some()), (is_good, is_good), "{content}");
            assert_eq!(values.answer.is_some(), !is_good);
        }
    }
}
