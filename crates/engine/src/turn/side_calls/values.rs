//! The values of a story by a model of their own: one tells the story, another says what a reply changes. Rules read its commands as
//! if they stood at the end of the reply, so that what comes of them is of the same node.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use clotho_compat::prompt::values_request::values_messages;
use clotho_compat::prompt::{OutgoingMessage, PromptLine, status, tags};
use clotho_core::tree::{NodeProblem, Role};
use clotho_core::world::World;
use clotho_plugin::mvu;
use clotho_store::VALUES_KEY;

use super::call;
use crate::turn::ask::prompt_bounds;
use crate::turn::ask::trace::BuiltPrompt;
use crate::turn::models::ReplyWriter;
use crate::turn::snapshot::TurnSnapshot;
use crate::turn::{TurnServices, rules::rules_in_force};

/// Tokens of its answer.
const TOKENS: usize = 1_024;
/// Characters of values without schemas that it is told.
const WORLD: usize = 16 << 10;
/// Bytes of an answer that is no use, for the trace; characters of it, for people.
const WORDS: usize = 4 << 10;
const SHOWN: usize = 80;
/// What a model says that has nothing to say, beside an empty block.
const NOTHING: [&str; 12] =
    ["nothing", "no change", "none", "unchanged", "no update", "n/a", "无", "没有", "不变", "未变", "[]", "{}"];

/// What came of it.
#[derive(Debug, Default)]
pub struct ValuesModelResult {
    /// What the node says of the call: the commands as `text`, what it took, or why it failed.
    pub told: Map<String, Value>,
    /// What it was asked, for the trace.
    pub messages: Vec<Value>,
    /// What it answered, for the trace, where that was of no use.
    pub answer: Option<String>,
    /// Why there are no commands.
    pub problem: Option<NodeProblem>,
}

impl ValuesModelResult {
    /// There are no commands, and why.
    pub fn failure(model: &str, why: &str) -> Self {
        let told = [("model", model), ("error", why)].map(|(key, text)| (key.to_owned(), Value::from(text)));
        let message = format!("the values were not kept by {model}: {why}");
        let problem = Some(NodeProblem { code: "values_failed".into(), message, plugin: None });
        Self { told: told.into_iter().collect(), problem, ..Self::default() }
    }
}

/// Asks the model that keeps the values of a session what a reply changes. The reply stands whatever comes of it, and so does the
/// next one: that this fails is no sign to the story that its provider is out of order. It is asked again as a story is, and no more.
pub async fn request_values(
    parts: &Arc<TurnServices>,
    scene: &TurnSnapshot,
    (rules, world): (&[String], &World),
    model: &str,
    reply: &str,
) -> ValuesModelResult {
    let choice = match parts.models.find(model) {
        Ok(ReplyWriter::Model(choice)) => choice,
        Ok(ReplyWriter::Narrator(_)) => {
            return ValuesModelResult::failure(model, "a plugin writes replies and nothing else");
        }
        Err(error) => return ValuesModelResult::failure(model, &error.to_string()),
    };
    let Some(told) = current_values(scene, world) else {
        return ValuesModelResult::failure(
            model,
            "no plugin here has values that it could keep, and none reads commands: nobody was asked",
        );
    };
    let params = Map::new();
    let bounds = prompt_bounds::prompt_bounds(parts, &choice, &params);
    let messages = values_messages(rules, &told, &last_lines(scene, reply, &bounds.hide_tags));
    let asked =
        messages.iter().map(|sent: &OutgoingMessage| json!({"role": sent.role.word(), "content": sent.text})).collect();
    let reply = TOKENS.min(bounds.context_tokens / 2);
    let made = BuiltPrompt { messages, reply, context_tokens: bounds.context_tokens, ..BuiltPrompt::default() };
    let kept = match call::ask(parts, &choice, &params, &made).await {
        Ok((content, told)) => read_answer(model, &tags::heard(Role::Assistant, &content, &bounds.hide_tags), told),
        Err(error) => ValuesModelResult::failure(model, &error),
    };
    ValuesModelResult { messages: asked, ..kept }
}

/// The last words. What the story's model wrote for rules counts for nothing, and would only lead this one astray.
fn last_lines(scene: &TurnSnapshot, reply: &str, hide_tags: &[String]) -> [PromptLine; 2] {
    let line =
        |role: Role, name: &str, text: &str| PromptLine { role, name: Some(name.to_owned()), text: text.to_owned() };
    let shown = tags::hide_for_reader(reply, hide_tags).unwrap_or_else(|| reply.to_owned());
    let shown = mvu::without_commands(&shown);
    [line(Role::User, &scene.cast.user, &scene.said.0), line(Role::Assistant, &scene.cast.character, &shown)]
}

/// What an answer is good for.
fn read_answer(model: &str, content: &str, mut told: Map<String, Value>) -> ValuesModelResult {
    if mvu::count_commands(&wrap_in_tags(content)) == 0 && !is_no_change(content) {
        let words: String = content.trim().chars().take(SHOWN).collect();
        let none = ValuesModelResult::failure(model, &format!("there is no command in its answer: \"{words}\""));
        told.extend(none.told);
        let answer = Some(clotho_compat::prompt::recall::embed_prefix(content, WORDS).to_owned());
        return ValuesModelResult { told, answer, problem: none.problem, ..ValuesModelResult::default() };
    }
    told.insert("text".into(), wrap_in_tags(content).into());
    ValuesModelResult { told, ..ValuesModelResult::default() }
}

/// Whether an answer without commands says that nothing changed.
fn is_no_change(content: &str) -> bool {
    let mut words = content.to_lowercase();
    for tag in ["updatevariable", "jsonpatch", "json_patch"] {
        words = words.replace(&format!("<{tag}>"), " ").replace(&format!("</{tag}>"), " ");
    }
    let words = words.replace("```json", " ").replace('`', " ");
    let words = words.trim();
    words.is_empty() || (words.chars().count() <= SHOWN && NOTHING.iter().any(|word| words.contains(word)))
}

/// How the values stand: as prompts tell it, and those of plugins without a schema as they are. `None` where there are none, and
/// nobody who would make any.
fn current_values(scene: &TurnSnapshot, world: &World) -> Option<String> {
    let mut parts = vec![status::block(world, &scene.rules.rules)];
    let players = rules_in_force::active_plugins(&scene.rules.plugins, &scene.catalogue);
    let mut bare = Map::new();
    for plugin in players.iter().map(|player| &player.plugin).filter(|plugin| plugin.schema().is_none()) {
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
    let is_read = players.iter().any(|player| player.plugin.reads_commands());
    (is_read || !parts.is_empty()).then(|| parts.join("\n\n"))
}

/// A value without what begins with `$`, which is for nobody.
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

/// What it wrote, in the tags in which cards write commands: rules hide them and look there.
fn wrap_in_tags(content: &str) -> String {
    let content = content.trim();
    let is_tagged = content.contains("<UpdateVariable") || content.contains("<JSONPatch");
    if is_tagged { content.to_owned() } else { format!("<UpdateVariable>\n{content}\n</UpdateVariable>") }
}

/// A message as its rules read it: without what is hidden as thought, and where another model keeps the values with its commands
/// alone.
pub fn with_values(hide_tags: &[String], role: Role, content: &str, metadata: &Map<String, Value>) -> Arc<str> {
    let heard = tags::heard(role, content, hide_tags);
    let Some(kept) = metadata.get(VALUES_KEY) else { return Arc::from(heard) };
    let told = mvu::without_commands(&heard);
    match kept.get("text").and_then(Value::as_str) {
        Some(commands) => Arc::from(format!("{told}\n\n{commands}")),
        None => Arc::from(told),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plugins 3.1: an answer without any command is a failure that people see, unless it says that nothing changed.
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
            let kept = read_answer("m", content, Map::new());
            assert_eq!((kept.problem.is_none(), kept.told.contains_key("text")), (is_good, is_good), "{content}");
            assert_eq!(kept.answer.is_some(), !is_good);
        }
    }
}
